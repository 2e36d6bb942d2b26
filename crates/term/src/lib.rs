//! Terminal bytes to readable text.
//!
//! * [`Readable`] turns the raw output of a program into the lines a person would have read: wrapped
//!   lines rejoined, redraws applied and folded, escape sequences gone. It can be saved and goes on
//!   in another process where it was. [`tail`] is the same for the end of a log.
//! * [`Glass`] is the screen as it is now, for a program that has to read it.
//! * [`strip`] removes escape sequences from a text without interpreting them.
//! * [`sanitize_for_display`] makes a foreign text safe to show in a person's terminal.
//!
//! Pure: no IO, no clock. Whatever the bytes are, nothing here panics, and memory stays bounded.

mod escape;
mod fold;
mod frames;
mod glass;
mod grid;
mod line;
mod parser;
mod readable;
mod row;
mod saved;
mod screen;
mod size;
mod standing;
mod story;
mod titles;

pub use escape::{sanitize_for_display, strip};
pub use glass::Glass;
pub use line::Line;
pub use readable::{Readable, tail};
pub use size::Size;
