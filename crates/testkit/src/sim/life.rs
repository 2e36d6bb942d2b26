//! The agent's life outside its turns: launch and end, compaction, `/clear`, `/resume`, and the noise
//! of sub-agents and nested agents.

use super::agent::{Conversation, Slow, Stage};
use super::daemon::Input;
use super::world::{AgentStep, Item, World, conversation_name, tr};
use sm_core::ids::Process;
use sm_core::signal::{ContextSource, EndReason, Fact, Origin, Signal};
use sm_core::{AgentKind, Event, LaunchPlan};

impl World {
    pub(super) fn launch_agent(&mut self, plan: &LaunchPlan) {
        if self.agent.launch >= plan.launch {
            return; // asked for again after a crash: it has been started
        }
        if self.agent.alive() {
            self.fail("launched while it runs".into());
            return;
        }
        if let Some(ending) = self.agent.ending.take() {
            if plan.after != Some(ending) {
                self.fail("launched while the process before it writes".into());
                return;
            }
            self.agent.flush();
        }
        if !self.read_ended(plan) {
            return;
        }
        if self.fault(self.options.faults.launch_fails) {
            tr!(self, "fault: launch {} fails", plan.launch);
            self.terminal_alive = false;
            let (launch, reason) = (plan.launch, "no such program".to_string());
            self.at(
                5,
                Item::Report(Input::Event(Event::LaunchFailed { launch, reason })),
            );
            return;
        }
        let known = plan
            .resume
            .as_ref()
            .and_then(|id| self.agent.conversations.iter().position(|c| &c.id == id));
        self.check.launched += 1;
        let goes_back = known.is_some_and(|at| at != self.agent.current);
        if known.is_none() || self.check.contexts == 0 || goes_back {
            self.check.contexts += 1;
        }
        self.check.resumed |= goes_back;
        let no = self.agent.conversations.len();
        self.agent.current = match known {
            Some(at) => at,
            None => {
                let id = plan.resume.clone().unwrap_or_else(|| conversation_name(no));
                self.open_conversation(id);
                no
            }
        };
        if known.is_none() || goes_back {
            self.watch.entered(self.agent.current, self.now);
        }
        self.terminal_alive = true;
        self.check_alert_launch(plan.prompt.as_deref());
        self.check_launch(plan.prompt.as_deref(), known.is_some());
        self.handoffs.clearing = None;
        let mut launch_prompt = plan.prompt.clone();
        if let Some(prompt) = launch_prompt.as_mut() {
            self.drop_document(prompt);
        }
        let agent = &mut self.agent;
        if let Some(unwritten) = agent.conversations.get_mut(agent.current)
            && unwritten.flushed == 0
        {
            unwritten.started = false; // begun again under its name
        }
        agent.epoch += 1;
        agent.launch = plan.launch;
        agent.process = Some(Process {
            pid: 100 + plan.launch,
            start: u64::from(plan.launch),
        });
        agent.composer.clear();
        agent.stash = None;
        agent.slow = None;
        agent.queued.clear();
        agent.wakes.clear();
        agent.carried.clear();
        agent.queued_clear = false;
        agent.dialog = None;
        agent.shown = None;
        agent.stop_row = 0;
        agent.compact_due = false;
        agent.output_heard = agent.outputs + 1; // reports of an older terminal end with it
        agent.outputs += 1;
        agent.launch_prompt = launch_prompt;
        agent.start_due = agent.kind == AgentKind::Codex;
        agent.stage = Stage::Booting;
        tr!(self, "agent: launch {} {:?}", plan.launch, plan.prompt);
        let launch = plan.launch;
        self.at(3, Item::Report(Input::Started { launch }));
        let boot = self.delay(300, 1_500, 6_000);
        self.go(boot, AgentStep::Booted);
    }

    fn open_conversation(&mut self, id: sm_core::ConversationId) {
        self.agent.conversations.push(Conversation {
            id,
            said: Vec::new(),
            record: Vec::new(),
            flushed: 0,
            started: false,
        });
    }

    pub(super) fn die(&mut self, code: Option<i32>, signal: Option<i32>) {
        if !self.agent.alive() {
            return;
        }
        let launch = self.agent.launch;
        tr!(self, "agent: ends {code:?} {signal:?}");
        self.end_record(signal.is_some());
        self.agent.epoch += 1;
        self.agent.stage = Stage::Off;
        self.agent.dialog = None;
        self.agent.composer.clear();
        self.agent.stash = None;
        self.agent.wakes.clear();
        self.agent.queued.clear();
        self.agent.process = None;
        let after = self.delay(2, 30, 2_000);
        let exited = Input::Exited {
            launch,
            code,
            signal,
        };
        if self.fault(self.options.faults.result_lost) {
            tr!(self, "fault: nobody reports the end");
        } else {
            self.at(after, Item::Report(exited));
        }
    }

    /// What it had taken and not written down yet is written, or lost with the process.
    fn end_record(&mut self, killed: bool) {
        if killed && self.fault(self.options.faults.record_lost) {
            self.lose_prompts();
        }
        self.agent.flush();
    }

    /// Prompts that the model has not answered: nothing else says that they were there.
    fn lose_prompts(&mut self) {
        let Some(conversation) = self.agent.conversations.get_mut(self.agent.current) else {
            return;
        };
        let prompt = |fact: &Fact| match fact {
            Fact::UserText { text, .. } => Some(text.clone()),
            _ => None,
        };
        let unwritten = &conversation.record[conversation.flushed..];
        let Some(lost) = unwritten.iter().map(prompt).collect::<Option<Vec<_>>>() else {
            return;
        };
        conversation.record.truncate(conversation.flushed);
        let kept = conversation.said.len().saturating_sub(lost.len());
        conversation.said.truncate(kept);
        for text in lost {
            tr!(self, "fault: never written down: {text:?}");
            self.wake_lost(&text);
            for sent in self.sent.iter_mut().filter(|s| text.contains(&s.mark)) {
                sent.in_conversation = sent.in_conversation.saturating_sub(1);
                sent.lost += 1;
            }
        }
    }

