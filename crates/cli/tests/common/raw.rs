//! An agent that may run `sm` may speak to another session, and not type into it.

use super::{DEADLINE, World, occurrences};
use sm_core::words::RAW_REFUSED;

/// The words of a conversation that `/clear` would end.
const KNOWN: &str = "the walrus is called Egbert";

/// Agent `a` sends `/clear` as raw text: it is told that this is for people, and `b` keeps its context.
pub fn one_agent_cannot_clear_another(world: &World, args: &[&str]) {
    world.start_idle("b", args);
    world.send_wait("b", KNOWN, &[]);
    let before = world.wait_state("b", "idle");
    assert!(before["conversation_id"].is_string(), "{before}");
    world.start_idle("a", args);
    world.send_wait("a", "RUN: sm send b --raw /clear; echo code $?", &[]);
    let told = world.model.wait_for_request(
        |request| occurrences(request, RAW_REFUSED) > 0 && occurrences(request, "code 1") > 0,
        DEADLINE,
    );
    assert!(told.is_some(), "its tool says so\n{}", world.about("a"));
    world.wait_state("a", "idle");

    let after = world.show("b");
    for what in ["conversation_id", "generation", "state"] {
        assert_eq!(after[what], before[what], "{what}\n{}", world.about("b"));
    }
    let sent = world.sm(&["queue", "ls", "b", "--all", "--json"]).exits(0);
    let sent = sent.json();
    let raw = |message: &serde_json::Value| message["text"] == "/clear";
    assert!(!sent.as_array().unwrap().iter().any(raw), "{sent}");
    // its next request still has the conversation
    world.send_wait("b", "what is it called?", &[]);
    let next = world.request_with("what is it called?");
    assert!(occurrences(&next, KNOWN) > 0, "{}", world.about("b"));
}
