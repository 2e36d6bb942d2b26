//! The names that a context speaks of: how often the agent acted on each, and how recently.
//!
//! Bounded: those that matter least go first when there are too many.

use crate::atoms::atoms;
use crate::redact::find;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// Names kept; half of them stay when there are more.
const MOST: usize = 16_384;
/// A longer name is no name.
const LONGEST: usize = 200;

/// How a name came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// The agent or a person said it, or a tool was called with it.
    Acted,
    /// A tool or the program showed it.
    Seen,
}

/// What is known of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Name {
    pub acted: u32,
    pub seen: u32,
    /// The step in which it came up last, and in which it was last acted on.
    pub step: u32,
    pub acted_step: u32,
    /// The file that it was written to, or else first read from; 0 is none.
    pub file: u32,
    /// It was written to that file.
    pub written: bool,
}

impl Name {
    /// How much it matters, as of this step: what was acted on often or lately. What was only
    /// shown counts for little, however often.
    pub fn rank(&self, now: u32) -> f64 {
        let recent = f64::from(self.step) / f64::from(now.max(1));
        let share = if self.acted > 0 { 1.0 } else { 0.3 };
        4.0 * f64::from(self.acted) + 0.2 * f64::from(self.seen) + 15.0 * recent * share
    }
}

/// A fast hash for short keys. Keys come from outside, but there are never more than a few thousand.
#[derive(Debug, Default, Clone, Copy)]
pub struct Fast(u64);

impl Hasher for Fast {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
        let mut word = [0; 8];
        let rest = chunks.remainder();
        word[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(word) ^ ((rest.len() as u64) << 56));
    }
    fn write_u8(&mut self, _: u8) {}
}

impl Fast {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

type Map = HashMap<Box<str>, Name, BuildHasherDefault<Fast>>;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Names {
    #[serde(serialize_with = "sorted")]
    map: Map,
}

/// The same ledger is the same bytes.
fn sorted<S: Serializer>(map: &Map, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map.iter().collect::<BTreeMap<_, _>>())
}

/// Keys look like names: `ghp_…`.
fn is_secret(atom: &str) -> bool {
    atom.len() >= 16 && atom.bytes().any(|b| b.is_ascii_digit()) && !find(atom).is_empty()
}

impl Names {
    /// Takes the names of a text. `file`: where it was written to (acted) or read from (seen).
    pub fn take(&mut self, text: &str, touch: Touch, step: u32, file: u32) {
        let map = &mut self.map;
        atoms(text, &mut |atom: &str| {
            if atom.len() > LONGEST {
                return;
            }
            let name = match map.get_mut(atom) {
                Some(name) => name,
                None if is_secret(atom) => return,
                None => map.entry(atom.into()).or_default(),
            };
            if name.step != step || name.seen == 0 {
                name.seen = name.seen.saturating_add(1);
                name.step = step;
            }
            if touch == Touch::Acted && (name.acted_step != step || name.acted == 0) {
                name.acted = name.acted.saturating_add(1);
                name.acted_step = step;
            }
            if file != 0 {
                let written = touch == Touch::Acted;
                if name.file == 0 || written {
                    name.file = file;
                    name.written |= written;
                }
            }
        });
        if self.map.len() > MOST {
            self.thin(step);
        }
    }

    fn thin(&mut self, step: u32) {
        let least = {
            let mut ranks: Vec<f64> = self.map.values().map(|n| n.rank(step)).collect();
            let middle = ranks.len() / 2;
            *ranks.select_nth_unstable_by(middle, f64::total_cmp).1
        };
        self.map.retain(|_, name| name.rank(step) > least);
        if self.map.len() > MOST / 2 {
            let keep: Vec<Box<str>> = self.ranked(step).map(|(n, _)| n.into()).collect();
            for name in &keep[MOST / 2..] {
                self.map.remove(name);
            }
        }
    }

    /// All names, those that matter most first; equal ones by their letters.
    pub fn ranked(&self, step: u32) -> impl Iterator<Item = (&str, &Name)> {
        let mut all: Vec<_> = self
            .map
            .iter()
            .map(|(text, name)| (name.rank(step), text.as_ref(), name))
            .collect();
        all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        all.into_iter().map(|(_, text, name)| (text, name))
    }

    /// What turned out to be a secret is no name, nor is a part of one, nor what it is a part of.
    pub fn forget(&mut self, secret: &str) {
        self.map
            .retain(|name, _| !secret.contains(&**name) && !name.contains(secret));
    }

    pub fn get(&self, name: &str) -> Option<&Name> {
        self.map.get(name)
    }

    pub fn len(&self) -> usize {
        self.map.len()
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub fn clear(&mut self) {
        self.map.clear();
    }
}
