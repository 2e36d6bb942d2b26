//! A successor that ends right after its hook has proven its prompt may not have written it down: a
//! handoff is over once its prompt is in the record, and is given again if it is not.

use super::*;
use crate::effect::LaunchPlan;

fn dead(read: bool) -> Evidence {
    let mut evidence = screen(Composer::Empty, Activity::Unknown);
    evidence.alive = None;
    evidence.status = None;
    evidence.screen = None;
    evidence.transcript_read = read;
    evidence
}

impl Bench {
    /// The successor's agent is started again in its conversation.
    fn restored(&mut self) -> LaunchPlan {
        let launched = launches(&self.on(Event::LaunchAsked { fresh: false }));
        assert_eq!(launched.len(), 1);
        launched[0].clone()
    }
    fn resumes(&mut self, launch: u32) {
        self.started(launch);
        self.begins(ContextSource::Resume);
    }
    fn times_taken(&self) -> usize {
        let told = "the successor has its prompt";
        self.steps().iter().filter(|step| *step == told).count()
    }
}

#[test]
fn a_prompt_that_the_record_lacks_is_given_again_after_a_restore() {
    let mut b = Bench::prompted();
    let wake = b.wake_text();
    b.is_killed(1, 9);
    assert_eq!(b.handoff().state, HandoffState::Prompted, "not known yet");
    let asked = b.evidence(dead(true));
    assert_eq!(b.handoff().state, HandoffState::Cleared);
    let told = |e: &Effect| matches!(e, Effect::Notify(n) if n.text.contains("sm restore s1"));
    assert!(asked.effects.iter().any(told), "{asked:?}");
    let plan = b.restored();
    assert_eq!((plan.resume, plan.prompt), (Some(conversation("c2")), None));
    b.resumes(2);
    b.send("m1", "for the successor");
    assert!(b.receipt("m1").is_pending(), "{:?}", b.receipt("m1"));
    let again = b.evidence(screen(Composer::Empty, Activity::Idle));
    assert_eq!(texts_pasted(&again), std::slice::from_ref(&wake));
    let flight = b.session.record().flight.as_ref().unwrap().no;
    b.was_pasted(flight);
    b.evidence(screen(Composer::Ours, Activity::Idle));
    b.prompt_accepted("c2", &wake);
    assert_eq!(b.handoff().state, HandoffState::Prompted);
    b.recorded(&wake);
    b.stops();
    assert_eq!(b.handoff().state, HandoffState::Done);
    assert_eq!(b.times_taken(), 2);
}

#[test]
fn a_prompt_that_the_record_has_ends_the_handoff() {
    let mut b = Bench::prompted();
    let wake = b.wake_text();
    b.is_killed(1, 9);
    b.on(user_text(&wake, b.now.plus(5)));
    assert_eq!(b.handoff().state, HandoffState::Done);
    b.evidence(dead(true));
    assert_eq!(b.handoff().state, HandoffState::Done);
    assert_eq!(b.restored().prompt, None);
    b.resumes(2);
    assert!(b.own(Purpose::Wake).iter().all(MessageState::is_final));
}

#[test]
fn a_record_that_cannot_be_read_leaves_the_word_of_the_hook() {
    let mut b = Bench::prompted();
    b.is_killed(1, 9);
    for _ in 0..40 {
        if b.session.probe.is_some() {
            b.evidence(dead(false));
        } else if let Some(at) = b.session.next_deadline() {
            b.now = b.now.max(at);
            b.on(Event::Tick);
        }
    }
    assert_eq!(b.handoff().state, HandoffState::Done);
    assert_eq!(b.session.next_deadline(), None);
}

#[test]
fn a_restore_right_after_the_loss_asks_before_the_handoff_is_over() {
    for in_record in [false, true] {
        let mut b = Bench::prompted();
        let wake = b.wake_text();
        b.on(Event::TerminalGone { launch: 1 });
        let plan = b.restored();
        assert_eq!(plan.record, Some(conversation("c2")));
        assert_eq!(b.handoff().state, HandoffState::Prompted);
        if in_record {
            b.on(user_text(&wake, b.now.plus(5)));
        }
        b.on(Event::RecordRead {
            launch: 2,
            read: true,
        });
        let expected = match in_record {
            true => HandoffState::Prompted,
            false => HandoffState::Cleared,
        };
        assert_eq!(b.handoff().state, expected);
        b.resumes(2);
        for _ in 0..5 {
            b.wait(1_000);
            if b.session.probe.is_some() {
                let looked = b.evidence(screen(Composer::Empty, Activity::Idle));
                assert_eq!(pasted(&looked), !in_record);
                break;
            }
        }
        assert_eq!(b.handoff().state == HandoffState::Done, in_record);
    }
}

