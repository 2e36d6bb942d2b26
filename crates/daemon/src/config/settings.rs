//! The settings as the rest of the daemon sees them. Holds values only; `keys` says where they come
//! from.

use std::path::PathBuf;
use std::time::Duration;

use super::context::Context;
use sm_core::LimitPolicy;
use sm_store::Durability;

/// Everything that can be configured. `default()` is an empty file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    pub daemon: Daemon,
    pub tmux: Tmux,
    pub agents: Agents,
    pub generic: Generic,
    pub delivery: Delivery,
    pub context: Context,
    pub handoff: Handoff,
    pub channel: Channel,
    pub run: Run,
    pub notify: Notify,
    pub limits: Limits,
    pub retention: Retention,
    pub store: Store,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    /// Port on 127.0.0.1; 0: only the Unix socket.
    pub port: u16,
    pub log_level: LogLevel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    pub const ALL: [Self; 5] = [
        Self::Error,
        Self::Warn,
        Self::Info,
        Self::Debug,
        Self::Trace,
    ];
    pub const NAMES: [&'static str; 5] = ["error", "warn", "info", "debug", "trace"];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tmux {
    pub program: String,
    pub socket: TmuxSocket,
    /// A tmux config to load; None: none at all, not even the person's own.
    pub config: Option<PathBuf>,
    pub history_limit: u32,
}

/// Which tmux server the sessions live in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TmuxSocket {
    /// The one in sm's own state folder.
    Own,
    /// As `tmux -L`.
    Name(String),
    /// As `tmux -S`; absolute.
    Path(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agents {
    pub claude: Agent,
    pub codex: Agent,
    pub native: Agent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub program: String,
    /// Given on every launch, before those after `--`.
    pub args: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generic {
    /// How long a program's output has to be quiet before it counts as idle.
    pub quiet: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// When a message that was not consumed expires; None: never.
    pub expire_after: Option<Duration>,
    /// How long a person's draft is waited for before a message goes in beside it.
    pub wait_for_draft: Option<Duration>,
}

impl Default for Delivery {
    fn default() -> Self {
        Self {
            expire_after: None,
            wait_for_draft: Some(Duration::from_secs(10)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handoff {
    pub gate: Gate,
    /// Larger documents are refused.
    pub max_bytes: u32,
    /// Whether an agent may run and read what is sm's own without asking a person.
    pub permissions: bool,
    pub layout: Layout,
    /// Between two automatic ones.
    pub cooldown: Duration,
    /// Automatic ones in an hour.
    pub per_hour: u32,
    /// How long one waits for a person before the old context goes on; None: until one comes.
    pub person_timeout: Option<Duration>,
}

/// What becomes of a document that looks unfinished.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Gate {
    Off,
    /// It is taken, and the answer says what is odd about it.
    #[default]
    Warn,
    /// It is refused unless it is confirmed.
    Strict,
}

impl Gate {
    pub const ALL: [Self; 3] = [Self::Off, Self::Warn, Self::Strict];
    pub const NAMES: [&'static str; 3] = ["off", "warn", "strict"];
}

/// Limits of the agents' providers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    pub resume: Resume,
    /// So often in a row.
    pub tries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            resume: Resume::default(),
            tries: LimitPolicy::default().tries,
        }
    }
}

impl Limits {
    pub fn policy(&self, is_left_alone: bool) -> LimitPolicy {
        let resume = match self.resume {
            Resume::Auto => is_left_alone,
            Resume::On => true,
            Resume::Off => false,
        };
        LimitPolicy {
            resume,
            tries: self.tries,
        }
    }
}

/// Whether an agent is told to go on after a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Resume {
    /// If the session is to be left alone.
    #[default]
    Auto,
    On,
    Off,
}

impl Resume {
    pub const ALL: [Self; 3] = [Self::Auto, Self::On, Self::Off];
    pub const NAMES: [&'static str; 3] = ["auto", "on", "off"];
}

/// Where the artifacts of handoffs are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layout {
    /// In sm's own data folder.
    #[default]
    Sm,
    /// `~/.local/share/claude-sessions/handoffs/`.
    Seed,
}

impl Layout {
    pub const ALL: [Self; 2] = [Self::Sm, Self::Seed];
    pub const NAMES: [&'static str; 2] = ["sm", "seed"];
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// What stands for `~/.claude`; None: that.
    pub dir: Option<PathBuf>,
    /// None: never.
    pub expire_after: Option<Duration>,
}

impl Default for Channel {
    fn default() -> Self {
        Self {
            dir: None,
            expire_after: Some(Duration::from_secs(2 * 3600)),
        }
    }
}

/// What `sm run` goes by; percent of a context's window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub early_warn: u32,
    pub warn: u32,
    pub critical: u32,
    pub limit: u32,
    pub max_restarts: u32,
    pub deadline_turns: u32,
    pub deadline_tokens: u32,
}

impl Run {
    /// Each level begins where the one before it has begun, or later; else the two that do not.
    pub fn in_order(&self) -> Result<(), [(&'static str, u32); 2]> {
        let levels = [
            ("run.early_warn", self.early_warn),
            ("run.warn", self.warn),
            ("run.critical", self.critical),
            ("run.limit", self.limit),
        ];
        for pair in levels.windows(2) {
            if let [lower, higher] = pair
                && lower.1 > higher.1
            {
                return Err([*lower, *higher]);
            }
        }
        Ok(())
    }
}

impl Default for Run {
    fn default() -> Self {
        Self {
            early_warn: 50,
            warn: 65,
            critical: 75,
            limit: 92,
            max_restarts: 10,
            deadline_turns: 1,
            deadline_tokens: 15_000,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notify {
    /// Program and arguments; empty: nothing is run.
    pub command: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    pub logs_days: u32,
    pub logs_max_mb: u32,
    pub events_days: u32,
    pub handoffs_days: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Store {
    pub durability: Durability,
}

impl Default for Daemon {
    fn default() -> Self {
        Self {
            port: 8420,
            log_level: LogLevel::Info,
        }
    }
}

impl Default for Tmux {
    fn default() -> Self {
        Self {
            program: "tmux".into(),
            socket: TmuxSocket::Own,
            config: None,
            history_limit: 50_000,
        }
    }
}

impl Default for Agents {
    fn default() -> Self {
        let agent = |program: &str| Agent {
            program: program.into(),
            args: Vec::new(),
        };
        Self {
            claude: agent("claude"),
            codex: agent("codex"),
            native: agent("sm-agent"),
        }
    }
}

impl Default for Generic {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(1500),
        }
    }
}

impl Default for Handoff {
    fn default() -> Self {
        Self {
            gate: Gate::default(),
            max_bytes: 4 << 20,
            permissions: true,
            layout: Layout::default(),
            cooldown: Duration::from_secs(600),
            per_hour: 4,
            person_timeout: None,
        }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            logs_days: 30,
            logs_max_mb: 2048,
            events_days: 90,
            handoffs_days: 90,
        }
    }
}
