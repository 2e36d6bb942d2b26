//! Every command that takes a session, on an agent under `sm run` while a daemon runs: it is a
//! session like any other, for people outside and for the agent itself.

use crate::family::inside;
use crate::own::{Own, name};
use crate::world::{DEADLINE, eventually, text};
use serde_json::{Value, json};
use sm_testkit::clean::binary;
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;
use std::io::Read;
use std::process::Stdio;

#[test]
fn what_a_run_is_asked_for_from_outside() {
    let own = Own::new();
    let world = &own.world;
    let session = own.claude();
    let id = text(&session["id"]);
    let given = name(&session);
    let begin = &id[..id.len() - 2];

    // by id, by the beginning of it, by name
    for word in [&id, begin, &given] {
        assert_eq!(world.show(word)["id"], session["id"], "{word}");
    }
    world.sm(&["show", &given]).exits(0).says(&given);
    world.sm(&["ls"]).exits(0).says(&given);
    world.sm(&[]).exits(0).says(&given);
    world
        .sm(&["wait", &given, "--for", "idle", "--timeout", "60"])
        .exits(0);

    // what waits for it
    let gate = world.gate("go");
    world.send_wait(
        &given,
        &format!("SAY: the tokens are blue\nHOLD: {}", gate.display()),
    );
    world
        .sm(&["wait", &given, "--for", "working", "--timeout", "60"])
        .exits(0);
    let kept = world.send(&given, "sequential", "this one stays");
    let gone = world.send(&given, "sequential", "this one goes");
    let queue = ["queue", "ls", given.as_str()];
    world
        .sm(&queue)
        .exits(0)
        .says("this one stays")
        .says("this one goes");
    world
        .sm(&["queue", "rm", &given, &text(&gone["id"])])
        .exits(0);
    let listed = world.sm(&["queue", "ls", &given, "--json"]).exits(0).json();
    let waiting: Vec<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|message| text(&message["text"]))
        .collect();
    assert!(waiting.contains(&"this one stays".to_owned()), "{listed}");
    assert!(!waiting.contains(&"this one goes".to_owned()), "{listed}");
    std::fs::write(&gate, "").unwrap();
    world.wait_for_message(&given, &text(&kept["id"]), &["submitted", "consumed"]);
    world.wait_for(&given, "idle");
    assert_eq!(world.times("this one goes"), 0);
    world
        .sm(&["queue", "ls", &given, "--all"])
        .exits(0)
        .says("this one stays");

    // what is known of its context
    let ledger = || {
        let said = world.sm(&["ledger", &given]);
        (said.code == Some(0) && said.out.contains("this one stays")).then_some(())
    };
    assert!(
        wait_until(DEADLINE, ledger).is_some(),
        "{:?}",
        world.sm(&["ledger", &given])
    );
    let about = world.sm(&["ledger", &given, "--json"]).exits(0).json();
    assert_eq!(about["conversation_id"], session["conversation_id"]);
    let context = world.sm(&["context", &given, "--json"]).exits(0).json();
    assert!(
        context["used_percentage"].is_number() || context["context"]["used_percentage"].is_number(),
        "{context}"
    );
    world.sm(&["context"]).exits(0).says(&given);

    // what it has shown
    eventually("it is in the archive", || {
        let found = world.sm(&["archive", &given, "grep", "tokens are [b]lue"]);
        found.code == Some(0) && found.out.contains("tokens are blue")
    });
    world
        .sm(&["archive", &given])
        .exits(0)
        .says("tokens are blue");
    world
        .sm(&["archive", &given, "--generation", "1"])
        .exits(0)
        .says("tokens are blue");
    world
        .sm(&["archive", &given, "grep", "never shown"])
        .exits(1);
    world
        .sm(&["output", &given, "--lines", "200"])
        .exits(0)
        .says("tokens are blue");
    world.sm(&["archive", &given, "--path"]).exits(0).says(&id);

    // what it is always told
    world
        .sm(&["pin", "add", "--session", &given, "never touch main"])
        .exits(0);
    world
        .sm(&["pin", "ls", "--session", &given])
        .exits(0)
        .says("never touch main");
    world.sm(&["pin", "rm", "--session", &given, "1"]).exits(0);
    let left = world.sm(&["pin", "ls", "--session", &given]).exits(0);
    assert!(!left.out.contains("never touch main"), "{left:?}");

    // what has happened
    world.sm(&["events", &given]).exits(0).says("by sm run");
    world.sm(&["handoffs", &given]).exits(0);
    world
        .sm(&["children", &given])
        .exits(0)
        .says("has no children");
    world.sm(&["context", &given, "--watch", "off"]).exits(0);
    world.sm(&["restore", &given]).exits(1).complains("sm show");
    let sm = binary("sm").unwrap();
    let (env, cwd) = (world.env.env(), world.env.project());
    let attach = [
        "sh",
        "-c",
        "\"$@\"; exec cat",
        "x",
        &sm.to_string_lossy(),
        "attach",
        &given,
    ];
    own.tmux
        .start("attach", (100, 30), &cwd, &env, &attach)
        .unwrap();
    eventually("it says where it is", || {
        let screen = own.tmux.screen("attach").unwrap_or_default();
        screen.contains("runs in its own terminal (/dev/")
    });
}

