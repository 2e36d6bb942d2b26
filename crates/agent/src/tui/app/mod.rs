//! The state of the screen: keys and updates in, lines and wishes out.
//!
//! Nothing here touches a terminal, a file or the clock. What is finished leaves for the scrollback
//! and is forgotten, but for the last things that were folded up.

mod approve;
mod keys;
mod picker;
mod status;
mod told;
mod view;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Instant;

use sm_llm::ToolCall;

use crate::host::{Command, Queue, State};
use crate::templates::Template;

use self::approve::Question;
use self::picker::{Choice, Picker};
pub(crate) use self::status::Status;
use super::editor::{Editor, History};
use super::line::Line;
use super::look::{Look, Mode};
use super::markdown::Markdown;
use super::transcript::{Entry, Fold};

/// So many folded things can be shown in full later.
const MOST_FOLDED: usize = 30;
/// Of what streams in and is only previewed, so much is kept.
const PREVIEW: usize = 4 << 10;
/// Thoughts are kept whole up to here.
const LONGEST_THOUGHT: usize = 256 << 10;

/// What the driver has to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    Send(Command),
    /// List the files of the project; [`App::files`] takes them.
    ListFiles,
    /// List the sessions of the project; [`App::sessions`] takes them.
    ListSessions,
    /// List the models that can be taken; [`App::models`] takes them.
    ListModels,
    /// Take the next model; [`App::next_model`] is told which there are.
    CycleModel,
    /// Show where the session can be forked, where there is no list to choose from.
    ListPrompts(Vec<(String, String)>),
    /// Find the session a person named.
    FindSession(String),
    /// Let the person edit this file.
    Edit(PathBuf),
    /// Ctrl+Z.
    Suspend,
    /// Draw everything anew.
    Redraw,
    Quit,
}

#[derive(Debug)]
pub(crate) struct App {
    look: Look,
    columns: usize,
    editor: Editor,
    status: Status,
    state: State,
    /// Since when it is in that state.
    since: Instant,
    /// How often the model has been asked in vain, and why.
    retry: Option<(u32, String)>,
    answer: Option<Answering>,
    running: Vec<Running>,
    /// The calls of the last answer: one that is refused never runs, and still has a result.
    calls: Vec<ToolCall>,
    /// The end of the document that is being written.
    preview: String,
    questions: VecDeque<Question>,
    /// What was being written when a question came, put aside to answer it.
    draft: Option<String>,
    queue: Vec<(Queue, String)>,
    picker: Option<Picker>,
    finished: Vec<Line>,
    /// What was told last.
    before: Option<Entry>,
    folded: VecDeque<Entry>,
    /// Ctrl+C was pressed on an empty editor.
    leaving: Option<Instant>,
    home: Option<PathBuf>,
    templates: Vec<Template>,
    /// The model that was asked for last and is not told yet.
    cycled: Option<String>,
    title: Option<String>,
    notices: Vec<String>,
    /// The session, once something was said in it.
    id: String,
    kept: bool,
}

/// An answer that comes in.
#[derive(Debug, Default)]
struct Answering {
    markdown: Markdown,
    thought: String,
    /// Text has been shown.
    spoke: bool,
    /// A tool was called since: the next text stands by itself.
    apart: bool,
}

/// A call that runs.
#[derive(Debug)]
struct Running {
    call: ToolCall,
    /// The end of its output.
    tail: String,
    since: Instant,
}

impl App {
    pub fn new(look: Look, history: History, home: Option<PathBuf>, now: Instant) -> Self {
        Self {
            look,
            columns: 80,
            editor: Editor::with_history(history),
            status: Status::default(),
            state: State::Idle,
            since: now,
            retry: None,
            answer: None,
            running: Vec::new(),
            calls: Vec::new(),
            preview: String::new(),
            questions: VecDeque::new(),
            draft: None,
            queue: Vec::new(),
            picker: None,
            finished: Vec::new(),
            before: None,
            folded: VecDeque::new(),
            leaving: None,
            home,
            templates: Vec::new(),
            cycled: None,
            title: None,
            notices: Vec::new(),
            id: String::new(),
            kept: false,
        }
    }

    /// To be told below the heading of the first session.
    pub fn welcome(&mut self, notices: &[String]) {
        self.notices = notices.to_vec();
    }

    pub fn resize(&mut self, columns: usize) {
        self.columns = columns;
    }

