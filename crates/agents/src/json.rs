//! Small readers for JSON from outside: a wrong type is the same as an absent value.

use serde_json::Value;
use sm_core::ids::{ConversationId, Timestamp};

/// A non-empty string.
pub fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|s| !s.is_empty())
}

pub fn conversation(value: &Value) -> Option<ConversationId> {
    text(value).and_then(|id| ConversationId::new(id).ok())
}

pub fn owned(value: &Value) -> Option<String> {
    text(value).map(str::to_owned)
}

/// At most `max` characters, with a mark where it was cut.
pub fn short(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// When a record says it was made.
pub fn time(value: &Value) -> Option<Timestamp> {
    Timestamp::parse(value.as_str()?)
}

/// Unix time in seconds.
pub fn seconds(unix: i64) -> Option<Timestamp> {
    unix.checked_mul(1_000).map(Timestamp)
}

/// The string value of `key` near the start of a JSON text that was cut off: the spool keeps only
/// the beginning of a huge payload, and both programs write their ids first.
pub fn salvage(body: &[u8], key: &str) -> Option<String> {
    let head = String::from_utf8_lossy(&body[..body.len().min(4096)]);
    let at = head.find(&format!("\"{key}\""))? + key.len() + 2;
    let rest = head[at..]
        .trim_start()
        .strip_prefix(':')?
        .trim_start()
        .strip_prefix('"')?;
    let end = rest.find('"')?;
    let value = &rest[..end];
    (!value.contains('\\')).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_are_read() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-11-15T08:56:17.240Z", Some(1_794_732_977_240)),
            ("2024-02-29T23:59:59.999Z", Some(1_709_251_199_999)),
            ("2024-13-29T23:59:59.999Z", None),
            ("2026-11-15 08:56", None),
            ("Z", None),
            ("", None),
        ] {
            assert_eq!(time(&json!(text)).map(|t| t.0), millis, "{text}");
        }
    }

    #[test]
    fn a_cut_payload_still_names_its_conversation() {
        let cut = br#"{"session_id": "abc", "prompt":"and then it was c"#;
        assert_eq!(salvage(cut, "session_id").as_deref(), Some("abc"));
        assert_eq!(salvage(cut, "prompt"), None);
        assert_eq!(salvage(b"\xff\xfe", "session_id"), None);
    }

    #[test]
    fn long_texts_are_cut_at_characters() {
        assert_eq!(short("äöü", 2), "äö…");
        assert_eq!(short("äöü", 3), "äöü");
    }
}
