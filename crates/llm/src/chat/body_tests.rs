//! What servers of chat completions are sent.

use serde_json::{Value, json};

use crate::known;
use crate::message::Message;
use crate::model::{Api, Model, Thinking};
use crate::request::{Request, ToolChoice};
use crate::samples;

fn model(id: &str) -> Model {
    Model {
        base_url: "http://127.0.0.1:8080".into(),
        images: true,
        ..samples::model(Api::OpenAiCompletions, id)
    }
}

#[test]
fn a_body_with_everything_in_it() {
    let model = model("gpt-oss-20b");
    let messages = samples::messages(&model, "reasoning_content");
    let tools = samples::tools();
    insta::assert_snapshot!(samples::pretty(
        &model,
        &samples::request(&messages, &tools)
    ));
}

#[test]
fn only_openai_is_sent_what_only_openai_knows() {
    let messages = [Message::user("hi", 0)];
    let request = samples::request(&messages, &[]);
    let own = samples::json(&model("x"), &request);
    assert_eq!(
        own,
        json!({
            "model": "x", "messages": [
                {"role": "system", "content": "You are a coding agent."},
                {"role": "user", "content": "hi"}],
            "max_tokens": 32_000, "stream": true, "stream_options": {"include_usage": true},
        })
    );
    let openai = Model {
        base_url: known::OPENAI_URL.into(),
        ..model("gpt-5")
    };
    let body = samples::json(&openai, &request);
    assert_eq!(body["max_tokens"], Value::Null);
    assert_eq!(
        [
            &body["max_completion_tokens"],
            &body["prompt_cache_key"],
            &body["store"],
            &body["reasoning_effort"]
        ],
        [
            &json!(32_000),
            &json!("0197-session"),
            &json!(false),
            &json!("medium")
        ]
    );
}

#[test]
fn messages_of_a_person_that_follow_each_other_are_one() {
    let messages = [
        Message::user("the document", 0),
        Message::user("and now?", 0),
    ];
    let request = Request {
        tool_choice: ToolChoice::None,
        thinking: Thinking::Off,
        ..samples::request(&messages, &[])
    };
    let body = samples::json(&model("gemma"), &request);
    assert_eq!(
        body["messages"][1],
        json!({"role": "user", "content": "the document\n\nand now?"})
    );
    assert_eq!(
        body["tool_choice"],
        Value::Null,
        "without tools there is no choice"
    );
}

#[test]
fn a_longer_conversation_begins_with_the_shorter_one() {
    let model = model("gpt-oss-20b");
    let messages = samples::messages(&model, "reasoning_content");
    samples::check_growth(&model, &messages, "messages");
}
