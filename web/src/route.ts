// Where the person is: kept in the address, so that back, forward and bookmarks work.

import { signal } from "@preact/signals";

export const TABS = [
  "terminal",
  "timeline",
  "messages",
  "context",
  "handoffs",
  "ledger",
  "archive",
  "pins",
] as const;
export type Tab = (typeof TABS)[number];

export type Place = { at: "overview" } | { at: "session"; id: string; tab: Tab };

export function parse(hash: string): Place {
  const match = /^#\/s\/([^/]+)(?:\/([a-z]+))?$/.exec(hash);
  if (!match?.[1]) return { at: "overview" };
  let id: string;
  try {
    id = decodeURIComponent(match[1]);
  } catch {
    return { at: "overview" };
  }
  const tab = TABS.find((one) => one === match[2]) ?? "terminal";
  return { at: "session", id, tab };
}

export function address(place: Place): string {
  if (place.at === "overview") return "#/";
  return `#/s/${encodeURIComponent(place.id)}/${place.tab}`;
}

export const place = signal<Place>(parse(location.hash));

export function listen(): void {
  addEventListener("hashchange", () => {
    place.value = parse(location.hash);
  });
}

export function go(to: Place): void {
  location.hash = address(to);
}
