//! A model that does what `sm` tells it, as a good one does with nobody there. Pure, and without a
//! memory: everything is read from the conversation.
//!
//! Told that its context is critical it hands over, by a tool for that if it has one, else by the
//! command that the alert names. Told to go on from a document that it was not given, it reads it.
//! Else it works: a harmless call, then a line of text; with a context that grows, one call after
//! the other.

use serde_json::json;

use super::control::Control;
use super::script::{Conversation, Outcome, shell_call};

/// What each document says of itself, with its number behind it.
const MARKER: &str = "OBEDIENT-DOCUMENT ";
/// Where the document is written, if it has to be a file.
const FILE: &str = "handoff notes.md";
/// Calls in one turn of a model whose context grows: without an alert it comes to an end.
const CALLS: usize = 80;
/// What `sm handoff -` says where it cannot pass a document on.
const ONLY_FILES: &str = "only a file can be handed over";
const ALERT: &str = "[sm context]";
/// What only an alert says that asks for a handoff at once.
const URGENT: [&str; 3] = ["NOW", "critical", "Please write a handoff document"];
/// What stands before a document that goes along with the prompt.
const GIVEN: [&str; 2] = ["This is all of ", "This is the most important part of "];

/// The next call or text.
pub(super) fn next(talk: &Conversation, control: &Control) -> Outcome {
    if let Some(alert) = alert(talk) {
        return hand_over(talk, alert);
    }
    if let Some(path) = unread(talk) {
        return read(talk, path);
    }
    let calls = if control.grow > 0 { CALLS } else { 1 };
    if talk.results < calls {
        shell_call(&talk.tools, "ls")
    } else {
        Outcome::Text(format!("Step {} is done.", talk.messages))
    }
}

/// The document of a context: the number counts the contexts.
pub(super) fn document(number: u64) -> String {
    format!(
        "# Handoff\n\n## Objective\nFinish the long task.\n\n## Constraints\nTouch nothing outside of this folder.\n\n## State\nSteps so far are done. {MARKER}{number}.\n\n## Decisions\nSmall steps, because the context is small.\n\n## Next actions\n1. Go on with the next step.\n"
    )
}

/// The last alert that asks for a handoff. What a successor is given may quote those of the context
/// before.
fn alert(talk: &Conversation) -> Option<&str> {
    let told = talk.told.iter().filter(|text| wake(text).is_none());
    let mut alerts = told.filter_map(|text| Some(&text[text.find(ALERT)?..]));
    let urgent = |alert: &&str| {
        let line = alert.lines().next().unwrap_or_default();
        URGENT.iter().any(|word| line.contains(word))
    };
    alerts.rfind(urgent)
}

fn hand_over(talk: &Conversation, alert: &str) -> Outcome {
    let before = talk.told.iter().filter_map(|text| number(text)).max();
    let document = document(before.unwrap_or(0) + 1);
    let written = talk.own.contains(MARKER);
    if let Some(tool) = talk.tools.iter().find(|name| is_for_handoffs(name)) {
        return match written {
            true => Outcome::Text("The handoff was asked for.".into()),
            false => Outcome::Tool {
                name: tool.clone(),
                input: json!({"document": document}),
            },
        };
    }
    let (program, takes_input) = command(alert);
    let told = |words: &str| talk.told.iter().any(|text| text.contains(words));
    let hands_over = format!("{program} handoff '{FILE}'");
    if takes_input && !told(ONLY_FILES) {
        if written {
            return Outcome::Text("The handoff was asked for.".into());
        }
        let command = format!("{program} handoff - <<'END'\n{document}END");
        shell_call(&talk.tools, &command)
    } else if !talk.own.contains(FILE) {
        write(talk, &document)
    } else if !talk.own.contains(&hands_over) {
        shell_call(&talk.tools, &hands_over)
    } else {
        Outcome::Text("The handoff was asked for.".into())
    }
}

/// How the alert calls the command, and whether that takes a document from its input.
fn command(alert: &str) -> (&str, bool) {
    let spans = || alert.split('`').skip(1).step_by(2);
    // the way that is told last in full goes before the seeds' wording
    let named = [" handoff - ", " handoff "].into_iter().find_map(|word| {
        spans().find_map(|span| span.split_once(word).map(|(program, _)| program))
    });
    let takes_input = spans().any(|span| span.contains(" handoff - ") || span.ends_with(" -"));
    (named.unwrap_or("sm"), takes_input)
}

