//! Which names stand for a secret.
//!
//! Must never take the name of a thing near a secret (its file, its length, its hash) for it.

use super::rules::name;
use super::value::Kind;

/// The ends of names whose value is a secret, longest first where one is the end of another.
const ENDS: &[(&str, Kind, &str)] = &[
    ("password", Kind::Password, name::PASSWORD),
    ("passwd", Kind::Password, name::PASSWORD),
    ("passwort", Kind::Password, name::PASSWORD),
    ("passphrase", Kind::Password, name::PASSWORD),
    ("requirepass", Kind::Password, name::PASSWORD),
    ("userpass", Kind::Password, name::PASSWORD),
    ("dbpass", Kind::Password, name::PASSWORD),
    ("smtppass", Kind::Password, name::PASSWORD),
    ("mailpass", Kind::Password, name::PASSWORD),
    ("rootpass", Kind::Password, name::PASSWORD),
    ("adminpass", Kind::Password, name::PASSWORD),
    ("pwd", Kind::Password, name::PASSWORD),
    ("secretaccesskey", Kind::Secret, name::AWS_SECRET),
    ("accountkey", Kind::Secret, name::AZURE_KEY),
    ("sharedaccesskey", Kind::Secret, name::AZURE_KEY),
    ("secretkeybase", Kind::Secret, name::SECRET),
    ("secretkey", Kind::Secret, name::SECRET),
    ("secret", Kind::Secret, name::SECRET),
    ("apikey", Kind::Secret, name::API_KEY),
    ("accesskey", Kind::Secret, name::API_KEY),
    ("authkey", Kind::Secret, name::API_KEY),
    ("privatekey", Kind::Secret, name::PRIVATE_KEY),
    ("encryptionkey", Kind::Secret, name::SECRET),
    ("signingkey", Kind::Secret, name::SECRET),
    ("masterkey", Kind::Secret, name::SECRET),
    ("servicekey", Kind::Secret, name::API_KEY),
    ("serviceaccountkey", Kind::Secret, name::API_KEY),
    ("servicerolekey", Kind::Secret, name::API_KEY),
    ("subscriptionkey", Kind::Secret, name::API_KEY),
    ("licensekey", Kind::Secret, name::API_KEY),
    ("appkey", Kind::Secret, name::API_KEY),
    ("credential", Kind::Token, name::SECRET),
    ("credentials", Kind::Token, name::SECRET),
    ("authorization", Kind::Token, name::TOKEN),
    ("apitoken", Kind::Secret, name::TOKEN),
    ("authtoken", Kind::Secret, name::TOKEN),
    ("accesstoken", Kind::Secret, name::TOKEN),
    ("refreshtoken", Kind::Secret, name::TOKEN),
    ("token", Kind::Token, name::TOKEN),
    ("amzsignature", Kind::Token, name::SIGNATURE),
    ("googsignature", Kind::Token, name::SIGNATURE),
    ("npmauth", Kind::Token, name::TOKEN),
];

/// Before `token`, `key` or `secret`, these make another thing of it.
const NOT: &str = "\
pagetoken|nexttoken|csrftoken|xsrftoken|continuationtoken|synctoken|padtoken|eostoken|\
bostoken|unktoken|masktoken|specialtoken|starttoken|endtoken|deltatoken|skiptoken|pertoken|\
cancellationtoken|canceltoken|keyword|csrfmiddlewaretoken|idempotencytoken|changetoken|\
cursortoken|imagepullsecret|forgotpassword|publicaccesskey|publickey|resetpassword|oldpwd|\
typeofsecret";

/// Names of which the whole has to be it.
const WHOLE: &[(&str, Kind, &str)] = &[
    ("pass", Kind::Password, name::PASSWORD),
    ("pw", Kind::Password, name::PASSWORD),
    ("sig", Kind::Token, name::SIGNATURE),
    ("auth", Kind::Token, name::TOKEN),
    ("creds", Kind::Token, name::SECRET),
    ("pat", Kind::Token, name::TOKEN),
];

/// Said after the name of a secret: the value still is one.
const SUFFIXES: &str = "\
prod|production|staging|dev|live|old|new|value|primary|secondary";

/// Longest name that is looked at.
pub(super) const LONGEST: usize = 64;

