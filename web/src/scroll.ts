// Where a page was scrolled to, by its address: whoever comes back finds the place again. What is loaded
// when it is shown comes in parts, so the place is looked for until it is there or a person moves.

import { effect } from "@preact/signals";
import { address, place } from "./route";

const GIVE_UP_MS = 5000;

export function rememberScroll(): void {
  history.scrollRestoration = "manual";
  const at = new Map<string, number>();
  let here = "";
  let stop = (): void => {};

  const remember = (): void => {
    at.set(here, scrollY);
  };
  addEventListener("scroll", remember, { passive: true });

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
      addEventListener("scroll", remember, { passive: true });
      stop = () => {};
    };
    for (const kind of hands) addEventListener(kind, moved);
    // while it is looked for, the page is where nobody put it
    removeEventListener("scroll", remember);
    due = requestAnimationFrame(look);
  };

  effect(() => {
    const next = address(place.value);
    if (next === here) return;
    stop();
    here = next;
    find(at.get(next) ?? 0);
  });
}
