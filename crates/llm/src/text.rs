//! Texts that every provider takes, and JSON as it really arrives. Pure.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// A text without what some provider refuses: NUL is no character to all of them.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if memchr::memchr(0, text.as_bytes()).is_some() {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Reads JSON; halves of surrogate pairs, which some servers send, become U+FFFD.
pub(crate) fn json<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text)
        .ok()
        .or_else(|| serde_json::from_str(&without_lone_surrogates(text)?).ok())
}

/// `None`: there are none.
fn without_lone_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut kept, mut at, mut found) = (0, 0, false);
    while let Some(offset) = memchr::memchr(b'\\', &bytes[at..]) {
        at += offset;
        match unit(bytes, at) {
            Some(0xD800..=0xDBFF) => {
                if matches!(unit(bytes, at + 6), Some(0xDC00..=0xDFFF)) {
                    at += 12;
                    continue;
                }
            }
            Some(0xDC00..=0xDFFF) => {}
            Some(_) => {
                at += 6;
                continue;
            }
            // an escape of one character, or the end
            None => {
                at = (at + 2).min(bytes.len());
                continue;
            }
        }
        found = true;
        out.push_str(&text[kept..at]);
        out.push_str("\\ufffd");
        at += 6;
        kept = at;
    }
    out.push_str(&text[kept..]);
    found.then_some(out)
}

/// The UTF-16 unit of a `\uXXXX` that begins here.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The beginning of a foreign text, fit for one line.
pub(crate) fn line(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (count, word) in text.split_whitespace().enumerate() {
        if count > 0 {
            out.push(' ');
        }
        out.extend(word.chars().filter(|c| !c.is_control()));
        if out.chars().count() > most {
            out = out.chars().take(most).collect();
            out.push('…');
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json as value};

    #[test]
    fn only_nul_is_taken_out_of_a_text() {
        assert_eq!(clean("a\0b\u{1b}[1m\t"), "a\u{fffd}b\u{1b}[1m\t");
        assert!(matches!(clean("plain ü"), Cow::Borrowed("plain ü")));
    }

    #[test]
    fn halves_of_surrogate_pairs_do_not_spoil_the_rest() {
        for (text, expected) in [
            (r#"{"a":"\ud83d"}"#, value!({"a": "\u{fffd}"})),
            (
                r#"{"a":"x\ude00y","b":"\ud83d\ude00"}"#,
                value!({"a": "x\u{fffd}y", "b": "😀"}),
            ),
            (
                r#"{"a":"\\ud83d \ud83dü"}"#,
                value!({"a": "\\ud83d \u{fffd}ü"}),
            ),
            (r#"{"a":"\ud83d\n"}"#, value!({"a": "\u{fffd}\n"})),
        ] {
            assert_eq!(json::<Value>(text), Some(expected), "{text}");
        }
        for text in ["{", r#"{"a":"\ud83"#, r#"{"a":"\"#, ""] {
            assert_eq!(json::<Value>(text), None, "{text}");
        }
    }

    #[test]
    fn a_line_is_short_and_without_controls() {
        assert_eq!(line("a\n\n b\u{1b}[1m\tc", 20), "a b[1m c");
        assert_eq!(line("äöü äöü", 4), "äöü …");
    }
}
