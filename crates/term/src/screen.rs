//! What the sequences of a terminal do to its screen, as tmux does it.
//!
//! Only what changes the text: colours, titles, keys and answers are of no interest here. What
//! becomes of rows that leave the screen is the business of the caller.

use crate::grid::{Above, Cursor, Grid};
use crate::parser::Csi;
use crate::row::{Cell, Clusters, DIM, HALF, JOINER, REVERSE, width};
use crate::size::Size;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    Ascii,
    Lines,
}

/// What `ESC 7` keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Saved {
    pub cursor: Cursor,
    pub origin: bool,
    pub charsets: [Charset; 2],
    pub shifted: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Screen {
    pub(crate) size: Size,
    pub(crate) primary: Grid,
    pub(crate) alternate: Option<Grid>,
    /// Where the cursor was when the alternate screen came.
    pub(crate) before_alternate: Cursor,
    pub(crate) clusters: Clusters,
    /// `x` may be one beyond the last column: the next character wraps.
    pub(crate) cursor: Cursor,
    pub(crate) saved: Option<Saved>,
    /// First and last row of the region that scrolls.
    pub(crate) top: usize,
    pub(crate) bottom: usize,
    pub(crate) wraps: bool,
    pub(crate) inserts: bool,
    pub(crate) origin: bool,
    pub(crate) charsets: [Charset; 2],
    /// The second of the character sets is in use.
    pub(crate) shifted: bool,
    pub(crate) tabs: Vec<usize>,
    /// How characters are drawn: set by whoever wants to know it later.
    pub(crate) pen: Cell,
    /// What was just printed, for `REP`.
    pub(crate) last: Option<char>,
    /// Where in the log the present byte lies.
    pub(crate) position: u64,
}

/// What an erase of the display leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Erase {
    Below,
    Above,
    All,
    /// What is above the screen.
    Saved,
    Other,
}

impl Screen {
    pub fn new(size: Size) -> Self {
        Self {
            size,
            primary: Grid::new(size, Above::Kept),
            alternate: None,
            before_alternate: Cursor { x: 0, y: 0 },
            clusters: Clusters::default(),
            cursor: Cursor { x: 0, y: 0 },
            saved: None,
            top: 0,
            bottom: size.rows() - 1,
            wraps: true,
            inserts: false,
            origin: false,
            charsets: [Charset::Ascii; 2],
            shifted: false,
            tabs: every_eighth(size),
            pen: 0,
            last: None,
            position: 0,
        }
    }

    pub fn grid(&self) -> &Grid {
        self.alternate.as_ref().unwrap_or(&self.primary)
    }

    pub fn grid_mut(&mut self) -> &mut Grid {
        self.alternate.as_mut().unwrap_or(&mut self.primary)
    }

    pub fn is_home(&self) -> bool {
        self.cursor == Cursor { x: 0, y: 0 }
    }

    // ── printing

    pub fn ascii(&mut self, text: &[u8]) {
        let plain = self.charsets[usize::from(self.shifted)] == Charset::Ascii;
        if !plain || self.inserts || !self.wraps {
            for byte in text {
                self.char(char::from(*byte));
                self.position += 1;
            }
            return;
        }
        let cols = self.size.cols();
        let mut rest = text;
        while !rest.is_empty() {
            if self.cursor.x >= cols {
                self.wrap();
            }
            let Cursor { x, y } = self.cursor;
            let (now, later) = rest.split_at(rest.len().min(cols - x));
            // Of the last byte: where a run was cut must make no difference.
            let at = self.position + (text.len() - later.len()) as u64 - 1;
            let pen = self.pen;
            self.grid_mut().row_mut(y).write_ascii(x, now, pen, at);
            self.cursor.x += now.len();
            rest = later;
        }
        self.last = text.last().map(|byte| char::from(*byte));
    }

    pub fn char(&mut self, c: char) {
        let c = match self.charsets[usize::from(self.shifted)] {
            Charset::Ascii => c,
            Charset::Lines => line_drawing(c),
        };
        let Some(width) = width(c) else {
            return;
        };
        if self.joins(c, width) {
            self.last = None;
            return;
        }
        let cols = self.size.cols();
        let room = cols.saturating_sub(width);
        if !self.wraps
            && width > 1
            && (width > cols || self.cursor.x != cols && self.cursor.x > room)
        {
            return;
        }
        let at = self.position;
        if self.inserts && self.cursor.x <= room {
            let Cursor { x, y } = self.cursor;
            self.grid_mut().row_mut(y).insert(x, width, cols);
        }
        if self.wraps && self.cursor.x > room {
            self.wrap();
        }
        let Cursor { x, y } = self.cursor;
        if width > cols || x > room {
            return;
        }
        let cell = Cell::from(c) | self.pen;
        self.grid_mut().row_mut(y).write(x, cell, width, at);
        self.cursor.x = (x + width).min(cols - usize::from(!self.wraps));
        self.last = c.is_ascii().then_some(c);
    }

