//! Our hooks in a `config.toml` of Codex, for agents that sm did not start.
//!
//! They stand at the end of the file. Nothing is written about trust: Codex asks the person about
//! them at its next start, and only the person answers.

use super::launch::{CONTEXT_LIMIT, EVENTS, HOOK_TIMEOUT};
use super::trust;
use crate::surgery::call::{self, Call, Made};
use crate::surgery::toml::{Form, Section, parse, sections};
use crate::surgery::{After, Found, Installed, Line, Refusal, newline};
use toml::Value;

const AGENT: &str = "codex";
const COMMENT: &str = "# hooks of sm: `sm hooks remove codex` takes them out again";

/// The configuration with ours in it; the same text if it is there already. `None`: there is no
/// such file.
pub fn install(text: Option<&str>, program: &str) -> Result<Installed, Refusal> {
    let before = match text {
        Some(text) => remove(text)?,
        None => After::NoFile,
    };
    let fresh = match &before {
        After::Text(text) => put_in(text, program, Made::Nothing),
        After::NoFile => put_in("", program, Made::File),
    };
    if let After::Text(before) = &before
        && parse(&fresh).is_err()
    {
        let at = written_as_value(before).unwrap_or(0);
        let what =
            "hooks that are written as a value cannot be added to; write them as [[hooks.…]]";
        return Err(Refusal::at(before, at, what));
    }
    let text = match text {
        Some(text) if ours(text) == ours(&fresh) => text.to_owned(),
        Some(_) | None => {
            if remove(&fresh)? != before {
                return Err(Refusal::NotReversible);
            }
            fresh
        }
    };
    Ok(Installed {
        text,
        line: Line::None,
    })
}

fn put_in(text: &str, program: &str, made: Made) -> String {
    let newline = newline(text);
    let mut out = text.to_owned();
    let mut made = made;
    if !text.is_empty() && !text.ends_with('\n') {
        out.push_str(newline);
        made = Made::LineEnd;
    }
    for (at, event) in EVENTS.into_iter().enumerate() {
        let command = call::hook(program, AGENT, event, made);
        let mut lines = vec![
            format!("[[hooks.{event}]]"),
            format!("[[hooks.{event}.hooks]]"),
            "type = \"command\"".to_owned(),
            format!("command = {}", Value::String(command)),
            format!("timeout = {HOOK_TIMEOUT}"),
        ];
        if event == "PostToolUse" {
            lines.push(format!("additionalContextLimit = {CONTEXT_LIMIT}"));
        }
        if at == 0 {
            lines.insert(0, COMMENT.to_owned());
        }
        if !out.trim_start_matches('\u{feff}').is_empty() {
            out.push_str(newline);
        }
        for line in lines {
            out.push_str(&line);
            out.push_str(newline);
        }
    }
    out
}

/// Where hooks are written as a value, which no `[[hooks.…]]` may follow.
fn written_as_value(text: &str) -> Option<usize> {
    sections(text).iter().find_map(|section| {
        let setting = section.settings.iter().find(|setting| {
            let path: Vec<&String> = section.path.iter().chain(&setting.path).collect();
            path.first().is_some_and(|first| *first == "hooks")
                && path
                    .get(1)
                    .is_none_or(|event| EVENTS.contains(&event.as_str()))
        })?;
        Some(setting.start)
    })
}

/// One of our hooks.
struct Hook {
    event: String,
    call: Call,
    hash: String,
    /// The sections that are its own: with its group, if that has no other hooks.
    sections: Vec<usize>,
}

fn our_hooks(sections: &[Section]) -> Vec<Hook> {
    let mut found = Vec::new();
    for (at, group) in sections.iter().enumerate() {
        let [hooks, event] = group.path.as_slice() else {
            continue;
        };
        if group.form != Form::Element || hooks != "hooks" {
            continue;
        }
        let inner: Vec<usize> = (at + 1..sections.len())
            .take_while(|i| !sections[*i].is(Form::Element, &["hooks", event]))
            .filter(|i| sections[*i].is(Form::Element, &["hooks", event, "hooks"]))
            .collect();
        let ours: Vec<(usize, Call)> = inner
            .iter()
            .filter_map(|i| Some((*i, our_call(&sections[*i])?)))
            .collect();
        let whole = ours.len() == inner.len();
        for (at_first, (i, call)) in ours.into_iter().enumerate() {
            found.push(Hook {
                event: event.clone(),
                hash: hash(event, &sections[i]),
                call,
                sections: if whole && at_first == 0 {
                    vec![at, i]
                } else {
                    vec![i]
                },
            });
        }
    }
    found
}

fn our_call(section: &Section) -> Option<Call> {
    let call = Call::read(section.get("command")?.as_str()?)?;
    call.is_installed_for(AGENT).then_some(call)
}

