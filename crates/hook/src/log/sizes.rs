//! How large the terminal is whose output is logged.
//!
//! The size is asked of the terminal's device each time output has come: what a program draws after
//! a change of size comes after it. The device is not kept open, as tmux would never see it close.

use std::path::PathBuf;

use crate::platform;

pub struct Sizes {
    tty: PathBuf,
}

impl Sizes {
    pub fn new(tty: &str) -> Self {
        Self {
            tty: PathBuf::from(tty),
        }
    }

    /// Columns and rows.
    pub fn look(&self) -> Option<(u16, u16)> {
        platform::terminal_size(&self.tty)
    }
}
