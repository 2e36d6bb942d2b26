//! How far the archive has come: everything that is needed to go on, in one small file.
//!
//! It is replaced whole, after the text and the index it speaks of were written. What those hold
//! beyond it is from a renderer that was killed, and is cut off. A state that cannot be read, or that
//! speaks of text that is not there, is none: the archive is rendered anew from the log.

use super::place::{Folder, Position};
use sm_term::{Readable, Size};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const MAGIC: &[u8; 8] = b"smarch1\n";
const NUMBERS: usize = 6;

#[derive(Debug, Clone)]
pub struct State {
    /// The log is rendered up to here.
    pub raw: Position,
    /// The text ends here.
    pub text: Position,
    /// How many lines it has.
    pub lines: u64,
    /// How many bytes the index has.
    pub index: u64,
    /// The furthest place of the log that a line of the text comes from.
    pub reached: Position,
    /// So many bytes of the notes are obeyed.
    pub notes: u64,
    pub readable: Readable,
}

impl State {
    pub fn new(size: Size) -> Self {
        Self {
            raw: Position::default(),
            text: Position::new(1, 0),
            lines: 0,
            index: 0,
            reached: Position::default(),
            notes: 0,
            readable: Readable::new(size),
        }
    }

    pub fn load(folder: &Folder) -> Option<Self> {
        Self::decode(&fs::read(folder.state()).ok()?)
    }

    pub fn save(&self, folder: &Folder) -> io::Result<()> {
        replace(&folder.state(), &self.encode())
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let numbers: [u64; NUMBERS] = [
            self.raw.packed(),
            self.text.packed(),
            self.lines,
            self.index,
            self.reached.packed(),
            self.notes,
        ];
        for number in numbers {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend(self.readable.save());
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (bytes, sum) = bytes.split_last_chunk::<8>()?;
        if checksum(bytes) != u64::from_le_bytes(*sum) {
            return None;
        }
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut numbers = [0; NUMBERS];
        for number in &mut numbers {
            let (first, others) = rest.split_first_chunk::<8>()?;
            *number = u64::from_le_bytes(*first);
            rest = others;
        }
        let [raw, text, lines, index, reached, notes] = numbers;
        Some(Self {
            raw: Position::unpacked(raw),
            text: Position::unpacked(text),
            lines,
            index,
            reached: Position::unpacked(reached),
            notes,
            readable: Readable::load(rest)?,
        })
    }
}

/// FNV-1a over words of eight bytes.
fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64 ^ bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        if let Some(place) = word.get_mut(..chunk.len()) {
            place.copy_from_slice(chunk);
        }
        sum = (sum ^ u64::from_le_bytes(word)).wrapping_mul(0x0100_0000_01b3);
        sum ^= sum >> 32;
    }
    sum
}

/// The file is the old one or the new one, never half of one.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)?;
    file.write_all(bytes)?;
    drop(file);
    fs::rename(&fresh, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_is_found_and_anything_else_is_none() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder::new(temp.path().to_path_buf());
        folder.make_archive().unwrap();
        assert!(State::load(&folder).is_none());
        let mut state = State::new(Size::new(100, 30));
        state.readable.feed(b"some text");
        state.raw = Position::new(3, 77);
        state.lines = 12;
        state.save(&folder).unwrap();
        let found = State::load(&folder).unwrap();
        assert_eq!((found.raw, found.lines), (state.raw, 12));
        assert_eq!(found.readable.rest(), state.readable.rest());
        let good = fs::read(folder.state()).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(State::decode(&bad).is_none(), "{at}");
            assert!(State::decode(&good[..at]).is_none(), "{at}");
        }
    }
}
