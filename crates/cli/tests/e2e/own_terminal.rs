//! An agent under `sm run`, in a person's own terminal, while a daemon runs: it is a session like any
//! other, and the run is hurt by nothing that becomes of the daemon.

use crate::own::{Own, PANE, name};
use crate::world::{DEADLINE, eventually, process, text};
use rustix::process::Signal;
use serde_json::Value;
use sm_client::http::Request;
use sm_testkit::clean::RecordKind;
use sm_testkit::wait_until;

#[test]
fn a_run_is_a_session_of_the_daemon_that_runs() {
    let own = Own::new();
    let world = &own.world;
    let session = own.claude();
    let id = text(&session["id"]);
    assert!(id.starts_with("run-"), "{session}");
    assert_eq!(session["agent"], "claude");
    assert_eq!(session["generation"], 1);
    assert_eq!(session["cwd"], world.env.project().to_str().unwrap());
    assert_eq!(session["run"]["channel"], crate::run_ends::channel(&own));
    assert!(
        text(&session["run"]["tty"]).starts_with("/dev/"),
        "{session}"
    );
    assert!(session["conversation_id"].is_string(), "{session}");
    assert_eq!(session["tmux"]["pane"], Value::Null);
    let agent = process(&session["pid"]);

    let given = name(&session);
    let target = format!("/sessions/{given}/attach");
    let (status, refused) = world.ask(&Request::get(&target));
    assert_eq!(status, 409, "{refused}");
    let error = text(&refused["error"]);
    assert!(error.contains("runs in its own terminal (/dev/"), "{error}");
    assert!(text(&refused["hint"]).contains("sm output"), "{refused}");
    world.sm(&["rename", &given, "mine"]).exits(0);
    let shown = world.show("mine");
    assert_eq!(shown["id"], Value::from(id.clone()));
    world.sm(&["context", "mine"]).exits(0);
    let events = world.events("mine").join("\n");
    assert!(events.contains("launch: launch 1, by sm run"), "{events}");
    eventually("its output is there", || {
        !world.sm(&["output", "mine"]).exits(0).out.trim().is_empty()
    });
    world.sm(&["archive", "mine"]).exits(0);

    world.sm(&["kill", "mine"]).exits(0);
    let ended = world.show("mine");
    assert_eq!(ended["state"], "exited", "{ended}");
    assert_eq!(ended["state_reason"], "it was ended with sm kill");
    assert_ne!(own.code(), 0, "{}", own.about());
    assert!(!agent.is_alive());
}

#[test]
fn the_end_of_a_run_is_the_end_of_its_session() {
    let own = Own::new();
    let session = own.claude();
    let given = name(&session);
    own.tmux.type_text(PANE, "/exit").unwrap();
    own.shows("/exit");
    own.tmux.key(PANE, "Enter").unwrap();
    assert_eq!(own.code(), 0);
    let ended = own.world.wait_for(&given, "exited");
    assert_eq!(ended["exit_code"], 0, "{ended}");
}

#[test]
fn a_run_that_is_killed_is_lost_and_comes_back_in_tmux() {
    let own = Own::new();
    let session = own.claude();
    let given = name(&session);
    let run = process(&session["run"]["pid"]);
    run.signal(Signal::KILL);
    let lost = own.world.wait_for(&given, "lost");
    assert!(
        text(&lost["state_reason"]).contains("sm run is gone"),
        "{lost}"
    );
    own.world.sm(&["send", &given, "waits for it"]).exits(0);
    own.world.sm(&["restore", &given]).exits(0);
    let back = own.world.ready(&given);
    assert_eq!(back["run"], Value::Null);
    assert!(back["tmux"]["pane"].is_string(), "{back}");
    eventually("what waited is given", || {
        own.world.times("waits for it") == 1
    });
}

#[test]
fn messages_reach_an_agent_under_sm_run() {
    let own = Own::new();
    let world = &own.world;
    let given = name(&own.claude());
    // idle: pasted, and proven
    let lines: String = (0..40).map(|n| format!("line {n} of ümläuts\n")).collect();
    for wanted in ["one line", lines.trim_end()] {
        let sent = world.send_wait(&given, wanted);
        assert_eq!(
            (&sent["way"], &sent["proof"]),
            (&"paste".into(), &"hook".into())
        );
        eventually("it was given", || world.times(wanted) > 0);
        world.once(RecordKind::Prompt, wanted);
        world.wait_for(&given, "idle");
    }
    // at work: the answer to a hook, then what waits at the end of the turn
    let gate = world.held_turn(&given);
    let after = world.send(&given, "sequential", "when you are done");
    std::fs::write(&gate, "").unwrap();
    let known = world.wait_for_message(&given, &text(&after["id"]), &["submitted", "consumed"]);
    assert_eq!(known["way"], "stop_answer", "{known}");
    eventually("it was given once", || {
        world.times("when you are done") == 1
    });
    world.wait_for(&given, "idle");
    // a draft stays, and the message goes another way
    own.tmux.type_text(PANE, "half a thought").unwrap();
    own.shows("half a thought");
    let sent = world.send_wait(&given, "beside the draft");
    assert_eq!(sent["way"], "mailbox", "{sent}");
    eventually("it was given once", || world.times("beside the draft") == 1);
    own.shows("half a thought");
    assert_eq!(world.times("half a thought"), 0);
}

