// A choice that outlives the page. Where the browser keeps nothing, it is only not remembered.

import { type Signal, effect, signal } from "@preact/signals";

/// The first of `choices` where nothing, or nothing that is a choice, was kept.
export function remembered<T extends string>(name: string, choices: readonly [T, ...T[]]): Signal<T> {
  const key = `sm.${name}`;
  let kept: string | null = null;
  try {
    kept = localStorage.getItem(key);
  } catch {
    // Switched off.
  }
  const value = signal<T>(choices.find((one) => one === kept) ?? choices[0]);
  effect(() => {
    try {
      localStorage.setItem(key, value.value);
    } catch {
      // Switched off or full.
    }
  });
  return value;
}
