//! Answers that come in whole.

use serde_json::json;
use sm_llm::{Delta, StopReason};

use crate::common::{APIS, ask, model, server, text_of};

#[tokio::test]
async fn a_text_streams_in_and_is_counted() {
    for api in APIS {
        let server = server();
        let (answer, told) = ask(&model(api, &server.url()), "SAY: hello ünïcode").await;
        let answer = answer.unwrap();
        assert_eq!(answer.text(), "hello ünïcode", "{api:?}");
        assert_eq!(text_of(&told), answer.text());
        assert_eq!(told[0], Delta::Started);
        assert_eq!(answer.stop_reason, StopReason::Stop);
        assert_eq!(
            (answer.provider.as_str(), answer.api.as_str()),
            ("scripted", api.name())
        );
        assert_eq!(answer.model, "claude-sonnet-4-5");
        assert!(answer.response_id.is_some() && answer.timestamp > 0);
        let usage = answer.usage;
        assert_eq!(
            (usage.input, usage.cache_read, usage.output),
            (1200, 300, 25),
            "{api:?}"
        );
        assert!(usage.cost.total > 0.0 && usage.total_tokens >= 1525);
    }
}

#[tokio::test]
async fn a_call_of_a_tool_is_put_together() {
    for api in APIS {
        let server = server();
        let prompt = r#"TOOL: bash {"command":"ls \"ü\"","n":{"deep":[1,2]}}"#;
        let (answer, told) = ask(&model(api, &server.url()), prompt).await;
        let answer = answer.unwrap();
        assert_eq!(answer.stop_reason, StopReason::ToolUse, "{api:?}");
        let calls: Vec<_> = answer.tool_calls().collect();
        assert_eq!(calls.len(), 1);
        assert_eq!(
            json!(calls[0].arguments),
            json!({"command": "ls \"ü\"", "n": {"deep": [1, 2]}})
        );
        assert_eq!(calls[0].invalid_arguments(), None);
        let started = Delta::ToolStarted {
            id: calls[0].id.clone(),
            name: "bash".into(),
        };
        assert!(told.contains(&started), "{told:?}");
    }
}
