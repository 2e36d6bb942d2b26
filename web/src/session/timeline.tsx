// What happened, newest first, by day; the noise of single readings can be left out.

import { useMemo } from "preact/hooks";
import { useKept } from "../ui/kept";
import { clock, day } from "../words";
import type { Happening, Session } from "../types";
import type { History } from "./history";

const NOISE = new Set(["usage", "ignored"]);

export function Timeline({ session, history }: { session: Session; history: History }) {
  const noise = useKept(`timeline.${session.id}`, "hidden");
  const all = noise.value === "shown";
  const shown = useMemo(
    () => history.events.filter((event) => all || !NOISE.has(event.kind)).toReversed(),
    [history.events, all],
  );
  if (history.loading)
    return (
      <p class="quiet" role="status">
        Loading…
      </p>
    );
  if (history.error)
    return (
      <p class="problem" role="alert">
        {history.error.message}
      </p>
    );
  return (
    <>
      <label class="check">
        <input type="checkbox" checked={all} onChange={(event) => {
            noise.value = event.currentTarget.checked ? "shown" : "hidden";
          }} />{" "}
        also readings of the context and what was ignored
      </label>
      {shown.length === 0 && <p class="quiet">Nothing has happened yet.</p>}
      <ol class="timeline" aria-label="Timeline, newest first">
        {shown.map((event, index) => (
          <Line key={event.seq} event={event} before={shown[index - 1]} />
        ))}
      </ol>
    </>
  );
}

function Line({ event, before }: { event: Happening; before: Happening | undefined }) {
  const newDay = !before || day(before.at) !== day(event.at);
  const newGeneration = before !== undefined && before.generation !== event.generation;
  return (
    <li class={`k-${event.kind}`}>
      {newDay && <h2>{day(event.at)}</h2>}
      {newGeneration && <p class="generation">generation {event.generation} ends here</p>}
      <time dateTime={event.at} title={event.at}>
        {clock(event.at)}
      </time>
      <span class="kind">{event.kind}</span>
      <span class="text">{event.text}</span>
      {event.turn > 0 && <span class="turn">turn {event.turn}</span>}
    </li>
  );
}
