//! The ledger: there while a session lives, after its agent was killed, and across its contexts; and
//! what is handed off from it.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;
use sm_testkit::clean::RecordKind;

use crate::family::inside;
use crate::world::{World, end, eventually, process, text};

fn folder(world: &World, session: &Value) -> PathBuf {
    world.paths().session_dir(&text(&session["id"]))
}

fn kept(world: &World, session: &Value, generation: u32) -> PathBuf {
    folder(world, session).join(format!("ledger.g{generation}.json"))
}

#[track_caller]
fn on_disk(world: &World, session: &Value, generation: u32, part: &str) {
    let file = kept(world, session, generation);
    eventually(&format!("{part} is in {}", file.display()), || {
        std::fs::read_to_string(&file).is_ok_and(|text| text.contains(part))
    });
}

#[track_caller]
fn handed(world: &World, session: &str) -> Value {
    let latest = || world.sm(&["handoffs", session, "--json"]).exits(0).json()[0].clone();
    eventually("the handoff has ended", || latest()["done_at"].is_string());
    let handoff = latest();
    assert_eq!(handoff["state"], "done", "{handoff}");
    handoff
}

#[test]
fn it_is_on_disk_while_the_session_lives_and_goes_on_after_a_restart() {
    let world = World::new();
    let api = world.agent("api");
    world.send_wait(
        "api",
        "Build the frobnicator.\nRUN: echo made > frob_core.rs\nSAY: built",
    );
    world.wait_for("api", "idle");
    // nobody has asked for it
    on_disk(&world, &api, 1, "Build the frobnicator.");
    let mode = std::fs::metadata(kept(&world, &api, 1))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    world.kill_daemon();
    world.send_wait("api", "Never touch the gizmo table.\nSAY: understood");
    world.wait_for("api", "idle");
    on_disk(&world, &api, 1, "Never touch the gizmo table.");
    let ran = world.sm(&["ledger", "api", "--budget", "2000"]).exits(0);
    for part in ["Build the frobnicator.", "Never touch the gizmo table."] {
        assert_eq!(ran.out.matches(part).count(), 1, "{part}: {}", ran.out);
    }
    assert!(ran.out.chars().count() <= 2_000);
    let shown = world.sm(&["ledger", "api", "--json"]).exits(0).json();
    assert_eq!(shown["generation"], 1);
    assert!(
        text(&shown["goal"]).starts_with("Build the frobnicator."),
        "{shown}"
    );
    world
        .sm(&["show", "api"])
        .exits(0)
        .says("goal          Build the frobnicator.");
    // the transcript alone gives the same, without a daemon
    let transcript = text(&world.show("api")["transcript_path"]);
    world
        .sm(&["ledger", "--transcript", &transcript])
        .exits(0)
        .says("Build the frobnicator.")
        .says("Never touch the gizmo table.");
}

#[test]
fn a_killed_agent_is_handed_off_from_it_and_the_old_one_stays() {
    let world = World::new();
    let api = world.agent("api");
    let gate = world.gate("never");
    world.send_wait("api", "Paint the shed in mauve_undertone.\nSAY: I begin");
    world.wait_for("api", "idle");
    world.send_wait("api", &format!("HOLD: {}", gate.display()));
    world.wait_for("api", "working");
    end(&process(&world.show("api")["pid"]), Signal::KILL);
    world.wait_for("api", "exited");
    world
        .sm(&["ledger", "api"])
        .exits(0)
        .says("Paint the shed in mauve_undertone.");
    // what the document quotes is what the fake model does: it must not wait for it again
    std::fs::write(&gate, "").unwrap();
    let before = world.times("mauve_undertone");
    world
        .sm(&["handoff", "--auto", "--session", "api"])
        .exits(0)
        .says("Handoff scheduled");
    let done = handed(&world, "api");
    for (key, value) in [
        ("author", "ledger"),
        ("trigger", "person"),
        ("carrier", "relaunch"),
    ] {
        assert_eq!(done[key], value, "{done}");
    }
    let copy = std::fs::read_to_string(text(&done["copy"])).unwrap();
    assert!(copy.contains("mauve_undertone"), "{copy}");
    let prompt = format!("Read {} and continue", text(&done["copy"]));
    let given = world.given(&prompt);
    assert_eq!(given.kind, RecordKind::Prompt);
    assert!(given.text.contains(copy.trim_end()), "{}", given.text);
    assert!(world.times("mauve_undertone") > before);
    assert_eq!(world.wait_for("api", "idle")["generation"], 2);
    on_disk(&world, &api, 2, "mauve_undertone");
    assert!(kept(&world, &api, 1).exists());
    world
        .sm(&["ledger", "api", "--generation", "1"])
        .exits(0)
        .says("Paint the shed in mauve_undertone.");
    world
        .sm(&["ledger", "api", "--generation", "7"])
        .exits(1)
        .complains("no ledger of generation 7");
}

