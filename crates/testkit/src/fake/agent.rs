//! The agent's thread: one job after the other, with its conversation, hooks and files.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::answer::{Answer, Ended};
use super::files::{LateLines, Paths, StatusFile, append, timestamp, uuid};
use super::hooks::{self, Surroundings};
use super::messages::{Job, Msg, Shared, Status};
use super::options::{Beginning, Knobs, Options};
use super::payload::{self, Facts, Usage};
use super::records::{Place, command_texts};
use super::settings::{Manner, Settings};
use super::status_line::{Ask, StatusLine};

/// How long the real program waits for the last hooks.
const SESSION_END_LIMIT: Duration = Duration::from_millis(1500);

pub(super) struct Agent {
    pub(super) options: Options,
    pub(super) knobs: Knobs,
    pub(super) settings: Settings,
    pub(super) paths: Paths,
    pub(super) shared: Arc<Shared>,
    pub(super) ui: Sender<Msg>,
    /// A person's answers to dialogs.
    pub(super) decisions: Receiver<bool>,
    pub(super) conversation: Conversation,
    status_file: Option<StatusFile>,
    status_line: StatusLine,
    late_lines: Option<LateLines>,
}

/// One context window.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    pub id: String,
    pub prompt_id: Option<String>,
    /// The last record of its transcript.
    pub leaf: Option<String>,
    /// Context that hooks gave and no request has carried yet.
    pub pending: Vec<String>,
    pub tokens: u64,
    pub usage: Usage,
    pub answers: u64,
    pub records: u64,
    pub prompts: u32,
}

impl Conversation {
    pub(super) fn new(id: String) -> Self {
        Self {
            id,
            prompt_id: None,
            leaf: None,
            pending: Vec::new(),
            tokens: 0,
            usage: Usage::Unknown,
            answers: 0,
            records: 0,
            prompts: 0,
        }
    }
}

impl Agent {
    pub(super) fn new(
        options: Options,
        knobs: Knobs,
        settings: Settings,
        paths: Paths,
        shared: Arc<Shared>,
        ui: Sender<Msg>,
        decisions: Receiver<bool>,
    ) -> Self {
        let id = match &options.beginning {
            Beginning::Fresh { id } => id.clone().unwrap_or_else(uuid),
            Beginning::Resume { id } => id.clone(),
        };
        let status_file = (!knobs.no_status_file)
            .then(|| StatusFile::new(&paths).ok())
            .flatten();
        let lag = Duration::from_millis(knobs.late_record_ms);
        let late_lines = (!lag.is_zero()).then(|| LateLines::new(lag));
        let conversation = Conversation::new(id);
        let status_line = StatusLine::new(ui.clone());
        Self {
            options,
            knobs,
            settings,
            paths,
            shared,
            ui,
            decisions,
            conversation,
            status_file,
            status_line,
            late_lines,
        }
    }

    /// Does jobs until the one that ends the program.
    pub(super) fn run(mut self) {
        loop {
            let job = self.shared.next();
            self.shared.forget_interrupt();
            let quiet = matches!(job, Job::Unknown { .. });
            if !quiet {
                self.status(Status::Busy { doing: "Working" });
            }
            match job {
                Job::Begin => self.begin(),
                Job::Turn(inputs) => self.turn(inputs),
                Job::Shell(command) => self.shell(&command),
                Job::Clear => self.clear(),
                Job::Compact { instructions } => self.compact("manual", Some(&instructions)),
                Job::Resume { id } => self.resume(id),
                Job::Unknown { command } => {
                    self.say([
                        format!("❯ {command}"),
                        String::new(),
                        format!("● Unknown command: {command}"),
                        String::new(),
                    ]);
                }
                Job::Exit { code, reason } => return self.exit(code, reason),
            }
            // what waits is begun at once, so idle means that nothing waits
            if !quiet && self.shared.is_empty() {
                self.status(Status::Idle);
            }
        }
    }

    fn begin(&mut self) {
        thread::sleep(Duration::from_millis(self.knobs.slow_start_ms));
        let source = match self.options.beginning {
            Beginning::Fresh { .. } => "startup",
            Beginning::Resume { .. } => {
                self.conversation.usage = Usage::Tokens {
                    input: self.conversation.tokens,
                    output: 0,
                };
                "resume"
            }
        };
        self.session_start(source);
        self.status_line();
    }

