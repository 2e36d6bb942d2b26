//! The settings file of one launch: our hooks and status line beside everything of the user's.
//!
//! It is given with `--settings`, so nothing in `~/.claude` is touched. Hooks of all sources run;
//! of the status lines only one wins, so the user's own is run by ours.

use std::borrow::Cow;

use crate::own_tools::{HANDOFF, full_name};
use crate::shell;
use crate::surgery::call::Call;
use serde_json::{Map, Value, json};
use sm_core::pasted;

/// The hooks we listen to. Each costs the agent a process per event, so only those that tell
/// something no cheaper source tells in time: tool calls inside a turn are left out, since
/// `PostToolBatch` fires once for all of them, also when they fail.
pub const EVENTS: [&str; 10] = [
    "SessionStart",
    "UserPromptSubmit",
    "PostToolBatch",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
    "PreCompact",
    "PostCompact",
    "SessionEnd",
];

/// Events that start a background hook which can wake the agent.
pub const MAILBOX_EVENTS: [&str; 2] = ["SessionStart", "Stop"];

/// Notifications of other kinds (an update, a login) tell nothing about the session.
const NOTIFICATIONS: &str = "permission_prompt|idle_prompt|elicitation_dialog";

/// Seconds. Three million are killed at once, two million are fine.
const MAILBOX_TIMEOUT: u64 = 2_000_000;

/// Seconds an ordinary hook may take before Claude gives it up; ours answers in milliseconds.
const HOOK_TIMEOUT: u64 = 10;

/// What the person sees on the screen when a text arrives through the mailbox.
pub const MAILBOX_SUMMARY: &str = "Message received through sm";

/// What stands before the text in the conversation; one space follows.
pub const MAILBOX_LEAD: &str = "This is not an error and not a background task. It is a message for you, delivered by the session manager sm. Treat it like a prompt typed by the user:\n\n";

/// Before and after the lead and the text in what Claude makes of them.
pub(super) const MAILBOX_HEAD: &str = "<task-notification>\n<summary>";
const MAILBOX_MIDDLE: &str = "</summary>\n</task-notification>\n<system-reminder>\n";
const MAILBOX_TAIL: &str = "\n</system-reminder>";

/// A prompt as it was given, out of what Claude makes of it for its hooks, its record and its model.
pub(super) fn prompt_text(prompt: &str) -> Cow<'_, str> {
    mailbox_text(prompt).map_or_else(|| pasted::unwrapped(prompt), Cow::Borrowed)
}

/// The text that came through the mailbox.
fn mailbox_text(prompt: &str) -> Option<&str> {
    prompt
        .strip_prefix(MAILBOX_HEAD)?
        .strip_prefix(MAILBOX_SUMMARY)?
        .strip_prefix(MAILBOX_MIDDLE)?
        .strip_prefix(MAILBOX_LEAD)?
        .strip_prefix(' ')?
        .strip_suffix(MAILBOX_TAIL)
}

/// What the program takes for the window within which it compacts.
const COMPACT_WINDOWS: std::ops::RangeInclusive<u64> = 100_000..=1_000_000;
/// The variable that goes before all settings.
pub const COMPACT_WINDOW_VAR: &str = "CLAUDE_CODE_AUTO_COMPACT_WINDOW";

/// The window within which the program was set to compact, by settings.
pub fn compact_window(settings: &Value) -> Option<u64> {
    let window = settings.get("autoCompactWindow")?.as_u64()?;
    COMPACT_WINDOWS.contains(&window).then_some(window)
}

/// The same, by what [`COMPACT_WINDOW_VAR`] says.
pub fn compact_window_of_var(value: &str) -> Option<u64> {
    let window = value
        .trim()
        .parse::<u64>()
        .ok()
        .filter(|window| *window > 0)?;
    Some(window.clamp(*COMPACT_WINDOWS.start(), *COMPACT_WINDOWS.end()))
}

