//! What a session's agent may do without asking a person, because it is sm's own: read what was handed
//! over to it, and run the commands of `sm` that a context needs to leave itself.
//!
//! Rules as Claude Code defines them, given with one launch. They add to the user's own, and a rule of
//! the user's that denies or asks goes before them.

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

/// Other characters mean something in a rule, or in a shell.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '+' | '@' | '*')
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
