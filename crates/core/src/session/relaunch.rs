//! What is done if the agent does not follow, or ends: it is started again with the prompt, and if
//! that fails too, the old conversation goes on.
//!
//! It never stops an agent that holds a person's draft, and never starts one that somebody ended.

use super::{Flight, Phase, Session, State};
use crate::effect::{Effect, LaunchPlan, NoticeKind};
use crate::handoff::{Carrier, Course, HandoffState};
use crate::ids::{ConversationId, Timestamp};
use crate::message::{MessageState, Purpose, Way};
use crate::words;

/// How long an agent may take to end, to start and take its prompt, and to go back.
const EXIT_PATIENCE: i64 = 15_000;
const START_PATIENCE: i64 = 60_000;
const BACK_PATIENCE: i64 = 10_000;
/// How often it is looked whether a draft that would be lost is still there.
const DRAFT_LOOK: i64 = 2_000;
const WAITS_FOR_DRAFT: &str = "waits for a draft that would be lost with the agent's process";
/// Times a handoff starts the agent again before it goes back.
const RELAUNCHES: u32 = 2;

impl Session {
    // ── starting again

    pub(super) fn relaunch_for_handoff(&mut self, now: Timestamp) {
        self.land_own_flight(now);
        self.clear_is_over(now);
        let Some(handoff) = self.rec.handoff.as_mut() else {
            return;
        };
        handoff.carrier = Carrier::Relaunch;
        handoff.course = Course::Stopping;
        handoff.relaunches += 1;
        handoff.unproven = false;
        self.handoff_at = Some(now.plus(EXIT_PATIENCE));
        if self.rec.process.is_none() {
            self.start_successor(now);
        } else {
            self.stop_agent("the agent is stopped, to be started with the prompt", now);
        }
    }

    /// Unless a draft would go with it.
    fn stop_agent(&mut self, why: &str, now: Timestamp) {
        if self.may_stop(now) {
            self.handoff_step(why, now);
            let launch = self.rec.launch;
            self.effect(Effect::StopAgent { launch });
        }
    }

    fn set_course(&mut self, course: Course) {
        if let Some(handoff) = self.rec.handoff.as_mut() {
            handoff.course = course;
        }
    }

    /// A draft, in the composer or stashed, would go with the process: then it is waited until it is
    /// gone, and the owner is told.
    fn may_stop(&mut self, now: Timestamp) -> bool {
        if !self.drafted {
            return true;
        }
        self.handoff_at = Some(now.plus(DRAFT_LOOK));
        self.waits_for_draft(now);
        self.ask(now);
        false
    }

    /// It is the last thing that was said of the handoff.
    pub(super) fn is_waiting_for_draft(&self) -> bool {
        let steps = self.rec.open_handoff().map(|h| &h.steps);
        let last = steps.and_then(|steps| steps.last());
        last.is_some_and(|step| step.text == WAITS_FOR_DRAFT)
    }

    /// Said once, until something else happens.
    pub(super) fn waits_for_draft(&mut self, now: Timestamp) {
        if self.is_waiting_for_draft() {
            return;
        }
        self.handoff_step(WAITS_FOR_DRAFT, now);
        let name = &self.rec.name;
        let notice = format!(
            "the handoff of {name} waits: the agent has to be started again, and a draft in its composer would be lost. Send or remove it: sm attach {name}"
        );
        self.notify(NoticeKind::HandoffHeld, notice);
    }

    /// What the handoff itself had under way goes back to where it was.
    fn land_own_flight(&mut self, now: Timestamp) {
        if !self.flight_purpose().is_handoffs() {
            return;
        }
        let retracting = |f: &Flight| f.phase == Phase::Retracting;
        if self.rec.flight.as_ref().is_some_and(retracting) {
            self.retracted(now); // it goes with the process
            return;
        }
        let flight = self.rec.flight.take();
        self.flight_at = None;
        for id in flight.map(|f| f.messages).unwrap_or_default() {
            self.set_message(&id, MessageState::Queued, now);
        }
        self.journal();
    }

