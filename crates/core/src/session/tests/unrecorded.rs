//! An agent that is killed right after it took a prompt has not written it down.

use super::*;

/// Given, proven by the hook, and the process is gone.
fn killed_with(id: &str, text: &str) -> Bench {
    let mut b = Bench::idle();
    b.send(id, text);
    b.paste();
    b.accepts(text);
    b.is_killed(1, 9);
    b
}

fn dead(read: bool) -> Evidence {
    let mut evidence = screen(Composer::Empty, Activity::Unknown);
    evidence.alive = None;
    evidence.status = None;
    evidence.screen = None;
    evidence.transcript_read = read;
    evidence
}

fn held(b: &Bench, id: &str) -> bool {
    let why = Hold::NotRecorded;
    b.receipt(id) == MessageState::Held { why }
}

#[test]
fn what_the_record_lacks_goes_back_into_the_queue_and_is_given_to_the_resumed_agent() {
    let mut b = killed_with("m1", "hello");
    let notices = b.evidence(dead(true));
    assert!(held(&b, "m1"), "{:?}", b.receipt("m1"));
    let again = format!("given again after: sm restore {}", b.session.record().id);
    let told = |e: &Effect| matches!(e, Effect::Notify(n) if n.text.contains(&again));
    assert!(notices.effects.iter().any(told), "{notices:?}");
    // nobody else's is kept by an agent that has ended
    b.send("m2", "too late");
    assert!(matches!(b.receipt("m2"), MessageState::Failed { .. }));
    let launched = b.on(Event::LaunchAsked { fresh: false });
    let prompt = launched.effects.iter().find_map(|e| match e {
        Effect::Launch(plan) => Some(plan.prompt.clone()),
        _ => None,
    });
    assert_eq!(prompt, Some(None), "its record is read first");
    b.started(2);
    b.begins(ContextSource::Resume);
    b.paste();
    b.accepts("hello");
    let meta = &b
        .session
        .message(&MessageId::new("m1").unwrap())
        .unwrap()
        .meta;
    assert_eq!(meta.state.word(), "submitted");
    assert!(meta.reason().unwrap().contains("given again"));
}

#[test]
fn what_the_record_has_stays_consumed() {
    let mut b = killed_with("m1", "hello");
    b.on(user_text("hello", b.now.plus(5)));
    b.evidence(dead(true));
    assert_eq!(b.receipt("m1").word(), "consumed");
    // an answer of the model's stands for all that it answered
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    b.accepts("hello");
    let at = Some(b.now.plus(5));
    b.on(Event::Facts(vec![Fact::Assistant { at }]));
    b.on(Event::TerminalGone { launch: 1 });
    assert!(b.session.record().unrecorded.is_empty());
}

#[test]
fn a_record_that_cannot_be_read_says_nothing() {
    let mut b = killed_with("m1", "hello");
    for _ in 0..40 {
        if b.session.probe.is_none() {
            match b.session.next_deadline() {
                Some(at) => b.now = b.now.max(at),
                None => break,
            }
            b.on(Event::Tick);
        } else {
            b.evidence(dead(false));
        }
    }
    assert_eq!(b.session.next_deadline(), None, "it is given up some time");
    assert_eq!(b.receipt("m1").word(), "consumed");
}

#[test]
fn what_is_found_in_the_record_after_all_is_not_given_again() {
    let mut b = killed_with("m1", "hello");
    let since = b.now;
    b.evidence(dead(true));
    assert!(held(&b, "m1"));
    b.on(Event::LaunchAsked { fresh: false });
    b.started(2);
    b.begins(ContextSource::Resume);
    b.on(user_text("hello", since));
    assert_eq!(b.receipt("m1").word(), "consumed");
    assert_eq!(b.session.record().flight, None);
    let later = b.on(Event::Tick);
    assert!(!pasted(&later));
}

#[test]
fn a_terminal_that_is_gone_is_asked_about_after_its_process_had_time_to_end() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    b.accepts("hello");
    b.on(Event::TerminalGone { launch: 1 });
    assert_eq!(b.session.probe, None);
    b.now = b.session.next_deadline().unwrap();
    b.on(Event::Tick);
    b.evidence(dead(true));
    assert!(held(&b, "m1"), "{:?}", b.receipt("m1"));
}

#[test]
fn a_conversation_that_cannot_be_resumed_lacks_it() {
    let mut b = killed_with("m1", "hello");
    b.evidence(dead(false));
    b.on(Event::LaunchAsked { fresh: false });
    b.on(Event::NotResumed { launch: 2 });
    assert!(b.receipt("m1").is_pending(), "{:?}", b.receipt("m1"));
}

