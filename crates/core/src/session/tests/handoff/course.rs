//! A handoff, step by step: what has to be true before a context is left, and after it.

use super::*;

#[test]
fn scheduling_is_journaled_before_it_is_answered() {
    let mut bench = Bench::working();
    let outcome = bench.on(asked("h1", Trigger::Agent));
    assert_eq!(outcome.persist, Persist::Now);
    assert_eq!(outcome.handoffs.len(), 1);
    assert_eq!(outcome.handoffs[0].state, HandoffState::Scheduled);
    assert!(!prepares(&outcome), "the turn is not over");
    assert_eq!(bench.session.record().word(), "working");
}

#[test]
fn a_whole_handoff_moves_the_session_to_the_next_generation() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.send("m1", "for the successor");
    assert_eq!(
        bench.receipt("m1"),
        MessageState::Held {
            why: Hold::HandingOff
        }
    );
    let outcome = bench.stops();
    assert_eq!(answers(&outcome), vec![Answer::Nothing], "frozen");
    assert!(prepares(&outcome));
    assert_eq!(bench.session.record().word(), "handing_off");
    let outcome = bench.on(prepared("h1"));
    assert!(!pasted(&outcome), "looked at first");
    let outcome = bench.evidence(screen(Composer::Empty, Activity::Idle));
    assert_eq!(texts_pasted(&outcome), ["/clear"]);
    let flight = bench.session.record().flight.as_ref().unwrap().no;
    bench.on(Event::Pasted { flight, ok: true });
    let outcome = bench.evidence(screen(Composer::Ours, Activity::Idle));
    assert_eq!(keys(&outcome), [Key::Enter]);
    bench.on(Event::Pressed {
        flight,
        outcome: KeyOutcome::Pressed,
    });
    bench.context("c2");
    assert_eq!(bench.handoff().state, HandoffState::Cleared);
    assert_eq!(bench.session.record().generation.0, 2);
    assert!(matches!(
        bench.own(Purpose::Clear)[..],
        [MessageState::Consumed { .. }]
    ));
    let outcome = bench.evidence(screen(Composer::Empty, Activity::Idle));
    let text = texts_pasted(&outcome).concat();
    assert!(text.starts_with("Read /work/notes.md and continue from where you left off."));
    assert!(text.contains("last 3 lines"));
    assert!(text.contains("- child web: working"));
    let flight = bench.session.record().flight.as_ref().unwrap().no;
    bench.on(Event::Pasted { flight, ok: true });
    bench.evidence(screen(Composer::Ours, Activity::Idle));
    bench.prompt_accepted("c2", &text);
    assert_eq!(bench.handoff().state, HandoffState::Prompted);
    assert_eq!(
        bench.receipt("m1"),
        MessageState::Held {
            why: Hold::HandingOff
        },
        "after its first turn"
    );
    bench.recorded(&text);
    let outcome = bench.stops();
    assert_eq!(bench.handoff().state, HandoffState::Done);
    assert_eq!(bench.handoff().to.map(|g| g.0), Some(2));
    assert!(
        answers(&outcome)
            .iter()
            .any(|a| matches!(a, Answer::Continue { text } if text == "for the successor")),
        "{outcome:?}"
    );
}

#[test]
fn nothing_joins_the_turn_after_the_document_was_written() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    let mut important = message("m1", "now");
    important.mode = Mode::Important;
    bench.on(Event::Send(important));
    let mut urgent = message("m2", "at once");
    urgent.mode = Mode::Urgent;
    let outcome = bench.on(Event::Send(urgent));
    assert!(keys(&outcome).is_empty(), "no Escape");
    let outcome = bench.hook(Signal::ToolsFinished);
    assert_eq!(answers(&outcome), vec![Answer::Nothing]);
}

#[test]
fn the_last_one_scheduled_in_a_turn_wins() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    let outcome = bench.on(asked("h2", Trigger::Agent));
    let states: Vec<_> = outcome
        .handoffs
        .iter()
        .map(|h| (h.id.to_string(), h.state))
        .collect();
    assert_eq!(
        states,
        [
            ("h1".to_string(), HandoffState::Replaced),
            ("h2".to_string(), HandoffState::Scheduled)
        ]
    );
}

