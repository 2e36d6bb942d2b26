//! The machine itself: what each event means in each phase.

use std::collections::VecDeque;

use sm_llm::{Assistant, Block, Message, StopReason, ToolCall, ToolResult};

use super::calls::{Calls, Move, broken_off};
use super::handing::Flight;
use super::{Effect, End, Event, Goal, Ticket, Unanswered};
use crate::approval::{Approvals, Deed};
use crate::host::{Answer, Queue, State, Told};

/// A conversation's turns, one after the other.
#[derive(Debug)]
pub struct Turn {
    pub(super) phase: Phase,
    pub(super) ticket: Ticket,
    pub(super) steering: VecDeque<Waits>,
    pub(super) follow_ups: VecDeque<Waits>,
    pub(super) session: Start,
    /// What the first answer of this session took: below the limit, a handoff helps.
    pub(super) first: Option<u64>,
    /// An automatic handoff did not come about in this turn: not again before the next one.
    pub(super) spared: bool,
    pub approvals: Approvals,
    told: State,
}

/// What the machine has to know of the session it drives.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Start {
    /// Entries of people, models and tools.
    pub entries: usize,
    /// How full the context is, as far as it is known.
    pub tokens: u64,
    /// Above it a handoff comes by itself; `None`: never.
    pub limit: Option<u64>,
}

/// A text that waits for its moment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Waits {
    pub text: String,
    pub from: From,
}

/// Who said it: what a turn that is broken off leaves unsaid goes back into the editor it came from,
/// but what `sm` has handed over is said all the same, in the next turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    Editor,
    Sm,
}

#[derive(Debug, PartialEq)]
pub(super) enum Phase {
    Idle,
    Asking,
    /// Interrupted; what the model had said is waited for.
    Stopping,
    Calling(Calls),
    HandingOff(Flight),
}

