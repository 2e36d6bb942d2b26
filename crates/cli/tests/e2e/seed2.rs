//! The three shell scripts that sm's context monitor grew out of, as they stand, against a real
//! daemon. They know one address, `localhost:8420`: each test runs in a network of its own where
//! that is possible, otherwise one after the other on a port that is free.

use crate::context::{levels, report, secret, used};
use crate::handoff::{Turn, document, reaches};
use crate::world::{Ran, World, eventually, text};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/bench");
const PORT: u16 = 8420;
/// Set in the process that has a network of its own.
const OWN_NETWORK: &str = "SM_TEST_OWN_NETWORK";

/// The one at a time that has the port.
struct Network {
    _lock: Option<File>,
}

/// None: the test ran in another process, or cannot run here, which is said.
fn network(test: &str) -> Option<Network> {
    if std::env::var_os(OWN_NETWORK).is_some() {
        return Some(Network { _lock: None });
    }
    for program in ["bash", "curl", "jq"] {
        let found = Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .status();
        if found.is_err() {
            eprintln!("skipped: {test}: {program} is missing (apt-get install -y {program})");
            return None;
        }
    }
    let own = ["-n", "-rn"].into_iter().find(|how| {
        let mut unshare = Command::new("unshare");
        unshare.args([how, "ip", "link", "set", "lo", "up"]);
        unshare.stderr(Stdio::null());
        unshare.status().is_ok_and(|status| status.success())
    });
    if let Some(how) = own {
        let script = "ip link set lo up && exec \"$@\"";
        let ran = Command::new("unshare")
            .args([how, "sh", "-c", script, "sh"])
            .arg(std::env::current_exe().unwrap())
            .args([&format!("seed2::{test}"), "--exact", "--nocapture"])
            .env(OWN_NETWORK, "1")
            .output()
            .unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&ran.stdout),
            String::from_utf8_lossy(&ran.stderr),
        );
        assert!(
            ran.status.success() && out.contains("1 passed"),
            "{out}{err}"
        );
        return None;
    }
    let lock = File::create(std::env::temp_dir().join("sm-test-port-8420.lock")).unwrap();
    lock.lock().unwrap();
    if TcpListener::bind(("127.0.0.1", PORT)).is_err() {
        eprintln!("skipped: {test}: port {PORT} is taken, and a network of its own cannot be had");
        return None;
    }
    Some(Network { _lock: Some(lock) })
}

fn world() -> World {
    let mut world = World::new();
    world.env.set("SM_PORT", PORT.to_string());
    world
}

