// The lineage of a session: each handoff with its steps, its document, what changed since the one
// before, and what went with it.

import { useState } from "preact/hooks";
import { ask } from "../api";
import { Markdown } from "../markdown";
import { useKept } from "../ui/kept";
import { Ago, Show, useLoaded } from "../ui/parts";
import { bytes, clock, tokens } from "../words";
import type { Handoff, Session } from "../types";
import { Difference } from "./difference";

/// Until a person has opened or closed one.
const NEWEST = "newest";

export function Handoffs({ session }: { session: Session }) {
  const [list] = useLoaded(
    () => ask<Handoff[]>("GET", `/handoffs?session=${encodeURIComponent(session.id)}&limit=100`),
    [session.id, session.handoff?.id, session.handoff?.state, session.generation],
  );
  const opened = useKept(`handoff.${session.id}`, NEWEST);
  const open = opened.value;
  return (
    <Show of={list}>
      {(handoffs) =>
        handoffs.length === 0 ? (
          <p class="quiet">
            No handoff yet. It happens when the context fills up, when the agent asks, or when you do.
          </p>
        ) : (
          <ol class="lineage">
            {handoffs.map((handoff, index) => {
              const shown = open === handoff.id || (open === NEWEST && index === 0);
              return (
                <li key={handoff.id} class={`h-${handoff.state}`} data-handoff={handoff.id} data-state={handoff.state}>
                  <button
                    type="button"
                    class="title"
                    aria-expanded={shown}
                    onClick={() => {
                      opened.value = shown ? "" : handoff.id;
                    }}
                  >
                    <b>
                      generation {handoff.from_generation} → {handoff.to_generation ?? "…"}
                    </b>{" "}
                    <span class={`state-word ${handoff.state}`}>{handoff.state.replace("_", " ")}</span>{" "}
                    <span class="quiet">
                      by {handoff.author}, {handoff.trigger}, {handoff.carrier}, <Ago at={handoff.created_at} />
                      {handoff.took_ms !== null && `, took ${handoff.took_ms} ms`}
                      {handoff.tokens_before !== null &&
                        `, ${tokens(handoff.tokens_before)} → ${tokens(handoff.tokens_after)}`}
                    </span>
                  </button>
                  {shown && (
                    <One
                      handoff={handoff}
                      before={handoffs.slice(index + 1).find((one) => one.state === "done")}
                    />
                  )}
                </li>
              );
            })}
          </ol>
        )
      }
    </Show>
  );
}

function One({ handoff, before }: { handoff: Handoff; before: Handoff | undefined }) {
  const [compare, setCompare] = useState(false);
  const [document] = useLoaded(() => text(handoff.id), [handoff.id, handoff.state]);
  const [older] = useLoaded(
    () => (compare && before ? text(before.id) : Promise.resolve("")),
    [before?.id, compare],
  );
  return (
    <div class="handoff">
      {handoff.in_context && <p class="quiet">document: {handoff.in_context.text}</p>}
      <ol class="steps" aria-label="Steps">
        {handoff.steps.map((step) => (
          <li key={`${step.at} ${step.text}`}>
            <time dateTime={step.at}>{clock(step.at)}</time> {step.text}
          </li>
        ))}
      </ol>
      <details>
        <summary>What went with it</summary>
        <ul class="artifacts">
          {handoff.artifacts.map((artifact) => (
            <li key={artifact.kind}>
              <b>{artifact.kind}</b> {artifact.problem ?? <code>{artifact.path}</code>}{" "}
              <span class="quiet">
                {bytes(artifact.bytes)}
                {artifact.lines !== null && `, ${artifact.lines} lines`}
              </span>
            </li>
          ))}
        </ul>
      </details>
      {before && (
        <label class="check">
          <input
            type="checkbox"
            checked={compare}
            onChange={(event) => setCompare(event.currentTarget.checked)}
          />{" "}
          difference to the document before
        </label>
      )}
      <Show of={document}>
        {(now) =>
          compare && before ? (
            <Show of={older}>{(then) => <Difference before={then} after={now} />}</Show>
          ) : (
            <Markdown text={now} />
          )
        }
      </Show>
    </div>
  );
}

async function text(handoff: string): Promise<string> {
  const told = await ask<{ text: string }>("GET", `/handoffs/${encodeURIComponent(handoff)}/document`);
  return told.text;
}
