//! Secrets that are known by their shape or their place: keys in blocks, signed tokens, passwords
//! in addresses, headers and command lines.
//!
//! Must never take more than the secret: user, host and command stay readable.

use super::rules::name;
use super::scan::begins_word;
use super::value::{Kind, Style, is_secret, issued, random, stands_in};
use super::{Found, assign, cookies};

/// Everything that can begin with this pair of bytes.
pub(super) fn at(text: &str, i: usize, first: u8, second: u8, found: &mut impl FnMut(Found)) {
    match (first, second) {
        (b'-', b'-') => {
            block(text, i, found);
            assign::flag(text, i, found);
        }
        (b'-', b'b') => cookies::flag(text, i, found),
        (b'-', _) => command(text, i, second, found),
        (b'B' | b'b', _) => {
            scheme(text, i, found);
            identified_by(text, i, found);
        }
        (b'e', b'y') => signed(text, i, found),
        (b'M' | b'N' | b'O', _) => discord(text, i, found),
        (b'Q', b'~') => azure(text, i, found),
        (b'o', b'k') => discord_hook(text, i, found),
        _ => {}
    }
}

pub(super) fn starts(text: &str, at: usize, word: &str) -> bool {
    text.as_bytes()
        .get(at..at + word.len())
        .is_some_and(|have| have.eq_ignore_ascii_case(word.as_bytes()))
}

pub(super) fn run(text: &str, at: usize, most: usize, fits: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    at + rest.iter().take(most).take_while(|b| fits(**b)).count()
}

