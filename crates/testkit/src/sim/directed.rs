//! The handles of directed cases: put the world into a situation, and look.

use super::agent::{Author, TurnPlan};
use super::daemon::Input;
use super::trace::Failure;
use super::world::{Act, Item, Sent, World, id};
use sm_core::State;
use sm_core::ids::MessageId;
use sm_core::message::{MessageState, Mode, NewMessage, Sender};
use sm_core::signal::PersonNeed;

impl World {
    /// An agent that is started and idle.
    pub fn idle(mut self) -> Self {
        for _ in 0..3 {
            self.input(0, Input::Launch { fresh: false }); // asked again if the daemon died of it
            if self.run_until(20_000, |w| w.state() == &State::Idle && w.daemon.up) {
                break;
            }
        }
        self.run_for(300);
        self
    }

    /// An agent in the middle of a turn that runs one tool after the other.
    pub fn working(self, plan: TurnPlan) -> Self {
        let mut world = self.idle();
        world.agent.plans.push_back(plan);
        world.prompt("work");
        world.run_for(60);
        world
    }

    pub fn state(&self) -> &State {
        &self.daemon.session.record().state
    }

    pub fn prompt(&mut self, text: &str) {
        self.submit(vec![(Author::Person, text.into())]);
    }

    pub fn plan_turn(&mut self, plan: TurnPlan) {
        self.agent.plans.push_back(plan);
    }

    pub fn act(&mut self, act: Act) {
        self.person(act);
    }

    pub fn act_later(&mut self, after: i64, act: Act) {
        self.at(after, Item::Person(act));
    }

    pub fn dialog(&mut self, need: PersonNeed) {
        self.open_dialog(need);
    }

    /// The agent's process dies of itself.
    pub fn crash_agent(&mut self) {
        self.die(None, Some(11));
    }

    /// A person ends the agent.
    pub fn exit_agent(&mut self) {
        self.die(Some(0), None);
    }

    /// Sends a message now; its number names it.
    pub fn send(&mut self, text: &str, mode: Mode) -> usize {
        let no = self.sent.len();
        let new = NewMessage {
            id: id(MessageId::new(format!("m{no}"))),
            from: Sender::Person,
            text: text.into(),
            mode,
            raw: false,
            notify: false,
            expires_at: None,
        };
        self.send_as(new)
    }

    pub fn send_as(&mut self, new: NewMessage) -> usize {
        let no = self.sent.len();
        self.sent.push(Sent {
            mark: super::check::visible(&new.text),
            new,
            accepted: false,
            in_conversation: 0,
            lost: 0,
            position: 0,
            raw_runs: 0,
        });
        self.client_sends(no);
        no
    }

    /// What has happened so far.
    pub fn story(&self) -> String {
        let lines: Vec<&str> = self.trace.iter().map(String::as_str).collect();
        lines.join("\n")
    }

    /// What the session says of the message.
    pub fn word(&self, message: usize) -> &'static str {
        self.receipt(message)
            .map_or("unknown", |s: MessageState| s.word())
    }

    pub fn composer(&self) -> String {
        super::agent::text_of(&self.agent.composer)
    }

    /// Changes how often things go wrong from now on.
    pub fn with_faults(&mut self, change: impl FnOnce(&mut super::options::Faults)) {
        change(&mut self.options.faults);
        self.calm = false;
    }

    pub fn faults_over(&mut self) {
        self.calm = true;
    }

    /// Something reaches the daemon out of the blue.
    pub fn feed(&mut self, event: sm_core::Event) {
        self.take(Input::Event(event));
    }

    /// What the agent was given in its present conversation.
    pub fn said(&self) -> &[String] {
        self.agent.conversation().map_or(&[], |c| &c.said)
    }

    pub fn now(&self) -> sm_core::Timestamp {
        sm_core::Timestamp(self.now)
    }

    /// Everything settles and the accounts are right.
    pub fn settle(mut self) -> Result<Self, Box<Failure>> {
        self.finish();
        match self.failure() {
            Some(failure) => Err(Box::new(failure)),
            None => Ok(self),
        }
    }
}
