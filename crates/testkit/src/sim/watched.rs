//! The contexts as they truly are, and what the session and others were told of them: what the checks
//! of the monitor go by.

use sm_core::ids::{MessageId, Timestamp};
use sm_core::monitor::Level;
use sm_core::signal::UsageSource;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub struct Watch {
    pub(super) fills: BTreeMap<usize, Fill>,
    /// Every sample that was ever made.
    pub(super) made: BTreeMap<(i64, &'static str, u64), (usize, usize)>,
    pub line_due: bool,
    /// Since when the daemon knows that the agent compacts.
    pub compacting_told: Option<i64>,
    /// How many compactions of a conversation the session was told of in a way that it must believe.
    pub(super) heard: BTreeMap<usize, usize>,
    /// Thresholds that were told, by what the session believed to be in.
    pub(super) fired: BTreeMap<(u32, u32), Vec<u8>>,
    pub(super) held_up: BTreeMap<(u32, u32), u32>,
    pub(super) last: Option<Last>,
    pub(super) alerts: BTreeMap<MessageId, Alert>,
    /// Messages about a compaction that the parent got.
    pub(super) parent_told: BTreeSet<MessageId>,
    pub(super) up_since: (u64, i64),
}

/// One conversation, as it truly is.
#[derive(Debug, Default)]
pub struct Fill {
    pub tokens: u64,
    /// The model has said something since it was begun or compacted.
    pub answered: bool,
    /// When it was compacted, and when the agent turned to it last.
    pub(super) ends: Vec<i64>,
    pub(super) entered: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Last {
    pub(super) stretch: (u32, u32),
    pub(super) conversation: Option<sm_core::ConversationId>,
    pub(super) at: Option<Timestamp>,
    pub(super) fired: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Alert {
    /// The conversation it is about, and how often that had been compacted.
    pub(super) about: (usize, usize),
    pub(super) text: String,
    pub(super) level: Level,
    pub(super) said: u32,
    pub(super) created: i64,
}

pub(super) fn word(source: UsageSource) -> &'static str {
    match source {
        UsageSource::StatusLine => "status line",
        UsageSource::Transcript => "transcript",
        UsageSource::Hook => "hook",
        UsageSource::Api => "api",
        UsageSource::Unproven => "unproven",
    }
}

impl Watch {
    pub fn fill(&mut self, conversation: usize) -> &mut Fill {
        self.fills.entry(conversation).or_default()
    }

    pub fn made(&mut self, conversation: usize, source: UsageSource, at: Timestamp, tokens: u64) {
        let fill = self.fill(conversation);
        fill.answered |= source == UsageSource::Transcript;
        let stretch = (conversation, fill.ends.len());
        self.made.insert((at.0, word(source), tokens), stretch);
    }

    pub fn entered(&mut self, conversation: usize, now: i64) {
        self.fill(conversation).entered = now;
    }

    /// What it held before.
    pub fn compacted(&mut self, conversation: usize, left: u64, now: i64) -> u64 {
        let fill = self.fill(conversation);
        fill.ends.push(now);
        fill.answered = false;
        std::mem::replace(&mut fill.tokens, left)
    }
}
