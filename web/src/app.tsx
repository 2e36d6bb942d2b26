// The frame of every page: where one is, whether the daemon answers, help.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { link } from "./live";
import { Overview } from "./overview/overview";
import { address, place } from "./route";
import { SessionView } from "./session/session";
import { sessions } from "./store";
import { Ago, Toasts } from "./ui/parts";
import { Dialog } from "./ui/dialog";
import { isTyping } from "./ui/typing";

export function App() {
  const [help, setHelp] = useState(false);
  const at = place.value;
  // Before the picture: a key pressed right after it must not be lost.
  useLayoutEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (isTyping(event.target)) return;
      if (event.key === "?") setHelp(true);
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  const name = at.at === "session" ? (sessions.get(at.id)?.value.name ?? at.id) : "sessions";
  useEffect(() => {
    document.title = `${name} · sm`;
  }, [name]);

  if (link.value.kind === "signed-out") return <SignedOut />;
  return (
    <>
      <a class="skip" href="#content" onClick={skip}>
        Skip to the content
      </a>
      <header class="top">
        <a class="logo" href={address({ at: "overview" })}>
          sm
        </a>
        <Connection />
        <button type="button" class="link" onClick={() => setHelp(true)}>
          Keys <kbd>?</kbd>
        </button>
      </header>
      <div id="content" tabIndex={-1}>
        {at.at === "overview" ? <Overview /> : <SessionView id={at.id} tab={at.tab} />}
      </div>
      <Toasts />
      {help && <Help onClose={() => setHelp(false)} />}
    </>
  );
}

function skip(event: Event): void {
  // The address is a place in the page already: a jump must not change it.
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function Connection() {
  const state = link.value;
  switch (state.kind) {
    case "live":
      return (
        <span class="link-state live" role="status">
          live
        </span>
      );
    case "gone":
      return (
        <span class="link-state gone" role="alert">
          Daemon gone since <Ago at={new Date(state.since).toISOString()} />, retrying. What you see is what was
          last known; agents go on. Start it with <code>sm ls</code> in a terminal.
        </span>
      );
    case "connecting":
    case "signed-out":
      return (
        <span class="link-state" role="status">
          connecting…
        </span>
      );
  }
}

function SignedOut() {
  return (
    <main class="first">
      <h1>Not signed in</h1>
      <p>
        This browser has no valid sign-in. Run <code>sm open</code> in a terminal: its link works once, for 60
        seconds.
      </p>
    </main>
  );
}

const KEYS = [
  ["/", "search"],
  ["j, k", "next, previous session"],
  ["Enter", "open it"],
  ["1 … 8", "views of a session"],
  ["m", "write a message"],
  ["Ctrl+Enter", "send it"],
  ["Escape", "back"],
  ["Ctrl+Shift+Enter", "give a terminal back that you have taken over"],
  ["?", "this list"],
] as const;

function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <div class="buttons">
        <button type="submit">Close</button>
      </div>
    </Dialog>
  );
}
