//! Handoffs in the simulated world: who asks for them, what makes their artifacts, and how the agent's
//! process is ended for one. What must hold of them is in `handoff_check`.

use super::agent::Author as Typist;
use super::daemon::Input;
use super::options::Mutation;
use super::world::{Item, World, id, tr};
use sm_core::carried::{IN_A_PROMPT, carried};
use sm_core::handoff::{Author, Guards, HandoffState, NewHandoff, Prepared, Trigger};
use sm_core::ids::{ConversationId, EventId, HandoffId, Timestamp};
use sm_core::signal::{Came, ContextSource, Fact, HookCall, Origin, Signal};
use sm_core::{AgentKind, Event, words};

/// How often somebody who got no answer asks again.
const TRIES: u32 = 9;

/// What a document says: it is in the prompt of its successor, and nowhere else.
pub(super) fn document_of(id: &HandoffId) -> String {
    format!("## Goal\nthe words of {id} end here.")
}

impl World {
    /// Somebody asks for a handoff. True: it was answered that it is scheduled.
    pub(super) fn ask_handoff(&mut self, trigger: Trigger, tries: u32, by_tool: bool) -> bool {
        let no = self.handoffs.asked;
        self.handoffs.asked += 1;
        let id: HandoffId = id(HandoffId::new(format!("h{no}")));
        if !self.daemon.up {
            if tries < TRIES {
                // the command starts a daemon and asks that
                self.ask_again(400, trigger, tries + 1, by_tool);
            }
            return false;
        }
        let guards = Guards {
            cooldown: 5_000,
            per_hour: 4,
        };
        let record = self.daemon.session.record();
        let refusal = record.handoff_refusal(
            &self.options.profile(),
            trigger,
            Author::Agent,
            guards,
            Timestamp(self.now),
        );
        if let Some(why) = refusal {
            tr!(self, "handoff {id} refused: {why}");
            self.stats.handoffs_refused += 1;
            return false;
        }
        let handoff = NewHandoff {
            id: id.clone(),
            trigger,
            author: Author::Agent,
            document: format!("/doc/{id}.md"),
            copy: format!("/copy/{id}.md"),
            folder: format!("/data/{id}"),
            note: String::new(),
            source: String::new(),
        };
        if self.options.mutation == Mutation::HandoffInMemory {
            let later = Input::Event(Event::HandoffAsked { handoff, guards });
            self.input(1_500, later);
            self.handoff_answered(&id);
            return true;
        }
        if !self.take(Input::Event(Event::HandoffAsked { handoff, guards })) {
            if tries < TRIES {
                self.ask_again(600, trigger, tries + 1, by_tool);
            }
            return false;
        }
        self.handoff_answered(&id);
        true
    }

    pub(super) fn ask_again(&mut self, after: i64, trigger: Trigger, tries: u32, by_tool: bool) {
        self.handoffs.coming += 1;
        self.handoffs.tools += u32::from(by_tool);
        let item = Item::HandoffAsked {
            trigger,
            tries,
            by_tool,
        };
        self.at(after, item);
    }

    pub(super) fn cancel_handoff(&mut self) {
        if self.daemon.up {
            tr!(self, "person: cancels the handoff");
            self.take(Input::Event(Event::HandoffCancelled));
        }
    }

    /// Makes the artifacts; asked again, the same ones.
    pub(super) fn prepare(&mut self, id: &HandoffId) {
        if self.fault(self.options.faults.prepare_lost) {
            tr!(self, "fault: nobody prepares {id}");
            return;
        }
        let prepared = if self.fault(self.options.faults.prepare_fails) {
            Err("the disk is full".to_string())
        } else {
            Ok(Prepared {
                document: format!("/doc/{id}.md"),
                content: (self.options.mutation != Mutation::DocumentLeftOut)
                    .then(|| carried(&document_of(id), IN_A_PROMPT)),
                ..Prepared::default()
            })
        };
        let after = self.delay(5, 150, 20_000);
        let handoff = id.clone();
        self.input(
            after,
            Input::Event(Event::HandoffPrepared { handoff, prepared }),
        );
    }

