//! Terminal bytes to readable text.
//!
//! * [`Readable`] turns the raw output of a program into the lines a person would have read: wrapped
//!   lines rejoined, redraws applied, escape sequences gone. [`tail`] is the same for the end of a log.
//! * [`strip`] removes escape sequences from a text without interpreting them.
//! * [`sanitize_for_display`] makes a foreign text safe to show in a person's terminal.
//!
//! Pure: no IO, no clock. Whatever the bytes are, nothing here panics, and memory stays bounded.

mod escape;
mod readable;
mod redraws;
mod utf8;

pub use escape::{sanitize_for_display, strip};
pub use readable::{Readable, Size, tail};
