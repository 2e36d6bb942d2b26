//! Asking Codex over its app server, on a fork that it does not keep.
//!
//! The fork is ephemeral: it has no file. Commands are switched off for this server, the sandbox is
//! read-only, and whatever it asks permission for is declined.

use crate::fork::{ForkLaunch, ForkOutcome, ForkRequest, ForkStep, Input, Spent, Texts};
use crate::json;
use serde_json::{Value, json};

const INITIALIZE: u64 = 1;
const FORK: u64 = 2;
const TURN: u64 = 3;

const NOT_THE_SESSION: [&str; 3] = [
    "CLAUDE_SESSION_MANAGER_ID",
    "SM_SESSION_SECRET",
    "CODEX_THREAD_ID",
];

pub fn launch(request: &ForkRequest) -> ForkLaunch {
    let mut argv = request.program.clone();
    argv.push("app-server".into());
    for feature in ["shell_tool", "unified_exec", "multi_agent"] {
        argv.extend(["--disable".to_string(), feature.to_string()]);
    }
    ForkLaunch {
        argv,
        stdin: line(
            &json!({"id": INITIALIZE, "method": "initialize", "params": {
                "clientInfo": {"name": "sm", "title": "sm", "version": "1"}
            }}),
        ),
        input: Input::StaysOpen,
        env: vec![("SM_HOOKS", "injected")],
        without: &NOT_THE_SESSION,
    }
}

/// The conversation with the server.
#[derive(Debug)]
pub struct Talk {
    conversation: String,
    cwd: String,
    prompt: String,
    /// The id of the fork, once there is one.
    thread: Option<String>,
    texts: Texts,
    spent: Spent,
    refused: u32,
    problem: Option<String>,
}

impl Talk {
    pub fn new(request: &ForkRequest) -> Self {
        Self {
            conversation: request.conversation.as_str().to_string(),
            cwd: request.cwd.to_string_lossy().into_owned(),
            prompt: request.prompt.clone(),
            thread: None,
            texts: Texts::default(),
            spent: Spent::default(),
            refused: 0,
            problem: None,
        }
    }

    pub fn line(&mut self, bytes: &[u8]) -> Vec<ForkStep> {
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
            return Vec::new();
        };
        let id = value.get("id");
        match (json::text(&value["method"]), id) {
            (Some(method), Some(id)) => self.asked(method, id),
            (Some(method), None) => self.told(method, value.get("params")),
            (None, Some(id)) => self.answered(id.as_u64(), &value),
            (None, None) => Vec::new(),
        }
    }

    /// The server wants something: a permission, an answer of a person. There is no person here.
    fn asked(&mut self, method: &str, id: &Value) -> Vec<ForkStep> {
        self.refused = self.refused.saturating_add(1);
        let answer = if method.ends_with("requestApproval") {
            json!({"id": id, "result": {"decision": "decline"}})
        } else {
            json!({"id": id, "error": {"code": -32601, "message": "not available here"}})
        };
        vec![ForkStep::Write(line(&answer))]
    }

    fn answered(&mut self, id: Option<u64>, value: &Value) -> Vec<ForkStep> {
        if let Some(error) = value.get("error") {
            let said = json::text(&error["message"]).unwrap_or("no reason given");
            return vec![ForkStep::Finished(ForkOutcome::Failed(said.to_string()))];
        }
        match id {
            Some(INITIALIZE) => vec![
                ForkStep::Write(line(&json!({"method": "initialized"}))),
                ForkStep::Write(line(
                    &json!({"id": FORK, "method": "thread/fork", "params": {
                        "threadId": self.conversation,
                        "cwd": self.cwd,
                        "ephemeral": true,
                        "excludeTurns": true,
                        "approvalPolicy": "untrusted",
                        "sandbox": "read-only",
                    }}),
                )),
            ],
            Some(FORK) => {
                let thread = value
                    .get("result")
                    .and_then(|result| result.get("thread"))
                    .and_then(|thread| json::text(&thread["id"]));
                let Some(thread) = thread else {
                    return vec![ForkStep::Finished(ForkOutcome::Failed(
                        "the app server named no fork".into(),
                    ))];
                };
                self.thread = Some(thread.to_string());
                vec![ForkStep::Write(line(
                    &json!({"id": TURN, "method": "turn/start", "params": {
                        "threadId": thread,
                        "input": [{"type": "text", "text": self.prompt}],
                    }}),
                ))]
            }
            Some(_) | None => Vec::new(),
        }
    }

    fn told(&mut self, method: &str, params: Option<&Value>) -> Vec<ForkStep> {
        let Some(params) = params else {
            return Vec::new();
        };
        // other threads of the same server, such as one that makes a title
        let ours = json::text(&params["threadId"]);
        if ours.is_none() || ours != self.thread.as_deref() {
            return Vec::new();
        }
        match method {
            "item/agentMessage/delta" => {
                let text = json::text(&params["delta"]).unwrap_or_default();
                vec![ForkStep::Preview(text.to_string())]
            }
            "item/completed" => {
                let item = params.get("item");
                if item.and_then(|item| json::text(&item["type"])) == Some("agentMessage") {
                    let text = item.and_then(|item| json::text(&item["text"]));
                    self.texts.add(text.unwrap_or_default());
                }
                Vec::new()
            }
            "thread/tokenUsage/updated" => {
                self.count(params);
                Vec::new()
            }
            "error" => {
                let said = params
                    .get("error")
                    .and_then(|error| json::text(&error["message"]));
                self.problem = said.map(str::to_string);
                Vec::new()
            }
            "turn/completed" => vec![ForkStep::Finished(self.finished(params))],
            _ => Vec::new(),
        }
    }

    /// What each request took, added up: the total also has what the source took before the fork.
    fn count(&mut self, params: &Value) {
        let last = params.get("tokenUsage").and_then(|usage| usage.get("last"));
        let count = |name: &str| {
            last.and_then(|last| last.get(name))
                .and_then(Value::as_u64)
                .unwrap_or(0)
        };
        self.spent.input = self.spent.input.saturating_add(count("inputTokens"));
        self.spent.cached = self.spent.cached.saturating_add(count("cachedInputTokens"));
        self.spent.output = self.spent.output.saturating_add(count("outputTokens"));
    }

    fn finished(&self, params: &Value) -> ForkOutcome {
        let turn = params.get("turn");
        let failed = turn
            .and_then(|turn| turn.get("error"))
            .filter(|error| !error.is_null());
        match failed {
            Some(error) => ForkOutcome::Failed(
                json::text(&error["message"])
                    .or(self.problem.as_deref())
                    .unwrap_or("the turn failed")
                    .to_string(),
            ),
            None => self.texts.outcome(self.spent, self.refused),
        }
    }
}

