//! What the other sources say: transcript, status file, title, output, and evidence from a probe.
//! They correct the state when a hook is missing, and never overrule a newer hook.

use super::{Host, Session, State};
use crate::ids::Timestamp;
use crate::message::{Proof, Way};
use crate::signal::{Activity, BreakReason, Composer, Evidence, Fact, StatusReading};

/// A source that does not say when it was written is believed against a state of this age.
const SETTLED: i64 = 2_000;
/// So long a prompt has to be seen before a starting agent that says nothing counts as ready.
const READY: i64 = 400;
/// And so long after that it is looked at again.
const READY_LOOK: i64 = 2_000;

impl Session {
    pub(super) fn facts(&mut self, facts: Vec<Fact>, now: Timestamp) {
        for fact in facts {
            match fact {
                Fact::UserText { text, came, at } => {
                    self.record_shows(&text, at, now);
                    self.prompt_proves(&text, at, Proof::Transcript, now);
                    let new = at.is_none_or(|at| at >= self.rec.since);
                    if new && self.rec.state == State::Idle {
                        self.ask(now); // a turn began, and its hook is late or lost
                        self.prompt_recorded_at_limit(came, at);
                    }
                }
                Fact::Labelled { text, label } => self.labelled(&text, &label),
                Fact::Assistant { at } => {
                    self.record_went_on(at);
                    if self
                        .newest_submission()
                        .is_some_and(|t| at.is_none_or(|at| at >= t))
                    {
                        self.consume_submitted(now);
                    }
                    self.sign_of_life(now);
                }
                Fact::ToolCalled { id, call } => self.tool_called(id, call),
                Fact::ToolReturned { id } => self.tool_returned(&id),
                Fact::TurnEnded { broken, at } => {
                    self.open_calls.clear(); // what has no result gets none
                    // a compaction that was interrupted may be followed by another one at once
                    let known = match self.rec.state {
                        State::Compacting => self.rec.since.max(self.rec.last_signal.plus(1)),
                        _ => self.rec.since,
                    };
                    let ours = at.is_none_or(|at| at >= known);
                    match broken {
                        Some(reason) if ours && self.rec.turn_open => {
                            self.turn_broken(&reason, now);
                        }
                        Some(BreakReason::Limit(limit)) => self.limit_read(limit, at, now),
                        Some(_) => {}
                        // an ordinary end is told by the hook; if that is lost, the probe finds it
                        None if ours && self.rec.turn_open => self.ask(now),
                        None => {}
                    }
                }
                Fact::CompactBoundary { before, after, at } => {
                    self.compact_boundary((before, after), at, now);
                }
                Fact::Usage(sample) => self.sampled(sample, now),
                Fact::Windows(windows) => self.windows_told(windows, now),
            }
        }
        self.name_dialog();
    }

    pub(super) fn status(&mut self, status: StatusReading, now: Timestamp) {
        if !self.rec.state.is_live() || self.rec.process.is_some_and(|own| own != status.process) {
            return;
        }
        if self.may_ask_about_limit(&status.activity) {
            self.ask(now); // only the screen tells what it asks
            return;
        }
        let compacting = self.rec.state == State::Compacting;
        self.read_status(&status, now, now); // it was read just now
        // (a compaction that was cancelled brings its command back in a moment)
        if status.activity == Activity::Idle && self.lags(now) && !compacting {
            self.recheck_at = self.recheck_at.min(now); // what was waited for
        }
    }

    /// `as_of`: the status was read at this time or later.
    fn read_status(&mut self, status: &StatusReading, as_of: Timestamp, now: Timestamp) {
        if let Some(conversation) = &status.conversation {
            self.conversation_seen(conversation, status.at, as_of, now);
        }
        self.activity(&status.activity, status.at, as_of, now);
    }

    pub(super) fn title(&mut self, activity: &Activity, now: Timestamp) {
        let doubtful = match (activity, &self.rec.state) {
            (Activity::Busy, State::Idle | State::Starting | State::Waiting(_)) => true,
            (
                Activity::Idle | Activity::IdleOrWaiting | Activity::Waiting(_),
                State::Working | State::Compacting | State::Starting,
            ) => true,
            (Activity::Waiting(_), State::Idle) => true,
            (Activity::Idle | Activity::IdleOrWaiting, State::Waiting(_)) => true,
            (
                Activity::Busy | Activity::Idle | Activity::IdleOrWaiting | Activity::Waiting(_),
                _,
            )
            | (Activity::Unknown, _) => false,
        };
        if doubtful {
            self.ask(now); // a title is a hint; the better sources decide
        }
    }

