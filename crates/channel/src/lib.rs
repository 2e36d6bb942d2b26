//! Channels: one lane for handoffs per project, kept in files under `~/.claude` that a shell
//! library reads and writes too. A manifest names the one current handoff, a document holds it,
//! an archive keeps every other one.
//!
//! Formats, transitions and path matching are pure (`names`, `manifest`, `document`, `registry`,
//! `recent`). Everything that touches the system goes through [`Files`], one call per system call
//! that others can see, so that a test can stop any process between any two of them.
//!
//! It must never destroy a document, give one handoff to two loaders, or take a lock from a
//! process that still lives.

mod document;
mod error;
mod files;
mod lock;
mod log;
mod manifest;
mod names;
mod owner;
mod place;
mod real;
mod recent;
mod registry;
mod sessions;
mod store;

pub use document::{Header, header_of};
pub use error::ChannelError;
pub use files::{Durable, Files, Found};
pub use lock::Owner;
pub use log::append as log_line;
pub use manifest::{Current, Manifest, Status};
pub use names::{ChannelName, HandoffId, Kind};
pub use owner::{is_same_work, owner_of};
pub use place::Place;
pub use real::RealFiles;
pub use recent::{recent, recent_of_file};
pub use registry::Registry;
pub use sessions::{DotFile, SessionLine};
pub use store::{Channel, Created, Loaded, NewHandoff, Occupied, Put, Which, update_registry};
