//! One row of a screen: characters only, as colours say nothing to a reader of text.

use std::collections::HashMap;

use unicode_width::UnicodeWidthChar;

/// A character, the right half of a wide one, or a cluster of several.
pub(crate) type Cell = u32;

pub(crate) const BLANK: Cell = 0x20;
/// The right half of the wide character before it.
pub(crate) const HALF: Cell = u32::MAX;
/// Below: a character. From here on: a cluster.
const CLUSTER: Cell = 1 << 24;
/// How a character is drawn, where somebody wants to know: bits that no character or cluster has.
pub(crate) const DIM: Cell = 1 << 29;
pub(crate) const REVERSE: Cell = 1 << 30;

/// Without how it is drawn.
fn plain(cell: Cell) -> Cell {
    match cell {
        HALF => HALF,
        cell => cell & !(DIM | REVERSE),
    }
}

/// So many different clusters are told apart; further marks are left out.
const MOST_CLUSTERS: usize = 16_384;
/// A cluster has at most so many bytes.
const LONGEST_CLUSTER: usize = 21;

pub(crate) const JOINER: char = '\u{200d}';

/// How many columns a character takes; `None` for one that is not shown.
pub(crate) fn width(c: char) -> Option<usize> {
    match c {
        // What is met most, without a table.
        '\u{ae}'..='\u{2ff}' | '\u{2500}'..='\u{259f}' => Some(1),
        c => c.width(),
    }
}

/// Characters with marks on them, each known by a number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clusters {
    texts: Vec<Box<str>>,
    numbers: HashMap<Box<str>, Cell>,
}

impl Clusters {
    pub fn text(&self, cell: Cell) -> &str {
        let number = plain(cell).wrapping_sub(CLUSTER) as usize;
        self.texts.get(number).map_or("\u{fffd}", |text| text)
    }

    /// The cell with one more mark, if there is room for it.
    pub fn joined(&mut self, cell: Cell, mark: char) -> Option<Cell> {
        let mut text = String::new();
        self.push(cell, &mut text);
        text.push(mark);
        (text.len() <= LONGEST_CLUSTER).then(|| self.number(&text))?
    }

    pub fn number(&mut self, text: &str) -> Option<Cell> {
        if let Some(known) = self.numbers.get(text) {
            return Some(*known);
        }
        if self.texts.len() >= MOST_CLUSTERS {
            return None;
        }
        let number = CLUSTER + u32::try_from(self.texts.len()).ok()?;
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        Some(number)
    }

    pub fn ends_with_joiner(&self, cell: Cell) -> bool {
        (CLUSTER..HALF).contains(&plain(cell)) && self.text(cell).ends_with(JOINER)
    }

