//! pi itself opens what we write, goes on with it, and we with what it has added.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jiff::Timestamp;
use serde_json::{Value, json};
use sm_agent::session::{Attribution, NewEntry, SessionFile, Shown, read};
use sm_agent::tools::{Todo, TodoStatus};
use sm_llm::{
    Assistant, Block, Content, Message, StopReason, Thinking, ToolCall, ToolResult, Usage,
};
use sm_testkit::model::{Request, ScriptedModel};
use sm_testkit::real::{RealAgent, or_skip, pi, pi_home};

struct World {
    pi: RealAgent,
    model: ScriptedModel,
    folder: tempfile::TempDir,
    cwd: PathBuf,
    env: Vec<(String, String)>,
}

impl World {
    fn new(test: &str) -> Option<Self> {
        let pi = or_skip(test, pi())?;
        let model = ScriptedModel::start().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let env = pi_home(&home, &model.url()).unwrap();
        let cwd = folder.path().canonicalize().unwrap().join("work");
        fs::create_dir(&cwd).unwrap();
        Some(Self {
            pi,
            model,
            folder,
            cwd,
            env,
        })
    }

    fn session(&self, parent: Option<&Path>, entries: &[NewEntry]) -> PathBuf {
        let sessions = self.folder.path().join("sessions");
        let mut file = SessionFile::create(
            &sessions,
            &self.cwd,
            parent,
            &entries[..1],
            Timestamp::now(),
        )
        .unwrap();
        for entry in &entries[1..] {
            file.append(entry).unwrap();
        }
        file.sync().unwrap();
        file.path().to_path_buf()
    }

    /// Has pi go on with a session; what it printed.
    fn continued(&self, session: &Path, prompt: &str) -> String {
        let output = Command::new(&self.pi.program)
            .args(["--print", "--offline", "--session"])
            .arg(session)
            .arg(prompt)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(self.env.iter().cloned())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{complaint}");
        said
    }

    fn last_request(&self) -> Request {
        self.model.requests().pop().unwrap()
    }
}

/// Messages as they were sent, without what marks the cache.
fn sent(request: &Request) -> Vec<Value> {
    let mut messages = request.body["messages"].as_array().unwrap().clone();
    for message in &mut messages {
        for block in message["content"].as_array_mut().unwrap() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    messages
}

fn answer(content: Vec<Block>, stop_reason: StopReason) -> NewEntry {
    NewEntry::Message(Message::Assistant(Assistant {
        content,
        api: "anthropic-messages".into(),
        provider: "fake".into(),
        model: "fake-1".into(),
        usage: Usage::default(),
        stop_reason,
        error_message: None,
        response_id: None,
        timestamp: 2,
    }))
}

#[test]
fn pi_goes_on_with_a_session_of_ours_and_we_with_pis() {
    let Some(world) = World::new("pi_goes_on_with_a_session_of_ours_and_we_with_pis") else {
        return;
    };
    let todos = vec![Todo {
        text: "finish".into(),
        status: TodoStatus::Pending,
    }];
    let path = world.session(
        None,
        &[
            NewEntry::ModelChange {
                provider: "fake".into(),
                model_id: "fake-1".into(),
            },
            NewEntry::ThinkingLevelChange(Thinking::Off),
            NewEntry::SessionInfo {
                name: "our title".into(),
            },
            NewEntry::Message(Message::user("look around", 1)),
            answer(
                vec![
                    Block::text("I look."),
                    Block::ToolCall(ToolCall {
                        id: "toolu_1".into(),
                        name: "bash".into(),
                        arguments: serde_json::from_value(json!({"command": "ls"})).unwrap(),
                    }),
                ],
                StopReason::ToolUse,
            ),
            NewEntry::Message(Message::ToolResult(ToolResult {
                tool_call_id: "toolu_1".into(),
                tool_name: "bash".into(),
                content: vec![Block::text("main.rs")],
                details: Some(json!({"exitCode": 0})),
                is_error: false,
                timestamp: 3,
            })),
            NewEntry::todos(&todos),
            answer(vec![Block::text("One file.")], StopReason::Stop),
        ],
    );
    let before = fs::read(&path).unwrap();
    assert_eq!(
        world.continued(&path, "SAY: continued by pi").trim(),
        "continued by pi"
    );
    let request = world.last_request();
    assert_eq!(request.body["model"], "fake-1");
    assert_eq!(
        sent(&request),
        [
            json!({"role": "user", "content": [{"type": "text", "text": "look around"}]}),
            json!({"role": "assistant", "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}},
            ]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "main.rs", "is_error": false},
            ]}),
            json!({"role": "assistant", "content": [{"type": "text", "text": "One file."}]}),
            json!({"role": "user", "content": [{"type": "text", "text": "SAY: continued by pi"}]}),
        ]
    );

    let after = fs::read(&path).unwrap();
    assert!(after.starts_with(&before), "pi keeps what was there");
    let (mut file, opened) = SessionFile::open(&path).unwrap();
    assert_eq!(opened.damaged, 0);
    assert_eq!(opened.messages.len(), 6);
    assert!(
        matches!(&opened.messages[5], Message::Assistant(answer) if answer.text() == "continued by pi")
    );
    assert_eq!(opened.title.as_deref(), Some("our title"));
    assert_eq!(opened.thinking, Some(Thinking::Off));
    assert_eq!(opened.todos, todos);
    assert_eq!(opened.model, Some(("fake".into(), "fake-1".into())));

    // and once more in turn
    file.append(&NewEntry::Message(Message::user("ours again", 4)))
        .unwrap();
    file.append(&answer(vec![Block::text("yes")], StopReason::Stop))
        .unwrap();
    drop(file);
    world.continued(&path, "SAY: and pi again");
    let texts: Vec<Value> = sent(&world.last_request())
        .iter()
        .skip(5)
        .map(|message| message["content"][0]["text"].clone())
        .collect();
    assert_eq!(
        texts,
        ["continued by pi", "ours again", "yes", "SAY: and pi again"]
    );
    assert_eq!(read(&path).unwrap().messages.len(), 10);
}

