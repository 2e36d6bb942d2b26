//! The sections of a TOML text and the place of everything in them, so that a section can be taken
//! out while every other byte stays. (Editors that keep the document as a tree lose the line ends
//! of Windows and a mark at the beginning.)
//!
//! The text has been read by a real parser before; this only finds where things are.

use super::{Place, Refusal};
use toml::{Table, Value};

/// A header and what follows it up to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Where the line of its header begins; 0 for what stands before the first header.
    pub start: usize,
    /// Behind the line of its header or of its last setting.
    pub end: usize,
    pub path: Vec<String>,
    pub form: Form,
    pub settings: Vec<Setting>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// What stands before the first header.
    Top,
    /// `[a.b]`
    Table,
    /// `[[a.b]]`
    Element,
}

/// `key = value`
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    pub start: usize,
    pub path: Vec<String>,
    pub value: Value,
}

impl Section {
    pub fn get(&self, key: &str) -> Option<&Value> {
        let found = self.settings.iter().find(|s| s.path == [key])?;
        Some(&found.value)
    }

    pub fn is(&self, form: Form, path: &[&str]) -> bool {
        self.form == form && self.path == path
    }
}

/// Reads the whole text strictly.
pub fn parse(text: &str) -> Result<Table, Refusal> {
    text.parse::<Table>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Refusal::At {
            at: Place::of(text, at),
            what: error.message().trim().replace('\n', ", "),
        }
    })
}

/// The sections of a text that [`parse`] has accepted.
pub fn sections(text: &str) -> Vec<Section> {
    let mut all = vec![Section {
        start: 0,
        end: 0,
        path: Vec::new(),
        form: Form::Top,
        settings: Vec::new(),
    }];
    let mut at = text.len() - text.trim_start_matches('\u{feff}').len();
    while at < text.len() {
        let rest = &text[at..];
        let start = at;
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let first = rest[blank..].chars().next();
        at = match first {
            None | Some('\n' | '\r' | '#') => line_end(text, at),
            Some(_) => statement_end(text, at),
        };
        let statement = &text[start..at];
        match first {
            None | Some('\n' | '\r' | '#') => continue,
            Some('[') => {
                let (path, _) = way_down(statement);
                let form = if statement.trim_start().starts_with("[[") {
                    Form::Element
                } else {
                    Form::Table
                };
                all.push(Section {
                    start,
                    end: at,
                    path,
                    form,
                    settings: Vec::new(),
                });
            }
            Some(_) => {
                let (path, value) = way_down(statement);
                if let Some(section) = all.last_mut() {
                    section.end = at;
                    section.settings.push(Setting { start, path, value });
                }
            }
        }
    }
    all
}

/// The keys that lead down a statement, and what is at their end. A table that was written as a
/// value is gone into as well while it has one key: whose it is can be told all the same.
fn way_down(statement: &str) -> (Vec<String>, Value) {
    let mut path = Vec::new();
    let mut value = Value::Table(statement.parse().unwrap_or_default());
    loop {
        value = match value {
            Value::Table(table) if table.len() == 1 => match table.into_iter().next() {
                Some((key, inner)) => {
                    path.push(key);
                    inner
                }
                None => return (path, Value::Table(Table::new())),
            },
            other => return (path, other),
        };
    }
}

/// Behind the line of this byte.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |n| at + n + 1)
}

/// Behind the line on which a header or setting ends that begins here.
fn statement_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    let mut depth = 0_usize;
    while at < bytes.len() {
        let rest = &text[at..];
        match bytes[at] {
            b'\n' if depth == 0 => return at + 1,
            b'#' => {
                at = rest.find('\n').map_or(text.len(), |n| at + n);
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            quote @ (b'"' | b'\'') => {
                at += string_length(rest, quote);
                continue;
            }
            _ => {}
        }
        // Only ASCII is looked at, so a step into the middle of a character does no harm but to
        // slices.
        at += rest.chars().next().map_or(1, char::len_utf8);
    }
    text.len()
}

/// The bytes of a string at the beginning of `text`, its quotes included.
fn string_length(text: &str, quote: u8) -> usize {
    let bytes = text.as_bytes();
    let is = |at: usize| bytes.get(at) == Some(&quote);
    let long = is(1) && is(2);
    let mut at = if long { 3 } else { 1 };
    while at < bytes.len() {
        if bytes[at] == b'\\' && quote == b'"' {
            at += 2;
        } else if !is(at) {
            at += 1;
        } else if !long {
            return at + 1;
        } else if is(at + 1) && is(at + 2) {
            // Up to two more quotes belong to the text.
            let more = usize::from(is(at + 3)) + usize::from(is(at + 3) && is(at + 4));
            return at + 3 + more;
        } else {
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_found_whatever_is_in_them() {
        let text = "\u{feff}a = 1 # [x]\r\n\r\n  # [no]\r\nb.c = [\r\n  '[[y]]', # ]\r\n  { k = \"]\" },\r\n]\r\n\
            [ 'q]' . \"w#\" ] # c\r\nm = \"\"\"\r\n[no]\r\n\\\"\"\"\"\"\r\nn = '''x'''\r\n# end of it\r\n\r\n[[h.s]]\r\n[[h.s.i]]\r\nx = 3\r\n# last";
        parse(text).unwrap();
        let found: Vec<(String, Form, usize)> = sections(text)
            .iter()
            .map(|s| (s.path.join("|"), s.form, s.settings.len()))
            .collect();
        let expected = [
            ("", Form::Top, 2),
            ("q]|w#", Form::Table, 2),
            ("h|s", Form::Element, 0),
            ("h|s|i", Form::Element, 1),
        ];
        let expected: Vec<_> = expected
            .map(|(path, form, n)| (path.to_owned(), form, n))
            .into();
        assert_eq!(found, expected);
        let sections = sections(text);
        let part = |s: &Section| text[s.start..s.end].to_owned();
        assert_eq!(part(&sections[2]), "[[h.s]]\r\n");
        assert_eq!(part(&sections[3]), "[[h.s.i]]\r\nx = 3\r\n");
        assert!(part(&sections[1]).ends_with("n = '''x'''\r\n"));
        assert_eq!(sections[0].settings[1].path, ["b", "c"]);
        assert_eq!(sections[3].get("x"), Some(&Value::Integer(3)));
    }

    #[test]
    fn what_is_not_toml_is_refused_at_its_place() {
        for (text, place) in [
            ("a = 1\nb = \n", "line 2, column 5: "),
            ("a = 1\na = 2\n", "line 2, column 1: "),
            ("{\"a\": 1}", "line 1, column 1: "),
            ("[x\n", "line 1, column 3: "),
        ] {
            let refused = parse(text).unwrap_err().to_string();
            assert!(refused.starts_with(place), "{text:?}: {refused}");
        }
    }
}
