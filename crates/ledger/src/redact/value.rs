//! Whether a value is a secret, or a reference, a word, a placeholder.
//!
//! Must never take a name for a secret: identifiers have words in them, secrets do not.

/// What stands for a value that a reader has to fill in.
const STAND_INS: &str = "\
example|placeholder|your|changeme|change_me|change-me|redacted|dummy|insert|replace|todo|\
fixme|sample|xxxx|fake|foobar|not-a-|not_a_|notreal|****|....|____|----|abcdefgh|01234567|\
12345678|1111111|0000000|deadbeef|mock|lorem|\u{2022}\u{2022}|<|>";

/// Values that everybody writes where it does not matter.
const DUMMIES: &str = "\
password|passwd|pass|secret|admin|root|guest|user|postgres|mysql|test|tests|testing|none|\
null|nil|true|false|undefined|string|empty|default|required|optional|value|token|hidden|\
unset|disabled|enabled|redis|minio|minioadmin|rabbitmq|mongo|localhost|username|apikey|key|\
hello|world|mypassword|mysecret|mytoken|supersecret|passphrase|env|prompt|stdin|ask|yes|no|\
development|prod|any";

/// In code and tests nobody keeps these for a secret.
const WEAK: &[&str] = &[
    "password", "passw0rd", "pass", "secret", "test", "admin", "user", "token", "key", "pwd",
];

/// In the name of a variable that holds one.
const NAMED: &[&str] = &["pass", "pwd", "secret", "token", "key"];

/// A reader is to put something here, or a program does.
pub(super) fn stands_in(value: &str) -> bool {
    let bytes = value.as_bytes();
    let Some((&first, rest)) = bytes.split_first() else {
        return true;
    };
    let reference = match first {
        b'[' | b'<' | b'{' | b'(' => true,
        b'$' => match rest.first() {
            Some(b'{' | b'(' | b'$' | b'[') => true,
            _ => rest
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':')),
        },
        b'%' => rest.len() < 3 || rest.last() == Some(&b'%'),
        b'@' | b'#' | b'!' => rest.iter().all(|b| b.is_ascii_alphabetic() || *b == b'_'),
        _ => false,
    };
    if reference || few_kinds(bytes) {
        return true;
    }
    if has(bytes, b"${") || has(bytes, b"{{") || has(bytes, b"$(") || has(bytes, b"#{") {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    STAND_INS
        .split('|')
        .any(|word| has(lower.as_bytes(), word.as_bytes()))
}

/// Three different characters at most, or one of them over and over: nobody rolled that.
pub(super) fn few_kinds(bytes: &[u8]) -> bool {
    let mut kinds = [0_u16; 256];
    for &byte in bytes {
        if let Some(count) = kinds.get_mut(usize::from(byte)) {
            *count = count.saturating_add(1);
        }
    }
    let different = kinds.iter().filter(|count| **count > 0).count();
    let most = kinds.iter().max().copied().unwrap_or(0);
    different <= 3 || (bytes.len() >= 16 && usize::from(most) * 2 > bytes.len())
}

fn has(text: &[u8], part: &[u8]) -> bool {
    text.len() >= part.len() && memchr::memmem::find(text, part).is_some()
}

/// Where a value comes from at run time, or a file that holds it.
pub(super) fn refers(value: &str) -> bool {
    const AT_RUN_TIME: &str = "\
process.env|os.environ|getenv|env::var|import.meta|env.|env:|secrets.|vault:|op://|arn:|\
ssm:|file:|sm://|config.|self.|this.|settings.|options.|opts.|args.|req.|request.|ctx.|\
keychain|data.|props.|state.|params.|vars.|var.|local.";
    if AT_RUN_TIME.split('|').any(|word| value.starts_with(word)) {
        return true;
    }
    let path = value.starts_with('/')
        || value.starts_with("./")
        || value.starts_with("~/")
        || value.starts_with("../")
        || has(value.as_bytes(), b"://");
    path && !random(value)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Other,
}

