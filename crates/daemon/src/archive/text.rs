//! Writing the text down: numbered files of whole lines, and an index from lines to the log.
//!
//! An entry of the index is made whenever something changes that people ask for: the second in which
//! a line was written, its generation, or simply some kilobytes of the log.

use super::notes::Begins;
use super::place::{Folder, Position};
use super::state::State;
use super::times::Times;
use sm_term::Line;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A file of text is full at this size; a line is never split.
const FULL: u64 = 4 << 20;
/// So much of the log at most between two entries.
const BETWEEN: u32 = 12; // bits: 4 KiB

/// One entry of the index: the line with this number begins there in the text, and was written
/// there in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry {
    pub text: Position,
    pub raw: Position,
    pub line: u64,
}

impl Entry {
    pub const SIZE: u64 = 24;

    fn bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        let numbers = [self.text.packed(), self.raw.packed(), self.line];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    pub fn parse(bytes: [u8; 24]) -> Self {
        let number = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        Self {
            text: Position::unpacked(number(0)),
            raw: Position::unpacked(number(8)),
            line: number(16),
        }
    }
}

/// What has to change for an entry to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    window: u64,
    second: Option<usize>,
    generation: usize,
}

pub struct Text<'a> {
    folder: &'a Folder,
    generations: &'a [Begins],
    text: BufWriter<File>,
    index: BufWriter<File>,
    times: Times,
    last: Option<Key>,
}

impl<'a> Text<'a> {
    /// Opens the text where the state says that it ends. `None`: it does not reach that far.
    pub fn open(
        folder: &'a Folder,
        state: &State,
        generations: &'a [Begins],
    ) -> io::Result<Option<Self>> {
        let text = appending(&folder.text(state.text.part))?;
        let index = appending(&folder.index())?;
        for (file, length) in [(&text, u64::from(state.text.offset)), (&index, state.index)] {
            let there = file.metadata()?.len();
            if there < length {
                return Ok(None);
            }
            if there > length {
                file.set_len(length)?;
            }
        }
        for later in folder.text_parts() {
            if later > state.text.part {
                fs::remove_file(folder.text(later))?;
            }
        }
        Ok(Some(Self {
            folder,
            generations,
            text: BufWriter::with_capacity(256 << 10, text),
            index: BufWriter::new(index),
            times: Times::default(),
            last: None,
        }))
    }

    pub fn write(&mut self, lines: &[Line], state: &mut State) -> io::Result<()> {
        for line in lines {
            let length = line.text.len() as u64 + 1;
            if state.text.offset > 0 && u64::from(state.text.offset) + length > FULL {
                self.text.flush()?;
                state.text = Position::new(state.text.part + 1, 0);
                let next = appending(&self.folder.text(state.text.part))?;
                next.set_len(0)?;
                self.text = BufWriter::with_capacity(256 << 10, next);
            }
            state.reached = state.reached.max(Position::unpacked(line.at));
            let key = self.key(state.reached);
            if self.last != Some(key) {
                self.last = Some(key);
                let entry = Entry {
                    text: state.text,
                    raw: state.reached,
                    line: state.lines,
                };
                self.index.write_all(&entry.bytes())?;
                state.index += Entry::SIZE;
            }
            self.text.write_all(line.text.as_bytes())?;
            self.text.write_all(b"\n")?;
            state.text.offset += u32::try_from(length).unwrap_or(u32::MAX);
            state.lines += 1;
        }
        Ok(())
    }

    fn key(&mut self, at: Position) -> Key {
        Key {
            window: at.packed() >> BETWEEN,
            second: self.times.number(self.folder, at),
            generation: self.generations.partition_point(|b| b.from <= at),
        }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.text.flush()?;
        self.index.flush()
    }
}

fn appending(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}
