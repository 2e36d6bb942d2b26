//! The daemon is killed, or stands still, while messages are under way.

use crate::common::endings::{each_text_survives, kill_agent, kill_tmux};
use crate::common::{World, occurrences};
use crate::people::{composer, dialog, tool_ran, wait_composer};
use crate::{FREE, claude, closing, once};
use rustix::process::Signal;
use sm_testkit::wait_until;

/// Any command starts it again.
fn restart(world: &World) {
    world.sm(&["ls"]).exits(0);
    assert!(world.daemon().is_some());
}

#[test]
fn a_message_to_an_idle_agent_survives_a_crash_at_any_moment() {
    let Some(world) = claude("a_message_to_an_idle_agent_survives_a_crash_at_any_moment") else {
        return;
    };
    world.start_idle("api", &FREE);
    let mut texts = Vec::new();
    for (n, moment) in ["accepted", "written", "submitted", "requested"]
        .into_iter()
        .enumerate()
    {
        let text = format!("killed when it was {moment}.");
        let id = format!("crash-{n}");
        world.post("api", &id, &text);
        match moment {
            "accepted" => {}
            "requested" => drop(world.request_with(&text)),
            state => drop(world.wait_message("api", &id, state)),
        }
        world.kill_daemon();
        restart(&world);
        world.wait_message("api", &id, "submitted");
        world.wait_state("api", "idle");
        texts.push((id, text));
    }
    let last = closing(&world, "api");
    for (id, text) in &texts {
        world.wait_message("api", id, "consumed");
        assert_eq!(
            occurrences(&last, text),
            1,
            "{text}\n{}",
            world.about("api")
        );
    }
}

#[test]
fn a_long_message_survives_a_crash_while_it_is_typed() {
    let Some(world) = claude("a_long_message_survives_a_crash_while_it_is_typed") else {
        return;
    };
    world.start_idle("api", &FREE);
    let lines: Vec<String> = (0..800).map(|n| format!("{n} a long message")).collect();
    let text = lines.join("\n"); // newer versions take a line end at the end off
    world.post("api", "long", &text);
    world.wait_message("api", "long", "written");
    world.kill_daemon();
    restart(&world);
    world.request_with(&text);
    once(&world, "api", "long", &text);
}

#[test]
fn an_important_message_survives_a_crash_while_a_tool_runs() {
    let Some(world) = claude("an_important_message_survives_a_crash_while_a_tool_runs") else {
        return;
    };
    world.start_idle("api", &FREE);
    let gate = world.gate("gate");
    world.send_wait("api", "RUN: read l < gate; echo got-$l", &[]);
    gate.wait_for_reader();
    let text = "important, and then a crash";
    let id = world.send("api", text, &["--mode", "important"]);
    world.kill_daemon();
    restart(&world);
    gate.open();
    world.request_with(text);
    assert_eq!(
        world.wait_message("api", &id, "submitted")["way"],
        "hook_answer"
    );
    once(&world, "api", &id, text);
}

#[test]
fn what_a_hook_was_answered_is_not_given_again_after_a_crash() {
    let Some(world) = claude("what_a_hook_was_answered_is_not_given_again_after_a_crash") else {
        return;
    };
    world.start_idle("api", &FREE);
    for (n, mode) in ["important", "sequential"].into_iter().enumerate() {
        let gate = world.gate(&format!("gate{n}"));
        let prompt = format!("RUN: read l < gate{n}; echo got-$l");
        world.send_wait("api", &prompt, &[]);
        gate.wait_for_reader();
        let text = format!("{mode}, and a crash as soon as the model has it.");
        let id = world.send("api", &text, &["--mode", mode]);
        gate.open();
        world.request_with(&text);
        world.kill_daemon();
        restart(&world);
        once(&world, "api", &id, &text);
        world.wait_state("api", "idle");
    }
}

