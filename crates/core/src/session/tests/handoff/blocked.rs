//! A hook of the user's own may block the prompt that ours has told of: the agent's model never gets
//! it, and only the record shows that.

use super::*;
use crate::carried::{IN_A_PROMPT, carried};

const DOCUMENT: &str = "# Goal\nship it\n";

fn with_document() -> Event {
    let Event::HandoffPrepared {
        handoff,
        prepared: Ok(prepared),
    } = prepared("h1")
    else {
        unreachable!("it is one");
    };
    let prepared = Prepared {
        content: Some(carried(DOCUMENT, IN_A_PROMPT)),
        ..prepared
    };
    Event::HandoffPrepared {
        handoff,
        prepared: Ok(prepared),
    }
}

/// The successor's hook has told of the prompt, and a message waits.
fn told_by_hook() -> (Bench, String) {
    let mut b = Bench::working();
    b.on(asked("h1", Trigger::Agent));
    b.stops();
    b.on(with_document());
    b.paste();
    b.context("c2");
    b.paste();
    let wake = b.wake_text();
    b.prompt_accepted("c2", &wake);
    assert_eq!(b.handoff().state, HandoffState::Prompted);
    b.send("m1", "for the successor");
    (b, wake)
}

fn rests(b: &Bench) -> Evidence {
    let mut seen = screen(Composer::Empty, Activity::Idle);
    let process = b.session.record().process.unwrap();
    let conversation = b.session.record().conversation.clone();
    seen.status = Some(StatusReading {
        process,
        conversation,
        activity: Activity::Idle,
        at: None,
    });
    seen
}

/// What is done while the agent stands still and its record is as it is.
fn until(b: &mut Bench, wanted: impl Fn(&Bench, &Outcome) -> bool) -> Outcome {
    until_with(b, Composer::Empty, wanted)
}

fn until_with(
    b: &mut Bench,
    composer: Composer,
    wanted: impl Fn(&Bench, &Outcome) -> bool,
) -> Outcome {
    for _ in 0..60 {
        let outcome = match b.session.probe.is_some() {
            true => {
                let mut seen = rests(b);
                if let Some(screen) = seen.screen.as_mut() {
                    screen.composer = composer.clone();
                }
                b.evidence(seen)
            }
            false => {
                let at = b.session.next_deadline().expect("something is due");
                b.now = b.now.max(at);
                b.on(Event::Tick)
            }
        };
        assert!(!pasted(&outcome), "nobody is given anything: {outcome:?}");
        if wanted(b, &outcome) {
            return outcome;
        }
    }
    panic!("{:?}", b.steps());
}

#[test]
fn the_word_of_a_hook_is_no_proof_of_the_document() {
    let (mut b, wake) = told_by_hook();
    assert!(b.session.probe.is_some(), "its record is asked at once");
    assert_eq!(b.handoff().in_context.unwrap().proof, None);
    let stopped = b.stops();
    assert_eq!(b.handoff().state, HandoffState::Prompted);
    assert!(
        !answers(&stopped)
            .iter()
            .any(|a| matches!(a, Answer::Continue { .. })),
        "nobody speaks before that: {stopped:?}"
    );
    assert!(b.receipt("m1").is_pending());
    b.recorded(&wake);
    assert_eq!(b.handoff().state, HandoffState::Done);
    let proven = b.handoff().in_context.unwrap();
    assert_eq!(
        proven.told(),
        "in context, 14 of 14 characters, proven by transcript"
    );
    assert!(b.steps().contains(&format!("document: {}", proven.told())));
}

#[test]
fn an_answer_without_the_prompt_is_no_proof_of_the_document() {
    let (mut b, _) = told_by_hook();
    let at = Some(b.now.plus(20));
    b.on(Event::Facts(vec![Fact::Assistant { at }]));
    b.stops();
    assert_eq!(b.handoff().state, HandoffState::Prompted);
}

#[test]
fn a_prompt_without_its_document_is_no_proof_of_it() {
    let (mut b, wake) = told_by_hook();
    let first = wake.lines().next().unwrap().to_owned();
    b.recorded(&first);
    b.stops();
    assert_eq!(b.handoff().state, HandoffState::Prompted);
    assert_eq!(b.handoff().in_context.unwrap().proof, None);
}

#[test]
fn a_prompt_that_was_blocked_is_given_by_the_next_way_and_then_rolled_back() {
    let (mut b, wake) = told_by_hook();
    until(&mut b, |_, o| stops_agent(o));
    assert_eq!(b.handoff().state, HandoffState::Cleared);
    assert!(b.receipt("m1").is_pending());
    let plans = launches(&b.is_killed(1, 15));
    assert_eq!(plans[0].prompt.as_deref(), Some(wake.as_str()));
    b.started(2);
    b.context("c3");
    b.prompt_accepted("c3", &wake);
    assert_eq!(b.handoff().state, HandoffState::Prompted);
    assert_eq!(b.handoff().in_context.unwrap().proof, None);
    until(&mut b, |b, _| b.handoff().course.is_back());
    assert!(b.receipt("m1").is_pending());
    assert_ne!(b.handoff().state, HandoffState::Done);
}

#[test]
fn a_record_that_shows_the_prompt_late_is_waited_for() {
    let (mut b, wake) = told_by_hook();
    until(&mut b, |b, _| b.session.wake_look.missing);
    b.recorded(&wake);
    assert_eq!(b.handoff().state, HandoffState::Done);
    assert_eq!(
        b.handoff().in_context.unwrap().proof,
        Some(Proof::Transcript)
    );
}

#[test]
fn another_handoff_waits_until_it_is_known_what_the_successor_has() {
    let (mut b, wake) = told_by_hook();
    for trigger in [Trigger::Person, Trigger::Agent] {
        b.on(asked("h2", trigger));
        assert_eq!(b.handoff().id.as_str(), "h1");
    }
    b.recorded(&wake);
    b.on(asked("h2", Trigger::Person));
    assert_eq!(b.handoff().id.as_str(), "h2");
}

/// Without a record nobody knows more than the hooks tell.
#[test]
fn a_record_that_cannot_be_read_leaves_what_the_hooks_tell() {
    for answered in [true, false] {
        let (mut b, _) = told_by_hook();
        if answered {
            b.stops();
        }
        let mut stopped = false;
        for _ in 0..200 {
            stopped |= stops_agent(&b.wait(1_000));
            if b.session.probe.is_some() {
                let mut seen = rests(&b);
                seen.transcript_read = false;
                stopped |= stops_agent(&b.evidence(seen));
            }
        }
        let done = b.handoff().state == HandoffState::Done;
        assert_eq!((done, stopped), (answered, !answered), "{:?}", b.steps());
        assert_eq!(b.handoff().in_context.unwrap().proof, None);
    }
}

/// It is no person's draft, so nothing waits for it, and it goes with the process.
#[test]
fn a_blocked_prompt_that_is_put_back_into_the_composer_holds_nothing_up() {
    let (mut b, wake) = told_by_hook();
    assert_eq!(b.session.composer_text().as_deref(), Some(wake.as_str()));
    until_with(&mut b, Composer::Ours, |_, o| stops_agent(o));
    b.is_killed(1, 15);
    b.started(2);
    b.context("c3");
    b.prompt_accepted("c3", &wake);
    until_with(&mut b, Composer::Ours, |_, o| stops_agent(o));
    assert_eq!(b.handoff().course, Course::BackStopping);
}
