// One message and each step of its proof.

import { Ago } from "../ui/parts";
import { clock } from "../words";
import type { Message } from "../types";
import { isCalm, type Step, shownWay } from "./receipts";

export function Receipt({
  message,
  steps,
  onWithdraw,
}: {
  message: Message;
  steps: readonly Step[];
  onWithdraw?: () => void;
}) {
  const waits = message.state === "queued" || message.state === "held";
  const from =
    message.from.kind === "session" ? (message.from.name ?? message.from.id ?? "a session") : message.from.kind;
  return (
    <article
      class={`receipt m-${message.state} ${isCalm(message.hold) ? "calm" : ""}`}
      data-message={message.id} data-state={message.state}>
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
        {shownWay(message.state, steps).map(({ state, step, when }, index) => (
          <li
            key={`${index} ${state}`}
            class={`${when === "ahead" || state === "held" ? "" : "reached"} ${when} w-${state}`}
            title={step ? `${clock(step.at)} ${step.detail}` : ""}
            aria-current={when === "now" ? "step" : undefined}
          >
            {state}
          </li>
        ))}
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
