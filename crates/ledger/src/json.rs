//! Looks into one line of JSON without building it: most of a transcript is skipped, and what is
//! read is borrowed.
//!
//! It must never recurse, nor fail for a value that nobody asks for: a wrong type is the same as
//! an absent value.

use memchr::{memchr, memchr2};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The text is not one JSON object, as far as one has to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken;

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

/// The place behind the string that begins at `at`.
fn skip_string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// The place behind the value that begins at `at`.
fn skip_value(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => skip_string(bytes, at),
        b'{' | b'[' => {
            let (mut at, mut depth) = (at, 0usize);
            loop {
                match bytes.get(at)? {
                    b'"' => {
                        at = skip_string(bytes, at)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
        }
        b'}' | b']' | b',' | b':' => None,
        _ => {
            let length = bytes[at..]
                .iter()
                .position(|b| matches!(b, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n'));
            Some(length.map_or(bytes.len(), |length| at + length))
        }
    }
}

/// Gives every field of an object: its name as it stands there, and its value as JSON.
pub fn fields<'a>(object: &'a str, mut field: impl FnMut(&'a str, &'a str)) -> Result<(), Broken> {
    let bytes = object.as_bytes();
    let mut at = skip_space(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return Err(Broken);
    }
    at = skip_space(bytes, at + 1);
    if bytes.get(at) == Some(&b'}') {
        return Ok(());
    }
    loop {
        if bytes.get(at) != Some(&b'"') {
            return Err(Broken);
        }
        let end = skip_string(bytes, at).ok_or(Broken)?;
        let name = &object[at + 1..end - 1];
        at = skip_space(bytes, end);
        if bytes.get(at) != Some(&b':') {
            return Err(Broken);
        }
        at = skip_space(bytes, at + 1);
        let end = skip_value(bytes, at).ok_or(Broken)?;
        field(name, &object[at..end]);
        at = skip_space(bytes, end);
        match bytes.get(at) {
            Some(b',') => at = skip_space(bytes, at + 1),
            Some(b'}') => return Ok(()),
            _ => return Err(Broken),
        }
    }
}

/// Gives the elements of an array; nothing if it is none.
pub fn elements<'a>(array: &'a str, mut element: impl FnMut(&'a str)) {
    let bytes = array.as_bytes();
    if bytes.first() != Some(&b'[') {
        return;
    }
    let mut at = skip_space(bytes, 1);
    while let Some(end) = skip_value(bytes, at) {
        element(&array[at..end]);
        at = skip_space(bytes, end);
        if bytes.get(at) != Some(&b',') {
            return;
        }
        at = skip_space(bytes, at + 1);
    }
}

/// The value of one field of an object.
pub fn get<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    let _ = fields(object, |key, value| {
        if key == name {
            found = Some(value);
        }
    });
    found
}

/// The string that a value is.
pub fn text(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    Some(unescape(inner))
}

/// The text of a field, if it is a string.
pub fn text_of<'a>(object: &'a str, name: &str) -> Option<Cow<'a, str>> {
    text(get(object, name)?)
}

pub fn number(value: &str) -> Option<u64> {
    value.parse().ok()
}

/// A value as serde knows it, where it has to be handed on.
pub fn raw(value: &str) -> Option<&RawValue> {
    serde_json::from_str(value).ok()
}

/// Gives every string in a value, keys left out.
pub fn strings(value: &str, mut found: impl FnMut(Cow<'_, str>)) {
    let bytes = value.as_bytes();
    let mut at = 0;
    while let Some(step) = bytes.get(at..).and_then(|rest| memchr(b'"', rest)) {
        let start = at + step;
        let Some(end) = skip_string(bytes, start) else {
            return;
        };
        at = skip_space(bytes, end);
        if bytes.get(at) == Some(&b':') {
            continue;
        }
        found(unescape(&value[start + 1..end - 1]));
    }
}

fn hex(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 4)?;
    u32::from_str_radix(digits, 16).ok()
}

