//! Passwords that people say in a sentence, each in their own language: `the password is …`,
//! `das Passwort lautet …`, `mot de passe : …`, `密码是…`.
//!
//! Must never take a word of the sentence: what is said to be the password has a digit in it, as
//! no word has. One without is taken only where it cannot be said of a password: behind `lautet`, in
//! quotation marks, or with a number at its end as a word (`hunterzwei`).

use super::assign::quoted;
use super::rules::name;
use super::shapes::{run, starts};
use super::value::{is_given, is_spoken_password};
use super::{Found, keys};

/// What people call it, in small letters, and where in it the two bytes stand by which it is
/// noticed: such as are rare in other words.
pub(super) const WORDS: &[(&str, usize)] = &[
    ("password", 3),
    ("passwort", 3),
    ("passwords", 3),
    ("kennwort", 3),
    ("passphrase", 4),
    ("passcode", 3),
    ("passe", 2),   // mot de passe, palavra-passe
    ("passord", 2), // Norwegian
    ("contraseña", 8),
    ("contrasenya", 8),
    ("contrasena", 6),
    ("clave", 2),
    ("senha", 2),
    ("parola", 3),
    ("wachtwoord", 4),
    ("hasło", 3),
    ("heslo", 2),
    ("lösenord", 1),
    ("adgangskode", 1),
    ("salasana", 4),
    ("jelszó", 3),
    ("şifre", 0),
    ("kata sandi", 0),
    ("khẩu", 0), // mật khẩu
    ("пароль", 4),
    ("пароля", 4),
    ("парола", 4),
    ("лозинка", 2),
    ("κωδικός", 2),
    ("密码", 1),
    ("密碼", 1),
    ("口令", 1),
    ("パスワード", 1),
    ("비밀번호", 1),
    ("암호", 1),
    ("كلمة المرور", 0),
    ("كلمة السر", 0),
    ("סיסמה", 0),
    ("पासवर्ड", 1),
    ("รหัสผ่าน", 4),
];

/// Between the name and the value.
const IS: &[&str] = &[
    "is",
    "was",
    "to",
    "ist",
    "lautet",
    "war",
    "auf",
    "est",
    "es",
    "è",
    "e'",
    "é",
    "e",
    "jest",
    "är",
    "er",
    "on",
    "je",
    "jelentése",
    "este",
    "adalah",
    "là",
    "это",
    "є",
    "е",
    "is:",
    "=",
    ":",
    "：",
    "->",
    "→",
    "–",
    "—",
    "είναι",
    "هي",
    "هو",
    "היא",
    "הוא",
    "है",
    "คือ",
    "als",
    "como",
    "comme",
    "come",
];

/// The same, where no blank stands between words.
const IS_JOINED: &[&str] = &[
    "是", "为", "為", "は", "：", ":", "는", "은", "가", "이", "=",
];

/// What only a value can follow, in its own clause.
const NAMES_IT: &[&str] = &["lautet", "luidt", "lyder", "brzmi", "zní", "гласит"];

/// What is said of one in quotation marks, and with `lautet`.
const SAID_OF_IT: &str = "\
anders|falsch|richtig|korrekt|ungültig|gültig|abgelaufen|optional|erforderlich|notwendig|nötig|\
veraltet|unbekannt|sicher|unsicher|vergessen|geheim|gesetzt|gespeichert|verschlüsselt|folgendermaßen|\
obligatoire|requis|facultatif|invalide|incorrect|expiré|correct|valide|\
obligatoria|obligatorio|requerida|inválida|incorrecta|opcional|caducada|correcta|válida|secreta|\
obrigatória|inválida|incorreta|obbligatoria|errata|scaduta|facoltativa|\
verplicht|vereist|ongeldig|verlopen|optioneel|onjuist|wymagane|nieprawidłowe|błędne|opcjonalne|\
required|invalid|expired|missing|incorrect|protected|encrypted|следующим|неверный|обязателен";

/// Numbers as words, at the end of a word that nobody has heard.
const NUMBERS: &str = "\
zwei|drei|fünf|sechs|sieben|neun|quatre|cinq|huit|cuatro|cinco|siete|nueve|quattro|cinque|sette|\
quatro|vijf|zeven|negen|fyra|sju|fem|pięć|sześć|siedem";

/// These also mean another thing: key, word, code.
const MANIFOLD: &[&str] = &["clave", "parola", "парола", "κωδικός"];

