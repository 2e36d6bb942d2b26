// The difference between two documents, line by line; long stretches that are the same are folded.

import { diffLines } from "diff";

export interface Piece {
  kind: "same" | "added" | "removed" | "folded";
  lines: string[];
}

const AROUND = 3;
/// A difference of documents that have nothing in common is not worth minutes.
const PATIENCE = { timeout: 1000 };

export function pieces(before: string, after: string): Piece[] {
  const changes = diffLines(before, after, PATIENCE);
  if (!changes) return [{ kind: "removed", lines: split(before) }, { kind: "added", lines: split(after) }];
  const all: Piece[] = [];
  changes.forEach((change, index) => {
    const lines = split(change.value);
    if (change.added || change.removed) {
      all.push({ kind: change.added ? "added" : "removed", lines });
      return;
    }
    const head = index === 0 ? 0 : AROUND;
    const tail = index === changes.length - 1 ? 0 : AROUND;
    if (lines.length <= head + tail + 1) {
      all.push({ kind: "same", lines });
      return;
    }
    if (head > 0) all.push({ kind: "same", lines: lines.slice(0, head) });
    all.push({ kind: "folded", lines: lines.slice(head, lines.length - tail) });
    if (tail > 0) all.push({ kind: "same", lines: lines.slice(-tail) });
  });
  return all;
}

function split(text: string): string[] {
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

const SIGN = { same: " ", added: "+", removed: "−", folded: "" };

export function Difference({ before, after }: { before: string; after: string }) {
  const all = pieces(before, after);
  if (all.every((piece) => piece.kind === "same" || piece.kind === "folded"))
    return <p class="quiet">The two documents are the same.</p>;
  return (
    <div class="difference" tabIndex={0} role="region" aria-label="Difference between the documents">
      {all.map((piece, at) =>
        piece.kind === "folded" ? (
          <p key={at} class="folded">
            {piece.lines.length} lines the same
          </p>
        ) : (
          piece.lines.map((line, index) => (
            <p key={`${at} ${index}`} class={piece.kind}>
              <span aria-hidden="true">{SIGN[piece.kind]}</span>
              {piece.kind !== "same" && <span class="sr">{piece.kind}: </span>}
              {line}
            </p>
          ))
        ),
      )}
    </div>
  );
}
