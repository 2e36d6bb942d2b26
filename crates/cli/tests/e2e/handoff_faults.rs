//! Handoffs when things go wrong: drafts, dialogs, hooks that are missing or late, keys that are
//! swallowed, clears that do nothing, agents and servers that die.

use crate::fault_points::Points;
use crate::handoff::{Turn, document, reaches, wake};
use crate::world::{World, end, eventually, process, text};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A world whose agents have these faults, and one of them in a turn.
fn faulty(knobs: &str) -> (World, PathBuf) {
    let mut world = World::new();
    world.env.set("FAKE_AGENT", knobs);
    world.agent("api");
    let notes = document(&world, "notes.md", "half done");
    (world, notes)
}

#[track_caller]
fn rotated(world: &World, id: &str, notes: &Path, carrier: &str) -> Value {
    let done = reaches(world, id, &["done"]);
    assert_eq!(done["carrier"], carrier, "{done:#}");
    assert_eq!(done["to_generation"], 2, "{done:#}");
    wake(world, &format!("Read {} and", notes.display()));
    let shown = world.show("api");
    assert_eq!(shown["generation"], 2);
    let said = world.send_wait("api", "and now?");
    assert!(matches!(
        text(&said["state"]).as_str(),
        "submitted" | "consumed"
    ));
    done
}

#[test]
fn a_rotation_survives_faults_of_the_agent() {
    for knobs in [
        "no_session_start_hook",
        "no_prompt_hook",
        "no_session_start_hook,no_prompt_hook",
        "late_start_hook_ms=10000",
        "late_prompt_hook_ms=10000",
        "swallow_enter_after_clear=1",
        "swallow_enter=1",
        "slow_clear_ms=3000",
        "no_stop_hook",
        "no_mailbox",
    ] {
        let (world, notes) = faulty(knobs);
        let turn = Turn::begin(&world, "api");
        let id = turn.scheduled(&world, &notes);
        turn.end();
        rotated(&world, &id, &notes, "clear");
    }
}

#[test]
fn a_draft_is_put_aside_and_comes_back() {
    let (world, notes) = faulty("");
    let turn = Turn::begin(&world, "api");
    let id = turn.scheduled(&world, &notes);
    let pane = world.pane("api");
    pane.types("a thought of mine");
    pane.shows("a thought of mine");
    turn.end();
    let done = reaches(&world, &id, &["done"]);
    assert_eq!(done["carrier"], "clear", "{done:#}");
    wake(&world, &format!("Read {} and", notes.display()));
    world.wait_for("api", "idle");
    pane.shows("a thought of mine");
    assert_eq!(world.times("a thought of mine"), 0, "it is still a draft");
}

#[test]
fn a_dialog_at_the_end_of_the_turn_is_waited_for() {
    let (world, notes) = faulty("");
    let marker = world.gate("allowed");
    let more = format!("ASK: touch {}", marker.display());
    let turn = Turn::begin_with(&world, "api", &more);
    let id = turn.scheduled(&world, &notes);
    turn.end();
    world.wait_for("api", "waiting");
    let open = world.get(&format!("/handoffs/{id}"));
    assert_eq!(open["state"], "scheduled", "{open:#}");
    assert!(!marker.exists(), "nobody has answered it");
    // who is waited for, and for what, stands wherever a person looks
    let asks = format!("touch {}", marker.display());
    let waits = text(&open["waits_for_person"]);
    assert!(waits.contains(&asks), "{open:#}");
    let shown = world.show("api");
    assert_eq!(shown["handoff"]["waits_for_person"], json!(waits));
    let attention = text(&shown["attention"]);
    assert!(
        attention.contains(&asks) && attention.contains("its handoff waits for that"),
        "{attention}"
    );
    let status = world.get("/status")["attention"].to_string();
    assert!(status.contains("its handoff waits for that"), "{status}");
    let listed = world.sm(&["handoffs"]).exits(0).out;
    assert!(listed.contains("scheduled, waits for you"), "{listed}");
    let told = world.sm(&["show", "api"]).exits(0).out;
    assert!(told.contains("scheduled: waits for a person: "), "{told}");
    world.pane("api").key("Enter");
    rotated(&world, &id, &notes, "clear");
    assert!(marker.exists());
}

#[test]
fn a_dialog_that_nobody_answers_in_time_lets_the_old_context_go_on() {
    let world = World::with_config("[handoff]\nperson_timeout = \"1s\"\n");
    world.agent("api");
    let notes = document(&world, "notes.md", "half done");
    let marker = world.gate("allowed");
    let more = format!("ASK: touch {}", marker.display());
    let turn = Turn::begin_with(&world, "api", &more);
    let id = turn.scheduled(&world, &notes);
    turn.end();
    let ended = reaches(&world, &id, &["rolled_back"]);
    let steps = ended["steps"].to_string();
    assert!(steps.contains("nobody came within 1 s"), "{ended:#}");
    assert!(Path::new(&text(&ended["copy"])).exists(), "{ended:#}");
    let shown = world.wait_for("api", "waiting");
    assert_eq!(shown["generation"], 1, "the old context is still there");
    assert_eq!(shown["handoff"], Value::Null);
    world.pane("api").key("Enter");
    world.wait_for("api", "idle");
    assert!(marker.exists(), "its turn went on with a person's answer");
    let said = world.send_wait("api", "and now?");
    assert!(matches!(
        text(&said["state"]).as_str(),
        "submitted" | "consumed"
    ));
    assert_eq!(world.show("api")["generation"], 1);
    assert_eq!(world.times("continue from where you left off"), 0);
}

