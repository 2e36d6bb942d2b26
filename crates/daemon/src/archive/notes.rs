//! What the daemon knows of a terminal's log that is not in it: sizes, new terminals, generations.
//!
//! One line each, `<part> <offset> <milliseconds> <what>`, only ever added. A line that is torn or
//! not understood is skipped; without any, the archive is rendered at the size of the launch and is
//! all one generation.

use super::place::{Folder, Position};
use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A new terminal of that size begins.
    New { cols: u16, rows: u16 },
    /// The terminal has that size from here on.
    Size { cols: u16, rows: u16 },
    /// This generation begins.
    Generation(u32),
    /// The screen is about to be cleared: what it shows is to be kept, however short it stood.
    Screen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    pub position: Position,
    /// Milliseconds since the epoch.
    pub at: i64,
    pub what: What,
}

/// Notes it at the present end of the log.
pub fn add(folder: &Folder, at: i64, what: What) -> io::Result<()> {
    let Position { part, offset } = folder.end_of_log();
    let what = match what {
        What::New { cols, rows } => format!("new {cols} {rows}"),
        What::Size { cols, rows } => format!("size {cols} {rows}"),
        What::Generation(number) => format!("generation {number}"),
        What::Screen => "screen shown".to_owned(),
    };
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(folder.notes())?;
    file.write_all(format!("{part} {offset} {at} {what}\n").as_bytes())
}

/// The notes after the first `skipped` bytes, each with where the line behind it begins.
pub fn read(folder: &Folder, skipped: u64) -> Vec<(u64, Note)> {
    let mut text = String::new();
    let read = OpenOptions::new()
        .read(true)
        .open(folder.notes())
        .and_then(|mut file| {
            file.seek(SeekFrom::Start(skipped))?;
            file.read_to_string(&mut text)
        });
    if read.is_err() {
        return Vec::new();
    }
    let mut next = skipped;
    let mut notes = Vec::new();
    for line in text.split_inclusive('\n') {
        next += line.len() as u64;
        if let Some(note) = line.strip_suffix('\n').and_then(parse) {
            notes.push((next, note));
        }
    }
    notes
}

fn parse(line: &str) -> Option<Note> {
    let mut words = line.split(' ');
    let mut word = || words.next();
    let position = Position {
        part: word()?.parse().ok()?,
        offset: word()?.parse().ok()?,
    };
    let at = word()?.parse().ok()?;
    let kind = word()?;
    let first = word()?;
    let mut size = || Some((first.parse().ok()?, word()?.parse().ok()?));
    let what = match kind {
        "new" => size().map(|(cols, rows)| What::New { cols, rows })?,
        "size" => size().map(|(cols, rows)| What::Size { cols, rows })?,
        "generation" => What::Generation(first.parse().ok()?),
        "screen" => What::Screen,
        _ => return None,
    };
    Some(Note { position, at, what })
}

/// Where a generation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begins {
    pub generation: u32,
    pub from: Position,
    /// Milliseconds since the epoch; unknown for what was there before anybody noted it.
    pub at: Option<i64>,
}

/// The generations of a log, in order. There is always one.
pub fn generations(folder: &Folder) -> Vec<Begins> {
    let mut found: Vec<Begins> = Vec::new();
    for (_, note) in read(folder, 0) {
        if let What::Generation(generation) = note.what
            && found.last().is_none_or(|last| last.generation < generation)
        {
            found.push(Begins {
                generation,
                from: note.position,
                at: Some(note.at),
            });
        }
    }
    match found.first_mut() {
        // What an agent prints before its first context begins is part of it.
        Some(first) if first.generation == 1 => first.from = Position::default(),
        Some(first) => {
            let before = Begins {
                generation: first.generation - 1,
                from: Position::default(),
                at: None,
            };
            found.insert(0, before);
        }
        None => found.push(Begins {
            generation: 1,
            from: Position::default(),
            at: None,
        }),
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_found_again_and_torn_ones_skipped() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder::new(temp.path().to_path_buf());
        assert_eq!(read(&folder, 0), []);
        assert_eq!(generations(&folder).len(), 1);
        let all = [
            What::New { cols: 80, rows: 24 },
            What::Generation(1),
            What::Size {
                cols: 132,
                rows: 50,
            },
            What::Screen,
            What::Generation(2),
        ];
        for (n, what) in all.into_iter().enumerate() {
            std::fs::write(folder.log(1), vec![b'x'; 10 * n]).unwrap();
            add(&folder, 1000 + n as i64, what).unwrap();
        }
        let mut file = OpenOptions::new()
            .append(true)
            .open(folder.notes())
            .unwrap();
        file.write_all(b"1 5 7 nonsense 3\n\n2 0 9 generation 3")
            .unwrap();
        let notes = read(&folder, 0);
        let whats: Vec<What> = notes.iter().map(|(_, note)| note.what).collect();
        assert_eq!(whats, all);
        assert_eq!(notes[2].1.position, Position::new(1, 20));
        // Read on where the second one ended.
        assert_eq!(read(&folder, notes[1].0), notes[2..]);
        let begins: Vec<_> = generations(&folder)
            .into_iter()
            .map(|b| (b.generation, b.from.packed() as u32, b.at))
            .collect();
        assert_eq!(begins, [(1, 0, Some(1001)), (2, 40, Some(1004))]);
    }
}