fn line(value: &Value) -> Vec<u8> {
    let mut bytes = value.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_core::ids::ConversationId;
    use std::path::PathBuf;

    fn talk() -> Talk {
        Talk::new(&ForkRequest {
            program: vec!["codex".into()],
            conversation: ConversationId::new("t0").unwrap(),
            cwd: PathBuf::from("/w"),
            prompt: "write it down".into(),
        })
    }

    fn written(steps: &[ForkStep]) -> Vec<Value> {
        steps
            .iter()
            .filter_map(|step| match step {
                ForkStep::Write(bytes) => serde_json::from_slice(bytes).ok(),
                ForkStep::Preview(_) | ForkStep::Finished(_) => None,
            })
            .collect()
    }

    #[test]
    fn a_whole_conversation() {
        let mut talk = talk();
        let wrote = written(&talk.line(br#"{"id":1,"result":{"userAgent":"x"}}"#));
        assert_eq!(wrote[0]["method"], "initialized");
        assert_eq!(wrote[1]["params"]["threadId"], "t0");
        assert_eq!(wrote[1]["params"]["ephemeral"], true);
        let wrote = written(&talk.line(br#"{"id":2,"result":{"thread":{"id":"t1","path":null}}}"#));
        assert_eq!(wrote[0]["params"]["input"][0]["text"], "write it down");
        let wrote = written(&talk.line(br#"{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1"}}"#));
        assert_eq!(wrote[0], json!({"id":0,"result":{"decision":"decline"}}));
        let wrote = written(&talk.line(
            br#"{"id":"q","method":"item/tool/requestUserInput","params":{"threadId":"t1"}}"#,
        ));
        assert_eq!(wrote[0]["id"], "q");
        assert!(wrote[0]["error"].is_object());
        assert_eq!(
            talk.line(br#"{"method":"item/completed","params":{"threadId":"other","item":{"type":"agentMessage","text":"a title"}}}"#),
            []
        );
        for text in ["one", "two"] {
            let told = json!({"method":"item/completed","params":{"threadId":"t1","item":{"type":"agentMessage","text":text}}});
            assert_eq!(talk.line(told.to_string().as_bytes()), []);
            let told = json!({"method":"thread/tokenUsage/updated","params":{"threadId":"t1","tokenUsage":{"total":{"inputTokens":9000},"last":{"inputTokens":1500,"cachedInputTokens":300,"outputTokens":25}}}});
            talk.line(told.to_string().as_bytes());
        }
        let steps = talk.line(br#"{"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u","error":null}}}"#);
        let [ForkStep::Finished(ForkOutcome::Answered(answered))] = steps.as_slice() else {
            panic!("{steps:?}");
        };
        assert_eq!(answered.text, "one\ntwo");
        assert_eq!(answered.refused, 2);
        assert_eq!(answered.spent.input, 3000);
        assert_eq!(answered.spent.cached, 600);
    }

    #[test]
    fn failures_are_told_apart_from_no_text() {
        let table = [
            (
                r#"{"id":2,"error":{"code":-32600,"message":"no rollout found for thread id t0"}}"#,
                ForkOutcome::Failed("no rollout found for thread id t0".into()),
            ),
            (
                r#"{"id":2,"result":{}}"#,
                ForkOutcome::Failed("the app server named no fork".into()),
            ),
        ];
        for (told, outcome) in table {
            assert_eq!(talk().line(told.as_bytes()), [ForkStep::Finished(outcome)]);
        }
        let mut talk = talk();
        talk.thread = Some("t1".into());
        talk.line(
            br#"{"method":"error","params":{"threadId":"t1","error":{"message":"400: bad"}}}"#,
        );
        assert_eq!(
            talk.line(
                br#"{"method":"turn/completed","params":{"threadId":"t1","turn":{"error":{}}}}"#
            ),
            [ForkStep::Finished(ForkOutcome::Failed("400: bad".into()))]
        );
        assert_eq!(
            talk.line(
                br#"{"method":"turn/completed","params":{"threadId":"t1","turn":{"error":null}}}"#
            ),
            [ForkStep::Finished(ForkOutcome::Empty)]
        );
    }
}
