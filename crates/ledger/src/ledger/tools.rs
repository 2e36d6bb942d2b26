//! What a tool call is about, in words that are the same for every agent's tools.

use super::files::Use;
use crate::json;
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
    /// Every text that is kept.
    pub fn each_text(&mut self, change: &mut impl FnMut(&mut String)) {
        match self {
            Self::File(_, text)
            | Self::Command { text, .. }
            | Self::Agent(text)
            | Self::NewStep(text) => change(text),
            Self::Files(files) => files.iter_mut().for_each(|(_, path)| change(path)),
            Self::Proposal | Self::Question | Self::Other => {}
        }
    }

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

    /// Whether it is about where people keep secrets: then even names in it may be some.
    pub fn shows_secrets(&self) -> bool {
        let marks = [
            ".env",
            "printenv",
            "credentials",
            "secret",
            "id_rsa",
            ".pem",
        ];
        match self {
            Self::File(_, text) | Self::Command { text, .. } => {
                marks.iter().any(|mark| text.contains(mark)) || text.trim() == "env"
            }
            Self::Files(_)
            | Self::Agent(_)
            | Self::NewStep(_)
            | Self::Proposal
            | Self::Question
            | Self::Other => false,
        }
    }
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
