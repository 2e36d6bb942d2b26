//! The agent in a person's terminal: inline, over the terminal's own scrollback.
//!
//! Updates of the host come in, commands go out; what is shown is decided by `app`, which is pure,
//! and brought to the terminal by `paint`, which is pure too. Only `run`, `plain` and `terminal`
//! touch the outside. Nothing that a model or a tool says may reach the terminal as a sequence.

mod app;
mod branch;
mod diff;
mod editor;
mod files;
mod highlight;
mod input;
mod line;
mod look;
mod markdown;
mod paint;
mod plain;
mod run;
mod terminal;
mod text;
mod tool;
mod transcript;
mod view_entries;
#[cfg(test)]
mod vt;

pub use look::{Background, Colours, Glyphs, Look, Mode};
pub use run::{Options, run};
