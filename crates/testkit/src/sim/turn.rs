//! The agent over time: launch, turns with tools and dialogs, compaction, `/clear`, interrupt, death.
//! Which hooks fire, and which do not, is as observed on the real programs.

use super::agent::{Author, Batch, Pieces, Stage, TurnPlan, text_of};
use super::daemon::Input;
use super::world::{Act, AgentStep, Item, World, tr};
use sm_core::handoff::Trigger;
use sm_core::ids::Timestamp;
use sm_core::signal::{BreakReason, Came, ContextSource, Fact, PersonNeed, Signal};
use sm_core::{AgentKind, Answer, words};

/// Stop answers in a row that still make a request.
const CLAUDE_STOP_CAP: u32 = 8;

impl World {
    pub(super) fn go(&mut self, after: i64, what: AgentStep) {
        let epoch = self.agent.epoch;
        self.at(after, Item::Agent { epoch, what });
    }

    pub(super) fn enter_stage(&mut self, stage: Stage) {
        let before = self.agent.activity();
        self.agent.stage = stage;
        if self.agent.activity() != before {
            self.activity_changed();
        }
    }

    pub(super) fn activity_changed(&mut self) {
        let lag = self.delay(1, 40, 300);
        self.at(lag, Item::StatusWritten);
        tr!(
            self,
            "agent: {:?}, {:?}",
            self.agent.stage,
            self.agent.activity()
        );
        if !self.fault(self.options.faults.notice_lost) {
            let after = self.delay(5, 60, 1_000);
            self.input(after, Input::Title);
        }
    }

    pub(super) fn status_written(&mut self) {
        let mut status = self.agent.status_now(self.now);
        if let (Some(old), Some(new)) = (&self.agent.shown, status.as_mut())
            && old.activity == new.activity
        {
            new.at = old.at; // since when it has been idle, busy or waiting
        }
        let same = match (&self.agent.shown, &status) {
            (Some(old), Some(new)) => {
                (&old.activity, &old.conversation, old.process)
                    == (&new.activity, &new.conversation, new.process)
            }
            (Some(_) | None, Some(_) | None) => false,
        };
        if same {
            return;
        }
        self.agent.shown = status;
        if !self.fault(self.options.faults.notice_lost) {
            let after = self.delay(0, 10, 1_000);
            self.input(after, Input::Status);
        }
    }

    /// Text is now part of the conversation.
    pub(super) fn say(&mut self, text: &str, came: Came) {
        let at = Some(Timestamp(self.now));
        self.agent.history += 1;
        if let Some(conversation) = self.agent.conversations.get_mut(self.agent.current) {
            conversation.said.push(text.to_string());
            conversation.started = true;
        }
        self.write(Fact::UserText {
            text: text.to_string(),
            came,
            at,
        });
        tr!(
            self,
            "conversation {} += {text:?} ({came:?})",
            self.agent.current
        );
        self.check_said(text);
        self.check_word(text);
    }

    pub(super) fn write(&mut self, fact: Fact) {
        self.agent.write(fact);
        let after = self.delay(0, 40, 700);
        self.at(after, Item::Flush);
    }

    pub(super) fn flush(&mut self) {
        self.agent.flush();
        if !self.fault(self.options.faults.notice_lost) {
            let after = self.delay(1, 20, 600);
            self.input(after, Input::Transcript);
        }
    }

    /// The terminal's log program reports, and repeats it until somebody has heard it.
    fn output(&mut self, after: i64, active: bool) {
        self.agent.outputs += 1;
        let no = self.agent.outputs;
        self.at(after, Item::Output { no, active });
    }

    pub(super) fn output_reported(&mut self, no: u64, active: bool) {
        if no < self.agent.output_heard || !self.agent.alive() {
            return;
        }
        if self.take(Input::Output { active }) {
            self.agent.output_heard = no;
        } else {
            self.at(1_000, Item::Output { no, active });
        }
    }

    // ── turns

