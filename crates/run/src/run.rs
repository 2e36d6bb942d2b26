//! One agent after the other on the person's terminal.

use std::io;

use crate::{Brain, Run, RunError, Terminal};

/// Runs agents on the terminal until the brain says that it is over; the code to exit with.
pub fn run(first: Run, terminal: Terminal, brain: &mut dyn Brain) -> Result<i32, RunError> {
    let _ = (first, terminal, brain);
    Err(RunError::system("open a terminal for the agent")(
        io::Error::from(io::ErrorKind::Unsupported),
    ))
}
