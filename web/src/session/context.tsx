// How full the context was over time, generation by generation, and what is known about it now.

import { useEffect, useRef } from "preact/hooks";
import { ask, of } from "../api";
import { Ago, Show, useLoaded } from "../ui/parts";
import { learn } from "../ui/thresholds";
import { tokens } from "../words";
import type { ContextReport, Session } from "../types";

export function ContextView({ session }: { session: Session }) {
  const [report] = useLoaded(async () => {
    const told = await ask<ContextReport>("GET", `${of(session.id)}/context`);
    learn(told);
    return told;
  }, [session.id, session.context.at, session.generation, session.compactions]);
  return (
    <Show of={report}>
      {(told) => (
        <>
          {told.history.length < 2 ? (
            <p class="quiet">Not enough samples for a chart yet.</p>
          ) : (
            <Chart report={told} />
          )}
          <dl class="facts">
            <dt>Used</dt>
            <dd>
              {told.used_percentage === null ? "not known" : `${told.used_percentage.toFixed(0)} %`} (
              {tokens(told.tokens)} of {tokens(told.window)})
            </dd>
            <dt>Of what is usable</dt>
            <dd>
              {told.usable_percentage === null ? "not known" : `${told.usable_percentage} %`} of{" "}
              {tokens(told.usable)} before the agent compacts
            </dd>
            <dt>Source</dt>
            <dd>
              {told.source ?? "none yet"}, <Ago at={told.at} />
            </dd>
            <dt>Trend</dt>
            <dd>{told.trend === null ? "not known" : `${told.trend.toFixed(1)} points an hour`}</dd>
            <dt>Compactions</dt>
            <dd>
              {told.compactions}; when one is near: {told.on_compaction}
            </dd>
            <dt>Thresholds</dt>
            <dd>
              {told.thresholds
                .map((one) => `${one.level} ${one.percent} %${one.said ? " (said)" : ""}`)
                .join(", ")}
            </dd>
          </dl>
          {told.disagreement !== null && (
            <p class="problem">
              Sources disagree: {told.disagreement[0]} % to {told.disagreement[1]} %.
            </p>
          )}
        </>
      )}
    </Show>
  );
}

function Chart({ report }: { report: ContextReport }) {
  const place = useRef<HTMLDivElement>(null);
  const last = report.history[report.history.length - 1];
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let plot: { destroy: () => void; setSize: (size: { width: number; height: number }) => void } | null = null;
    let wanted = true;
    const size = (): { width: number; height: number } => ({
      width: Math.max(240, element.clientWidth),
      height: 260,
    });
    // The library comes when somebody looks at a chart.
    void import("./plot").then(({ draw }) => {
      if (wanted) plot = draw(element, report, size());
    });
    const observer = new ResizeObserver(() => plot?.setSize(size()));
    observer.observe(element);
    return () => {
      wanted = false;
      observer.disconnect();
      plot?.destroy();
    };
  }, [report]);
  return (
    <div
      class="chart"
      ref={place}
      role="img"
      aria-label={`Context over time: ${report.history.length} samples, now ${last?.used_percentage ?? "?"} %`}
    />
  );
}
