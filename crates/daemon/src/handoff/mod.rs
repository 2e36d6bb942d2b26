//! The daemon's side of a handoff: judging and keeping its document, making what goes with it.
//!
//! The agent's own file is read and never written. Nothing here decides when a context is left: that
//! is `sm_core`.

mod document;
mod facts;
mod gate;
mod links;
mod place;
mod prepare;

pub use document::{Document, DocumentError, given, read};
pub use facts::{Sources, judge};
pub use gate::{Verdict, verdict};
pub use place::{Kept, base, is_own, keep, read as read_kept, remove};
pub use prepare::{complete_transcript, in_flight, prepare};

/// The document's copy in a handoff's folder.
const DOCUMENT: &str = "document.md";
