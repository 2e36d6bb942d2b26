//! What refusals mean.

use super::*;
use crate::model::{Api, Secret};
use serde_json::json;

fn model() -> Model {
    Model {
        key: Some(Secret::new("sk-test-0123456789-abcd")),
        ..known::model("some", Api::OpenAiCompletions, "m")
    }
}

fn asked<'a>(model: &'a Model, choice: ToolChoice) -> Asked<'a> {
    Asked {
        model,
        choice,
        body: br#"{"messages":[{"role":"user","content":"a prompt that is long enough to be known again"}]}"#,
    }
}

/// The failure's name and text.
fn check(status: u16, answer: &str) -> String {
    let model = model();
    let failure = asked(&model, ToolChoice::None).status(status, answer.as_bytes(), None);
    let debug = format!("{failure:?}");
    let name = debug.split([' ', '(']).next().unwrap_or_default();
    format!("{name} | {failure}")
}

#[test]
fn errors_are_understood_in_the_shapes_of_many_servers() {
    for (status, answer, expected) in [
        // Anthropic
        (
            529,
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            "Overloaded | some cannot answer now (529): Overloaded",
        ),
        (
            404,
            json!({"type": "error", "error": {"type": "not_found_error", "message": "model: m"}}),
            "ModelUnknown | some has no model m: model: m",
        ),
        // OpenAI
        (
            404,
            json!({"error": {"message": "The model `m` does not exist", "type": "invalid_request_error", "code": "model_not_found"}}),
            "ModelUnknown | some has no model m: The model `m` does not exist",
        ),
        (
            429,
            json!({"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}}),
            "QuotaExhausted | the credit at some is used up: You exceeded your current quota",
        ),
        (
            429,
            json!({"error": {"message": "Rate limit reached: maximum context of tokens per minute", "code": "rate_limit_exceeded"}}),
            "RateLimited | some limits the rate of requests: try again in a while: Rate limit reached: maximum context of tokens per minute",
        ),
        (
            400,
            json!({"error": {"message": "Your input exceeds it", "code": "context_length_exceeded"}}),
            "ContextTooLong | the conversation is longer than the context of m: Your input exceeds it",
        ),
        (
            401,
            json!({"error": {"message": "Incorrect API key provided: sk-test-********abcd."}}),
            "Unauthorized | some does not accept the key: Incorrect API key provided: …********….",
        ),
        // llama.cpp
        (
            400,
            json!({"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error"}}),
            "ContextTooLong | the conversation is longer than the context of m: the request exceeds the available context size",
        ),
        (
            503,
            json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
            "Overloaded | some cannot answer now (503): Loading model",
        ),
        // Ollama
        (
            404,
            json!({"error": {"message": "model 'm' not found", "type": "api_error"}}),
            "ModelUnknown | some has no model m: model 'm' not found",
        ),
        (
            404,
            json!({"error": "model \"m\" not found, try pulling it first"}),
            "ModelUnknown | some has no model m: model \"m\" not found, try pulling it first",
        ),
        // vLLM, FastAPI
        (
            422,
            json!({"detail": [{"loc": ["body"], "msg": "Field required", "input": {"messages": "secret"}}]}),
            "Status | some refuses the request (422): Field required",
        ),
        (
            400,
            json!({"object": "error", "message": "\"none\" tool choice is not supported", "code": 400}),
            "ToolChoiceUnsupported | some takes no tool_choice",
        ),
        (
            501,
            json!([{"error": {"message": "tool_choice unsupported"}}]),
            "ToolChoiceUnsupported | some takes no tool_choice",
        ),
        (
            402,
            json!({"error": {"message": "Insufficient credits"}}),
            "QuotaExhausted | the credit at some is used up: Insufficient credits",
        ),
        (302, json!({}), "Status | some refuses the request (302)"),
    ] {
        assert_eq!(check(status, &answer.to_string()), expected);
    }
    assert_eq!(
        check(404, "404 page not found"),
        "Status | some refuses the request (404): 404 page not found"
    );
    assert_eq!(
        check(502, "<html><h1>Bad Gateway</h1></html>"),
        "Overloaded | some cannot answer now (502)"
    );
}

#[test]
fn faults_inside_a_stream_are_understood_by_their_word() {
    let model = model();
    let asked = asked(&model, ToolChoice::Auto);
    for (kind, message, expected) in [
        (
            "overloaded_error",
            "Overloaded",
            "some cannot answer now (529): Overloaded",
        ),
        (
            "rate_limit_exceeded",
            "slow",
            "some limits the rate of requests: try again in a while: slow",
        ),
        (
            "invalid_request_error",
            "prompt is too long",
            "the conversation is longer than the context of m: prompt is too long",
        ),
        ("502", "upstream", "some cannot answer now (502): upstream"),
        ("unheard_of", "x", "some cannot answer now (500): x"),
        ("", "cut", "the answer of some broke off: cut"),
    ] {
        assert_eq!(asked.fault(kind, message).to_string(), expected);
    }
}

#[test]
fn a_message_that_repeats_the_request_is_left_out() {
    let model = model();
    let asked = asked(&model, ToolChoice::Auto);
    let said = "invalid: a prompt that is long enough to be known again, and so on and on it goes";
    assert!(asked.safe(said).contains("left out"));
    assert_eq!(asked.safe("a prompt"), "a prompt");
    let long = "x".repeat(5000);
    assert!(asked.safe(&long).chars().count() <= LONGEST + 1);
}
