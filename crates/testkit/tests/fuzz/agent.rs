//! sm's own agent: session files that others wrote or damaged, and calls as no model should make
//! them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use sm_agent::config::{Config, KEYS};
use sm_agent::session::{NewEntry, SessionFile, read};
use sm_agent::slash::{COMMANDS, Slash, parse};
use sm_agent::tools::{Managed, Need, Side, ToolContext, definitions, needs, run};
use sm_llm::{Block, Message, ToolCall};
use tokio_util::sync::CancellationToken;

use crate::corpus::Corpus;
use crate::harness::fuzz;

const SESSIONS: [&str; 3] = [
    include_str!("../../../agent/tests/fixtures/pi/session.jsonl"),
    include_str!("../../../agent/tests/fixtures/omp/before.jsonl"),
    include_str!("../../../agent/tests/fixtures/omp/after-handoff.jsonl"),
];

const ENTRIES: &str = r#"{"type":"session","version":3,"id":"x","timestamp":"2026-11-15T06:33:13.963Z","cwd":"/w"}
{"type":"message","id":"a","parentId":null,"timestamp":"x","message":{"role":"user","content":"one","timestamp":5}}
{"type":"compaction","id":"k","parentId":"a","timestamp":"x","summary":"S","firstKeptEntryId":"a","tokensBefore":9}
{"type":"branch_summary","id":"c","parentId":"k","timestamp":"x","fromId":"b","summary":"it was left"}
{"type":"message","id":"d","parentId":"c","timestamp":"x","message":{"role":"bashExecution","command":"ls","output":"a","exitCode":1,"cancelled":false,"truncated":true,"fullOutputPath":"/x","timestamp":7}}
{"type":"custom","id":"e","parentId":"d","timestamp":"x","customType":"todo","data":{"todos":[{"text":"a","status":"done"}]}}
{"type":"session_info","id":"f","parentId":"e","timestamp":"x","name":"a title"}
"#;

const FIRST_VERSION: &str = r#"{"type":"session","id":"old","timestamp":"x","cwd":"/w"}
{"type":"message","timestamp":"x","message":{"role":"hookMessage","customType":"h","content":"one"}}
{"type":"compaction","timestamp":"x","summary":"S","firstKeptEntryIndex":1,"tokensBefore":1}
"#;

#[test]
fn session_files() {
    let mut seeds: Vec<Vec<u8>> = SESSIONS
        .iter()
        .chain(&[ENTRIES, FIRST_VERSION])
        .map(|text| text.as_bytes().to_vec())
        .collect();
    let lines: Vec<Vec<u8>> = seeds
        .iter()
        .flat_map(|text| text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec))
        .collect();
    seeds.extend(lines);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fuzz("session_files", &Corpus::of(seeds), |input| {
        fs::write(&path, input.bytes).unwrap();
        let seen = read(&path);
        let opened = SessionFile::open(&path);
        assert_eq!(seen.is_ok(), opened.is_ok(), "both take the same files");
        let Ok((mut file, opened)) = opened else {
            assert_eq!(fs::read(&path).unwrap(), input.bytes, "left as it was");
            return;
        };
        assert_eq!(seen.unwrap().messages, opened.messages);
        let kept = fs::read(&path).unwrap();
        let whole = kept.len().min(input.bytes.len());
        assert_eq!(kept[..whole], input.bytes[..whole], "nothing is changed");
        file.append(&NewEntry::Message(Message::user("and on", 1)))
            .unwrap();
        drop(file);
        let again = read(&path).unwrap();
        assert_eq!(again.messages.last(), Some(&Message::user("and on", 1)));
        assert_eq!(again.message_entries, opened.message_entries + 1);
        assert!(again.messages.len() > opened.messages.len());
        let _ = fs::remove_file(folder.path().join("s.jsonl.torn"));
    });
}

const CONFIG: &str = r#"
model = "mine/m"
thinking = "high"
[approvals]
mode = "ask"
allow = ["bash:cargo test", "write:src/**"]
[handoff]
auto = true
percent = 80
save = "all"
deadline = 60
[providers.mine]
api = "openai-completions"
base_url = "http://127.0.0.1:1/v1"
key_command = ["pass", "x"]
[models."mine/m"]
window = 12_000
"#;

#[test]
fn agent_toml() {
    let mut seeds = vec![CONFIG.as_bytes().to_vec()];
    seeds.extend(
        CONFIG
            .split_inclusive('\n')
            .map(|line| line.as_bytes().to_vec()),
    );
    seeds.extend(
        KEYS.iter()
            .map(|key| format!("{} = 1\n", key.path).into_bytes()),
    );
    let path = PathBuf::from("agent.toml");
    fuzz("agent_toml", &Corpus::of(seeds), |input| {
        let first = Config::parse(input.bytes, &path);
        let again = Config::parse(input.bytes, &path);
        match (&first, &again) {
            (Ok(first), Ok(again)) => assert_eq!(first, again),
            (Err(error), Err(_)) => {
                let told = error.to_string();
                assert!(told.starts_with("agent.toml"), "{told}");
                assert!(!told.trim().is_empty() && told.len() < 4_000, "{told}");
            }
            (Ok(_), Err(error)) | (Err(error), Ok(_)) => panic!("not the same twice: {error}"),
        }
    });
}

