//! Claude's record of a conversation, read as it grows.
//!
//! A text that stands in the record was given to Claude, but a prompt interrupted before the model
//! answered stays in it although it was taken out of the conversation: only an assistant record
//! after it proves that the model got it.

use super::hooks::refused;
use super::settings::{MAILBOX_HEAD, MAILBOX_SUMMARY, prompt_text};
use crate::json::{seconds, short, time};
use crate::tool_call::{CALL_ID, describe};
use serde::Deserialize;
use serde_json::Value;
use sm_core::ids::{ConversationId, Timestamp};
use sm_core::limit::ResetSource;
use sm_core::lines::{Lines, MAX_LINE};
use sm_core::signal::{BreakReason, Came, Fact, UsageSample, UsageSource};

const STOP_FEEDBACK: &str = "Stop hook feedback:\n";
const INTERRUPTED: &str = "[Request interrupted by user";

/// A line longer than this that is cut is a message.
const LONG: usize = 1024;

/// Whether something was said in a conversation whose record begins like this. After `/clear` the
/// record has a line about the mode first and the command some 100 ms later: one that was killed in
/// between can neither be resumed nor begun under its name.
pub(crate) fn has_messages(record: &[u8]) -> bool {
    let mut lines = record
        .split(|b| *b == b'\n')
        .filter(|line| !line.is_empty());
    lines.any(|line| match serde_json::from_slice::<Record>(line) {
        Ok(record) => matches!(record.kind.as_str(), Some("user" | "assistant" | "system")),
        Err(_) => line.len() > LONG,
    })
}

