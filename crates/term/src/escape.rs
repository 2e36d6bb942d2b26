//! Escape sequences and control characters taken out of a text, without a terminal.

/// The text without escape sequences and control characters; line breaks and tabs stay.
///
/// A sequence that never ends loses only its control character: what follows stays visible.
pub fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = Plain::new(text);
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.rest.starts_with('\n') => {}
            '\r' | '\n' | '\u{0b}' | '\u{0c}' | '\u{85}' => out.push('\n'),
            '\t' => out.push('\t'),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// One line that can be shown in a person's terminal, whoever wrote it: no escape sequences, no
/// control characters, nothing that turns the direction of the text around or cannot be seen. Line
/// breaks and tabs become spaces.
pub fn sanitize_for_display(text: &str) -> String {
    Plain::new(text)
        .filter_map(|c| match c {
            '\n' | '\r' | '\t' | '\u{0b}' | '\u{0c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                Some(' ')
            }
            c if c.is_control() || is_deceptive(c) => None,
            c => Some(c),
        })
        .collect()
}

/// Changes how other characters are shown, or shows nothing itself. Joiners (U+200C, U+200D) and
/// variation selectors stay: scripts and emoji need them.
fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' // marks of direction, zero width space
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // embeddings, overrides, isolates
        | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' // invisible operators, deprecated
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' // byte order mark, annotations
        | '\u{e0000}'..='\u{e007f}' // tags
    )
}

/// The characters outside of complete escape sequences.
struct Plain<'a> {
    rest: &'a str,
    /// No string sequence ends from here on: not searched for again, which would be quadratic.
    no_string_end: bool,
}

impl<'a> Plain<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            no_string_end: false,
        }
    }

    /// How many bytes after the introducer belong to its sequence.
    fn sequence(&mut self, introducer: char) -> usize {
        match introducer {
            '\u{1b}' => match self.rest.chars().next() {
                Some('[') => csi(self.rest.get(1..).unwrap_or_default()).map_or(0, |n| n + 1),
                Some(']' | 'P' | 'X' | '^' | '_') => {
                    let body = self.rest.get(1..).unwrap_or_default();
                    self.string(body).map_or(0, |n| n + 1)
                }
                Some(_) => simple(self.rest).unwrap_or(0),
                None => 0,
            },
            '\u{9b}' => csi(self.rest).unwrap_or(0),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.string(self.rest).unwrap_or(0),
            _ => 0,
        }
    }

    /// Up to BEL or ST, or to whatever cancels the string.
    fn string(&mut self, body: &str) -> Option<usize> {
        if self.no_string_end {
            return None;
        }
        let ends = ['\u{07}', '\u{1b}', '\u{9c}', '\u{18}', '\u{1a}'];
        let Some((at, end)) = body.char_indices().find(|(_, c)| ends.contains(c)) else {
            self.no_string_end = true;
            return None;
        };
        let after = body.get(at..).unwrap_or_default();
        Some(match end {
            '\u{1b}' if after.starts_with("\u{1b}\\") => at + 2,
            '\u{1b}' => at, // begins the next sequence
            end => at + end.len_utf8(),
        })
    }
}

impl Iterator for Plain<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        loop {
            let c = self.rest.chars().next()?;
            self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
            let skipped = self.sequence(c);
            if skipped == 0 {
                return Some(c);
            }
            self.rest = self.rest.get(skipped..).unwrap_or_default();
        }
    }
}

/// Parameters, intermediates, a final byte. All ASCII, so bytes are characters.
fn csi(body: &str) -> Option<usize> {
    let bytes = body.as_bytes();
    let parameters = count(bytes, 0x30..=0x3f);
    let intermediates = count(bytes.get(parameters..)?, 0x20..=0x2f);
    let at = parameters + intermediates;
    (0x40..=0x7e).contains(bytes.get(at)?).then_some(at + 1)
}

/// Intermediates and a final byte.
fn simple(body: &str) -> Option<usize> {
    let bytes = body.as_bytes();
    let at = count(bytes, 0x20..=0x2f);
    (0x30..=0x7e).contains(bytes.get(at)?).then_some(at + 1)
}

fn count(bytes: &[u8], range: std::ops::RangeInclusive<u8>) -> usize {
    bytes.iter().take_while(|b| range.contains(b)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripping() {
        for (text, expected) in [
            ("plain", "plain"),
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("\u{9b}31mred", "red"),
            ("a\r\nb\rc\td\u{0c}e", "a\nb\nc\td\ne"),
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b]0;title\u{9c}text", "text"),
            ("\x1bP1$r\x1b\\x", "x"),
            ("\x1b(Bx\x1b7y\x1b=z", "xyz"),
            ("\x1b[?2004hx\x1b[201~y\x1b[4 qz", "xyz"),
            ("a\x08b\x00c\x7fd", "abcd"),
            // What never ends hides nothing.
            ("a\x1b]0;evil", "a]0;evil"),
            ("a\x1b[31", "a[31"),
            ("a\x1b", "a"),
            ("a\x1b[31\u{e9}", "a[31\u{e9}"),
            // A string that is cancelled by another sequence.
            ("\x1b]0;cut\x1b[1mbold", "bold"),
            ("日本\x1b[m語", "日本語"),
            ("", ""),
        ] {
            assert_eq!(strip(text), expected, "{text:?}");
        }
    }

    #[test]
    fn sanitizing() {
        for (text, expected) in [
            ("fix the tests", "fix the tests"),
            ("two\nlines\tand a tab", "two lines and a tab"),
            ("\x1b[2J\x1b[Hgone", "gone"),
            ("\x1b]0;owned\x07name", "name"),
            ("bell\x07 null\0 del\x7f", "bell null del"),
            ("c1 \u{9b}31mred \u{85}x", "c1 red  x"),
            ("abc\u{202e}txt.exe", "abctxt.exe"),
            ("zero\u{200b}width\u{feff}", "zerowidth"),
            ("\u{e0041}\u{e0042}tags", "tags"),
            // Scripts and emoji are left whole.
            (
                "می\u{200c}خواهم 👩\u{200d}💻 ❤\u{fe0f}",
                "می\u{200c}خواهم 👩\u{200d}💻 ❤\u{fe0f}",
            ),
        ] {
            assert_eq!(sanitize_for_display(text), expected, "{text:?}");
        }
    }

    #[test]
    fn many_unfinished_strings_take_no_longer() {
        // Quadratic work would be 10^12 steps here.
        let text = "\x1b]".repeat(1_000_000);
        assert_eq!(strip(&text), "]");
        let text = "\u{9d}x".repeat(1_000_000);
        assert_eq!(strip(&text).len(), 1_000_000);
    }
}