/// As Codex computes it for this hook.
fn hash(event: &str, section: &Section) -> String {
    let number = |key: &str| {
        let value = section.get(key).and_then(Value::as_integer);
        value.and_then(|n| u64::try_from(n).ok())
    };
    let command = section.get("command").and_then(Value::as_str);
    trust::hash(
        event,
        command.unwrap_or_default(),
        number("timeout").unwrap_or(HOOK_TIMEOUT),
        number("additionalContextLimit"),
    )
}

/// Whether a section is what Codex remembers about the trust in one of these hooks.
fn is_trust_in(section: &Section, hooks: &[Hook]) -> bool {
    let [first, second, _] = section.path.as_slice() else {
        return false;
    };
    let trusted = section.get("trusted_hash").and_then(Value::as_str);
    section.form == Form::Table
        && (first.as_str(), second.as_str()) == ("hooks", "state")
        && hooks.iter().any(|hook| Some(hook.hash.as_str()) == trusted)
}

/// The sections in which Codex remembers the trust in these hooks; the one above them too, if it
/// is for them alone.
fn trust_in(sections: &[Section], hooks: &[Hook]) -> Vec<usize> {
    let all = 0..sections.len();
    let mut trust: Vec<usize> = all
        .clone()
        .filter(|at| is_trust_in(&sections[*at], hooks))
        .collect();
    let is_left = |at: &usize| {
        let section = &sections[*at];
        let is_below = section.path.starts_with(&["hooks".into(), "state".into()]);
        is_below && !trust.contains(at)
    };
    let left: Vec<usize> = all.filter(is_left).collect();
    if let ([only], false) = (left.as_slice(), trust.is_empty())
        && sections[*only].is(Form::Table, &["hooks", "state"])
        && sections[*only].settings.is_empty()
    {
        trust.push(*only);
    }
    trust
}

/// The configuration without ours, and without what Codex remembers about ours.
pub fn remove(text: &str) -> Result<After, Refusal> {
    parse(text)?;
    let sections = sections(text);
    let hooks = our_hooks(&sections);
    let most = hooks.iter().filter_map(|hook| hook.call.made).max();
    let mut ours: Vec<usize> = hooks.iter().flat_map(|h| h.sections.clone()).collect();
    ours.extend(trust_in(&sections, &hooks));
    ours.sort_unstable();
    ours.dedup();
    let mut left = text.to_owned();
    let mut first = text.len();
    for at in ours.into_iter().rev() {
        first = beginning(text, sections[at].start);
        left.replace_range(first..sections[at].end, "");
    }
    let is_last = first == left.len();
    if most == Some(Made::LineEnd) && is_last {
        let end = left.strip_suffix('\n');
        let end = end.map(|rest| rest.strip_suffix('\r').unwrap_or(rest));
        left.truncate(end.map_or(left.len(), str::len));
    }
    if most == Some(Made::File) && left.trim().is_empty() {
        return Ok(After::NoFile);
    }
    Ok(After::Text(left))
}

/// Where a section of ours begins: with our comment before it, and one empty line.
fn beginning(text: &str, header: usize) -> usize {
    let line_before = |at: usize| -> Option<(usize, &str)> {
        let before = text[..at].strip_suffix('\n')?;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Some((start, before[start..].trim_end_matches('\r')))
    };
    let mut start = header;
    if let Some((comment, COMMENT)) = line_before(start) {
        start = comment;
    }
    if let Some((empty, "")) = line_before(start) {
        start = empty;
    }
    start
}

/// What of ours is in the configuration.
pub fn found(text: &str) -> Result<Found, Refusal> {
    let table = parse(text)?;
    let hooks = our_hooks(&sections(text));
    let states = table.get("hooks").and_then(|hooks| hooks.get("state"));
    let states = states.and_then(Value::as_table);
    let trusted: Vec<&str> = states
        .into_iter()
        .flat_map(toml::Table::values)
        .filter_map(|state| state.get("trusted_hash")?.as_str())
        .collect();
    let has = |event: &str| hooks.iter().any(|hook| hook.event == event);
    Ok(Found {
        missing: EVENTS.into_iter().filter(|event| !has(event)).collect(),
        trusted: Some(
            hooks
                .iter()
                .filter(|hook| trusted.contains(&hook.hash.as_str()))
                .count(),
        ),
        line: None,
        hooks: hooks
            .into_iter()
            .map(|hook| (hook.event, hook.call.program))
            .collect(),
    })
}

/// Our hooks without what was made for them: the same for two texts if the same is installed.
fn ours(text: &str) -> Vec<String> {
    let sections = sections(text);
    let mut all: Vec<String> = our_hooks(&sections)
        .into_iter()
        .map(|hook| {
            let own = hook.sections.last().and_then(|at| sections.get(*at));
            let others: Vec<String> = own
                .into_iter()
                .flat_map(|section| &section.settings)
                .filter(|setting| setting.path != ["command"])
                .map(|setting| format!("{:?} {}", setting.path, setting.value))
                .collect();
            format!("{} {} {others:?}", hook.event, hook.call.program)
        })
        .collect();
    all.sort();
    all
}
