//! The one task: what comes in becomes an event of the machine, what the machine wants is done.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sm_llm::Tool;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use super::live::{Live, Opening};
use super::options::Options;
use super::protocol::{Command, Update};
use super::tasks::{Done, Place, Question, Results};
use crate::session::SessionError;
use crate::tools::{self, ToolOutcome};
use crate::turn::{Event, Turn};

/// How long the end of the program waits for what it has cancelled.
const FAREWELL: Duration = Duration::from_secs(6);

/// Starts agents.
pub struct Host;

pub(super) struct Driver {
    pub options: Options,
    pub live: Live,
    pub turn: Turn,
    pub updates: UnboundedSender<Update>,
    pub results: Results,
    /// Events that follow from what was done, before anything else comes in.
    pub events: VecDeque<Event>,
    /// Ends what is asked and what runs for the model.
    pub cancel: CancellationToken,
    /// Ends what a person has started beside it.
    pub jobs: CancellationToken,
    /// What the system prompt and tools are, the same for every request.
    pub system: Arc<str>,
    pub tools: Arc<[Tool]>,
    /// Where a document waits for a person's edits.
    pub editing: Option<std::path::PathBuf>,
    pub shells: usize,
    /// Commands of the person's that ended while a turn was under way.
    pub shells_done: Vec<(String, ToolOutcome)>,
}

impl Host {
    /// Begins with a session that is open or new. Needs a tokio runtime.
    pub fn start(
        options: Options,
        opening: Opening,
    ) -> (UnboundedSender<Command>, UnboundedReceiver<Update>) {
        let live = opening.into_live(&options);
        let (commands, incoming) = mpsc::unbounded_channel();
        let (updates, outgoing) = mpsc::unbounded_channel();
        let (results, done) = mpsc::unbounded_channel();
        let turn = Turn::new(options.approvals.clone(), live.start(&options));
        let driver = Driver {
            system: options.system.as_str().into(),
            tools: tools::definitions(options.managed()).into(),
            options,
            live,
            turn,
            updates,
            results,
            events: VecDeque::new(),
            cancel: CancellationToken::new(),
            jobs: CancellationToken::new(),
            editing: None,
            shells: 0,
            shells_done: Vec::new(),
        };
        tokio::spawn(driver.drive(incoming, done));
        (commands, outgoing)
    }
}

impl Driver {
    async fn drive(
        mut self,
        mut commands: UnboundedReceiver<Command>,
        mut done: UnboundedReceiver<Done>,
    ) {
        self.tell(Update::Started(self.live.view(&self.options)));
        loop {
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(Command::Quit) | None => break,
                    Some(command) => self.command(command),
                },
                Some(result) = done.recv() => self.done(result),
            }
            self.settle();
        }
        self.leave(&mut done).await;
    }

    /// Breaks off what is under way, so that the history is whole, and says goodbye.
    async fn leave(&mut self, done: &mut UnboundedReceiver<Done>) {
        self.events.push_back(Event::Interrupt);
        self.settle();
        if !self.turn.is_idle() {
            // A handoff that was cancelled may have let its turn go on.
            self.events.push_back(Event::Interrupt);
            self.settle();
        }
        self.jobs.cancel();
        let until = tokio::time::Instant::now() + FAREWELL;
        while !self.turn.is_idle() || self.shells > 0 {
            match tokio::time::timeout_at(until, done.recv()).await {
                Ok(Some(result)) => self.done(result),
                Ok(None) | Err(_) => break,
            }
            self.settle();
        }
        if let Err(error) = self.live.sync() {
            self.tell(Update::Error(error.to_string()));
        }
        self.drop_edit();
        // Whoever is told of the end may open the session at once.
        self.live = Live::empty();
        self.tell(Update::Ended);
    }

    /// Works off every event; what one leads to comes before what the outside says.
    pub fn settle(&mut self) {
        while let Some(event) = self.events.pop_front() {
            let effects = self.turn.step(event, now());
            for effect in effects {
                if let Err(error) = self.perform(effect) {
                    self.abandon(&error);
                    break;
                }
            }
        }
        if self.turn.is_idle() {
            // Between a call and its result there is no place for anything else.
            for (command, outcome) in std::mem::take(&mut self.shells_done) {
                self.keep_shell(command, &outcome);
            }
        }
    }

    /// What was said cannot be kept: it goes no further, and what the file has is what counts.
    fn abandon(&mut self, error: &SessionError) {
        self.stop_everything();
        self.events.clear();
        if let Err(error) = self.live.reload() {
            self.tell(Update::Error(error.to_string()));
        }
        let approvals = self.turn.approvals.clone();
        let ticket = self.turn.next_ticket();
        self.turn = Turn::new(approvals, self.live.start(&self.options)).numbered(ticket);
        let why = format!("the session cannot be written: {error}");
        self.tell(Update::Error(why.clone()));
        self.tell(Update::Rebuilt(self.live.view(&self.options)));
        self.tell(Update::State(self.turn.state()));
        self.tell(Update::TurnEnded(crate::turn::End::Failed(why)));
    }

    pub fn stop_everything(&mut self) {
        self.cancel.cancel();
        self.cancel = CancellationToken::new();
    }

    pub fn tell(&self, update: Update) {
        // A front end that is gone is told nothing; its commands end too, which ends this task.
        let _ = self.updates.send(update);
    }

    pub fn usage(&self) {
        self.tell(Update::Usage {
            tokens: self.live.tokens.unwrap_or(0),
            window: self.options.model.window,
            cost: self.live.cost,
        });
    }

    pub fn question(&self) -> Question {
        Question {
            client: Arc::clone(&self.options.client),
            model: self.options.model.clone(),
            system: Arc::clone(&self.system),
            tools: Arc::clone(&self.tools),
            messages: Arc::clone(&self.live.messages),
            thinking: self.options.thinking,
            max_output: self.options.max_output(),
            session: self.live.id().to_owned(),
            tokens: self.live.tokens,
            limits: self.options.limits(),
        }
    }

    pub fn place(&self) -> Place {
        Place {
            cwd: self.options.cwd.clone(),
            outputs: self.options.outputs.clone(),
            own: self.options.own_tools.clone(),
        }
    }

    /// Another session takes the place of the one that is talked in.
    pub fn switch(&mut self, live: Live) {
        self.live = live;
        self.turn.begin(self.live.start(&self.options));
        self.tell(Update::Rebuilt(self.live.view(&self.options)));
        self.usage();
    }
}

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