#[test]
fn slash_commands() {
    let seeds = COMMANDS
        .iter()
        .map(|known| format!("/{} {}", known.name, known.hint).into_bytes())
        .chain(
            ["/handoff --edit x", "/etc/hosts", "!ls", "/", "//"].map(|s| s.as_bytes().to_vec()),
        );
    fuzz("slash_commands", &Corpus::of(seeds), |input| {
        let text = input.text();
        let Some(command) = parse(&text) else { return };
        assert!(text.trim().starts_with('/'), "only what begins with it");
        assert_eq!(parse(text.trim()), Some(command.clone()));
        let given = match command {
            Slash::Handoff { focus, .. } => focus,
            Slash::Compact(name)
            | Slash::Export(name)
            | Slash::Resume(name)
            | Slash::Model(name)
            | Slash::Thinking(name)
            | Slash::Title(name) => name,
            Slash::Unknown(name) => {
                assert!(COMMANDS.iter().all(|known| known.name != name), "{name}");
                Some(name)
            }
            Slash::UndoHandoff
            | Slash::New
            | Slash::Fork
            | Slash::Context
            | Slash::Help
            | Slash::Quit => None,
        };
        if let Some(given) = given {
            assert!(
                !given.trim().is_empty() && text.contains(given.as_str()),
                "{given:?}"
            );
        }
    });
}

const ARGUMENTS: [&str; 10] = [
    r#"{"path":"a.txt","offset":1,"limit":2}"#,
    r#"{"path":"new/b.txt","content":"x\ny\n"}"#,
    r#"{"path":"a.txt","old_text":"one","new_text":"two","replace_all":true}"#,
    r#"{"command":"true","timeout":5}"#,
    r#"{"pattern":"o.e","path":"src","glob":"*.rs","ignore_case":true,"literal":false,"context":2,"limit":3}"#,
    r#"{"pattern":"**/*.{rs,txt}","path":".","limit":3}"#,
    r#"{"todos":[{"text":"a","status":"pending"},{"text":"b","status":"done"}]}"#,
    r#"{"path":"../outside","content":null}"#,
    r#"{"path":["a"],"offset":-1e300,"limit":"NaN","pattern":{"a":1}}"#,
    r#"{"path":"~/x","old_text":"","new_text":7,"pattern":"[a-","command":false}"#,
];

#[test]
fn tool_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap().join("work");
    fs::create_dir_all(cwd.join("src")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let tools: Vec<String> = definitions(Managed::ByNobody)
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    let corpus = Corpus::of(ARGUMENTS.map(|text| text.as_bytes().to_vec()));
    fuzz("tool_arguments", &corpus, |mut input| {
        fs::write(cwd.join("a.txt"), "one\r\ntwo\r\n").unwrap();
        fs::write(cwd.join("src/b.rs"), "fn one() {}\n").unwrap();
        let arguments = match serde_json::from_slice(input.bytes) {
            Ok(Value::Object(map)) => map,
            // Not even JSON: then the text is given for everything.
            _ => ["path", "pattern", "old_text", "new_text", "content", "glob"]
                .into_iter()
                .map(|name| (name.to_string(), Value::String(input.text())))
                .collect::<Map<_, _>>(),
        };
        let call = ToolCall {
            id: "1".into(),
            name: input.rng.pick(&tools).clone(),
            arguments,
        };
        if harmless(&call, &cwd) {
            runtime.block_on(one(&call, &cwd, folder.path()));
        }
    });
}

/// Nothing outside of the folder is read or written, and no command runs.
fn harmless(call: &ToolCall, cwd: &Path) -> bool {
    match needs(call, cwd, None) {
        Need::Nothing => true,
        Need::Writes { side, path } => {
            assert_eq!(side == Side::Inside, path.starts_with(cwd));
            side == Side::Inside
        }
        Need::ReadsOutside(path) => {
            assert!(!path.starts_with(cwd));
            false
        }
        Need::Runs(_) => false,
    }
}

async fn one(call: &ToolCall, cwd: &Path, outside: &Path) {
    let cancel = CancellationToken::new();
    let mut context = ToolContext {
        cwd,
        outputs: &outside.join("outputs"),
        own: None,
        cancel: &cancel,
        on_output: &mut |_| {},
    };
    let outcome = run(call, &mut context).await;
    for block in &outcome.content {
        let Block::Text { text, .. } = block else {
            panic!("{block:?}");
        };
        assert!(!text.is_empty() || call.name == "read");
        assert!(text.len() < 300_000, "{} bytes", text.len());
        assert!(!text.contains("a fault of sm's"), "{call:?}");
    }
    let beside: Vec<_> = fs::read_dir(outside).unwrap().flatten().collect();
    assert_eq!(beside.len(), 1, "nothing is made outside: {beside:?}");
}
