//! What looks like a secret in real transcripts and is none: hashes, uuids, ids of calls and requests, encoded data, and
//! names such as `token` with a value. Taken from the folder that was given, in this process's memory only: must never
//! be written down or printed.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use sm_ledger::{Dialect, Reader, Record, detect};

use crate::Result;

/// What is kept on either side: a rule may look at it.
const AROUND: usize = 80;
/// Shorter ones resemble nothing.
const SHORTEST: usize = 16;
const LONGEST: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Uuid,
    Hash,
    /// Letters of both cases and digits, or with a prefix: an id, or encoded data.
    Id,
    /// A name that stands for a secret elsewhere, with a value.
    Named,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Uuid => "uuids",
            Self::Hash => "hashes",
            Self::Id => "ids and encoded data",
            Self::Named => "names with values",
        }
    }
}

/// One of them, as it stands in its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookAlike {
    pub kind: Kind,
    pub text: String,
    /// Where in the text it stands.
    pub at: usize,
}

/// At most `most` different ones, of every kind, evenly from all files.
pub fn of(files: &[std::path::PathBuf], most: usize) -> Result<Vec<LookAlike>> {
    let mut seen = HashSet::new();
    let mut all: BTreeMap<Kind, Vec<LookAlike>> = BTreeMap::new();
    for file in files {
        texts(file, &mut |text| {
            for line in text.lines() {
                in_line(line, &mut |kind, at, end| {
                    if seen.insert((kind, line[at..end].to_owned())) {
                        all.entry(kind).or_default().push(cut(line, kind, at, end));
                    }
                });
            }
        })?;
    }
    // each kind has its share, and what one does not need goes to those with more
    let mut kinds: Vec<Vec<LookAlike>> = all.into_values().collect();
    kinds.sort_by_key(Vec::len);
    let mut chosen = Vec::new();
    let mut left = kinds.len();
    for kind in kinds {
        let share = (most - chosen.len()) / left.max(1);
        left -= 1;
        let step = (kind.len() / share.max(1)).max(1);
        chosen.extend(kind.into_iter().step_by(step).take(share));
    }
    Ok(chosen)
}

fn texts(file: &Path, found: &mut impl FnMut(&str)) -> Result<()> {
    let bytes = std::fs::read(file)?;
    let mut reader = Reader::new(detect(&bytes).unwrap_or(Dialect::Claude));
    reader.feed(&bytes, &mut |_, record| match record {
        Record::Said { text, .. } | Record::Spoke { text } | Record::Returned { text, .. } => {
            found(&text);
        }
        Record::Called { id, input, .. } => {
            found(&id);
            found(input.get());
        }
        Record::Thought
        | Record::Used { .. }
        | Record::Compacted { .. }
        | Record::Interrupted
        | Record::Place { .. }
        | Record::Aside
        | Record::Other => {}
    });
    Ok(())
}

/// Every one in a line: what it is, where it begins and ends.
fn in_line(line: &str, found: &mut impl FnMut(Kind, usize, usize)) {
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|b| is_of_token(**b)).count();
        if let Some(kind) = kind(&line[at..at + length]) {
            found(kind, at, at + length);
        }
        at += length.max(1);
        while !line.is_char_boundary(at) {
            at += 1;
        }
    }
    named(line, found);
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=')
}

fn kind(token: &str) -> Option<Kind> {
    let has = |of: fn(&u8) -> bool| token.as_bytes().iter().any(of);
    if !(SHORTEST..=LONGEST).contains(&token.len()) || !has(u8::is_ascii_digit) {
        return None;
    }
    let parts: Vec<usize> = token.split('-').map(str::len).collect();
    let hex = token.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if hex && parts == [8, 4, 4, 4, 12] {
        return Some(Kind::Uuid);
    }
    if hex && parts.len() == 1 {
        return Some(Kind::Hash);
    }
    let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    // words that are joined are a path or a name
    let runs = token.split(['/', '-', '_']).map(str::len).max()?;
    (mixed && runs >= SHORTEST).then_some(Kind::Id)
}

const NAMES: [&str; 8] = [
    "password",
    "passwd",
    "secret",
    "token",
    "api_key",
    "apikey",
    "credential",
    "auth",
];

/// `token = …`, `"secret": …`: from the name to the end of what follows.
fn named(line: &str, found: &mut impl FnMut(Kind, usize, usize)) {
    let low = line.to_ascii_lowercase();
    for name in NAMES {
        for (at, _) in low.match_indices(name) {
            let rest = &line[at + name.len()..];
            let Some(sign) = rest.find(['=', ':']).filter(|sign| *sign < 20) else {
                continue;
            };
            let value = rest[sign + 1..].trim_start_matches([' ', '=', ':', '>']);
            let length = value.find([' ', ',', ';', ')']).unwrap_or(value.len());
            let end = line.len() - value.len() + length;
            if (6..=LONGEST).contains(&length) {
                found(Kind::Named, at, end);
            }
        }
    }
}

fn cut(line: &str, kind: Kind, at: usize, end: usize) -> LookAlike {
    let (mut from, mut to) = (at.saturating_sub(AROUND), (end + AROUND).min(line.len()));
    while !line.is_char_boundary(from) {
        from -= 1;
    }
    while !line.is_char_boundary(to) {
        to += 1;
    }
    LookAlike {
        kind,
        text: line[from..to].to_owned(),
        at: at - from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_told_by_its_shape() {
        let found = |line: &str| {
            let mut all = Vec::new();
            in_line(line, &mut |kind, at, end| {
                all.push((kind, line[at..end].to_owned()));
            });
            all
        };
        let cases = [
            (
                "é commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
                Kind::Hash,
                "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            ),
            (
                "id 5f0c0a4e-77aa-4bcd-9aaa-0123456789ab,",
                Kind::Uuid,
                "5f0c0a4e-77aa-4bcd-9aaa-0123456789ab",
            ),
            (
                "toolu_01QzW8vTgn2KmXbYpL5cRd7E ran",
                Kind::Id,
                "toolu_01QzW8vTgn2KmXbYpL5cRd7E",
            ),
            (
                "let token = next_token(input);",
                Kind::Named,
                "token = next_token(input",
            ),
        ];
        for (line, kind, text) in cases {
            assert!(
                found(line).contains(&(kind, text.to_owned())),
                "{line}: {:?}",
                found(line)
            );
        }
        for line in [
            "src/document/names_of_things_1.rs",
            "a line of words",
            "TokenKind2 is new",
        ] {
            assert_eq!(found(line), [], "{line}");
        }
    }

    #[test]
    fn they_come_from_transcripts_and_bring_what_is_around_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jsonl");
        let said = "see 4b825dc642cb6eb9a060e54bf8d69288fbee4904 and token: parse_all";
        let line = serde_json::json!({"type":"user","sessionId":"s","message":{"role":"user","content":said}});
        std::fs::write(&file, format!("{line}\n{line}\n")).unwrap();
        let all = of(&[file], 10).unwrap();
        let kinds: Vec<Kind> = all.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [Kind::Hash, Kind::Named], "{all:?}");
        assert!(all.iter().all(|one| one.text == said && one.at > 0));
    }
}