fn class(byte: u8) -> Class {
    match byte {
        b'a'..=b'z' => Class::Lower,
        b'A'..=b'Z' => Class::Upper,
        b'0'..=b'9' => Class::Digit,
        _ => Class::Other,
    }
}

/// How often the kind of character changes inside of the parts between separators. The capital at
/// a word's beginning counts once, with the word.
fn changes(value: &[u8]) -> usize {
    let mut count = 0;
    let mut last = Class::Other;
    let mut before = Class::Other;
    for &byte in value {
        let now = class(byte);
        if now != last && now != Class::Other && last != Class::Other {
            let word_begins = last == Class::Upper && now == Class::Lower && before != Class::Upper;
            if !word_begins {
                count += 1;
            }
        }
        before = last;
        last = now;
    }
    count
}

/// Rolled by a machine: the kinds of characters are mixed as no name mixes them.
pub(super) fn random(value: &str) -> bool {
    let bytes = value.as_bytes();
    if bytes.len() < 16 || !value.is_ascii() {
        return false;
    }
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = bytes.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let changes = changes(bytes);
    let len = digits + letters;
    if letters == 0 || len * 4 < bytes.len() * 3 {
        return false;
    }
    if digits == 0 {
        return len >= 20 && changes * 10 >= len * 3;
    }
    changes >= 4 && (changes * 100 >= len * 22)
        || (len >= 24 && digits >= 4 && changes * 6 >= len && longest_word(bytes, Class::Lower) < 6)
}

/// Letters of one case in a row.
fn longest_word(bytes: &[u8], case: Class) -> usize {
    bytes
        .split(|b| class(*b) != case)
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0)
}

/// As people make them: letters and digits with a sign, or digits in the midst of letters.
fn made_up(value: &str) -> bool {
    let bytes = value.as_bytes();
    let letter = bytes.iter().any(u8::is_ascii_alphabetic) || !value.is_ascii();
    let digit = bytes.iter().any(u8::is_ascii_digit);
    let sign = bytes.iter().enumerate().any(|(i, b)| match b {
        b'!' | b'@' | b'#' | b'$' | b'^' | b'&' | b'*' | b'?' | b'+' | b'~' | b'=' => true,
        // `%20` is a character of an address
        b'%' => !bytes
            .get(i + 1..i + 3)
            .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)),
        _ => false,
    });
    let inside = bytes.windows(3).filter(|w| matches!(w, [a, b, c] if a.is_ascii_alphabetic() && b.is_ascii_digit() && c.is_ascii_alphabetic())).count();
    let mixed = bytes.len() >= 8 && changes(bytes) * 10 >= bytes.len() * 3;
    bytes.len() >= 7 && letter && ((digit && sign) || inside >= 2 || mixed)
}

/// Words with `_`, `-`, `.` or `/` between them, a small number perhaps: a name.
fn worded(value: &str) -> bool {
    let mut parts = 0;
    for part in value.split(['_', '-', '.', '/', ':']) {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = part.len() - letters.len();
        if digits > 4 || !letters.bytes().all(|b| b.is_ascii_alphabetic()) {
            return false;
        }
        parts += 1;
    }
    parts > 1
}

pub(super) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// What a name says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// People make them up.
    Password,
    /// Machines make them.
    Secret,
    /// Machines make them, and the word has other uses.
    Token,
}

/// How the value stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// In quotes: code, JSON.
    Quoted,
    /// `NAME=value`, as shells and their files write it.
    Env,
    /// The rest of a line, or a part of a query or of a list of settings.
    Line,
    /// The word behind a flag.
    Flag,
    /// Without quotes in what may be code.
    Bare,
}

/// Whether somebody gave it: no placeholder, no reference, no word that everybody writes there.
pub(super) fn is_given(value: &str) -> bool {
    let one = (4..=4096).contains(&value.len()) && !value.contains([' ', '\t']);
    one && !stands_in(value)
        && !refers(value)
        && !DUMMIES
            .split('|')
            .any(|word| word.eq_ignore_ascii_case(value))
}

