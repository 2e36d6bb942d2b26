//! The session that is talked in: its file, and what of it is in memory.
//!
//! A file is made with the first thing worth keeping: looking at an empty agent leaves nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use sm_llm::{Message, StopReason, Thinking};

use super::options::Options;
use super::protocol::SessionView;
use crate::session::{self, BashExecution, NewEntry, Opened, SessionError, SessionFile, Shown};
use crate::tools::Todo;
use crate::turn::Start;

/// A session that is about to be talked in: what it says of itself decides what it is asked with.
pub struct Opening {
    live: Live,
    model: Option<String>,
    thinking: Option<Thinking>,
    /// Where the bytes of a line are that a crash had cut.
    pub torn: Option<PathBuf>,
}

impl Opening {
    pub fn new() -> Self {
        Self::named(session::new_id())
    }

    /// A new session with this id.
    pub fn named(id: String) -> Self {
        Self {
            live: Live {
                planned: id,
                ..Live::empty()
            },
            model: None,
            thinking: None,
            torn: None,
        }
    }

    /// A path that is not there is an error, not an empty session.
    pub fn resume(path: &Path) -> Result<Self, SessionError> {
        let (live, opened) = Live::open(path)?;
        Ok(Self {
            live,
            model: opened
                .model
                .map(|(provider, id)| format!("{provider}/{id}")),
            thinking: opened.thinking,
            torn: opened.torn,
        })
    }

    /// `provider/id`, as the session has it.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub fn thinking(&self) -> Option<Thinking> {
        self.thinking
    }

    pub(super) fn into_live(self, options: &Options) -> Live {
        let mut live = self.live;
        if live.file.is_some() && self.model.as_deref() != Some(&options.model_name()) {
            live.later.push(NewEntry::ModelChange {
                provider: options.model.provider.clone(),
                model_id: options.model.id.clone(),
            });
        }
        if live.file.is_some() && self.thinking.is_some_and(|level| level != options.thinking) {
            live.later
                .push(NewEntry::ThinkingLevelChange(options.thinking));
        }
        live
    }
}

impl Default for Opening {
    fn default() -> Self {
        Self::new()
    }
}

pub(super) struct Live {
    file: Option<SessionFile>,
    /// The id that the file will have.
    planned: String,
    /// What is written before the next entry: opening a session changes nothing in it.
    later: Vec<NewEntry>,
    parent: Option<PathBuf>,
    /// What the model is sent.
    pub messages: Arc<Vec<Message>>,
    /// How it was shown when it was opened.
    shown: Vec<Shown>,
    pub title: Option<String>,
    pub todos: Vec<Todo>,
    pub entries: usize,
    /// How full the context is, once a model has said so.
    pub tokens: Option<u64>,
    pub cost: f64,
}

impl Live {
    pub fn empty() -> Self {
        Self {
            file: None,
            planned: session::new_id(),
            later: Vec::new(),
            parent: None,
            messages: Arc::default(),
            shown: Vec::new(),
            title: None,
            todos: Vec::new(),
            entries: 0,
            tokens: None,
            cost: 0.0,
        }
    }

    /// A new one whose parent is the session of that file.
    pub fn after(parent: Option<PathBuf>) -> Self {
        Self {
            parent,
            ..Self::empty()
        }
    }

    pub fn open(path: &Path) -> Result<(Self, Opened), SessionError> {
        let (file, mut opened) = SessionFile::open(path)?;
        let live = Self::of(file, &mut opened);
        Ok((live, opened))
    }

    /// A file that was just made.
    pub fn made(file: SessionFile) -> Result<Self, SessionError> {
        let mut opened = session::read(file.path())?;
        Ok(Self::of(file, &mut opened))
    }

    fn of(file: SessionFile, opened: &mut Opened) -> Self {
        let tokens = opened.tokens();
        let messages = std::mem::take(&mut opened.messages);
        let mut cost = 0.0;
        for message in &messages {
            if let Message::Assistant(answer) = message {
                cost += answer.usage.cost.total;
            }
        }
        Self {
            planned: file.id().to_owned(),
            file: Some(file),
            later: Vec::new(),
            parent: opened.header.parent.clone(),
            messages: Arc::new(messages),
            shown: std::mem::take(&mut opened.shown),
            title: opened.title.clone(),
            todos: opened.todos.clone(),
            entries: opened.message_entries,
            tokens,
            cost,
        }
    }

