//! A provider's limit: the agent stands still, nothing is given to it, and where it is to be left
//! alone it is told once to go on.

use super::*;
use crate::limit::{LimitKind, LimitPhase, LimitPolicy, ProviderLimit, ResetSource, UsageWindow};
use crate::message::Purpose;

const HOUR: i64 = 3_600_000;

fn usage(bench: &Bench, resets_in: i64) -> BreakReason {
    let at = bench.now.plus(resets_in);
    BreakReason::Limit(
        ProviderLimit::new(LimitKind::Usage, "You've hit your limit")
            .resetting(Some(at), ResetSource::Agent),
    )
}

fn network() -> BreakReason {
    BreakReason::Limit(ProviderLimit::new(LimitKind::Network, "ECONNREFUSED"))
}

fn left_alone() -> Bench {
    let mut b = Bench::working();
    b.session.set_limits(LimitPolicy {
        resume: true,
        tries: 3,
    });
    b
}

fn meets_limit(b: &mut Bench, reason: BreakReason) -> Outcome {
    b.hook(Signal::TurnBroken(reason))
}

impl Bench {
    fn limit_phase(&self) -> Option<LimitPhase> {
        self.session
            .record()
            .limit
            .as_ref()
            .map(|limit| limit.phase)
    }
    fn word_to_go_on(&self) -> MessageId {
        let limit = self.session.record().limit.as_ref().expect("a limit");
        limit.prompt.clone().expect("a word to go on")
    }
    /// Ticks and idle screens until that time; how often something was pasted.
    fn quiet_until(&mut self, at: Timestamp, composer: &Composer) -> usize {
        let mut pastes = 0;
        while self.now < at {
            let next = self.session.next_deadline().unwrap_or(at);
            self.now = next.max(self.now).max(self.now.plus(100)).min(at);
            self.on(Event::Tick);
            if self.session.probe.is_some() {
                let outcome = self.evidence(screen(composer.clone(), Activity::Idle));
                pastes += usize::from(pasted(&outcome));
            }
        }
        pastes
    }
    /// Pastes what is next, which the agent takes as its prompt.
    fn goes_on(&mut self) {
        let text = self.enters_word();
        self.accepts(&text);
    }
    /// Pastes the word to go on, and presses Enter.
    fn enters_word(&mut self) -> String {
        while self.session.flight_purpose() != Purpose::Resume || self.session.probe.is_none() {
            let next = self.session.next_deadline().expect("something is due");
            assert!(next.since(self.now) < 24 * HOUR);
            self.now = next.max(self.now);
            self.on(Event::Tick);
            if self.session.rec.flight.is_none() && self.session.probe.is_some() {
                self.evidence(screen(Composer::Empty, Activity::Idle));
            }
        }
        self.paste();
        let id = self.word_to_go_on();
        self.session.message(&id).expect("it waits").text.clone()
    }
}

fn notices(outcome: &Outcome) -> Vec<NoticeKind> {
    let kinds = outcome.effects.iter().filter_map(|e| match e {
        Effect::Notify(notice) => Some(notice.kind),
        _ => None,
    });
    kinds.collect()
}

#[test]
fn a_limit_is_told_and_the_agent_goes_on_once_after_its_reset() {
    let mut b = left_alone();
    let reason = usage(&b, HOUR);
    let resets_at = b.now.plus(HOUR);
    let outcome = meets_limit(&mut b, reason);
    assert_eq!(notices(&outcome), [NoticeKind::Limited]);
    assert_eq!(b.session.record().word(), "limited");
    assert_eq!(b.quiet_until(resets_at, &Composer::Empty), 0, "not before");
    b.quiet_until(resets_at.plus(2_000), &Composer::Empty);
    assert_eq!(
        b.limit_phase(),
        Some(LimitPhase::Waiting),
        "the clocks differ"
    );
    b.goes_on();
    assert_eq!(b.limit_phase(), Some(LimitPhase::Trying));
    assert_eq!(b.session.record().word(), "working");
    b.stops();
    assert_eq!(b.limit_phase(), None);
    let later = b.now.plus(2 * HOUR);
    assert_eq!(b.quiet_until(later, &Composer::Empty), 0, "exactly once");
}

