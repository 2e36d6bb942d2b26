//! Handing over a session of sm's own agent: its model writes the document as `/handoff` would, and
//! the successor begins with the document in its context.

use crate::native::{DOCUMENT, Native, lines, next_generation, said};
use crate::world::{DEADLINE, Ran, World, eventually, text};
use serde_json::{Value, json};
use sm_testkit::model::{FailNext, When};
use sm_testkit::wait_until;
use std::path::PathBuf;
use std::process::Stdio;

/// An agent that has talked for one turn, and what its file holds.
fn talked(native: &Native) -> (PathBuf, Vec<u8>) {
    let world = &native.world;
    native.agent("worker", &["--thinking", "low"]);
    world.send_wait("worker", "SAY: hello");
    world.wait_for("worker", "idle");
    native
        .model
        .control(|c| c.reply = Some(DOCUMENT.to_owned()));
    let path = PathBuf::from(text(&world.show("worker")["transcript_path"]));
    let bytes = std::fs::read(&path).unwrap();
    (path, bytes)
}

/// The session is as it was, and usable.
#[track_caller]
fn is_as_it_was(native: &Native, (path, bytes): &(PathBuf, Vec<u8>)) {
    let world = &native.world;
    let shown = world.show("worker");
    assert_eq!(
        (&shown["generation"], &shown["state"]),
        (&json!(1), &json!("idle"))
    );
    assert_eq!(&std::fs::read(path).unwrap(), bytes);
    assert_eq!(handoffs(world), json!([]));
    native.model.control(|c| c.reply = None);
    world.send_wait("worker", "SAY: still here");
    world.wait_for("worker", "idle");
    assert_eq!(native.said("worker"), ["SAY: hello", "SAY: still here"]);
}

fn handoffs(world: &World) -> Value {
    let id = text(&world.show("worker")["id"]);
    world.get(&format!("/handoffs?session={id}"))
}

/// Without the marks of the cache, which move to the end.
fn unmarked(mut messages: Value) -> Vec<Value> {
    for message in messages.as_array_mut().unwrap() {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    messages.as_array().unwrap().clone()
}

#[test]
fn its_own_model_writes_the_document_with_the_cached_prefix_and_the_successor_begins_with_it() {
    let native = Native::with("[handoff]\nfacts = 0\n");
    let world = &native.world;
    let (path, bytes) = talked(&native);
    let before = native.model.requests();
    let live = before.last().unwrap().body.clone();
    world
        .sm(&["handoff", "--session", "worker", "--generate", "the parser"])
        .exits(0)
        .says("Written by the session's own model, fake/fake-1, as /handoff does")
        .says("from the provider's cache");
    let asked = native.model.requests()[before.len()].body.clone();
    for (key, value) in live.as_object().unwrap() {
        if key != "messages" && key != "tool_choice" {
            assert_eq!(&asked[key], value, "{key}");
        }
    }
    assert_eq!(asked["tool_choice"], json!({"type": "none"}));
    let (live, asked) = (
        unmarked(live["messages"].clone()),
        unmarked(asked["messages"].clone()),
    );
    assert_eq!(asked[..live.len()], live[..], "the whole history");
    assert_eq!(asked.len(), live.len() + 2, "the answer, and one question");
    assert!(asked[live.len() + 1].to_string().contains("the parser"));

    let after = next_generation(world, "worker", 2);
    eventually("it is done", || handoffs(world)[0]["state"] == "done");
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "the old file");
    let new = PathBuf::from(text(&after["transcript_path"]));
    let file = lines(&new);
    assert_eq!(file[0]["parentSession"], json!(path));
    let wakes = said(&file);
    assert_eq!(wakes.len(), 1, "{wakes:?}");
    assert!(wakes[0].starts_with("Read "), "{wakes:?}");
    assert!(wakes[0].contains("This is all of "), "{wakes:?}");
    is_proven(&handoffs(world)[0]);
    // and the model is sent that, and nothing of what was before
    let woken = native.model.requests().last().unwrap().body.clone();
    let sent = woken["messages"].to_string();
    assert!(sent.contains("Build the frobnicator") && sent.contains("continue from where"));
    assert!(!sent.contains("SAY: hello"), "{sent}");
    assert_eq!(
        file.iter().filter(|l| l["thinkingLevel"] == "low").count(),
        1
    );
}

