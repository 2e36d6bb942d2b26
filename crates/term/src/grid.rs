//! The rows of a screen, and those that have just left it upwards.
//!
//! A screen that is made taller takes rows back from above, so the last ones are kept as they
//! are. Those beyond have left for good: [`Grid::gone`]. This follows tmux, whose screen it is that
//! the programs draw on.

use std::collections::VecDeque;
use std::ops::Range;

use crate::row::{Cell, HALF, Row};
use crate::size::Size;

/// So many rows above the screen can come back.
pub(crate) const KEPT: usize = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Above {
    /// Rows that leave the screen upwards are kept.
    Kept,
    /// They are gone at once: the alternate screen.
    Lost,
}

/// Rows that were moved within a screen that keeps nothing above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    Up { top: usize, bottom: usize },
    Down { top: usize, bottom: usize },
}

#[derive(Debug, Clone)]
pub(crate) struct Grid {
    /// Those above the screen, then those on it.
    pub(crate) rows: VecDeque<Row>,
    /// How many are above the screen.
    pub(crate) above: usize,
    /// How many rows come back when it gets taller, if they are still here.
    pub(crate) returning: usize,
    /// How many rows the terminal has above those that are here.
    pub(crate) beyond: usize,
    pub(crate) keeps: Above,
    size: Size,
    /// Rows that have left for good, oldest first.
    pub(crate) gone: Vec<Row>,
    /// What was moved since somebody looked; only where nothing is kept above.
    pub(crate) moves: Vec<Move>,
    /// Rows that may have changed since somebody looked.
    pub(crate) touched: Range<usize>,
    /// How many rows came back from above by moving down: when they leave again they are known.
    pub(crate) back: usize,
    /// Rows whose memory is used again.
    spare: Vec<Row>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub x: usize,
    pub y: usize,
}

impl Grid {
    pub fn new(size: Size, keeps: Above) -> Self {
        Self::from_rows(VecDeque::new(), 0, size, keeps)
    }

    /// Of rows from somewhere else; made to fit.
    pub fn from_rows(mut rows: VecDeque<Row>, above: usize, size: Size, keeps: Above) -> Self {
        rows.resize(above.min(rows.len()) + size.rows(), Row::default());
        Self {
            above: rows.len() - size.rows(),
            rows,
            returning: 0,
            beyond: 0,
            keeps,
            size,
            gone: Vec::new(),
            moves: Vec::new(),
            touched: 0..size.rows(),
            back: 0,
            spare: Vec::new(),
        }
    }

    pub fn size(&self) -> Size {
        self.size
    }

    pub fn row(&self, y: usize) -> &Row {
        &self.rows[self.above + y.min(self.size.rows() - 1)]
    }

    pub fn row_mut(&mut self, y: usize) -> &mut Row {
        self.touched = self.touched.start.min(y)..self.touched.end.max(y + 1);
        &mut self.rows[self.above + y.min(self.size.rows() - 1)]
    }

    pub fn screen(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().skip(self.above)
    }

    /// Where the first line of the screen begins: perhaps above it.
    pub fn first_of_line(&self) -> usize {
        let wraps = |y: &usize| self.rows.get(y - 1).is_some_and(|row| row.wrapped);
        let above = (1..=self.above).rev().take_while(wraps).count();
        self.above - above
    }

    fn blank(&mut self) -> Row {
        self.spare.pop().unwrap_or_default()
    }

    /// Gives back rows whose text has been read.
    pub fn reuse(&mut self, rows: impl Iterator<Item = Row>) {
        let room = 64_usize.saturating_sub(self.spare.len());
        self.spare.extend(rows.take(room).map(|mut row| {
            row.reset();
            row
        }));
    }