    pub(super) fn agent_step(&mut self, what: AgentStep) {
        match what {
            AgentStep::Booted => {
                if !self.calm && self.agent.launch == 1 && self.rng.chance(40) {
                    self.open_dialog(PersonNeed::FirstRun("trust".into()));
                } else {
                    self.go(1, AgentStep::Booted2);
                }
            }
            AgentStep::Booted2 => self.booted(),
            AgentStep::Submit(text) => self.submit(vec![(Author::Sm, text)]),
            AgentStep::HookDone(answer) => self.hook_done(answer),
            AgentStep::Thought => self.thought(),
            AgentStep::ToolDone if self.handoffs.tools > 0 => self.go(100, AgentStep::ToolDone),
            AgentStep::ToolDone => {
                if self.agent.plan.batches.front().is_some_and(|b| b.noise) {
                    self.noise();
                }
                self.enter_stage(Stage::PostTool);
                self.hook_and_wait(Signal::ToolsFinished);
            }
            AgentStep::CompactDone => self.compact_done(),
            AgentStep::Cleared => self.cleared(),
            AgentStep::Quiet => {
                self.enter_stage(Stage::Idle);
                self.output(500, false);
                self.next_turn();
            }
        }
    }

    fn booted(&mut self) {
        match self.agent.kind {
            AgentKind::Claude => {
                let source = match self.agent.conversation().is_some_and(|c| c.started) {
                    true => ContextSource::Resume,
                    false => ContextSource::Startup,
                };
                self.enter_stage(Stage::Clear);
                self.hook_and_wait(Signal::ContextStarted {
                    source,
                    transcript: None,
                });
            }
            AgentKind::Codex => self.become_idle(false),
            AgentKind::Native | AgentKind::Generic => {
                self.output(1, true);
                self.output(600, false);
                self.become_idle(false);
            }
        }
    }

    pub(super) fn start_turn(&mut self, texts: Vec<Pieces>) {
        self.agent.turns += 1;
        self.agent.stop_row = 0;
        self.agent.plan = match self.agent.plans.pop_front() {
            Some(plan) => plan,
            None => self.random_plan(),
        };
        if self.agent.start_due {
            self.agent.start_due = false;
            self.hook(Signal::ContextStarted {
                source: ContextSource::Other,
                transcript: None,
            });
        }
        if std::mem::take(&mut self.agent.compact_due) {
            self.hook(Signal::ContextStarted {
                source: ContextSource::Compact,
                transcript: None,
            });
        }
        self.agent.carried.clear();
        self.enter_stage(Stage::Prompt);
        let last = texts.len().saturating_sub(1);
        for (at, pieces) in texts.into_iter().enumerate() {
            let text = text_of(&pieces);
            self.agent.blocked = self.say_prompt(&text);
            let signal = Signal::PromptAccepted {
                text,
                transcript: None,
            };
            match (self.agent.kind, at == last) {
                (AgentKind::Native | AgentKind::Generic, _) => {}
                (AgentKind::Claude | AgentKind::Codex, true) => self.hook_and_wait(signal),
                (AgentKind::Claude | AgentKind::Codex, false) => self.hook(signal),
            }
        }
        if self.agent.kind == AgentKind::Generic {
            self.output(2, true);
            self.think();
        }
    }

    /// True: a hook of the user's own keeps it from the model.
    fn say_prompt(&mut self, text: &str) -> bool {
        let wakes = words::is_wake(text);
        if wakes && self.fault(self.options.faults.prompt_blocked) {
            tr!(self, "fault: a hook of the user's own blocks the prompt");
            return true;
        }
        let first = text.lines().next().unwrap_or_default();
        let cut = wakes && first != text && self.fault(self.options.faults.document_unsaid);
        if cut {
            tr!(self, "fault: the model is not given the document");
        }
        self.say(if cut { first } else { text }, Came::Prompt);
        false
    }

    fn random_plan(&mut self) -> TurnPlan {
        let mut plan = TurnPlan {
            think_ms: self.rng.between(20, 1_500),
            ..TurnPlan::default()
        };
        if self.agent.kind == AgentKind::Generic || self.calm {
            return plan;
        }
        let person = self.options.person.clone();
        plan.api_error = self.rng.chance(person.errors);
        for _ in 0..self.rng.below(4) {
            plan.batches.push_back(Batch {
                dialog: self.rng.chance(person.dialogs),
                tool_ms: self.rng.between(5, 4_000),
                noise: self.rng.chance(person.nested),
                compact: self.rng.chance(person.compacts),
                handoffs: match self.rng.chance(person.handoffs) {
                    true => 1 + u32::from(self.rng.chance(300)),
                    false => 0,
                },
            });
        }
        plan
    }

    pub(super) fn think(&mut self) {
        self.enter_stage(Stage::Think);
        let ms = self.agent.plan.think_ms.max(1);
        self.go(ms, AgentStep::Thought);
    }

