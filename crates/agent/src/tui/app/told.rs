//! What the agent tells.

use std::path::Path;
use std::time::Instant;

use sm_llm::{Assistant, Block, Delta, ToolCall, ToolResult};

use crate::host::{HandoffOutcome, Queue, SessionView, State, Update};
use crate::turn::End;
use crate::wish::thinking_word;

use super::super::line::Line;
use super::super::look::Role;
use super::super::text::{clean, shorten};
use super::super::transcript::{Entry, answer_entries, ending};
use super::super::view_entries::last_entries;
use super::{Action, Answering, App, LONGEST_THOUGHT, PREVIEW, Question, Running, keep_end};

/// Of a session that is opened again, the last entries are shown.
const LAST_ENTRIES: usize = 40;

impl App {
    pub fn told(&mut self, update: Update, now: Instant) -> Vec<Action> {
        let actions = self.take_update(update, now);
        self.give_draft_back();
        actions
    }

    fn take_update(&mut self, update: Update, now: Instant) -> Vec<Action> {
        match update {
            Update::Started(view) => self.begin(view, now, false),
            Update::Rebuilt(view) => self.begin(view, now, true),
            Update::UserMessage(text) => {
                self.no_longer_queued(&text);
                self.kept = true;
                self.tell(Entry::User(text));
            }
            Update::Delta(delta) => self.delta(delta),
            Update::Assistant(answer) => self.answered(&answer),
            Update::ToolStarted(call) => {
                self.settled(&call.id);
                self.running.push(Running {
                    call,
                    tail: String::new(),
                    since: now,
                });
            }
            Update::ToolOutput { call_id, text } => {
                if let Some(running) = self.running.iter_mut().find(|r| r.call.id == call_id) {
                    running.tail.push_str(&text);
                    keep_end(&mut running.tail, PREVIEW);
                }
            }
            Update::ToolDone(result) => self.tool_done(result),
            Update::ApprovalWanted { call, wanted } => self.asked(Question::new(call, wanted)),
            Update::Queued { queue, text } => self.queue.push((queue, text)),
            Update::Returned(texts) => {
                for text in &texts {
                    self.no_longer_queued(text);
                }
                self.editor.give_back(&texts.join("\n"));
            }
            Update::Usage {
                tokens,
                window,
                cost,
            } => {
                self.status.tokens = tokens;
                self.status.window = window;
                self.status.cost = cost;
            }
            Update::State(state) => self.enter(state, now),
            Update::HandoffText(text) => {
                self.preview.push_str(&text);
                keep_end(&mut self.preview, PREVIEW);
            }
            Update::EditWanted(path) => return vec![Action::Edit(path)],
            Update::Handoff { automatic, outcome } => self.handed_off(automatic, &outcome),
            Update::Title(title) => self.title = Some(title),
            Update::Model {
                name,
                thinking,
                window,
            } => {
                let level = thinking_word(thinking);
                self.tell(Entry::Notice(format!("model: {name}, thinking {level}")));
                self.status.model = name;
                self.cycled = None;
                self.status.thinking = Some(level).filter(|level| *level != "off");
                self.status.window = window;
            }
            // The call that changed them shows them.
            Update::Todos(_) => {}
            Update::Prompts(prompts) => return self.prompts(prompts),
            Update::ShellDone { command, output } => self.tell(Entry::Shell { command, output }),
            Update::TurnEnded(end) => self.turn_ended(&end),
            Update::Notice(text) => self.tell(Entry::Notice(text)),
            Update::Error(text) => {
                self.cycled = None;
                self.tell(Entry::Error(text));
            }
            Update::Ended => return vec![Action::Quit],
        }
        Vec::new()
    }

    /// The screen of a session. What an earlier one left stays in the scrollback above it.
    fn begin(&mut self, view: SessionView, now: Instant, again: bool) {
        self.end_answer();
        self.running.clear();
        self.questions.clear();
        self.folded.clear();
        self.picker = None;
        self.preview.clear();
        self.retry = None;
        self.editor.forget_files();
        self.status.model.clone_from(&view.model);
        let level = thinking_word(view.thinking);
        self.status.thinking = Some(level).filter(|level| *level != "off");
        self.status.tokens = view.tokens;
        self.status.window = view.window;
        self.status.cost = view.cost;
        self.status.cwd = self.at_home(&view.cwd);
        self.title.clone_from(&view.title);
        let same = self.id == view.id;
        self.id.clone_from(&view.id);
        self.kept = view.path.is_some();
        if !again {
            self.since = now;
        }
        self.heading(&view, again, same);
        let last = last_entries(&view, LAST_ENTRIES);
        if last.earlier > 0 {
            self.tell(Entry::Notice(format!(
                "{} earlier entries are not shown",
                last.earlier
            )));
        }
        for entry in last.entries {
            self.tell(entry);
        }
    }