#[test]
fn messages_wait_for_the_end_of_the_limit_behind_the_word_to_go_on() {
    let mut b = left_alone();
    let reason = usage(&b, HOUR);
    meets_limit(&mut b, reason);
    b.send("m1", "hello");
    let why = Hold::Limited;
    assert_eq!(b.receipt("m1"), MessageState::Held { why });
    let before = b.now.plus(HOUR - 60_000);
    assert_eq!(b.quiet_until(before, &Composer::Empty), 0);
    let order: Vec<_> = b.session.in_order().map(|m| m.meta.id.clone()).collect();
    assert_eq!(order, [b.word_to_go_on(), MessageId::new("m1").unwrap()]);
}

#[test]
fn a_session_with_somebody_at_it_is_not_told_to_go_on() {
    let mut b = Bench::working();
    let reason = usage(&b, HOUR);
    meets_limit(&mut b, reason);
    assert_eq!(b.session.record().word(), "limited");
    assert!(b.session.queue().is_empty());
    let after = b.now.plus(2 * HOUR);
    assert_eq!(b.quiet_until(after, &Composer::Empty), 0);
    assert_eq!(b.limit_phase(), Some(LimitPhase::Over));
    assert_eq!(b.session.record().word(), "idle");
}

#[test]
fn who_goes_on_by_hand_is_not_told_to_go_on() {
    let mut b = left_alone();
    let reason = usage(&b, HOUR);
    meets_limit(&mut b, reason);
    let word = b.word_to_go_on();
    b.wait(60_000);
    b.accepts("continue");
    assert_eq!(b.limit_phase(), None);
    assert_eq!(b.receipt(word.as_str()), MessageState::Withdrawn);
    b.stops();
    let after = b.now.plus(2 * HOUR);
    assert_eq!(b.quiet_until(after, &Composer::Empty), 0);
}

/// Enter went nowhere, and the turn that had begun by itself has met a limit of its own.
#[test]
fn a_word_that_stands_in_the_composer_is_taken_back_when_another_limit_is_met() {
    let mut b = left_alone();
    let reason = usage(&b, HOUR);
    meets_limit(&mut b, reason);
    let word = b.word_to_go_on();
    b.enters_word();
    b.accepts("a task has ended");
    let reason = usage(&b, HOUR);
    meets_limit(&mut b, reason);
    assert_ne!(b.word_to_go_on(), word);
    let mut pressed = Vec::new();
    while pressed.is_empty() {
        if b.session.probe.is_none() {
            b.now = b.session.next_deadline().expect("it looks").max(b.now);
            b.on(Event::Tick);
        }
        pressed = keys(&b.evidence(screen(Composer::Ours, Activity::Idle)));
    }
    assert_eq!(
        pressed,
        [Key::Erase],
        "never Enter before the limit is over"
    );
}

#[test]
fn a_cancelled_word_to_go_on_is_never_given() {
    let mut b = left_alone();
    let reason = usage(&b, HOUR);
    meets_limit(&mut b, reason);
    let word = b.word_to_go_on();
    b.on(Event::Withdraw(word.clone()));
    assert_eq!(b.receipt(word.as_str()), MessageState::Withdrawn);
    let limit = b.session.record().limit.as_ref().unwrap();
    assert_eq!(limit.prompt, None, "whoever looks sees that nobody goes on");
    let after = b.now.plus(2 * HOUR);
    assert_eq!(b.quiet_until(after, &Composer::Empty), 0);
    assert_eq!(b.limit_phase(), Some(LimitPhase::Over), "and it is told");
}

#[test]
fn it_is_never_given_into_a_draft() {
    let mut b = left_alone();
    b.hook(Signal::MailboxOpen {
        waiter: WaiterId(3),
    });
    let reason = usage(&b, HOUR);
    meets_limit(&mut b, reason);
    let after = b.now.plus(2 * HOUR);
    assert_eq!(b.quiet_until(after, &Composer::Draft), 0);
    let word = b.word_to_go_on();
    assert_eq!(b.receipt(word.as_str()).word(), "held");
    b.goes_on(); // once the draft is gone
    assert_eq!(b.limit_phase(), Some(LimitPhase::Trying));
}