/// What an agent took and had not written down is not in its ledger: it goes back into the queue and
/// is given to whoever goes on, once.
#[test]
fn the_last_words_of_an_agent_that_died_are_given_to_the_successor() {
    let mut world = World::new();
    world.env.set("FAKE_AGENT", "unrecorded_prompt=2");
    let gate = world.gate("never");
    world.agent("api");
    world.send_wait("api", "Paint the shed in mauve_undertone.\nSAY: I begin");
    world.wait_for("api", "idle");
    let last = "Leave the ninth plank bare.";
    let sent = world.send_wait("api", &format!("{last}\nHOLD: {}", gate.display()));
    let id = text(&sent["id"]);
    world.wait_for("api", "working");
    end(&process(&world.show("api")["pid"]), Signal::KILL);
    world.wait_for("api", "exited");
    let transcript = text(&world.show("api")["transcript_path"]);
    let recorded = std::fs::read_to_string(transcript).unwrap();
    assert!(!recorded.contains(last), "{recorded}");
    let held = world.wait_for_message("api", &id, &["held"]);
    assert!(
        text(&held["reason"]).contains("before it had written it down"),
        "{held}"
    );
    let ledger = world.sm(&["ledger", "api"]).exits(0).out;
    assert!(ledger.contains("mauve_undertone."), "{ledger}");
    let waits = ledger.find("In flight: 1 message waits").expect(&ledger);
    assert!(ledger[waits..].contains(last), "{ledger}");
    assert_eq!(ledger.matches(last).count(), 1, "{ledger}");

    std::fs::write(&gate, "").unwrap();
    world.env.set("FAKE_AGENT", "");
    world
        .sm(&["handoff", "--auto", "--session", "api"])
        .exits(0);
    let done = handed(&world, "api");
    let copy = std::fs::read_to_string(text(&done["copy"])).unwrap();
    assert!(copy.contains("mauve_undertone."), "{copy}");
    let given = world.wait_for_message("api", &id, &["consumed"]);
    assert!(text(&given["reason"]).contains("given again"), "{given}");
    world.wait_for("api", "idle");
    let transcript = text(&world.show("api")["transcript_path"]);
    let recorded = std::fs::read_to_string(transcript).unwrap();
    assert!(recorded.contains(last), "{recorded}");
}

#[test]
fn the_first_words_of_an_agent_that_died_are_given_to_the_restored_one() {
    let mut world = World::new();
    world.env.set("FAKE_AGENT", "unrecorded_prompt=1");
    let gate = world.gate("never");
    world.agent("api");
    let sent = world.send_wait(
        "api",
        &format!("Water the fern_of_aunt_ida.\nHOLD: {}", gate.display()),
    );
    world.wait_for("api", "working");
    end(&process(&world.show("api")["pid"]), Signal::KILL);
    world.wait_for("api", "exited");
    world.wait_for_message("api", &text(&sent["id"]), &["held"]);
    std::fs::write(&gate, "").unwrap();
    world.env.set("FAKE_AGENT", "");
    world.sm(&["restore", "api", "--detach"]).exits(0);
    world.wait_for_message("api", &text(&sent["id"]), &["consumed"]);
    world
        .sm(&["ledger", "api"])
        .exits(0)
        .says("Water the fern_of_aunt_ida.");
}

#[test]
fn what_joined_a_running_turn_counts_as_said() {
    let world = World::new();
    world.agent("api");
    let (started, gate) = (world.gate("started"), world.gate("go"));
    let prompt = format!(
        "Paint the shed.\nRUN: touch {}; while ! test -e {}; do sleep 0.01; done\nRUN: true",
        started.display(),
        gate.display()
    );
    world.send_wait("api", &prompt);
    eventually("the tool runs", || started.exists());
    let words = "Never use the blue_primer.";
    let sent = world.send("api", "important", words);
    std::fs::write(&gate, "").unwrap();
    world.wait_for_message("api", &text(&sent["id"]), &["submitted", "consumed"]);
    world.once(RecordKind::HookContext, words);
    let ledger = world.sm(&["ledger", "api"]).exits(0).out;
    assert!(
        ledger.contains(&format!("Latest message: {words}")),
        "{ledger}"
    );
}

