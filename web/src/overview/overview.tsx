// The overview: what needs a person first, then every session.

import { computed, signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { ENDED, ended } from "../live";
import { address, type Tab } from "../route";
import { sessions } from "../store";
import { type Attention, attention, type Group, type Grouping, group, matches, type Order, sort } from "../sorting";
import { now } from "../ui/clock";
import { remembered } from "../ui/remembered";
import { Row } from "./row";
import { FirstRun } from "./first";

const search = signal("");

const ORDERS: readonly [Order, ...Order[]] = ["name", "state", "context", "activity", "created"];
const GROUPINGS: readonly [Grouping, ...Grouping[]] = ["none", "directory", "family"];
const LAYOUTS: readonly ["rows", "cards"] = ["rows", "cards"];
const order = remembered("order", ORDERS);
const grouping = remembered("grouping", GROUPINGS);
const layout = remembered<"rows" | "cards">("layout", LAYOUTS);

const shown = computed(() => {
  sessions.beat.value;
  sessions.ids.value;
  const found = sessions.all().filter((session) => matches(session, search.value));
  return group(sort(found, order.value), grouping.value);
});

/// A long list is made in parts: what fits on a screen is there with the first picture, the rest in the
/// frames after it.
const FIRST_ROWS = 60;
const MORE_ROWS = 150;
const room = signal(FIRST_ROWS);

function makeRoom(): void {
  if (room.peek() >= sessions.ids.peek().length) return;
  requestAnimationFrame(() => {
    // after the picture, so that it is not kept waiting
    setTimeout(() => {
      room.value += MORE_ROWS;
    });
  });
}

/// As many of the groups as there is room for.
function within(groups: readonly Group[], most: number): Group[] {
  let left = most;
  const some: Group[] = [];
  for (const { title, sessions: all } of groups) {
    if (left <= 0) break;
    some.push({ title, count: all.length, sessions: all.slice(0, left) });
    left -= all.length;
  }
  return some;
}

const needs = computed(() => {
  sessions.beat.value;
  sessions.ids.value;
  return attention(sessions.all(), now.value);
});

const counts = computed(() => {
  sessions.beat.value;
  sessions.ids.value;
  const by = { working: 0, waiting: 0, idle: 0, other: 0 };
  for (const { state } of sessions.all()) {
    if (state === "working" || state === "waiting" || state === "idle") by[state] += 1;
    else by.other += 1;
  }
  return by;
});

const NEED: Record<Attention["need"], string> = {
  person: "waits for you",
  lost: "lost",
  failed: "ended badly",
  "rolled-back": "handoff failed",
  critical: "context nearly full",
  held: "message held",
  quiet: "no samples",
};

const LEADS_TO: Record<Attention["need"], Tab> = {
  person: "terminal",
  lost: "terminal",
  failed: "terminal",
  "rolled-back": "handoffs",
  critical: "context",
  held: "messages",
  quiet: "terminal",
};

export function Overview() {
  const box = useRef<HTMLInputElement>(null);
  // Before the picture: a key pressed right after it must not be lost.
  useLayoutEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const inField = event.target instanceof HTMLElement && event.target.closest("input,select,textarea");
      if (event.key === "Escape" && event.target === box.current) {
        search.value = "";
        box.current?.blur();
      } else if (inField || document.querySelector("dialog[open]")) {
        return;
      } else if (event.key === "/") {
        event.preventDefault();
        box.current?.focus();
      } else if (event.key === "j" || event.key === "ArrowDown") step(event, 1);
      else if (event.key === "k" || event.key === "ArrowUp") step(event, -1);
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);

  // Nothing was told yet: that there are no sessions is not known either.
  useLayoutEffect(makeRoom);
  if (sessions.beat.value === 0) return <Skeleton />;
  if (sessions.ids.value.length === 0) return <FirstRun />;
  const { working, waiting, idle, other } = counts.value;
  return (
    <main class="overview">
      <h1 class="sr">Sessions</h1>
      <p class="counts" role="status" aria-live="off">
        <b>{working}</b> working · <b>{waiting}</b> waiting for you · <b>{idle}</b> idle
        {other > 0 && (
          <>
            {" "}
            · <b>{other}</b> other
          </>
        )}
      </p>
      <Needs list={needs.value} />
      <div class="tools" role="search">
        <input
          ref={box}
          type="search"
          placeholder="Search name, directory, state:waiting, agent:codex"
          aria-label="Search sessions (key /)"
          value={search.value}
          onInput={(event) => {
            search.value = event.currentTarget.value;
          }}
        />
        <Choice label="Sort" value={order} of={ORDERS} />
        <Choice label="Group" value={grouping} of={GROUPINGS} />
        <Choice label="Show as" value={layout} of={LAYOUTS} />
        <Choice label="Ended" value={ended} of={ENDED} />
      </div>
      {shown.value.every((one) => one.sessions.length === 0) && (
        <p class="quiet">
          No session matches “{search.value}”.{" "}
          <button
            type="button"
            class="link"
            onClick={() => {
              search.value = "";
            }}
          >
            Show all
          </button>
        </p>
      )}
      {within(shown.value, room.value).map((one) => (
        <section key={one.title} aria-label={one.title === "" ? "All sessions" : one.title}>
          {one.title !== "" && (
            <h2 class="group">
              {one.title} <small>{one.count}</small>
            </h2>
          )}
          <ul class={`sessions ${layout.value}`}>
            {one.sessions.map((session) => (
              <Row key={session.id} id={session.id} />
            ))}
          </ul>
        </section>
      ))}
    </main>
  );
}

function Needs({ list }: { list: readonly Attention[] }) {
  if (list.length === 0) return null;
  const SHOWN = 8;
  return (
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">
        Needs you <small>{list.length}</small>
      </h2>
      <ul>
        {list.slice(0, SHOWN).map(({ session, need, text, also }) => (
          <li key={session.id} class={`need ${need}`}>
            <a
              href={address({
                at: "session",
                id: session.id,
                tab: LEADS_TO[need],
              })}
            >
              <b>{session.name}</b> <span class="what">{NEED[need]}</span> <span>{text}</span>
              {also.length > 0 && <span class="also"> · also: {also.map((other) => NEED[other]).join(", ")}</span>}
            </a>
          </li>
        ))}
      </ul>
      {list.length > SHOWN && (
        <p class="quiet">and {list.length - SHOWN} more: sort by state to see them together</p>
      )}
    </section>
  );
}

function Choice<T extends string>({
  label,
  value,
  of,
}: {
  label: string;
  value: { value: T };
  of: readonly T[];
}) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select
        value={value.value}
        onChange={(event) => {
          const chosen = of.find((one) => one === event.currentTarget.value);
          if (chosen !== undefined) value.value = chosen;
        }}
      >
        {of.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

function step(event: KeyboardEvent, by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLAnchorElement>("a[data-session]")];
  if (rows.length === 0) return;
  event.preventDefault();
  const at = rows.findIndex((row) => row === document.activeElement);
  const next = at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by));
  rows[next]?.focus();
}

function Skeleton() {
  return (
    <main class="overview" aria-busy="true">
      <p class="quiet" role="status">
        Loading sessions…
      </p>
    </main>
  );
}