/// A JSON string's content. Half of a surrogate pair becomes U+FFFD.
fn unescape(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let Some(mut next) = memchr(b'\\', bytes) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    loop {
        out.push_str(&text[from..next]);
        let (length, c) = match bytes.get(next + 1) {
            Some(b'n') => (2, '\n'),
            Some(b't') => (2, '\t'),
            Some(b'r') => (2, '\r'),
            Some(b'b') => (2, '\u{8}'),
            Some(b'f') => (2, '\u{c}'),
            Some(c @ (b'"' | b'\\' | b'/')) => (2, char::from(*c)),
            Some(b'u') => match hex(text, next + 2) {
                Some(high @ 0xd800..=0xdbff) => match hex(text, next + 8) {
                    Some(low @ 0xdc00..=0xdfff) if bytes[next + 6..].starts_with(b"\\u") => {
                        let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                        (12, char::from_u32(code).unwrap_or('\u{fffd}'))
                    }
                    _ => (6, '\u{fffd}'),
                },
                Some(code) => (6, char::from_u32(code).unwrap_or('\u{fffd}')),
                None => (2, '\u{fffd}'),
            },
            // What is no escape stays as it is.
            Some(_) | None => (1, '\\'),
        };
        out.push(c);
        from = next + length;
        match bytes.get(from..).and_then(|rest| memchr(b'\\', rest)) {
            Some(step) => next = from + step,
            None => {
                out.push_str(text.get(from..).unwrap_or_default());
                return Cow::Owned(out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Fields<'a> = Result<Vec<(&'a str, &'a str)>, Broken>;

    fn all(object: &str) -> Fields<'_> {
        let mut out = Vec::new();
        fields(object, |key, value| out.push((key, value))).map(|()| out)
    }

    #[test]
    fn the_fields_of_an_object() {
        let cases: [(&str, Fields<'_>); 9] = [
            ("{}", Ok(vec![])),
            (r#" { "a" : 1 } "#, Ok(vec![("a", "1")])),
            (
                r#"{"a":"x\"}","b":[{"c":"]"},2],"d":null}"#,
                Ok(vec![
                    ("a", r#""x\"}""#),
                    ("b", r#"[{"c":"]"},2]"#),
                    ("d", "null"),
                ]),
            ),
            (r#"{"a":{"b":{}}}"#, Ok(vec![("a", r#"{"b":{}}"#)])),
            (r#"{"a":1"#, Err(Broken)),
            (r#"{"a":"b"#, Err(Broken)),
            (r#"{"a":}"#, Err(Broken)),
            ("[1]", Err(Broken)),
            ("nonsense", Err(Broken)),
        ];
        for (object, expected) in cases {
            assert_eq!(all(object), expected, "{object}");
        }
    }

    #[test]
    fn strings_of_a_call_without_its_keys() {
        let mut found = Vec::new();
        strings(
            r#"{"file_path":"/a/b.rs","edits":[{"old":"x\ny"},{"n":3}],"last" : "z"}"#,
            |s| found.push(s.into_owned()),
        );
        assert_eq!(found, ["/a/b.rs", "x\ny", "z"]);
    }

    #[test]
    fn half_a_surrogate_pair_is_no_error() {
        assert_eq!(text(r#""a\ud83d""#).as_deref(), Some("a\u{fffd}"));
        assert_eq!(text(r#""\ud83d\u0041""#).as_deref(), Some("\u{fffd}A"));
        assert_eq!(text(r#""\uzzzz\q\""#).as_deref(), Some("\u{fffd}zzzz\\q\\"));
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(serde_json::Value::from),
            any::<i64>().prop_map(serde_json::Value::from),
            any::<String>().prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                proptest::collection::vec((any::<String>(), inner), 0..4)
                    .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn reads_what_serde_reads(value in value(), pretty: bool) {
            let written = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            if let Some(object) = value.as_object() {
                let mut found = Vec::new();
                fields(&written, |key, value| {
                    found.push((unescape(key).into_owned(), serde_json::from_str(value).unwrap()));
                }).unwrap();
                prop_assert_eq!(found, object.clone().into_iter().collect::<Vec<(String, serde_json::Value)>>());
            }
            if let Some(string) = value.as_str() {
                let read = text(&written);
                prop_assert_eq!(read.as_deref(), Some(string));
            }
            if let Some(array) = value.as_array() {
                let mut found: Vec<serde_json::Value> = Vec::new();
                elements(&written, |e| found.push(serde_json::from_str(e).unwrap()));
                prop_assert_eq!(&found, array);
            }
        }

        #[test]
        fn anything_is_survived(input: String) {
            let _ = fields(&input, |_, value| {
                elements(value, |_| ());
                let _ = text(value);
            });
            strings(&input, |_| ());
            let _ = unescape(&input);
        }
    }
}
