// One message and each step of its proof.

import { Ago } from "../ui/parts";
import { clock } from "../words";
import type { Message } from "../types";
import { type Step, WAY } from "./receipts";

export function Receipt({
  message,
  steps,
  onWithdraw,
}: {
  message: Message;
  steps: readonly Step[];
  onWithdraw?: () => void;
}) {
  const reached = WAY.findIndex((state) => state === message.state);
  const waits = message.state === "queued" || message.state === "held";
  const from =
    message.from.kind === "session" ? (message.from.name ?? message.from.id ?? "a session") : message.from.kind;
  return (
    <article class={`receipt m-${message.state}`} data-message={message.id} data-state={message.state}>
      <header>
        <b>{from}</b> <span class="quiet">{message.mode}</span> <Ago at={message.created_at} />
        {waits && onWithdraw && (
          <button type="button" onClick={onWithdraw}>
            Withdraw
          </button>
        )}
      </header>
      <p class="text" tabIndex={isLong(message.text) ? 0 : undefined}>
        {message.text.length > 2000 ? `${message.text.slice(0, 2000)}…` : message.text}
      </p>
      <ol class="way" aria-label={`Receipt: ${message.state}`}>
        {WAY.map((state, index) => {
          const step = steps.findLast((one) => one.state === state);
          return (
            <li
              key={state}
              class={index <= reached ? "reached" : ""}
              title={step ? `${clock(step.at)} ${step.detail}` : ""}
            >
              {state}
            </li>
          );
        })}
        {reached < 0 && <li class="aside">{message.state}</li>}
      </ol>
      {message.reason !== null && <p class="quiet">{message.reason}</p>}
      {message.proof !== null && (
        <p class="quiet">
          by {message.way}, proven by {message.proof}
        </p>
      )}
    </article>
  );
}

/// May be higher than its place, so that it has to be reachable to be scrolled.
function isLong(text: string): boolean {
  return text.length > 200 || text.split("\n").length > 6;
}