fn base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// `-----BEGIN … PRIVATE KEY-----` to its end, or as far as it goes.
fn block(text: &str, i: usize, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    if i > 0 && bytes.get(i - 1) == Some(&b'-') || !starts(text, i, "-----BEGIN ") {
        return;
    }
    let Some(head) = bytes.get(i + 11..(i + 80).min(bytes.len())) else {
        return;
    };
    let Some(close) = memchr::memmem::find(head, b"-----") else {
        return;
    };
    let title = head.get(..close).unwrap_or_default();
    if memchr::memmem::find(title, b"PRIVATE KEY").is_none()
        || memchr::memchr(b'\n', title).is_some()
    {
        return;
    }
    let body = i + 11 + close + 5;
    let limit = (body + 16_384).min(bytes.len());
    let rest = bytes.get(body..limit).unwrap_or_default();
    let stop = memchr::memmem::find(rest, b"-----");
    let (inside, end) = match stop {
        Some(stop) if starts(text, body + stop, "-----END") => {
            let tail = bytes.get(body + stop + 5..).unwrap_or_default();
            let close =
                memchr::memmem::find(tail.get(..60.min(tail.len())).unwrap_or_default(), b"-----");
            (stop, body + stop + 5 + close.map_or(3, |c| c + 5))
        }
        Some(_) | None => {
            // cut off: whatever still looks like a part of it
            let len = rest
                .iter()
                .take_while(|b| {
                    b.is_ascii_alphanumeric()
                        || matches!(
                            b,
                            b'+' | b'/' | b'=' | b'\n' | b'\r' | b'\\' | b' ' | b'|' | b'>'
                        )
                })
                .count();
            (len, body + len)
        }
    };
    let letters = rest
        .get(..inside)
        .unwrap_or_default()
        .split(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')))
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    if letters >= 24 {
        let mut end = end;
        while end > i && matches!(bytes.get(end - 1), Some(b'\n' | b'\r' | b' ')) {
            end -= 1;
        }
        found(Found {
            rule: name::PRIVATE_KEY,
            start: i,
            end,
        });
    }
}

/// `eyJ….eyJ….…`: a signed token; or the five parts of an encrypted one.
fn signed(text: &str, i: usize, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    if !starts(text, i, "eyJ") || bytes.get(i + 2) != Some(&b'J') || !begins_word(bytes, i) {
        return;
    }
    let head = run(text, i, 2048, base64url);
    if head - i < 12 || bytes.get(head) != Some(&b'.') {
        return;
    }
    let body = run(text, head + 1, 65_536, base64url);
    let more = run(text, body, 65_536, |b| base64url(b) || b == b'.');
    let encrypted = more > body + 40
        && text
            .get(body..more)
            .is_some_and(|t| t.matches('.').count() == 3);
    if (starts(text, head + 1, "eyJ") && body - head > 8) || encrypted {
        let mut end = more;
        while end > body && bytes.get(end - 1) == Some(&b'.') {
            end -= 1;
        }
        found(Found {
            rule: name::JWT,
            start: i,
            end,
        });
    }
}

/// `scheme://user:password@host`, and a token in the user's place.
pub(super) fn address(text: &str, colon: usize, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    let from = colon + 3;
    let rest = bytes
        .get(from..(from + 300).min(bytes.len()))
        .unwrap_or_default();
    let len = rest
        .iter()
        .take_while(|b| {
            !b.is_ascii_whitespace()
                && !matches!(
                    b,
                    b'/' | b'"'
                        | b'\''
                        | b'`'
                        | b'<'
                        | b'>'
                        | b'\\'
                        | b'?'
                        | b'#'
                        | b','
                        | b'('
                        | b')'
                )
        })
        .count();
    let Some(at) = rest
        .get(..len)
        .and_then(|authority| memchr::memrchr(b'@', authority))
    else {
        // a password with a slash or a mark in it: the sign is further on
        address_odd(text, from, rest, found);
        return;
    };
    judge_user(text, from, from + at, from + len, found);
}

fn address_odd(text: &str, from: usize, rest: &[u8], found: &mut impl FnMut(Found)) {
    let line = rest
        .iter()
        .take_while(|b| {
            !b.is_ascii_whitespace()
                && !matches!(
                    b,
                    b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b',' | b'(' | b')' | b'/'
                )
        })
        .count();
    let Some(part) = rest.get(..line) else { return };
    if let Some(at) = memchr::memchr(b'@', part)
        && memchr::memchr2(b'#', b'?', part)
            .is_some_and(|mark| mark < at && memchr::memchr(b':', part).is_some_and(|c| c < mark))
    {
        judge_user(text, from, from + at, from + line, found);
    }
}

fn judge_user(text: &str, from: usize, at: usize, end: usize, found: &mut impl FnMut(Found)) {
    let (Some(user), Some(host)) = (text.get(from..at), text.get(at + 1..end)) else {
        return;
    };
    if !host.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '[' | '$' | '{' | '_'))
    {
        return;
    }
    let Some((who, password)) = user.split_once(':') else {
        if user.len() >= 20 && (random(user) || issued(user)) {
            found(Found {
                rule: name::URL_TOKEN,
                start: from,
                end: at,
            });
        }
        return;
    };
    let host = host.split(':').next().unwrap_or(host);
    let local = !host.contains('.') || host.starts_with("127.") || host == "0.0.0.0";
    let lower = password.to_ascii_lowercase();
    let dummy = matches!(
        lower.as_str(),
        "password"
            | "pass"
            | "passwd"
            | "pw"
            | "pwd"
            | "secret"
            | "token"
            | "changeme"
            | "x"
            | "user"
            | "x-oauth-basic"
    );
    let default = local
        && (password == who
            || matches!(
                lower.as_str(),
                "postgres" | "root" | "admin" | "test" | "guest" | "mysql" | "mongo"
            ));
    let example = host == "host" || host.starts_with('$') || host.starts_with('{');
    if password.len() < 3
        || stands_in(password)
        || dummy
        || default
        || (example && !random(password))
        || (password == who && who.len() < 9)
        || (password.contains('{') && password.contains('}'))
    {
        return;
    }
    found(Found {
        rule: name::URL_PASSWORD,
        start: from + who.len() + 1,
        end: at,
    });
}

