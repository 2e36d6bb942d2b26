//! The bytes that bring the screen from what it shows to what it should show.
//!
//! Finished lines are written once and belong to the terminal from then on, to its scrollback and
//! to its way of wrapping them anew. Below them is the live region, the only thing that is ever
//! drawn again.
//!
//! Between two drawings the terminal's cursor rests, hidden, on the first column of the live
//! region's first row. That is what makes a change of size harmless: whatever the terminal does
//! with the rows (wrap them anew, cut them, scroll), its cursor stays with that place, and
//! everything from there on is ours to clear. Rows of the live region never wrap, even if the
//! terminal has become narrower than we know.
//!
//! Nothing here reads or writes; the cost of a drawing depends on what is new and on the live
//! region, never on what was said before.

use std::fmt::Write;

use super::line::Line;
use super::look::Look;

/// Columns and rows of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// What has to be sent before the first drawing: no cursor, pastes marked as such.
pub(crate) const ENTER: &str = "\x1b[?25l\x1b[?2004h";
/// And after the last; harmless wherever it is sent.
pub(crate) const LEAVE: &str = "\x1b[?7h\x1b[?2026l\x1b[?2004l\x1b[0m\x1b[?25h";

#[derive(Debug)]
pub(crate) struct Painter {
    look: Look,
    /// The live region as it is on the screen, row by row. Never empty after the first drawing.
    shown: Vec<String>,
    /// The rows on the screen may not be where we think they are.
    stale: bool,
}

impl Painter {
    pub fn new(look: Look) -> Self {
        Self {
            look,
            shown: Vec::new(),
            stale: true,
        }
    }

    /// The terminal may have moved rows about: draw everything again next time.
    pub fn disturbed(&mut self) {
        self.stale = true;
    }

    /// Writes finished lines for good and brings the live region up to date. Empty if nothing is
    /// to do.
    pub fn draw(&mut self, finished: &[Line], live: &[Line], size: Size) -> String {
        let most = size.rows.max(1);
        let from = live.len().saturating_sub(most);
        let mut rows: Vec<String> = live
            .iter()
            .skip(from)
            .map(|line| line.fit(size.columns).encode(self.look))
            .collect();
        if rows.is_empty() {
            rows.push(String::new());
        }
        // Rows that are not there yet come into being by line feeds, which may scroll.
        let whole = self.stale || !finished.is_empty() || rows.len() > self.shown.len();
        if !whole && rows == self.shown {
            return String::new();
        }
        let mut out = String::from("\x1b[?2026h");
        match whole {
            true => self.draw_whole(finished, &rows, size, &mut out),
            false => self.draw_changes(&rows, &mut out),
        }
        out.push_str("\x1b[?2026l");
        self.shown = rows;
        self.stale = false;
        out
    }

    fn draw_whole(&self, finished: &[Line], rows: &[String], size: Size, out: &mut String) {
        clear_below(size, out);
        for line in finished {
            out.push_str(&line.encode(self.look));
            out.push_str("\r\n");
        }
        out.push_str("\x1b[?7l");
        out.push_str(&rows.join("\r\n"));
        out.push_str("\x1b[?7h");
        out.push('\r');
        if rows.len() > 1 {
            let _ = write!(out, "\x1b[{}A", rows.len() - 1);
        }
    }

    /// Only rows that are there already are touched, and the way back is the terminal's own: it is
    /// right even if rows have gone that we believe to be there.
    fn draw_changes(&self, rows: &[String], out: &mut String) {
        out.push_str("\x1b7\x1b[?7l");
        let mut at = 0;
        for (y, row) in rows.iter().enumerate() {
            if self.shown.get(y) != Some(row) {
                down(y - at, out);
                out.push_str("\x1b[K");
                out.push_str(row);
                at = y;
            }
        }
        if rows.len() < self.shown.len() {
            // Never from the first row: a terminal may take that for clearing the screen and keep
            // what was on it.
            down(rows.len() - at, out);
            out.push_str("\x1b[J");
        }
        out.push_str("\x1b[?7h\x1b8");
    }

    /// Takes the live region away and leaves the cursor where it was, for whoever writes next.
    pub fn leave(&mut self, size: Size) -> String {
        let mut out = String::new();
        if !self.shown.is_empty() {
            clear_below(size, &mut out);
        }
        out.push_str(LEAVE);
        self.shown.clear();
        self.stale = true;
        out
    }
}

/// From the resting place of the cursor on, and back to it. The first row is cleared by itself,
/// for the reason above.
fn clear_below(size: Size, out: &mut String) {
    out.push_str("\r\x1b[K");
    if size.rows > 1 {
        out.push_str("\x1b7\x1b[B\r\x1b[J\x1b8");
    }
}

