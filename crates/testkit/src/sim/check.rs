//! The rules that must hold after every step, and at the end of every schedule.

use super::agent::Stage;
use super::world::{World, tr};
use sm_core::comparable::is_ignorable;
use sm_core::ids::{MessageId, SessionId};
use sm_core::message::{Message, MessageState, Mode, NewMessage, Proof, Sender};
use sm_core::{AgentKind, MessageChange, Outcome, State};
use std::collections::BTreeMap;

/// How long everything may take to settle once the faults are over.
const SETTLE_MS: i64 = 420_000;
/// How long the session may be wrong about the agent once the faults are over.
const WRONG_MS: i64 = 60_000;

#[derive(Debug, Default)]
pub struct Checker {
    said: u64,
    /// Notices that another session got, by id: when first.
    told: BTreeMap<MessageId, i64>,
    arrived_at: BTreeMap<usize, i64>,
    wrong_since: Option<i64>,
    /// Contexts the agent has truly had, and times it was started.
    pub contexts: u32,
    pub launched: u32,
    /// Somebody went back: the newest conversation is not the latest one.
    pub resumed: bool,
}

/// It may have arrived, and nobody can know: such a message is at most once in the conversation.
pub(super) fn is_uncertain(reason: &str) -> bool {
    reason.contains("before it was proven") || reason.contains("not known whether")
}

/// An agent may strip the rest.
pub(super) fn visible(text: &str) -> String {
    text.chars().filter(|c| !is_ignorable(*c)).collect()
}

fn is_alert(message: &Message) -> bool {
    message.meta.purpose.is_monitors()
}

impl World {
    /// Text has become part of a conversation.
    pub(super) fn check_said(&mut self, text: &str) {
        self.check_wake(text);
        self.check_alert_said(text);
        let text = visible(text);
        self.check.said += 1;
        let base = self.check.said * 1_000_000;
        for no in 0..self.sent.len() {
            let Some(offset) = text.find(&self.sent[no].mark) else {
                continue;
            };
            self.check.arrived_at.entry(no).or_insert(self.now);
            let sent = &mut self.sent[no];
            sent.in_conversation += 1;
            sent.position = base + offset as u64;
            if sent.in_conversation > 1 {
                let what = format!("message m{no} is in the conversation twice");
                self.fail(what);
            }
            self.check_wanted(no);
            self.check_frozen(no);
        }
    }

    /// A message that came to an end without the agent must not arrive afterwards.
    fn check_wanted(&mut self, no: usize) {
        let state = self.receipt(no);
        let unwanted = match &state {
            Some(MessageState::Failed { reason }) => !is_uncertain(reason),
            Some(MessageState::Expired | MessageState::Withdrawn) => true,
            _ => false,
        };
        if unwanted && self.agent.kind != AgentKind::Generic {
            self.fail(format!("message m{no} arrived although it is {state:?}"));
        }
    }

    /// The agent takes a text for a command of its own.
    pub(super) fn check_command(&mut self, text: &str) {
        self.command_was_run();
        self.check.said += 1;
        let base = self.check.said * 1_000_000;
        for no in 0..self.sent.len() {
            if !text.contains(&self.sent[no].mark) {
                continue;
            }
            if !self.sent[no].new.raw {
                self.fail(format!("message m{no} was run as a command"));
            }
            self.sent[no].raw_runs += 1;
            self.sent[no].position = base;
            if self.sent[no].raw_runs > 1 {
                self.fail(format!("the command of message m{no} was run twice"));
            }
        }
    }

    /// Text that joins a running turn.
    pub(super) fn check_in_turn(&mut self, text: &str) {
        for no in 0..self.sent.len() {
            if text.contains(&self.sent[no].mark) && self.sent[no].new.mode == Mode::Sequential {
                self.fail(format!("sequential message m{no} was given inside a turn"));
            }
        }
    }

    pub(super) fn check_told(&mut self, to: &SessionId, message: &NewMessage) {
        tr!(self, "told {to}: {}", message.id);
        self.stats.told += 1;
        self.compaction_told(message);
        self.check
            .told
            .entry(message.id.clone())
            .or_insert(self.now);
    }

    pub(super) fn check_step(&mut self, outcome: &Outcome) {
        self.check_monitor(outcome);
        for change in &outcome.messages {
            let id = match change {
                MessageChange::New(message) => &message.meta.id,
                MessageChange::Changed(id) => id,
            };
            let Some(no) = self.sent.iter().position(|s| &s.new.id == id) else {
                continue;
            };
            self.check_receipt(no);
        }
        let held = self
            .daemon
            .session
            .queue()
            .iter()
            .any(|m| m.meta.state.is_pending());
        let live = self.daemon.session.record().state.is_live();
        if held
            && live
            && self.daemon.session.next_deadline().is_none()
            && outcome.effects.is_empty()
        {
            let waits_for_turn = self.daemon.session.record().state == State::Working
                || self.daemon.session.queue().iter().all(is_alert);
            if !waits_for_turn {
                self.fail("a message waits and nothing will look at it again".into());
            }
        }
    }

