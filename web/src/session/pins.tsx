// What every context of a session is told, word for word.

import { ask, of } from "../api";
import { useKept } from "../ui/kept";
import { Show, tellFailure, useLoaded } from "../ui/parts";
import type { Pins, Session } from "../types";

export function PinsView({ session }: { session: Session }) {
  const [pins, again] = useLoaded(() => ask<Pins>("GET", `${of(session.id)}/pins`), [session.id]);
  const draft = useKept(`pin.${session.id}`);
  const text = draft.value;
  const change = (method: "POST" | "DELETE", pin: string): void => {
    ask<Pins>(method, `${of(session.id)}/pins`, { text: pin }).then(() => {
      if (method === "POST" && draft.peek().trim() === pin) draft.value = "";
      again();
    }, tellFailure);
  };
  return (
    <>
      <p class="quiet">A pin is told to every context of this session, after each handoff and compaction.</p>
      <Show of={pins}>
        {(told) => (
          <ul class="pins">
            {told.pins.map((pin) => (
              <li key={`${pin.of} ${pin.text}`}>
                <span>{pin.text}</span> <small>{pin.of}</small>
                {pin.of === "session" ? (
                  <button type="button" onClick={() => change("DELETE", pin.text)} aria-label={`Unpin: ${pin.text}`}>
                    Unpin
                  </button>
                ) : (
                  <small class="how">
                    Every session of this project has it, so it is not removed from here. It is a line of{" "}
                    <code>{told.file}</code>: remove it there, or in the project with <code>sm pin rm --project</code>.
                  </small>
                )}
              </li>
            ))}
            {told.pins.length === 0 && <li class="quiet">None yet.</li>}
          </ul>
        )}
      </Show>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") change("POST", text.trim());
        }}
      >
        <input
          value={text}
          aria-label="New pin"
          placeholder="e.g. never touch the generated files"
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
        />
        <button type="submit" disabled={text.trim() === ""}>
          Pin
        </button>
      </form>
    </>
  );
}
