//! Emphasis, code, links inside of one line of Markdown.
//!
//! What is not closed is shown as it was written: while a reply streams that is the rule, not the
//! exception. Each kind of mark is searched for at most once in vain, so a line costs what its
//! length is.

use super::super::line::{Line, Span};
use super::super::look::{Role, Style};

/// Marks inside of marks, up to here.
const DEEPEST: usize = 6;

const MARKS: [&str; 6] = ["***", "**", "__", "~~", "*", "_"];

pub(crate) fn inline(text: &str, style: Style) -> Line {
    let mut line = Line::blank();
    Parser::default().parse(text, style, 0, &mut line);
    line
}

#[derive(Default)]
struct Parser {
    /// Offsets from the end of the outermost text would be exact; knowing that a search failed at
    /// this depth is enough.
    vain: [bool; MARKS.len()],
    vain_code: usize,
}

impl Parser {
    fn parse(&mut self, text: &str, style: Style, depth: usize, line: &mut Line) {
        let mut plain = 0;
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let before = text.get(..at).and_then(|s| s.chars().next_back());
            let found = match depth < DEEPEST {
                true => self.special(rest, before, style, depth),
                false => None,
            };
            match found {
                Some((length, pieces)) => {
                    line.push(Span::new(text.get(plain..at).unwrap_or_default(), style));
                    for span in pieces.spans {
                        line.push(span);
                    }
                    at += length;
                    plain = at;
                }
                None => at += rest.chars().next().map_or(1, char::len_utf8),
            }
        }
        line.push(Span::new(text.get(plain..).unwrap_or_default(), style));
    }

    /// Something that is more than text begins here: how long it is and what it shows.
    fn special(
        &mut self,
        rest: &str,
        before: Option<char>,
        style: Style,
        depth: usize,
    ) -> Option<(usize, Line)> {
        match rest.as_bytes().first()? {
            b'\\' => {
                let next = rest.chars().nth(1).filter(char::is_ascii_punctuation)?;
                Some((2, Line::of(next, style)))
            }
            b'`' => self.code(rest, style),
            b'*' | b'_' | b'~' => self.marked(rest, before, style, depth),
            b'[' => self.link(rest, style, depth),
            b'!' if rest.starts_with("![") => {
                let (length, line) = self.link(rest.get(1..)?, style, depth)?;
                Some((length + 1, line))
            }
            b'h' if !before.is_some_and(char::is_alphanumeric) => address(rest, style),
            b'<' => {
                let (length, line) = address(rest.get(1..)?, style)?;
                rest.get(1 + length..)?
                    .starts_with('>')
                    .then_some((length + 2, line))
            }
            b'&' => entity(rest, style),
            _ => None,
        }
    }

    fn code(&mut self, rest: &str, style: Style) -> Option<(usize, Line)> {
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        if self.vain_code == ticks {
            return None;
        }
        let fence = rest.get(..ticks)?;
        let body = rest.get(ticks..)?;
        let mut from = 0;
        loop {
            let Some(found) = body.get(from..)?.find(fence) else {
                self.vain_code = ticks;
                return None;
            };
            let at = from + found;
            let run = body.get(at..)?;
            let length = run.len() - run.trim_start_matches('`').len();
            if length == ticks {
                let code = body.get(..at)?;
                let inner = code
                    .strip_prefix(' ')
                    .and_then(|code| code.strip_suffix(' '))
                    .filter(|code| !code.trim().is_empty())
                    .unwrap_or(code);
                let style = Style {
                    role: Role::Code,
                    ..style
                };
                return Some((ticks * 2 + at, Line::of(inner, style)));
            }
            from = at + length;
        }
    }

    fn marked(
        &mut self,
        rest: &str,
        before: Option<char>,
        style: Style,
        depth: usize,
    ) -> Option<(usize, Line)> {
        let (kind, mark) = MARKS
            .iter()
            .enumerate()
            .find(|(_, m)| rest.starts_with(**m))?;
        let body = rest.get(mark.len()..)?;
        let begins = body.chars().next().is_some_and(|c| !c.is_whitespace());
        let inside_word = mark.starts_with('_') && before.is_some_and(char::is_alphanumeric);
        if !begins || inside_word || self.vain.get(kind).copied().unwrap_or(true) {
            return None;
        }
        let Some(end) = closing(body, mark) else {
            if let Some(vain) = self.vain.get_mut(kind) {
                *vain = true;
            }
            return None;
        };
        let style = match *mark {
            "***" => style.bold().italic(),
            "**" | "__" => style.bold(),
            "~~" => Style {
                strike: true,
                ..style
            },
            _ => style.italic(),
        };
        let mut line = Line::blank();
        Parser::default().parse(body.get(..end)?, style, depth + 1, &mut line);
        Some((mark.len() * 2 + end, line))
    }

    fn link(&mut self, rest: &str, style: Style, depth: usize) -> Option<(usize, Line)> {
        const LONGEST: usize = 2_000;
        let end = (0..=LONGEST.min(rest.len())).rfind(|at| rest.is_char_boundary(*at));
        let near = rest.get(..end?)?;
        let middle = near.find("](")?;
        let target = near.get(middle + 2..)?;
        let close = target.find(')')?;
        let end = target.get(..close)?.find(' ').unwrap_or(close);
        let label = near.get(1..middle)?;
        if label.contains('[') && !label.contains(']') {
            return None;
        }
        let address = target.get(..end)?;
        let link = Style {
            role: Role::Link,
            underline: true,
            ..style
        };
        let mut line = Line::blank();
        Parser::default().parse(label, link, depth + 1, &mut line);
        if !address.is_empty() && address != label && !address.starts_with('#') {
            line.push(Span::new(format!(" ({address})"), Role::Faint));
        }
        Some((middle + 2 + close + 1, line))
    }
}

