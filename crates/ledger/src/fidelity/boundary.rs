//! Where a context ends, what is asked of a document there, and how a document answers.

use super::transcript::{Role, Transcript, is_space};
use memchr::memmem;
use std::collections::{BTreeSet, HashSet};

/// A context is long enough if it has that many entries, and its successor that many.
const BEFORE: usize = 20;
const AFTER: usize = 10;
/// With fewer needed atoms a share says little.
const NEEDED: usize = 3;

/// Where contexts are taken to end.
#[derive(Debug, Clone, PartialEq)]
pub enum Places {
    /// Where the agent's program compacted.
    Compactions,
    /// After these shares of each context, between 0 and 1.
    Cuts(Vec<f64>),
    /// Where one transcript ends and the next begins.
    Handoffs,
}

/// The end of one context: what was before, what came after, as places in the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boundary {
    pub low: usize,
    /// One past the last entry of the old context.
    pub end: usize,
    /// The first entry that has not seen the old context.
    pub begin: usize,
    pub high: usize,
    /// Of which transcript, if several follow each other: 0 is the first.
    pub part: usize,
    /// The last line of the old context in its transcript, 1-based.
    pub line: u64,
}

impl Boundary {
    /// The summary that the program put there.
    #[must_use]
    pub fn summary<'t>(&self, transcript: &'t Transcript) -> Option<&'t str> {
        let entry = transcript.entries.get(self.end)?;
        (self.begin > self.end).then_some(entry.text.as_str())
    }
}

impl Transcript {
    /// The ends of contexts that have enough on both sides.
    #[must_use]
    pub fn boundaries(&self, places: &Places) -> Vec<Boundary> {
        let mut starts: Vec<(usize, Start)> = vec![(0, Start::Part)];
        starts.extend(self.parts.iter().map(|&at| (at, Start::Part)));
        let summaries = (0..self.entries.len()).filter(|&at| self.entries[at].is_summary);
        starts.extend(summaries.map(|at| (at, Start::Summary)));
        starts.sort_unstable();
        let ends = starts
            .iter()
            .map(|(at, _)| *at)
            .skip(1)
            .chain([self.entries.len()]);
        let contexts: Vec<Context> = (starts.iter().zip(ends))
            .map(|(&(low, start), high)| Context { low, high, start })
            .collect();
        let all: Vec<Boundary> = match places {
            Places::Compactions => self.between(&contexts, Start::Summary),
            Places::Handoffs => self.between(&contexts, Start::Part),
            Places::Cuts(shares) => self.cuts(&contexts, shares),
        };
        all.into_iter()
            .filter(|b| b.high.saturating_sub(b.begin) >= AFTER && b.end - b.low >= BEFORE)
            .collect()
    }

    /// From one context to the next one that begins so.
    fn between(&self, contexts: &[Context], start: Start) -> Vec<Boundary> {
        let pairs = contexts.iter().zip(contexts.iter().skip(1));
        let begin = |next: &Context| match next.start {
            Start::Part => next.low,
            Start::Summary => next.low + 1,
        };
        pairs
            .filter(|(_, next)| next.start == start)
            .map(|(old, next)| self.boundary(old.low, old.high, begin(next), next.high))
            .collect()
    }

    fn cuts(&self, contexts: &[Context], shares: &[f64]) -> Vec<Boundary> {
        let mut all = Vec::new();
        for Context { low, high, .. } in contexts {
            for share in shares {
                let cut = low + ((high - low) as f64 * share.clamp(0.0, 1.0)) as usize;
                all.push(self.boundary(*low, cut, cut, *high));
            }
        }
        all
    }

    fn boundary(&self, low: usize, end: usize, begin: usize, high: usize) -> Boundary {
        Boundary {
            low,
            end,
            begin,
            high,
            part: self.parts.iter().filter(|&&start| start < end).count(),
            line: end.checked_sub(1).map_or(0, |last| self.entries[last].line),
        }
    }
}

