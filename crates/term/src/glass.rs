//! The screen of a terminal as it is now: its rows with what is dim and what is reverse, and its
//! cursor. Nothing of what was on it before is kept.

use crate::parser::{Csi, Parser, Perform};
use crate::row::{Cell, DIM, HALF, REVERSE};
use crate::screen::{Erase, Screen, erase};
use crate::size::Size;
use crate::titles::Titles;

/// A terminal to be looked at.
#[derive(Debug, Clone)]
pub struct Glass {
    parser: Parser,
    shown: Shown,
    titles: Titles,
}

#[derive(Debug, Clone)]
struct Shown {
    screen: Screen,
    /// The program wants to know what is pasted (`?2004`).
    pastes: bool,
    /// How many rows have left the screen for good.
    gone: u64,
}

impl Glass {
    pub fn new(size: Size) -> Self {
        Self {
            parser: Parser::default(),
            shown: Shown {
                screen: Screen::new(size),
                pastes: false,
                gone: 0,
            },
            titles: Titles::default(),
        }
    }

    /// Takes more output; it may be cut anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.titles.feed(bytes);
        self.parser.feed(bytes, 0, &mut self.shown);
        self.shown.forget();
    }

    /// The terminal has another size from here on.
    pub fn resize(&mut self, size: Size) {
        if size != self.shown.screen.size {
            self.shown.screen.resize(size);
            self.shown.forget();
        }
    }

    /// Its rows from above, without blanks at their ends; dim and reverse as SGR sequences.
    pub fn rows(&self) -> Vec<String> {
        let screen = &self.shown.screen;
        let rows = screen.grid().screen();
        rows.map(|row| {
            let used = row.cells.iter().rposition(|cell| *cell != 0x20);
            let cells = row.cells.get(..used.map_or(0, |last| last + 1));
            let mut text = String::new();
            let mut pen = 0;
            for cell in cells.unwrap_or_default() {
                if *cell == HALF {
                    continue;
                }
                if cell & (DIM | REVERSE) != pen {
                    pen = cell & (DIM | REVERSE);
                    text.push_str("\u{1b}[0");
                    text.push_str(if pen & DIM != 0 { ";2" } else { "" });
                    text.push_str(if pen & REVERSE != 0 { ";7" } else { "" });
                    text.push('m');
                }
                screen.clusters.push(*cell, &mut text);
            }
            if pen != 0 {
                text.push_str("\u{1b}[0m");
            }
            text
        })
        .collect()
    }

    /// Column and row, from 0.
    pub fn cursor(&self) -> (u32, u32) {
        let screen = &self.shown.screen;
        let x = screen.cursor.x.min(screen.size.cols() - 1);
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        (number(x), number(screen.cursor.y))
    }

    pub fn size(&self) -> Size {
        self.shown.screen.size
    }

    /// What the program calls its terminal.
    pub fn title(&self) -> &str {
        self.titles.title()
    }

    /// How many rows have left the screen upwards.
    pub fn scrolled(&self) -> u64 {
        self.shown.gone + self.shown.screen.primary.above as u64
    }

    pub fn is_alternate(&self) -> bool {
        self.shown.screen.alternate.is_some()
    }

    /// Whether the program takes pastes between marks.
    pub fn takes_pastes(&self) -> bool {
        self.shown.pastes
    }
}

impl Shown {
    /// Nobody asks for what has left the screen.
    fn forget(&mut self) {
        for grid in [
            Some(&mut self.screen.primary),
            self.screen.alternate.as_mut(),
        ]
        .into_iter()
        .flatten()
        {
            self.gone += grid.gone.len() as u64;
            grid.gone.clear();
            grid.moves.clear();
        }
    }

    fn after(&mut self) {
        if self.screen.grid().gone.len() > 64 || self.screen.grid().moves.len() > 64 {
            self.forget();
        }
    }

    fn sgr(&mut self, csi: &Csi<'_>) {
        let mut codes = csi.params().map(|code| code.unwrap_or(0));
        let mut pen: Cell = self.screen.pen;
        while let Some(code) = codes.next() {
            match code {
                0 => pen = 0,
                2 => pen |= DIM,
                22 => pen &= !DIM,
                7 => pen |= REVERSE,
                27 => pen &= !REVERSE,
                // The parts of a colour are no attributes: 38;5;2 is green, not dim.
                38 | 48 | 58 => match codes.next() {
                    Some(5) => drop(codes.next()),
                    Some(2) => drop((codes.next(), codes.next(), codes.next())),
                    Some(_) | None => {}
                },
                _ => {}
            }
        }
        self.screen.pen = pen;
    }