/// `Bearer …`, `Basic …`.
fn scheme(text: &str, i: usize, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    let bearer = starts(text, i, "bearer ");
    if !(bearer || starts(text, i, "basic ")) || !begins_word(bytes, i) {
        return;
    }
    let start = i + if bearer { 7 } else { 6 };
    let end = run(text, start, 4096, |b| {
        base64url(b) || matches!(b, b'.' | b'~' | b'+' | b'/' | b'=')
    });
    let Some(value) = text.get(start..end) else {
        return;
    };
    let value = value.trim_end_matches('.');
    let end = start + value.len();
    if bearer {
        let hex = value.len() >= 16
            && value.bytes().all(|b| b.is_ascii_hexdigit())
            && value.bytes().any(|b| b.is_ascii_digit());
        if !stands_in(value)
            && (in_header(bytes, i) && is_given(value)
                || random(value)
                || hex
                || (value.len() >= 20
                    && issued(value)
                    && value.bytes().any(|b| b.is_ascii_digit())))
        {
            found(Found {
                rule: name::BEARER,
                start,
                end,
            });
        }
    } else if value.len() >= 8 && credentials(value) {
        found(Found {
            rule: name::BASIC,
            start,
            end,
        });
    }
}

/// Whether `Authorization:` stands right before: what follows the scheme is what is sent.
fn in_header(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(at.saturating_sub(32)..at).unwrap_or_default();
    let end = before
        .iter()
        .rposition(|b| !matches!(b, b' ' | b'\t' | b':' | b'=' | b'"' | b'\'' | b'`' | b'\\'))
        .map_or(0, |last| last + 1);
    let name = before.get(..end).unwrap_or_default();
    let named = |word: &[u8]| {
        name.len().checked_sub(word.len()).is_some_and(|from| {
            name.get(from..)
                .is_some_and(|name| name.eq_ignore_ascii_case(word))
        })
    };
    named(b"authorization")
}

/// Whether somebody put a value there, and not the name of one: `access_token`, `MY_JWT`.
fn is_given(value: &str) -> bool {
    let digit = value.bytes().any(|b| b.is_ascii_digit());
    let loud = !value.bytes().any(|b| b.is_ascii_lowercase());
    let lower = value.to_ascii_lowercase();
    let named = ["token", "jwt", "key", "secret", "auth"]
        .iter()
        .any(|word| lower.contains(word));
    match digit {
        true => value.len() >= 6,
        false => value.len() >= 8 && !loud && !named,
    }
}

/// Whether this is base64 of `user:password`.
fn credentials(value: &str) -> bool {
    let mut bits = 0_u32;
    let mut count = 0;
    let mut colon = false;
    let mut plain: Vec<u8> = Vec::with_capacity(value.len());
    for byte in value.trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            let byte = u8::try_from(bits >> count & 0xff).unwrap_or(0);
            if !(0x20..0x7f).contains(&byte) {
                return false;
            }
            colon |= byte == b':';
            plain.push(byte);
        }
    }
    let Ok(plain) = String::from_utf8(plain) else {
        return false;
    };
    let password = plain.split_once(':').map_or("", |(_, password)| password);
    colon
        && !password.is_empty()
        && !matches!(password, "password" | "pass" | "passwd" | "secret")
        && !stands_in(password)
}

/// `123456789:AA…`: a bot's token.
pub(super) fn telegram(text: &str, colon: usize, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    if !starts(text, colon, ":AA") || bytes.get(colon + 1) != Some(&b'A') {
        return;
    }
    let before = bytes
        .get(colon.saturating_sub(12)..colon)
        .unwrap_or_default();
    let digits = before
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_digit())
        .count();
    let end = run(text, colon + 1, 64, base64url);
    if (8..=10).contains(&digits) && (33..=36).contains(&(end - colon - 1)) {
        found(Found {
            rule: name::TELEGRAM,
            start: colon - digits,
            end,
        });
    }
}

/// Three parts with dots, the first the number of a bot in base64.
fn discord(text: &str, i: usize, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    let head = [23, 24, 25, 26, 27, 28]
        .into_iter()
        .find(|n| bytes.get(i + n) == Some(&b'.') && bytes.get(i + n + 7) == Some(&b'.'));
    let Some(head) = head else { return };
    if !begins_word(bytes, i) {
        return;
    }
    let first = run(text, i, 40, |b| b.is_ascii_alphanumeric());
    let second = run(text, i + head + 1, 10, base64url);
    let third = run(text, i + head + 8, 64, base64url);
    if first == i + head
        && second == i + head + 7
        && (27..=40).contains(&(third - i - head - 8))
        && text.get(i..first).is_some_and(issued)
    {
        found(Found {
            rule: name::DISCORD,
            start: i,
            end: third,
        });
    }
}

