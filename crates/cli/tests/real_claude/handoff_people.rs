//! Handoffs beside a person at the same terminal, and what ends in the middle of one.

use crate::common::handoff::{WAKE, text};
use crate::common::{DEADLINE, World, occurrences};
use crate::handoff::{WORK, empty_but_for, nothing_but};
use crate::people::{composer, dialog, tool_ran, wait_composer};
use crate::{ASKING, FREE, claude};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use sm_testkit::model::{conversation_of, texts_of};
use sm_testkit::process::Process;
use sm_testkit::wait_until;
use std::path::{Path, PathBuf};

/// A session whose handoff is scheduled, in a turn that lasts until `old` is released.
#[track_caller]
fn scheduled(world: &World) -> Value {
    world.start_idle("api", &FREE);
    world.send_wait("api", &format!("{WORK}\nHOLDEND: old"), &[]);
    world.hold("old");
    world.wait_handoff("api", "scheduled");
    world.show("api")
}

/// The handoff's end: its prompt arrived once, in an empty context.
#[track_caller]
fn arrived(world: &World) -> Value {
    let done = world.wait_handoff("api", "done");
    let prompt = text(&done["prompt"]);
    let shown = world.wait_state("api", "idle");
    assert_eq!(world.once_ever(WAKE), text(&shown["conversation_id"]));
    let first = &world.requests_of(&text(&shown["conversation_id"]))[0];
    match done["carrier"].as_str() {
        Some("clear") => empty_but_for(first, &prompt),
        _ => nothing_but(first, &prompt),
    }
    done
}

/// What the person typed is sent by the person, as it is.
#[track_caller]
fn sends(world: &World, draft: &str) {
    wait_composer(world, "api", &format!("❯\u{a0}{draft}"));
    world.key("api", "Enter");
    let request = world.request_with(draft);
    assert!(texts_of(&request).iter().any(|block| block == draft));
    let now = world.wait_state("api", "idle")["conversation_id"].clone();
    assert_eq!(now, world.once_ever(draft));
}

#[test]
fn a_draft_survives_a_handoff_untouched() {
    let Some(world) = claude("a_draft_survives_a_handoff_untouched") else {
        return;
    };
    scheduled(&world);
    let draft = "a half typed thou";
    world.type_text("api", draft);
    wait_composer(&world, "api", &format!("❯\u{a0}{draft}"));
    world.model.release("old");
    arrived(&world);
    sends(&world, draft);
}

#[test]
fn a_draft_over_a_stash_is_waited_for() {
    let Some(world) = claude("a_draft_over_a_stash_is_waited_for") else {
        return;
    };
    scheduled(&world);
    world.type_text("api", "the older one");
    wait_composer(&world, "api", "❯\u{a0}the older one");
    world.key("api", "C-s");
    world.wait_screen("api", "stashed");
    let newer = "the newer one";
    world.type_text("api", newer);
    wait_composer(&world, "api", &format!("❯\u{a0}{newer}"));
    world.model.release("old");
    let open = world.wait_handoff("api", "prepared");
    world.wait_held("api", &format!("{}-clear1", text(&open["id"])));
    assert_eq!(composer(&world, "api"), format!("❯\u{a0}{newer}"));
    assert_eq!(world.show("api")["generation"], 1);
    world.key("api", "Enter"); // the person sends it, to the old context
    let request = world.request_with(newer);
    assert!(texts_of(&request).iter().any(|block| block == newer));
    assert_eq!(
        conversation_of(&request).map(str::to_owned),
        Some(text(&open["from_conversation"]))
    );
    arrived(&world);
    sends(&world, "the older one");
}

