// Which sessions are shown, in which order, under which headings, and which of them need a person.
// Pure: a list in, a list out.

import type { Session } from "./types";
import { byName } from "./words";

export type Order = "name" | "state" | "context" | "activity" | "created";
export type Grouping = "none" | "directory" | "family";

export interface Group {
  /// Empty: no heading.
  title: string;
  /// Of all its sessions, shown or not.
  count: number;
  sessions: Session[];
}

/// Words of the search must all be found somewhere; `state:waiting` and `agent:codex` are exact.
export function matches(session: Session, search: string): boolean {
  const text =
    `${session.name} ${session.id} ${session.agent} ${session.state} ${session.cwd} ${session.attention ?? ""}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
    .every((word) => {
      if (word.startsWith("state:")) return session.state === word.slice(6);
      if (word.startsWith("agent:")) return session.agent === word.slice(6);
      return text.includes(word);
    });
}

const RANK = ["waiting", "lost", "handing_off", "compacting", "working", "starting", "limited", "idle"];

function rank(session: Session): number {
  const at = RANK.indexOf(session.state);
  return at < 0 ? RANK.length : at;
}

export function sort(sessions: readonly Session[], order: Order): Session[] {
  const name = (a: Session, b: Session): number =>
    byName(a.name, b.name) || (a.id < b.id ? -1 : 1);
  const compare: Record<Order, (a: Session, b: Session) => number> = {
    name,
    state: (a, b) => rank(a) - rank(b) || name(a, b),
    context: (a, b) =>
      (b.context.used_percentage ?? -1) - (a.context.used_percentage ?? -1) || name(a, b),
    // when its state last changed, as it is shown: never when it was last heard of
    activity: (a, b) => descending(a.state_since, b.state_since) || name(a, b),
    created: (a, b) => descending(a.created_at, b.created_at) || name(a, b),
  };
  return [...sessions].sort(compare[order]);
}

function descending(a: string, b: string): number {
  return a < b ? 1 : a > b ? -1 : 0;
}

export function group(sessions: readonly Session[], by: Grouping): Group[] {
  if (by === "none") return [{ title: "", count: sessions.length, sessions: [...sessions] }];
  const known = new Map(sessions.map((session) => [session.id, session]));
  const titles = new Map<string, Session[]>();
  for (const session of sessions) {
    const title = by === "directory" ? session.cwd : eldest(session, known).name;
    const there = titles.get(title);
    if (there) there.push(session);
    else titles.set(title, [session]);
  }
  return [...titles]
    .map(([title, members]) => ({ title, count: members.length, sessions: members }))
    .sort((a, b) => byName(a.title, b.title));
}

/// The session at the root of its family, as far as it is known here.
function eldest(session: Session, known: ReadonlyMap<string, Session>): Session {
  const seen = new Set<string>();
  let at = session;
  while (at.parent !== null && !seen.has(at.id)) {
    seen.add(at.id);
    const parent = known.get(at.parent);
    if (!parent) break;
    at = parent;
  }
  return at;
}

export type Need = "person" | "lost" | "rolled-back" | "critical" | "held" | "quiet" | "failed";

export interface Attention {
  session: Session;
  /// The most pressing.
  need: Need;
  text: string;
  /// The others.
  also: Need[];
}

const URGENCY: Need[] = ["person", "lost", "failed", "rolled-back", "critical", "held", "quiet"];

/// An agent that works and told nothing about its context for so long is looked at.
const QUIET_MS = 12 * 60_000;
/// Where a session has no threshold: so full is nearly full.
const NEARLY_FULL = 85;
/// What is held then flows by itself.
const PASSING = ["starting", "compacting", "handing_off", "limited"];

/// What a person should look at, most pressing first: each session once, with all that it needs.
export function attention(sessions: readonly Session[], now: number): Attention[] {
  const found: Attention[] = [];
  for (const session of sessions) {
    let its: Attention | null = null;
    const add = (need: Need, text: string): void => {
      if (its === null) found.push((its = { session, need, text, also: [] }));
      else its.also.push(need);
    };
    const alive = session.state !== "exited" && session.state !== "lost";
    if (session.state === "waiting") add("person", session.state_reason);
    else if (session.state === "lost") add("lost", session.state_reason);
    else if (session.state === "exited" && session.attention !== null)
      add("failed", session.state_reason);
    const said = alive && session.state !== "waiting" ? session.attention : null;
    const held = said !== null && session.queue.held > 0 && !PASSING.includes(session.state);
    const failed = session.failed_handoff;
    // whatever else the daemon says needs somebody: a limit that is over, a handoff that waits
    if (said !== null && !held && failed === null) add("person", said);
    if (failed !== null) add("rolled-back", failed.reason);
    // What nobody proved to be the session's is shown, and alarms nobody.
    const { used_percentage: used, source } = session.context;
    if (alive && used !== null && source !== "unproven" && used >= (session.context.critical ?? NEARLY_FULL))
      add("critical", `context ${Math.round(used)} % full`);
    if (held) add("held", `${session.queue.held} held: ${session.queue.held_reason ?? "not yet"}`);
    const since = session.context.quiet_since;
    const quiet = since === null ? 0 : now - Date.parse(since);
    if (alive && quiet >= QUIET_MS)
      add("quiet", `works, and has told nothing about its context for ${Math.floor(quiet / 60_000)} min`);
  }
  return found.sort(
    (a, b) =>
      URGENCY.indexOf(a.need) - URGENCY.indexOf(b.need) ||
      byName(a.session.name, b.session.name),
  );
}
