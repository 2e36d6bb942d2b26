// Where a context counts as filling up. The daemon's own settings, once one report was read.

import { signal } from "@preact/signals";
import type { ContextReport } from "../types";

export interface Thresholds {
  warning: number;
  critical: number;
}

export const thresholds = signal<Thresholds>({ warning: 50, critical: 65 });

export function learn(report: Pick<ContextReport, "thresholds">): void {
  const known = thresholds.peek();
  const at = (level: string, otherwise: number): number =>
    report.thresholds.findLast((one) => one.level === level)?.percent ?? otherwise;
  const warning = at("warning", known.warning);
  const critical = at("critical", known.critical);
  if (known.warning !== warning || known.critical !== critical) thresholds.value = { warning, critical };
}
