//! Text that may be pasted into a terminal.
//!
//! A control byte inside a paste is a key or a command to the program that reads it: an
//! `ESC [ 2 0 1 ~` would end the paste, and what follows would be typed. So none passes.

use std::borrow::Cow;

/// `text` without control characters: C0 except tab and newline, DEL, and C1.
/// `\r\n` and a lone `\r` become `\n`: a line end must never turn into a pressed Enter.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_stripped) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                if chars.peek() == Some(&'\n') {
                    chars.next();
                }
                clean.push('\n');
            }
            c if is_stripped(c) => {}
            c => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

/// `char::is_control` is exactly C0, DEL and C1.
fn is_stripped(c: char) -> bool {
    c.is_control() && c != '\t' && c != '\n'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table() {
        for (input, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("tab\tand\nnewline", "tab\tand\nnewline"),
            ("dos\r\nlines\r\n", "dos\nlines\n"),
            ("old mac\rlines", "old mac\nlines"),
            ("\r\r\n\n", "\n\n\n"),
            ("end\x1b[201~\rrm -rf /\r", "end[201~\nrm -rf /\n"),
            ("c1\u{9b}201~", "c1201~"),
            ("\0\x07\x08\x0b\x0c\x7f", ""),
            ("\u{85}\u{80}\u{9f}", ""),
            ("nbsp\u{a0}é€漢😀", "nbsp\u{a0}é€漢😀"),
        ] {
            assert_eq!(sanitize(input), expected, "{input:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_but_tab_and_newline_is_left(text in "(?s).*") {
            let clean = sanitize(&text);
            prop_assert!(clean.chars().all(|c| !is_stripped(c)));
            prop_assert_eq!(sanitize(&clean), clean.as_ref());
            let printable = |s: &str| s.chars().filter(|c| !c.is_control()).collect::<String>();
            prop_assert_eq!(printable(&text), printable(&clean));
        }
    }
}
