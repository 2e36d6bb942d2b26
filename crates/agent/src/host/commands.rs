//! What a front end asks for.

use std::path::Path;

use jiff::Timestamp;
use sm_llm::{Model, Thinking};

use super::driver::{Driver, now};
use super::live::Live;
use super::protocol::{Command, Update};
use super::tasks::{self, Done};
use crate::models::{self, ModelError};
use crate::session::{self, BashExecution, NewEntry};
use crate::tools::ToolOutcome;
use crate::turn::Event;

const BUSY: &str = "Wait for the current response to finish or abort it first.";

impl Driver {
    pub fn command(&mut self, command: Command) {
        match command {
            Command::Prompt(text) => self.events.push_back(Event::Prompt(text)),
            Command::Steer(text) => self.events.push_back(Event::Steer(text)),
            Command::FollowUp(text) => self.events.push_back(Event::FollowUp(text)),
            Command::Told { text, how } => self.events.push_back(Event::Told { text, how }),
            Command::Interrupt => {
                self.stop_jobs();
                self.events.push_back(Event::Interrupt);
            }
            Command::Approve { call_id, answer } => {
                self.events.push_back(Event::Approved { call_id, answer });
            }
            Command::Handoff { focus, edit } => {
                self.events.push_back(Event::HandoffAsked { focus, edit });
            }
            Command::Compact { focus } => self.events.push_back(Event::CompactAsked { focus }),
            Command::CancelHandoff => {
                if self.turn.is_handing_off() {
                    self.events.push_back(Event::Interrupt);
                }
            }
            Command::Edited { keep } => self.edited(keep),
            Command::UndoHandoff => self.undo_handoff(),
            Command::New => {
                if self.free() {
                    self.stop_jobs();
                    self.switch(Live::empty());
                }
            }
            Command::Successor => {
                if self.free() {
                    self.succeed();
                }
            }
            Command::Resume(path) => {
                if self.free() {
                    self.resume(&path);
                }
            }
            Command::ListPrompts => self.list_prompts(),
            Command::Fork(entry) => {
                if self.free() {
                    self.fork(&entry);
                }
            }
            Command::Export(to) => self.export(to.as_deref()),
            Command::SetModel(name) => self.find_model(name),
            Command::SetThinking(thinking) => self.set_thinking(thinking),
            Command::SetTitle(title) => self.set_title(title),
            Command::Shell(command) => {
                if self.free() {
                    self.shells += 1;
                    let cancel = self.jobs.clone();
                    tasks::shell(self.place(), command, cancel, self.results.clone());
                }
            }
            // Ends the task, which is the loop's to do.
            Command::Quit => {}
        }
    }

    /// Whether the session may be left or changed now.
    fn free(&self) -> bool {
        let free = self.turn.is_idle();
        if !free {
            self.tell(Update::Notice(BUSY.into()));
        }
        free
    }

    pub fn stop_jobs(&mut self) {
        self.jobs.cancel();
        self.jobs = tokio_util::sync::CancellationToken::new();
    }

    fn resume(&mut self, path: &Path) {
        let same = self
            .live
            .path()
            .is_some_and(|open| path.canonicalize().is_ok_and(|path| path == open));
        if same {
            self.tell(Update::Notice(
                "This session is the one that is open.".into(),
            ));
            return;
        }
        match Live::open(path) {
            Ok((live, opened)) => {
                self.stop_jobs();
                self.options.thinking = opened.thinking.unwrap_or(self.options.thinking);
                if let Some(torn) = &opened.torn {
                    self.tell(Update::Notice(format!(
                        "The last line of the session was cut by a crash; its bytes are in {}.",
                        torn.display()
                    )));
                }
                self.switch(live);
                let own = opened
                    .model
                    .map(|(provider, id)| format!("{provider}/{id}"));
                if let Some(own) = own.filter(|own| *own != self.options.model_name()) {
                    self.find_model(own);
                }
            }
            Err(error) => self.tell(Update::Error(error.to_string())),
        }
    }

    /// What was said so far; nothing can be forked or exported before that.
    fn kept(&self) -> Option<&Path> {
        let path = self.live.path();
        if path.is_none() {
            self.tell(Update::Notice(
                "Nothing has been said in this session yet.".into(),
            ));
        }
        path
    }

    fn list_prompts(&self) {
        let Some(path) = self.kept() else { return };
        self.tell(match session::prompts(path) {
            Ok(prompts) => Update::Prompts(prompts),
            Err(error) => Update::Error(error.to_string()),
        });
    }

