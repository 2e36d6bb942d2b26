//! Where a person writes: several lines, history, pastes folded up, completion.
//!
//! Keys in, a submitted text out. It knows nothing of the agent.

mod buffer;
mod complete;
mod history;
mod view;

pub(crate) use buffer::Buffer;
use buffer::Move;
pub(crate) use complete::Kind;
use complete::{Completion, complete, file_word};
pub(crate) use history::History;

use super::input::Key;
use crate::templates::Template;

/// A paste with more lines or bytes than this is folded up.
const FOLD_LINES: usize = 8;
const FOLD_BYTES: usize = 1_000;
/// So many pastes are kept apart; further ones go in as they are.
const MOST_FOLDS: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct Editor {
    buffer: Buffer,
    history: History,
    /// What stands behind `[paste #n …]`, n counting from 1.
    folds: Vec<(String, String)>,
    completion: Option<Completion>,
    files: Option<Vec<String>>,
    /// Names of templates, with what is said beside them.
    templates: Vec<(String, String)>,
}

/// What became of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pressed {
    /// The editor may look different now.
    Taken,
    /// It is none of the editor's.
    Left,
    /// The files of this project are needed to complete; [`Editor::offer_files`] brings them.
    WantsFiles,
    Submitted(String),
}

impl Editor {
    pub fn with_history(history: History) -> Self {
        Self {
            history,
            ..Self::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    pub fn text(&self) -> &str {
        self.buffer.text()
    }

    /// A list is open: Enter takes the entry.
    pub fn is_choosing(&self) -> bool {
        self.completion.is_some()
    }

    /// The text, whole; the editor is empty then.
    pub fn take(&mut self) -> String {
        let text = self.unfolded(self.buffer.text());
        self.clear();
        self.folds.clear();
        text
    }

    pub fn clear(&mut self) {
        self.buffer.set("");
        self.completion = None;
        self.history.leave();
    }

    /// Puts a text back that was submitted and not said: before what is being written.
    pub fn give_back(&mut self, text: &str) {
        let rest = self.buffer.take();
        self.buffer.set(match rest.is_empty() {
            true => text.to_owned(),
            false => format!("{text}\n{rest}"),
        });
        self.completion = None;
    }

    pub fn offer_files(&mut self, files: Vec<String>) {
        self.files = Some(files);
        self.look_for_completions();
    }

    pub fn offer_templates(&mut self, templates: &[Template]) {
        let told = templates.iter().map(|template| {
            let about = format!("{} {}", template.hint, template.about);
            (template.name.clone(), about.trim().to_owned())
        });
        self.templates = told.collect();
    }

    /// Files may have come and gone: they are listed anew when they are asked for again.
    pub fn forget_files(&mut self) {
        self.files = None;
    }

    pub fn press(&mut self, key: Key) -> Pressed {
        if let Some(pressed) = self.press_completion(&key) {
            return pressed;
        }
        match key {
            Key::Char(c) => self.buffer.insert_char(c),
            Key::Newline => self.buffer.insert_char('\n'),
            Key::Paste(text) => self.paste(&text),
            Key::Enter => return self.enter(),
            Key::Backspace => self.backspace(),
            Key::Delete => self.buffer.delete(Move::Right),
            Key::DeleteWordLeft | Key::Ctrl('w') => self.buffer.cut(Move::WordLeft),
            Key::DeleteWordRight => self.buffer.cut(Move::WordRight),
            Key::Left | Key::Ctrl('b') => self.buffer.go(Move::Left),
            Key::Right | Key::Ctrl('f') => self.buffer.go(Move::Right),
            Key::WordLeft => self.buffer.go(Move::WordLeft),
            Key::WordRight => self.buffer.go(Move::WordRight),
            Key::Home | Key::Ctrl('a') => self.buffer.go(Move::LineStart),
            Key::End | Key::Ctrl('e') => self.buffer.go(Move::LineEnd),
            Key::Ctrl('k') => self.buffer.cut(Move::LineEnd),
            Key::Ctrl('u') => self.buffer.cut(Move::LineStart),
            Key::Ctrl('y') => self.buffer.yank(),
            Key::Ctrl('_') => self.buffer.undo(),
            Key::Up | Key::Ctrl('p') => {
                if !self.buffer.up()
                    && let Some(text) = self.history.older(self.buffer.text())
                {
                    self.buffer.set(text);
                }
                return Pressed::Taken;
            }
            Key::Down | Key::Ctrl('n') => {
                if !self.buffer.down()
                    && let Some(text) = self.history.newer()
                {
                    self.buffer.set(text);
                }
                return Pressed::Taken;
            }
            Key::Ctrl('d') if !self.is_empty() => self.buffer.delete(Move::Right),
            Key::Tab | Key::BackTab | Key::Esc | Key::Ctrl(_) => return Pressed::Left,
        }
        self.look_for_completions();
        let asks = file_word(self.buffer.before()).is_some();
        match asks && self.files.is_none() {
            true => Pressed::WantsFiles,
            false => Pressed::Taken,
        }
    }

    /// Keys that mean the list, while there is one.
    fn press_completion(&mut self, key: &Key) -> Option<Pressed> {
        let completion = self.completion.as_mut()?;
        let count = completion.items.len();
        match key {
            Key::Down | Key::Ctrl('n') => completion.selected = (completion.selected + 1) % count,
            Key::Up | Key::Ctrl('p') => {
                completion.selected = (completion.selected + count - 1) % count;
            }
            Key::Esc => self.completion = None,
            Key::Tab => self.accept(),
            Key::Enter => {
                let kind = completion.kind;
                self.accept();
                if kind == Kind::Command {
                    return Some(self.enter());
                }
            }
            Key::Char(_)
            | Key::Newline
            | Key::BackTab
            | Key::Backspace
            | Key::Delete
            | Key::Left
            | Key::Right
            | Key::Home
            | Key::End
            | Key::WordLeft
            | Key::WordRight
            | Key::DeleteWordLeft
            | Key::DeleteWordRight
            | Key::Ctrl(_)
            | Key::Paste(_) => return None,
        }
        Some(Pressed::Taken)
    }

    fn accept(&mut self) {
        if let Some(completion) = self.completion.take()
            && let Some(item) = completion.items.get(completion.selected)
        {
            let is_folder = item.text.ends_with('/');
            let space = if is_folder { "" } else { " " };
            let text = format!("{}{space}", item.text);
            self.buffer.replace(completion.from, completion.to, &text);
            if is_folder {
                self.look_for_completions();
            }
        }
    }

    fn look_for_completions(&mut self) {
        self.history.leave();
        let files = self.files.as_deref().unwrap_or_default();
        let (text, cursor) = (self.buffer.text(), self.buffer.cursor());
        self.completion = complete(text, cursor, files, &self.templates);
    }

    fn enter(&mut self) -> Pressed {
        if self.buffer.before().ends_with('\\') {
            let cursor = self.buffer.cursor();
            self.buffer.replace(cursor - 1, cursor, "\n");
            return Pressed::Taken;
        }
        self.completion = None;
        if self.buffer.text().trim().is_empty() {
            return Pressed::Taken;
        }
        let text = self.unfolded(self.buffer.text());
        self.buffer.take();
        self.folds.clear();
        self.history.add(text.trim_end());
        Pressed::Submitted(text.trim_end().to_owned())
    }

    fn paste(&mut self, text: &str) {
        let text = sm_term::strip(text);
        let text = text.trim_end_matches('\n');
        let lines = text.lines().count();
        let long = lines > FOLD_LINES || text.len() > FOLD_BYTES;
        if !long || self.folds.len() >= MOST_FOLDS {
            self.buffer.insert_text(text);
            return;
        }
        let number = self.folds.len() + 1;
        let sign = match lines {
            1 => format!("[paste #{number} +{} characters]", text.chars().count()),
            lines => format!("[paste #{number} +{lines} lines]"),
        };
        self.buffer.insert_text(&sign);
        self.folds.push((sign, text.to_owned()));
    }

    /// A fold before the cursor goes as a whole.
    fn backspace(&mut self) {
        let before = self.buffer.before();
        let fold = self.folds.iter().find(|(sign, _)| before.ends_with(sign));
        match fold.map(|(sign, _)| sign.len()) {
            Some(length) => {
                let cursor = self.buffer.cursor();
                self.buffer.replace(cursor - length, cursor, "");
            }
            None => self.buffer.delete(Move::Left),
        }
    }

    /// Each sign once, from the left: a paste that contains the sign of another stays as it is.
    fn unfolded(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        loop {
            let first = self
                .folds
                .iter()
                .filter_map(|(sign, whole)| Some((rest.find(sign.as_str())?, sign, whole)))
                .min_by_key(|(at, _, _)| *at);
            let Some((at, sign, whole)) = first else {
                out.push_str(rest);
                return out;
            };
            out.push_str(rest.get(..at).unwrap_or_default());
            out.push_str(whole);
            rest = rest.get(at + sign.len()..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(editor: &mut Editor, text: &str) {
        for c in text.chars() {
            editor.press(Key::Char(c));
        }
    }

    #[test]
    fn enter_submits_and_other_enters_do_not() {
        let mut editor = Editor::default();
        typed(&mut editor, "one");
        editor.press(Key::Newline);
        typed(&mut editor, "two\\");
        assert_eq!(editor.press(Key::Enter), Pressed::Taken);
        typed(&mut editor, "three");
        let submitted = Pressed::Submitted("one\ntwo\nthree".into());
        assert_eq!(editor.press(Key::Enter), submitted);
        assert!(editor.is_empty());
        assert_eq!(editor.press(Key::Enter), Pressed::Taken);
    }

    #[test]
    fn a_large_paste_is_folded_and_submitted_whole() {
        let mut editor = Editor::default();
        let large: String = (0..120).map(|n| format!("line {n}\n")).collect();
        typed(&mut editor, "see ");
        editor.press(Key::Paste(large.clone()));
        editor.press(Key::Paste("x".repeat(2_000)));
        assert_eq!(
            editor.text(),
            "see [paste #1 +120 lines][paste #2 +2000 characters]"
        );
        editor.press(Key::Backspace);
        assert_eq!(editor.text(), "see [paste #1 +120 lines]");
        let whole = format!("see {}", large.trim_end());
        assert_eq!(editor.press(Key::Enter), Pressed::Submitted(whole));
    }

    #[test]
    fn a_paste_brings_no_sequences() {
        let mut editor = Editor::default();
        editor.press(Key::Paste("a\x1b[31mb\x07\n\tc".into()));
        assert_eq!(editor.text(), "ab\n\tc");
    }

    #[test]
    fn a_sign_inside_a_paste_is_no_fold() {
        let mut editor = Editor::default();
        let tricky = format!("[paste #2 +9 lines]{}", "\n".repeat(8) + "end");
        editor.press(Key::Paste(tricky.clone()));
        editor.press(Key::Paste("b\n".repeat(9)));
        let whole = format!("{tricky}{}", "b\n".repeat(9).trim_end());
        assert_eq!(editor.press(Key::Enter), Pressed::Submitted(whole));
    }

    #[test]
    fn completion_by_tab_and_by_enter() {
        let mut editor = Editor::default();
        typed(&mut editor, "/hand");
        editor.press(Key::Tab);
        assert_eq!(editor.text(), "/handoff ");
        editor.clear();
        typed(&mut editor, "/hel");
        assert_eq!(editor.press(Key::Enter), Pressed::Submitted("/help".into()));
    }

    #[test]
    fn files_are_asked_for_once_and_offered() {
        let mut editor = Editor::default();
        typed(&mut editor, "read ");
        assert_eq!(editor.press(Key::Char('@')), Pressed::WantsFiles);
        editor.offer_files(vec!["src/".into(), "src/lib.rs".into()]);
        assert_eq!(editor.press(Key::Char('s')), Pressed::Taken);
        editor.press(Key::Enter);
        assert_eq!(editor.text(), "read @src/");
        editor.press(Key::Down);
        editor.press(Key::Tab);
        assert_eq!(editor.text(), "read @src/lib.rs ");
    }

    #[test]
    fn up_and_down_at_the_edges_are_history() {
        let mut editor = Editor::default();
        for text in ["first", "second"] {
            typed(&mut editor, text);
            editor.press(Key::Enter);
        }
        typed(&mut editor, "draft");
        editor.press(Key::Up);
        editor.press(Key::Up);
        assert_eq!(editor.text(), "first");
        editor.press(Key::Down);
        editor.press(Key::Down);
        assert_eq!(editor.text(), "draft");
    }

    #[test]
    fn what_was_not_said_comes_back_before_what_is_written() {
        let mut editor = Editor::default();
        typed(&mut editor, "later");
        editor.give_back("sooner");
        assert_eq!(editor.text(), "sooner\nlater");
    }
}
