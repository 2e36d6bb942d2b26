//! The simulated agent program: what it holds and what the outside can read of it.
//!
//! Its behaviour over time is in `turn` (the life of a turn) and `terminal` (paste and keys).

use sm_core::AgentKind;
use sm_core::comparable;
use sm_core::ids::{ConversationId, Process, Timestamp};
use sm_core::signal::{
    Activity, Composer, Evidence, Fact, PersonNeed, ScreenMark, ScreenReading, StatusReading,
};
use std::collections::VecDeque;

/// Who put a text into the composer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    Person,
    Sm,
    /// The agent itself: a background task has ended.
    Task,
}

/// A text in the composer or waiting in the agent, piece by piece.
pub type Pieces = Vec<(Author, String)>;

pub fn text_of(pieces: &Pieces) -> String {
    pieces.iter().map(|(_, text)| text.as_str()).collect()
}

/// What the agent is doing. Everything but `Off` and `Idle` shows as busy, but for dialogs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Off,
    Booting,
    Idle,
    /// The hook of an accepted prompt runs.
    Prompt,
    Think,
    PreTool,
    /// Stands still until a person answers.
    Ask,
    Tool,
    PostTool,
    Stop,
    Compact,
    /// `/clear` is under way: the hook of the new context runs.
    Clear,
}

/// What an agent looks like whose clear takes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slow {
    /// It shows that it works.
    Busy,
    /// No composer is to be seen.
    Hidden,
    /// It looks idle and takes no Enter.
    Deaf,
}

/// What a turn will do.
#[derive(Debug, Clone, Default)]
pub struct TurnPlan {
    pub batches: VecDeque<Batch>,
    pub think_ms: i64,
    pub api_error: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub dialog: bool,
    pub tool_ms: i64,
    /// A sub-agent and a nested agent make their noise.
    pub noise: bool,
    /// The context is compacted before the next request.
    pub compact: bool,
    /// How often the tool is `sm handoff`.
    pub handoffs: u32,
}

/// One conversation and its record on disk.
#[derive(Debug, Clone)]
pub struct Conversation {
    pub id: ConversationId,
    /// What the model was given, in order.
    pub said: Vec<String>,
    /// Written to the file, up to `flushed` visible to readers.
    pub record: Vec<Fact>,
    pub flushed: usize,
    /// Prompts were accepted in it: it can be resumed.
    pub started: bool,
}

#[derive(Debug, Clone)]
pub struct Agent {
    pub kind: AgentKind,
    pub stage: Stage,
    /// Progress scheduled under an older epoch no longer happens.
    pub epoch: u64,
    pub launch: u32,
    pub process: Option<Process>,
    /// It has lost its terminal, and has still to write its record.
    pub ending: Option<Process>,
    pub conversations: Vec<Conversation>,
    pub current: usize,
    pub composer: Pieces,
    /// It shows something else than what stands in its composer.
    pub draws_otherwise: bool,
    /// Until then nothing that can be seen of it proves that it is idle.
    pub blurred_until: i64,
    /// How it shows that its clear takes long.
    pub slow: Option<Slow>,
    /// A draft that was put aside; the next submit brings it back.
    pub stash: Option<Pieces>,
    pub dialog: Option<PersonNeed>,
    /// Goes on after a first-run dialog was answered.
    pub plan: TurnPlan,
    pub plans: VecDeque<TurnPlan>,
    /// Given while it worked; becomes the next turn, each its own prompt.
    pub queued: VecDeque<Pieces>,
    pub queued_clear: bool,
    /// Texts of background hooks that wait for a moment.
    pub wakes: VecDeque<String>,
    /// Answers at the end of a turn in a row.
    pub stop_row: u32,
    /// In the conversation, but the model is asked with it only at the next prompt.
    pub carried: Vec<String>,
    pub launch_prompt: Option<String>,
    /// A hook of the user's own has blocked the prompt that the agent's hooks are told of.
    pub blocked: bool,
    /// What its status file says; it lags behind.
    pub shown: Option<StatusReading>,
    /// Changes with everything that scrolls.
    pub history: u64,
    pub compacting_in_turn: bool,
    /// Codex reports a new context with its first prompt.
    pub start_due: bool,
    /// And a compaction at rest as well.
    pub compact_due: bool,
    /// Turns begun, as the agent itself counts.
    pub turns: u64,
    /// Reports of the terminal's log program.
    pub outputs: u64,
    pub output_heard: u64,
}

impl Agent {
    pub fn new(kind: AgentKind) -> Self {
        Self {
            kind,
            stage: Stage::Off,
            epoch: 0,
            launch: 0,
            process: None,
            ending: None,
            conversations: Vec::new(),
            current: 0,
            composer: Vec::new(),
            draws_otherwise: false,
            blurred_until: 0,
            slow: None,
            stash: None,
            dialog: None,
            plan: TurnPlan::default(),
            plans: VecDeque::new(),
            queued: VecDeque::new(),
            queued_clear: false,
            wakes: VecDeque::new(),
            stop_row: 0,
            carried: Vec::new(),
            launch_prompt: None,
            blocked: false,
            shown: None,
            history: 0,
            compacting_in_turn: false,
            start_due: false,
            compact_due: false,
            turns: 0,
            outputs: 0,
            output_heard: 0,
        }
    }

