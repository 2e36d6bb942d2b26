//! A session as it was opened, as entries to show.

use std::collections::{HashMap, VecDeque};

use sm_llm::{Message, ToolCall};

use crate::host::SessionView;
use crate::session::Shown;

use super::tool::content;
use super::transcript::{Entry, answer_entries};

/// The last entries of a session, and how many came before them. Those are let go as they are
/// passed: a long session is not copied to show its end.
pub(crate) struct Last {
    pub earlier: usize,
    pub entries: VecDeque<Entry>,
    most: usize,
}

impl Last {
    fn push(&mut self, entry: Entry) {
        if self.entries.len() == self.most {
            self.entries.pop_front();
            self.earlier += 1;
        }
        self.entries.push_back(entry);
    }

    fn extend(&mut self, entries: impl IntoIterator<Item = Entry>) {
        entries.into_iter().for_each(|entry| self.push(entry));
    }
}

/// At least one is kept.
pub(crate) fn last_entries(view: &SessionView, most: usize) -> Last {
    let mut calls: HashMap<&str, &ToolCall> = HashMap::new();
    let mut out = Last {
        earlier: 0,
        entries: VecDeque::new(),
        most: most.max(1),
    };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::EntryId;

    fn of(count: usize) -> SessionView {
        SessionView {
            messages: (0..count)
                .map(|at| Message::user(format!("prompt {at}"), 0))
                .collect::<Vec<_>>()
                .into(),
            shown: (0..count)
                .map(|message| Shown::Message {
                    entry: EntryId::new("e"),
                    message,
                })
                .collect(),
            ..SessionView::default()
        }
    }

    #[test]
    fn a_long_session_is_shown_from_its_end_and_a_short_one_whole() {
        for (count, earlier, first) in [(0, 0, None), (3, 0, Some(0)), (5, 2, Some(2))] {
            let last = last_entries(&of(count), 3);
            assert_eq!(last.earlier, earlier, "{count}");
            assert_eq!(last.entries.len(), count - earlier);
            let text = match last.entries.front() {
                Some(Entry::User(text)) => Some(text.clone()),
                Some(_) | None => None,
            };
            assert_eq!(text, first.map(|at| format!("prompt {at}")));
        }
    }
}
