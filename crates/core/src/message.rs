//! Messages and what is known about their delivery. A receipt never says more than was proven.

use crate::ids::{Generation, MessageId, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// How urgent a message is for the agent that gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Waits for the end of the turn.
    #[default]
    Sequential,
    /// Takes the next hook of a working agent.
    Important,
    /// Interrupts the turn.
    Urgent,
}

/// Who sent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Sender {
    Person,
    Session {
        id: SessionId,
        name: String,
    },
    /// `sm` itself (stop notices).
    Sm,
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Somebody says something to the agent.
    #[default]
    Said,
    /// A handoff's: clears the context. Proven by the new context.
    Clear,
    /// A handoff's: the first prompt of the new context.
    Wake,
    /// The monitor's: the context is filling up. Never worth a request of its own.
    Warning,
    /// The monitor's: the context is nearly full.
    Alert,
    /// A handoff's: back to the old conversation. Proven by that conversation.
    Back,
    /// The provider's limit is over: go on.
    Resume,
}

impl Purpose {
    /// A handoff's own commands and prompts.
    pub(crate) fn is_handoffs(self) -> bool {
        match self {
            Self::Clear | Self::Wake | Self::Back => true,
            Self::Said | Self::Warning | Self::Alert | Self::Resume => false,
        }
    }

    /// The monitor's own words.
    pub fn is_monitors(self) -> bool {
        match self {
            Self::Warning | Self::Alert => true,
            Self::Said | Self::Clear | Self::Wake | Self::Back | Self::Resume => false,
        }
    }
}

/// By which way a text is given to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The answer to a hook inside a turn.
    HookAnswer,
    /// The answer to the hook at the end of a turn.
    StopAnswer,
    /// A background hook that wakes the idle agent.
    Mailbox,
    /// Bracketed paste and Enter.
    Paste,
    /// An argument of the launch line.
    LaunchArgument,
}

/// What showed that the agent has the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// The agent's own hook reported the prompt.
    Hook,
    /// The agent's transcript holds it.
    Transcript,
    /// None is possible with this program: it was pasted, and output followed.
    OutputFollowed,
    /// None is possible with this program: it was pasted.
    None,
}

impl Proof {
    pub fn word(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Transcript => "transcript",
            Self::OutputFollowed => "output_followed",
            Self::None => "none",
        }
    }
}

/// Why a message is not being delivered right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    Starting,
    Working,
    /// Important: it joins the running turn.
    NextHook,
    WaitingForPerson,
    Draft,
    Stashed,
    ShellMode,
    /// The text would be run as a command if pasted, and no other way is open.
    LooksLikeCommand,
    UnknownScreen,
    Compacting,
    HandingOff,
    Lost,
    NotTaken,
    /// The agent does not take what is typed.
    NotReading,
    /// It was pasted, and the composer shows something else.
    NotShown,
    /// An agent that is driven over its socket has not called.
    NotReached,
    /// The agent took it and ended before it was in its record.
    NotRecorded,
    /// A draft is waited for a little.
    BesideDraft,
    /// Its provider answers nothing for a while.
    Limited,
}

impl Hold {
    /// Whether it ends only when a person does something about it. The session's own state is told
    /// by itself.
    pub fn needs_person(&self) -> bool {
        match self {
            Self::Draft
            | Self::Stashed
            | Self::ShellMode
            | Self::LooksLikeCommand
            | Self::UnknownScreen
            | Self::NotTaken
            | Self::NotShown
            | Self::NotReading => true,
            Self::WaitingForPerson
            | Self::Starting
            | Self::Working
            | Self::NextHook
            | Self::Compacting
            | Self::HandingOff
            | Self::Lost
            | Self::NotRecorded
            | Self::BesideDraft
            | Self::Limited
            // it calls again in a moment, or its end is noticed
            | Self::NotReached => false,
        }
    }

