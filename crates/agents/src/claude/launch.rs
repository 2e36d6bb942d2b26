//! The line that starts Claude Code.

use super::paste::is_command;
use crate::launch::{Launch, LaunchError, LaunchRequest, Start, has_option, take_option};

/// Arguments with which the user chooses the conversation himself.
const CHOOSES: [&str; 7] = [
    "--session-id",
    "--resume",
    "-r",
    "--continue",
    "-c",
    "--from-pr",
    "--fork-session",
];

/// What the user gave with his own `--settings` (a path or JSON): Claude takes only one, so it has
/// to be merged into ours ([`super::settings::build`]).
pub fn user_settings(args: &[String]) -> Option<String> {
    take_option(&mut args.to_vec(), "--settings")
}

pub fn launch(request: &LaunchRequest) -> Result<Launch, LaunchError> {
    request.check()?;
    let mut args = request.args.clone();
    let _merged_into_ours = take_option(&mut args, "--settings");
    // Words of the user's own after `--` are his prompt; ours then comes another way.
    let users_prompt = args.iter().any(|a| a == "--");

    let mut argv = request.program.clone();
    argv.push("--settings".to_owned());
    argv.push(request.settings_path.clone());
    let mut conversation = None;
    if !has_option(&args, &CHOOSES) {
        match &request.start {
            Start::New(None) => {}
            Start::New(Some(id)) => {
                argv.extend(["--session-id".to_owned(), id.to_string()]);
                conversation = Some(id.clone());
            }
            Start::Resume(id) => {
                argv.extend(["--resume".to_owned(), id.to_string()]);
                conversation = Some(id.clone());
            }
        }
    }
    argv.extend(args);
    Ok(Launch::with_prompt(
        argv,
        conversation,
        request,
        users_prompt,
        fits,
    ))
}

/// An argument arrives byte for byte, except that a leading slash makes it a command.
fn fits(prompt: &str) -> bool {
    !prompt.trim().is_empty() && !is_command(prompt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_core::ids::ConversationId;

    fn request(start: Start, args: &[&str], prompt: Option<&str>) -> LaunchRequest {
        LaunchRequest {
            program: vec!["claude".to_owned()],
            start,
            prompt: prompt.map(str::to_owned),
            args: args.iter().map(|a| (*a).to_owned()).collect(),
            hook_program: "/sm-hook".to_owned(),
            settings_path: "/s.json".to_owned(),
        }
    }

    #[test]
    fn lines() {
        let id = || ConversationId::new("8460b0ea-996a-4833-b3ae-4efd5f7f056c").unwrap();
        let new = || Start::New(Some(id()));
        for (start, args, prompt, expected) in [
            (
                new(),
                &[][..],
                None,
                "claude --settings /s.json --session-id 8460b0ea-996a-4833-b3ae-4efd5f7f056c",
            ),
            (
                Start::Resume(id()),
                &["--model", "x"],
                Some("-go"),
                "claude --settings /s.json --resume 8460b0ea-996a-4833-b3ae-4efd5f7f056c --model x -- -go",
            ),
            (
                new(),
                &["--continue"],
                None,
                "claude --settings /s.json --continue",
            ),
            (
                new(),
                &["-r", "abc", "--settings", "mine"],
                None,
                "claude --settings /s.json -r abc",
            ),
            (
                Start::New(None),
                &["--", "his"],
                Some("ours"),
                "claude --settings /s.json -- his",
            ),
            (
                Start::New(None),
                &[],
                Some("/help"),
                "claude --settings /s.json",
            ),
            (
                Start::New(None),
                &[],
                Some("!ls"),
                "claude --settings /s.json -- !ls",
            ),
        ] {
            let launch = launch(&request(start, args, prompt)).unwrap();
            assert_eq!(launch.argv.join(" "), expected);
            let ours = prompt.is_some_and(|p| launch.argv.last().is_some_and(|a| a == p));
            assert_eq!(launch.prompt_given, ours);
            assert_eq!(launch.conversation.is_some(), expected.contains("8460b0ea"));
        }
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let mut bad = request(Start::New(None), &[], Some("a\0b"));
        assert_eq!(launch(&bad), Err(LaunchError::NulInPrompt));
        bad.program.clear();
        assert_eq!(launch(&bad), Err(LaunchError::NoProgram));
    }

    #[test]
    fn the_users_settings_are_found() {
        let args = [
            "--model".to_owned(),
            "m".to_owned(),
            "--settings={}".to_owned(),
        ];
        assert_eq!(user_settings(&args).as_deref(), Some("{}"));
    }
}
