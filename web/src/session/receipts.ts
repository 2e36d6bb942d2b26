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
