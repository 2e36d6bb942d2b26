//! Where a session stands, and what of it is journaled.

use super::calls::ToolCalls;
use super::hosted::Host;
use super::seen::Seen;
use super::unrecorded::Unrecorded;
use crate::handoff::{Failure, Handoff, HandoffState};
use crate::ids::{
    ConversationId, Generation, MessageId, Process, SessionId, SessionName, Timestamp, TurnId,
};
use crate::limit::{Limited, UsageWindow};
use crate::message::{Sender, Way};
use crate::monitor::{Gauge, How};
use crate::profile::AgentKind;
use crate::signal::{PersonNeed, UsageSample};
use serde::{Deserialize, Serialize};

/// A session's state. `Exited` and `Lost` are left by a restore only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Starting,
    Working,
    Idle,
    Waiting(PersonNeed),
    Compacting,
    Exited,
    Lost,
}

impl State {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::Idle => "idle",
            Self::Waiting(_) => "waiting",
            Self::Compacting => "compacting",
            Self::Exited => "exited",
            Self::Lost => "lost",
        }
    }
    /// There is (or is about to be) an agent process.
    pub fn is_live(&self) -> bool {
        !matches!(self, Self::Exited | Self::Lost)
    }
}

/// The journaled part of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub id: SessionId,
    pub name: SessionName,
    pub agent: AgentKind,
    pub cwd: String,
    pub parent: Option<SessionId>,
    pub created_at: Timestamp,

    pub state: State,
    pub since: Timestamp,
    pub why: String,
    pub generation: Generation,
    pub compactions: u32,
    pub conversation: Option<ConversationId>,
    /// Conversations of older generations: their events are late.
    pub past: Vec<ConversationId>,
    pub transcript: Option<String>,
    pub turn: TurnId,
    pub turn_open: bool,
    /// When the latest turn began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_since: Option<Timestamp>,
    /// Who wants to know when this turn ends.
    pub asked: Vec<Sender>,
    pub launch: u32,
    pub process: Option<Process>,
    /// A kill was asked for: the end of the process is no surprise.
    pub ending: bool,
    /// It was lost when it was started: until its agent runs, it still is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_lost: bool,
    /// Its process then, which may outlive its terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_process: Option<Process>,
    pub exit_code: Option<i32>,
    pub usage: Option<UsageSample>,

    pub flight: Option<Flight>,
    pub next_flight: u64,
    /// Answers at the end of a turn in a row.
    pub stop_answers: u32,
    /// Ids of the last hook calls: the same call by socket and spool counts once.
    pub seen: Seen,
    /// Producer time of the newest hook call that was acted on, or of the launch: what was said
    /// before is of a process that has ended.
    pub last_signal: Timestamp,
    /// From when on the present conversation is known to be the agent's: what was said before by
    /// another one is late.
    #[serde(default)]
    pub context_since: Timestamp,
    /// A conversation nobody knows yet, to be confirmed by the agent's own status. It may have taken
    /// what is under way, so a crash must not make it forgotten.
    #[serde(default)]
    pub stranger: Option<ConversationId>,
    /// What the agent said still runs in the background when its last turn ended.
    #[serde(default)]
    pub background: Vec<String>,
    /// The session's latest handoff, open or ended.
    #[serde(default)]
    pub handoff: Option<Box<Handoff>>,
    /// When automatic handoffs were scheduled in the last hour.
    #[serde(default)]
    pub automatic: Vec<Timestamp>,
    /// How full the context is, by source, and which thresholds were said.
    #[serde(default)]
    pub gauge: Gauge,
    /// When the last sample of any source came.
    #[serde(default)]
    pub last_sample: Option<Timestamp>,
    /// How its agent hands over, by its last launch.
    #[serde(default, skip_serializing_if = "How::is_command")]
    pub how: How,
    /// Constraints that every context of the session is told, word for word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<String>,
    /// Its agent is not told how full its context is.
    #[serde(default)]
    pub unwatched: bool,
    /// How often a compaction of this context was held up.
    #[serde(default = "never_held_up")]
    pub held_up: ((Generation, u32), u32),
    /// The last compaction was counted by the report of an older script, before ours told of it.
    #[serde(default)]
    pub reported: bool,
    /// When the last compaction that was counted ended, as whoever told of it said.
    #[serde(default)]
    pub compacted_at: Timestamp,
    /// When the one that is under way began, as the agent said.
    #[serde(default)]
    pub compacting_since: Timestamp,
    /// How many were counted before they were read in the record.
    #[serde(default)]
    pub boundaries_due: u32,
    /// The last compaction that was read in the record: what is not newer was read before.
    #[serde(default)]
    pub boundary: Option<Timestamp>,
    /// A compaction may have taken place, and its proof was not seen: until the record has been read,
    /// at most until then, nothing is said of the context.
    #[serde(default)]
    pub maybe_compacted: Option<Timestamp>,
    /// The alert that becomes urgent if nobody has taken it by then.
    #[serde(default)]
    pub pressing: Option<(Timestamp, MessageId)>,
    /// Tokens before and after a compaction that people are still to be told of.
    #[serde(default)]
    pub compaction_told: Option<(Option<u64>, Option<u64>)>,
    /// Who owns its process and its terminal.
    #[serde(default)]
    pub host: Host,
    /// The context was begun with a prompt of its host's: until then others wait for its first turn.
    #[serde(default)]
    pub opening: Option<Timestamp>,
    /// What the agent's tools are doing, and which of their calls a person is asked about.
    #[serde(default, skip_serializing_if = "ToolCalls::is_empty")]
    pub calls: ToolCalls,
    /// A dialog stands there that nobody was told of, because it is not known what it asks: people
    /// are told as soon as that is known, and at this time at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog_untold: Option<Timestamp>,
    /// What was proven by a hook and is not in the agent's record yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unrecorded: Vec<Unrecorded>,
    /// The provider's limit that the last turn met, until something else has happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Box<Limited>>,
    /// With what error the last turn ended, until another begins: nobody goes on by itself after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_error: Option<String>,
    /// How much of what its provider allows is used, as it was told last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<UsageWindow>,
}

