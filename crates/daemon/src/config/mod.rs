//! What `config.toml` says, typed, checked and with its defaults.
//!
//! [`KEYS`] is the one table of keys: reading, unknown-key suggestions and `docs/config.md` all come
//! from it. A config that is not understood completely is never used in part.

mod context;
mod docs;
mod error;
mod keys;
mod read;
mod settings;

pub use context::{Context, Rule, Whom, Wording};
pub use docs::reference;
pub use error::ConfigError;
pub use keys::{KEYS, Key};
pub use settings::{
    Agent, Agents, Channel, Config, Daemon, Delivery, Gate, Generic, Handoff, Layout, LogLevel,
    Notify, Retention, Run, Store, Tmux, TmuxSocket,
};
