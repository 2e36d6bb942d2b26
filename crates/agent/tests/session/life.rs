//! Made, added to, left, found again.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use jiff::Timestamp;
use sm_agent::session::{
    Attribution, BashExecution, NewEntry, SessionError, SessionFile, Shown, find, folder_of, list,
    read,
};
use sm_agent::tools::{Todo, TodoStatus};
use sm_llm::{Assistant, Block, Content, Message, StopReason, Thinking, ToolCall, Usage};

pub fn answer(text: &str) -> Message {
    Message::Assistant(Assistant {
        content: vec![Block::text(text)],
        api: "anthropic-messages".into(),
        provider: "fake".into(),
        model: "fake-1".into(),
        usage: Usage::default(),
        stop_reason: StopReason::Stop,
        error_message: None,
        response_id: None,
        timestamp: 2,
    })
}

fn new(sessions: &Path, first: &[NewEntry]) -> SessionFile {
    SessionFile::create(
        sessions,
        Path::new("/work/here"),
        None,
        first,
        Timestamp::now(),
    )
    .unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_was_kept_is_found_again() {
    let home = tempfile::tempdir().unwrap();
    let sessions = home.path().join("agent/sessions");
    let todos = vec![Todo {
        text: "test".into(),
        status: TodoStatus::InProgress,
    }];
    let mut file = SessionFile::create(
        &sessions,
        Path::new("/work/here"),
        Some(Path::new("/old.jsonl")),
        &[
            NewEntry::CustomMessage {
                custom_type: "handoff".into(),
                content: Content::Text("the document".into()),
                display: true,
                attribution: Some(Attribution::Agent),
            },
            NewEntry::ModelChange {
                provider: "fake".into(),
                model_id: "fake-2".into(),
            },
            NewEntry::ThinkingLevelChange(Thinking::Low),
            NewEntry::SessionInfo {
                name: "a title".into(),
            },
            NewEntry::todos(&todos),
        ],
        Timestamp::now(),
    )
    .unwrap();
    let first = file.leaf().unwrap().clone();
    let question = file
        .append(&NewEntry::Message(Message::user("hello", 1)))
        .unwrap();
    assert_ne!(first, question);
    file.append(&NewEntry::Message(answer("hi"))).unwrap();
    file.append(&NewEntry::BashExecution(BashExecution {
        command: "false".into(),
        exit_code: Some(1),
        ..BashExecution::default()
    }))
    .unwrap();
    file.sync().unwrap();
    let path = file.path().to_path_buf();
    let (id, leaf) = (file.id().to_string(), file.leaf().cloned());
    drop(file);

    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(&sessions), 0o700);
    let beside: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(
        beside,
        std::slice::from_ref(&path),
        "nothing is left beside it"
    );

    let bytes = fs::read(&path).unwrap();
    let (file, opened) = SessionFile::open(&path).unwrap();
    assert_eq!(file.id(), id);
    assert_eq!(file.leaf().cloned(), leaf);
    assert_eq!(
        opened.header.parent.as_deref(),
        Some(Path::new("/old.jsonl"))
    );
    assert_eq!(opened.header.cwd, Path::new("/work/here"));
    assert_eq!(opened.model, Some(("fake".into(), "fake-1".into())));
    assert_eq!(opened.thinking, Some(Thinking::Low));
    assert_eq!(opened.title.as_deref(), Some("a title"));
    assert_eq!(opened.todos, todos);
    assert_eq!(opened.message_entries, 3);
    assert_eq!(opened.messages.len(), 4);
    assert_eq!(opened.messages[1], Message::user("hello", 1));
    assert_eq!(opened.messages[2], answer("hi"));
    assert_eq!(
        opened.messages[3],
        Message::user("Ran `false`\n(no output)\n\nCommand exited with code 1", 0)
    );
    assert!(matches!(
        &opened.shown[0],
        Shown::Custom { custom_type, display: true, message: 0, .. } if custom_type == "handoff"
    ));
    assert_eq!(fs::read(&path).unwrap(), bytes, "opening changes nothing");
}

#[test]
fn a_second_writer_is_refused_and_told_who_has_it() {
    let home = tempfile::tempdir().unwrap();
    let file = new(home.path(), &[]);
    let path = file.path().to_path_buf();
    match SessionFile::open(&path) {
        Err(SessionError::InUse { pid, .. }) => assert_eq!(pid, std::process::id()),
        other => panic!("{other:?}"),
    }
    read(&path).unwrap();
    drop(file);
    SessionFile::open(&path).unwrap();
}

#[test]
fn a_lock_left_by_a_crash_is_taken_over() {
    let home = tempfile::tempdir().unwrap();
    let path = new(home.path(), &[]).path().to_path_buf();
    let lock = format!("{}.lock", path.display());
    fs::write(&lock, "1").unwrap();
    let (file, _) = SessionFile::open(&path).unwrap();
    assert_eq!(
        fs::read_to_string(&lock).unwrap(),
        std::process::id().to_string()
    );
    drop(file);
    assert!(!Path::new(&lock).exists());
}

