//! Asking a model: messages, requests, answers as they stream in.
//!
//! The bodies of requests are entirely our own, because a handoff is asked for with the very bytes
//! that the provider has in its cache. A key is never logged, printed or written to a file.

mod answer;
mod anthropic;
mod body;
mod chat;
mod classify;
mod client;
mod failure;
mod history;
mod http;
pub mod known;
mod local;
mod message;
mod model;
mod reading;
mod request;
mod responses;
mod retry;
#[cfg(test)]
mod samples;
mod sse;
mod text;

pub use answer::Delta;
pub use body::{address, body};
pub use client::{Client, Limits};
pub use failure::Failure;
pub use local::{Found, Places, ServerKind, local_servers_at};
pub use message::{
    Assistant, Block, Content, Cost, Message, StopReason, ToolCall, ToolResult, Usage, User,
};
pub use model::{Api, Model, Prices, Secret, Thinking};
pub use reading::{Broken, Reading};
pub use request::{Request, Tool, ToolChoice};
