//! Messages while Codex works, and its sub-agents.

use sm_testkit::model::{Request, is_subagent};

use crate::common::{DEADLINE, World, occurrences};
use crate::{exactly_once, last, once};

fn joins_the_turn(test: &str, command: &str) {
    let Some(world) = World::codex(test) else {
        return;
    };
    world.start_idle("one", &[]);
    let gate = world.gate("gate");
    let prompt = format!("RUN: {command}");
    world.send_wait("one", &prompt, &[]);
    gate.wait_for_reader();
    let text = "stop using <the old> client & go on";
    let id = world.send("one", text, &["--mode", "important"]);
    world.wait_held("one", &id);
    gate.open();
    let message = world.wait_message("one", &id, "submitted");
    let how = (&message["way"], &message["proof"]);
    let expected = (&"hook_answer".into(), &"transcript".into());
    assert_eq!(how, expected, "{}", world.about("one"));
    let session = world.wait_state("one", "idle");
    exactly_once(&world, text);
    assert_eq!(session["turn"], 1, "it joined the running turn");
    let after = world.main_requests().len();
    assert_eq!(after, 2, "one request for the prompt, one after the tool");
}

#[test]
fn an_important_message_joins_the_turn_when_a_tool_succeeds() {
    let name = "an_important_message_joins_the_turn_when_a_tool_succeeds";
    joins_the_turn(name, "cat gate");
}

#[test]
fn an_important_message_joins_the_turn_when_a_tool_fails() {
    let name = "an_important_message_joins_the_turn_when_a_tool_fails";
    joins_the_turn(name, "cat gate; exit 3");
}

#[test]
fn messages_for_a_long_turn_arrive_after_it_all_of_them_once() {
    let name = "messages_for_a_long_turn_arrive_after_it_all_of_them_once";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", "HOLD: long\nSAY: done", &[]);
    world.hold("long");
    let texts: Vec<String> = (0..10)
        .map(|n| format!("message number {n}, queued"))
        .collect();
    let ids: Vec<String> = texts.iter().map(|t| world.send("one", t, &[])).collect();
    for id in &ids {
        world.wait_held("one", id);
    }
    let before = last(&world);
    assert!(texts.iter().all(|t| occurrences(&before, t) == 0));
    world.model.release("long");
    for id in &ids {
        world.wait_message("one", id, "consumed");
    }
    world.wait_state("one", "idle");
    for text in &texts {
        once(&world, text);
    }
}

#[test]
fn an_urgent_message_ends_the_turn() {
    let Some(world) = World::codex("an_urgent_message_ends_the_turn") else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", "HOLD: long\nSAY: never said", &[]);
    world.hold("long");
    let held = last(&world);
    let message = world.send_wait("one", "stop and listen", &["--mode", "urgent"]);
    assert_eq!(message["way"], "paste");
    assert!(world.model.wait_for_abandoned(held.seq, DEADLINE));
    world.wait_state("one", "idle");
    exactly_once(&world, "stop and listen");
}

/// Everything that sub-agents were given.
fn subagents_were_told(world: &World, part: &str) -> bool {
    let all = world.model.requests();
    all.iter()
        .any(|r| is_subagent(r) && occurrences(r, part) > 0)
}

#[test]
fn a_message_goes_to_the_main_conversation_while_a_sub_agent_works() {
    let name = "a_message_goes_to_the_main_conversation_while_a_sub_agent_works";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.start_idle("one", &[]);
    let (first, second) = (world.gate("first"), world.gate("second"));
    let task = "RUN: cat first; cat second";
    let spawn = format!("TOOL: multi_agent_v1/spawn_agent {{\"message\":\"{task}\"}}");
    world.send_wait("one", &format!("HOLDAFTER: main\n{spawn}"), &[]);
    world.hold("main");
    first.wait_for_reader();
    let important = world.send("one", "for the main one", &["--mode", "important"]);
    world.wait_held("one", &important);
    first.open();
    second.wait_for_reader();
    assert_eq!(world.show("one")["state"], "working");
    world.model.release("main");
    world.wait_message("one", &important, "submitted");
    world.wait_state("one", "idle");
    // the main conversation rests, the sub-agent goes on
    let message = world.send_wait("one", "and another", &[]);
    assert_eq!(message["proof"], "hook");
    let session = world.wait_state("one", "idle");
    second.open();
    let done = |r: &Request| is_subagent(r) && occurrences(r, "exited with code 0") > 0;
    assert!(world.model.wait_for_request(done, DEADLINE).is_some());
    once(&world, "for the main one");
    exactly_once(&world, "and another");
    assert!(!subagents_were_told(&world, "for the main one"));
    assert!(!subagents_were_told(&world, "and another"));
    let after = world.wait_state("one", "idle");
    for key in ["conversation_id", "generation", "turn"] {
        assert_eq!(session[key], after[key], "{key}");
    }
}

/// The Stop hook comes before the answer is drawn: idle is for readers when it is.
#[test]
fn answers_can_be_read_when_it_is_idle() {
    let Some(world) = World::codex("answers_can_be_read_when_it_is_idle") else {
        return;
    };
    crate::common::ask::answers_can_be_read(&world, &[]);
}
