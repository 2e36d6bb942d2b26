//! What `agent.toml` says, typed, checked and with its defaults.
//!
//! [`KEYS`] is the one table of keys: reading, unknown-key suggestions and `docs/agent.md` come
//! from it. A file that is not understood completely is never used in part. A key of a provider
//! is never printed.

mod docs;
mod keep;
mod keys;
mod read;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use sm_llm::{Api, Secret, Thinking};
use sm_settings::SettingsError;

use crate::approval::Mode;
use crate::handoff::Threshold;

pub use docs::reference;
pub use keep::{keep, with_rule};
pub(crate) use keys::thinking;
pub use keys::{KEYS, Key};

#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `provider/id`.
    pub model: Option<String>,
    pub thinking: Thinking,
    pub approvals: Approving,
    pub handoff: Handing,
    pub request: Requesting,
    pub prompt: Prompting,
    pub providers: BTreeMap<String, Provider>,
    pub models: BTreeMap<String, ModelSettings>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Approving {
    pub mode: Mode,
    /// As they stand in the file; paths count from the working directory.
    pub allow: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Handing {
    pub auto: bool,
    pub threshold: Threshold,
    pub save: Save,
    /// For the whole of it, with every attempt.
    pub deadline: Duration,
    /// Whether a document without the sections that were asked for is asked for once more.
    pub repair: bool,
    /// Characters for what the ledger knows and the document does not say; 0: none.
    pub facts: usize,
}

/// Which documents are also written to a file of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Save {
    #[default]
    Never,
    Automatic,
    All,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Requesting {
    pub deadline: Duration,
    /// So long may nothing come.
    pub idle: Duration,
    pub attempts: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Prompting {
    /// At the end of the system prompt.
    pub append: Option<String>,
    /// Whether `AGENTS.md` and `CLAUDE.md` are read.
    pub project: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Provider {
    pub api: Option<Api>,
    pub base_url: Option<String>,
    pub key: Option<Secret>,
    pub key_env: Option<String>,
    pub key_command: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelSettings {
    pub window: Option<u64>,
    pub max_output: Option<u64>,
    pub thinks: Option<bool>,
    pub images: Option<bool>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            model: None,
            thinking: Thinking::Off,
            approvals: Approving::default(),
            handoff: Handing {
                auto: true,
                threshold: Threshold::default(),
                save: Save::Never,
                deadline: Duration::from_secs(300),
                repair: true,
                facts: 4_000,
            },
            request: Requesting {
                deadline: Duration::from_secs(1800),
                idle: Duration::from_secs(300),
                attempts: 5,
            },
            prompt: Prompting {
                append: None,
                project: true,
            },
            providers: BTreeMap::new(),
            models: BTreeMap::new(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    File(#[from] SettingsError),
    #[error("cannot write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
}
