//! `settings.json`.

use crate::PROGRAM;
use proptest::prelude::*;
use serde_json::{Value, json};
use sm_agents::claude::install::{found, install, remove};
use sm_agents::claude::settings::EVENTS;
use sm_agents::surgery::json::{Node, parse};
use sm_agents::surgery::{After, Line, LinePolicy};

fn put_in(text: &str) -> (String, Line) {
    let installed = install(Some(text), PROGRAM, LinePolicy::Add).unwrap();
    (installed.text, installed.line)
}

fn value(text: &str) -> Value {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap()
}

#[test]
fn a_settings_file_before_and_after() {
    let before = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }] }\n    ]\n  },\n  \"statusLine\": {\n    \"type\": \"command\",\n    \"command\": \"jq -r '.model.id'\",\n    \"padding\": 0\n  }\n}\n";
    let (after, line) = put_in(before);
    assert_eq!(line, Line::Chained);
    let stop = "      { \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }] },\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"exec '/opt/s m/sm-hook' claude Stop --installed\",\n            \"timeout\": 10\n          }\n        ]\n      }\n    ],\n";
    assert!(after.contains(stop), "{after}");
    let line = "    \"command\": \"exec '/opt/s m/sm-hook' claude statusline --installed -- 'jq -r '\\\\''.model.id'\\\\'''\",\n    \"padding\": 0\n";
    assert!(after.contains(line), "{after}");
    let settings = value(&after);
    assert_eq!(
        settings["hooks"].as_object().unwrap().len(),
        EVENTS.len(),
        "{after}"
    );
    assert_eq!(
        settings["hooks"]["PreCompact"][0]["hooks"][0]["command"],
        "exec '/opt/s m/sm-hook' claude PreCompact --installed=event"
    );
    assert_eq!(remove(&after).unwrap(), After::Text(before.to_owned()));
    let found = found(&after).unwrap();
    assert_eq!(found.hooks.len(), EVENTS.len());
    assert!(!after.contains("mailbox"));
    assert_eq!(found.programs(), [PROGRAM]);
    assert_eq!(found.missing, [""; 0]);
}

#[test]
fn a_file_that_is_missing_is_made_and_goes_again() {
    let made = install(None, PROGRAM, LinePolicy::Add).unwrap();
    assert_eq!(made.line, Line::Added);
    assert!(
        made.text
            .starts_with("{\n  \"hooks\": {\n    \"SessionStart\": [\n")
    );
    assert!(made.text.ends_with("  }\n}\n"));
    assert_eq!(put_in(&made.text).0, made.text, "twice is once");
    assert_eq!(remove(&made.text).unwrap(), After::NoFile);
    // Something of the user's keeps it.
    let with = made.text.replacen("{\n", "{\n  \"model\": \"x\",\n", 1);
    assert_eq!(
        remove(&with).unwrap(),
        After::Text("{\n  \"model\": \"x\"\n}\n".to_owned())
    );
    // An empty object that was there stays one.
    for empty in ["{}", "{ }\r\n", "\u{feff}{\n}"] {
        assert_eq!(
            remove(&put_in(empty).0).unwrap(),
            After::Text(empty.to_owned())
        );
    }
}

#[test]
fn what_cannot_be_added_to_is_refused_at_its_place() {
    for (text, expected) in [
        (
            "",
            "line 1, column 1: the file ends where a value is expected",
        ),
        (
            "{ // hi\n}",
            "line 1, column 3: a comment, which JSON does not have",
        ),
        (
            "{\n\"a\": 1,\n}",
            "line 2, column 7: a comma with nothing after it",
        ),
        ("[]", "line 1, column 1: the settings are not an object"),
        (
            "{\n \"hooks\": []}",
            "line 2, column 11: \"hooks\" is not an object",
        ),
        (
            "{\"hooks\": {\"Stop\": {}}}",
            "line 1, column 20: the hooks of \"Stop\" are not a list",
        ),
        (
            "{\"hooks\": {},\n \"hooks\": {}}",
            "line 2, column 2: \"hooks\" is there a second time",
        ),
        (
            "{\"hooks\": {\"Stop\": [], \"Stop\": []}}",
            "line 1, column 24: \"Stop\" is there a second time",
        ),
        (
            "{\"statusLine\": 1, \"statusLine\": 2}",
            "line 1, column 19: \"statusLine\" is there a second time",
        ),
    ] {
        let refused = install(Some(text), PROGRAM, LinePolicy::Add).unwrap_err();
        assert_eq!(refused.to_string(), expected, "{text}");
    }
}

