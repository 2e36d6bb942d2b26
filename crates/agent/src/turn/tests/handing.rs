//! Handoffs, by hand and by themselves.

use super::*;
use crate::host::WAIT_FOR_THE_ANSWER;

/// A talk of one turn.
fn met() -> Talk {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .says("ok", 50, "assistant ok; ended; Idle");
    talk
}

#[test]
fn nothing_is_handed_off_before_there_is_something() {
    talk()
        .handoff("Nothing to hand off (no messages yet)")
        .prompt("go", "user go; ask; Working")
        .fails(failed("x"), "ended: x; Idle")
        .handoff("Nothing to hand off (no messages yet)");
}

#[test]
fn a_handoff_waits_for_the_answer() {
    let mut talk = met();
    talk.prompt("go", "user go; ask; Working")
        .handoff(WAIT_FOR_THE_ANSWER)
        .calls(&[("a", Deed::Harmless)], 10, "assistant a; run a")
        .handoff(WAIT_FOR_THE_ANSWER);
}

#[test]
fn input_typed_meanwhile_is_said_in_the_new_session() {
    met()
        .handoff("generate; HandingOff")
        .prompt("one", "NextSession one")
        .check(Event::Steer("two".into()), "NextSession two")
        .writes(Ok("doc"), "commit doc")
        .commits(
            Ok(()),
            "New session started with handoff context; user one; ask; Working",
        )
        .says("ok", 5, "assistant ok; ended; user two; ask")
        .says("ok", 5, "assistant ok; ended; Idle");
}

#[test]
fn there_is_one_handoff_at_a_time_and_none_after_it_was_cancelled() {
    let mut talk = met();
    talk.handoff("generate; HandingOff")
        .handoff("A handoff is already being written (esc to cancel).");
    let first = talk.ticket;
    talk.check(Event::Interrupt, "cancel; Handoff cancelled; Idle");
    let late = |ticket| Event::Written {
        ticket,
        result: Ok("late".into()),
    };
    talk.check(late(first), "")
        .handoff("generate; HandingOff")
        .check(late(first), "")
        .writes(Ok("doc"), "commit doc")
        .commits(Ok(()), "New session started with handoff context; Idle");
}

#[test]
fn every_outcome_is_told_as_what_it_is_and_what_was_typed_is_not_lost() {
    for (result, told) in [
        (
            Unwritten::Empty,
            "Handoff failed: the model returned no text",
        ),
        (Unwritten::Cancelled, "Handoff cancelled"),
        (Unwritten::Failed("401".into()), "Handoff failed: 401"),
    ] {
        met()
            .handoff("generate; HandingOff")
            .prompt("typed", "NextSession typed")
            .writes(Err(result), &format!("{told}; user typed; ask; Working"));
    }
    met()
        .handoff("generate; HandingOff")
        .writes(Ok("doc"), "commit doc")
        .commits(Err("disk full"), "Handoff failed: disk full; Idle")
        .prompt("go", "user go; ask; Working");
}

#[test]
fn a_document_can_be_edited_before_it_counts() {
    let mut talk = met();
    let wanted = Event::HandoffAsked {
        focus: None,
        edit: true,
    };
    talk.check(Event::Edited(Some("x".into())), "")
        .check(wanted.clone(), "generate; HandingOff")
        .check(Event::Edited(Some("too early".into())), "")
        .writes(Ok("doc"), "edit doc")
        .check(Event::Edited(None), "Handoff cancelled; Idle")
        .check(wanted, "generate; HandingOff")
        .writes(Ok("doc"), "edit doc")
        .check(Event::Edited(Some("better".into())), "commit better")
        .commits(Ok(()), "New session started with handoff context; Idle");
}

#[test]
fn a_full_context_is_left_after_the_turn() {
    talk()
        .limit(100)
        .prompt("go", "user go; ask; Working")
        .says("ok", 100, "assistant ok; ended; Idle")
        .prompt("go", "user go; ask; Working")
        .check(Event::FollowUp("later".into()), "FollowUp later")
        .says(
            "ok",
            101,
            "assistant ok; ended; generate automatic; HandingOff automatic",
        )
        .writes(Ok("doc"), "commit doc")
        .commits(Ok(()), "Auto-handoff completed; user later; ask; Working")
        .says("ok", 20, "assistant ok; ended; Idle");
}