/// What a value under this name would be.
pub(super) fn kind(key: &str) -> Option<(Kind, &'static str)> {
    if !may_end_in(key.as_bytes()) {
        return None;
    }
    let last = key.as_bytes().last()?;
    let mut flat = [0_u8; LONGEST];
    let mut len = 0;
    for byte in key.bytes().filter(u8::is_ascii_alphanumeric) {
        *flat.get_mut(len)? = byte.to_ascii_lowercase();
        len += 1;
    }
    let mut flat = flat.get(..len)?;
    if last.is_ascii_digit() {
        let digits = flat.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        flat = flat.get(..len - digits)?;
    }
    let parted = key.bytes().any(|b| matches!(b, b'_' | b'-' | b'.'));
    if parted {
        flat = without_suffix(key, flat);
    }
    let found = ENDS.iter().find(|(end, _, _)| ends(flat, end));
    if let Some((_, kind, name)) = found {
        // few names come this far
        let other = NOT.split('|').any(|word| ends(flat, word));
        return (!other).then_some((*kind, *name));
    }
    if !parted && !key.eq_ignore_ascii_case("sig") {
        return None;
    }
    // `DB_PASS`, `smtp_pass`: the last word of a name
    let word = key.rsplit(['_', '-', '.', '$']).next().unwrap_or(key);
    // alone they are something else: `PASS: the_test`, `auth: true`
    if word.len() == key.len() && !word.eq_ignore_ascii_case("sig") {
        return None;
    }
    WHOLE
        .iter()
        .find(|(whole, _, _)| word.eq_ignore_ascii_case(whole))
        .map(|(_, kind, name)| (*kind, *name))
}

/// Whether it is what programs call it: in code it is a name like any other.
pub(super) fn is_english(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    ["password", "passwords", "passphrase", "passcode"].contains(&word.as_str())
}

/// The last two letters of everything above: one bit each.
static LAST_TWO: [u32; 26] = last_two();

const fn with(mut table: [u32; 26], word: &[u8], end: usize) -> [u32; 26] {
    let (one, two) = (word[end - 2] - b'a', word[end - 1] - b'a');
    table[one as usize] |= 1 << two;
    table
}

const fn last_two() -> [u32; 26] {
    let mut table = [0; 26];
    let mut at = 0;
    while at < ENDS.len() {
        let word = ENDS[at].0.as_bytes();
        table = with(table, word, word.len());
        at += 1;
    }
    at = 0;
    while at < WHOLE.len() {
        let word = WHOLE[at].0.as_bytes();
        table = with(table, word, word.len());
        at += 1;
    }
    let suffixes = SUFFIXES.as_bytes();
    at = 2;
    while at <= suffixes.len() {
        if at == suffixes.len() || suffixes[at] == b'|' {
            table = with(table, suffixes, at);
        }
        at += 1;
    }
    table
}

/// Whether a name that ends in these bytes may be one. Never a false no: where the last two are not
/// both letters, the name has to be looked at.
fn may_end_in(key: &[u8]) -> bool {
    let [.., one, two] = key else { return true };
    let place = |byte: &u8| byte.to_ascii_lowercase().wrapping_sub(b'a');
    match (LAST_TWO.get(usize::from(place(one))), place(two)) {
        (Some(bits), two @ 0..26) => bits & (1 << two) != 0,
        _ => true,
    }
}

fn ends(flat: &[u8], word: &str) -> bool {
    let word = word.as_bytes();
    flat.last() == word.last() && flat.ends_with(word)
}

fn without_suffix<'f>(key: &str, flat: &'f [u8]) -> &'f [u8] {
    let last = key.rsplit(['_', '-', '.']).next().unwrap_or_default();
    let said = SUFFIXES
        .split('|')
        .any(|suffix| last.eq_ignore_ascii_case(suffix));
    match said {
        true => flat
            .get(..flat.len().saturating_sub(last.len()))
            .unwrap_or(flat),
        false => flat,
    }
}

/// Whether a name with this last character may be one: most are not, and this is cheap.
pub(super) fn may_end(byte: u8) -> bool {
    byte.is_ascii_digit()
        || matches!(
            byte.to_ascii_lowercase(),
            b'd' | b't' | b'n' | b'y' | b'e' | b's' | b'w' | b'g' | b'h' | b'l' | b'v'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_look_denies_no_name_of_a_secret() {
        for (word, _, _) in ENDS.iter().chain(WHOLE) {
            assert!(may_end_in(word.as_bytes()), "{word}");
            assert!(may_end_in(word.to_ascii_uppercase().as_bytes()), "{word}");
            for suffix in SUFFIXES.split('|') {
                let key = format!("{word}_{suffix}");
                assert!(may_end_in(key.as_bytes()), "{key}");
            }
            for key in [format!("{word}2"), format!("{word}_"), format!("x-{word}")] {
                assert!(may_end_in(key.as_bytes()), "{key}");
            }
        }
        for plain in ["content", "type", "timestamp", "command"] {
            assert!(!may_end_in(plain.as_bytes()), "{plain}");
        }
    }
}
