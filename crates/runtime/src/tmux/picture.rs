//! A pane's screen as bytes that make another terminal show the same.
//!
//! Lines, cursor and modes are taken in one step of the server, so they belong to one moment. What
//! tmux does not tell is not in it: the colours that the program would write with next, and a line
//! that is full but not yet wrapped.

use super::connect::Start;
use super::handle::Tmux;
use super::ids::PaneId;
use super::typing::{Typed, guarded, typed};
use crate::error::Error;
use std::fmt::Write as _;

/// What a pane shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub cols: u16,
    pub rows: u16,
    /// For a terminal of that size, whatever it showed before.
    pub bytes: Vec<u8>,
}

const TOLD: [&str; 19] = [
    "pane_width",
    "pane_height",
    "cursor_x",
    "cursor_y",
    "alternate_on",
    "cursor_flag",
    "wrap_flag",
    "insert_flag",
    "origin_flag",
    "keypad_cursor_flag",
    "keypad_flag",
    "bracket_paste_flag",
    "scroll_region_upper",
    "scroll_region_lower",
    "mouse_standard_flag",
    "mouse_button_flag",
    "mouse_any_flag",
    "mouse_sgr_flag",
    "pane_id",
];

/// Bytes that are typed with one command.
const TYPED_AT_ONCE: usize = 512;

impl Tmux {
    pub async fn picture(&self, pane: PaneId) -> Result<Picture, Error> {
        // -N: blanks at the end of a line may have a colour
        self.captured(pane, " -e -N -S 0", &TOLD, paint).await
    }

    /// Types bytes as a keyboard would, unchanged. Not into copy mode, nor into a dead pane.
    pub async fn type_bytes(&self, pane: PaneId, bytes: &[u8]) -> Result<Typed, Error> {
        for some in bytes.chunks(TYPED_AT_ONCE) {
            let mut act = format!("send-keys -t {pane} -H");
            for byte in some {
                let _ = write!(act, " {byte:02x}");
            }
            let line = guarded(pane, None, &act, None);
            match typed(pane, &self.run(line, Start::Never).await?)? {
                Typed::Done => {}
                Typed::ScreenMoved => return Ok(Typed::ScreenMoved),
            }
        }
        Ok(Typed::Done)
    }
}

fn paint(shown: &[String], told: &str) -> Option<Picture> {
    let fields: Vec<&str> = told.split('\t').collect();
    if fields.len() != TOLD.len() {
        return None;
    }
    let number = |at: usize| fields.get(at)?.parse::<u16>().ok();
    let (cols, rows) = (number(0)?, number(1)?);
    let (x, y) = (number(2)?, number(3)?);
    let is_on = |at: usize| fields.get(at).is_some_and(|flag| *flag == "1");
    // a terminal as new, then what is not as it is there
    let mut bytes = String::from("\x1bc");
    if is_on(4) {
        bytes.push_str("\x1b[?1049h");
    }
    // colours go on from one line to the next
    let first = shown.len().saturating_sub(usize::from(rows));
    for (row, line) in shown.get(first..)?.iter().enumerate() {
        if !line.is_empty() {
            let _ = write!(bytes, "\x1b[{};1H{line}", row + 1);
        }
    }
    bytes.push_str("\x1b[0m");
    let (top, bottom) = (number(12).unwrap_or(0), number(13).unwrap_or(rows));
    if top > 0 || bottom.saturating_add(1) < rows {
        let _ = write!(bytes, "\x1b[{};{}r", top + 1, bottom.saturating_add(1));
    }
    let modes = [
        (!is_on(6), "\x1b[?7l"),
        (is_on(7), "\x1b[4h"),
        (is_on(8), "\x1b[?6h"),
        (is_on(9), "\x1b[?1h"),
        (is_on(10), "\x1b="),
        (is_on(11), "\x1b[?2004h"),
        (is_on(14), "\x1b[?1000h"),
        (is_on(15), "\x1b[?1002h"),
        (is_on(16), "\x1b[?1003h"),
        (is_on(17), "\x1b[?1006h"),
        (!is_on(5), "\x1b[?25l"),
    ];
    for (_, sequence) in modes.iter().filter(|(wanted, _)| *wanted) {
        bytes.push_str(sequence);
    }
    // inside the region, rows count from its top
    let y = if is_on(8) { y.saturating_sub(top) } else { y };
    let _ = write!(bytes, "\x1b[{};{}H", y + 1, x + 1);
    Some(Picture {
        cols,
        rows,
        bytes: bytes.into_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(lines: &[&str], told: &str) -> Option<String> {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let picture = paint(&lines, &told.replace(' ', "\t"))?;
        Some(
            String::from_utf8(picture.bytes)
                .unwrap()
                .replace('\x1b', "^"),
        )
    }

    #[test]
    fn a_plain_screen_and_one_with_everything() {
        for (lines, told, bytes) in [
            (
                &["$ ls", ""][..],
                "80 2 4 0 0 1 1 0 0 0 0 0 0 1 0 0 0 0 %1",
                "^c^[1;1H$ ls^[0m^[1;5H",
            ),
            (
                &["a", "b", "c"],
                "80 3 1 2 1 0 0 1 1 1 1 1 1 2 1 1 1 1 %1",
                "^c^[?1049h^[1;1Ha^[2;1Hb^[3;1Hc^[0m^[2;3r^[?7l^[4h^[?6h^[?1h^=^[?2004h\
                 ^[?1000h^[?1002h^[?1003h^[?1006h^[?25l^[2;2H",
            ),
        ] {
            assert_eq!(painted(lines, told).as_deref(), Some(bytes));
        }
        // what an older tmux does not know is empty
        let old = "80\t1\t0\t0\t0\t1\t1\t\t\t\t\t\t\t\t\t\t\t\t%1";
        assert!(paint(&[String::new()], old).is_some());
        for rubbish in ["", "80 2", "a 2 4 0 0 1 1 0 0 0 0 0 0 1 0 0 0 0 %1"] {
            assert_eq!(painted(&[], rubbish), None, "{rubbish}");
        }
    }
}
