//! What the agent's own hooks tell: the best signal there is, if it is the session's own.

use super::context::Voice;
use super::{Session, State, Waiter};
use crate::effect::{Answer, Effect, EntryKind, NoticeKind};
use crate::ids::{RequestId, Timestamp};
use crate::message::Proof;
use crate::signal::{BreakReason, ContextSource, EndReason, HookCall, Origin, Signal, UsageSource};

/// A compaction that a person cancels brings its command back into the composer: a text that is
/// pasted right then would stand behind it.
const AFTER_COMPACTION: i64 = 700;

impl Session {
    pub(super) fn hook(&mut self, call: HookCall, now: Timestamp) {
        let request = call.request;
        let answered = self.heard(call, now);
        if let (Some(request), Answered::No) = (request, answered) {
            self.effect(Effect::Answer {
                request,
                answer: Answer::Nothing,
            });
        }
    }

    fn heard(&mut self, mut call: HookCall, now: Timestamp) -> Answered {
        // Nobody speaks from the future: a stamp of a clock that went wrong, or was set back since,
        // would make everything after it late.
        call.at = call.at.min(now);
        self.rec.last_signal = self.rec.last_signal.min(now);
        self.rec.context_since = self.rec.context_since.min(now);
        if self.rec.seen.contains(&call.id) {
            return Answered::No; // came by socket and by spool
        }
        if call.origin == Origin::Unproven {
            if let (Signal::Usage(sample), true) = (&call.signal, self.rec.state.is_live())
                && sample.source == UsageSource::Unproven
            {
                self.sampled(sample.clone(), now);
                return Answered::No;
            }
            self.ignore(&call, "nothing proves that it is of this session");
            return Answered::No;
        }
        if !self.rec.state.is_live() {
            if !self.began_unseen(&call, now) {
                self.ignore(&call, "the session has ended");
                self.left_elsewhere(&call);
            }
            return Answered::No;
        }
        match self.voice(&call) {
            Voice::Current => {}
            Voice::New => {
                let transcript = match &call.signal {
                    Signal::ContextStarted { transcript, .. }
                    | Signal::PromptAccepted { transcript, .. } => transcript.clone(),
                    _ => None,
                };
                if let Some(conversation) = call.conversation.clone() {
                    self.adopt(conversation, transcript, call.at, now);
                }
            }
            Voice::Late => {
                self.ignore(&call, "of an older context");
                return Answered::No;
            }
            Voice::Foreign => {
                self.ignore(&call, "of a sub-agent or a nested agent");
                return Answered::No;
            }
            Voice::Stranger => {
                self.ignore(&call, "of an unknown conversation");
                self.met_stranger(call.conversation);
                self.stranger_at = now;
                self.ask(now);
                return Answered::No;
            }
        }
        if let Signal::Usage(sample) = call.signal {
            self.sampled(sample, now); // debounced and unordered: never a sign of state
            return Answered::No;
        }
        if let Signal::MailboxOpen { waiter } = call.signal {
            self.mailbox_open(
                Waiter {
                    id: waiter,
                    conversation: call.conversation,
                },
                now,
            );
            return Answered::Later;
        }
        self.rec.seen.remember(&call.id);
        if call.at < self.rec.last_signal {
            // overtaken: it proves what it proves, but the state has moved on
            if let Signal::PromptAccepted { text, .. } = &call.signal {
                self.prompt_proves(text, Some(call.at), Proof::Hook, now);
            }
            self.ignore(&call, "overtaken by a newer one");
            return Answered::No;
        }
        self.rec.last_signal = call.at;
        self.journal_later();
        self.signal(call.signal, call.request, now)
    }