/// The settings as JSON.
///
/// `user_status_line` is the user's own resolved `statusLine`; `base` is what the user gave with
/// his own `--settings`, which ours would otherwise replace; `allow`: [`super::permissions::rules`].
pub fn build(
    hook_program: &str,
    user_status_line: Option<&Value>,
    base: Option<&Value>,
    allow: &[String],
) -> Value {
    let mut settings = base.and_then(Value::as_object).cloned().unwrap_or_default();
    let mut hooks = match settings.remove("hooks") {
        Some(Value::Object(hooks)) => hooks,
        _ => Map::new(),
    };
    if drop_ours(&mut hooks) {
        drop_our_rules(&mut settings);
    }
    for event in EVENTS {
        let command = |word| shell::hook([hook_program, "claude", word]);
        let mut ours = vec![event_hook(&command(event))];
        if MAILBOX_EVENTS.contains(&event) {
            ours.push(mailbox_hook(&command("mailbox")));
        }
        let ours = group(event, ours);
        match hooks.entry(event).or_insert_with(|| json!([])) {
            Value::Array(list) => list.push(ours),
            other => *other = json!([ours]),
        }
    }
    settings.insert("hooks".to_owned(), Value::Object(hooks));
    allow_also(&mut settings, allow);
    let own = settings.remove("statusLine");
    settings.insert(
        "statusLine".to_owned(),
        status_line(hook_program, own.as_ref().or(user_status_line)),
    );
    Value::Object(settings)
}

/// What the user allows and denies stays; these are added.
fn allow_also(settings: &mut Map<String, Value>, allow: &[String]) {
    if allow.is_empty() {
        return;
    }
    let permissions = settings
        .entry("permissions")
        .or_insert_with(|| json!({}))
        .as_object_mut();
    // of another shape: not ours to mend
    let Some(permissions) = permissions else {
        return;
    };
    let rules = permissions.entry("allow").or_insert_with(|| json!([]));
    if let Some(rules) = rules.as_array_mut() {
        for rule in allow {
            if !rules.iter().any(|own| own.as_str() == Some(rule)) {
                rules.push(json!(rule));
            }
        }
    }
}

/// Without hooks of an earlier launch: a person who resumes as Claude tells at its end gives us our own
/// settings, and each event would be told twice. Whether there were any.
fn drop_ours(hooks: &mut Map<String, Value>) -> bool {
    let mut found = false;
    let is_ours = |hook: &Value| {
        let command = hook.get("command").and_then(Value::as_str);
        let call = command.and_then(Call::read);
        call.is_some_and(|call| call.agent == "claude" && call.made.is_none())
    };
    for groups in hooks.values_mut().filter_map(Value::as_array_mut) {
        groups.retain_mut(
            |group| match group.get_mut("hooks").and_then(Value::as_array_mut) {
                Some(list) => {
                    let before = list.len();
                    list.retain(|hook| !is_ours(hook));
                    found |= before != list.len();
                    before == list.len() || !list.is_empty()
                }
                None => true,
            },
        );
    }
    hooks.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
    found
}

/// The same for what an earlier launch was allowed: its folders are not those of this one.
fn drop_our_rules(settings: &mut Map<String, Value>) {
    let permissions = settings.get_mut("permissions");
    let Some(permissions) = permissions.and_then(Value::as_object_mut) else {
        return;
    };
    let Some(rules) = permissions.get_mut("allow").and_then(Value::as_array_mut) else {
        return;
    };
    let before = rules.len();
    rules.retain(|rule| !rule.as_str().is_some_and(super::permissions::is_ours));
    if before != rules.len() && rules.is_empty() {
        permissions.remove("allow");
    }
    if permissions.is_empty() {
        settings.remove("permissions");
    }
}

/// A group of hooks for one event.
pub(super) fn group(event: &str, hooks: Vec<Value>) -> Value {
    let mut entry = Map::new();
    if event == "Notification" {
        entry.insert("matcher".to_owned(), json!(NOTIFICATIONS));
    }
    entry.insert("hooks".to_owned(), Value::Array(hooks));
    Value::Object(entry)
}

/// The hook that tells of an event.
pub(super) fn event_hook(command: &str) -> Value {
    json!({
        "type": "command",
        "command": command,
        "timeout": HOOK_TIMEOUT,
    })
}

