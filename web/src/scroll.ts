// Where a page was scrolled to, by its address: whoever comes back finds the place again. What is loaded
// when it is shown comes in parts, so the place is looked for until it is there or a person moves.

import { effect } from "@preact/signals";
import { address, place } from "./route";

const GIVE_UP_MS = 5000;
/// A reload must not lose the places either. Per tab.
const STORED = "sm.scroll";
const MOST_PLACES = 200;

function stored(): [string, number][] {
  try {
    const known: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? "[]");
    if (!Array.isArray(known)) return [];
    return known.filter(
      (one): one is [string, number] =>
        Array.isArray(one) && typeof one[0] === "string" && typeof one[1] === "number",
    );
  } catch {
    return []; // switched off, or not ours
  }
}

function store(places: ReadonlyMap<string, number>): void {
  try {
    sessionStorage.setItem(STORED, JSON.stringify([...places].slice(-MOST_PLACES)));
  } catch {
    // Switched off or full.
  }
}

export function rememberScroll(): void {
  history.scrollRestoration = "manual";
  const at = new Map<string, number>(stored());
  let here = "";
  let looking = false;
  let stop = (): void => {};

  // while a place is looked for, the page is where nobody put it
  const remember = (): void => {
    if (!looking) at.set(here, scrollY);
  };
  addEventListener("scroll", remember, { passive: true });
  addEventListener("pagehide", () => {
    remember();
    store(at);
  });

  const find = (wanted: number): void => {
    let due = 0;
    const end = performance.now() + GIVE_UP_MS;
    const look = (): void => {
      const most = document.documentElement.scrollHeight - innerHeight;
      scrollTo({ top: Math.min(wanted, most), behavior: "instant" });
      if (most >= wanted || performance.now() > end) stop();
      else due = requestAnimationFrame(look);
    };
    const moved = (): void => stop();
    const hands = ["wheel", "touchstart", "pointerdown", "keydown"] as const;
    stop = () => {
      cancelAnimationFrame(due);
      for (const kind of hands) removeEventListener(kind, moved);
      looking = false;
      stop = () => {};
    };
    for (const kind of hands) addEventListener(kind, moved);
    looking = true;
    due = requestAnimationFrame(look);
  };

  effect(() => {
    const next = address(place.value);
    if (next === here) return;
    // a scroll is told with the next picture: one just before a key was not told yet
    remember();
    stop();
    here = next;
    find(at.get(next) ?? 0);
  });
}
