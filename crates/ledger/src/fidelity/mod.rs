//! How much of what an agent needs after a boundary is in what it was given?
//!
//! | figure | of what | how much is in the document |
//! |---|---|---|
//! | NAR | the atoms of the old context that the agent used afterwards before anything showed them again | literally |
//! | LAR | the atoms of the old context that it used at any time afterwards | literally |
//! | DIR | the person's messages in the old context | their first 400 characters, but for white space |
//!
//! Averages are over boundaries, each counting the same, with 95 % intervals by resampling. The definitions, down to
//! the random numbers, are those of a scorer in Python that others can run; [`Transcript::claude`] therefore reads
//! transcripts by itself: what the ledger's own reader misses must count as missed.
//!
//! It must never be changed to make a document look better.

mod arms;
mod boundary;
mod evaluation;
mod random;
mod strings;
mod transcript;

pub use arms::Arm;
pub use boundary::{Boundary, Places, Question, Score};
pub use evaluation::{Evaluation, Figure, Figures, Report, Row};
pub use transcript::{Builder, Entry, Role, Transcript, may_have_compactions};

#[cfg(test)]
mod tests;