#[test]
fn one_that_is_cancelled_lets_the_messages_flow() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.send("m1", "hello");
    bench.on(Event::HandoffCancelled);
    assert_eq!(bench.handoff().state, HandoffState::Cancelled);
    let outcome = bench.stops();
    assert!(matches!(answers(&outcome)[..], [Answer::Continue { .. }]));
}

#[test]
fn it_cannot_be_cancelled_once_the_clear_was_typed() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.on(Event::HandoffCancelled);
    assert_eq!(bench.handoff().state, HandoffState::Prepared);
}

#[test]
fn a_second_request_does_not_disturb_one_under_way() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.stops();
    bench.on(prepared("h1"));
    bench.on(asked("h2", Trigger::Person));
    assert_eq!(bench.handoff().id.as_str(), "h1");
}

#[test]
fn a_document_that_cannot_be_kept_abandons_it_and_clears_nothing() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.send("m1", "hello");
    bench.stops();
    let outcome = bench.on(Event::HandoffPrepared {
        handoff: HandoffId::new("h1").unwrap(),
        prepared: Err("no space left".into()),
    });
    assert_eq!(bench.handoff().state, HandoffState::Abandoned);
    assert!(told_owner(&outcome));
    assert!(bench.own(Purpose::Clear).is_empty());
    let outcome = bench.evidence(screen(Composer::Empty, Activity::Idle));
    assert_eq!(texts_pasted(&outcome), ["hello"], "the queue flows");
}

#[test]
fn artifacts_that_take_too_long_are_done_without() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.stops();
    bench.wait(15_100);
    assert_eq!(bench.handoff().state, HandoffState::Prepared);
    assert_eq!(bench.handoff().given, "/data/handoffs/x/document.md");
}

#[test]
fn a_clear_without_a_hook_is_proven_by_the_status() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.now = bench.now.plus(2_000);
    let at = bench.now;
    bench.on(Event::Status(status("c2", Activity::Idle, at)));
    assert_eq!(bench.handoff().state, HandoffState::Cleared);
}

#[test]
fn a_persons_own_clear_before_it_ran_is_taken_for_the_clear() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.stops();
    bench.context("c2");
    bench.on(prepared("h1"));
    assert_eq!(bench.handoff().state, HandoffState::Cleared);
    assert!(
        bench.own(Purpose::Clear).is_empty()
            || bench.own(Purpose::Clear) == [MessageState::Withdrawn]
    );
    let outcome = bench.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(
        texts_pasted(&outcome)
            .concat()
            .starts_with("Read /work/notes.md")
    );
}

#[test]
fn a_dialog_at_the_end_of_the_turn_is_waited_for() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    let outcome = bench.hook(Signal::PersonNeeded {
        need: PersonNeed::Permission("Bash".into()),
        call: None,
    });
    assert!(!prepares(&outcome));
    assert_eq!(bench.session.record().word(), "waiting");
    bench.hook(Signal::ToolsFinished);
    assert!(prepares(&bench.stops()));
}

#[test]
fn a_turn_that_begins_by_itself_before_the_clear_is_let_finish() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.stops();
    bench.on(prepared("h1"));
    bench.prompt_accepted("c1", "<task-notification>done</task-notification>");
    let outcome = bench.evidence(screen(Composer::Empty, Activity::Busy));
    assert!(!pasted(&outcome));
    bench.stops();
    bench.evidence(screen(Composer::Empty, Activity::Idle)); // of before the turn's end
    let outcome = bench.evidence(screen(Composer::Empty, Activity::Idle));
    assert_eq!(texts_pasted(&outcome), ["/clear"]);
}

#[test]
fn a_turn_that_ends_without_stop_ends_it_too() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    let outcome = bench.hook(Signal::TurnBroken(BreakReason::Interrupted));
    assert!(prepares(&outcome));
}