/// `handoff` itself, also of a server or a group of tools; not one that prints a template.
fn is_for_handoffs(tool: &str) -> bool {
    let rest = tool.strip_suffix("handoff");
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(['_', '/']))
}

fn write(talk: &Conversation, document: &str) -> Outcome {
    if !talk.tools.iter().any(|tool| tool == "Write") {
        let command = format!("cat > '{FILE}' <<'END'\n{document}END");
        return shell_call(&talk.tools, &command);
    }
    let folder = talk.told.iter().find_map(|text| folder(text));
    let path = folder.map_or(FILE.into(), |folder| format!("{folder}/{FILE}"));
    Outcome::Tool {
        name: "Write".into(),
        input: json!({"file_path": path, "content": document}),
    }
}

/// Where the agent says that it works.
fn folder(text: &str) -> Option<&str> {
    let claude = text.split_once("working directory: ");
    let codex = text.split_once("<cwd>");
    let (rest, end) = match (claude, codex) {
        (Some((_, rest)), _) => (rest, '\n'),
        (None, Some((_, rest))) => (rest, '<'),
        (None, None) => return None,
    };
    rest.split(end).next().map(str::trim)
}

/// The document that a successor is told to read, and what the prompt says after it.
fn wake(text: &str) -> Option<(&str, &str)> {
    let (before, rest) = text.split_once(" and continue from where you left off.")?;
    let at = before.rfind("Read /")?;
    let path = &before[at + "Read ".len()..];
    (!path.contains('\n')).then_some((path, rest))
}

/// The document to go on from, if it neither came along nor was read.
fn unread(talk: &Conversation) -> Option<&str> {
    let (path, rest) = talk.told.iter().rev().find_map(|text| wake(text))?;
    let given = GIVEN.iter().any(|words| rest.contains(words)) || rest.contains(MARKER);
    (!given && !talk.own.contains(path)).then_some(path)
}

fn read(talk: &Conversation, path: &str) -> Outcome {
    if talk.tools.iter().any(|tool| tool == "Read") {
        return Outcome::Tool {
            name: "Read".into(),
            input: json!({"file_path": path}),
        };
    }
    shell_call(&talk.tools, &format!("cat '{path}'"))
}

