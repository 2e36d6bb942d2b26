//! A session as it was opened, as entries to show.

use std::collections::HashMap;

use sm_llm::{Message, ToolCall};

use crate::host::SessionView;
use crate::session::Shown;

use super::tool::content;
use super::transcript::{Entry, answer_entries};

pub(crate) fn entries(view: &SessionView) -> Vec<Entry> {
    let mut calls: HashMap<&str, &ToolCall> = HashMap::new();
    let mut out = Vec::new();
    let text = |at: usize| match view.messages.get(at) {
        Some(Message::User(user)) => content(&user.content.blocks()),
        Some(Message::Assistant(answer)) => answer.text(),
        Some(Message::ToolResult(result)) => content(&result.content),
        None => String::new(),
    };
    for shown in &view.shown {
        match shown {
            Shown::Message { message, .. } => match view.messages.get(*message) {
                Some(Message::User(_)) => out.push(Entry::User(text(*message))),
                Some(Message::Assistant(answer)) => {
                    calls.extend(answer.tool_calls().map(|call| (call.id.as_str(), call)));
                    out.extend(answer_entries(answer));
                }
                Some(Message::ToolResult(result)) => {
                    let known = calls.get(result.tool_call_id.as_str()).copied();
                    let call = known.cloned().unwrap_or_else(|| ToolCall {
                        id: result.tool_call_id.clone(),
                        name: result.tool_name.clone(),
                        arguments: serde_json::Map::new(),
                    });
                    out.push(Entry::Tool {
                        call: Box::new(call),
                        result: Box::new(result.clone()),
                    });
                }
                None => {}
            },
            Shown::Unsent { answer, .. } => out.extend(answer_entries(answer)),
            Shown::Bash { execution, .. } => out.push(Entry::Shell {
                command: execution.command.clone(),
                output: execution.output.clone(),
            }),
            Shown::Custom { display: false, .. } => {}
            Shown::Custom {
                custom_type,
                message,
                ..
            } => {
                let text = text(*message);
                out.push(match custom_type.contains("handoff") {
                    true => Entry::Handoff(crate::handoff::unwrap(&text).unwrap_or(text)),
                    false => Entry::Summary(text),
                });
            }
            Shown::Summary { message, .. } => out.push(Entry::Summary(text(*message))),
        }
    }
    out
}