#[test]
fn a_late_hook_of_the_old_context_changes_nothing() {
    let mut bench = Bench::prompted();
    let mut late = bench.call(
        "c1",
        Signal::Stopping {
            again: false,
            background_tasks: Vec::new(),
        },
    );
    late.at = Timestamp(1_000_000);
    bench.on(Event::Hook(late));
    assert_eq!(bench.state(), "working");
    assert_eq!(bench.handoff().state, HandoffState::Prompted);
}

#[test]
fn the_successor_may_hand_off_in_its_first_turn() {
    let mut bench = Bench::prompted();
    let wake = bench.wake_text();
    bench.recorded(&wake);
    bench.on(asked("h2", Trigger::Agent));
    assert_eq!(bench.handoff().id.as_str(), "h2");
    assert_eq!(bench.handoff().from.0, 2);
}

#[test]
fn a_first_turn_that_lasts_long_does_not_keep_messages_for_ever() {
    let mut bench = Bench::prompted();
    bench.send("m1", "hello");
    bench.wait(121_000);
    assert_eq!(bench.handoff().state, HandoffState::Done);
}

#[test]
fn who_asked_is_told_that_the_turn_ended_in_a_handoff() {
    let mut bench = Bench::idle();
    let mut asks = message("m1", "go on");
    asks.notify = true;
    asks.from = Sender::Session {
        id: SessionId::new("s2").unwrap(),
        name: "web".into(),
    };
    bench.on(Event::Send(asks));
    bench.paste();
    let text = "[sm: message from web; answer with: sm send web \"…\"]\ngo on";
    bench.prompt_accepted("c1", text);
    bench.on(asked("h1", Trigger::Agent));
    let outcome = bench.stops();
    assert!(
        outcome
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Tell { message, .. } if message.text.contains("handoff")))
    );
}

#[test]
fn tokens_before_and_after_are_known() {
    let mut bench = Bench::working();
    let sample = |tokens, at| {
        Signal::Usage(UsageSample {
            source: UsageSource::StatusLine,
            used_percentage: None,
            tokens: Some(tokens),
            window: Some(200_000),
            at,
        })
    };
    let at = bench.now;
    bench.hook(sample(150_000, at));
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.context("c2");
    bench.paste();
    let wake = bench.wake_text();
    bench.prompt_accepted("c2", &wake);
    let at = bench.now;
    bench.hook(sample(9_000, at));
    assert_eq!(bench.handoff().tokens_before, Some(150_000));
    assert_eq!(bench.handoff().tokens_after, Some(9_000));
}

#[test]
fn automatic_ones_are_guarded_against_loops() {
    let mut bench = Bench::prompted();
    let wake = bench.wake_text();
    bench.recorded(&wake);
    let record = bench.session.record();
    let guards = Guards::default();
    let later = bench.now.plus(60_000);
    let refusal = |record: &Record, now| {
        record.handoff_refusal(&CLAUDE, Trigger::Threshold, Author::Agent, guards, now)
    };
    assert!(matches!(
        refusal(record, later),
        Some(Refusal::CoolDown(..))
    ));
    bench.stops();
    let much_later = bench.now.plus(3_600_000);
    assert_eq!(
        refusal(bench.session.record(), much_later),
        Some(Refusal::NoNewWork)
    );
    bench.prompt_accepted("c2", "more");
    bench.stops();
    bench.prompt_accepted("c2", "and more");
    assert_eq!(refusal(bench.session.record(), much_later), None);
    let mut record = bench.session.record().clone();
    record.automatic = vec![much_later; 4];
    assert_eq!(refusal(&record, much_later), Some(Refusal::TooMany(4)));
}

#[test]
fn a_program_without_a_clear_is_refused_by_name() {
    let bench = Bench::working();
    let mut profile = CLAUDE;
    profile.clear = None;
    let refusal = bench.session.record().handoff_refusal(
        &profile,
        Trigger::Agent,
        Author::Agent,
        Guards::default(),
        bench.now,
    );
    let text = refusal.unwrap().to_string();
    assert!(text.contains("not supported for claude"), "{text}");
}
