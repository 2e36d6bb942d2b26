// All messages of a session: what waits, what arrived, what did not.

import { useMemo } from "preact/hooks";
import { ask, of } from "../api";
import { Show, tell, tellFailure, useLoaded } from "../ui/parts";
import type { Happening, Message, Session } from "../types";
import { Receipt } from "./receipt";
import { receipts } from "./receipts";

export function Messages({ session, history }: { session: Session; history: readonly Happening[] }) {
  // Every step of a message is an event: the last one's number says when to look again.
  const last = history.findLast((event) => event.kind === "message")?.seq ?? 0;
  const [messages, again] = useLoaded(
    () => ask<Message[]>("GET", `${of(session.id)}/messages?all=true`),
    [session.id, last],
  );
  const steps = useMemo(() => receipts(history), [history]);
  const withdraw = (message: Message): void => {
    ask<Message>("DELETE", `${of(session.id)}/messages/${encodeURIComponent(message.id)}`).then(() => {
      tell("good", "withdrawn: the agent never sees it");
      again();
    }, tellFailure);
  };
  return (
    <Show of={messages}>
      {(list) =>
        list.length === 0 ? (
          <p class="quiet">No messages yet. Write one below: it is delivered when the agent can take it.</p>
        ) : (
          <div class="messages">
            {newestFirst(list).map((message) => (
              <Receipt
                key={message.id}
                message={message}
                steps={steps.get(message.id) ?? []}
                onWithdraw={() => withdraw(message)}
              />
            ))}
          </div>
        )
      }
    </Show>
  );
}

/// Those of one moment stay in the order in which the daemon has them: that is the order in which they
/// are delivered.
export function newestFirst(list: readonly Message[]): Message[] {
  const place = new Map(list.map((message, index) => [message.id, index]));
  return list.toSorted((a, b) =>
    a.created_at === b.created_at
      ? (place.get(b.id) ?? 0) - (place.get(a.id) ?? 0)
      : a.created_at < b.created_at
        ? 1
        : -1,
  );
}
