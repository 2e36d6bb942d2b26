//! An answer that grows as its stream is read: blocks, usage, why it ended. Pure.
//!
//! What a stream says about a block that is not there is passed over.

use serde_json::{Map, Value};

use crate::message::{Assistant, Block, Cost, StopReason, ToolCall, Usage};
use crate::model::{Model, Prices};
use crate::text;

/// Under this name a call holds what the model wrote instead of its arguments.
pub(crate) const INVALID: &str = "_invalid_json";
/// How much of that is kept.
const INVALID_KEPT: usize = 2_000;

/// What is told while an answer comes in.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// The provider is asked once more, after `wait`.
    Attempt {
        /// Counts from 2: the first attempt is not told.
        number: u32,
        wait: std::time::Duration,
        cause: String,
    },
    /// The provider has begun to answer.
    Started,
    Text(String),
    Thinking(String),
    ToolStarted {
        id: String,
        name: String,
    },
    /// A piece of the JSON of the arguments of the tool that was started last.
    ToolArguments(String),
}

/// What goes wrong inside a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    /// The provider's word for it.
    pub kind: String,
    pub message: String,
}

/// A block under way, by the number the stream gives to it.
#[derive(Debug)]
struct Open {
    key: u64,
    block: Growing,
}

#[derive(Debug)]
enum Growing {
    Text {
        text: String,
        signature: Option<String>,
    },
    Thinking {
        thinking: String,
        signature: String,
        redacted: bool,
    },
    Call {
        id: String,
        name: String,
        json: String,
        whole: bool,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Answer {
    open: Vec<Open>,
    pub usage: Usage,
    pub stop: Option<StopReason>,
    /// Why the model refused or the provider cut it off.
    pub error: Option<String>,
    pub id: Option<String>,
    /// Whether anything was told that cannot be taken back.
    pub told: bool,
}

impl Answer {
    fn find(&mut self, key: u64) -> Option<&mut Growing> {
        let found = self.open.iter_mut().rev().find(|open| open.key == key);
        found.map(|open| &mut open.block)
    }

    fn tell(&mut self, on: &mut dyn FnMut(Delta), delta: Delta) {
        self.told = true;
        on(delta);
    }

    pub(crate) fn text(&mut self, key: u64, piece: &str, on: &mut dyn FnMut(Delta)) {
        match self.find(key) {
            Some(Growing::Text { text, .. }) => text.push_str(piece),
            Some(Growing::Thinking { .. } | Growing::Call { .. }) => return,
            None => self.open.push(Open {
                key,
                block: Growing::Text {
                    text: piece.to_owned(),
                    signature: None,
                },
            }),
        }
        if !piece.is_empty() {
            self.tell(on, Delta::Text(piece.to_owned()));
        }
    }

    pub(crate) fn text_signature(&mut self, key: u64, signed: String) {
        if let Some(Growing::Text { signature, .. }) = self.find(key) {
            *signature = Some(signed);
        }
    }

    pub(crate) fn thinking(&mut self, key: u64, piece: &str, on: &mut dyn FnMut(Delta)) {
        match self.find(key) {
            Some(Growing::Thinking { thinking, .. }) => thinking.push_str(piece),
            Some(Growing::Text { .. } | Growing::Call { .. }) => return,
            None => self.open.push(Open {
                key,
                block: Growing::Thinking {
                    thinking: piece.to_owned(),
                    signature: String::new(),
                    redacted: false,
                },
            }),
        }
        if !piece.is_empty() {
            self.tell(on, Delta::Thinking(piece.to_owned()));
        }
    }

    pub(crate) fn thinking_signature(&mut self, key: u64, piece: &str) {
        if let Some(Growing::Thinking { signature, .. }) = self.find(key) {
            signature.push_str(piece);
        }
    }

    /// Thoughts that only the provider can read.
    pub(crate) fn redacted(&mut self, key: u64, data: &str) {
        if self.find(key).is_none() {
            self.open.push(Open {
                key,
                block: Growing::Thinking {
                    thinking: String::new(),
                    signature: data.to_owned(),
                    redacted: true,
                },
            });
        }
    }

    pub(crate) fn call(&mut self, key: u64, id: &str, name: &str, on: &mut dyn FnMut(Delta)) {
        if self.find(key).is_some() {
            return;
        }
        let (id, name) = (id.to_owned(), name.to_owned());
        self.open.push(Open {
            key,
            block: Growing::Call {
                id: id.clone(),
                name: name.clone(),
                json: String::new(),
                whole: false,
            },
        });
        self.tell(on, Delta::ToolStarted { id, name });
    }

    pub(crate) fn arguments(&mut self, key: u64, piece: &str, on: &mut dyn FnMut(Delta)) {
        if let Some(Growing::Call { json, .. }) = self.find(key) {
            json.push_str(piece);
            if !piece.is_empty() {
                self.tell(on, Delta::ToolArguments(piece.to_owned()));
            }
        }
    }

    /// The arguments of a call are all there; `all` where the stream repeats them whole.
    pub(crate) fn call_done(&mut self, key: u64, all: Option<&str>) {
        if let Some(Growing::Call { json, whole, .. }) = self.find(key) {
            *whole = true;
            if let Some(all) = all
                && json.is_empty()
            {
                json.push_str(all);
            }
        }
    }

    pub(crate) fn all_calls_done(&mut self) {
        for open in &mut self.open {
            if let Growing::Call { whole, .. } = &mut open.block {
                *whole = true;
            }
        }
    }

    pub(crate) fn has_calls(&self) -> bool {
        let call = |open: &Open| matches!(open.block, Growing::Call { .. });
        self.open.iter().any(call)
    }

    pub(crate) fn has(&self, key: u64) -> bool {
        self.open.iter().any(|open| open.key == key)
    }

    /// The answer as it stands. One that was cut off keeps its texts; calls that are not whole
    /// are left out, since nobody may act on half of what was meant.
    pub(crate) fn into_assistant(self, model: &Model, cut: Option<StopReason>) -> Assistant {
        let mut content = Vec::with_capacity(self.open.len());
        for open in self.open {
            match open.block {
                Growing::Text { text, signature } => {
                    if !text.is_empty() {
                        content.push(Block::Text {
                            text,
                            text_signature: signature,
                        });
                    }
                }
                Growing::Thinking {
                    thinking,
                    signature,
                    redacted,
                } => {
                    if !thinking.is_empty() || !signature.is_empty() {
                        content.push(Block::Thinking {
                            thinking,
                            thinking_signature: (!signature.is_empty()).then_some(signature),
                            redacted: redacted.then_some(true),
                        });
                    }
                }
                Growing::Call {
                    id,
                    name,
                    json,
                    whole,
                } => {
                    if whole || cut.is_none() {
                        let arguments = arguments(&json);
                        content.push(Block::ToolCall(ToolCall {
                            id,
                            name,
                            arguments,
                        }));
                    }
                }
            }
        }
        let mut usage = self.usage;
        usage.total_tokens = [
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
        ]
        .into_iter()
        .fold(0, u64::saturating_add);
        usage.cost = cost(&usage, &model.prices);
        Assistant {
            content,
            api: model.api.name().to_owned(),
            provider: model.provider.clone(),
            model: model.id.clone(),
            usage,
            stop_reason: cut.or(self.stop).unwrap_or(StopReason::Stop),
            error_message: self.error,
            response_id: self.id,
            timestamp: 0,
        }
    }
}

/// The arguments a model wrote; nothing at all is none.
fn arguments(json: &str) -> Map<String, Value> {
    if json.trim().is_empty() {
        return Map::new();
    }
    text::json(json).unwrap_or_else(|| {
        let kept: String = json.chars().take(INVALID_KEPT).collect();
        Map::from_iter([(INVALID.to_owned(), Value::String(kept))])
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "no answer has so many tokens that a cent is lost"
)]
fn cost(usage: &Usage, prices: &Prices) -> Cost {
    let dollars = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
    let mut cost = Cost {
        input: dollars(usage.input, prices.input),
        output: dollars(usage.output, prices.output),
        cache_read: dollars(usage.cache_read, prices.cache_read),
        cache_write: dollars(usage.cache_write, prices.cache_write),
        total: 0.0,
    };
    cost.total = cost.input + cost.output + cost.cache_read + cost.cache_write;
    cost
}
