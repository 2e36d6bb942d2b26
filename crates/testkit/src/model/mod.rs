//! A model server that does what the prompt tells it, so that real agent programs run whole
//! turns without a model, an account or a network.
//!
//! It speaks the Anthropic Messages, OpenAI Responses and OpenAI Chat protocols on a loopback
//! port. What it answers is decided by directives in the last real user message ([`script`]) and by
//! sticky settings ([`Control`]), or it does what `sm` tells it ([`obey`]). Every request is kept
//! whole, so that a test can compare what an agent sent byte for byte.
//!
//! It must never listen on anything but 127.0.0.1, and never keep a key it was sent.

mod anthropic;
mod chat;
mod control;
mod obey;
mod reply;
mod request;
mod responses;
mod script;
mod server;
mod state;

pub use control::{BreakNext, Control, FailNext, Reached, When};
pub use request::{Request, conversation_of, is_main, is_subagent, texts_of};
pub use server::{ScriptedModel, StartError, serve_forever};