    /// The rows from `top` to `bottom` move up by one.
    pub fn scroll_up(&mut self, top: usize, bottom: usize) {
        self.touched = 0..self.size.rows();
        let blank = self.blank();
        let last = self.size.rows() - 1;
        let (top, bottom) = (top.min(last), bottom.min(last));
        match self.keeps {
            Above::Kept => {
                if top > 0 {
                    // What leaves the region leaves the screen.
                    if let Some(row) = self.rows.remove(self.above + top) {
                        self.rows.insert(self.above, row);
                    }
                }
                self.above += 1;
                self.returning += 1;
            }
            Above::Lost => {
                self.moves.push(Move::Up { top, bottom });
                match (self.rows.remove(top), self.back) {
                    (Some(row), 0) => self.gone.push(row),
                    (_, back) => self.back = back.saturating_sub(1),
                }
            }
        }
        if self.keeps == Above::Lost {
            self.unwrap_above(top);
        }
        match bottom == last {
            true => self.rows.push_back(blank),
            false => self.rows.insert(self.above + bottom, blank),
        }
        self.let_go();
    }

    /// The rows from `top` to `bottom` move down by `count`.
    pub fn scroll_down(&mut self, top: usize, bottom: usize, count: usize) {
        self.touched = 0..self.size.rows();
        self.unwrap_above(top);
        self.unwrap_above((top + count).min(bottom + 1));
        for _ in 0..count.min(bottom + 1 - top) {
            if let Some(row) = self.rows.remove(self.above + bottom) {
                self.reuse(std::iter::once(row));
            }
            let blank = self.blank();
            self.rows.insert(self.above + top, blank);
            if self.keeps == Above::Lost {
                self.moves.push(Move::Down { top, bottom });
                self.back += 1;
            }
        }
    }

    /// The row at `top` goes, those below it down to `bottom` move up; nothing leaves the screen.
    pub fn delete_row(&mut self, top: usize, bottom: usize) {
        self.touched = 0..self.size.rows();
        if let Some(row) = self.rows.remove(self.above + top) {
            self.reuse(std::iter::once(row));
        }
        let blank = self.blank();
        self.rows.insert(self.above + bottom, blank);
        self.unwrap_above(top);
        self.unwrap_above(bottom);
    }

    /// The rows from `from` up to `to` become blank.
    pub fn clear(&mut self, from: usize, to: usize) {
        if from < to {
            self.unwrap_above(from);
            for y in from..to {
                self.row_mut(y).reset();
            }
        }
    }

    /// Which rows may have changed since this was last asked.
    pub fn take_touched(&mut self) -> Range<usize> {
        let rows = self.size.rows();
        let touched = std::mem::replace(&mut self.touched, rows..0);
        touched.start..touched.end.min(rows)
    }

    /// What stood above this row does not go on in it any more.
    fn unwrap_above(&mut self, y: usize) {
        let above = (self.above + y).checked_sub(1);
        if let Some(row) = above.and_then(|at| self.rows.get_mut(at)) {
            row.wrapped = false;
        }
    }

    /// Rows too far above have left for good.
    fn let_go(&mut self) {
        while self.above > KEPT {
            self.above -= 1;
            self.beyond += 1;
            self.gone.extend(self.rows.pop_front());
        }
    }

    /// Nothing above comes back any more.
    pub fn let_all_go(&mut self) {
        self.gone.extend(self.rows.drain(..self.above));
        self.beyond += self.above;
        self.above = 0;
        self.returning = 0;
    }

    /// The terminal has nothing above the screen any more.
    pub fn forget_above(&mut self) {
        self.let_all_go();
        self.beyond = 0;
    }

    /// Takes everything down to the last row with something on it; the screen is blank then.
    pub fn take_picture(&mut self) -> Vec<Row> {
        let used = |y: &usize| !self.row(*y).cells.is_empty();
        let count = (0..self.size.rows()).rfind(used).map_or(0, |last| last + 1);
        let mut picture = Vec::with_capacity(count);
        for y in 0..count {
            let blank = self.blank();
            picture.push(std::mem::replace(self.row_mut(y), blank));
        }
        picture
    }

