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

pub(crate) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

/// The place behind the string that begins at `at`.
pub(crate) fn skip_string(bytes: &[u8], at: usize) -> Option<usize> {
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

/// Goes through the object that begins at `at`: `value` is given each field's name and where its
/// value begins, and says where that ends. The place behind the object; `None` if it is broken.
fn walk<'a>(
    text: &'a str,
    at: usize,
    mut value: impl FnMut(&'a str, usize) -> Option<usize>,
) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    let mut at = skip_space(bytes, at + 1);
    if bytes.get(at) == Some(&b'}') {
        return Some(at + 1);
    }
    loop {
        if bytes.get(at) != Some(&b'"') {
            return None;
        }
        let end = skip_string(bytes, at)?;
        let name = &text[at + 1..end - 1];
        at = skip_space(bytes, end);
        if bytes.get(at) != Some(&b':') {
            return None;
        }
        at = skip_space(bytes, at + 1);
        at = skip_space(bytes, value(name, at)?);
        match bytes.get(at) {
            Some(b',') => at = skip_space(bytes, at + 1),
            Some(b'}') => return Some(at + 1),
            _ => return None,
        }
    }
}

/// Gives every field of the object that begins at `at`.
fn fields_at<'a>(
    text: &'a str,
    at: usize,
    mut field: impl FnMut(&'a str, &'a str),
) -> Option<usize> {
    walk(text, at, |name, at| {
        let end = skip_value(text.as_bytes(), at)?;
        field(name, &text[at..end]);
        Some(end)
    })
}

/// Gives every field of an object: its name as it stands there, and its value as JSON.
pub fn fields<'a>(object: &'a str, field: impl FnMut(&'a str, &'a str)) -> Result<(), Broken> {
    let at = skip_space(object.as_bytes(), 0);
    fields_at(object, at, field).map(|_| ()).ok_or(Broken)
}

/// The same; but of the object in one of them (`inside`) its own fields, which saves going over it
/// twice. What is broken in there is nobody's trouble.
pub fn fields_and_inside<'a>(
    object: &'a str,
    inside: &str,
    mut field: impl FnMut(&'a str, &'a str),
    mut inner: impl FnMut(&'a str, &'a str),
) -> Result<(), Broken> {
    let bytes = object.as_bytes();
    let walked = walk(object, skip_space(bytes, 0), |name, at| {
        if name == inside {
            return fields_at(object, at, &mut inner).or_else(|| skip_value(bytes, at));
        }
        let end = skip_value(bytes, at)?;
        field(name, &object[at..end]);
        Some(end)
    });
    walked.map(|_| ()).ok_or(Broken)
}

/// Gives each element of an array as the fields that it has, collected into a `T`; nothing if it is
/// no array.
pub fn objects<'a, T: Default>(
    array: &'a str,
    mut field: impl FnMut(&mut T, &'a str, &'a str),
    mut element: impl FnMut(T),
) {
    let bytes = array.as_bytes();
    if bytes.first() != Some(&b'[') {
        return;
    }
    let mut at = skip_space(bytes, 1);
    loop {
        let mut one = T::default();
        let end = fields_at(array, at, |name, value| field(&mut one, name, value));
        let Some(end) = end.or_else(|| skip_value(bytes, at)) else {
            return;
        };
        element(one);
        at = skip_space(bytes, end);
        if bytes.get(at) != Some(&b',') {
            return;
        }
        at = skip_space(bytes, at + 1);
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

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
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

    type Block<'a> = Vec<(&'a str, &'a str)>;

    /// Each element's fields by going over it twice, and by going over it once.
    fn blocks(array: &str) -> (Vec<Block<'_>>, Vec<Block<'_>>) {
        let (mut twice, mut once) = (Vec::new(), Vec::new());
        elements(array, |element| {
            let mut block = Vec::new();
            let _ = fields(element, |key, value| block.push((key, value)));
            twice.push(block);
        });
        objects(
            array,
            |block: &mut Block<'_>, key, value| block.push((key, value)),
            |block| once.push(block),
        );
        (twice, once)
    }

    #[test]
    fn broken_elements_are_read_as_far_as_they_go() {
        let cases = [
            r#"[{"a":1},{"b":2]"#,
            r#"[{"a":1,"b"},{"c":3}]"#,
            r#"[1,"x",{"a":[2}},{"b":0}]"#,
            r#"[ { "a" : 1 } , [] , { } ]"#,
            r#"[{"a":"x"#,
            "[]",
            "{}",
        ];
        for array in cases {
            let (twice, once) = blocks(array);
            assert_eq!(once, twice, "{array}");
        }
    }

    #[test]
    fn the_fields_inside_one_field() {
        let cases = [
            (r#"{"a":1,"m":{"x":2,"y":[3]},"b":4}"#, true),
            (r#"{"m":"text","b":4}"#, true),
            (r#"{"m":{"x":1,"y"},"b":4}"#, true),
            (r#"{"m":{"x":1"#, false),
        ];
        for (object, whole) in cases {
            let (mut outer, mut inner) = (Vec::new(), Vec::new());
            let done = fields_and_inside(
                object,
                "m",
                |key, value| outer.push((key, value)),
                |key, value| inner.push((key, value)),
            );
            assert_eq!(done.is_ok(), whole, "{object}");
            assert_eq!(all(object).is_ok(), whole, "{object}");
            let (mut outer_twice, mut inner_twice) = (Vec::new(), Vec::new());
            let _ = fields(object, |key, value| match key {
                "m" => {
                    let _ = fields(value, |key, value| inner_twice.push((key, value)));
                }
                _ => outer_twice.push((key, value)),
            });
            if whole {
                assert_eq!((outer, inner), (outer_twice, inner_twice), "{object}");
            }
        }
    }

    proptest! {
        #[test]
        fn going_over_it_once_finds_the_same(array in r#"\[[\[\]{},:"a1 ]{0,30}"#) {
            let (twice, once) = blocks(&array);
            prop_assert_eq!(once, twice);
        }

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
