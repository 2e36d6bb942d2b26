//! The table of keys: each with its place, what it takes, its default and what it does.
//!
//! Nothing else may know a key's name.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use sm_core::OnCompaction;
use sm_store::Durability;

use super::context::{Rule, Wording};
use super::settings::{Config, Gate, Layout, LogLevel, Resume, TmuxSocket};

/// One key of `config.toml`.
#[derive(Debug)]
pub struct Key {
    /// With its tables: `daemon.port`.
    pub path: &'static str,
    /// As it would be written in the file.
    pub default: &'static str,
    pub doc: &'static str,
    pub(super) takes: Takes,
}

impl Key {
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }
    pub fn name(&self) -> &'static str {
        self.path
            .rsplit_once('.')
            .map_or(self.path, |(_, name)| name)
    }
}

/// What a key takes, and where it goes.
#[derive(Debug)]
pub(super) enum Takes {
    Number {
        range: RangeInclusive<u32>,
        set: fn(&mut Config, u32),
    },
    /// A text that is not empty.
    Text { set: fn(&mut Config, String) },
    /// A list of texts.
    List { set: fn(&mut Config, Vec<String>) },
    /// A program and its arguments; empty: none.
    Command { set: fn(&mut Config, Vec<String>) },
    /// A path; empty: none. `~/` is the home folder, a relative one counts from the config file.
    Path {
        set: fn(&mut Config, Option<PathBuf>),
    },
    /// Empty, a name, or (with a `/`) a path.
    Socket { set: fn(&mut Config, TmuxSocket) },
    /// `30s`, `10m`, `2h`, `7d`; empty: none.
    Duration {
        set: fn(&mut Config, Option<Duration>),
    },
    /// A list of thresholds, each as [`Rule::parse`] reads it.
    Rules { set: fn(&mut Config, Vec<Rule>) },
    /// `true` or `false`.
    Switch { set: fn(&mut Config, bool) },
    /// A text; empty: none.
    Words {
        set: fn(&mut Config, Option<String>),
    },
    /// One of these; `set` gets its place in the list.
    Choice {
        of: &'static [&'static str],
        set: fn(&mut Config, usize),
    },
}

impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { range, .. } => {
                write!(
                    f,
                    "a whole number from {} to {}",
                    range.start(),
                    range.end()
                )
            }
            Self::Text { .. } => f.write_str("a text that is not empty"),
            Self::List { .. } => f.write_str("a list of texts, such as [\"a\", \"b\"]"),
            Self::Command { .. } => {
                f.write_str("a list of a program and its arguments, or [] for none")
            }
            Self::Path { .. } => f.write_str("a path, or \"\" for none"),
            Self::Socket { .. } => f.write_str("a name, a path, or \"\" for sm's own"),
            Self::Duration { .. } => f.write_str(
                "a duration such as \"30s\", \"10m\", \"2h\" or \"7d\", or \"\" for none",
            ),
            Self::Rules { .. } => f.write_str(
                "a list such as [\"50 warning\", \"65 critical\", \"codex: 80 critical\", \"/path/of/a/project: off\", \"session api: 40 warning\"]",
            ),
            Self::Words { .. } => f.write_str("a text, or \"\" for the usual one"),
            Self::Switch { .. } => f.write_str("true or false"),
            Self::Choice { of, .. } => {
                f.write_str("one of")?;
                for (i, one) in of.iter().enumerate() {
                    write!(f, "{} \"{one}\"", if i == 0 { "" } else { "," })?;
                }
                Ok(())
            }
        }
    }
}