    /// What it means for the sender, and what would end it.
    pub fn explain(&self) -> &'static str {
        match self {
            Self::Starting => {
                "the agent is still starting; it goes in as soon as the agent is ready"
            }
            Self::Working => "the agent is working; it goes in when the turn ends",
            Self::NextHook => {
                "the agent is working; it joins the turn at the agent's next hook (after its present tool calls)"
            }
            Self::WaitingForPerson => {
                "the agent waits for a person's answer; nothing is typed into that dialog. Attach and answer it"
            }
            Self::Draft => {
                "somebody's half-typed text is in the composer; it goes in once that was sent or removed"
            }
            Self::Stashed => {
                "a stashed draft would be mixed with it; it goes in once the stash is gone"
            }
            Self::ShellMode => "the composer is in shell mode; it goes in once that mode is left",
            Self::LooksLikeCommand => {
                "pasted, it would be run as a command of the agent; it goes in through the agent's hooks after its next turn. Use --raw to run it as a command"
            }
            Self::UnknownScreen => {
                "the screen shows something unknown (a menu, a pager, copy mode); it goes in once the composer is back"
            }
            Self::Compacting => "the agent is compacting its context; it goes in afterwards",
            Self::HandingOff => "a handoff is under way; it goes to the successor",
            Self::Lost => {
                "the session is lost (its terminal is gone); run `sm restore` and it is delivered"
            }
            Self::NotTaken => {
                "it stands in the composer, but the agent does not take Enter; attach and look"
            }
            Self::NotReading => {
                "the agent does not read its terminal (its process is stopped); it goes in once it does"
            }
            Self::NotShown => {
                "it was pasted, but the composer shows something else, so Enter is not pressed; attach and look: send what stands there, or remove it"
            }
            Self::NotReached => {
                "the agent has not called sm for messages; it goes in as soon as it does"
            }
            Self::BesideDraft => {
                "somebody's half-typed text is in the composer; it waits a little for that to be sent, then it goes in beside it, which agents label as a notification"
            }
            Self::Limited => {
                "the agent's provider answers nothing for a while (a limit, or it cannot be reached); it goes in when that is over"
            }
            Self::NotRecorded => {
                "the agent took it and ended before it had written it down, so its conversation lacks it; run `sm restore` and it is given again"
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum MessageState {
    Queued,
    Held {
        why: Hold,
    },
    /// Given to the agent's terminal or hook; not yet proven.
    Written {
        way: Way,
        /// Why it gets no further, if it does not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Hold>,
    },
    /// Proven to be part of the conversation.
    Submitted {
        way: Way,
        proof: Proof,
    },
    /// The agent went on after it.
    Consumed {
        way: Way,
        proof: Proof,
    },
    Expired,
    Withdrawn,
    Failed {
        reason: String,
    },
}

impl MessageState {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Held { .. } => "held",
            Self::Written { .. } => "written",
            Self::Submitted { .. } => "submitted",
            Self::Consumed { .. } => "consumed",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Failed { .. } => "failed",
        }
    }
    /// Nothing more will happen to it.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Queued | Self::Held { .. } | Self::Written { .. } | Self::Submitted { .. } => {
                false
            }
            Self::Consumed { .. } | Self::Expired | Self::Withdrawn | Self::Failed { .. } => true,
        }
    }
    /// Not yet given to the agent: it may still be delivered, withdrawn or expire.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Queued | Self::Held { .. })
    }
    /// By which way it was proven to be the agent's, until the agent has gone on.
    pub fn submitted(&self) -> Option<(Way, Proof)> {
        match self {
            Self::Submitted { way, proof } => Some((*way, *proof)),
            Self::Queued
            | Self::Held { .. }
            | Self::Written { .. }
            | Self::Consumed { .. }
            | Self::Expired
            | Self::Withdrawn
            | Self::Failed { .. } => None,
        }
    }
    pub fn reached_agent(&self) -> bool {
        matches!(self, Self::Submitted { .. } | Self::Consumed { .. })
    }
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Held { why } => Some(why.explain().to_string()),
            Self::Failed { reason } => Some(reason.clone()),
            Self::Expired => Some("its time ran out before the agent could take it".into()),
            Self::Withdrawn => Some("it was withdrawn before the agent got it".into()),
            Self::Written { why, .. } => why.as_ref().map(|why| why.explain().to_string()),
            Self::Queued => None,
            Self::Submitted { proof, .. } | Self::Consumed { proof, .. } => match proof {
                Proof::Hook | Proof::Transcript => None,
                Proof::OutputFollowed => Some("pasted, Enter pressed, and output followed; this program gives no better proof".into()),
                Proof::None => Some("pasted and Enter pressed; this program gives no proof".into()),
            },
        }
    }
}

