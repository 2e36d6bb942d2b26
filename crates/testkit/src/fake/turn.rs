//! A turn: from the prompt being accepted until the agent stops.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agent::Agent;
use super::answer::Answer;
use super::files::uuid;
use super::messages::{Input, Msg, Origin, Status};
use super::payload::{self, Usage};
use super::records::hook_context;
use super::script::{Step, steps};

/// How often a held turn looks for its file, and a sleeping one for an interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Longer than any test.
pub(super) const TOOL_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// How a run of steps ended.
pub(super) enum End {
    /// The model stopped with these last words.
    Said(String),
    /// A person interrupted; the transcript says so already.
    Interrupted,
    /// Interrupted before anything was shown.
    Undone,
    Failed(u16),
    /// A hook said not to continue.
    Halted,
}

impl Agent {
    pub(super) fn turn(&mut self, inputs: Vec<Input>) {
        let started = Instant::now();
        self.conversation.prompt_id = Some(uuid());
        let woken = inputs
            .iter()
            .any(|input| matches!(input.origin, Origin::Mail { .. }));
        let mut before = self.conversation.leaf.clone();
        let texts: Vec<String> = inputs
            .iter()
            .filter_map(|input| self.accept(input))
            .collect();
        if texts.is_empty() {
            return;
        }
        for pending in std::mem::take(&mut self.conversation.pending) {
            self.given("hook_context", &pending);
        }
        self.work(texts.join("\n"), woken, started, &mut before);
    }

    /// Takes a prompt in; `None` when a hook refused it. Returns what the "model" obeys.
    fn accept(&mut self, input: &Input) -> Option<String> {
        self.conversation.prompts += 1;
        if self.conversation.prompts == self.knobs.die_on_prompt {
            // as sudden as kill -9
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
        }
        let prompt_id = self.conversation.prompt_id.clone().unwrap_or_default();
        let answer = if self.knobs.no_prompt_hook {
            Answer::default()
        } else {
            self.hooks("UserPromptSubmit", "", json!({"prompt": input.text}))
        };
        let (kind, source, shown, obeyed) = match &input.origin {
            Origin::Typed => (
                "human",
                "typed",
                format!("❯ {}", indented(&input.text)),
                &input.text,
            ),
            Origin::Queued => (
                "human",
                "queued",
                format!("❯ {}", indented(&input.text)),
                &input.text,
            ),
            Origin::Mail { raw } => (
                "task-notification",
                "system",
                "● Stop hook feedback".to_owned(),
                raw,
            ),
        };
        self.say([shown, String::new()]);
        if let Some(blocked) = answer.blocked.first() {
            self.say([
                format!(
                    "  ⎿  UserPromptSubmit operation blocked by hook: {}",
                    blocked.reason
                ),
                String::new(),
            ]);
            return None;
        }
        self.record(|place| place.prompt(&prompt_id, &input.text, kind, source));
        self.given(if kind == "human" { "prompt" } else { "mailbox" }, obeyed);
        self.take_context("UserPromptSubmit", &answer);
        Some(obeyed.clone())
    }

    /// Works until nothing keeps the agent from stopping.
    fn work(&mut self, text: String, woken: bool, started: Instant, before: &mut Option<String>) {
        let mut text = text;
        let mut active = woken;
        let mut in_a_row = 0;
        loop {
            let todo: VecDeque<Step> = steps(&text).into();
            let ran_tools = todo
                .iter()
                .any(|step| matches!(step, Step::Run { .. } | Step::SubAgent(_)));
            let last = match self.follow(todo) {
                End::Said(last) => last,
                End::Interrupted => {
                    self.say([
                        "  ⎿  Interrupted · What should Claude do instead?".to_owned(),
                        String::new(),
                    ]);
                    return;
                }
                End::Undone => {
                    // rolled back: the next record follows the one before the prompt
                    self.conversation.leaf = before.take();
                    self.tell(Msg::Restore(text));
                    return;
                }
                End::Failed(status) => return self.fail(status, started),
                End::Halted => return,
            };
            if ran_tools {
                in_a_row = 0;
            }
            let Some(reason) = self.stop(active, &last) else {
                break;
            };
            let feedback = format!("Stop hook feedback:\n{reason}");
            in_a_row += 1;
            if in_a_row > self.knobs.stop_cap {
                // taken, but nothing is requested: it goes with the next prompt
                self.conversation.pending.push(feedback);
                break;
            }
            self.given("stop_feedback", &reason);
            active = true;
            text = reason;
        }
        let (seconds, millis) = (started.elapsed().as_secs(), millis(started));
        let count = self.conversation.records;
        self.record(|place| {
            place.system(
                "turn_duration",
                json!({"durationMs": millis, "messageCount": count, "isMeta": false}),
            )
        });
        self.say([format!("✻ Worked for {seconds}s"), String::new()]);
        self.status_line();
    }

