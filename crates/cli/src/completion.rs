//! What shells complete: commands and options from their definition, and what only this instance
//! knows (sessions, handoffs, messages) from the daemon.
//!
//! Somebody waits at a prompt: the daemon is asked once, with a short deadline, and never started;
//! whatever fails, nothing is offered and nothing is printed.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use clap::{Arg, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use serde_json::Value;
use sm_client::http::Request;
use sm_client::{Client, Paths};

use crate::commands::Cli;
use crate::companion::companion;
use crate::text::one_line;

/// Names the shell that asks.
const VARIABLE: &str = "SM_COMPLETE";
/// So long a person waits for a list.
const PATIENCE: Duration = Duration::from_millis(700);
/// More is not read at a prompt.
const MOST: usize = 200;

/// The script by which a shell asks `sm` itself.
pub fn script(shell: &str) -> Option<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(shell)?;
    shell
        .write_registration(VARIABLE, "sm", "sm", "sm", &mut script)
        .ok()?;
    Some(script)
}

/// Answers a shell. Whether one has asked.
pub fn answered() -> bool {
    if std::env::var_os(VARIABLE).is_none_or(|shell| shell.is_empty() || shell == "0") {
        return false;
    }
    if let Some("agent" | "generate") = words().get(1).and_then(|word| word.to_str()) {
        // Its arguments are its own.
        if let Ok(agent) = companion("sm-agent") {
            let _ = Command::new(agent).args(std::env::args_os().skip(1)).exec();
        }
        return true;
    }
    let here = std::env::current_dir().ok();
    let answer = CompleteEnv::with_factory(|| knowing(Cli::command(), &mut Vec::new()))
        .var(VARIABLE)
        .bin("sm")
        .completer("sm")
        .try_complete(std::env::args_os(), here.as_deref());
    // A person is in the middle of a line: a mistake in it is not told now.
    let _ = answer;
    true
}

/// The line that is being completed.
fn words() -> Vec<OsString> {
    let args = std::env::args_os().skip(1);
    args.skip_while(|arg| arg != "--").skip(1).collect()
}

/// What an argument takes that has to be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// Sessions whose agent runs, of every state, or that have ended.
    Live,
    All,
    Ended,
    Handoff,
    Message,
    Agent,
}

/// What the argument of a command takes; commands by their path, without `sm`.
fn takes(command: &[String], argument: &str) -> Option<Takes> {
    let first = command.first().map_or("", String::as_str);
    Some(match (first, argument) {
        // A conversation of the agent's own, and a name that is still to be given.
        ("channel", _) | ("alias", _) => return None,
        ("handoffs", "id") => Takes::Handoff,
        (_, "message") if first == "queue" => Takes::Message,
        ("new" | "run" | "hooks", "agent" | "agents") => Takes::Agent,
        ("restore", "session" | "sessions") => Takes::Ended,
        (
            "show" | "archive" | "handoffs" | "handoff" | "output" | "events" | "ledger" | "queue"
            | "children" | "kill" | "wait" | "context" | "rename",
            "session" | "sessions",
        ) => Takes::All,
        (_, "session" | "sessions" | "parent" | "to") => Takes::Live,
        _ => return None,
    })
}

/// The same commands, with arguments that know what they can be.
fn knowing(command: clap::Command, path: &mut Vec<String>) -> clap::Command {
    let here = path.clone();
    let command =
        command.mut_args(
            |argument: Arg| match takes(&here, argument.get_id().as_str()) {
                Some(takes) => argument.add(ArgValueCompleter::new(move |typed: &OsStr| {
                    candidates(takes, typed)
                })),
                None => argument,
            },
        );
    command.mut_subcommands(|inner| {
        path.push(inner.get_name().to_owned());
        let inner = knowing(inner, path);
        path.pop();
        inner
    })
}

fn candidates(takes: Takes, typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    // Of a list only the last part is open.
    let (before, part) = match typed.rfind(',') {
        Some(at) => typed.split_at(at + 1),
        None => ("", typed.as_ref()),
    };
    offered(takes)
        .into_iter()
        .filter(|(value, _)| value.starts_with(part))
        .take(MOST)
        .map(|(value, about)| {
            let about = Some(one_line(&about)).filter(|about| !about.is_empty());
            CompletionCandidate::new(format!("{before}{value}")).help(about.map(Into::into))
        })
        .collect()
}

/// Values, and what is said beside them.
fn offered(takes: Takes) -> Vec<(String, String)> {
    match takes {
        Takes::Agent => [
            ("claude", "Claude Code"),
            ("codex", "Codex"),
            ("native", "sm's own agent"),
        ]
        .into_iter()
        // `sm run` starts what stands by itself.
        .filter(|(name, _)| *name != "native" || words().get(1).is_some_and(|word| word == "new"))
        .map(|(name, about)| (name.to_owned(), about.to_owned()))
        .collect(),
        Takes::Live => sessions(|ended| !ended),
        Takes::Ended => sessions(|ended| ended),
        Takes::All => sessions(|_| true),
        Takes::Handoff => listed("/handoffs?limit=200")
            .iter()
            .map(|handoff| {
                let about = format!(
                    "{} {}",
                    text(handoff, "session_name"),
                    text(handoff, "state")
                );
                (text(handoff, "id"), about.trim().to_owned())
            })
            .collect(),
        Takes::Message => {
            let words = words();
            let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
            let behind = words.iter().position(|word| *word == "rm");
            let named = behind.and_then(|at| {
                let rest = words.get(at + 1..).unwrap_or_default();
                rest.iter().find(|word| !word.starts_with('-'))
            });
            let Some(session) = named else {
                return Vec::new();
            };
            listed(&format!("/sessions/{}/messages", encoded(session)))
                .iter()
                .map(|message| (text(message, "id"), text(message, "text")))
                .collect()
        }
    }
}

