//! Files and names of the work: each file with what was dealt with in it.

use super::grams::{Grams, pairs};
use crate::ledger::{Ledger, Name, Touched};
use crate::text;
use std::collections::{BTreeMap, BTreeSet};

/// Below this budget names stand close together.
const DENSE: usize = 5_000;
/// From this budget on, every changed file has a line of its own.
const LISTED: usize = 4_000;

/// What a path is called among the names: its last two components.
fn tail(path: &str) -> &str {
    let mut slashes = path.rmatch_indices('/').map(|(at, _)| at);
    slashes.next();
    slashes.next().map_or(path, |at| &path[at + 1..])
}

struct Known<'a> {
    path: &'a str,
    file: &'a Touched,
}

/// Files by their number and by what they are called.
struct Index<'a> {
    by_id: BTreeMap<u32, &'a str>,
    by_tail: BTreeMap<&'a str, Known<'a>>,
}

impl<'a> Index<'a> {
    fn of(ledger: &'a Ledger) -> Self {
        let mut index = Self {
            by_id: BTreeMap::new(),
            by_tail: BTreeMap::new(),
        };
        for (path, file) in &ledger.files.all {
            let tail = tail(path);
            index.by_id.insert(file.id, tail);
            let known = index.by_tail.get(tail);
            if known.is_none_or(|known| known.file.changed < file.changed) {
                index.by_tail.insert(tail, Known { path, file });
            }
        }
        index
    }
}

/// All names, those that matter most first.
pub struct All<'a> {
    ledger: &'a Ledger,
    index: Index<'a>,
    ranked: Vec<(&'a str, &'a Name)>,
}

impl<'a> All<'a> {
    pub fn of(ledger: &'a Ledger) -> Self {
        Self {
            ledger,
            index: Index::of(ledger),
            ranked: ledger.names.ranked(ledger.steps).collect(),
        }
    }

    /// Those worth saying: what is written anyway (`already`) need not be said again.
    pub fn unsaid(&self, already: String, budget: usize) -> Chosen<'_, 'a> {
        let already = Grams::of(already);
        // Where there is room, what was changed is listed even if it is spoken of elsewhere.
        let changed = |name: &str| {
            let known = self.index.by_tail.get(name);
            budget >= LISTED && known.is_some_and(|known| known.file.changed > 0)
        };
        let ranked = self.ranked.iter().copied();
        let ranked = ranked.filter(|(name, _)| !already.contains(name) || changed(name));
        Chosen {
            all: self,
            ranked: ranked.collect(),
        }
    }
}

/// The names worth saying, those that matter most first.
pub struct Chosen<'s, 'a> {
    all: &'s All<'a>,
    ranked: Vec<(&'a str, &'a Name)>,
}

impl<'a> Chosen<'_, 'a> {
    /// At most `room` characters, and how many names did not get in.
    pub fn section(&self, room: usize, budget: usize) -> (String, usize) {
        let mut chosen: Vec<(&'a str, &'a Name)> = Vec::new();
        let mut folded: Vec<u64> = Vec::new();
        let mut text = Grams::with_room(room);
        let mut size = 60;
        let mut misses = 0;
        for (name, known) in &self.ranked {
            if text.contains(name) {
                continue;
            }
            let cost = cost(name, budget);
            if size + cost > room {
                misses += 1;
                if misses > 8 {
                    break;
                }
                continue;
            }
            // What a longer name holds need not be said twice.
            let ours = pairs(name);
            let mut at = 0;
            while let Some(theirs) = folded.get(at) {
                match chosen.get(at) {
                    Some((have, _)) if theirs & !ours == 0 && name.contains(have) => {
                        size -= self::cost(have, budget);
                        chosen.remove(at);
                        folded.remove(at);
                    }
                    Some(_) | None => at += 1,
                }
            }
            size += cost;
            text.push_line(name);
            chosen.push((name, known));
            folded.push(ours);
        }
        let All { ledger, index, .. } = self.all;
        loop {
            let out = lay_out(ledger, index, &chosen, budget);
            let over = text::chars(&out).saturating_sub(room);
            if over == 0 || chosen.is_empty() {
                let out = Grams::of(out);
                let missing = |(name, _): &&(&str, &Name)| !out.contains(name);
                let missing = self.ranked.iter().filter(missing).count();
                let out = if chosen.is_empty() { "" } else { out.text() };
                return (out.to_owned(), missing);
            }
            chosen.truncate(chosen.len().saturating_sub(over / 30 + 1));
        }
    }
}

/// Characters that a name takes, with what stands around it.
fn cost(name: &str, budget: usize) -> usize {
    let around = if budget < DENSE { 1 } else { 2 };
    text::chars(name) + around + if name.contains('/') { 2 } else { 0 }
}

fn lay_out(ledger: &Ledger, index: &Index<'_>, chosen: &[(&str, &Name)], budget: usize) -> String {
    let here: BTreeSet<&str> = chosen.iter().map(|(name, _)| *name).collect();
    let mut inside: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let (mut files, mut names, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
    for (name, known) in chosen {
        let file = index.by_id.get(&known.file).copied();
        match file.filter(|file| here.contains(file)) {
            Some(file) if !name.contains('/') => inside.entry(file).or_default().push(name),
            Some(_) | None if name.contains('/') => files.push(*name),
            Some(_) | None if is_hash(name) => hashes.push(*name),
            Some(_) | None => names.push(*name),
        }
    }
    // Names hold no spaces: where room is scarce, one between them is enough.
    let between = if budget < DENSE { " " } else { ", " };
    let mut out = String::from("Files (✎ changes) with their names, most used first:\n");
    let mut bare = Vec::new();
    for file in files {
        let known = index.by_tail.get(file);
        let changed = known.map_or(0, |known| known.file.changed);
        let names = inside.remove(file).unwrap_or_default();
        if changed == 0 && names.is_empty() {
            bare.push(file);
            continue;
        }
        let path = match known {
            Some(known) if budget >= 6_000 && changed > 0 => relative(ledger, known.path),
            Some(_) | None => file,
        };
        out.push_str("- ");
        out.push_str(path);
        if let Some(known) = known
            && changed > 0
        {
            let new = if known.file.created { " new" } else { "" };
            out.push_str(&format!("{new} ✎{changed}"));
        }
        if !names.is_empty() {
            out.push_str(": ");
            out.push_str(&names.join(between));
        }
        out.push('\n');
    }
    for (title, list) in [("Other files", bare), ("Names", names), ("Hashes", hashes)] {
        if !list.is_empty() {
            out.push_str(&format!("{title}: {}\n", list.join(between)));
        }
    }
    out
}

fn is_hash(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A path as it is said from the working directory.
fn relative<'a>(ledger: &Ledger, path: &'a str) -> &'a str {
    let cwd = ledger.cwd.as_deref().unwrap_or_default();
    path.strip_prefix(cwd)
        .filter(|_| !cwd.is_empty())
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(path)
}
