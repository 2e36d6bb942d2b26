// One session in the overview, as a row or a card: the same parts, laid out by the style sheet.

import { Gauge } from "../ui/gauge";
import { Ago, StateBadge } from "../ui/parts";
import { address } from "../route";
import { sessions } from "../store";
import { shortPath } from "../words";
import { Spark } from "./spark";

/// Draws again only when its own session changes: it reads one signal. Badge and gauge are called and
/// not mounted: hundreds of rows are made at once, and each component has its price.
export function Row({ id }: { id: string }) {
  const session = sessions.get(id)?.value;
  if (!session) return null;
  const waits =
    session.attention ??
    (session.handoff ? `handoff ${session.handoff.state}` : (session.activity ?? session.state_reason));
  return (
    <li class={`row ${session.attention === null ? "" : "needs"}`}>
      <a href={address({ at: "session", id, tab: "terminal" })} data-session={id}>
        {StateBadge({ state: session.state })}
        <span class="name" title={session.goal ?? undefined}>
          {session.name}
        </span>
        <span class="agent">{session.agent}</span>
        <span class="dir" title={session.cwd}>
          {shortPath(session.cwd)}
        </span>
        <span class="gen" title={`generation ${session.generation}, turn ${session.turn}`}>
          g{session.generation}
        </span>
        {Gauge({ context: session.context })}
        <Spark session={session} />
        <span class="when">
          <Ago at={session.state_since} />
        </span>
        <span class="why" title={waits}>
          {waits}
        </span>
      </a>
    </li>
  );
}
