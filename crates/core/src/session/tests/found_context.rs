//! What the simulation found, each as the shortest example: whose words count, and what the state is.

use super::*;

#[test]
fn a_message_that_went_back_into_the_queue_is_looked_at_again() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.on(Event::Pasted {
        flight: 1,
        ok: false,
    });
    assert_eq!(b.receipt("m1"), MessageState::Queued);
    let deadline = b.session.next_deadline().expect("somebody looks");
    assert!(deadline.since(b.now) < 1_000, "{deadline:?}");
}

#[test]
fn a_refused_paste_is_tried_again_soon_and_then_ever_more_rarely() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    let mut waits = Vec::new();
    for flight in 1..=12 {
        let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
        assert!(pasted(&outcome), "{flight}: {outcome:?}");
        b.on(Event::Pasted { flight, ok: false });
        let wait = b
            .session
            .next_deadline()
            .expect("somebody looks")
            .since(b.now);
        waits.push(wait);
        b.wait(wait);
    }
    assert_eq!(waits[0], 4);
    assert!(waits.is_sorted() && waits[11] == 1_000, "{waits:?}");
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.on(Event::Pasted {
        flight: 13,
        ok: true,
    });
    assert_eq!(b.receipt("m1").word(), "written");
}

#[test]
fn a_message_goes_as_soon_as_the_status_agrees_with_the_hook() {
    let mut b = Bench::working();
    b.stops();
    b.send("m1", "hello");
    let busy = status("c1", Activity::Busy, b.now);
    let mut evidence = screen(Composer::Empty, Activity::Idle);
    evidence.status = Some(busy);
    b.evidence(evidence);
    assert!(
        b.session.rec.flight.is_none(),
        "not while its status says busy"
    );
    b.wait(1);
    b.on(Event::Status(status("c1", Activity::Idle, b.now)));
    assert!(b.session.probe.is_some(), "it is looked at without waiting");
    assert!(pasted(&b.evidence(screen(Composer::Empty, Activity::Idle))));
}

#[test]
fn who_repeats_what_was_just_typed_is_the_sessions_own_agent() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    let mut call = b.call(
        "c2",
        Signal::PromptAccepted {
            text: "hello".into(),
            transcript: None,
        },
    );
    call.origin = Origin::Unknown;
    b.on(Event::Hook(call));
    assert_eq!(b.session.record().conversation, Some(conversation("c2")));
    assert_eq!(b.receipt("m1").word(), "submitted");
}

#[test]
fn a_nested_agent_does_not_become_the_first_conversation() {
    let mut b = Bench::new();
    b.session.rec.conversation = None;
    b.on(Event::LaunchAsked { fresh: false });
    b.started(1);
    for wait in [1_000, 400] {
        b.evidence_after(wait, without_status(Composer::Empty, Activity::Idle));
    }
    b.now = b.now.plus(5_000);
    b.on(Event::Title(Activity::Busy));
    b.evidence(without_status(Composer::Empty, Activity::Busy));
    assert_eq!(b.state(), "working"); // all of its own hooks were lost
    let mut call = b.call(
        "nested",
        Signal::Stopping {
            again: false,
            background_tasks: Vec::new(),
        },
    );
    call.origin = Origin::Unknown;
    b.on(Event::Hook(call));
    assert_eq!(
        (b.state(), &b.session.record().conversation),
        ("working", &None)
    );
}

#[test]
fn records_that_may_hold_a_proof_are_named_after_a_context_was_left() {
    let mut b = Bench::working();
    b.send("m1", "hello");
    b.stops();
    for next in ["c2", "c3"] {
        let clear = b.call(
            next,
            Signal::ContextStarted {
                source: ContextSource::Clear,
                transcript: None,
            },
        );
        b.on(Event::Hook(clear));
    }
    let named = b.session.records_to_read();
    assert_eq!(named, ["c1", "c2", "c3"].map(conversation));
}

