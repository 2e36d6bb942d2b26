// No session yet: how to begin, in three lines.

import { ended } from "../live";

export function FirstRun() {
  return (
    <main class="first">
      <h1>No sessions yet</h1>
      <ol>
        <li>
          In a terminal: <code>sm new claude --name api --cwd ~/src/api</code> (or <code>codex</code>
          , or <code>native</code>).
        </li>
        <li>It appears here by itself, with what it does, how full its context is and what it waits for.</li>
        <li>
          Leave it alone: <code>sm send api "run the tests"</code>, or write to it from this page.
        </li>
      </ol>
      <p>
        Only want to look? <code>make demo</code> in sm's source folder starts an instance of its own
        with scripted agents, no account needed, and offers its dashboard at the end.
      </p>
      {ended.value === "hidden" && (
        <p>
          <button
            type="button"
            class="link"
            onClick={() => {
              ended.value = "shown";
            }}
          >
            Show sessions that have ended
          </button>
        </p>
      )}
    </main>
  );
}