/// Starts a script as the agent would: the session and its secret in its environment, its payload on
/// stdin.
fn start(world: &World, script: &str, session: Option<&str>, stdin: &Value) -> Child {
    let mut command = world.env.command("bash");
    command
        .arg(format!("{SCRIPTS}/{script}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(session) = session {
        command.env("CLAUDE_SESSION_MANAGER_ID", session);
        command.env("SM_SESSION_SECRET", secret(world, session));
    }
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(stdin.to_string().as_bytes()).unwrap();
    child
}

#[track_caller]
fn run(world: &World, script: &str, session: Option<&str>, stdin: &Value) -> String {
    let ran = start(world, script, session, stdin).wait_with_output();
    Ran::from(ran.unwrap()).exits(0).out
}

/// What Claude Code gives its status line.
fn status(percent: Option<u64>) -> Value {
    let tokens = percent.unwrap_or(0) * 2_000;
    json!({"session_id": "abc123", "transcript_path": "/path/to/transcript.jsonl", "context_window": {
        "total_input_tokens": tokens, "total_output_tokens": 4_521, "context_window_size": 200_000,
        "used_percentage": percent, "remaining_percentage": percent.map(|p| 100 - p),
        "current_usage": percent.map(|_| json!({"input_tokens": tokens})),
    }})
}

#[test]
fn the_status_line_script_tells_what_it_read() {
    let Some(_network) = network("the_status_line_script_tells_what_it_read") else {
        return;
    };
    let world = world();
    let api = world.agent("api");
    let id = text(&api["id"]);
    assert_eq!(api["tokens_used"], 0);
    // before the first response: a number it makes up, and nothing is sent
    let said = run(&world, "context_monitor.sh", Some(&id), &status(None));
    assert_eq!(said, "0% ctx\n");
    assert_eq!(world.show("api")["context"]["used_percentage"], Value::Null);

    let said = run(&world, "context_monitor.sh", Some(&id), &status(Some(43)));
    assert_eq!(said, "43% ctx\n");
    eventually("it is told", || world.show("api")["tokens_used"] == 86_000);
    let shown = world.show("api");
    assert_eq!(
        (
            &shown["context"]["used_percentage"],
            &shown["context"]["window"]
        ),
        (&json!(43.0), &json!(200_000))
    );
    assert_eq!(shown["context"]["source"], "api");
    let log = text(&shown["log_file"]);
    assert!(!std::fs::read(&log).unwrap().is_empty(), "{log}");

    // of no session, of an unknown one, of no daemon: it prints and does not wait
    for session in [None, Some("nobody")] {
        let said = run(&world, "context_monitor.sh", session, &status(Some(61)));
        assert_eq!(said, "61% ctx\n");
    }
    world.sm(&["stop"]).exits(0);
    let said = run(&world, "context_monitor.sh", Some(&id), &status(Some(62)));
    assert_eq!(said, "62% ctx\n");
    run(
        &world,
        "precompact_notify.sh",
        Some(&id),
        &json!({"trigger": "auto"}),
    );
    assert_eq!(
        run(&world, "post_compact_recovery.sh", Some(&id), &json!({})),
        ""
    );
    assert!(!world.is_served());
    world.sm(&["ls"]).exits(0);
    assert_eq!(world.show("api")["tokens_used"], 86_000);
    assert_eq!(levels(&world, "api"), [] as [u64; 0]);
}

#[test]
fn each_threshold_speaks_once_until_a_compaction() {
    let Some(_network) = network("each_threshold_speaks_once_until_a_compaction") else {
        return;
    };
    let world = world();
    world.agent("api");
    let turn = Turn::begin(&world, "api");
    let id = turn.id.as_str();
    let compaction = json!({"session_id": id, "event": "compaction", "trigger": "auto"});
    let logged = json!({"status": "compaction_logged"});
    let said = |percent: u64| {
        let answer = used(&world, id, percent);
        assert_eq!(answer, json!({"status": "ok", "used_percentage": percent}));
        levels(&world, "api")
    };
    assert_eq!(said(49), [] as [u64; 0]);
    assert_eq!(said(50), [50]);
    assert_eq!(said(50), [50], "the same again");
    assert_eq!(said(64), [50]);
    // falling arms nothing
    assert_eq!(said(10), [50]);
    assert_eq!(said(55), [50]);
    assert_eq!(said(65), [50, 65]);
    assert_eq!(said(65), [50, 65]);
    assert_eq!(said(99), [50, 65]);
    // a compaction arms both, even if what is left is over the warning
    assert_eq!(report(&world, &compaction), logged);
    assert_eq!(world.show("api")["compactions"], 1);
    assert_eq!(said(55), [50, 65, 55]);
    assert_eq!(said(56), [50, 65, 55]);
    assert_eq!(said(70), [50, 65, 55, 70]);
    assert_eq!(said(71), [50, 65, 55, 70]);

    for (body, answer) in [
        (
            json!({"session_id": "nobody", "used_percentage": 90}),
            json!({"status": "unknown_session"}),
        ),
        (
            json!({"used_percentage": 90}),
            json!({"status": "unknown_session"}),
        ),
        (
            json!({"session_id": "nobody", "event": "compaction"}),
            json!({"status": "unknown_session"}),
        ),
        (
            json!({"session_id": id, "used_percentage": 43.5}),
            json!({"status": "ok", "used_percentage": 43.5}),
        ),
        (
            json!({"session_id": id}),
            json!({"status": "ok", "used_percentage": 0}),
        ),
    ] {
        assert_eq!(report(&world, &body), answer, "{body}");
    }
    assert_eq!(levels(&world, "api"), [50, 65, 55, 70]);
    turn.end();
}

#[test]
fn a_handoff_arms_them_and_its_document_is_recovered() {
    let Some(_network) = network("a_handoff_arms_them_and_its_document_is_recovered") else {
        return;
    };
    let world = world();
    world.agent("api");
    let recover = |session: Option<&str>| {
        let stdin = json!({"hook_event_name": "SessionStart", "source": "compact"});
        run(&world, "post_compact_recovery.sh", session, &stdin)
    };
    let turn = Turn::begin(&world, "api");
    let id = turn.id.clone();
    assert_eq!(recover(Some(&id)), "", "nothing was handed over");
    assert_eq!(recover(None), "");
    assert_eq!(recover(Some("nobody")), "");
    used(&world, &id, 70);
    assert_eq!(levels(&world, "api"), [70]);
    let notes = document(&world, "notes.md", "# State\n\"quoted\" ü\n");
    let handoff = turn.scheduled(&world, &notes);
    turn.end();
    reaches(&world, &handoff, &["done"]);
    assert_eq!(world.show("api")["last_handoff_path"], json!(notes));
    let said: Value = serde_json::from_str(&recover(Some(&id))).unwrap();
    assert_eq!(
        said,
        json!({"hookSpecificOutput": {
            "hookEventName": "SessionStart", "additionalContext": "# State\n\"quoted\" ü\n",
        }})
    );
    world.wait_for("api", "idle");
    let turn = Turn::begin(&world, "api");
    used(&world, &id, 55);
    assert_eq!(
        levels(&world, "api"),
        [70, 55],
        "a new context, a new cycle"
    );
    turn.end();
}

#[test]
fn many_at_once_are_one_warning_and_one_compaction() {
    let Some(_network) = network("many_at_once_are_one_warning_and_one_compaction") else {
        return;
    };
    let world = world();
    world.agent("boss");
    let said = crate::family::inside(&world, "boss", "sm new claude --name kid --detach");
    assert!(said.contains("exit 0"), "{said}");
    world.ready("kid");
    let turn = Turn::begin(&world, "kid");
    let id = turn.id.as_str();
    let many: Vec<Child> = (0..20)
        .map(|_| start(&world, "context_monitor.sh", Some(id), &status(Some(52))))
        .collect();
    for child in many {
        let said = Ran::from(child.wait_with_output().unwrap()).exits(0);
        assert_eq!(said.out, "52% ctx\n");
    }
    eventually("they are told", || {
        world.show("kid")["tokens_used"] == 104_000
    });
    assert_eq!(levels(&world, "kid"), [52]);
    // the notice of a compaction, as often as the agent runs the hook
    let many: Vec<Child> = (0..3)
        .map(|_| {
            let stdin = json!({"hook_event_name": "PreCompact", "trigger": "auto"});
            start(&world, "precompact_notify.sh", Some(id), &stdin)
        })
        .collect();
    for child in many {
        assert_eq!(
            Ran::from(child.wait_with_output().unwrap()).exits(0).out,
            ""
        );
    }
    eventually("it is counted", || world.show("kid")["compactions"] == 1);
    world.given("[sm context] Compaction fired for kid. Context was lost");
    assert_eq!(world.times("Compaction fired for kid"), 1);
    run(&world, "context_monitor.sh", Some(id), &status(Some(55)));
    eventually("the warning speaks again", || {
        levels(&world, "kid") == [52, 55]
    });
    assert_eq!(world.show("kid")["compactions"], 1);
    turn.end();
}

#[test]
fn the_scripts_in_the_users_settings_and_our_hooks_count_once() {
    let Some(_network) = network("the_scripts_in_the_users_settings_and_our_hooks_count_once")
    else {
        return;
    };
    let world = world();
    let hook = |script: &str| json!({"hooks": [{"type": "command", "command": format!("bash {SCRIPTS}/{script}")}]});
    let mut compact = hook("post_compact_recovery.sh");
    compact["matcher"] = json!("compact");
    let settings = json!({
        "statusLine": {"type": "command", "command": format!("bash {SCRIPTS}/context_monitor.sh")},
        "hooks": {"PreCompact": [hook("precompact_notify.sh")], "SessionStart": [compact]},
    });
    let folder = world.env.home().join(".claude");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
    world.agent("api");
    world.send_wait("api", "TOKENS: 86000\nSAY: some");
    world.wait_for("api", "idle");
    eventually("its usage is told", || {
        world.show("api")["tokens_used"] == 86_000
    });
    // the user's own line first, ours behind it
    world.pane("api").shows("43% ctx · 43% ctx");
    // a sample may come after the turn: then it is said in the next one
    world.send_wait("api", "TOKENS: 110000\nSAY: much");
    eventually("it is to be told", || levels(&world, "api") == [55]);
    world.wait_for("api", "idle");
    world.send_wait("api", "SAY: the next turn carries it");
    world.given("[sm context] Context at 55%");
    world.wait_for("api", "idle");
    // what the script tells has no time: of before the compaction, but heard after it, it would
    // count as of after it. It tells in order, so nothing older is under way when it tells this
    world.send_wait("api", "TOKENS: 20000\nSAY: less");
    eventually("the script tells of it too", || {
        let samples = world.get("/sessions/api/context")["samples"].clone();
        let samples = samples.as_array().cloned().unwrap_or_default();
        let told = samples.iter().find(|sample| sample["source"] == "api");
        told.is_some_and(|sample| sample["tokens"] == 20_000)
    });
    world.wait_for("api", "idle");
    world.send_wait("api", "COMPACT:\nSAY: compacted");
    world.wait_for("api", "idle");
    eventually("it is counted", || {
        world.show("api")["compactions"].as_u64() > Some(0)
    });
    world.send_wait("api", "TOKENS: 112000\nSAY: more");
    eventually("it is to be told again", || {
        levels(&world, "api") == [55, 56]
    });
    world.wait_for("api", "idle");
    world.send_wait("api", "SAY: and so does this one");
    world.given("[sm context] Context at 56%");
    world.wait_for("api", "idle");
    assert_eq!(world.show("api")["compactions"], 1);
    assert_eq!(world.times("[sm context] Context at"), 2);
}