/// Reads the record of one conversation from its beginning (or from any line start).
#[derive(Debug)]
pub struct Tail {
    conversation: ConversationId,
    lines: Lines,
    /// The end of the turn was told already; there are up to two marks for it.
    ended: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record {
    #[serde(rename = "type")]
    kind: Value,
    subtype: Value,
    #[serde(rename = "isSidechain")]
    sidechain: Value,
    #[serde(rename = "isMeta")]
    meta: Value,
    origin: Value,
    #[serde(rename = "isCompactSummary")]
    compact_summary: Value,
    #[serde(rename = "isApiErrorMessage")]
    api_error: Value,
    error: Value,
    #[serde(rename = "apiErrorStatus")]
    status: Value,
    #[serde(rename = "apiErrorParams")]
    error_params: Value,
    #[serde(rename = "sessionId")]
    session: Value,
    timestamp: Value,
    message: Message,
    attachment: Value,
    #[serde(rename = "hookErrors")]
    hook_errors: Value,
    #[serde(rename = "hookAdditionalContext")]
    hook_context: Value,
    #[serde(rename = "compactMetadata")]
    compact: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message {
    content: Value,
    usage: Value,
    model: Value,
}

/// Whether a line may tell something: most bytes are file snapshots and titles.
fn matters(line: &[u8]) -> bool {
    const KINDS: [&[u8]; 5] = [
        b"\"type\":\"api-request-blob\"",
        b"\"type\":\"user\"",
        b"\"type\":\"assistant\"",
        b"\"type\":\"attachment\"",
        b"\"type\":\"system\"",
    ];
    KINDS
        .iter()
        .any(|kind| line.windows(kind.len()).any(|part| part == *kind))
}

impl Tail {
    pub fn new(conversation: ConversationId) -> Self {
        Self {
            conversation,
            lines: Lines::new(MAX_LINE),
            ended: false,
        }
    }

    /// Lines that were too long to be read.
    pub fn skipped(&self) -> u64 {
        self.lines.skipped()
    }

    /// Takes the next bytes of the file; gives the facts of the lines that are now complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Fact> {
        let mut facts = Vec::new();
        let Self {
            conversation,
            lines,
            ended,
        } = self;
        lines.feed(bytes, |line| {
            if !matters(line) {
                return;
            }
            // A line that is no record (or one of another program version) tells nothing.
            if let Ok(record) = serde_json::from_slice::<Record>(line) {
                read(&record, conversation, ended, &mut facts);
            }
        });
        facts
    }
}

fn read(record: &Record, conversation: &ConversationId, ended: &mut bool, facts: &mut Vec<Fact>) {
    // A resumed conversation may start with copied records, a sub-agent writes elsewhere.
    let foreign = record
        .session
        .as_str()
        .is_some_and(|id| id != conversation.as_str());
    if foreign || record.sidechain == Value::Bool(true) {
        return;
    }
    let at = time(&record.timestamp);
    match record.kind.as_str() {
        Some("user") => user(record, at, ended, facts),
        Some("assistant") => assistant(record, at, ended, facts),
        Some("attachment") => attachment(&record.attachment, at, ended, facts),
        Some("system") => system(record, at, ended, facts),
        Some("api-request-blob") => facts.extend(sent(record)),
        _ => {}
    }
}

/// Characters of a label that are told.
const LABEL: usize = 80;

/// What stands before a text of the mailbox in what the model was really sent: whatever a version
/// puts there is told as it is.
fn sent(record: &Record) -> Option<Fact> {
    let whole = content_text(&record.message.content)?;
    let (before, from) = whole.rsplit_once(MAILBOX_HEAD)?;
    let lead = before.rsplit("<system-reminder>").next()?;
    let label = lead.lines().map(str::trim).find(|line| !line.is_empty())?;
    from.starts_with(MAILBOX_SUMMARY).then(|| Fact::Labelled {
        text: from.to_owned(),
        label: short(label, LABEL),
    })
}

fn user(record: &Record, at: Option<Timestamp>, ended: &mut bool, facts: &mut Vec<Fact>) {
    // The summary after a compaction was written by the model, not given to it.
    if record.compact_summary == Value::Bool(true) {
        return;
    }
    for block in blocks(&record.message.content, "tool_result") {
        if let Some(id) = block.get("tool_use_id").and_then(Value::as_str) {
            let id = short(id, CALL_ID);
            facts.push(Fact::ToolReturned { id });
        }
    }
    let Some(text) = content_text(&record.message.content) else {
        return;
    };
    if text.starts_with(INTERRUPTED) {
        facts.push(Fact::TurnEnded {
            broken: Some(BreakReason::Interrupted),
            at,
        });
        *ended = true;
        return;
    }
    let meta = record.meta == Value::Bool(true);
    let (text, came) = match text.strip_prefix(STOP_FEEDBACK) {
        Some(feedback) if meta => (feedback.to_owned(), Came::StopFeedback),
        _ if meta => return,
        _ => (prompt_text(&text).into_owned(), Came::Prompt),
    };
    let origin = record.origin.get("kind").and_then(Value::as_str);
    if let Some(kind) = origin.filter(|kind| *kind != "human") {
        let label = short(kind, LABEL);
        let text = text.clone();
        facts.push(Fact::Labelled { text, label });
    }
    *ended = false;
    facts.push(Fact::UserText { text, came, at });
}

/// The blocks of a kind in a message.
fn blocks<'a>(content: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let all = content.as_array().map_or(&[][..], Vec::as_slice);
    all.iter()
        .filter(move |block| block.get("type").and_then(Value::as_str) == Some(kind))
}

/// The text of a message: a string, or text blocks. `None` if it holds tool results only.
fn content_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(_) => {
            let texts = blocks(content, "text")
                .filter_map(|block| block.get("text").and_then(Value::as_str))
                .collect::<Vec<_>>();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}

