//! What a schedule leaves behind: numbers if it went well, a readable story if not.

use std::fmt;

/// Lines of a failure's story that are shown.
const SHOWN: usize = 70;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    pub steps: u64,
    /// Steps of the session's state machine.
    pub events: u64,
    pub crashes: u64,
    /// Points at which the daemon could have been killed.
    pub crash_points: u64,
    pub messages: u64,
    pub arrived: u64,
    pub failed: u64,
    pub pastes: u64,
    pub answers: u64,
    pub mails: u64,
    pub enters: u64,
    pub escapes: u64,
    pub probes: u64,
    pub told: u64,
    /// Times the owner was told that somebody is needed.
    pub calls_for_a_person: u64,
    pub virtual_ms: i64,
    /// Handoffs that were scheduled, and the schedules that had one.
    pub handoffs: u64,
    pub with_handoff: u64,
    pub handoffs_refused: u64,
    pub handed_off: u64,
    pub rolled_back: u64,
    /// Prompts that a hook had told of and the record lacked.
    pub given_again: u64,
    pub abandoned: u64,
    pub clears: u64,
    pub stops: u64,
    pub stashes: u64,
    pub erasures: u64,
    /// Thresholds that were told of, alerts the agent got, and what became of compactions.
    pub alerts: u64,
    pub alerts_said: u64,
    pub compactions: u64,
    pub held_up: u64,
    pub recoveries: u64,
    /// Turns that the provider refused, and times the agent was told to go on.
    pub limits: u64,
    pub words_to_go_on: u64,
}

impl Stats {
    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.events += other.events;
        self.crashes += other.crashes;
        self.crash_points += other.crash_points;
        self.messages += other.messages;
        self.arrived += other.arrived;
        self.failed += other.failed;
        self.pastes += other.pastes;
        self.answers += other.answers;
        self.mails += other.mails;
        self.enters += other.enters;
        self.escapes += other.escapes;
        self.probes += other.probes;
        self.told += other.told;
        self.calls_for_a_person += other.calls_for_a_person;
        self.virtual_ms += other.virtual_ms;
        self.handoffs += other.handoffs;
        self.with_handoff += other.with_handoff;
        self.handoffs_refused += other.handoffs_refused;
        self.handed_off += other.handed_off;
        self.rolled_back += other.rolled_back;
        self.given_again += other.given_again;
        self.abandoned += other.abandoned;
        self.clears += other.clears;
        self.stops += other.stops;
        self.stashes += other.stashes;
        self.erasures += other.erasures;
        self.alerts += other.alerts;
        self.alerts_said += other.alerts_said;
        self.compactions += other.compactions;
        self.held_up += other.held_up;
        self.recoveries += other.recoveries;
        self.limits += other.limits;
        self.words_to_go_on += other.words_to_go_on;
    }
}

/// A schedule that broke a rule. The same seed breaks it again.
#[derive(Debug, Clone)]
pub struct Failure {
    pub seed: u64,
    pub what: String,
    /// The tests that play such schedules.
    pub test: &'static str,
    pub trace: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.what)?;
        // the alternate form tells the whole story
        let shown = if f.alternate() { usize::MAX } else { SHOWN };
        for line in self
            .trace
            .iter()
            .skip(self.trace.len().saturating_sub(shown))
        {
            writeln!(f, "  {line}")?;
        }
        write!(
            f,
            "replay: SM_SIM_SEED={} cargo nextest run -p sm-testkit --test {} replay --no-capture",
            self.seed, self.test
        )
    }
}

impl std::error::Error for Failure {}