    /// Runs the Stop hooks; a text keeps the agent working.
    fn stop(&mut self, active: bool, last: &str) -> Option<String> {
        if self.knobs.no_stop_hook {
            return None;
        }
        self.status(Status::Busy {
            doing: "running stop hook",
        });
        let ended = self.run_hooks("Stop", "", payload::stop(active, last));
        let answer = Answer::of("Stop", &ended);
        let mut reasons: Vec<String> = answer.blocked.iter().map(|b| b.reason.clone()).collect();
        let errors = reasons.clone();
        reasons.extend(answer.context.iter().cloned());
        let goes_on = !reasons.is_empty() && !answer.halt;
        let prompt_id = self.conversation.prompt_id.clone().unwrap_or_default();
        let id = uuid();
        if goes_on {
            for reason in &reasons {
                self.say([
                    format!("● Stop hook error: {}", indented(reason)),
                    String::new(),
                ]);
            }
            for blocked in &answer.blocked {
                let feedback = format!("Stop hook feedback:\n{}", blocked.reason);
                self.record(|place| place.meta(&prompt_id, &feedback));
            }
            if !answer.context.is_empty() {
                let attachment = hook_context("Stop", &id, &answer.context);
                self.record(|place| place.attachment(attachment));
            }
            for blocked in &answer.blocked {
                let error = json!({"blockingError": blocked.reason, "command": blocked.command});
                let attachment = json!({"type": "hook_blocking_error", "hookName": "Stop", "toolUseID": id,
                    "hookEvent": "Stop", "blockingError": error});
                self.record(|place| place.attachment(attachment));
            }
        }
        if !ended.is_empty() {
            let infos: Vec<Value> = ended
                .iter()
                .map(|e| json!({"command": e.command, "durationMs": e.millis}))
                .collect();
            let own = json!({"hookCount": ended.len(), "hookInfos": infos, "hookErrors": errors,
                "hookAdditionalContext": answer.context, "preventedContinuation": answer.halt, "stopReason": "",
                "hasOutput": goes_on, "level": "suggestion", "toolUseID": id});
            self.record(|place| place.system("stop_hook_summary", own));
        }
        goes_on.then(|| reasons.join("\n"))
    }

    fn fail(&mut self, status: u16, started: Instant) {
        let error = match status {
            429 => "rate_limit",
            500.. => "server_error",
            _ => "unknown",
        };
        let text = format!("API Error: {status} fake failure");
        self.record(|place| place.api_error(status, error, &text));
        self.say([format!("● {text}"), String::new()]);
        self.hooks(
            "StopFailure",
            "",
            json!({"error": error, "last_assistant_message": text}),
        );
        let own = json!({"durationMs": millis(started), "messageCount": self.conversation.records, "isMeta": false});
        self.record(|place| place.system("turn_duration", own));
        self.status_line();
    }

    fn follow(&mut self, mut todo: VecDeque<Step>) -> End {
        let mut said = None;
        while let Some(step) = todo.pop_front() {
            let cut = match step {
                Step::Say(text) => {
                    self.say_late([format!("● {}", indented(&text)), String::new()]);
                    self.answered(&json!({"type": "text", "text": text}), "end_turn");
                    said = Some(text);
                    None
                }
                Step::Run { command, ask } => self.tool(&command, ask, &mut todo),
                Step::SubAgent(command) => self.sub_agent(&command, &mut todo),
                Step::Sleep(length) => {
                    let until = Instant::now() + length;
                    self.stall(|| Instant::now() >= until)
                }
                Step::Hold(path) => self.stall(|| path.exists()),
                Step::Fail(status) => Some(End::Failed(status)),
                Step::Tokens(tokens) => {
                    self.conversation.tokens = tokens.saturating_sub(self.knobs.turn_tokens);
                    None
                }
                Step::Compact => {
                    self.compact("auto", None);
                    self.status(Status::Busy { doing: "Working" });
                    None
                }
            };
            if let Some(end) = cut {
                return end;
            }
        }
        End::Said(said.unwrap_or_default())
    }

    /// The model takes its time.
    fn stall(&mut self, over: impl Fn() -> bool) -> Option<End> {
        while !over() {
            if self.shared.is_interrupted() {
                if self.knobs.restore_on_escape {
                    return Some(End::Undone);
                }
                let prompt_id = self.conversation.prompt_id.clone().unwrap_or_default();
                let message = self.message_id();
                self.record(|place| place.interrupted(&prompt_id, false, Some(&message)));
                return Some(End::Interrupted);
            }
            thread::sleep(LOOK_EVERY);
        }
        None
    }

    /// `! command`: runs it and tells the model, with no prompt hook.
    pub(super) fn shell(&mut self, command: &str) {
        let started = Instant::now();
        let prompt_id = uuid();
        self.conversation.prompt_id = Some(prompt_id.clone());
        self.say([format!("! {command}")]);
        let ended = self.run_tool(command);
        let input = format!("<bash-input>{command}</bash-input>");
        let (out, err) = (ended.stdout.trim_end(), ended.stderr.trim_end());
        let output = format!("<bash-stdout>{out}</bash-stdout><bash-stderr>{err}</bash-stderr>");
        self.record(|place| place.local(&prompt_id, &input));
        self.record(|place| place.local(&prompt_id, &output));
        self.given("prompt", &input);
        let mut before = None;
        self.work(String::from("SAY: seen"), false, started, &mut before);
    }

    /// The model answered: a record with its usage.
    pub(super) fn answered(&mut self, content: &Value, stop: &str) {
        let conversation = &mut self.conversation;
        let cached = conversation.tokens;
        conversation.tokens += self.knobs.turn_tokens;
        conversation.usage = Usage::Tokens {
            input: conversation.tokens,
            output: 25,
        };
        let usage = json!({
            "input_tokens": self.knobs.turn_tokens, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached, "output_tokens": 25,
        });
        let (id, model) = (self.message_id(), self.options.model.clone());
        self.conversation.answers += 1;
        self.record(|place| place.assistant(&id, &model, content, stop, &usage));
    }

    /// The id of the answer the model is giving.
    pub(super) fn message_id(&self) -> String {
        format!("msg_fake_{:05}", self.conversation.answers + 1)
    }
}

/// A text below a mark: further lines are indented.
fn indented(text: &str) -> String {
    text.replace('\n', "\n  ")
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
