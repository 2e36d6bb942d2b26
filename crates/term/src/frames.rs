//! The alternate screen, where nothing scrolls off: programs draw picture after picture on it.
//!
//! Picture is compared with picture. What has moved up and out of sight has been read and is said;
//! so is what made way for something altogether different. What changed in its place is said when
//! it leaves, as it was last.

use std::collections::VecDeque;

use crate::grid::{Grid, Move};
use crate::line::{Line, hash, similar};
use crate::row::{BLANK, Cell, Clusters, Row};

/// A text that came back is not said again if it is among the last so many.
const RECENT: usize = 2_048;
/// Nothing moves further than this between two pictures and can still be recognised.
const FURTHEST: usize = 200;
/// So many blank lines in a row are left of a picture.
const BLANKS: usize = 2;

#[derive(Debug, Clone, Default)]
pub(crate) struct Frames {
    /// The last picture.
    pub(crate) picture: Vec<Row>,
    /// How far back a person has scrolled: what is there was said.
    pub(crate) back: usize,
    pub(crate) recent: VecDeque<u32>,
    /// The beginning of a line whose rest has not been scrolled away yet.
    pub(crate) unfinished: Line,
    /// The program says where a picture ends; nothing else does then.
    pub(crate) marked: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Moved {
    Up(usize),
    Down(usize),
    No,
}

impl Frames {
    /// Another screen: nothing is known of it.
    pub fn forget(&mut self) {
        self.picture.clear();
        self.back = 0;
    }

    /// Rows were moved by the program itself, and those that left were said.
    pub fn moved(&mut self, moves: &[Move]) {
        for step in moves {
            let (gone, come) = match *step {
                Move::Up { top, bottom } => (top, bottom),
                Move::Down { top, bottom } => (bottom, top),
            };
            if gone < self.picture.len() && come < self.picture.len() {
                self.picture.remove(gone);
                self.picture.insert(come, Row::default());
            }
        }
    }

    /// A picture is complete.
    pub fn observe(&mut self, grid: &mut Grid, clusters: &Clusters, out: &mut Vec<Line>) {
        let mut changed = 0..0;
        let touched = match self.picture.is_empty() {
            true => 0..grid.size().rows(),
            false => grid.take_touched(),
        };
        for y in touched {
            let row = grid.row(y);
            if self.picture.get(y).map_or(&[][..], used) != used(row) {
                if changed.is_empty() {
                    changed.start = y;
                }
                changed.end = y + 1;
            }
        }
        if changed.is_empty() {
            return;
        }
        // An empty screen is about to be drawn.
        if grid.screen().all(Row::is_blank) {
            grid.touched = 0..grid.size().rows();
            return;
        }
        let grid = &*grid;
        if changed.end <= self.picture.len() {
            self.compare(changed.clone(), grid, clusters, out);
        }
        self.picture.resize(grid.size().rows(), Row::default());
        for y in changed {
            if let Some(row) = self.picture.get_mut(y) {
                row.clone_from(grid.row(y));
            }
        }
    }

    fn compare(
        &mut self,
        changed: std::ops::Range<usize>,
        grid: &Grid,
        clusters: &Clusters,
        out: &mut Vec<Line>,
    ) {
        let old: Vec<&[Cell]> = self.picture.iter().map(used).collect();
        let new: Vec<&[Cell]> = grid.screen().map(used).collect();
        let (Some(old), Some(new)) = (old.get(changed.clone()), new.get(changed.clone())) else {
            return;
        };
        match moved(old, new) {
            Moved::Up(by) => {
                let known = self.back.min(by);
                self.back -= known;
                let left = changed.start + known..changed.start + by;
                let lines: Vec<Line> = lines(self.picture.get(left).unwrap_or_default(), clusters);
                self.say(lines, out);
            }
            Moved::Down(by) => self.back += by,
            Moved::No => {
                let old = lines(
                    self.picture.get(changed.clone()).unwrap_or_default(),
                    clusters,
                );
                let new: Vec<String> = changed.map(|y| grid.row(y).line(clusters)).collect();
                let texts = old.iter().filter(|line| !line.is_blank()).count();
                let lost = |(y, line): &(usize, &Line)| {
                    let near = new.get(y.saturating_sub(1)..new.len().min(y + 2));
                    !line.is_blank()
                        && !new.contains(&line.text)
                        && !near
                            .unwrap_or_default()
                            .iter()
                            .any(|n| similar(&line.text, n))
                };
                let lost = old.iter().enumerate().filter(lost).count();
                if lost >= 2 && 2 * lost >= texts {
                    self.back = 0;
                    let fresh =
                        |line: &Line| line.is_blank() || !self.recent.contains(&hash(&line.text));
                    let fresh: Vec<Line> = old.into_iter().filter(fresh).collect();
                    self.say(condensed(fresh), out);
                }
            }
        }
    }

    /// The lines of a picture that was erased, as long as nobody knows what comes in its place: they
    /// may still be said.
    pub fn held(&self, grid: &Grid, clusters: &Clusters) -> Vec<Line> {
        match grid.screen().all(Row::is_blank) {
            true => lines(&self.picture, clusters),
            false => Vec::new(),
        }
    }

    /// The screen is left: its last picture is said.
    pub fn leave(&mut self, grid: &mut Grid, clusters: &Clusters, out: &mut Vec<Line>) {
        self.observe(grid, clusters, out);
        let picture = std::mem::take(&mut self.picture);
        if !self.unfinished.text.is_empty() {
            let cut = self.unfinished.end();
            out.push(cut);
        }
        self.say(condensed(lines(&picture, clusters)), out);
        self.forget();
    }

