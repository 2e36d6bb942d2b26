//! A history that no longer fits, cut where a turn begins.

use sm_llm::{Block, Content, Message};

use super::wrap::unwrap;

/// What is left to ask with.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    pub messages: Vec<Message>,
    /// How many of the oldest were left out.
    pub dropped: usize,
}

/// A picture, whatever its size.
const IMAGE: u64 = 1_600;
/// What a message costs beside its text.
const FRAME: u64 = 8;

/// Roughly how many tokens a message takes: a little too many rather than too few.
pub fn estimate(message: &Message) -> u64 {
    let blocks = match message {
        Message::User(user) => match &user.content {
            Content::Text(text) => return FRAME + tokens(text.len()),
            Content::Blocks(blocks) => blocks,
        },
        Message::Assistant(assistant) => &assistant.content,
        Message::ToolResult(result) => &result.content,
    };
    let each = blocks.iter().map(|block| match block {
        Block::Text { text, .. } => tokens(text.len()),
        Block::Thinking {
            thinking,
            thinking_signature,
            ..
        } => tokens(thinking.len() + thinking_signature.as_ref().map_or(0, String::len)),
        Block::Image { .. } => IMAGE,
        Block::ToolCall(call) => {
            let arguments: usize = call
                .arguments
                .iter()
                .map(|(key, value)| key.len() + value.to_string().len() + 4)
                .sum();
            tokens(call.name.len() + arguments)
        }
        Block::Other => 0,
    });
    FRAME + each.sum::<u64>()
}

fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX / 1024) * 2 / 7 + 1
}

/// The newest part of the history that fits into so many tokens, beginning where a person spoke.
/// The document that this session itself began with stays. If not even the last turn fits, its
/// oldest steps are left out too, up to where the model spoke; `None`: all of it fits.
pub fn cut(messages: &[Message], budget: u64) -> Option<Cut> {
    let sizes: Vec<u64> = messages.iter().map(estimate).collect();
    if sizes.iter().sum::<u64>() <= budget {
        return None;
    }
    let kept = match messages.first() {
        Some(first) if is_handoff(first) && sizes.first().is_some_and(|s| *s <= budget / 2) => 1,
        Some(_) | None => 0,
    };
    let room = budget.saturating_sub(sizes.iter().take(kept).sum());
    // The first place from which on everything fits.
    let mut from = messages.len();
    let mut used = 0u64;
    while from > kept {
        let next = used.saturating_add(sizes.get(from - 1).copied().unwrap_or(0));
        if next > room {
            break;
        }
        used = next;
        from -= 1;
    }
    let is_user = |message: &Message| matches!(message, Message::User(_));
    let boundary = (from..messages.len()).find(|at| messages.get(*at).is_some_and(is_user));
    let last_turn = messages.iter().rposition(is_user);
    let mut left: Vec<Message> = messages.iter().take(kept).cloned().collect();
    let start = match boundary {
        Some(boundary) => boundary,
        None => {
            // Results without their call are refused: it begins where the model speaks.
            let spoke = (from..messages.len())
                .find(|at| matches!(messages.get(*at), Some(Message::Assistant(_))))
                .unwrap_or(messages.len());
            left.push(Message::user(
                beginning(last_turn.and_then(|at| messages.get(at))),
                0,
            ));
            spoke
        }
    };
    left.extend(messages.iter().skip(start).cloned());
    Some(Cut {
        dropped: start - kept,
        messages: left,
    })
}

/// What stands for the steps of a turn that were left out.
fn beginning(prompt: Option<&Message>) -> String {
    const MOST: usize = 4_000;
    let text = match prompt {
        Some(Message::User(user)) => text_of(&user.content),
        Some(Message::Assistant(_) | Message::ToolResult(_)) | None => String::new(),
    };
    let short: String = text.chars().take(MOST).collect();
    format!("[The first steps of this turn were left out. It began with:]\n{short}")
}

