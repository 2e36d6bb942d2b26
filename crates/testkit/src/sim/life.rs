//! The agent's life outside its turns: launch and end, compaction, `/clear`, `/resume`, and the noise
//! of sub-agents and nested agents.

use super::agent::{Conversation, Stage};
use super::daemon::Input;
use super::world::{AgentStep, World, conversation_name, tr};
use sm_core::ids::Process;
use sm_core::signal::{ContextSource, EndReason, Fact, Origin, Signal};
use sm_core::{AgentKind, LaunchPlan};

impl World {
    pub(super) fn launch_agent(&mut self, plan: &LaunchPlan) {
        if self.agent.alive() {
            self.fail("launched while it runs".into());
            return;
        }
        let known = plan
            .resume
            .as_ref()
            .and_then(|id| self.agent.conversations.iter().position(|c| &c.id == id));
        if known.is_none() || self.check.contexts == 0 {
            self.check.contexts += 1;
        }
        let no = self.agent.conversations.len();
        self.agent.current = match known {
            Some(at) => at,
            None => {
                let id = plan.resume.clone().unwrap_or_else(|| conversation_name(no));
                self.open_conversation(id);
                no
            }
        };
        self.terminal_alive = true;
        let agent = &mut self.agent;
        agent.epoch += 1;
        agent.launch = plan.launch;
        agent.process = Some(Process {
            pid: 100 + plan.launch,
            start: u64::from(plan.launch),
        });
        agent.composer.clear();
        agent.queued.clear();
        agent.wakes.clear();
        agent.carried.clear();
        agent.queued_clear = false;
        agent.dialog = None;
        agent.shown = None;
        agent.stop_row = 0;
        agent.output_heard = agent.outputs + 1; // reports of an older terminal end with it
        agent.outputs += 1;
        agent.launch_prompt = plan.prompt.clone();
        agent.start_due = agent.kind == AgentKind::Codex;
        agent.stage = Stage::Booting;
        tr!(self, "agent: launch {} {:?}", plan.launch, plan.prompt);
        self.input(
            3,
            Input::Started {
                launch: plan.launch,
            },
        );
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
        self.agent.flush();
        self.agent.epoch += 1;
        self.agent.stage = Stage::Off;
        self.agent.dialog = None;
        self.agent.composer.clear();
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
        } else if self.daemon.up {
            self.input(after, exited);
        } else {
            self.daemon.launch_spool.push(exited);
        }
    }

    pub(super) fn terminal_goes(&mut self) {
        if !self.terminal_alive {
            return;
        }
        tr!(self, "terminal gone");
        self.agent.flush();
        self.agent.epoch += 1;
        self.agent.stage = Stage::Off;
        self.agent.dialog = None;
        self.agent.composer.clear();
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
        let automatic = self.agent.compacting_in_turn;
        self.hook(Signal::CompactionStarting { automatic });
        let ms = self.rng.between(300, 5_000);
        self.go(ms, AgentStep::CompactDone);
    }

    pub(super) fn compact_done(&mut self) {
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
        if self.agent.compacting_in_turn {
            self.agent.compacting_in_turn = false;
            self.think();
        } else {
            self.become_idle(true);
        }
    }

    /// `/resume` of the conversation before this one.
    pub(super) fn resume(&mut self) {
        let Some(old) = self.agent.current.checked_sub(1) else {
            return;
        };
        self.agent.flush();
        self.agent.current = old;
        self.agent.carried.clear();
        self.agent.stop_row = 0;
        self.check.resumed = true;
        self.check.contexts += 1;
        tr!(self, "agent: back to c{old}");
        self.enter_stage(Stage::Clear);
        self.activity_changed();
        self.hook_and_wait(Signal::ContextStarted {
            source: ContextSource::Resume,
            transcript: None,
        });
    }

    pub(super) fn clear(&mut self) {
        self.enter_stage(Stage::Clear);
        if self.agent.kind == AgentKind::Claude {
            self.hook(Signal::ContextEnded {
                reason: EndReason::Clear,
            });
        }
        self.go(30, AgentStep::Cleared);
    }

    pub(super) fn cleared(&mut self) {
        self.agent.flush();
        let no = self.agent.conversations.len();
        self.open_conversation(conversation_name(no));
        self.agent.current = no;
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
