//! How large the terminal is whose output is logged, noted where it changes.
//!
//! The size is asked of the terminal's device each time output has come: what a program draws after
//! a change of size comes after it. The device is not kept open, as tmux would never see it close.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::platform;

pub struct Sizes {
    tty: PathBuf,
    last: Option<(u16, u16)>,
}

impl Sizes {
    pub fn new(tty: &str) -> Self {
        Self {
            tty: PathBuf::from(tty),
            last: None,
        }
    }

    /// What is written next begins at `offset` of that part, `now` (milliseconds since the epoch).
    pub fn look(&mut self, dir: &Path, part: u32, offset: u64, now: u64) {
        let Some(size) = platform::terminal_size(&self.tty) else {
            return;
        };
        if self.last == Some(size) {
            return;
        }
        self.last = Some(size);
        let (cols, rows) = size;
        let notes = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(dir.join("terminal.notes"));
        if let Ok(mut notes) = notes {
            // One write: whoever reads sees whole lines. One that fails is a size not followed.
            let line = format!("{part} {offset} {now} size {cols} {rows}\n");
            let _ = notes.write_all(line.as_bytes());
        }
    }
}
