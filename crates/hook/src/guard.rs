//! `sm-hook <agent> guard`: a hook before a tool is used that would hand the session over. A sub-agent
//! runs in the process of the session's agent and has its environment, so that nothing else tells them
//! apart: it is refused. Asks nobody; what it cannot read it lets pass.

use std::io::Write;

use crate::input;

const DENIED: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"A sub-agent cannot hand the session over: only the agent that has started it can. Give it your result instead."}}"#;

pub fn run() -> i32 {
    let payload = input::read().bytes;
    if is_of_sub_agent(&payload) && hands_over(&payload) {
        // nobody reads it any more: then the tool is not used either
        let _ = writeln!(std::io::stdout(), "{DENIED}");
    }
    0
}

/// A command that the agent could not take apart comes here whatever it is.
fn hands_over(payload: &[u8]) -> bool {
    let has = |words: &[u8]| payload.windows(words.len()).any(|window| window == words);
    has(b"mcp__sm__handoff") || has(b"sm handoff")
}

/// Whether the payload has an `agent_id`. Inside of a text its quotes would be escaped.
fn is_of_sub_agent(payload: &[u8]) -> bool {
    const KEY: &[u8] = b"\"agent_id\"";
    payload.windows(KEY.len()).enumerate().any(|(at, window)| {
        let rest = payload[at..].get(KEY.len()..).unwrap_or_default();
        let value = rest.trim_ascii_start().strip_prefix(b":");
        let value = value.map(<[u8]>::trim_ascii_start).unwrap_or_default();
        let is_named = value.starts_with(b"\"") && !value.starts_with(b"\"\"");
        window == KEY && (at == 0 || payload[at - 1] != b'\\') && is_named
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sub_agent_is_told_by_its_id_and_not_by_a_text_about_one() {
        for (payload, expected) in [
            (
                r#"{"session_id":"a","agent_id":"b1","tool_name":"x"}"#,
                true,
            ),
            (r#"{"agent_id" : "b1"}"#, true),
            (r#"{"session_id":"a","tool_name":"x"}"#, false),
            (r#"{"agent_id":null}"#, false),
            (r#"{"agent_id":""}"#, false),
            (
                r#"{"tool_input":{"document":"\"agent_id\":\"b1\""}}"#,
                false,
            ),
            (r#"{"agent_id""#, false),
            ("", false),
        ] {
            assert_eq!(is_of_sub_agent(payload.as_bytes()), expected, "{payload}");
        }
        assert!(hands_over(
            br#"{"tool_input":{"command":"/a/sm handoff x"}}"#
        ));
        assert!(!hands_over(br#"{"tool_input":{"command":"ls"}}"#));
        assert!(DENIED.contains("\"deny\""));
    }
}
