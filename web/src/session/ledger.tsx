// What sm itself knows of the running context: what a successor could go on from now.

import { ask, of } from "../api";
import { Markdown } from "../markdown";
import { Ago, Show, useLoaded } from "../ui/parts";
import type { Ledger, Session } from "../types";

export function LedgerView({ session }: { session: Session }) {
  const [ledger, again] = useLoaded(
    () => ask<Ledger>("GET", `${of(session.id)}/ledger`),
    [session.id, session.generation, session.turn],
  );
  return (
    <Show of={ledger}>
      {(told) => (
        <>
          <p class="quiet">
            Written by sm from the transcript, <Ago at={told.at} /> ago.{" "}
            <button type="button" class="link" onClick={again}>
              Read again
            </button>
          </p>
          {told.failing !== null && <p class="problem">Failing: {told.failing}</p>}
          <Markdown text={told.text} />
        </>
      )}
    </Show>
  );
}