/// Where the mark is closed: not after a space, not inside of code, and for `_` not in a word.
fn closing(body: &str, mark: &str) -> Option<usize> {
    let mut code = false;
    let mut before = ' ';
    let mut skip_to = 0;
    for (at, c) in body.char_indices() {
        if at < skip_to {
            continue;
        }
        let here = body.get(at..)?;
        if c == '`' {
            code = !code;
        } else if c == '\\' {
            skip_to = at + 2;
        } else if !code && here.starts_with(mark) && !before.is_whitespace() && at > 0 {
            let after = here.get(mark.len()..)?.chars().next();
            let first = mark.chars().next();
            let longer = after.is_some() && after == first;
            let in_word = mark.starts_with('_') && after.is_some_and(char::is_alphanumeric);
            if !longer && !in_word {
                return Some(at);
            }
            // A longer run belongs to another mark.
            let run = here.len() - here.trim_start_matches(|c| Some(c) == first).len();
            if longer && run != mark.len() {
                skip_to = at + run;
                if run > mark.len() && mark.len() == 2 && run == 3 {
                    return Some(at + 1);
                }
            }
        }
        before = c;
    }
    None
}

fn address(rest: &str, style: Style) -> Option<(usize, Line)> {
    if !rest.starts_with("https://") && !rest.starts_with("http://") {
        return None;
    }
    let end = rest
        .find(|c: char| c.is_whitespace() || "<>\"`|".contains(c))
        .unwrap_or(rest.len());
    let address = rest
        .get(..end)?
        .trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '*', '\'']);
    let style = Style {
        role: Role::Link,
        underline: true,
        ..style
    };
    Some((address.len(), Line::of(address, style)))
}

fn entity(rest: &str, style: Style) -> Option<(usize, Line)> {
    let (name, shown) = [
        ("&amp;", "&"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
    ]
    .into_iter()
    .find(|(name, _)| rest.starts_with(name))?;
    Some((name.len(), Line::of(shown, style)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(text: &str) -> String {
        let mark = |span: &Span| {
            let style = span.style;
            let mut name = String::new();
            for (on, letter) in [(style.bold, 'b'), (style.italic, 'i'), (style.strike, 's')] {
                name.extend(on.then_some(letter));
            }
            match style.role {
                Role::Code => name.push('c'),
                Role::Link => name.push('l'),
                Role::Faint => name.push('f'),
                _ => {}
            }
            match name.is_empty() {
                true => span.text.clone(),
                false => format!("{name}⟨{}⟩", span.text),
            }
        };
        inline(text, Style::default())
            .spans
            .iter()
            .map(mark)
            .collect()
    }

    #[test]
    fn marks() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a **b** c", "a b⟨b⟩ c"),
            ("*i* and _j_", "i⟨i⟩ and i⟨j⟩"),
            ("**a *b* c**", "b⟨a ⟩bi⟨b⟩b⟨ c⟩"),
            ("***x***", "bi⟨x⟩"),
            ("~~gone~~", "s⟨gone⟩"),
            ("`a*b*`", "c⟨a*b*⟩"),
            ("``a`b``", "c⟨a`b⟩"),
            ("snake_case_name", "snake_case_name"),
            ("2 * 3 * 4", "2 * 3 * 4"),
            ("**open", "**open"),
            ("`open", "`open"),
            ("\\*not\\*", "*not*"),
            ("[text](http://x.y/z)", "l⟨text⟩f⟨ (http://x.y/z)⟩"),
            ("[`f`](src/f.rs)", "c⟨f⟩f⟨ (src/f.rs)⟩"),
            ("see https://a.b/c.", "see l⟨https://a.b/c⟩."),
            ("<https://a.b>", "l⟨https://a.b⟩"),
            ("a[0](x", "a[0](x"),
            ("&lt;b&gt; & c", "<b> & c"),
            ("**`x`:** y", "bc⟨x⟩b⟨:⟩ y"),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn open_marks_take_no_longer() {
        for mark in ["*a ", "**a ", "`a ", "[a ", "_a _", "[a]("] {
            let text = mark.repeat(20_000);
            assert!(!inline(&text, Style::default()).text().is_empty());
        }
    }

    proptest! {
        #[test]
        fn letters_are_never_lost(text in "[ab *_`~\\[\\]()<>&\\\\h日!-]{0,60}") {
            let letters = |s: &str| s.chars().filter(|c| c.is_alphabetic()).count();
            let shown = inline(&text, Style::default()).text();
            prop_assert!(letters(&shown) <= letters(&text));
            // Only an address that is its own text is left out.
            if !text.contains("](") {
                prop_assert_eq!(letters(&shown), letters(&text));
            }
        }
    }
}
