// What happened in a session: what the daemon has, then what the stream brings. Joined by number, so
// that nothing is missed or shown twice.

import { useEffect, useState } from "preact/hooks";
import { ask, of } from "../api";
import { sessions } from "../store";
import type { Happening } from "../types";

const MOST = 1000;

export function join(known: readonly Happening[], more: readonly Happening[]): Happening[] {
  const by = new Map(known.map((event) => [event.seq, event]));
  for (const event of more) by.set(event.seq, event);
  return [...by.values()].sort((a, b) => a.seq - b.seq).slice(-MOST);
}

export interface History {
  loading: boolean;
  error: Error | null;
  events: readonly Happening[];
}

export function useHistory(session: string): History {
  const [history, set] = useState<History>({ loading: true, error: null, events: [] });
  useEffect(() => {
    set({ loading: true, error: null, events: [] });
    let pending: Happening[] = [];
    let due = 0;
    const flush = (): void => {
      due = 0;
      const more = pending;
      pending = [];
      set((before) => ({ ...before, events: join(before.events, more) }));
    };
    const stop = sessions.listen((event) => {
      if (event.session !== session) return;
      pending.push(event);
      // Many at once are drawn once.
      if (due === 0) due = requestAnimationFrame(flush);
    });
    ask<Happening[]>("GET", `${of(session)}/events?limit=${MOST}`).then(
      (events) => set((before) => ({ loading: false, error: null, events: join(events, before.events) })),
      (error: unknown) =>
        set((before) => ({ ...before, loading: false, error: error instanceof Error ? error : null })),
    );
    return () => {
      stop();
      cancelAnimationFrame(due);
    };
  }, [session]);
  return history;
}