#[test]
fn a_limit_that_is_met_again_is_waited_for_longer_and_not_for_ever() {
    let mut b = left_alone();
    let mut pauses = Vec::new();
    meets_limit(&mut b, network());
    for tries in 1..=3 {
        let limit = b.session.record().limit.clone().unwrap();
        pauses.push(limit.until.since(limit.since));
        b.goes_on();
        let outcome = meets_limit(&mut b, network());
        assert_eq!(b.session.record().limit.as_ref().unwrap().tries, tries);
        let told = notices(&outcome);
        assert_eq!(told.len(), usize::from(tries == 3), "{tries}: {told:?}");
    }
    assert!(pauses.is_sorted(), "{pauses:?}");
    assert_eq!(b.session.record().limit.as_ref().unwrap().prompt, None);
    let later = b.now.plus(24 * HOUR);
    assert_eq!(b.quiet_until(later, &Composer::Empty), 0);
}

#[test]
fn a_daemon_that_dies_meanwhile_changes_nothing() {
    let mut b = left_alone();
    let reason = usage(&b, HOUR);
    meets_limit(&mut b, reason);
    let word = b.word_to_go_on();
    b.recovers();
    b.session.set_limits(LimitPolicy {
        resume: true,
        tries: 3,
    });
    if b.session.probe.is_some() {
        b.evidence(screen(Composer::Empty, Activity::Idle));
    }
    assert_eq!(b.session.record().word(), "limited");
    assert_eq!(b.word_to_go_on(), word);
    let waiting = b.session.queue().iter().filter(|m| m.meta.id == word);
    assert_eq!(waiting.count(), 1);
}

#[test]
fn a_clock_that_was_set_back_does_not_make_a_pause_longer() {
    let mut b = left_alone();
    meets_limit(&mut b, network());
    let limit = b.session.record().limit.clone().unwrap();
    let pause = limit.until.since(limit.since);
    b.now = b.now.plus(-10 * HOUR);
    b.on(Event::Tick);
    let limit = b.session.record().limit.clone().unwrap();
    assert!(limit.until.since(b.now) <= pause);
}

#[test]
fn a_window_that_is_used_up_tells_when_the_limit_ends() {
    let mut b = left_alone();
    let limit = ProviderLimit::new(LimitKind::Usage, "You've hit your limit");
    meets_limit(&mut b, BreakReason::Limit(limit));
    let assumed = b.session.record().limit.as_ref().unwrap().source;
    assert_eq!(assumed, ResetSource::Assumed);
    let resets_at = b.now.plus(2 * HOUR);
    b.on(Event::Facts(vec![Fact::Windows(vec![UsageWindow {
        name: "five_hour".into(),
        used_percentage: 100.0,
        resets_at: Some(resets_at),
    }])]));
    let limit = b.session.record().limit.clone().unwrap();
    assert_eq!(limit.source, ResetSource::Agent);
    assert!(limit.until > resets_at && limit.until < resets_at.plus(60_000));
}

#[test]
fn a_window_that_is_told_later_is_surer_than_a_sentence() {
    let mut b = left_alone();
    let said = b.now.plus(HOUR + 60_000);
    meets_limit(
        &mut b,
        BreakReason::Limit(
            ProviderLimit::new(LimitKind::Usage, "resets 5pm")
                .resetting(Some(said), ResetSource::Sentence),
        ),
    );
    let exact = b.now.plus(HOUR);
    b.on(Event::Facts(vec![Fact::Windows(vec![UsageWindow {
        name: "five_hour".into(),
        used_percentage: 100.0,
        resets_at: Some(exact),
    }])]));
    let limit = b.session.record().limit.as_deref().unwrap();
    assert_eq!(limit.limit.resets_at, Some((exact, ResetSource::Agent)));
    assert!(limit.until < said, "not the sentence's");
    let told = limit.clone();
    b.on(Event::Facts(vec![Fact::Windows(Vec::new())]));
    assert_eq!(b.session.record().limit.as_deref(), Some(&told));
}

#[test]
fn a_limit_that_only_the_transcript_tells_is_known_too() {
    let mut b = left_alone();
    b.hook(Signal::TurnBroken(BreakReason::ApiError(
        "rate_limit".into(),
    )));
    assert_eq!(b.session.record().word(), "idle");
    let reason = usage(&b, HOUR);
    b.on(Event::Facts(vec![Fact::TurnEnded {
        broken: Some(reason),
        at: Some(b.now),
    }]));
    assert_eq!(b.session.record().word(), "limited");
    assert!(b.session.record().limit.as_ref().unwrap().prompt.is_some());
}

