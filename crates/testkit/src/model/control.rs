//! The settings a test can change while the server runs. They stay until changed again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::script::Conversation;

/// Sticky settings, merged key by key from `POST /_control`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Control {
    /// Reported input tokens that were not cached.
    pub input_tokens: u64,
    /// Reported tokens read from the cache.
    pub cache_read_input_tokens: u64,
    /// Reported tokens written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Reported output tokens.
    pub output_tokens: u64,
    /// Seconds every answer waits before it begins.
    pub delay: f64,
    /// Seconds the answer to a compaction request stalls.
    pub compact_sleep: f64,
    /// The answer to a compaction request waits until the test releases this name.
    pub compact_hold: Option<String>,
    /// The answer when no directive says otherwise.
    pub reply: Option<String>,
    /// The answer as these content blocks of the Anthropic protocol, whatever was asked; other
    /// protocols pass it over.
    pub blocks: Option<Vec<Value>>,
    /// What to do at prompts that hold a text.
    pub when: Vec<When>,
    /// Prompts without a directive are answered by a model that does what `sm` tells it.
    pub obey: bool,
    /// So many reported input tokens more for every message of a main conversation: a context
    /// that fills up by itself.
    pub grow: u64,
    /// The next requests that carry tools fail like this.
    pub fail_next: Option<FailNext>,
    /// Headers of every failure, such as `Retry-After`.
    pub fail_headers: Vec<(String, String)>,
    /// What every failure says in the place of its error.
    pub fail_error: Option<Value>,
    /// The next streams break like this.
    pub break_next: Option<BreakNext>,
}

/// Lines of the script for every prompt that holds a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct When {
    /// Anywhere in the prompt.
    pub has: String,
    /// As if the prompt ended with it.
    pub act: String,
}

/// A failure for the next `count` main requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailNext {
    /// HTTP status.
    pub status: u16,
    /// The provider's message, such as `prompt is too long: 210000 tokens > 200000 maximum`.
    pub message: String,
    /// How many requests fail.
    #[serde(default = "once")]
    pub count: u32,
}

/// The next `count` streams do not come to their end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakNext {
    /// How far they come.
    pub after: Reached,
    /// The provider's word and message for it; `None`: the connection is closed without a word.
    #[serde(default)]
    pub fault: Option<(String, String)>,
    /// How many streams break.
    #[serde(default = "once")]
    pub count: u32,
}

/// How far a stream comes that breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    /// Nothing of the answer was said.
    Beginning,
    /// The first part of it, and the stall behind it.
    FirstPart,
}

fn once() -> u32 {
    1
}

impl Default for Control {
    fn default() -> Self {
        Self {
            input_tokens: 1200,
            cache_read_input_tokens: 300,
            cache_creation_input_tokens: 50,
            output_tokens: 25,
            delay: 0.0,
            compact_sleep: 0.0,
            compact_hold: None,
            reply: None,
            blocks: None,
            when: Vec::new(),
            obey: false,
            grow: 0,
            fail_next: None,
            fail_headers: Vec::new(),
            fail_error: None,
            break_next: None,
        }
    }
}

impl Control {
    /// Everything the model is said to have read, as the OpenAI protocols count it.
    pub(super) fn openai_input(&self) -> u64 {
        self.input_tokens + self.cache_read_input_tokens
    }

    /// With what the messages of a main conversation add.
    pub(super) fn grown(&self, talk: &Conversation) -> Self {
        let mut grown = self.clone();
        if !talk.tools.is_empty() {
            grown.input_tokens += self.grow * talk.messages as u64;
        }
        grown
    }

    /// A prompt with the lines that the test gives to it.
    pub(super) fn told(&self, prompt: &str) -> String {
        let mut told = prompt.to_owned();
        for when in self.when.iter().filter(|w| prompt.contains(&w.has)) {
            told.push('\n');
            told.push_str(&when.act);
        }
        told
    }

    /// Takes over the keys of `patch`; a patch that does not fit changes nothing.
    pub(super) fn merge(&mut self, patch: &Value) -> Result<(), serde_json::Error> {
        let mut whole = serde_json::to_value(&*self)?;
        if let (Some(whole), Some(patch)) = (whole.as_object_mut(), patch.as_object()) {
            for (key, value) in patch {
                whole.insert(key.clone(), value.clone());
            }
        }
        *self = serde_json::from_value(whole)?;
        Ok(())
    }

    /// The break due for a stream, counted down.
    pub(super) fn take_break(&mut self) -> Option<BreakNext> {
        let due = self.break_next.as_mut().filter(|due| due.count > 0)?;
        due.count -= 1;
        Some(due.clone())
    }

    /// The failure due for a main request, counted down.
    pub(super) fn take_failure(&mut self) -> Option<FailNext> {
        let fail = self.fail_next.as_mut()?;
        if fail.count == 0 {
            return None;
        }
        fail.count -= 1;
        Some(fail.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_patch_changes_only_what_it_names() {
        let mut control = Control::default();
        control
            .merge(&json!({"input_tokens": 7, "reply": "hi"}))
            .unwrap();
        assert_eq!(control.input_tokens, 7);
        assert_eq!(control.reply.as_deref(), Some("hi"));
        assert_eq!(control.output_tokens, 25);
        assert!(control.merge(&json!({"input_tokens": "many"})).is_err());
        assert_eq!(control.input_tokens, 7);
    }

    #[test]
    fn a_failure_is_counted_down() {
        let mut control = Control::default();
        control
            .merge(&json!({"fail_next": {"status": 400, "message": "no"}}))
            .unwrap();
        assert_eq!(control.take_failure().map(|f| f.status), Some(400));
        assert_eq!(control.take_failure(), None);
    }
}