/// `…/api/webhooks/<number>/<token>`.
fn discord_hook(text: &str, i: usize, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    // from `ok` of `webhooks`
    if !starts(text, i, "oks/")
        || !i
            .checked_sub(5)
            .is_some_and(|from| starts(text, from, "webhooks/"))
    {
        return;
    }
    let digits = run(text, i + 4, 24, |b| b.is_ascii_digit());
    if digits - (i + 4) < 16 || bytes.get(digits) != Some(&b'/') {
        return;
    }
    let end = run(text, digits + 1, 100, base64url);
    if end - digits > 40 {
        found(Found {
            rule: name::DISCORD_HOOK,
            start: digits + 1,
            end,
        });
    }
}

/// `abc8Q~…`: a client's secret.
fn azure(text: &str, i: usize, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    let fits = |b: u8| base64url(b) || matches!(b, b'.' | b'~');
    let Some(start) = i.checked_sub(4) else {
        return;
    };
    let head = bytes.get(start..i).unwrap_or_default();
    let end = run(text, i + 2, 40, fits);
    if head.iter().all(|b| fits(*b))
        && head.last().is_some_and(u8::is_ascii_digit)
        && (30..=36).contains(&(end - i - 2))
    {
        found(Found {
            rule: name::AZURE_SECRET,
            start,
            end,
        });
    }
}

/// `IDENTIFIED BY '…'`.
fn identified_by(text: &str, i: usize, found: &mut impl FnMut(Found)) {
    let before = i
        .checked_sub(11)
        .is_some_and(|from| starts(text, from, "identified "));
    if !before || !starts(text, i, "by ") {
        return;
    }
    if let Some((start, end)) = assign::quoted(text, i + 3)
        && text.get(start..end).is_some_and(|value| {
            !stands_in(value) && value.len() > 3 && is_secret(Kind::Password, Style::Env, value)
        })
    {
        found(Found {
            rule: name::PASSWORD,
            start,
            end,
        });
    }
}

/// `curl -u user:password`, `mysql -ppassword`, `sshpass -p password`, `redis-cli -a password`.
fn command(text: &str, i: usize, flag: u8, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    if !i
        .checked_sub(1)
        .and_then(|b| bytes.get(b))
        .is_some_and(|b| b.is_ascii_whitespace())
    {
        return;
    }
    let from = i.saturating_sub(240);
    let before = bytes.get(from..i).unwrap_or_default();
    let before = memchr::memrchr2(b'\n', b';', before)
        .and_then(|n| before.get(n..))
        .unwrap_or(before);
    let ran = |word: &[u8]| memchr::memmem::find(before, word).is_some();
    let spaced = bytes.get(i + 2) == Some(&b' ');
    let start = if spaced { i + 3 } else { i + 2 };
    let (start, end) = assign::quoted(text, start).unwrap_or_else(|| {
        (
            start,
            run(text, start, 128, |b| {
                !b.is_ascii_whitespace()
                    && !matches!(
                        b,
                        b'"' | b'\'' | b'`' | b';' | b'|' | b'&' | b'\\' | b'<' | b'>' | b')'
                    )
            }),
        )
    });
    let Some(value) = text.get(start..end) else {
        return;
    };
    let (start, value) = match flag {
        b'u' if ran(b"curl") || ran(b"wget") || ran(b"http ") => match value.split_once(':') {
            Some((who, password)) => (start + who.len() + 1, password),
            None => return,
        },
        b'p' if !spaced && (ran(b"mysql") || ran(b"mariadb") || ran(b"7z ")) => (start, value),
        b'p' if spaced
            && (ran(b"sshpass")
                || ran(b"docker login")
                || ran(b"az login")
                || ran(b"podman login")) =>
        {
            (start, value)
        }
        b'a' if spaced && ran(b"redis-cli") => (start, value),
        _ => return,
    };
    if value.len() >= 4 && is_secret(Kind::Password, Style::Env, value) {
        found(Found {
            rule: name::COMMAND,
            start,
            end: start + value.len(),
        });
    }
}
