//! Text that may be pasted into a terminal.
//!
//! A control byte inside a paste is a key or a command to the program that reads it: an
//! `ESC [ 2 0 1 ~` would end the paste, and what follows would be typed. So none passes. The
//! core has the rule, because it compares what was pasted with what arrived; here it is enforced.

pub use sm_core::words::sanitize;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `char::is_control` is exactly C0, DEL and C1.
    fn is_stripped(c: char) -> bool {
        c.is_control() && c != '\t' && c != '\n'
    }

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
            prop_assert_eq!(sanitize(&clean), clean.as_str());
            let printable = |s: &str| s.chars().filter(|c| !c.is_control()).collect::<String>();
            prop_assert_eq!(printable(&text), printable(&clean));
        }
    }
}