#[test]
fn a_status_line_is_chained_once_or_left_alone() {
    for (line, policy, expected) in [
        (
            json!({"type": "command", "command": "x"}),
            LinePolicy::OnlyChain,
            Line::Chained,
        ),
        (
            json!({"type": "command", "command": ""}),
            LinePolicy::Add,
            Line::Chained,
        ),
        (
            json!({"type": "command"}),
            LinePolicy::Add,
            Line::NotACommand,
        ),
        (
            json!({"type": "other", "command": "x"}),
            LinePolicy::Add,
            Line::NotACommand,
        ),
        (
            json!({"command": 3, "type": "command"}),
            LinePolicy::Add,
            Line::NotACommand,
        ),
        (json!(null), LinePolicy::Add, Line::NotACommand),
        (
            json!({"type": "command", "command": "sm statusline --format={percent} -- mine"}),
            LinePolicy::Add,
            Line::AlreadyOurs,
        ),
        (
            json!({"type": "command", "command": "sm-hook claude statusline"}),
            LinePolicy::Add,
            Line::AlreadyOurs,
        ),
        (
            json!({"type": "command", "command": "exec /x/sm-hook claude statusline -- 'a b'"}),
            LinePolicy::Add,
            Line::AlreadyOurs,
        ),
    ] {
        let text = json!({"statusLine": line}).to_string();
        let installed = install(Some(&text), PROGRAM, policy).unwrap();
        assert_eq!(installed.line, expected, "{text}");
        if expected != Line::Chained {
            assert_eq!(value(&installed.text)["statusLine"], line);
        }
        assert_eq!(remove(&installed.text).unwrap(), After::Text(text));
        // Over ours it is never chained to itself.
        let again = install(Some(&installed.text), "/new/sm-hook", policy).unwrap();
        assert_eq!(
            again.text.matches("statusline").count(),
            usize::from(matches!(expected, Line::Chained | Line::AlreadyOurs))
        );
    }
    let none = install(Some("{}"), PROGRAM, LinePolicy::OnlyChain).unwrap();
    assert_eq!(none.line, Line::LeftOut);
    assert!(!none.text.contains("statusLine"));
}

#[test]
fn another_program_takes_the_place_of_the_old_one() {
    let before = r#"{"hooks":{"Stop":[]},"x":1}"#;
    let (old, _) = put_in(before);
    let new = install(Some(&old), "/new/sm-hook", LinePolicy::Add)
        .unwrap()
        .text;
    assert_eq!(found(&new).unwrap().programs(), ["/new/sm-hook"]);
    assert_eq!(remove(&new).unwrap(), After::Text(before.to_owned()));
    // One event that was lost comes back.
    let lost = old.replacen(",\"PreCompact\":", ",\"Other\":", 1);
    assert_ne!(lost, old);
    assert_eq!(found(&lost).unwrap().missing, ["PreCompact"]);
    assert_eq!(found(&put_in(&lost).0).unwrap().missing, [""; 0]);
}

#[test]
fn a_hook_somebody_put_into_our_group_stays() {
    let (text, _) = put_in("{}");
    let with = text.replacen(
        "\"hooks\": [\n",
        "\"hooks\": [\n{\"type\": \"command\", \"command\": \"mine\"},\n",
        1,
    );
    let After::Text(left) = remove(&with).unwrap() else {
        panic!("it is all gone");
    };
    assert_eq!(
        value(&left),
        json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "mine"}]}]}})
    );
}

// ── any settings

/// Blanks between the parts of a text.
fn blanks() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        3 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => "[ \t\r\n]{0,4}",
    ]
}

/// A string with its quotes, in any way of writing it.
fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            r#""exec /x/sm-hook claude Stop""#,
            r#""exec /x/sm-hook claude Stop --installed; true""#,
            r#""exec '/x/sm-hook' codex Stop --installed""#,
            r#""\"hooks\": {\"Stop\": []}""#,
            r#""// no comment } ] , :""#,
            r#""\u0065cho \ud83d\ude00 \/ \ud800""#,
            r#""statusLine""#,
            "\"ünïcödé \u{2028} 😀\"",
        ])
        .prop_map(str::to_owned),
        ".{0,12}".prop_map(|text| json!(text).to_string()),
    ]
}

