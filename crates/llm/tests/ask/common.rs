//! What the tests share.

use std::time::Duration;

use serde_json::json;
use sm_llm::{
    Api, Assistant, Client, Delta, Failure, Limits, Message, Model, Request, Secret, Thinking,
    Tool, ToolChoice, known,
};
use sm_testkit::model::ScriptedModel;
use tokio_util::sync::CancellationToken;

pub const APIS: [Api; 3] = [
    Api::AnthropicMessages,
    Api::OpenAiResponses,
    Api::OpenAiCompletions,
];

/// A key that must appear nowhere.
pub const KEY: &str = "sk-canary-0123456789abcdef";

/// Long enough that only what hangs runs into it.
pub const LONG: Duration = Duration::from_secs(30);

pub const LIMITS: Limits = Limits {
    deadline: LONG,
    idle: LONG,
    attempts: 3,
};

pub fn server() -> ScriptedModel {
    ScriptedModel::start().unwrap()
}

pub fn model(api: Api, url: &str) -> Model {
    Model {
        base_url: url.to_owned(),
        key: Some(Secret::new(KEY)),
        ..known::model("scripted", api, "claude-sonnet-4-5")
    }
}

pub fn tools() -> Vec<Tool> {
    vec![Tool {
        name: "bash".into(),
        description: "Runs a command.".into(),
        parameters: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
    }]
}

pub fn client() -> Client {
    Client::with_first_wait(Duration::from_millis(2))
}

/// Asks one prompt and gives the outcome with everything that was told.
pub async fn ask(model: &Model, prompt: &str) -> (Result<Assistant, Failure>, Vec<Delta>) {
    ask_with(model, prompt, LIMITS, &CancellationToken::new()).await
}

pub async fn ask_with(
    model: &Model,
    prompt: &str,
    limits: Limits,
    cancel: &CancellationToken,
) -> (Result<Assistant, Failure>, Vec<Delta>) {
    let messages = [Message::user(prompt, 0)];
    send(model, &messages, ToolChoice::Auto, limits, cancel).await
}

pub async fn ask_messages(
    model: &Model,
    messages: &[Message],
    tool_choice: ToolChoice,
) -> (Result<Assistant, Failure>, Vec<Delta>) {
    let cancel = CancellationToken::new();
    send(model, messages, tool_choice, LIMITS, &cancel).await
}

async fn send(
    model: &Model,
    messages: &[Message],
    tool_choice: ToolChoice,
    limits: Limits,
    cancel: &CancellationToken,
) -> (Result<Assistant, Failure>, Vec<Delta>) {
    let mut told = Vec::new();
    let on = &mut |delta| told.push(delta);
    let outcome = tell(model, messages, tool_choice, limits, cancel, on).await;
    (outcome, told)
}

/// Asks, and hands on what is told while it is told.
pub async fn tell(
    model: &Model,
    messages: &[Message],
    tool_choice: ToolChoice,
    limits: Limits,
    cancel: &CancellationToken,
    on: &mut (dyn FnMut(Delta) + Send),
) -> Result<Assistant, Failure> {
    let tools = tools();
    let request = Request {
        system: "You are a test.",
        messages,
        tools: &tools,
        tool_choice,
        thinking: Thinking::Off,
        max_output: 8_192,
        session: "s1",
    };
    client().ask(model, &request, limits, cancel, on).await
}

/// The numbers of the attempts that were told.
pub fn attempts(told: &[Delta]) -> Vec<u32> {
    told.iter()
        .filter_map(|delta| match delta {
            Delta::Attempt { number, .. } => Some(*number),
            Delta::Started
            | Delta::Text(_)
            | Delta::Thinking(_)
            | Delta::ToolStarted { .. }
            | Delta::ToolArguments(_) => None,
        })
        .collect()
}

/// The text that was told piece by piece.
pub fn text_of(told: &[Delta]) -> String {
    told.iter()
        .filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            Delta::Attempt { .. }
            | Delta::Started
            | Delta::Thinking(_)
            | Delta::ToolStarted { .. }
            | Delta::ToolArguments(_) => None,
        })
        .collect()
}
