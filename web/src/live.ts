// The one stream from the daemon. It is opened again by us and not by the browser, which gives up
// for good on some failures; it goes on after the last event that was seen, so that none is missed.

import { signal } from "@preact/signals";
import { remembered } from "./ui/remembered";
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

/// Whether sessions that have ended, and need nobody, are told too.
export const ENDED: readonly ["hidden", "shown"] = ["hidden", "shown"];
export const ended = remembered<"hidden" | "shown">("ended", ENDED);

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 4000;

export function follow(into: Sessions): void {
  let after: number | undefined;
  let wait = FIRST_WAIT_MS;
  let goneSince: number | undefined;
  // The one that is listened to. None: the next is waited for.
  let current: EventSource | null = null;

  const connect = (): void => {
    const which = ended.peek() === "shown" ? "all" : "true";
    const query = after === undefined ? "" : `&after=${after}`;
    const source = new EventSource(`/events?sessions=${which}${query}`);
    current = source;

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

    const broken = (): void => {
      if (current !== source) return;
      current = null;
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
  // Another list is wanted. Where the next stream is waited for anyhow, it asks for that one.
  ended.subscribe(() => {
    if (current === null || current.url.includes("sessions=all") === (ended.peek() === "shown")) return;
    current.close();
    connect();
  });
}
