//! The hook program and the mailbox waiters of the simulated agent, with what can go wrong on the way.

use super::daemon::Input;
use super::options::Mutation;
use super::world::{AgentStep, Item, World, id, tr};
use sm_core::ids::{ConversationId, EventId, RequestId, Timestamp, WaiterId};
use sm_core::signal::{HookCall, Origin, Signal};
use sm_core::{Answer, Event};

/// A hook program waits this long for its answer.
const HOOK_PATIENCE: i64 = 250;

/// One run of the hook program.
#[derive(Debug, Clone)]
pub struct HookRun {
    pub at: i64,
    pub conversation: Option<ConversationId>,
    pub origin: Origin,
    pub signal: Signal,
    /// The agent stands still until it is done, in this epoch.
    pub waits: Option<u64>,
    pub done: bool,
}

/// A background hook of the agent that waits for text.
#[derive(Debug, Clone)]
pub struct Mailbox {
    pub launch: u32,
    /// Of an agent that inherited the environment.
    pub nested: bool,
    pub conversation: Option<ConversationId>,
    pub alive: bool,
    /// The open request, as the present daemon knows it.
    pub connected: Option<(u64, WaiterId)>,
    pub offer: Option<(u64, String)>,
}

impl World {
    pub(super) fn hook(&mut self, signal: Signal) {
        let conversation = self.agent.conversation_id();
        self.run_hook(signal, Origin::Own, conversation, None);
    }

    pub(super) fn hook_and_wait(&mut self, signal: Signal) {
        let conversation = self.agent.conversation_id();
        let epoch = self.agent.epoch;
        self.run_hook(signal, Origin::Own, conversation, Some(epoch));
    }

    pub(super) fn foreign_hook(
        &mut self,
        signal: Signal,
        origin: Origin,
        conversation: Option<ConversationId>,
    ) {
        let conversation = conversation.or_else(|| self.agent.conversation_id());
        self.run_hook(signal, origin, conversation, None);
    }

    fn run_hook(
        &mut self,
        signal: Signal,
        origin: Origin,
        conversation: Option<ConversationId>,
        waits: Option<u64>,
    ) {
        let hook = self.hooks.len();
        self.hooks.push(HookRun {
            at: self.now,
            conversation,
            origin,
            signal,
            waits,
            done: false,
        });
        if self.fault(self.options.faults.hook_lost) {
            tr!(self, "fault: hook {hook} killed");
            self.hook_finishes(hook, Answer::Nothing);
            return;
        }
        let after = if self.fault(self.options.faults.hook_delayed) {
            self.rng.between(20, self.options.hook_delay_ms)
        } else {
            self.rng.between(1, 6)
        };
        self.at(after, Item::HookArrives { hook });
        self.at(HOOK_PATIENCE, Item::HookGivesUp { hook });
        if self.fault(self.options.faults.hook_doubled) {
            self.spool_hook(hook);
        }
    }

    /// The agent goes on with what the hook program printed.
    pub(super) fn hook_finishes(&mut self, hook: usize, answer: Answer) {
        let Some(run) = self.hooks.get_mut(hook) else {
            return;
        };
        if run.done {
            return;
        }
        run.done = true;
        if let Some(epoch) = run.waits {
            let what = AgentStep::HookDone(answer);
            self.at(0, Item::Agent { epoch, what });
        }
    }

    pub(super) fn hook_arrives(&mut self, hook: usize) {
        if !self.daemon.up {
            if !self.hooks[hook].done {
                self.spool_hook(hook);
                self.hook_finishes(hook, Answer::Nothing);
            }
            return;
        }
        self.take(Input::Hook {
            hook,
            by_spool: false,
        });
    }

    pub(super) fn hook_gives_up(&mut self, hook: usize) {
        if !self.hooks[hook].done {
            tr!(self, "hook {hook} gives up: spooled");
            self.spool_hook(hook);
            self.hook_finishes(hook, Answer::Nothing);
        }
    }

    pub(super) fn call_of(&mut self, hook: usize, by_spool: bool) -> HookCall {
        let unknown = self.fault(self.options.faults.origin_unknown);
        let own = self.options.mutation == Mutation::SubAgentIsOwn;
        let run = &self.hooks[hook];
        let origin = match run.origin {
            Origin::SubAgent if own => Origin::Own,
            Origin::SubAgent => Origin::SubAgent, // told by its payload
            Origin::Own | Origin::Nested | Origin::Unknown if unknown => Origin::Unknown,
            other => other,
        };
        let mut call = HookCall {
            id: id(EventId::new(format!("e{hook}"))),
            at: Timestamp(run.at),
            conversation: run.conversation.clone(),
            origin,
            request: (!by_spool).then_some(RequestId(hook as u64)),
            signal: run.signal.clone(),
        };
        self.mutate_call(&mut call);
        call
    }

