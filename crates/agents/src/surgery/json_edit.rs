//! Putting a value into JSON text and taking one out, in the style of the text around it.
//!
//! `cut` undoes `append` byte for byte, also after others have put something before or behind.

use super::json::Node;
use super::newline;
use serde_json::Value;

/// How a text is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style {
    newline: &'static str,
    unit: String,
    /// What stands behind colons and commas within a line.
    gap: &'static str,
    shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Lines,
    OneLine,
}

impl Style {
    pub fn of(text: &str, root: &Node) -> Self {
        let first = root.inside().first().map(|(start, _)| *start);
        let before = first.and_then(|first| indent_before(text, first));
        let colon = root.members().and_then(|members| members.first());
        let tight = colon.is_some_and(|m| text[..m.value.start].ends_with(':'));
        Self {
            newline: newline(text),
            unit: match before {
                Some(indent) if !indent.is_empty() => indent.to_owned(),
                Some(_) | None => "  ".to_owned(),
            },
            gap: if tight { "" } else { " " },
            shape: match (first, before) {
                (Some(_), None) => Shape::OneLine,
                (Some(_), Some(_)) | (None, _) => Shape::Lines,
            },
        }
    }
}

/// The blanks before a thing that begins its line.
fn indent_before(text: &str, at: usize) -> Option<&str> {
    let line = text[..at].rfind('\n')? + 1;
    let indent = &text[line..at];
    indent
        .bytes()
        .all(|byte| byte.is_ascii_whitespace())
        .then_some(indent)
}

/// The blanks at the beginning of the line of this byte.
fn indent_of_line(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[line..at];
    let end = rest.find(|c| c != ' ' && c != '\t').unwrap_or(rest.len());
    &rest[..end]
}

/// A thing to put in: a member of an object (with a key) or an element of an array.
pub struct Item<'a> {
    pub key: Option<&'a str>,
    pub value: &'a Value,
}

impl Item<'_> {
    fn write(&self, out: &mut String, style: &Style, indent: Option<&str>) {
        if let Some(key) = self.key {
            push_string(out, key);
            out.push(':');
            out.push_str(if indent.is_some() { " " } else { style.gap });
        }
        write(out, self.value, style, indent);
    }
}

/// The text with `item` behind the last thing in `container`, an object or array of it.
pub fn append(text: &str, container: &Node, style: &Style, item: &Item<'_>) -> String {
    let mut new = String::new();
    let at = match container.inside().last() {
        Some((start, end)) => {
            new.push(',');
            match indent_before(text, *start) {
                Some(indent) => {
                    new.push_str(style.newline);
                    new.push_str(indent);
                    item.write(&mut new, style, Some(indent));
                }
                None => {
                    new.push_str(style.gap);
                    item.write(&mut new, style, None);
                }
            }
            *end
        }
        None => {
            let is_tight = container.end - container.start == 2;
            match style.shape {
                Shape::Lines if is_tight => {
                    let outer = indent_of_line(text, container.start);
                    let inner = format!("{outer}{}", style.unit);
                    new.push_str(style.newline);
                    new.push_str(&inner);
                    item.write(&mut new, style, Some(&inner));
                    new.push_str(style.newline);
                    new.push_str(outer);
                }
                // Blanks that are there stay before it, so that `cut` finds them.
                Shape::Lines | Shape::OneLine => item.write(&mut new, style, None),
            }
            container.end - 1
        }
    };
    format!("{}{new}{}", &text[..at], &text[at..])
}

/// The text without the thing number `index` in `container`.
pub fn cut(text: &str, container: &Node, index: usize) -> String {
    let inside = container.inside();
    let Some((start, end)) = inside.get(index).copied() else {
        return text.to_owned();
    };
    let (from, to) = match (index.checked_sub(1), inside.get(index + 1)) {
        (Some(before), _) => (inside[before].1, end),
        (None, Some((next, _))) => (start, *next),
        // Nothing between it and the end: it was put behind blanks that were there.
        (None, None) if end == container.end - 1 => (start, end),
        (None, None) => (container.start + 1, container.end - 1),
    };
    format!("{}{}", &text[..from], &text[to..])
}

