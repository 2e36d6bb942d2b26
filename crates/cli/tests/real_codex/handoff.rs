//! Handoffs of Codex, by its own tool calls.

use crate::common::handoff::{WAKE, artifact, chain, opening, text};
use crate::common::{World, occurrences};
use serde_json::Value;
use sm_testkit::model::texts_of;
use std::time::Instant;

/// Codex's sandbox forbids its commands to connect to anything, the daemon's socket included, unless
/// its user allows them the network.
pub const CONNECTED: [&str; 3] = ["--", "-c", "sandbox_workspace_write.network_access=true"];

/// Two calls: the document is written, and handed off.
pub const WORK: &str = "RUN: echo half done > notes.md\nTHEN: sm handoff notes.md";

/// What the model is shown in a new thread: what Codex says of itself and its surroundings at the
/// beginning of every thread, as at that of the first, and the prompt. Nothing else.
#[track_caller]
pub fn empty_but_for(world: &World, conversation: &str, prompt: &str) {
    let mut first = opening(&world.main_requests()[0]);
    first.pop();
    let mut blocks = opening(&world.requests_of(conversation)[0]);
    assert_eq!(blocks.pop().as_deref(), Some(prompt));
    assert_eq!(blocks, first);
}

/// The document, what the terminal showed, and the thread's record are kept.
#[track_caller]
pub fn complete(handoff: &Value, document: &str) {
    assert_eq!(artifact(handoff, "document").1, document.as_bytes());
    let dump = String::from_utf8(artifact(handoff, "snapshot").1).unwrap();
    assert!(dump.contains("sm handoff"), "{dump}");
    let copy = String::from_utf8(artifact(handoff, "transcript").1).unwrap();
    assert!(copy.contains(&text(&handoff["from_conversation"])));
    assert!(copy.contains("Handoff scheduled"), "the turn is in it");
}

#[test]
fn codex_hands_its_work_to_an_empty_context() {
    let Some(world) = World::codex("codex_hands_its_work_to_an_empty_context") else {
        return;
    };
    let before = world.start_idle("api", &CONNECTED);
    world.at(WAKE, "RUN: cat notes.md\nHOLDEND: first");
    world.send_wait("api", &format!("{WORK}\nHOLDEND: old"), &[]);
    world.hold("old");
    world.wait_handoff("api", "scheduled");
    let modes = ["sequential", "important", "urgent"];
    let said = |mode: &str| format!("said {mode}:\n  <é> & \"two\" lines \\");
    let ids = modes.map(|mode| world.send("api", &said(mode), &["--mode", mode]));
    world.model.release("old");

    // the successor's first turn: it reads the document, and nobody speaks
    world.hold("first");
    world.wait_handoff("api", "prompted");
    for id in &ids {
        world.wait_held("api", id);
    }
    let after = world.show("api");
    let new = text(&after["conversation_id"]);
    let first = world.requests_of(&new);
    assert_eq!(first.len(), 2, "the prompt, and the document read");
    assert!(texts_of(&first[1]).last().unwrap().contains("half done"));
    world.model.release("first");

    let done = world.wait_handoff("api", "done");
    for id in &ids {
        world.wait_message("api", id, "consumed");
    }
    world.wait_state("api", "idle");
    empty_but_for(&world, &new, &text(&done["prompt"]));
    assert!(text(&done["prompt"]).starts_with(&world.wake_of("notes.md")));
    assert_eq!(world.once_ever(&world.wake_of("notes.md")), new);
    for mode in modes {
        assert_eq!(world.once_ever(&said(mode)), new, "{mode}");
    }
    let last = world.requests_of(&new).pop().unwrap();
    assert!(occurrences(&last, "RUN done") > 0, "after the first turn");

    // the same session, in the same process and terminal
    for same in ["id", "name", "pid", "tmux", "parent", "cwd"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    assert_eq!(
        (&after["generation"], &done["to_generation"]),
        (&2.into(), &2.into())
    );
    assert_eq!(done["carrier"], "clear");
    complete(&done, "half done\n");
    if cfg!(target_os = "linux") {
        // the lock of the new thread, before anything is typed into it
        let steps = done["steps"].to_string();
        assert!(
            !steps.contains("its proof comes with the prompt"),
            "{steps}"
        );
    }
}

/// Each successor reads its document, writes the next one and hands off, until the last.
fn rotations(test: &str, rounds: usize) {
    let Some(world) = World::codex(test) else {
        return;
    };
    let before = world.start_idle("api", &CONNECTED);
    let began = Instant::now();
    chain(&world, "api", rounds);
    for round in 1..=rounds {
        world.request_with(&world.wake_of(&format!("notes-{round}.md")));
    }
    world.wait_handoff("api", "done");
    eprintln!("{rounds} rotations in {:?}", began.elapsed());
    let after = world.wait_state("api", "idle");
    assert_eq!(after["generation"], rounds + 1);
    for same in ["id", "name", "pid", "tmux"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    let all = world.handoffs("api");
    assert_eq!(all.len(), rounds);
    let mut conversation = None;
    for (round, listed) in (1..=rounds).zip(all.iter().rev()) {
        let done = world.ask(&format!("/handoffs/{}", text(&listed["id"])));
        let generations = (&done["from_generation"], &done["to_generation"]);
        assert_eq!(generations, (&round.into(), &(round + 1).into()));
        assert_eq!(
            (&done["state"], &done["carrier"]),
            (&"done".into(), &"clear".into())
        );
        if let Some(before) = conversation {
            assert_eq!(text(&done["from_conversation"]), before);
        }
        complete(&done, &format!("round {round}\n"));
        let new = world.once_ever(&world.wake_of(&format!("notes-{round}.md")));
        empty_but_for(&world, &new, &text(&done["prompt"]));
        conversation = Some(new);
    }
    assert_eq!(conversation, Some(text(&after["conversation_id"])));
}

#[test]
fn ten_rotations_in_a_row_lose_and_double_nothing() {
    rotations("ten_rotations_in_a_row_lose_and_double_nothing", 10);
}

#[test]
#[ignore = "long: the same as ten, five times"]
fn fifty_rotations_in_a_row_lose_and_double_nothing() {
    rotations("fifty_rotations_in_a_row_lose_and_double_nothing", 50);
}

#[test]
fn documents_are_in_the_first_request_of_the_successor() {
    let test = "documents_are_in_the_first_request_of_the_successor";
    let Some(world) = World::codex(test) else {
        return;
    };
    crate::common::handoff::documents_are_in_the_first_request(&world, &[]);
}
