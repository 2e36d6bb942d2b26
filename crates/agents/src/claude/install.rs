//! Our hooks and status line in a settings file of Claude Code, for agents that sm did not start.
//!
//! The same hooks as with a launch ([`super::settings`]), each marked as installed, but for the
//! mailbox: it waits for messages to a session of sm, and a `claude -p` does not end before it.
//! The user's own hooks stay where they are, in front of ours; his status line is run by ours and
//! remembered in its command, so that it comes back as it was.

use super::settings::{EVENTS, event_hook, group};
use crate::surgery::call::{self, Call, Made};
use crate::surgery::json::{Member, Node, parse};
use crate::surgery::json_edit::{Item, Style, append, cut, push_string, replace};
use crate::surgery::{After, Found, Installed, Line, LinePolicy, Refusal};
use serde_json::{Value, json};

const AGENT: &str = "claude";

/// The settings with ours in them; the same text if they are there already. `None`: there is no
/// such file.
pub fn install(
    text: Option<&str>,
    program: &str,
    policy: LinePolicy,
) -> Result<Installed, Refusal> {
    let before = match text {
        Some(text) => remove(text)?,
        None => After::NoFile,
    };
    let fresh = put_in(&before, program, policy)?;
    if let Some(text) = text
        && ours(text)? == ours(&fresh.text)?
    {
        return Ok(Installed {
            text: text.to_owned(),
            line: fresh.line,
        });
    }
    if remove(&fresh.text)? != before {
        return Err(Refusal::NotReversible);
    }
    Ok(fresh)
}

fn put_in(before: &After, program: &str, policy: LinePolicy) -> Result<Installed, Refusal> {
    let (mut text, made) = match before {
        After::Text(text) => (text.clone(), Made::Hooks),
        After::NoFile => ("{}\n".to_owned(), Made::File),
    };
    let root = parse(&text)?;
    object(&text, &root, "the settings are not an object")?;
    let style = Style::of(&text, &root);
    let ours = |event: &str, made: Made| {
        let command = call::hook(program, AGENT, event, made);
        group(event, vec![event_hook(&command)])
    };
    if unique(&text, &root, "hooks")?.is_none() {
        let all: serde_json::Map<String, Value> = EVENTS
            .into_iter()
            .map(|event| (event.to_owned(), json!([ours(event, made)])))
            .collect();
        let item = Item {
            key: Some("hooks"),
            value: &Value::Object(all),
        };
        text = append(&text, &root, &style, &item);
    } else {
        for event in EVENTS {
            let root = parse(&text)?;
            let Some(hooks) = unique(&text, &root, "hooks")? else {
                continue;
            };
            let hooks = &hooks.value;
            object(&text, hooks, "\"hooks\" is not an object")?;
            text = match unique(&text, hooks, event)? {
                None => {
                    let value = json!([ours(event, Made::Event)]);
                    let item = Item {
                        key: Some(event),
                        value: &value,
                    };
                    append(&text, hooks, &style, &item)
                }
                Some(member) if member.value.elements().is_some() => {
                    let value = ours(event, Made::Nothing);
                    let item = Item {
                        key: None,
                        value: &value,
                    };
                    append(&text, &member.value, &style, &item)
                }
                Some(member) => {
                    let what = format!("the hooks of {event:?} are not a list");
                    return Err(Refusal::at(&text, member.value.start, what));
                }
            };
        }
    }
    let (text, line) = put_line_in(text, &style, program, policy)?;
    Ok(Installed { text, line })
}

