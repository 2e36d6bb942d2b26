//! The line that starts Codex, with our hooks on it.

use super::paste::is_command;
use super::trust;
use crate::launch::{Launch, LaunchError, LaunchRequest, Start, has_option};
use crate::own_tools::{OwnTools, SERVER};
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
    // asked at every limit, in front of a composer that is typed into as soon as the limit is over
    config("notice.hide_rate_limit_model_nudge=true".to_owned());
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
    if let Some(tools) = &request.tools {
        config(server(tools));
    }
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

/// What the server of our tools takes from the agent's environment, by name: a value would stand among
/// the arguments, which other users can read.
const SERVER_VARS: [&str; 4] = [
    "CLAUDE_SESSION_MANAGER_ID",
    "SM_SESSION_SECRET",
    "SM_HOME",
    "SM_RUN",
];

/// The server of our own tools. Its tools change nothing but the session, and are sm's: where that is
/// allowed, nobody is asked about them.
fn server(tools: &OwnTools) -> String {
    let vars = SERVER_VARS.map(toml_string).join(",");
    let approval = match tools.allowed {
        true => ",default_tools_approval_mode=\"approve\"",
        false => "",
    };
    format!(
        "mcp_servers.{SERVER}={{command={},args=[\"mcp\"],env_vars=[{vars}]{approval},startup_timeout_sec=10,tool_timeout_sec=10}}",
        toml_string(&tools.program)
    )
}

/// Whether a configuration of the user's, or his own arguments, have a server of our name.
pub fn has_server(config: &str, args: &[String]) -> bool {
    let key = format!("mcp_servers.{SERVER}");
    let given = args.iter().take_while(|arg| *arg != "--").any(|arg| {
        let setting = arg
            .strip_prefix("-c")
            .or(arg.strip_prefix("--config="))
            .unwrap_or(arg);
        let setting = setting.trim_start();
        setting
            .strip_prefix(&key)
            .is_some_and(|rest| rest.starts_with(['=', '.', ' ']))
    });
    let written = config.parse::<toml::Table>().is_ok_and(|config| {
        let servers = config
            .get("mcp_servers")
            .and_then(|servers| servers.as_table());
        servers.is_some_and(|servers| servers.contains_key(SERVER))
    });
    given || written
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
            tools: None,
        }
    }

    #[test]
    fn a_new_conversation() {
        let launch = launch(&request(Start::New(None), &["-m", "x"], Some("/help"))).unwrap();
        let argv = &launch.argv;
        assert_eq!(
            argv[..6],
            [
                "codex",
                "--no-daemon",
                "-c",
                "check_for_update_on_startup=false",
                "-c",
                "notice.hide_rate_limit_model_nudge=true"
            ]
        );
        assert_eq!(
            argv[7],
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
    fn own_tools_are_named_and_no_value_of_a_variable_is() {
        let mut request = request(Start::New(None), &[], Some("go"));
        for (allowed, approval) in [
            (true, ",default_tools_approval_mode=\"approve\""),
            (false, ""),
        ] {
            request.tools = Some(OwnTools {
                program: "/a \"b\"/sm".to_owned(),
                allowed,
            });
            let argv = launch(&request).unwrap().argv;
            let expected = format!(
                "mcp_servers.sm={{command=\"/a \\\"b\\\"/sm\",args=[\"mcp\"],env_vars=[\"CLAUDE_SESSION_MANAGER_ID\",\"SM_SESSION_SECRET\",\"SM_HOME\",\"SM_RUN\"]{approval},startup_timeout_sec=10,tool_timeout_sec=10}}"
            );
            assert_eq!(argv[argv.len() - 3], expected);
            let config: toml::Table = expected.parse().unwrap();
            assert!(config["mcp_servers"]["sm"]["command"].is_str());
        }
    }

    #[test]
    fn a_server_of_our_name_is_the_users() {
        for (config, args, expected) in [
            ("[mcp_servers.sm]\ncommand = 'x'", "", true),
            ("[mcp_servers.smx]\ncommand = 'x'", "", false),
            ("mcp_servers = 5", "", false),
            ("[", "", false),
            ("", "-c mcp_servers.sm.command=x", true),
            ("", "--config=mcp_servers.sm={}", true),
            ("", "-c mcp_servers.smx.command=x", false),
            ("", "-- mcp_servers.sm=x", false),
        ] {
            let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
            assert_eq!(has_server(config, &args), expected, "{config} {args:?}");
        }
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