    pub fn push(&self, cell: Cell, text: &mut String) {
        match plain(cell) {
            cell @ 0..0x80 => text.push(char::from(cell as u8)),
            HALF => {}
            cell @ 0x80..CLUSTER => {
                text.push(char::from_u32(cell).unwrap_or(char::REPLACEMENT_CHARACTER))
            }
            cell @ CLUSTER.. => text.push_str(self.text(cell)),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// What follows the last one is blank.
    pub cells: Vec<Cell>,
    /// The text goes on in the next row.
    pub wrapped: bool,
    /// Where in the log its last change lies.
    pub at: u64,
}

impl Row {
    /// As new, with its memory.
    pub fn reset(&mut self) {
        self.cells.clear();
        self.wrapped = false;
        self.at = 0;
    }

    pub fn is_blank(&self) -> bool {
        self.cells.iter().all(|cell| *cell == BLANK)
    }

    pub fn get(&self, x: usize) -> Cell {
        self.cells.get(x).copied().unwrap_or(BLANK)
    }

    /// Makes the row at least so long.
    fn reach(&mut self, length: usize) {
        if self.cells.len() < length {
            self.cells.resize(length, BLANK);
        }
    }

    /// A wide character that begins before `x` and ends behind it becomes blank.
    fn split(&mut self, x: usize) {
        if self.get(x) == HALF {
            for x in [x.wrapping_sub(1), x] {
                if let Some(cell) = self.cells.get_mut(x) {
                    *cell = BLANK;
                }
            }
        }
    }

    /// `pen`: how it is drawn.
    pub fn write_ascii(&mut self, x: usize, text: &[u8], pen: Cell, at: u64) {
        self.at = at;
        let end = x + text.len();
        if x == self.cells.len() {
            self.cells
                .extend(text.iter().map(|byte| Cell::from(*byte) | pen));
            return;
        }
        self.split(x);
        self.split(end);
        self.reach(end);
        if let Some(cells) = self.cells.get_mut(x..end) {
            for (cell, byte) in cells.iter_mut().zip(text) {
                *cell = Cell::from(*byte) | pen;
            }
        }
    }

    /// A character of one or two columns.
    pub fn write(&mut self, x: usize, cell: Cell, width: usize, at: u64) {
        self.at = at;
        let end = x + width;
        self.split(x);
        self.split(end);
        self.reach(end);
        for (i, place) in self.cells.iter_mut().skip(x).take(width).enumerate() {
            *place = if i == 0 { cell } else { HALF };
        }
    }

    /// A part of the row becomes blank. It stays as long as it was, which counts when it is wrapped
    /// anew.
    pub fn erase(&mut self, from: usize, to: usize) {
        if from >= self.cells.len() || from >= to {
            return;
        }
        self.split(from);
        self.split(to);
        let to = to.min(self.cells.len());
        if let Some(cells) = self.cells.get_mut(from..to) {
            cells.fill(BLANK);
        }
    }

    pub fn insert(&mut self, x: usize, count: usize, cols: usize) {
        if x >= self.cells.len() {
            return;
        }
        self.split(x);
        let blanks = std::iter::repeat_n(BLANK, count.min(cols));
        self.cells.splice(x..x, blanks);
        self.cut(cols);
    }

    pub fn delete(&mut self, x: usize, count: usize) {
        if x >= self.cells.len() {
            return;
        }
        let end = (x + count).min(self.cells.len());
        self.split(x);
        self.split(end);
        self.cells.drain(x..end);
        // As long as it was: if its text goes on in the next row, the blanks are part of it.
        self.reach(self.cells.len() + end - x);
    }

    pub fn cut(&mut self, cols: usize) {
        if self.cells.len() > cols {
            self.split(cols);
            self.cells.truncate(cols);
        }
    }

    /// Its text, blanks at the end included.
    pub fn text(&self, clusters: &Clusters, into: &mut String) {
        into.reserve(self.cells.len());
        for cell in &self.cells {
            clusters.push(*cell, into);
        }
    }

    /// Its text without blanks at the end.
    pub fn line(&self, clusters: &Clusters) -> String {
        let mut text = String::new();
        self.text(clusters, &mut text);
        text.truncate(text.trim_end().len());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Row {
        let mut row = Row::default();
        for c in text.chars() {
            let width = width(c).unwrap_or(0);
            row.write(row.cells.len(), c.into(), width, 1);
        }
        row
    }

    #[test]
    fn half_a_wide_character_is_none() {
        let clusters = Clusters::default();
        type Change = fn(&mut Row);
        for (change, expected) in [
            ((|row| row.write_ascii(0, b"x", 0, 1)) as Change, "x 本c"),
            (|row| row.write_ascii(1, b"x", 0, 1), " x本c"),
            (|row| row.write_ascii(1, b"xy", 0, 1), " xy c"),
            (|row| row.write(1, '語'.into(), 2, 1), " 語 c"),
            (|row| row.erase(1, 3), "    c"),
            (|row| row.erase(3, 9), "日"),
            (|row| row.delete(1, 1), " 本c"),
            (|row| row.insert(1, 1, 5), "   本"),
            (|row| row.insert(0, 1, 4), " 日"),
            (|row| row.cut(3), "日"),
            (|row| row.erase(7, 9), "日本c"),
        ] {
            let mut row = row("日本c");
            change(&mut row);
            assert_eq!(row.line(&clusters), expected);
        }
    }

    #[test]
    fn marks_join_their_character() {
        let mut clusters = Clusters::default();
        let e = clusters.joined('e'.into(), '\u{301}').unwrap();
        assert_eq!(clusters.text(e), "e\u{301}");
        assert_eq!(clusters.joined('e'.into(), '\u{301}'), Some(e));
        let mut cell = e;
        let mut marks = 1;
        while let Some(more) = clusters.joined(cell, '\u{301}') {
            cell = more;
            marks += 1;
        }
        assert_eq!(marks, 10, "a pile of marks ends somewhere");
    }
}