    /// A mark goes onto the character before it.
    fn joins(&mut self, c: char, width: usize) -> bool {
        let zero = width == 0 || c == JOINER;
        let Cursor { x, y } = self.cursor;
        if x == 0 || c.is_ascii() {
            return zero;
        }
        let row = self.grid().row(y);
        let lead = match row.get(x - 1) {
            HALF if x > 1 => x - 2,
            HALF => return zero,
            _ => x - 1,
        };
        let cell = row.get(lead);
        if !zero && !self.clusters.ends_with_joiner(cell) {
            return false;
        }
        if let Some(joined) = self.clusters.joined(cell, c) {
            let at = self.position;
            let row = self.grid_mut().row_mut(y);
            if let Some(place) = row.cells.get_mut(lead) {
                *place = joined | (cell & (DIM | REVERSE));
                row.at = at;
            }
        }
        true
    }

    fn wrap(&mut self) {
        let y = self.cursor.y;
        self.grid_mut().row_mut(y).wrapped = true;
        self.down();
        self.cursor.x = 0;
    }

    /// The next row; the region scrolls at its end.
    fn down(&mut self) {
        if self.cursor.y == self.bottom {
            let (top, bottom) = (self.top, self.bottom);
            self.grid_mut().scroll_up(top, bottom);
        } else if self.cursor.y + 1 < self.size.rows() {
            self.cursor.y += 1;
        }
    }

    fn reverse_line_feed(&mut self) {
        if self.cursor.y == self.top {
            let (top, bottom) = (self.top, self.bottom);
            self.grid_mut().scroll_down(top, bottom, 1);
        } else {
            self.cursor.y = self.cursor.y.saturating_sub(1);
        }
    }

    pub fn control(&mut self, byte: u8) {
        self.last = None;
        match byte {
            0x08 => self.back(),
            b'\t' => self.tab(),
            b'\n' | 0x0b | 0x0c => self.down(),
            b'\r' => self.cursor.x = 0,
            0x0e => self.shifted = true,
            0x0f => self.shifted = false,
            _ => {}
        }
    }

    fn back(&mut self) {
        let Cursor { x, y } = self.cursor;
        if x > 0 {
            self.cursor.x -= 1;
        } else if y > 0 && self.grid().row(y - 1).wrapped {
            self.cursor = Cursor {
                x: self.size.cols() - 1,
                y: y - 1,
            };
        }
    }

    fn tab(&mut self) {
        let last = self.size.cols() - 1;
        if self.cursor.x < last {
            let next = self.tabs.iter().copied().find(|stop| *stop > self.cursor.x);
            self.cursor.x = next.unwrap_or(last).min(last);
        }
    }

    pub fn escape(&mut self, between: &[u8], last: u8) {
        self.last = None;
        match (between, last) {
            (b"", b'7') => self.save(),
            (b"", b'8') => self.restore(),
            (b"", b'D') => self.down(),
            (b"", b'E') => {
                self.cursor.x = 0;
                self.down();
            }
            (b"", b'H') if !self.tabs.contains(&self.cursor.x) => {
                self.tabs.push(self.cursor.x);
                self.tabs.sort_unstable();
            }
            (b"", b'M') => self.reverse_line_feed(),
            (b"(", set) => self.charsets[0] = charset(set),
            (b")", set) => self.charsets[1] = charset(set),
            _ => {}
        }
    }

    /// Everything but the text on the screen, as it was at the beginning.
    pub fn reset(&mut self) {
        self.tabs = every_eighth(self.size);
        self.top = 0;
        self.bottom = self.size.rows() - 1;
        self.wraps = true;
        self.inserts = false;
        self.origin = false;
        self.charsets = [Charset::Ascii; 2];
        self.shifted = false;
        self.saved = None;
        self.cursor = Cursor { x: 0, y: 0 };
    }

    fn save(&mut self) {
        self.saved = Some(Saved {
            cursor: self.cursor,
            origin: self.origin,
            charsets: self.charsets,
            shifted: self.shifted,
        });
    }

