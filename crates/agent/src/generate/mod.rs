//! Having a model write the document of a handoff for a conversation of any agent.
//!
//! Three ways, in this order: the agent's own program on a fork of the conversation (`program`; for
//! a session of ours `own`, which asks as the agent itself would); a model of ours that reads the
//! transcript as text (`transcript`); the ledger, without a model.

mod command;
mod document;
mod own;
pub mod program;
pub mod transcript;

pub use command::{DocumentArgs, GenerateArgs};
pub use document::{Allowance, Document, DocumentError, Subject, agent, document};
