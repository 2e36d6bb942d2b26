//! The tools that an agent is given for itself with its launch: `sm mcp`, as a server of the Model Context
//! Protocol. Here is what they are called and how a launch names them; nothing is started.

use serde_json::{Value, json};

/// The name of the server. A person's own server of that name goes before it: ours is then left out.
pub const SERVER: &str = "sm";

/// The one that changes something.
pub const HANDOFF: &str = "handoff";

/// What the server offers, and all that is allowed without asking a person.
pub const TOOLS: [&str; 5] = [
    HANDOFF,
    "handoff_template",
    "context",
    "archive_search",
    "whoami",
];

/// The server of one launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTools {
    /// Absolute path of `sm`.
    pub program: String,
    /// Whether its tools may be used without asking a person.
    pub allowed: bool,
}

/// A tool's name as Claude Code and Codex show it to their model.
pub fn full_name(tool: &str) -> String {
    format!("mcp__{SERVER}__{tool}")
}

/// What Claude Code's `--mcp-config` takes. Newer versions look for tools only when they are searched
/// for, unless a server says that its tools are always there.
pub fn claude_config(tools: &OwnTools) -> Value {
    json!({"mcpServers": {SERVER: {
        "command": tools.program, "args": ["mcp"], "alwaysLoad": true,
    }}})
}

/// Whether a configuration of Claude Code (its own file, a project's, or one that was given) has a
/// server of our name for a folder.
pub fn has_server(config: &Value, cwd: &str) -> bool {
    let named = |of: &Value| {
        of.get("mcpServers")
            .and_then(|all| all.get(SERVER))
            .is_some()
    };
    let project = config.get("projects").and_then(|all| all.get(cwd));
    named(config) || project.is_some_and(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_our_name_is_found_wherever_it_stands() {
        for (config, expected) in [
            (json!({"mcpServers": {"sm": {}}}), true),
            (json!({"mcpServers": {"smx": {}}}), false),
            (
                json!({"projects": {"/a": {"mcpServers": {"sm": {}}}}}),
                true,
            ),
            (
                json!({"projects": {"/b": {"mcpServers": {"sm": {}}}}}),
                false,
            ),
            (json!({"projects": []}), false),
            (json!({"mcpServers": "sm"}), false),
            (json!(null), false),
        ] {
            assert_eq!(has_server(&config, "/a"), expected, "{config}");
        }
    }

    #[test]
    fn the_server_is_named_by_its_program() {
        let tools = OwnTools {
            program: "/opt/it\"s/sm".to_owned(),
            allowed: true,
        };
        assert_eq!(
            claude_config(&tools).to_string(),
            r#"{"mcpServers":{"sm":{"command":"/opt/it\"s/sm","args":["mcp"],"alwaysLoad":true}}}"#
        );
        assert_eq!(full_name(TOOLS[0]), "mcp__sm__handoff");
    }
}
