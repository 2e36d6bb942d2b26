//! The scripted model server over HTTP.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use sm_testkit::model::{FailNext, ScriptedModel, is_main, texts_of};

const DEADLINE: Duration = Duration::from_secs(20);

fn send(model: &ScriptedModel, method: &str, path: &str, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(model.addr()).unwrap();
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nx-api-key: secret\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Status and body; chunk sizes are left in a streamed body.
fn call(model: &ScriptedModel, method: &str, path: &str, body: &Value) -> (u16, String) {
    let mut text = String::new();
    send(model, method, path, body)
        .read_to_string(&mut text)
        .unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (
        head.split(' ').nth(1).unwrap().parse().unwrap(),
        body.to_owned(),
    )
}

fn post(model: &ScriptedModel, path: &str, body: &Value) -> Value {
    let (status, text) = call(model, "POST", path, body);
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap()
}

fn prompt(text: &str) -> Value {
    json!({"messages": [{"role": "user", "content": text}], "tools": [{"name": "Bash"}]})
}

#[test]
fn every_protocol_answers_plainly_and_streamed() {
    let model = ScriptedModel::start().unwrap();
    let message = post(&model, "/v1/messages?beta=true", &prompt("SAY: hi"));
    assert_eq!(
        (
            &message["content"][0]["text"],
            &message["usage"]["input_tokens"]
        ),
        (&json!("hi"), &json!(1200))
    );
    let response = post(&model, "/v1/responses", &json!({"input": "SAY: hi"}));
    assert_eq!(response["output"][0]["content"][0]["text"], "hi");
    let chat = post(&model, "/v1/chat/completions", &prompt("RUN: ls"));
    assert_eq!(
        chat["choices"][0]["message"]["tool_calls"][0]["function"]["name"],
        "Bash"
    );
    assert_eq!(
        post(&model, "/v1/messages/count_tokens", &json!({}))["input_tokens"],
        1200
    );
    assert_eq!(
        post(&model, "/v1/responses/compact", &json!({}))["output"][0]["role"],
        "user"
    );
    for (path, last) in [
        ("/v1/messages", "message_stop"),
        ("/v1/responses", "response.completed"),
        ("/v1/chat/completions", "data: [DONE]"),
    ] {
        let mut body = prompt("SAY: streamed");
        body["input"] = json!("SAY: streamed");
        body["stream"] = json!(true);
        let (status, text) = call(&model, "POST", path, &body);
        assert_eq!(status, 200);
        assert!(text.contains(last), "{path}: {text}");
    }
    assert_eq!(
        call(&model, "HEAD", "/", &Value::Null),
        (200, String::new())
    );
    assert!(
        call(&model, "GET", "/v1/models", &Value::Null)
            .1
            .contains("fake-model")
    );
}

#[test]
fn requests_are_kept_whole_and_without_keys() {
    let model = ScriptedModel::start().unwrap();
    let text = "line\n".repeat(20_000) + "SAY: ok";
    post(&model, "/v1/messages", &prompt(&text));
    let kept = model.wait_for_request(is_main, DEADLINE).unwrap();
    assert_eq!(texts_of(&kept), [text]);
    assert_eq!(kept.header("x-api-key"), None);
    assert_eq!(kept.header("host"), Some("x"));
    assert!(
        model
            .wait_for_request(|r| r.seq > kept.seq, Duration::ZERO)
            .is_none()
    );
}

#[test]
fn a_held_answer_waits_for_its_release() {
    let model = ScriptedModel::start().unwrap();
    let mut body = prompt("HOLD: gate\nSAY: first second");
    body["stream"] = json!(true);
    let mut stream = send(&model, "POST", "/v1/messages", &body);
    assert!(model.wait_for_hold("gate", DEADLINE));
    model.release("gate");
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.contains("message_stop"));
    // released for good
    assert_eq!(
        post(&model, "/v1/messages", &prompt("HOLD: gate\nSAY: x"))["content"][0]["text"],
        "x"
    );
}

#[test]
fn a_client_that_hangs_up_is_noticed() {
    let model = ScriptedModel::start().unwrap();
    let mut body = prompt("HOLD: never\nSAY: x");
    body["stream"] = json!(true);
    let stream = send(&model, "POST", "/v1/messages", &body);
    assert!(model.wait_for_hold("never", DEADLINE));
    let seq = model.wait_for_request(is_main, DEADLINE).unwrap().seq;
    drop(stream);
    assert!(model.wait_for_abandoned(seq, DEADLINE));
}

#[test]
fn settings_are_changed_from_the_test_and_over_http() {
    let model = ScriptedModel::start().unwrap();
    let fail = FailNext {
        status: 400,
        message: "prompt is too long".into(),
        count: 1,
    };
    model.control(|control| control.fail_next = Some(fail));
    let (status, text) = call(&model, "POST", "/v1/messages", &prompt("SAY: x"));
    assert_eq!(status, 400);
    assert!(text.contains("prompt is too long"));
    post(&model, "/_control", &json!({"reply": "as set"}));
    assert_eq!(
        post(&model, "/v1/messages", &prompt("hello"))["content"][0]["text"],
        "as set"
    );
    assert_eq!(
        call(&model, "POST", "/_control", &json!({"reply": 1})).0,
        400
    );
    assert_eq!(model.requests().len(), 2, "controls are no requests");
}
