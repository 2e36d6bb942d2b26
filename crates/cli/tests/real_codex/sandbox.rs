//! Codex's own sandbox, in which commands can connect to nothing: `sm handoff` asks by the hook that
//! follows the call, and is answered by it.

use sm_testkit::model::texts_of;

use crate::common::handoff::text;
use crate::common::{World, occurrences};
use crate::handoff::{WORK, complete, empty_but_for};
use crate::last;

const SCHEDULED: &str =
    "[sm handoff] Handoff scheduled — will execute after current turn completes";

/// The line that `sm` printed for the hook.
fn asked(world: &World) -> String {
    let all = world.main_requests();
    let texts = all.iter().flat_map(texts_of);
    let mut with = texts.filter_map(|t| t.split_once("sm-ask:").map(|(_, rest)| rest.to_owned()));
    let rest = with.next().unwrap();
    format!("sm-ask:{}", rest.split_whitespace().next().unwrap())
}

/// The answers by the hook that the model was shown in the last request.
fn answers(world: &World) -> Vec<String> {
    let mut texts = texts_of(&last(world));
    texts.retain(|text| text.starts_with("[sm handoff]"));
    texts
}

fn no_handoff(world: &World, session: &str) {
    world.wait_state(session, "idle");
    for handoff in world.handoffs(session) {
        assert_eq!(handoff["state"], "refused", "{handoff}");
    }
    assert_eq!(world.show(session)["generation"], 1);
}

#[test]
fn in_its_own_sandbox_codex_hands_off_by_its_hook() {
    let Some(world) = World::codex("in_its_own_sandbox_codex_hands_off_by_its_hook") else {
        return;
    };
    world.start_idle("api", &[]);
    world.send_wait("api", &format!("{WORK}\nHOLDEND: old"), &[]);
    world.hold("old");
    // on disk before it is said, and said inside the turn
    world.wait_handoff("api", "scheduled");
    assert_eq!(occurrences(&last(&world), SCHEDULED), 1);
    world.model.release("old");
    let done = world.wait_handoff("api", "done");
    let after = world.wait_state("api", "idle");
    assert_eq!(after["generation"], 2);
    assert_eq!(
        (&done["trigger"], &done["carrier"]),
        (&"agent".into(), &"clear".into())
    );
    complete(&done, "half done\n");
    let new = text(&after["conversation_id"]);
    empty_but_for(&world, &new, &text(&done["prompt"]));

    // what was asked once asks for nothing when it is read again, here or elsewhere
    let line = asked(&world);
    std::fs::write(world.in_project("quoted"), format!("{line}\n")).unwrap();
    world.send_wait("api", "RUN: cat quoted", &[]);
    world.wait_state("api", "idle");
    assert!(occurrences(&last(&world), &line) > 0);
    assert_eq!(answers(&world), [] as [String; 0]);
    assert_eq!(world.handoffs("api").len(), 1);
    world.start_idle("other", &[]);
    world.send_wait("other", "RUN: cat quoted", &[]);
    no_handoff(&world, "other");
    assert_eq!(answers(&world), [] as [String; 0]);
}

#[test]
fn what_is_refused_is_told_in_the_same_turn_and_it_can_be_taken_back() {
    let test = "what_is_refused_is_told_in_the_same_turn_and_it_can_be_taken_back";
    let Some(world) = World::codex(test) else {
        return;
    };
    world.start_idle("api", &[]);
    world.send_wait("api", "RUN: : > notes.md\nTHEN: sm handoff notes.md", &[]);
    no_handoff(&world, "api");
    let said = answers(&world);
    assert!(
        said.len() == 1 && said[0].starts_with("[sm handoff] Error: "),
        "{said:?}"
    );
    assert_eq!(world.show("api")["turn"], 1);
    let work = "RUN: echo x > notes.md\nTHEN: sm handoff notes.md\nTHEN: sm handoff --cancel";
    world.send_wait("api", work, &[]);
    world.wait_state("api", "idle");
    let shown = last(&world);
    assert_eq!(occurrences(&shown, SCHEDULED), 1);
    assert_eq!(occurrences(&shown, "[sm handoff] Handoff cancelled"), 1);
    assert_eq!(world.show("api")["generation"], 1);
}

#[test]
fn a_sandbox_in_which_nothing_can_be_written_lets_it_hand_off_too() {
    let test = "a_sandbox_in_which_nothing_can_be_written_lets_it_hand_off_too";
    let Some(world) = World::codex(test) else {
        return;
    };
    world.start_idle("api", &["--", "--sandbox", "read-only"]);
    std::fs::write(world.in_project("notes.md"), "half done\n").unwrap();
    world.send_wait("api", "RUN: touch written; sm handoff notes.md", &[]);
    world.wait_handoff("api", "done");
    assert_eq!(world.wait_state("api", "idle")["generation"], 2);
    asked(&world);
    assert!(!world.in_project("written").exists(), "it is in force");
}

/// The agent was told nothing, so nothing may happen behind its back.
#[test]
fn a_request_that_no_daemon_heard_is_not_done_later() {
    let Some(world) = World::codex("a_request_that_no_daemon_heard_is_not_done_later") else {
        return;
    };
    world.start_idle("api", &[]);
    std::fs::write(world.in_project("notes.md"), "half done\n").unwrap();
    let gate = world.gate("gate");
    world.send_wait(
        "api",
        "RUN: cat gate; sm handoff notes.md\nHOLDEND: end",
        &[],
    );
    gate.wait_for_reader();
    world.kill_daemon();
    gate.open();
    world.hold("end");
    assert_eq!(occurrences(&last(&world), "sm-ask:"), 1);
    assert_eq!(answers(&world), [] as [String; 0]);
    world.model.release("end");
    no_handoff(&world, "api");
    let tools = world.events("api");
    assert!(
        tools.iter().any(|e| e.contains("turn 1 ended")),
        "{tools:#?}"
    );
}

/// Nobody carries it then: the command has said what that means.
#[test]
fn without_a_hook_a_sandbox_that_forbids_the_socket_is_named() {
    let test = "without_a_hook_a_sandbox_that_forbids_the_socket_is_named";
    let Some(world) = World::codex(test) else {
        return;
    };
    world.start_idle("api", &["--", "-c", "features.hooks=false"]);
    world.send_wait("api", WORK, &[]);
    let said = texts_of(&world.request_with("sm-ask:")).pop().unwrap();
    assert!(said.contains("exited with code 3"), "{said}");
    assert!(said.contains("Not done yet"), "{said}");
    assert!(said.contains("escalated permissions"), "{said}");
    no_handoff(&world, "api");
}
