//! The editor as rows, with the cursor in them.

use super::super::line::{Line, Span};
use super::super::look::{Look, Role, Style};
use super::super::text::{clusters, shorten, width};
use super::complete::ghost;
use super::{Editor, Kind};

/// A tab as it is shown; the text keeps it.
const TAB: &str = "    ";

impl Editor {
    /// At most so many rows, those around the cursor, and what is offered below them.
    pub fn rows(&self, columns: usize, most: usize, look: Look) -> Vec<Line> {
        let columns = columns.max(4);
        let shell = self.text().starts_with('!');
        let role = if shell { Role::Warning } else { Role::Accent };
        let first = Span::new(look.pick("❯ ", "> "), Style::from(role).bold());
        let mut rows = vec![Line { spans: vec![first] }];
        let mut used = 2;
        let mut at_row = 0;
        let cursor = self.buffer.cursor();
        let mut at = 0;
        let text_style = Style::default();
        for (cluster, wide) in clusters(self.text()) {
            let here = at == cursor;
            at += cluster.len();
            if cluster == "\n" {
                if here {
                    at_row = rows.len() - 1;
                    push(&mut rows, " ", text_style.reverse());
                }
                rows.push(Line::of("  ", Role::Text));
                used = 2;
                continue;
            }
            let (shown, wide) = match cluster {
                "\t" => (TAB, TAB.len()),
                cluster => (cluster, wide),
            };
            // One column stays free for a cursor at the end.
            if used + wide >= columns {
                rows.push(Line::of("  ", Role::Text));
                used = 2;
            }
            if here {
                at_row = rows.len() - 1;
                push(&mut rows, shown, text_style.reverse());
            } else {
                push(&mut rows, shown, text_style);
            }
            used += wide;
        }
        if cursor == self.text().len() {
            at_row = rows.len() - 1;
            push(&mut rows, " ", text_style.reverse());
            let hint = ghost(self.text()).unwrap_or_default();
            push(&mut rows, hint, Role::Faint.into());
        }
        let most = most.max(1);
        let from = (at_row + 1)
            .saturating_sub(most)
            .min(rows.len().saturating_sub(most));
        let mut rows: Vec<Line> = rows.into_iter().skip(from).take(most).collect();
        rows.extend(self.offers(columns, look));
        rows
    }

    fn offers(&self, columns: usize, look: Look) -> Vec<Line> {
        let Some(completion) = &self.completion else {
            return Vec::new();
        };
        let names = completion.items.iter().map(|item| width(&item.text));
        let column = match completion.kind {
            Kind::Command => names.max().unwrap_or(0) + 2,
            Kind::File => 0,
        };
        let mark = look.pick("› ", "> ");
        let line = |(index, item): (usize, &super::complete::Item)| {
            let chosen = index == completion.selected;
            let (mark, style) = match chosen {
                true => (mark, Style::from(Role::Accent).bold()),
                false => ("  ", Style::default()),
            };
            let name = super::super::text::clean(&item.text);
            let name = super::super::text::shorten_front(
                &name,
                columns.saturating_sub(4),
                look.pick("…", "~"),
            );
            let gap = " ".repeat(column.saturating_sub(width(&name)));
            let room = columns.saturating_sub(2 + width(&name) + gap.len());
            let about = shorten(&item.about, room, look.pick("…", "~"));
            Line::of(mark, style)
                .with(name, style)
                .with(format!("{gap}{about}"), Role::Faint)
        };
        completion.items.iter().enumerate().map(line).collect()
    }
}

fn push(rows: &mut [Line], text: &str, style: Style) {
    if let Some(row) = rows.last_mut() {
        row.push(Span::new(text, style));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::input::Key;
    use super::*;

    fn shown(editor: &Editor, columns: usize, most: usize) -> String {
        let look = Look::of(|name| (name == "LANG").then(|| "C.UTF-8".to_owned()), false);
        let rows = editor.rows(columns, most, look);
        let row = |line: &Line| -> String {
            assert!(line.width() <= columns, "{line:?}");
            let mark = |span: &Span| match span.style.reverse {
                true => format!("⟦{}⟧", span.text),
                false => span.text.clone(),
            };
            line.spans.iter().map(mark).collect()
        };
        rows.iter().map(row).collect::<Vec<_>>().join("\n")
    }

    fn editor(text: &str) -> Editor {
        let mut editor = Editor::default();
        text.chars().for_each(|c| {
            editor.press(match c {
                '\n' => Key::Newline,
                c => Key::Char(c),
            });
        });
        editor
    }

    #[test]
    fn rows_and_cursor() {
        assert_eq!(shown(&editor(""), 20, 5), "❯ ⟦ ⟧");
        assert_eq!(shown(&editor("one\ntwo"), 20, 5), "❯ one\n  two⟦ ⟧");
        assert_eq!(shown(&editor("abcdefgh"), 8, 5), "❯ abcde\n  fgh⟦ ⟧");
        assert_eq!(shown(&editor("日本語日本"), 9, 5), "❯ 日本語\n  日本⟦ ⟧");
        let mut middle = editor("one\ntwo");
        middle.press(Key::Up);
        assert_eq!(shown(&middle, 20, 5), "❯ one⟦ ⟧\n  two");
        assert_eq!(shown(&editor("1\n2\n3\n4"), 20, 2), "  3\n  4⟦ ⟧");
    }

    #[test]
    fn commands_and_their_arguments() {
        assert_eq!(
            shown(&editor("/hand"), 40, 5),
            "❯ /hand⟦ ⟧\n› /handoff  go on in a new session with…"
        );
        assert_eq!(
            shown(&editor("/handoff "), 40, 5),
            "❯ /handoff ⟦ ⟧[focus instructions]"
        );
    }
}
