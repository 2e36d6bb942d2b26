//! Lines of styled text, and how they are broken to fit a width.

use unicode_width::UnicodeWidthChar;

use super::look::{Glyphs, Look, Role, Style};
use super::text::{clusters, width};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub text: String,
    pub style: Style,
}

/// One line of the screen, or of the scrollback.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub spans: Vec<Span>,
}

impl Span {
    /// The text must have been cleaned if it is not our own.
    pub fn new(text: impl Into<String>, style: impl Into<Style>) -> Self {
        Self {
            text: text.into(),
            style: style.into(),
        }
    }
}

impl Line {
    pub fn blank() -> Self {
        Self::default()
    }

    pub fn of(text: impl Into<String>, style: impl Into<Style>) -> Self {
        Self {
            spans: vec![Span::new(text, style)],
        }
    }

    pub fn with(mut self, text: impl Into<String>, style: impl Into<Style>) -> Self {
        self.push(Span::new(text, style));
        self
    }

    pub fn push(&mut self, span: Span) {
        match self.spans.last_mut() {
            Some(last) if last.style == span.style => last.text.push_str(&span.text),
            _ if span.text.is_empty() => {}
            Some(_) | None => self.spans.push(span),
        }
    }

    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| width(&span.text)).sum()
    }

    #[cfg(test)]
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Its beginning, so far as it fits.
    pub fn fit(&self, columns: usize) -> Self {
        let mut line = Self::blank();
        let mut left = columns;
        for span in &self.spans {
            let wide = width(&span.text);
            if wide > left {
                line.push(Span::new(super::text::fit(&span.text, left), span.style));
                break;
            }
            left -= wide;
            line.push(span.clone());
        }
        line
    }

    /// Something before it; nothing of it is broken again.
    pub fn after(self, prefix: &[Span]) -> Self {
        let mut line = Line {
            spans: prefix.to_vec(),
        };
        for span in self.spans {
            line.push(span);
        }
        line
    }

    /// As bytes for a terminal. The last door: what is a control character here is left out,
    /// wherever it came from.
    pub fn encode(&self, look: Look) -> String {
        let mut out = String::new();
        for span in &self.spans {
            let begin = look.sgr(span.style);
            out.push_str(&begin);
            let shown = span.text.chars().filter(|c| !c.is_control());
            match look.glyphs {
                Glyphs::Unicode => out.extend(shown),
                Glyphs::Ascii => shown.for_each(|c| ascii(c, &mut out)),
            }
            if !begin.is_empty() {
                out.push_str("\x1b[0m");
            }
        }
        out
    }
}

/// What stands for a character where there is only ASCII: as wide as it.
fn ascii(c: char, out: &mut String) {
    match c {
        c if c.is_ascii() => out.push(c),
        '‘' | '’' | '′' => out.push('\''),
        '“' | '”' | '″' => out.push('"'),
        '–' | '—' | '‐' | '‑' | '−' => out.push('-'),
        '…' => out.push('~'),
        '•' | '·' | '●' | '✓' | '✔' => out.push('*'),
        '→' => out.push('>'),
        '←' => out.push('<'),
        '\u{a0}' => out.push(' '),
        c => out.extend(std::iter::repeat_n('?', c.width().unwrap_or(0))),
    }
}

/// Breaks a line at spaces, and inside a word only if it is longer than a line. Every line begins
/// with its prefix, which belongs to the width.
pub(crate) fn wrap(line: &Line, columns: usize, first: &[Span], rest: &[Span]) -> Vec<Line> {
    let mut out = Vec::new();
    let mut now = Breaker::new(columns, first);
    for span in &line.spans {
        for (word, is_space) in words(&span.text) {
            let wide = width(word);
            if is_space {
                now.space(word, wide, span.style);
                continue;
            }
            // A word may have begun in an earlier span: it goes to the next line whole.
            if now.used + now.gap + now.word + wide > columns && now.used > now.prefix {
                out.push(now.next(rest));
            }
            if now.used + now.gap + now.word + wide > columns {
                now.settle();
                for (cluster, wide) in clusters(word) {
                    if now.used + wide > columns && now.used > now.prefix {
                        out.push(now.next(rest));
                    }
                    now.add(cluster, wide, span.style);
                }
            } else {
                now.hold(word, wide, span.style);
            }
        }
    }
    now.settle();
    out.push(now.line);
    out
}

/// The same for text whose spaces matter: broken only at the edge.
pub(crate) fn wrap_hard(line: &Line, columns: usize, first: &[Span], rest: &[Span]) -> Vec<Line> {
    let mut out = Vec::new();
    let mut now = Breaker::new(columns, first);
    for span in &line.spans {
        for (cluster, wide) in clusters(&span.text) {
            if now.used + wide > columns && now.used > now.prefix {
                out.push(now.next(rest));
            }
            now.add(cluster, wide, span.style);
        }
    }
    out.push(now.line);
    out
}

