// What a person has typed or chosen in a place of the page, kept until it was used: going elsewhere,
// a reload or a daemon that restarts must not lose it. Per tab; where the browser keeps nothing, until
// the page is closed.

import { type Signal, effect, signal } from "@preact/signals";
import { useMemo } from "preact/hooks";

const kept = new Map<string, Signal<string>>();
/// A longer text is kept as long as the page is there, and not beyond.
const LONGEST = 100_000;

export function keep(key: string, initial = ""): Signal<string> {
  const known = kept.get(key);
  if (known) return known;
  const name = `sm.kept.${key}`;
  let before: string | null = null;
  try {
    before = sessionStorage.getItem(name);
  } catch {
    // Switched off.
  }
  const value = signal(before ?? initial);
  kept.set(key, value);
  effect(() => {
    const text = value.value;
    try {
      if (text === initial || text.length > LONGEST) sessionStorage.removeItem(name);
      else sessionStorage.setItem(name, text);
    } catch {
      // Switched off or full.
    }
  });
  return value;
}

/// It was used, or is not wanted: the next time begins anew.
export function drop(key: string): void {
  kept.delete(key);
  try {
    sessionStorage.removeItem(`sm.kept.${key}`);
  } catch {
    // Switched off.
  }
}

export function useKept(key: string, initial = ""): Signal<string> {
  return useMemo(() => keep(key, initial), [key]);
}
