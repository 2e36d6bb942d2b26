// Numbers, times and states as people read them. Pure.

/// `now`, `12 s`, `4 min`, `3 h`, `5 d`: how long ago.
export function ago(at: string | null, now: number): string {
  if (at === null) return "never";
  const seconds = Math.max(0, Math.round((now - Date.parse(at)) / 1000));
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

// Made once: a list of hundreds compares and formats thousands of times.
const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: "numeric",
  minute: "numeric",
  second: "numeric",
  hour12: false,
});
const NAMES = new Intl.Collator(undefined, { numeric: true });

/// Names in the order people expect: `w2` before `w10`.
export const byName: (a: string, b: string) => number = NAMES.compare;

export function clock(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  return CLOCK.format(date);
}

export function day(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  return date.toLocaleDateString(undefined, { weekday: "short", day: "numeric", month: "short" });
}

export function tokens(count: number | null): string {
  if (count === null) return "?";
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

export function bytes(count: number | null): string {
  if (count === null) return "";
  if (count < 1024) return `${count} B`;
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(0)} KiB`;
  return `${(count / 1024 / 1024).toFixed(1)} MiB`;
}

const STATES: Record<string, string> = {
  starting: "starting",
  working: "working",
  idle: "idle",
  waiting: "waits for you",
  compacting: "compacting",
  handing_off: "handing over",
  limited: "limited",
  exited: "ended",
  lost: "lost",
};

export const stateWord = (state: string): string => STATES[state] ?? state;

/// What a command calls it: its name, but its id once it has ended, as others may have the name then.
export function called(session: { id: string; name: string; state: string }): string {
  return session.state === "exited" || session.state === "lost" ? session.id : session.name;
}

/// The last two parts of a path: enough to know it again.
export function shortPath(path: string): string {
  const parts = path.split("/").filter((part) => part !== "");
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join("/")}`;
}