    /// On disk when it returns, before it is in memory.
    pub fn append(&mut self, entry: &NewEntry, options: &Options) -> Result<(), SessionError> {
        match &mut self.file {
            Some(file) => {
                while let Some(before) = self.later.first() {
                    file.append(before)?;
                    self.later.remove(0);
                }
                file.append(entry)?;
            }
            None => {
                let first = [
                    NewEntry::ModelChange {
                        provider: options.model.provider.clone(),
                        model_id: options.model.id.clone(),
                    },
                    NewEntry::ThinkingLevelChange(options.thinking),
                    entry.clone(),
                ];
                let now = Timestamp::now();
                let parent = self.parent.as_deref();
                let made = SessionFile::create_named(
                    &options.sessions,
                    &options.cwd,
                    parent,
                    &first,
                    &self.planned,
                    now,
                )?;
                self.file = Some(made);
            }
        }
        Ok(())
    }

    pub fn say(&mut self, message: Message, options: &Options) -> Result<(), SessionError> {
        self.append(&NewEntry::Message(message.clone()), options)?;
        self.entries += 1;
        if let Message::Assistant(answer) = &message {
            self.tokens = Some(answer.usage.total_tokens)
                .filter(|t| *t > 0)
                .or(self.tokens);
            self.cost += answer.usage.cost.total;
            // Half an answer is kept and shown, but not said to a model again.
            if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
                return Ok(());
            }
        }
        Arc::make_mut(&mut self.messages).push(message);
        Ok(())
    }

    /// A command of the person's own: the model is told with the next request.
    pub fn shell(
        &mut self,
        execution: BashExecution,
        options: &Options,
    ) -> Result<(), SessionError> {
        self.append(&NewEntry::BashExecution(execution), options)?;
        // The words around it are those of the file.
        let cost = self.cost;
        self.reload()?;
        self.cost = cost;
        Ok(())
    }

    /// What is in the file takes the place of what is in memory.
    pub fn reload(&mut self) -> Result<(), SessionError> {
        let Some(file) = self.file.take() else {
            *self = Self::empty();
            return Ok(());
        };
        match session::read(file.path()) {
            Ok(mut opened) => {
                *self = Self::of(file, &mut opened);
                Ok(())
            }
            Err(error) => {
                self.file = Some(file);
                Err(error)
            }
        }
    }

    pub fn sync(&mut self) -> Result<(), SessionError> {
        self.file.as_mut().map_or(Ok(()), SessionFile::sync)
    }

    /// Before it has to be waited for.
    pub fn sync_ahead(&self) {
        if let Some(sync) = self.file.as_ref().and_then(SessionFile::sync_ahead) {
            tokio::task::spawn_blocking(sync);
        }
    }

    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(SessionFile::path)
    }

    pub fn parent(&self) -> Option<&Path> {
        self.parent.as_deref()
    }

    pub fn id(&self) -> &str {
        self.file.as_ref().map_or(&self.planned, SessionFile::id)
    }

    pub fn start(&self, options: &Options) -> Start {
        Start {
            entries: self.entries,
            tokens: self.tokens.unwrap_or(0),
            limit: options.limit(),
        }
    }

    pub fn view(&self, options: &Options) -> SessionView {
        SessionView {
            id: self.id().to_owned(),
            path: self.path().map(Path::to_path_buf),
            parent: self.parent.clone(),
            cwd: options.cwd.clone(),
            title: self.title.clone(),
            model: options.model_name(),
            thinking: options.thinking,
            shown: self.shown.clone(),
            messages: Arc::clone(&self.messages),
            todos: self.todos.clone(),
            entries: self.entries,
            tokens: self.tokens.unwrap_or(0),
            window: options.model.window,
            cost: self.cost,
        }
    }
}