    fn thought(&mut self) {
        if self.agent.kind == AgentKind::Generic {
            self.go(1, AgentStep::Quiet);
            return;
        }
        let at = Some(Timestamp(self.now));
        if self.agent.plan.api_error && self.agent.plan.batches.is_empty() {
            let reason = BreakReason::ApiError("overloaded".into());
            self.hook(Signal::TurnBroken(reason.clone()));
            self.write(Fact::TurnEnded {
                broken: Some(reason),
                at,
            });
            self.kill_mailboxes();
            self.become_idle(false);
            return;
        }
        if self.is_refused() {
            self.kill_mailboxes();
            self.become_idle(false);
            return;
        }
        self.write(Fact::Assistant { at });
        self.used();
        if self.agent.plan.batches.is_empty() {
            self.enter_stage(Stage::Stop);
            let again = self.agent.stop_row > 0;
            self.hook_and_wait(Signal::Stopping {
                again,
                background_tasks: Vec::new(),
            });
        } else {
            self.enter_stage(Stage::PreTool);
            self.hook_and_wait(Signal::Working);
        }
    }

    fn hook_done(&mut self, answer: Answer) {
        match self.agent.stage {
            Stage::Prompt => {
                match &answer {
                    Answer::Context { text } => self.say(text, Came::HookContext),
                    Answer::Show { .. } => {}
                    Answer::Nothing
                    | Answer::Continue { .. }
                    | Answer::Block { .. }
                    | Answer::Recover { .. } => self.must_be_nothing(&answer),
                }
                if std::mem::take(&mut self.agent.blocked) {
                    self.become_idle(false); // and no hook says so
                } else {
                    self.go_on(false);
                }
            }
            Stage::PreTool => {
                self.must_be_nothing(&answer);
                if self.agent.plan.batches.front().is_some_and(|b| b.dialog) {
                    self.agent.stage = Stage::Ask;
                    self.open_dialog(PersonNeed::Permission("Bash".into()));
                } else {
                    self.run_tool();
                }
            }
            Stage::PostTool => {
                self.agent.stop_row = 0;
                match answer.clone() {
                    Answer::Context { text } => {
                        self.check_in_turn(&text);
                        self.say(&text, Came::HookContext);
                    }
                    Answer::Nothing => {}
                    Answer::Show { .. }
                    | Answer::Continue { .. }
                    | Answer::Block { .. }
                    | Answer::Recover { .. } => {
                        self.fail(format!("a tool hook was answered {answer:?}"));
                    }
                }
                let batch = self.agent.plan.batches.pop_front().unwrap_or_default();
                self.go_on(batch.compact);
            }
            Stage::Stop => self.stop_done(answer),
            Stage::Clear => {
                self.must_be_nothing(&answer);
                self.become_idle(true);
                if let Some(text) = self.agent.launch_prompt.take() {
                    let after = self.delay(40, 150, 900);
                    self.go(after, AgentStep::Submit(text));
                }
            }
            Stage::Off | Stage::Booting | Stage::Idle | Stage::Think | Stage::Ask | Stage::Tool => {
            }
            Stage::Compact => self.may_compact(answer),
        }
    }

    fn must_be_nothing(&mut self, answer: &Answer) {
        if *answer != Answer::Nothing {
            self.fail(format!(
                "text was answered where it is lost: {:?} at {:?}",
                answer, self.agent.stage
            ));
        }
    }

    fn stop_done(&mut self, answer: Answer) {
        let others = self.options.faults.stop_capped; // hooks of others, which count as well
        let capped = self.agent.kind == AgentKind::Claude
            && matches!(answer, Answer::Continue { .. })
            && (self.agent.stop_row >= CLAUDE_STOP_CAP || self.fault(others));
        match answer {
            Answer::Continue { text } if capped => {
                tr!(self, "the Stop hook's answer is not followed: {text:?}");
                self.say(&format!("Stop hook feedback:\n{text}"), Came::StopFeedback);
                self.agent.carried.push(text);
            }
            Answer::Continue { text } => {
                self.agent.stop_row += 1;
                self.say(&format!("Stop hook feedback:\n{text}"), Came::StopFeedback);
                self.agent.plan.api_error = false;
                if self.rng.chance(200) && !self.calm {
                    self.agent.plan.batches.push_back(Batch {
                        tool_ms: self.rng.between(5, 2_000),
                        ..Batch::default()
                    });
                }
                self.think();
                return;
            }
            Answer::Context { .. }
            | Answer::Show { .. }
            | Answer::Block { .. }
            | Answer::Recover { .. } => {
                self.fail("a stop hook was given context".into());
            }
            Answer::Nothing => {}
        }
        let at = Some(Timestamp(self.now));
        self.write(Fact::TurnEnded { broken: None, at });
        self.become_idle(true);
    }