    // ── mailbox

    pub(super) fn start_mailbox(&mut self, nested: Option<ConversationId>) {
        let waiter = self.mailboxes.len();
        self.mailboxes.push(Mailbox {
            launch: self.agent.launch,
            nested: nested.is_some(),
            conversation: nested.or_else(|| self.agent.conversation_id()),
            alive: true,
            connected: None,
            offer: None,
        });
        let after = self.delay(2, 20, 400);
        self.at(after, Item::WaiterConnects { waiter });
    }

    fn parent_lives(&self, waiter: usize) -> bool {
        self.agent.alive() && self.mailboxes[waiter].launch == self.agent.launch
    }

    pub(super) fn waiter_connects(&mut self, waiter: usize) {
        if !self.mailboxes[waiter].alive {
            return;
        }
        if !self.parent_lives(waiter) {
            self.mailboxes[waiter].alive = false;
            return;
        }
        if !self.daemon.up {
            self.at(2_000, Item::WaiterConnects { waiter });
            return;
        }
        let no = WaiterId(self.daemon.next_waiter());
        self.mailboxes[waiter].connected = Some((self.daemon.incarnation, no));
        let nested = self.mailboxes[waiter].nested;
        let origin = match nested {
            true if self.fault(500) => Origin::Unknown,
            true => Origin::Nested,
            false => Origin::Own,
        };
        let call = HookCall {
            id: id(EventId::new(format!("w{}", no.0))),
            at: Timestamp(self.now),
            conversation: self.mailboxes[waiter].conversation.clone(),
            origin,
            request: Some(RequestId(1_000_000 + no.0)),
            signal: Signal::MailboxOpen { waiter: no },
        };
        self.take(Input::Event(Event::Hook(call)));
    }

    pub(super) fn mailbox_of(&self, no: WaiterId) -> Option<usize> {
        let key = (self.daemon.incarnation, no);
        self.mailboxes
            .iter()
            .position(|m| m.alive && m.connected == Some(key))
    }

    /// The text has come: the waiter looks at its parent and takes it.
    pub(super) fn waiter_offered(&mut self, waiter: usize) {
        let Some((incarnation, no)) = self.mailboxes[waiter].connected else {
            return;
        };
        let Some((flight, text)) = self.mailboxes[waiter].offer.clone() else {
            return;
        };
        if !self.mailboxes[waiter].alive || !self.daemon.is(incarnation) {
            return;
        }
        if !self.parent_lives(waiter) {
            self.mailboxes[waiter].alive = false;
            self.take(Input::Event(Event::Mailed {
                flight,
                waiter: no,
                taken: false,
            }));
            return;
        }
        let lost = self.fault(self.options.faults.answer_lost);
        if self.take(Input::Event(Event::Mailed {
            flight,
            waiter: no,
            taken: true,
        })) {
            self.mailboxes[waiter].alive = false;
            if lost {
                tr!(self, "fault: the waiter dies with the text");
                return;
            }
            let after = self.delay(50, 110, 6_000);
            self.at(after, Item::WaiterWrites { waiter, text });
        }
    }

    pub(super) fn waiter_writes(&mut self, waiter: usize, text: String) {
        if self.parent_lives(waiter) {
            self.wake(format!("<task-notification>{text}</task-notification>"));
        }
    }

    /// Escape and errors leave no waiter behind.
    pub(super) fn kill_mailboxes(&mut self) {
        for waiter in 0..self.mailboxes.len() {
            if !self.mailboxes[waiter].alive {
                continue;
            }
            self.mailboxes[waiter].alive = false;
            if let Some((incarnation, no)) = self.mailboxes[waiter].connected {
                let gone = match self.mailboxes[waiter].offer.take() {
                    Some((flight, _)) => Event::Mailed {
                        flight,
                        waiter: no,
                        taken: false,
                    },
                    None => Event::WaiterGone { waiter: no },
                };
                let input = Input::Event(gone);
                self.at(2, Item::Input { incarnation, input });
            }
        }
    }

    /// All connections of a daemon that died are closed; waiters try again.
    pub(super) fn drop_connections(&mut self) {
        for waiter in 0..self.mailboxes.len() {
            if self.mailboxes[waiter].alive && self.mailboxes[waiter].connected.take().is_some() {
                self.mailboxes[waiter].offer = None;
                let after = self.rng.between(0, 2_000);
                self.at(after, Item::WaiterConnects { waiter });
            }
        }
    }
}