fn number(text: &str) -> Option<u64> {
    let all = text.split(MARKER).skip(1);
    let numbers = all.filter_map(|rest| rest.split('.').next()?.parse().ok());
    numbers.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRITICAL: &str = "[sm context] Context at 66% (132,000 tokens, 68,000 left) — critically high. Write your handoff doc NOW and run `sm handoff <path>`. Compaction is imminent.";
    const STDIN: &str = " or give it on standard input: `sm handoff - <<'END'`.";

    fn talk(told: &[&str], own: &str, tools: &[&str]) -> Conversation {
        Conversation {
            told: told.iter().map(|text| (*text).to_owned()).collect(),
            own: own.into(),
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            ..Conversation::default()
        }
    }

    #[track_caller]
    fn check(told: &[&str], own: &str, tools: &[&str], wanted: &str) {
        let said = match next(&talk(told, own, tools), &Control::default()) {
            Outcome::Tool { name, input } => format!("{name} {input}"),
            Outcome::Text(text) => text,
            Outcome::Fail { .. } => "failed".into(),
        };
        assert!(said.starts_with(wanted), "{said}\ninstead of\n{wanted}");
    }

    #[test]
    fn it_hands_over_when_told_to_and_only_once() {
        let stdin = format!("{CRITICAL}{STDIN}");
        let by_path = stdin.replace("`sm ", "`/opt/my apps/sm ");
        let its = "{\"document\":\"# Handoff\\n\\n## Objective";
        let server = ["Bash", "mcp__sm__handoff_template", "mcp__sm__handoff"];
        check(&[&stdin], "", &server, &format!("mcp__sm__handoff {its}"));
        let group = ["exec_command", "mcp__sm/handoff"];
        check(&[&stdin], "", &group, &format!("mcp__sm/handoff {its}"));
        let over = "Bash {\"command\":\"sm handoff - <<'END'\\n# Handoff";
        check(&[&stdin], "", &["Bash", "Write"], over);
        // the server of the tool may still be starting
        let named = format!(
            "{CRITICAL} {}.",
            sm_core::monitor::How::Tool("mcp__sm__handoff".into()).told()
        );
        check(&[&named], "", &["Bash", "Write"], over);
        let full = "Bash {\"command\":\"/opt/my apps/sm handoff - <<'END'\\n# Handoff";
        check(&[&by_path], "", &["Bash"], full);
        let way = sm_core::monitor::How::ToolOrPath {
            tool: "mcp__sm__handoff".into(),
            path: "/opt/my apps/sm".into(),
        };
        let named = format!("{CRITICAL} {}.", way.told());
        check(&[&named], "", &["Bash", "Write"], full);
        check(&[&named], "", &server, &format!("mcp__sm__handoff {its}"));
        let done = "The handoff was asked for.";
        for tools in [&server[..], &group, &["Bash"]] {
            check(&[&stdin], "OBEDIENT-DOCUMENT 1.", tools, done);
        }
    }

    #[test]
    fn it_writes_a_file_where_the_alert_names_only_that() {
        let env = "# Environment\n - Primary working directory: /home/me/my work\n - Is git: no";
        let writes = talk(&[env, CRITICAL], "", &["Bash", "Write"]);
        let wanted = Outcome::Tool {
            name: "Write".into(),
            input: json!({
                "file_path": "/home/me/my work/handoff notes.md",
                "content": document(1),
            }),
        };
        assert_eq!(next(&writes, &Control::default()), wanted);
        let cat = "exec_command {\"cmd\":\"cat > 'handoff notes.md' <<'END'\\n# Handoff";
        check(&[CRITICAL], "", &["exec_command"], cat);
        let own = "OBEDIENT-DOCUMENT 1. cat > 'handoff notes.md'";
        let hand = "Bash {\"command\":\"sm handoff 'handoff notes.md'\"";
        check(&[CRITICAL], own, &["Bash", "Write"], hand);
        // nor where its input could not be passed on
        let stdin = format!("{CRITICAL}{STDIN}");
        let hint = "hint: from this sandbox only a file can be handed over";
        let refused = [stdin.as_str(), hint];
        let own = "sm handoff - OBEDIENT-DOCUMENT 1.";
        check(&refused, own, &["exec_command"], cat);
        let own = "OBEDIENT-DOCUMENT 1. cat > 'handoff notes.md'";
        check(&refused, own, &["Bash"], hand);
        let own = "OBEDIENT-DOCUMENT 1. sm handoff 'handoff notes.md'";
        check(&[CRITICAL], own, &["Bash"], "The handoff was asked for.");
    }

    #[test]
    fn documents_are_numbered_by_what_the_context_was_given() {
        let wake = format!(
            "Read /a b/notes.md and continue from where you left off.\n\nThis is all of /a b/notes.md:\n\n{}",
            document(7)
        );
        let given = talk(&[&wake, CRITICAL], "", &["handoff"]);
        let Outcome::Tool { input, .. } = next(&given, &Control::default()) else {
            panic!("the document that it was given is not its own");
        };
        assert_eq!(input["document"], document(8));
        // what it was given may quote an alert
        let quoting = format!("{wake}\n{CRITICAL}");
        check(&[&quoting], "", &["Bash"], "Bash {\"command\":\"ls\"");
        // a warning is no order
        let warning = "[sm context] Context at 52% (104,000 tokens, 96,000 left). Consider writing a handoff doc and running `sm handoff <path>`.";
        check(&[warning], "", &["Bash"], "Bash {\"command\":\"ls\"");
    }

    #[test]
    fn it_reads_what_did_not_come_along() {
        let wake = "Read /a b/notes.md and continue from where you left off.\n\nFull session log";
        let read = "Read {\"file_path\":\"/a b/notes.md\"}";
        check(&[wake], "", &["Bash", "Read"], read);
        let cat = "exec_command {\"cmd\":\"cat '/a b/notes.md'\"}";
        check(&[wake], "", &["exec_command"], cat);
        check(
            &[wake],
            "/a b/notes.md",
            &["Bash"],
            "Bash {\"command\":\"ls\"",
        );
        let part = format!("{wake}\n\nThis is the most important part of /a b/notes.md, 1 of 2");
        check(&[&part], "", &["Bash", "Read"], "Bash {\"command\":\"ls\"");
    }

    #[test]
    fn it_works_a_step_at_a_time_or_until_it_is_told() {
        let mut talk = talk(&["do it"], "", &["Bash"]);
        talk.results = 1;
        let text = Outcome::Text("Step 0 is done.".into());
        assert_eq!(next(&talk, &Control::default()), text);
        let grows = Control {
            grow: 1,
            ..Control::default()
        };
        assert_eq!(next(&talk, &grows), shell_call(&talk.tools, "ls"));
        talk.results = CALLS;
        assert_eq!(next(&talk, &grows), text);
    }
}
