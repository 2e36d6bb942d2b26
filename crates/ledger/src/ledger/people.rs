//! What the people said: the goal, and every directive in its own words.
//!
//! It must never drop the first one nor the newest; those between go when there are too many.

use crate::record::At;
use crate::text;
use serde::{Deserialize, Serialize};
use sm_core::Timestamp;
use std::collections::VecDeque;

/// Bytes kept of one directive, and of all together.
const LONGEST: usize = 6_000;
const MOST_BYTES: usize = 256 * 1024;
const MOST: usize = 1_000;
/// How many of the oldest are not dropped.
pub(super) const FIRST: usize = 8;

/// One thing a person said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directive {
    /// Its beginning, as it was said.
    pub text: String,
    /// How long it was, in bytes.
    pub length: usize,
    pub line: u64,
    pub time: Option<Timestamp>,
    /// What the agent had asked, if this is a short answer.
    pub asked: Option<String>,
    /// Which context it was said in: 0 is the first.
    pub context: u32,
}

impl Directive {
    /// Whether the program rather than a person is heard in it: the end of a task, and the like.
    pub fn is_notice(&self) -> bool {
        let rest = self.text.strip_prefix('<');
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct People {
    pub said: VecDeque<Directive>,
    /// How many were dropped as there were too many.
    pub dropped: u64,
    bytes: usize,
}

impl People {
    pub fn say(&mut self, text: &str, at: At, context: u32, asked: Option<&str>) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let last = self.said.len();
        self.insert(last, text, at, context, asked);
    }

    /// What was said before some of what is here already. It stands with the line it came after.
    pub(super) fn say_between(&mut self, text: &str, at: At, context: u32) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let before = self.said.iter().rposition(|said| said.time <= at.time);
        let place = before.map_or(0, |before| before + 1);
        let line = before.and_then(|before| self.said.get(before));
        let line = line.map_or(0, |said| said.line);
        self.insert(place, text, At { line, ..at }, context, None);
    }

    fn insert(&mut self, place: usize, text: &str, at: At, context: u32, asked: Option<&str>) {
        let asked = asked.filter(|_| text.len() < 60).map(str::to_owned);
        let kept = text::head(text, LONGEST).to_owned();
        self.bytes = self.bytes.saturating_add(kept.len());
        self.said.insert(
            place,
            Directive {
                text: kept,
                length: text.len(),
                line: at.line,
                time: at.time,
                asked,
                context,
            },
        );
        while self.said.len() > MOST || (self.bytes > MOST_BYTES && self.said.len() > 2 * FIRST) {
            if let Some(gone) = self.said.remove(FIRST) {
                self.bytes = self.bytes.saturating_sub(gone.text.len());
                self.dropped = self.dropped.saturating_add(1);
            }
        }
    }
}