#[test]
fn a_run_survives_its_daemon_and_every_message_arrives_once() {
    let own = Own::new();
    let world = &own.world;
    let session = own.claude();
    let given = name(&session);
    let gate = world.held_turn(&given);
    let first = world.send(&given, "sequential", "before the crash");
    world.kill_daemon();
    // the turn ends while nobody listens
    std::fs::write(&gate, "").unwrap();
    own.shows("HOLD");
    world.sm(&["ls"]).exits(0); // a daemon runs again
    let second = world.send(&given, "sequential", "after the crash");
    for sent in [&first, &second] {
        world.wait_for_message(&given, &text(&sent["id"]), &["submitted", "consumed"]);
    }
    let back = world.wait_for(&given, "idle");
    assert_eq!(back["id"], session["id"]);
    assert_eq!(back["pid"], session["pid"]);
    assert_eq!(back["generation"], 1);
    for text in ["before the crash", "after the crash"] {
        eventually("it was given", || world.times(text) > 0);
        assert_eq!(world.times(text), 1, "{text}\n{}", own.about());
    }
}

#[test]
fn a_daemon_that_stands_still_stops_neither_the_person_nor_the_agent() {
    let own = Own::new();
    let world = &own.world;
    let session = own.claude();
    let given = name(&session);
    let daemon = world.daemon();
    daemon.signal(Signal::STOP);
    own.tmux
        .type_text(PANE, "typed while nobody listens")
        .unwrap();
    own.shows("typed while nobody listens");
    own.tmux.key(PANE, "Enter").unwrap();
    eventually("the agent has it", || {
        world.times("typed while nobody listens") == 1
    });
    daemon.signal(Signal::CONT);
    let back = world.wait_for(&given, "idle");
    assert_eq!(back["pid"], session["pid"]);
    world.send_wait(&given, "and now again");
    assert_eq!(world.times("typed while nobody listens"), 1);
    eventually("it was given once", || world.times("and now again") == 1);
}

#[test]
fn a_daemon_that_comes_later_finds_the_run() {
    let own = Own::without_daemon("", "");
    own.start(&["run", "claude"]);
    own.shows("❯");
    assert!(!own.world.is_served(), "a run starts no daemon");
    own.world.sm(&["ls"]).exits(0);
    let session = own.registered();
    let sent = own.world.send_wait(&name(&session), "found you");
    assert_eq!(sent["proof"], "hook");
    eventually("it was given once", || own.world.times("found you") == 1);
}

#[test]
fn a_person_hands_a_run_over_from_outside() {
    let own = Own::new();
    let world = &own.world;
    let first = own.claude();
    let given = name(&first);
    let said = world.sm(&["pin", "add", "--session", &given, "never touch main"]);
    said.exits(0);
    world.send_wait(&given, "work of the first context");
    world.wait_for(&given, "idle");
    let document = world.env.project().join("handed.md");
    std::fs::write(&document, "# Where it stands\n\nthe parser is done\n").unwrap();
    let words = ["handoff", "--session", &given, document.to_str().unwrap()];
    world.sm(&words).exits(0);
    let successor = || {
        let now = world.show(&given);
        let there = now["pid"].is_u64() && now["last_handoff_path"].is_string();
        (now["generation"] == 2 && there && now["state"] == "idle").then_some(now)
    };
    let second =
        wait_until(DEADLINE, successor).unwrap_or_else(|| panic!("no successor\n{}", own.about()));
    assert_eq!(second["id"], first["id"]);
    assert_ne!(second["pid"], first["pid"]);
    assert_ne!(second["conversation_id"], first["conversation_id"]);
    let path = text(&second["last_handoff_path"]);
    let handed = std::fs::read_to_string(&path).unwrap();
    assert!(handed.contains("the parser is done"), "{handed}");
    world.given("Continue from handoff");
    let told = world.given("=== HANDOFF LOADED");
    assert!(told.text.contains("the parser is done"), "{}", told.text);
    assert!(told.text.contains("never touch main"), "{}", told.text);
    // and again, from what sm knows itself
    world.send_wait(&given, "work of the second context");
    world.wait_for(&given, "idle");
    world
        .sm(&["handoff", "--session", &given, "--auto"])
        .exits(0);
    let third = || (world.show(&given)["generation"] == 3).then_some(());
    assert!(wait_until(DEADLINE, third).is_some(), "{}", own.about());
    world.wait_for(&given, "idle");
    world.send_wait(&given, "to the third context");
    eventually("it was given once", || {
        world.times("to the third context") == 1
    });
    let listed = world.sm(&["handoffs", &given, "--json"]).exits(0).json();
    let listed: Vec<_> = listed.as_array().unwrap().iter().collect();
    let about = |of: &Value| {
        [
            text(&of["state"]),
            text(&of["trigger"]),
            text(&of["author"]),
        ]
    };
    let [newest, older] = listed.as_slice() else {
        panic!("{listed:?}");
    };
    assert_eq!(about(newest), ["done", "person", "ledger"]);
    assert_eq!(about(older), ["done", "person", "person"]);
    assert_eq!(
        (&older["from_generation"], &older["to_generation"]),
        (&1.into(), &2.into())
    );
    assert_eq!(text(&older["document"]), path);
    let id = text(&older["id"]);
    let shown = world.sm(&["handoffs", "show", &id]).exits(0);
    shown.says(&format!("handoff/archive/{id}.md"));
    let events = world.events(&given).join("\n");
    assert!(
        events.contains("handoff: sm run has handed over "),
        "{events}"
    );
}
