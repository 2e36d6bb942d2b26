//! A person at the terminal: dialogs, drafts, Escape; and errors.

use sm_testkit::model::texts_of;
use sm_testkit::wait_until;

use crate::common::{DEADLINE, World};
use crate::{APPROVAL, ESCALATED, enter, exactly_once, field, once};

#[test]
fn nothing_is_typed_into_an_open_approval() {
    let Some(world) = World::codex("nothing_is_typed_into_an_open_approval") else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", ESCALATED, &[]);
    world.wait_state("one", "waiting");
    world.wait_screen("one", APPROVAL);
    let session = world.show("one");
    let asked = &session["waiting_for"];
    assert_eq!(asked["kind"], "permission", "{session}");
    assert_eq!(asked["request"], "touch approved", "{session}");
    let reason = session["state_reason"].as_str().unwrap();
    assert!(reason.ends_with(": touch approved"), "{session}");
    // what it is for and what it does, wherever a person may look for it
    let listed = || world.sm(&["ls", "--json"]).exits(0).json()[0].clone();
    let known = wait_until(DEADLINE, || {
        let (shown, listed) = (world.show("one"), listed());
        let same = ["goal", "activity"].map(|key| shown[key] == listed[key]);
        let known = shown["goal"].is_string() && shown["activity"].is_string();
        (known && same == [true, true]).then_some(shown)
    });
    let known = known.unwrap_or_else(|| panic!("{}", world.about("one")));
    assert_eq!(known["goal"], ESCALATED, "{known}");
    let activity = known["activity"].as_str().unwrap();
    assert!(activity.ends_with("touch approved"), "{known}");
    let before = world.screen("one");
    let ids = ["sequential", "important", "urgent"].map(|mode| {
        let id = world.send("one", &format!("a {mode} one"), &["--mode", mode]);
        assert!(world.wait_held("one", &id).contains("a person"));
        id
    });
    assert_eq!(world.screen("one"), before);
    assert!(!world.env.project().join("approved").exists());
    world.key("one", "y");
    for id in &ids {
        world.wait_message("one", id, "submitted");
    }
    world.wait_state("one", "idle");
    for mode in ["sequential", "important", "urgent"] {
        once(&world, &format!("a {mode} one"));
    }
    assert!(world.env.project().join("approved").exists());
    assert_eq!(world.show("one")["activity"], serde_json::Value::Null);
    assert_eq!(listed()["goal"], ESCALATED);
}

#[test]
fn a_denied_approval_ends_in_idle() {
    let Some(world) = World::codex("a_denied_approval_ends_in_idle") else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", ESCALATED, &[]);
    world.wait_state("one", "waiting");
    world.wait_screen("one", APPROVAL);
    let id = world.send("one", "after the denial", &[]);
    world.wait_held("one", &id);
    world.key("one", "Escape");
    world.wait_message("one", &id, "submitted");
    world.wait_state("one", "idle");
    exactly_once(&world, "after the denial");
    assert!(!world.env.project().join("approved").exists());
}

#[test]
fn a_draft_survives_and_the_message_waits_for_it() {
    let Some(world) = World::codex("a_draft_survives_and_the_message_waits_for_it") else {
        return;
    };
    world.start_idle("one", &[]);
    let draft = "please DO NOT delete the prod";
    world.type_text("one", draft);
    world.wait_screen("one", draft);
    let first = world.send("one", "the first message", &[]);
    let reason = world.wait_held("one", &first);
    assert!(reason.contains("half-typed"), "{reason}");
    let line = format!("› {draft}");
    assert!(
        world.screen("one").lines().any(|l| l == line),
        "the draft is as it was"
    );
    // erased
    world.key("one", "C-u");
    world.wait_message("one", &first, "submitted");
    world.wait_state("one", "idle");
    world.type_text("one", draft);
    world.wait_screen("one", draft);
    let second = world.send("one", "the second message", &[]);
    world.wait_held("one", &second);
    // submitted
    enter(&world, "one", |r| texts_of(r).iter().any(|t| t == draft));
    world.wait_message("one", &second, "submitted");
    world.wait_state("one", "idle");
    exactly_once(&world, "the first message");
    exactly_once(&world, draft);
    once(&world, "the second message");
}

#[test]
fn escape_ends_in_idle() {
    let Some(world) = World::codex("escape_ends_in_idle") else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", "HOLD: long\nSAY: never said", &[]);
    world.hold("long");
    let id = world.send("one", "after the escape", &[]);
    world.wait_held("one", &id);
    world.key("one", "Escape");
    world.wait_message("one", &id, "submitted");
    let session = world.wait_state("one", "idle");
    assert_eq!(session["turn"], 2);
    exactly_once(&world, "after the escape");
    let events = world.events("one").join("\n");
    assert!(events.contains("by an interrupt"), "{events}");
}

#[test]
fn an_api_error_ends_in_idle() {
    let Some(world) = World::codex("an_api_error_ends_in_idle") else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", "FAIL: 400", &[]);
    let session = world.wait_state("one", "idle");
    assert!(
        field(&session, "state_reason").contains("API error"),
        "{session}"
    );
    let message = world.send_wait("one", "after the error", &[]);
    assert_eq!(message["proof"], "hook");
    world.wait_state("one", "idle");
    exactly_once(&world, "after the error");
}
