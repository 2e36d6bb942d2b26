//! The values of cookies: whoever has them is logged in.
//!
//! Must never take what a cookie is told to be: its path, its age, its domain.

use super::Found;
use super::assign::quoted;
use super::rules::name;
use super::shapes::{run, starts};
use super::value::{is_uuid, stands_in};

/// What stands beside the value of a cookie and says what becomes of it.
const ATTRIBUTES: &[&str] = &[
    "path", "domain", "expires", "max-age", "samesite", "version", "priority", "comment",
];

/// Settings that people keep in cookies: no login.
const SETTINGS: &[&str] = &[
    "theme", "lang", "locale", "tz", "timezone", "consent", "color", "currency",
];

/// Cookies that are known by their name, wherever they stand.
const LOGINS: &[&str] = &[
    "phpsessid",
    "jsessionid",
    "connect.sid",
    "asp.net_sessionid",
    ".aspxauth",
    "laravel_session",
    "_session_id",
    "sessionid",
    "session",
    "sid",
    "__host-session",
    "__secure-next-auth.session-token",
    "next-auth.session-token",
    "wordpress_logged_in",
    "sessionkey",
];

/// The shortest value that can stand for a login.
const LEAST: usize = 12;

/// At `=` or `:`: `Cookie: a=b; c=d`, `Set-Cookie: a=b; Path=/`, `PHPSESSID=…`.
pub(super) fn header(text: &str, i: usize, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    let mut end = i;
    while end > 0
        && i - end < 6
        && matches!(bytes.get(end - 1), Some(b' ' | b'"' | b'\'' | b'\\' | b']'))
    {
        end -= 1;
    }
    if !matches!(
        bytes.get(end.wrapping_sub(1)),
        Some(b'e' | b's' | b'E' | b'S' | b'd' | b'D' | b'n' | b'h' | b'H' | b'y')
    ) {
        return;
    }
    let ends = |word: &str| {
        let from = end.checked_sub(word.len());
        from.filter(|from| starts(text, *from, word))
    };
    let begins = |from: usize| {
        from.checked_sub(1)
            .and_then(|at| bytes.get(at))
            .is_none_or(|b| !b.is_ascii_alphanumeric())
    };
    let cookie = ends("cookie").or_else(|| ends("cookies"));
    let mut start = i + 1;
    while matches!(bytes.get(start), Some(b' ' | b'\t')) && start - i < 8 {
        start += 1;
    }
    if cookie.is_some_and(&begins) {
        let (from, to) = quoted(text, start).unwrap_or_else(|| (start, line_end(text, start)));
        list(text, from, to, found);
        return;
    }
    if bytes.get(i) != Some(&b'=') || start > i + 1 {
        return;
    }
    let named = LOGINS.iter().find_map(|login| ends(login));
    if named.is_some_and(|from| {
        begins(from) && from.checked_sub(1).and_then(|at| bytes.get(at)) != Some(&b'-')
    }) {
        let to = value_end(text, start);
        offer(text, start, to, found);
    }
}

/// `curl -b 'a=b; c=d'`.
pub(super) fn flag(text: &str, i: usize, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    let before = bytes.get(i.saturating_sub(200)..i).unwrap_or_default();
    let blank = before.last().is_some_and(u8::is_ascii_whitespace);
    if !blank || memchr::memmem::find(before, b"curl").is_none() || bytes.get(i + 2) != Some(&b' ')
    {
        return;
    }
    given(text, i + 3, found);
}

/// The word behind a flag, in quotes or not.
pub(super) fn given(text: &str, at: usize, found: &mut impl FnMut(Found)) {
    let (from, to) = quoted(text, at).unwrap_or_else(|| {
        let end = run(text, at, 1024, |b| {
            !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'')
        });
        (at, end)
    });
    list(text, from, to, found);
}

fn line_end(text: &str, from: usize) -> usize {
    run(text, from, 4096, |b| {
        !matches!(b, b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'\\')
    })
}

fn value_end(text: &str, from: usize) -> usize {
    run(text, from, 1024, |b| {
        !b.is_ascii_whitespace()
            && !matches!(
                b,
                b';' | b',' | b'"' | b'\'' | b'`' | b'\\' | b'&' | b')' | b'}' | b'<' | b'>'
            )
    })
}

/// `name=value; name=value`.
fn list(text: &str, from: usize, to: usize, found: &mut impl FnMut(Found)) {
    let Some(cookies) = text.get(from..to) else {
        return;
    };
    let mut at = from;
    for part in cookies.split(';').take(64) {
        if let Some((name, value)) = part.split_once('=') {
            let name = name.trim().to_ascii_lowercase();
            let told = ATTRIBUTES.contains(&name.as_str()) || SETTINGS.contains(&name.as_str());
            let start = at + part.len() - value.len();
            let end = value_end(text, start).min(at + part.len());
            if !told && !name.contains(' ') {
                offer(text, start, end, found);
            }
        }
        at += part.len() + 1;
    }
}

fn offer(text: &str, start: usize, end: usize, found: &mut impl FnMut(Found)) {
    let Some(value) = text.get(start..end) else {
        return;
    };
    let digit = value.bytes().any(|b| b.is_ascii_digit());
    let letter = value.bytes().any(|b| b.is_ascii_alphabetic());
    if value.len() >= LEAST
        && digit
        && letter
        && !is_uuid(value)
        && !stands_in(value)
        && !value.contains(['(', '{', '$'])
    {
        found(Found {
            rule: name::COOKIE,
            start,
            end,
        });
    }
}
