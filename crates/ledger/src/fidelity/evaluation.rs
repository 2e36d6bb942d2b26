//! Many boundaries, several budgets: averages and how sure they are.

use super::arms::{Arm, Lists, tail};
use super::boundary::{Boundary, Places, Question, Score};
use super::random::Random;
use super::transcript::Transcript;
use serde::Serialize;
use std::collections::BTreeMap;

const RESAMPLES: usize = 1000;
/// 2.5 % of the resamples lie below the first and above the second.
const INTERVAL: (usize, usize) = (25, 974);

/// Scores, as they come in.
#[derive(Debug)]
pub struct Evaluation {
    budgets: Vec<usize>,
    sessions: usize,
    boundaries: u32,
    read: usize,
    reread: usize,
    scores: BTreeMap<(usize, Arm), Vec<Score>>,
}

/// An average over boundaries and where it lies with 95 % probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// How one way of handing over did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figures {
    /// At how many boundaries there was such a document.
    pub documents: usize,
    pub nar: Figure,
    pub lar: Figure,
    pub dir: Option<Figure>,
    pub size_median: f64,
    pub size_max: usize,
}

/// One line of the table. Without a budget: as long as it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Row {
    pub arm: Arm,
    pub budget: Option<usize>,
    #[serde(flatten)]
    pub figures: Figures,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Transcripts looked at.
    pub sessions: usize,
    /// Boundaries at which enough was needed to be scored.
    pub boundaries: u32,
    /// Files read after a boundary, on average.
    pub files_read: f64,
    /// Of those, how many had been read before it.
    pub files_reread: f64,
    pub rows: Vec<Row>,
}

impl Evaluation {
    #[must_use]
    pub fn new(mut budgets: Vec<usize>) -> Self {
        budgets.sort_unstable();
        budgets.dedup();
        Self {
            budgets,
            sessions: 0,
            boundaries: 0,
            read: 0,
            reread: 0,
            scores: BTreeMap::new(),
        }
    }

    /// Scores one transcript; `document` gives what else is to be compared: an arm that has a budget is asked for
    /// each, `None` is no document.
    pub fn add(
        &mut self,
        transcript: &Transcript,
        places: &Places,
        document: &mut impl FnMut(&Boundary, Arm, usize) -> Option<String>,
    ) {
        self.sessions += 1;
        for boundary in transcript.boundaries(places) {
            let Some(question) = Question::new(transcript, &boundary) else {
                continue;
            };
            self.boundaries += 1;
            self.read += question.read;
            self.reread += question.reread;
            let lists = Lists::new(transcript, &boundary, self.boundaries);
            for arm in Arm::ALL {
                let budgets = if arm.has_budget() {
                    &self.budgets[..]
                } else {
                    &[0]
                };
                for &budget in budgets {
                    let text = match arm {
                        Arm::NativeSummary => boundary.summary(transcript).map(str::to_owned),
                        Arm::TranscriptTail => Some(tail(transcript, &boundary, budget)),
                        Arm::RandomAtoms => Some(lists.random(budget)),
                        Arm::RankedAtoms => Some(lists.ranked(budget)),
                        Arm::Ledger | Arm::Handoff => document(&boundary, arm, budget),
                    };
                    if let Some(text) = text {
                        let scores = self.scores.entry((budget, arm)).or_default();
                        scores.push(question.score(&text));
                    }
                }
            }
        }
    }

    #[must_use]
    pub fn report(&self) -> Report {
        let mut rows = Vec::new();
        for arm in Arm::ALL {
            for ((budget, of), scores) in &self.scores {
                if *of == arm
                    && let Some(figures) = Figures::new(scores)
                {
                    let budget = arm.has_budget().then_some(*budget);
                    rows.push(Row {
                        arm,
                        budget,
                        figures,
                    });
                }
            }
        }
        let each = |count: usize| count as f64 / f64::from(self.boundaries.max(1));
        Report {
            sessions: self.sessions,
            boundaries: self.boundaries,
            files_read: each(self.read),
            files_reread: each(self.reread),
            rows,
        }
    }
}

impl Figures {
    fn new(scores: &[Score]) -> Option<Self> {
        let of = |figure: fn(&Score) -> Option<f64>| {
            let values: Vec<f64> = scores.iter().filter_map(figure).collect();
            Figure::new(&values)
        };
        let mut sizes: Vec<usize> = scores.iter().map(|score| score.size).collect();
        sizes.sort_unstable();
        let middle = |at: usize| sizes.get(at).copied().unwrap_or_default() as f64;
        Some(Self {
            documents: scores.len(),
            nar: of(|score| Some(score.nar))?,
            lar: of(|score| Some(score.lar))?,
            dir: of(|score| score.dir),
            size_median: (middle(sizes.len().saturating_sub(1) / 2) + middle(sizes.len() / 2))
                / 2.0,
            size_max: *sizes.last()?,
        })
    }
}

impl Figure {
    fn new(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        let mut random = Random::new(7);
        let mut means: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let drawn = (0..values.len()).map(|_| values[random.place(values.len())]);
                drawn.sum::<f64>() / count
            })
            .collect();
        means.sort_unstable_by(f64::total_cmp);
        Some(Self {
            mean: values.iter().sum::<f64>() / count,
            low: means[INTERVAL.0],
            high: means[INTERVAL.1],
        })
    }
}
