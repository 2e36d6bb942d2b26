// The chart itself: percent over time, thresholds across, a line where each generation begins.

import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { thresholds } from "../ui/thresholds";
import type { ContextReport } from "../types";

export function draw(into: HTMLElement, report: ContextReport, size: { width: number; height: number }): UPlot {
  const times: number[] = [];
  const percents: (number | null)[] = [];
  const begins: { at: number; generation: number }[] = [];
  let generation: number | null = null;
  for (const point of report.history) {
    const at = Date.parse(point.at) / 1000;
    if (generation !== null && point.generation !== generation) {
      begins.push({ at, generation: point.generation });
      // A context that ends is not joined to the next.
      times.push(at - 0.001);
      percents.push(null);
    }
    generation = point.generation;
    times.push(at);
    percents.push(point.used_percentage);
  }
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim() || "#888";
  const { warning, critical } = thresholds.peek();
  const lines: [number, string][] = [
    [warning, "--warn"],
    [critical, "--bad"],
  ];
  return new UPlot(
    {
      ...size,
      scales: { y: { range: [0, 100] } },
      legend: { show: false },
      cursor: { y: false },
      axes: [
        { stroke: colour("--soft"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") } },
        {
          stroke: colour("--soft"),
          grid: { stroke: colour("--line") },
          ticks: { stroke: colour("--line") },
          values: (_plot, values) => values.map((value) => `${value}%`),
        },
      ],
      series: [{}, { stroke: colour("--accent"), width: 2, points: { show: false } }],
      hooks: {
        draw: [
          (plot) => {
            const { ctx, bbox } = plot;
            ctx.save();
            ctx.lineWidth = 1;
            for (const [percent, name] of lines) {
              const y = plot.valToPos(percent, "y", true);
              ctx.strokeStyle = colour(name);
              ctx.setLineDash([6, 4]);
              ctx.beginPath();
              ctx.moveTo(bbox.left, y);
              ctx.lineTo(bbox.left + bbox.width, y);
              ctx.stroke();
            }
            ctx.fillStyle = colour("--soft");
            ctx.strokeStyle = colour("--soft");
            ctx.setLineDash([2, 3]);
            for (const begin of begins) {
              const x = plot.valToPos(begin.at, "x", true);
              ctx.beginPath();
              ctx.moveTo(x, bbox.top);
              ctx.lineTo(x, bbox.top + bbox.height);
              ctx.stroke();
              ctx.fillText(`g${begin.generation}`, x + 4, bbox.top + 12);
            }
            ctx.restore();
          },
        ],
      },
    },
    [times, percents],
    into,
  );
}
