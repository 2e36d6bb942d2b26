//! What the simulation found, each as the shortest example: programs whose screen nobody can read.

use super::*;

const GENERIC: Profile = Profile {
    kind: AgentKind::Generic,
    hook_answer_limit: None,
    stop_answer: None,
    input: crate::profile::Input::Terminal,
    mailbox: false,
    names_conversation: false,
    prompt_argument: false,
    reads_screen: false,
    has_transcript: false,
    paste_fit: |text| PasteFit::unless_command(text, &[]),
    escape_interrupts: false,
    compaction_holds: 5,
    compaction_waits: |_, _| true,
    usable: |window| window,
    clear: None,
    stashes: false,
    resume_command: None,
    paste_as_text: |_| None,
};

fn nothing_to_see() -> Evidence {
    Evidence {
        alive: Some(true),
        status: None,
        title: Activity::Unknown,
        screen: None,
        transcript_read: false,
        contexts_read: false,
        deaf: false,
    }
}

fn generic_idle() -> Bench {
    let mut b = Bench::new();
    b.session.profile = GENERIC;
    b.session.rec.conversation = None;
    b.on(Event::LaunchAsked { fresh: false });
    b.started(1);
    b.on(Event::Output { active: false });
    b
}

#[test]
fn a_program_without_a_screen_gets_one_enter() {
    let mut b = generic_idle();
    b.send("m1", "hello");
    b.evidence(nothing_to_see());
    let outcome = b.was_pasted(1);
    assert_eq!(keys(&outcome), [Key::Enter]);
    b.on(Event::Pressed {
        flight: 1,
        outcome: KeyOutcome::Pressed,
    });
    let mut enters = 0;
    for _ in 0..10 {
        enters += keys(&b.wait(400)).len();
        if b.session.probe.is_some() {
            enters += keys(&b.evidence(nothing_to_see())).len();
        }
    }
    assert_eq!((enters, b.receipt("m1").word()), (0, "consumed"));
}

#[test]
fn an_enter_that_was_under_way_when_the_daemon_died_is_pressed() {
    let mut b = generic_idle();
    b.send("m1", "hello");
    b.evidence(nothing_to_see());
    b.was_pasted(1); // journaled: entering
    b.recovers();
    let outcome = b.evidence(nothing_to_see());
    assert_eq!(keys(&outcome), [Key::Enter]);
}

#[test]
fn a_paste_that_was_under_way_when_the_daemon_died_is_not_claimed_and_not_repeated() {
    let mut b = generic_idle();
    b.send("m1", "hello");
    b.evidence(nothing_to_see()); // journaled: writing
    b.recovers();
    let mut enters = 0;
    for _ in 0..10 {
        b.wait(400);
        if b.session.probe.is_some() {
            let outcome = b.evidence(nothing_to_see());
            assert!(!pasted(&outcome));
            enters += keys(&outcome).len();
        }
    }
    assert_eq!(enters, 1, "what may stand there is submitted");
    let MessageState::Failed { reason } = b.receipt("m1") else {
        panic!("{:?}", b.receipt("m1"))
    };
    assert!(reason.contains("not known whether"), "{reason}");
}

#[test]
fn enter_waits_for_a_paste_that_takes_longer_than_a_look() {
    let mut b = generic_idle();
    b.send("m1", "hello");
    assert!(pasted(&b.evidence(nothing_to_see())));
    for _ in 0..5 {
        let mut early = keys(&b.wait(500));
        if b.session.probe.is_some() {
            early.extend(keys(&b.evidence(nothing_to_see())));
        }
        assert!(early.is_empty(), "the text does not stand there yet");
    }
    let outcome = b.was_pasted(1);
    assert_eq!(keys(&outcome), [Key::Enter]);
}

#[test]
fn a_paste_whose_result_never_comes_gets_its_enter_in_the_end() {
    let mut b = generic_idle();
    b.send("m1", "hello");
    assert!(pasted(&b.evidence(nothing_to_see())));
    let mut enters = 0;
    for _ in 0..30 {
        enters += keys(&b.wait(500)).len();
        if b.session.probe.is_some() {
            enters += keys(&b.evidence(nothing_to_see())).len();
        }
    }
    assert_eq!((enters, b.receipt("m1").word()), (1, "consumed"));
}

#[test]
fn the_echo_of_a_paste_does_not_prove_its_enter() {
    let mut b = generic_idle();
    b.send("m1", "hello");
    b.evidence(nothing_to_see());
    b.was_pasted(1); // Enter is ordered, and may never be pressed: the daemon can die here
    b.on(Event::Output { active: true });
    assert_eq!(b.receipt("m1").word(), "written");
    b.on(Event::Pressed {
        flight: 1,
        outcome: KeyOutcome::Pressed,
    });
    let submitted = b.receipt("m1");
    assert!(
        matches!(
            submitted,
            MessageState::Submitted {
                proof: Proof::None,
                ..
            }
        ),
        "{submitted:?}"
    );
}

#[test]
fn what_a_program_writes_after_its_enter_is_proof_enough() {
    let mut b = generic_idle();
    b.send("m1", "hello");
    b.evidence(nothing_to_see());
    b.was_pasted(1);
    b.on(Event::Pressed {
        flight: 1,
        outcome: KeyOutcome::Pressed,
    });
    assert_eq!(b.receipt("m1").word(), "written");
    b.on(Event::Output { active: true });
    assert_eq!(b.receipt("m1").word(), "submitted");
}
