//! A provider's limit: it answers nothing for a while, and time ends that. Which kind, how long it is
//! waited, and what is said about it. Pure.

use crate::ids::{MessageId, Timestamp, TurnId};
use serde::{Deserialize, Serialize};

/// Pauses before each try where nobody told when the limit ends. The last one repeats.
const PAUSES: [i64; 6] = [60_000, 180_000, 600_000, 1_200_000, 1_800_000, 3_600_000];
/// A usage limit lasts long: it is not asked again within the first minutes.
const USAGE_PAUSES: [i64; 4] = [900_000, 1_800_000, 3_600_000, 3_600_000];
/// Sessions that share an account do not all come back in the same moment.
const JITTER: i64 = 20_000;
/// A provider's clock and ours differ.
const AFTER_RESET: i64 = 3_000;
/// An agent that goes on by itself does so within a minute or two; it comes first.
const AFTER_ITS_OWN: i64 = 180_000;
/// A reset farther away is not one that anybody was told.
const FARTHEST: i64 = 35 * 86_400_000;
/// From so much of a window on it is the one that is used up.
const USED_UP: f64 = 99.5;
const LONGEST_TEXT: usize = 300;

/// What the provider refuses by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// So much is allowed in a time, and it is used up.
    Usage,
    /// It has too much to do, or was asked too often.
    Overloaded,
    /// It was not reached.
    Network,
}

impl LimitKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Overloaded => "overloaded",
            Self::Network => "network",
        }
    }
    /// What has happened, for a person.
    pub fn told(self) -> &'static str {
        match self {
            Self::Usage => "its provider's usage limit is reached",
            Self::Overloaded => "its provider takes no requests for now",
            Self::Network => "its provider cannot be reached",
        }
    }
}

/// Where the time at which a limit ends is from, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetSource {
    /// The agent told it through an interface of its own (a hook, its status line).
    Agent,
    /// It stands in the agent's record.
    Transcript,
    /// Read in a sentence that is meant for people.
    Sentence,
    /// Nobody told it: so long is waited before the next try.
    Assumed,
}

impl ResetSource {
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Transcript => "transcript",
            Self::Sentence => "sentence",
            Self::Assumed => "assumed",
        }
    }
}

/// A refusal, as it was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderLimit {
    pub kind: LimitKind,
    /// When it ends, if that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<(Timestamp, ResetSource)>,
    /// In the words of whoever told it.
    pub text: String,
    /// The agent says that it will go on by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues_itself: bool,
}

impl ProviderLimit {
    pub fn new(kind: LimitKind, text: &str) -> Self {
        Self {
            kind,
            resets_at: None,
            text: text.chars().take(LONGEST_TEXT).collect(),
            continues_itself: false,
        }
    }
    #[must_use]
    pub fn resetting(mut self, at: Option<Timestamp>, source: ResetSource) -> Self {
        self.resets_at = at.map(|at| (at, source));
        self
    }
    /// A window that is used up tells its end better than a sentence, which is to the minute.
    #[must_use]
    pub fn among(mut self, windows: &[UsageWindow], now: Timestamp) -> Self {
        let is_exact = self
            .resets_at
            .is_some_and(|(_, source)| source <= ResetSource::Transcript);
        if self.kind == LimitKind::Usage
            && !is_exact
            && let Some(at) = used_up(windows, now)
        {
            self.resets_at = Some((at, ResetSource::Agent));
        }
        self
    }
}

/// How much of what a provider allows in a time is used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageWindow {
    /// As the agent calls it (five_hour, seven_day, primary).
    pub name: String,
    pub used_percentage: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
}

/// What is done about limits, by the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitPolicy {
    /// The agent is told to go on when the limit is over.
    pub resume: bool,
    /// So often in a row, if it meets the limit again each time.
    pub tries: u32,
}

impl Default for LimitPolicy {
    fn default() -> Self {
        Self {
            resume: false,
            tries: 12,
        }
    }
}

/// How far a limited session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitPhase {
    /// The agent stands still, and nothing is given to it.
    Waiting,
    /// The time has come: what waits may be given.
    Due,
    /// The agent was told to go on, and is at it.
    Trying,
    /// The time has come and nobody goes on by itself: the session is idle as any other.
    Over,
}

impl LimitPhase {
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Due => "due",
            Self::Trying => "trying",
            Self::Over => "over",
        }
    }
}

/// A limit that a session has met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limited {
    pub limit: ProviderLimit,
    pub phase: LimitPhase,
    /// The turn that met it.
    pub turn: TurnId,
    /// When the agent met it.
    pub since: Timestamp,
    /// Until then nothing is given to the agent.
    pub until: Timestamp,
    /// Whether `until` was told by somebody.
    pub source: ResetSource,
    /// How often the agent was told to go on and met the limit again.
    pub tries: u32,
    /// The prompt that tells it to go on, if one is to be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<MessageId>,
}

impl Limited {
    /// The agent stands still for the limit.
    pub fn holds(&self) -> bool {
        match self.phase {
            LimitPhase::Waiting | LimitPhase::Due => true,
            LimitPhase::Trying | LimitPhase::Over => false,
        }
    }
}