fn assistant(record: &Record, at: Option<Timestamp>, ended: &mut bool, facts: &mut Vec<Fact>) {
    *ended = false;
    if record.api_error == Value::Bool(true) {
        let said = content_text(&record.message.content).unwrap_or_default();
        let broken = Some(broken_by(record, &said));
        facts.push(Fact::TurnEnded { broken, at });
        *ended = true;
        return;
    }
    // What was on the screen when a person interrupted; the model was not heard to the end.
    if record.message.model.as_str() == Some("<synthetic>") {
        return;
    }
    facts.push(Fact::Assistant { at });
    for block in blocks(&record.message.content, "tool_use") {
        let field = |name: &str| block.get(name).and_then(Value::as_str);
        let input = block.get("input").unwrap_or(&Value::Null);
        if let (Some(id), Some(tool)) = (field("id"), field("name"))
            && let Some(call) = describe(tool, input)
        {
            let id = short(id, CALL_ID);
            facts.push(Fact::ToolCalled { id, call });
        }
    }
    if let Some(sample) = usage(&record.message.usage, at) {
        facts.push(Fact::Usage(sample));
    }
}

fn broken_by(record: &Record, said: &str) -> BreakReason {
    let error = record.error.as_str().unwrap_or("unknown");
    let reason = refused(error, record.status.as_u64(), said);
    let BreakReason::Limit(mut limit) = reason else {
        return reason;
    };
    // Versions that write down when an account's limit ends go on by themselves then, unless the
    // user has switched that off.
    let resets_at = record.error_params.pointer("/rate_limit_info/resetsAt");
    if let Some(at) = resets_at.and_then(Value::as_i64).and_then(seconds) {
        limit = limit.resetting(Some(at), ResetSource::Transcript);
        limit.continues_itself = true;
    }
    BreakReason::Limit(limit)
}

/// Input tokens of the last request: the program's own measure of how full the context is.
fn usage(usage: &Value, at: Option<Timestamp>) -> Option<UsageSample> {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
    let tokens = count("input_tokens")
        .saturating_add(count("cache_creation_input_tokens"))
        .saturating_add(count("cache_read_input_tokens"));
    (tokens > 0).then(|| UsageSample {
        source: UsageSource::Transcript,
        used_percentage: None,
        tokens: Some(tokens),
        window: None,
        at: at.unwrap_or_default(),
    })
}

fn attachment(attachment: &Value, at: Option<Timestamp>, ended: &mut bool, facts: &mut Vec<Fact>) {
    match attachment.get("type").and_then(Value::as_str) {
        Some("hook_additional_context") => {
            let came = match attachment.get("hookEvent").and_then(Value::as_str) {
                Some("Stop") => Came::StopFeedback,
                _ => Came::HookContext,
            };
            let texts = match attachment.get("content") {
                Some(Value::Array(texts)) => texts.as_slice(),
                Some(text) => std::slice::from_ref(text),
                None => return,
            };
            for text in texts.iter().filter_map(Value::as_str) {
                *ended = false;
                facts.push(Fact::UserText {
                    text: text.to_owned(),
                    came,
                    at,
                });
            }
        }
        Some("queued_command") => {
            let prompt = attachment.get("prompt").and_then(content_text);
            if let Some(prompt) = prompt {
                facts.push(Fact::UserText {
                    text: prompt_text(&prompt).into_owned(),
                    came: Came::Queued,
                    at,
                });
            }
        }
        _ => {}
    }
}

fn system(record: &Record, at: Option<Timestamp>, ended: &mut bool, facts: &mut Vec<Fact>) {
    let empty = |value: &Value| value.as_array().is_none_or(Vec::is_empty);
    let over = match record.subtype.as_str() {
        Some("turn_duration") => true,
        // A hook that answered keeps the turn going.
        Some("stop_hook_summary") => empty(&record.hook_errors) && empty(&record.hook_context),
        Some("compact_boundary") => {
            let tokens = |key| record.compact.get(key).and_then(Value::as_u64);
            facts.push(Fact::CompactBoundary {
                before: tokens("preTokens"),
                after: tokens("postTokens"),
                at,
            });
            false
        }
        _ => false,
    };
    if over && !*ended {
        *ended = true;
        facts.push(Fact::TurnEnded { broken: None, at });
    }
}