    /// Whatever was given meanwhile becomes the next turn.
    pub(super) fn become_idle(&mut self, starts_waiter: bool) {
        self.enter_stage(Stage::Idle);
        if starts_waiter && self.agent.kind == AgentKind::Claude {
            self.start_mailbox(None);
        }
        self.next_turn();
    }

    fn next_turn(&mut self) {
        if self.agent.queued_clear {
            self.agent.queued_clear = false;
            self.clear();
        } else if !self.agent.queued.is_empty() {
            let texts: Vec<Pieces> = self.agent.queued.drain(..).collect();
            self.start_turn(texts);
        } else if let Some(text) = self.agent.wakes.pop_front() {
            self.start_turn(vec![vec![(Author::Task, text)]]);
        } else if self.agent.kind != AgentKind::Claude
            && let Some(text) = self.agent.launch_prompt.take()
        {
            self.submit(vec![(Author::Sm, text)]);
        }
    }

    /// A background hook woke the agent.
    pub(super) fn wake(&mut self, mut text: String) {
        self.strip(&mut text);
        match self.agent.stage {
            Stage::Off => {}
            Stage::Idle if self.agent.dialog.is_none() => {
                self.start_turn(vec![vec![(Author::Task, text)]]);
            }
            Stage::Tool => self.say(&text, Came::Queued),
            Stage::Booting
            | Stage::Idle
            | Stage::Prompt
            | Stage::Think
            | Stage::PreTool
            | Stage::Ask
            | Stage::PostTool
            | Stage::Stop
            | Stage::Compact
            | Stage::Clear => self.agent.wakes.push_back(text),
        }
    }

    fn run_tool(&mut self) {
        self.enter_stage(Stage::Tool);
        let ms = self.agent.plan.batches.front().map_or(10, |b| b.tool_ms);
        let handoffs = self.agent.plan.batches.front().map_or(0, |b| b.handoffs);
        for at in 1..=handoffs {
            self.ask_again(ms * i64::from(at) / 3, Trigger::Agent, 0, true);
        }
        // what waited joins the result
        while let Some(text) = self.agent.wakes.pop_front() {
            self.say(&text, Came::Queued);
        }
        self.go(ms, AgentStep::ToolDone);
    }

    // ── dialogs

    pub(super) fn open_dialog(&mut self, need: PersonNeed) {
        self.agent.dialog = Some(need.clone());
        self.activity_changed();
        if let PersonNeed::Permission(_) = need {
            self.hook(Signal::PersonNeeded { need, call: None });
        }
        if self.options.active_ms > 0 {
            let most = if self.calm { 3_000 } else { 15_000 };
            let after = self.rng.between(200, most);
            let approve = self.rng.chance(700);
            self.at(after, Item::Person(Act::Answer { approve }));
        }
    }

    pub(super) fn dialog_answered(&mut self, approve: bool) {
        let Some(need) = self.agent.dialog.take() else {
            return;
        };
        tr!(self, "person: answers the dialog ({approve})");
        match need {
            PersonNeed::FirstRun(_) => {
                self.activity_changed();
                self.go(1, AgentStep::Booted2);
            }
            PersonNeed::Question if self.agent.stage == Stage::Idle => {
                self.activity_changed();
                self.next_turn();
            }
            PersonNeed::Permission(_) | PersonNeed::Question | PersonNeed::Limit if approve => {
                self.activity_changed();
                self.run_tool();
            }
            PersonNeed::Permission(_) | PersonNeed::Question | PersonNeed::Limit => {
                self.interrupt();
            }
        }
    }

    /// Escape: no hook at all (Codex has one); what was queued goes back to the composer.
    pub(super) fn interrupt(&mut self) {
        if !self.agent.busy() || matches!(self.agent.stage, Stage::Clear) {
            return;
        }
        self.agent.epoch += 1;
        self.agent.dialog = None;
        self.agent.queued_clear = false;
        self.handoffs.clearing = None;
        let at = Some(Timestamp(self.now));
        self.write(Fact::TurnEnded {
            broken: Some(BreakReason::Interrupted),
            at,
        });
        if self.agent.kind == AgentKind::Codex {
            self.hook(Signal::TurnBroken(BreakReason::Interrupted));
        }
        if self.agent.kind == AgentKind::Generic {
            self.output(500, false);
        }
        self.kill_mailboxes();
        while let Some(pieces) = self.agent.queued.pop_front() {
            self.agent.composer.extend(pieces);
        }
        self.become_idle(false);
    }
}