#[test]
fn ten_messages_survive_a_crash_in_the_turn_and_one_at_its_end() {
    let Some(world) = claude("ten_messages_survive_a_crash_in_the_turn_and_one_at_its_end") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.send_wait("api", "HOLD: long\nSAY: finished", &[]);
    world.hold("long");
    let texts: Vec<String> = (0..10).map(|n| format!("queued words {n}.")).collect();
    let ids: Vec<String> = texts.iter().map(|t| world.send("api", t, &[])).collect();
    world.kill_daemon();
    restart(&world);
    world.model.release("long");
    world.request_with(&texts[9]);
    world.kill_daemon();
    restart(&world);
    let last = closing(&world, "api");
    for (text, id) in texts.iter().zip(&ids) {
        world.wait_message("api", id, "consumed");
        assert_eq!(
            occurrences(&last, text),
            1,
            "{text}\n{}",
            world.about("api")
        );
    }
}

#[test]
fn an_urgent_message_survives_a_crash_and_interrupts_once() {
    let Some(world) = claude("an_urgent_message_survives_a_crash_and_interrupts_once") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.send_wait("api", "HOLD: ever\nSAY: only half", &[]);
    world.hold("ever");
    let held = world.request_with("HOLD: ever");
    world.wait_screen("api", "●");
    let text = "urgent, and then a crash";
    world.post_mode("api", "urgent-crash", text, "urgent");
    world.kill_daemon();
    restart(&world);
    assert!(
        world
            .model
            .wait_for_abandoned(held.seq, crate::common::DEADLINE)
    );
    world.request_with(text);
    once(&world, "api", "urgent-crash", text);
}

#[test]
fn turns_that_end_without_a_hook_are_known_after_a_crash() {
    let Some(world) = claude("turns_that_end_without_a_hook_are_known_after_a_crash") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.send_wait("api", "HOLD: ever\nSAY: only half", &[]);
    world.hold("ever");
    world.wait_screen("api", "●");
    let text = "after an Escape that nobody saw";
    let id = world.send("api", text, &[]);
    world.kill_daemon();
    world.key("api", "Escape");
    world.wait_screen("api", "Interrupted");
    restart(&world);
    world.request_with(text);
    once(&world, "api", &id, text);

    world.wait_state("api", "idle");
    world.send_wait("api", "HOLD: error\nRUN: true", &[]);
    world.hold("error");
    let text = "after an error that nobody saw";
    let id = world.send("api", text, &[]);
    world.kill_daemon();
    world.model.control(|control| {
        control.fail_next = Some(sm_testkit::model::FailNext {
            status: 400,
            message: "no".into(),
            count: 100, // newer versions ask again
        });
    });
    world.model.release("error");
    world.wait_screen("api", "API Error");
    world.model.control(|control| control.fail_next = None);
    restart(&world);
    world.request_with(text);
    once(&world, "api", &id, text);
}

#[test]
fn a_turn_that_ended_without_a_daemon_is_known_afterwards() {
    let Some(world) = claude("a_turn_that_ended_without_a_daemon_is_known_afterwards") else {
        return;
    };
    world.start_idle("api", &FREE);
    let gate = world.gate("gate");
    world.send_wait("api", "RUN: read l < gate; echo got-$l", &[]);
    gate.wait_for_reader();
    let text = "after a turn that nobody watched";
    let id = world.send("api", text, &["--mode", "important"]);
    let other = "and a sequential one";
    let second = world.send("api", other, &[]);
    world.kill_daemon();
    gate.open();
    // a hook starts the daemon again: no command of a person is needed
    world.request_with(text);
    world.request_with(other);
    once(&world, "api", &id, text);
    once(&world, "api", &second, other);
}

#[test]
fn a_dialog_is_left_alone_after_a_crash() {
    let Some(world) = claude("a_dialog_is_left_alone_after_a_crash") else {
        return;
    };
    dialog(&world);
    let text = "1 yes, but not to the dialog";
    let id = world.send("api", text, &["--mode", "important"]);
    world.kill_daemon();
    restart(&world);
    assert!(world.wait_held("api", &id).contains("person"));
    assert_eq!(world.show("api")["state"], "waiting");
    assert!(world.screen("api").contains("Do you want to proceed?"));
    assert!(!tool_ran(&world));
    world.key("api", "Enter");
    world.request_with(text);
    assert!(tool_ran(&world));
    once(&world, "api", &id, text);
}

