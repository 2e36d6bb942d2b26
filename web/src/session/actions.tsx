// What can be done with a session. Each goes through the same guarded path as the command line; what
// cannot be taken back asks first.

import { useEffect, useRef, useState } from "preact/hooks";
import { ask, freshId, of } from "../api";
import { Dialog } from "../ui/dialog";
import { drop, useKept } from "../ui/kept";
import { tell, tellFailure } from "../ui/parts";
import { called } from "../words";
import type { Happening, HandoffAnswer, Session } from "../types";

type Question = "handoff" | "rename" | "kill" | "restore" | null;

/// What the history says while a model writes; whatever comes after it ends that.
const WRITING = "a model is asked to write the document";

export function Actions({ session, history }: { session: Session; history: readonly Happening[] }) {
  const [question, ask_] = useState<Question>(null);
  const writing = history.findLast((event) => event.kind === "handoff")?.text === WRITING;
  const over = session.state === "exited" || session.state === "lost";
  const close = (): void => ask_(null);
  return (
    <div class="actions" role="group" aria-label="Actions">
      {session.handoff || writing ? (
        <button type="button" onClick={() => cancelHandoff(session)}>
          {writing ? "Cancel writing" : "Cancel handoff"}
        </button>
      ) : (
        <button type="button" onClick={() => ask_("handoff")}>
          Hand over…
        </button>
      )}
      <button type="button" onClick={() => ask_("rename")}>
        Rename…
      </button>
      <button type="button" onClick={() => copyAttach(session)}>
        Copy attach command
      </button>
      {over && (
        <button type="button" onClick={() => ask_("restore")}>
          Restore…
        </button>
      )}
      {!over && (
        <button type="button" class="danger" onClick={() => ask_("kill")}>
          Kill…
        </button>
      )}
      {question === "handoff" && <AskHandoff session={session} onClose={close} />}
      {question === "rename" && <AskRename session={session} onClose={close} />}
      {question === "kill" && <AskKill session={session} onClose={close} />}
      {question === "restore" && <AskRestore session={session} onClose={close} />}
    </div>
  );
}

interface Asked {
  session: Session;
  onClose: () => void;
}

const WRITERS = ["auto", "generate", "self"] as const;

function AskHandoff({ session, onClose }: Asked) {
  const writer = useKept(`writer.${session.id}`, "auto");
  const how = WRITERS.find((one) => one === writer.value) ?? "auto";
  const setHow = (next: (typeof WRITERS)[number]): void => {
    writer.value = next;
  };
  const draft = useKept(`focus.${session.id}`);
  const focus = draft.value;
  const begin = (): void => {
    const answered = (answer: HandoffAnswer): void => {
      if (answer.error === undefined) draft.value = "";
      if (answer.error === undefined) setHow("auto");
      if (answer.error !== undefined) tell("bad", `no handoff: ${answer.error}`);
      else if (answer.status === "generating")
        tell("good", "a model writes the document; what comes of it is in the timeline");
      else tell("good", "the handoff is scheduled; its steps are under “handoffs”");
    };
    if (how === "auto") ask<HandoffAnswer>("POST", `${of(session.id)}/handoff/auto`).then(answered, tellFailure);
    else if (how === "generate")
      ask<HandoffAnswer>("POST", `${of(session.id)}/handoff/generate`, { focus }).then(answered, tellFailure);
    else
      ask<unknown>("POST", `${of(session.id)}/messages`, {
        id: freshId(),
        mode: "important",
        text: `Please write a handoff document for your successor now and run \`sm handoff <file>\`.${focus === "" ? "" : ` Focus on: ${focus}`}`,
      }).then(() => {
        draft.value = "";
        setHow("auto");
        tell("good", "the agent is asked to write its document and hand over");
      }, tellFailure);
  };
  return (
    <Dialog title={`Hand ${session.name} over to a fresh context`} onClose={onClose}>
      <fieldset>
        <legend>Who writes the document?</legend>
        <label>
          <input type="radio" name="how" checked={how === "auto"} onChange={() => setHow("auto")} /> sm, from
          its ledger: at the end of the running turn, no model is asked
        </label>
        <label>
          <input type="radio" name="how" checked={how === "generate"} onChange={() => setHow("generate")} /> a
          model, in one extra request: costs tokens; the session goes on meanwhile
        </label>
        <label>
          <input type="radio" name="how" checked={how === "self"} onChange={() => setHow("self")} /> the agent
          itself: it is sent a message and decides when
        </label>
      </fieldset>
      {how !== "auto" && (
        <label>
          Focus (optional)
          <input value={focus} onInput={(event) => {
              draft.value = event.currentTarget.value;
            }} />
        </label>
      )}
      {how === "generate" && (
        <p class="quiet">
          Written with the environment the daemon was started in. If a key is missing there, the timeline says
          so; then, in your shell: <code>sm handoff --generate --session {called(session)}</code>
        </p>
      )}
      <p class="quiet">
        The old conversation is kept. If the successor does not receive the document, sm goes back to it.
      </p>
      <div class="buttons">
        <button type="submit">Not now</button>
        <button type="submit" class="primary" onClick={begin}>
          Hand over
        </button>
      </div>
    </Dialog>
  );
}