#[test]
fn what_is_no_session_is_refused_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::write(at("empty.jsonl"), "").unwrap();
    fs::write(at("notes.jsonl"), "buy milk\n").unwrap();
    fs::write(at("other.jsonl"), "{\"type\":\"message\",\"id\":\"1\"}\n").unwrap();
    fs::write(
        at("newer.jsonl"),
        "{\"type\":\"session\",\"version\":4,\"id\":\"x\",\"cwd\":\"/\"}\n",
    )
    .unwrap();
    fs::create_dir(at("folder.jsonl")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("pipe.jsonl"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let table = [
        ("gone.jsonl", "no session file at"),
        ("empty.jsonl", "it has no session header"),
        ("notes.jsonl", "it has no session header"),
        ("other.jsonl", "does not begin with a session header"),
        ("newer.jsonl", "has session format 4, newer than the 3"),
        ("folder.jsonl", "it is a directory"),
        ("pipe.jsonl", "it is no regular file"),
    ];
    for (name, wanted) in table {
        let before = fs::metadata(at(name)).ok().map(|m| m.len());
        let said = SessionFile::open(&at(name)).unwrap_err().to_string();
        assert!(said.contains(wanted), "{said}");
        assert!(read(&at(name)).unwrap_err().to_string().contains(wanted));
        assert_eq!(fs::metadata(at(name)).ok().map(|m| m.len()), before);
        assert!(!at(&format!("{name}.lock")).exists(), "{name}");
    }
}

#[test]
fn an_answer_cut_off_by_a_crash_leaves_no_call_open() {
    let home = tempfile::tempdir().unwrap();
    let mut file = new(home.path(), &[]);
    let Message::Assistant(mut asking) = answer("let me see") else {
        panic!("an answer");
    };
    asking.content.push(Block::ToolCall(ToolCall {
        id: "c1".into(),
        name: "bash".into(),
        arguments: serde_json::Map::new(),
    }));
    asking.stop_reason = StopReason::ToolUse;
    let mut aborted = asking.clone();
    aborted.stop_reason = StopReason::Aborted;
    file.append(&NewEntry::Message(Message::user("a", 1)))
        .unwrap();
    file.append(&NewEntry::Message(Message::Assistant(aborted)))
        .unwrap();
    file.append(&NewEntry::Message(Message::Assistant(asking)))
        .unwrap();
    let path = file.path().to_path_buf();
    drop(file);
    let opened = read(&path).unwrap();
    assert_eq!(opened.messages.len(), 3);
    assert!(matches!(&opened.messages[2], Message::ToolResult(result)
        if result.tool_call_id == "c1" && result.is_error));
    assert!(matches!(&opened.shown[1], Shown::Unsent { .. }));
    assert_eq!(opened.shown.len(), 3);
}

#[test]
fn a_removed_file_is_noticed() {
    let home = tempfile::tempdir().unwrap();
    let mut file = new(home.path(), &[]);
    fs::remove_file(file.path()).unwrap();
    file.append(&NewEntry::Message(Message::user("a", 1)))
        .unwrap();
    assert!(matches!(file.sync(), Err(SessionError::Removed(_))));
}

#[test]
fn sessions_are_listed_and_found() {
    let home = tempfile::tempdir().unwrap();
    let cwd = Path::new("/work/here");
    let mut a = new(home.path(), &[]);
    a.append(&NewEntry::Message(Message::user("fix\n  the tests", 1)))
        .unwrap();
    // longer than what is looked at
    a.append(&NewEntry::Message(answer(&"x".repeat(300_000))))
        .unwrap();
    a.append(&NewEntry::SessionInfo {
        name: "the second title".into(),
    })
    .unwrap();
    let b = new(home.path(), &[]);
    let elsewhere = SessionFile::create(
        home.path(),
        Path::new("/work-here"),
        None,
        &[],
        Timestamp::now(),
    )
    .unwrap();
    assert_eq!(elsewhere.path().parent(), b.path().parent());
    let folder = folder_of(home.path(), cwd);
    fs::write(folder.join("junk.jsonl"), "junk").unwrap();

    let times = [(a.path(), 10), (b.path(), 20)];
    for (path, seconds) in times {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::options()
            .append(true)
            .open(path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
    let found = list(home.path(), cwd);
    let paths: Vec<_> = found.iter().map(|summary| summary.path.as_path()).collect();
    assert_eq!(paths, [b.path(), a.path()], "the last written first");
    assert_eq!(found[1].title.as_deref(), Some("the second title"));
    assert_eq!(found[1].first_message.as_deref(), Some("fix the tests"));
    assert_eq!(found[1].header.id, a.id());

    let here = |wanted: &str| find(home.path(), cwd, wanted);
    assert_eq!(here(a.id()).unwrap(), a.path());
    assert_eq!(here(&a.id()[..35]).unwrap(), a.path());
    assert_eq!(here(a.path().to_str().unwrap()).unwrap(), a.path());
    let other = find(home.path(), Path::new("/other"), a.id());
    assert_eq!(other.unwrap(), a.path(), "found from elsewhere too");
    assert!(matches!(
        here("0"),
        Err(SessionError::Ambiguous { count: 3, .. })
    ));
    assert!(matches!(here("zzz"), Err(SessionError::Unknown(_))));
    assert!(matches!(here(""), Err(SessionError::Unknown(_))));
    assert!(matches!(here("./x.jsonl"), Err(SessionError::Missing(_))));
}