    /// A program without hooks: it works while it writes, it is idle once it is quiet.
    pub(super) fn output(&mut self, active: bool, now: Timestamp) {
        if self.profile.has_transcript || !self.rec.state.is_live() || self.rec.launch == 0 {
            return;
        }
        if active {
            self.output_proves(now);
            self.working("it writes to its terminal", now);
        } else {
            self.turn_over("", now);
            self.become_state(State::Idle, "its terminal is quiet", now);
        }
    }

    /// What a source says the agent is doing, against what we believe. `at`: since when, if it
    /// says so; `as_of`: when it was certainly true. Sources lag behind the hooks.
    fn activity(
        &mut self,
        activity: &Activity,
        at: Option<Timestamp>,
        as_of: Timestamp,
        now: Timestamp,
    ) {
        let believable = at.is_some_and(|at| at >= self.rec.since)
            || as_of.since(self.rec.since) >= SETTLED
            || self.rec.state == State::Starting;
        if !believable {
            if self.contradicts(activity) {
                // asked again once it can be told from a sign that lags behind
                let settled = self.rec.since.plus(SETTLED).max(now.plus(1));
                self.check_by(settled);
            }
            return;
        }
        match activity {
            Activity::Busy => match self.rec.state {
                State::Idle | State::Waiting(_) => self.working("its own status says so", now),
                // with its start or with its first prompt: the turn counts from the prompt
                State::Starting if self.prompted_at_launch() => {
                    self.become_state(State::Working, "its own status says so", now);
                }
                State::Starting => self.sign_of_life(now), // busy with its own start
                State::Working => self.sign_of_life(now),
                State::Compacting | State::Exited | State::Lost => {}
            },
            Activity::Idle => match self.rec.state {
                State::Working | State::Waiting(_) => {
                    self.turn_over_unheard(now);
                    self.become_state(State::Idle, "its own status says so", now);
                }
                State::Starting => self.become_state(State::Idle, "it is ready", now),
                State::Compacting => self.compaction_left(now),
                State::Idle | State::Exited | State::Lost => {}
            },
            Activity::Waiting(need) => match self.rec.state {
                State::Working | State::Idle | State::Starting => {
                    self.person_needed(need.clone(), None, now);
                }
                State::Waiting(_) => self.sign_of_life(now),
                State::Compacting | State::Exited | State::Lost => {}
            },
            Activity::IdleOrWaiting | Activity::Unknown => {}
        }
    }

    pub(super) fn probed(&mut self, probe: u64, evidence: &Evidence, now: Timestamp) {
        let Some(asked) = self.probe.take_if(|pending| pending.no == probe) else {
            return; // somebody else's, or of before a crash
        };
        if !self.rec.state.is_live() {
            self.record_asked(evidence.transcript_read, now);
            return;
        }
        if evidence.alive == Some(false) {
            self.process_gone(now);
            return;
        }
        self.gone_since = None;
        self.deaf_since = match evidence.deaf {
            true => self.deaf_since.or(Some(now)),
            false => None,
        };
        if let Some(screen) = &evidence.screen {
            self.drafted = match screen.composer {
                Composer::Draft
                | Composer::DraftOverStash
                | Composer::Stashed
                | Composer::Shell => true,
                Composer::Empty => false,
                Composer::Ours | Composer::Hidden => self.drafted, // it may be stashed behind it
            };
        }
        if self.rec.process.is_none()
            && self.rec.state == State::Starting
            && (self.rec.open_handoff().is_some() || self.rec.host == Host::Run)
        {
            return; // between two processes: the screen is that of the one that ended
        }
        if asked.asked_at < self.rec.since {
            self.ask(now); // it may show how things were before the state changed
            return;
        }
        self.absorb(evidence, asked.asked_at, now);
        if evidence.transcript_read {
            self.record_read(asked.asked_at, now);
        }
        if self.rec.generation != asked.generation {
            self.ask(now); // the record that was read is that of the context before
            return;
        }
        self.record_asked(evidence.transcript_read, now);
        self.wake_asked(evidence, asked.asked_at, now);
        let flight = self.rec.flight.as_ref();
        if flight.is_some_and(|f| Some(f.no) != asked.flight || f.phase_since > asked.asked_at) {
            self.look_at_flight(now); // asked before the delivery had come this far
            return;
        }
        if evidence.proves_idle() || !(self.profile.reads_screen || self.is_driven()) {
            self.settle_accounts(evidence.transcript_read, asked.asked_at, now);
        }
        self.flight_probed(evidence, asked.asked_at, now);
    }

