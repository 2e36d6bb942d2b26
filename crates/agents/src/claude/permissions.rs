//! What a session's agent may do without asking a person, because it is sm's own: read what was handed
//! over to it, and run the commands of `sm` that a context needs to leave itself.
//!
//! Rules as Claude Code defines them, given with one launch. They add to the user's own, and a rule of
//! the user's that denies or asks goes before them.

use crate::own_tools::{self, TOOLS};

/// Commands of `sm` that only tell something, or hand over the session that runs them.
const COMMANDS: [&str; 5] = ["handoff", "archive", "ledger", "context", "whoami"];

/// The rules that allow this. `programs`: how `sm` can be called. `folders`: absolute; everything in
/// them may be read.
pub fn rules(programs: &[&str], folders: &[&str]) -> Vec<String> {
    let plain = |text: &&&str| !text.is_empty() && text.chars().all(is_plain);
    let mut rules = Vec::new();
    for program in programs.iter().filter(plain) {
        rules.extend(COMMANDS.map(|command| format!("Bash({program} {command}:*)")));
    }
    // a second slash: from the root of the file system, not of the settings' folder
    for folder in folders.iter().filter(|folder| plain(folder)) {
        rules.push(format!("Read(/{folder}/**)"));
    }
    rules
}

/// Rules for one launch, as an argument of its line: settings that outlive the launch stay free of them.
/// One word, so that it takes nothing of what follows it.
pub fn argument(rules: &[String]) -> Option<String> {
    (!rules.is_empty()).then(|| format!("--allowedTools={}", rules.join(",")))
}

/// Whether a rule is one of [`rules`] of any launch: for one of sm's commands, or for a folder that has
/// the id of a session or run as its name.
pub(super) fn is_ours(rule: &str) -> bool {
    if tool_rules().iter().any(|own| own == rule) {
        return true;
    }
    if let Some(command) = rule.strip_prefix("Bash(") {
        let Some((program, command)) = command
            .strip_suffix(":*)")
            .and_then(|call| call.rsplit_once(' '))
        else {
            return false;
        };
        return COMMANDS.contains(&command) && (program == "sm" || program.ends_with("/sm"));
    }
    let folder = rule
        .strip_prefix("Read(//")
        .and_then(|folder| folder.strip_suffix("/**)"));
    let name = folder.and_then(|folder| folder.rsplit('/').next());
    name.is_some_and(|name| is_id(name.strip_suffix("-*").unwrap_or(name)))
}

/// Ids of sessions and runs are UUIDs.
fn is_id(name: &str) -> bool {
    let groups: Vec<&str> = name.split('-').collect();
    let is_hex = |group: &&str| group.chars().all(|c| c.is_ascii_hexdigit());
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]) && groups.iter().all(is_hex)
}

/// The rules that allow the tools of `sm mcp`, and no other tool of that or any server.
pub fn tool_rules() -> Vec<String> {
    TOOLS.into_iter().map(own_tools::full_name).collect()
}

/// Other characters mean something in a rule, or in a shell.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '+' | '@' | '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_tools_of_sm_mcp() {
        assert_eq!(
            tool_rules(),
            [
                "mcp__sm__handoff",
                "mcp__sm__handoff_template",
                "mcp__sm__context",
                "mcp__sm__archive_search",
                "mcp__sm__whoami",
            ]
        );
    }

    #[test]
    fn sms_own_commands_and_folders_and_nothing_else() {
        let all = rules(
            &["sm", "/opt/sm bin/sm"],
            &["/data/handoffs/1a2b-*", "/a(b"],
        );
        assert_eq!(
            all,
            [
                "Bash(sm handoff:*)",
                "Bash(sm archive:*)",
                "Bash(sm ledger:*)",
                "Bash(sm context:*)",
                "Bash(sm whoami:*)",
                "Read(//data/handoffs/1a2b-*/**)",
            ]
        );
    }

    #[test]
    fn rules_of_any_launch_are_known_again_and_nobody_elses() {
        let id = "6a0f7c1e-94b9-4841-b82f-a62cfb8efdc0";
        let (run, handoffs) = (
            format!("/state/runs/{id}"),
            format!("/data/handoffs/{id}-*"),
        );
        let all = rules(&["sm", "/opt/bin/sm"], &[&run, &handoffs]);
        assert_eq!(all.len(), 12);
        assert!(all.iter().all(|rule| is_ours(rule)), "{all:?}");
        for other in [
            "Bash(sm:*)",
            "Bash(sm handoff)",
            "Bash(sm send:*)",
            "Bash(rasm handoff:*)",
            "Read(//home/me/notes/**)",
            "Read(./src/**)",
            "Edit",
            "",
        ] {
            assert!(!is_ours(other), "{other}");
        }
        assert_eq!(argument(&[]), None);
        assert_eq!(
            argument(&["Bash(sm a:*)".to_owned(), "Read(//b/**)".to_owned()]).as_deref(),
            Some("--allowedTools=Bash(sm a:*),Read(//b/**)")
        );
    }
}