    /// The launcher reports until somebody has heard it.
    pub(super) fn report(&mut self, input: Input) {
        if !self.take(input.clone()) {
            self.daemon.launch_spool.push(input);
        }
    }

    pub(super) fn terminal_goes(&mut self) {
        if !self.terminal_alive {
            return;
        }
        tr!(self, "terminal gone");
        if self.agent.has_unwritten() && self.fault(self.options.faults.outlives) {
            tr!(self, "fault: the agent outlives its terminal");
            self.agent.ending = self.agent.process;
            let ms = self.rng.between(10, 3_000);
            self.at(ms, Item::Flush);
        } else {
            self.end_record(true);
        }
        self.agent.epoch += 1;
        self.agent.stage = Stage::Off;
        self.agent.dialog = None;
        self.agent.composer.clear();
        self.agent.stash = None;
        self.agent.wakes.clear();
        self.agent.queued.clear();
        self.agent.process = None;
        self.terminal_alive = false;
        let after = self.delay(2, 30, 2_000);
        let launch = self.agent.launch;
        self.input(after, Input::TerminalGone { launch });
    }

    // ── compaction and clear

    pub(super) fn compact(&mut self) {
        self.enter_stage(Stage::Compact);
        self.watch.compacting_told = None;
        if self.options.usage.is_some() {
            self.ask_to_compact();
            return;
        }
        let automatic = self.agent.compacting_in_turn;
        self.hook(Signal::CompactionStarting { automatic });
        let ms = self.rng.between(300, 5_000);
        self.go(ms, AgentStep::CompactDone);
    }

    pub(super) fn compact_done(&mut self) {
        if self.compacts() {
            self.compaction_over();
            return;
        }
        self.hook(Signal::ContextStarted {
            source: ContextSource::Compact,
            transcript: None,
        });
        self.hook(Signal::CompactionDone);
        let at = Some(sm_core::Timestamp(self.now));
        self.write(Fact::CompactBoundary {
            before: None,
            after: None,
            at,
        });
        self.compaction_over();
    }

    /// `/resume` of the conversation before this one.
    pub(super) fn resume(&mut self) {
        if let Some(old) = self.agent.current.checked_sub(1) {
            self.resume_to(old);
        }
    }

    pub(super) fn resume_to(&mut self, old: usize) {
        self.agent.flush();
        self.agent.current = old;
        self.agent.carried.clear();
        self.agent.stop_row = 0;
        self.check.resumed = true;
        self.check.contexts += 1;
        self.watch.entered(old, self.now);
        self.context_resumed(old);
        self.agent.history += 1;
        tr!(self, "agent: back to c{old}");
        self.enter_stage(Stage::Clear);
        self.activity_changed();
        self.hook_and_wait(Signal::ContextStarted {
            source: ContextSource::Resume,
            transcript: None,
        });
    }

    pub(super) fn clear(&mut self) {
        // whatever else is given meanwhile is frozen: it is sm's own
        let slow = self.handoffs.clearing.is_some() && self.fault(self.options.faults.clear_slow);
        self.agent.slow = slow.then(|| match self.rng.below(3) {
            0 => Slow::Busy,
            1 => Slow::Hidden,
            _ => Slow::Deaf,
        });
        self.enter_stage(Stage::Clear);
        if self.agent.kind == AgentKind::Claude {
            self.hook(Signal::ContextEnded {
                reason: EndReason::Clear,
            });
        }
        let ms = match slow {
            true => self.rng.between(30, 14_000),
            false => 30,
        };
        self.go(ms, AgentStep::Cleared);
    }

    pub(super) fn cleared(&mut self) {
        self.agent.slow = None;
        self.agent.flush();
        let no = self.agent.conversations.len();
        self.open_conversation(conversation_name(no));
        let old = std::mem::replace(&mut self.agent.current, no);
        self.watch.entered(no, self.now);
        self.context_cleared(old);
        self.agent.history += 1;
        self.agent.carried.clear();
        self.agent.stop_row = 0;
        self.check.contexts += 1;
        tr!(self, "agent: new conversation c{no}");
        if self.agent.kind == AgentKind::Claude {
            self.activity_changed();
            self.hook_and_wait(Signal::ContextStarted {
                source: ContextSource::Clear,
                transcript: None,
            });
        } else {
            self.agent.start_due = true;
            self.become_idle(false);
        }
    }

    // ── noise

    /// A sub-agent's hooks, and those of an agent that inherited the environment.
    pub(super) fn noise(&mut self) {
        self.foreign_hook(Signal::ToolsFinished, Origin::SubAgent, None);
        self.foreign_hook(
            Signal::Stopping {
                again: false,
                background_tasks: Vec::new(),
            },
            Origin::SubAgent,
            None,
        );
        let other = Some(super::world::id(sm_core::ConversationId::new("nested")));
        for signal in [
            Signal::ContextStarted {
                source: ContextSource::Startup,
                transcript: None,
            },
            Signal::PromptAccepted {
                text: "nested work".into(),
                transcript: None,
            },
            Signal::ToolsFinished,
            Signal::Stopping {
                again: false,
                background_tasks: Vec::new(),
            },
        ] {
            self.foreign_hook(signal, Origin::Nested, other.clone());
        }
        if self.agent.kind == AgentKind::Claude {
            self.start_mailbox(other);
        }
    }
}
