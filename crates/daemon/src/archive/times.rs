//! When a place of the log was written, by the marks that `sm-hook log` leaves beside it.

use super::place::{Folder, Position};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Longer files of marks are not read: days of output without a pause.
const MOST: u64 = 8 << 20;

/// The marks of the part that was last asked for, as they were then: not for long use.
#[derive(Default)]
pub struct Times {
    part: u32,
    marks: Vec<(u32, i64)>,
}

impl Times {
    /// Milliseconds since the epoch.
    pub fn at(&mut self, folder: &Folder, position: Position) -> Option<i64> {
        let number = self.number(folder, position)?;
        self.marks.get(number).map(|(_, at)| *at)
    }

    /// Which of its part's marks a place belongs to.
    pub fn number(&mut self, folder: &Folder, position: Position) -> Option<usize> {
        if self.part != position.part {
            self.part = position.part;
            self.marks = read(folder, position.part);
        }
        let later = self
            .marks
            .partition_point(|(offset, _)| *offset <= position.offset);
        later.checked_sub(1)
    }
}

fn read(folder: &Folder, part: u32) -> Vec<(u32, i64)> {
    let path = folder.times(part);
    let small = std::fs::metadata(&path).is_ok_and(|m| m.len() <= MOST);
    let text = match small {
        true => std::fs::read_to_string(&path).unwrap_or_default(),
        false => String::new(),
    };
    text.lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<(u32, i64)> {
    let (offset, at) = line.split_once(' ')?;
    Some((offset.parse().ok()?, at.parse().ok()?))
}

/// The marks of a log that is read from its beginning to its end, each once, in order.
#[derive(Default)]
pub struct Marks {
    part: u32,
    /// So much of the part's file is read.
    read: u64,
    next: VecDeque<(u32, i64)>,
}

impl Marks {
    /// Reads what was marked up to now. A mark is written before the bytes it is about, so whoever
    /// has read bytes finds their marks.
    pub fn catch_up(&mut self, folder: &Folder, from: Position) {
        if self.part != from.part {
            *self = Self {
                part: from.part,
                ..Self::default()
            };
        }
        let mut text = String::new();
        let read = File::open(folder.times(self.part)).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.take(MOST).read_to_string(&mut text)
        });
        if read.is_err() {
            return;
        }
        // A line that is not whole yet is read the next time.
        let whole = text.rfind('\n').map_or(0, |last| last + 1);
        self.read += whole as u64;
        let lines = text.get(..whole).unwrap_or_default().lines();
        let later = |(offset, _): &(u32, i64)| *offset >= from.offset;
        self.next.extend(lines.filter_map(parse).filter(later));
    }

    /// The time at which the byte at this place was written, if it is marked; and those before it
    /// are passed.
    pub fn pass(&mut self, at: Position) -> Option<i64> {
        let mut found = None;
        while let Some((offset, time)) = self.next.front().copied()
            && offset <= at.offset
        {
            found = (offset == at.offset).then_some(time).or(found);
            self.next.pop_front();
        }
        found
    }

    /// Where the next mark is.
    pub fn next(&self) -> Option<Position> {
        let (offset, _) = self.next.front()?;
        Some(Position::new(self.part, (*offset).into()))
    }
}
