//! What a context holds, written down mechanically at every moment: transcripts in, a document out.
//!
//! Pure, and it must never lose what a person said, nor write down a secret.
//!
//! | module | what it knows |
//! |---|---|
//! | `record` | what a transcript tells, in words that are the same for every agent |
//! | `dialect` | the transcripts of each agent -> records; streaming |
//! | `ledger` | what a context holds, record by record: words of people, plan, files, commands, names |
//! | `document` | the ledger as a text for a successor, inside a budget |
//! | `atoms` | paths, identifiers and hashes in a text: what an agent acts on |
//! | `fidelity` | how much of what is needed after a boundary is in a document |
//! | `redact` | secrets in a text, and the text without them |
//! | `gate` | whether a document can stand in for the context it replaces |

pub mod atoms;
pub mod dialect;
pub mod document;
pub mod fidelity;
pub mod gate;
mod json;
pub mod ledger;
pub mod record;
pub mod redact;
mod text;

pub use dialect::{Dialect, Reader, detect, whole};
pub use document::{Frame, document};
pub use ledger::{Interrupt, Interrupts, Ledger, Told};
pub use record::{At, Outcome, Record, Speaker};
pub use text::first_chars;