    /// The old process is gone: the new one gets the prompt as an argument.
    pub(super) fn start_successor(&mut self, now: Timestamp) {
        self.ensure_wake(now);
        if let Some(handoff) = self.rec.handoff.as_mut() {
            handoff.course = Course::Starting;
            handoff.carrier = Carrier::Relaunch;
        }
        self.handoff_at = Some(now.plus(START_PATIENCE));
        self.handoff_step("the agent is started with the prompt", now);
        self.start(None, now);
    }

    /// The agent has ended while a handoff is under way. True: the session goes on.
    pub(super) fn handoff_after_exit(&mut self, code: Option<i32>, now: Timestamp) -> bool {
        let Some(open) = self.rec.open_handoff() else {
            return false;
        };
        let (state, course, relaunches) = (open.state, open.course, open.relaunches);
        if self.rec.ending {
            self.abandon_handoff(now);
            return false;
        }
        match (course, state) {
            (Course::Stopping, HandoffState::Scheduled) => true, // heard twice: it is being prepared
            (Course::Stopping, _) => {
                self.agent_is_gone("the agent was stopped for its handoff", now);
                self.start_successor(now);
                true
            }
            (Course::BackStopping, _) => {
                self.agent_is_gone("the agent was stopped to go back", now);
                self.start_back(now)
            }
            (Course::Starting, _) if relaunches < RELAUNCHES => {
                self.agent_is_gone("the agent ended before it had its prompt", now);
                self.count_relaunch();
                self.start_successor(now);
                true
            }
            (Course::Starting | Course::Back, _) => {
                self.agent_is_gone("the agent ended before it had its prompt", now);
                self.start_back(now)
            }
            (Course::BackStarting, _) => {
                let why = "neither the successor nor the old conversation could be started";
                self.close_handoff(HandoffState::Abandoned, why, now);
                false
            }
            (Course::Forward, HandoffState::Prompted) if self.wake_is_unrecorded() => {
                let why = "the successor ended; its record is asked whether it has the prompt";
                self.handoff_step(why, now);
                false
            }
            (Course::Forward, HandoffState::Prompted) => {
                self.handoff_done("the successor had its prompt when it ended", now);
                false
            }
            (Course::Forward, HandoffState::Cleared) if code == Some(0) => {
                self.handoff_step("the agent was ended; a restore goes on from here", now);
                false
            }
            (Course::Forward, _) if code == Some(0) => {
                self.close_handoff(HandoffState::Abandoned, "the agent was ended", now);
                false
            }
            (Course::Forward, state) => {
                self.agent_is_gone("the agent crashed during its handoff", now);
                self.count_relaunch();
                self.handoff_step("the agent crashed", now);
                if state == HandoffState::Scheduled {
                    self.set_course(Course::Stopping);
                    self.prepare(now); // then it is started
                } else {
                    self.start_successor(now);
                }
                true
            }
        }
    }

    fn count_relaunch(&mut self) {
        if let Some(handoff) = self.rec.handoff.as_mut() {
            handoff.relaunches += 1;
        }
    }

    /// The agent had ended before it was asked for: there is nothing to clear, and the successor is
    /// started as soon as what goes with the document is safe.
    pub(super) fn hand_off_ended(&mut self, now: Timestamp) {
        self.rec.ending = false; // it was ended, and is begun again
        self.handoff_step("scheduled; its agent has ended, and is started anew", now);
        self.agent_is_gone("the agent is to be started with the document", now);
        self.set_course(Course::Stopping);
        self.prepare(now); // then it is started
    }

    /// Between two processes of the agent.
    fn agent_is_gone(&mut self, why: &str, now: Timestamp) {
        self.land_own_flight(now);
        self.clear_is_over(now);
        self.rec.process = None;
        self.gone_since = None;
        self.ready_since = None;
        self.turn_over(" (the agent ended)", now);
        self.waiters.clear();
        self.probe = None;
        self.become_state(State::Starting, why, now);
    }