    /// A receipt never says more than is true.
    fn check_receipt(&mut self, no: usize) {
        let Some(state) = self.receipt(no) else {
            self.fail(format!("message m{no} is forgotten"));
            return;
        };
        let there = self.sent[no].in_conversation + self.sent[no].raw_runs;
        match &state {
            MessageState::Submitted { proof, .. } | MessageState::Consumed { proof, .. } => {
                let claims = match proof {
                    Proof::Hook | Proof::Transcript => true,
                    Proof::OutputFollowed | Proof::None => false,
                };
                // that it was lost is found out once the record is asked, and checked at the end
                let lost = self.sent[no].lost > 0;
                if claims && there == 0 && !lost {
                    self.fail(format!(
                        "message m{no} is {state:?}, but the agent never got it"
                    ));
                }
            }
            MessageState::Failed { reason } => {
                if there > 0 && !is_uncertain(reason) {
                    self.fail(format!("message m{no} is {state:?}, but the agent has it"));
                }
            }
            MessageState::Expired | MessageState::Withdrawn => {
                if there > 0 {
                    self.fail(format!("message m{no} is {state:?}, but the agent has it"));
                }
            }
            MessageState::Queued | MessageState::Held { .. } | MessageState::Written { .. } => {}
        }
    }

    /// Everything is at rest and told.
    fn unsettled(&self) -> Option<String> {
        if !self.calm || !self.daemon.up {
            return Some("still active".into());
        }
        if let Some(sent) = self.sent.iter().find(|s| !s.accepted) {
            return Some(format!("{} was never accepted", sent.new.id));
        }
        let quiet = self.options.active_ms == 0; // nobody prompts: an alert may wait for a turn
        let waits = |m: &&Message| !(quiet && is_alert(m));
        // what an agent that has ended never wrote down waits for a restore
        let ended = self.daemon.session.record().state == State::Exited;
        let kept = |m: &&Message| !(ended && m.meta.returned);
        let mut open = self.daemon.session.queue().iter().filter(kept);
        if let Some(open) = open.find(waits) {
            return Some(format!("{} is {:?}", open.meta.id, open.meta.state));
        }
        let record = self.daemon.session.record();
        let truth = match self.agent.stage {
            Stage::Off => !record.state.is_live(),
            Stage::Idle => record.state == State::Idle && self.agent.dialog.is_none(),
            _ => return Some(format!("the agent is at {:?}", self.agent.stage)),
        };
        if !truth {
            return Some(format!(
                "the session is {:?} ({}), the agent {:?}",
                record.state, record.why, self.agent.stage
            ));
        }
        if self.agent.alive()
            && self.agent.kind == AgentKind::Claude
            && record.conversation != self.agent.conversation_id()
        {
            return Some(format!(
                "the session is in {:?}, the agent in {:?}",
                record.conversation,
                self.agent.conversation_id()
            ));
        }
        if let Some(open) = self.handoff_unsettled() {
            return Some(open);
        }
        if let Some(limited) = self.limits_unsettled() {
            return Some(limited);
        }
        if let Some(unknown) = self.monitor_unsettled() {
            return Some(unknown);
        }
        if record.flight.is_some() {
            return Some(format!("a delivery is under way: {:?}", record.flight));
        }
        if record.state == State::Lost {
            return Some("the session is lost".into());
        }
        if record.state == State::Idle && !record.asked.is_empty() {
            return Some("somebody was not told that the turn has ended".into());
        }
        if !self.agent.composer.is_empty() || self.agent.stash.is_some() {
            return Some("something is left in the composer".into());
        }
        None
    }

    /// Once the faults are over the session must not be wrong about the agent for long.
    pub(super) fn check_truth(&mut self) {
        self.watch_drafts();
        let state = &self.daemon.session.record().state;
        let right = match (self.agent.stage, &self.agent.dialog) {
            (Stage::Off, _) => true, // if nobody reports it, it is found at the next look
            (Stage::Booting | Stage::Clear, None) => true,
            (_, Some(_)) => matches!(state, State::Waiting(_) | State::Starting),
            (Stage::Idle, None) => *state == State::Idle,
            (Stage::Compact, None) => matches!(state, State::Compacting | State::Working),
            (_, None) => *state == State::Working,
        };
        if right || !self.calm || !self.daemon.up {
            self.check.wrong_since = None;
            return;
        }
        let since = *self.check.wrong_since.get_or_insert(self.now);
        if self.now - since > WRONG_MS {
            let (state, why) = (state.clone(), self.daemon.session.record().why.clone());
            self.fail(format!(
                "for {} s the session has been {state:?} ({why}) and the agent at {:?}",
                (self.now - since) / 1000,
                self.agent.stage
            ));
        }
    }

