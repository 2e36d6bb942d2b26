//! Variables that an agent puts into what its tools run, and that say whose tool it is. A session
//! that is started from there is nobody's tool: Claude Code keeps no record of a conversation in
//! which it finds them, so that nothing in it could be proven, resumed or handed on.

const MARKS: [&str; 14] = [
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_EFFORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR",
    "AI_AGENT",
    "CODEX_CI",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
];

/// Whether a variable of this name tells of an agent that runs around it, and not of what a person
/// has set.
pub fn is_mark(key: &str) -> bool {
    MARKS.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_says_of_itself_is_told_from_what_a_person_sets() {
        for (key, mark) in [
            ("CLAUDECODE", true),
            ("CLAUDE_CODE_CHILD_SESSION", true),
            ("CLAUDE_CODE_SESSION_ID", true),
            ("CODEX_THREAD_ID", true),
            ("CLAUDE_CONFIG_DIR", false),
            ("CLAUDE_CODE_AUTO_COMPACT_WINDOW", false),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", false),
            ("CODEX_HOME", false),
            ("ANTHROPIC_API_KEY", false),
            ("PATH", false),
        ] {
            assert_eq!(is_mark(key), mark, "{key}");
        }
    }
}
