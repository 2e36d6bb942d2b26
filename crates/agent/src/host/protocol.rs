//! What a front end can say to the agent, and what it is told.
//!
//! What an update shows is on disk already, but for what still streams in.

use std::path::PathBuf;
use std::sync::Arc;

use sm_llm::{Assistant, Delta, Message, Thinking, ToolCall, ToolResult};

use crate::approval::Wanted;
use crate::session::Shown;
use crate::tools::Todo;
use crate::turn::Goal;

/// Why there is no handoff while a model answers.
pub const WAIT_FOR_THE_ANSWER: &str =
    "Wait for the current response to finish or abort it before handing off.";

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// While the agent works it waits like a follow-up.
    Prompt(String),
    /// While the agent works: before the next request to the model. Idle: a prompt.
    Steer(String),
    /// After the turn. Idle: a prompt.
    FollowUp(String),
    /// What `sm` hands over to an agent that is a session of its daemon.
    Told {
        text: String,
        how: Told,
    },
    /// Ends the turn, or cancels the handoff that is under way.
    Interrupt,
    Approve {
        call_id: String,
        answer: Answer,
    },
    Handoff {
        focus: Option<String>,
        edit: bool,
    },
    /// A document takes the place of what was said, in the same session.
    Compact {
        focus: Option<String>,
    },
    /// Nothing if there is none under way.
    CancelHandoff,
    /// The answer to [`Update::EditWanted`]: the file is as the person wants it, or not wanted.
    Edited {
        keep: bool,
    },
    /// Back to the session that this one was handed over from.
    UndoHandoff,
    New,
    /// A new session that has this one as its parent. `sm`, which hands over, prompts it.
    Successor,
    Resume(PathBuf),
    /// Answered by [`Update::Prompts`].
    ListPrompts,
    /// A new session with everything before this entry, whose text goes into the editor.
    Fork(String),
    /// The session as a file that people read, or that other programs open.
    Export(Option<PathBuf>),
    /// `provider/id`.
    SetModel(String),
    SetThinking(Thinking),
    SetTitle(String),
    /// `!`: a command of the person's own; the model sees it and its output.
    Shell(String),
    Quit,
}

/// What becomes of a text of `sm`'s. It is never put into the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Begins a turn; while one is under way, the next.
    Prompt,
    /// Before the next request to the model.
    Steer,
    /// Ends the turn and begins the next one.
    Interrupt,
}

/// A person's word about one call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Once,
    /// Until the program ends.
    Always,
    /// And written to `agent.toml`.
    AlwaysKept,
    /// What to do instead, if the person says it.
    No(Option<String>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The first one.
    Started(SessionView),
    /// Another session, or the same one begun anew: the screen is built from it.
    Rebuilt(SessionView),
    UserMessage(String),
    /// Of the answer that comes in.
    Delta(Delta),
    /// The answer is whole (or was broken off); it takes the place of its deltas.
    Assistant(Assistant),
    ToolStarted(ToolCall),
    ToolOutput {
        call_id: String,
        text: String,
    },
    ToolDone(ToolResult),
    ApprovalWanted {
        call: ToolCall,
        wanted: Wanted,
    },
    /// A text that waits for its moment.
    Queued {
        queue: Queue,
        text: String,
    },
    /// Texts that waited and will not be said now: they belong back into the editor.
    Returned(Vec<String>),
    Usage {
        tokens: u64,
        window: u64,
        cost: f64,
    },
    State(State),
    /// A piece of the document as it is written.
    HandoffText(String),
    /// The document is in this file for the person to edit; answered by [`Command::Edited`].
    EditWanted(PathBuf),
    Handoff {
        automatic: bool,
        outcome: HandoffOutcome,
    },
    Title(String),
    Model {
        name: String,
        thinking: Thinking,
        window: u64,
    },
    Todos(Vec<Todo>),
    /// Where the session can be forked: entries, and what was said there.
    Prompts(Vec<(String, String)>),
    /// The output of `!`, also said to the model with the next prompt.
    ShellDone {
        command: String,
        output: String,
    },
    /// How the turn ended; the agent is idle, unless something waits.
    TurnEnded(crate::turn::End),
    Notice(String),
    Error(String),
    /// The last one.
    Ended,
}

/// What a text waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// The next request to the model.
    Steering,
    /// The end of the turn.
    FollowUp,
    /// The end of the handoff: it will be said in the new session.
    NextSession,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    #[default]
    Idle,
    Working,
    /// For a person's word.
    Waiting,
    /// `attempt` counts from 1.
    HandingOff {
        goal: Goal,
        automatic: bool,
        attempt: u32,
    },
}

/// How a handoff went. They are kept apart everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandoffOutcome {
    Done {
        document: String,
        saved_path: Option<PathBuf>,
        session: PathBuf,
    },
    Cancelled,
    /// The model returned no text.
    Empty,
    Failed(String),
    /// There is nothing to hand off yet.
    Nothing,
    /// The session goes on with a document in place of what was said.
    Compacted,
    /// And why it does not.
    NotCompacted(String),
    /// A reply is still streaming, or a handoff is already under way.
    Busy(&'static str),
}

/// A session as a screen is built from it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionView {
    pub id: String,
    /// `None` until there is something to keep.
    pub path: Option<PathBuf>,
    pub parent: Option<PathBuf>,
    pub cwd: PathBuf,
    pub title: Option<String>,
    /// `provider/id`.
    pub model: String,
    pub thinking: Thinking,
    /// What of it is shown, in its order; by their places in `messages`.
    pub shown: Vec<Shown>,
    /// What the model is sent.
    pub messages: Arc<Vec<Message>>,
    pub todos: Vec<Todo>,
    /// Entries of people, models and tools: fewer than two are nothing to hand off.
    pub entries: usize,
    pub tokens: u64,
    pub window: u64,
    pub cost: f64,
}

impl HandoffOutcome {
    /// What a person reads.
    pub fn text(&self, automatic: bool) -> String {
        match (self, automatic) {
            (Self::Done { .. }, false) => "New session started with handoff context".into(),
            (Self::Done { .. }, true) => "Auto-handoff completed".into(),
            (Self::Cancelled, false) => "Handoff cancelled".into(),
            (Self::Cancelled, true) => "Auto-handoff cancelled".into(),
            (Self::Empty, false) => "Handoff failed: the model returned no text".into(),
            (Self::Empty, true) => "Auto-handoff failed: the model returned no text".into(),
            (Self::Failed(why), false) => format!("Handoff failed: {why}"),
            (Self::Failed(why), true) => format!("Auto-handoff failed: {why}"),
            (Self::Nothing, _) => "Nothing to hand off (no messages yet)".into(),
            (Self::Compacted, _) => "The context is compacted".into(),
            (Self::NotCompacted(why), _) => why.clone(),
            (Self::Busy(why), _) => (*why).into(),
        }
    }
}

impl State {
    /// What stands beside the spinner.
    pub fn loader(self) -> Option<&'static str> {
        match self {
            Self::HandingOff {
                goal: Goal::Compaction,
                ..
            } => Some("Compacting… (esc to cancel)"),
            Self::HandingOff {
                automatic: false, ..
            } => Some("Generating handoff… (esc to cancel)"),
            Self::HandingOff {
                automatic: true, ..
            } => Some("Auto-handoff… (esc to cancel)"),
            Self::Working => Some("Working… (esc to cancel)"),
            Self::Idle | Self::Waiting => None,
        }
    }
}
