//! What people and programs rely on: state words, JSON shapes, names.

use crate::world::{World, eventually, text};
use serde_json::Value;
use sm_testkit::clean::RecordKind;

/// Keys stay, values become what they are; words that are part of the contract stay too.
fn shape(value: &Value) -> String {
    const WORDS: [&str; 24] = [
        "claude",
        "generic",
        "idle",
        "working",
        "exited",
        "person",
        "session",
        "sequential",
        "important",
        "submitted",
        "consumed",
        "held",
        "paste",
        "hook",
        "transcript",
        "status_line",
        "launch",
        "state",
        "turn",
        "message",
        "mailbox",
        "stop_answer",
        "hook_answer",
        "sm",
    ];
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "bool".into(),
        Value::Number(_) => "number".into(),
        Value::String(s) if WORDS.contains(&s.as_str()) => s.clone(),
        Value::String(s) if s.len() == 24 && s.ends_with('Z') && s.contains('T') => "time".into(),
        Value::String(_) => "text".into(),
        Value::Array(items) => {
            let shapes: Vec<String> = items.iter().map(shape).collect();
            format!("[{}]", shapes.join(", "))
        }
        Value::Object(map) => {
            let fields: Vec<String> = map
                .iter()
                .map(|(k, v)| format!("{k}: {}", shape(v)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
    }
}

/// The session, once its status line has told how full its context is, and its record what it is for.
fn with_usage(world: &World, session: &str) -> Value {
    eventually("its usage and its goal are known", || {
        let shown = world.show(session);
        shown["context"]["source"] == "status_line" && shown["goal"].is_string()
    });
    world.show(session)
}

#[test]
fn json_has_the_shape_that_is_promised() {
    let world = World::new();
    let new = world.sm(&["new", "claude", "--name", "api", "--detach", "--json"]);
    let new = new.exits(0).json();
    assert_eq!(new["name"], "api");
    world.wait_for("api", "idle");
    let gate = world.gate("go");
    let sent = world.send_wait("api", &format!("HOLD: {}", gate.display()));
    insta::assert_snapshot!(shape(&sent), @"{id: text, session: text, from: {kind: person, id: null, name: null}, mode: sequential, state: submitted, reason: null, hold: null, way: paste, proof: hook, label: null, text: text, created_at: time, changed_at: time}");
    std::fs::write(&gate, "").unwrap();
    let known = world.wait_for_message("api", &text(&sent["id"]), &["consumed"]);
    insta::assert_snapshot!(shape(&known), @"{id: text, session: text, from: {kind: person, id: null, name: null}, mode: sequential, state: consumed, reason: null, hold: null, way: paste, proof: hook, label: null, text: text, created_at: time, changed_at: time}");
    // after a turn everything is known that can be
    world.wait_for("api", "idle");
    let session = with_usage(&world, "api");
    insta::assert_snapshot!(shape(&session), @"{id: text, name: text, agent: claude, state: idle, state_reason: text, state_since: time, waiting_for: null, limit: null, turn_error: null, goal: text, activity: null, generation: number, compactions: number, conversation_id: text, transcript_path: text, cwd: text, parent: null, children: [], context: {used_percentage: number, tokens: number, window: number, source: status_line, at: time, last_sample_at: time, quiet_since: null, trend: null, warning: number, critical: number}, tmux: {socket: text, session: text, pane: text}, run: null, pid: number, exit_code: null, last_handoff_path: null, handoff: null, failed_handoff: null, tokens_used: number, log_file: text, turn: number, created_at: time, changed_at: time, queue: {queued: number, held: number, held_reason: null}, attention: null, handoff_needs_person: null}");
    let shown = world.show("api");
    assert_eq!(shape(&shown), shape(&session));
    let keys = |v: &Value| -> Vec<String> { v.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(
        keys(&new),
        keys(&shown),
        "new, show and wait speak of the same thing"
    );
    let listed = world.sm(&["ls", "--json"]).exits(0).json();
    assert_eq!(shape(&listed), format!("[{}]", shape(&shown)));
    let status = world.sm(&["status", "--json"]).exits(0).json();
    insta::assert_snapshot!(shape(&status), @"{pid: number, version: text, protocol: number, socket: text, address: null, sessions: number, uptime_ms: number, attention: [], problems: []}");
    let events = world
        .sm(&["events", "api", "-n", "20", "--json"])
        .exits(0)
        .json();
    // samples come when they come
    let mut events: Vec<Value> = events.as_array().unwrap().clone();
    events.retain(|event| event["kind"] != "usage");
    let events = Value::Array(events.split_off(events.len() - 3));
    insta::assert_snapshot!(shape(&events), @"[{seq: number, at: time, session: text, generation: number, turn: number, kind: message, text: text}, {seq: number, at: time, session: text, generation: number, turn: number, kind: turn, text: text}, {seq: number, at: time, session: text, generation: number, turn: number, kind: state, text: text}]");
    let queue = world
        .sm(&["queue", "ls", "api", "--all", "--json"])
        .exits(0)
        .json();
    assert_eq!(shape(&queue), format!("[{}]", shape(&known)));
    let output = world.sm(&["output", "api", "--json"]).exits(0).json();
    insta::assert_snapshot!(shape(&output), @"{text: text}");
    let killed = world.sm(&["kill", "api", "--json"]).exits(0).json();
    assert_eq!(
        (&killed["state"], keys(&killed)),
        (&"exited".into(), keys(&shown))
    );
}

#[test]
fn a_session_goes_from_starting_to_idle_and_through_its_turns() {
    let world = World::new();
    world.agent("api");
    let gate = world.gate("go");
    let sent = world.send_wait("api", &format!("HOLD: {}", gate.display()));
    let working = world.wait_for("api", "working");
    assert_eq!(
        (&working["turn"], &working["generation"]),
        (&1.into(), &1.into())
    );
    world
        .sm(&["wait", "api", "--for", "idle", "--timeout", "0.2"])
        .exits(3)
        .complains("it is working");
    std::fs::write(&gate, "").unwrap();
    world.wait_for_message("api", &text(&sent["id"]), &["consumed"]);
    let idle = world.wait_for("api", "idle");
    assert_eq!(idle["turn"], 1);
    with_usage(&world, "api");
    let transcript = text(&idle["transcript_path"]);
    assert!(
        std::fs::read_to_string(transcript)
            .unwrap()
            .contains("HOLD: ")
    );
    let events = world.events("api");
    let expected = [
        "launch: launch 1",
        "state: idle",
        "written",
        "submitted",
        "consumed",
        "turn: turn 1 ended",
        "state: idle",
    ];
    let mut rest = events.iter();
    for part in expected {
        assert!(
            rest.any(|e| e.contains(part)),
            "no {part} in its place: {events:#?}"
        );
    }
    world
        .sm(&["wait", "api", "--for", "exited", "--timeout", "0.1"])
        .exits(3);
    world.sm(&["kill", "api"]).exits(0);
    world.sm(&["wait", "api", "--for", "exited"]).exits(0);
    world
        .sm(&["wait", "api", "--for", "idle"])
        .exits(1)
        .complains(&format!("sm restore {}", text(&world.show("api")["id"])));
}

#[test]
fn output_is_readable_text() {
    let world = World::new();
    let session = world.agent("api");
    world.send_wait("api", "SAY: the answer is 42");
    world.pane("api").shows("the answer is 42");
    let live = world
        .sm(&["output", "api"])
        .exits(0)
        .says("the answer is 42");
    assert!(!live.out.contains('\x1b'), "{:?}", live.out);
    assert!(world.log_of(&session).contains(&0x1b), "the log is raw");
    world.sm(&["kill", "api"]).exits(0);
    let past = world
        .sm(&["output", "api"])
        .exits(0)
        .says("the answer is 42");
    assert!(!past.out.contains('\x1b'), "{:?}", past.out);
    let few = world.sm(&["output", "api", "--lines", "2"]).exits(0);
    assert_eq!(few.out.lines().count(), 2, "{:?}", few.out);
}

#[test]
fn a_renamed_session_is_found_by_its_new_name_and_so_is_its_terminal() {
    let world = World::new();
    let before = world.agent("old");
    world.sm(&["rename", "old", "new"]).exits(0);
    world
        .sm(&["show", "old"])
        .exits(1)
        .complains("there is no session");
    let after = world.show("new");
    assert_eq!(after["id"], before["id"]);
    eventually("tmux knows the new name", || {
        world.show("new")["tmux"]["session"] == "new"
    });
    let listed = world
        .tmux(&["list-sessions", "-F", "#{session_name}"])
        .exits(0)
        .out;
    assert!(
        listed.lines().any(|l| l == "new") && !listed.lines().any(|l| l == "old"),
        "{listed}"
    );
    world.send_wait("new", "after the rename");
    world.once(RecordKind::Prompt, "after the rename");
}

#[test]
fn live_sessions_have_different_names_and_are_told_apart() {
    let world = World::new();
    let fk = world.agent("fk");
    let fk2 = world.agent("fk2");
    world
        .sm(&["new", "claude", "--name", "fk", "--detach"])
        .exits(1)
        .complains("\"fk\" is taken")
        .complains("hint: ");
    world
        .sm(&["rename", "fk2", "fk"])
        .exits(1)
        .complains("taken");
    world.send_wait("fk", "for the first");
    world.send_wait("fk2", "for the second");
    let conversation = |part: &str| world.given(part).conversation;
    assert_eq!(conversation("for the first"), text(&fk["conversation_id"]));
    assert_eq!(
        conversation("for the second"),
        text(&fk2["conversation_id"])
    );
    assert_eq!(
        (world.times("for the first"), world.times("for the second")),
        (1, 1)
    );
    // an id, and the beginning of one
    let id = text(&fk2["id"]);
    assert_eq!(world.show(&id)["name"], "fk2");
    let other = text(&fk["id"]);
    let prefix = (1..=id.len())
        .map(|n| &id[..n])
        .find(|p| !other.starts_with(p))
        .unwrap();
    assert_eq!(world.show(prefix)["name"], "fk2");
    world.sm(&["kill", "fk"]).exits(0);
    assert_eq!(world.show("fk2")["state"], "idle");
    let pid = crate::world::process(&world.show("fk2")["pid"]);
    assert!(pid.is_alive());
    // the name is free again
    world.agent("fk");
    assert_ne!(world.show("fk")["id"], fk["id"]);
    world
        .sm(&["show", "fk3"])
        .exits(1)
        .complains("did you mean");
}

#[test]
fn two_agents_in_one_directory_never_mix() {
    let world = World::new();
    let sessions = [world.agent("one"), world.agent("two")];
    for round in 0..5 {
        for name in ["one", "two"] {
            world.send(name, "sequential", &format!("note {round} for {name}."));
        }
    }
    for (session, name) in sessions.iter().zip(["one", "two"]) {
        for round in 0..5 {
            let part = format!("note {round} for {name}.");
            let record = world.given(&part);
            assert_eq!(record.conversation, text(&session["conversation_id"]));
            assert_eq!(world.times(&part), 1, "{part}");
        }
        world.wait_for(name, "idle");
        assert_eq!(
            world.show(name)["conversation_id"],
            session["conversation_id"]
        );
    }
}
