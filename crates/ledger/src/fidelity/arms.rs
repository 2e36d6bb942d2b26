//! What a document is compared with.

use super::boundary::{Boundary, old_atoms};
use super::random::Random;
use super::transcript::{Role, Transcript};
use serde::Serialize;
use std::collections::HashMap;

/// One way of handing over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// The summary of the agent's own program, written by a model, as long as it is.
    NativeSummary,
    /// The end of the transcript.
    TranscriptTail,
    /// A bare list of atoms, in any order.
    RandomAtoms,
    /// A bare list of atoms, the most acted upon and most recent first: what ranking alone achieves.
    RankedAtoms,
    /// What sm's ledger writes.
    Ledger,
    /// A handoff document that was used there.
    Handoff,
}

impl Arm {
    /// In the order of tables.
    pub const ALL: [Self; 6] = [
        Self::NativeSummary,
        Self::TranscriptTail,
        Self::RandomAtoms,
        Self::RankedAtoms,
        Self::Ledger,
        Self::Handoff,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NativeSummary => "native summary",
            Self::TranscriptTail => "transcript tail",
            Self::RandomAtoms => "random atoms",
            Self::RankedAtoms => "ranked atoms",
            Self::Ledger => "sm ledger",
            Self::Handoff => "your documents",
        }
    }

    /// Whether its size is what the budget says; otherwise it is what it is.
    #[must_use]
    pub fn has_budget(self) -> bool {
        match self {
            Self::NativeSummary | Self::Handoff => false,
            Self::TranscriptTail | Self::RandomAtoms | Self::RankedAtoms | Self::Ledger => true,
        }
    }
}

/// The last characters of the old context.
pub(super) fn tail(transcript: &Transcript, boundary: &Boundary, budget: usize) -> String {
    let mut parts = Vec::new();
    let mut size = 0;
    for entry in transcript.entries[boundary.low..boundary.end].iter().rev() {
        for part in [&entry.results, &entry.calls, &entry.text] {
            if size < budget {
                size += part.chars().count() + 1;
                parts.push(part.as_str());
            }
        }
    }
    parts.reverse();
    let text = parts.join("\n");
    let skip = text.chars().count().saturating_sub(budget);
    text.chars().skip(skip).collect()
}

/// All atoms of the old context in two orders: by chance, and by rank.
pub(super) struct Lists<'t> {
    random: Vec<&'t str>,
    ranked: Vec<&'t str>,
}

impl<'t> Lists<'t> {
    pub(super) fn new(transcript: &'t Transcript, boundary: &Boundary, seed: u32) -> Self {
        let name = |number: u32| {
            transcript
                .names
                .get(number as usize)
                .map_or("", |name| &**name)
        };
        let old = old_atoms(transcript, boundary);
        let mut random: Vec<&str> = old.iter().map(|&number| name(number)).collect();
        random.sort_unstable();
        Random::new(seed).shuffle(&mut random);

        #[derive(Default)]
        struct Use {
            seen: u32,
            acted: u32,
            last: f64,
        }
        let mut uses: HashMap<u32, Use> = HashMap::new();
        let length = (boundary.end - boundary.low) as f64;
        let entries = &transcript.entries[boundary.low..boundary.end];
        for (at, entry) in entries.iter().enumerate() {
            let mut acted: Vec<u32> = [&entry.said[..], &entry.called].concat();
            let mut seen = [&acted[..], &entry.returned].concat();
            for list in [&mut acted, &mut seen] {
                list.sort_unstable();
                list.dedup();
            }
            for atom in seen {
                let each = uses.entry(atom).or_default();
                each.seen += 1;
                each.last = at as f64 / length;
            }
            if entry.role == Role::Agent || entry.results.is_empty() {
                for atom in acted {
                    uses.entry(atom).or_default().acted += 1;
                }
            }
        }
        let mut ranked: Vec<(f64, &str)> = (uses.iter())
            .map(|(&atom, each)| {
                let weight = if each.acted > 0 { 1.0 } else { 0.3 };
                let rank = f64::from(3 * each.acted + each.seen) + 10.0 * each.last * weight;
                (rank, name(atom))
            })
            .collect();
        ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        Self {
            random,
            ranked: ranked.into_iter().map(|(_, name)| name).collect(),
        }
    }

    pub(super) fn random(&self, budget: usize) -> String {
        first(&self.random, budget)
    }

    pub(super) fn ranked(&self, budget: usize) -> String {
        first(&self.ranked, budget)
    }
}

fn first(list: &[&str], budget: usize) -> String {
    list.join(" ").chars().take(budget).collect()
}
