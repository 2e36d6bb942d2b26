//! The pass over a text, and the tokens that have a beginning of their own.
//!
//! Each byte costs one look into a table; must never go back further than a bounded distance, so
//! that the time grows with the length of the text alone.

use super::rules::{Body, RULES, Rule, Start};
use super::value::issued;
use super::{Found, Origin, assign, cookies, shapes, spoken};

/// Pairs of bytes at which something can begin: one bit each.
static PAIRS: [u64; 1024] = pairs();
/// Rules by the first, second and third byte of their beginning: one bit each.
static FIRST: [u128; 128] = by_byte(0);
static SECOND: [u128; 128] = by_byte(1);
static THIRD: [u128; 128] = by_byte(2);

const _: () = assert!(RULES.len() <= 128, "a rule is a bit");

const fn by_byte(at: usize) -> [u128; 128] {
    let mut masks = [0_u128; 128];
    let mut rule = 0;
    while rule < RULES.len() {
        let prefix = RULES[rule].prefix.as_bytes();
        if at < prefix.len() {
            masks[prefix[at] as usize] |= 1 << rule;
        } else {
            let mut byte = 0;
            while byte < 128 {
                masks[byte] |= 1 << rule;
                byte += 1;
            }
        }
        rule += 1;
    }
    masks
}

const fn with(table: [u64; 1024], first: u8, second: u8) -> [u64; 1024] {
    let mut table = table;
    let pair = (first as usize) << 8 | second as usize;
    table[pair >> 6] |= 1 << (pair & 63);
    table
}

const fn pairs() -> [u64; 1024] {
    let mut table = [0_u64; 1024];
    let mut rule = 0;
    while rule < RULES.len() {
        let prefix = RULES[rule].prefix.as_bytes();
        table = with(table, prefix[0], prefix[1]);
        rule += 1;
    }
    let mut second = 0;
    while second < 256 {
        let byte = second as u8;
        table = with(table, b'=', byte);
        if byte != b':' {
            table = with(table, b':', byte);
        }
        second += 1;
    }
    let words: [&[u8; 2]; 15] = [
        b"--", b"Be", b"be", b"BE", b"Ba", b"ba", b"BY", b"by", b"ey", b"-u", b"-p", b"-a", b"Q~",
        b"ok", b"-b",
    ];
    let mut word = 0;
    while word < words.len() {
        table = with(table, words[word][0], words[word][1]);
        word += 1;
    }
    let mut word = 0;
    while word < spoken::WORDS.len() {
        let [first, second] = spoken::mark(word);
        table = with(table, first, second);
        table = with(
            table,
            first.to_ascii_uppercase(),
            second.to_ascii_uppercase(),
        );
        word += 1;
    }
    // a token in three parts begins with one of these
    let mut second = b'0';
    while second <= b'z' {
        table = with(table, b'M', second);
        table = with(table, b'N', second);
        table = with(table, b'O', second);
        second += 1;
    }
    table
}

/// Where the next pair stands at which something can begin. By itself, and small: what is done there
/// must not slow down the way.
#[inline(never)]
fn next(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let place = rest.windows(2).position(|pair| {
        let &[first, second] = pair else { return false };
        let index = usize::from(first) << 8 | usize::from(second);
        PAIRS[index >> 6] >> (index & 63) & 1 != 0
    })?;
    Some(from + place)
}

/// Calls `found` with every secret. They may lie over one another.
pub(super) fn scan(text: &str, origin: Origin, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(i) = next(bytes, from) {
        from = i + 1;
        let (Some(&first), Some(&second)) = (bytes.get(i), bytes.get(i + 1)) else {
            return;
        };
        look(text, i, (first, second), origin, found);
    }
}

#[inline(never)]
fn look(
    text: &str,
    i: usize,
    (first, second): (u8, u8),
    origin: Origin,
    found: &mut impl FnMut(Found),
) {
    match first {
        b'=' => {
            assign::at(text, i, origin, found);
            cookies::header(text, i, found);
        }
        b':' => {
            if second == b'/' && text.as_bytes().get(i + 2) == Some(&b'/') {
                shapes::address(text, i, found);
            } else {
                shapes::telegram(text, i, found);
                assign::at(text, i, origin, found);
                cookies::header(text, i, found);
            }
        }
        _ => {
            shapes::at(text, i, first, second, found);
            spoken::at(text, i, first, second, found);
            tokens(text, i, found);
        }
    }
}

fn tokens(text: &str, at: usize, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    let of = |table: &[u128; 128], i: usize| {
        bytes
            .get(i)
            .and_then(|b| table.get(usize::from(*b)))
            .copied()
            .unwrap_or(0)
    };
    let mut candidates = of(&FIRST, at) & of(&SECOND, at + 1) & of(&THIRD, at + 2);
    while candidates != 0 {
        let Some(rule) = RULES.get(candidates.trailing_zeros() as usize) else {
            return;
        };
        candidates &= candidates - 1;
        if let Some(end) = token(text, at, rule) {
            found(Found {
                rule: rule.name,
                start: at,
                end,
            });
            return;
        }
    }
}

/// Where the token that begins here by this rule ends.
fn token(text: &str, at: usize, rule: &Rule) -> Option<usize> {
    let bytes = text.as_bytes();
    let rest = bytes.get(at..)?.strip_prefix(rule.prefix.as_bytes())?;
    if rule.start == Start::Word && !begins_word(bytes, at) {
        return None;
    }
    let mut len = rest
        .iter()
        .take(rule.most + 1)
        .take_while(|b| rule.body.has(**b))
        .count();
    if len > rule.most {
        return None;
    }
    while len > 0
        && matches!(rest.get(len - 1), Some(b'.' | b'-' | b'='))
        && rule.body != Body::Base64
    {
        len -= 1;
    }
    let after = rest.get(len..)?;
    if after.first().is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    // the end of it may have been cut off by whoever wrote the text
    let cut = after.starts_with("…".as_bytes()) || after.starts_with(b"...");
    if len < rule.least && !(cut && len >= 8 && rule.prefix.len() > 2) {
        return None;
    }
    let start = at + rule.prefix.len();
    let body = text.get(start..start + len)?;
    let digits = body.bytes().any(|b| b.is_ascii_digit());
    let fine = match rule.body {
        Body::Upper => !super::value::stands_in(body),
        Body::Hex => digits && !super::value::stands_in(body),
        Body::Alnum | Body::Word | Body::Dotted | Body::Base64 => issued(body),
    };
    fine.then_some(start + len)
}

/// Whether a word begins here: at the text's beginning, behind something that is no letter or
/// digit, behind an escaped line end, a colour, or an encoded character.
pub(super) fn begins_word(bytes: &[u8], at: usize) -> bool {
    let before = |n: usize| at.checked_sub(n).and_then(|i| bytes.get(i)).copied();
    let Some(last) = before(1) else { return true };
    if !last.is_ascii_alphanumeric() {
        return !matches!(last, b'_') || before(2).is_none_or(|b| !b.is_ascii_alphanumeric());
    }
    if matches!(last, b'n' | b't' | b'r') && before(2) == Some(b'\\') {
        return true;
    }
    if before(3) == Some(b'%')
        && last.is_ascii_hexdigit()
        && before(2).is_some_and(|b| b.is_ascii_hexdigit())
    {
        return true;
    }
    last == b'm'
        && (2..8)
            .map_while(before)
            .find(|b| !b.is_ascii_digit() && *b != b';')
            == Some(b'[')
}
