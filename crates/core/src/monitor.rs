//! How full a context is: what several sources say, the thresholds, and the texts that are said when
//! one is reached. Pure data and rules; the session decides when to speak.

mod texts;

pub use texts::{Texts, Values, thousands};

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
});

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
        if sample.tokens.is_none_or(|n| n == 0) && sample.used_percentage.is_none_or(|p| p <= 0.0) {
            return Taken::Empty;
        }
        let older = |known: &&UsageSample| known.source == sample.source && known.at > sample.at;
        if self.samples.iter().any(|known| older(&known)) {
            return Taken::Stale;
        }
        self.samples.retain(|known| known.source != sample.source);
        let newest = self.samples.iter().all(|known| known.at <= sample.at);
        self.samples.push(sample);
        if newest {
            self.mark();
            Taken::Newest
        } else {
            Taken::Beside
        }
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

    pub fn samples(&self) -> &[UsageSample] {
        &self.samples
    }
    pub fn window(&self) -> Option<u64> {
        self.window
    }
    /// Which thresholds were said in this stretch of this context.
    pub fn fired(&self, generation: Generation, compactions: u32) -> &[u8] {
        let here = (Some(generation), compactions);
        match (self.latch.generation, self.latch.compactions) == here {
            true => &self.latch.fired,
            false => &[],
        }
    }

    /// The agent's own percentage, or tokens against the window.
    pub fn percent_of(&self, sample: &UsageSample) -> Option<f64> {
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
        self.echo = self.newest().and_then(|sample| sample.tokens).or(self.echo);
        self.samples.clear();
        self.trail.clear();
        self.since = since;
    }

    /// Where the record has the compaction that was noticed a moment ago: what was made after it is of
    /// the present stretch, even if it is older than the notice.
    pub fn begins_at(&mut self, boundary: Timestamp) {
        if boundary < self.since {
            self.since = boundary;
        }
    }

    /// Which threshold is to be said now. All that are reached count as said.
    pub fn crossed(
        &mut self,
        thresholds: &[Threshold],
        generation: Generation,
        compactions: u32,
    ) -> Option<Threshold> {
        let percent = self.percent()?;
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

fn rank(source: UsageSource) -> u8 {
    match source {
        UsageSource::StatusLine => 3,
        UsageSource::Transcript => 2,
        UsageSource::Hook => 1,
        UsageSource::Api => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(source: UsageSource, percent: f64, at: i64) -> UsageSample {
        UsageSample {
            source,
            used_percentage: Some(percent),
            tokens: Some((2_000 * percent as u64).max(1_000)),
            window: Some(200_000),
            at: Timestamp(at),
        }
    }
    fn gauge() -> Gauge {
        Gauge::default()
    }
    fn thresholds() -> Arc<[Threshold]> {
        Monitor::default().thresholds
    }
    fn crossed(gauge: &mut Gauge, percent: f64, at: i64) -> Option<u8> {
        gauge.take(sample(UsageSource::StatusLine, percent, at));
        gauge
            .crossed(&thresholds(), Generation(1), 0)
            .map(|t| t.percent)
    }

    #[test]
    fn each_threshold_is_said_once_and_reached_means_at_or_above() {
        let mut gauge = gauge();
        for (at, (percent, said)) in [
            (49.0, None),
            (50.0, Some(50)),
            (50.0, None),
            (40.0, None),
            (51.0, None),
            (64.9, None),
            (65.0, Some(65)),
            (90.0, None),
            (10.0, None),
            (99.0, None),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(crossed(&mut gauge, percent, at as i64), said, "{percent}");
        }
    }

    #[test]
    fn a_sample_over_both_says_the_critical_one_only_and_latches_both() {
        let mut gauge = gauge();
        assert_eq!(crossed(&mut gauge, 70.0, 1), Some(65));
        assert_eq!(crossed(&mut gauge, 55.0, 2), None);
        assert_eq!(gauge.fired(Generation(1), 0), [50, 65]);
        assert!(gauge.fired(Generation(1), 1).is_empty(), "of another one");
    }

    #[test]
    fn the_trend_is_that_of_the_last_hour_and_of_this_context() {
        const MINUTE: i64 = 60_000;
        let mut gauge = gauge();
        let at = |gauge: &mut Gauge, minute: i64, percent: f64| {
            gauge.take(sample(UsageSource::StatusLine, percent, minute * MINUTE));
            gauge.trend().map(f64::round)
        };
        assert_eq!(at(&mut gauge, 0, 10.0), None);
        assert_eq!(at(&mut gauge, 4, 14.0), None, "too little to go by");
        assert_eq!(at(&mut gauge, 30, 16.0), Some(12.0));
        for minute in 31..=240 {
            at(&mut gauge, minute, 16.0);
        }
        assert_eq!(gauge.trend(), Some(0.0), "what was long ago is over");
        assert!(gauge.trail.len() <= 14, "{}", gauge.trail.len());
        gauge.begin(Timestamp(241 * MINUTE));
        assert_eq!(gauge.trend(), None);
    }

    #[test]
    fn a_compaction_and_a_new_generation_arm_them_again() {
        let mut gauge = gauge();
        crossed(&mut gauge, 70.0, 1);
        gauge.begin(Timestamp(10));
        gauge.take(sample(UsageSource::StatusLine, 55.0, 100));
        let now = |gauge: &mut Gauge, generation, compactions| {
            gauge
                .crossed(&thresholds(), Generation(generation), compactions)
                .map(|t| t.percent)
        };
        assert_eq!(now(&mut gauge, 1, 1), Some(50), "even above the warning");
        assert_eq!(now(&mut gauge, 1, 1), None);
        assert_eq!(now(&mut gauge, 2, 0), Some(50));
    }

    #[test]
    fn the_newest_wins_and_the_old_is_known_to_be_old() {
        let mut gauge = gauge();
        gauge.take(sample(UsageSource::StatusLine, 40.0, 100));
        assert_eq!(
            gauge.take(sample(UsageSource::StatusLine, 30.0, 50)),
            Taken::Stale
        );
        assert_eq!(
            gauge.take(sample(UsageSource::Transcript, 20.0, 60)),
            Taken::Beside
        );
        assert_eq!(gauge.percent(), Some(40.0));
        assert_eq!(gauge.disagreement(), Some((20.0, 40.0)));
        gauge.begin(Timestamp(1_000));
        assert_eq!(
            gauge.take(sample(UsageSource::StatusLine, 80.0, 900)),
            Taken::Stale,
            "of before the compaction"
        );
        assert_eq!(gauge.percent(), None);
    }

    #[test]
    fn nothing_is_said_by_nulls_and_zeros() {
        let mut gauge = gauge();
        let empty = UsageSample {
            source: UsageSource::StatusLine,
            used_percentage: None,
            tokens: None,
            window: Some(1_000_000),
            at: Timestamp(5),
        };
        assert_eq!(gauge.take(empty), Taken::Empty);
        assert_eq!(
            gauge.take(sample(UsageSource::Api, 0.0, 5)),
            Taken::Newest,
            "1,000 tokens are 0 percent"
        );
        assert_eq!(gauge.window(), Some(200_000));
    }

    #[test]
    fn tokens_are_measured_against_a_window_that_another_source_told() {
        let mut gauge = gauge();
        gauge.take(UsageSample {
            source: UsageSource::Transcript,
            used_percentage: None,
            tokens: Some(100_000),
            window: None,
            at: Timestamp(5),
        });
        assert_eq!(gauge.percent(), None, "of what?");
        gauge.take(UsageSample {
            source: UsageSource::StatusLine,
            used_percentage: None,
            tokens: None,
            window: Some(200_000),
            at: Timestamp(4),
        });
        assert_eq!(gauge.percent(), Some(50.0));
    }

    #[test]
    fn texts_are_filled_in_and_say_what_is_not_known() {
        let values = Values {
            name: "api".into(),
            percent: Some(50),
            tokens: Some(100_000),
            window: Some(200_000),
            before: None,
            after: Some(7),
        };
        assert_eq!(
            values.fill("{name} {percent} {tokens} {left} {before} {after} {other}"),
            "api 50 100,000 100,000 unknown 7 {other}"
        );
        let texts = Texts::default();
        let said = values.fill(&texts.warning_agent);
        assert!(said.starts_with("[sm context] Context at 50% (100,000 tokens"));
        assert!(said.contains("Consider writing a handoff doc and running `sm handoff <path>`."));
        assert!(said.contains("sm handoff --template"));
    }

    #[test]
    fn only_samples_of_the_same_moment_disagree() {
        use UsageSource::{Api, StatusLine, Transcript};
        for (samples, apart, why) in [
            (
                vec![(StatusLine, 50.0, 1_300), (Transcript, 40.0, 1_000)],
                true,
                "it follows",
            ),
            (
                vec![(StatusLine, 43.0, 1_300), (Transcript, 40.0, 1_000)],
                false,
                "near enough",
            ),
            (
                vec![(StatusLine, 40.0, 1_000), (Transcript, 50.0, 1_300)],
                false,
                "it knows nothing of the next request",
            ),
            (
                vec![(StatusLine, 50.0, 60_000), (Transcript, 40.0, 1_000)],
                false,
                "of long before",
            ),
            (
                vec![(StatusLine, 50.0, 1_000), (Api, 40.0, 2_000)],
                true,
                "two that follow",
            ),
        ] {
            let mut gauge = gauge();
            for (source, percent, at) in samples {
                gauge.take(sample(source, percent, at));
            }
            assert_eq!(gauge.disagreement().is_some(), apart, "{why}");
        }
    }
}