impl Turn {
    pub fn new(approvals: Approvals, session: Start) -> Self {
        Self {
            phase: Phase::Idle,
            ticket: Ticket::default(),
            steering: VecDeque::new(),
            follow_ups: VecDeque::new(),
            session,
            first: None,
            spared: false,
            approvals,
            told: State::Idle,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    pub fn is_handing_off(&self) -> bool {
        matches!(self.phase, Phase::HandingOff(_))
    }

    /// Whether this ticket's answer is still wanted.
    pub fn wants(&self, ticket: Ticket) -> bool {
        self.ticket == ticket && !self.is_idle()
    }

    /// A machine in the place of another: nothing that was asked of that one counts.
    pub fn numbered(mut self, ticket: Ticket) -> Self {
        self.ticket = ticket;
        self
    }

    pub fn next_ticket(&self) -> Ticket {
        Ticket(self.ticket.0 + 1)
    }

    /// Another session takes the place of this one. Only while idle.
    pub fn begin(&mut self, session: Start) {
        self.ticket.0 += 1;
        self.session = session;
        self.first = None;
        self.spared = false;
    }

    /// The model was changed: another window has another limit.
    pub fn set_limit(&mut self, limit: Option<u64>) {
        self.session.limit = limit;
    }

    /// Something was added to the session beside the turns.
    pub fn set_entries(&mut self, entries: usize) {
        self.session.entries = entries;
    }

    pub fn step(&mut self, event: Event, now: u64) -> Vec<Effect> {
        let mut effects = Vec::new();
        let out = &mut effects;
        match event {
            Event::Prompt(text) => self.said(text, From::Editor, Queue::FollowUp, now, out),
            Event::Steer(text) => self.said(text, From::Editor, Queue::Steering, now, out),
            Event::FollowUp(text) => self.said(text, From::Editor, Queue::FollowUp, now, out),
            Event::Told { text, how } => self.told(text, how, now, out),
            Event::Interrupt => self.interrupt(now, out),
            Event::Answered {
                ticket,
                answer,
                deeds,
            } => self.answered(ticket, answer, deeds, now, out),
            Event::NotAnswered {
                ticket,
                why,
                partial,
            } => self.not_answered(ticket, why, partial, now, out),
            Event::Approved { call_id, answer } => self.approved(&call_id, answer, now, out),
            Event::ToolDone(result) => self.tool_done(result, now, out),
            Event::HandoffAsked { focus, edit } => {
                self.handoff_asked(Goal::NextSession, focus, edit, out);
            }
            Event::CompactAsked { focus } => {
                self.handoff_asked(Goal::Compaction, focus, false, out);
            }
            Event::Written { ticket, result } => self.written(ticket, result, now, out),
            Event::Edited(text) => self.edited(text, now, out),
            Event::Committed { ticket, result } => self.committed(ticket, result, now, out),
        }
        let state = self.state();
        if state != self.told {
            self.told = state;
            effects.push(Effect::State(state));
        }
        effects
    }

    pub fn state(&self) -> State {
        match &self.phase {
            Phase::Idle => State::Idle,
            Phase::Calling(calls) if calls.wants_a_person() => State::Waiting,
            Phase::Asking | Phase::Stopping | Phase::Calling(_) => State::Working,
            Phase::HandingOff(flight) => State::HandingOff {
                goal: flight.goal,
                automatic: flight.automatic,
                attempt: 1,
            },
        }
    }

    fn told(&mut self, text: String, how: Told, now: u64, out: &mut Vec<Effect>) {
        let queue = match how {
            Told::Prompt => Queue::FollowUp,
            Told::Steer => Queue::Steering,
            Told::Interrupt => match &self.phase {
                // To end the turn now would be to answer for the person.
                Phase::Calling(calls) if calls.wants_a_person() => Queue::Steering,
                Phase::Asking | Phase::Stopping | Phase::Calling(_) => {
                    let text_told = text.clone();
                    let from = From::Sm;
                    self.follow_ups.push_front(Waits { text, from });
                    let queue = Queue::FollowUp;
                    out.push(Effect::Queued {
                        queue,
                        text: text_told,
                    });
                    return self.interrupt(now, out);
                }
                // A document that is being written is not worth less than what waits for it.
                Phase::Idle | Phase::HandingOff(_) => Queue::FollowUp,
            },
        };
        self.said(text, From::Sm, queue, now, out);
    }

    fn said(&mut self, text: String, from: From, queue: Queue, now: u64, out: &mut Vec<Effect>) {
        let queue = match (&self.phase, queue) {
            (Phase::Idle, _) => return self.prompt(text, now, out),
            (Phase::HandingOff(_), _) => Queue::NextSession,
            // Nothing will be asked any more in this turn.
            (Phase::Stopping, _) => Queue::FollowUp,
            (Phase::Asking | Phase::Calling(_), queue) => queue,
        };
        out.push(Effect::Queued {
            queue,
            text: text.clone(),
        });
        match queue {
            Queue::Steering => self.steering.push_back(Waits { text, from }),
            Queue::FollowUp | Queue::NextSession => {
                self.follow_ups.push_back(Waits { text, from });
            }
        }
    }

    /// A turn begins, unless the context has to be left first.
    pub(super) fn prompt(&mut self, text: String, now: u64, out: &mut Vec<Effect>) {
        self.spared = false;
        if self.too_full() {
            return self.hand_off_before(text, out);
        }
        self.begin_turn(text, now, out);
    }

    pub(super) fn begin_turn(&mut self, text: String, now: u64, out: &mut Vec<Effect>) {
        self.append(Message::user(text, now), out);
        self.ask(now, out);
    }

    /// What a person said meanwhile goes with the request.
    pub(super) fn ask(&mut self, now: u64, out: &mut Vec<Effect>) {
        for waits in std::mem::take(&mut self.steering) {
            self.append(Message::user(waits.text, now), out);
        }
        self.ticket.0 += 1;
        self.phase = Phase::Asking;
        out.push(Effect::Ask(self.ticket));
    }

    pub(super) fn append(&mut self, message: Message, out: &mut Vec<Effect>) {
        self.session.entries += 1;
        out.push(Effect::Append(message));
    }

    fn answered(
        &mut self,
        ticket: Ticket,
        answer: Assistant,
        deeds: Vec<Deed>,
        now: u64,
        out: &mut Vec<Effect>,
    ) {
        if ticket != self.ticket || !matches!(self.phase, Phase::Asking | Phase::Stopping) {
            return;
        }
        let calls: Vec<ToolCall> = answer.tool_calls().cloned().collect();
        let cut = answer.stop_reason == StopReason::Length;
        let used = answer.usage.total_tokens;
        if used > 0 {
            self.session.tokens = used;
            self.first.get_or_insert(used);
        }
        self.append(Message::Assistant(answer), out);
        let stopping = self.phase == Phase::Stopping;
        if stopping || (cut && !calls.is_empty()) {
            for result in broken_off(&calls, !stopping, now) {
                self.append(Message::ToolResult(result), out);
            }
            if stopping {
                return self.end(End::Interrupted, now, out);
            }
            return self.go_on(now, out);
        }
        if calls.is_empty() {
            if self.steering.is_empty() {
                return self.end(End::Done, now, out);
            }
            return self.go_on(now, out);
        }
        self.phase = Phase::Calling(Calls::new(calls, deeds));
        self.advance(now, out);
    }

    fn not_answered(
        &mut self,
        ticket: Ticket,
        why: Unanswered,
        partial: Option<Assistant>,
        now: u64,
        out: &mut Vec<Effect>,
    ) {
        if ticket != self.ticket || !matches!(self.phase, Phase::Asking | Phase::Stopping) {
            return;
        }
        let stop = match why {
            Unanswered::Cancelled => StopReason::Aborted,
            Unanswered::TooLong(_) | Unanswered::Failed(_) => StopReason::Error,
        };
        if let Some(partial) = partial.and_then(|partial| only_text(partial, stop)) {
            self.append(Message::Assistant(partial), out);
        }
        match why {
            Unanswered::Cancelled => self.end(End::Interrupted, now, out),
            // Without a limit nobody wants a handoff that comes by itself.
            Unanswered::TooLong(_)
                if self.phase == Phase::Asking
                    && self.session.limit.is_some()
                    && !self.spared
                    && self.session.entries >= super::handing::FEWEST =>
            {
                self.hand_off_within(out);
            }
            Unanswered::TooLong(why) => {
                let why = format!(
                    "{why}; /handoff goes on in a new session with what matters of this one"
                );
                self.end(End::Failed(why), now, out);
            }
            Unanswered::Failed(_) if self.phase == Phase::Stopping => {
                self.end(End::Interrupted, now, out);
            }
            Unanswered::Failed(why) => self.end(End::Failed(why), now, out),
        }
    }

    fn advance(&mut self, now: u64, out: &mut Vec<Effect>) {
        let Phase::Calling(calls) = &mut self.phase else {
            return;
        };
        let moves = if calls.stopping {
            Vec::new()
        } else {
            calls.advance(&self.approvals, now)
        };
        for step in moves {
            match step {
                Move::Run(call) => out.push(Effect::Run(call)),
                Move::Want(call, wanted) => out.push(Effect::Want { call, wanted }),
                Move::Tell(result) => self.append(Message::ToolResult(result), out),
            }
        }
        let Phase::Calling(calls) = &self.phase else {
            return;
        };
        match (calls.done(), calls.stopping) {
            (true, true) => self.end(End::Interrupted, now, out),
            (true, false) => self.go_on(now, out),
            (false, _) => {}
        }
    }

    /// The model is asked again, unless the context has to be left in the middle of the turn.
    fn go_on(&mut self, now: u64, out: &mut Vec<Effect>) {
        // A context that was too full from its first answer on would be left again and again.
        let helps = self
            .first
            .zip(self.session.limit)
            .is_some_and(|(f, l)| f <= l);
        if self.too_full() && helps && !self.spared {
            return self.hand_off_within(out);
        }
        self.ask(now, out);
    }

    fn approved(&mut self, call_id: &str, answer: Answer, now: u64, out: &mut Vec<Effect>) {
        let Phase::Calling(calls) = &mut self.phase else {
            return;
        };
        let Some(wanted) = calls.wanted(call_id) else {
            return; // answered before, or broken off meanwhile
        };
        let rule = wanted.always.clone();
        match answer {
            Answer::Once => calls.clear(call_id),
            Answer::Always => {
                calls.clear(call_id);
                self.approvals.allow(rule);
            }
            Answer::AlwaysKept => {
                calls.clear(call_id);
                self.approvals.allow(rule.clone());
                out.push(Effect::Keep(rule));
            }
            Answer::No(instead) => {
                let why = match instead {
                    Some(instead) => format!("the person does not want this. Instead: {instead}"),
                    None => "the person does not want this".to_owned(),
                };
                if let Some(result) = calls.refuse(call_id, &why, now) {
                    self.append(Message::ToolResult(result), out);
                }
            }
        }
        self.advance(now, out);
    }

    fn tool_done(&mut self, result: ToolResult, now: u64, out: &mut Vec<Effect>) {
        let Phase::Calling(calls) = &mut self.phase else {
            return;
        };
        if !calls.finish(&result) {
            return;
        }
        self.append(Message::ToolResult(result), out);
        self.advance(now, out);
    }

    fn interrupt(&mut self, now: u64, out: &mut Vec<Effect>) {
        match &mut self.phase {
            Phase::Idle | Phase::Stopping => {}
            Phase::Asking => {
                self.phase = Phase::Stopping;
                out.push(Effect::Cancel);
            }
            Phase::Calling(calls) => {
                let results = calls.stop(now);
                out.push(Effect::Cancel);
                for result in results {
                    self.append(Message::ToolResult(result), out);
                }
                self.advance(now, out);
            }
            Phase::HandingOff(_) => self.cancel_handoff(now, out),
        }
    }

    fn end(&mut self, end: End, now: u64, out: &mut Vec<Effect>) {
        self.phase = Phase::Idle;
        let whole = end == End::Done;
        out.push(Effect::Ended(end));
        if !whole {
            let mut waiting = std::mem::take(&mut self.steering);
            waiting.append(&mut self.follow_ups);
            let (returned, kept): (VecDeque<Waits>, VecDeque<Waits>) = waiting
                .into_iter()
                .partition(|waits| waits.from == From::Editor);
            self.follow_ups = kept;
            if !returned.is_empty() {
                let texts = returned.into_iter().map(|waits| waits.text);
                out.push(Effect::Returned(texts.collect()));
            }
            return self.next(now, out);
        }
        if self.too_full() && !self.spared {
            return self.hand_off_after(out);
        }
        self.next(now, out);
    }

    /// What waited for the end of the turn.
    pub(super) fn next(&mut self, now: u64, out: &mut Vec<Effect>) {
        if let Some(waits) = self.follow_ups.pop_front() {
            self.prompt(waits.text, now, out);
        }
    }
}

/// What of a broken answer can be said to a model again: its text. A call that is not whole must
/// not run, and thoughts without their signature are refused.
fn only_text(mut partial: Assistant, stop: StopReason) -> Option<Assistant> {
    partial.content.retain(|block| match block {
        Block::Text { text, .. } => !text.trim().is_empty(),
        Block::Thinking { .. } | Block::Image { .. } | Block::ToolCall(_) | Block::Other => false,
    });
    partial.stop_reason = stop;
    (!partial.content.is_empty()).then_some(partial)
}
