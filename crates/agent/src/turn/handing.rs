//! Handing over, as far as it is a matter of order: who may ask for it when, one at a time, what
//! waits meanwhile and where it goes on.

use super::machine::{Phase, Start, Turn};
use super::{Effect, Goal, Switched, Ticket, Unwritten};
use crate::host::{HandoffOutcome, WAIT_FOR_THE_ANSWER};

/// Fewer entries than this are nothing to hand off.
pub const FEWEST: usize = 2;

const ALREADY: &str = "A handoff is already being written (esc to cancel).";

/// The first prompt in the new session when the turn was left in its middle.
pub const CONTINUE: &str = "The context was handed over in the middle of the work. Continue with the next action of the handoff.";

/// The one handoff under way.
#[derive(Debug, PartialEq)]
pub(super) struct Flight {
    pub automatic: bool,
    pub goal: Goal,
    /// A person edits the document before it counts.
    edit: Edit,
    then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    No,
    Wanted,
    UnderWay,
}

/// How it goes on, whether the handoff comes about or not.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Then {
    Rest,
    /// In the middle of a turn.
    GoOn,
    Prompt(String),
}

/// Why nothing came of it, by what it was for.
fn told(goal: Goal, outcome: HandoffOutcome) -> HandoffOutcome {
    let why = match (goal, outcome) {
        (Goal::NextSession, outcome) => return outcome,
        (Goal::Compaction, HandoffOutcome::Cancelled) => "Compaction cancelled".to_owned(),
        (Goal::Compaction, HandoffOutcome::Empty) => {
            "Compaction failed: the model returned no text".to_owned()
        }
        (Goal::Compaction, HandoffOutcome::Failed(why)) => format!("Compaction failed: {why}"),
        (Goal::Compaction, HandoffOutcome::Nothing) => {
            "Nothing to compact (no messages yet)".to_owned()
        }
        (Goal::Compaction, other) => return other,
    };
    HandoffOutcome::NotCompacted(why)
}

impl Turn {
    pub(super) fn too_full(&self) -> bool {
        self.session.entries >= FEWEST
            && self
                .session
                .limit
                .is_some_and(|limit| self.session.tokens > limit)
    }

    pub(super) fn handoff_asked(
        &mut self,
        goal: Goal,
        focus: Option<String>,
        edit: bool,
        out: &mut Vec<Effect>,
    ) {
        let refused = match &self.phase {
            Phase::Idle if self.session.entries < FEWEST => HandoffOutcome::Nothing,
            Phase::Idle => {
                let edit = if edit { Edit::Wanted } else { Edit::No };
                return self.take_off((goal, false), edit, Then::Rest, focus, out);
            }
            Phase::Asking | Phase::Stopping | Phase::Calling(_) => {
                HandoffOutcome::Busy(WAIT_FOR_THE_ANSWER)
            }
            Phase::HandingOff(_) => HandoffOutcome::Busy(ALREADY),
        };
        out.push(Effect::Handoff {
            automatic: false,
            outcome: told(goal, refused),
        });
    }

    pub(super) fn hand_off_after(&mut self, out: &mut Vec<Effect>) {
        self.take_off((Goal::NextSession, true), Edit::No, Then::Rest, None, out);
    }

    pub(super) fn hand_off_within(&mut self, out: &mut Vec<Effect>) {
        self.take_off((Goal::NextSession, true), Edit::No, Then::GoOn, None, out);
    }

    pub(super) fn hand_off_before(&mut self, prompt: String, out: &mut Vec<Effect>) {
        self.take_off(
            (Goal::NextSession, true),
            Edit::No,
            Then::Prompt(prompt),
            None,
            out,
        );
    }

    fn take_off(
        &mut self,
        (goal, automatic): (Goal, bool),
        edit: Edit,
        then: Then,
        focus: Option<String>,
        out: &mut Vec<Effect>,
    ) {
        self.ticket.0 += 1;
        self.phase = Phase::HandingOff(Flight {
            automatic,
            goal,
            edit,
            then,
        });
        out.push(Effect::Generate {
            ticket: self.ticket,
            focus,
            automatic,
        });
    }