#[test]
fn lost_twice_it_fails() {
    let mut b = killed_with("m1", "hello");
    b.evidence(dead(true));
    b.on(Event::LaunchAsked { fresh: false });
    b.started(2);
    b.begins(ContextSource::Resume);
    b.paste();
    b.accepts("hello");
    b.is_killed(2, 9);
    b.evidence(dead(true));
    assert!(matches!(b.receipt("m1"), MessageState::Failed { reason } if reason.contains("twice")));
}

/// Given, proven by the hook, and its terminal is gone: nobody has asked the record yet.
fn lost_with(id: &str, text: &str) -> Bench {
    let mut b = Bench::idle();
    b.send(id, text);
    b.paste();
    b.accepts(text);
    b.on(Event::TerminalGone { launch: 1 });
    b
}

fn plan(outcome: &Outcome) -> crate::effect::LaunchPlan {
    let launch = |e: &Effect| match e {
        Effect::Launch(plan) => Some(plan.clone()),
        _ => None,
    };
    outcome.effects.iter().find_map(launch).expect("a launch")
}

#[test]
fn a_restore_right_after_the_loss_asks_the_record_before_the_agent_begins() {
    for fresh in [false, true] {
        let mut b = lost_with("m1", "hello");
        let process = b.session.record().lost_process;
        assert!(process.is_some());
        b.send("m2", "later");
        let plan = plan(&b.on(Event::LaunchAsked { fresh }));
        assert_eq!(plan.record, Some(conversation("c1")));
        assert_eq!(plan.after, process, "it may still write");
        assert_eq!(plan.prompt, None, "what the record lacks goes first");
        b.on(Event::RecordRead {
            launch: 2,
            read: true,
        });
        assert!(b.receipt("m1").is_pending(), "{:?}", b.receipt("m1"));
        b.started(2);
        assert_eq!(b.session.record().lost_process, None);
        let begins = Signal::ContextStarted {
            source: ContextSource::Resume,
            transcript: None,
        };
        let call = b.call(if fresh { "c2" } else { "c1" }, begins);
        b.on(Event::Hook(call));
        b.paste();
        assert_eq!(b.receipt("m1").word(), "written");
        assert!(b.receipt("m2").is_pending());
    }
}

#[test]
fn what_the_process_wrote_while_it_ended_is_not_given_again() {
    let mut b = lost_with("m1", "hello");
    b.on(Event::LaunchAsked { fresh: false });
    b.on(user_text("hello", b.now.plus(5)));
    b.on(Event::RecordRead {
        launch: 2,
        read: true,
    });
    b.started(2);
    b.begins(ContextSource::Resume);
    assert_eq!(b.receipt("m1").word(), "consumed");
    assert!(b.session.record().unrecorded.is_empty());
}

#[test]
fn a_record_is_not_believed_while_its_writer_may_live() {
    let mut b = lost_with("m1", "hello");
    b.on(Event::LaunchAsked { fresh: false });
    b.now = b.session.next_deadline().unwrap();
    b.on(Event::Tick);
    b.evidence(dead(true));
    assert!(!b.receipt("m1").is_pending(), "{:?}", b.receipt("m1"));
    b.on(Event::RecordRead {
        launch: 2,
        read: false,
    });
    b.started(2);
    b.begins(ContextSource::Resume);
    // the agent's own words about what is missing are no answer to it
    let at = Some(b.now.plus(5));
    b.on(Event::Facts(vec![Fact::Assistant { at }]));
    b.now = b.session.next_deadline().unwrap();
    b.on(Event::Tick);
    b.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(b.receipt("m1").is_pending(), "{:?}", b.receipt("m1"));
}

#[test]
fn a_successor_that_is_told_of_it_does_not_have_it() {
    let mut b = killed_with("m1", "feed the walrus");
    b.evidence(dead(true));
    assert!(held(&b, "m1"));
    b.on(Event::LaunchAsked { fresh: true });
    b.started(2);
    let begins = Signal::ContextStarted {
        source: ContextSource::Startup,
        transcript: None,
    };
    let call = b.call("c2", begins);
    b.on(Event::Hook(call));
    // a document that quotes what waits
    let told = "Read notes.md.\nStill under way:\n- 1 message waits: feed the walrus";
    b.on(user_text(told, b.now.plus(5)));
    assert!(b.receipt("m1").is_pending(), "{:?}", b.receipt("m1"));
}