    /// Lines that are finished, for good.
    pub fn take_finished(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.finished)
    }

    pub fn files(&mut self, files: Vec<String>) {
        self.editor.offer_files(files);
    }

    /// What the list shows of each, and where it is.
    pub fn sessions(&mut self, sessions: Vec<(String, PathBuf)>) {
        match sessions.is_empty() {
            true => self.tell(Entry::Notice("there are no earlier sessions here".into())),
            false => {
                let choices = sessions
                    .into_iter()
                    .map(|(text, path)| (text, Choice::Session(path)));
                self.picker = Some(Picker::new("Sessions of this folder", choices.collect()));
            }
        }
    }

    /// Names of models; the present one is told, and is not among those to choose from.
    pub fn models(&mut self, mut models: Vec<String>) {
        models.retain(|name| *name != self.status.model);
        self.tell(Entry::Notice(format!(
            "model: {}; /model and a part of its name takes any other",
            self.status.model
        )));
        if !models.is_empty() {
            let choices = models
                .into_iter()
                .map(|name| (name.clone(), Choice::Model(name)));
            self.picker = Some(Picker::new("Models", choices.collect()));
        }
    }

    /// The name after the present one, round and round.
    pub fn next_model(&mut self, models: Vec<String>) -> Option<String> {
        let present = self.cycled.as_ref().unwrap_or(&self.status.model);
        let at = models.iter().position(|name| name == present);
        let next = match at {
            Some(at) => models.get((at + 1) % models.len()),
            None => models.first(),
        };
        let next = next.filter(|name| *name != present).cloned();
        match &next {
            Some(_) => self.cycled.clone_from(&next),
            None => self.tell(Entry::Notice("there is no other model to take".into())),
        }
        next
    }

    pub fn templates(&mut self, templates: Vec<Template>) {
        self.editor.offer_templates(&templates);
        self.templates = templates;
    }

    /// The branch that is checked out.
    pub fn branch(&mut self, branch: Option<String>) {
        self.status.branch = branch;
    }

    /// Where the session can be forked.
    fn prompts(&mut self, mut prompts: Vec<(String, String)>) -> Vec<Action> {
        if prompts.is_empty() {
            self.tell(Entry::Notice("there is no prompt to fork from".into()));
            return Vec::new();
        }
        // The newest is what is most often wanted.
        prompts.reverse();
        if self.look.mode == Mode::Plain {
            return vec![Action::ListPrompts(prompts)];
        }
        let choices = prompts
            .into_iter()
            .map(|(entry, text)| (text.replace('\n', " "), Choice::Prompt(entry)));
        self.picker = Some(Picker::new("Fork before", choices.collect()));
        Vec::new()
    }

    /// The model that is asked.
    pub fn model(&self) -> &str {
        &self.status.model
    }

    pub fn complain(&mut self, text: impl Into<String>) {
        self.tell(Entry::Error(text.into()));
    }

    /// The last words: how to come back.
    pub fn farewell(&mut self) {
        self.end_answer();
        if self.kept && !self.id.is_empty() {
            let how = format!("to go on with this session: sm agent --resume {}", self.id);
            self.tell(Entry::Notice(how));
        }
    }

    /// Whether something moves by itself.
    pub fn is_moving(&self) -> bool {
        self.state.loader().is_some() || !self.running.is_empty()
    }

    /// When the screen changes by itself though nothing moves.
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        let question = self.questions.front().and_then(|q| q.next_change(now));
        let leaving = self.leaving.filter(|until| *until > now);
        question.into_iter().chain(leaving).min()
    }

    /// The live region is on the screen now.
    pub fn drawn(&mut self, now: Instant) {
        if let Some(question) = self.questions.front_mut() {
            question.drawn(now);
        }
    }

    pub fn asks(&self) -> bool {
        !self.questions.is_empty()
    }

    /// What is asked, as lines that stay.
    pub fn question(&self, columns: usize) -> Vec<Line> {
        let question = self.questions.front();
        question.map_or(Vec::new(), |question| question.asked(columns))
    }

    /// Writes an entry below what was said before, folded up if it is long.
    fn tell(&mut self, entry: Entry) {
        let told = entry.lines(Fold::Up, self.columns, self.look);
        self.separate(&entry);
        self.finished.extend(told.lines);
        if told.hidden > 0 {
            if self.folded.len() == MOST_FOLDED {
                self.folded.pop_front();
            }
            self.folded.push_back(entry.clone());
        }
        self.before = Some(entry);
    }

    fn separate(&mut self, entry: &Entry) {
        if self.before.is_some() && !entry.joins(self.before.as_ref()) {
            self.finished.push(Line::blank());
        }
    }

    /// Writes the thing that was folded up last once more, in full.
    fn expand(&mut self) {
        let Some(entry) = self.folded.pop_back() else {
            self.tell(Entry::Notice("nothing is folded up".into()));
            return;
        };
        let told = entry.lines(Fold::Whole, self.columns, self.look);
        self.finished.push(Line::blank());
        self.finished.extend(told.lines);
        self.before = Some(entry);
    }
}

/// Keeps the end of a text that grows.
fn keep_end(text: &mut String, most: usize) {
    if text.len() > most * 2 {
        let mut from = text.len() - most;
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text.drain(..from);
    }
}

#[cfg(test)]
mod tests;
