//! Which of the user's own rules keep Claude Code from handing over by itself. Rules that deny or ask go
//! before all that allow; they are read, never changed.

use serde_json::{Value, json};

/// A rule of the user's that stands before those of sm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hindrance {
    /// As the user wrote it.
    pub rule: String,
    /// False: a person is asked.
    pub denies: bool,
}

/// The first rule in any of these settings that stands in front of a tool's use.
pub fn against_tool(settings: &[Value], tool: &str) -> Option<Hindrance> {
    find(settings, |rule| covers_tool(rule, tool))
}

/// The same for a command of its shell. It is seldom the whole line: what follows it may be anything.
pub fn against_command(settings: &[Value], command: &str) -> Option<Hindrance> {
    find(settings, |rule| covers_command(rule, command))
}

/// What `--disallowedTools` of a launch denies, as settings would.
pub fn given_with(args: &[String]) -> Value {
    const OPTIONS: [&str; 2] = ["--disallowedTools", "--disallowed-tools"];
    let mut rules: Vec<String> = Vec::new();
    let mut takes = false;
    for arg in args.iter().take_while(|arg| *arg != "--") {
        let given = OPTIONS
            .iter()
            .find_map(|option| arg.strip_prefix(option)?.strip_prefix('='));
        match given {
            Some(given) => rules.extend(split(given)),
            None if OPTIONS.contains(&arg.as_str()) => {
                takes = true;
                continue;
            }
            None if arg.starts_with('-') => {}
            None if takes => {
                rules.extend(split(arg));
                continue;
            }
            None => {}
        }
        takes = false;
    }
    json!({"permissions": {"deny": rules}})
}

/// Rules stand one after the other, with commas or spaces between them that are in no brackets.
fn split(list: &str) -> Vec<String> {
    let mut rules = vec![String::new()];
    let mut depth = 0_usize;
    for c in list.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | ' ' if depth == 0 => {
                rules.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(rule) = rules.last_mut() {
            rule.push(c);
        }
    }
    rules.retain(|rule| !rule.is_empty());
    rules
}

fn find(settings: &[Value], covers: impl Fn(&str) -> bool) -> Option<Hindrance> {
    [("deny", true), ("ask", false)]
        .into_iter()
        .find_map(|(list, denies)| {
            let all = settings.iter().filter_map(|s| {
                let rules = s.get("permissions")?.get(list)?;
                rules.as_array()
            });
            let mut rules = all.flatten().filter_map(Value::as_str);
            let rule = rules.find(|rule| covers(rule))?.to_owned();
            Some(Hindrance { rule, denies })
        })
}

/// A server's name stands for all of its tools.
fn covers_tool(rule: &str, tool: &str) -> bool {
    let of_server = tool
        .strip_prefix(rule)
        .is_some_and(|rest| rest.starts_with("__"));
    rule == tool || (of_server && rule.starts_with("mcp__")) || is_like(rule, tool)
}

fn covers_command(rule: &str, command: &str) -> bool {
    if rule == "Bash" {
        return true;
    }
    let inner = rule
        .strip_prefix("Bash(")
        .and_then(|rule| rule.strip_suffix(')'));
    match inner {
        Some(pattern) => match pattern.strip_suffix(":*") {
            Some(prefix) => command.starts_with(prefix),
            None => is_like(pattern, command),
        },
        None => false,
    }
}

/// A star stands for any characters.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty(); // no star
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = "sm handoff - <<'END'";
    const TOOL: &str = "mcp__sm__handoff";

    #[test]
    fn rules_that_stand_before_a_handoff() {
        for (rule, command, tool) in [
            ("Bash", true, false),
            ("Bash(*)", true, false),
            ("Bash(sm *)", true, false),
            ("Bash(sm:*)", true, false),
            ("Bash(sm handoff:*)", true, false),
            ("Bash(sm handoff *)", true, false),
            ("Bash(*handoff*)", true, false),
            ("Bash(sm archive:*)", false, false),
            ("Bash(rm *)", false, false),
            ("Bash(sm)", false, false),
            ("Bash(* handoff)", false, false),
            ("Bash(sm *", false, false),
            ("mcp__sm", false, true),
            ("mcp__sm__*", false, true),
            ("mcp__*", false, true),
            ("mcp__sm__handoff", false, true),
            ("mcp__sm__hand", false, false),
            ("mcp__smx", false, false),
            ("mcp", false, false),
            ("Read(./.env)", false, false),
            ("", false, false),
        ] {
            for (list, denies) in [("deny", true), ("ask", false), ("allow", false)] {
                let settings = [json!({"permissions": {list: [rule]}})];
                let expected = (list != "allow").then(|| Hindrance {
                    rule: rule.to_owned(),
                    denies,
                });
                let found = against_command(&settings, COMMAND);
                assert_eq!(found, expected.clone().filter(|_| command), "{list} {rule}");
                let found = against_tool(&settings, TOOL);
                assert_eq!(found, expected.filter(|_| tool), "{list} {rule}");
            }
        }
    }

    #[test]
    fn a_denial_anywhere_goes_before_a_question() {
        let settings = [
            json!({"permissions": {"ask": ["Bash(sm *)"]}}),
            json!({"permissions": {"deny": ["Bash"]}}),
            json!({"permissions": "all"}),
            json!(null),
        ];
        let found = against_command(&settings, COMMAND).unwrap();
        assert_eq!((found.rule.as_str(), found.denies), ("Bash", true));
        let found = against_command(&settings[..1], COMMAND).unwrap();
        assert!(!found.denies);
        assert_eq!(against_command(&settings[2..], COMMAND), None);
    }

    #[test]
    fn what_a_launch_denies() {
        let denied = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            given_with(&args)["permissions"]["deny"].clone()
        };
        assert_eq!(denied(&["--model", "x"]), json!([]));
        let both = json!(["Bash(sm *)", "Edit"]);
        for args in [
            &["--disallowedTools", "Bash(sm *)", "Edit", "--model", "x"][..],
            &["--disallowedTools=Bash(sm *),Edit", "word"],
            &["--disallowed-tools", "Bash(sm *) Edit"],
        ] {
            assert_eq!(denied(args), both, "{args:?}");
        }
        assert_eq!(denied(&["--", "--disallowedTools", "Edit"]), json!([]));
    }
}