    /// Rows that the program itself has scrolled away.
    pub fn scrolled(&mut self, rows: &[Row], clusters: &Clusters, out: &mut Vec<Line>) {
        let mut lines = Vec::new();
        for row in rows {
            lines.extend(self.unfinished.push(row, clusters));
        }
        self.remember(&lines);
        out.extend(lines);
    }

    fn say(&mut self, lines: Vec<Line>, out: &mut Vec<Line>) {
        if !lines.is_empty() && !self.unfinished.text.is_empty() {
            let cut = self.unfinished.end();
            self.remember(std::slice::from_ref(&cut));
            out.push(cut);
        }
        self.remember(&lines);
        out.extend(lines);
    }

    fn remember(&mut self, lines: &[Line]) {
        for line in lines {
            if !line.is_blank() {
                if self.recent.len() == RECENT {
                    self.recent.pop_front();
                }
                self.recent.push_back(hash(&line.text));
            }
        }
    }
}

/// Without the blanks at its end.
fn used(row: &Row) -> &[Cell] {
    let cells = row.cells.as_slice();
    let length = cells.iter().rposition(|cell| *cell != BLANK);
    cells
        .get(..length.map_or(0, |last| last + 1))
        .unwrap_or_default()
}

/// Rows as lines, those that were wrapped rejoined.
pub(crate) fn lines<'a>(rows: impl IntoIterator<Item = &'a Row>, clusters: &Clusters) -> Vec<Line> {
    let mut unfinished = Line::default();
    let mut lines: Vec<Line> = rows
        .into_iter()
        .filter_map(|row| unfinished.push(row, clusters))
        .collect();
    if !unfinished.text.is_empty() {
        lines.push(unfinished.end());
    }
    lines
}

/// Without blank lines at its end.
pub(crate) fn trimmed(mut lines: Vec<Line>) -> Vec<Line> {
    while lines.last().is_some_and(Line::is_blank) {
        lines.pop();
    }
    lines
}

/// A picture as text: the large empty parts of a screen are no text.
fn condensed(lines: Vec<Line>) -> Vec<Line> {
    let mut blank = BLANKS;
    let kept = lines.into_iter().filter(|line| {
        blank = if line.is_blank() { blank + 1 } else { 0 };
        blank <= BLANKS
    });
    trimmed(kept.collect())
}

/// Whether most of what is there now was there before, further down or up.
fn moved(old: &[&[Cell]], new: &[&[Cell]]) -> Moved {
    let up = best_shift(old, new);
    let down = best_shift(new, old);
    match (up, down) {
        ((0, _), (0, _)) => Moved::No,
        ((same, by), (fewer, _)) if same >= fewer => Moved::Up(by),
        (_, (_, by)) => Moved::Down(by),
    }
}

/// By how many rows what is in `from` has moved up in `to`, and how many rows show it.
fn best_shift(from: &[&[Cell]], to: &[&[Cell]]) -> (usize, usize) {
    let mut best = (0, 0);
    let texts = from.iter().filter(|row| !row.is_empty()).count();
    for by in 1..from.len().min(FURTHEST) {
        let Some(rest) = from.get(by..) else { break };
        let same = rest
            .iter()
            .zip(to)
            .filter(|(old, new)| !old.is_empty() && old == new)
            .count();
        let enough = same >= 2 || texts <= 2 && same == 1;
        let remaining = || rest.iter().filter(|row| !row.is_empty()).count();
        if same > best.0 && enough && 2 * same >= remaining() {
            best = (same, by);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Above;
    use crate::size::Size;

    /// Pictures of words, one a row, `_` for an empty one; what is said of them before the last
    /// is left.
    fn said(pictures: &[&str]) -> String {
        let rows = pictures[0].split(' ').count();
        let clusters = Clusters::default();
        let (mut frames, mut out) = (Frames::default(), Vec::new());
        for picture in pictures {
            let mut grid = Grid::new(Size::new(20, rows as u16), Above::Lost);
            for (y, word) in picture.split(' ').enumerate() {
                if word != "_" {
                    grid.row_mut(y).write_ascii(0, word.as_bytes(), 0, 0);
                }
            }
            frames.observe(&mut grid, &clusters, &mut out);
        }
        let texts: Vec<&str> = out.iter().map(|line| line.text.as_str()).collect();
        texts.join(" ")
    }

    #[test]
    fn what_has_moved_out_of_sight_is_said() {
        for (pictures, expected) in [
            (&["a b c d | box", "b c d e | box"][..], "a"),
            (&["a b c d | box", "c d e f | box"], "a b"),
            // Between lines that stay where they are.
            (&["head a b c d | box", "head b c d e | box"], "a"),
            // A spinner changes, text moves.
            (&["a b c d w1 box", "b c d e w2 box"], "a"),
            // In its place: noise.
            (
                &["a b c d w1 box", "a b c d w2 box", "a b c d done box"],
                "",
            ),
            (&["a b c _ _ box", "a b c d e box"], ""),
            // A person looks back and returns.
            (
                &[
                    "c d e f | box",
                    "b c d e | box",
                    "c d e f | box",
                    "d e f g | box",
                ],
                "c",
            ),
            // Something altogether different.
            (&["a b c d e f", "1x 2x 3x 4x 5x 6x"], "a b c d e f"),
            // and back, and again: said once.
            (
                &["a b c d", "q r s t", "a b c d", "q r s t", "a b c d"],
                "a b c d q r s t",
            ),
            // Cleared and drawn again.
            (&["a b c d", "_ _ _ _", "a b c d"], ""),
            (&["a b c d", "_ _ _ _", "b c d e"], "a"),
        ] {
            assert_eq!(said(pictures), expected, "{pictures:?}");
        }
    }
}
