//! The person's terminal.

use std::io::IsTerminal;

use crate::RunError;

/// The terminal that we were started in.
#[derive(Debug)]
pub struct Terminal {}

impl Terminal {
    /// `None` if there is no terminal on either end, so that nothing can be put between.
    pub fn of_person() -> Result<Option<Self>, RunError> {
        if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            return Ok(Some(Self {}));
        }
        Ok(None)
    }
}