    /// Another size, with what is on the screen in its place as tmux does it.
    pub fn resize(&mut self, size: Size, cursor: Cursor) -> Cursor {
        let mut line = self.above + cursor.y;
        self.resize_rows(size.rows(), &mut line);
        let mut cursor = Cursor { x: cursor.x, y: 0 };
        let cols = self.size.cols();
        self.size = size;
        self.touched = 0..size.rows();
        match self.keeps {
            Above::Kept if cols != size.cols() => {
                let place = self.reflow(Cursor {
                    x: cursor.x,
                    y: line,
                });
                cursor.x = place.x;
                line = place.y;
            }
            Above::Kept => {}
            Above::Lost => self.rows.iter_mut().for_each(|row| row.cut(size.cols())),
        }
        let cursor = match line.checked_sub(self.above) {
            Some(y) => Cursor {
                x: cursor.x.min(size.cols()),
                y: y.min(size.rows() - 1),
            },
            None => Cursor { x: 0, y: 0 },
        };
        self.let_go();
        cursor
    }

    /// `line` is the cursor's, counted from the oldest row.
    fn resize_rows(&mut self, rows: usize, line: &mut usize) {
        let old = self.size.rows();
        let y = line.saturating_sub(self.above);
        if rows < old {
            // Empty ones below the cursor go first.
            let below = (old - 1 - y.min(old - 1)).min(old - rows);
            if below > 0 {
                self.unwrap_above(old - below);
                self.rows.truncate(self.above + old - below);
            }
            let needed = old - rows - below;
            match self.keeps {
                Above::Kept => {
                    self.above += needed;
                    self.returning += needed;
                }
                Above::Lost => {
                    let from_top = needed.min(y);
                    self.gone.extend(self.rows.drain(..from_top));
                    *line -= from_top;
                    self.rows.truncate(rows);
                }
            }
        } else {
            let back = self.returning.min(self.above).min(rows - old);
            self.above -= back;
            self.returning -= back;
            self.rows.resize(self.above + rows, Row::default());
        }
    }

    /// Lines are wrapped anew for the size that is set. `cursor.y` counts from the oldest row.
    fn reflow(&mut self, cursor: Cursor) -> Cursor {
        let cols = self.size.cols();
        let mut place = cursor;
        let mut rows = VecDeque::with_capacity(self.rows.len());
        let old = std::mem::take(&mut self.rows);
        let mut line: Vec<Cell> = Vec::new();
        let (mut at, mut count) = (0, 0);
        // Where in the present line the cursor stands; beyond all text: at its end.
        let mut offset = None;
        for (y, row) in old.into_iter().enumerate() {
            if y == cursor.y {
                offset = Some(match cursor.x < row.cells.len() {
                    true => line.len() + cursor.x,
                    false => usize::MAX,
                });
            }
            line.extend(&row.cells);
            at = at.max(row.at);
            count += 1;
            if row.wrapped && y + 1 < self.above + self.size.rows() {
                continue;
            }
            let first = rows.len();
            split_line(&line, row.wrapped, at, cols, &mut rows);
            self.adjust_returning(y + 1 - count, count, first, rows.len() - first);
            count = 0;
            if let Some(offset) = offset.take() {
                place = find(&rows, first, offset);
            }
            line.clear();
            at = 0;
        }
        rows.resize(rows.len().max(self.size.rows()), Row::default());
        self.above = rows.len() - self.size.rows();
        self.returning = self.returning.min(self.beyond + self.above);
        self.rows = rows;
        place
    }

    /// A line that took `before` rows from `y` on takes `after` of them from `to` on. tmux's rule
    /// for how many rows come back then, which takes their number for a place.
    fn adjust_returning(&mut self, y: usize, before: usize, to: usize, after: usize) {
        let (y, to) = (y + self.beyond, to + self.beyond);
        if after > before && y <= self.returning {
            self.returning += after - before;
        } else if after < before && self.returning > to {
            let fewer = before - after;
            self.returning = match self.returning > to + fewer {
                true => self.returning - fewer,
                false => to,
            };
        }
    }
}

