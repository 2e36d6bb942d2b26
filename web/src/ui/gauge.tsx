// How full a context is: a bar with its thresholds, and the number.

import { tokens } from "../words";
import type { Context } from "../types";
import { thresholds } from "./thresholds";

export function level(percent: number | null): "unknown" | "ok" | "warning" | "critical" {
  if (percent === null) return "unknown";
  const { warning, critical } = thresholds.value;
  if (percent >= critical) return "critical";
  if (percent >= warning) return "warning";
  return "ok";
}

export function Gauge({ context }: { context: Context }) {
  const percent = context.used_percentage;
  const said =
    percent === null
      ? "context not known"
      : `context ${Math.round(percent)} % full, ${tokens(context.tokens)} of ${tokens(context.window)} tokens`;
  const { warning, critical } = thresholds.value;
  return (
    <span class={`gauge ${level(percent)}`} title={said}>
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={said}>
        <rect class="track" x="0" y="0" width="100" height="8" rx="2" />
        <rect class="fill" x="0" y="0" width={Math.min(100, percent ?? 0)} height="8" rx="2" />
        <path class="mark" d={`M${warning} 0V8M${critical} 0V8`} />
      </svg>
      <span class="number" aria-hidden="true">
        {percent === null ? "–" : `${Math.round(percent)}%`}
      </span>
    </span>
  );
}
