import type { Session } from "../../src/types";

/// A session as the daemon would tell it, with what the test cares about changed.
export function session(change: Partial<Session> & { id: string }): Session {
  return {
    name: change.id,
    agent: "claude",
    state: "idle",
    state_reason: "the turn has ended",
    state_since: "2026-03-01T11:57:00.000Z",
    waiting_for: null,
    limit: null,
    goal: null,
    activity: null,
    generation: 1,
    compactions: 0,
    conversation_id: null,
    cwd: "/home/ann/src/api",
    parent: null,
    children: [],
    context: {
      used_percentage: null,
      tokens: null,
      window: null,
      source: null,
      at: null,
      last_sample_at: null,
      quiet_since: null,
      trend: null,
      critical: 75,
    },
    tmux: { socket: null, session: null, pane: null },
    run: null,
    pid: 1,
    exit_code: null,
    last_handoff_path: null,
    handoff: null,
    failed_handoff: null,
    turn: 1,
    created_at: "2026-03-01T09:00:00.000Z",
    changed_at: "2026-03-01T09:00:00.000Z",
    queue: { queued: 0, held: 0, held_reason: null },
    attention: null,
    ...change,
  };
}

export function filled(percent: number): Session["context"] {
  return { ...session({ id: "x" }).context, used_percentage: percent, tokens: percent * 2000, window: 200_000 };
}