    /// The agent's own process is ended; its terminal and its launcher stay.
    pub(super) fn stop_agent(&mut self, launch: u32) {
        self.check_stop();
        self.stats.stops += 1;
        let after = self.delay(5, 60, 3_000);
        self.at(after, Item::StopLands { launch });
    }

    pub(super) fn stop_lands(&mut self, launch: u32) {
        if self.agent.alive() && self.agent.launch == launch {
            self.check_stopped();
            self.die(Some(143), None);
        }
    }

    /// Which record the agent has open is asked only where hooks may say nothing.
    pub(super) fn find_record(&mut self) {
        let record = self.daemon.session.record();
        let unknown = record.seeks_context();
        if self.agent.kind != AgentKind::Codex || !unknown || record.process.is_none() {
            return;
        }
        let Some(conversation) = self.agent.conversation().filter(|_| self.agent.alive()) else {
            return;
        };
        if conversation.started || self.options.locks {
            let event = Event::RecordFound {
                conversation: conversation.id.clone(),
                transcript: (conversation.started)
                    .then(|| format!("/rollouts/{}", conversation.id)),
                at: Timestamp(self.now),
            };
            self.take(Input::Event(event));
        }
    }

    // ── broken drivers

    /// Does the step once more that was under way when the daemon died.
    pub(super) fn clear_again(&mut self) {
        let open = self.daemon.journal.record.open_handoff();
        let cleared = open.is_some_and(|open| open.state == HandoffState::Cleared);
        if self.options.mutation == Mutation::ClearAgain && cleared {
            self.enter_by_sm = true;
            self.submit(vec![(Typist::Sm, "/clear".into())]);
            self.enter_by_sm = false;
        }
    }

    /// Takes an entered clear for a new context.
    pub(super) fn believe_the_clear(&mut self) {
        if self.options.mutation != Mutation::ClearBelieved {
            return;
        }
        let call = HookCall {
            id: id(EventId::new(format!("believed{}", self.stats.clears))),
            at: Timestamp(self.now),
            conversation: Some(id(ConversationId::new("believed"))),
            origin: Origin::Own,
            request: None,
            signal: Signal::ContextStarted {
                source: ContextSource::Clear,
                transcript: None,
            },
        };
        self.input(1, Input::Event(Event::Hook(call)));
    }

    /// Gives a message to the agent although a handoff is scheduled.
    pub(super) fn give_past_the_freeze(&mut self, message: usize) {
        let frozen = self.daemon.journal.record.open_handoff().is_some();
        if self.options.mutation == Mutation::FreezeIgnored && frozen && self.agent.alive() {
            let text = self.sent[message].new.text.clone();
            self.say(&text, Came::HookContext);
        }
    }

    /// What a hook has told of, as if the record had it.
    pub(super) fn claimed_by_hook(&self, call: &HookCall) -> Option<Event> {
        let Signal::PromptAccepted { text, .. } = &call.signal else {
            return None;
        };
        let believed = self.options.mutation == Mutation::HookIsProof;
        (believed && words::is_wake(text)).then(|| {
            Event::Facts(vec![Fact::UserText {
                text: text.clone(),
                came: Came::Prompt,
                at: Some(call.at),
            }])
        })
    }

    // ── for directed cases

    /// The agent (or a person) asks now; the number names it.
    pub fn hand_off(&mut self, trigger: Trigger) -> HandoffId {
        let no = self.handoffs.asked;
        self.ask_handoff(trigger, 0, false);
        id(HandoffId::new(format!("h{no}")))
    }

    pub fn hand_off_later(&mut self, after: i64, trigger: Trigger) {
        self.ask_again(after, trigger, 0, false);
    }

    /// What the journal says of it.
    pub fn handoff(&self, id: &HandoffId) -> Option<&sm_core::Handoff> {
        self.handoffs.rows.get(id).map(|row| &row.last)
    }

    /// How often the agent took its prompt, in whatever conversation.
    pub fn wakes(&self, id: &HandoffId) -> usize {
        self.handoffs.rows.get(id).map_or(0, |row| row.taken.len())
    }
}
