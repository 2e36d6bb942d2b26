//! Asking for the document: one request with the prefix of the turn before, and what may follow it.
//!
//! Nothing of a request is written to a log, and no call of a tool is carried out, whatever the
//! model does.

use std::time::{Duration, Instant};

use sm_llm::{
    Assistant, Block, Client, Delta, Failure, Limits, Message, Model, Request, Thinking, Tool,
    ToolChoice, Usage,
};
use tokio_util::sync::CancellationToken;

use super::cut::{cut, estimate};
use super::prompt::{AUTOMATIC_FOCUS, prompt, repair};
use super::quality::{flaws, missing, unfenced, unfit};
use crate::turn::Unwritten;

/// Everything that a live turn is asked with.
#[derive(Clone, Copy)]
pub struct Prefix<'a> {
    pub model: &'a Model,
    pub system: &'a str,
    pub tools: &'a [Tool],
    pub messages: &'a [Message],
    pub thinking: Thinking,
    pub max_output: u64,
    pub session: &'a str,
    /// How full the context is, if a model has said so.
    pub tokens: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct Order {
    pub focus: Option<String>,
    pub automatic: bool,
    /// Whether a document that lacks sections is asked for once more.
    pub repair: bool,
    /// For everything together.
    pub limits: Limits,
}

/// What is told while it is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// A request is made once more; counts from 2.
    Attempt {
        number: u32,
        wait: Duration,
        cause: String,
    },
    Text(String),
    /// The document is written anew.
    Again,
}

/// A document as the model wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub text: String,
    /// Messages that did not fit into the request.
    pub dropped: usize,
    pub usage: Usage,
}

/// A conversation that is refused as too long is cut to half so often.
const HALVINGS: u32 = 4;

/// The text for the new session: what had to be left out is said first.
impl Draft {
    pub fn document(&self) -> String {
        match self.dropped {
            0 => self.text.clone(),
            dropped => format!(
                "> The oldest {dropped} messages of the conversation did not fit into the model's window any more and are not covered by this document.\n\n{}",
                self.text
            ),
        }
    }
}

/// Asks for the document.
pub async fn generate(
    client: &Client,
    prefix: Prefix<'_>,
    order: &Order,
    cancel: &CancellationToken,
    on: &mut (dyn FnMut(Progress) + Send),
) -> Result<Draft, Unwritten> {
    let mut asking = Asking {
        client,
        prefix,
        until: Instant::now() + order.limits.deadline,
        limits: order.limits,
        choice: ToolChoice::None,
        usage: Usage::default(),
        cancel,
    };
    let focus = match order.automatic {
        true => Some(AUTOMATIC_FOCUS),
        false => order.focus.as_deref(),
    };
    let (mut messages, dropped, answer) = asking.first(focus, on).await?;
    let text = unfenced(&answer.text()).to_owned();
    if text.is_empty() {
        return Err(Unwritten::Empty);
    }
    let mut draft = Draft {
        text,
        dropped,
        usage: asking.usage,
    };
    let lacks = missing(&draft.text);
    let bad = unfit(&draft.text);
    if order.repair && !(lacks.is_empty() && bad.is_empty()) {
        on(Progress::Again);
        messages.push(said(&answer));
        messages.push(Message::user(repair(&lacks, &bad), 0));
        match asking.ask(&messages, on).await {
            Ok(answer) => {
                let again = answer.text();
                let again = unfenced(&again);
                if !again.is_empty() && flaws(again) < flaws(&draft.text) {
                    draft.text = again.to_owned();
                }
            }
            Err(Failure::Cancelled { .. }) => return Err(Unwritten::Cancelled),
            // The first document is better than none.
            Err(_) => {}
        }
        draft.usage = asking.usage;
    }
    Ok(draft)
}

/// What the model said, without the calls that nobody will answer.
fn said(answer: &Assistant) -> Message {
    let mut answer = answer.clone();
    answer
        .content
        .retain(|block| matches!(block, Block::Text { .. }));
    answer.stop_reason = sm_llm::StopReason::Stop;
    Message::Assistant(answer)
}