/// The text with other bytes in the place of a value.
pub fn replace(text: &str, node: &Node, with: &str) -> String {
    format!("{}{with}{}", &text[..node.start], &text[node.end..])
}

pub fn push_string(out: &mut String, text: &str) {
    out.push_str(&Value::from(text).to_string());
}

/// `indent`: that of the line on which the value begins; `None` on one line.
fn write(out: &mut String, value: &Value, style: &Style, indent: Option<&str>) {
    let inner = indent.map(|indent| format!("{indent}{}", style.unit));
    let inner = inner.as_deref();
    let next = |out: &mut String, first: bool| {
        if !first {
            out.push(',');
        }
        match inner {
            Some(inner) => {
                out.push_str(style.newline);
                out.push_str(inner);
            }
            None if !first => out.push_str(style.gap),
            None => {}
        }
    };
    let close = |out: &mut String, with: char| {
        if let Some(indent) = indent {
            out.push_str(style.newline);
            out.push_str(indent);
        }
        out.push(with);
    };
    match value {
        Value::Object(members) if !members.is_empty() => {
            out.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                next(out, at == 0);
                let item = Item {
                    key: Some(key),
                    value,
                };
                item.write(out, style, inner);
            }
            close(out, '}');
        }
        Value::Array(elements) if !elements.is_empty() => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                next(out, at == 0);
                write(out, element, style, inner);
            }
            close(out, ']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::parse;
    use super::*;
    use serde_json::json;

    /// Every style is met, and taking out again gives the text as it was.
    #[test]
    fn the_style_around_is_kept() {
        let value = json!({"k": [1, {"x": "é"}], "e": {}});
        for (text, expected) in [
            (
                "{}",
                "{\n  \"n\": {\n    \"k\": [\n      1,\n      {\n        \"x\": \"é\"\n      }\n    ],\n    \"e\": {}\n  }\n}",
            ),
            ("{ }", r#"{ "n": {"k": [1, {"x": "é"}], "e": {}}}"#),
            (
                "{\n}\n",
                "{\n\"n\": {\"k\": [1, {\"x\": \"é\"}], \"e\": {}}}\n",
            ),
            (r#"{"a":1}"#, r#"{"a":1,"n":{"k":[1,{"x":"é"}],"e":{}}}"#),
            (
                r#"{"a": 1 }"#,
                r#"{"a": 1, "n": {"k": [1, {"x": "é"}], "e": {}} }"#,
            ),
            (
                "{\r\n\t\"a\": 1\r\n}",
                "{\r\n\t\"a\": 1,\r\n\t\"n\": {\r\n\t\t\"k\": [\r\n\t\t\t1,\r\n\t\t\t{\r\n\t\t\t\t\"x\": \"é\"\r\n\t\t\t}\r\n\t\t],\r\n\t\t\"e\": {}\r\n\t}\r\n}",
            ),
            (
                "{ \"a\": 1,\n    \"b\": 2}",
                "{ \"a\": 1,\n    \"b\": 2,\n    \"n\": {\n      \"k\": [\n        1,\n        {\n          \"x\": \"é\"\n        }\n      ],\n      \"e\": {}\n    }}",
            ),
        ] {
            let root = parse(text).unwrap();
            let style = Style::of(text, &root);
            let item = Item {
                key: Some("n"),
                value: &value,
            };
            let new = append(text, &root, &style, &item);
            assert_eq!(new, expected);
            let root = parse(&new).unwrap();
            assert_eq!(cut(&new, &root, root.inside().len() - 1), text);
        }
    }

    #[test]
    fn what_others_put_around_it_stays() {
        for (text, index, expected) in [
            ("[1, 2,\n 3]", 1, "[1,\n 3]"),
            ("[ 1, 2 ]", 0, "[ 2 ]"),
            ("[ 1 ]", 0, "[]"),
            ("[ 1]", 0, "[ ]"),
            ("[1 , 2]", 1, "[1]"),
            ("[1]", 4, "[1]"),
        ] {
            assert_eq!(cut(text, &parse(text).unwrap(), index), expected);
        }
    }
}