#[test]
fn what_is_typed_for_a_person_and_what_cannot_wait() {
    let own = Own::new();
    let world = &own.world;
    let session = own.claude();
    let given = name(&session);
    // what cannot wait ends the turn
    world.held_turn(&given);
    let urgent = world.send(&given, "urgent", "drop everything");
    world.wait_for_message(&given, &text(&urgent["id"]), &["submitted", "consumed"]);
    eventually("it was given once", || world.times("drop everything") == 1);
    world.wait_for(&given, "idle");
    // commands of the agent's own
    world.sm(&["send", &given, "--raw", "/compact"]).exits(0);
    eventually("it has compacted", || {
        world.show(&given)["compactions"] == 1
    });
    world.wait_for(&given, "idle");
    world.sm(&["send", &given, "--raw", "/clear"]).exits(0);
    eventually("another context", || world.show(&given)["generation"] == 2);
    let cleared = world.wait_for(&given, "idle");
    assert_eq!(cleared["pid"], session["pid"]);
    assert_ne!(cleared["conversation_id"], session["conversation_id"]);
    world.send_wait(&given, "in the cleared context");
    world.wait_for(&given, "idle");
    eventually("its ledger is the new one's", || {
        let known = world.sm(&["ledger", &given, "--json"]);
        known.code == Some(0) && known.json()["conversation_id"] == cleared["conversation_id"]
    });
    let old = world
        .sm(&["ledger", &given, "--generation", "1", "--json"])
        .exits(0)
        .json();
    assert_eq!(old["conversation_id"], session["conversation_id"]);
    // a dialog is a person's
    world.send_wait(&given, "ASK: echo deployed");
    world.wait_for(&given, "waiting");
    let held = world.send(&given, "urgent", "not into the dialog");
    assert_eq!(held["state"], "held", "{held}");
    assert_eq!(world.times("not into the dialog"), 0);
}

#[test]
fn what_a_run_is_asked_for_from_inside() {
    let own = Own::new();
    let world = &own.world;
    let session = own.claude();
    let id = text(&session["id"]);
    let given = name(&session);
    let said = inside(world, &given, "sm whoami --json && sm show && sm context");
    assert!(said.contains("exit 0") && said.contains(&id), "{said}");
    world.wait_for(&given, "idle");
    let said = inside(
        world,
        &given,
        "sm ledger && sm pin add 'never touch main' && sm pin ls && sm events && sm queue ls",
    );
    assert!(
        said.contains("exit 0") && said.contains("never touch main"),
        "{said}"
    );
    world.wait_for(&given, "idle");
    // it has a child, and is told when that has done what it was asked for
    let said = inside(
        world,
        &given,
        "sm new claude --name kid --detach && sm wait kid --for idle && sm send kid --notify --wait 30 'SAY: done it' && sm children",
    );
    assert!(said.contains("exit 0") && said.contains("kid"), "{said}");
    let kid = world.wait_for("kid", "idle");
    assert_eq!(kid["parent"], session["id"]);
    eventually("it is told of the end once", || {
        world.times("kid has finished the turn that took your message") == 1
    });
    world.wait_for(&given, "idle");
    assert_eq!(world.show(&given)["children"], json!([kid["id"]]));
    world.sm(&["children", &given]).exits(0).says("kid");
    let listed = world.sm(&["children", &given, "--json"]).exits(0).json();
    assert_eq!(listed[0]["id"], kid["id"]);
    // and its child can write to it
    let said = inside(
        world,
        "kid",
        &format!("sm send {given} 'hello parent' --wait 30"),
    );
    assert!(said.contains("exit 0"), "{said}");
    eventually("it was given once", || {
        world.times("message from kid; answer with") == 1
    });
    assert!(
        world
            .given("message from kid;")
            .text
            .contains("hello parent")
    );
}

