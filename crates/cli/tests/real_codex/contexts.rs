//! Contexts: cleared, restored, side by side, and how full they are.

use sm_testkit::model::{conversation_of, is_main};
use sm_testkit::wait_until;

use crate::common::{DEADLINE, World, occurrences};
use crate::{exactly_once, field, last};

#[test]
fn a_cleared_context_is_a_new_generation() {
    let Some(world) = World::codex("a_cleared_context_is_a_new_generation") else {
        return;
    };
    world.start_idle("one", &[]);
    let mut known = Vec::new();
    for (generation, command) in [(2, "/clear"), (3, "/new")] {
        let text = format!("before {command}");
        world.send_wait("one", &text, &[]);
        let session = world.wait_state("one", "idle");
        known.push(field(&session, "conversation_id"));
        crate::command(&world, "one", command, |screen| !screen.contains(&text));
        let text = format!("after {command}");
        world.send_wait("one", &text, &[]);
        let session = world.wait_state("one", "idle");
        let id = field(&session, "conversation_id");
        assert_eq!(session["generation"], generation);
        assert!(!known.contains(&id));
        let request = world.request_with(&text);
        assert_eq!(conversation_of(&request), Some(id.as_str()));
        assert!(field(&session, "transcript_path").contains(&id));
        exactly_once(&world, &text);
    }
}

#[test]
fn a_session_that_was_never_prompted_is_restored_in_a_new_context() {
    let Some(world) =
        World::codex("a_session_that_was_never_prompted_is_restored_in_a_new_context")
    else {
        return;
    };
    world.start_idle("one", &[]);
    world.sm(&["kill", "one"]).exits(0);
    world.wait_state("one", "exited");
    world.sm(&["restore", "one"]).exits(0);
    let again = world.wait_state("one", "idle");
    assert_eq!(again["generation"], 2, "nothing could be resumed");
    world.send_wait("one", "SAY: here", &[]);
    assert_eq!(world.show("one")["generation"], 2, "and it is that one");
}

#[test]
fn a_restored_session_goes_on_in_its_conversation() {
    let Some(world) = World::codex("a_restored_session_goes_on_in_its_conversation") else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", "remember this", &[]);
    let before = world.wait_state("one", "idle");
    // by the person, and then by `sm`
    crate::command(&world, "one", "/quit", |screen| {
        !screen.contains("Worked for")
    });
    let ended = world.wait_state("one", "exited");
    assert_eq!(ended["exit_code"], 0);
    world.sm(&["restore", "one"]).exits(0);
    world.wait_state("one", "idle");
    world.sm(&["kill", "one"]).exits(0);
    world.wait_state("one", "exited");
    let refused = world.sm_with(&["send", "one", "--json", "-"], "to nobody");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    world.sm(&["restore", "one"]).exits(0);
    let after = world.wait_state("one", "idle");
    for key in ["id", "conversation_id", "generation", "transcript_path"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    let message = world.send_wait("one", "and go on", &[]);
    assert_eq!(message["proof"], "hook");
    let session = world.wait_state("one", "idle");
    assert_eq!(session["conversation_id"], before["conversation_id"]);
    exactly_once(&world, "remember this");
    exactly_once(&world, "and go on");
    assert_eq!(occurrences(&last(&world), "to nobody"), 0);
}

#[test]
fn two_sessions_in_one_directory_never_mix() {
    let Some(world) = World::codex("two_sessions_in_one_directory_never_mix") else {
        return;
    };
    // one after the other: two first starts at once break Codex's own database
    world.start_idle("fk", &[]);
    world.start_idle("fk2", &[]);
    world.send_wait("fk", "HOLD: both\nSAY: for the first", &[]);
    world.send_wait("fk2", "for the second", &[]);
    world.wait_state("fk2", "idle");
    assert_eq!(world.show("fk")["state"], "working");
    world.model.release("both");
    let first = world.wait_state("fk", "idle");
    let second = world.show("fk2");
    assert_ne!(first["conversation_id"], second["conversation_id"]);
    let of = |text: &str| {
        conversation_of(&world.request_with(text))
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        field(&first, "conversation_id"),
        of("HOLD: both\nSAY: for the first")
    );
    assert_eq!(field(&second, "conversation_id"), of("for the second"));
    world.sm(&["kill", "fk"]).exits(0);
    world.wait_state("fk", "exited");
    assert_eq!(world.show("fk2")["state"], "idle");
    world.send_wait("fk2", "still here", &[]);
    world.wait_state("fk2", "idle");
    assert_eq!(of("still here"), field(&second, "conversation_id"));
}

#[test]
fn usage_comes_from_the_record_of_the_sessions_own_thread() {
    let name = "usage_comes_from_the_record_of_the_sessions_own_thread";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.model.control(|c| c.input_tokens = 100_700); // and 300 from the cache
    world.start_idle("one", &[]);
    world.send_wait("one", "how much is used?", &[]);
    world.wait_state("one", "idle");
    let context = wait_until(DEADLINE, || {
        let context = world.show("one")["context"].clone();
        context["tokens"].is_u64().then_some(context)
    });
    let context = context.unwrap();
    assert_eq!(context["tokens"], 101_025);
    assert_eq!(context["window"], 190_000);
    assert_eq!(context["used_percentage"], 50.0);
    // with the tools of a server Codex asks for no title; no thread but this one spoke
    let own = field(&world.show("one"), "conversation_id");
    for request in world.model.requests() {
        if request.route() == "/v1/responses" && is_main(&request) {
            assert_eq!(conversation_of(&request), Some(own.as_str()));
        }
    }
    let session = world.show("one");
    assert_eq!(
        (&session["generation"], &session["turn"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn a_compaction_is_told_and_messages_go_on_after_it() {
    let Some(world) = World::codex("a_compaction_is_told_and_messages_go_on_after_it") else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", "before it", &[]);
    let before = world.wait_state("one", "idle");
    crate::command(&world, "one", "/compact", |screen| {
        screen.contains("Context compacted")
    });
    let message = world.send_wait("one", "after it", &[]);
    assert_eq!(message["proof"], "hook");
    let after = world.wait_state("one", "idle");
    assert_eq!(after["compactions"], 1, "{}", world.about("one"));
    for key in ["generation", "conversation_id"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    exactly_once(&world, "after it");
}
