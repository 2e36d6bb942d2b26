//! A terminal that writes down what leaves it.
//!
//! A line is finished when it has scrolled off the screen, where nothing can change it any more; so
//! spinners, progress bars and redrawn boxes appear as they ended. What is on the screen at the end
//! comes with [`Readable::finish`]. A program on the alternate screen leaves its last picture.

use std::collections::VecDeque;

use avt::parser::{DecMode, EdScope, Function};
use avt::{Line, Observation, Observer, Parser, Screen, ScreenKind, Terminal};

use crate::redraws::Redraws;
use crate::utf8::{self, Decoder};

/// A line that wraps on and on is cut here.
const MAX_LINE: usize = 64 << 10;

/// How much is fed at once where only the last lines are kept.
const PIECE: usize = 4 << 10;

/// Columns and rows of the terminal the bytes were meant for. Wrapping depends on the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    cols: u16,
    rows: u16,
}

impl Size {
    /// Kept between 1 and 1000 in both directions.
    pub fn new(cols: u16, rows: u16) -> Self {
        Self {
            cols: cols.clamp(1, 1000),
            rows: rows.clamp(1, 1000),
        }
    }
}

impl Default for Size {
    fn default() -> Self {
        Self { cols: 80, rows: 24 }
    }
}

/// Turns raw terminal output into readable lines, piece by piece. The pieces may be cut anywhere.
pub struct Readable {
    decoder: Decoder,
    parser: Parser,
    terminal: Terminal,
    evicted: Evicted,
    redraws: Redraws,
    clear: Clear,
    /// What the alternate screen showed before it was last cleared: programs like to clear it just
    /// before they leave it.
    alternate: Vec<String>,
    finished: Vec<String>,
}

/// Whether the screen has just been cleared; the next function says what kind of clear it was.
enum Clear {
    None,
    /// These lines were on it.
    Screen(Vec<String>),
}

impl std::fmt::Debug for Readable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readable").finish_non_exhaustive()
    }
}