    fn restore(&mut self) {
        let saved = self.saved.unwrap_or(Saved {
            cursor: Cursor { x: 0, y: 0 },
            origin: false,
            charsets: [Charset::Ascii; 2],
            shifted: false,
        });
        self.origin = saved.origin;
        self.charsets = saved.charsets;
        self.shifted = saved.shifted;
        self.place(saved.cursor.x, saved.cursor.y);
    }

    fn place(&mut self, x: usize, y: usize) {
        self.cursor = Cursor {
            x: x.min(self.size.cols() - 1),
            y: y.min(self.size.rows() - 1),
        };
    }

    /// A row that a program names.
    fn named_row(&self, y: usize) -> usize {
        match self.origin {
            true => (y + self.top).min(self.bottom),
            false => y,
        }
    }

    pub fn csi(&mut self, csi: &Csi<'_>) {
        if csi.private() != 0 || csi.between() != 0 {
            return;
        }
        let cols = self.size.cols();
        let Cursor { x, y } = self.cursor;
        let n = csi.count(0);
        let repeated = self.last.take();
        match csi.last {
            b'@' => self.grid_mut().row_mut(y).insert(x, n.min(cols), cols),
            b'A' => self.up_by(n),
            b'B' => self.down_by(n),
            b'C' => self.cursor.x = x.saturating_add(n).min(cols - 1).max(x),
            b'D' => self.cursor.x = x.saturating_sub(n),
            b'E' => {
                self.cursor.x = 0;
                self.down_by(n);
            }
            b'F' => {
                self.cursor.x = 0;
                self.up_by(n);
            }
            b'G' | b'`' => self.place(n - 1, y),
            b'H' | b'f' => self.place(csi.count(1) - 1, self.named_row(n - 1)),
            b'J' => self.erase(erase(csi)),
            b'K' => self.erase_line(csi.param(0).unwrap_or(0)),
            b'L' => self.insert_rows(n),
            b'M' => self.delete_rows(n),
            b'P' => self.grid_mut().row_mut(y).delete(x, n),
            b'S' => {
                let (top, bottom) = (self.top, self.bottom);
                for _ in 0..n.min(bottom - top + 1) {
                    self.grid_mut().scroll_up(top, bottom);
                }
            }
            b'T' => {
                let (top, bottom) = (self.top, self.bottom);
                for _ in 0..n.min(bottom - top + 1) {
                    self.grid_mut().scroll_down(top, bottom, 1);
                }
            }
            b'X' => self.grid_mut().row_mut(y).erase(x, x + n.min(cols)),
            b'Z' => {
                for _ in 0..n.min(cols) {
                    let before = self
                        .tabs
                        .iter()
                        .copied()
                        .rfind(|stop| *stop < self.cursor.x);
                    self.cursor.x = before.unwrap_or(0);
                }
            }
            b'b' => {
                if let Some(c) = repeated {
                    for _ in 0..n.min(cols.saturating_sub(x)) {
                        self.char(c);
                    }
                }
            }
            b'd' => self.cursor.y = self.named_row(n - 1).min(self.size.rows() - 1),
            b'g' => match csi.param(0).unwrap_or(0) {
                0 => self.tabs.retain(|stop| *stop != x),
                3 => self.tabs.clear(),
                _ => {}
            },
            b'h' if csi.params().any(|mode| mode == Some(4)) => self.inserts = true,
            b'l' if csi.params().any(|mode| mode == Some(4)) => self.inserts = false,
            b'r' => self.region(n - 1, csi.param(1).unwrap_or(0)),
            b's' => self.save(),
            b'u' => self.restore(),
            _ => {}
        }
    }

    /// A private mode that is not that of the alternate screen.
    pub fn mode(&mut self, mode: usize, on: bool) {
        match mode {
            3 => {
                self.cursor = Cursor { x: 0, y: 0 };
                self.erase(Erase::All);
            }
            6 => {
                self.origin = on;
                self.cursor = Cursor {
                    x: 0,
                    y: self.named_row(0),
                };
            }
            7 => self.wraps = on,
            _ => {}
        }
    }

    fn up_by(&mut self, n: usize) {
        let y = self.cursor.y;
        let room = if y < self.top { y } else { y - self.top };
        self.cursor.x = self.cursor.x.min(self.size.cols() - 1);
        self.cursor.y = y - n.min(room);
    }