#[test]
fn an_agent_hands_off_without_writing_anything() {
    let world = World::new();
    world.agent("api");
    world.send_wait("api", "Count the teacups.\nSAY: there are seven");
    world.wait_for("api", "idle");
    let said = inside(&world, "api", "sm handoff --auto");
    assert!(said.starts_with("Handoff scheduled"), "{said}");
    let done = handed(&world, "api");
    assert_eq!(
        (&done["author"], &done["carrier"]),
        (&"ledger".into(), &"clear".into())
    );
    let copy = std::fs::read_to_string(text(&done["copy"])).unwrap();
    assert!(copy.contains("Count the teacups."), "{copy}");
    assert!(
        copy.contains("sm handoff --auto"),
        "what came after it is in it too: {copy}"
    );
    world.given(&format!("Read {} and continue", text(&done["copy"])));
    assert_eq!(world.show("api")["generation"], 2);
}

#[test]
fn what_people_said_goes_through_all_contexts() {
    let world = World::new();
    world.agent("api");
    let goal = "Number the teacups of the harbour office.";
    let (started, gate) = (world.gate("started"), world.gate("go"));
    let prompt = format!(
        "{goal}\nRUN: touch {}; while ! test -e {}; do sleep 0.01; done\nRUN: true",
        started.display(),
        gate.display()
    );
    world.send_wait("api", &prompt);
    eventually("the tool runs", || started.exists());
    // this one stands in no prompt of the transcript
    let joined = "Never use the blue_primer.";
    let sent = world.send("api", "important", joined);
    std::fs::write(&gate, "").unwrap();
    world.wait_for_message("api", &text(&sent["id"]), &["submitted", "consumed"]);
    world.wait_for("api", "idle");
    for generation in 2..=4 {
        world
            .sm(&["handoff", "--auto", "--session", "api"])
            .exits(0);
        eventually("the next context works", || {
            world.show("api")["generation"] == generation
        });
        let done = handed(&world, "api");
        let copy = std::fs::read_to_string(text(&done["copy"])).unwrap();
        let (_, objective) = copy.split_once("## Objective\n").unwrap();
        assert!(objective.starts_with(goal), "{generation}: {copy}");
        assert!(copy.contains(joined), "{generation}: {copy}");
        world.wait_for("api", "idle");
        if generation == 2 {
            world.sm(&["stop"]).exits(0); // another daemon knows it too
            world.send_wait("api", "Begin at the pier.\nSAY: begun");
            world.wait_for("api", "idle");
        } else {
            assert!(copy.contains("Begin at the pier."), "{generation}: {copy}");
            assert!(copy.contains("This context began with /"), "{copy}");
            assert!(copy.contains("## What this context began with"), "{copy}");
        }
    }
    let shown = world.sm(&["show", "api"]).exits(0).out;
    assert!(shown.contains(goal), "{shown}");
}

#[test]
fn what_was_compacted_comes_back_from_it() {
    let world = World::new();
    world.agent("api");
    world.send_wait(
        "api",
        "Label the ninth jar.\nRUN: echo jar_label_nine\nSAY: labelled",
    );
    world.wait_for("api", "idle");
    world.send_wait("api", "COMPACT:\nSAY: compacted");
    world.wait_for("api", "idle");
    world.send_wait("api", "SAY: what was I doing?");
    let back = world.given("[sm recovery]");
    assert_eq!(back.kind, RecordKind::HookContext);
    assert!(back.text.contains("Label the ninth jar."), "{}", back.text);
    assert!(back.text.contains("jar_label_nine"), "{}", back.text);
    assert!(back.text.chars().count() <= 9_500);
    assert_eq!(world.times("[sm recovery]"), 1);
}

#[test]
fn programs_without_a_transcript_have_none_and_it_says_so() {
    let world = World::with_config("[generic]\nquiet_ms = 200\n");
    world
        .sm(&["new", "--name", "cat", "--detach", "--", "cat"])
        .exits(0);
    world.wait_for("cat", "idle");
    world
        .sm(&["ledger", "cat"])
        .exits(1)
        .complains("there is no ledger of cat: sm reads no transcript of this program");
    world
        .sm(&["handoff", "--auto", "--session", "cat"])
        .exits(1)
        .complains("not supported for generic");
    world.agent("api");
    world
        .sm(&["ledger", "api"])
        .exits(1)
        .complains("nothing was said in this context yet");
    world
        .sm(&["handoff", "--auto", "--session", "api"])
        .exits(1)
        .complains("no ledger to hand off from");
}
