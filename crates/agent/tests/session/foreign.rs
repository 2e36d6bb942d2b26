//! Files that others wrote: `pi`, `omp`, older versions, damaged ones.

use std::fs;
use std::path::{Path, PathBuf};

use sm_agent::session::{NewEntry, Opened, SessionFile, Shown, SummaryKind, read};
use sm_llm::{Content, Message, Thinking};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// The texts of what the model is sent, by who speaks.
fn said(opened: &Opened) -> Vec<String> {
    let text = |blocks: &[sm_llm::Block]| {
        blocks
            .iter()
            .map(|block| match block {
                sm_llm::Block::Text { text, .. } => text.clone(),
                sm_llm::Block::ToolCall(call) => format!("<{}>", call.name),
                other => format!("{other:?}"),
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    opened
        .messages
        .iter()
        .map(|message| match message {
            Message::User(user) => format!("user: {}", text(&user.content.blocks())),
            Message::Assistant(answer) => format!("model: {}", text(&answer.content)),
            Message::ToolResult(result) => format!("tool: {}", text(&result.content)),
        })
        .collect()
}

fn written(lines: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    (folder, path)
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"x","timestamp":"2026-11-15T06:33:13.963Z","cwd":"/w"}"#;

fn user(id: &str, parent: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-11-15T06:33:14.000Z","message":{{"role":"user","content":"{text}","timestamp":5}}}}"#
    )
}

#[test]
fn a_session_of_pi_is_opened_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pi.jsonl");
    fs::copy(fixture("pi/session.jsonl"), &path).unwrap();
    let before = fs::read(&path).unwrap();
    let (mut file, opened) = SessionFile::open(&path).unwrap();
    assert_eq!(opened.header.id, "01a1ddfd-b3be-72d8-af16-9cc825b0583d");
    assert_eq!(opened.model, Some(("fake".into(), "fake-model".into())));
    assert_eq!(opened.thinking, Some(Thinking::Off));
    assert_eq!(opened.message_entries, 13);
    assert_eq!(opened.messages.len(), 13);
    assert_eq!(opened.damaged, 0);
    assert_eq!(
        said(&opened)[8..],
        [
            "user: RUN: sleep 3",
            "model: <bash>",
            "tool: (no output)",
            "user: SAY: steer msg",
            "model: steer msg"
        ]
    );
    file.append(&NewEntry::Message(Message::user("go on", 1)))
        .unwrap();
    drop(file);
    let after = fs::read(&path).unwrap();
    assert!(after.starts_with(&before), "what was there stays");
    let last = String::from_utf8_lossy(&after[before.len()..]).into_owned();
    assert!(last.contains(r#""parentId":"aeb1b707""#), "{last}");
    assert_eq!(read(&path).unwrap().message_entries, 14);
}

#[test]
fn sessions_of_omp_are_opened() {
    let before = read(&fixture("omp/before.jsonl")).unwrap();
    assert_eq!(before.model, Some(("fake".into(), "fake-1".into())));
    assert_eq!(before.thinking, Some(Thinking::High));
    assert_eq!(before.message_entries, 6);
    assert_eq!(before.title, None);
    assert_eq!(
        said(&before)[..2],
        [
            "user: hello please build the frobnicator",
            "model: Running it. <bash>"
        ]
    );

    let after = read(&fixture("omp/after-handoff.jsonl")).unwrap();
    assert!(after.header.parent.is_some());
    assert_eq!(after.message_entries, 2);
    assert_eq!(after.messages.len(), 3);
    assert!(said(&after)[0].starts_with("user: <handoff-context>"));
    assert!(
        matches!(&after.shown[0], Shown::Custom { custom_type, .. } if custom_type == "handoff")
    );
}

#[test]
fn the_branch_of_the_last_entry_counts() {
    let lines = [
        user("a", "null", "one"),
        user("b", "\"a\"", "left"),
        r#"{"type":"branch_summary","id":"c","parentId":"a","timestamp":"2026-11-15T06:33:14.000Z","fromId":"b","summary":"it was left"}"#.to_string(),
        r#"{"type":"label","id":"d","parentId":"c","timestamp":"x","targetId":"a","label":"l"}"#.to_string(),
        r#"{"type":"hologram","id":"e","parentId":"d","timestamp":"x","beam":[1]}"#.to_string(),
        user("f", "\"e\"", "two"),
    ];
    let mut all = vec![HEADER];
    all.extend(lines.iter().map(String::as_str));
    let (_folder, path) = written(&all);
    let opened = read(&path).unwrap();
    assert_eq!(
        said(&opened),
        [
            "user: one",
            "user: The following is a summary of a branch that this conversation came back from:\n\n<summary>\nit was left</summary>",
            "user: two"
        ]
    );
    assert_eq!(opened.message_entries, 2);
    assert_eq!(opened.damaged, 0);
    assert!(matches!(
        &opened.shown[1],
        Shown::Summary {
            kind: SummaryKind::Branch,
            message: 1,
            ..
        }
    ));
}

#[test]
fn a_compaction_stands_for_what_was_before() {
    let compaction = |id: &str, parent: &str, kept: &str| {
        format!(
            r#"{{"type":"compaction","id":"{id}","parentId":"{parent}","timestamp":"x","summary":"S{id}","firstKeptEntryId":"{kept}","tokensBefore":9}}"#
        )
    };
    let lines = [
        user("a", "null", "one"),
        compaction("k", "a", "a"),
        user("b", "\"k\"", "two"),
        user("c", "\"b\"", "three"),
        compaction("l", "c", "c"),
        user("d", "\"l\"", "four"),
    ];
    let mut all = vec![HEADER];
    all.extend(lines.iter().map(String::as_str));
    let (_folder, path) = written(&all);
    let opened = read(&path).unwrap();
    assert_eq!(
        said(&opened),
        [
            "user: The conversation history before this point was compacted into the following summary:\n\n<summary>\nSl\n</summary>",
            "user: three",
            "user: four"
        ]
    );
    assert_eq!(opened.message_entries, 4);
}

#[test]
fn older_versions_are_understood() {
    // Version 1 had no ids and counted lines.
    let (_folder, path) = written(&[
        r#"{"type":"session","id":"old","timestamp":"x","cwd":"/w","provider":"p","modelId":"m","thinkingLevel":"off"}"#,
        r#"{"type":"message","timestamp":"x","message":{"role":"user","content":"one"}}"#,
        r#"{"type":"message","timestamp":"x","message":{"role":"user","content":"two"}}"#,
        r#"{"type":"compaction","timestamp":"x","summary":"S","firstKeptEntryIndex":2,"tokensBefore":1}"#,
        r#"{"type":"message","timestamp":"x","message":{"role":"user","content":"three"}}"#,
    ]);
    let (mut file, opened) = SessionFile::open(&path).unwrap();
    assert_eq!(opened.header.version, 1);
    assert_eq!(said(&opened)[1..], ["user: two", "user: three"]);
    file.append(&NewEntry::Message(Message::user("four", 1)))
        .unwrap();
    drop(file);
    assert_eq!(
        said(&read(&path).unwrap())[1..],
        ["user: two", "user: three", "user: four"]
    );

    // Version 2 had another word for messages of programs.
    let (_folder, path) = written(&[
        r#"{"type":"session","version":2,"id":"old","timestamp":"x","cwd":"/w"}"#,
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"x","message":{"role":"hookMessage","customType":"h","content":"from a hook","display":false,"timestamp":1}}"#,
    ]);
    let opened = read(&path).unwrap();
    assert_eq!(said(&opened), ["user: from a hook"]);
    assert!(matches!(
        &opened.shown[0],
        Shown::Custom { display: false, .. }
    ));
}

#[test]
fn a_beginning_written_twice_counts_once() {
    // `pi` does so with a session that has no answer yet.
    let one = user("a", "null", "one");
    let two = user("b", "\"a\"", "two");
    let (_folder, path) = written(&[HEADER, &one, HEADER, &one, &two]);
    assert_eq!(said(&read(&path).unwrap()), ["user: one", "user: two"]);
}

#[test]
fn damage_in_the_middle_loses_only_what_is_damaged() {
    let one = user("a", "null", "one");
    let glued = format!(
        "{}{}",
        &user("b", "\"a\"", "torn")[..60],
        user("c", "\"a\"", "after the crash").replace(
            "\"after the crash\"",
            r#"[{"type":"text","text":"after the crash"}]"#
        )
    );
    let lost = "{\"type\":\"message\",\"id\":\"d\",\"parentId\":\"c\",\"mess";
    let last = user("e", "\"d\"", "last");
    let (_folder, path) = written(&[HEADER, &one, &glued, "", lost, &last]);
    let opened = read(&path).unwrap();
    assert_eq!(
        said(&opened),
        ["user: one", "user: after the crash", "user: last"]
    );
    assert_eq!(opened.damaged, 2);
}

/// As pi 0.73.1 left it: it had gone on with a handoff, was killed while writing, and went on.
#[test]
fn what_pi_wrote_onto_half_a_line_is_taken_apart() {
    let opened = read(&fixture("pi/glued.jsonl")).unwrap();
    assert_eq!(
        said(&opened),
        [
            "user: <handoff-context>doc</handoff-context>",
            "user: SAY: continued by pi",
            "model: continued by pi",
            "user: SAY: ok torn.jsonl",
            "model: ok torn.jsonl"
        ]
    );
    assert_eq!(opened.damaged, 1);
}

#[test]
fn entries_that_hang_on_each_other_end_somewhere() {
    let (_folder, path) = written(&[
        HEADER,
        &user("a", "\"b\"", "one"),
        &user("b", "\"a\"", "two"),
        &user("a", "\"b\"", "again"),
    ]);
    assert_eq!(said(&read(&path).unwrap()), ["user: two", "user: again"]);
}

#[test]
fn strange_fields_do_not_cost_the_message() {
    let (_folder, path) = written(&[
        HEADER,
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"x","message":{"role":"assistant","content":"bare","usage":{"input":1.5},"stopReason":"tired","timestamp":1.5}}"#,
        r#"{"type":"message","id":"b","parentId":"a","timestamp":"x","message":{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"bash","arguments":"{"},{"type":"hologram"}]}}"#,
        r#"{"type":"message","id":"c","parentId":"b","timestamp":"x","message":{"role":"toolResult","toolCallId":"1","content":"bare result"}}"#,
        r#"{"type":"custom_message","id":"d","parentId":"c","timestamp":"x","customType":"h","content":[{"type":"text","text":"blocks"}],"display":true}"#,
        r#"{"type":"message","id":"e","parentId":"d","timestamp":"x","message":{"role":"toolResult","toolCallId":"nobody asked","content":"x"}}"#,
    ]);
    let opened = read(&path).unwrap();
    assert_eq!(
        said(&opened),
        [
            "model: bare",
            "model: <bash> Other",
            "tool: bare result",
            "user: blocks"
        ]
    );
    assert_eq!(opened.damaged, 0);
    assert!(
        matches!(&opened.messages[3], Message::User(user) if matches!(user.content, Content::Blocks(_)))
    );
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let (_folder, path) = written(&[HEADER]);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(
        user("a", "null", "x?y")
            .replace('?', "\u{1}")
            .into_bytes()
            .iter()
            .map(|b| if *b == 1 { 0xff } else { *b }),
    );
    bytes.push(b'\n');
    fs::write(&path, bytes).unwrap();
    assert_eq!(said(&read(&path).unwrap()), ["user: x\u{fffd}y"]);
}
