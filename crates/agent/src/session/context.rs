//! From the entries of a branch to what the model is sent and what the screen shows. Pure.
//!
//! The words around summaries and commands are those of `pi`, so that a session continued by one
//! program and then by the other is the same conversation, byte for byte.

use sm_llm::{Assistant, Block, Content, Message, StopReason, ToolCall, ToolResult, User};

use super::entry::{BashExecution, EntryId};
use super::name;
use super::open::{Shown, SummaryKind};
use super::wire::{CustomMessageEntry, RawMessage, Spoken, SummaryEntry};

/// Collects the messages of one branch, in order.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    pub(super) messages: Vec<Message>,
    pub(super) shown: Vec<Shown>,
    /// Calls of the last answer, of which no result has been seen.
    open: Vec<ToolCall>,
}

impl Conversation {
    pub(super) fn message(&mut self, entry: &EntryId, raw: RawMessage) {
        match raw.spoken() {
            Spoken::Message(Message::Assistant(answer)) => self.answer(entry, answer),
            Spoken::Message(Message::ToolResult(result)) => self.result(entry, result),
            Spoken::Message(message @ Message::User(_)) => {
                self.close();
                self.show_sent(entry, message);
            }
            Spoken::Bash(bash) => self.bash(entry, bash),
            Spoken::Custom {
                custom_type,
                display,
                content,
                timestamp,
            } => self.custom(entry, custom_type, display, content, timestamp),
            Spoken::Nothing => {}
        }
    }

    pub(super) fn custom_message(&mut self, entry: &EntryId, raw: CustomMessageEntry) {
        let timestamp = name::millis(&raw.timestamp);
        let display = raw.display.unwrap_or(true);
        let content = raw.content.into_content();
        self.custom(entry, raw.custom_type, display, content, timestamp);
    }

    pub(super) fn summary(&mut self, entry: &EntryId, kind: SummaryKind, raw: &SummaryEntry) {
        let text = match kind {
            SummaryKind::Compaction => format!(
                "The conversation history before this point was compacted into the following summary:\n\n<summary>\n{}\n</summary>",
                raw.summary
            ),
            SummaryKind::Branch if raw.summary.is_empty() => return,
            SummaryKind::Branch => format!(
                "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{}</summary>",
                raw.summary
            ),
        };
        self.close();
        self.messages
            .push(Message::user(text, name::millis(&raw.timestamp)));
        self.shown.push(Shown::Summary {
            entry: entry.clone(),
            kind,
            message: self.messages.len() - 1,
        });
    }

    /// All of it. Calls that a crash left without a result get one that says so: no provider takes
    /// a call that nobody answered.
    pub(super) fn finish(mut self) -> (Vec<Message>, Vec<Shown>) {
        self.close();
        (self.messages, self.shown)
    }

    fn answer(&mut self, entry: &EntryId, answer: Assistant) {
        self.close();
        match answer.stop_reason {
            // Half an answer is shown and not sent again: its thoughts lack their signature, its
            // calls their end.
            StopReason::Error | StopReason::Aborted => self.shown.push(Shown::Unsent {
                entry: entry.clone(),
                answer: Box::new(answer),
            }),
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => {
                self.open = answer.tool_calls().cloned().collect();
                self.show_sent(entry, Message::Assistant(answer));
            }
        }
    }

    fn result(&mut self, entry: &EntryId, result: ToolResult) {
        let asked = self
            .open
            .iter()
            .position(|call| call.id == result.tool_call_id);
        if let Some(index) = asked {
            self.open.remove(index);
            self.show_sent(entry, Message::ToolResult(result));
        }
        // A result of a call that is not sent (half an answer's, or one before a compaction) would
        // be refused by every provider.
    }

    fn bash(&mut self, entry: &EntryId, bash: BashExecution) {
        let message = if bash.exclude_from_context == Some(true) {
            None
        } else {
            self.close();
            self.messages
                .push(Message::user(bash_text(&bash), bash.timestamp));
            Some(self.messages.len() - 1)
        };
        self.shown.push(Shown::Bash {
            entry: entry.clone(),
            execution: Box::new(bash),
            message,
        });
    }

    fn custom(
        &mut self,
        entry: &EntryId,
        custom_type: String,
        display: bool,
        content: Content,
        timestamp: u64,
    ) {
        let blocks = match content {
            Content::Text(text) => vec![Block::text(text)],
            Content::Blocks(blocks) => blocks,
        };
        self.close();
        self.messages.push(Message::User(User {
            content: Content::Blocks(blocks),
            timestamp,
        }));
        self.shown.push(Shown::Custom {
            entry: entry.clone(),
            custom_type,
            display,
            message: self.messages.len() - 1,
        });
    }

    fn show_sent(&mut self, entry: &EntryId, message: Message) {
        self.messages.push(message);
        self.shown.push(Shown::Message {
            entry: entry.clone(),
            message: self.messages.len() - 1,
        });
    }

    fn close(&mut self) {
        for call in self.open.drain(..) {
            self.messages.push(Message::ToolResult(ToolResult {
                tool_call_id: call.id,
                tool_name: call.name,
                content: vec![Block::text("No result provided")],
                details: None,
                is_error: true,
                timestamp: 0,
            }));
        }
    }
}

/// A command of the person's, as the model reads it.
fn bash_text(bash: &BashExecution) -> String {
    let mut text = format!("Ran `{}`\n", bash.command);
    if bash.output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.push_str(&format!("```\n{}\n```", bash.output));
    }
    match bash.exit_code {
        _ if bash.cancelled => text.push_str("\n\n(command cancelled)"),
        Some(code) if code != 0 => text.push_str(&format!("\n\nCommand exited with code {code}")),
        Some(_) | None => {}
    }
    if let (true, Some(path)) = (bash.truncated, &bash.full_output_path) {
        text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
    }
    text
}
