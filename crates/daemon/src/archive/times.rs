//! When a place of the log was written, by the marks that `sm-hook log` leaves beside it.

use super::place::{Folder, Position};

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
    text.lines()
        .filter_map(|line| {
            let (offset, at) = line.split_once(' ')?;
            Some((offset.parse().ok()?, at.parse().ok()?))
        })
        .collect()
}