fn asked_in_a_dialog(test: &str, answer: &str) -> Option<World> {
    let world = claude(test)?;
    dialog(&world);
    let notes = world.in_project("notes.md");
    std::fs::write(&notes, "from a person\n").unwrap();
    world
        .sm(&["handoff", "notes.md", "--session", "api"])
        .exits(0);
    let id = world.send("api", "1 yes, if this were typed", &["--mode", "urgent"]);
    world.wait_held("api", &id);
    assert_eq!(world.wait_handoff("api", "scheduled")["trigger"], "person");
    assert!(!tool_ran(&world));
    world.wait_screen("api", "Do you want to proceed?");
    world.answer_dialog("api", "Do you want to proceed?", answer);
    let done = arrived(&world);
    assert_eq!(done["to_generation"], 2);
    world.wait_message("api", &id, "consumed");
    Some(world)
}

#[test]
fn a_handoff_waits_for_a_dialog_that_is_then_allowed() {
    let test = "a_handoff_waits_for_a_dialog_that_is_then_allowed";
    if let Some(world) = asked_in_a_dialog(test, "Enter") {
        assert!(tool_ran(&world));
    }
}

#[test]
fn a_handoff_waits_for_a_dialog_that_is_then_denied() {
    let test = "a_handoff_waits_for_a_dialog_that_is_then_denied";
    if let Some(world) = asked_in_a_dialog(test, "Escape") {
        assert!(!tool_ran(&world));
    }
}

/// The last call of the turn that hands off needs a permission.
#[test]
fn a_dialog_at_the_end_of_the_turn_that_hands_off_is_waited_for() {
    let test = "a_dialog_at_the_end_of_the_turn_that_hands_off_is_waited_for";
    let Some(world) = claude(test) else { return };
    let mut args = ASKING.to_vec();
    args.extend(["--allowedTools", "Bash(sm handoff:*)", "Bash(echo:*)"]);
    world.start_idle("api", &args);
    std::fs::write(world.in_project("notes.md"), "half done\n").unwrap();
    let work = "RUN: sm handoff notes.md\nTHEN: touch made-by-the-tool";
    world.send_wait("api", work, &[]);
    world.wait_state("api", "waiting");
    world.wait_screen("api", "Do you want to proceed?");
    assert_eq!(world.wait_handoff("api", "scheduled")["from_generation"], 1);
    assert!(!tool_ran(&world));
    world.answer_dialog("api", "Do you want to proceed?", "Enter");
    arrived(&world);
    assert!(tool_ran(&world));
}

/// A background task of the old context ends at different moments of the handoff: Claude Code tells
/// whichever context there is, in a turn of its own.
#[test]
fn a_background_task_may_end_at_any_moment_of_a_handoff() {
    let test = "a_background_task_may_end_at_any_moment_of_a_handoff";
    let Some(world) = claude(test) else { return };
    world.start_idle("api", &FREE);
    let mut generation = 1;
    for moment in ["scheduled", "prepared", "cleared", "prompted", "done"] {
        let command = format!("read l < gate-{moment}");
        let gate = world.gate(&format!("gate-{moment}"));
        let slow = format!("slow {moment}");
        let tool =
            serde_json::json!({"command": command, "run_in_background": true, "description": slow});
        let notes = format!("notes-{moment}.md");
        let work = format!(
            "TOOL: Bash {tool}\nTHEN: echo x > {notes}\nTHEN: sm handoff {notes}\nHOLDEND: {moment}"
        );
        world.send_wait("api", &work, &[]);
        world.hold(moment);
        gate.wait_for_reader();
        let open = world.wait_handoff("api", "scheduled");
        if moment == "scheduled" {
            gate.open();
        }
        world.model.release(moment);
        if moment != "scheduled" {
            world.passes(&text(&open["id"]), moment);
            gate.open();
        }
        let done = world.wait_handoff("api", "done");
        generation += 1;
        assert_eq!(done["to_generation"], generation, "{done:#}");
        assert_eq!(done["id"], open["id"]);
        let wake = world.wake_of(&notes);
        let new = world.once_ever(&wake);
        let prompt = text(&done["prompt"]);
        // its own turn may come before the prompt
        let given = world.request_with(&prompt);
        assert_eq!(conversation_of(&given), Some(new.as_str()));
        assert_eq!(occurrences(&given, "sm handoff"), 0, "{moment}");
        if moment != "scheduled" {
            assert!(
                prompt.contains(&format!("background task: {command}")),
                "{prompt}"
            );
        }
        // the next work is for a turn of its own, not for the one that tells of the task
        world.request_with(&format!("{slow}\" completed"));
        world.wait_state("api", "idle");
    }
}

