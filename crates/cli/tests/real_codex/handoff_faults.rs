//! Handoffs of Codex beside a person, without hooks, and when something ends in the middle.

use crate::common::World;
use crate::common::handoff::{WAKE, text};
use crate::handoff::{CONNECTED, WORK, empty_but_for};
use crate::{APPROVAL, enter};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use sm_testkit::model::texts_of;
use sm_testkit::process::Process;

/// A session whose handoff is scheduled, in a turn that lasts until `old` is released.
#[track_caller]
fn scheduled(world: &World) -> Value {
    world.start_idle("api", &CONNECTED);
    world.send_wait("api", &format!("{WORK}\nHOLDEND: old"), &[]);
    world.hold("old");
    world.wait_handoff("api", "scheduled");
    world.show("api")
}

/// The handoff's end: its prompt arrived once, in an empty context.
#[track_caller]
fn arrived(world: &World) -> Value {
    let done = world.wait_handoff("api", "done");
    let shown = world.wait_state("api", "idle");
    assert_eq!(world.once_ever(WAKE), text(&shown["conversation_id"]));
    empty_but_for(
        world,
        &text(&shown["conversation_id"]),
        &text(&done["prompt"]),
    );
    assert_eq!(shown["generation"], 2);
    done
}

/// Codex cannot put a draft aside.
#[test]
fn a_handoff_waits_for_a_draft() {
    let Some(world) = World::codex("a_handoff_waits_for_a_draft") else {
        return;
    };
    scheduled(&world);
    let draft = "half of a thought";
    world.type_text("api", draft);
    world.wait_screen("api", draft);
    world.model.release("old");
    let open = world.wait_handoff("api", "prepared");
    world.wait_held("api", &format!("{}-clear1", text(&open["id"])));
    world.wait_screen("api", &format!("› {draft}"));
    enter(&world, "api", |r| texts_of(r).iter().any(|t| t == draft));
    arrived(&world);
    assert_eq!(world.once_ever(draft), text(&open["from_conversation"]));
}

#[test]
fn a_handoff_waits_for_an_approval() {
    let Some(world) = World::codex("a_handoff_waits_for_an_approval") else {
        return;
    };
    world.start_idle("api", &CONNECTED);
    world.send_wait("api", crate::ESCALATED, &[]);
    world.wait_state("api", "waiting");
    world.wait_screen("api", APPROVAL);
    std::fs::write(world.in_project("notes.md"), "from a person\n").unwrap();
    world
        .sm(&["handoff", "notes.md", "--session", "api"])
        .exits(0);
    let id = world.send("api", "y if this were typed", &["--mode", "urgent"]);
    world.wait_held("api", &id);
    world.wait_screen("api", APPROVAL);
    assert!(!world.in_project("approved").exists());
    world.key("api", "y");
    arrived(&world);
    assert!(world.in_project("approved").exists());
    world.wait_message("api", &id, "consumed");
}

#[test]
fn a_handoff_without_any_hook() {
    let Some(world) = World::codex("a_handoff_without_any_hook") else {
        return;
    };
    let mut args = CONNECTED.to_vec();
    args.extend(["-c", "features.hooks=false"]);
    world.start_idle("api", &args);
    world.send_wait("api", WORK, &[]);
    arrived(&world);
}

#[test]
fn a_killed_agent_is_started_again_with_the_document() {
    let Some(world) = World::codex("a_killed_agent_is_started_again_with_the_document") else {
        return;
    };
    let before = scheduled(&world);
    let pid = i32::try_from(before["pid"].as_i64().unwrap()).unwrap();
    let agent = Process::find(Pid::from_raw(pid).unwrap()).unwrap();
    agent.signal(Signal::KILL);
    let done = arrived(&world);
    assert_eq!(done["carrier"], "relaunch");
    let after = world.show("api");
    for same in ["id", "name", "tmux", "cwd"] {
        assert_eq!(after[same], before[same], "{same}");
    }
}

#[test]
fn a_daemon_killed_at_any_step_of_a_handoff_ends_it_once() {
    let test = "a_daemon_killed_at_any_step_of_a_handoff_ends_it_once";
    let Some(world) = World::codex(test) else {
        return;
    };
    world.start_idle("api", &CONNECTED);
    let moments = [
        "scheduled",
        "are safe",
        "clear1 written",
        "the context is left|the clear was taken", // by its lock, or with the prompt
        "wake1 written",
        "has its prompt",
    ];
    for (generation, moment) in (2..).zip(moments) {
        let notes = format!("notes-{generation}.md");
        let done = world.handed_off_over_a_crash("api", &notes, moment);
        let shown = world.wait_state("api", "idle");
        assert_eq!(
            shown["generation"],
            generation,
            "{moment}\n{}",
            world.about("api")
        );
        let new = world.once_ever(&world.wake_of(&notes));
        assert_eq!(text(&shown["conversation_id"]), new);
        empty_but_for(&world, &new, &text(&done["prompt"]));
    }
}