    fn signal(&mut self, signal: Signal, request: Option<RequestId>, now: Timestamp) -> Answered {
        match signal {
            Signal::ContextStarted { source, transcript } => {
                self.context_started(source, transcript, now);
                if source == ContextSource::Compact {
                    return self.answer_recovery(request);
                }
            }
            Signal::ContextEnded { reason } => self.context_ended(reason),
            Signal::PromptAccepted { text, transcript } => {
                if transcript.is_some() && self.rec.transcript != transcript {
                    self.rec.transcript = transcript;
                    self.journal();
                }
                self.rec.stop_answers = 0;
                self.compaction_left(now);
                self.consume_submitted(now);
                self.opening_prompted(now);
                self.open_turn();
                if !self.is_ours(&text) {
                    self.person_went_on();
                }
                let mailed = self.mailed_text(&text);
                self.prompt_proves(&text, Some(self.rec.last_signal), Proof::Hook, now);
                self.become_state(State::Working, "a prompt was accepted", now);
                if let Some(request) = request {
                    return match (self.answer_prompt(request, now), mailed) {
                        (Answered::No, Some(text)) => {
                            let answer = Answer::Show { text };
                            self.effect(Effect::Answer { request, answer });
                            Answered::Yes
                        }
                        (answered, _) => answered,
                    };
                }
            }
            Signal::ToolsFinished => {
                self.rec.stop_answers = 0;
                self.went_on(now);
                self.working("tools have run", now);
                if let Some(request) = request {
                    return self.answer_in_turn(request, now);
                }
            }
            Signal::Working => self.working("it works", now),
            Signal::PersonNeeded { need, call } => self.person_needed(need, call, now),
            Signal::Stopping {
                again: _,
                background_tasks,
            } => {
                self.compaction_left(now);
                self.went_on(now);
                self.consume_submitted(now);
                self.first_turn_over(now);
                self.leave_limit(now); // the model has answered, whatever was heard before
                if let Some(request) = request
                    && let Answered::Yes = self.answer_at_stop(request, now)
                {
                    self.open_turn(); // if its beginning was not heard
                    self.become_state(State::Working, "it goes on with a message", now);
                    return Answered::Yes;
                }
                self.turn_over("", now);
                let why = match background_tasks.len() {
                    0 => "the turn has ended".to_string(),
                    n => format!("the turn has ended; {n} background task(s) still run"),
                };
                self.rec.background = background_tasks;
                self.become_state(State::Idle, why, now);
            }
            Signal::TurnBroken(reason) => self.turn_broken(&reason, now),
            Signal::CompactionStarting { automatic } => {
                if self.is_over(self.rec.last_signal) {
                    return Answered::No; // its end was in the record already
                }
                if let Answered::Yes = self.answer_compaction(automatic, request, now) {
                    return Answered::Yes; // it goes on as it was
                }
                let why = if automatic {
                    "the agent compacts its context by itself"
                } else {
                    "the agent compacts its context as it was told"
                };
                if self.rec.state != State::Compacting {
                    self.rec.compacting_since = self.rec.last_signal;
                }
                self.journal(); // so that after a crash nothing older ends this one
                self.become_state(State::Compacting, why, now);
            }
            Signal::CompactionDone => {
                self.compacted(self.rec.last_signal, now);
                self.maybe_compacted(self.rec.last_signal, now);
            }
            Signal::CompactionReported => self.compaction_reported(now),
            Signal::Usage(_) | Signal::MailboxOpen { .. } | Signal::Other(_) => {}
        }
        Answered::No
    }

    fn context_started(
        &mut self,
        source: ContextSource,
        transcript: Option<String>,
        now: Timestamp,
    ) {
        if transcript.is_some() && self.rec.transcript != transcript {
            self.rec.transcript = transcript;
            self.journal();
        }
        match source {
            ContextSource::Compact => {
                self.compacted(self.rec.last_signal, now);
                self.maybe_compacted(self.rec.last_signal, now);
            }
            ContextSource::Startup
            | ContextSource::Resume
            | ContextSource::Clear
            | ContextSource::Fork
            | ContextSource::Other => {
                self.turn_over(" (a context started)", now);
                self.become_state(State::Idle, "a context has started", now);
            }
        }
    }

    fn context_ended(&mut self, reason: EndReason) {
        let text = match reason {
            EndReason::Clear => "the context was cleared",
            EndReason::Exit => "the agent is about to exit",
            EndReason::Other => "the context ended",
        };
        self.record_line(EntryKind::Context, text);
    }

    /// The agent says that it has compacted its context, which was under way. Several hooks say so,
    /// and its record; it is counted by the first. `at`: by its own clock.
    pub(super) fn compacted(&mut self, at: Timestamp, now: Timestamp) {
        if self.rec.state != State::Compacting {
            return;
        }
        if !self.was_reported(now) {
            self.count_compaction(at, now);
        }
        let recheck = self.recheck_at;
        self.leave_compacting(now);
        self.recheck_at = recheck;
        self.rec.maybe_compacted = None;
    }

    /// Something else happens, so nothing is compacted any more. Whether anything was, is not known:
    /// one that was cancelled, failed or found nothing to compact leaves the context as it was. If
    /// the hooks at its end were lost, the record tells.
    pub(super) fn compaction_left(&mut self, now: Timestamp) {
        if self.rec.state == State::Compacting {
            self.doubt(now);
            self.leave_compacting(now);
        }
    }

