//! The tools as the model sees them. These bytes are the beginning of every request: a change of
//! one letter makes every provider's cache useless once.

use serde_json::{Value, json};
use sm_agents::own_tools;
use sm_llm::Tool;

/// Whose session it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Managed {
    /// By sm, whose tools there are too.
    BySm,
    ByNobody,
}

/// All of them, always in this order.
pub fn definitions(managed: Managed) -> Vec<Tool> {
    let mut all = of_the_agent();
    if managed == Managed::BySm {
        all.extend(own_tools::definitions().map(|tool| Tool {
            name: own_tools::full_name(tool.name),
            description: tool.description.to_owned(),
            parameters: tool.schema,
        }));
    }
    all
}

fn of_the_agent() -> Vec<Tool> {
    vec![
        tool(
            "read",
            "Read a file. Text is given in pieces of at most 2000 lines or 50 kB; the last line says where to go on. Images (png, jpeg, gif, webp) are shown to you.",
            json!({
                "path": text("The file, relative to the working directory or absolute"),
                "offset": count("First line to read, counted from 1"),
                "limit": count("How many lines to read (2000)"),
            }),
            &["path"],
        ),
        tool(
            "write",
            "Write a whole file, making folders as needed. What was there before is replaced; to change a part of a file use edit.",
            json!({
                "path": text("The file"),
                "content": text("Everything that the file shall hold"),
            }),
            &["path", "content"],
        ),
        tool(
            "edit",
            "Replace one piece of a file's text. old_text must be in the file exactly once, white space included; take enough lines around it.",
            json!({
                "path": text("The file"),
                "old_text": text("The text as it is in the file"),
                "new_text": text("The text that takes its place; may be empty"),
                "replace_all": flag("Replace every place where old_text is"),
            }),
            &["path", "old_text", "new_text"],
        ),
        tool(
            "bash",
            "Run a command in a shell in the working directory. You get its output (30 kB at most: the beginning and the end; the whole is then in a file that is named) and its exit code. There is no terminal and no input. It is stopped after the timeout; something that shall go on running is started with &.",
            json!({
                "command": text("The command"),
                "timeout": count("Seconds until it is stopped (120, at most 3600)"),
            }),
            &["command"],
        ),
        tool(
            "grep",
            "Search the contents of files with a regular expression. Gives path:line:text. Files that .gitignore names and binary files are left out.",
            json!({
                "pattern": text("The regular expression"),
                "path": text("A file or a folder (the working directory)"),
                "glob": text("Only files whose path fits, such as *.rs or src/**/*.ts"),
                "ignore_case": flag("Upper and lower case are the same"),
                "literal": flag("The pattern is plain text"),
                "context": count("How many lines to show around each match"),
                "limit": count("How many matches at most (100)"),
            }),
            &["pattern"],
        ),
        tool(
            "find",
            "Find files by the names of their paths. Gives one path a line. Files that .gitignore names are left out.",
            json!({
                "pattern": text("A glob: *.rs is found at any depth, src/**/*.rs below src"),
                "path": text("The folder to look in (the working directory)"),
                "limit": count("How many paths at most (1000)"),
            }),
            &["pattern"],
        ),
        tool(
            "todo",
            "Keep the list of things to do, for work of several steps. Always give the whole list: it takes the place of the one before.",
            json!({
                "todos": {
                    "type": "array",
                    "description": "The whole list, in order",
                    "items": {
                        "type": "object",
                        "properties": {
                            "text": text("What is to be done"),
                            "status": { "type": "string", "enum": ["pending", "in_progress", "done"] },
                        },
                        "required": ["text", "status"],
                    },
                },
            }),
            &["todos"],
        ),
    ]
}

/// The answer to a call of a tool that there is not.
pub(super) fn unknown(name: &str) -> String {
    let names: Vec<String> = of_the_agent().into_iter().map(|tool| tool.name).collect();
    format!(
        "there is no tool {:?}; there are {}",
        super::paths::cut(name, 100),
        names.join(", ")
    )
}

fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> Tool {
    Tool {
        name: name.to_string(),
        description: description.to_string(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
        }),
    }
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn count(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 1, "description": description })
}

fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}