fn put_line_in(
    text: String,
    style: &Style,
    program: &str,
    policy: LinePolicy,
) -> Result<(String, Line), Refusal> {
    let root = parse(&text)?;
    let Some(member) = unique(&text, &root, "statusLine")? else {
        return Ok(match policy {
            LinePolicy::OnlyChain => (text, Line::LeftOut),
            LinePolicy::Add => {
                let value = json!({
                    "type": "command",
                    "command": call::status_line(program, AGENT, None),
                });
                let item = Item {
                    key: Some("statusLine"),
                    value: &value,
                };
                (append(&text, &root, style, &item), Line::Added)
            }
        });
    };
    let line = &member.value;
    if line.members().is_none() {
        return Ok((text, Line::NotACommand));
    }
    let kind = unique(&text, line, "type")?.and_then(|kind| kind.value.string());
    let command = unique(&text, line, "command")?.map(|command| &command.value);
    let (Some("command"), Some(node)) = (kind, command) else {
        return Ok((text, Line::NotACommand));
    };
    let Some(users) = node.string() else {
        return Ok((text, Line::NotACommand));
    };
    if Call::read(users).is_some_and(|call| call.is_status_line()) {
        return Ok((text, Line::AlreadyOurs));
    }
    let written = &text[node.start..node.end];
    let was = (json_string(users) != written).then_some(written);
    let command = call::status_line(program, AGENT, Some((users, was)));
    Ok((replace(&text, node, &json_string(&command)), Line::Chained))
}

/// The settings without ours. What had to be made for ours goes with it once it is empty.
pub fn remove(text: &str) -> Result<After, Refusal> {
    let mut text = take_line_out(text)?;
    let mut made: Vec<(String, Made)> = Vec::new();
    loop {
        let root = parse(&text)?;
        let Some(spot) = first_of_ours(&root) else {
            break;
        };
        made.push((spot.event, spot.made));
        text = cut(&text, spot.container, spot.index);
    }
    let most = made.iter().map(|(_, made)| *made).max();
    for (event, made) in made {
        if made >= Made::Event {
            text = cut_if_empty(text, &["hooks", &event])?;
        }
    }
    if most >= Some(Made::Hooks) {
        text = cut_if_empty(text, &["hooks"])?;
    }
    let is_empty = most == Some(Made::File) && parse(&text)?.members().is_some_and(<[_]>::is_empty);
    Ok(if is_empty {
        After::NoFile
    } else {
        After::Text(text)
    })
}

/// What of ours is in the settings.
pub fn found(text: &str) -> Result<Found, Refusal> {
    let root = parse(text)?;
    let mut found = Found::default();
    each_hook(&root, |event, _, _, call| {
        found.hooks.push((event.to_owned(), call.program));
    });
    found.line = our_line(&root).map(|(_, call)| call.program);
    let has = |event: &str| found.hooks.iter().any(|(of, _)| of == event);
    found.missing = EVENTS.into_iter().filter(|event| !has(event)).collect();
    Ok(found)
}

/// Our hooks and status line as values, in an order of their own and without what was made for
/// them: the same for two texts if the same is installed.
fn ours(text: &str) -> Result<Vec<String>, Refusal> {
    let root = parse(text)?;
    let mut all = Vec::new();
    each_hook(&root, |event, group, hook, call| {
        let mut value: Value =
            serde_json::from_str(&text[hook.start..hook.end]).unwrap_or_default();
        value["command"] = json!([call.program, call.word]);
        let matcher = group.get("matcher").map(|m| &text[m.start..m.end]);
        all.push(format!("{event} {matcher:?} {value}"));
    });
    if let Some((_, call)) = our_line(&root) {
        all.push(format!(
            "{} {:?} {:?}",
            call.program, call.chained, call.was
        ));
    }
    all.sort();
    Ok(all)
}

/// A hook or group of hooks that is ours.
struct Spot<'a> {
    event: String,
    made: Made,
    container: &'a Node,
    index: usize,
}

/// Calls `see` with the event, the group, the hook and what it runs, of every hook of ours.
fn each_hook<'a>(root: &'a Node, mut see: impl FnMut(&'a str, &'a Node, &'a Node, Call)) {
    let events = root.get("hooks").and_then(Node::members);
    for event in events.unwrap_or_default() {
        for group in event.value.elements().unwrap_or_default() {
            let hooks = group.get("hooks").and_then(Node::elements);
            for hook in hooks.unwrap_or_default() {
                if let Some(call) = our_hook(hook) {
                    see(&event.key, group, hook, call);
                }
            }
        }
    }
}

