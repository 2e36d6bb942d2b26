//! Any other program: its state is guessed from its output going quiet, text is pasted, and
//! nothing proves that it was read.

use crate::launch::{Launch, LaunchError, LaunchRequest, Start};
use crate::parsed::{Parsed, event};
use crate::paste::PasteFit;
use serde_json::Value;
use sm_core::profile::{AgentKind, Input, Profile};
use sm_core::signal::Signal;

pub const PROFILE: Profile = Profile {
    kind: AgentKind::Generic,
    hook_answer_limit: None,
    stop_answer: None,
    input: Input::Terminal,
    mailbox: false,
    names_conversation: false,
    prompt_argument: false,
    reads_screen: false,
    has_transcript: false,
    // Nobody knows what would be a command to it.
    paste_fit: fit,
    escape_interrupts: false,
    compaction_holds: 0,
    compaction_waits: |_, _| false,
    usable: |window| window,
    clear: None,
    stashes: false,
    resume_command: None,
    paste_as_text: |_| None,
};

/// The program as it is, with its arguments; a prompt has to be pasted.
pub fn launch(request: &LaunchRequest) -> Result<Launch, LaunchError> {
    request.check()?;
    match &request.start {
        Start::New(_) => {}
        Start::Resume(_) => return Err(LaunchError::CannotResume("generic")),
    }
    let mut argv = request.program.clone();
    argv.extend(request.args.iter().cloned());
    Ok(Launch {
        argv,
        conversation: None,
        prompt_given: false,
    })
}

/// `output` with `{"active":true|false}`: output began, or has been quiet for a while. Quiet is as
/// near as this program comes to ending a turn.
pub fn parse_hook(event: &str, body: &[u8]) -> Parsed {
    if event != event::OUTPUT {
        return Parsed::other(crate::json::short(event, 80));
    }
    let active = serde_json::from_slice::<Value>(body)
        .ok()
        .and_then(|value| value.get("active").and_then(Value::as_bool));
    match active {
        Some(true) => Parsed {
            signal: Signal::Working,
            ..Parsed::other("")
        },
        Some(false) => Parsed {
            signal: Signal::Stopping {
                again: false,
                background_tasks: Vec::new(),
            },
            ..Parsed::other("")
        },
        None => Parsed {
            warnings: vec!["output: payload unreadable".to_owned()],
            ..Parsed::other("output")
        },
    }
}

pub fn fit(text: &str) -> PasteFit {
    if text.is_empty() {
        return PasteFit::Empty;
    }
    PasteFit::Exact {
        pastes: vec![text.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_the_only_sign() {
        for (event, body, expected) in [
            ("output", r#"{"active":true}"#, Signal::Working),
            (
                "output",
                r#"{"active":false}"#,
                Signal::Stopping {
                    again: false,
                    background_tasks: Vec::new(),
                },
            ),
            ("output", "{", Signal::Other("output".to_owned())),
            ("Stop", "{}", Signal::Other("Stop".to_owned())),
        ] {
            assert_eq!(parse_hook(event, body.as_bytes()).signal, expected);
        }
    }

    #[test]
    fn the_command_is_run_as_it_is() {
        let request = LaunchRequest {
            program: vec!["my agent".to_owned(), "--flag".to_owned()],
            start: Start::New(None),
            prompt: Some("hi".to_owned()),
            args: vec!["x".to_owned()],
            hook_program: String::new(),
            settings_path: String::new(),
            tools: None,
        };
        let launch = launch(&request).unwrap();
        assert_eq!(launch.argv, ["my agent", "--flag", "x"]);
        assert!(!launch.prompt_given);
    }
}
