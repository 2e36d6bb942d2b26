//! Asking a model: messages, requests, answers as they stream in.
//!
//! The bodies of requests are entirely our own, because a handoff is asked for with the very bytes
//! that the provider has in its cache. A key is never logged, printed or written to a file.

mod message;
mod model;
mod request;

pub use message::{
    Assistant, Block, Content, Cost, Message, StopReason, ToolCall, ToolResult, Usage, User,
};
pub use model::{Api, Model, Prices, Secret, Thinking};
pub use request::{Request, Tool, ToolChoice};
