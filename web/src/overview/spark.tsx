// The last hours of a context as a line. Asked for when the row comes into view, then kept up from
// the stream; a row that nobody sees costs nothing.

import { useEffect, useRef, useState } from "preact/hooks";
import { ask, of } from "../api";
import { learn } from "../ui/thresholds";
import type { ContextReport, Session } from "../types";

const HOURS = 6;
const MOST = 120;

interface Dot {
  at: number;
  percent: number;
}

const kept = new Map<string, Dot[]>();

// One observer for all rows: hundreds of them cost more than the list itself.
const seen = new Map<Element, () => void>();
let observer: IntersectionObserver | undefined;

function whenSeen(element: Element, run: () => void): void {
  observer ??= new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      const first = seen.get(target);
      unwatch(target);
      first?.();
    }
  });
  seen.set(element, run);
  observer.observe(element);
}

function unwatch(element: Element): void {
  seen.delete(element);
  observer?.unobserve(element);
}

export function path(dots: readonly Dot[], from: number, to: number): string {
  const inside = dots.filter((dot) => dot.at >= from);
  if (inside.length < 2) return "";
  const span = Math.max(1, to - from);
  return inside
    .map((dot, index) => {
      const x = ((dot.at - from) / span) * 100;
      const y = 20 - (Math.min(100, dot.percent) / 100) * 20;
      return `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
}

export function Spark({ session }: { session: Session }) {
  const place = useRef<HTMLSpanElement>(null);
  const [dots, setDots] = useState<readonly Dot[]>(() => kept.get(session.id) ?? []);

  useEffect(() => {
    const element = place.current;
    if (!element || kept.has(session.id)) return;
    whenSeen(element, () => {
      if (kept.has(session.id)) return;
      kept.set(session.id, []);
      ask<ContextReport>("GET", `${of(session.id)}/context`).then(
        (report) => {
          learn(report);
          const all = report.history.map((point) => ({
            at: Date.parse(point.at),
            percent: point.used_percentage,
          }));
          kept.set(session.id, all.slice(-MOST));
          setDots(kept.get(session.id) ?? []);
        },
        () => kept.delete(session.id),
      );
    });
    return () => unwatch(element);
  }, [session.id]);

  const { at, used_percentage } = session.context;
  useEffect(() => {
    const all = kept.get(session.id);
    if (!all || at === null || used_percentage === null) return;
    const time = Date.parse(at);
    const last = all[all.length - 1];
    if (last && time <= last.at) return;
    all.push({ at: time, percent: used_percentage });
    if (all.length > MOST) all.shift();
    setDots([...all]);
  }, [at, used_percentage]);

  return (
    <span class="spark" ref={place} aria-hidden="true">
      {dots.length > 1 && <Curve dots={dots} />}
    </span>
  );
}

function Curve({ dots }: { dots: readonly Dot[] }) {
  const to = Date.now();
  const first = dots[0]?.at ?? to;
  const from = Math.max(to - HOURS * 3_600_000, Math.min(first, to - 60_000));
  return (
    <svg viewBox="0 0 100 20" preserveAspectRatio="none">
      <path d={path(dots, from, to)} />
    </svg>
  );
}
