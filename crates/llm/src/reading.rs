//! An answer read from its bytes, by protocol. Pure: the same bytes, however they arrive, give
//! the same answer.

use crate::answer::{Answer, Delta, Fault};
use crate::message::{Assistant, StopReason};
use crate::model::{Api, Model};
use crate::sse::{Event, Parser};
use crate::{anthropic, chat, responses};

/// The most bytes one answer may have.
const LARGEST: usize = 128 << 20;

/// How far an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    More,
    Done,
}

/// An answer being read.
#[derive(Debug)]
pub struct Reading {
    protocol: Protocol,
    parser: Parser,
    answer: Answer,
    bytes: usize,
    done: bool,
}

#[derive(Debug)]
enum Protocol {
    Anthropic(anthropic::Reader),
    Responses(responses::Reader),
    Chat(chat::Reader),
}

/// Why an answer can be read no further.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Broken {
    /// The provider's word for it; empty where it is not the provider who says so.
    pub kind: String,
    pub message: String,
}

impl Reading {
    pub fn new(api: Api) -> Self {
        let protocol = match api {
            Api::AnthropicMessages => Protocol::Anthropic(anthropic::Reader),
            Api::OpenAiResponses => Protocol::Responses(responses::Reader),
            Api::OpenAiCompletions => Protocol::Chat(chat::Reader::default()),
        };
        Self {
            protocol,
            parser: Parser::default(),
            answer: Answer::default(),
            bytes: 0,
            done: false,
        }
    }

    /// Takes the next bytes; `true` once the answer is whole.
    pub fn feed(&mut self, bytes: &[u8], on: &mut dyn FnMut(Delta)) -> Result<bool, Broken> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        let mut events = Vec::new();
        self.parser.feed(bytes, &mut events);
        self.take(&events, on)?;
        if !self.done && (self.parser.too_large() || self.bytes > LARGEST) {
            return Err(Broken {
                kind: String::new(),
                message: "the answer is larger than any answer may be".to_owned(),
            });
        }
        Ok(self.done)
    }

    /// The connection has ended: was the answer whole?
    pub fn end(&mut self, on: &mut dyn FnMut(Delta)) -> Result<(), Broken> {
        let mut events = Vec::new();
        self.parser.finish(&mut events);
        self.take(&events, on)?;
        // some servers say why the model stopped and then nothing more
        if self.done || (self.answer.stop.is_some() && matches!(self.protocol, Protocol::Chat(_))) {
            return Ok(());
        }
        Err(Broken {
            kind: String::new(),
            message: "the stream ended before the answer was whole".to_owned(),
        })
    }

    /// Whether anything of the answer has been told.
    pub fn told(&self) -> bool {
        self.answer.told
    }

    /// The whole answer.
    pub fn finish(mut self, model: &Model) -> Assistant {
        self.answer.all_calls_done();
        if self.answer.has_calls() && self.answer.stop == Some(StopReason::Stop) {
            self.answer.stop = Some(StopReason::ToolUse);
        }
        self.answer.into_assistant(model, None)
    }

    /// What there is of an answer that was cut off; `None` if that is nothing.
    pub fn partial(self, model: &Model, why: StopReason) -> Option<Assistant> {
        self.answer
            .told
            .then(|| self.answer.into_assistant(model, Some(why)))
    }

    fn take(&mut self, events: &[Event], on: &mut dyn FnMut(Delta)) -> Result<(), Broken> {
        for event in events {
            if self.done {
                break;
            }
            let answer = &mut self.answer;
            let step = match &mut self.protocol {
                Protocol::Anthropic(reader) => reader.event(event, answer, on),
                Protocol::Responses(reader) => reader.event(event, answer, on),
                Protocol::Chat(reader) => reader.event(event, answer, on),
            };
            match step {
                Ok(Step::More) => {}
                Ok(Step::Done) => self.done = true,
                Err(Fault { kind, message }) => return Err(Broken { kind, message }),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