/// The tables, in the order of the docs, and what each is about.
pub(super) const TABLES: &[(&str, &str)] = &[
    ("daemon", "The daemon itself."),
    ("tmux", "The terminal multiplexer that sessions run in."),
    ("agents.claude", "Claude Code."),
    ("agents.codex", "Codex."),
    (
        "agents.native",
        "sm's own agent; its models are in agent.toml.",
    ),
    ("generic", "Any other program (`sm new -- program`)."),
    ("delivery", "Messages."),
    ("context", "Watching how full contexts are (`sm context`)."),
    (
        "handoff",
        "Handing a session's work to a new context (`sm handoff`).",
    ),
    (
        "channel",
        "Handoffs by project, in files that other tools read too (`sm channel`).",
    ),
    (
        "run",
        "Agents in your own terminal that go on in fresh contexts (`sm run`).",
    ),
    ("notify", "Being told that a person is needed."),
    (
        "limits",
        "What is done when an agent's provider answers nothing for a while: a usage limit, an overload, no network.",
    ),
    (
        "retention",
        "What `sm gc` removes. Nothing that a live session needs is ever removed.",
    ),
    ("store", "The database."),
];

/// Every key there is.
pub const KEYS: &[Key] = &[
    Key {
        path: "daemon.port",
        default: "8420",
        doc: "Port on 127.0.0.1 for the API. 0: only the Unix socket. The environment variable `SM_PORT` goes before it. Other users need the token (`token` in the state folder) for it; on macOS, where the kernel does not say whose a connection is, so do you.",
        takes: Takes::Number {
            range: 0..=65535,
            set: |c, n| c.daemon.port = u16::try_from(n).unwrap_or(0),
        },
    },
    Key {
        path: "daemon.log_level",
        default: "\"info\"",
        doc: "How much goes to the daemon's log.",
        takes: Takes::Choice {
            of: &LogLevel::NAMES,
            set: |c, n| {
                c.daemon.log_level = LogLevel::ALL.get(n).copied().unwrap_or(LogLevel::Info)
            },
        },
    },
    Key {
        path: "tmux.program",
        default: "\"tmux\"",
        doc: "The tmux to run: a name looked up in PATH, or a path.",
        takes: Takes::Text {
            set: |c, text| c.tmux.program = text,
        },
    },
    Key {
        path: "tmux.socket",
        default: "\"\"",
        doc: "The tmux server that sessions live in: a name (as `tmux -L`), a path (as `tmux -S`), or empty for sm's own. Sessions started on another server are not moved.",
        takes: Takes::Socket {
            set: |c, socket| c.tmux.socket = socket,
        },
    },
    Key {
        path: "tmux.config",
        default: "\"\"",
        doc: "A tmux config file to load into sm's server, for your own keys and colours. Empty: tmux's defaults.",
        takes: Takes::Path {
            set: |c, path| c.tmux.config = path,
        },
    },
    Key {
        path: "tmux.history_limit",
        default: "50000",
        doc: "Lines of scrollback that a new session's pane keeps.",
        takes: Takes::Number {
            range: 100..=10_000_000,
            set: |c, n| c.tmux.history_limit = n,
        },
    },
    Key {
        path: "agents.claude.program",
        default: "\"claude\"",
        doc: "The program to run for `sm new claude`: a name looked up in the PATH of the shell that ran it, or a path.",
        takes: Takes::Text {
            set: |c, text| c.agents.claude.program = text,
        },
    },
    Key {
        path: "agents.claude.args",
        default: "[]",
        doc: "Arguments for every launch, before those given after `--`.",
        takes: Takes::List {
            set: |c, list| c.agents.claude.args = list,
        },
    },
    Key {
        path: "agents.codex.program",
        default: "\"codex\"",
        doc: "The program to run for `sm new codex`: a name looked up in the PATH of the shell that ran it, or a path.",
        takes: Takes::Text {
            set: |c, text| c.agents.codex.program = text,
        },
    },
    Key {
        path: "agents.codex.args",
        default: "[]",
        doc: "Arguments for every launch, before those given after `--`.",
        takes: Takes::List {
            set: |c, list| c.agents.codex.args = list,
        },
    },
    Key {
        path: "agents.native.program",
        default: "\"sm-agent\"",
        doc: "The program to run for `sm new native`: a name looked up beside `sm`, then in the PATH of the shell that ran it, or a path.",
        takes: Takes::Text {
            set: |c, text| c.agents.native.program = text,
        },
    },
    Key {
        path: "agents.native.args",
        default: "[]",
        doc: "Arguments for every launch, before those given after `--`.",
        takes: Takes::List {
            set: |c, list| c.agents.native.args = list,
        },
    },
    Key {
        path: "generic.quiet_ms",
        default: "1500",
        doc: "How many milliseconds a program's output has to be quiet before it counts as idle.",
        takes: Takes::Number {
            range: 50..=3_600_000,
            set: |c, n| c.generic.quiet = Duration::from_millis(n.into()),
        },
    },
    Key {
        path: "delivery.expire_after",
        default: "\"\"",
        doc: "When a message that could not be delivered expires, unless it was sent with its own time. Empty: it waits for as long as it takes.",
        takes: Takes::Duration {
            set: |c, time| c.delivery.expire_after = time,
        },
    },
    Key {
        path: "delivery.wait_for_draft",
        default: "\"10s\"",
        doc: "How long a message waits for a person's half-typed text to be sent, before it goes in beside it, which agents label as a notification. Empty: not at all.",
        takes: Takes::Duration {
            set: |c, time| c.delivery.wait_for_draft = time,
        },
    },
    Key {
        path: "context.thresholds",
        default: "[\"50 warning\", \"65 critical\"]",
        doc: "When an agent is told how full its context is: at this percentage of its window or above, once in every context. `warning` joins the running turn; `critical` becomes urgent if no hook takes it in time, and you are told too. Without a word before it a threshold is for everybody but sm's own agent, which hands over by itself; `codex: 80 critical` for one agent, `/path: 40 warning` for sessions at work in that folder or below it, `session api: off` for one session. Of these only the closest that fit count.",
        takes: Takes::Rules {
            set: |c, rules| {
                c.context.rules = rules;
                c.context.own_rules = true;
            },
        },
    },
    Key {
        path: "context.on_compaction",
        default: "\"allow\"",
        doc: "When an agent is about to compact its context by itself: \"allow\": it does; \"handoff\": it is held up for a few requests and told to hand off; then it is let through. Claude Code only: the compactions of Codex cannot wait (`sm context` says so).",
        takes: Takes::Choice {
            of: &OnCompaction::NAMES,
            set: |c, n| {
                c.context.on_compaction = OnCompaction::ALL.get(n).copied().unwrap_or_default();
            },
        },
    },
    Key {
        path: "context.wording",
        default: "\"plain\"",
        doc: "How agents are told: \"plain\", or \"neutral\" (without pressure and without capitals).",
        takes: Takes::Choice {
            of: &Wording::NAMES,
            set: |c, n| c.context.wording = Wording::ALL.get(n).copied().unwrap_or_default(),
        },
    },
    Key {
        path: "context.warning_text",
        default: "\"\"",
        doc: "What an agent is told at a warning. `{name}`, `{percent}`, `{tokens}`, `{left}`, `{window}` and `{how}` (how to hand off) are filled in.",
        takes: Takes::Words {
            set: |c, text| c.context.warning = text,
        },
    },
    Key {
        path: "context.critical_text",
        default: "\"\"",
        doc: "The same at a critical threshold.",
        takes: Takes::Words {
            set: |c, text| c.context.critical = text,
        },
    },
    Key {
        path: "handoff.gate",
        default: "\"warn\"",
        doc: "What becomes of a document in which something is missing or not so: \"off\": it is taken; \"warn\": it is taken, and the agent is told; \"strict\": it is refused unless confirmed with `--force`. A document that is empty, too large or not text is always refused.",
        takes: Takes::Choice {
            of: &Gate::NAMES,
            set: |c, n| c.handoff.gate = Gate::ALL.get(n).copied().unwrap_or_default(),
        },
    },
    Key {
        path: "handoff.max_bytes",
        default: "4194304",
        doc: "The largest document that is taken. Up to 48,000 bytes of it go along with the successor's prompt: all of it, or its most important sections.",
        takes: Takes::Number {
            range: 1..=16_777_216,
            set: |c, n| c.handoff.max_bytes = n,
        },
    },
    Key {
        path: "handoff.permissions",
        default: "true",
        doc: "Whether Claude Code may run `sm handoff`, `archive`, `ledger`, `context` and `whoami`, and read its own session's handoff documents and log, without asking a person; and whether it, Codex and sm's own agent may so use the tools of `sm mcp`. The rules come with each launch, add to your own and change no file of yours; a rule of yours that denies goes before them. Without them a handoff that the agent makes itself needs a person.",
        takes: Takes::Switch {
            set: |c, on| c.handoff.permissions = on,
        },
    },
    Key {
        path: "handoff.layout",
        default: "\"sm\"",
        doc: "Where documents and artifacts are kept: \"sm\": `handoffs/<session>-<time>/` in sm's data folder; \"seed\": `~/.local/share/claude-sessions/handoffs/<session>-<time>/`.",
        takes: Takes::Choice {
            of: &Layout::NAMES,
            set: |c, n| c.handoff.layout = Layout::ALL.get(n).copied().unwrap_or_default(),
        },
    },
    Key {
        path: "handoff.cooldown",
        default: "\"10m\"",
        doc: "How long after a handoff no automatic one begins. Handoffs that an agent or a person asks for are not held up. Empty: not at all.",
        takes: Takes::Duration {
            set: |c, time| c.handoff.cooldown = time.unwrap_or_default(),
        },
    },
    Key {
        path: "handoff.per_hour",
        default: "4",
        doc: "Automatic handoffs of one session in an hour, at most.",
        takes: Takes::Number {
            range: 0..=1000,
            set: |c, n| c.handoff.per_hour = n,
        },
    },
    Key {
        path: "handoff.person_timeout",
        default: "\"\"",
        doc: "How long a handoff waits for a person, where a dialog, a draft or an unknown screen stands in front of it, before the old context goes on: the handoff is rolled back, and its document is kept. Counted from when it began to wait. A draft that going back would cost is waited for all the same. Empty: it waits until somebody comes.",
        takes: Takes::Duration {
            set: |c, time| c.handoff.person_timeout = time,
        },
    },
    Key {
        path: "channel.dir",
        default: "\"\"",
        doc: "The folder that stands for `~/.claude`: `handoff/`, `channel-registry.json`, `.current-session` and `.restart-session` are in it. Empty: `~/.claude`, also with `SM_HOME`.",
        takes: Takes::Path {
            set: |c, path| c.channel.dir = path,
        },
    },
    Key {
        path: "channel.expire_after",
        default: "\"2h\"",
        doc: "When a handoff that nobody loaded is too old to be loaded unasked. It is kept. Empty: never.",
        takes: Takes::Duration {
            set: |c, expiry| c.channel.expire_after = expiry,
        },
    },
    Key {
        path: "run.early_warn",
        default: "50",
        doc: "Percent of the window from which `.context-status` says `EARLY_WARN`.",
        takes: Takes::Number {
            range: 1..=100,
            set: |c, n| c.run.early_warn = n,
        },
    },
    Key {
        path: "run.warn",
        default: "65",
        doc: "Percent from which it says `WARN`, and the agent is told to wrap up.",
        takes: Takes::Number {
            range: 1..=100,
            set: |c, n| c.run.warn = n,
        },
    },
    Key {
        path: "run.critical",
        default: "75",
        doc: "Percent from which it says `CRITICAL`: the agent is asked for its document, and a fresh context follows.",
        takes: Takes::Number {
            range: 1..=100,
            set: |c, n| c.run.critical = n,
        },
    },
    Key {
        path: "run.limit",
        default: "92",
        doc: "Percent from which the end of the turn is not waited for.",
        takes: Takes::Number {
            range: 1..=100,
            set: |c, n| c.run.limit = n,
        },
    },
    Key {
        path: "run.max_restarts",
        default: "10",
        doc: "How often an agent is started again by itself. 0: never; its context is only watched. `--max-restarts` goes before it, and takes `unlimited` too.",
        takes: Takes::Number {
            range: 0..=1_000_000,
            set: |c, n| c.run.max_restarts = n,
        },
    },
    Key {
        path: "run.deadline_turns",
        default: "1",
        doc: "Turns that an agent has for its own document after it was asked. 0: it is not asked.",
        takes: Takes::Number {
            range: 0..=100,
            set: |c, n| c.run.deadline_turns = n,
        },
    },
    Key {
        path: "run.deadline_tokens",
        default: "15000",
        doc: "Tokens that it may use for it.",
        takes: Takes::Number {
            range: 0..=1_000_000,
            set: |c, n| c.run.deadline_tokens = n,
        },
    },
    Key {
        path: "notify.command",
        default: "[]",
        doc: "Program and arguments to run when something needs a person, such as [\"notify-send\", \"sm\"]. The text is its last argument; `SM_NOTICE_KIND`, `SM_NOTICE_TEXT`, `SM_SESSION_ID` and `SM_SESSION_NAME` are in its environment. It is run without a shell and ended after 10 seconds. Empty: nothing is run.",
        takes: Takes::Command {
            set: |c, list| c.notify.command = list,
        },
    },
    Key {
        path: "limits.resume",
        default: "\"auto\"",
        doc: "Whether an agent is told to go on when the limit is over. \"auto\": if its session is to be left alone: it was started with `--unattended`, by another session, or by `sm run`; \"on\": always; \"off\": never. It is told once, only if nothing else has happened since, and `sm queue rm` cancels it.",
        takes: Takes::Choice {
            of: &Resume::NAMES,
            set: |c, n| c.limits.resume = Resume::ALL.get(n).copied().unwrap_or_default(),
        },
    },
    Key {
        path: "limits.tries",
        default: "12",
        doc: "How often in a row an agent is told to go on, if it meets the limit again each time. Where nobody told when the limit ends, the pauses grow from a minute (a usage limit: 15 minutes) to an hour.",
        takes: Takes::Number {
            range: 0..=1000,
            set: |c, n| c.limits.tries = n,
        },
    },
    Key {
        path: "retention.logs_days",
        default: "30",
        doc: "Days that the terminal logs of ended sessions are kept. 0: for ever.",
        takes: Takes::Number {
            range: 0..=36_500,
            set: |c, n| c.retention.logs_days = n,
        },
    },
    Key {
        path: "retention.logs_max_mb",
        default: "2048",
        doc: "How many megabytes all terminal logs may take together; beyond it the oldest of ended sessions go first. 0: no limit.",
        takes: Takes::Number {
            range: 0..=1_000_000_000,
            set: |c, n| c.retention.logs_max_mb = n,
        },
    },
    Key {
        path: "retention.events_days",
        default: "90",
        doc: "Days that events of ended sessions are kept. 0: for ever.",
        takes: Takes::Number {
            range: 0..=36_500,
            set: |c, n| c.retention.events_days = n,
        },
    },
    Key {
        path: "retention.handoffs_days",
        default: "90",
        doc: "Days that the documents and artifacts of handoffs are kept; a live session's latest always stays, and the history of handoffs stays as long as its session. 0: for ever.",
        takes: Takes::Number {
            range: 0..=36_500,
            set: |c, n| c.retention.handoffs_days = n,
        },
    },
    Key {
        path: "store.durability",
        default: "\"full\"",
        doc: "What a recorded message survives: \"full\": the machine losing power; \"normal\": the death of the daemon, faster on slow disks.",
        takes: Takes::Choice {
            of: &["full", "normal"],
            set: |c, n| {
                c.store.durability = match n {
                    0 => Durability::Full,
                    _ => Durability::Normal,
                }
            },
        },
    },
];
