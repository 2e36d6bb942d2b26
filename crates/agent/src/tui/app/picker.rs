//! A list to choose one thing from.

use std::path::PathBuf;

use super::super::input::Key;
use super::super::line::Line;
use super::super::look::{Look, Role, Style};
use super::super::text::{clean, shorten};

/// What a list is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Session(PathBuf),
    /// `provider/id`.
    Model(String),
    /// The entry of a prompt.
    Prompt(String),
}

#[derive(Debug)]
pub(crate) struct Picker {
    title: &'static str,
    items: Vec<(String, Choice)>,
    selected: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    Nothing,
    Left,
    This(Choice),
}

impl Picker {
    pub fn new(title: &'static str, items: Vec<(String, Choice)>) -> Self {
        Self {
            title,
            items,
            selected: 0,
        }
    }

    pub fn press(&mut self, key: &Key) -> Picked {
        let count = self.items.len().max(1);
        match key {
            Key::Up | Key::Ctrl('p') => self.selected = (self.selected + count - 1) % count,
            Key::Down | Key::Ctrl('n') => self.selected = (self.selected + 1) % count,
            Key::Enter => {
                if let Some((_, choice)) = self.items.get(self.selected) {
                    return Picked::This(choice.clone());
                }
            }
            Key::Esc | Key::Ctrl('c') => return Picked::Left,
            _ => {}
        }
        Picked::Nothing
    }

    pub fn rows(&self, columns: usize, most: usize, look: Look) -> Vec<Line> {
        let keys = "  (enter takes it, esc leaves)";
        let mut rows = vec![Line::of(self.title, Style::default().bold()).with(keys, Role::Faint)];
        let room = most.saturating_sub(1).max(1);
        let from = (self.selected + 1).saturating_sub(room);
        for (index, (text, _)) in self.items.iter().enumerate().skip(from).take(room) {
            let (mark, style) = match index == self.selected {
                true => (look.pick("› ", "> "), Style::from(Role::Accent).bold()),
                false => ("  ", Style::default()),
            };
            let text = shorten(&clean(text), columns.saturating_sub(2), look.pick("…", "~"));
            rows.push(Line::of(mark, style).with(text, style));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_chosen() {
        let items =
            ["one", "two", "three"].map(|name| (name.to_owned(), Choice::Session(name.into())));
        let mut picker = Picker::new("Sessions", items.to_vec());
        picker.press(&Key::Up);
        let look = Look::of(|_| None, false);
        let rows: Vec<String> = picker.rows(30, 3, look).iter().map(Line::text).collect();
        assert_eq!(rows[1..], ["  two", "> three"]);
        assert_eq!(
            picker.press(&Key::Enter),
            Picked::This(Choice::Session("three".into()))
        );
        assert_eq!(picker.press(&Key::Esc), Picked::Left);
    }
}