/// Any value, in any way of writing it.
fn any_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        string(),
        prop::sample::select(vec![
            "null", "true", "-0", "1.5E+9", "[]", "{}", "{ }", "[\n]"
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec((blanks(), inner.clone(), blanks()), 0..3).prop_map(list),
            prop::collection::vec((string(), blanks(), inner, blanks()), 0..3).prop_map(members),
        ]
    })
}

fn list(all: Vec<(String, String, String)>) -> String {
    let all: Vec<String> = all
        .into_iter()
        .map(|(a, v, b)| format!("{a}{v}{b}"))
        .collect();
    format!("[{}]", all.join(","))
}

fn members(all: Vec<(String, String, String, String)>) -> String {
    let all: Vec<String> = all
        .into_iter()
        .map(|(key, a, value, b)| format!("{a}{key}{b}:{a}{value}{b}"))
        .collect();
    format!("{{{}}}", all.join(","))
}

/// A list of groups of hooks, also such that are none.
fn groups() -> impl Strategy<Value = String> {
    let group = (string(), blanks(), any_text()).prop_map(|(command, b, odd)| {
        format!(
            "{{{b}\"hooks\":{b}[{{\"type\":\"command\",{b}\"command\": {command}}}, {odd}]{b}}}"
        )
    });
    let group = prop_oneof![3 => group, 1 => any_text()];
    prop::collection::vec((blanks(), group, blanks()), 0..3).prop_map(list)
}

fn hooks() -> impl Strategy<Value = String> {
    let events = prop::sample::subsequence(
        vec![
            "Stop",
            "SessionStart",
            "PreToolUse",
            "PreCompact",
            "Stop ",
            "stop",
        ],
        0..5,
    );
    (
        events.prop_shuffle(),
        prop::collection::vec((groups(), blanks(), blanks()), 5),
    )
        .prop_map(|(events, parts)| {
            let all = events.into_iter().zip(parts);
            members(
                all.map(|(event, (list, a, b))| (json!(event).to_string(), a, list, b))
                    .collect(),
            )
        })
}

fn status_line() -> impl Strategy<Value = String> {
    prop_oneof![
        (string(), blanks()).prop_map(|(command, b)| format!(
            "{{{b}\"padding\" : 1,{b}\"command\":{command},\"type\" :\"command\"{b}}}"
        )),
        any_text().prop_filter("its keys may be there twice", |text| !text
            .contains("command")),
    ]
}

#[derive(Debug, Clone, Copy)]
enum Looks {
    AsWritten,
    Pretty(&'static str, &'static str),
    Tight,
}

/// A whole settings file. It always has a member that the other tool can edit.
fn settings() -> impl Strategy<Value = String> {
    let keys = prop::sample::subsequence(
        vec!["hooks", "statusLine", "a", "env", "Hooks", "ключ"],
        0..6,
    );
    let parts = prop::collection::vec((any_text(), blanks(), blanks()), 7);
    let looks = prop::sample::select(vec![
        Looks::AsWritten,
        Looks::AsWritten,
        Looks::Pretty("  ", "\n"),
        Looks::Pretty("\t", "\r\n"),
        Looks::Pretty("    ", "\n"),
        Looks::Tight,
    ]);
    let ends = (
        prop::bool::ANY,
        prop::sample::select(vec!["", "\n", "\r\n", " \n\n"]),
    );
    (keys, 0..7_usize, parts, hooks(), status_line(), looks, ends).prop_map(
        |(keys, place, parts, hooks, line, looks, (bom, end))| {
            let mut keys: Vec<&str> = keys;
            keys.insert(place.min(keys.len()), "edit me");
            let all = keys.into_iter().zip(parts).map(|(key, (any, a, b))| {
                let value = match key {
                    "hooks" => hooks.clone(),
                    "statusLine" => line.clone(),
                    "edit me" => "\"as it was\"".to_owned(),
                    _ => any,
                };
                (json!(key).to_string(), a, value, b)
            });
            let text = members(all.collect());
            let parsed = serde_json::from_str::<Value>(&text);
            let text = match (looks, parsed) {
                (Looks::AsWritten, _) | (_, Err(_)) => text,
                (Looks::Pretty(unit, newline), Ok(value)) => {
                    let mut out = Vec::new();
                    let pretty = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
                    let mut ser = serde_json::Serializer::with_formatter(&mut out, pretty);
                    serde::Serialize::serialize(&value, &mut ser).unwrap();
                    String::from_utf8(out).unwrap().replace('\n', newline)
                }
                (Looks::Tight, Ok(value)) => value.to_string(),
            };
            format!("{}{text}{end}", if bom { "\u{feff}" } else { "" })
        },
    )
}