    /// A restore of a session whose handoff was under way goes on with it.
    pub(super) fn restore_handoff(&mut self, now: Timestamp) -> bool {
        let Some(open) = self.rec.open_handoff() else {
            return false;
        };
        if open.course.is_back() {
            return self.start_back(now);
        }
        let (state, left) = (open.state, self.rec.generation > open.from);
        if state == HandoffState::Scheduled {
            self.preparing = None;
            self.set_course(Course::Starting); // the context ends with the process
            self.prepared_without(now);
        }
        match state {
            // it is asked before the agent begins, or looked for in its conversation
            HandoffState::Prompted if self.wake_is_unrecorded() => {
                if let Some(handoff) = self.rec.handoff.as_mut() {
                    handoff.prompted_at = Some(now);
                }
                self.handoff_changed();
                false
            }
            HandoffState::Prompted => {
                self.handoff_done("the successor had its prompt", now);
                false
            }
            // the successor's own conversation goes on, and is given its prompt if it lacks it
            HandoffState::Cleared if left && self.rec.conversation.is_some() => {
                self.set_course(Course::Forward);
                if self.flight_purpose() != Purpose::Wake {
                    self.ensure_wake(now);
                }
                false
            }
            HandoffState::Scheduled
            | HandoffState::Prepared
            | HandoffState::Cleared
            | HandoffState::Done
            | HandoffState::Replaced
            | HandoffState::Cancelled
            | HandoffState::Abandoned
            | HandoffState::RolledBack
            | HandoffState::Refused => {
                self.clear_is_over(now);
                self.land_own_flight(now);
                self.start_successor(now);
                true
            }
        }
    }

    // ── going back

    pub(super) fn go_back(&mut self, why: &str, now: Timestamp) {
        self.land_own_flight(now);
        let old = self
            .rec
            .open_handoff()
            .and_then(|h| h.from_conversation.clone());
        let command = match (self.profile.resume_command, &old) {
            // what is left in the composer is ours, and goes with the process
            (Some(_), _) if self.wake_look.put_back => None,
            (Some(command), Some(old)) if self.rec.state == State::Idle => Some(command(old)),
            (Some(_) | None, _) => None,
        };
        self.handoff_step(&format!("{why}: going back to the old conversation"), now);
        let Some(handoff) = self.rec.handoff.as_mut() else {
            return;
        };
        match command {
            Some(command) => {
                handoff.course = Course::Back;
                self.handoff_at = Some(now.plus(BACK_PATIENCE));
                self.add_own(Purpose::Back, "back", command, now);
            }
            None => self.stop_to_go_back(now),
        }
    }

    fn stop_to_go_back(&mut self, now: Timestamp) {
        self.land_own_flight(now);
        self.set_course(Course::BackStopping);
        self.handoff_at = Some(now.plus(EXIT_PATIENCE));
        if self.rec.process.is_none() {
            self.start_back(now);
        } else {
            self.stop_agent("the agent is stopped, to go back", now);
        }
    }

    /// False: there is nothing to go back to.
    fn start_back(&mut self, now: Timestamp) -> bool {
        let old = self
            .rec
            .open_handoff()
            .and_then(|h| h.from_conversation.clone());
        let Some(old) = old else {
            let why = "the successor could not be started, and the old conversation is not known";
            self.close_handoff(HandoffState::Abandoned, why, now);
            return false;
        };
        self.land_own_flight(now);
        self.set_course(Course::BackStarting);
        self.handoff_at = Some(now.plus(START_PATIENCE));
        self.handoff_step("the agent is started in the old conversation", now);
        self.start(Some(old), now);
        true
    }

    /// The old conversation is the agent's again.
    pub(super) fn arrived_back(&mut self, now: Timestamp) {
        let Some(open) = self.rec.open_handoff() else {
            return;
        };
        let there =
            open.from_conversation == self.rec.conversation && self.rec.generation > open.from;
        let ready = match self.rec.state {
            State::Idle | State::Working | State::Waiting(_) | State::Compacting => true,
            State::Starting | State::Exited | State::Lost => false,
        };
        if there && ready && open.course != Course::BackStopping {
            let to = Some(self.rec.generation);
            if let Some(handoff) = self.rec.handoff.as_mut() {
                handoff.to = to;
            }
            let why = "the successor could not be given its prompt";
            self.close_handoff(HandoffState::RolledBack, why, now);
        }
    }

