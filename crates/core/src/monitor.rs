//! How full a context is: what several sources say, the thresholds, and the texts that are said when
//! one is reached. Pure data and rules; the session decides when to speak.

mod texts;

pub use texts::{How, Texts, Values, thousands};

use crate::ids::{Generation, Timestamp};
use crate::signal::{UsageSample, UsageSource};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, LazyLock};

/// How serious a threshold is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Said without interrupting.
    Warning,
    /// Said at the next hook, and urgently if there is none in time.
    Critical,
}

impl Level {
    pub const ALL: [Self; 2] = [Self::Warning, Self::Critical];
    pub fn word(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// Reached at this percentage or above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Threshold {
    pub percent: u8,
    pub level: Level,
}

/// What is done when the agent is about to compact its context by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCompaction {
    /// It compacts; what it had is saved first.
    #[default]
    Allow,
    /// It is held up for a few requests, where the agent allows that, and told to hand off.
    Handoff,
}

impl OnCompaction {
    pub const ALL: [Self; 2] = [Self::Allow, Self::Handoff];
    pub const NAMES: [&'static str; 2] = ["allow", "handoff"];
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Handoff => "handoff",
        }
    }
}

/// What a session is watched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Monitor {
    pub enabled: bool,
    /// Lowest first, each percentage once.
    pub thresholds: Arc<[Threshold]>,
    pub on_compaction: OnCompaction,
    pub texts: Arc<Texts>,
    /// The agent was set to compact as if its window were no larger than this.
    pub window: Option<u64>,
}

/// Hundreds of sessions are watched alike: they share one of it.
static USUAL: LazyLock<Monitor> = LazyLock::new(|| Monitor {
    enabled: true,
    thresholds: Arc::new([
        Threshold {
            percent: 50,
            level: Level::Warning,
        },
        Threshold {
            percent: 65,
            level: Level::Critical,
        },
    ]),
    on_compaction: OnCompaction::Allow,
    texts: Arc::new(Texts::default()),
    window: None,
});

impl Monitor {
    /// From so many percent on a context is at this level.
    pub fn from(&self, level: Level) -> Option<u8> {
        let these = self.thresholds.iter().filter(|t| t.level == level);
        these.map(|t| t.percent).min()
    }
}

impl Default for Monitor {
    fn default() -> Self {
        USUAL.clone()
    }
}

/// What is known of the present context, by source. Belongs to one generation and one stretch between
/// compactions; what was said of another one is not taken.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Gauge {
    /// The newest of each source.
    samples: Vec<UsageSample>,
    /// Samples that were made before this are of another context, or of before a compaction.
    #[serde(default)]
    since: Timestamp,
    /// The window, once any source has told.
    #[serde(default)]
    window: Option<u64>,
    #[serde(default)]
    latch: Latch,
    /// Tokens before the last compaction: a status line may still show them once more.
    #[serde(default)]
    echo: Option<u64>,
    /// How it came here: oldest first, at least some minutes apart.
    #[serde(default)]
    trail: Vec<Mark>,
    /// What the agent's settings allow of a larger window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<Limit>,
}

/// Where an agent compacts before its model has to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// The window that it pretends to have.
    pub window: u64,
    /// What of it can be used.
    pub usable: u64,
}

/// How full it was at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Mark {
    at: Timestamp,
    percent: f64,
}

/// Which thresholds were said, and in which stretch of which context.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Latch {
    generation: Option<Generation>,
    compactions: u32,
    fired: Vec<u8>,
}

/// What became of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is the newest there is.
    Newest,
    /// It is of its source's newest, but another source knows better.
    Beside,
    /// Of another context, or older than what is known.
    Stale,
    /// It says nothing (before the first response, after a compaction).
    Empty,
}

/// Sources further apart than this are shown to disagree, percentage points.
const DISAGREE: f64 = 5.0;
/// … if what they say is of the same moment, milliseconds.
const SAME_MOMENT: i64 = 3_000;
/// The trend is that of the last hour, by marks that are so far apart …
const MARKS_APART: i64 = 5 * 60_000;
const TREND_OVER: i64 = 3_600_000;
/// … and is not told before there is this much to go by.
const TREND_FROM: i64 = 5 * 60_000;

