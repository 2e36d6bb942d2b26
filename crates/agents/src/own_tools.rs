//! The tools that an agent is given for itself with its launch: `sm mcp`, as a server of the Model Context
//! Protocol; sm's own agent calls them one by one (`sm mcp --call`). Here is what they are and how a
//! launch names them; nothing is started.

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

/// What a tool is, for a model.
pub struct Definition {
    pub name: &'static str,
    pub description: &'static str,
    pub schema: Value,
    pub only_reads: bool,
}

/// All of them, always in this order.
pub fn definitions() -> [Definition; 5] {
    let nothing = || json!({"type": "object", "properties": {}, "additionalProperties": false});
    let [handoff, template, context, search, whoami] = TOOLS;
    [
        Definition {
            name: handoff,
            description: "Hands this session over to a fresh context that begins with your document. Call it as the last thing of your turn, then end the turn: what you do after it is lost. The document is all that the next context knows: objective and constraints in the user's own words, what is done and how that is known, decisions and why, files, commands, what failed, next actions. Asking again with the same document is the same handoff.",
            schema: json!({
                "type": "object",
                "properties": {
                    "document": {"type": "string", "description": "The whole document, as Markdown. No file is needed."},
                    "focus": {"type": "string", "description": "In a few words: what the next context is to begin with. Kept in the session's history."},
                },
                "required": ["document"],
                "additionalProperties": false,
            }),
            only_reads: false,
        },
        Definition {
            name: template,
            description: "What a good handoff document holds, as a template to fill in.",
            schema: nothing(),
            only_reads: true,
        },
        Definition {
            name: context,
            description: "How full this session's context is, and at what percentages sm asks for a handoff.",
            schema: nothing(),
            only_reads: true,
        },
        Definition {
            name: search,
            description: "Searches everything this session's terminal has shown, also in the contexts before this one.",
            schema: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "A regular expression."},
                    "ignore_case": {"type": "boolean", "description": "Whether upper and lower case are the same."},
                },
                "required": ["pattern"],
                "additionalProperties": false,
            }),
            only_reads: true,
        },
        Definition {
            name: whoami,
            description: "Which session of sm this is: its id, name, state and context number.",
            schema: nothing(),
            only_reads: true,
        },
    ]
}

/// The server of one launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTools {
    /// Absolute path of `sm`.
    pub program: String,
    /// Whether its tools may be used without asking a person.
    pub allowed: bool,
}

/// A tool's name as every agent shows it to its model.
pub fn full_name(tool: &str) -> String {
    format!("mcp__{SERVER}__{tool}")
}

/// The tool that has this name.
pub fn of_full_name(name: &str) -> Option<&'static str> {
    TOOLS.into_iter().find(|tool| full_name(tool) == name)
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
    fn every_tool_has_a_schema_and_its_name_is_the_allowed_one() {
        let all = definitions();
        assert_eq!(all.each_ref().map(|tool| tool.name), TOOLS);
        for tool in all {
            assert_eq!(tool.schema["type"], "object", "{}", tool.name);
            assert_eq!(tool.only_reads, tool.name != "handoff");
        }
    }

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
        assert_eq!(of_full_name("mcp__sm__whoami"), Some("whoami"));
        assert_eq!(of_full_name("whoami"), None);
    }
}
