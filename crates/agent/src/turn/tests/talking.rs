//! Prompts, answers and calls, without a handoff.

use super::*;

#[test]
fn a_prompt_is_answered() {
    talk()
        .prompt("hello", "user hello; ask; Working")
        .says("hi", 10, "assistant hi; ended; Idle");
}

#[test]
fn calls_that_only_read_run_side_by_side() {
    talk()
        .prompt("go", "user go; ask; Working")
        .calls(
            &[("a", Deed::Harmless), ("b", Deed::Harmless)],
            10,
            "assistant a,b; run a; run b",
        )
        .done("b", "result b ok")
        .done("b", "")
        .done("a", "result a ok; ask")
        .says("done", 10, "assistant done; ended; Idle");
}

#[test]
fn what_changes_something_runs_alone_and_after_a_word() {
    talk()
        .prompt("go", "user go; ask; Working")
        .calls(
            &[
                ("a", Deed::Harmless),
                ("b", runs("make it")),
                ("c", Deed::Harmless),
            ],
            10,
            "assistant a,b,c; run a",
        )
        .done("a", "result a ok; want b: run `make it`; Waiting")
        .approve("x", Answer::Once, "")
        .approve("b", Answer::Once, "run b; Working")
        .approve("b", Answer::Once, "")
        .done("b", "result b ok; run c")
        .done("c", "result c ok; ask");
}

#[test]
fn always_is_asked_once_and_no_is_told() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .calls(
            &[
                ("a", runs("make it")),
                ("b", runs("make it all")),
                ("c", runs("rm x")),
            ],
            10,
            "assistant a,b,c; want a: run `make it`; Waiting",
        )
        .approve("a", Answer::Always, "run a; Working")
        .done("a", "result a ok; run b")
        .done("b", "result b ok; want c: run `rm x`; Waiting")
        .approve(
            "c",
            Answer::No(Some("leave it".into())),
            "result c the person does not want this; ask; Working",
        )
        .calls(
            &[("d", runs("make more"))],
            10,
            "assistant d; want d: run `make more`; Waiting",
        )
        .approve(
            "d",
            Answer::AlwaysKept,
            "keep bash:make more; run d; Working",
        )
        .done("d", "result d ok; ask");
}

#[test]
fn unattended_a_call_that_needs_a_word_is_refused_and_the_turn_goes_on() {
    let mut talk = talk().unattended();
    talk.prompt("go", "user go; ask; Working");
    let event = Event::Answered {
        ticket: talk.ticket,
        answer: answer("", &["a", "b"], 10),
        deeds: vec![runs("make it"), Deed::Harmless],
    };
    let told = talk.step(event);
    assert!(
        told.starts_with("assistant a,b; result a not allowed to run `make it`"),
        "{told}"
    );
    assert!(told.ends_with("; run b"), "{told}");
    talk.done("b", "result b ok; ask");
}

#[test]
fn steering_goes_with_the_next_request_and_follow_ups_after_the_turn() {
    talk()
        .prompt("go", "user go; ask; Working")
        .check(Event::FollowUp("later".into()), "FollowUp later")
        .check(Event::Steer("left".into()), "Steering left")
        .check(Event::Prompt("typed".into()), "FollowUp typed")
        .calls(&[("a", Deed::Harmless)], 10, "assistant a; run a")
        .check(Event::Steer("right".into()), "Steering right")
        .done("a", "result a ok; user left; user right; ask")
        .check(Event::Steer("more".into()), "Steering more")
        .says("hm", 10, "assistant hm; user more; ask")
        .says("done", 10, "assistant done; ended; user later; ask")
        .says("done", 10, "assistant done; ended; user typed; ask")
        .says("done", 10, "assistant done; ended; Idle")
        .check(Event::Steer("idle".into()), "user idle; ask; Working");
}

#[test]
fn an_interrupt_at_any_point_leaves_a_whole_history() {
    // while the model answers
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .check(Event::FollowUp("later".into()), "FollowUp later")
        .check(Event::Interrupt, "cancel")
        .check(Event::Interrupt, "")
        .check(Event::Steer("x".into()), "FollowUp x");
    let event = Event::NotAnswered {
        ticket: talk.ticket,
        why: Unanswered::Cancelled,
        partial: Some(answer("I was say", &["half"], 0)),
    };
    talk.check(
        event,
        "broken I was say; ended interrupted; returned later,x; Idle",
    );
    // the whole answer came at the same moment
    talk.prompt("go", "user go; ask; Working")
        .check(Event::Interrupt, "cancel")
        .calls(
            &[("a", runs("rm x"))],
            10,
            "assistant a; result a interrupted; ended interrupted; Idle",
        );
    // while a tool runs, one is asked about and one waits
    talk.prompt("go", "user go; ask; Working")
        .calls(
            &[
                ("a", Deed::Harmless),
                ("b", Deed::Reads("/x/y".into())),
                ("c", runs("ls")),
            ],
            10,
            "assistant a,b,c; run a; want b: read /x/y; Waiting",
        )
        .check(
            Event::Interrupt,
            "cancel; result b interrupted; result c interrupted; Working",
        )
        .approve("b", Answer::Once, "")
        .done("a", "result a ok; ended interrupted; Idle")
        .check(Event::Interrupt, "");
    // while only a person is waited for
    talk.prompt("go", "user go; ask; Working")
        .calls(
            &[("a", runs("ls"))],
            10,
            "assistant a; want a: run `ls`; Waiting",
        )
        .check(
            Event::Interrupt,
            "cancel; result a interrupted; ended interrupted; Idle",
        );
}

#[test]
fn a_failure_ends_the_turn_with_its_reason() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .check(Event::FollowUp("later".into()), "FollowUp later")
        .fails(failed("no key"), "ended: no key; returned later; Idle")
        .prompt("go", "user go; ask; Working");
    let event = Event::NotAnswered {
        ticket: talk.ticket,
        why: failed("the stream broke"),
        partial: Some(answer("half", &["a"], 0)),
    };
    talk.check(event, "failed half; ended: the stream broke; Idle");
}

#[test]
fn a_late_answer_changes_nothing() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working");
    let old = Event::Answered {
        ticket: talk.ticket,
        answer: answer("late", &[], 1),
        deeds: vec![],
    };
    talk.says("hi", 1, "assistant hi; ended; Idle")
        .check(old.clone(), "")
        .prompt("again", "user again; ask; Working")
        .check(old, "");
}

#[test]
fn a_call_of_an_answer_that_was_cut_does_not_run() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working");
    let mut cut = answer("", &["a"], 10);
    cut.stop_reason = StopReason::Length;
    let event = Event::Answered {
        ticket: talk.ticket,
        answer: cut,
        deeds: vec![runs("rm -r /")],
    };
    let told = talk.step(event);
    assert!(
        told.starts_with("assistant a; result a not run: the answer was cut"),
        "{told}"
    );
    assert!(told.ends_with("; ask"), "{told}");
}