/// pi opens what was forked, and what was exported, and is sent what we would send.
#[test]
fn pi_goes_on_with_a_fork_of_ours() {
    let Some(world) = World::new("pi_goes_on_with_a_fork_of_ours") else {
        return;
    };
    let path = world.session(
        None,
        &[
            NewEntry::ModelChange {
                provider: "fake".into(),
                model_id: "fake-1".into(),
            },
            NewEntry::Message(Message::user("the first", 1)),
            answer(vec![Block::text("one")], StopReason::Stop),
            NewEntry::Message(Message::user("the second", 3)),
            answer(vec![Block::text("two")], StopReason::Stop),
        ],
    );
    let whole = fs::read(&path).unwrap();
    let prompts = sm_agent::session::prompts(&path).unwrap();
    let said: Vec<&str> = prompts.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(said, ["the first", "the second"]);
    let sessions = world.folder.path().join("sessions");
    let (before, now) = (prompts[1].0.as_str(), Timestamp::now());
    let forked = sm_agent::session::fork(&path, &sessions, &world.cwd, Some(before), now).unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole, "the other is not touched");
    assert_eq!(
        read(&forked).unwrap().header.parent.as_deref(),
        Some(path.as_path())
    );
    let exported = world.cwd.join("exported.jsonl");
    sm_agent::session::export(&forked, Some(&exported), &world.cwd).unwrap();
    for session in [&forked, &exported] {
        world.continued(session, "SAY: another way");
        let texts: Vec<Value> = sent(&world.last_request())
            .iter()
            .map(|message| message["content"][0]["text"].clone())
            .collect();
        assert_eq!(texts, ["the first", "one", "SAY: another way"]);
    }
    assert_eq!(read(&forked).unwrap().messages.len(), 4);
}

/// A session without any answer: pi writes its whole beginning a second time.
#[test]
fn pi_starts_from_a_handoff_of_ours() {
    let Some(world) = World::new("pi_starts_from_a_handoff_of_ours") else {
        return;
    };
    let document = "<handoff-context>\n## Goal\nGo on.\n</handoff-context>";
    let path = world.session(
        Some(Path::new("/old/session.jsonl")),
        &[
            NewEntry::CustomMessage {
                custom_type: "handoff".into(),
                content: Content::Text(document.into()),
                display: true,
                attribution: Some(Attribution::Agent),
            },
            NewEntry::ModelChange {
                provider: "fake".into(),
                model_id: "fake-1".into(),
            },
            NewEntry::SessionInfo {
                name: "carried over".into(),
            },
        ],
    );
    let before = fs::read(&path).unwrap();
    world.continued(&path, "SAY: taken over");
    assert_eq!(
        sent(&world.last_request()),
        [
            json!({"role": "user", "content": [{"type": "text", "text": document}]}),
            json!({"role": "user", "content": [{"type": "text", "text": "SAY: taken over"}]}),
        ]
    );
    assert!(fs::read(&path).unwrap().starts_with(&before));
    let opened = read(&path).unwrap();
    assert_eq!(opened.messages.len(), 3);
    assert_eq!(opened.message_entries, 2);
    assert_eq!(opened.damaged, 0);
    assert_eq!(opened.title.as_deref(), Some("carried over"));
    assert_eq!(
        opened.header.parent.as_deref(),
        Some(Path::new("/old/session.jsonl"))
    );
    assert!(
        matches!(&opened.shown[0], Shown::Custom { custom_type, .. } if custom_type == "handoff")
    );
}

/// What `/compact` leaves in a session: pi goes on from the summary, without what it stands for, and we
/// from what pi has added.
#[test]
fn pi_goes_on_from_the_summary_of_a_session_that_we_compacted() {
    let test = "pi_goes_on_from_the_summary_of_a_session_that_we_compacted";
    let Some(world) = World::new(test) else {
        return;
    };
    let path = world.session(
        None,
        &[
            NewEntry::ModelChange {
                provider: "fake".into(),
                model_id: "fake-1".into(),
            },
            NewEntry::Message(Message::user("count the boats", 1)),
            answer(vec![Block::text("Nine boats.")], StopReason::Stop),
            NewEntry::Compaction {
                summary: "The boats were counted.".into(),
                tokens_before: 1234,
            },
            NewEntry::Message(Message::user("and the oars?", 3)),
            answer(vec![Block::text("Eighteen.")], StopReason::Stop),
        ],
    );
    world.continued(&path, "SAY: pi is here");
    let messages = sent(&world.last_request());
    let asked = Value::Array(messages.clone()).to_string();
    assert!(asked.contains("The boats were counted."), "{asked}");
    assert!(!asked.contains("Nine boats."), "{asked}");
    let texts: Vec<&Value> = messages
        .iter()
        .skip(1)
        .map(|message| &message["content"][0]["text"])
        .collect();
    assert_eq!(texts, ["and the oars?", "Eighteen.", "SAY: pi is here"]);
    let (_, opened) = SessionFile::open(&path).unwrap();
    assert_eq!(opened.damaged, 0);
    let last = opened.messages.last();
    assert!(matches!(last, Some(Message::Assistant(answer)) if answer.text() == "pi is here"));
    assert_eq!(
        opened.messages.len(),
        5,
        "the summary and what came after it"
    );
}