/// Until when it is waited, and who says so. `spread`: any number that differs between sessions.
pub fn wait_until(
    limit: &ProviderLimit,
    tries: u32,
    spread: u64,
    now: Timestamp,
) -> (Timestamp, ResetSource) {
    let jitter = i64::try_from(spread % (JITTER as u64)).unwrap_or(0);
    let pauses: &[i64] = match limit.kind {
        LimitKind::Usage => &USAGE_PAUSES,
        LimitKind::Overloaded | LimitKind::Network => &PAUSES,
    };
    let at = (tries as usize).min(pauses.len() - 1);
    let assumed = now.plus(pauses[at] + jitter);
    let told = limit.resets_at;
    match told.filter(|(at, _)| at.since(now) < FARTHEST) {
        // it was over by its own word, and is met again: whoever told it is not asked at once
        Some((at, _)) if at <= now && tries > 0 => (assumed, ResetSource::Assumed),
        Some((at, source)) => {
            let soonest = now.plus(if tries > 0 { PAUSES[0] } else { 0 });
            let later = match limit.continues_itself {
                true => AFTER_ITS_OWN,
                false => AFTER_RESET,
            };
            (at.max(soonest).plus(later + jitter), source)
        }
        None => (assumed, ResetSource::Assumed),
    }
}

/// When the window that is used up begins anew; of several the last one.
fn used_up(windows: &[UsageWindow], now: Timestamp) -> Option<Timestamp> {
    let full = windows.iter().filter(|w| w.used_percentage >= USED_UP);
    full.filter_map(|w| w.resets_at)
        .filter(|at| *at > now)
        .max()
}

/// How long that is, for people.
pub fn in_words(ms: i64) -> String {
    let minutes = (ms + 30_000) / 60_000;
    let (days, hours) = (minutes / 1440, minutes / 60);
    match (days, hours, minutes) {
        (_, _, ..=0) => "less than a minute".to_owned(),
        (0, 0, 1) => "1 minute".to_owned(),
        (0, 0, minutes) => format!("{minutes} minutes"),
        (0, hours, minutes) => match minutes % 60 {
            0 => format!("{hours} h"),
            rest => format!("{hours} h {rest} min"),
        },
        (days, hours, _) => match hours % 24 {
            0 => format!("{days} d"),
            rest => format!("{days} d {rest} h"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn usage() -> ProviderLimit {
        ProviderLimit::new(LimitKind::Usage, "You've hit your limit")
    }
    fn window(used_percentage: f64, resets_in: i64) -> UsageWindow {
        UsageWindow {
            name: "five_hour".into(),
            used_percentage,
            resets_at: Some(NOW.plus(resets_in)),
        }
    }

    #[test]
    fn a_reset_that_was_told_is_waited_for_and_a_little_more() {
        let limit = usage().resetting(Some(NOW.plus(7_200_000)), ResetSource::Agent);
        for spread in [0, 1, 19_999, 20_000, u64::MAX] {
            let (until, source) = wait_until(&limit, 0, spread, NOW);
            let more = until.since(NOW.plus(7_200_000));
            assert!(
                (AFTER_RESET..AFTER_RESET + JITTER).contains(&more),
                "{more}"
            );
            assert_eq!(source, ResetSource::Agent);
        }
    }

    #[test]
    fn the_window_that_is_used_up_tells_its_end() {
        let windows = [window(100.0, 3_600_000), window(42.0, 90_000_000)];
        let exact = Some((NOW.plus(3_600_000), ResetSource::Agent));
        assert_eq!(usage().among(&windows, NOW).resets_at, exact);
        let said = usage().resetting(Some(NOW.plus(3_660_000)), ResetSource::Sentence);
        assert_eq!(said.among(&windows, NOW).resets_at, exact);
        let written = usage().resetting(Some(NOW.plus(5)), ResetSource::Transcript);
        assert_eq!(written.clone().among(&windows, NOW), written);
        let none = [window(99.0, 3_600_000), window(100.0, -1)];
        assert_eq!(usage().among(&none, NOW), usage());
        // not for a provider that is overloaded
        let busy = ProviderLimit::new(LimitKind::Overloaded, "529");
        assert_eq!(busy.clone().among(&windows, NOW), busy);
        let (until, source) = wait_until(&busy, 0, 0, NOW);
        assert_eq!((until, source), (NOW.plus(60_000), ResetSource::Assumed));
    }

    #[test]
    fn pauses_grow_where_nobody_knows_and_end_growing() {
        let limit = ProviderLimit::new(LimitKind::Network, "ECONNREFUSED");
        let mut last = 0;
        for tries in 0..20 {
            let (until, source) = wait_until(&limit, tries, 0, NOW);
            assert_eq!(source, ResetSource::Assumed);
            let pause = until.since(NOW);
            assert!(pause >= last && pause <= 3_600_000, "{pause}");
            last = pause;
        }
        assert_eq!(last, 3_600_000);
    }

    #[test]
    fn a_reset_in_the_past_or_in_a_far_future_is_not_believed_for_ever() {
        let past = usage().resetting(Some(NOW.plus(-5_000)), ResetSource::Agent);
        let (until, _) = wait_until(&past, 0, 0, NOW);
        assert_eq!(until, NOW.plus(AFTER_RESET), "the first time it is over");
        let (until, source) = wait_until(&past, 1, 0, NOW);
        assert_eq!((until, source), (NOW.plus(1_800_000), ResetSource::Assumed));
        let far = usage().resetting(Some(NOW.plus(FARTHEST + 1)), ResetSource::Agent);
        assert_eq!(wait_until(&far, 0, 0, NOW).1, ResetSource::Assumed);
    }

    #[test]
    fn times_are_said_in_the_words_that_fit_them() {
        for (ms, words) in [
            (-5, "less than a minute"),
            (20_000, "less than a minute"),
            (60_000, "1 minute"),
            (130_000, "2 minutes"),
            (3_600_000, "1 h"),
            (7_980_000, "2 h 13 min"),
            (86_400_000, "1 d"),
            (100_800_000, "1 d 4 h"),
        ] {
            assert_eq!(in_words(ms), words, "{ms}");
        }
    }
}