/// How sure it is that what comes is the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Certainty {
    /// Something is said of it, or it.
    May,
    /// `ist`, `est`, and what comes is all that is said.
    Is,
    /// `lautet`.
    Names,
}

/// How many words may stand between: `the password for the staging database is …`.
const BETWEEN: usize = 6;
const FAR: usize = 120;

/// The two bytes by which a word is noticed.
pub(super) const fn mark(word: usize) -> [u8; 2] {
    let (word, at) = WORDS[word];
    let bytes = word.as_bytes();
    [bytes[at], bytes[at + 1]]
}

/// At two bytes that stand in one of the words.
pub(super) fn at(text: &str, i: usize, first: u8, second: u8, found: &mut impl FnMut(Found)) {
    let small = [first.to_ascii_lowercase(), second.to_ascii_lowercase()];
    for (word, place) in WORDS {
        if word.as_bytes().get(*place..place + 2) != Some(&small) {
            continue;
        }
        let Some(from) = i.checked_sub(*place) else {
            continue;
        };
        if is_word(text, from, word) {
            after(text, from, from + word.len(), found);
            return;
        }
    }
}

/// Whether the word stands here; letters outside of ASCII also in capitals.
fn is_word(text: &str, from: usize, word: &str) -> bool {
    let Some(have) = text.get(from..from + word.len()) else {
        return false;
    };
    have.eq_ignore_ascii_case(word) || (!have.is_ascii() && have.to_lowercase() == word)
}

fn after(text: &str, from: usize, mut end: usize, found: &mut impl FnMut(Found)) {
    // what stands where a secret stood names nothing
    let own = "[redacted: ";
    if from
        .checked_sub(own.len())
        .is_some_and(|at| starts(text, at, own))
    {
        return;
    }
    // `passwords`, `Passworts`: a longer word, and its end
    let letters = text.get(end..).unwrap_or_default();
    let tail = letters
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(letters.len());
    // `password_hash`, `db.password`: the name of something in code
    let named = |c: char| matches!(c, '_' | '.' | '$' | '(' | '<');
    let before = text.get(..from).unwrap_or_default();
    if tail > 2
        || letters.get(tail..).is_some_and(|rest| {
            rest.starts_with(|c: char| named(c) || c == '-' || c.is_ascii_digit())
        })
        || before.ends_with(|c: char| named(c) || c.is_ascii_alphanumeric())
    {
        return;
    }
    end += tail;
    let rest = letters.get(tail..).unwrap_or_default().trim_start();
    let word = text.get(from..end).unwrap_or_default();
    // code is written so too, and is judged as code
    if rest.starts_with([':', '=', '"', '\'']) && keys::is_english(word) && !is_prose(before) {
        return;
    }
    let line = run(text, end, FAR * 2, |b| !matches!(b, b'\n' | b'\r'));
    let mut line = line;
    while !text.is_char_boundary(line) {
        line -= 1;
    }
    let Some(rest) = text.get(end..line) else {
        return;
    };
    let joined = joined(rest).map(|start| (start, Certainty::May));
    let spoken = joined.or_else(|| spaced(rest, MANIFOLD.contains(&word.to_lowercase().as_str())));
    let spoken = spoken.or_else(|| {
        // `machine x login y password z`
        let before = text.get(..from).unwrap_or_default();
        let before = before.rsplit('\n').next().unwrap_or_default();
        let netrc = before.contains("login ") && rest.starts_with(' ');
        netrc.then_some((1, Certainty::May))
    });
    if let Some((start, certainty)) = spoken {
        offer(text, end + start, certainty, found);
    }
}

/// Whether a sentence stands before the word, and no code.
fn is_prose(before: &str) -> bool {
    const ARTICLES: &[&str] = &[
        "the",
        "my",
        "your",
        "our",
        "its",
        "his",
        "her",
        "their",
        "root",
        "admin",
        "database",
        "db",
        "staging",
        "production",
        "server",
        "login",
        "wifi",
        "test",
        "new",
        "old",
        "current",
    ];
    let tail = before.trim_end_matches(' ');
    let word = tail
        .rsplit(|c: char| !c.is_ascii_alphabetic())
        .next()
        .unwrap_or_default();
    tail.len() < before.len()
        && ARTICLES
            .iter()
            .any(|article| article.eq_ignore_ascii_case(word))
}

