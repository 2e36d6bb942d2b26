//! What `sm` hands over.

use super::*;

fn told(text: &str, how: Told) -> Event {
    let text = text.to_owned();
    Event::Told { text, how }
}

#[test]
fn what_sm_hands_over_is_said_whatever_becomes_of_the_turn() {
    let mut talk = talk();
    // idle, then with the next request, then after the turn
    talk.check(told("go", Told::Prompt), "user go; ask; Working")
        .check(told("left", Told::Steer), "Steering left")
        .check(told("later", Told::Prompt), "FollowUp later")
        .calls(&[("a", Deed::Harmless)], 10, "assistant a; run a")
        .done("a", "result a ok; user left; ask")
        .says("done", 10, "assistant done; ended; user later; ask")
        .says("done", 10, "assistant done; ended; Idle");
    // a turn that is broken off returns to the editor only what came from there
    talk.prompt("go", "user go; ask; Working")
        .check(told("ours", Told::Steer), "Steering ours")
        .check(Event::Steer("theirs".into()), "Steering theirs")
        .check(Event::Interrupt, "cancel")
        .fails(
            Unanswered::Cancelled,
            "ended interrupted; returned theirs; user ours; ask",
        )
        .fails(Unanswered::Failed("offline".into()), "ended: offline; Idle");
}

#[test]
fn what_is_urgent_ends_the_turn_and_begins_the_next() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .check(told("waits", Told::Prompt), "FollowUp waits")
        .check(told("now", Told::Interrupt), "FollowUp now; cancel")
        .fails(Unanswered::Cancelled, "ended interrupted; user now; ask")
        .says("done", 10, "assistant done; ended; user waits; ask")
        .says("done", 10, "assistant done; ended; Idle")
        .check(told("idle", Told::Interrupt), "user idle; ask; Working");
}

#[test]
fn what_is_urgent_does_not_answer_for_a_person_who_is_asked() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .calls(
            &[("a", runs("make it"))],
            10,
            "assistant a; want a: run `make it`; Waiting",
        )
        .check(told("now", Told::Interrupt), "Steering now")
        .approve("a", Answer::Once, "run a; Working")
        .done("a", "result a ok; user now; ask");
}

#[test]
fn what_is_handed_over_during_a_handoff_is_for_the_next_session() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .says("done", 10, "assistant done; ended; Idle");
    let began = talk.step(Event::HandoffAsked {
        focus: None,
        edit: false,
    });
    assert!(began.contains("HandingOff"), "{began}");
    talk.check(told("next", Told::Interrupt), "NextSession next");
    assert!(!talk.turn.is_idle(), "the document is still written");
}
