//! Markdown that is still being written, as styled lines.
//!
//! A line of the source is a line of the screen (wrapped if it is too long): it is finished as soon
//! as its end has come, and is never looked at again. Only a table waits for its last row, since
//! its columns depend on all of them. So a delta costs what is new in it, however long the reply
//! already is.

mod inline;
mod table;

pub(crate) use inline::inline;

use super::highlight::Lexer;
use super::line::{Line, Span, indent, wrap, wrap_hard};
use super::look::{Look, Role, Style};
use super::text::{clean, width};

/// Of a line that has no end yet, so much is looked at to show it.
const LONGEST_TAIL: usize = 8 << 10;
/// A table with more rows than this is shown in pieces.
const MOST_ROWS: usize = 200;
/// Nobody indents deeper on purpose.
const DEEPEST: usize = 24;

#[derive(Debug, Default)]
pub(crate) struct Markdown {
    /// The line that has no end yet.
    partial: String,
    blocks: Blocks,
    done: Vec<Piece>,
}

#[derive(Debug, Clone, Default)]
struct Blocks {
    fence: Option<Fence>,
    table: Vec<String>,
    /// Something was shown, and no blank line after it.
    text_before: bool,
    blank_before: bool,
}

#[derive(Debug, Clone)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    lexer: Lexer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Blank,
    Rule,
    /// With what stands before its first line and before the others.
    Text {
        first: Vec<Span>,
        rest: Vec<Span>,
        line: Line,
    },
    Item {
        depth: usize,
        marker: Marker,
        line: Line,
    },
    Quote {
        line: Line,
    },
    Code {
        line: Line,
    },
    Table(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Marker {
    Bullet,
    Number(String),
    Open,
    Ticked,
}

impl Markdown {
    pub fn push(&mut self, delta: &str) {
        self.partial.push_str(delta);
        while let Some(end) = self.partial.find('\n') {
            let line: String = self.partial.drain(..=end).collect();
            self.blocks
                .line(line.trim_end_matches(['\n', '\r']), &mut self.done);
        }
    }

    /// Nothing more comes.
    pub fn end(&mut self) {
        if !self.partial.is_empty() {
            let line = std::mem::take(&mut self.partial);
            self.blocks
                .line(line.trim_end_matches('\r'), &mut self.done);
        }
        self.blocks.end_table(&mut self.done);
    }

    /// The lines that are finished since this was last asked.
    pub fn take(&mut self, columns: usize, look: Look) -> Vec<Line> {
        render(&std::mem::take(&mut self.done), columns, look)
    }

    /// What is not finished, as it would look if nothing more came.
    pub fn tail(&self, columns: usize, look: Look) -> Vec<Line> {
        let mut blocks = self.blocks.clone();
        let mut pieces = Vec::new();
        if !self.partial.is_empty() {
            let mut from = self.partial.len().saturating_sub(LONGEST_TAIL);
            while !self.partial.is_char_boundary(from) {
                from += 1;
            }
            blocks.line(self.partial.get(from..).unwrap_or_default(), &mut pieces);
        }
        blocks.end_table(&mut pieces);
        render(&pieces, columns, look)
    }
}

/// A whole text.
pub(crate) fn markdown(text: &str, columns: usize, look: Look) -> Vec<Line> {
    let mut markdown = Markdown::default();
    markdown.push(text);
    markdown.end();
    let mut lines = markdown.take(columns, look);
    while lines.last().is_some_and(|line| line.spans.is_empty()) {
        lines.pop();
    }
    lines
}

impl Blocks {
    /// One line of the source, whole.
    fn line(&mut self, raw: &str, out: &mut Vec<Piece>) {
        if let Some(fence) = &mut self.fence {
            if is_closing(raw, fence) {
                self.fence = None;
                return;
            }
            let spaces = raw.len() - raw.trim_start_matches(' ').len();
            let text = raw.get(spaces.min(fence.indent)..).unwrap_or(raw);
            let line = fence.lexer.line(&clean(text));
            self.shown(Piece::Code { line }, out);
            return;
        }
        if table::is_row(raw) {
            self.table.push(clean(raw));
            if self.table.len() >= MOST_ROWS {
                self.end_table(out);
            }
            return;
        }
        self.end_table(out);
        let text = clean(raw);
        let trimmed = text.trim();
        let depth = (text.len() - text.trim_start_matches(' ').len()).min(DEEPEST);
        if trimmed.is_empty() {
            if self.text_before && !self.blank_before {
                self.blank_before = true;
                out.push(Piece::Blank);
            }
        } else if let Some(fence) = opening(trimmed, depth) {
            self.fence = Some(fence);
        } else {
            let piece = heading(trimmed)
                .or_else(|| is_rule(trimmed).then_some(Piece::Rule))
                .or_else(|| item(trimmed, depth))
                .or_else(|| quote(trimmed))
                .unwrap_or_else(|| Piece::Text {
                    first: indent(depth),
                    rest: indent(depth),
                    line: inline(trimmed, Style::default()),
                });
            self.shown(piece, out);
        }
    }

    fn shown(&mut self, piece: Piece, out: &mut Vec<Piece>) {
        self.text_before = true;
        self.blank_before = false;
        out.push(piece);
    }

    fn end_table(&mut self, out: &mut Vec<Piece>) {
        if !self.table.is_empty() {
            let rows = std::mem::take(&mut self.table);
            self.shown(Piece::Table(rows), out);
        }
    }
}

fn opening(trimmed: &str, indent: usize) -> Option<Fence> {
    let mark = trimmed.chars().next().filter(|c| *c == '`' || *c == '~')?;
    let length = trimmed.len() - trimmed.trim_start_matches(mark).len();
    let info = trimmed.get(length..)?.trim();
    if length < 3 || info.contains('`') {
        return None;
    }
    let name = info.split([' ', ',', '{', ':']).next().unwrap_or_default();
    Some(Fence {
        mark,
        length,
        indent,
        lexer: Lexer::of(name),
    })
}

fn is_closing(raw: &str, fence: &Fence) -> bool {
    let trimmed = raw.trim();
    trimmed.len() >= fence.length && trimmed.chars().all(|c| c == fence.mark)
}

fn heading(trimmed: &str) -> Option<Piece> {
    let level = trimmed.len() - trimmed.trim_start_matches('#').len();
    let text = trimmed.get(level..)?.strip_prefix(' ')?;
    if !(1..=6).contains(&level) {
        return None;
    }
    let style = Style {
        underline: level == 1,
        ..Style::from(Role::Heading).bold()
    };
    let text = text.trim_end_matches('#').trim();
    Some(Piece::Text {
        first: Vec::new(),
        rest: Vec::new(),
        line: inline(text, style),
    })
}

fn is_rule(trimmed: &str) -> bool {
    let mark = trimmed.chars().next().unwrap_or(' ');
    let marks = trimmed.chars().filter(|c| *c == mark).count();
    let only = trimmed.chars().all(|c| c == mark || c == ' ');
    "-*_".contains(mark) && marks >= 3 && only
}

fn item(trimmed: &str, depth: usize) -> Option<Piece> {
    let (marker, text) = if let Some(text) = ["- ", "* ", "+ "]
        .iter()
        .find_map(|bullet| trimmed.strip_prefix(bullet))
    {
        let text = text.trim_start();
        match (text.strip_prefix("[ ] "), text.get(..4)) {
            (Some(text), _) => (Marker::Open, text),
            (None, Some("[x] " | "[X] ")) => (Marker::Ticked, text.get(4..).unwrap_or_default()),
            (None, Some(_) | None) => (Marker::Bullet, text),
        }
    } else {
        let digits = trimmed.len()
            - trimmed
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .len();
        let rest = trimmed.get(digits..)?;
        let text = rest
            .strip_prefix(". ")
            .or_else(|| rest.strip_prefix(") "))?;
        if !(1..=9).contains(&digits) {
            return None;
        }
        let number = trimmed.get(..=digits)?.to_owned();
        (Marker::Number(number), text.trim_start())
    };
    Some(Piece::Item {
        depth,
        marker,
        line: inline(text, Style::default()),
    })
}

fn quote(trimmed: &str) -> Option<Piece> {
    let text = trimmed.strip_prefix('>')?;
    let text = text.trim_start_matches(['>', ' ']);
    Some(Piece::Quote {
        line: inline(text, Style::default().italic()),
    })
}

fn render(pieces: &[Piece], columns: usize, look: Look) -> Vec<Line> {
    let columns = columns.max(10);
    let mut out = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Blank => out.push(Line::blank()),
            Piece::Rule => {
                out.push(Line::of(
                    look.pick("─", "-").repeat(columns.min(40)),
                    Role::Faint,
                ));
            }
            Piece::Text { first, rest, line } => {
                let room = columns / 2;
                let fits =
                    |prefix: &[Span]| prefix.iter().map(|s| width(&s.text)).sum::<usize>() <= room;
                match fits(first) && fits(rest) {
                    true => out.extend(wrap(line, columns, first, rest)),
                    false => out.extend(wrap(line, columns, &[], &[])),
                }
            }
            Piece::Item {
                depth,
                marker,
                line,
            } => {
                let depth = (*depth).min(columns / 3);
                let sign = match marker {
                    Marker::Bullet => look.pick("•", "-").to_owned(),
                    Marker::Number(number) => number.clone(),
                    Marker::Open => look.pick("☐", "[ ]").to_owned(),
                    Marker::Ticked => look.pick("☑", "[x]").to_owned(),
                };
                let under = indent(depth + width(&sign) + 1);
                let first = [
                    Span::new(" ".repeat(depth), Role::Text),
                    Span::new(format!("{sign} "), Role::Accent),
                ];
                out.extend(wrap(line, columns, &first, &under));
            }
            Piece::Quote { line } => {
                let bar = [Span::new(look.pick("│ ", "| "), Role::Faint)];
                out.extend(wrap(line, columns, &bar, &bar));
            }
            Piece::Code { line } => {
                out.extend(wrap_hard(line, columns, &indent(2), &indent(2)));
            }
            Piece::Table(rows) => out.extend(table::table(rows, columns, look)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn look() -> Look {
        Look::of(|name| (name == "LANG").then(|| "C.UTF-8".to_owned()), false)
    }

    fn shown(text: &str, columns: usize) -> String {
        let lines = markdown(text, columns, look());
        lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn blocks() {
        for (text, expected) in [
            ("# Title\n\n\n\ntext", "Title\n\ntext"),
            (
                "- one two three four\n  - deep\n1. num",
                "• one two three\n  four\n  • deep\n1. num",
            ),
            ("- [ ] open\n- [x] done", "☐ open\n☑ done"),
            ("> quoted words that go on", "│ quoted words\n│ that go on"),
            (
                "```rust\nfn main() {\n    x\n}\n```\nend",
                "  fn main() {\n      x\n  }\nend",
            ),
            ("~~~\n```\n~~~", "  ```"),
            ("  ```\n  a\n    b\n  ```", "  a\n    b"),
            (
                "```\nlong line of code here!",
                "  long line of cod\n  e here!",
            ),
            ("---", "──────────────────"),
            ("| a | b |\n|---|--:|\n| x | 10 |", "a │  b\n──┼───\nx │ 10"),
            (
                "| a |\n|---|\n| one two three four five |",
                "a\n──────────────────\none two three four\nfive",
            ),
            ("1986. A great year", "1986. A great year"),
            ("a\x1b[2Jb", "ab"),
            ("", ""),
        ] {
            assert_eq!(shown(text, 18), expected, "{text}");
        }
    }

    #[test]
    fn a_table_too_wide_becomes_a_list() {
        let text = "| one | two | three |\n|---|---|---|\n| aaaaaaaaa | bbbbbbbbb | ccccccccc |";
        assert_eq!(
            shown(text, 14),
            "one: aaaaaaaaa\ntwo: bbbbbbbbb\nthree:\n  ccccccccc"
        );
    }

    #[test]
    fn a_line_is_finished_when_its_end_has_come() {
        let mut markdown = Markdown::default();
        markdown.push("**one");
        assert!(markdown.take(20, look()).is_empty());
        assert_eq!(markdown.tail(20, look())[0].text(), "**one");
        markdown.push("**\ntw");
        assert_eq!(markdown.take(20, look())[0].text(), "one");
        assert_eq!(markdown.tail(20, look())[0].text(), "tw");
        markdown.push("o\n| a |\n");
        assert_eq!(markdown.take(20, look()).len(), 1);
        assert_eq!(markdown.tail(20, look())[0].text(), "a");
        markdown.end();
        assert_eq!(markdown.take(20, look())[0].text(), "a");
        assert!(markdown.tail(20, look()).is_empty());
    }

    fn source() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("```rust\n".to_owned()),
            Just("```\n".to_owned()),
            Just("| a | b |\n".to_owned()),
            Just("|--|:-|\n".to_owned()),
            Just("# ".to_owned()),
            Just("  - ".to_owned()),
            Just("12. ".to_owned()),
            Just("> ".to_owned()),
            Just("\n\n".to_owned()),
            Just("\x1b[31m\u{9b}\t\r".to_owned()),
            "[a-z*_`|日é👩\u{200d} \n]{0,30}",
        ];
        prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn pieces_give_what_the_whole_gives(text in source(), cuts in prop::collection::vec(0_usize..400, 0..8), columns in 10_usize..60) {
            let mut whole = Markdown::default();
            whole.push(&text);
            whole.end();
            let expected = whole.take(columns, look());
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|at| text.is_char_boundary(*at)).collect();
            cuts.sort_unstable();
            let mut markdown = Markdown::default();
            let mut found = Vec::new();
            let mut from = 0;
            for at in cuts {
                if let Some(piece) = text.get(from..at) {
                    markdown.push(piece);
                    from = at;
                }
                found.extend(markdown.take(columns, look()));
                for line in markdown.tail(columns, look()) {
                    prop_assert!(line.width() <= columns, "{line:?}");
                }
            }
            markdown.push(text.get(from..).unwrap_or_default());
            markdown.end();
            found.extend(markdown.take(columns, look()));
            prop_assert_eq!(&found, &expected);
            for line in &found {
                prop_assert!(line.width() <= columns, "{line:?}");
                prop_assert!(!line.text().contains(char::is_control));
            }
        }
    }
}