/// Sessions, those that live first: by name, and by id where others have that name as well.
fn sessions(wanted: impl Fn(bool) -> bool) -> Vec<(String, String)> {
    called(&listed("/sessions?all=true"), wanted)
}

fn called(all: &[Value], wanted: impl Fn(bool) -> bool) -> Vec<(String, String)> {
    let fits = |name: &str, wanted: &dyn Fn(&Value) -> bool| {
        let named = all.iter().filter(|one| one["name"] == name);
        named.filter(|one| wanted(one)).count()
    };
    let mut found: Vec<(bool, String, String)> = all
        .iter()
        .filter(|session| wanted(ended(session)) && !text(session, "name").is_empty())
        .map(|session| {
            let over = ended(session);
            let (name, state) = (text(session, "name"), text(session, "state"));
            // A name means the live one; among others it has to be the only one.
            let unique = match over {
                false => fits(&name, &|one| !ended(one)) == 1,
                true => fits(&name, &|_| true) == 1,
            };
            match unique {
                true => (over, name, state),
                false => (over, text(session, "id"), format!("{name}, {state}")),
            }
        })
        .collect();
    found.sort();
    found
        .into_iter()
        .map(|(_, value, about)| (value, about))
        .collect()
}

/// Whether its agent no longer runs.
fn ended(session: &Value) -> bool {
    matches!(session["state"].as_str(), Some("exited" | "lost"))
}

/// A list of the daemon's; empty if there is none, or no daemon, or no answer in time.
fn listed(target: &str) -> Vec<Value> {
    let Ok(paths) = Paths::from_env() else {
        return Vec::new();
    };
    let deadline = Instant::now() + PATIENCE;
    let Ok(response) = Client::new(paths).request(&Request::get(target), deadline) else {
        return Vec::new();
    };
    match serde_json::from_str(&response.text()) {
        Ok(Value::Array(items)) if response.is_success() => items,
        _ => Vec::new(),
    }
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// A name as part of a path.
fn encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather(command: &clap::Command, path: &mut Vec<String>, found: &mut Vec<String>) {
        for argument in command.get_arguments() {
            let id = argument.get_id().as_str();
            if let Some(takes) = takes(path, id) {
                found.push(format!("{} {id}: {takes:?}", path.join(" ")));
            }
        }
        for inner in command.get_subcommands() {
            path.push(inner.get_name().to_owned());
            gather(inner, path, found);
            path.pop();
        }
    }

    #[test]
    fn arguments_know_what_they_take() {
        let mut found = Vec::new();
        gather(&Cli::command(), &mut Vec::new(), &mut found);
        for expected in [
            "show session: All",
            "send session: Live",
            "attach session: Live",
            "restore session: Ended",
            "archive session: All",
            "kill session: All",
            "wait session: All",
            "context session: All",
            "rename session: All",
            "handoff session: All",
            "queue rm session: All",
            "queue rm message: Message",
            "handoffs show id: Handoff",
            "new agent: Agent",
            "run agent: Agent",
        ] {
            let (command, takes) = expected.rsplit_once(": ").unwrap();
            // `sm kill a b` takes several: the name of the argument may be the plural.
            assert!(
                found
                    .iter()
                    .any(|line| line.starts_with(command) && line.ends_with(takes)),
                "{expected} is not in\n{}",
                found.join("\n")
            );
        }
        assert!(!found.iter().any(|line| line.starts_with("channel")));
    }

    #[test]
    fn a_name_that_fits_two_is_offered_as_their_ids() {
        let session = |id: &str, name: &str, state: &str| serde_json::json!({"id": id, "name": name, "state": state});
        let all = [
            session("1", "api", "idle"),
            session("2", "api", "exited"),
            session("3", "web", "lost"),
            session("4", "web", "exited"),
            session("5", "old", "exited"),
        ];
        let values = |wanted: fn(bool) -> bool| -> Vec<String> {
            let found = called(&all, wanted).into_iter();
            found.map(|(value, _)| value).collect()
        };
        assert_eq!(values(|ended| ended), ["2", "3", "4", "old"]);
        assert_eq!(values(|ended| !ended), ["api"]);
        assert_eq!(values(|_| true), ["api", "2", "3", "4", "old"]);
        let about = called(&all, |ended| ended);
        assert_eq!(about[0], ("2".to_owned(), "api, exited".to_owned()));
    }

    #[test]
    fn every_shell_gets_a_script() {
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let script = String::from_utf8(script(shell).unwrap()).unwrap();
            assert!(script.contains(VARIABLE), "{shell}: {script}");
        }
        assert!(script("sh").is_none());
    }
}
