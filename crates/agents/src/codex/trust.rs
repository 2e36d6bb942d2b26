//! Codex runs a hook only if its hash was trusted. Ours come with each launch, together with their
//! hashes, so nobody is asked about them; the user's own hooks and decisions stay as they are.
//!
//! The hash is SHA-256 over the hook as JSON with sorted keys and the program's defaults filled in.
//! If a later version counts differently, Codex shows its own review dialog: nothing is bypassed.

use serde_json::{Map, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Where hooks given on the command line come from, in Codex's words.
const SOURCE: &str = "/<session-flags>/config.toml";

/// `PostToolUse` -> `post_tool_use`
fn snake(event: &str) -> String {
    let mut out = String::with_capacity(event.len() + 4);
    for (i, c) in event.char_indices() {
        if c.is_ascii_uppercase() && i > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// The key under which the trust in our hook for `event` is kept.
pub fn key(event: &str) -> String {
    format!("{SOURCE}:{}:0:0", snake(event))
}

/// The hash of a hook that runs `command`, the only one of its event in our flags.
pub fn hash(event: &str, command: &str, timeout: u64, context_limit: Option<u64>) -> String {
    // serde_json keeps the order of keys, so they are written sorted.
    let mut hook = Map::new();
    if let Some(limit) = context_limit {
        hook.insert("additionalContextLimit".to_owned(), json!(limit));
    }
    hook.insert("async".to_owned(), json!(false));
    hook.insert("command".to_owned(), json!(command));
    hook.insert("timeout".to_owned(), json!(timeout));
    hook.insert("type".to_owned(), json!("command"));
    let identity = json!({"event_name": snake(event), "hooks": [hook]});
    let mut out = String::from("sha256:");
    for byte in Sha256::digest(identity.to_string().as_bytes()) {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `codex app-server` 0.166.0 answered to `hooks/list`.
    #[test]
    fn hashes_are_those_of_the_real_program() {
        let command = "/a/sm-hook codex Stop";
        for (event, command, timeout, expected) in [
            (
                "Stop",
                "x",
                600,
                "sha256:6f14477468be127a92604ce05b51030268ccd6077fa7a807515589cfcfc7fd17",
            ),
            (
                "Stop",
                command,
                600,
                "sha256:562c6bdf0fa6bb6f2a07f5677668c1e47ccafca1c618d42ddcce650520fd4640",
            ),
            (
                "Stop",
                command,
                10,
                "sha256:c27dc7f74e31a09c17f9eeb7f7c295f9aa8574590f6d8db01474a1f229b3eb3f",
            ),
            (
                "PostToolUse",
                command,
                10,
                "sha256:1e8f9bfb02a138f9715d9568af38fcbedd72c17cdf5da8a90deeb124fac660da",
            ),
        ] {
            assert_eq!(hash(event, command, timeout, None), expected);
        }
        assert_eq!(
            hash("PostToolUse", "x", 600, Some(60_000)),
            "sha256:75f61bc0e73fd07e9b8be13931b6ced2ac6b723ab00d828be26d921844670fcc"
        );
        assert_eq!(
            key("PostToolUse"),
            "/<session-flags>/config.toml:post_tool_use:0:0"
        );
    }
}