struct Breaker {
    columns: usize,
    line: Line,
    used: usize,
    /// How much of `used` is the prefix.
    prefix: usize,
    /// Spaces that are written only if a word follows on the same line.
    gap: usize,
    gap_style: Style,
    /// The word that is not over yet.
    held: Vec<Span>,
    word: usize,
}

impl Breaker {
    fn new(columns: usize, prefix: &[Span]) -> Self {
        let line = Line {
            spans: prefix.to_vec(),
        };
        let used = line.width();
        Self {
            columns,
            line,
            used,
            prefix: used,
            gap: 0,
            gap_style: Style::default(),
            held: Vec::new(),
            word: 0,
        }
    }

    fn add(&mut self, text: &str, wide: usize, style: Style) {
        self.line.push(Span::new(text, style));
        self.used += wide;
    }

    fn hold(&mut self, word: &str, wide: usize, style: Style) {
        self.held.push(Span::new(word, style));
        self.word += wide;
    }

    fn space(&mut self, space: &str, wide: usize, style: Style) {
        self.settle();
        // At the beginning of a line there is nothing to hold apart.
        if self.used > self.prefix {
            self.gap += wide;
            self.gap_style = style;
            debug_assert!(space.trim().is_empty());
        }
    }

    /// The word is over, and is part of this line.
    fn settle(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let gap = " ".repeat(std::mem::take(&mut self.gap));
        let wide = gap.len();
        self.add(&gap, wide, self.gap_style);
        for span in std::mem::take(&mut self.held) {
            self.line.push(span);
        }
        self.used += std::mem::take(&mut self.word);
    }

    /// Ends the line; a word under way goes on in the next one.
    fn next(&mut self, prefix: &[Span]) -> Line {
        let mut fresh = Self::new(self.columns, prefix);
        fresh.held = std::mem::take(&mut self.held);
        fresh.word = self.word;
        std::mem::replace(self, fresh).line
    }
}

/// Runs of spaces and of everything else.
fn words(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_space = rest.chars().next()? == ' ';
        let end = rest.find(|c| (c == ' ') != is_space).unwrap_or(rest.len());
        let (run, left) = rest.split_at(end);
        rest = left;
        Some((run, is_space))
    })
}

/// Indentation of so many columns.
pub(crate) fn indent(columns: usize) -> Vec<Span> {
    vec![Span::new(" ".repeat(columns), Role::Text)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(lines: &[Line]) -> Vec<String> {
        lines.iter().map(Line::text).collect()
    }

    #[test]
    fn breaking_at_words() {
        for (text, columns, expected) in [
            ("one two three", 7, vec!["one two", "three"]),
            ("one two three", 3, vec!["one", "two", "thr", "ee"]),
            ("a  b", 10, vec!["a  b"]),
            ("abc   def", 4, vec!["abc", "def"]),
            ("日本語日本語", 5, vec!["日本", "語日", "本語"]),
            ("x abcdefgh", 4, vec!["x", "abcd", "efgh"]),
            ("", 4, vec![""]),
        ] {
            let line = Line::of(text, Role::Text);
            assert_eq!(texts(&wrap(&line, columns, &[], &[])), expected, "{text}");
        }
        let line = Line::of("one two", Role::Text);
        let marked = wrap(&line, 5, &[Span::new("- ", Role::Faint)], &indent(2));
        assert_eq!(texts(&marked), ["- one", "  two"]);
    }

    #[test]
    fn a_word_of_two_styles_stays_whole() {
        let line = Line::of("see ", Role::Text)
            .with("foo", Role::Code)
            .with("s.", Role::Text);
        assert_eq!(texts(&wrap(&line, 8, &[], &[])), ["see", "foos."]);
    }

    #[test]
    fn the_last_door_lets_no_control_through() {
        let look = Look::of(|_| None, false);
        let line = Line::of("a\x1b[2J\u{9b}b\nc", Role::Text);
        assert_eq!(line.encode(look), "a[2Jbc");
    }

    proptest! {
        #[test]
        fn lines_fit_and_words_stay(parts in prop::collection::vec(("[a-d 日本]{0,12}", 0_u8..3), 0..6), columns in 2_usize..20) {
            let mut line = Line::blank();
            for (text, style) in &parts {
                let role = [Role::Text, Role::Code, Role::Link][usize::from(*style)];
                line.push(Span::new(text.clone(), role));
            }
            for broken in [wrap(&line, columns, &[], &[]), wrap_hard(&line, columns, &[], &[])] {
                for one in &broken {
                    prop_assert!(one.width() <= columns, "{one:?}");
                }
                let squeeze = |text: String| text.replace(' ', "");
                let all: String = broken.iter().map(Line::text).collect();
                prop_assert_eq!(squeeze(all), squeeze(line.text()));
            }
        }
    }
}
