//! Having a model write the document of a handoff for a conversation of any agent.

pub mod program;