    /// Runs to the end: everything settles, stays so for a while, and the accounts are right.
    pub fn finish(&mut self) {
        if self.options.active_ms == 0 && self.failed.is_none() {
            self.calm = true;
        }
        // pauses after limits of which nobody told the end are long, and a machine sleeps for hours
        let pauses = self.options.limits.as_ref().map_or(0, |_| 100 * 3_600_000);
        let limit = self.options.active_ms + SETTLE_MS + pauses;
        let settled = self.run_until(limit, |w| w.failed.is_some() || w.unsettled().is_none());
        if self.failed.is_some() {
            return;
        }
        if !settled {
            let what = self.unsettled().unwrap_or_default();
            self.fail(format!("it does not settle: {what}"));
            return;
        }
        self.run_for(12_000);
        if self.failed.is_none() {
            self.accounts();
        }
        self.stats.virtual_ms = self.now - super::world::EPOCH;
    }

    fn accounts(&mut self) {
        let generic = self.agent.kind == AgentKind::Generic;
        let ended = self.daemon.session.record().state == State::Exited;
        if let Some(text) = self.agent.carried.first().filter(|_| !ended) {
            self.fail(format!("the model was never asked with {text:?}"));
            return;
        }
        let mut order: Vec<(usize, u64)> = Vec::new();
        for no in 0..self.sent.len() {
            self.stats.messages += 1;
            self.check_receipt(no);
            let Some(state) = self.receipt(no) else {
                continue;
            };
            let there = self.sent[no].in_conversation + self.sent[no].raw_runs;
            if there > 0 {
                self.stats.arrived += 1;
            }
            let waits = self.sent[no].lost > 0 && ended;
            if !state.is_final() && !waits {
                self.fail(format!("message m{no} never came to an end: {state:?}"));
            }
            if state.reached_agent() && there != 1 && !generic && !self.sent[no].new.raw {
                self.fail(format!(
                    "message m{no} is {state:?} and {there} times in the conversation"
                ));
            }
            match &state {
                MessageState::Failed { .. } => self.stats.failed += 1,
                MessageState::Consumed { .. } if there == 1 => {
                    order.push((no, self.sent[no].position));
                }
                _ => {}
            }
            self.check_notice(no, &state);
        }
        let reached = |no: &usize| self.receipt(*no).is_some_and(|s| s.reached_agent());
        let wanted = |no: &usize| self.sent[*no].new.notify;
        let asked = (0..self.sent.len())
            .filter(|no| wanted(no) && reached(no))
            .count();
        // a turn that came to nothing is told of, and so is the one that is given it again
        let lost: u32 = (0..self.sent.len())
            .filter(wanted)
            .map(|no| self.sent[no].lost)
            .sum();
        let asked = asked + usize::try_from(lost).unwrap_or(usize::MAX);
        if self.notices() > asked {
            self.fail("somebody was told of a turn more often than they asked".into());
        }
        let generation = self.daemon.session.record().generation.0;
        // a session is in its first generation before an agent has ever started
        // a launch that came to nothing has its generation all the same
        // (and one that a crash may have swallowed is asked for again)
        let nothing = (self.daemon.session.record().launch).saturating_sub(self.check.launched);
        let most = self.check.contexts.max(1) + nothing;
        if self.agent.kind == AgentKind::Claude && generation > most {
            self.fail(format!(
                "generation {generation}, but the agent has had {} contexts",
                self.check.contexts
            ));
        }
        self.check_order(order);
        self.handoff_accounts();
        self.monitor_accounts();
        self.limits_accounts();
    }

    /// Nobody is overtaken by a message that came later and is not more pressing. Accepted order is
    /// the order of the journal.
    fn check_order(&mut self, mut order: Vec<(usize, u64)>) {
        let place = |no: usize| {
            self.daemon
                .journal
                .messages
                .iter()
                .position(|m| m.meta.id == self.sent[no].new.id)
        };
        order.sort_by_key(|(no, _)| place(*no));
        let pressing = |no: usize| match self.sent[no].new.mode {
            Mode::Sequential => 0,
            Mode::Important => 1,
            Mode::Urgent => 2,
        };
        let pairs = order
            .iter()
            .enumerate()
            .flat_map(|(at, first)| order[at + 1..].iter().map(move |second| (first, second)));
        let overtaken = pairs
            .filter(|(first, second)| pressing(first.0) >= pressing(second.0))
            .find(|(first, second)| first.1 > second.1);
        if let Some((first, second)) = overtaken {
            self.fail(format!(
                "m{} was accepted before m{}, but arrived after it",
                first.0, second.0
            ));
        }
    }

    /// Who asked to know when the turn has ended was told, and not before.
    fn check_notice(&mut self, no: usize, state: &MessageState) {
        let MessageState::Consumed { .. } = state else {
            return;
        };
        let boss = matches!(self.sent[no].new.from, Sender::Session { .. });
        if !boss || !self.sent[no].new.notify {
            return;
        }
        let arrived = self.check.arrived_at.get(&no).copied().unwrap_or(0);
        let told = self
            .check
            .told
            .iter()
            .any(|(id, at)| id.as_str().contains("turn") && *at >= arrived);
        if !told {
            self.fail(format!("nobody was told that the turn of m{no} has ended"));
        }
    }

    /// Distinct notices that a turn has ended.
    pub fn notices(&self) -> usize {
        self.check
            .told
            .keys()
            .filter(|id| id.as_str().contains("turn"))
            .count()
    }
}