#[test]
fn a_run_is_followed_as_any_session() {
    let own = Own::new();
    let world = &own.world;
    let session = own.claude();
    let given = name(&session);
    let mut output = world
        .command(&["output", &given, "--follow"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut events = world
        .command(&["events", &given, "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // on the one screen
    let desk = Tmux::new().unwrap();
    let sm = binary("sm").unwrap();
    let (env, cwd) = (world.env.env(), world.env.project());
    desk.start(
        "watch",
        (160, 40),
        &cwd,
        &env,
        &[&sm.to_string_lossy(), "watch"],
    )
    .unwrap();
    let shows = |part: &str| {
        let seen = || {
            desk.screen("watch")
                .unwrap_or_default()
                .contains(part)
                .then_some(())
        };
        assert!(
            wait_until(DEADLINE, seen).is_some(),
            "never {part:?}:\n{}",
            desk.screen("watch").unwrap_or_default()
        );
    };
    shows(&given);
    shows("idle");
    desk.type_text("watch", "m").unwrap();
    shows(&format!("to {given} (sequential):"));
    desk.type_text("watch", "SAY: followed by many").unwrap();
    desk.key("watch", "Enter").unwrap();
    world.given("SAY: followed by many");
    shows("followed by many");
    world.wait_for(&given, "idle");
    world.sm(&["kill", &given]).exits(0);
    world.wait_for(&given, "exited");
    // whoever follows the output is done with the session
    let mut printed = String::new();
    output
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut printed)
        .unwrap();
    assert!(output.wait().unwrap().success());
    assert!(printed.contains("followed by many"), "{printed}");
    events.kill().unwrap();
    let mut told = String::new();
    events
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut told)
        .unwrap();
    events.wait().unwrap();
    assert!(told.contains("turn"), "{told}");
}

#[test]
fn a_handoff_of_a_run_can_be_taken_back_and_checked() {
    let own = Own::new();
    let world = &own.world;
    let session = own.claude();
    let given = name(&session);
    let document = world.env.project().join("handed.md");
    std::fs::write(&document, "# Where it stands\n\nthe parser is done\n").unwrap();
    let document = document.to_str().unwrap();
    let gate = world.held_turn(&given);
    let scheduled = world
        .sm(&["handoff", "--session", &given, document, "--json"])
        .exits(0)
        .json();
    assert_eq!(scheduled["status"], "scheduled", "{scheduled}");
    world
        .sm(&["handoff", "--session", &given, "--cancel"])
        .exits(0);
    std::fs::write(&gate, "").unwrap();
    let after = world.wait_for(&given, "idle");
    assert_eq!(after["generation"], 1, "{after}");
    assert_eq!(after["pid"], session["pid"]);
    assert_eq!(after["handoff"], Value::Null, "{after}");
    world.sm(&["handoff", "--check", document]);
    // one that has ended comes back in tmux, and everything of it is still there
    world.send_wait(&given, "SAY: before the end");
    world.wait_for(&given, "idle");
    world.sm(&["kill", &given]).exits(0);
    world
        .sm(&["ledger", &given])
        .exits(0)
        .says("before the end");
    world
        .sm(&["archive", &given])
        .exits(0)
        .says("before the end");
    world.sm(&["restore", &given, "--detach"]).exits(0);
    let back = world.ready(&given);
    assert_eq!(back["conversation_id"], session["conversation_id"]);
    world
        .sm(&["archive", &given])
        .exits(0)
        .says("before the end");
}
