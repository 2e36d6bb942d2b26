//! What the person was shown, written down.
//!
//! In a flood a piece comes every few microseconds: what came in one go is written in one go, and
//! always before the relay sleeps, so that whoever kills it then finds everything in the log.

use std::path::{Path, PathBuf};

use rustix::termios::Winsize;
use sm_client::terminal_log::{self, Writer};

pub struct Log {
    dir: PathBuf,
    writer: Writer,
    /// Shown, and not written down yet.
    shown: Vec<u8>,
}

impl Log {
    pub fn new(dir: PathBuf) -> Self {
        Self {
            writer: Writer::new(&dir),
            dir,
            shown: Vec::new(),
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn generation(&mut self, number: u32) {
        self.writer.generation(number);
    }

    pub fn shown(&mut self, bytes: &[u8]) {
        self.shown.extend_from_slice(bytes);
    }

    /// All of it was shown on a terminal of this size.
    pub fn write_down(&mut self, size: Winsize) {
        if !self.shown.is_empty() {
            self.writer.size(size.ws_col, size.ws_row);
            self.writer.write(&self.shown, terminal_log::now());
            self.shown.clear();
        }
    }

    pub fn finish(&mut self, size: Winsize) {
        self.write_down(size);
        self.writer.finish();
    }
}