    fn heading(&mut self, view: &SessionView, again: bool, same: bool) {
        let name = match &view.title {
            Some(title) => clean(title),
            None if same => "sm agent".to_owned(),
            None if again => "new session".to_owned(),
            None => "sm agent".to_owned(),
        };
        let dash = self.look.pick("─", "-");
        let room = self.columns.saturating_sub(6);
        let name = shorten(&name, room, self.look.pick("…", "~"));
        let rest = self
            .columns
            .min(60)
            .saturating_sub(super::super::text::width(&name) + 4);
        if self.before.is_some() {
            self.finished.push(Line::blank());
        }
        self.finished.push(
            Line::of(format!("{} ", dash.repeat(2)), Role::Faint)
                .with(name, super::super::look::Style::from(Role::Accent).bold())
                .with(format!(" {}", dash.repeat(rest)), Role::Faint),
        );
        self.before = None;
        if !again {
            let hint = "enter sends, /help shows commands and keys, ctrl+d leaves";
            self.tell(Entry::Notice(hint.into()));
            for notice in std::mem::take(&mut self.notices) {
                self.tell(Entry::Warning(notice));
            }
        }
    }

    fn at_home(&self, cwd: &Path) -> String {
        let below = self
            .home
            .as_deref()
            .and_then(|home| cwd.strip_prefix(home).ok());
        match below {
            Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
            Some(below) => format!("~/{}", below.display()),
            None => cwd.display().to_string(),
        }
    }

    fn enter(&mut self, state: State, now: Instant) {
        let kind = |state: State| match state {
            State::Idle => 0,
            // Being asked is part of the same work.
            State::Working | State::Waiting => 1,
            State::HandingOff { automatic, .. } => 2 + u8::from(automatic),
        };
        if kind(state) != kind(self.state) {
            self.since = now;
            self.preview.clear();
            self.retry = None;
        }
        match state {
            State::HandingOff { attempt, .. } if attempt > 1 => {
                self.retry = Some((attempt, String::new()));
                self.preview.clear();
            }
            State::Idle => self.questions.clear(),
            State::Working | State::Waiting | State::HandingOff { .. } => {}
        }
        self.state = state;
    }

