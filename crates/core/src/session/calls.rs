//! What the agent's tools are doing, and which of their calls a person is asked about.
//!
//! The hook of a dialog says what it asks; where that is missing, the record does: a call without a
//! result. Must never decide a state: it only gives words to the state that others decide.

use super::{Session, State};
use crate::effect::{EntryKind, NoticeKind};
use crate::ids::Timestamp;
use crate::shown;
use crate::signal::{PersonNeed, ToolCall};
use serde::{Deserialize, Serialize};

/// Calls that are remembered of one turn; an agent rarely has more than a few at once.
const MOST: usize = 16;
/// Characters of a request in a sentence; the whole of it is in the record.
const IN_A_SENTENCE: usize = 160;

/// So long a notice of a dialog waits for what it asks.
const WORDS_PATIENCE: i64 = 1_000;

/// The tool calls of the turn under way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolCalls {
    /// What a person is asked about, the one that was asked first at the front.
    #[serde(default)]
    pub pending: Vec<ToolCall>,
    /// The newest call of the turn.
    #[serde(default)]
    pub latest: Option<ToolCall>,
}

impl ToolCalls {
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.latest.is_none()
    }
}

impl Session {
    pub(super) fn tool_called(&mut self, id: String, call: ToolCall) {
        let open = &mut self.open_calls;
        if open.len() >= MOST {
            open.remove(0);
        }
        open.push((id, call.clone()));
        if self.rec.turn_open {
            self.is_doing(call);
        }
    }

    pub(super) fn tool_returned(&mut self, id: &str) {
        let open = &mut self.open_calls;
        let Some(at) = open.iter().position(|(known, _)| known == id) else {
            return;
        };
        let (_, done) = open.remove(at);
        let pending = &self.rec.calls.pending;
        // a dialog about it was answered; the next one stands now
        if let Some(at) = pending.iter().position(|asked| asked.text == done.text)
            && pending.len() > 1
        {
            self.rec.calls.pending.remove(at);
            if let State::Waiting(need) = &self.rec.state {
                self.rec.why = self.asks(need);
            }
            self.journal();
        }
    }

    fn is_doing(&mut self, call: ToolCall) {
        if self.rec.calls.latest.as_ref() != Some(&call) {
            self.rec.calls.latest = Some(call);
            self.journal_later();
        }
    }

    /// The agent stands still until a person answers. `call`: what it asks about, as its hook says.
    pub(super) fn person_needed(
        &mut self,
        need: PersonNeed,
        call: Option<ToolCall>,
        now: Timestamp,
    ) {
        let about_call = match need {
            PersonNeed::Permission(_) | PersonNeed::Question => true,
            PersonNeed::Limit | PersonNeed::FirstRun(_) => false,
        };
        let same_dialog = about_call
            && self.rec.turn_open
            && matches!(&self.rec.state, State::Waiting(PersonNeed::Permission(_)));
        match call {
            Some(call) => {
                self.is_doing(call.clone());
                let waiting = matches!(
                    &self.rec.state,
                    State::Waiting(PersonNeed::Permission(_) | PersonNeed::Question)
                );
                if about_call && waiting {
                    self.asked_meanwhile(need, call);
                    return;
                }
                self.rec.calls.pending = vec![call];
            }
            None if same_dialog => return, // a second source for it, with fewer words
            None if about_call => {
                let only = self.only_open_call();
                self.rec.calls.pending.extend(only);
            }
            None => self.rec.calls.pending.clear(),
        }
        let why = self.asks(&need);
        self.become_state(State::Waiting(need), why, now);
    }

    /// Several may be open, and then nothing says which of them a dialog is about.
    fn only_open_call(&self) -> Option<ToolCall> {
        match self.open_calls.as_slice() {
            [(_, only)] => Some(only.clone()),
            _ => None,
        }
    }

    /// The record was read on: it may name a dialog that is known only to stand there.
    pub(super) fn name_dialog(&mut self) {
        let State::Waiting(need @ (PersonNeed::Permission(_) | PersonNeed::Question)) =
            self.rec.state.clone()
        else {
            return;
        };
        if self.rec.calls.pending.is_empty()
            && let Some(call) = self.only_open_call()
        {
            self.rec.calls.pending.push(call);
            self.rec.why = self.asks(&need);
            self.tell_named_dialog();
            self.journal();
        }
    }

