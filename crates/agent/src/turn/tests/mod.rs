//! Turns as a person would tell them, one event and what it leads to after the other.

use sm_llm::{Assistant, Block, Content, Message, StopReason, ToolCall, ToolResult, Usage};

use super::*;
use crate::approval::{Approvals, Mode, Person};

mod any_order;
mod handing;
mod talking;
mod told;

struct Talk {
    turn: Turn,
    /// Everything that was appended, which a model must be able to be asked with.
    history: Vec<Message>,
    ticket: Ticket,
}

fn talk() -> Talk {
    let approvals = Approvals::new(Mode::Ask, Person::Here, "/repo".as_ref(), Vec::new());
    Talk {
        turn: Turn::new(approvals, Start::default()),
        history: Vec::new(),
        ticket: Ticket(0),
    }
}

impl Talk {
    fn limit(mut self, limit: u64) -> Self {
        self.turn.set_limit(Some(limit));
        self
    }

    fn unattended(mut self) -> Self {
        self.turn.approvals.person = Person::Nobody;
        self
    }

    /// A step, told in a few words.
    fn step(&mut self, event: Event) -> String {
        let effects = self.turn.step(event, 7);
        let mut told = Vec::new();
        for effect in effects {
            match &effect {
                Effect::Append(message) => self.history.push(message.clone()),
                Effect::Ask(ticket)
                | Effect::Generate { ticket, .. }
                | Effect::Commit { ticket, .. } => self.ticket = *ticket,
                Effect::Want { .. }
                | Effect::Keep(_)
                | Effect::Run(_)
                | Effect::Cancel
                | Effect::Queued { .. }
                | Effect::Returned(_)
                | Effect::Ended(_)
                | Effect::Edit(_)
                | Effect::Handoff { .. }
                | Effect::State(_) => {}
            }
            told.push(words(&effect));
        }
        if self.turn.is_idle() {
            assert_eq!(
                open_calls(&self.history),
                Vec::<String>::new(),
                "idle with open calls"
            );
        }
        told.join("; ")
    }

    fn check(&mut self, event: Event, expected: &str) -> &mut Self {
        let shown = format!("{event:?}");
        assert_eq!(self.step(event), expected, "after {shown}");
        self
    }

    fn prompt(&mut self, text: &str, expected: &str) -> &mut Self {
        self.check(Event::Prompt(text.into()), expected)
    }

    fn says(&mut self, text: &str, tokens: u64, expected: &str) -> &mut Self {
        let event = Event::Answered {
            ticket: self.ticket,
            answer: answer(text, &[], tokens),
            deeds: vec![],
        };
        self.check(event, expected)
    }

    fn calls(&mut self, calls: &[(&str, Deed)], tokens: u64, expected: &str) -> &mut Self {
        let names: Vec<&str> = calls.iter().map(|(name, _)| *name).collect();
        let event = Event::Answered {
            ticket: self.ticket,
            answer: answer("", &names, tokens),
            deeds: calls.iter().map(|(_, deed)| deed.clone()).collect(),
        };
        self.check(event, expected)
    }

    fn done(&mut self, id: &str, expected: &str) -> &mut Self {
        self.check(Event::ToolDone(result(id)), expected)
    }

    fn approve(&mut self, id: &str, answer: Answer, expected: &str) -> &mut Self {
        let call_id = id.to_owned();
        self.check(Event::Approved { call_id, answer }, expected)
    }

    fn fails(&mut self, why: Unanswered, expected: &str) -> &mut Self {
        let ticket = self.ticket;
        let partial = None;
        let event = Event::NotAnswered {
            ticket,
            why,
            partial,
        };
        self.check(event, expected)
    }

    fn handoff(&mut self, expected: &str) -> &mut Self {
        let (focus, edit) = (None, false);
        self.check(Event::HandoffAsked { focus, edit }, expected)
    }

    fn writes(&mut self, result: Result<&str, Unwritten>, expected: &str) -> &mut Self {
        let result = result.map(str::to_owned);
        let ticket = self.ticket;
        self.check(Event::Written { ticket, result }, expected)
    }

