//! Rows to terminal bytes: lines that stay scroll up, the frame below them is drawn over. Pure.

use std::collections::VecDeque;
use std::fmt::Write;

use super::view::Frame;

/// How many lines are drawn again after a resize.
const REMEMBERED: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Painter {
    /// The rows of the frame on the screen, and the one the cursor is in.
    drawn: Vec<String>,
    cursor: (usize, usize),
    history: VecDeque<String>,
}

impl Painter {
    /// Draws lines that stay, then the frame. Nothing new: nothing to write.
    pub(super) fn paint(&mut self, lines: &[String], frame: Frame, cols: usize) -> String {
        if lines.is_empty() && frame.rows == self.drawn && frame.cursor == self.cursor {
            return String::new();
        }
        let mut out = String::new();
        if self.cursor.1 > 0 {
            let _ = write!(out, "\x1b[{}A", self.cursor.1);
        }
        out.push_str("\r\x1b[J");
        for line in lines.iter().flat_map(|line| line.split('\n')) {
            for row in wrapped(line, cols) {
                out.push_str(&row);
                out.push_str("\r\n");
                self.history.push_back(row);
            }
        }
        while self.history.len() > REMEMBERED {
            self.history.pop_front();
        }
        out.push_str(&frame.rows.join("\r\n"));
        let up = frame
            .rows
            .len()
            .saturating_sub(1)
            .saturating_sub(frame.cursor.1);
        if up > 0 {
            let _ = write!(out, "\x1b[{up}A");
        }
        let _ = write!(out, "\x1b[{}G", frame.cursor.0 + 1);
        self.drawn = frame.rows;
        self.cursor = frame.cursor;
        out
    }

    /// Draws everything again on a screen of another size.
    pub(super) fn repaint(&mut self, frame: Frame, cols: usize) -> String {
        let lines: Vec<String> = self.history.drain(..).collect();
        self.cursor = (0, 0);
        format!("\x1b[2J\x1b[H{}", self.paint(&lines, frame, cols))
    }

    /// Leaves the frame and goes below it.
    pub(super) fn leave(&mut self, lines: &[String]) -> String {
        let frame = Frame {
            rows: vec![String::new()],
            cursor: (0, 0),
        };
        self.paint(lines, frame, usize::MAX)
    }
}

fn wrapped(line: &str, cols: usize) -> Vec<String> {
    let characters: Vec<char> = line.chars().filter(|c| !c.is_control()).collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    characters
        .chunks(cols.max(1))
        .map(|chunk| chunk.iter().collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(rows: &[&str], cursor: (usize, usize)) -> Frame {
        Frame {
            rows: rows.iter().map(|r| (*r).to_owned()).collect(),
            cursor,
        }
    }

    #[test]
    fn the_frame_is_drawn_over_and_lines_stay_above() {
        let mut painter = Painter::default();
        assert_eq!(
            painter.paint(&[], frame(&["a", "b", "c"], (2, 1)), 9),
            "\r\x1b[Ja\r\nb\r\nc\x1b[1A\x1b[3G"
        );
        assert_eq!(painter.paint(&[], frame(&["a", "b", "c"], (2, 1)), 9), "");
        let lines = ["stays\nlonger than nine".to_owned()];
        assert_eq!(
            painter.paint(&lines, frame(&["d"], (0, 0)), 9),
            "\x1b[1A\r\x1b[Jstays\r\nlonger th\r\nan nine\r\nd\x1b[1G"
        );
    }
}