/// sm was down meanwhile: its hooks lay in the spool, and said no more than that there was an error.
#[test]
fn a_limit_of_a_turn_that_was_heard_late_is_known_too() {
    let mut b = left_alone();
    b.stops();
    let began = b.now.plus(1_000);
    let ended = began.plus(1_000);
    b.wait(5_000);
    let refused = BreakReason::ApiError("refused".into());
    for (at, signal) in [
        (
            began,
            Signal::PromptAccepted {
                text: "more".into(),
                transcript: None,
            },
        ),
        (ended, Signal::TurnBroken(refused)),
    ] {
        let call = HookCall {
            at,
            ..b.call("c1", signal)
        };
        b.on(Event::Hook(call));
    }
    let reason = usage(&b, HOUR);
    b.on(Event::Facts(vec![Fact::TurnEnded {
        broken: Some(reason),
        at: Some(ended),
    }]));
    assert_eq!(b.session.record().word(), "limited");
}

/// The record may be read before the hook is heard, and knows more.
#[test]
fn a_limit_that_the_hook_tells_again_is_the_same() {
    let mut b = left_alone();
    b.on(Event::Status(StatusReading {
        process: b.session.record().process.unwrap(),
        conversation: b.session.record().conversation.clone(),
        activity: Activity::Idle,
        at: Some(b.now.plus(20)),
    }));
    b.wait(30);
    let mut told = ProviderLimit::new(LimitKind::Usage, "resets 5pm")
        .resetting(Some(b.now.plus(HOUR)), ResetSource::Transcript);
    told.continues_itself = true;
    let at = Some(b.now);
    b.on(Event::Facts(vec![Fact::TurnEnded {
        broken: Some(BreakReason::Limit(told)),
        at,
    }]));
    let known = b
        .session
        .record()
        .limit
        .clone()
        .expect("the record tells it");
    let said = ProviderLimit::new(LimitKind::Usage, "resets 5pm")
        .resetting(Some(b.now.plus(HOUR + 60_000)), ResetSource::Sentence);
    let outcome = meets_limit(&mut b, BreakReason::Limit(said));
    assert_eq!(b.session.record().limit.as_ref(), Some(&known));
    assert!(notices(&outcome).is_empty(), "it was told");
}

/// The record is read in one go: what stands behind the limit was said after it.
#[test]
fn a_prompt_behind_a_limit_in_the_record_goes_on_by_itself() {
    let mut b = left_alone();
    b.hook(Signal::TurnBroken(BreakReason::ApiError("refused".into())));
    b.wait(50);
    let at = b.now.plus(-20);
    let reason = usage(&b, HOUR);
    b.on(Event::Facts(vec![
        Fact::TurnEnded {
            broken: Some(reason),
            at: Some(at),
        },
        Fact::UserText {
            text: "my own words".into(),
            came: Came::Prompt,
            at: Some(at),
        },
    ]));
    assert_eq!(b.limit_phase(), None);
}

#[test]
fn an_old_limit_in_the_transcript_is_none() {
    let mut b = left_alone();
    b.stops();
    b.now = b.now.plus(HOUR);
    b.accepts("more");
    b.stops();
    let reason = usage(&b, HOUR);
    b.on(Event::Facts(vec![Fact::TurnEnded {
        broken: Some(reason),
        at: Some(b.now.plus(-HOUR)),
    }]));
    assert_eq!(b.session.record().word(), "idle");
}

#[test]
fn another_process_knows_of_no_limit() {
    let mut b = left_alone();
    let reason = usage(&b, HOUR);
    meets_limit(&mut b, reason);
    let word = b.word_to_go_on();
    b.exits(1, 0);
    b.on(Event::LaunchAsked { fresh: false });
    assert_eq!(b.limit_phase(), None);
    assert_eq!(b.receipt(word.as_str()), MessageState::Withdrawn);
}

/// What the agent's status says of the menu about a limit, and what its screen does.
fn menu() -> Evidence {
    let mut seen = screen(Composer::Hidden, Activity::Waiting(PersonNeed::Limit));
    if let Some(status) = seen.status.as_mut() {
        status.activity = Activity::Waiting(PersonNeed::Question);
    }
    seen
}

