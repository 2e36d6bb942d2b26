//! Names and numbers that our programs and the daemon agree on, and JSON strings.
//!
//! An older hook must keep working with a newer daemon: names here are added, never changed.

use std::fmt::Write as _;

/// Said by every program of ours in `PROTOCOL_HEADER`.
pub const PROTOCOL: u32 = 1;

pub const PROTOCOL_HEADER: &str = "x-sm-protocol";
pub const SESSION_HEADER: &str = "x-sm-session";
pub const SECRET_HEADER: &str = "x-sm-secret";
/// On what a run tells of itself: the secret of the session that it was started in.
pub const PARENT_SECRET_HEADER: &str = "x-sm-parent-secret";
pub const EVENT_ID_HEADER: &str = "x-sm-event-id";
pub const AT_HEADER: &str = "x-sm-at";
pub const ANCESTORS_HEADER: &str = "x-sm-ancestors";
/// `1` when the body is only the beginning of what the agent said.
pub const CUT_HEADER: &str = "x-sm-cut";
/// In the daemon's answer to a mailbox request: which waiter this is.
pub const WAITER_HEADER: &str = "x-sm-waiter";
/// With it: what the agent is to do with the text; a background hook need not know.
pub const HANDING_HEADER: &str = "x-sm-handing";
/// On a hook that `sm run` passes on: the agent has its answer already.
pub const ANSWERED_HEADER: &str = "x-sm-answered";

/// The session an agent belongs to, in its environment.
pub const SESSION_VAR: &str = "CLAUDE_SESSION_MANAGER_ID";
/// What proves it, in the agent's environment.
pub const SECRET_VAR: &str = "SM_SESSION_SECRET";
/// In a launcher's environment only: what its launch is fetched with, once.
pub const LAUNCH_KEY_VAR: &str = "SM_LAUNCH_KEY";
/// How long a hook waits for an answer, in milliseconds.
pub const TIMEOUT_VAR: &str = "SM_HOOK_TIMEOUT_MS";
/// In the agent's environment: its hooks came with its launch, so installed ones have nothing to
/// tell.
pub const HOOKS_VAR: &str = "SM_HOOKS";
/// The value of [`HOOKS_VAR`].
pub const HOOKS_INJECTED: &str = "injected";
/// In the environment of an agent under `sm run`: the folder of its run, where its hooks and its
/// `sm handoff` find whom they speak to.
pub const RUN_VAR: &str = "SM_RUN";
/// The mark of an installed hook among its arguments; `=` and more may follow.
pub const INSTALLED_MARK: &str = "--installed";
/// How a request begins that a sandboxed `sm` prints, for the hook after the tool call to carry.
pub const ASK_MARK: &str = "sm-ask:";
/// The `sm` program that starts the daemon, when it is not beside the running one.
pub const SM_BIN_VAR: &str = "SM_BIN";

/// The most of its stdin that a hook sends.
pub const MAX_HOOK_BODY: usize = 1024 * 1024;

/// Whether a word may be a path segment of ours as it is: agent and event names, ids.
pub fn is_plain_word(word: &str) -> bool {
    (1..=64).contains(&word.len())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && !word.bytes().all(|byte| byte == b'.')
}

/// Whether a value may stand in a header: visible ASCII and spaces, so nothing can end the line.
pub fn is_header_value(value: &str) -> bool {
    value.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// A variable of the environment that goes into a header; none if it cannot.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.is_empty() && is_header_value(value))
}

/// Appends a JSON string with its quotes.
pub fn push_json_string(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut plain_from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[plain_from..at]);
        plain_from = at + 1;
        if escape.is_empty() {
            // A String takes every write.
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[plain_from..]);
    out.push('"');
}

/// A JSON string with its quotes.
pub fn json_string(text: &str) -> String {
    let mut out = String::new();
    push_json_string(&mut out, text);
    out
}

/// The text of a JSON string literal, quotes included in the input; `None` if it is not one.
pub fn unescape_json_string(literal: &str) -> Option<String> {
    match crate::json::parse(literal.as_bytes())? {
        crate::json::Value::String(text) => Some(text),
        crate::json::Value::Null
        | crate::json::Value::Bool(_)
        | crate::json::Value::Number(_)
        | crate::json::Value::Array(_)
        | crate::json::Value::Object(_) => None,
    }
}

/// How the name of an `sm run` begins: its id, its folders.
pub const RUN_PREFIX: &str = "run-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_survive_both_ways_as_serde_sees_them() {
        let rows = [
            "",
            "plain",
            "quote \" back \\ slash /",
            "line\nfeed\r\ttab",
            "\u{0}\u{1}\u{8}\u{c}\u{1f}\u{7f}",
            "ünï → 🦀 \u{2028}",
            "ends with \"",
        ];
        for text in rows {
            let ours = json_string(text);
            assert_eq!(serde_json::from_str::<String>(&ours).unwrap(), text);
            assert_eq!(unescape_json_string(&ours).as_deref(), Some(text));
            let theirs = serde_json::to_string(text).unwrap();
            assert_eq!(unescape_json_string(&theirs).as_deref(), Some(text));
        }
        for bad in [
            "",
            "\"",
            "x",
            "\"a\"b",
            "\"\\x\"",
            "\"\\u12\"",
            "3",
            "\"a\nb\"",
        ] {
            assert_eq!(unescape_json_string(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn words_and_values_cannot_leave_their_place() {
        for (word, fine) in [
            ("claude", true),
            ("PreToolUse", true),
            ("a-b_c.9", true),
            ("", false),
            (".", false),
            ("..", false),
            ("a/b", false),
            ("a b", false),
            ("ä", false),
            ("a?b", false),
        ] {
            assert_eq!(is_plain_word(word), fine, "{word:?}");
        }
        assert!(!is_plain_word(&"a".repeat(65)));
        for (value, fine) in [
            ("a b~", true),
            ("", true),
            ("a\r\nb", false),
            ("a\u{7f}", false),
        ] {
            assert_eq!(is_header_value(value), fine, "{value:?}");
        }
    }
}
