//! Handing over, as far as it touches the outside: the document asked for, edited, committed.

use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jiff::Timestamp;

use super::driver::Driver;
use super::live::Live;
use super::protocol::Update;
use super::tasks::Record;
use crate::config::Save;
use crate::handoff::{self, Carried, Order};
use crate::session::{NewEntry, SessionError};
use crate::turn::{Event, Goal, Switched, Ticket};

/// A document that a person has edited is read up to here.
const LARGEST: u64 = 4 << 20;

impl Driver {
    pub fn generate(&mut self, ticket: Ticket, focus: Option<String>, automatic: bool) {
        let order = Order {
            focus,
            automatic,
            repair: self.options.config.handoff.repair,
            limits: self.options.handoff_limits(),
        };
        let record = Record {
            path: self.live.path().map(Path::to_path_buf),
            todos: self.live.todos.clone(),
            budget: self.options.config.handoff.facts,
        };
        self.question().generate(
            ticket,
            order,
            record,
            self.cancel.clone(),
            self.results.clone(),
        );
        // While the model writes there is time for it.
        self.live.sync_ahead();
    }

    /// Lies in a file of its own, which nobody else can read, until the person is done with it.
    pub fn edit(&mut self, document: &str) {
        let path = self
            .options
            .outputs
            .join(format!("handoff-{}.md", self.live.id()));
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(&self.options.outputs)?;
            let _ = std::fs::remove_file(&path);
            let mut file = std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)?;
            file.write_all(document.as_bytes())
        };
        match write() {
            Ok(()) => {
                self.editing = Some(path.clone());
                self.tell(Update::EditWanted(path));
            }
            Err(error) => {
                self.tell(Update::Error(format!(
                    "the document cannot be edited: {error}"
                )));
                self.events.push_back(Event::Edited(None));
            }
        }
    }

    pub fn edited(&mut self, keep: bool) {
        let Some(path) = self.editing.take() else {
            return;
        };
        let mut text = String::new();
        let read = sm_client::files::open(&path)
            .and_then(|file| file.take(LARGEST).read_to_string(&mut text));
        let _ = std::fs::remove_file(&path);
        let text = match read {
            Ok(_) if keep => Some(text),
            Ok(_) => None,
            Err(error) => {
                self.tell(Update::Error(format!("{}: {error}", path.display())));
                None
            }
        };
        self.events.push_back(Event::Edited(text));
    }

    pub fn drop_edit(&mut self) {
        if let Some(path) = self.editing.take() {
            let _ = std::fs::remove_file(path);
        }
    }

    /// The order matters: what is there is flushed, jobs end, the new session is on disk, and only
    /// then it is talked in.
    pub fn commit(&mut self, ticket: Ticket, goal: Goal, document: &str, automatic: bool) {
        if !self.turn.wants(ticket) {
            return; // cancelled meanwhile
        }
        let result = match goal {
            Goal::NextSession => self.begin_next(document, automatic),
            Goal::Compaction => self.compact(document).map_err(|error| error.to_string()),
        };
        self.events.push_back(Event::Committed { ticket, result });
    }

    /// The document stands in the file, and then in the place of what was said.
    fn compact(&mut self, document: &str) -> Result<Switched, SessionError> {
        let entry = NewEntry::Compaction {
            summary: document.to_owned(),
            tokens_before: self.live.tokens.unwrap_or(0),
        };
        self.live.append(&entry, &self.options)?;
        self.live.sync()?;
        let cost = self.live.cost;
        self.live.reload()?;
        self.live.cost = cost;
        self.tell(Update::Rebuilt(self.live.view(&self.options)));
        self.usage();
        Ok(Switched {
            session: self.live.path().map(Path::to_path_buf).unwrap_or_default(),
            document: document.to_owned(),
            saved_path: None,
        })
    }

    /// A handoff of `sm`'s, which prompts what comes next with the document in it. The context is left
    /// in any case: without a file of its own the new session gets one with its first message.
    pub fn succeed(&mut self) {
        let parent = self.live.path().map(Path::to_path_buf);
        let next = match &parent {
            Some(_) => self.next(None).unwrap_or_else(|error| {
                self.tell(Update::Error(format!(
                    "what goes along could not be put into the new session: {error}"
                )));
                Live::after(parent)
            }),
            None => Live::after(parent),
        };
        self.stop_jobs();
        self.switch(next);
    }

    /// The session that comes after this one, on disk, with all that goes along.
    fn next(&mut self, document: Option<&str>) -> Result<Live, SessionError> {
        self.live.sync()?;
        self.stop_jobs();
        let carried = Carried {
            document: document.map(str::to_owned),
            provider: self.options.model.provider.clone(),
            model: self.options.model.id.clone(),
            thinking: self.options.thinking,
            title: self.live.title.clone(),
            todos: self.live.todos.clone(),
        };
        let file = handoff::commit(
            &self.options.sessions,
            &self.options.cwd,
            self.live.path(),
            &carried,
            Timestamp::now(),
        )?;
        let mut live = Live::made(file)?;
        live.cost = self.live.cost;
        Ok(live)
    }

    fn begin_next(&mut self, document: &str, automatic: bool) -> Result<Switched, String> {
        let live = self
            .next(Some(document))
            .map_err(|error| error.to_string())?;
        let session = live.path().map(Path::to_path_buf).unwrap_or_default();
        let wanted = match self.options.config.handoff.save {
            Save::Never => false,
            Save::Automatic => automatic,
            Save::All => true,
        };
        let saved_path = wanted.then(|| handoff::save(&session, document, Timestamp::now()));
        let saved_path = match saved_path {
            Some(Ok(path)) => Some(path),
            Some(Err(error)) => {
                self.tell(Update::Notice(format!(
                    "The handoff document could not be saved to a file of its own: {error}"
                )));
                None
            }
            None => None,
        };
        self.live = live;
        self.tell(Update::Rebuilt(self.live.view(&self.options)));
        self.usage();
        Ok(Switched {
            session,
            document: document.to_owned(),
            saved_path,
        })
    }
}
