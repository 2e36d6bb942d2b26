// Searching everything the terminal has ever shown; hits stand among their neighbours.

import { useEffect, useState } from "preact/hooks";
import { askText, of } from "../api";
import { useKept } from "../ui/kept";
import { tellFailure } from "../ui/parts";
import { called } from "../words";
import type { Found, Session } from "../types";

const MOST = 500;

export function parseFound(ndjson: string): Found[] {
  const found: Found[] = [];
  for (const line of ndjson.split("\n")) {
    if (line === "" || found.length >= MOST) continue;
    try {
      found.push(JSON.parse(line) as Found);
    } catch {
      // A torn last line.
    }
  }
  return found;
}

export function Archive({ session }: { session: Session }) {
  const wanted = useKept(`archive.${session.id}`);
  const pattern = wanted.value;
  const [found, setFound] = useState<readonly Found[] | null>(null);
  const [busy, setBusy] = useState(false);
  const search = (): void => {
    if (pattern === "" || busy) return;
    setBusy(true);
    const query = new URLSearchParams({ pattern, ignore_case: "true", context: "2" });
    askText(`${of(session.id)}/archive/search?${query}`)
      .then((text) => setFound(parseFound(text)), tellFailure)
      .finally(() => setBusy(false));
  };
  // What was looked for before is found again: so is the place in it.
  useEffect(search, [session.id]);
  return (
    <>
      <form
        class="line"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          search();
        }}
      >
        <input
          type="search"
          value={pattern}
          aria-label="Search the archive (regular expression)"
          placeholder="Regular expression, e.g. test .* failed"
          onInput={(event) => {
            wanted.value = event.currentTarget.value;
          }}
        />
        <button type="submit" disabled={busy || pattern === ""}>
          {busy ? "Searching…" : "Search"}
        </button>
      </form>
      <p class="quiet">
        Everything the terminal has shown, of all generations: <code>sm archive {called(session)}</code>
      </p>
      {found?.length === 0 && <p class="quiet">Nothing found.</p>}
      {found && found.length > 0 && (
        <ol class="found" tabIndex={0} aria-label="What was found">
          {found.map((one, index) => {
            const before = found[index - 1];
            const apart = before !== undefined && one.line !== before.line + 1;
            return (
              <li key={one.line} class={`${one.match ? "hit" : ""} ${apart ? "apart" : ""}`}>
                <span class="where">
                  g{one.generation}:{one.line}
                </span>
                <span class="text">{one.text}</span>
              </li>
            );
          })}
        </ol>
      )}
      {found && found.length >= MOST && (
        <p class="quiet">Only the first {MOST} lines are shown; make the pattern narrower.</p>
      )}
    </>
  );
}