    fn down_by(&mut self, n: usize) {
        let y = self.cursor.y;
        let room = match y > self.bottom {
            true => self.size.rows() - 1 - y,
            false => self.bottom - y,
        };
        self.cursor.x = self.cursor.x.min(self.size.cols() - 1);
        self.cursor.y = y + n.min(room);
    }

    fn region(&mut self, top: usize, last: usize) {
        let rows = self.size.rows();
        let bottom = match last {
            0 => rows - 1,
            last => (last - 1).min(rows - 1),
        };
        if top < bottom {
            self.top = top;
            self.bottom = bottom;
            self.cursor = Cursor { x: 0, y: 0 };
        }
    }

    fn insert_rows(&mut self, n: usize) {
        let (y, bottom) = (self.cursor.y, self.end_of_rows());
        self.grid_mut().scroll_down(y, bottom, n);
    }

    fn delete_rows(&mut self, n: usize) {
        let (y, bottom) = (self.cursor.y, self.end_of_rows());
        for _ in 0..n.min(bottom + 1 - y) {
            self.grid_mut().delete_row(y, bottom);
        }
    }

    /// How far rows move when some are inserted at the cursor.
    fn end_of_rows(&self) -> usize {
        match (self.top..=self.bottom).contains(&self.cursor.y) {
            true => self.bottom,
            false => self.size.rows() - 1,
        }
    }

    pub fn erase(&mut self, what: Erase) {
        let Cursor { x, y } = self.cursor;
        let rows = self.size.rows();
        match what {
            Erase::Below => {
                self.erase_in_row(x, self.size.cols());
                self.grid_mut().clear(y + 1, rows);
            }
            Erase::Above => {
                self.grid_mut().clear(0, y);
                self.erase_in_row(0, x + 1);
            }
            Erase::All => self.grid_mut().clear(0, rows),
            Erase::Saved | Erase::Other => {}
        }
    }

    fn erase_line(&mut self, what: usize) {
        let (x, cols) = (self.cursor.x, self.size.cols());
        match what {
            0 => self.erase_in_row(x, cols),
            1 => self.erase_in_row(0, x + 1),
            2 => self.erase_in_row(0, cols),
            _ => {}
        }
    }

    fn erase_in_row(&mut self, from: usize, to: usize) {
        let (y, cols) = (self.cursor.y, self.size.cols());
        match from == 0 && to >= cols {
            true => self.grid_mut().clear(y, y + 1),
            false => self.grid_mut().row_mut(y).erase(from, to),
        }
    }

    // ── the alternate screen, sizes

    pub fn enter_alternate(&mut self, with_cursor: bool) {
        if self.alternate.is_none() {
            self.alternate = Some(Grid::new(self.size, Above::Lost));
            if with_cursor {
                self.before_alternate = self.cursor;
            }
        }
    }

    pub fn leave_alternate(&mut self, with_cursor: bool) {
        if self.alternate.take().is_none() {
            return;
        }
        if with_cursor {
            self.cursor = self.before_alternate;
        }
        if self.primary.size() != self.size {
            self.cursor.y = self.cursor.y.min(self.primary.size().rows() - 1);
            self.cursor = self.primary.resize(self.size, self.cursor);
        }
        self.place(self.cursor.x, self.cursor.y);
    }

    pub fn resize(&mut self, size: Size) {
        if size.cols() != self.size.cols() {
            self.tabs = every_eighth(size);
        }
        self.size = size;
        self.top = 0;
        self.bottom = size.rows() - 1;
        let cursor = self.cursor;
        // The primary screen gets its new size when it is seen again.
        self.cursor = self.grid_mut().resize(size, cursor);
    }
}

pub(crate) fn erase(csi: &Csi<'_>) -> Erase {
    match csi.param(0).unwrap_or(0) {
        0 => Erase::Below,
        1 => Erase::Above,
        2 => Erase::All,
        3 => Erase::Saved,
        _ => Erase::Other,
    }
}

fn every_eighth(size: Size) -> Vec<usize> {
    (8..size.cols()).step_by(8).collect()
}

fn charset(name: u8) -> Charset {
    match name {
        b'0' => Charset::Lines,
        _ => Charset::Ascii,
    }
}

/// What the characters of VT100's second set look like.
fn line_drawing(c: char) -> char {
    const SHAPES: [char; 31] = [
        '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─',
        '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
    ];
    let index = u32::from(c).wrapping_sub(0x60) as usize;
    SHAPES.get(index).copied().unwrap_or(c)
}