    fn clear(&mut self) {
        self.say(["❯ /clear".to_owned(), String::new()]);
        if self.knobs.ignore_clear > 0 {
            self.knobs.ignore_clear -= 1;
            return;
        }
        thread::sleep(Duration::from_millis(self.knobs.slow_clear_ms));
        let prompt_id = uuid();
        self.conversation.prompt_id = Some(prompt_id.clone());
        self.session_end("clear");
        self.conversation = Conversation::new(uuid());
        self.conversation.prompt_id = Some(prompt_id.clone());
        self.status(Status::Busy { doing: "Clearing" });
        self.session_start("clear");
        let [caveat, command] = command_texts("clear");
        self.record(|place| place.meta(&prompt_id, &caveat));
        self.record(|place| place.local(&prompt_id, &command));
        let own = json!({"content": "<local-command-stdout></local-command-stdout>", "level": "info", "isMeta": false});
        self.record(|place| place.system("local_command", own));
        self.tell(Msg::Cleared);
        self.status_line();
    }

    /// Which hooks the real program runs here was not observed; these are its usual pair.
    fn resume(&mut self, id: String) {
        if !self.paths.transcript(&id).exists() {
            self.say([
                format!("● No conversation found with session ID: {id}"),
                String::new(),
            ]);
            return;
        }
        self.session_end("resume");
        self.conversation = Conversation::new(id);
        self.session_start("resume");
        self.status_line();
    }

    /// Summarises the context; a hook may forbid it.
    pub(super) fn compact(&mut self, trigger: &'static str, instructions: Option<&str>) {
        if trigger == "manual" {
            self.conversation.prompt_id = Some(uuid());
        }
        self.status(Status::Busy {
            doing: "Compacting conversation",
        });
        let asked = json!({"trigger": trigger, "custom_instructions": instructions});
        if !self.hooks("PreCompact", trigger, asked).blocked.is_empty() {
            self.say([
                "  ⎿  Compaction blocked by PreCompact hook".to_owned(),
                String::new(),
            ]);
            return;
        }
        let before = self.conversation.tokens;
        let prompt_id = self.conversation.prompt_id.clone().unwrap_or_default();
        let logical = self.conversation.leaf.take();
        let metadata =
            json!({"trigger": trigger, "preTokens": before, "durationMs": 1, "postTokens": 700});
        self.record(|place| {
            let own = json!({"content": "Conversation compacted", "isMeta": false, "level": "info",
                "logicalParentUuid": logical, "compactMetadata": metadata});
            place.system("compact_boundary", own)
        });
        self.record(|place| {
            let mut summary = place.local(&prompt_id, "This session is being continued from a previous conversation that ran out of context.\n\nFAKE COMPACT SUMMARY");
            summary["isVisibleInTranscriptOnly"] = json!(true);
            summary["isCompactSummary"] = json!(true);
            summary
        });
        self.conversation.tokens = 0;
        self.conversation.usage = Usage::Tokens {
            input: 0,
            output: 0,
        };
        let mut inner = payload::stop(false, "FAKE COMPACT SUMMARY");
        inner["agent_id"] = json!("afake");
        inner["agent_type"] = json!("");
        self.hooks("SubagentStop", "", inner);
        self.session_start("compact");
        self.hooks(
            "PostCompact",
            trigger,
            json!({"trigger": trigger, "compact_summary": "FAKE COMPACT SUMMARY"}),
        );
        self.say([
            "✻ Conversation compacted (ctrl+o for history)".to_owned(),
            String::new(),
        ]);
        self.status_line();
    }

    fn exit(&mut self, code: i32, reason: &'static str) {
        self.session_end(reason);
        if let Some(file) = &self.status_file {
            file.remove();
        }
        if self.paths.transcript(&self.conversation.id).exists() {
            self.say([
                "Resume this session with:".to_owned(),
                format!("claude --resume {}", self.conversation.id),
            ]);
        }
        self.tell(Msg::Exited { code });
    }

    fn session_start(&mut self, source: &str) {
        let mut own = json!({"source": source});
        if matches!(source, "startup" | "compact") {
            own["model"] = json!(self.options.model);
        }
        if self.knobs.no_session_start_hook {
            return;
        }
        let answer = self.hooks("SessionStart", source, own);
        self.conversation.pending.extend(answer.context);
    }

    fn session_end(&mut self, reason: &str) {
        if !self.knobs.no_session_end_hook {
            self.hooks("SessionEnd", reason, json!({"reason": reason}));
        }
    }

    /// Runs the hooks of an event side by side and reads what they say together.
    pub(super) fn hooks(&mut self, event: &str, subject: &str, own: Value) -> Answer {
        Answer::of(event, &self.run_hooks(event, subject, own))
    }

