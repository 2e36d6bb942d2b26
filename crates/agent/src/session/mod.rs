//! Session files of format version 3, which `pi` and `omp` read and write too.
//!
//! A file is only ever appended to, one whole line at a time. Nothing that stands in it is changed
//! or removed; the one exception is a last line that a crash has cut, and its bytes are kept beside
//! the file. What others write and we do not know stays where it is and is passed over.

mod context;
mod entry;
mod error;
mod export;
mod file;
mod fork;
mod list;
mod lock;
mod name;
mod open;
mod scan;
mod wire;

pub use entry::{Attribution, BashExecution, EntryId, NewEntry, TODO_TYPE};
pub use error::SessionError;
pub use export::export;
pub use file::SessionFile;
pub use fork::{fork, prompts};
pub use list::{Summary, find, list};
pub use name::{folder_of, new_id};
pub use open::{Header, Opened, Shown, SummaryKind, read};

/// The version that is written.
pub const VERSION: u64 = 3;
