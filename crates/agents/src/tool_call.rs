//! A tool call in a few words: what a person needs to know to answer a dialog about it, and what
//! the agent is doing. The input is an agent's, of any shape and size.

use crate::json::short;
use serde::Deserialize;
use serde_json::Value;
use sm_core::signal::ToolCall;

/// Characters that are taken of a text. Whoever shows it takes secrets out first, and needs the
/// whole of them for that: more than is shown, and cut between words.
const MOST: usize = 4000;
const TOOL: usize = 80;
/// Characters of the id of a call that are kept.
pub const CALL_ID: usize = 120;

/// What says the most about a call, best first.
const TELLING: [&str; 14] = [
    "command",
    "cmd",
    "script",
    "file_path",
    "notebook_path",
    "path",
    "url",
    "query",
    "pattern",
    "questions",
    "question",
    "plan",
    "prompt",
    "description",
];

/// The input of the tool that the dialog of a hook call is about. Read by itself: in the payloads
/// of all the other events it is large, and nobody needs it.
pub fn asked_about(event: &str, body: &[u8]) -> Value {
    #[derive(Deserialize)]
    struct Dialog {
        tool_input: Value,
    }
    match event {
        "PermissionRequest" => {
            let dialog = serde_json::from_slice::<Dialog>(body);
            dialog.map_or(Value::Null, |dialog| dialog.tool_input)
        }
        _ => Value::Null,
    }
}

/// The call of `tool` with this input. `None`: it is not even named.
pub fn describe(tool: &str, input: &Value) -> Option<ToolCall> {
    let text = match input {
        Value::Null => String::new(),
        Value::String(text) => command(text),
        // what a server's tool takes is not known: all of it counts
        input if tool.starts_with("mcp__") => input.to_string(),
        input => TELLING
            .iter()
            .find_map(|key| input.get(key).and_then(told))
            .unwrap_or_else(|| match input {
                Value::Object(fields) if fields.is_empty() => String::new(),
                input => input.to_string(),
            }),
    };
    (!tool.is_empty() || !text.is_empty()).then(|| ToolCall {
        tool: short(tool, TOOL),
        text: cut(&text),
    })
}

fn told(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(command(text)),
        Value::Array(parts) => list(parts),
        _ => None,
    }
}

/// The words of a command line, or questions.
fn list(parts: &[Value]) -> Option<String> {
    let words: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [] => {
            let questions = parts
                .iter()
                .filter_map(|part| part.get("question").and_then(Value::as_str));
            let all = questions.collect::<Vec<_>>().join(" / ");
            (!all.is_empty()).then_some(all)
        }
        [shell, "-c" | "-lc", script] if shell.ends_with("sh") => Some(command(script)),
        ["apply_patch", patch] => Some(command(patch)),
        words => Some(words.join(" ")),
    }
}

/// A patch is told by the files it changes.
fn command(text: &str) -> String {
    let Some((_, patch)) = text.split_once("*** Begin Patch") else {
        return text.to_owned();
    };
    const MARKS: [&str; 3] = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
    let files = patch.lines().filter_map(|line| {
        let mark = MARKS.iter().find(|mark| line.starts_with(**mark))?;
        let verb = mark.trim_start_matches("*** ").split(' ').next()?;
        Some(format!("{} {}", verb.to_lowercase(), &line[mark.len()..]))
    });
    let files = files.take(20).collect::<Vec<_>>().join(", ");
    match files.is_empty() {
        true => text.to_owned(),
        false => files,
    }
}

fn cut(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(MOST) else {
        return text.to_owned();
    };
    let head = &text[..end];
    let whole = head.rfind(char::is_whitespace).map_or("", |at| &head[..at]);
    format!("{whole} …")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_says_the_most_is_told() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** Add File: b\n+z\n*** End Patch";
        for (tool, input, text) in [
            (
                "Bash",
                json!({"command": "rm -rf build", "description": "Clean"}),
                "rm -rf build",
            ),
            (
                "Write",
                json!({"file_path": "/w/a.md", "content": "long"}),
                "/w/a.md",
            ),
            (
                "shell",
                json!({"command": ["bash", "-lc", "ls -l"]}),
                "ls -l",
            ),
            ("shell", json!({"command": ["git", "status"]}), "git status"),
            (
                "exec_command",
                json!({"cmd": "make", "workdir": "/w"}),
                "make",
            ),
            ("apply_patch", json!(patch), "update src/a.rs, add b"),
            (
                "apply_patch",
                json!({"command": patch}),
                "update src/a.rs, add b",
            ),
            (
                "AskUserQuestion",
                json!({"questions": [{"question": "Which one?", "options": []}, {"question": "When?"}]}),
                "Which one? / When?",
            ),
            ("ExitPlanMode", json!({"plan": "1. do it"}), "1. do it"),
            (
                "mcp__db__drop",
                json!({"path": "x", "table": "users"}),
                r#"{"path":"x","table":"users"}"#,
            ),
            ("Odd", json!({"n": [1, 2]}), r#"{"n":[1,2]}"#),
            ("Odd", json!({"command": 7}), r#"{"command":7}"#),
            ("Odd", json!({}), ""),
            ("Odd", Value::Null, ""),
        ] {
            let call = describe(tool, &input).unwrap();
            assert_eq!((call.tool.as_str(), call.text.as_str()), (tool, text));
        }
        assert_eq!(describe("", &Value::Null), None);
    }

    #[test]
    fn a_huge_input_is_cut_between_words() {
        let long = "word ".repeat(100_000);
        let call = describe(&"t".repeat(500), &json!({ "command": long })).unwrap();
        assert!(call.text.chars().count() <= MOST + 2);
        assert!(call.text.ends_with("word …"));
        assert!(call.tool.chars().count() <= TOOL + 1);
        // without a place to cut, nothing is half a secret
        let call = describe("Bash", &json!({"command": "x".repeat(9000)})).unwrap();
        assert_eq!(call.text, " …");
    }
}
