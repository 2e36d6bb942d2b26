//! The document that a model writes for the session that comes after it.
//!
//! `generate` asks the model, `commit` makes the new session; everything else is pure. A request is
//! never written to a log, and the old session's file is not touched.

mod commit;
mod cut;
mod facts;
mod generate;
mod prompt;
mod quality;
mod threshold;
mod wrap;

pub use commit::{Carried, commit, save};
pub(crate) use cut::text_of;
pub use cut::{Cut, cut, estimate};
pub use facts::{HEADING, facts, ledger_of};
pub use generate::{Draft, Order, Prefix, Progress, generate};
pub use prompt::{AUTOMATIC_FOCUS, prompt, repair};
pub use quality::{SECTIONS, Section, flaws, missing, unfenced, unfit};
pub use threshold::Threshold;
pub use wrap::{unwrap, wrap};

/// The kind of `custom_message` that the document is kept as.
pub const CUSTOM_TYPE: &str = "handoff";