    /// The same, with how each of them ended.
    pub(super) fn run_hooks(&mut self, event: &str, subject: &str, own: Value) -> Vec<Ended> {
        let hooks = self.settings.hooks(event, subject);
        if hooks.is_empty() {
            return Vec::new();
        }
        let stdin = payload::hook(&self.facts(), event, own).to_string();
        let around = Surroundings {
            cwd: &self.paths.cwd,
            session: &self.conversation.id,
            role: "harness",
        };
        let late = match event {
            "SessionStart" => self.knobs.late_start_hook_ms,
            "UserPromptSubmit" => self.knobs.late_prompt_hook_ms,
            _ => 0,
        };
        let limit = (event == "SessionEnd").then_some(SESSION_END_LIMIT);
        let mut running = Vec::new();
        for hook in hooks {
            match hook.manner {
                Manner::Waited if late > 0 => self.run_late(late, hook.command, stdin.clone()),
                Manner::Waited => {
                    let started = hooks::start(&around, &hook.command, &stdin, Some(&self.shared));
                    running.extend(
                        started
                            .ok()
                            .map(|started| (started, limit.unwrap_or(hook.timeout))),
                    );
                }
                Manner::Waking { .. } if self.knobs.no_mailbox => {}
                Manner::Background | Manner::Waking { .. } => {
                    let source = if subject.is_empty() {
                        event.to_owned()
                    } else {
                        format!("{event}:{subject}")
                    };
                    hooks::start_background(&around, &stdin, source, &hook, self.ui.clone());
                }
            }
        }
        running
            .into_iter()
            .map(|(running, limit)| running.finish(limit, Some(&self.shared)))
            .collect()
    }

    /// Runs a hook later; whatever it says is nobody's.
    fn run_late(&self, ms: u64, command: String, stdin: String) {
        let (cwd, session) = (self.paths.cwd.clone(), self.conversation.id.clone());
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(ms));
            let around = Surroundings {
                cwd: &cwd,
                session: &session,
                role: "harness",
            };
            if let Ok(running) = hooks::start(&around, &command, &stdin, None) {
                running.finish(Duration::from_secs(5), None);
            }
        });
    }

    /// Asks the status line's command, without waiting for it.
    pub(super) fn status_line(&self) {
        let Some(command) = self.settings.status_line.clone() else {
            return;
        };
        let stdin = payload::status_line(
            &self.facts(),
            &self.options.model,
            self.options.window(),
            self.conversation.usage,
        );
        self.status_line.ask(Ask {
            command,
            stdin: stdin.to_string(),
            cwd: self.paths.cwd.clone(),
            session: self.conversation.id.clone(),
        });
    }

    fn facts(&self) -> Facts {
        Facts {
            session_id: self.conversation.id.clone(),
            transcript_path: self.transcript().to_string_lossy().into_owned(),
            cwd: self.paths.cwd.to_string_lossy().into_owned(),
            prompt_id: self.conversation.prompt_id.clone(),
        }
    }

    fn transcript(&self) -> PathBuf {
        self.paths.transcript(&self.conversation.id)
    }

    /// Writes the next record of the transcript.
    pub(super) fn record(&mut self, make: impl FnOnce(&Place) -> Value) {
        let place = Place {
            uuid: uuid(),
            parent: self.conversation.leaf.clone(),
            at: timestamp(),
            session: self.conversation.id.clone(),
            cwd: self.paths.cwd.to_string_lossy().into_owned(),
        };
        let record = make(&place);
        if record.get("uuid").is_some() {
            self.conversation.leaf = Some(place.uuid);
            self.conversation.records += 1;
        }
        let lost = self.conversation.prompts >= self.knobs.unrecorded_prompt;
        if self.knobs.no_transcript || lost {
            return;
        }
        match &self.late_lines {
            Some(late) => late.append(self.transcript(), record),
            // a full disk must not end the turn
            None => {
                let _ = append(&self.transcript(), &record);
            }
        }
    }

    /// Records what the "model" is given.
    pub(super) fn given(&self, kind: &str, text: &str) {
        if let Some(log) = &self.paths.log {
            let line = json!({"conversation": self.conversation.id, "kind": kind, "text": text});
            let _ = append(log, &line);
        }
    }

    pub(super) fn status(&self, status: Status) {
        if let Some(file) = &self.status_file {
            let _ = file.write(&self.conversation.id, &self.paths.cwd, &status);
        }
        self.tell(Msg::Status(status));
    }

    /// Lines that stay on the screen.
    pub(super) fn say(&self, lines: impl IntoIterator<Item = String>) {
        self.tell(Msg::Lines(lines.into_iter().collect()));
    }

    /// The same for what the model says, as late as it is to be drawn.
    pub(super) fn say_late(&self, lines: impl IntoIterator<Item = String>) {
        let (ui, msg) = (self.ui.clone(), Msg::Lines(lines.into_iter().collect()));
        match Duration::from_millis(self.knobs.late_answer_ms) {
            Duration::ZERO => self.tell(msg),
            lag => {
                thread::spawn(move || {
                    thread::sleep(lag);
                    ui.send(msg)
                });
            }
        }
    }

    pub(super) fn tell(&self, msg: Msg) {
        // the screen's thread ends the process itself
        let _ = self.ui.send(msg);
    }
}