/// Where the value begins behind `是` and the like, right behind the word.
fn joined(rest: &str) -> Option<usize> {
    let trimmed = rest.trim_start();
    let is = IS_JOINED.iter().find(|is| trimmed.starts_with(**is))?;
    let value = trimmed.get(is.len()..)?.trim_start();
    Some(rest.len() - value.len())
}

/// Where the value begins behind the word that says what it is. `manifold`: it may be the value of
/// something else.
fn spaced(rest: &str, manifold: bool) -> Option<(usize, Certainty)> {
    let mut at = 0;
    for word in rest.split_inclusive(' ').take(BETWEEN + 1) {
        at += word.len();
        let plain = word.trim().trim_start_matches([',', ')', '"', '\'', '`']);
        if at > FAR || plain.ends_with(['.', '!', '?', ';']) {
            return None;
        }
        let lower = plain.to_lowercase();
        let names = NAMES_IT.contains(&lower.as_str());
        if names
            || IS.contains(&lower.as_str())
            || (plain.len() > 1 && plain.ends_with([':', '：']))
        {
            // `is now`, `ist jetzt`: the value comes right behind
            let value = rest.get(at..)?;
            let certainty = match lower.ends_with(char::is_alphabetic) {
                true if names => Certainty::Names,
                true if !manifold => Certainty::Is,
                true | false => Certainty::May,
            };
            return Some((rest.len() - value.trim_start().len(), certainty));
        }
    }
    None
}

fn offer(text: &str, mut start: usize, certainty: Certainty, found: &mut impl FnMut(Found)) {
    let bytes = text.as_bytes();
    while matches!(bytes.get(start), Some(b'*' | b'_')) && bytes.get(start) == bytes.get(start + 1)
    {
        start += 1;
    }
    while bytes.get(start) == Some(&b'*') {
        start += 1;
    }
    for (open, close) in [("«", "»"), ("„", "“"), ("“", "”"), ("「", "」"), ("‘", "’")]
    {
        let rest = text.get(start..).unwrap_or_default();
        if let Some(inside) = rest.strip_prefix(open) {
            start += open.len();
            if let Some(end) = inside.find(close).filter(|end| *end < FAR) {
                judge(text, start, start + end, certainty, true, found);
            }
            return;
        }
    }
    let in_marks = quoted(text, start);
    let (start, end) = in_marks.unwrap_or_else(|| {
        let end = run(text, start, 128, |b| {
            !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'`' | b',' | b')' | b'\\')
        });
        (start, end)
    });
    let mut end = end;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    judge(text, start, end, certainty, in_marks.is_some(), found);
}

fn judge(
    text: &str,
    mut start: usize,
    end: usize,
    certainty: Certainty,
    in_marks: bool,
    found: &mut impl FnMut(Found),
) {
    let Some(value) = text.get(start..end) else {
        return;
    };
    start += value.len() - value.trim_start().len();
    // the end of the sentence, also where no blank follows it
    let value = value
        .trim()
        .trim_end_matches(['.', ';', ':', '!', '?', '*', '。', '，', '、', '．', '）']);
    let cut = value
        .find(['。', '，', '、', '！', '）'])
        .unwrap_or(value.len());
    let value = &value[..cut];
    let is_one = is_spoken_password(value) || {
        let rest = text.get(start + value.len()..).unwrap_or_default();
        is_word_of_its_own(value, certainty, in_marks, rest)
    };
    if starts(text, start, "[redacted") || !is_one {
        return;
    }
    found(Found {
        rule: name::PASSWORD,
        start,
        end: start + value.len(),
    });
}

/// Whether a word without a digit is the password all the same: nothing else can be meant by it.
fn is_word_of_its_own(value: &str, certainty: Certainty, in_marks: bool, rest: &str) -> bool {
    let letters = value.chars().count();
    if certainty == Certainty::May
        || !(6..=40).contains(&letters)
        || !value.chars().all(char::is_alphabetic)
        || !is_given(value)
    {
        return false;
    }
    let lower = value.to_lowercase();
    let is_end = rest.starts_with(['.', ',', ';', '!', '?', '\n', '\r']) || rest.trim().is_empty();
    let is_said_of = SAID_OF_IT.split('|').any(|word| lower == word);
    let is_number = NUMBERS.split('|').any(|number| {
        let word = lower.strip_suffix(number);
        word.is_some_and(|word| word.chars().count() >= 4)
    });
    match certainty {
        Certainty::May => false,
        Certainty::Is => (in_marks && !is_said_of) || (is_end && is_number),
        Certainty::Names => (in_marks || is_end) && !is_said_of,
    }
}
