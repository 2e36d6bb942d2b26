//! Agents that say little: no status file, a busy title, signs that come before the state settled.

use super::*;

/// Codex while an answer streams: only the title tells that it works.
fn streaming() -> Evidence {
    Evidence {
        status: None,
        title: Activity::Busy,
        ..screen(Composer::Empty, Activity::IdleOrWaiting)
    }
}

/// Codex at its prompt.
fn resting() -> Evidence {
    Evidence {
        status: None,
        title: Activity::IdleOrWaiting,
        ..screen(Composer::Empty, Activity::IdleOrWaiting)
    }
}

fn urgent(b: &mut Bench) -> Outcome {
    let mut m = message("m1", "stop that");
    m.mode = Mode::Urgent;
    b.on(Event::Send(m))
}

#[test]
fn an_urgent_message_interrupts_an_agent_of_which_only_the_title_says_that_it_works() {
    let mut b = Bench::working();
    urgent(&mut b);
    assert_eq!(keys(&b.evidence(streaming())), [Key::Escape]);
}

#[test]
fn an_escape_that_was_not_pressed_is_pressed_later() {
    let mut b = Bench::working();
    urgent(&mut b);
    for flight in [1, 1] {
        assert_eq!(keys(&b.evidence(streaming())), [Key::Escape]);
        // a spinner in the title moved meanwhile
        b.on(Event::Pressed {
            flight,
            outcome: KeyOutcome::ScreenMoved,
        });
    }
    assert_eq!(keys(&b.evidence(streaming())), [Key::Escape]);
    b.on(Event::Pressed {
        flight: 1,
        outcome: KeyOutcome::Pressed,
    });
    b.wait(200);
    assert!(keys(&b.evidence(streaming())).is_empty(), "once is enough");
}

/// The daemon dies before it has heard whether the key was pressed, and the message waits again.
#[test]
fn an_escape_that_may_have_been_pressed_stays_known() {
    let known = |b: &Bench| {
        let message = b.session.message(&MessageId::new("m1").unwrap()).unwrap();
        (message.meta.may_have_interrupted, message.meta.interrupted)
    };
    let mut b = Bench::working();
    urgent(&mut b);
    assert_eq!(known(&b), (false, false));
    assert_eq!(keys(&b.evidence(streaming())), [Key::Escape]);
    b.recovers();
    assert_eq!(known(&b), (true, false), "it may be pressed again");
    b.on(user_text("stop that", b.now));
    b.is_killed(1, 9);
    assert!(known(&b).0);
}

/// Whoever waits for the end of a turn does not mean the one before.
#[test]
fn a_message_that_begins_a_turn_is_due_and_one_that_waits_for_a_person_is_not() {
    let mut b = Bench::working();
    b.send("m0", "what waits for the turn's end");
    b.on(Event::Facts(vec![Fact::TurnEnded {
        broken: Some(BreakReason::Interrupted),
        at: None,
    }]));
    assert_eq!(b.state(), "idle");
    assert!(b.session.has_message_due(), "{:?}", b.receipt("m0"));
    b.evidence(screen(Composer::Draft, Activity::Idle));
    assert_eq!(b.receipt("m0"), MessageState::Held { why: Hold::Draft });
    assert!(!b.session.has_message_due());

    let mut b = Bench::idle();
    assert!(!b.session.has_message_due());
    b.send("m1", "hello");
    assert!(b.session.has_message_due(), "queued");
    b.paste();
    assert_eq!(b.receipt("m1").word(), "written");
    assert!(b.session.has_message_due());
    b.accepts("hello");
    b.stops();
    assert_eq!((b.state(), b.session.has_message_due()), ("idle", false));
}

#[test]
fn a_sign_that_came_too_early_to_be_believed_is_asked_for_again() {
    let mut b = Bench::working();
    b.wait(100);
    b.on(Event::Title(Activity::IdleOrWaiting));
    b.evidence(resting());
    assert_eq!(b.state(), "working", "it may lag behind the hook");
    let due = b.session.next_deadline().unwrap();
    assert!(due <= b.now.plus(2_000), "{} ms", due.since(b.now));
    b.wait(2_000);
    b.evidence(resting());
    assert_eq!(b.state(), "idle");
}

#[test]
fn an_agent_that_is_busy_with_its_own_start_has_no_turn() {
    let mut b = Bench::new();
    b.on(Event::LaunchAsked { fresh: false });
    b.started(1);
    b.wait(800);
    b.evidence(streaming());
    assert_eq!(b.state(), "starting");
    b.on(Event::Title(Activity::IdleOrWaiting));
    b.evidence(resting());
    b.wait(400);
    b.evidence(resting());
    assert_eq!(b.state(), "idle");
    assert_eq!(b.session.record().turn, TurnId(0));
}

