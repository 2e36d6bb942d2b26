//! A terminal for tests: what the painter's sequences do to a screen and its scrollback, in the
//! two ways terminals take a change of size.

use super::paint::Size;
use super::text::clusters;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reflow {
    /// Rows are wrapped anew, as in tmux, VTE, kitty.
    Yes,
    /// Rows are cut, as in xterm and the console.
    No,
}

#[derive(Debug, Clone, Default)]
struct Row {
    /// A character, or nothing: the right half of the wide one before it.
    cells: Vec<String>,
    wrapped: bool,
}

pub(crate) struct Vt {
    size: Size,
    reflow: Reflow,
    /// Scrollback, then the screen.
    rows: Vec<Row>,
    above: usize,
    x: usize,
    y: usize,
    saved: (usize, usize),
    wraps: bool,
    cursor: bool,
}

impl Vt {
    pub fn new(size: Size, reflow: Reflow) -> Self {
        Self {
            size,
            reflow,
            rows: vec![Row::default(); size.rows],
            above: 0,
            x: 0,
            y: 0,
            saved: (0, 0),
            wraps: true,
            cursor: true,
        }
    }

    pub fn cursor_shown(&self) -> bool {
        self.cursor
    }

    /// Every line from the beginning of the scrollback on, rejoined where the terminal broke it.
    pub fn logical(&self) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        let mut goes_on = false;
        for row in &self.rows {
            let text: String = row.cells.concat();
            match out.last_mut() {
                Some(last) if goes_on => last.push_str(&text),
                _ => out.push(text),
            }
            goes_on = row.wrapped;
        }
        let mut out: Vec<String> = out.iter().map(|l| l.trim_end().to_owned()).collect();
        while out.last().is_some_and(String::is_empty) {
            out.pop();
        }
        out
    }

    /// The screen alone.
    pub fn screen(&self) -> Vec<String> {
        let screen = self.rows.iter().skip(self.above);
        screen
            .map(|row| row.cells.concat().trim_end().to_owned())
            .collect()
    }

    pub fn feed(&mut self, bytes: &str) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("\x1b[") {
                let end = after.find(|c: char| ('@'..='~').contains(&c)).unwrap();
                self.csi(&after[..end], after.as_bytes()[end]);
                rest = &after[end + 1..];
            } else if let Some(after) = rest.strip_prefix("\x1b7") {
                self.saved = (self.x, self.y);
                rest = after;
            } else if let Some(after) = rest.strip_prefix("\x1b8") {
                (self.x, self.y) = self.saved;
                rest = after;
            } else if let Some(after) = rest.strip_prefix('\r') {
                self.x = 0;
                rest = after;
            } else if let Some(after) = rest.strip_prefix('\n') {
                self.down();
                rest = after;
            } else {
                let (cluster, wide) = clusters(rest).next().unwrap();
                assert!(!cluster.contains(char::is_control), "{cluster:?}");
                self.put(cluster, wide);
                rest = &rest[cluster.len()..];
            }
        }
    }

    fn csi(&mut self, parameters: &str, last: u8) {
        let n = parameters.parse::<usize>().unwrap_or(1).max(1);
        match (parameters, last) {
            ("?7", b'h') => self.wraps = true,
            ("?7", b'l') => self.wraps = false,
            ("?25", b'h') => self.cursor = true,
            ("?25", b'l') => self.cursor = false,
            (_, b'A') => self.y = self.y.saturating_sub(n),
            (_, b'B') => self.y = (self.y + n).min(self.size.rows - 1),
            ("", b'K') => {
                let x = self.x.min(self.size.columns - 1);
                self.row().cells.truncate(x);
                self.row().wrapped = false;
            }
            ("", b'J') => {
                // tmux keeps what a program clears from the very top.
                assert!((self.x, self.y) != (0, 0), "this clears the whole screen");
                let x = self.x.min(self.size.columns - 1);
                self.row().cells.truncate(x);
                self.row().wrapped = false;
                let from = self.above + self.y + 1;
                self.rows[from..].fill(Row::default());
            }
            (_, b'm') | ("?2026" | "?2004", b'h' | b'l') => {}
            other => panic!("a sequence nobody knows: {other:?}"),
        }
    }

    fn row(&mut self) -> &mut Row {
        &mut self.rows[self.above + self.y]
    }

    fn put(&mut self, cluster: &str, wide: usize) {
        let columns = self.size.columns;
        if self.x + wide > columns {
            if !self.wraps {
                return;
            }
            self.row().wrapped = true;
            self.x = 0;
            self.down();
        }
        let x = self.x;
        let cells = &mut self.row().cells;
        cells.resize(cells.len().max(x + wide), " ".to_owned());
        cells[x] = cluster.to_owned();
        for half in &mut cells[x + 1..x + wide] {
            half.clear();
        }
        self.x += wide;
    }

    fn down(&mut self) {
        if self.y + 1 == self.size.rows {
            self.rows.push(Row::default());
            self.above += 1;
        } else {
            self.y += 1;
        }
    }

    pub fn resize(&mut self, size: Size) {
        let old = self.size;
        self.size = size;
        let mut line = self.above + self.y;
        if size.columns != old.columns {
            match self.reflow {
                Reflow::Yes => line = self.wrap_anew(line),
                Reflow::No => {
                    for row in &mut self.rows {
                        row.cells.truncate(size.columns);
                        if row.cells.len() == size.columns
                            && row.cells.last().is_some_and(|c| super::text::width(c) == 2)
                        {
                            row.cells.pop();
                        }
                    }
                    self.x = self.x.min(size.columns - 1);
                }
            }
        }
        // What is blank below the cursor goes first, then as much as the cursor needs to be seen.
        let used = |row: &Row| row.cells.iter().any(|cell| cell.trim() != "");
        while self.rows.len() > line + 1 && !self.rows.last().is_some_and(used) {
            self.rows.pop();
        }
        self.rows.truncate(line + size.rows);
        let least = self.rows.len().max(size.rows);
        self.rows.resize(least, Row::default());
        self.above = least - size.rows;
        self.y = line - self.above;
    }

    /// Answers where the cursor's row has got to; the cursor rests on a first column.
    fn wrap_anew(&mut self, line: usize) -> usize {
        let mut out: Vec<Row> = Vec::new();
        let mut place = 0;
        let mut cells: Vec<String> = Vec::new();
        let mut starts = None;
        for (at, row) in std::mem::take(&mut self.rows).into_iter().enumerate() {
            if at == line {
                starts = Some(cells.len());
            }
            cells.extend(row.cells);
            if row.wrapped {
                continue;
            }
            let first = out.len();
            let mut now = Row::default();
            for (index, cell) in cells.drain(..).enumerate() {
                let wide = super::text::width(&cell);
                if now.cells.len() + wide.max(1) > self.size.columns && !cell.is_empty() {
                    now.wrapped = true;
                    out.push(std::mem::take(&mut now));
                }
                if starts == Some(index) {
                    place = out.len();
                    starts = None;
                }
                now.cells.push(cell);
            }
            if starts.take().is_some() {
                place = out.len().max(first);
            }
            out.push(now);
        }
        if !cells.is_empty() {
            out.push(Row {
                cells,
                wrapped: false,
            });
        }
        self.rows = out;
        place
    }
}
