// The live terminal of a session. Read-only until a person takes over; then keys go to the agent as
// they are typed, as in the terminal itself.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Session } from "../types";
import { Dialog } from "../ui/dialog";
import type { Screen } from "./screen";

export type Phase = "connecting" | "live" | "ended" | "gone";

export function TerminalView({ session }: { session: Session }) {
  const place = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen | null>(null);
  const [phase, setPhase] = useState<Phase>("connecting");
  const [problem, setProblem] = useState("");
  const [taken, setTaken] = useState(false);
  const [asking, setAsking] = useState(false);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let wanted = true;
    // The emulator is the heaviest part of the page: it comes when somebody looks.
    void import("./screen").then(({ Screen }) => {
      if (!wanted) return;
      screen.current = new Screen(element, session.id, {
        phase: (next, why) => {
          setPhase(next);
          setProblem(why);
        },
        taken: setTaken,
      });
    });
    return () => {
      wanted = false;
      screen.current?.close();
      screen.current = null;
    };
  }, [session.id]);

  const over = session.state === "exited" || session.state === "lost";
  useEffect(() => {
    if (phase === "ended" && !over) screen.current?.again();
  }, [phase, over]);

  return (
    <section class="terminal" aria-label="Terminal">
      <p class="bar">
        <span role="status">
          {phase === "connecting" && "Connecting to the terminal…"}
          {phase === "live" && (taken ? "You type into this terminal." : "Live, read-only.")}
          {phase === "ended" && "The agent has ended; this is what it showed last."}
          {phase === "gone" && `No terminal now: ${problem}. Trying again…`}
        </span>
        {phase === "live" &&
          (taken ? (
            <button type="button" onClick={() => screen.current?.release()} title="key Ctrl+Shift+Enter">
              Give back <kbd>Ctrl+Shift+Enter</kbd>
            </button>
          ) : (
            <button type="button" onClick={() => setAsking(true)}>
              Take over…
            </button>
          ))}
      </p>
      <div class={`screen ${taken ? "taken" : ""}`} ref={place} />
      {asking && (
        <Dialog title="Take over the terminal?" onClose={() => setAsking(false)}>
          <p>
            Every key you press here goes to the agent at once, as if you sat at its terminal. You can answer its
            questions and write into its input line. Messages of sm wait while a draft of yours is there.
          </p>
          <p>Two people at one terminal see each other's keys. “Give back”, or Ctrl+Shift+Enter, makes it read-only again.</p>
          <div class="buttons">
            <button type="submit">Only look</button>
            <button type="submit" class="primary" onClick={() => screen.current?.takeOver()}>
              Take over
            </button>
          </div>
        </Dialog>
      )}
    </section>
  );
}