    fn mode(&mut self, mode: usize, on: bool) {
        match (mode, on) {
            (2004, on) => self.pastes = on,
            (47 | 1047 | 1049, true) => self.screen.enter_alternate(mode == 1049),
            (47 | 1047 | 1049, false) => self.screen.leave_alternate(mode == 1049),
            (mode, on) => self.screen.mode(mode, on),
        }
    }
}

impl Perform for Shown {
    fn position(&mut self, _: u64) {}

    fn ascii(&mut self, text: &[u8]) {
        self.screen.ascii(text);
        self.after();
    }

    fn char(&mut self, c: char) {
        self.screen.char(c);
        self.after();
    }

    fn control(&mut self, byte: u8) {
        self.screen.control(byte);
        self.after();
    }

    fn escape(&mut self, between: &[u8], last: u8) {
        match (between, last) {
            (b"", b'c') => {
                self.screen.erase(Erase::All);
                self.screen.reset();
                self.screen.pen = 0;
                self.pastes = false;
            }
            _ => self.screen.escape(between, last),
        }
        self.after();
    }

    fn csi(&mut self, csi: &Csi<'_>) {
        if csi.last != b'b' {
            self.screen.last = None;
        }
        match (csi.private(), csi.between(), csi.last) {
            (0, 0, b'm') => self.sgr(csi),
            (_, _, b'm') => {}
            (0, 0, b'J') if erase(csi) == Erase::Saved => self.screen.primary.forget_above(),
            (b'?', 0, last @ (b'h' | b'l')) => {
                for mode in csi.params().flatten() {
                    self.mode(mode, last == b'h');
                }
            }
            _ => self.screen.csi(csi),
        }
        self.after();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &str) -> (Vec<String>, (u32, u32)) {
        let mut glass = Glass::new(Size::new(10, 3));
        glass.feed(bytes.as_bytes());
        let rows = glass.rows();
        let mut piecewise = Glass::new(Size::new(10, 3));
        for byte in bytes.as_bytes() {
            piecewise.feed(&[*byte]);
        }
        assert_eq!(piecewise.rows(), rows, "{bytes:?}");
        (rows, glass.cursor())
    }

    #[test]
    fn what_is_dim_and_reverse_is_told() {
        for (bytes, first, cursor) in [
            ("", "", (0, 0)),
            ("ab", "ab", (2, 0)),
            ("a\x1b[2mb\x1b[22mc", "a\u{1b}[0;2mb\u{1b}[0mc", (3, 0)),
            ("\x1b[38;5;2mgreen", "green", (5, 0)),
            ("\x1b[38;2;2;7;2mblue", "blue", (4, 0)),
            (
                "\x1b[7mT\x1b[0;2mry\x1b[m!",
                "\u{1b}[0;7mT\u{1b}[0;2mry\u{1b}[0m!",
                (4, 0),
            ),
            ("\x1b[2m日本", "\u{1b}[0;2m日本\u{1b}[0m", (4, 0)),
            ("\x1b[2me\u{301}", "\u{1b}[0;2me\u{301}\u{1b}[0m", (1, 0)),
            ("old\x1b[2J\x1b[Hnew", "new", (3, 0)),
            ("1\r\n2\r\n3\r\n4", "2", (1, 2)),
            ("x\x1b[?1049h\x1b[Hother", "other", (5, 0)),
            ("x\x1b[?1049h\x1b[Hother\x1b[?1049l", "x", (1, 0)),
            ("0123456789", "0123456789", (9, 0)),
            ("\x1b[2mx\x1bcy", "y", (1, 0)),
        ] {
            let (rows, at) = shown(bytes);
            assert_eq!((rows[0].as_str(), at), (first, cursor), "{bytes:?}");
        }
    }

    #[test]
    fn whether_pastes_are_marked_is_known_and_floods_are_forgotten() {
        let mut glass = Glass::new(Size::new(20, 4));
        assert!(!glass.takes_pastes());
        glass.feed(b"\x1b[?2004h\x1b[?1049h");
        assert!(glass.takes_pastes());
        for n in 0..100_000 {
            glass.feed(format!("line {n}\r\n").as_bytes());
        }
        assert_eq!(glass.rows(), ["line 99997", "line 99998", "line 99999", ""]);
        assert!(glass.scrolled() >= 99_990 && glass.is_alternate());
        assert_eq!(glass.title(), "");
        glass.feed(b"\x1b]0;busy\x07\x1b[?1049l");
        assert!(!glass.is_alternate());
        assert_eq!(glass.title(), "busy");
        glass.feed(b"\x1b[?2004l");
        assert!(!glass.takes_pastes());
        glass.resize(Size::new(5, 2));
        assert_eq!(glass.rows().len(), 2);
    }
}