impl Readable {
    pub fn new(size: Size) -> Self {
        Self {
            decoder: Decoder::default(),
            parser: Parser::new(),
            terminal: terminal(size),
            evicted: Evicted::default(),
            redraws: Redraws::default(),
            clear: Clear::None,
            alternate: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// Takes more output; gives the lines that are finished now.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        let text = self.decoder.decode(bytes);
        self.text(&text);
        std::mem::take(&mut self.finished)
    }

    /// The terminal has another size from here on.
    pub fn resize(&mut self, size: Size) -> Vec<String> {
        let (cols, rows) = (usize::from(size.cols), usize::from(size.rows));
        self.terminal.resize_with(cols, rows, &mut self.evicted);
        self.take_evicted();
        std::mem::take(&mut self.finished)
    }

    /// What is on the screen now: what [`finish`](Self::finish) would add for the active screen.
    pub fn screen(&self) -> Vec<String> {
        lines_of(self.terminal.screen())
    }

    /// No more will come: the rest of the lines.
    pub fn finish(mut self) -> Vec<String> {
        if let Some(c) = self.decoder.finish() {
            self.text(c.encode_utf8(&mut [0; 4]));
        }
        self.settle_clear();
        for line in self.take_primary() {
            self.redraws.line(line, &mut self.finished);
        }
        self.redraws.finish(&mut self.finished);
        self.leave_alternate();
        self.finished
    }

    fn text(&mut self, text: &str) {
        for c in text.chars() {
            if let Some(function) = self.parser.feed(c) {
                self.apply(function);
            }
        }
    }

    fn apply(&mut self, function: Function) {
        let primary = self.terminal.active_screen_kind() == ScreenKind::Primary;
        let function = match function {
            // A test picture, and no text.
            Function::Decaln => return,
            // A few bytes must not become a megabyte.
            Function::Rep(n) => Function::Rep(n.min(1000)),
            Function::Ed(EdScope::SavedLines) if primary => {
                if let Clear::Screen(drawn) = std::mem::replace(&mut self.clear, Clear::None) {
                    self.redraws.cleared(drawn, &mut self.finished);
                }
                return; // there is no history here to erase
            }
            other => other,
        };
        self.settle_clear();
        match &function {
            Function::Ed(EdScope::All) if primary => {
                self.terminal.execute_with(function, &mut self.evicted);
                self.clear = Clear::Screen(self.evicted.take());
                return;
            }
            Function::Ed(EdScope::All) => self.remember_alternate(),
            Function::Decrst(modes) if !primary && modes.as_slice().iter().any(is_alternate) => {
                self.leave_alternate();
            }
            Function::Decset(modes) if primary && modes.as_slice().iter().any(is_alternate) => {
                self.alternate.clear();
            }
            Function::Ris => {
                let drawn = self.take_primary();
                self.redraws.cleared(drawn, &mut self.finished);
                self.leave_alternate();
            }
            _ => {}
        }
        self.terminal.execute_with(function, &mut self.evicted);
        self.take_evicted();
    }

    fn take_evicted(&mut self) {
        for line in self.evicted.take() {
            self.redraws.line(line, &mut self.finished);
        }
    }

    /// The screen was cleared, and the history was not: what was on it has been said.
    fn settle_clear(&mut self) {
        if let Clear::Screen(lines) = std::mem::replace(&mut self.clear, Clear::None) {
            for line in lines {
                self.redraws.line(line, &mut self.finished);
            }
        }
    }

    /// Everything on the primary screen, with the beginning of its first line if that has left it.
    fn take_primary(&mut self) -> Vec<String> {
        for line in self.terminal.primary_screen().all_lines() {
            self.evicted.push(line);
        }
        let mut lines = self.evicted.take_all();
        trim_end(&mut lines);
        lines
    }

    fn remember_alternate(&mut self) {
        let lines = lines_of(self.terminal.screen());
        if !lines.is_empty() {
            self.alternate = lines;
        }
    }

    /// The last picture of the alternate screen is said.
    fn leave_alternate(&mut self) {
        if self.terminal.active_screen_kind() == ScreenKind::Alternate {
            self.remember_alternate();
            self.finished.append(&mut self.alternate);
        }
    }
}

fn is_alternate(mode: &DecMode) -> bool {
    match mode {
        DecMode::AltScreenBuffer | DecMode::SaveCursorAltScreenBuffer => true,
        DecMode::CursorKeys
        | DecMode::Origin
        | DecMode::AutoWrap
        | DecMode::TextCursorEnable
        | DecMode::SaveCursor => false,
    }
}

#[expect(clippy::expect_used, reason = "a size has at least one column and row")]
fn terminal(size: Size) -> Terminal {
    Terminal::new(size.cols.into(), size.rows.into()).expect("a size that is not empty")
}

/// The lines of a screen, wrapped ones rejoined, without the empty rest of the screen.
fn lines_of(screen: Screen<'_>) -> Vec<String> {
    let mut lines = Evicted::default();
    for line in screen.visible_lines() {
        lines.push(line);
    }
    let mut lines = lines.take_all();
    trim_end(&mut lines);
    lines
}

fn trim_end(lines: &mut Vec<String>) {
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
}

/// Rows that have left the primary screen, as whole lines.
#[derive(Default)]
struct Evicted {
    /// A line whose rest is still on the screen.
    unfinished: String,
    lines: Vec<String>,
}

impl Evicted {
    fn push(&mut self, row: &Line) {
        self.unfinished.extend(row.chars());
        if !row.is_wrapped() || self.unfinished.len() >= MAX_LINE {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        self.lines.push(self.unfinished.trim_end().to_owned());
        self.unfinished.clear();
    }

    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    /// With the unfinished one.
    fn take_all(&mut self) -> Vec<String> {
        if !self.unfinished.is_empty() {
            self.end_line();
        }
        self.take()
    }
}

impl Observer for Evicted {
    type Output = ();

    fn evicted(&mut self, _: &mut Observation<'_>, row: &Line) {
        self.push(row);
    }

    fn end(&mut self, _: &mut Observation<'_>) {}
}

/// The last `lines` readable lines of raw output, without a line break at the end. The bytes may
/// begin anywhere in a log; the first lines may then show the rest of a cut sequence.
pub fn tail(bytes: &[u8], size: Size, lines: usize) -> String {
    let mut readable = Readable::new(size);
    let mut last = VecDeque::new();
    let mut keep = |more: Vec<String>| {
        for line in more {
            last.push_back(line);
            if last.len() > lines {
                last.pop_front();
            }
        }
    };
    for piece in utf8::from_boundary(bytes).chunks(PIECE) {
        keep(readable.feed(piece));
    }
    keep(readable.finish());
    Vec::from(last).join("\n")
}