/// A line as rows of so many columns. A wide character is not cut in two.
fn split_line(line: &[Cell], wrapped: bool, at: u64, cols: usize, rows: &mut VecDeque<Row>) {
    let mut rest = line;
    loop {
        let mut end = cols.min(rest.len());
        if end < rest.len() && rest.get(end) == Some(&HALF) && end > 1 {
            end -= 1;
        }
        let (cells, more) = rest.split_at(end);
        let last = more.is_empty();
        rows.push_back(Row {
            cells: cells.to_vec(),
            wrapped: wrapped || !last,
            at,
        });
        if last {
            return;
        }
        rest = more;
    }
}

/// The cell so far behind the beginning of the row `first`.
fn find(rows: &VecDeque<Row>, first: usize, offset: usize) -> Cursor {
    let mut left = offset;
    let mut y = first;
    loop {
        let length = rows.get(y).map_or(0, |row| row.cells.len());
        if y + 1 >= rows.len() || left < length {
            return Cursor {
                x: left.min(length),
                y,
            };
        }
        left = left.saturating_sub(length);
        y += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Clusters;

    fn grid(cols: u16, rows: u16, lines: &[&str]) -> Grid {
        let mut grid = Grid::new(Size::new(cols, rows), Above::Kept);
        for (y, line) in lines.iter().enumerate() {
            grid.row_mut(y).write_ascii(0, line.as_bytes(), 0, 1);
        }
        grid
    }

    fn shown(grid: &Grid) -> String {
        let line = |row: &Row| row.line(&Clusters::default());
        let all: Vec<String> = grid.rows.iter().map(line).collect();
        let (above, screen) = all.split_at(grid.above);
        format!("{}^{}", above.join("|"), screen.join("|"))
    }

    #[test]
    fn a_region_that_scrolls_loses_its_first_row_upwards() {
        let mut g = grid(5, 4, &["a", "b", "c", "d"]);
        g.scroll_up(0, 3);
        assert_eq!(shown(&g), "a^b|c|d|");
        g.scroll_up(1, 2);
        assert_eq!(shown(&g), "a|c^b|d||");
        g.scroll_down(0, 1, 1);
        assert_eq!(shown(&g), "a|c^|b||");
    }

    #[test]
    fn shorter_and_taller_again() {
        let mut g = grid(5, 4, &["a", "b", "c", ""]);
        let cursor = g.resize(Size::new(5, 2), Cursor { x: 0, y: 2 });
        assert_eq!((shown(&g).as_str(), cursor.y), ("a^b|c", 1));
        let cursor = g.resize(Size::new(5, 5), cursor);
        assert_eq!((shown(&g).as_str(), cursor.y), ("^a|b|c||", 2));
    }

    #[test]
    fn narrower_and_wider_again() {
        let mut g = grid(6, 3, &["abcdef", "x", ""]);
        let cursor = g.resize(Size::new(4, 3), Cursor { x: 1, y: 1 });
        assert_eq!(
            (shown(&g).as_str(), cursor),
            ("abcd^ef|x|", Cursor { x: 1, y: 1 })
        );
        let cursor = g.resize(Size::new(6, 3), cursor);
        assert_eq!(
            (shown(&g).as_str(), cursor),
            ("^abcdef|x|", Cursor { x: 1, y: 1 })
        );
    }

    #[test]
    fn what_is_far_above_has_left() {
        let mut g = grid(5, 2, &[]);
        for n in 0..KEPT + 5 {
            g.row_mut(0).write_ascii(0, n.to_string().as_bytes(), 0, 1);
            g.scroll_up(0, 1);
        }
        assert_eq!((g.gone.len(), g.above), (5, KEPT));
    }
}