/// Before a tool is used that would hand the session over.
const GUARDED: &str = "PreToolUse";

/// Lets no sub-agent hand the session over: by the command, for which Claude Code starts the hook only
/// where it is one, and by the tool, if the agent was given ours.
pub fn guard(settings: &mut Value, hook_program: &str, tools: bool) {
    let guard = |matcher: &str, rule: Option<String>| {
        let mut hook = event_hook(&shell::hook([hook_program, "claude", "guard"]));
        if let Some(rule) = rule {
            hook["if"] = json!(rule);
        }
        json!({"matcher": matcher, "hooks": [hook]})
    };
    let own = hook_program.strip_suffix("-hook");
    let commands = ["sm"]
        .into_iter()
        .chain(own.filter(|sm| sm.ends_with("/sm")));
    let by_command = commands.map(|sm| guard("Bash", Some(format!("Bash({sm} {HANDOFF}:*)"))));
    let by_tool = tools.then(|| guard(&full_name(HANDOFF), None));
    let guards: Vec<Value> = by_command.chain(by_tool).collect();
    let Some(hooks) = settings.get_mut("hooks").and_then(Value::as_object_mut) else {
        return;
    };
    match hooks.entry(GUARDED).or_insert_with(|| json!([])) {
        Value::Array(list) => list.extend(guards),
        other => *other = Value::Array(guards),
    }
}

/// The hook that can wake the agent.
fn mailbox_hook(command: &str) -> Value {
    json!({
        "type": "command",
        "command": command,
        "asyncRewake": true,
        "timeout": MAILBOX_TIMEOUT,
        "rewakeMessage": MAILBOX_LEAD,
        "rewakeSummary": MAILBOX_SUMMARY,
    })
}

