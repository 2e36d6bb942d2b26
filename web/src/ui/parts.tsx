// Small things that every view uses.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Refused } from "../api";
import { ago, clock, stateWord } from "../words";
import { now } from "./clock";

export function StateBadge({ state }: { state: string }) {
  return (
    <span class={`state s-${state}`}>
      <i aria-hidden="true" />
      {stateWord(state)}
    </span>
  );
}

export function Ago({ at }: { at: string | null }) {
  return (
    <time dateTime={at ?? undefined} title={at === null ? "" : `${clock(at)} (${at})`}>
      {ago(at, now.value)}
    </time>
  );
}

export interface Toast {
  id: number;
  kind: "good" | "bad";
  text: string;
  hint: string;
}

export const toasts = signal<readonly Toast[]>([]);
let next = 1;

export function tell(kind: Toast["kind"], text: string, hint = ""): void {
  const id = next++;
  toasts.value = [...toasts.value.slice(-3), { id, kind, text, hint }];
  // A failure stays until it is closed: nobody must miss it by looking away.
  if (kind === "good") setTimeout(() => dismiss(id), 5000);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function tellFailure(error: unknown): void {
  if (error instanceof Refused) tell("bad", error.message, error.hint);
  else tell("bad", error instanceof Error ? error.message : String(error));
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={`toast ${toast.kind}`}>
          <p>
            {toast.text}
            {toast.hint !== "" && <small>{toast.hint}</small>}
          </p>
          <button type="button" aria-label="Close" onClick={() => dismiss(toast.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}

export type Loaded<T> =
  | { kind: "loading" }
  | { kind: "failed"; error: Error }
  | { kind: "there"; value: T };

/// The daemon was not there: it is asked again.
const AGAIN_MS = 2000;

/// Loads once, and again whenever `by` changes; what was there stays until the new is.
export function useLoaded<T>(
  load: () => Promise<T>,
  by: readonly unknown[],
): [Loaded<T>, () => void] {
  const [state, set] = useState<Loaded<T>>({ kind: "loading" });
  const [again, setAgain] = useState(0);
  useEffect(() => {
    let wanted = true;
    let timer = 0;
    load().then(
      (value) => wanted && set({ kind: "there", value }),
      (error: unknown) => {
        if (!wanted) return;
        set({ kind: "failed", error: error instanceof Error ? error : new Error(String(error)) });
        if (error instanceof Refused && error.status === 0)
          timer = window.setTimeout(() => setAgain((count) => count + 1), AGAIN_MS);
      },
    );
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [...by, again]);
  return [state, () => setAgain((count) => count + 1)];
}

export function Show<T>({
  of,
  children,
}: {
  of: Loaded<T>;
  children: (value: T) => ComponentChildren;
}) {
  switch (of.kind) {
    case "loading":
      return (
        <p class="quiet" role="status">
          Loading…
        </p>
      );
    case "failed":
      return (
        <p class="problem" role="alert">
          {of.error.message}
          {of.error instanceof Refused && of.error.hint !== "" && <small>{of.error.hint}</small>}
        </p>
      );
    case "there":
      return <>{children(of.value)}</>;
  }
}
