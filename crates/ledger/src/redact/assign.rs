//! Names with values: code, JSON, YAML, environment files, flags, queries, headers.
//!
//! The name decides what the value may be, the way it is written how sure one can be. Must never
//! take a value that is computed, typed or referred to.

use super::keys::{self, LONGEST};
use super::value::{Kind, Style, is_secret, is_secret_setting};
use super::{Found, Origin, cookies};

fn named(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// How far a value is looked at.
const FAR: usize = 4096;

/// At `=` or `:`.
pub(super) fn at(text: &str, i: usize, origin: Origin, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    let get = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let before = if i > 0 { get(i - 1) } else { 0 };
    let (sign, next) = (get(i), get(i + 1));
    let mut end = i;
    let mut value = i + 1;
    let mut arrow = false;
    if sign == b':' {
        if next == b':' || before == b':' || next == b'=' {
            return;
        }
    } else {
        if next == b'='
            || matches!(
                before,
                b'=' | b'!' | b'<' | b'>' | b'~' | b'+' | b'-' | b'*' | b'/'
            )
        {
            return;
        }
        if before == b':' || before == b'?' {
            end -= 1;
        }
        if next == b'>' {
            arrow = true;
            value += 1;
        }
    }
    let of = |(key, key_end): (usize, usize)| {
        let kind = text.get(key..key_end).and_then(keys::kind)?;
        Some((key, key_end, kind))
    };
    let mut named = key_before(bytes, end).and_then(of);
    if named.is_none() && sign == b'=' && !arrow {
        // `password: &str = "…"`: the name stands before the type
        named = before_type(bytes, end).and_then(of);
    }
    let Some((key, key_end, kind)) = named else {
        return;
    };
    judge(
        text,
        Place {
            sign,
            key,
            key_end,
            value,
            arrow,
            origin,
        },
        kind,
        found,
    );
}

struct Place {
    sign: u8,
    key: usize,
    key_end: usize,
    value: usize,
    arrow: bool,
    origin: Origin,
}

/// The name that ends before `end`, behind quotes, brackets and blanks.
fn key_before(bytes: &[u8], end: usize) -> Option<(usize, usize)> {
    let mut at = end;
    let mut signs = 0;
    loop {
        let byte = *bytes.get(at.checked_sub(1)?)?;
        if matches!(byte, b' ' | b'\t')
            || (signs < 6
                && matches!(
                    byte,
                    b'"' | b'\'' | b'`' | b'\\' | b']' | b'*' | b'?' | b'['
                ))
        {
            signs += usize::from(!matches!(byte, b' ' | b'\t'));
            at -= 1;
            if end - at > 40 {
                return None;
            }
        } else {
            break;
        }
    }
    if !bytes.get(at - 1).copied().is_some_and(keys::may_end) {
        return None;
    }
    if bytes.get(at) == Some(&b']') && is_our_own(bytes, at) {
        return None;
    }
    let mut start = at;
    while start > 0 && at - start < LONGEST && bytes.get(start - 1).copied().is_some_and(named) {
        start -= 1;
    }
    // an escaped line end before the name is no part of it
    if start > 0
        && bytes.get(start - 1) == Some(&b'\\')
        && matches!(bytes.get(start), Some(b'n' | b't' | b'r'))
    {
        start += 1;
    }
    (start < at).then_some((start, at))
}

/// Whether what ends here is what stands where a secret stood: `[redacted: password]` names nothing.
fn is_our_own(bytes: &[u8], end: usize) -> bool {
    let before = bytes
        .get(end.saturating_sub(LONGEST)..end)
        .unwrap_or_default();
    let open = memchr::memrchr(b'[', before);
    open.and_then(|open| before.get(open..))
        .is_some_and(|own| own.starts_with(b"[redacted: "))
}

fn before_type(bytes: &[u8], end: usize) -> Option<(usize, usize)> {
    let from = end.saturating_sub(40);
    let part = bytes.get(from..end)?;
    let colon = from + memchr::memrchr(b':', part)?;
    let between = bytes.get(colon + 1..end)?;
    let typed = between.iter().all(|b| {
        b.is_ascii_alphanumeric()
            || matches!(
                b,
                b' ' | b'&' | b'\'' | b'<' | b'>' | b'[' | b']' | b'|' | b'_' | b'?'
            )
    });
    if !typed || between.is_empty() {
        return None;
    }
    key_before(bytes, colon)
}

/// What stands in quotes from here.
pub(super) fn quoted(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut open = at;
    while bytes.get(open) == Some(&b'\\') && open - at < 4 {
        open += 1;
    }
    let slashes = open - at;
    let quote = *bytes.get(open)?;
    if !matches!(quote, b'"' | b'\'' | b'`') {
        return None;
    }
    let start = open + 1;
    let rest = bytes.get(start..(start + FAR).min(bytes.len()))?;
    for end in memchr::memchr2_iter(quote, b'\n', rest) {
        if rest.get(end) == Some(&b'\n') {
            return None;
        }
        let before = rest
            .get(..end)?
            .iter()
            .rev()
            .take_while(|b| **b == b'\\')
            .count();
        if before <= slashes && (slashes > 0 || before == 0) {
            return Some((start, start + end - before));
        }
    }
    None
}

fn judge(
    text: &str,
    place: Place,
    (kind, rule): (Kind, &'static str),
    found: &mut impl FnMut(Found),
) {
    let bytes = text.as_bytes();
    let get = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut start = place.value;
    while matches!(get(start), b' ' | b'\t' | b'*') && start - place.value < 16 {
        start += 1;
    }
    let spaced = start > place.value || bytes.get(place.key_end) == Some(&b' ');
    // `b"…"`, `r'…'`, `@"…"`
    let opening = if matches!(get(start), b'b' | b'r' | b'u' | b'@' | b'L')
        && matches!(get(start + 1), b'"' | b'\'')
    {
        start + 1
    } else {
        start
    };
    let line_start = line_begins(bytes, place.key);
    let loud = bytes
        .get(place.key..place.key_end)
        .is_some_and(|key| !key.iter().any(u8::is_ascii_lowercase));
    let flag = bytes
        .get(place.key..place.key_end)
        .is_some_and(|key| key.starts_with(b"--"));
    let env = place.sign == b'=' && !spaced && !place.arrow && loud && !flag;
    if let Some((start, end)) = quoted(text, opening) {
        let style = if env && line_start {
            Style::Env
        } else if flag {
            Style::Flag
        } else {
            Style::Quoted
        };
        offer(text, (start, end), kind, style, rule, place.origin, found);
        return;
    }
    if place.arrow {
        return;
    }
    // `Authorization: token …`
    for scheme in ["token ", "Token ", "apikey ", "ApiKey ", "Api-Key ", "key "] {
        if rule == super::rules::name::TOKEN
            && text
                .get(start..)
                .is_some_and(|rest| rest.starts_with(scheme))
        {
            start += scheme.len();
        }
    }
    let rest = bytes
        .get(start..(start + FAR).min(bytes.len()))
        .unwrap_or_default();
    let line = rest
        .iter()
        .take_while(|b| !matches!(b, b'\n' | b'\r'))
        .count();
    let whole = rest.get(..line).unwrap_or_default();
    if env
        && line_start
        && !whole
            .iter()
            .any(|b| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'\\' | b'`' | b'('))
    {
        let span = (start, start + line);
        offer(text, span, kind, Style::Env, rule, place.origin, found);
        return;
    }
    let len = whole
        .iter()
        .take_while(|b| {
            !b.is_ascii_whitespace()
                && !matches!(
                    b,
                    b'"' | b'\''
                        | b'`'
                        | b','
                        | b';'
                        | b'&'
                        | b'('
                        | b')'
                        | b'['
                        | b']'
                        | b'{'
                        | b'}'
                        | b'<'
                        | b'>'
                        | b'|'
                        | b'\\'
                )
        })
        .count();
    let stop = whole.get(len).copied();
    if matches!(stop, Some(b'(' | b'[' | b'{')) {
        return;
    }
    let mut value = text.get(start..start + len).unwrap_or_default();
    if place.sign == b':' || spaced {
        value = value.trim_end_matches(['.', ':', '!', '?', '*']);
    }
    let before = place
        .key
        .checked_sub(1)
        .and_then(|at| bytes.get(at))
        .copied();
    let over = stop.is_none()
        || matches!(stop, Some(b'\\' | b'#'))
        || (stop == Some(b' ')
            && whole.get(len..).is_some_and(|tail| {
                tail.trim_ascii().is_empty() || tail.trim_ascii().starts_with(b"#")
            }));
    let listed = matches!(stop, Some(b'&' | b';'))
        && !spaced
        && place.sign == b'='
        && matches!(before, Some(b'?' | b'&' | b';' | b'"' | b'\''));
    let style = if env {
        Style::Env
    } else if flag {
        Style::Flag
    } else if (over || stop == Some(b'"') || stop == Some(b'\''))
        && (place.sign == b':' || line_start || matches!(before, Some(b'?' | b'&' | b';' | b'=')))
        || listed
    {
        Style::Line
    } else {
        Style::Bare
    };
    let span = (start, start + value.len());
    offer(text, span, kind, style, rule, place.origin, found);
}

/// Whether the name is the first thing in its line, but for `export` and the like.
fn line_begins(bytes: &[u8], key: usize) -> bool {
    let from = key.saturating_sub(40);
    let before = bytes.get(from..key).unwrap_or_default();
    let before = match memchr::memrchr(b'\n', before) {
        Some(n) => before.get(n + 1..).unwrap_or_default(),
        None if from > 0 => return false,
        None => before,
    };
    let before = before.trim_ascii();
    matches!(
        before,
        b"" | b"export"
            | b"set"
            | b"-"
            | b"ENV"
            | b"ARG"
            | b"+"
            | b"$env:"
            | b">"
            | b"setx"
            | b"$"
            | b"-e"
    )
}

/// `--password value`.
pub(super) fn flag(text: &str, i: usize, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    if i > 0
        && bytes
            .get(i - 1)
            .is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    {
        return;
    }
    let rest = bytes.get(i + 2..).unwrap_or_default();
    let len = rest
        .iter()
        .take(LONGEST)
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        .count();
    let end = i + 2 + len;
    if len < 3
        || bytes.get(end) != Some(&b' ')
        || !bytes.get(end - 1).copied().is_some_and(keys::may_end)
    {
        return;
    }
    let Some(name) = text.get(i + 2..end) else {
        return;
    };
    if let Some((kind, rule)) = keys::kind(name) {
        let (start, stop) = quoted(text, end + 1).unwrap_or_else(|| {
            let rest = bytes
                .get(end + 1..(end + 1 + 512).min(bytes.len()))
                .unwrap_or_default();
            let len = rest
                .iter()
                .take_while(|b| {
                    !b.is_ascii_whitespace()
                        && !matches!(b, b'"' | b'\'' | b'`' | b';' | b'|' | b'\\' | b')')
                })
                .count();
            (end + 1, end + 1 + len)
        });
        if bytes.get(start) != Some(&b'-') {
            let span = (start, stop);
            offer(text, span, kind, Style::Flag, rule, Origin::Any, found);
        }
    } else if name == "cookie" {
        cookies::given(text, end + 1, found);
    } else if name == "user"
        && let Some((start, stop)) = quoted(text, end + 1).or_else(|| {
            let rest = bytes
                .get(end + 1..(end + 129).min(bytes.len()))
                .unwrap_or_default();
            let len = rest
                .iter()
                .take_while(|b| !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\\'))
                .count();
            Some((end + 1, end + 1 + len))
        })
        && let Some((who, password)) = text.get(start..stop).and_then(|v| v.split_once(':'))
        && memchr::memmem::find(
            bytes.get(i.saturating_sub(200)..i).unwrap_or_default(),
            b"curl",
        )
        .is_some()
        && is_secret(Kind::Password, Style::Flag, password)
    {
        let start = start + who.len() + 1;
        found(Found {
            rule: super::rules::name::COMMAND,
            start,
            end: stop,
        });
    }
}

/// What a value is under this name, in quotes: None if it is no secret.
pub(super) fn is_named_secret(key: &str, value: &str, origin: Origin) -> Option<&'static str> {
    let (kind, rule) = keys::kind(key)?;
    let set = origin == Origin::Settings && is_secret_setting(kind, value);
    (set || is_secret(kind, Style::Quoted, value)).then_some(rule)
}

fn offer(
    text: &str,
    (start, end): (usize, usize),
    kind: Kind,
    style: Style,
    rule: &'static str,
    origin: Origin,
    found: &mut impl FnMut(Found),
) {
    let Some(value) = text.get(start..end) else {
        return;
    };
    if value.contains('{') && value.contains('}') {
        return;
    }
    let set = origin == Origin::Settings && is_secret_setting(kind, value);
    if set || is_secret(kind, style, value) {
        found(Found { rule, start, end });
    }
}
