// One session: its head, what can be done with it, and one view at a time.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { ask, of, Refused } from "../api";
import { address, go, type Tab, TABS } from "../route";
import { sessions } from "../store";
import { link } from "../live";
import { Gauge } from "../ui/gauge";
import { Ago, StateBadge, tellFailure } from "../ui/parts";
import { isTyping } from "../ui/typing";
import { called, tokens } from "../words";
import type { FailedHandoff, Session } from "../types";
import { Actions } from "./actions";
import { Archive } from "./archive";
import { ContextView } from "./context";
import { Handoffs } from "./handoffs";
import { useHistory } from "./history";
import { LedgerView } from "./ledger";
import { Messages } from "./messages";
import { PinsView } from "./pins";
import { Send } from "./send";
import { TerminalView } from "./terminal";
import { Timeline } from "./timeline";

export function SessionView({ id, tab }: { id: string; tab: Tab }) {
  sessions.ids.value;
  const known = sessions.get(id);
  // Before the picture: a key pressed right after it must not be lost.
  useLayoutEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target;
      if (isTyping(target) || (target instanceof HTMLElement && target.closest("dialog"))) return;
      if (event.key === "Escape") go({ at: "overview" });
      const number = Number.parseInt(event.key, 10);
      const wanted = TABS[number - 1];
      if (wanted) go({ at: "session", id, tab: wanted });
      if (event.key === "m") {
        event.preventDefault();
        document.querySelector<HTMLTextAreaElement>("#send-text")?.focus();
      }
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [id]);

  if (!known) return <Unknown key={id} id={id} />;
  // Another session is another page: nothing of the one before may stay.
  return <Known key={id} session={known.value} tab={tab} />;
}

/// Not in the list: ended, perhaps, and still kept.
function Unknown({ id }: { id: string }) {
  const [missing, setMissing] = useState(false);
  const live = link.value.kind === "live";
  useEffect(() => {
    if (!live) return;
    ask<Session>("GET", of(id)).then(
      (session) => {
        sessions.change(session);
      },
      (error: unknown) => {
        if (error instanceof Refused && error.status === 404) setMissing(true);
        else tellFailure(error);
      },
    );
  }, [id, live]);
  if (!missing)
    return (
      <main aria-busy="true" class="quiet">
        Loading…
      </main>
    );
  return (
    <main class="first">
      <h1>No such session</h1>
      <p>
        It was removed. <code>sm ls --all</code> lists everything that is kept.
      </p>
      <p>
        <a href={address({ at: "overview" })}>All sessions</a>
      </p>
    </main>
  );
}

function Known({ session, tab }: { session: Session; tab: Tab }) {
  const history = useHistory(session.id);
  return (
    <main class="session">
      <header class="head">
        <a class="back" href={address({ at: "overview" })} title="All sessions (Escape)">
          ← All
        </a>
        <h1>{session.name}</h1>
        <StateBadge state={session.state} />
        <span class="agent">{session.agent}</span>
        <span class="gen">generation {session.generation}</span>
        <Gauge context={session.context} />
        <span class="quiet">
          {tokens(session.context.tokens)} / {tokens(session.context.window)}
        </span>
        <Actions session={session} history={history.events} />
        <p class="why">
          {session.failed_handoff ? session.state_reason : (session.attention ?? session.state_reason)} · <Ago at={session.state_since} /> ·{" "}
          <code title={session.cwd}>{session.cwd}</code>
        </p>
        {session.waiting_for?.request != null && (
          <p class="asks" role="status">
            {session.waiting_for.kind === "question" ? "It asks" : "It wants to use"}{" "}
            <b>{session.waiting_for.kind === "question" ? "" : (session.waiting_for.tool ?? "a tool")}</b>:{" "}
            <code>{session.waiting_for.request}</code>
            {session.waiting_for.more > 0 && ` (and ${session.waiting_for.more} more)`}
          </p>
        )}
        {session.state === "limited" && session.limit !== null && (
          <p class="asks" role="status">
            Its provider answers nothing until <b>{new Date(session.limit.until).toLocaleString()}</b>
            {session.limit.source === "assumed" && " (a guess)"}: <code>{session.limit.text}</code>
            {session.limit.prompt !== null
              ? " It goes on by itself then, unless you take the message to go on out of its queue."
              : session.limit.continues_itself
                ? " It says that it goes on by itself then."
                : " Tell it to go on then: nobody does it by itself."}
          </p>
        )}
        {/* always there, so that what is below does not move under a pointer when it fills */}
        <p class="about quiet">
          {session.goal !== null && (
            <span class="goal" title="The words its work began with">
              Goal: {session.goal}
            </span>
          )}
          {session.activity !== null && session.waiting_for === null && (
            <span class="doing">Doing: {session.activity}</span>
          )}
        </p>
        {session.handoff && (
          <p class="under-way" role="status">
            Handoff {session.handoff.state.replace("_", " ")}, since <Ago at={session.handoff.created_at} />
            . <a href={address({ at: "session", id: session.id, tab: "handoffs" })}>Watch its steps</a>
          </p>
        )}
        {session.failed_handoff && <Failed session={session} failed={session.failed_handoff} />}
      </header>
      <nav class="tabs" aria-label="Views">
        {TABS.map((one, index) => (
          <a
            key={one}
            href={address({ at: "session", id: session.id, tab: one })}
            aria-current={one === tab ? "page" : undefined}
            title={`key ${index + 1}`}
          >
            {one}
          </a>
        ))}
      </nav>
      <div class="view" data-tab={tab}>
        <View session={session} tab={tab} history={history} />
      </div>
      <Send session={session} history={history.events} />
    </main>
  );
}

/// Until somebody goes on with the session: another handoff, or a word to it.
function Failed({ session, failed }: { session: Session; failed: FailedHandoff }) {
  const again = `sm handoff ${failed.document} --session ${called(session)}`;
  return (
    <p class="failed-handoff" role="status">
      The handoff was {failed.state.replace("_", " ")} <Ago at={failed.at} />: {failed.reason}.{" "}
      {failed.state === "rolled_back" && "The old conversation goes on. "}
      <a href={address({ at: "session", id: session.id, tab: "handoffs" })}>See its steps</a>; once more with
      the same document: <code>{again}</code>
    </p>
  );
}

function View({
  session,
  tab,
  history,
}: {
  session: Session;
  tab: Tab;
  history: ReturnType<typeof useHistory>;
}) {
  switch (tab) {
    case "terminal":
      return <TerminalView session={session} />;
    case "timeline":
      return <Timeline session={session} history={history} />;
    case "messages":
      return <Messages session={session} history={history.events} />;
    case "context":
      return <ContextView session={session} />;
    case "handoffs":
      return <Handoffs session={session} />;
    case "ledger":
      return <LedgerView session={session} />;
    case "archive":
      return <Archive session={session} />;
    case "pins":
      return <PinsView session={session} />;
  }
}