#[test]
fn a_record_that_is_never_read_does_not_hold_up_the_successor_for_ever() {
    let mut b = Bench::prompted();
    b.on(Event::TerminalGone { launch: 1 });
    b.restored();
    b.on(Event::RecordRead {
        launch: 2,
        read: false,
    });
    b.resumes(2);
    for _ in 0..200 {
        b.wait(1_000);
        if b.session.probe.is_some() {
            let mut seen = screen(Composer::Empty, Activity::Idle);
            seen.transcript_read = false;
            b.evidence(seen);
        }
    }
    assert_eq!(b.handoff().state, HandoffState::Done);
}

#[test]
fn an_end_that_was_asked_for_waits_for_the_record_too() {
    for in_record in [false, true] {
        let mut b = Bench::prompted();
        let wake = b.wake_text();
        b.on(Event::KillAsked);
        assert_eq!(b.handoff().state, HandoffState::Prompted);
        if in_record {
            b.on(user_text(&wake, b.now.plus(5)));
        }
        b.is_killed(1, 9);
        if b.session.probe.is_some() {
            b.evidence(dead(true));
        }
        let expected = match in_record {
            true => HandoffState::Done,
            false => HandoffState::Cleared,
        };
        assert_eq!(b.handoff().state, expected);
    }
}

/// Its first turn was over by the hook, and nothing of it is there.
#[test]
fn a_handoff_whose_record_was_not_read_is_taken_up_again() {
    let mut b = Bench::prompted();
    let wake = b.wake_text();
    b.stops();
    assert_eq!(b.handoff().state, HandoffState::Prompted);
    b.is_killed(1, 9);
    b.evidence(dead(true));
    assert_eq!(b.handoff().state, HandoffState::Cleared);
    b.restored();
    b.resumes(2);
    let again = b.evidence(screen(Composer::Empty, Activity::Idle));
    assert_eq!(texts_pasted(&again), [wake]);
}

#[test]
fn what_the_daemon_forgot_at_its_death_is_in_the_journal() {
    let mut b = Bench::prompted();
    b.recovers();
    b.is_killed(1, 9);
    b.evidence(dead(true));
    assert_eq!(b.handoff().state, HandoffState::Cleared);
    b.recovers();
    assert_eq!(b.handoff().state, HandoffState::Cleared);
    b.restored();
    b.resumes(2);
    let again = b.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(pasted(&again), "{again:?}");
}

/// sm was killed while it started the successor, whose hooks nobody heard until it had died as well.
fn lost_before_it_was_heard() -> (Bench, String) {
    let mut b = Bench::working();
    b.on(asked("h1", Trigger::Agent));
    b.on(Event::TerminalGone { launch: 1 });
    b.on(prepared("h1"));
    let prompt = b.restored().prompt.unwrap();
    b.recovers_with(false);
    assert_eq!(b.state(), "lost");
    (b, prompt)
}

#[test]
fn a_successor_that_began_unseen_is_resumed_and_not_given_its_prompt_twice() {
    let (mut b, prompt) = lost_before_it_was_heard();
    b.context("c9");
    b.prompt_accepted("c9", &prompt);
    assert_eq!(b.state(), "lost");
    assert_eq!(b.handoff().state, HandoffState::Prompted);
    b.recorded(&prompt);
    let plan = b.restored();
    assert_eq!((plan.resume, plan.prompt), (Some(conversation("c9")), None));
}

#[test]
fn one_that_began_unseen_and_wrote_nothing_down_is_given_its_prompt_again() {
    let (mut b, prompt) = lost_before_it_was_heard();
    b.context("c9");
    b.prompt_accepted("c9", &prompt);
    b.wait(60_000);
    b.evidence(dead(true));
    assert_eq!(b.handoff().state, HandoffState::Cleared);
}

#[test]
fn hooks_of_others_tell_nothing_of_a_lost_successor() {
    let (mut b, prompt) = lost_before_it_was_heard();
    for origin in [Origin::SubAgent, Origin::Nested] {
        let mut call = b.call(
            "c9",
            Signal::PromptAccepted {
                text: prompt.clone(),
                transcript: None,
            },
        );
        call.origin = origin;
        b.on(Event::Hook(call));
    }
    assert_ne!(b.handoff().state, HandoffState::Prompted);
    assert_eq!(b.restored().prompt, Some(prompt));
}
