//! What the machine wants, done; what comes back, as events for it.

use sm_llm::{Delta, Message, ToolResult};

use super::driver::{Driver, now};
use super::protocol::{State, Update};
use super::tasks::{self, Done};
use crate::approval::Deed;
use crate::config;
use crate::handoff::Progress;
use crate::session::{NewEntry, SessionError};
use crate::tools::{self, Need};
use crate::turn::{Effect, End, Event};

impl Driver {
    pub fn perform(&mut self, effect: Effect) -> Result<(), SessionError> {
        match effect {
            Effect::Append(message) => {
                self.live.say(message.clone(), &self.options)?;
                self.show(message);
            }
            Effect::Ask(ticket) => {
                self.question()
                    .ask(ticket, self.cancel.clone(), self.results.clone());
            }
            Effect::Want { call, wanted } => self.tell(Update::ApprovalWanted { call, wanted }),
            Effect::Keep(rule) => {
                let kept = config::keep(
                    &self.options.config_path,
                    &rule.to_string(),
                    self.options.footprint.as_ref(),
                );
                self.tell(match kept {
                    Ok(()) => Update::Notice(format!(
                        "Allowed from now on, in {}: {rule}",
                        self.options.config_path.display()
                    )),
                    Err(error) => Update::Error(format!("allowed for now, but not kept: {error}")),
                });
            }
            Effect::Run(call) => {
                self.tell(Update::ToolStarted(call.clone()));
                tasks::tool(
                    self.place(),
                    call,
                    self.cancel.clone(),
                    self.results.clone(),
                );
            }
            Effect::Cancel => {
                self.stop_everything();
                self.drop_edit();
            }
            Effect::Queued { queue, text } => self.tell(Update::Queued { queue, text }),
            Effect::Returned(texts) => self.tell(Update::Returned(texts)),
            Effect::Ended(end) => {
                self.live.sync()?;
                if let End::Failed(why) = &end {
                    self.tell(Update::Error(why.clone()));
                }
                self.tell(Update::TurnEnded(end));
            }
            Effect::Generate {
                ticket,
                focus,
                automatic,
            } => self.generate(ticket, focus, automatic),
            Effect::Edit(document) => self.edit(&document),
            Effect::Commit {
                ticket,
                goal,
                document,
                automatic,
            } => self.commit(ticket, goal, &document, automatic),
            Effect::Handoff { automatic, outcome } => {
                self.tell(Update::Handoff { automatic, outcome });
            }
            Effect::State(state) => self.tell(Update::State(state)),
        }
        Ok(())
    }

    fn show(&self, message: Message) {
        match message {
            Message::User(user) => {
                let texts = user.content.blocks();
                let texts: Vec<&str> = texts
                    .iter()
                    .filter_map(|block| match block {
                        sm_llm::Block::Text { text, .. } => Some(text.as_str()),
                        sm_llm::Block::Thinking { .. }
                        | sm_llm::Block::Image { .. }
                        | sm_llm::Block::ToolCall(_)
                        | sm_llm::Block::Other => None,
                    })
                    .collect();
                self.tell(Update::UserMessage(texts.join("\n")));
            }
            Message::Assistant(answer) => {
                self.tell(Update::Assistant(answer));
                self.usage();
            }
            Message::ToolResult(result) => self.tell(Update::ToolDone(result)),
        }
    }

    pub fn done(&mut self, done: Done) {
        match done {
            Done::Delta(ticket, delta) => {
                if self.turn.wants(ticket) {
                    self.tell(Update::Delta(delta));
                }
            }
            Done::Answer(ticket, answer) => {
                let event = match *answer {
                    Ok(answer) => {
                        let cwd = &self.options.cwd;
                        let own = self.options.own_tools.as_ref();
                        let deeds = answer
                            .tool_calls()
                            .map(|call| deed(tools::needs(call, cwd, own)));
                        Event::Answered {
                            ticket,
                            deeds: deeds.collect(),
                            answer,
                        }
                    }
                    Err(failure) => {
                        let (why, partial) = tasks::unanswered(failure);
                        Event::NotAnswered {
                            ticket,
                            why,
                            partial,
                        }
                    }
                };
                self.events.push_back(event);
            }
            Done::Output { call_id, text } => self.tell(Update::ToolOutput { call_id, text }),
            Done::Tool(call, outcome) => {
                if let Some(todos) = outcome.todos {
                    // Kept before its result is: what the model was told is then true.
                    match self.live.append(&NewEntry::todos(&todos), &self.options) {
                        Ok(()) => {
                            self.live.todos.clone_from(&todos);
                            self.tell(Update::Todos(todos));
                        }
                        Err(error) => self.tell(Update::Error(error.to_string())),
                    }
                }
                self.events.push_back(Event::ToolDone(ToolResult {
                    tool_call_id: call.id,
                    tool_name: call.name,
                    content: outcome.content,
                    details: outcome.details,
                    is_error: outcome.is_error,
                    timestamp: now(),
                }));
            }
            Done::Shell(command, outcome) => self.shell_done(command, outcome),
            Done::Progress(ticket, progress) => {
                if self.turn.wants(ticket) {
                    self.progress(progress);
                }
            }
            Done::Document(ticket, written) => {
                let result = written.map(|written| {
                    if self.turn.wants(ticket) {
                        self.live.cost += written.cost;
                        if let Some(note) = written.note {
                            self.tell(Update::Notice(note));
                        }
                    }
                    written.document
                });
                self.events.push_back(Event::Written { ticket, result });
            }
            Done::Model(model) => self.model_found(*model),
        }
    }

    fn progress(&self, progress: Progress) {
        match progress {
            Progress::Attempt {
                number,
                wait,
                cause,
            } => {
                if let State::HandingOff {
                    goal, automatic, ..
                } = self.turn.state()
                {
                    self.tell(Update::State(State::HandingOff {
                        goal,
                        automatic,
                        attempt: number,
                    }));
                }
                self.tell(Update::Delta(Delta::Attempt {
                    number,
                    wait,
                    cause,
                }));
            }
            Progress::Text(text) => self.tell(Update::HandoffText(text)),
            Progress::Again => self.tell(Update::HandoffText("\n\n---\n\n".into())),
        }
    }
}

fn deed(need: Need) -> Deed {
    match need {
        Need::Nothing => Deed::Harmless,
        Need::ReadsOutside(path) => Deed::Reads(path),
        Need::Writes { path, .. } => Deed::Writes(path),
        Need::Runs(command) => Deed::Runs(command),
    }
}