fn is_handoff(message: &Message) -> bool {
    match message {
        Message::User(user) => unwrap(&text_of(&user.content)).is_some(),
        Message::Assistant(_) | Message::ToolResult(_) => false,
    }
}

pub(crate) fn text_of(content: &Content) -> String {
    let blocks = match content {
        Content::Text(text) => return text.clone(),
        Content::Blocks(blocks) => blocks,
    };
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text { text, .. } => Some(text.as_str()),
            Block::Thinking { .. } | Block::Image { .. } | Block::ToolCall(_) | Block::Other => {
                None
            }
        })
        .collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::wrap::wrap;
    use super::*;
    use sm_llm::{Assistant, StopReason, ToolCall, ToolResult, Usage};

    fn user(name: &str, bytes: usize) -> Message {
        Message::user(format!("{name}{}", "x".repeat(bytes)), 0)
    }

    fn call(id: &str) -> Message {
        let call = ToolCall {
            id: id.into(),
            name: "bash".into(),
            arguments: serde_json::Map::default(),
        };
        Message::Assistant(Assistant {
            content: vec![Block::ToolCall(call)],
            api: String::new(),
            provider: String::new(),
            model: String::new(),
            usage: Usage::default(),
            stop_reason: StopReason::ToolUse,
            error_message: None,
            response_id: None,
            timestamp: 0,
        })
    }

    fn result(id: &str, bytes: usize) -> Message {
        Message::ToolResult(ToolResult {
            tool_call_id: id.into(),
            tool_name: "bash".into(),
            content: vec![Block::text("y".repeat(bytes))],
            details: None,
            is_error: false,
            timestamp: 0,
        })
    }

    fn turns() -> Vec<Message> {
        vec![
            user("one", 3_500),
            call("a"),
            result("a", 3_500),
            user("two", 3_500),
            call("b"),
            result("b", 3_500),
            user("three", 3_500),
            call("c"),
            result("c", 3_500),
        ]
    }

    #[test]
    fn what_fits_is_left_alone() {
        assert_eq!(cut(&turns(), 100_000), None);
        assert_eq!(cut(&[], 0), None);
    }

    #[test]
    fn it_is_cut_where_a_person_spoke() {
        for (budget, dropped) in [(6_000, 3), (4_100, 3), (4_000, 6), (2_100, 6)] {
            let cut = cut(&turns(), budget).unwrap();
            assert_eq!(cut.dropped, dropped, "{budget}");
            assert_eq!(cut.messages, turns()[dropped..], "{budget}");
            assert!(cut.messages.iter().map(estimate).sum::<u64>() <= budget);
        }
    }

    #[test]
    fn the_document_of_the_session_stays() {
        let mut messages = turns();
        messages.insert(0, Message::user(wrap("the document"), 0));
        let cut = cut(&messages, 2_500).unwrap();
        assert_eq!(cut.messages[0], messages[0]);
        assert_eq!(cut.messages[1..], messages[7..]);
        assert_eq!(cut.dropped, 6);
    }

    #[test]
    fn a_turn_that_is_too_long_begins_where_the_model_spoke() {
        let mut messages = vec![user("prompt ", 40_000)];
        for at in 0..10 {
            messages.extend([call(&at.to_string()), result(&at.to_string(), 3_500)]);
        }
        let cut = cut(&messages, 3_500).unwrap();
        let Message::User(first) = &cut.messages[0] else {
            panic!("a person speaks first");
        };
        assert!(text_of(&first.content).contains("prompt xxx"));
        assert!(matches!(cut.messages[1], Message::Assistant(_)));
        assert_eq!(cut.messages[1..], messages[cut.dropped..]);
    }

    #[test]
    fn nothing_may_fit_at_all() {
        let cut = cut(&turns(), 1).unwrap();
        assert_eq!(cut.dropped, 9);
        assert_eq!(cut.messages.len(), 1);
    }
}
