//! What others wrote, as one line that a person can trust: nothing in it moves a cursor, hides or
//! reorders what stands beside it.

/// One line of at most `most` characters. Line ends and control characters are shown as signs, so
/// that a command of two lines does not read like one.
pub fn line(text: &str, most: usize) -> String {
    let mut out = String::new();
    let mut chars = text.trim().chars().peekable();
    let mut length = 0;
    while let Some(c) = chars.next() {
        if length >= most {
            out.push('…');
            break;
        }
        length += 1;
        match c {
            '\r' if chars.peek() == Some(&'\n') => length -= 1,
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => out.push('⏎'),
            '\t' => out.push(' '),
            c if c.is_control() => out.push(picture(c)),
            c if is_hidden(c) => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

/// At most `most` characters, with `…` if something is missing.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The sign for a control character.
fn picture(c: char) -> char {
    match u32::from(c) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

/// Characters that are not seen and make a text read differently from what it says. Joiners and
/// variation selectors belong to emoji and scripts, and stay.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_hides_nothing() {
        for (text, shown) in [
            ("cargo test", "cargo test"),
            ("  rm a\nrm b\n", "rm a⏎rm b"),
            ("a\r\nb\rc\u{2028}d", "a⏎b⏎c⏎d"),
            ("\u{1b}]0;x\u{7}\u{9b}31m\u{7f}", "␛]0;x␇\u{fffd}31m␡"),
            ("safe\u{202e}mr\u{200b}", "safe\u{fffd}mr\u{fffd}"),
            ("a\tb ⚠\u{fe0f} 👩\u{200d}💻", "a b ⚠\u{fe0f} 👩\u{200d}💻"),
            ("0123456789abc", "0123456789…"),
        ] {
            let most = if shown.contains('…') { 10 } else { 80 };
            assert_eq!(line(text, most), shown, "{text:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_at_a_character() {
        assert_eq!(cut("äöü", 2), "äö…");
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(line(&"\u{1b}".repeat(9), 3), "␛␛␛…");
    }
}