#[test]
fn a_prompt_that_gives_way_to_a_dialog_is_not_ready() {
    let review = || Activity::Waiting(PersonNeed::FirstRun("hooks".into()));
    let dialog = || Evidence {
        status: None,
        ..screen(Composer::Hidden, review())
    };
    let mut b = Bench::new();
    b.on(Event::LaunchAsked { fresh: false });
    b.wait(800);
    b.evidence(resting());
    assert_eq!(b.state(), "starting", "one look is not enough");
    b.wait(400);
    b.evidence(dialog());
    assert_eq!(b.state(), "waiting");

    // a slow one: the dialog comes when it already counts as ready
    let mut b = Bench::new();
    b.on(Event::LaunchAsked { fresh: false });
    b.wait(800);
    b.evidence(resting());
    b.wait(400);
    b.evidence(resting());
    assert_eq!(b.state(), "idle");
    b.wait(2_000);
    b.evidence(dialog());
    assert_eq!(b.state(), "waiting");
}

#[test]
fn an_agent_that_was_given_a_prompt_at_its_start_works() {
    let mut b = Bench::new();
    b.send("m1", "hello");
    b.on(Event::LaunchAsked { fresh: false });
    b.wait(800);
    b.evidence(streaming());
    assert_eq!(b.state(), "working");
}

#[test]
fn a_dialog_that_was_answered_unheard_is_noticed_by_the_title() {
    let mut b = Bench::idle();
    b.hook(Signal::PersonNeeded {
        need: PersonNeed::FirstRun("hooks".into()),
        call: None,
    });
    b.wait(3_000);
    b.on(Event::Title(Activity::IdleOrWaiting));
    b.evidence(resting());
    assert_eq!(b.state(), "idle");
}

#[test]
fn an_agent_without_hooks_is_known_by_the_record_it_writes() {
    let mut b = Bench::idle();
    b.session.rec.conversation = None;
    let found = |name: &str, at| Event::RecordFound {
        conversation: conversation(name),
        transcript: Some(format!("/{name}.jsonl")),
        at,
    };
    b.on(found("c1", b.now));
    assert_eq!(b.session.record().conversation, Some(conversation("c1")));
    assert_eq!(b.session.record().generation, Generation(1));
    b.on(found("c2", b.now));
    assert_eq!(
        b.session.record().conversation,
        Some(conversation("c1")),
        "which of several it is, the hooks say"
    );
}

#[test]
fn a_text_that_cannot_be_pasted_alone_goes_with_the_next_one() {
    let mut b = Bench::idle();
    b.send("m1", "!ls");
    b.evidence(screen(Composer::Empty, Activity::Idle));
    assert_eq!(
        b.receipt("m1"),
        MessageState::Held {
            why: Hold::LooksLikeCommand
        }
    );
    b.send("m2", "hello");
    let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
    let pastes = outcome.effects.iter().find_map(|e| match e {
        Effect::Paste { pastes, .. } => Some(pastes.concat()),
        _ => None,
    });
    let both = "[sm: message 1 of 2]\n!ls\n\n[sm: message 2 of 2]\nhello";
    assert_eq!(pastes.as_deref(), Some(both));
}

#[test]
fn the_company_of_a_text_that_cannot_be_pasted_alone_overtakes_nobody() {
    let mut b = Bench::idle();
    b.hook(Signal::CompactionStarting { automatic: true });
    b.send("m1", "!ls");
    let mut raw = message("m2", "/compact");
    raw.raw = true;
    b.on(Event::Send(raw));
    b.send("m3", "go on");
    b.hook(Signal::CompactionDone);
    let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(
        !pasted(&outcome),
        "m3 belongs after the command: {outcome:?}"
    );
    for id in ["m1", "m2", "m3"] {
        let why = Hold::LooksLikeCommand;
        assert_eq!(b.receipt(id), MessageState::Held { why }, "{id}");
    }
}

#[test]
fn an_urgent_message_is_the_first_to_keep_another_company() {
    let mut b = Bench::idle();
    b.hook(Signal::CompactionStarting { automatic: true });
    b.send("m1", "later");
    for (id, text) in [("m2", "!ls"), ("m3", "now")] {
        let mut urgent = message(id, text);
        urgent.mode = Mode::Urgent;
        b.on(Event::Send(urgent));
    }
    b.hook(Signal::CompactionDone);
    let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
    let pastes = outcome.effects.iter().find_map(|e| match e {
        Effect::Paste { pastes, .. } => Some(pastes.concat()),
        _ => None,
    });
    let both = "[sm: message 1 of 2]\n!ls\n\n[sm: message 2 of 2]\nnow";
    assert_eq!(pastes.as_deref(), Some(both));
}