    fn delta(&mut self, delta: Delta) {
        match delta {
            Delta::Attempt { number, cause, .. } => self.retry = Some((number, cause)),
            Delta::Started => {
                self.retry = None;
                self.answer.get_or_insert_default();
            }
            Delta::Thinking(text) => {
                let answer = self.answer.get_or_insert_default();
                if answer.thought.len() < LONGEST_THOUGHT {
                    answer.thought.push_str(&text);
                }
            }
            Delta::Text(text) => self.text(&text),
            Delta::ToolStarted { .. } => {
                self.end_text();
                self.answer.get_or_insert_default().apart = true;
            }
            Delta::ToolArguments(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.end_thought();
        let mut answer = self.answer.take().unwrap_or_default();
        // White space before the first word is nothing to show.
        let text = match answer.spoke && !answer.apart {
            true => text,
            false => text.trim_start(),
        };
        if !text.is_empty() {
            if !answer.spoke || answer.apart {
                self.separate(&Entry::Answer(String::new()));
                self.before = Some(Entry::Answer(String::new()));
            }
            answer.spoke = true;
            answer.apart = false;
            answer.markdown.push(text);
            self.finished
                .extend(answer.markdown.take(self.columns, self.look));
        }
        self.answer = Some(answer);
    }

    fn end_text(&mut self) {
        self.end_thought();
        if let Some(answer) = &mut self.answer {
            let mut markdown = std::mem::take(&mut answer.markdown);
            markdown.end();
            self.finished.extend(markdown.take(self.columns, self.look));
        }
    }

    fn end_thought(&mut self) {
        let thought = self
            .answer
            .as_mut()
            .map(|answer| std::mem::take(&mut answer.thought));
        if let Some(thought) = thought.filter(|thought| !thought.trim().is_empty()) {
            self.tell(Entry::Thinking(thought));
        }
    }

    pub(super) fn end_answer(&mut self) -> bool {
        self.end_text();
        // Blank lines at the end of a reply are not wanted twice.
        let spoke = self
            .answer
            .take()
            .is_some_and(|answer: Answering| answer.spoke);
        while spoke
            && self
                .finished
                .last()
                .is_some_and(|line| line.spans.is_empty())
        {
            self.finished.pop();
        }
        spoke
    }

    fn answered(&mut self, answer: &Assistant) {
        self.retry = None;
        self.calls = answer.tool_calls().cloned().collect();
        let streamed = self.answer.is_some();
        let spoke = self.end_answer();
        let said = answer.content.iter().any(|block| match block {
            Block::Text { text, .. } => !text.trim().is_empty(),
            Block::Thinking { .. } | Block::Image { .. } | Block::ToolCall(_) | Block::Other => {
                false
            }
        });
        if said && !spoke || !streamed {
            for entry in answer_entries(answer) {
                self.tell(entry);
            }
        } else if let Some(entry) = ending(answer) {
            self.tell(entry);
        }
    }

    /// The question about a call is no longer one.
    fn settled(&mut self, call_id: &str) {
        self.questions
            .retain(|question| question.call.id != call_id);
    }

    fn tool_done(&mut self, result: ToolResult) {
        self.settled(&result.tool_call_id);
        let at = self
            .running
            .iter()
            .position(|r| r.call.id == result.tool_call_id);
        let call = match at {
            Some(at) => self.running.remove(at).call,
            None => {
                let known = self
                    .calls
                    .iter()
                    .find(|call| call.id == result.tool_call_id);
                known.cloned().unwrap_or_else(|| ToolCall {
                    id: result.tool_call_id.clone(),
                    name: result.tool_name.clone(),
                    arguments: serde_json::Map::new(),
                })
            }
        };
        self.tell(Entry::Tool {
            call: Box::new(call),
            result: Box::new(result),
        });
    }

    fn asked(&mut self, question: Question) {
        if question.is_long(self.columns) {
            if self.before.is_some() {
                self.finished.push(Line::blank());
            }
            self.finished.extend(question.body(self.columns));
        }
        self.questions.push_back(question);
    }

    fn no_longer_queued(&mut self, text: &str) {
        if let Some(at) = self.queue.iter().position(|(_, queued)| queued == text) {
            self.queue.remove(at);
        }
    }

    fn handed_off(&mut self, automatic: bool, outcome: &HandoffOutcome) {
        let text = outcome.text(automatic);
        match outcome {
            HandoffOutcome::Done { saved_path, .. } => {
                self.tell(Entry::Notice(text));
                if let Some(path) = saved_path {
                    self.tell(Entry::Notice(format!("saved as {}", path.display())));
                }
            }
            HandoffOutcome::Cancelled | HandoffOutcome::Compacted => {
                self.tell(Entry::Notice(text));
            }
            HandoffOutcome::NotCompacted(_) => self.tell(Entry::Warning(text)),
            HandoffOutcome::Empty | HandoffOutcome::Failed(_) if automatic => {
                self.tell(Entry::Warning(text));
            }
            HandoffOutcome::Empty | HandoffOutcome::Failed(_) => self.tell(Entry::Error(text)),
            HandoffOutcome::Nothing | HandoffOutcome::Busy(_) => self.tell(Entry::Warning(text)),
        }
    }

    fn turn_ended(&mut self, end: &End) {
        self.end_answer();
        self.running.clear();
        self.questions.clear();
        self.queue.retain(|(queue, _)| *queue != Queue::Steering);
        self.editor.forget_files();
        match end {
            End::Done => {}
            End::Interrupted => {
                let known = Entry::Notice("interrupted".into());
                if self.before.as_ref() != Some(&known) {
                    self.tell(known);
                }
            }
            End::Failed(why) => {
                let known = Entry::Error(clean(why));
                if self.before.as_ref() != Some(&known) {
                    self.tell(known);
                }
            }
        }
    }
}
