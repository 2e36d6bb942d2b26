//! The line that starts Claude Code.

use super::paste::is_command;
use crate::launch::{Launch, LaunchError, LaunchRequest, Start, has_option, take_option};
use crate::own_tools;

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

/// What the user gave with his own `--mcp-config`: paths, or JSON.
pub fn user_servers(args: &[String]) -> Vec<String> {
    const OPTION: &str = "--mcp-config";
    let mut found = Vec::new();
    let mut takes = false;
    for arg in args.iter().take_while(|arg| *arg != "--") {
        if let Some(value) = arg
            .strip_prefix(OPTION)
            .and_then(|rest| rest.strip_prefix('='))
        {
            found.push(value.to_owned());
            takes = false;
        } else if arg == OPTION {
            takes = true;
        } else if arg.starts_with('-') {
            takes = false;
        } else if takes {
            found.push(arg.clone());
        }
    }
    found
}

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
    if let Some(tools) = &request.tools {
        // in one word: the option takes all words that follow it
        argv.push(format!("--mcp-config={}", own_tools::claude_config(tools)));
    }
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
            tools: None,
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
    fn own_tools_come_in_one_word_beside_those_of_the_user() {
        let mut request = request(Start::New(None), &["--mcp-config", "mine.json"], Some("go"));
        request.tools = Some(own_tools::OwnTools {
            program: "/bin/sm".to_owned(),
            allowed: true,
        });
        let argv = launch(&request).unwrap().argv;
        assert!(
            argv[3].starts_with("--mcp-config={\"mcpServers\":{\"sm\":"),
            "{argv:?}"
        );
        assert_eq!(argv[4..], ["--mcp-config", "mine.json", "--", "go"]);
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let mut bad = request(Start::New(None), &[], Some("a\0b"));
        assert_eq!(launch(&bad), Err(LaunchError::NulInPrompt));
        bad.program.clear();
        assert_eq!(launch(&bad), Err(LaunchError::NoProgram));
    }

    #[test]
    fn the_users_servers_are_found() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (args, expected) in [
            ("--mcp-config a.json b.json --model m", "a.json b.json"),
            ("--mcp-config={} x --mcp-config b", "{} b"),
            ("-- --mcp-config a", ""),
        ] {
            assert_eq!(user_servers(&words(args)).join(" "), expected, "{args}");
        }
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