impl Gauge {
    pub fn take(&mut self, sample: UsageSample) -> Taken {
        if sample.at < self.since {
            return Taken::Stale;
        }
        if sample.source == UsageSource::Unproven {
            return self.take_unproven(sample);
        }
        // its time is that of the call: what it shows may be of before
        if sample.source == UsageSource::StatusLine && self.echo.is_some() {
            if sample.tokens == self.echo {
                return Taken::Stale;
            }
            self.echo = None;
        }
        if let Some(window) = sample.window.filter(|w| *w > 0) {
            self.window = Some(window);
        }
        if says_nothing(&sample) {
            return Taken::Empty;
        }
        let older = |known: &&UsageSample| known.source == sample.source && known.at > sample.at;
        if self.samples.iter().any(|known| older(&known)) {
            return Taken::Stale;
        }
        self.samples
            .retain(|known| ![sample.source, UsageSource::Unproven].contains(&known.source));
        let newest = self.samples.iter().all(|known| known.at <= sample.at);
        self.samples.push(sample);
        if newest {
            self.mark();
            Taken::Newest
        } else {
            Taken::Beside
        }
    }

    /// Taken only where no source of the session's own has told anything, and until one does. It leaves
    /// no mark and teaches no window.
    fn take_unproven(&mut self, sample: UsageSample) -> Taken {
        if self.own().is_some() {
            return Taken::Stale;
        }
        if says_nothing(&sample) {
            return Taken::Empty;
        }
        self.samples = vec![sample];
        Taken::Newest
    }

    /// Leaves a mark now and then; the last one of before the hour stays, to measure from.
    fn mark(&mut self) {
        let (Some(at), Some(percent)) = (self.newest().map(|s| s.at), self.percent()) else {
            return;
        };
        let apart = |mark: &Mark| at.since(mark.at) >= MARKS_APART;
        if self.trail.last().is_none_or(apart) {
            self.trail.push(Mark { at, percent });
        }
        while self.trail.len() > 1 && at.since(self.trail[1].at) >= TREND_OVER {
            self.trail.remove(0);
        }
    }

