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

/// What a link or a key leads to is there before the next key is: the browser tells of a new address
/// only later, and a key pressed right after a click would be for what the person has left.
export function go(to: Place): void {
  location.hash = address(to);
  place.value = to;
}

export function listen(): void {
  addEventListener("hashchange", () => {
    const to = parse(location.hash);
    if (address(to) !== address(place.value)) place.value = to;
  });
  addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link?.getAttribute("href")?.startsWith("#/") || elsewhere(event)) return;
    event.preventDefault();
    go(parse(link.hash));
  });
}

/// The person, or what was clicked on, has something else in mind: another tab, a download.
function elsewhere(event: MouseEvent): boolean {
  return event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
}
