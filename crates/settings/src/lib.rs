//! A person's settings in a TOML file, read by a table of keys: `config.toml` and `agent.toml`.
//!
//! Knows no key itself. A file that is not understood completely is never used in part: a mistyped
//! key that is silently ignored would be a setting that a person believes in. Bounded; never panics,
//! whatever the file holds; the first mistake in the order of the file is the one that is told.

mod error;
mod read;
mod value;

pub use error::SettingsError;
pub use read::{Key, load, parse};
pub use toml::de::DeValue;
pub use value::{boolean, bounded, duration, list, number, text};
