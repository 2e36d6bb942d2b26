//! The line that starts Codex, with our hooks on it.

use super::paste::is_command;
use super::trust;
use crate::launch::{Launch, LaunchError, LaunchRequest, Start, has_option};
use crate::shell;

/// The hooks we listen to; as few as tell the state, as each costs a process per event.
pub const EVENTS: [&str; 9] = [
    "SessionStart",
    "UserPromptSubmit",
    "PermissionRequest",
    "PostToolUse",
    "PreCompact",
    "PostCompact",
    "SessionEnd",
    "Stop",
    "Interrupt",
];

/// Seconds. Codex allows no more than 3 for `SessionEnd` and `Interrupt`, and the number is part
/// of the hash.
pub const HOOK_TIMEOUT: u64 = 3;

/// What the answer of our `PostToolUse` may hold; without it Codex cuts out the middle beyond
/// 10,000 characters. Other events ignore it, with a warning to the person.
pub const CONTEXT_LIMIT: u64 = 120_000;

pub fn launch(request: &LaunchRequest) -> Result<Launch, LaunchError> {
    request.check()?;
    let mut argv = request.program.clone();
    let mut conversation = None;
    if let Start::Resume(id) = &request.start {
        argv.extend(["resume".to_owned(), id.to_string()]);
        conversation = Some(id.clone());
    }
    // Without it hooks and tools run in a background process with somebody else's environment.
    if !has_option(&request.args, &["--no-daemon", "--remote"]) {
        argv.push("--no-daemon".to_owned());
    }
    let mut config = |setting: String| argv.extend(["-c".to_owned(), setting]);
    config("check_for_update_on_startup=false".to_owned());
    let mut trusted = Vec::new();
    for event in EVENTS {
        let command = shell::hook([request.hook_program.as_str(), "codex", event]);
        let limit = (event == "PostToolUse").then_some(CONTEXT_LIMIT);
        let limited = limit
            .map(|n| format!(",additionalContextLimit={n}"))
            .unwrap_or_default();
        config(format!(
            "hooks.{event}=[{{hooks=[{{type=\"command\",command={},timeout={HOOK_TIMEOUT}{limited}}}]}}]",
            toml_string(&command)
        ));
        trusted.push(format!(
            "{}={{trusted_hash={}}}",
            toml_string(&trust::key(event)),
            toml_string(&trust::hash(event, &command, HOOK_TIMEOUT, limit))
        ));
    }
    config(format!("hooks.state={{{}}}", trusted.join(",")));
    argv.extend(request.args.iter().cloned());
    let users_prompt = request.args.iter().any(|a| a == "--");
    Ok(Launch::with_prompt(
        argv,
        conversation,
        request,
        users_prompt,
        fits,
    ))
}

fn fits(prompt: &str) -> bool {
    !prompt.trim().is_empty() && !is_command(prompt)
}

/// A TOML basic string.
fn toml_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_core::ids::ConversationId;

    fn request(start: Start, args: &[&str], prompt: Option<&str>) -> LaunchRequest {
        LaunchRequest {
            program: vec!["codex".to_owned()],
            start,
            prompt: prompt.map(str::to_owned),
            args: args.iter().map(|a| (*a).to_owned()).collect(),
            hook_program: "/a \"b\"/sm-hook".to_owned(),
            settings_path: String::new(),
        }
    }

    #[test]
    fn a_new_conversation() {
        let launch = launch(&request(Start::New(None), &["-m", "x"], Some("/help"))).unwrap();
        let argv = &launch.argv;
        assert_eq!(
            argv[..4],
            [
                "codex",
                "--no-daemon",
                "-c",
                "check_for_update_on_startup=false"
            ]
        );
        assert_eq!(
            argv[5],
            r#"hooks.SessionStart=[{hooks=[{type="command",command="exec '/a \"b\"/sm-hook' codex SessionStart",timeout=3}]}]"#
        );
        assert_eq!(
            argv.iter().filter(|a| a.starts_with("hooks.")).count(),
            EVENTS.len() + 1
        );
        assert!(
            argv.iter()
                .any(|a| a.contains("PostToolUse\",timeout=3,additionalContextLimit=120000}"))
        );
        assert_eq!(argv[argv.len() - 4..], ["-m", "x", "--", "/help"]);
        assert!(launch.prompt_given && launch.conversation.is_none());
    }

    #[test]
    fn an_earlier_conversation() {
        let id = ConversationId::new("01a1").unwrap();
        let launch = launch(&request(
            Start::Resume(id.clone()),
            &["--no-daemon"],
            Some("!ls"),
        ))
        .unwrap();
        assert_eq!(launch.argv[..4], ["codex", "resume", "01a1", "-c"]);
        assert_eq!(
            launch.argv.iter().filter(|a| *a == "--no-daemon").count(),
            1
        );
        assert_eq!(launch.conversation, Some(id));
        assert!(!launch.prompt_given, "a leading ! would be run by a shell");
    }
}