    /// Percentage points per hour, once there is enough to go by.
    pub fn trend(&self) -> Option<f64> {
        let (newest, first) = (self.newest()?, self.trail.first()?);
        let span = newest.at.since(first.at);
        if span < TREND_FROM {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "hours, not ages")]
        let hours = span as f64 / TREND_OVER as f64;
        Some((self.percent_of(newest)? - first.percent) / hours)
    }

    /// The newest sample; of two of the same moment, the one that says more.
    pub fn newest(&self) -> Option<&UsageSample> {
        self.samples
            .iter()
            .max_by_key(|s| (s.at, s.used_percentage.is_some(), rank(s.source)))
    }

    /// The newest sample of the session's own sources: what may be acted on.
    pub fn own(&self) -> Option<&UsageSample> {
        self.newest()
            .filter(|newest| newest.source != UsageSource::Unproven)
    }

    pub fn samples(&self) -> &[UsageSample] {
        &self.samples
    }
    /// The window that counts: the model's, or the smaller one that the agent was set to.
    pub fn window(&self) -> Option<u64> {
        let window = self.newest().and_then(|s| s.window).or(self.window);
        match (window, self.limit) {
            (Some(window), Some(limit)) => Some(window.min(limit.window)),
            (Some(_) | None, Some(_) | None) => window,
        }
    }
    pub fn limit(&self) -> Option<Limit> {
        self.limit
    }
    pub fn set_limit(&mut self, limit: Option<Limit>) {
        self.limit = limit;
    }
    /// Which thresholds were said in this stretch of this context.
    pub fn fired(&self, generation: Generation, compactions: u32) -> &[u8] {
        let here = (Some(generation), compactions);
        match (self.latch.generation, self.latch.compactions) == here {
            true => &self.latch.fired,
            false => &[],
        }
    }

    /// The agent's own percentage, or tokens against the window. Of a window that the agent will not
    /// fill, what it can use counts instead: else it would have compacted before a threshold.
    pub fn percent_of(&self, sample: &UsageSample) -> Option<f64> {
        if let Some(percent) = self.percent_of_limit(sample) {
            return Some(percent);
        }
        if let Some(percent) = sample.used_percentage.filter(|p| p.is_finite()) {
            return Some(percent.clamp(0.0, 1000.0));
        }
        let window = sample.window.or(self.window).filter(|w| *w > 0)?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "token counts are far below 2^52"
        )]
        let percent = sample.tokens? as f64 * 100.0 / window as f64;
        Some(percent.min(1000.0))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts are far below 2^52"
    )]
    fn percent_of_limit(&self, sample: &UsageSample) -> Option<f64> {
        let limit = self.limit.filter(|limit| limit.usable > 0)?;
        let window = sample.window.or(self.window)?;
        if limit.window >= window {
            return None;
        }
        let usable = limit.usable as f64;
        let percent = match (sample.tokens, sample.used_percentage) {
            (Some(tokens), _) => tokens as f64 * 100.0 / usable,
            (None, percent) => percent.filter(|p| p.is_finite())? * window as f64 / usable,
        };
        Some(percent.clamp(0.0, 1000.0))
    }

    pub fn percent(&self) -> Option<f64> {
        self.percent_of(self.newest()?)
    }

    /// The sources contradict each other: the lowest and the highest of them.
    pub fn disagreement(&self) -> Option<(f64, f64)> {
        let newest = self.samples.iter().map(|s| s.at).max()?;
        let known = self.samples.iter().filter(|s| self.tells_of(s, newest));
        let known = known.filter_map(|s| self.percent_of(s));
        let (low, high) = known.fold((f64::MAX, f64::MIN), |(low, high), p| {
            (low.min(p), high.max(p))
        });
        (high - low > DISAGREE).then_some((low, high))
    }

    /// Whether a sample tells of the same moment as the newest one. The record tells of each request
    /// when it is made; the others follow it, so one that is older knows nothing of it yet.
    fn tells_of(&self, sample: &UsageSample, newest: Timestamp) -> bool {
        let followed = self
            .samples
            .iter()
            .filter(|other| other.source == UsageSource::Transcript)
            .all(|record| sample.at >= record.at);
        followed && newest.since(sample.at) <= SAME_MOMENT
    }

    /// Another context, or the same after a compaction: what was known is over. `since`: from when on,
    /// by the clock of those who make samples.
    pub fn begin(&mut self, since: Timestamp) {
        self.echo = self.own().and_then(|sample| sample.tokens).or(self.echo);
        self.samples.clear();
        self.trail.clear();
        self.since = since;
    }

    /// Where the record has the compaction that was noticed a moment ago: what was made after it is of
    /// the present stretch, even if it is older than the notice.
    pub(crate) fn begins_at(&mut self, boundary: Timestamp) {
        if boundary < self.since {
            self.since = boundary;
        }
    }

    /// Which threshold is to be said now. All that are reached count as said.
    pub(crate) fn crossed(
        &mut self,
        thresholds: &[Threshold],
        generation: Generation,
        compactions: u32,
    ) -> Option<Threshold> {
        let percent = self.percent_of(self.own()?)?;
        if self.latch.generation != Some(generation) || self.latch.compactions != compactions {
            self.latch = Latch {
                generation: Some(generation),
                compactions,
                fired: Vec::new(),
            };
        }
        let reached = thresholds
            .iter()
            .filter(|t| percent >= f64::from(t.percent));
        let fired = &self.latch.fired;
        let new: Vec<Threshold> = reached
            .filter(|t| !fired.contains(&t.percent))
            .copied()
            .collect();
        self.latch.fired.extend(new.iter().map(|t| t.percent));
        new.into_iter().max_by_key(|t| t.percent)
    }
}

fn says_nothing(sample: &UsageSample) -> bool {
    sample.tokens.is_none_or(|n| n == 0) && sample.used_percentage.is_none_or(|p| p <= 0.0)
}

fn rank(source: UsageSource) -> u8 {
    match source {
        UsageSource::StatusLine => 4,
        UsageSource::Transcript => 3,
        UsageSource::Hook => 2,
        UsageSource::Api => 1,
        UsageSource::Unproven => 0,
    }
}

#[cfg(test)]
mod tests;