    pub(super) fn written(
        &mut self,
        ticket: Ticket,
        result: Result<String, Unwritten>,
        now: u64,
        out: &mut Vec<Effect>,
    ) {
        let Phase::HandingOff(flight) = &mut self.phase else {
            return;
        };
        if ticket != self.ticket {
            return; // of one that was cancelled: it must not commit any more
        }
        match (result, flight.edit) {
            (Ok(document), Edit::Wanted) => {
                flight.edit = Edit::UnderWay;
                out.push(Effect::Edit(document));
            }
            (Ok(document), Edit::No) => {
                let (goal, automatic) = (flight.goal, flight.automatic);
                out.push(Effect::Commit {
                    ticket,
                    goal,
                    document,
                    automatic,
                });
            }
            (Ok(_), Edit::UnderWay) => {}
            (Err(why), _) => {
                let outcome = match why {
                    Unwritten::Cancelled => HandoffOutcome::Cancelled,
                    Unwritten::Empty => HandoffOutcome::Empty,
                    Unwritten::Failed(why) => HandoffOutcome::Failed(why),
                };
                self.not_handed_over(outcome, now, out);
            }
        }
    }

    pub(super) fn edited(&mut self, text: Option<String>, now: u64, out: &mut Vec<Effect>) {
        let Phase::HandingOff(flight) = &self.phase else {
            return;
        };
        if flight.edit != Edit::UnderWay {
            return;
        }
        let (goal, automatic) = (flight.goal, flight.automatic);
        match text.filter(|text| !text.trim().is_empty()) {
            Some(document) => out.push(Effect::Commit {
                ticket: self.ticket,
                goal,
                document,
                automatic,
            }),
            None => self.not_handed_over(HandoffOutcome::Cancelled, now, out),
        }
    }

    pub(super) fn cancel_handoff(&mut self, now: u64, out: &mut Vec<Effect>) {
        out.push(Effect::Cancel);
        self.not_handed_over(HandoffOutcome::Cancelled, now, out);
    }

    pub(super) fn committed(
        &mut self,
        ticket: Ticket,
        result: Result<Switched, String>,
        now: u64,
        out: &mut Vec<Effect>,
    ) {
        if ticket != self.ticket {
            return;
        }
        let switched = match result {
            Ok(switched) => switched,
            Err(why) => return self.not_handed_over(HandoffOutcome::Failed(why), now, out),
        };
        let Some(flight) = self.leave() else {
            return;
        };
        self.begin(Start {
            limit: self.session.limit,
            ..Start::default()
        });
        let outcome = match flight.goal {
            Goal::Compaction => HandoffOutcome::Compacted,
            Goal::NextSession => HandoffOutcome::Done {
                document: switched.document,
                saved_path: switched.saved_path,
                session: switched.session,
            },
        };
        out.push(Effect::Handoff {
            automatic: flight.automatic,
            outcome,
        });
        match flight.then {
            Then::Rest => self.next(now, out),
            Then::GoOn => {
                // What was said meanwhile is about the work that goes on.
                self.steering.extend(std::mem::take(&mut self.follow_ups));
                self.begin_turn(CONTINUE.to_owned(), now, out);
            }
            Then::Prompt(text) => self.begin_turn(text, now, out),
        }
    }

    /// Everything is as before, and goes on as if nobody had wanted a handoff.
    fn not_handed_over(&mut self, outcome: HandoffOutcome, now: u64, out: &mut Vec<Effect>) {
        let Some(flight) = self.leave() else {
            return;
        };
        self.ticket.0 += 1;
        self.spared = true;
        out.push(Effect::Handoff {
            automatic: flight.automatic,
            outcome: told(flight.goal, outcome),
        });
        match flight.then {
            // The next prompt tries it again.
            Then::Rest => {
                if let Some(waits) = self.follow_ups.pop_front() {
                    self.begin_turn(waits.text, now, out);
                }
            }
            Then::GoOn => {
                self.steering.extend(std::mem::take(&mut self.follow_ups));
                self.ask(now, out);
            }
            Then::Prompt(text) => self.begin_turn(text, now, out),
        }
    }

    fn leave(&mut self) -> Option<Flight> {
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::HandingOff(flight) => Some(flight),
            other @ (Phase::Idle | Phase::Asking | Phase::Stopping | Phase::Calling(_)) => {
                self.phase = other;
                None
            }
        }
    }
}