/// Our status line, with the user's command chained behind it and its other fields kept.
fn status_line(hook_program: &str, user: Option<&Value>) -> Value {
    let user = user.and_then(Value::as_object);
    let mut line = user.cloned().unwrap_or_default();
    let given = line
        .get("command")
        .and_then(Value::as_str)
        .unwrap_or_default();
    // One of ours that is there already would run ours again: only what it runs is the user's.
    let (format, chained) = match Call::read(given).filter(Call::is_status_line) {
        Some(ours) => (ours.format, ours.chained.unwrap_or_default()),
        None => (None, given.to_owned()),
    };
    let mut command = shell::hook([hook_program, "claude", "statusline"]);
    if let Some(format) = format {
        command = format!("{command} --format {}", shell::quote(&format));
    }
    if !chained.is_empty() {
        // One argument: a line for the shell that the hook program runs it with.
        command = format!("{command} -- {}", shell::quote(&chained));
    }
    line.insert("type".to_owned(), json!("command"));
    line.insert("command".to_owned(), json!(command));
    Value::Object(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_for_the_shell() {
        let settings = build("/opt/it's here/sm-hook", None, None, &[]);
        assert_eq!(
            settings["hooks"]["Stop"][0]["hooks"][0]["command"],
            r"exec '/opt/it'\''s here/sm-hook' claude Stop"
        );
        assert_eq!(
            settings["statusLine"],
            json!({"type": "command", "command": r"exec '/opt/it'\''s here/sm-hook' claude statusline"})
        );
    }

    #[test]
    fn a_window_to_compact_within_is_what_the_program_takes_for_one() {
        for (settings, expected) in [
            (json!({"autoCompactWindow": 100_000}), Some(100_000)),
            (json!({"autoCompactWindow": 1_000_000}), Some(1_000_000)),
            (json!({"autoCompactWindow": 99_999}), None),
            (json!({"autoCompactWindow": "100000"}), None),
            (json!({"autoCompactWindow": -1}), None),
            (json!({}), None),
            (json!([]), None),
        ] {
            assert_eq!(compact_window(&settings), expected, "{settings}");
        }
        for (value, expected) in [
            ("150000", Some(150_000)),
            ("5", Some(100_000)),
            ("9000000", Some(1_000_000)),
            ("0", None),
            ("", None),
            ("many", None),
        ] {
            assert_eq!(compact_window_of_var(value), expected, "{value}");
        }
    }

    #[test]
    fn every_event_is_listened_to_once_and_two_open_the_mailbox() {
        let settings = build("/sm-hook", None, None, &[]);
        let hooks = settings["hooks"].as_object().unwrap();
        assert_eq!(hooks.len(), EVENTS.len());
        let wakers = hooks
            .iter()
            .filter(|(event, list)| {
                *event != GUARDED && list[0]["hooks"].as_array().unwrap().len() == 2
            })
            .map(|(event, list)| (event.as_str(), list[0]["hooks"][1]["asyncRewake"].clone()))
            .collect::<Vec<_>>();
        assert_eq!(
            wakers,
            [("SessionStart", json!(true)), ("Stop", json!(true))]
        );
    }

    #[test]
    fn a_guard_stands_before_what_hands_over_and_before_nothing_of_others() {
        let base = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "his"}]}]}});
        for (tools, matchers) in [
            (true, "Bash Bash Bash mcp__sm__handoff"),
            (false, "Bash Bash Bash"),
        ] {
            let mut settings = build("/opt/sm-hook", None, Some(&base), &[]);
            guard(&mut settings, "/opt/sm-hook", tools);
            let groups = settings["hooks"][GUARDED].as_array().unwrap();
            let found: Vec<_> = groups
                .iter()
                .filter_map(|g| g["matcher"].as_str())
                .collect();
            assert_eq!(found.join(" "), matchers);
            assert_eq!(groups[0]["hooks"][0]["command"], "his");
            assert_eq!(groups[1]["hooks"][0]["if"], "Bash(sm handoff:*)");
            assert_eq!(groups[2]["hooks"][0]["if"], "Bash(/opt/sm handoff:*)");
            // ours of an earlier launch are not added to
            let mut again = build("/opt/sm-hook", None, Some(&settings), &[]);
            guard(&mut again, "/opt/sm-hook", tools);
            assert_eq!(again["hooks"][GUARDED], settings["hooks"][GUARDED]);
        }
    }

    #[test]
    fn settings_of_an_earlier_launch_are_not_added_to() {
        let user = json!({"hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
            "Setup": [],
        }});
        let line = json!({"type": "command", "command": "mine"});
        let first = build("/old/sm-hook", Some(&line), Some(&user), &[]);
        let again = build("/sm-hook", None, Some(&first), &[]);
        let once = build("/sm-hook", Some(&line), Some(&user), &[]);
        assert_eq!(again["hooks"]["Stop"], once["hooks"]["Stop"]);
        assert_eq!(again["statusLine"], once["statusLine"]);
        assert_eq!(again["hooks"]["SessionEnd"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn what_an_earlier_launch_was_allowed_is_not_allowed_again() {
        let rules = |id: &str| {
            let folder = format!("/state/runs/{id}");
            crate::claude::permissions::rules(&["sm"], &[&folder])
        };
        let (old, new) = (
            rules("6a0f7c1e-94b9-4841-b82f-a62cfb8efdc0"),
            rules("00000000-94b9-4841-b82f-a62cfb8efdc0"),
        );
        let user = json!({"permissions": {"allow": ["Bash(make:*)"], "deny": ["Read(./.env)"]}});
        let first = build("/sm-hook", None, Some(&user), &old);
        assert_eq!(first["permissions"]["allow"].as_array().unwrap().len(), 7);
        let again = build("/sm-hook", None, Some(&first), &new);
        assert_eq!(again, build("/sm-hook", None, Some(&user), &new));
        // and without any, as it was
        assert_eq!(
            build("/sm-hook", None, Some(&first), &[])["permissions"],
            user["permissions"]
        );
        let ours_alone = build("/sm-hook", None, None, &old);
        let without = build("/sm-hook", None, Some(&ours_alone), &[]);
        assert_eq!(without.get("permissions"), None);
        // what a person wrote without us is a person's
        let own = json!({"permissions": {"allow": ["Bash(sm handoff:*)"]}});
        let kept = build("/sm-hook", None, Some(&own), &[]);
        assert_eq!(kept["permissions"], own["permissions"]);
    }

    #[test]
    fn the_users_status_line_is_run_by_ours() {
        let user = json!({"type": "command", "command": "jq -r '.model.id'", "padding": 2, "refreshInterval": 5});
        let line = build("/sm-hook", Some(&user), None, &[])["statusLine"].clone();
        assert_eq!(
            line,
            json!({"type": "command",
                "command": r"exec /sm-hook claude statusline -- 'jq -r '\''.model.id'\'''",
                "padding": 2, "refreshInterval": 5})
        );
    }

    #[test]
    fn a_line_of_ours_is_never_run_by_ours() {
        for (given, expected) in [
            (
                r"exec /old/sm-hook claude statusline --installed -- 'a '\''b'\'''",
                r"exec /sm-hook claude statusline -- 'a '\''b'\'''",
            ),
            (
                "exec /old/sm-hook claude statusline --installed",
                "exec /sm-hook claude statusline",
            ),
            (
                "sm-hook claude statusline",
                "exec /sm-hook claude statusline",
            ),
            (
                "sm statusline --format '{percent} %' -- mine",
                "exec /sm-hook claude statusline --format '{percent} %' -- mine",
            ),
        ] {
            let user = json!({"type": "command", "command": given, "padding": 2});
            let line = build("/sm-hook", Some(&user), None, &[])["statusLine"].clone();
            assert_eq!(
                line,
                json!({"type": "command", "command": expected, "padding": 2})
            );
        }
    }

    #[test]
    fn settings_given_by_the_user_are_kept() {
        let base = json!({"model": "m", "statusLine": {"type": "command", "command": "mine"},
            "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "his"}]}], "PreToolUse": []}});
        let other = json!({"command": "project's"});
        let settings = build("/sm-hook", Some(&other), Some(&base), &[]);
        assert_eq!(settings["model"], "m");
        assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "his");
        assert_eq!(
            settings["hooks"]["Stop"][1]["hooks"][0]["command"],
            "exec /sm-hook claude Stop"
        );
        assert_eq!(
            settings["statusLine"]["command"],
            "exec /sm-hook claude statusline -- mine"
        );
        for odd in [
            json!([]),
            json!({"hooks": 3}),
            json!({"hooks": {"Stop": "x"}}),
        ] {
            assert!(build("/sm-hook", None, Some(&odd), &[])["hooks"]["Stop"].is_array());
        }
    }

    #[test]
    fn a_text_is_taken_out_of_its_wrapping() {
        let wrapped = |text: &str| {
            format!(
                "{MAILBOX_HEAD}{MAILBOX_SUMMARY}{MAILBOX_MIDDLE}{MAILBOX_LEAD} {text}{MAILBOX_TAIL}"
            )
        };
        for text in [
            "/help",
            "a\n\n  b\n",
            "",
            "</system-reminder>",
            "\n</system-reminder>",
        ] {
            assert_eq!(mailbox_text(&wrapped(text)), Some(text));
        }
        assert_eq!(
            mailbox_text("<task-notification>\n<summary>x</summary>"),
            None
        );
    }

    #[test]
    fn what_the_user_allows_and_denies_stays_and_ours_is_added_once() {
        let base = json!({"permissions": {"allow": ["Bash(ls)"], "deny": ["Bash(sm *)"]}});
        let allow = ["Bash(sm handoff:*)".to_owned()];
        let first = build("/sm-hook", None, Some(&base), &allow);
        let expected = json!({
            "allow": ["Bash(ls)", "Bash(sm handoff:*)"], "deny": ["Bash(sm *)"],
        });
        assert_eq!(first["permissions"], expected);
        let again = build("/sm-hook", None, Some(&first), &allow);
        assert_eq!(again["permissions"], expected);
        assert!(build("/sm-hook", None, None, &[])["permissions"].is_null());
        let odd = json!({"permissions": "all"});
        assert_eq!(
            build("/sm-hook", None, Some(&odd), &allow)["permissions"],
            "all"
        );
    }
}
