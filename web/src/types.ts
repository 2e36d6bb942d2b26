// The daemon's JSON, as docs/api.md promises it. Only what the page reads is named.

export interface Context {
  used_percentage: number | null;
  tokens: number | null;
  window: number | null;
  source: string | null;
  at: string | null;
  last_sample_at: string | null;
  quiet_since: string | null;
  trend: number | null;
  critical: number | null;
}

export interface Session {
  id: string;
  name: string;
  agent: string;
  state: string;
  state_reason: string;
  state_since: string;
  /// The dialog that a person is needed for.
  waiting_for: { kind: string; tool: string | null; request: string | null; more: number } | null;
  limit: { kind: string; text: string; until: string; source: string; prompt: string | null; continues_itself: boolean } | null;
  goal: string | null;
  activity: string | null;
  generation: number;
  compactions: number;
  conversation_id: string | null;
  cwd: string;
  parent: string | null;
  children: string[];
  context: Context;
  tmux: { socket: string | null; session: string | null; pane: string | null };
  run: { pid: number; tty: string | null; channel: string } | null;
  pid: number | null;
  exit_code: number | null;
  last_handoff_path: string | null;
  handoff: { id: string; state: string; created_at: string } | null;
  /// The last one, if it failed and nobody has gone on with the session since.
  failed_handoff: FailedHandoff | null;
  turn: number;
  created_at: string;
  changed_at: string;
  queue: { queued: number; held: number; held_reason: string | null };
  attention: string | null;
}

export interface FailedHandoff {
  id: string;
  /// `rolled_back` or `abandoned`.
  state: string;
  reason: string;
  at: string;
  document: string;
}

export interface Happening {
  seq: number;
  at: string;
  session: string;
  generation: number;
  turn: number;
  kind: string;
  text: string;
}

export interface Message {
  id: string;
  session: string;
  from: { kind: string; id: string | null; name: string | null };
  mode: string;
  state: string;
  reason: string | null;
  /// Why it is held, in one word.
  hold: string | null;
  way: string | null;
  proof: string | null;
  text: string;
  created_at: string;
  changed_at: string;
}

export interface Handoff {
  id: string;
  session: string;
  state: string;
  trigger: string;
  author: string;
  carrier: string;
  from_generation: number;
  to_generation: number | null;
  document: string;
  copy: string;
  folder: string;
  in_context: { characters: number; of: number; proof: string | null; text: string } | null;
  artifacts: {
    kind: string;
    path: string;
    bytes: number | null;
    lines: number | null;
    problem: string | null;
  }[];
  steps: { at: string; text: string }[];
  tokens_before: number | null;
  tokens_after: number | null;
  created_at: string;
  done_at: string | null;
  took_ms: number | null;
}

export interface Point {
  at: string;
  generation: number;
  used_percentage: number;
  tokens: number | null;
}

export interface ContextReport {
  generation: number;
  compactions: number;
  used_percentage: number | null;
  tokens: number | null;
  window: number | null;
  usable: number | null;
  usable_percentage: number | null;
  source: string | null;
  at: string | null;
  trend: number | null;
  samples: { source: string; used_percentage: number | null; tokens: number | null; at: string }[];
  disagreement: [number, number] | null;
  watched: boolean;
  on_compaction: string;
  thresholds: { percent: number; level: string; said: boolean }[];
  history: Point[];
}

export interface Ledger {
  generation: number;
  at: string;
  goal: string | null;
  files: string[];
  failing: string | null;
  text: string;
}

export interface Pins {
  file: string;
  pins: { text: string; of: string }[];
}

export interface Found {
  line: number;
  generation: number;
  at: string | null;
  match: boolean;
  text: string;
}

/// What a request for a handoff is answered with; `error` is a refusal.
export interface HandoffAnswer {
  status?: string;
  id?: string;
  error?: string;
  warnings?: string[];
}
