// The way of a message, read from the history: each step it took and when. Pure.

import type { Happening } from "../types";

export interface Step {
  at: string;
  state: string;
  detail: string;
}

/// The states a message goes through when all is well, in order.
export const WAY = ["queued", "written", "submitted", "consumed"] as const;

const LINE = /^(\S+) (queued|held|written|submitted|consumed|expired|withdrawn|failed)\b:?\s*(.*)$/s;

export function step(event: Happening): { id: string; step: Step } | null {
  if (event.kind !== "message") return null;
  const match = LINE.exec(event.text);
  if (!match?.[1] || !match[2]) return null;
  return { id: match[1], step: { at: event.at, state: match[2], detail: match[3] ?? "" } };
}

/// Steps by message, oldest first.
export function receipts(events: readonly Happening[]): Map<string, Step[]> {
  const all = new Map<string, Step[]>();
  for (const event of events) {
    const found = step(event);
    if (!found) continue;
    const there = all.get(found.id);
    if (there) there.push(found.step);
    else all.set(found.id, [found.step]);
  }
  return all;
}

export interface Shown {
  state: string;
  step: Step | null;
  /// Behind us, where it is now, or still to come.
  when: "past" | "now" | "ahead";
}

/// What a message went through, in the order in which it happened, then what is ahead of it if all goes
/// well. A step that was not taken is not shown as if it was.
export function shownWay(state: string, steps: readonly Step[]): Shown[] {
  // it begins there, and nobody writes that down
  const shown: Shown[] = [{ state: "queued", step: null, when: "past" }];
  for (const step of steps) {
    const last = shown.at(-1);
    // held for one reason after another is held: the newest counts
    if (last?.state === step.state) last.step = step;
    else shown.push({ state: step.state, step, when: "past" });
  }
  // the history may be a moment behind, or not reach back so far
  if (shown.at(-1)?.state !== state) shown.push({ state, step: null, when: "past" });
  const now = shown.at(-1);
  if (now) now.when = "now";
  if (ENDS.has(state)) return shown;
  const reached = Math.max(...shown.map((one) => WAY.findIndex((known) => known === one.state)));
  const again = state === "queued" || state === "held" ? 0 : reached;
  for (const ahead of WAY.slice(again + 1)) shown.push({ state: ahead, step: null, when: "ahead" });
  return shown;
}

const ENDS = new Set(["consumed", "expired", "withdrawn", "failed"]);

/// Held until the running turn or its tools end: the ordinary case, and no trouble.
const CALM = new Set(["working", "next_hook"]);

export function isCalm(hold: string | null): boolean {
  return hold !== null && CALM.has(hold);
}
