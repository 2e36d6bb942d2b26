//! What is known of the running agent. Only kept here: what it means is decided in `session`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sm_channel::{ChannelName, HandoffId, Place, Put, SessionLine};
use sm_client::Paths;
use sm_client::process::Process;
use sm_core::monitor::How;
use sm_core::{AgentKind, Author, ConversationId, Trigger};
use sm_daemon::{Keeper, clock};

use super::folder::Folder;
use super::leaving::By;
use super::person::Replay;
use super::rotation::{Document, Moment, Rotation, Why};
use super::transcript::Follower;

/// What does not change while `sm run` runs.
pub struct Setup {
    pub agent: AgentKind,
    /// Program and fixed arguments.
    pub program: Vec<String>,
    /// What the configuration says, and what the person wrote behind the agent's name.
    pub args: Vec<String>,
    /// How many of them are the configuration's.
    pub fixed: usize,
    pub cwd: PathBuf,
    /// Where the agent keeps its own files.
    pub agent_home: Option<PathBuf>,
    pub hook_program: String,
    pub id: String,
    pub secret: String,
    pub folder: Folder,
    /// Of this instance of sm.
    pub paths: Paths,
    /// Where the terminal's output is written down.
    pub log: Option<PathBuf>,
    pub place: Place,
    pub channel: ChannelName,
    /// Where an agent's own scripts put what they hand over, if that is another channel.
    pub library: Option<ChannelName>,
    pub expiry: Option<Duration>,
    pub gate: sm_daemon::config::Gate,
    pub largest_document: u64,
    /// Whether the agent may run what is sm's own without asking a person.
    pub permissions: bool,
    /// How long the output of a program without hooks is quiet before it counts as idle.
    pub quiet: Duration,
}

/// A handoff on its way from one context to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handed {
    pub id: HandoffId,
    pub put: Put,
    pub inline: String,
    pub prompt: String,
    pub by: By,
}

/// What a context is left for, once that is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    pub why: Why,
    pub at: Moment,
    pub document: Document,
    pub background: Vec<String>,
}

pub struct State {
    pub rotation: Rotation,
    pub process: Option<Process>,
    pub conversation: Option<ConversationId>,
    pub follower: Option<Follower>,
    pub keeper: Option<Keeper>,
    pub generation: u32,
    /// When the process was started.
    pub begun: sm_core::Timestamp,
    /// It began with our own prompt, and that turn is not over.
    pub opening: bool,
    /// The document that it began from.
    pub from: Option<(String, By)>,
    pub(super) window: Option<u64>,
    /// The window within which the process that runs was set to compact, when it was started.
    pub(super) compact_window: Option<u64>,
    /// How the agent hands over, by its launch.
    pub(super) how: How,
    pub(super) tokens: Option<u64>,
    /// The answer that ends this turn is written down.
    pub(super) answered: bool,
    /// When the running turn began.
    pub turn_since: Option<sm_core::Timestamp>,
    /// The agent said that a person has ended it.
    pub person_exit: bool,
    /// The process was told to end: what it says of its end is not a person's doing.
    pub told_to_end: bool,
    /// When the process took its last prompt, and what it was.
    pub prompted: Option<(Instant, String)>,
    /// What is to be given to the process that runs.
    pub replay: Replay,
    /// Tries in a row that failed, and when the next is due.
    pub failures: u32,
    pub again_at: Option<Instant>,
    /// Why the context that runs could not be left, if it was tried.
    pub trouble: Option<String>,
    /// What the person is told before the first agent starts.
    pub notes: Vec<String>,
    /// For the process that runs, not told yet.
    pub pending: Option<Handed>,
    /// For the next process.
    pub prepared: Option<Handed>,
    /// What was handed over with `sm handoff` and has not run: by its id, who asked and the text.
    pub documents: HashMap<String, (Trigger, Author, String)>,
    pub asked: Option<String>,
    /// What people have said in the contexts before this one.
    pub earlier: Vec<String>,
    /// The line of `.current-session` that is ours.
    pub line: Option<SessionLine>,
    /// What `.context-status` says, as far as we know.
    pub(super) shown: Option<String>,
    /// What another program asked for, and is not for us.
    pub(super) ignored: Option<SessionLine>,
}

impl State {
    /// Before the first process.
    pub fn new(rotation: Rotation) -> Self {
        Self {
            rotation,
            process: None,
            conversation: None,
            follower: None,
            keeper: None,
            generation: 0, // until the first begins
            begun: clock::now(),
            opening: false,
            from: None,
            window: None,
            compact_window: None,
            how: How::default(),
            tokens: None,
            answered: false,
            turn_since: None,
            person_exit: false,
            told_to_end: false,
            prompted: None,
            replay: Replay::default(),
            failures: 0,
            again_at: None,
            trouble: None,
            notes: Vec::new(),
            pending: None,
            prepared: None,
            documents: HashMap::new(),
            asked: None,
            earlier: Vec::new(),
            line: None,
            shown: None,
            ignored: None,
        }
    }

    /// For a new process.
    pub fn begin_again(&mut self, handed: Option<Handed>) {
        self.begun = clock::now();
        self.opening = handed.is_some();
        self.process = None;
        self.conversation = None;
        self.follower = None;
        self.tokens = None;
        self.answered = false;
        self.turn_since = None;
        self.person_exit = false;
        self.told_to_end = false;
        self.prompted = None;
        self.failures = 0;
        self.again_at = None;
        self.trouble = None;
        self.documents.clear();
        self.asked = None;
        self.generation += 1;
        self.pending = handed;
    }
}