/// How a context begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Start {
    /// With nothing of the one before.
    Part,
    /// With the summary that the program wrote.
    Summary,
}

#[derive(Debug, Clone, Copy)]
struct Context {
    low: usize,
    high: usize,
    start: Start,
}

/// What is asked of a document at one boundary.
#[derive(Debug)]
pub struct Question<'t> {
    /// Used afterwards before anything showed them again.
    pub needed: BTreeSet<&'t str>,
    /// Used afterwards at any time.
    pub later: BTreeSet<&'t str>,
    /// The person's messages, white space squeezed.
    pub directives: Vec<String>,
    /// Files read afterwards, and how many of them had been read before.
    pub read: usize,
    pub reread: usize,
}

/// How a document answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    pub nar: f64,
    pub lar: f64,
    /// None without any message of a person.
    pub dir: Option<f64>,
    /// Characters.
    pub size: usize,
}

impl<'t> Question<'t> {
    /// None if too little was needed to ask anything.
    #[must_use]
    pub fn new(transcript: &'t Transcript, boundary: &Boundary) -> Option<Self> {
        let old = old_atoms(transcript, boundary);
        let (mut shown, mut needed, mut later) = (HashSet::new(), HashSet::new(), HashSet::new());
        for entry in &transcript.entries[boundary.begin..boundary.high] {
            match entry.role {
                Role::Agent => {
                    for atom in entry.said.iter().chain(&entry.called) {
                        if old.contains(atom) {
                            later.insert(*atom);
                            if !shown.contains(atom) {
                                needed.insert(*atom);
                            }
                        }
                    }
                }
                Role::Others => shown.extend(entry.said.iter().chain(&entry.returned).copied()),
            }
        }
        if needed.len() < NEEDED {
            return None;
        }
        let names = |numbers: HashSet<u32>| {
            let name = |number: u32| transcript.names.get(number as usize);
            numbers
                .into_iter()
                .filter_map(name)
                .map(|name| &**name)
                .collect()
        };
        let before = &transcript.entries[boundary.low..boundary.end];
        let known: HashSet<&str> = before
            .iter()
            .flat_map(|e| &e.reads)
            .map(String::as_str)
            .collect();
        let after = &transcript.entries[boundary.begin..boundary.high];
        let read: HashSet<&str> = after
            .iter()
            .flat_map(|e| &e.reads)
            .map(String::as_str)
            .collect();
        Some(Self {
            needed: names(needed),
            later: names(later),
            directives: (before.iter())
                .filter_map(|entry| entry.directive.as_deref())
                .map(squeezed)
                .collect(),
            read: read.len(),
            reread: read.intersection(&known).count(),
        })
    }

    #[must_use]
    pub fn score(&self, document: &str) -> Score {
        let share = |atoms: &BTreeSet<&str>| {
            let held = |atom: &&&str| memmem::find(document.as_bytes(), atom.as_bytes()).is_some();
            atoms.iter().filter(held).count() as f64 / atoms.len().max(1) as f64
        };
        let flat = squeezed(document);
        let survived = self
            .directives
            .iter()
            .filter(|text| flat.contains(text.as_str()));
        Score {
            nar: share(&self.needed),
            lar: share(&self.later),
            dir: (!self.directives.is_empty())
                .then(|| survived.count() as f64 / self.directives.len() as f64),
            size: document.chars().count(),
        }
    }
}

/// Everything in the context that ends there.
pub(super) fn old_atoms(transcript: &Transcript, boundary: &Boundary) -> HashSet<u32> {
    (transcript.entries[boundary.low..boundary.end].iter())
        .flat_map(|entry| {
            entry
                .said
                .iter()
                .chain(&entry.called)
                .chain(&entry.returned)
        })
        .copied()
        .collect()
}

/// Every run of white space is one space.
fn squeezed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_space = false;
    for c in text.chars() {
        let space = is_space(c);
        if !space {
            out.push(c);
        } else if !in_space {
            out.push(' ');
        }
        in_space = space;
    }
    out
}