#[test]
fn its_menu_about_the_limit_is_left_where_nobody_is_to_be_asked() {
    let mut b = left_alone();
    let reason = usage(&b, HOUR);
    meets_limit(&mut b, reason);
    b.wait(100);
    let outcome = b.on(Event::Status(menu().status.unwrap()));
    assert!(notices(&outcome).is_empty() && keys(&outcome).is_empty());
    assert_eq!(b.state(), "idle", "only the screen tells what it asks");
    let outcome = b.evidence(menu());
    assert_eq!(keys(&outcome), [Key::Escape]);
    assert_eq!(b.state(), "idle");
    // it stays: pressed again, and not for ever
    let mut pressed = 1;
    for _ in 0..20 {
        b.wait(2_000);
        if b.session.probe.is_some() {
            pressed += keys(&b.evidence(menu())).len();
        }
    }
    assert_eq!(pressed, 5);
    assert_eq!(b.state(), "waiting", "a person is told in the end");
}

#[test]
fn its_menu_about_the_limit_is_left_to_a_person_who_is_there() {
    let mut b = Bench::working();
    let reason = usage(&b, HOUR);
    meets_limit(&mut b, reason);
    b.wait(3_000);
    b.on(Event::Status(menu().status.unwrap()));
    assert_eq!(b.state(), "waiting");
}

#[test]
fn another_question_after_a_limit_is_told() {
    let mut b = left_alone();
    let reason = usage(&b, HOUR);
    meets_limit(&mut b, reason);
    b.wait(3_000);
    b.on(Event::Status(menu().status.unwrap()));
    let outcome = b.evidence(screen(
        Composer::Hidden,
        Activity::Waiting(PersonNeed::Question),
    ));
    assert!(keys(&outcome).is_empty());
    assert_eq!(b.state(), "waiting");
}

#[test]
fn an_agent_that_goes_on_by_itself_comes_first() {
    let mut b = left_alone();
    let mut reason = usage(&b, HOUR);
    if let BreakReason::Limit(limit) = &mut reason {
        limit.continues_itself = true;
    }
    meets_limit(&mut b, reason);
    let resets = b.now.plus(HOUR);
    assert_eq!(b.quiet_until(resets.plus(170_000), &Composer::Empty), 0);
    let word = b.word_to_go_on();
    b.accepts("Your usage limit has reset. Continue.");
    assert_eq!(b.receipt(word.as_str()), MessageState::Withdrawn);
    assert_eq!(b.limit_phase(), None);
}

/// Held, its time would be over, and the agent would be stopped with what somebody types into it.
#[test]
fn a_limit_of_the_successor_does_not_hold_up_the_way_back() {
    let mut b = Bench::working();
    b.session.set_limits(LimitPolicy {
        resume: true,
        tries: 3,
    });
    b.on(crate::session::tests::handoff::asked(
        "h1",
        crate::handoff::Trigger::Agent,
    ));
    b.cleared_by_hand_of_sm();
    b.context("c2");
    let reason = usage(&b, HOUR);
    meets_limit(&mut b, reason);
    b.session
        .go_back("the successor did not take its prompt", b.now);
    let outcome = b.wait(10);
    assert!(!keys(&outcome).contains(&Key::Enter));
    assert_eq!(
        b.session.flight_purpose(),
        Purpose::Back,
        "it is looked where it can go"
    );
    b.evidence(screen(Composer::Draft, Activity::Idle));
    for _ in 0..30 {
        let outcome = b.wait(1_000);
        let stops = outcome
            .effects
            .iter()
            .any(|e| matches!(e, Effect::StopAgent { .. }));
        assert!(!stops, "somebody types there");
        if b.session.probe.is_some() {
            b.evidence(screen(Composer::Draft, Activity::Idle));
        }
    }
}

#[test]
fn an_error_that_ended_a_turn_is_told_once_until_the_next_begins() {
    let mut b = Bench::working();
    let refused = || Signal::TurnBroken(BreakReason::ApiError("not logged in".into()));
    let told = |outcome: &Outcome| {
        let notices = outcome.effects.iter();
        notices
            .filter(|e| matches!(e, Effect::Notify(n) if n.kind == NoticeKind::TurnFailed))
            .count()
    };
    let first = b.hook(refused());
    assert_eq!(told(&first), 1, "{first:?}");
    assert_eq!(told(&b.hook(refused())), 0);
    assert_eq!(
        b.session.record().turn_error.as_deref(),
        Some("not logged in")
    );
    b.hook(Signal::PromptAccepted {
        text: "more".into(),
        transcript: None,
    });
    assert_eq!(b.session.record().turn_error, None);
    assert_eq!(told(&b.hook(refused())), 1);
}