struct Asking<'a> {
    client: &'a Client,
    prefix: Prefix<'a>,
    until: Instant,
    limits: Limits,
    choice: ToolChoice,
    usage: Usage,
    cancel: &'a CancellationToken,
}

impl Asking<'_> {
    /// Asks with all of the history, or with what of it fits.
    async fn first(
        &mut self,
        focus: Option<&str>,
        on: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(Vec<Message>, usize, Assistant), Unwritten> {
        let mut budget = self.room(focus);
        let mut halvings = 0;
        loop {
            let left = budget.and_then(|budget| cut(self.prefix.messages, budget));
            let (mut messages, dropped) = match left {
                Some(left) => (left.messages, left.dropped),
                None => (self.prefix.messages.to_vec(), 0),
            };
            messages.push(Message::user(prompt(focus, dropped > 0), 0));
            match self.ask(&messages, on).await {
                Ok(answer) => return Ok((messages, dropped, answer)),
                Err(Failure::Cancelled { .. }) => return Err(Unwritten::Cancelled),
                Err(Failure::ContextTooLong { .. }) if halvings < HALVINGS => {
                    halvings += 1;
                    let size: u64 = messages.iter().map(estimate).sum();
                    budget = Some(budget.unwrap_or(size).min(size) / 2);
                }
                Err(failure) => return Err(Unwritten::Failed(failure.to_string())),
            }
        }
    }

    /// How much of the history may be sent; `None`: all of it, as far as anybody knows.
    fn room(&self, focus: Option<&str>) -> Option<u64> {
        let prefix = &self.prefix;
        let tools: usize = prefix
            .tools
            .iter()
            .map(|tool| tool.description.len() + tool.parameters.to_string().len())
            .sum();
        let fixed = estimate(&Message::user(prefix.system, 0))
            + u64::try_from(tools / 4).unwrap_or(0)
            + estimate(&Message::user(prompt(focus, true), 0));
        let window = prefix.model.window;
        // The answer needs room too.
        let most = window.saturating_sub(prefix.max_output.min(window / 4));
        let history: u64 = prefix.messages.iter().map(estimate).sum();
        let total = prefix.tokens.unwrap_or(0).max(match prefix.tokens {
            Some(_) => 0,
            None => history + fixed,
        });
        // A model's own count goes before an estimate: the cached beginning is to be kept.
        (total > most).then(|| most.saturating_sub(fixed))
    }

    /// One request, and once more where the provider does not take `tool_choice`.
    async fn ask(
        &mut self,
        messages: &[Message],
        on: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Assistant, Failure> {
        loop {
            let request = Request {
                system: self.prefix.system,
                messages,
                tools: self.prefix.tools,
                tool_choice: self.choice,
                thinking: self.prefix.thinking,
                max_output: self.prefix.max_output,
                session: self.prefix.session,
            };
            let limits = Limits {
                deadline: self.until.saturating_duration_since(Instant::now()),
                ..self.limits
            };
            let mut told = |delta: Delta| match delta {
                Delta::Attempt {
                    number,
                    wait,
                    cause,
                } => on(Progress::Attempt {
                    number,
                    wait,
                    cause,
                }),
                Delta::Text(text) => on(Progress::Text(text)),
                Delta::Started
                | Delta::Thinking(_)
                | Delta::ToolStarted { .. }
                | Delta::ToolArguments(_) => {}
            };
            let asked = self
                .client
                .ask(self.prefix.model, &request, limits, self.cancel, &mut told)
                .await;
            match asked {
                Err(Failure::ToolChoiceUnsupported { .. }) if self.choice == ToolChoice::None => {
                    self.choice = ToolChoice::Auto;
                }
                Ok(answer) => {
                    add(&mut self.usage, &answer.usage);
                    return Ok(answer);
                }
                Err(failure) => return Err(failure),
            }
        }
    }
}

fn add(sum: &mut Usage, more: &Usage) {
    sum.input += more.input;
    sum.output += more.output;
    sum.cache_read += more.cache_read;
    sum.cache_write += more.cache_write;
    sum.total_tokens += more.total_tokens;
    sum.cost.total += more.cost.total;
}