#[test]
fn a_clear_that_does_nothing_is_followed_by_a_new_process_in_the_same_pane() {
    let (world, notes) = faulty("ignore_clear=100");
    let turn = Turn::begin(&world, "api");
    let before = world.show("api");
    let old = process(&before["pid"]);
    let id = turn.scheduled(&world, &notes);
    turn.end();
    let done = rotated(&world, &id, &notes, "relaunch");
    assert!(!old.is_alive());
    let after = world.show("api");
    assert_eq!(after["tmux"], before["tmux"], "{done:#}");
    assert_ne!(after["pid"], before["pid"]);
    let after = Turn::begin(&world, "api");
    assert_eq!(after.secret, turn.secret, "its environment is the same");
    after.end();
}

#[test]
fn an_agent_that_crashes_is_started_with_the_document() {
    for scheduled in [true, false] {
        let (world, notes) = faulty("");
        let turn = Turn::begin(&world, "api");
        let before = world.show("api");
        let id = turn.scheduled(&world, &notes);
        if scheduled {
            end(&process(&before["pid"]), Signal::KILL);
        } else {
            turn.end();
            reaches(&world, &id, &["prepared", "cleared", "prompted", "done"]);
            process(&before["pid"]).signal(Signal::KILL);
        }
        let done = reaches(&world, &id, &["done"]);
        if scheduled {
            assert_eq!(done["carrier"], "relaunch", "{done:#}");
            assert_eq!(world.show("api")["tmux"], before["tmux"]);
            wake(&world, &format!("Read {} and", notes.display()));
        } else {
            assert!(world.times(&format!("Read {} and", notes.display())) >= 1);
        }
    }
}

#[test]
fn without_a_successor_the_old_conversation_goes_on() {
    let (world, notes) = faulty("ignore_clear=100,die_on_argument");
    world.agent("parent");
    let turn = Turn::begin(&world, "api");
    let before = world.show("api");
    let id = turn.scheduled(&world, &notes);
    turn.end();
    let ended = reaches(&world, &id, &["rolled_back"]);
    let after = world.show("api");
    assert_eq!(
        after["conversation_id"], before["conversation_id"],
        "{ended:#}"
    );
    assert_eq!(after["tmux"], before["tmux"]);
    assert!(Path::new(&text(&ended["copy"])).exists());
    // it is told until a person goes on with the session
    let why = "the successor could not be given its prompt";
    assert_eq!(after["failed_handoff"]["id"], id);
    assert_eq!(after["failed_handoff"]["state"], "rolled_back");
    assert_eq!(after["failed_handoff"]["reason"], why);
    let retry = format!("sm handoff {} --session api", text(&ended["copy"]));
    world
        .sm(&[])
        .exits(0)
        .says(&format!("sm handoffs show {id}"))
        .says(&retry)
        .says(why);
    let said = world.send_wait("api", "are you there?");
    assert_ne!(said["state"], "failed");
    let after = world.show("api");
    assert_eq!(after["failed_handoff"], json!(null), "{after:#}");
    assert_eq!(after["attention"], json!(null), "{after:#}");
    let heard = world.given("are you there?");
    assert_eq!(json!(heard.conversation), before["conversation_id"]);
}

#[test]
fn a_lost_terminal_keeps_the_handoff_and_a_restore_goes_on_with_it() {
    let (world, notes) = faulty("");
    let turn = Turn::begin(&world, "api");
    let id = turn.scheduled(&world, &notes);
    world.tmux(&["kill-server"]);
    world.wait_for("api", "lost");
    let open = world.get(&format!("/handoffs/{id}"));
    let state = text(&open["state"]);
    assert!(
        matches!(state.as_str(), "scheduled" | "prepared"),
        "{open:#}"
    );
    world.sm(&["restore", "api"]).exits(0);
    let done = reaches(&world, &id, &["done"]);
    assert_eq!(done["to_generation"], 2);
    wake(&world, &format!("Read {} and", notes.display()));
}

#[test]
fn a_session_that_is_killed_while_its_agent_is_started_again_stays_dead() {
    for passed in [
        "before journal: exited #1",
        "after effect: prepare #1",
        "before effect: launch #1",
        "after effect: launch #1",
        "before launcher: relaunch #1",
        "after journal: started #1",
    ] {
        let mut world = World::new();
        world.env.set("FAKE_AGENT", "slow_start_ms=1000");
        let points = Points::of(&world);
        world.agent("api");
        let notes = document(&world, "notes.md", "half done");
        let turn = Turn::begin(&world, "api");
        let id = turn.scheduled(&world, &notes);
        points.arm(None);
        end(&process(&world.show("api")["pid"]), Signal::KILL);
        // somewhere between the two processes
        eventually(passed, || points.passed().iter().any(|p| p == passed));
        world.sm(&["kill", "api"]).exits(0);
        let ended = reaches(&world, &id, &["abandoned"]);
        assert!(Path::new(&text(&ended["copy"])).exists());
        let shown = world.show("api");
        assert_eq!(shown["state"], "exited", "{shown}");
        assert_eq!(shown["tmux"]["pane"], Value::Null);
        assert_eq!(world.times("continue from where you left off"), 0);
    }
}
