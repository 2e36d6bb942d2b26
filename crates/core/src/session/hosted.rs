//! A session whose agent somebody else starts, ends and rotates: `sm run`, in a person's own
//! terminal. What the host says about the process and the context is taken as it is; everything
//! else (hooks, record, screen, messages) is as in any other session.
//!
//! Nothing here starts or ends a process.

use super::{Session, State};
use crate::effect::EntryKind;
use crate::handoff::{Author, Carrier, Handoff, HandoffState, NewHandoff, Step, Trigger};
use crate::ids::{ConversationId, Generation, HandoffId, Process, Timestamp};
use serde::{Deserialize, Serialize};

/// Who owns the agent's process and terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    /// The daemon, in a tmux of its own.
    #[default]
    Tmux,
    /// `sm run`, in the terminal it was started in.
    Run,
}

/// How a hosted context began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// With nothing, or with what a person typed.
    Open,
    /// With a prompt of the host's own, from a handoff: it speaks first.
    Prompted,
}

/// What the host knows of the present context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosted {
    pub generation: Generation,
    /// None: between two processes.
    pub process: Option<Process>,
    pub conversation: Option<ConversationId>,
    pub transcript: Option<String>,
    /// When the process was started, by the host's clock: what was said before is of another one.
    pub at: Timestamp,
    pub opening: Opening,
    /// The document that the context was begun from.
    pub handoff: Option<HostedHandoff>,
}

/// A handoff that the host has made by itself: all that is known of it here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedHandoff {
    /// Where it lies; the name of the file is the handoff's id.
    pub document: String,
    pub trigger: Trigger,
    pub author: Author,
}

/// The host's own prompt is taken by then, and its first turn is under way for as long.
const FIRST_TURN: i64 = 120_000;

impl Session {
    /// The host tells how things are. The same again changes nothing.
    pub(super) fn hosted(&mut self, told: Hosted, now: Timestamp) {
        let new = self.rec.launch == 0;
        let ended = !self.rec.state.is_live();
        self.rec.host = Host::Run;
        if ended && told.at < self.rec.since && told.process.is_none() {
            return; // its last words, late
        }
        let other = told.process != self.rec.process;
        match told.process {
            Some(process) if new || ended || other => self.hosted_start(process, told, now),
            Some(_) => self.hosted_goes_on(told, now),
            None if new || other => self.hosted_between(now),
            None => {}
        }
    }

    fn hosted_start(&mut self, process: Process, told: Hosted, now: Timestamp) {
        let new = self.rec.launch == 0;
        self.begin_launch(Some(process), told.at, now);
        if new {
            self.rec.generation = told.generation;
            self.rec.conversation = told.conversation;
            self.rec.transcript = told.transcript;
            self.rec.context_since = told.at;
        } else if told.conversation.is_none() || told.conversation != self.rec.conversation {
            self.rec.context_since = self.rec.context_since.max(told.at);
            self.begin_generation(&told, now);
        }
        self.rec.opening = match told.opening {
            Opening::Open => None,
            Opening::Prompted => Some(now.plus(FIRST_TURN)),
        };
        let text = format!("launch {}, by sm run", self.rec.launch);
        self.record_line(EntryKind::Launch, text);
        self.become_state(State::Starting, "sm run has started the agent", now);
        self.journal();
        self.ask(now);
    }

    /// The same process. What its hooks have told is newer than what the host says, but for contexts
    /// that began while nobody listened.
    fn hosted_goes_on(&mut self, told: Hosted, now: Timestamp) {
        let named = told.conversation.is_some() && told.conversation != self.rec.conversation;
        if named && told.generation > self.rec.generation {
            self.begin_generation(&told, now);
            self.ask(now);
        } else if self.rec.conversation == told.conversation
            && self.rec.transcript.is_none()
            && told.transcript.is_some()
        {
            self.rec.transcript = told.transcript;
            self.journal();
        }
    }

    fn begin_generation(&mut self, told: &Hosted, now: Timestamp) {
        let handoff = told.handoff.as_ref();
        let mut handoff = handoff.and_then(|handed| self.handed_over(handed, told.at, now));
        let next = told.generation.0.max(self.rec.generation.next().0);
        self.rec.generation = Generation(next.saturating_sub(1));
        let (conversation, transcript) = (told.conversation.clone(), told.transcript.clone());
        self.new_generation(conversation, transcript, told.at, now);
        if let Some(handed) = &told.handoff {
            let text = format!("sm run has handed over {}", handed.document);
            self.record_line(EntryKind::Handoff, text);
        }
        if let Some(handoff) = &mut handoff {
            handoff.to = Some(self.rec.generation);
        }
        self.changes.handoffs.extend(handoff);
    }

    /// For the history: the host has done it, and nothing of it is to be done here. It has no folder
    /// of its own, and so nothing that could be removed with the session.
    fn handed_over(
        &self,
        handed: &HostedHandoff,
        at: Timestamp,
        now: Timestamp,
    ) -> Option<Handoff> {
        let name = handed.document.rsplit('/').next().unwrap_or_default();
        let id = HandoffId::new(name.strip_suffix(".md").unwrap_or(name)).ok()?;
        let new = NewHandoff {
            id,
            trigger: handed.trigger,
            author: handed.author,
            document: handed.document.clone(),
            copy: handed.document.clone(),
            folder: String::new(),
            note: String::new(),
            source: String::new(),
        };
        let usage = self.rec.usage.as_ref();
        Some(Handoff {
            state: HandoffState::Done,
            carrier: Carrier::Relaunch,
            steps: vec![Step {
                at: now,
                text: "made by sm run".to_owned(),
            }],
            tokens_before: usage.and_then(|usage| usage.tokens),
            done_at: Some(now),
            given: handed.document.clone(),
            ..self.rec.handoff_from(new, at.min(now))
        })
    }

    fn hosted_between(&mut self, now: Timestamp) {
        self.rec.process = None;
        self.gone_since = None;
        self.probe = None;
        if self.rec.state.is_live() {
            self.close_turn(" (its context is left)");
            self.become_state(State::Starting, "sm run begins a fresh context", now);
        }
        self.journal();
    }

    /// The host's own prompt has begun its turn.
    pub(super) fn opening_prompted(&mut self, now: Timestamp) {
        if self.rec.opening.is_some() {
            self.rec.opening = Some(now.plus(FIRST_TURN));
            self.journal();
        }
    }

    /// The first turn of a context that began with the host's prompt is over, or takes long.
    pub(super) fn opening_over(&mut self) {
        if self.rec.opening.take().is_some() {
            self.journal();
        }
    }

    pub(super) fn opening_overdue(&mut self, now: Timestamp) {
        if self.rec.opening.is_some_and(|until| until <= now) {
            self.opening_over();
        }
    }

    /// Why its terminal is gone, as far as one can say.
    pub(super) fn gone_with(&self) -> &'static str {
        match self.rec.host {
            Host::Tmux => "its terminal is gone (the tmux server or the machine was stopped)",
            Host::Run => "its sm run is gone (it was killed, or the machine was stopped)",
        }
    }
}
