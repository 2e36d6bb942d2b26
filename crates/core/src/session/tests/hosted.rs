//! A session whose agent `sm run` owns: process and context are what the run says.

use super::*;
use crate::handoff::{Author, HandoffState, Trigger};
use crate::session::{Host, Hosted, HostedHandoff, Opening};

fn hosted(generation: u32, pid: Option<u32>, conversation: &str, at: i64) -> Hosted {
    Hosted {
        generation: Generation(generation),
        process: pid.map(|pid| Process { pid, start: 7 }),
        conversation: ConversationId::new(conversation).ok(),
        transcript: None,
        at: Timestamp(at),
        opening: Opening::Open,
        handoff: None,
    }
}

fn tell(bench: &mut Bench, told: Hosted) -> Outcome {
    bench.on(Event::Hosted(Box::new(told)))
}

/// The agent says that its context has started.
fn ready(bench: &mut Bench) {
    bench.begins(ContextSource::Startup);
    assert_eq!(bench.state(), "idle");
}

/// A run with an idle agent in its first context.
fn bench() -> Bench {
    let mut bench = Bench::new();
    let began = tell(&mut bench, hosted(1, Some(10), "c1", 1));
    assert!(
        !began.effects.iter().any(|e| matches!(e, Effect::Launch(_))),
        "nothing is started here"
    );
    ready(&mut bench);
    bench
}

#[test]
fn what_the_run_says_is_so_and_the_same_again_changes_nothing() {
    let mut bench = bench();
    let record = bench.session.record().clone();
    assert_eq!(record.host, Host::Run);
    assert_eq!(record.conversation, Some(conversation("c1")));
    assert_eq!((record.launch, record.generation), (1, Generation(1)));
    let again = tell(&mut bench, hosted(1, Some(10), "c1", 1));
    assert_eq!(again, Outcome::default());
    assert_eq!(bench.session.record(), &record);
}

#[test]
fn what_waits_while_a_context_is_left_is_the_successors_after_its_first_turn() {
    let mut bench = bench();
    let at = bench.now.0;
    tell(&mut bench, hosted(1, None, "c1", 1));
    assert_eq!(bench.state(), "starting");
    bench.send("m1", "for whoever comes");
    assert!(matches!(bench.receipt("m1"), MessageState::Held { .. }));
    let began = tell(
        &mut bench,
        Hosted {
            opening: Opening::Prompted,
            ..hosted(2, Some(11), "c2", at)
        },
    );
    assert!(!pasted(&began));
    let record = bench.session.record();
    assert_eq!(record.generation, Generation(2));
    assert_eq!(record.past, [conversation("c1")]);
    // it is idle before it takes the prompt of the run
    ready(&mut bench);
    assert_eq!(
        bench.receipt("m1"),
        MessageState::Held {
            why: Hold::HandingOff
        }
    );
    let call = bench.call(
        "c2",
        Signal::PromptAccepted {
            text: "Continue from handoff".into(),
            transcript: None,
        },
    );
    bench.on(Event::Hook(call));
    assert_eq!(bench.state(), "working");
    let mut call = bench.call(
        "c2",
        Signal::Stopping {
            again: false,
            background_tasks: Vec::new(),
        },
    );
    call.request = Some(RequestId(9));
    let stopped = bench.on(Event::Hook(call));
    let given = answers(&stopped);
    assert!(
        given.iter().any(
            |answer| matches!(answer, Answer::Continue { text } if text.contains("for whoever comes"))
        ),
        "{given:?}"
    );
}

#[test]
fn a_first_turn_that_never_comes_holds_nobody_up_for_ever() {
    let mut bench = bench();
    let at = bench.now.0;
    tell(
        &mut bench,
        Hosted {
            opening: Opening::Prompted,
            ..hosted(2, Some(11), "c2", at)
        },
    );
    ready(&mut bench);
    bench.send("m1", "hello");
    assert!(matches!(bench.receipt("m1"), MessageState::Held { .. }));
    bench.wait(120_000);
    assert_eq!(bench.session.record().opening, None);
    assert!(bench.session.record().flight.is_some(), "it is looked at");
}

#[test]
fn a_run_that_was_thought_lost_goes_on() {
    let mut bench = bench();
    bench.on(Event::TerminalGone { launch: 1 });
    assert_eq!(bench.state(), "lost");
    assert!(
        bench.session.record().why.contains("sm run"),
        "{}",
        bench.session.record().why
    );
    let at = bench.now.0;
    tell(&mut bench, hosted(1, Some(10), "c1", at));
    ready(&mut bench);
    let record = bench.session.record();
    assert_eq!(record.state, State::Idle);
    assert_eq!((record.launch, record.generation), (2, Generation(1)));
}

#[test]
fn one_that_is_restored_is_no_longer_the_runs() {
    let mut bench = bench();
    bench.on(Event::TerminalGone { launch: 1 });
    let launched = bench.on(Event::LaunchAsked { fresh: false });
    assert_eq!(bench.session.record().host, Host::Tmux);
    let resumes = |effect: &Effect| match effect {
        Effect::Launch(plan) => plan.resume == Some(conversation("c1")),
        _ => false,
    };
    assert!(launched.effects.iter().any(resumes));
}

#[test]
fn what_the_run_hands_over_is_in_the_history_once() {
    let mut bench = bench();
    let at = bench.now.0;
    let told = Hosted {
        handoff: Some(HostedHandoff {
            document: "/h/.claude/handoff/archive/HO-20260102-030405-c1.md".into(),
            trigger: Trigger::Threshold,
            author: Author::Ledger,
        }),
        ..hosted(2, Some(11), "c2", at)
    };
    let began = tell(&mut bench, told.clone());
    let [handoff] = began.handoffs.as_slice() else {
        panic!("{began:?}");
    };
    assert_eq!(handoff.id.as_str(), "HO-20260102-030405-c1");
    assert_eq!(handoff.state, HandoffState::Done);
    assert_eq!(
        (handoff.from, handoff.to),
        (Generation(1), Some(Generation(2)))
    );
    assert_eq!(handoff.from_conversation, Some(conversation("c1")));
    assert_eq!(handoff.folder, "", "nothing that is removed with it");
    assert!(bench.session.record().open_handoff().is_none());
    assert_eq!(tell(&mut bench, told), Outcome::default());
}

#[test]
fn leaving_the_terminal_of_a_run_is_no_alarm() {
    let told = |outcome: &Outcome| {
        let mut effects = outcome.effects.iter();
        effects.any(|e| matches!(e, Effect::Notify(_)))
    };
    let closed = Some("its terminal was closed");
    let left = Some("it was left with Ctrl+C");
    for (code, signal, why) in [
        (None, Some(1), closed),
        // between two agents there is none that a signal could end
        (Some(129), None, closed),
        (None, Some(2), left),
        (Some(130), None, left),
        // any other end is told
        (None, Some(9), None),
        (None, Some(15), None),
        (Some(1), None, None),
        (Some(143), None, None),
    ] {
        let mut bench = bench();
        let launch = bench.session.record().launch;
        let outcome = bench.on(Event::Exited {
            launch,
            code,
            signal,
        });
        let case = format!("{code:?} {signal:?}: {:?}", outcome.effects);
        assert_eq!(bench.state(), "exited", "{case}");
        let record = bench.session.record();
        assert_eq!(record.ending, why.is_some(), "{case}");
        assert_eq!(told(&outcome), why.is_none(), "{case}");
        if let Some(why) = why {
            assert_eq!(record.why, why, "{case}");
        }
    }
}
