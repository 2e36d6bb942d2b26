//! What a transcript tells, in words that are the same for every agent.
//!
//! Borrowed from the line they were read from: a gigabyte goes through without being kept.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sm_core::Timestamp;
use std::borrow::Cow;

/// Who said what stands where a person's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// A person typed it, or somebody sent it to the agent: it is to be followed.
    Person,
    /// A person typed it while the agent worked; it was shown between two steps of the turn.
    Queued,
    /// The program put it there: reminders, hook output, results of its own commands.
    Program,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    Done,
    Failed,
    /// A person said no, or somebody interrupted it: the record is the same.
    Refused,
    Unknown,
}

/// One thing that happened, in the order of the transcript.
#[derive(Debug, Clone)]
pub enum Record<'a> {
    /// A text to the agent.
    Said { by: Speaker, text: Cow<'a, str> },
    /// A text of the agent's.
    Spoke { text: Cow<'a, str> },
    /// The agent thought, and that is all the line tells.
    Thought,
    /// The agent calls a tool. `input` is JSON as it stood there.
    Called {
        id: Cow<'a, str>,
        tool: Cow<'a, str>,
        input: &'a RawValue,
    },
    /// What a tool gave back.
    Returned {
        id: Cow<'a, str>,
        text: Cow<'a, str>,
        outcome: Outcome,
    },
    /// Tokens in the context after a response.
    Used { tokens: u64 },
    /// The context before this is gone; `summary` is what the program put in its place.
    Compacted { summary: Option<Cow<'a, str>> },
    /// Somebody stopped the agent: a person, or sm to bring an urgent message.
    Interrupted,
    /// Where the work happens, as far as the transcript says it.
    Place {
        cwd: Option<Cow<'a, str>>,
        branch: Option<Cow<'a, str>>,
    },
    /// Something of a sub-agent: not in this context.
    Aside,
    /// Nothing that we know.
    Other,
}

/// Where and when a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct At {
    /// 1-based.
    pub line: u64,
    pub time: Option<Timestamp>,
}
