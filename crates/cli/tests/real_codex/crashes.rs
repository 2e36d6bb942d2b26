//! The daemon dies or is stopped in every situation.

use rustix::process::Signal;
use serde_json::Value;
use sm_testkit::model::conversation_of;

use crate::common::endings::{each_text_survives, kill_agent, kill_tmux};
use crate::common::{World, occurrences};
use crate::{APPROVAL, ESCALATED, command, exactly_once, field, last, once, submit};

#[test]
fn a_daemon_killed_while_it_delivers_delivers_once() {
    let Some(world) = World::codex("a_daemon_killed_while_it_delivers_delivers_once") else {
        return;
    };
    world.start_idle("one", &[]);
    let mut texts = Vec::new();
    for until in ["", "", "written", "written", "submitted", ""] {
        let text = format!("message {} survives", texts.len());
        let id = world.send("one", &text, &[]);
        if !until.is_empty() {
            world.wait_message("one", &id, until);
        }
        world.kill_daemon();
        texts.push(text);
        world.wait_message("one", &id, "submitted");
        world.wait_state("one", "idle");
    }
    for text in &texts {
        exactly_once(&world, text);
    }
    let session = world.show("one");
    assert_eq!(session["generation"], 1);
}

#[test]
fn a_daemon_killed_during_a_turn_finds_out_how_it_ended() {
    let name = "a_daemon_killed_during_a_turn_finds_out_how_it_ended";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.start_idle("one", &[]);
    for (how, expected) in [("said", 1), ("escaped", 0)] {
        let prompt = format!("HOLD: {how}\nSAY: the end");
        world.send_wait("one", &prompt, &[]);
        world.hold(how);
        let text = format!("after it was {how}");
        let id = world.send("one", &text, &[]);
        world.wait_held("one", &id);
        world.kill_daemon();
        if expected == 1 {
            world.model.release(how);
            world.wait_screen("one", "• the end");
        } else {
            world.key("one", "Escape");
            world.wait_screen("one", "interrupted");
        }
        world.wait_message("one", &id, "submitted");
        world.wait_state("one", "idle");
        once(&world, &text);
    }
}

#[test]
fn a_daemon_killed_while_a_tool_runs_still_joins_the_turn() {
    let name = "a_daemon_killed_while_a_tool_runs_still_joins_the_turn";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.start_idle("one", &[]);
    for alive in [true, false] {
        let gate = world.gate(&format!("gate-{alive}"));
        let prompt = format!("RUN: cat gate-{alive}");
        world.send_wait("one", &prompt, &[]);
        gate.wait_for_reader();
        let text = format!("joins ({alive})");
        let id = world.send("one", &text, &["--mode", "important"]);
        world.wait_held("one", &id);
        world.kill_daemon();
        if alive {
            world.show("one"); // starts it
        }
        gate.open();
        let message = world.wait_message("one", &id, "submitted");
        if alive {
            assert_eq!(message["way"], "hook_answer", "{}", world.about("one"));
        }
        world.wait_state("one", "idle");
        once(&world, &text);
    }
}

#[test]
fn a_daemon_killed_before_an_approval_or_a_draft_touches_neither() {
    let name = "a_daemon_killed_before_an_approval_or_a_draft_touches_neither";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", ESCALATED, &[]);
    world.wait_state("one", "waiting");
    world.wait_screen("one", APPROVAL);
    let first = world.send("one", "after the answer", &[]);
    world.wait_held("one", &first);
    world.kill_daemon();
    world.wait_state("one", "waiting");
    assert!(world.wait_held("one", &first).contains("a person"));
    world.wait_screen("one", APPROVAL);
    world.key("one", "y");
    world.wait_message("one", &first, "submitted");
    world.wait_state("one", "idle");
    let draft = "half of a thought";
    world.type_text("one", draft);
    world.wait_screen("one", draft);
    let second = world.send("one", "after the draft", &[]);
    world.wait_held("one", &second);
    world.kill_daemon();
    assert!(world.wait_held("one", &second).contains("half-typed"));
    world.wait_screen("one", &format!("› {draft}"));
    world.key("one", "C-u");
    world.wait_message("one", &second, "submitted");
    world.wait_state("one", "idle");
    once(&world, "after the answer");
    exactly_once(&world, "after the draft");
    assert_eq!(occurrences(&last(&world), draft), 0);
}

#[test]
fn a_daemon_killed_right_after_a_start_knows_its_session() {
    let name = "a_daemon_killed_right_after_a_start_knows_its_session";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.start("one", &["--prompt=SAY: the first"]);
    world.request_with("SAY: the first");
    world.kill_daemon();
    world.wait_state("one", "idle");
    world.send_wait("one", "the second", &[]);
    world.wait_state("one", "idle");
    exactly_once(&world, "SAY: the first");
    exactly_once(&world, "the second");
}

#[test]
fn a_stopped_daemon_does_not_hold_codex_up() {
    let Some(world) = World::codex("a_stopped_daemon_does_not_hold_codex_up") else {
        return;
    };
    world.start_idle("one", &[]);
    world.signal_daemon(Signal::STOP);
    submit(&world, "one", "RUN: seq 1 20000");
    world.wait_screen("one", "• RUN done");
    submit(&world, "one", "SAY: said while nobody listened");
    world.wait_screen("one", "• said while nobody listened");
    world.signal_daemon(Signal::CONT);
    world.send_wait("one", "and now?", &[]);
    let session = world.wait_state("one", "idle");
    assert_eq!(session["generation"], 1);
    once(&world, "and now?"); // typed, or by the hook that ended the turn
    let own = field(&session, "conversation_id");
    assert_eq!(conversation_of(&last(&world)), Some(own.as_str()));
    let problems = world.ask("/status")["problems"].clone();
    assert_eq!(problems, Value::Array(Vec::new()));
}

#[test]
fn a_context_cleared_while_the_daemon_was_dead_is_a_new_generation() {
    let name = "a_context_cleared_while_the_daemon_was_dead_is_a_new_generation";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", "before it", &[]);
    let before = world.wait_state("one", "idle");
    world.kill_daemon();
    command(&world, "one", "/clear", |screen| {
        !screen.contains("before it")
    });
    submit(&world, "one", "SAY: in the new one");
    world.wait_screen("one", "• in the new one");
    world.send_wait("one", "and after it", &[]);
    let after = world.wait_state("one", "idle");
    assert_eq!(after["generation"], 2);
    assert_ne!(before["conversation_id"], after["conversation_id"]);
    once(&world, "and after it"); // typed, or by the hook that ended the turn
    assert_eq!(occurrences(&last(&world), "before it"), 0);
}

#[test]
fn what_was_taken_right_before_the_end_is_in_the_restored_conversation() {
    for (test, kill) in [
        (
            "what_was_taken_right_before_a_kill",
            kill_agent as fn(&World),
        ),
        ("what_was_taken_right_before_tmux_went", kill_tmux),
    ] {
        if let Some(world) = World::codex(test) {
            each_text_survives(&world, &[], kill);
        }
    }
}