#[test]
fn a_cancelled_automatic_handoff_is_tried_again_before_the_next_prompt() {
    talk()
        .limit(100)
        .prompt("go", "user go; ask; Working")
        .says(
            "ok",
            101,
            "assistant ok; ended; generate automatic; HandingOff automatic",
        )
        .check(Event::Interrupt, "cancel; Auto-handoff cancelled; Idle")
        .prompt("next", "generate automatic; HandingOff automatic")
        .writes(Ok("doc"), "commit doc")
        .commits(Ok(()), "Auto-handoff completed; user next; ask; Working")
        .says("ok", 5, "assistant ok; ended; Idle");
}

#[test]
fn a_failed_automatic_handoff_is_a_warning_and_the_turn_proceeds() {
    talk()
        .limit(100)
        .prompt("go", "user go; ask; Working")
        .says(
            "ok",
            101,
            "assistant ok; ended; generate automatic; HandingOff automatic",
        )
        .writes(
            Err(Unwritten::Failed("500".into())),
            "Auto-handoff failed: 500; Idle",
        )
        .prompt("next", "generate automatic; HandingOff automatic")
        .writes(
            Err(Unwritten::Empty),
            "Auto-handoff failed: the model returned no text; user next; ask; Working",
        )
        .says("ok", 101, "assistant ok; ended; Idle");
}

#[test]
fn a_context_that_fills_up_in_the_middle_of_a_turn_is_left_there() {
    talk()
        .limit(100)
        .prompt("go", "user go; ask; Working")
        .calls(&[("a", Deed::Harmless)], 60, "assistant a; run a")
        .done("a", "result a ok; ask")
        .calls(&[("b", Deed::Harmless)], 101, "assistant b; run b")
        .done("b", "result b ok; generate automatic; HandingOff automatic")
        .check(Event::Steer("and this".into()), "NextSession and this")
        .writes(Ok("doc"), "commit doc")
        .commits(
            Ok(()),
            "Auto-handoff completed; user CONTINUE; user and this; ask; Working",
        )
        // full from the first answer on: leaving it again would not help
        .calls(&[("c", Deed::Harmless)], 150, "assistant c; run c")
        .done("c", "result c ok; ask")
        .says(
            "ok",
            150,
            "assistant ok; ended; generate automatic; HandingOff automatic",
        );
}

#[test]
fn a_handoff_that_fails_in_the_middle_lets_the_turn_go_on() {
    talk()
        .limit(100)
        .prompt("go", "user go; ask; Working")
        .calls(&[("a", Deed::Harmless)], 60, "assistant a; run a")
        .done("a", "result a ok; ask")
        .calls(&[("b", Deed::Harmless)], 101, "assistant b; run b")
        .done("b", "result b ok; generate automatic; HandingOff automatic")
        .check(
            Event::Interrupt,
            "cancel; Auto-handoff cancelled; ask; Working",
        )
        .calls(&[("c", Deed::Harmless)], 102, "assistant c; run c")
        .done("c", "result c ok; ask")
        .says("ok", 102, "assistant ok; ended; Idle");
}

#[test]
fn what_no_longer_fits_is_handed_over_or_said_clearly() {
    let too_long = || Unanswered::TooLong("the context is too long".into());
    let mut talk_with = met().limit(1000);
    talk_with
        .prompt("go", "user go; ask; Working")
        .fails(too_long(), "generate automatic; HandingOff automatic")
        .writes(Ok("doc"), "commit doc")
        .commits(
            Ok(()),
            "Auto-handoff completed; user CONTINUE; ask; Working",
        );
    met().prompt("go", "user go; ask; Working").fails(
        too_long(),
        "ended: the context is too long; /handoff goes on in a new session with what matters of this one; Idle",
    );
}