function AskRename({ session, onClose }: Asked) {
  const key = `rename.${session.id}`;
  const draft = useKept(key, session.name);
  const [refused, setRefused] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLDivElement>(null);
  const close = (): void => form.current?.closest("dialog")?.close();
  const present = useRef(session.name);
  present.current = session.name;
  // What was not changed is no draft: the next time begins with the name it has then.
  useEffect(
    () => () => {
      if (draft.peek().trim() === present.current) drop(key);
    },
    [key],
  );
  const name = draft.value.trim();
  const rename = (event: Event): void => {
    // It stays open until the name is taken: a refused one is not typed again.
    event.preventDefault();
    if (busy || name === "") return;
    setBusy(true);
    ask<Session>("PATCH", of(session.id), { name })
      .then(
        () => {
          drop(key);
          tell("good", `renamed to ${name}`);
          close();
        },
        (error: unknown) => setRefused(error instanceof Error ? error.message : String(error)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <Dialog title="Rename the session" onClose={onClose}>
      <label>
        Name
        <input
          value={draft.value}
          maxLength={64}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
        />
      </label>
      {refused !== null && (
        <p class="problem" role="alert">
          {refused}
        </p>
      )}
      <div class="buttons" ref={form}>
        <button
          type="button"
          onClick={() => {
            drop(key);
            close();
          }}
        >
          Leave it
        </button>
        <button type="submit" class="primary" disabled={name === ""} onClick={rename}>
          Rename
        </button>
      </div>
    </Dialog>
  );
}

function AskKill({ session, onClose }: Asked) {
  return (
    <Dialog title={`Kill ${session.name}?`} onClose={onClose}>
      <p>
        Its agent's processes end now{session.state === "working" ? ", in the middle of a turn" : ""}. The
        conversation, the archive and its messages are kept: <code>sm restore {session.id}</code> brings it
        back.
      </p>
      <div class="buttons">
        <button type="submit" autofocus>
          Keep it
        </button>
        <button
          type="submit"
          class="danger"
          onClick={() => {
            ask<Session>("DELETE", of(session.id)).then(
              () => tell("good", `${session.name} has ended`),
              tellFailure,
            );
          }}
        >
          Kill it
        </button>
      </div>
    </Dialog>
  );
}

function AskRestore({ session, onClose }: Asked) {
  return (
    <Dialog title={`Restore ${session.name}`} onClose={onClose}>
      <p>
        Its agent needs the environment of your shell (keys, PATH), which a browser does not have. Run this in a
        terminal:
      </p>
      <pre tabIndex={0}>sm restore {session.id}</pre>
      <div class="buttons">
        <button type="submit">Close</button>
        <button type="button" class="primary" onClick={() => copy(`sm restore ${session.id}`)}>
          Copy
        </button>
      </div>
    </Dialog>
  );
}

function cancelHandoff(session: Session): void {
  ask<HandoffAnswer>("DELETE", `${of(session.id)}/handoff`).then((answer) => {
    if (answer.error !== undefined) tell("bad", `not cancelled: ${answer.error}`);
    else tell("good", "the handoff is cancelled; the session goes on as it was");
  }, tellFailure);
}

function copyAttach(session: Session): void {
  copy(`sm attach ${called(session)}`);
}

function copy(text: string): void {
  navigator.clipboard.writeText(text).then(
    () => tell("good", `copied: ${text}`),
    () => tell("bad", `the browser did not allow copying`, `the command is: ${text}`),
  );
}