    fn fork(&mut self, entry: &str) {
        let Some(path) = self.kept() else { return };
        let (sessions, cwd) = (&self.options.sessions, &self.options.cwd);
        let said = session::prompts(path).ok().and_then(|prompts| {
            let found = prompts.into_iter().find(|(id, _)| id == entry);
            found.map(|(_, text)| text)
        });
        match session::fork(path, sessions, cwd, Some(entry), Timestamp::now()) {
            Ok(forked) => {
                self.resume(&forked);
                self.tell(Update::Returned(said.into_iter().collect()));
            }
            Err(error) => self.tell(Update::Error(error.to_string())),
        }
    }

    fn export(&self, to: Option<&Path>) {
        let Some(path) = self.kept() else { return };
        self.tell(match session::export(path, to, &self.options.cwd) {
            Ok(to) => Update::Notice(format!("exported to {}", to.display())),
            Err(error) => Update::Error(error.to_string()),
        });
    }

    fn undo_handoff(&mut self) {
        if !self.free() {
            return;
        }
        match self.live.parent().map(Path::to_path_buf) {
            Some(parent) => self.resume(&parent),
            None => self.tell(Update::Notice(
                "This session was not handed over from another one.".into(),
            )),
        }
    }

    /// A command that prints the key may take a while: it is run beside.
    fn find_model(&mut self, name: String) {
        let config = self.options.config.clone();
        let variables = std::sync::Arc::clone(&self.options.variables);
        let results = self.results.clone();
        tokio::spawn(async move {
            let places = sm_llm::Places::usual(variables("OLLAMA_HOST").as_deref());
            let found = match models::full_name(&name, &config, &*variables, &places).await {
                Ok(name) => models::model(&name, &config, &*variables).await,
                Err(error) => Err(error),
            };
            let _ = results.send(Done::Model(Box::new(found)));
        });
    }

    pub fn model_found(&mut self, found: Result<Model, ModelError>) {
        match found {
            Ok(model) => {
                let changed =
                    format!("{}/{}", model.provider, model.id) != self.options.model_name();
                self.options.model = model;
                self.turn.set_limit(self.options.limit());
                let entry = NewEntry::ModelChange {
                    provider: self.options.model.provider.clone(),
                    model_id: self.options.model.id.clone(),
                };
                if changed {
                    self.note(&entry);
                }
                self.tell_model();
            }
            Err(error) => self.tell(Update::Error(format!(
                "{error}; the model is still {}",
                self.options.model_name()
            ))),
        }
    }

    fn set_thinking(&mut self, thinking: Thinking) {
        self.options.thinking = thinking;
        self.note(&NewEntry::ThinkingLevelChange(thinking));
        self.tell_model();
    }

    fn set_title(&mut self, title: String) {
        self.note(&NewEntry::SessionInfo {
            name: title.clone(),
        });
        self.live.title = Some(title.clone());
        self.tell(Update::Title(title));
    }

    /// A session without a file has it in its first lines.
    fn note(&mut self, entry: &NewEntry) {
        if self.live.path().is_none() && !matches!(entry, NewEntry::SessionInfo { .. }) {
            return;
        }
        if let Err(error) = self.live.append(entry, &self.options) {
            self.tell(Update::Error(error.to_string()));
        }
    }

    fn tell_model(&self) {
        self.tell(Update::Model {
            name: self.options.model_name(),
            thinking: self.options.thinking,
            window: self.options.model.window,
        });
        self.usage();
    }

    pub fn shell_done(&mut self, command: String, outcome: ToolOutcome) {
        self.shells = self.shells.saturating_sub(1);
        self.shells_done.push((command, outcome));
    }

    pub fn keep_shell(&mut self, command: String, outcome: &ToolOutcome) {
        let output: Vec<String> = outcome
            .content
            .iter()
            .filter_map(|block| match block {
                sm_llm::Block::Text { text, .. } => Some(text.clone()),
                sm_llm::Block::Thinking { .. }
                | sm_llm::Block::Image { .. }
                | sm_llm::Block::ToolCall(_)
                | sm_llm::Block::Other => None,
            })
            .collect();
        let output = output.join("\n");
        let execution = BashExecution {
            command: command.clone(),
            output: output.clone(),
            exit_code: outcome
                .details
                .as_ref()
                .and_then(|details| details.get("exitCode")?.as_i64()),
            timestamp: now(),
            ..BashExecution::default()
        };
        if let Err(error) = self.live.shell(execution, &self.options) {
            self.tell(Update::Error(error.to_string()));
            return;
        }
        self.turn.set_entries(self.live.entries);
        self.tell(Update::ShellDone { command, output });
    }
}