#[test]
fn a_draft_is_left_alone_after_a_crash() {
    let Some(world) = claude("a_draft_is_left_alone_after_a_crash") else {
        return;
    };
    world.start_idle("api", &FREE);
    let draft = "❯\u{a0}typed before the crash";
    world.type_text("api", "typed before the crash");
    wait_composer(&world, "api", draft);
    let mut texts = Vec::new();
    for moment in ["accepted", "written"] {
        let text = format!("beside a draft, killed when {moment}.");
        let id = format!("draft-{moment}");
        world.post("api", &id, &text);
        if moment == "written" {
            world.wait_message("api", &id, "written");
        }
        world.kill_daemon();
        restart(&world);
        world.wait_message("api", &id, "submitted");
        world.wait_state("api", "idle");
        assert_eq!(composer(&world, "api"), draft);
        texts.push((id, text));
    }
    world.key("api", "Enter");
    let request = world.request_with("typed before the crash");
    for (_, text) in &texts {
        assert_eq!(occurrences(&request, text), 1, "{text}");
    }
    for (id, text) in &texts {
        once(&world, "api", id, text);
    }
}

#[test]
fn a_daemon_that_stands_still_stalls_nobody() {
    let Some(world) = claude("a_daemon_that_stands_still_stalls_nobody") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.signal_daemon(Signal::STOP);
    // more output than any buffer on the way holds
    world.type_text("api", "RUN: seq -f 'line-%.0f' 20000; echo the-last-line");
    wait_composer(
        &world,
        "api",
        "❯\u{a0}RUN: seq -f 'line-%.0f' 20000; echo the-last-line",
    );
    world.key("api", "Enter");
    world.request_with("the-last-line");
    world.wait_screen("api", "RUN done");
    world.type_text("api", "still typing");
    wait_composer(&world, "api", "❯\u{a0}still typing");
    world.key("api", "C-u");
    world.signal_daemon(Signal::CONT);
    let known = wait_until(crate::common::DEADLINE, || {
        let shown = world.show("api");
        (shown["turn"] == 1 && shown["state"] == "idle").then_some(())
    });
    assert!(known.is_some(), "{}", world.about("api"));
    let text = "it goes on";
    let id = world.send("api", text, &[]);
    once(&world, "api", &id, text);
}

#[test]
fn what_a_killed_agent_had_not_written_down_is_given_to_the_restored_one() {
    let test = "what_a_killed_agent_had_not_written_down_is_given_to_the_restored_one";
    if let Some(world) = claude(test) {
        let again = each_text_survives(&world, &FREE, kill_agent);
        assert!(again > 0, "nothing was lost: this has shown nothing");
    }
}

#[test]
fn what_a_killed_newest_agent_had_not_written_down_is_given_to_the_restored_one() {
    let test = "what_a_killed_newest_agent_had_not_written_down_is_given_to_the_restored_one";
    if let Some(world) = World::claude_newest(test) {
        let again = each_text_survives(&world, &FREE, kill_agent);
        assert!(again > 0, "nothing was lost: this has shown nothing");
    }
}

#[test]
fn what_went_with_tmux_is_given_to_the_restored_agent() {
    if let Some(world) = claude("what_went_with_tmux_is_given_to_the_restored_agent") {
        let again = each_text_survives(&world, &FREE, kill_tmux);
        assert!(again > 0, "nothing was lost: this has shown nothing");
    }
}

#[test]
fn what_went_with_tmux_is_given_to_the_restored_newest_agent() {
    let test = "what_went_with_tmux_is_given_to_the_restored_newest_agent";
    if let Some(world) = World::claude_newest(test) {
        let again = each_text_survives(&world, &FREE, kill_tmux);
        assert!(again > 0, "nothing was lost: this has shown nothing");
    }
}
