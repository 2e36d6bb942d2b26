//! How it looks: styles and signs. Only the 16 colours that every terminal has, by their names, and
//! everything that a colour says is said by a word as well.

use ratatui::style::{Color as Ansi, Modifier, Style};

use crate::text::{Color, Look, Signs, Tone, one_line, width};

pub fn style(look: &Look, tone: Tone) -> Style {
    let plain = Style::new();
    match (look.color, tone) {
        (_, Tone::Plain) => plain,
        (_, Tone::Bold) => plain.add_modifier(Modifier::BOLD),
        (Color::Off, Tone::Dim | Tone::Good | Tone::Busy) => plain,
        (Color::Off, Tone::Warn | Tone::Bad) => plain.add_modifier(Modifier::BOLD),
        (Color::On, Tone::Dim) => plain.add_modifier(Modifier::DIM),
        (Color::On, Tone::Good) => plain.fg(Ansi::Green),
        (Color::On, Tone::Busy) => plain.fg(Ansi::Cyan),
        (Color::On, Tone::Warn) => plain.fg(Ansi::Yellow),
        (Color::On, Tone::Bad) => plain.fg(Ansi::Red).add_modifier(Modifier::BOLD),
    }
}

/// What is chosen.
pub fn chosen() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

/// The signs of our own.
pub struct Glyphs {
    pub bar: &'static str,
    pub rule: &'static str,
    pub step: &'static str,
    pub cut: &'static str,
    pub mark: &'static str,
    pub updown: &'static str,
}

pub fn glyphs(look: &Look) -> Glyphs {
    match look.signs {
        Signs::Unicode => Glyphs {
            bar: "│",
            rule: "─",
            step: " → ",
            cut: "…",
            mark: "▸",
            updown: "↑↓",
        },
        Signs::Ascii => Glyphs {
            bar: "|",
            rule: "-",
            step: " > ",
            cut: "~",
            mark: ">",
            updown: "up/down",
        },
    }
}

/// Somebody's text as one line that this terminal can show.
pub fn plain(look: &Look, text: &str) -> String {
    let text = one_line(text);
    match look.signs {
        Signs::Unicode => text,
        Signs::Ascii => text.chars().map(ascii).collect(),
    }
}

fn ascii(c: char) -> char {
    match c {
        c if c.is_ascii() => c,
        '…' => '~',
        '→' => '>',
        '—' | '–' => '-',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        _ => '?',
    }
}

/// The beginning that fits, with a sign if something is missing.
pub fn cut(look: &Look, text: &str, columns: usize) -> String {
    use unicode_width::UnicodeWidthChar;
    let text = plain(look, text);
    if width(&text) <= columns {
        return text;
    }
    let mut used = 0;
    let mut out: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used < columns
        })
        .collect();
    if columns > 0 {
        out.push_str(glyphs(look).cut);
    }
    out
}

/// Exactly so many columns.
pub fn fit(look: &Look, text: &str, columns: usize) -> String {
    let mut text = cut(look, text, columns);
    let missing = columns.saturating_sub(width(&text));
    text.extend(std::iter::repeat_n(' ', missing));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::look;

    #[test]
    fn a_text_has_the_columns_that_it_is_given() {
        let unicode = look();
        let ascii = Look {
            signs: Signs::Ascii,
            ..look()
        };
        for text in [
            "",
            "abc",
            "日本語日本語",
            "e\u{301}e\u{301}x",
            "a\x1b[2Jb\nc",
            "→…é",
        ] {
            for columns in 0..20 {
                for look in [&unicode, &ascii] {
                    let shown = fit(look, text, columns);
                    assert_eq!(width(&shown), columns, "{text:?} in {columns}: {shown:?}");
                    assert!(!shown.contains(char::is_control));
                    assert!(look.signs == Signs::Unicode || shown.is_ascii());
                }
            }
        }
    }

    #[test]
    fn without_colour_there_is_none() {
        let look = look();
        for tone in [
            Tone::Plain,
            Tone::Bold,
            Tone::Dim,
            Tone::Good,
            Tone::Busy,
            Tone::Warn,
            Tone::Bad,
        ] {
            assert_eq!(style(&look, tone).fg, None);
        }
    }
}
