// Writing to a session, and the receipt of the last message as it goes its way.

import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, freshId, of } from "../api";
import { useKept } from "../ui/kept";
import { tellFailure } from "../ui/parts";
import type { Happening, Message, Session } from "../types";
import { Receipt } from "./receipt";
import { receipts } from "./receipts";

const MODES = [
  ["sequential", "after the running turn"],
  ["important", "into the running turn, between two tools"],
  ["urgent", "now: interrupts the running turn"],
] as const;

export function Send({ session, history }: { session: Session; history: readonly Happening[] }) {
  const draft = useKept(`message.${session.id}`);
  const when = useKept(`mode.${session.id}`, "sequential");
  const text = draft.value;
  const mode = when.value;
  const [busy, setBusy] = useState(false);
  const [sent, setSent] = useState<Message | null>(null);
  const over = session.state === "exited" || session.state === "lost";

  const steps = useMemo(() => receipts(history), [history]);
  const mine = sent ? (steps.get(sent.id) ?? []) : [];
  const reached = mine.length;
  useEffect(() => {
    if (!sent || reached === 0) return;
    let wanted = true;
    ask<Message>("GET", `${of(session.id)}/messages/${encodeURIComponent(sent.id)}`).then(
      (message) => wanted && setSent(message),
      () => {},
    );
    return () => {
      wanted = false;
    };
  }, [sent?.id, reached]);

  const send = (): void => {
    if (busy || text.trim() === "") return;
    setBusy(true);
    // The id is made here: if the answer is lost, the same request can be sent again.
    ask<Message>("POST", `${of(session.id)}/messages`, { id: freshId(), text, mode })
      .then((message) => {
        setSent(message);
        // what was written meanwhile stays
        if (draft.peek() === text) draft.value = "";
      }, tellFailure)
      .finally(() => setBusy(false));
  };

  return (
    <section class="send" aria-label="Send a message">
      {sent && (
        <div class="last">
          <Receipt message={sent} steps={mine} />
          <button type="button" class="link" onClick={() => setSent(null)}>
            hide
          </button>
        </div>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <textarea
          id="send-text"
          rows={2}
          placeholder={over ? "The agent has ended: a message waits until it is restored" : "Message (key m; Ctrl+Enter sends)"}
          aria-label="Message"
          value={text}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              send();
            } else if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
        <select aria-label="When" value={mode} onChange={(event) => {
            when.value = event.currentTarget.value;
          }}>
          {MODES.map(([value, meaning]) => (
            <option key={value} value={value}>
              {value}: {meaning}
            </option>
          ))}
        </select>
        <button type="submit" class="primary" disabled={busy || text.trim() === ""}>
          Send
        </button>
      </form>
    </section>
  );
}