#[test]
fn a_document_that_is_cancelled_leaves_its_session_as_it_was() {
    let native = Native::new();
    let world = &native.world;
    let old = talked(&native);
    native.model.control(|c| {
        c.when.push(When {
            has: "Write a handoff document now".into(),
            act: "HOLD: document".into(),
        });
    });
    let writing = world
        .command(&["handoff", "--session", "worker", "--generate"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    native.holds("document");
    world
        .sm(&["handoff", "--cancel", "--session", "worker"])
        .exits(0)
        .says("cancelled");
    let ended = Ran::from(writing.wait_with_output().unwrap());
    ended.exits(1).complains("Handoff cancelled");
    let seq = native.model.requests().last().unwrap().seq;
    assert!(native.model.wait_for_abandoned(seq, DEADLINE), "closed");
    native.model.release("document");
    is_as_it_was(&native, &old);
}

#[test]
fn a_provider_that_fails_or_says_nothing_leaves_its_session_as_it_was() {
    let native = Native::new();
    let world = &native.world;
    let old = talked(&native);
    let generate = || world.sm(&["handoff", "--session", "worker", "--generate"]);
    native.model.control(|c| {
        c.fail_next = Some(FailNext {
            status: 400,
            message: "that is not possible today".into(),
            count: 1,
        });
    });
    generate()
        .exits(1)
        .complains("Handoff failed")
        .complains("not possible today");
    native.model.control(|c| c.reply = Some(" \n".to_owned()));
    generate()
        .exits(1)
        .complains("Handoff failed: the model returned no text");
    is_as_it_was(&native, &old);
}

#[test]
fn without_a_message_there_is_nothing_to_write_about() {
    let native = Native::new();
    let world = &native.world;
    native.agent("worker", &[]);
    world
        .sm(&["handoff", "--session", "worker", "--generate"])
        .exits(1)
        .complains("Nothing to hand off (no messages yet)");
    assert!(native.model.requests().is_empty());
    assert_eq!(world.show("worker")["generation"], 1);
}

/// What the agent has left running ends with its context: nobody could see or stop it any more.
#[test]
fn what_a_person_had_running_ends_with_the_context() {
    let native = Native::with("[handoff]\nfacts = 0\n");
    let world = &native.world;
    talked(&native);
    let (pid, goes_on) = (
        world.env.project().join("pid"),
        "trap '' HUP; echo $$ > pid.new; mv pid.new pid; exec sleep 600",
    );
    world
        .sm(&["send", "worker", "--raw", &format!("!{goes_on}")])
        .exits(0);
    eventually("it runs", || pid.exists());
    let pid: u32 = std::fs::read_to_string(&pid)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let running = sm_client::process::Process::of(pid).unwrap();
    world
        .sm(&["handoff", "--session", "worker", "--auto"])
        .exits(0);
    next_generation(world, "worker", 2);
    let ended = wait_until(DEADLINE, || (!running.is_alive()).then_some(()));
    assert!(ended.is_some(), "it still runs");
}

/// All of the document is in the successor's conversation.
#[track_caller]
fn is_proven(handoff: &Value) {
    let in_context = &handoff["in_context"];
    assert_eq!(in_context["characters"], in_context["of"], "{handoff:#}");
    assert_eq!(in_context["proof"], "transcript", "{handoff:#}");
}

/// By the tool that it has for it, with nobody there: what it may do is what it may by default, and to
/// look at its folder.
#[test]
fn a_model_that_does_what_it_is_told_hands_over_by_itself() {
    const BOUNDARIES: u64 = 3;
    let native = Native::with("[handoff]\nauto = false\n");
    let world = &native.world;
    world.configure("[context]\nthresholds = [\"native: 60 critical\"]\n");
    native.model.control(|c| {
        c.obey = true;
        c.grow = 5_000;
    });
    native.agent("worker", &["--allow", "bash:ls"]);
    world.send_wait("worker", "Finish the long task.");
    let done = |number: u64| {
        let all = handoffs(world);
        let of = |h: &&Value| h["from_generation"] == number && h["state"] == "done";
        all.as_array().unwrap().iter().find(of).cloned()
    };
    for number in 1..=BOUNDARIES {
        let handoff = wait_until(DEADLINE, || done(number));
        let handoff = handoff.unwrap_or_else(|| {
            panic!(
                "{number}: {:#}\n{:#?}",
                handoffs(world),
                world.events("worker")
            )
        });
        assert_eq!(
            (&handoff["author"], &handoff["trigger"]),
            (&json!("agent"), &json!("agent"))
        );
        is_proven(&handoff);
    }
    native.model.control(|c| {
        c.obey = false;
        c.grow = 0;
    });
    for event in world.events("worker") {
        assert!(!event.contains("waiting"), "{event}");
    }
    let asked = native.model.requests();
    for number in 1..=BOUNDARIES {
        let document = format!("OBEDIENT-DOCUMENT {number}.");
        let first = asked.iter().find(|request| {
            let messages = request.body["messages"].as_array();
            messages.is_some_and(|all| all.len() == 1 && all[0].to_string().contains(&document))
        });
        assert!(first.is_some(), "nobody began with {document}");
    }
}

/// A person is asked before the context is left where the user wants that.
#[test]
fn without_permission_its_tool_waits_for_a_person() {
    let native = Native::new();
    let world = &native.world;
    world.configure("[handoff]\npermissions = false\n");
    native.agent("worker", &[]);
    world
        .sm(&["show", "worker"])
        .exits(0)
        .says("handoff.permissions is off");
    world.send_wait(
        "worker",
        r##"TOOL: mcp__sm__handoff {"document": "# Objective\ngo on\n\n# State\nhalf\n\n# Next\n1. go on"}"##,
    );
    world.wait_for("worker", "waiting");
    world.pane("worker").shows("sm handoff -");
    assert_eq!(handoffs(world), json!([]));
}