    /// Evidence of several sources, best first, true at some time after `asked_at`.
    fn absorb(&mut self, evidence: &Evidence, asked_at: Timestamp, now: Timestamp) {
        if self.closes_limit_dialog(evidence, now) {
            return;
        }
        if let Some(status) = &evidence.status {
            if self.rec.process.is_none_or(|own| own == status.process) {
                self.read_status(status, asked_at, now);
            }
            // Only the screen tells a first-run dialog from an idle prompt.
            if let Some(screen) = &evidence.screen
                && matches!(screen.activity, Activity::Waiting(_))
            {
                self.activity(&screen.activity, None, asked_at, now);
            }
            return;
        }
        if !self.profile.reads_screen {
            return;
        }
        match evidence.idle() {
            Some(Activity::Idle) if self.rec.state == State::Starting => {
                self.seems_ready(asked_at, now);
            }
            Some(activity) => {
                self.ready_since = None;
                self.activity(&activity, None, asked_at, now);
            }
            None => {
                self.ready_since = None;
                self.arm_check(now);
            }
        }
    }

    /// A prompt on the screen of a starting agent: a dialog may still take its place, so it has to
    /// stay for a moment, and is looked at again soon.
    fn seems_ready(&mut self, asked_at: Timestamp, now: Timestamp) {
        match self.ready_since {
            Some(since) if asked_at.since(since) >= READY => {
                self.become_state(State::Idle, "it is ready", now);
                self.check_at = Some(now.plus(READY_LOOK));
            }
            Some(since) => self.check_at = Some(since.plus(READY)),
            None => {
                self.ready_since = Some(now);
                self.check_at = Some(now.plus(READY));
            }
        }
    }

    fn contradicts(&self, activity: &Activity) -> bool {
        match activity {
            Activity::Busy => self.rec.state != State::Working,
            Activity::Idle => self.rec.state != State::Idle,
            Activity::Waiting(_) => !matches!(self.rec.state, State::Waiting(_)),
            Activity::IdleOrWaiting | Activity::Unknown => false,
        }
    }

    fn prompted_at_launch(&self) -> bool {
        let flight = self.rec.flight.as_ref();
        flight.is_some_and(|flight| flight.way == Way::LaunchArgument)
    }

    /// The other sources are asked at this time at the latest.
    pub(super) fn check_by(&mut self, at: Timestamp) {
        self.check_at = Some(self.check_at.map_or(at, |known| known.min(at)));
    }

    fn sign_of_life(&mut self, now: Timestamp) {
        self.arm_check(now);
    }
}

impl Evidence {
    /// What title and screen together say when there is no status: both have to agree on idle.
    pub fn idle(&self) -> Option<Activity> {
        let screen = self.screen.as_ref().map(|screen| &screen.activity);
        match (&self.title, screen) {
            (_, Some(Activity::Waiting(need))) | (Activity::Waiting(need), _) => {
                Some(Activity::Waiting(need.clone()))
            }
            (Activity::Busy, _) | (_, Some(Activity::Busy)) => Some(Activity::Busy),
            (
                Activity::Idle | Activity::IdleOrWaiting | Activity::Unknown,
                Some(Activity::Idle),
            ) => Some(Activity::Idle),
            // neither sees work; a composer that can be typed into means that no dialog is open
            (Activity::Idle | Activity::IdleOrWaiting, Some(Activity::IdleOrWaiting))
                if self.shows_composer() =>
            {
                Some(Activity::Idle)
            }
            (Activity::Idle, Some(Activity::IdleOrWaiting | Activity::Unknown) | None) => None,
            (Activity::IdleOrWaiting | Activity::Unknown, _) => None,
        }
    }

    fn shows_composer(&self) -> bool {
        self.screen
            .as_ref()
            .is_some_and(|screen| screen.composer != Composer::Hidden)
    }

    /// Idle beyond doubt: the agent's status says so, or title and screen agree.
    pub(crate) fn proves_idle(&self) -> bool {
        match &self.status {
            Some(status) => {
                status.activity == Activity::Idle
                    && !self
                        .screen
                        .as_ref()
                        .is_some_and(|s| matches!(s.activity, Activity::Waiting(_)))
            }
            None => self.idle() == Some(Activity::Idle),
        }
    }
}
