//! Having a model write the document of a handoff for a conversation of any agent.
//!
//! Three ways, in this order: the agent's own program on a fork of the conversation (`program`); a
//! model of ours that reads the transcript as text (`transcript`); the ledger, without a model.

pub mod program;
pub mod transcript;
