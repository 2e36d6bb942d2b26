// Where a context counts as filling up. The daemon's own settings, once one report was read.

import { signal } from "@preact/signals";
import type { ContextReport } from "../types";

export interface Thresholds {
  early: number;
  warn: number;
  critical: number;
}

export const thresholds = signal<Thresholds>({ early: 50, warn: 65, critical: 75 });

export function learn(report: Pick<ContextReport, "thresholds">): void {
  const percents = report.thresholds.map((one) => one.percent).sort((a, b) => a - b);
  const first = percents[0];
  const last = percents[percents.length - 1];
  if (first === undefined || last === undefined) return;
  const middle = percents[Math.floor(percents.length / 2)] ?? last;
  const known = thresholds.peek();
  if (known.early === first && known.warn === middle && known.critical === last) return;
  thresholds.value = { early: first, warn: middle, critical: last };
}
