//! Asking Claude Code in print mode, on a fork that it does not keep.
//!
//! Its tools stay in the request, since a history with calls of tools needs them, and a hook of
//! this launch refuses each call: a model that tries is told to answer with text. Print mode has
//! another system prompt and fewer tools than the live session, so the provider's cache is not used.

use crate::fork::{ForkLaunch, ForkOutcome, ForkRequest, ForkStep, Input, Spent, Texts};
use crate::json;
use serde_json::{Value, json};

/// How often the model may try before it has to have answered: a refused call takes one.
const MAX_TURNS: &str = "4";

/// Exit code 2 of a hook before a tool refuses the call and tells the model what stands on stderr.
const REFUSE: &str =
    "echo 'No tool may be used here: answer with the document alone, as text.' >&2; exit 2";

/// What names a session of ours: the copy is none.
const NOT_THE_SESSION: [&str; 4] = [
    "CLAUDE_SESSION_MANAGER_ID",
    "SM_SESSION_SECRET",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
];

pub fn launch(request: &ForkRequest) -> ForkLaunch {
    let settings = json!({"hooks": {"PreToolUse": [
        {"matcher": "*", "hooks": [{"type": "command", "command": REFUSE}]}
    ]}});
    let mut argv = request.program.clone();
    argv.extend(
        [
            "--print",
            "--resume",
            request.conversation.as_str(),
            "--fork-session",
            "--no-session-persistence",
            "--output-format",
            "stream-json",
            "--verbose",
            "--max-turns",
            MAX_TURNS,
            "--settings",
        ]
        .map(str::to_string),
    );
    argv.push(settings.to_string());
    ForkLaunch {
        argv,
        // by stdin: an argument has a limit, and `ps` shows it
        stdin: request.prompt.clone().into_bytes(),
        input: Input::Ends,
        env: vec![("SM_HOOKS", "injected")],
        without: &NOT_THE_SESSION,
    }
}

/// Reads `stream-json`: the texts of all its answers, since a refused call may stand between two.
#[derive(Debug, Default)]
pub struct Reader {
    texts: Texts,
    refused: u32,
}

impl Reader {
    pub fn line(&mut self, line: &[u8]) -> Vec<ForkStep> {
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            return Vec::new();
        };
        match json::text(&value["type"]) {
            Some("assistant") => self.assistant(&value),
            Some("result") => vec![ForkStep::Finished(self.result(&value))],
            Some(_) | None => Vec::new(),
        }
    }

    fn assistant(&mut self, value: &Value) -> Vec<ForkStep> {
        let message = value.get("message");
        // what the program says in the model's place, such as the text of an error
        let synthetic = message
            .and_then(|message| json::text(&message["model"]))
            .is_some_and(|model| model == "<synthetic>");
        let inner = value
            .get("parent_tool_use_id")
            .is_some_and(|id| !id.is_null());
        if synthetic || inner {
            return Vec::new();
        }
        let blocks = message
            .and_then(|message| message.get("content"))
            .and_then(Value::as_array);
        let mut steps = Vec::new();
        for block in blocks.into_iter().flatten() {
            match json::text(&block["type"]) {
                Some("text") => {
                    let text = json::text(&block["text"]).unwrap_or_default();
                    self.texts.add(text);
                    steps.push(ForkStep::Preview(text.to_string()));
                }
                Some("tool_use") => self.refused = self.refused.saturating_add(1),
                Some(_) | None => {}
            }
        }
        steps
    }

    fn result(&self, value: &Value) -> ForkOutcome {
        let failed = value
            .get("is_error")
            .and_then(Value::as_bool)
            .unwrap_or(true);
        // out of turns: what it has written until then is still a text
        let out_of_turns = json::text(&value["subtype"]) == Some("error_max_turns");
        if failed && !out_of_turns {
            let said = json::text(&value["result"])
                .or_else(|| json::text(&value["subtype"]))
                .unwrap_or("no reason given");
            return ForkOutcome::Failed(said.to_string());
        }
        let count = |name: &str| {
            value
                .get("usage")
                .and_then(|usage| usage.get(name))
                .and_then(Value::as_u64)
                .unwrap_or(0)
        };
        let spent = Spent {
            input: count("input_tokens")
                .saturating_add(count("cache_creation_input_tokens"))
                .saturating_add(count("cache_read_input_tokens")),
            cached: count("cache_read_input_tokens"),
            output: count("output_tokens"),
            dollars: value.get("total_cost_usd").and_then(Value::as_f64),
        };
        self.texts.outcome(spent, self.refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork::Answered;

    fn read(lines: &[&str]) -> Vec<ForkStep> {
        let mut reader = Reader::default();
        lines
            .iter()
            .flat_map(|line| reader.line(line.as_bytes()))
            .collect()
    }

    const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"two","total_cost_usd":0.014,"usage":{"input_tokens":2400,"cache_creation_input_tokens":100,"cache_read_input_tokens":600,"output_tokens":50}}"#;

    #[test]
    fn texts_around_a_refused_call_are_one_document() {
        let steps = read(&[
            r#"{"type":"system","subtype":"init","tools":[]}"#,
            r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"one"},{"type":"tool_use","name":"Bash","input":{}}]},"parent_tool_use_id":null}"#,
            r#"{"type":"user","message":{"role":"user","content":[]}}"#,
            r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"two"}]},"parent_tool_use_id":null}"#,
            RESULT,
        ]);
        assert_eq!(
            steps.last(),
            Some(&ForkStep::Finished(ForkOutcome::Answered(Answered {
                text: "one\ntwo".into(),
                spent: Spent {
                    input: 3100,
                    cached: 600,
                    output: 50,
                    dollars: Some(0.014)
                },
                refused: 1,
            })))
        );
    }

    #[test]
    fn what_is_no_document() {
        let error = r#"{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: 400 bad"}]},"parent_tool_use_id":null}"#;
        let failed = r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: 400 bad"}"#;
        let table: [(&[&str], ForkOutcome); 4] = [
            (
                &[error, failed],
                ForkOutcome::Failed("API Error: 400 bad".into()),
            ),
            (
                &[r#"{"type":"result","subtype":"error_during_execution","is_error":true}"#],
                ForkOutcome::Failed("error_during_execution".into()),
            ),
            (&[RESULT], ForkOutcome::Empty),
            (
                &[
                    r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":" "}]}}"#,
                    r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#,
                ],
                ForkOutcome::Empty,
            ),
        ];
        for (lines, outcome) in table {
            assert_eq!(
                read(lines).last(),
                Some(&ForkStep::Finished(outcome)),
                "{lines:?}"
            );
        }
    }

    #[test]
    fn anything_may_come() {
        assert_eq!(
            read(&[
                "",
                "{",
                "[]",
                "null",
                r#"{"type":7}"#,
                r#"{"type":"assistant"}"#
            ]),
            []
        );
    }
}
