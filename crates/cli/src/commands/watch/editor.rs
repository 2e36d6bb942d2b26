//! A line that is being written. Pure; what is pasted becomes one line, and nothing in it moves
//! the terminal.

use unicode_width::UnicodeWidthChar;

use super::input::Key;
use crate::text::one_line;

/// A longer line is not taken.
const MOST: usize = 8 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Editor {
    text: Vec<char>,
    at: usize,
}

impl Editor {
    pub fn with(text: &str) -> Self {
        let text: Vec<char> = text.chars().collect();
        Self {
            at: text.len(),
            text,
        }
    }

    pub fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// What is to be seen in so many columns, and where the cursor is in it.
    pub fn view(&self, columns: usize) -> (String, usize) {
        let wide = |c: &char| c.width().unwrap_or(0);
        let mut first = self.at;
        let mut used = 1; // the cursor's own place
        while let Some(before) = first.checked_sub(1) {
            used += self.text.get(before).map_or(0, wide);
            if used > columns {
                break;
            }
            first = before;
        }
        let before: usize = self.text.iter().take(self.at).skip(first).map(wide).sum();
        let mut room = columns;
        let seen = self.text.iter().skip(first).take_while(|c| {
            let fits = wide(c) <= room;
            room = room.saturating_sub(wide(c));
            fits
        });
        (seen.collect(), before)
    }

    /// Whether the key was one for a line.
    pub fn key(&mut self, key: &Key) -> bool {
        match key {
            Key::Char(c) => self.insert(&c.to_string()),
            Key::Paste(text) => self.insert(text),
            Key::Backspace => {
                if let Some(before) = self.at.checked_sub(1) {
                    self.text.remove(before);
                    self.at = before;
                }
            }
            Key::Delete => {
                if self.at < self.text.len() {
                    self.text.remove(self.at);
                }
            }
            Key::Left => self.at = self.at.saturating_sub(1),
            Key::Right => self.at = (self.at + 1).min(self.text.len()),
            Key::Home | Key::Ctrl('a') => self.at = 0,
            Key::End | Key::Ctrl('e') => self.at = self.text.len(),
            Key::Ctrl('u') => {
                self.text.drain(..self.at);
                self.at = 0;
            }
            Key::Ctrl('w') => {
                let kept = self.text.get(..self.at).unwrap_or_default();
                let word = kept.iter().rposition(|c| !c.is_whitespace()).unwrap_or(0);
                let gap = kept.get(..word).unwrap_or_default();
                let from = gap.iter().rposition(|c| c.is_whitespace());
                let from = from.map_or(0, |gap| gap + 1);
                self.text.drain(from..self.at);
                self.at = from;
            }
            Key::Ctrl(_)
            | Key::Enter
            | Key::Esc
            | Key::Tab
            | Key::BackTab
            | Key::Up
            | Key::Down
            | Key::PageUp
            | Key::PageDown => return false,
        }
        true
    }

    fn insert(&mut self, text: &str) {
        for c in one_line(text).chars() {
            if self.text.len() >= MOST {
                return;
            }
            self.text.insert(self.at, c);
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::watch::input::Input;

    #[test]
    fn a_line_is_written() {
        for (typed, text) in [
            ("hello", "hello"),
            ("hello\x7f\x7fp", "help"),
            ("b\x1b[Da\x1b[Cc", "abc"),
            ("bc\x01a\x05d", "abcd"),
            ("one two  \x17three", "one three"),
            ("one\x15two", "two"),
            ("abc\x1b[H\x1b[3~", "bc"),
            ("\x1b[200~a\nb\x07\x1b[2Jc\x1b[201~", "a b[2Jc"),
        ] {
            let mut editor = Editor::default();
            for key in Input::default().feed(typed.as_bytes()) {
                assert!(editor.key(&key), "{key:?}");
            }
            assert_eq!(editor.text(), text, "{typed:?}");
        }
    }

    #[test]
    fn the_cursor_is_always_to_be_seen() {
        let editor = Editor::with("日本語 and more words than fit");
        for columns in 1..60 {
            let (seen, cursor) = editor.view(columns);
            assert!(crate::text::width(&seen) <= columns, "{columns}: {seen:?}");
            assert!(cursor < columns.max(1), "{columns}: {cursor}");
        }
        assert_eq!(Editor::with("abc").view(10), ("abc".into(), 3));
    }
}