    pub fn alive(&self) -> bool {
        self.stage != Stage::Off
    }
    pub fn conversation(&self) -> Option<&Conversation> {
        self.conversations.get(self.current)
    }
    pub fn conversation_id(&self) -> Option<ConversationId> {
        self.conversation().map(|c| c.id.clone())
    }
    /// Texts pressed in now wait or join a tool's result.
    pub fn busy(&self) -> bool {
        !matches!(self.stage, Stage::Off | Stage::Booting | Stage::Idle)
    }

    /// Enter is lost on it.
    pub fn deaf(&self) -> bool {
        matches!(self.stage, Stage::Booting | Stage::Off)
            || matches!(self.slow, Some(Slow::Hidden | Slow::Deaf))
    }

    /// What it truly does.
    pub fn activity(&self) -> Activity {
        match &self.dialog {
            Some(need) => Activity::Waiting(need.clone()),
            None => match self.stage {
                Stage::Off => Activity::Unknown,
                Stage::Clear if self.slow == Some(Slow::Busy) => Activity::Busy,
                Stage::Idle | Stage::Clear => Activity::Idle,
                Stage::Booting => Activity::Unknown,
                Stage::Prompt
                | Stage::Think
                | Stage::PreTool
                | Stage::Ask
                | Stage::Tool
                | Stage::PostTool
                | Stage::Stop
                | Stage::Compact => Activity::Busy,
            },
        }
    }

    /// What it would write into its status file now.
    pub fn status_now(&self, now: i64) -> Option<StatusReading> {
        if self.kind != AgentKind::Claude || self.stage == Stage::Booting {
            return None;
        }
        Some(StatusReading {
            process: self.process?,
            conversation: self.conversation_id(),
            activity: self.activity(),
            at: Some(Timestamp(now)),
        })
    }

    pub fn title(&self) -> Activity {
        match self.kind {
            AgentKind::Claude => match self.activity() {
                Activity::Busy => Activity::Busy,
                Activity::Idle | Activity::Waiting(_) => Activity::IdleOrWaiting,
                Activity::IdleOrWaiting | Activity::Unknown => Activity::Unknown,
            },
            AgentKind::Codex => self.activity(),
            AgentKind::Native | AgentKind::Generic => Activity::Unknown,
        }
    }

    pub fn mark(&self, now: i64) -> ScreenMark {
        let typed: usize = self.composer.iter().map(|(_, t)| t.chars().count()).sum();
        let spinner = if self.activity() == Activity::Busy {
            if (now / 900) % 2 == 0 {
                "⠂ work"
            } else {
                "⠐ work"
            }
        } else {
            "✳ work"
        };
        ScreenMark {
            cursor_x: u32::try_from(2 + typed % 75).unwrap_or(2),
            cursor_y: u32::try_from(typed / 75).unwrap_or(0)
                + if self.dialog.is_some() { 30 } else { 10 },
            title: spinner.to_string(),
            history: self.history,
            alternate: self.kind == AgentKind::Codex,
        }
    }

    pub fn screen(&self, ours: Option<&str>, now: i64) -> Option<ScreenReading> {
        if self.kind == AgentKind::Generic || self.stage == Stage::Off {
            return None;
        }
        let text = text_of(&self.composer);
        let hidden = self.stage == Stage::Booting || self.slow == Some(Slow::Hidden);
        let composer = if self.dialog.is_some() || hidden {
            Composer::Hidden
        } else if text.is_empty() && self.stash.is_some() {
            Composer::Stashed
        } else if text.is_empty() {
            Composer::Empty
        } else if !self.draws_otherwise && ours.is_some_and(|ours| comparable::same(ours, &text)) {
            Composer::Ours
        } else if self.stash.is_some() {
            Composer::DraftOverStash
        } else {
            Composer::Draft
        };
        Some(ScreenReading {
            composer,
            activity: self.activity(),
            mark: self.mark(now),
        })
    }

    pub fn evidence(&self, ours: Option<&str>, now: i64, transcript_read: bool) -> Evidence {
        Evidence {
            alive: Some(self.alive()),
            status: self.shown.clone().filter(|_| self.alive()),
            title: self.title(),
            screen: self.screen(ours, now),
            transcript_read,
            contexts_read: false,
            deaf: false,
        }
    }

    /// Writes a fact to the record of the current conversation; readers see it after a flush.
    pub fn write(&mut self, fact: Fact) {
        if let Some(conversation) = self.conversations.get_mut(self.current) {
            conversation.record.push(fact);
        }
    }
    pub fn has_unwritten(&self) -> bool {
        let mut records = self.conversations.iter();
        records.any(|c| c.flushed < c.record.len())
    }

    pub fn flush(&mut self) {
        self.ending = None;
        for conversation in &mut self.conversations {
            conversation.flushed = conversation.record.len();
        }
    }
}