fn never_held_up() -> ((Generation, u32), u32) {
    ((Generation::FIRST, 0), 0)
}

impl Record {
    /// The handoff that the present context was begun from. A person's own clear, a fresh launch and
    /// a rollback break the lineage, and a prompt that only a hook has told of does not make it.
    pub fn lineage(&self) -> Option<&Handoff> {
        self.handoff.as_deref().filter(|h| {
            matches!(h.state, HandoffState::Prompted | HandoffState::Done)
                && self.unrecorded_wake().is_none()
                && h.to == Some(self.generation)
        })
    }

    /// Our copy of the document that the present context was begun with, also when it is about to be
    /// left.
    pub fn began_with(&self) -> Option<&str> {
        let leaving = self
            .handoff
            .as_deref()
            .filter(|h| h.from == self.generation);
        let copy = match self.lineage() {
            Some(led_here) => Some(led_here.copy.as_str()),
            None => leaving.and_then(|h| h.before.as_deref()),
        };
        copy.filter(|copy| !copy.is_empty())
    }

    /// The handoff that is under way, if there is one.
    pub fn open_handoff(&self) -> Option<&Handoff> {
        self.handoff.as_deref().filter(|h| h.state.is_open())
    }

    /// Whether a handoff starts the agent that has ended again, in the same terminal.
    pub fn is_relaunched(&self) -> bool {
        let between = self.state.is_live() && !self.ending && self.process.is_none();
        between && self.open_handoff().is_some_and(|h| h.course.relaunches())
    }

    /// The handoff that ended without a successor, until a person has gone on with the session: with
    /// a word to it, another handoff, or another context.
    pub fn failed_handoff(&self) -> Option<&Handoff> {
        self.handoff
            .as_deref()
            .filter(|h| h.state.has_failed() && h.failure == Failure::Untold)
            .filter(|_| self.state.is_live())
    }

    /// A clear was typed, and the new conversation is still to be found.
    pub(crate) fn awaits_context(&self) -> bool {
        self.open_handoff().is_some_and(|h| h.unproven)
    }

    /// Which conversation the agent is in has to be looked for: it has named none yet, or it may
    /// have begun another one.
    pub fn seeks_context(&self) -> bool {
        self.conversation.is_none() || self.cleared_since().is_some()
    }

    /// Since when the context may be another one: a clear was entered, and is not proven.
    pub(crate) fn cleared_since(&self) -> Option<Timestamp> {
        let open = self.open_handoff()?;
        open.entered_at
            .filter(|_| open.state == HandoffState::Prepared)
    }