fn our_hook(hook: &Node) -> Option<Call> {
    let call = Call::read(hook.get("command")?.string()?)?;
    call.is_installed_for(AGENT).then_some(call)
}

fn first_of_ours(root: &Node) -> Option<Spot<'_>> {
    for event in root.get("hooks")?.members()? {
        for (at, group) in event
            .value
            .elements()
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            let Some(list) = group.get("hooks") else {
                continue;
            };
            let hooks = list.elements().unwrap_or_default();
            let ours = hooks.iter().enumerate();
            let ours: Vec<(usize, Made)> = ours
                .filter_map(|(at, hook)| Some((at, our_hook(hook)?.made?)))
                .collect();
            let Some((first, _)) = ours.first() else {
                continue;
            };
            // Somebody may have put a hook of his own into our group.
            let (container, index) = if ours.len() == hooks.len() {
                (&event.value, at)
            } else {
                (list, *first)
            };
            return Some(Spot {
                event: event.key.clone(),
                made: ours.iter().map(|(_, made)| *made).max()?,
                container,
                index,
            });
        }
    }
    None
}

/// The command of our status line, and what it is.
fn our_line(root: &Node) -> Option<(&Node, Call)> {
    let command = root.get("statusLine")?.get("command")?;
    let call = Call::read(command.string()?)?;
    (call.is_installed_for(AGENT) && call.is_status_line()).then_some((command, call))
}

fn take_line_out(text: &str) -> Result<String, Refusal> {
    let root = parse(text)?;
    let Some((command, call)) = our_line(&root) else {
        return Ok(text.to_owned());
    };
    match (call.was, call.chained) {
        (Some(was), _) => Ok(replace(text, command, &was)),
        (None, Some(users)) => Ok(replace(text, command, &json_string(&users))),
        (None, None) => {
            let members = root.members().unwrap_or_default();
            let at = members.iter().rposition(|m| m.key == "statusLine");
            Ok(at.map_or_else(|| text.to_owned(), |at| cut(text, &root, at)))
        }
    }
}

/// Takes the thing at the end of the path out if nothing is in it.
fn cut_if_empty(text: String, path: &[&str]) -> Result<String, Refusal> {
    let root = parse(&text)?;
    let Some((last, way)) = path.split_last() else {
        return Ok(text);
    };
    let mut container = &root;
    for key in way {
        match container.get(key) {
            Some(inner) => container = inner,
            None => return Ok(text),
        }
    }
    let members = container.members().unwrap_or_default();
    let Some(at) = members.iter().rposition(|m| m.key == *last) else {
        return Ok(text);
    };
    let value = &members[at].value;
    let is_container = value.members().is_some() || value.elements().is_some();
    if is_container && value.inside().is_empty() {
        return Ok(cut(&text, container, at));
    }
    Ok(text)
}

fn object(text: &str, node: &Node, what: &str) -> Result<(), Refusal> {
    match node.members() {
        Some(_) => Ok(()),
        None => Err(Refusal::at(text, node.start, what)),
    }
}

/// A member that is there at most once: of two, nobody can say which one is meant.
fn unique<'a>(text: &str, node: &'a Node, key: &str) -> Result<Option<&'a Member>, Refusal> {
    let mut found = node
        .members()
        .into_iter()
        .flatten()
        .filter(|m| m.key == key);
    let first = found.next();
    match found.next() {
        None => Ok(first),
        Some(second) => {
            let what = format!("{key:?} is there a second time");
            Err(Refusal::at(text, second.start, what))
        }
    }
}

fn json_string(text: &str) -> String {
    let mut out = String::new();
    push_string(&mut out, text);
    out
}
