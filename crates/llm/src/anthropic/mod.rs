//! Anthropic Messages: the body of a request, and the events of its answer. Pure.

mod body;
mod events;

pub(crate) use body::{body, interleaves};
pub(crate) use events::Reader;
