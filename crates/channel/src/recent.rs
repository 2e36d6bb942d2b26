//! The last messages of a transcript, as `user: …` and `assistant: …` lines. Bounded: whatever
//! the transcript holds, only its end is read.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

/// How much of the end of a transcript is looked at.
const END: u64 = 8 << 20;
/// Of one message.
const LONGEST: usize = 2000;

/// The last `n` messages in these lines of JSON.
pub fn recent(transcript: &[u8], n: usize) -> String {
    let mut found: Vec<String> = transcript
        .rsplit(|byte| *byte == b'\n')
        .filter_map(message)
        .take(n)
        .collect();
    found.reverse();
    found.concat()
}

fn message(line: &[u8]) -> Option<String> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let who = match line.get("type")?.as_str()? {
        "user" => "user",
        "assistant" => "assistant",
        _ => return None,
    };
    let text = match line.get("message")?.get("content")? {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter(|part| part.get("type").and_then(Value::as_str) == Some("text"))
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => return None,
    };
    let text = text.trim();
    if text.is_empty() {
        return None; // tools alone are no message
    }
    let shown: String = text.chars().take(LONGEST).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    Some(format!("{who}: {shown}{more}\n"))
}

pub fn recent_of_file(path: &Path, n: usize) -> io::Result<String> {
    let mut file = sm_client::files::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes)?;
    Ok(recent(&bytes, n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_messages_in_order() {
        let transcript = br#"cut off"}}
{"type":"user","message":{"role":"user","content":"first"}}
{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"one"},{"type":"tool_use"},{"type":"text","text":"two"}]}}
{"type":"user","message":{"content":[{"type":"tool_result","content":"no message"}]}}
{"type":"system","message":{"content":"no"}}
{"type":"user","message":{"content":"  last \n"}}
not json
"#;
        for (n, expected) in [
            (0, ""),
            (1, "user: last\n"),
            (2, "assistant: one\ntwo\nuser: last\n"),
            (9, "user: first\nassistant: one\ntwo\nuser: last\n"),
        ] {
            assert_eq!(recent(transcript, n), expected, "{n}");
        }
        let long = format!(
            r#"{{"type":"user","message":{{"content":"{}"}}}}"#,
            "é".repeat(5000)
        );
        assert_eq!(recent(long.as_bytes(), 1).chars().count(), 2000 + 6 + 1 + 1);
    }
}
