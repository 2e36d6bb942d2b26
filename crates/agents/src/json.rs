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

/// `2026-11-15T08:56:17.240Z`: what both programs write. Anything else is `None`.
pub fn time(value: &Value) -> Option<Timestamp> {
    let bytes = value.as_str()?.as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to)?;
        if digits.iter().any(|b| !b.is_ascii_digit()) {
            return None;
        }
        Some(digits.iter().fold(0, |n, b| n * 10 + i64::from(b - b'0')))
    };
    if bytes.last() != Some(&b'Z') || bytes.get(10) != Some(&b'T') {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let millis = if bytes.get(19) == Some(&b'.') {
        number(20, 23)?
    } else {
        0
    };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year < 1970 {
        return None;
    }
    // Days since the epoch, counting years from March so that the leap day comes last.
    let (y, m) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let days = y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719_468;
    Some(Timestamp(
        (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + millis,
    ))
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