fn down(rows: usize, out: &mut String) {
    if rows > 0 {
        let _ = write!(out, "\x1b[{rows}B");
    }
    out.push('\r');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::look::Role;
    use super::super::vt::{Reflow, Vt};
    use super::*;

    fn look() -> Look {
        let pairs = [("TERM", "xterm"), ("LANG", "C.UTF-8")];
        let get = |name: &str| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Look::of(get, false)
    }

    fn lines(texts: &[String]) -> Vec<Line> {
        let line = |text: &String| Line::of(text.clone(), Role::Accent);
        texts.iter().map(line).collect()
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_keystroke_changes_one_row() {
        let mut painter = Painter::new(look());
        let size = Size {
            columns: 20,
            rows: 10,
        };
        let draw = |painter: &mut Painter, live: &[&str]| {
            let live: Vec<Line> = live.iter().map(|t| Line::of(*t, Role::Text)).collect();
            painter.draw(&[], &live, size)
        };
        draw(&mut painter, &["loader", "> a", "status"]);
        let bytes = draw(&mut painter, &["loader", "> ab", "status"]);
        assert_eq!(
            bytes,
            "\x1b[?2026h\x1b7\x1b[?7l\x1b[1B\r\x1b[K> ab\x1b[?7h\x1b8\x1b[?2026l"
        );
        assert_eq!(draw(&mut painter, &["loader", "> ab", "status"]), "");
    }

    #[test]
    fn leaving_leaves_only_what_is_finished() {
        let mut painter = Painter::new(look());
        let size = Size {
            columns: 20,
            rows: 4,
        };
        let mut vt = Vt::new(size, Reflow::Yes);
        let finished = lines(&strings(&["one", "two", "three"]));
        vt.feed(&painter.draw(&finished, &lines(&strings(&["a", "b"])), size));
        assert_eq!(vt.logical(), ["one", "two", "three", "a", "b"]);
        vt.feed(&painter.leave(size));
        assert_eq!(vt.logical(), ["one", "two", "three"]);
        assert!(vt.cursor_shown());
    }

    #[derive(Debug, Clone)]
    enum Step {
        Draw(Vec<String>, Vec<String>),
        Resize(usize, usize),
        /// The size changes, and something is drawn before we hear of it.
        Late(usize, usize, Vec<String>),
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            Just(String::new()),
            "[a-z]{1,30}",
            "[a-z日本語é ]{1,30}[a-z]",
        ]
    }

    fn live() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec(text(), 1..6)
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (prop::collection::vec("[a-z]{1,10}[a-z 日本]{0,14}[a-z]", 0..3), live())
                .prop_map(|(finished, live)| Step::Draw(finished, live)),
            2 => (5_usize..40, 2_usize..12).prop_map(|(columns, rows)| Step::Resize(columns, rows)),
            1 => (5_usize..40, 6_usize..12, live()).prop_map(|(c, r, live)| Step::Late(c, r, live)),
        ];
        prop::collection::vec(step, 1..25)
    }

    /// A row of the live region as it is seen: it never wraps.
    fn seen(text: &str, columns: usize) -> String {
        super::super::text::fit(text, columns).trim_end().to_owned()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn no_row_is_lost_or_left_behind(steps in steps(), reflow in prop_oneof![Just(Reflow::Yes), Just(Reflow::No)]) {
            let mut size = Size { columns: 30, rows: 8 };
            let mut vt = Vt::new(size, reflow);
            let mut painter = Painter::new(look());
            let mut told: Vec<String> = Vec::new();
            let mut now: Vec<String> = vec![String::new()];
            vt.feed(ENTER);
            vt.feed(&painter.draw(&[], &lines(&now), size));
            for step in steps {
                match step {
                    Step::Draw(finished, live) => {
                        let fits: Vec<String> = finished.iter().map(|t| seen(t, size.columns)).collect();
                        vt.feed(&painter.draw(&lines(&fits), &lines(&live), size));
                        told.extend(fits);
                        now = live;
                    }
                    Step::Resize(columns, rows) => {
                        size = Size { columns, rows };
                        vt.resize(size);
                        painter.disturbed();
                        vt.feed(&painter.draw(&[], &lines(&now), size));
                    }
                    Step::Late(columns, rows, live) => {
                        vt.resize(Size { columns, rows });
                        vt.feed(&painter.draw(&[], &lines(&live), Size { columns: size.columns, rows }));
                        size = Size { columns, rows };
                        painter.disturbed();
                        vt.feed(&painter.draw(&[], &lines(&live), size));
                        now = live;
                    }
                }
                let from = now.len().saturating_sub(size.rows);
                let shown: Vec<String> = now.iter().skip(from).map(|t| seen(t, size.columns)).collect();
                let found = vt.logical();
                let mut expected: Vec<String> = match reflow {
                    Reflow::Yes => told.clone(),
                    // What was cut is gone; the rows are still there, each once.
                    Reflow::No => found.iter().take(told.len()).cloned().collect(),
                };
                expected.extend(shown);
                while expected.last().is_some_and(String::is_empty) {
                    expected.pop();
                }
                prop_assert_eq!(&found, &expected);
                if reflow == Reflow::No {
                    for (row, text) in found.iter().zip(&told) {
                        prop_assert!(text.starts_with(row.as_str()), "{row:?} of {text:?}");
                    }
                }
            }
        }
    }
}