/// What another tool does to the file, ours in it or not.
#[derive(Debug, Clone, Copy)]
enum Edit {
    Value,
    FirstMember,
    LastMember,
    FirstHook(&'static str),
    LastHook(&'static str),
    LastEvent,
}

const EDITS: [Edit; 8] = [
    Edit::Value,
    Edit::FirstMember,
    Edit::LastMember,
    Edit::FirstHook("Stop"),
    Edit::LastHook("Stop"),
    Edit::LastHook("SessionStart"),
    Edit::LastHook("PreToolUse"),
    Edit::LastEvent,
];

impl Edit {
    fn is_possible(self, original: &str) -> bool {
        let root = parse(original).unwrap();
        let filled = |node: Option<&Node>| node.is_some_and(|node| !node.inside().is_empty());
        match self {
            Self::Value | Self::FirstMember | Self::LastMember => true,
            Self::LastEvent => filled(root.get("hooks")),
            Self::FirstHook(event) | Self::LastHook(event) => {
                filled(root.get("hooks").and_then(|hooks| hooks.get(event)))
            }
        }
    }

    fn make(self, text: &str) -> String {
        let root = parse(text).unwrap();
        let hooks = root.get("hooks");
        let group = r#"{"hooks": [{"type": "command", "command": "theirs"}]}"#;
        let first = |node: &Node, new: &str| insert(text, node.inside()[0].0, &format!("{new}, "));
        let last = |node: &Node, new: &str| {
            insert(text, node.inside().last().unwrap().1, &format!(" ,{new}"))
        };
        match self {
            Self::Value => text.replacen("as it was", "now another", 1),
            Self::FirstMember => first(&root, "\"first\": {}"),
            Self::LastMember => last(&root, "\"last\": [1]"),
            Self::FirstHook(event) => first(hooks.unwrap().get(event).unwrap(), group),
            Self::LastHook(event) => last(hooks.unwrap().get(event).unwrap(), group),
            Self::LastEvent => last(hooks.unwrap(), &format!("\"PostToolUse\": [{group}]")),
        }
    }
}

fn insert(text: &str, at: usize, new: &str) -> String {
    format!("{}{new}{}", &text[..at], &text[at..])
}

/// Everything but ours: what the agent would do without us.
fn without_ours(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn ours_comes_out_and_everything_else_stays(
        text in settings(),
        edits in prop::sample::subsequence(EDITS.to_vec(), 0..4),
        policy in prop::sample::select(vec![LinePolicy::Add, LinePolicy::OnlyChain]),
    ) {
        let installed = install(Some(&text), PROGRAM, policy).unwrap().text;
        prop_assert_ne!(&installed, &text);
        prop_assert_eq!(found(&installed).unwrap().missing.len(), 0);
        prop_assert!(found(&text).unwrap().is_empty());
        let again = install(Some(&installed), PROGRAM, policy).unwrap().text;
        prop_assert_eq!(&again, &installed, "twice is once");
        prop_assert_eq!(remove(&installed).unwrap(), After::Text(text.clone()));
        if without_ours(&text).is_some() {
            prop_assert!(without_ours(&installed).is_some(), "the agent can read it");
        }
        let (mut expected, mut edited) = (text.clone(), installed);
        for edit in edits.into_iter().filter(|edit| edit.is_possible(&text)) {
            expected = edit.make(&expected);
            edited = edit.make(&edited);
        }
        prop_assert_eq!(&install(Some(&edited), PROGRAM, policy).unwrap().text, &edited);
        prop_assert_eq!(remove(&edited).unwrap(), After::Text(expected));
    }

    #[test]
    fn any_text_is_answered(text in prop_oneof![".{0,60}", settings(), "[{}\\[\\]:,\"a\\\\u0 \n/]{0,40}"]) {
        if let Ok(installed) = install(Some(&text), PROGRAM, LinePolicy::Add) {
            prop_assert_eq!(remove(&installed.text), remove(&text));
        }
        let _ = found(&text);
    }
}
