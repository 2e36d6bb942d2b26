//! Refusals name their cause, and never show the key or what was asked.

use sm_llm::{Api, Delta, Failure, Limits, Message, Model, Secret, ToolChoice, known};
use sm_testkit::model::{BreakNext, FailNext, Reached};
use tokio_util::sync::CancellationToken;

use crate::common::{APIS, KEY, LIMITS, ask, ask_messages, ask_with, model, server};

/// What a person has asked and nobody else needs to read.
const SECRET_PROMPT: &str = "SAY: fine (the launch code is 0000-PROMPT-CANARY-0000, tell nobody)";

async fn refused(api: Api, status: u16, message: &str) -> Failure {
    let server = server();
    server.control(|c| {
        c.fail_next = Some(FailNext {
            status,
            message: message.into(),
            count: 100,
        });
    });
    ask(&model(api, &server.url()), "hi").await.0.unwrap_err()
}

#[tokio::test]
async fn causes_are_named() {
    for (status, message, variant, text) in [
        (
            401,
            "invalid x-api-key",
            "Unauthorized",
            "scripted does not accept the key: invalid x-api-key",
        ),
        (
            404,
            "model: claude-sonnet-4-5",
            "ModelUnknown",
            "scripted has no model claude-sonnet-4-5",
        ),
        (
            404,
            "The model `x` does not exist or you do not have access to it.",
            "ModelUnknown",
            "has no model",
        ),
        (
            400,
            "prompt is too long: 210000 tokens > 200000 maximum",
            "ContextTooLong",
            "210000 tokens > 200000",
        ),
        (
            400,
            "This model's maximum context length is 128000 tokens.",
            "ContextTooLong",
            "longer than the context",
        ),
        (
            400,
            "Your credit balance is too low to access the API.",
            "QuotaExhausted",
            "credit",
        ),
        (
            400,
            "messages: something else",
            "Status",
            "refuses the request (400): messages: something else",
        ),
        (400, "tool_choice is odd", "Status", "tool_choice is odd"),
        (413, "too big", "ContextTooLong", "too big"),
    ] {
        for api in APIS {
            let failure = refused(api, status, message).await;
            assert!(
                format!("{failure:?}").starts_with(variant),
                "{status} {message}: {failure:?}"
            );
            assert!(failure.to_string().contains(text), "{failure}");
        }
    }
}

#[tokio::test]
async fn a_refused_choice_of_no_tool_is_told_as_such() {
    for api in APIS {
        let server = server();
        server.control(|c| {
            c.fail_next = Some(FailNext {
                status: 400,
                message: "tool_choice 'none' is not supported".into(),
                count: 1,
            });
        });
        let model = model(api, &server.url());
        let messages = [Message::user("SAY: fine", 0)];
        let (outcome, _) = ask_messages(&model, &messages, ToolChoice::None).await;
        assert!(
            matches!(outcome, Err(Failure::ToolChoiceUnsupported { .. })),
            "{outcome:?}"
        );
        let (outcome, _) = ask_messages(&model, &messages, ToolChoice::Auto).await;
        assert_eq!(outcome.unwrap().text(), "fine");
        assert_eq!(server.requests().len(), 2);
    }
}

#[tokio::test]
async fn a_missing_key_names_the_variable_and_asks_nobody() {
    for (provider, api, variable) in [
        ("anthropic", Api::AnthropicMessages, "ANTHROPIC_API_KEY"),
        ("openai", Api::OpenAiResponses, "OPENAI_API_KEY"),
        ("openrouter", Api::OpenAiCompletions, "OPENROUTER_API_KEY"),
    ] {
        let model = known::model(provider, api, "some-model");
        let (outcome, told) = ask(&model, "hi").await;
        let failure = outcome.unwrap_err();
        assert!(matches!(failure, Failure::KeyMissing { .. }), "{failure:?}");
        assert!(failure.to_string().contains(variable), "{failure}");
        assert!(told.is_empty());
    }
    // a server of one's own that wants one after all
    let server = server();
    server.control(|c| {
        c.fail_next = Some(FailNext {
            status: 401,
            message: "who are you".into(),
            count: 1,
        });
    });
    let model = Model {
        key: None,
        ..model(Api::OpenAiCompletions, &server.url())
    };
    let failure = ask(&model, "hi").await.0.unwrap_err();
    assert!(matches!(failure, Failure::KeyMissing { .. }), "{failure:?}");
}

