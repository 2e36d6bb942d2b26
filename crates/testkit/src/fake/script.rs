//! What a turn does: the lines of the prompt, in order. Pure.
//!
//! | line | effect |
//! |---|---|
//! | `SAY: <text>` | answers with it |
//! | `RUN: <command>` | runs it with `sh`, as the Bash tool |
//! | `RUNMANY: <n> <command>` | n times |
//! | `ASK: <command>` | the same as `RUN`, after a permission dialog |
//! | `AGENT: <command>` | the same as `RUN`, by a sub-agent |
//! | `SLEEP: <seconds>` | works that long |
//! | `HOLD: <path>` | works until that file exists |
//! | `FAIL: <status>` | the turn ends with an API error |
//! | `TOKENS: <n>` | the context is said to hold so many tokens |
//! | `COMPACT:` | the context is compacted within the turn |

use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Say(String),
    Run { command: String, ask: bool },
    SubAgent(String),
    Sleep(Duration),
    Hold(PathBuf),
    Fail(u16),
    Tokens(u64),
    Compact,
}

/// The steps of a text; without any, a short echo of it.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for line in text.lines() {
        let Some((word, value)) = line.trim_start().split_once(':') else {
            continue;
        };
        let value = value.trim();
        let run = |ask| Step::Run {
            command: value.to_owned(),
            ask,
        };
        match word {
            "SAY" => steps.push(Step::Say(value.to_owned())),
            "RUN" => steps.push(run(false)),
            "ASK" => steps.push(run(true)),
            "AGENT" => steps.push(Step::SubAgent(value.to_owned())),
            "RUNMANY" => {
                if let Some((times, command)) = value.split_once(' ') {
                    let times = times.parse().unwrap_or(0).min(1000);
                    let step = Step::Run {
                        command: command.to_owned(),
                        ask: false,
                    };
                    steps.extend(std::iter::repeat_n(step, times));
                }
            }
            "SLEEP" => {
                let length = value
                    .parse()
                    .ok()
                    .and_then(|s| Duration::try_from_secs_f64(s).ok());
                steps.extend(length.map(Step::Sleep));
            }
            "HOLD" => steps.push(Step::Hold(value.into())),
            "FAIL" => steps.extend(value.parse().ok().map(Step::Fail)),
            "TOKENS" => steps.extend(value.parse().ok().map(Step::Tokens)),
            "COMPACT" => steps.push(Step::Compact),
            _ => {}
        }
    }
    let ends = steps
        .iter()
        .any(|step| matches!(step, Step::Say(_) | Step::Fail(_)));
    if !ends {
        let ran = steps
            .iter()
            .any(|step| matches!(step, Step::Run { .. } | Step::SubAgent(_)));
        steps.push(Step::Say(if ran { "RUN done".into() } else { echo(text) }));
    }
    steps
}

fn echo(text: &str) -> String {
    let start: String = text.trim().chars().take(60).collect();
    format!("Fake reply to: {}", start.replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_steps_in_order() {
        let run = |command: &str, ask| Step::Run {
            command: command.into(),
            ask,
        };
        let say = |text: &str| Step::Say(text.into());
        for (text, expected) in [
            ("hello\nthere", vec![say("Fake reply to: hello there")]),
            ("SAY: hi", vec![say("hi")]),
            (
                "RUN: a: b\nSLEEP: 0.5",
                vec![
                    run("a: b", false),
                    Step::Sleep(Duration::from_millis(500)),
                    say("RUN done"),
                ],
            ),
            (
                "RUNMANY: 2 x\nSAY: y",
                vec![run("x", false), run("x", false), say("y")],
            ),
            ("ASK: rm x", vec![run("rm x", true), say("RUN done")]),
            (
                "HOLD: /tmp/x\nFAIL: 500",
                vec![Step::Hold("/tmp/x".into()), Step::Fail(500)],
            ),
            (
                "TOKENS: 9\nCOMPACT:\nSAY: z",
                vec![Step::Tokens(9), Step::Compact, say("z")],
            ),
        ] {
            assert_eq!(steps(text), expected, "{text}");
        }
    }
}
