// All sessions as the daemon last told them: one signal each, so that a change draws one row and
// not the list. Nothing here asks; `live.ts` feeds it.

import { batch, type Signal, signal } from "@preact/signals";
import type { Happening, Session } from "./types";

export class Sessions {
  /// Which there are. Replaced only when that changes.
  readonly ids: Signal<readonly string[]> = signal([]);
  /// Counts up, a few times a second at most, when anything changed: for lists that are sorted.
  readonly beat = signal(0);
  private readonly each = new Map<string, Signal<Session>>();
  private readonly listeners = new Set<(event: Happening) => void>();
  private due = false;

  constructor(
    private readonly later: (run: () => void) => void = (run) => {
      setTimeout(run, 250);
    },
  ) {}

  /// Everything there is; what is not in it is gone.
  replace(all: readonly Session[]): void {
    const there = new Set(all.map((session) => session.id));
    for (const id of this.each.keys()) if (!there.has(id)) this.each.delete(id);
    batch(() => {
      for (const session of all) this.put(session);
      this.ids.value = all.map((session) => session.id);
      this.beat.value += 1;
    });
  }

  change(session: Session): void {
    const known = this.each.has(session.id);
    this.put(session);
    if (!known) this.ids.value = [...this.ids.value, session.id];
    this.soon();
  }

  gone(id: string): void {
    if (!this.each.delete(id)) return;
    this.ids.value = this.ids.value.filter((other) => other !== id);
    this.soon();
  }

  get(id: string): Signal<Session> | undefined {
    return this.each.get(id);
  }

  all(): Session[] {
    const sessions: Session[] = [];
    for (const one of this.each.values()) sessions.push(one.peek());
    return sessions;
  }

  happened(event: Happening): void {
    for (const listener of this.listeners) listener(event);
  }

  /// Gives back how to stop listening.
  listen(listener: (event: Happening) => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  private put(session: Session): void {
    const known = this.each.get(session.id);
    if (known) known.value = session;
    else this.each.set(session.id, signal(session));
  }

  private soon(): void {
    if (this.due) return;
    this.due = true;
    this.later(() => {
      this.due = false;
      this.beat.value += 1;
    });
  }
}

export const sessions = new Sessions();
