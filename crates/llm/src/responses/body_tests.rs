//! What OpenAI is sent.

use serde_json::{Value, json};

use crate::message::Message;
use crate::model::{Api, Model, Thinking};
use crate::request::Request;
use crate::samples;

const SIGNATURE: &str = r#"{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"I should look."}],"encrypted_content":"gAAA","status":null}"#;

fn model(id: &str) -> Model {
    samples::model(Api::OpenAiResponses, id)
}

#[test]
fn a_body_with_everything_in_it() {
    let model = model("gpt-5.1");
    let (messages, tools) = (samples::messages(&model, SIGNATURE), samples::tools());
    insta::assert_snapshot!(samples::pretty(
        &model,
        &samples::request(&messages, &tools)
    ));
}

#[test]
fn reasoning_is_asked_for_only_of_models_that_do_it() {
    let messages = [Message::user("hi", 0)];
    let asked = |id: &str, thinking| {
        let request = Request {
            thinking,
            ..samples::request(&messages, &[])
        };
        let body = samples::json(&model(id), &request);
        (body["reasoning"].clone(), body["include"].clone())
    };
    let include = json!(["reasoning.encrypted_content"]);
    assert_eq!(asked("gpt-4.1", Thinking::High), (Value::Null, Value::Null));
    assert_eq!(
        asked("gpt-5.1", Thinking::Off),
        (json!({"effort": "none"}), include.clone())
    );
    assert_eq!(
        asked("gpt-5.4", Thinking::Xhigh),
        (json!({"effort": "xhigh", "summary": "auto"}), include)
    );
}

#[test]
fn thoughts_that_cannot_be_read_back_are_left_out() {
    let model = model("gpt-5.1");
    for signature in ["", "{", "{}", r#"{"summary":[]}"#, "reasoning_content"] {
        let messages = samples::messages(&model, signature);
        let body = samples::json(&model, &samples::request(&messages, &[]));
        let items = body["input"].as_array().unwrap();
        assert!(
            items.iter().all(|item| item["type"] != "reasoning"),
            "{signature}"
        );
    }
}

#[test]
fn a_longer_conversation_begins_with_the_shorter_one() {
    let model = model("gpt-5.1");
    samples::check_growth(&model, &samples::messages(&model, SIGNATURE), "input");
}
