//! The line that starts `sm-agent` as a session of the daemon.

use crate::launch::{Launch, LaunchError, LaunchRequest, Start, has_option};

/// Said only here: an agent that inherits a session's environment is not that session's agent.
pub const MANAGED: &str = "--managed";
/// The id of a session that is new.
pub const SESSION_ID: &str = "--session-id";

/// The program whose tools its model has for its session.
pub const TOOLS_BY: &str = "--tools-by";
/// A person is asked before its model hands over with them.
pub const ASK_TO_HAND_OVER: &str = "--ask-to-hand-over";

/// Arguments with which the user chooses the session himself.
const CHOOSES: [&str; 4] = ["--resume", "-r", "--continue", "-c"];

/// Arguments of a headless agent: it answers once and ends, and has no link to the daemon.
const HEADLESS: [&str; 3] = ["--print", "-p", "--json"];

/// Why an agent with these arguments cannot be a session.
pub fn not_a_session(args: &[String]) -> Option<&'static str> {
    let before = args.iter().take_while(|arg| *arg != "--");
    let glued = before
        .into_iter()
        .any(|arg| arg.starts_with("-p") && !arg.starts_with("--"));
    (glued || has_option(args, &HEADLESS))
        .then_some("-p, --print and --json are for a headless agent, which cannot be a session")
}

pub fn launch(request: &LaunchRequest) -> Result<Launch, LaunchError> {
    request.check()?;
    let users_prompt = request.args.iter().any(|a| a == "--");
    let mut argv = request.program.clone();
    argv.extend(["agent".to_owned(), MANAGED.to_owned()]);
    let mut conversation = None;
    // A session that the user chose is chosen once: what is resumed later is ours to say.
    let mut args = request.args.clone();
    match &request.start {
        Start::Resume(id) => {
            drop_choice(&mut args);
            argv.extend(["--resume".to_owned(), id.to_string()]);
            conversation = Some(id.clone());
        }
        Start::New(Some(id)) if !has_option(&args, &CHOOSES) => {
            argv.extend([SESSION_ID.to_owned(), id.to_string()]);
            conversation = Some(id.clone());
        }
        Start::New(_) => {}
    }
    if let Some(tools) = &request.tools {
        argv.push(format!("{TOOLS_BY}={}", tools.program));
        argv.extend((!tools.allowed).then(|| ASK_TO_HAND_OVER.to_owned()));
    }
    argv.extend(args);
    Ok(Launch::with_prompt(
        argv,
        conversation,
        request,
        users_prompt,
        |prompt| !prompt.trim().is_empty(),
    ))
}

fn drop_choice(args: &mut Vec<String>) {
    let end = args.iter().position(|a| a == "--").unwrap_or(args.len());
    let rest = args.split_off(end);
    let mut kept = Vec::new();
    let mut words = std::mem::take(args).into_iter().peekable();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--continue" | "-c" => {}
            "--resume" | "-r" => {
                words.next_if(|value| !value.starts_with('-'));
            }
            other if other.starts_with("--resume=") => {}
            _ => kept.push(word),
        }
    }
    kept.extend(rest);
    *args = kept;
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_core::ids::ConversationId;

    #[test]
    fn a_headless_agent_is_no_session() {
        for (args, refused) in [
            ("-p hello", true),
            ("-phello", true),
            ("--model x/y --print=hello", true),
            ("--json", true),
            ("--plain", false),
            ("--model x/y -- -p", false),
            ("", false),
        ] {
            let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
            assert_eq!(not_a_session(&args).is_some(), refused, "{args:?}");
        }
    }

    #[test]
    fn lines() {
        let id = || ConversationId::new("0197-a").unwrap();
        let new = || Start::New(Some(id()));
        for (start, args, prompt, expected) in [
            (new(), "", None, "agent --managed --session-id 0197-a"),
            (
                new(),
                "--model x/y",
                Some("-go"),
                "agent --managed --session-id 0197-a --model x/y -- -go",
            ),
            (new(), "-c", None, "agent --managed -c"),
            (
                Start::Resume(id()),
                "--model x/y --resume old --yes",
                None,
                "agent --managed --resume 0197-a --model x/y --yes",
            ),
            (
                Start::Resume(id()),
                "-r --resume=z -c -- -c",
                Some("ours"),
                "agent --managed --resume 0197-a -- -c",
            ),
            (Start::New(None), "", Some("/x"), "agent --managed -- /x"),
        ] {
            let request = LaunchRequest {
                program: vec!["sm-agent".to_owned()],
                start,
                prompt: prompt.map(str::to_owned),
                args: args.split_whitespace().map(str::to_owned).collect(),
                hook_program: String::new(),
                settings_path: String::new(),
                tools: None,
            };
            let launch = launch(&request).unwrap();
            assert_eq!(launch.argv.join(" "), format!("sm-agent {expected}"));
            assert_eq!(launch.conversation.is_some(), expected.contains("0197-a"));
        }
    }

    #[test]
    fn the_tools_are_named_before_what_the_user_wrote() {
        for (allowed, expected) in [
            (
                true,
                "sm-agent agent --managed --tools-by=/opt/s m/sm --yes",
            ),
            (
                false,
                "sm-agent agent --managed --tools-by=/opt/s m/sm --ask-to-hand-over --yes",
            ),
        ] {
            let request = LaunchRequest {
                program: vec!["sm-agent".to_owned()],
                start: Start::New(None),
                prompt: None,
                args: vec!["--yes".to_owned()],
                hook_program: String::new(),
                settings_path: String::new(),
                tools: Some(crate::OwnTools {
                    program: "/opt/s m/sm".to_owned(),
                    allowed,
                }),
            };
            assert_eq!(launch(&request).unwrap().argv.join(" "), expected);
        }
    }
}
