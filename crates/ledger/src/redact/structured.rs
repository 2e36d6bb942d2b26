//! JSON without its secrets: every string by itself as the text it is, with the name it stands
//! under, so that the outcome is JSON as well.
//!
//! Must never recurse: what is nested is only gone through.

use super::assign::is_named_secret;
use super::value::{Style, is_secret};
use super::{Origin, keys, redact_from};
use crate::json;
use std::borrow::Cow;

/// JSON as it is or without its secrets, and what they were.
pub fn redact_json(raw: &str, origin: Origin) -> (Cow<'_, str>, Vec<String>) {
    let bytes = raw.as_bytes();
    let mut out = String::new();
    let mut secrets = Vec::new();
    let mut written = 0;
    let mut at = 0;
    let mut key: Option<Cow<'_, str>> = None;
    let mut before: Option<Cow<'_, str>> = None;
    while let Some(start) = memchr::memchr(b'"', bytes.get(at..).unwrap_or_default()) {
        let start = at + start;
        let Some(end) = json::skip_string(bytes, start) else {
            break;
        };
        at = end;
        let Some(text) = raw.get(start..end).and_then(json::text) else {
            continue;
        };
        let next = json::skip_space(bytes, end);
        if bytes.get(next) == Some(&b':') {
            key = Some(text);
            before = None;
            continue;
        }
        let clean = clean(
            key.as_deref(),
            before.as_deref(),
            &text,
            origin,
            &mut secrets,
        );
        if let Some(clean) = clean {
            out.push_str(raw.get(written..start).unwrap_or_default());
            out.push_str(&json::quoted(&clean));
            written = end;
        }
        before = Some(text);
    }
    if written == 0 {
        return (Cow::Borrowed(raw), secrets);
    }
    out.push_str(raw.get(written..).unwrap_or_default());
    (Cow::Owned(out), secrets)
}

/// None: it holds none.
fn clean(
    key: Option<&str>,
    before: Option<&str>,
    text: &str,
    origin: Origin,
    secrets: &mut Vec<String>,
) -> Option<String> {
    let whole = key
        .and_then(|key| is_named_secret(key, text, origin))
        .or_else(|| {
            // `["--password", "…"]`
            let (kind, rule) = before?.strip_prefix("--").and_then(keys::kind)?;
            is_secret(kind, Style::Flag, text).then_some(rule)
        });
    if let Some(rule) = whole {
        secrets.push(text.to_owned());
        return Some(format!("[redacted: {rule}]"));
    }
    let redacted = redact_from(text, origin);
    if redacted.found.is_empty() {
        return None;
    }
    secrets.extend(super::values(text, origin));
    Some(redacted.text.into_owned())
}