/// Nobody listens there.
fn closed_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test]
async fn an_unreached_server_is_named_with_its_address() {
    let url = format!("http://127.0.0.1:{}", closed_port());
    let failure = ask(&model(APIS[0], &url), "hi").await.0.unwrap_err();
    let text = failure.to_string();
    assert!(
        text.starts_with(&url) && text.contains("connection refused"),
        "{text}"
    );
    let server = server();
    let url = server.url().replace("http:", "https:");
    let text = ask(&model(APIS[0], &url), "hi")
        .await
        .0
        .unwrap_err()
        .to_string();
    assert!(
        text.starts_with(&url) && text.contains("not secure"),
        "{text}"
    );
}

/// Every way to fail, with a key and a prompt that must not be told.
#[tokio::test]
async fn neither_the_key_nor_the_question_is_ever_shown() {
    let echo = format!("bad key {KEY} (sk-canary…cdef) for {SECRET_PROMPT}");
    let mut seen: Vec<String> = Vec::new();
    let mut note = |outcome: (Result<sm_llm::Assistant, Failure>, Vec<Delta>)| {
        let failure = outcome.0.unwrap_err();
        seen.push(format!("{failure} {failure:?} {:?}", outcome.1));
    };
    for api in APIS {
        for status in [400, 401, 403, 404, 413, 418, 422, 429, 500, 529] {
            let server = server();
            server.control(|c| {
                c.fail_next = Some(FailNext {
                    status,
                    message: echo.clone(),
                    count: 100,
                });
            });
            note(ask(&model(api, &server.url()), SECRET_PROMPT).await);
        }
        for after in [Reached::Beginning, Reached::FirstPart] {
            for fault in [None, Some(("odd_error".to_owned(), echo.clone()))] {
                let server = server();
                server.control(|c| {
                    c.break_next = Some(BreakNext {
                        after,
                        fault: fault.clone(),
                        count: 100,
                    });
                    // what the model says is not what it was asked
                    c.when.push(sm_testkit::model::When {
                        has: "launch code".into(),
                        act: "SAY: some answer".into(),
                    });
                });
                note(ask(&model(api, &server.url()), SECRET_PROMPT).await);
            }
        }
    }
    let url = format!(
        "http://user:{KEY}@127.0.0.1:{}/{KEY}?q={KEY}",
        closed_port()
    );
    note(ask(&model(APIS[0], &url), SECRET_PROMPT).await);
    note(ask(&model(APIS[0], &format!("nonsense {KEY}")), SECRET_PROMPT).await);
    let odd_key = Model {
        key: Some(Secret::new(format!("{KEY}\n{KEY}"))),
        ..model(APIS[0], "http://127.0.0.1:1")
    };
    note(ask(&odd_key, SECRET_PROMPT).await);
    let server = server();
    let held = model(APIS[0], &server.url());
    let limits = Limits {
        deadline: std::time::Duration::from_millis(100),
        ..LIMITS
    };
    let prompt = format!("HOLDSTART: x\n{SECRET_PROMPT}");
    note(ask_with(&held, &prompt, limits, &CancellationToken::new()).await);
    seen.push(format!("{held:?} {:?}", crate::common::client()));
    assert!(seen.len() > 40);
    for text in seen {
        for secret in [KEY, "canary", "cdef", "PROMPT-CANARY"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}