/// Whether a value is to be taken out that stands in a file of settings under such a name: there it
/// is what it says, also if it is made of words.
pub(super) fn is_secret_setting(kind: Kind, value: &str) -> bool {
    let digit = value.bytes().any(|b| b.is_ascii_digit());
    is_given(value)
        && match kind {
            Kind::Password => true,
            Kind::Secret => value.len() >= 8,
            Kind::Token => value.len() >= 12 && digit && !is_uuid(value),
        }
}

/// Whether a word is to be taken out of which a sentence says that it is the password.
pub(super) fn is_spoken_password(value: &str) -> bool {
    /// What a password can be said to be, with a number in its name.
    const NAMES: &[&str] = &[
        "sha1", "sha2", "sha3", "sha5", "sha-", "md5", "argon2", "bcrypt", "scrypt", "pbkdf2",
        "base64", "utf8", "utf-", "oauth2", "http", "aes1", "aes2", "aes-", "ed25519", "rsa2",
    ];
    let lower = value.to_ascii_lowercase();
    let letter = value.chars().any(char::is_alphabetic);
    let digit = value.chars().any(char::is_numeric);
    if NAMES.iter().any(|name| lower.starts_with(name)) || value.contains(['(', '/']) {
        return random(value);
    }
    is_secret(Kind::Password, Style::Line, value)
        || (is_given(value) && value.len() >= 6 && letter && digit)
}

/// Whether it is to be taken out.
pub(super) fn is_secret(kind: Kind, style: Style, value: &str) -> bool {
    if !is_given(value) {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    let bytes = value.as_bytes();
    let letter = bytes.iter().any(u8::is_ascii_alphabetic);
    let digit = bytes.iter().any(u8::is_ascii_digit);
    let plain = bytes.iter().all(u8::is_ascii_alphanumeric);
    let rolled = random(value) || (bytes.len() >= 16 && hex(bytes));
    match kind {
        Kind::Token => rolled && !is_uuid(value),
        Kind::Secret => match style {
            Style::Bare => rolled && !is_uuid(value),
            // a shell takes it as it stands there
            Style::Env if bytes.len() >= 10 && letter && digit && !weak(&lower) => true,
            Style::Quoted | Style::Env | Style::Line | Style::Flag => {
                rolled || is_uuid(value) || (bytes.len() >= 10 && made_up(value) && !worded(value))
            }
        },
        Kind::Password => {
            if rolled || (made_up(value) && !worded(value)) {
                return true;
            }
            let weak = weak(&lower);
            match style {
                // a shell takes it as it stands there; code may mean a variable of that name
                Style::Env => {
                    (bytes.len() >= 6 && (plain || digit))
                        || (bytes.len() >= 8 && !(weak || NAMED.iter().any(|n| lower.contains(n))))
                }
                Style::Flag => bytes.len() >= 6 && letter && digit,
                Style::Line => bytes.len() >= 6 && letter && digit && !worded(value),
                Style::Quoted => bytes.len() >= 6 && letter && digit && !worded(value) && !weak,
                Style::Bare => false,
            }
        }
    }
}

/// As people write it where it does not matter.
fn weak(lower: &str) -> bool {
    WEAK.iter().any(|word| lower.starts_with(word))
        || lower.ends_with("password")
        || lower.ends_with("pass")
}

fn hex(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_hexdigit)
        && bytes.iter().any(u8::is_ascii_digit)
        && bytes.iter().any(u8::is_ascii_alphabetic)
}

/// Whether the characters after a provider's beginning can have been issued: no placeholder, and
/// no words.
pub(super) fn issued(body: &str) -> bool {
    let bytes = body.as_bytes();
    if few_kinds(bytes) || stands_in(body) {
        return false;
    }
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    let alnum = bytes.iter().filter(|b| b.is_ascii_alphanumeric()).count();
    let changes = changes(bytes);
    (changes * 100 >= alnum * 15 || (digits >= 6 && changes >= 3))
        && longest_word(bytes, Class::Lower) < 16
        && longest_word(bytes, Class::Upper) < 26
}
