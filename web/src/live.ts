// The one stream from the daemon. It is opened again by us and not by the browser, which gives up
// for good on some failures; it goes on after the last event that was seen, so that none is missed.

import { signal } from "@preact/signals";
import type { Sessions } from "./store";
import type { Happening, Session } from "./types";

export type Link =
  | { kind: "connecting" }
  | { kind: "live" }
  /// The daemon does not answer; it is tried again and again.
  | { kind: "gone"; since: number }
  /// It answers, and does not know this browser.
  | { kind: "signed-out" };

export const link = signal<Link>({ kind: "connecting" });

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 4000;

export function follow(into: Sessions): void {
  let after: number | undefined;
  let wait = FIRST_WAIT_MS;
  let goneSince: number | undefined;

  const connect = (): void => {
    const query = after === undefined ? "" : `&after=${after}`;
    const source = new EventSource(`/events?sessions=true${query}`);

    const on = (kind: string, take: (data: string) => void): void => {
      source.addEventListener(kind, (event) => {
        take((event as MessageEvent<string>).data);
      });
    };
    on("snapshot", (data) => {
      const told = JSON.parse(data) as { seq: number; sessions: Session[] };
      into.replace(told.sessions);
      after = Math.max(after ?? told.seq, 0);
      wait = FIRST_WAIT_MS;
      goneSince = undefined;
      link.value = { kind: "live" };
    });
    on("session", (data) => {
      into.change(JSON.parse(data) as Session);
    });
    on("gone", (data) => {
      into.gone((JSON.parse(data) as { id: string }).id);
    });
    on("journal", (data) => {
      const event = JSON.parse(data) as Happening;
      if (after !== undefined && event.seq <= after) return;
      after = event.seq;
      into.happened(event);
    });
    source.onerror = () => {
      broken();
    };

    let over = false;
    const broken = (): void => {
      if (over) return;
      over = true;
      source.close();
      goneSince ??= Date.now();
      const since = goneSince;
      // Which of the two it is, only a plain request can tell.
      fetch("/status", { credentials: "same-origin", signal: AbortSignal.timeout(3000) })
        .then((response) => {
          link.value =
            response.status === 401
              ? { kind: "signed-out" }
              : { kind: "gone", since };
        })
        .catch(() => {
          link.value = { kind: "gone", since };
        })
        .finally(() => {
          setTimeout(connect, wait);
          wait = Math.min(wait * 2, LONGEST_WAIT_MS);
        });
    };
  };
  connect();
}