    fn leave_compacting(&mut self, now: Timestamp) {
        if self.rec.turn_open {
            self.become_state(State::Working, "the turn goes on after a compaction", now);
        } else {
            self.become_state(State::Idle, "its compaction is over", now);
            self.recheck_at = self.recheck_at.max(now.plus(AFTER_COMPACTION));
        }
        self.journal();
    }

    pub(super) fn count_compaction(&mut self, at: Timestamp, now: Timestamp) {
        self.rec.compactions += 1;
        self.record_line(
            EntryKind::Compaction,
            format!("compaction {} done", self.rec.compactions),
        );
        self.compaction_counted(at, now);
    }

    pub(super) fn working(&mut self, why: &str, now: Timestamp) {
        self.compaction_left(now); // nothing of a turn happens while a context is compacted
        self.open_turn();
        self.become_state(State::Working, why, now);
    }

    pub(super) fn turn_broken(&mut self, reason: &BreakReason, now: Timestamp) {
        let how = match reason {
            BreakReason::Interrupted => " by an interrupt".to_string(),
            BreakReason::ApiError(error) => format!(" in an API error ({error})"),
            BreakReason::Limit(limit) => format!(": {}", limit.kind.told()),
            BreakReason::Denied => " because a tool call was denied".to_string(),
            BreakReason::Other(other) => format!(" ({other})"),
        };
        self.turn_over(&how, now);
        match reason {
            BreakReason::Limit(limit) => self.met_limit(limit.clone(), now),
            BreakReason::Interrupted
            | BreakReason::ApiError(_)
            | BreakReason::Denied
            | BreakReason::Other(_) => self.limit_is_over(),
        }
        if let BreakReason::ApiError(error) = reason {
            self.turn_failed(error);
        }
        self.become_state(State::Idle, format!("the turn ended{how}"), now);
    }

    /// People are told once, whoever else tells of it.
    fn turn_failed(&mut self, error: &str) {
        if self.rec.turn_error.is_none() {
            let name = &self.rec.name;
            let text = format!(
                "the turn of {name} ended in an error, and it stands still: {error}; mend it, then: sm send {name} \"continue\""
            );
            self.notify(NoticeKind::TurnFailed, text);
        }
        self.rec.turn_error = Some(error.to_owned());
        self.journal();
    }

    /// The turn is over: what it was given is consumed, who asked is told.
    pub(super) fn turn_over(&mut self, how: &str, now: Timestamp) {
        if self.rec.state == State::Compacting {
            self.doubt(now);
        }
        if !self.is_interrupting() {
            self.consume_submitted(now); // otherwise it may be taken back
        }
        self.close_turn(how);
    }

    fn mailbox_open(&mut self, waiter: Waiter, now: Timestamp) {
        let current = waiter.conversation.is_none() || waiter.conversation == self.rec.conversation;
        self.dismiss_waiters(); // one is enough, and the newest belongs to the living process
        if current && self.profile.mailbox {
            self.waiters.push(waiter);
            if self.rec.state == State::Idle || self.is_driven() {
                self.recheck_at = now;
            }
        } else {
            self.effect(Effect::Dismiss { waiter: waiter.id });
        }
    }

    fn ignore(&mut self, call: &HookCall, why: &str) {
        let word = match &call.signal {
            Signal::ContextStarted { .. } => "context started",
            Signal::ContextEnded { .. } => "context ended",
            Signal::PromptAccepted { .. } => "prompt accepted",
            Signal::ToolsFinished => "tools finished",
            Signal::Working => "working",
            Signal::PersonNeeded { .. } => "person needed",
            Signal::Stopping { .. } => "stopping",
            Signal::TurnBroken(_) => "turn broken",
            Signal::CompactionStarting { .. } => "compaction starting",
            Signal::CompactionDone => "compaction done",
            Signal::CompactionReported => "compaction reported",
            Signal::MailboxOpen { .. } => "mailbox open",
            Signal::Usage(_) => "usage",
            Signal::Other(what) => what.as_str(),
        };
        let text = format!("{word}: {why}");
        if let Signal::MailboxOpen { waiter } = call.signal {
            self.effect(Effect::Dismiss { waiter });
        }
        self.record_line(EntryKind::Ignored, text);
    }
}

/// Whether a waiting hook call has its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    Yes,
    No,
    /// A mailbox waiter: it stays open.
    Later,
}