    /// The state as others see it: between two contexts a session is neither idle nor at work.
    pub fn word(&self) -> &'static str {
        if self.limited().is_some() {
            return "limited";
        }
        match self.between_contexts() {
            Some(_) => "handing_off",
            None => self.state.word(),
        }
    }

    /// The limit for which the agent stands still.
    pub fn limited(&self) -> Option<&Limited> {
        let limit = self.limit.as_deref().filter(|limit| limit.holds());
        limit.filter(|_| self.state == State::Idle)
    }

    /// The handoff that stands in the place of the state.
    fn between_contexts(&self) -> Option<&Handoff> {
        match self.state {
            State::Waiting(_) | State::Exited | State::Lost => return None,
            State::Starting | State::Working | State::Idle | State::Compacting => {}
        }
        self.open_handoff().filter(|h| match h.state {
            HandoffState::Scheduled => self.state == State::Idle,
            HandoffState::Prepared | HandoffState::Cleared => true,
            HandoffState::Prompted
            | HandoffState::Done
            | HandoffState::Replaced
            | HandoffState::Cancelled
            | HandoffState::Abandoned
            | HandoffState::RolledBack
            | HandoffState::Refused => false,
        })
    }

    /// Since when the state is what [`Self::word`] says.
    pub fn word_since(&self) -> Timestamp {
        if let Some(limit) = self.limited() {
            return limit.since;
        }
        if let Some(between) = self.between_contexts() {
            let began = between.began_at.unwrap_or(between.created_at);
            // scheduled: the turn that it waited for, or one that came in between
            let waited = between.state == HandoffState::Scheduled;
            return if waited { began.max(self.since) } else { began };
        }
        // What the handoff stood in the place of may have begun before its end.
        let left = self.handoff.as_deref().and_then(|h| match h.state {
            HandoffState::Prompted | HandoffState::Done => h.prompted_at,
            HandoffState::Abandoned | HandoffState::RolledBack => h.done_at,
            HandoffState::Cancelled | HandoffState::Replaced if self.state == State::Idle => {
                h.done_at
            }
            HandoffState::Scheduled
            | HandoffState::Prepared
            | HandoffState::Cleared
            | HandoffState::Cancelled
            | HandoffState::Replaced
            | HandoffState::Refused => None,
        });
        match self.state {
            State::Waiting(_) | State::Exited | State::Lost => self.since,
            State::Starting | State::Working | State::Idle | State::Compacting => {
                left.map_or(self.since, |left| left.max(self.since))
            }
        }
    }

    /// Conversations whose records may hold the proof of what is under way, oldest first; the
    /// present one is the last. After a restart they are read in this order before any evidence.
    pub fn records_to_read(&self) -> Vec<ConversationId> {
        let from = self.flight.as_ref().and_then(|flight| {
            let theirs = flight.conversation.as_ref()?;
            self.past.iter().position(|past| past == theirs)
        });
        let old = from.map_or(&[][..], |from| &self.past[from..]);
        old.iter().chain(&self.conversation).cloned().collect()
    }
}

/// The one delivery a session has under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flight {
    pub no: u64,
    pub messages: Vec<MessageId>,
    pub way: Way,
    pub phase: Phase,
    pub generation: Generation,
    /// The conversation it took off in: a proof may be in its record, whatever came after.
    #[serde(default)]
    pub conversation: Option<ConversationId>,
    pub since: Timestamp,
    /// When the present phase began.
    pub phase_since: Timestamp,
    /// It was the answer to a Stop hook, and the agent has gone on since.
    #[serde(default)]
    pub followed: bool,
    /// Times Enter was ordered, and how many of these are known not to have been pressed.
    pub tries: u32,
    #[serde(default)]
    pub refused: u32,
    /// Nobody can find out whether it was pasted: it is finished, and nothing is claimed.
    #[serde(default)]
    pub unsure: bool,
    /// After its Enter the agent accepted a prompt that cannot be told for it: it is not given again.
    #[serde(default)]
    pub doubtful: bool,
    /// What stood in the composer of it was erased.
    #[serde(default)]
    pub erased: bool,
}

impl Flight {
    /// Enter was pressed, or nobody can say that it was not.
    pub(crate) fn may_be_entered(&self) -> bool {
        self.tries > self.refused
    }

    /// What it says may have been done: it was entered, or a driven agent was given it.
    pub(crate) fn may_be_done(&self) -> bool {
        let given = self.way == Way::Mailbox && self.phase == Phase::Answered;
        self.may_be_entered() || given
    }
}

/// How far a delivery has come. Every phase from `Writing` on may have touched the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Looking; nothing was touched.
    Checking,
    /// A person's draft is being put aside, for a handoff; it comes back by itself.
    Stashing,
    /// Escape was ordered, to end the turn for an urgent message.
    Interrupting,
    /// The paste was ordered.
    Writing,
    /// The paste is done; does the composer hold exactly our text?
    Verifying,
    /// Enter was ordered; waiting for the proof.
    Entering,
    /// A hook, the mailbox or the launch line has it; waiting for the proof.
    Answered,
    /// It is no longer wanted: what stands in the composer of it is taken back.
    Retracting,
}

impl Phase {
    pub fn touched_agent(self) -> bool {
        match self {
            Self::Checking | Self::Stashing | Self::Interrupting => false,
            Self::Writing
            | Self::Verifying
            | Self::Entering
            | Self::Answered
            | Self::Retracting => true,
        }
    }
}