    /// A dialog told of itself while the session is known to wait: the one that is known, with more
    /// words, or another one.
    fn asked_meanwhile(&mut self, need: PersonNeed, call: ToolCall) {
        let is_waiting_for_it = self.rec.state == State::Waiting(need.clone());
        let pending = &mut self.rec.calls.pending;
        // hook and record may call the same tool by two names
        let known = pending.iter().any(|asked| asked.text == call.text);
        if known && pending.len() == 1 && !is_waiting_for_it {
            // a dialog that was seen before it was named: its own hook says best what it is
            self.rec.state = State::Waiting(need.clone());
            self.rec.why = self.asks(&need);
            self.journal();
            return;
        }
        if known || pending.len() >= MOST {
            return;
        }
        let another = !pending.is_empty();
        pending.push(call);
        if another {
            // the first one still stands, or was answered and nobody heard of it
            let why = self.asked_for(&need, self.rec.calls.pending.last());
            self.record_line(EntryKind::State, format!("waiting: {why}"));
            self.tell_waiting(&why);
        } else {
            self.rec.state = State::Waiting(need.clone());
        }
        self.rec.why = self.asks(&need);
        self.tell_named_dialog();
        self.journal();
    }

    /// Why the session waits, in one sentence.
    fn asks(&self, need: &PersonNeed) -> String {
        let pending = &self.rec.calls.pending;
        let first = self.asked_for(need, pending.first());
        match pending.len() {
            0 | 1 => first,
            many => format!("{first} (and {} more)", many - 1),
        }
    }

    fn asked_for(&self, need: &PersonNeed, call: Option<&ToolCall>) -> String {
        let asks = match need {
            PersonNeed::Permission(tool) => {
                let named = call.map_or(tool.as_str(), |call| call.tool.as_str());
                match named {
                    "" => "it asks for permission".to_string(),
                    tool => format!("it asks for permission ({tool})"),
                }
            }
            PersonNeed::Question => "it asks a question".to_string(),
            PersonNeed::Limit => "it asks what to do about its provider's limit".to_string(),
            PersonNeed::FirstRun(what) => return format!("it shows a first-run dialog ({what})"),
        };
        match call.map(|call| shown::cut(&call.text, IN_A_SENTENCE)) {
            Some(text) if !text.is_empty() => format!("{asks}: {text}"),
            Some(_) | None => asks,
        }
    }

    // ── telling people

    /// A dialog stands there now. Without what it asks a notice helps nobody: the source that knows is
    /// waited for, as others may be a moment earlier.
    pub(super) fn announce_dialog(&mut self, need: &PersonNeed, why: &str, now: Timestamp) {
        let words_may_come = match need {
            PersonNeed::Permission(_) | PersonNeed::Question => true,
            PersonNeed::Limit | PersonNeed::FirstRun(_) => false,
        };
        if words_may_come && self.rec.calls.pending.is_empty() {
            let latest = now.plus(WORDS_PATIENCE);
            self.rec.dialog_untold.get_or_insert(latest);
        } else {
            self.rec.dialog_untold = None;
            self.tell_waiting(why);
        }
    }

    /// The dialog that nobody was told of: what it asks is known now.
    pub(super) fn tell_named_dialog(&mut self) {
        if !self.rec.calls.pending.is_empty() {
            self.tell_dialog();
        }
    }

    /// Nobody has said what it asks.
    pub(super) fn tell_dialog_in_time(&mut self, now: Timestamp) {
        if self.rec.dialog_untold.is_some_and(|latest| latest <= now) {
            self.tell_dialog();
        }
    }

    fn tell_dialog(&mut self) {
        if self.rec.dialog_untold.take().is_some() {
            let why = self.rec.why.clone();
            self.tell_waiting(&why);
            self.journal();
        }
    }

    /// No dialog stands there any more: one that nobody was told of needed nobody.
    pub(super) fn dialog_over(&mut self) {
        self.rec.calls.pending.clear();
        self.rec.dialog_untold = None;
    }

    fn tell_waiting(&mut self, why: &str) {
        let name = &self.rec.name;
        let mut text = format!("{name} waits for you: {why}. Answer it with: sm attach {name}");
        if self.is_handoff_unfinished() {
            text.push_str(". Its handoff waits for that");
        }
        self.notify(NoticeKind::PersonNeeded, text);
    }
}
