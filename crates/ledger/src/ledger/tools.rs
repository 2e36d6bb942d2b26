//! What a tool call is about, in words that are the same for every agent's tools.

use super::files::Use;
use crate::json;
use crate::redact::Origin;
use crate::text;
use serde::{Deserialize, Serialize};

/// A call that has not come back yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    pub id: String,
    pub tool: String,
    pub about: About,
    pub step: u32,
    pub line: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum About {
    File(Use, String),
    /// A patch of several files.
    Files(Vec<(Use, String)>),
    Command {
        text: String,
        background: bool,
    },
    /// A sub-agent.
    Agent(String),
    /// One more step of the plan.
    NewStep(String),
    /// A plan that the person has to agree to.
    Proposal,
    /// A question to the person.
    Question,
    Other,
}

impl About {
    /// What it is about, in a few words; nothing if only the tool's name says it.
    pub fn subject(&self) -> &str {
        match self {
            Self::File(_, text)
            | Self::Command { text, .. }
            | Self::Agent(text)
            | Self::NewStep(text) => text,
            Self::Files(files) => files.first().map_or("", |(_, path)| path),
            Self::Proposal | Self::Question | Self::Other => "",
        }
    }

    pub(super) fn each_text(&mut self, change: &mut impl FnMut(&mut String)) {
        match self {
            Self::File(_, text)
            | Self::Command { text, .. }
            | Self::Agent(text)
            | Self::NewStep(text) => change(text),
            Self::Files(files) => files.iter_mut().for_each(|(_, path)| change(path)),
            Self::Proposal | Self::Question | Self::Other => {}
        }
    }

    /// What its input and its output come from, as far as its words tell.
    pub fn origin(&self) -> Origin {
        let settings = match self {
            Self::File(_, path) => holds_settings(path),
            Self::Files(files) => files.iter().any(|(_, path)| holds_settings(path)),
            Self::Command { text, .. } => {
                let text = text::head(text, 4_000);
                matches!(text.trim(), "env" | "printenv" | "set" | "export")
                    || text
                        .split(|c: char| {
                            c.is_whitespace()
                                || matches!(c, '"' | '\'' | ';' | '|' | '<' | '>' | '(' | ')' | '=')
                        })
                        .any(holds_settings)
            }
            Self::Agent(_) | Self::NewStep(_) | Self::Proposal | Self::Question | Self::Other => {
                false
            }
        };
        match settings {
            true => Origin::Settings,
            false => Origin::Any,
        }
    }
}

/// Whether a file of this name is one of settings: what stands there is not computed.
fn holds_settings(path: &str) -> bool {
    const ENDS: &str = "\
yaml|yml|json|jsonc|json5|toml|ini|cfg|conf|config|cnf|properties|env|plist|tfvars|xml|netrc|\
npmrc|pypirc|pgpass|htpasswd|pem|key|kubeconfig|envrc";
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.trim_end_matches([',', ':', '.']);
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    ENDS.split('|').any(|known| known.eq_ignore_ascii_case(end))
        || name.starts_with(".env")
        || matches!(
            name,
            "printenv" | "kubeconfig" | "credentials" | "secrets" | "id_rsa" | "authorized_keys"
        )
        || path.contains("/secrets/")
}

fn path(input: &str) -> Option<String> {
    ["file_path", "path", "filePath", "notebook_path", "filename"]
        .iter()
        .find_map(|name| json::text_of(input, name))
        .map(|path| path.into_owned())
}

/// A command may be a text or a list of words.
fn command(input: &str) -> Option<String> {
    let value = ["command", "cmd", "script"]
        .iter()
        .find_map(|name| json::get(input, name))?;
    if let Some(text) = json::text(value) {
        return Some(text.into_owned());
    }
    let mut words = Vec::new();
    json::elements(value, |word| words.extend(json::text(word)));
    // `bash -lc "…"` is about what stands in the quotes
    if words.len() == 3 && words[1].starts_with('-') && words[1].ends_with('c') {
        return words.pop().map(|word| word.into_owned());
    }
    (!words.is_empty()).then(|| words.join(" "))
}

/// The files of a patch: `*** Update File: src/a.rs`.
fn patch(text: &str) -> Vec<(Use, String)> {
    let files = text.lines().filter_map(|line| {
        let (what, path) = line.strip_prefix("*** ")?.split_once(" File: ")?;
        let how = if what == "Add" {
            Use::Write
        } else {
            Use::Change
        };
        Some((how, path.trim().to_owned()))
    });
    files.take(100).collect()
}

pub fn about(tool: &str, input: &str) -> About {
    let name = tool.to_ascii_lowercase();
    let name = name.rsplit("__").next().unwrap_or_default();
    let file = |how| path(input).map_or(About::Other, |path| About::File(how, path));
    match name {
        "read" | "read_file" | "view" | "view_image" | "notebookread" => file(Use::Read),
        "edit" | "multiedit" | "notebookedit" | "str_replace" | "str_replace_editor"
        | "edit_file" | "replace" => file(Use::Change),
        "write" | "write_file" | "create" | "create_file" => file(Use::Write),
        "apply_patch" | "patch" => {
            let text = json::text(input).or_else(|| json::text_of(input, "input"));
            About::Files(text.map(|text| patch(&text)).unwrap_or_default())
        }
        "bash" | "shell" | "exec_command" | "local_shell" | "execute" | "shell_command"
        | "run_terminal_cmd" | "powershell" | "exec" => match command(input) {
            Some(text) => {
                let files = patch(&text);
                if !files.is_empty() && text.contains("apply_patch") {
                    return About::Files(files);
                }
                let background = json::get(input, "run_in_background") == Some("true");
                About::Command { text, background }
            }
            None => About::Other,
        },
        "task" | "agent" | "spawn_agent" | "subagent" => {
            let what =
                json::text_of(input, "description").or_else(|| json::text_of(input, "prompt"));
            About::Agent(what.unwrap_or_default().into_owned())
        }
        "taskcreate" => About::NewStep(
            json::text_of(input, "subject")
                .unwrap_or_default()
                .into_owned(),
        ),
        "exitplanmode" | "exit_plan_mode" => About::Proposal,
        "askuserquestion" | "ask" | "request_user_input" => About::Question,
        _ => About::Other,
    }
}