#[test]
fn a_late_start_of_a_context_that_was_left_is_late() {
    let mut b = Bench::idle();
    let second = b.call(
        "c2",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.now = b.now.plus(500);
    let third = b.call(
        "c3",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.on(Event::Hook(third));
    b.on(Event::Hook(second));
    assert_eq!(b.session.record().conversation, Some(conversation("c3")));
    assert_eq!(b.session.record().generation, Generation(2));
}

#[test]
fn what_the_status_said_before_the_newest_context_is_late_too() {
    let mut b = Bench::idle();
    let old = status("c2", Activity::Idle, b.now.plus(1));
    b.now = b.now.plus(500);
    let third = b.call(
        "c3",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.on(Event::Hook(third));
    b.on(Event::Status(old));
    assert_eq!(b.session.record().conversation, Some(conversation("c3")));
}

#[test]
fn a_hook_of_before_a_context_that_a_slow_look_found_is_late() {
    let mut b = Bench::idle();
    b.on(Event::Title(Activity::Busy)); // asks
    b.now = b.now.plus(500);
    let late = b.call(
        "c1",
        Signal::PromptAccepted {
            text: "go".into(),
            transcript: None,
        },
    );
    b.now = b.now.plus(500);
    let mut seen = screen(Composer::Empty, Activity::Idle);
    seen.status = Some(status("c2", Activity::Idle, b.now));
    b.evidence(seen);
    b.on(Event::Hook(late));
    assert_eq!(b.session.record().conversation, Some(conversation("c2")));
}

#[test]
fn a_status_file_that_is_behind_the_hook_of_a_new_context_does_not_undo_it() {
    let mut b = Bench::idle();
    let before = b.now;
    let clear = b.call(
        "c2",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.on(Event::Hook(clear));
    b.on(Event::Title(Activity::Busy)); // asks
    let mut seen = screen(Composer::Empty, Activity::Idle);
    seen.status = Some(status("c1", Activity::Idle, before));
    b.evidence(seen);
    assert_eq!(b.session.record().conversation, Some(conversation("c2")));
    assert_eq!(b.session.record().generation, Generation(2));
}

#[test]
fn a_new_context_is_found_although_the_time_of_the_status_did_not_change() {
    let mut b = Bench::idle();
    let before = b.now.plus(-100);
    b.now = b.now.plus(5_000);
    b.on(Event::Title(Activity::Busy));
    let mut seen = screen(Composer::Empty, Activity::Idle);
    seen.status = Some(status("c2", Activity::Idle, before));
    b.evidence(seen);
    assert_eq!(b.session.record().conversation, Some(conversation("c2")));
}

#[test]
fn nothing_is_given_to_a_conversation_that_is_not_known_to_be_the_sessions() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    let mut seen = screen(Composer::Empty, Activity::Idle);
    seen.status = Some(status("c2", Activity::Idle, Timestamp(5)));
    let outcome = b.evidence(seen);
    assert!(!pasted(&outcome));
    assert!(b.session.next_deadline().is_some());
}

#[test]
fn a_slow_look_does_not_undo_a_context_that_the_status_told_of_meanwhile() {
    let mut b = Bench::idle();
    let idle_since = b.now;
    b.now = b.now.plus(5_000);
    b.on(Event::Title(Activity::Busy)); // asks
    b.now = b.now.plus(200);
    b.on(Event::Status(status("c2", Activity::Idle, idle_since)));
    b.now = b.now.plus(1_300);
    let mut seen = screen(Composer::Empty, Activity::Idle);
    seen.status = Some(status("c1", Activity::Idle, idle_since));
    b.evidence(seen);
    assert_eq!(b.session.record().conversation, Some(conversation("c2")));
}

#[test]
fn a_person_who_went_back_to_an_old_conversation_is_followed_without_its_hook() {
    let mut b = Bench::idle();
    let second = b.call(
        "c2",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.on(Event::Hook(second));
    b.now = b.now.plus(5_000);
    b.on(Event::Status(status("c1", Activity::Idle, b.now)));
    assert_eq!(b.session.record().conversation, Some(conversation("c1")));
    assert_eq!(b.session.record().generation, Generation(3));
}

#[test]
fn evidence_that_was_asked_for_before_the_state_changed_does_not_change_it_back() {
    let mut b = Bench::idle();
    b.on(Event::Title(Activity::Busy)); // asks
    b.accepts("go");
    b.now = b.now.plus(6_000);
    b.evidence(screen(Composer::Empty, Activity::Idle)); // a slow look, of before
    assert_eq!(b.state(), "working");
}

#[test]
fn an_agent_whose_end_nobody_reports_is_noticed() {
    let mut b = Bench::working();
    let gone = || Evidence {
        alive: Some(false),
        ..screen(Composer::Hidden, Activity::Unknown)
    };
    b.on(Event::Title(Activity::Idle));
    b.evidence(gone());
    for _ in 0..20 {
        b.wait(2_000);
        if b.session.probe.is_some() {
            b.evidence(gone());
        }
    }
    assert_eq!(b.state(), "exited");
}

#[test]
fn a_compaction_is_over_when_tools_run() {
    let mut b = Bench::working();
    b.hook(Signal::CompactionStarting { automatic: true });
    b.hook(Signal::ToolsFinished);
    assert_eq!(b.state(), "working");
    assert_eq!(b.session.record().compactions, 0, "nothing proves one");
    b.wait(10_000);
    let at = Some(b.now);
    b.on(Event::Facts(vec![Fact::CompactBoundary {
        before: None,
        after: None,
        at,
    }]));
    assert_eq!(b.session.record().compactions, 1);
}

#[test]
fn a_compaction_that_was_cancelled_is_none() {
    let mut b = Bench::idle();
    b.hook(Signal::CompactionStarting { automatic: false });
    b.wait(3_000);
    b.on(Event::Status(status("c1", Activity::Idle, b.now)));
    assert_eq!(b.state(), "idle");
    assert_eq!(b.session.record().compactions, 0);
}

#[test]
fn an_idle_session_is_looked_at_now_and_then() {
    let b = Bench::idle();
    assert!(b.session.next_deadline().is_some());
}

/// Codex-like: a `/clear` nobody heard of, and what was pasted was submitted by a person there.
#[test]
fn a_stranger_who_may_have_taken_the_text_is_remembered_after_a_crash() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.was_pasted(1);
    let call = b.call("c2", Signal::Working);
    let heard = b.on(Event::Hook(call));
    assert_eq!(heard.persist, Persist::Now);
    b.recovers();
    b.ends_unknown("m1", || without_status(Composer::Empty, Activity::Idle));
}

/// The same, but the agent was gone before the daemon heard of it: its last words come by the spool.
#[test]
fn a_stranger_in_an_agent_that_has_ended_may_have_taken_the_text() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.was_pasted(1);
    b.now = b.now.plus(1_000);
    let words = b.call("c2", Signal::Working);
    b.now = b.now.plus(10);
    b.on(Event::TerminalGone { launch: 1 });
    b.on(Event::Hook(words));
    b.on(Event::LaunchAsked { fresh: false });
    b.started(2);
    b.begins(ContextSource::Resume);
    b.ends_unknown("m1", || without_status(Composer::Empty, Activity::Idle));
}

#[test]
fn what_the_process_before_said_is_late_once_another_was_launched() {
    let said_before = [
        (
            "c2",
            Signal::ContextStarted {
                source: ContextSource::Clear,
                transcript: None,
            },
        ),
        (
            "c1",
            Signal::ContextStarted {
                source: ContextSource::Startup,
                transcript: None,
            },
        ),
        ("c1", Signal::Working),
    ];
    for (conversation_id, signal) in said_before {
        let mut b = Bench::idle();
        let late = b.call(conversation_id, signal);
        b.now = b.now.plus(10);
        b.exits(1, 0);
        b.on(Event::LaunchAsked { fresh: false });
        b.started(2);
        let what = format!("{conversation_id} {:?}", late.signal);
        b.on(Event::Hook(late));
        let record = b.session.record();
        assert_eq!(b.state(), "starting", "{what}");
        assert_eq!(record.conversation, Some(conversation("c1")), "{what}");
        assert_eq!(record.generation, Generation(1), "{what}");
        b.begins(ContextSource::Resume);
        assert_eq!(b.state(), "idle", "its own start counts: {what}");
    }
}
