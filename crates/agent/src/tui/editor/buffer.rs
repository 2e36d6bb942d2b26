//! The text a person is writing: cursor, words, deleting and getting back.

use super::super::text::{next_cluster, previous_cluster};

/// So many steps can be taken back.
const MOST_UNDO: usize = 200;
/// A text longer than this takes no more characters; a paste goes into a fold anyway.
const LONGEST: usize = 1 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Buffer {
    text: String,
    /// A byte offset at the beginning of a character.
    cursor: usize,
    undo: Vec<(String, usize)>,
    /// What was cut last, for Ctrl+Y.
    cut: String,
    /// The last change was typing: the next letter belongs to the same step.
    typing: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
}

impl Buffer {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    pub fn before(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    pub fn after(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Another text, its end being where one goes on.
    pub fn set(&mut self, text: impl Into<String>) {
        self.remember();
        self.text = text.into();
        self.cursor = self.text.len();
    }

    pub fn take(&mut self) -> String {
        self.undo.clear();
        self.typing = false;
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    pub fn insert_char(&mut self, c: char) {
        if !self.typing || c == ' ' || c == '\n' {
            self.remember();
        }
        self.insert(c.encode_utf8(&mut [0; 4]));
        self.typing = true;
    }

    pub fn insert_text(&mut self, text: &str) {
        self.remember();
        self.insert(text);
    }

    fn insert(&mut self, text: &str) {
        if self.text.len() + text.len() <= LONGEST {
            self.text.insert_str(self.cursor, text);
            self.cursor += text.len();
        }
    }

    /// Puts something in the place of a part of the text.
    pub fn replace(&mut self, from: usize, to: usize, with: &str) {
        if self.text.get(from..to).is_some() {
            self.remember();
            self.text.replace_range(from..to, with);
            self.cursor = from + with.len();
        }
    }

    pub fn go(&mut self, to: Move) {
        self.typing = false;
        self.cursor = self.place(to);
    }

    /// Deletes up to where that move would go.
    pub fn delete(&mut self, to: Move) {
        let place = self.place(to);
        let (from, to) = (place.min(self.cursor), place.max(self.cursor));
        if from < to {
            self.remember();
            self.text.replace_range(from..to, "");
            self.cursor = from;
        }
    }

    /// Deletes and keeps it for [`Buffer::yank`]. At the end of a line the line break goes.
    pub fn cut(&mut self, to: Move) {
        let mut place = self.place(to);
        if place == self.cursor && to == Move::LineEnd && !self.after().is_empty() {
            place += 1;
        }
        if place == self.cursor && to == Move::LineStart && self.cursor > 0 {
            place -= 1;
        }
        let (from, to) = (place.min(self.cursor), place.max(self.cursor));
        if from < to {
            self.remember();
            self.cut = self.text.get(from..to).unwrap_or_default().to_owned();
            self.text.replace_range(from..to, "");
            self.cursor = from;
        }
    }

    pub fn yank(&mut self) {
        let cut = self.cut.clone();
        self.insert_text(&cut);
    }

    pub fn undo(&mut self) {
        if let Some((text, cursor)) = self.undo.pop() {
            self.text = text;
            self.cursor = cursor;
        }
        self.typing = false;
    }

    /// To the line above, at the same column; `false` if there is none.
    pub fn up(&mut self) -> bool {
        let start = self.line_start();
        let Some(end_above) = start.checked_sub(1) else {
            return false;
        };
        let column = self.column();
        let above = self.text.get(..end_above).unwrap_or_default();
        let from = above.rfind('\n').map_or(0, |at| at + 1);
        self.cursor = self.at_column(from, end_above, column);
        self.typing = false;
        true
    }

    /// To the line below; `false` if there is none.
    pub fn down(&mut self) -> bool {
        let Some(end) = self.after().find('\n') else {
            return false;
        };
        let column = self.column();
        let from = self.cursor + end + 1;
        let below = self.text.get(from..).unwrap_or_default();
        let to = from + below.find('\n').unwrap_or(below.len());
        self.cursor = self.at_column(from, to, column);
        self.typing = false;
        true
    }

    fn column(&self) -> usize {
        super::super::text::width(
            self.text
                .get(self.line_start()..self.cursor)
                .unwrap_or_default(),
        )
    }

    fn at_column(&self, from: usize, to: usize, column: usize) -> usize {
        let line = self.text.get(from..to).unwrap_or_default();
        from + super::super::text::fit(line, column).len()
    }

    fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn place(&self, to: Move) -> usize {
        let cursor = self.cursor;
        match to {
            Move::Left => previous_cluster(self.before()).unwrap_or(0),
            Move::Right => cursor + next_cluster(self.after()).unwrap_or(0),
            Move::LineStart => self.line_start(),
            Move::LineEnd => cursor + self.after().find('\n').unwrap_or(self.after().len()),
            Move::WordLeft => {
                let words = self.before().trim_end_matches(|c| !is_word(c));
                words.trim_end_matches(is_word).len()
            }
            Move::WordRight => {
                let gap = self.after().trim_start_matches(|c| !is_word(c));
                self.text.len() - gap.trim_start_matches(is_word).len()
            }
        }
    }

    fn remember(&mut self) {
        self.typing = false;
        if self.undo.len() == MOST_UNDO {
            self.undo.remove(0);
        }
        self.undo.push((self.text.clone(), self.cursor));
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `|` is where the cursor stands.
    fn at(text: &str) -> Buffer {
        let cursor = text.find('|').unwrap();
        Buffer {
            text: text.replace('|', ""),
            cursor,
            ..Buffer::default()
        }
    }

    fn shown(buffer: &Buffer) -> String {
        format!("{}|{}", buffer.before(), buffer.after())
    }

    #[test]
    fn moving_and_deleting() {
        type Act = fn(&mut Buffer);
        let table: [(&str, Act, &str); 18] = [
            ("one tw|o", |b| b.go(Move::WordLeft), "one |two"),
            ("one |two", |b| b.go(Move::WordLeft), "|one two"),
            ("|one two", |b| b.go(Move::WordRight), "one| two"),
            ("a/b.c|", |b| b.go(Move::WordLeft), "a/b.|c"),
            ("日本|", |b| b.go(Move::Left), "日|本"),
            ("👩\u{200d}💻|", |b| b.go(Move::Left), "|👩\u{200d}💻"),
            ("a\nbc|d", |b| b.go(Move::LineStart), "a\n|bcd"),
            ("a|b\ncd", |b| b.go(Move::LineEnd), "ab|\ncd"),
            ("one two|", |b| b.delete(Move::WordLeft), "one |"),
            ("one |two", |b| b.cut(Move::LineEnd), "one |"),
            ("one|\ntwo", |b| b.cut(Move::LineEnd), "one|two"),
            ("one\n|two", |b| b.cut(Move::LineStart), "one|two"),
            ("|", |b| b.delete(Move::Left), "|"),
            ("ab\ncd|", |b| assert!(b.up()), "ab|\ncd"),
            ("ab\ncd|", |b| assert!(!b.down()), "ab\ncd|"),
            ("a|b\nc", |b| assert!(b.down()), "ab\nc|"),
            ("日本|\nabcdef", |b| assert!(b.down()), "日本\nabcd|ef"),
            (
                "one |two",
                |b| {
                    b.cut(Move::LineStart);
                    b.go(Move::LineEnd);
                    b.yank()
                },
                "twoone |",
            ),
        ];
        for (before, act, after) in table {
            let mut buffer = at(before);
            act(&mut buffer);
            assert_eq!(shown(&buffer), after, "{before:?}");
        }
    }

    #[test]
    fn words_are_taken_back_one_by_one() {
        let mut buffer = Buffer::default();
        "one two".chars().for_each(|c| buffer.insert_char(c));
        buffer.undo();
        assert_eq!(buffer.text(), "one");
        buffer.undo();
        assert_eq!(buffer.text(), "");
        buffer.undo();
        assert_eq!(buffer.text(), "");
    }

    proptest! {
        #[test]
        fn the_cursor_stays_on_characters(text in "[a日\n 👩\u{200d}é]{0,20}", acts in prop::collection::vec(0_u8..14, 0..30)) {
            let mut buffer = Buffer::default();
            buffer.insert_text(&text);
            for act in acts {
                match act {
                    0 => buffer.go(Move::Left),
                    1 => buffer.go(Move::Right),
                    2 => buffer.go(Move::WordLeft),
                    3 => buffer.go(Move::WordRight),
                    4 => buffer.delete(Move::Left),
                    5 => buffer.delete(Move::WordRight),
                    6 => buffer.cut(Move::LineEnd),
                    7 => buffer.cut(Move::LineStart),
                    8 => buffer.yank(),
                    9 => buffer.undo(),
                    10 => drop(buffer.up()),
                    11 => drop(buffer.down()),
                    12 => buffer.insert_char('日'),
                    _ => buffer.insert_text("x\ny"),
                }
                prop_assert!(buffer.text().is_char_boundary(buffer.cursor()));
                prop_assert_eq!(format!("{}{}", buffer.before(), buffer.after()), buffer.text());
            }
        }
    }
}