#[test]
fn a_document_that_is_deleted_is_given_as_its_copy() {
    let Some(world) = claude("a_document_that_is_deleted_is_given_as_its_copy") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.at(WAKE, "RUN: cat $SM_HOME/data/handoffs/*/document.md");
    world.send_wait("api", &format!("{WORK}\nTHEN: rm notes.md"), &[]);
    let done = arrived(&world);
    let copy = text(&done["copy"]);
    assert!(text(&done["prompt"]).starts_with(&format!("Read {copy} {WAKE}\n")));
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "half done\n");
    let last = world.main_requests().pop().unwrap();
    assert_eq!(
        texts_of(&last).last().unwrap(),
        "half done",
        "read by a call"
    );
    assert_eq!(world.show("api")["last_handoff_path"], copy);
    assert!(!world.in_project("notes.md").exists());
}

/// Abandoned, its document kept, and no agent started again.
#[track_caller]
fn abandoned(world: &World, before: &Value, program: &Path) {
    world.wait_state("api", "exited");
    let end = world.wait_handoff("api", "abandoned");
    assert_eq!(
        std::fs::read_to_string(text(&end["copy"])).unwrap(),
        "half done\n"
    );
    let after = world.show("api");
    assert_eq!(after["state"], "exited");
    assert_eq!(after["generation"], before["generation"]);
    assert_eq!(world.shown_in(WAKE), []);
    let gone = || world.env.processes().iter().all(|p| runs(p.pid) != program);
    let gone = wait_until(DEADLINE, || gone().then_some(()));
    assert!(gone.is_some(), "an agent runs");
}

/// The program that a process runs.
fn runs(pid: Pid) -> PathBuf {
    std::fs::read_link(format!("/proc/{}/exe", pid.as_raw_pid())).unwrap_or_default()
}

#[track_caller]
fn agent(session: &Value) -> Process {
    let pid = i32::try_from(session["pid"].as_i64().unwrap()).unwrap();
    Process::find(Pid::from_raw(pid).unwrap()).unwrap()
}

#[test]
fn a_session_that_is_killed_hands_nothing_off() {
    let Some(world) = claude("a_session_that_is_killed_hands_nothing_off") else {
        return;
    };
    let before = scheduled(&world);
    let program = runs(agent(&before).pid);
    world.sm(&["kill", "api"]).exits(0);
    abandoned(&world, &before, &program);
}

#[test]
fn a_person_who_exits_ends_the_handoff_too() {
    let Some(world) = claude("a_person_who_exits_ends_the_handoff_too") else {
        return;
    };
    let before = scheduled(&world);
    let program = runs(agent(&before).pid);
    world.type_text("api", "/exit");
    wait_composer(&world, "api", "❯\u{a0}/exit");
    world.key("api", "Enter");
    world.model.release("old");
    abandoned(&world, &before, &program);
}

#[test]
fn an_agent_that_is_killed_is_started_again_with_the_document() {
    let Some(world) = claude("an_agent_that_is_killed_is_started_again_with_the_document") else {
        return;
    };
    let before = scheduled(&world);
    let said = "said while\nit was dying"; // the prompt names it in one line
    let id = world.send("api", said, &[]);
    agent(&before).signal(Signal::KILL);
    let done = arrived(&world);
    assert_eq!(done["carrier"], "relaunch");
    world.wait_message("api", &id, "consumed");
    let after = world.wait_state("api", "idle");
    for same in ["id", "name", "tmux", "cwd"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    assert_eq!(after["generation"], 2);
    assert_ne!(after["pid"], before["pid"]);
    assert_eq!(world.once_ever(said), text(&after["conversation_id"]));
}