/// A message as its sender makes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewMessage {
    pub id: MessageId,
    pub from: Sender,
    pub text: String,
    pub mode: Mode,
    /// Typed as it is: a leading `/` is a command.
    pub raw: bool,
    /// The sender wants to know when the turn that took it has ended.
    pub notify: bool,
    pub expires_at: Option<Timestamp>,
}

impl NewMessage {
    /// One that `sm` itself says.
    pub(crate) fn of_sm(id: MessageId, text: String, mode: Mode) -> Self {
        Self {
            id,
            from: Sender::Sm,
            text,
            mode,
            raw: false,
            notify: false,
            expires_at: None,
        }
    }
}

/// A message in a session's queue. The text is written once to the store and never again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    #[serde(flatten)]
    pub meta: MessageMeta,
    #[serde(skip)]
    pub text: String,
}

impl Message {
    /// A message as it comes into a queue.
    pub(crate) fn accepted(new: NewMessage, purpose: Purpose, now: Timestamp) -> Self {
        Self {
            meta: MessageMeta {
                id: new.id,
                from: new.from,
                mode: new.mode,
                raw: new.raw,
                notify: new.notify,
                expires_at: new.expires_at,
                created_at: now,
                changed_at: now,
                attempts: 0,
                interrupted: false,
                may_have_interrupted: false,
                purpose,
                about: None,
                altered: None,
                label: None,
                taken: None,
                returned: false,
                state: MessageState::Queued,
            },
            text: new.text,
        }
    }
}

/// Everything about a message but its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageMeta {
    pub id: MessageId,
    pub from: Sender,
    pub mode: Mode,
    pub raw: bool,
    pub notify: bool,
    pub expires_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
    /// Deliveries that were begun and did not arrive.
    pub attempts: u32,
    /// An urgent message interrupts once.
    pub interrupted: bool,
    /// Escape was ordered for it at some time, whatever became of that: what the record tells of an
    /// interrupt may be of sm. Never taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_have_interrupted: bool,
    #[serde(default)]
    pub purpose: Purpose,
    /// The context it is about, and how often that had been compacted: it is dropped with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<(Generation, u32)>,
    /// What the agent made of its text, if it did not take it as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub altered: Option<String>,
    /// What the agent calls it before its model, where its record tells: not the user's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The context that was first proven to have it, and when that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<(Generation, Timestamp)>,
    /// An agent took it and ended before it had written it down: it is given again, once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub returned: bool,
    #[serde(flatten)]
    pub state: MessageState,
}

impl MessageMeta {
    /// What its sender has to know of how far it has come.
    pub fn reason(&self) -> Option<String> {
        let altered = self.altered.clone().filter(|_| self.state.reached_agent());
        let again = self.returned.then(|| {
            "given again: the agent that took it first ended before it had written it down"
                .to_owned()
        });
        let labelled = self.label.as_ref().filter(|_| self.state.reached_agent());
        let labelled =
            labelled.map(|label| format!("the agent shows it to its model labelled as {label:?}"));
        let parts: Vec<String> = [self.state.reason().or(again), altered, labelled]
            .into_iter()
            .flatten()
            .collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}