    /// The time that a step of the handoff may take is over.
    pub(super) fn handoff_overdue(&mut self, now: Timestamp) {
        let Some(open) = self.rec.open_handoff() else {
            return;
        };
        let launch = self.rec.launch;
        if !self.rec.state.is_live() {
            return;
        }
        match open.course {
            // preparing and the first turn look at the time themselves
            Course::Forward => {}
            Course::Stopping | Course::BackStopping => {
                let (course, state) = (open.course, open.state);
                self.handoff_at = Some(now.plus(EXIT_PATIENCE));
                if self.rec.process.is_some() {
                    // what a person has begun meanwhile is not cut off
                    if !self.rec.turn_open && self.may_stop(now) {
                        self.effect(Effect::StopAgent { launch });
                    }
                } else if course == Course::BackStopping {
                    self.start_back(now);
                } else if state == HandoffState::Scheduled {
                    self.prepare(now); // asked for again: the daemon was killed meanwhile
                } else {
                    self.start_successor(now);
                }
            }
            Course::Starting => match self.rec.state {
                // a person has to answer first, and is told; or has begun something of their own
                State::Waiting(_) => self.handoff_at = Some(now.plus(START_PATIENCE)),
                State::Working if self.rec.turn_open => {
                    self.handoff_at = Some(now.plus(START_PATIENCE));
                }
                State::Starting
                | State::Working
                | State::Idle
                | State::Compacting
                | State::Exited
                | State::Lost => {
                    if self.may_stop(now) {
                        self.go_back("the new agent did not take its prompt", now);
                    }
                }
            },
            Course::Back => self.stop_to_go_back(now),
            Course::BackStarting => match self.rec.state {
                State::Waiting(_) => self.handoff_at = Some(now.plus(START_PATIENCE)),
                State::Starting
                | State::Working
                | State::Idle
                | State::Compacting
                | State::Exited
                | State::Lost => {
                    let why =
                        "neither the successor nor the old conversation came up; attach and look";
                    self.close_handoff(HandoffState::Abandoned, why, now);
                }
            },
        }
    }

    /// What the end of one of its own deliveries means for the handoff.
    pub(super) fn own_delivery_failed(&mut self, purpose: Purpose, now: Timestamp) {
        if !self.rec.state.is_live() {
            return; // a restore goes on
        }
        match purpose {
            Purpose::Said | Purpose::Warning | Purpose::Alert | Purpose::Resume => {}
            Purpose::Clear => self.clear_failed(now),
            Purpose::Wake => self.wake_failed(now),
            Purpose::Back => self.stop_to_go_back(now),
        }
    }

    /// Where the daemon was killed between two steps, the next one is begun again.
    pub(super) fn recover_handoff(&mut self, now: Timestamp) {
        let Some(open) = self.rec.open_handoff() else {
            return;
        };
        let patience = match open.course {
            Course::Forward => None,
            Course::Stopping | Course::BackStopping => Some(DRAFT_LOOK), // looked at first
            Course::Starting | Course::BackStarting => Some(START_PATIENCE),
            Course::Back => Some(BACK_PATIENCE),
        };
        let (course, old) = (open.course, open.from_conversation.clone());
        self.handoff_at = patience.map(|ms| now.plus(ms));
        match course {
            Course::Starting => self.launch_again(None),
            Course::BackStarting => self.launch_again(old),
            Course::Forward | Course::Stopping | Course::Back | Course::BackStopping => {}
        }
    }

    /// Nobody knows whether the launch was begun: the same one is asked for again, and is the same
    /// one if it was.
    fn launch_again(&mut self, resume: Option<ConversationId>) {
        if self.rec.process.is_some() || self.rec.ending {
            return;
        }
        let flight = self.rec.flight.as_ref();
        let given = flight.filter(|flight| flight.way == Way::LaunchArgument);
        let prompt = given
            .and_then(|flight| self.message(flight.messages.first()?))
            .map(|message| words::sanitize(&words::spoken(message)));
        let record = self.record_to_ask();
        self.effect(Effect::Launch(LaunchPlan {
            launch: self.rec.launch,
            resume,
            prompt,
            after: self.rec.lost_process,
            record,
        }));
    }
}