    fn commits(&mut self, result: Result<(), &str>, expected: &str) -> &mut Self {
        let result = match result {
            Ok(()) => Ok(Switched {
                session: "/new.jsonl".into(),
                document: "doc".into(),
                saved_path: None,
            }),
            Err(why) => Err(why.to_owned()),
        };
        if result.is_ok() {
            self.history.clear();
        }
        let ticket = self.ticket;
        self.check(Event::Committed { ticket, result }, expected)
    }
}

fn words(effect: &Effect) -> String {
    match effect {
        Effect::Append(Message::User(user)) => match &user.content {
            Content::Text(text) => format!("user {text}"),
            Content::Blocks(blocks) => match blocks.first() {
                Some(Block::Text { text, .. }) if text == CONTINUE => "user CONTINUE".into(),
                Some(Block::Text { text, .. }) => format!("user {text}"),
                Some(_) | None => "user ?".into(),
            },
        },
        Effect::Append(Message::Assistant(assistant)) => match assistant.stop_reason {
            StopReason::Aborted => format!("broken {}", assistant.text()),
            StopReason::Error => format!("failed {}", assistant.text()),
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => {
                let calls: Vec<&str> = assistant.tool_calls().map(|c| c.id.as_str()).collect();
                format!("assistant {}{}", assistant.text(), calls.join(","))
            }
        },
        Effect::Append(Message::ToolResult(result)) => {
            let text = match result.content.first() {
                Some(Block::Text { text, .. }) if text == INTERRUPTED => "interrupted",
                Some(Block::Text { text, .. }) => text.split('.').next().unwrap_or_default(),
                Some(_) | None => "?",
            };
            format!("result {} {text}", result.tool_call_id)
        }
        Effect::Ask(_) => "ask".into(),
        Effect::Want { call, wanted } => format!("want {}: {}", call.id, wanted.what),
        Effect::Keep(rule) => format!("keep {rule}"),
        Effect::Run(call) => format!("run {}", call.id),
        Effect::Cancel => "cancel".into(),
        Effect::Queued { queue, text } => format!("{queue:?} {text}"),
        Effect::Returned(texts) => format!("returned {}", texts.join(",")),
        Effect::Ended(End::Done) => "ended".into(),
        Effect::Ended(End::Interrupted) => "ended interrupted".into(),
        Effect::Ended(End::Failed(why)) => format!("ended: {why}"),
        Effect::Generate { automatic, .. } => format!("generate{}", auto(*automatic)),
        Effect::Edit(document) => format!("edit {document}"),
        Effect::Commit { document, .. } => format!("commit {document}"),
        Effect::Handoff { automatic, outcome } => outcome.text(*automatic),
        Effect::State(State::HandingOff { automatic, .. }) => {
            format!("HandingOff{}", auto(*automatic))
        }
        Effect::State(state) => format!("{state:?}"),
    }
}

fn auto(automatic: bool) -> &'static str {
    if automatic { " automatic" } else { "" }
}

fn answer(text: &str, calls: &[&str], tokens: u64) -> Assistant {
    let texts = Some(text).filter(|t| !t.is_empty()).map(Block::text);
    let calls = calls.iter().map(|id| {
        Block::ToolCall(ToolCall {
            id: (*id).to_owned(),
            name: "bash".into(),
            arguments: serde_json::Map::default(),
        })
    });
    Assistant {
        content: texts.into_iter().chain(calls).collect(),
        api: String::new(),
        provider: String::new(),
        model: String::new(),
        usage: Usage {
            total_tokens: tokens,
            ..Usage::default()
        },
        stop_reason: StopReason::Stop,
        error_message: None,
        response_id: None,
        timestamp: 0,
    }
}

fn result(id: &str) -> ToolResult {
    ToolResult {
        tool_call_id: id.into(),
        tool_name: "bash".into(),
        content: vec![Block::text("ok")],
        details: None,
        is_error: false,
        timestamp: 0,
    }
}

/// Calls that have no result where the next one speaks.
fn open_calls(history: &[Message]) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    for message in history {
        match message {
            Message::ToolResult(result) => open.retain(|id| *id != result.tool_call_id),
            Message::Assistant(assistant) => {
                open.extend(assistant.tool_calls().map(|call| call.id.clone()));
            }
            Message::User(_) => {}
        }
    }
    open
}

fn runs(command: &str) -> Deed {
    Deed::Runs(command.into())
}

fn failed(why: &str) -> Unanswered {
    Unanswered::Failed(why.into())
}
