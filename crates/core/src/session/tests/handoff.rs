//! A handoff, step by step: what has to be true before a context is left, and after it.

use super::*;
use crate::handoff::*;
use crate::ids::HandoffId;
use crate::message::Purpose;

pub(super) fn asked(id: &str, trigger: Trigger) -> Event {
    Event::HandoffAsked {
        handoff: NewHandoff {
            id: HandoffId::new(id).unwrap(),
            trigger,
            author: Author::Agent,
            document: "/work/notes.md".into(),
            copy: "/data/handoffs/x/document.md".into(),
            folder: "/data/handoffs/x".into(),
        },
        guards: Guards::default(),
    }
}

pub(super) fn prepared(id: &str) -> Event {
    Event::HandoffPrepared {
        handoff: HandoffId::new(id).unwrap(),
        prepared: Ok(Prepared {
            document: "/work/notes.md".into(),
            artifacts: vec![Artifact {
                kind: ArtifactKind::Snapshot,
                path: "/data/handoffs/x/dump.txt".into(),
                bytes: Some(10),
                lines: Some(3),
                problem: None,
            }],
            in_flight: vec!["child web: working".into()],
            content: None,
            pins: Vec::new(),
        }),
    }
}

pub(super) fn stop(bench: &mut Bench) -> Outcome {
    bench.hook(Signal::Stopping {
        again: false,
        background_tasks: Vec::new(),
    })
}

impl Bench {
    pub(super) fn handoff(&self) -> &Handoff {
        self.session.record().handoff.as_deref().expect("a handoff")
    }
    /// What of `purpose` is in the queue or has ended.
    pub(super) fn own(&self, purpose: Purpose) -> Vec<MessageState> {
        let all = self.session.queue.iter().chain(&self.session.finals);
        all.filter(|m| m.meta.purpose == purpose)
            .map(|m| m.meta.state.clone())
            .collect()
    }
    pub(super) fn wake_text(&self) -> String {
        self.handoff().wake_text.clone()
    }
    /// The turn is over, the artifacts are safe, `/clear` was typed and entered.
    pub(super) fn cleared_by_hand_of_sm(&mut self) {
        stop(self);
        self.on(prepared("h1"));
        self.paste();
    }
    /// A context begins in a new conversation.
    pub(super) fn context(&mut self, conversation: &str) -> Outcome {
        let call = self.call(
            conversation,
            Signal::ContextStarted {
                source: ContextSource::Clear,
                transcript: None,
            },
        );
        self.on(Event::Hook(call))
    }
    pub(super) fn prompt_accepted(&mut self, conversation: &str, text: &str) -> Outcome {
        let call = self.call(
            conversation,
            Signal::PromptAccepted {
                text: text.into(),
                transcript: None,
            },
        );
        self.on(Event::Hook(call))
    }
    /// A handoff up to the successor having its prompt.
    pub(super) fn prompted() -> Self {
        let mut bench = Self::working();
        bench.on(asked("h1", Trigger::Agent));
        bench.cleared_by_hand_of_sm();
        bench.context("c2");
        bench.paste();
        let wake = bench.wake_text();
        bench.prompt_accepted("c2", &wake);
        bench
    }
    pub(super) fn steps(&self) -> Vec<String> {
        self.handoff()
            .steps
            .iter()
            .map(|s| s.text.clone())
            .collect()
    }
}

pub(super) fn prepares(outcome: &Outcome) -> bool {
    outcome
        .effects
        .iter()
        .any(|e| matches!(e, Effect::Prepare(_)))
}

pub(super) fn launches(outcome: &Outcome) -> Vec<crate::LaunchPlan> {
    outcome
        .effects
        .iter()
        .filter_map(|e| match e {
            Effect::Launch(plan) => Some(plan.clone()),
            _ => None,
        })
        .collect()
}

pub(super) fn stops_agent(outcome: &Outcome) -> bool {
    outcome
        .effects
        .iter()
        .any(|e| matches!(e, Effect::StopAgent { .. }))
}

pub(super) fn texts_pasted(outcome: &Outcome) -> Vec<String> {
    outcome
        .effects
        .iter()
        .filter_map(|e| match e {
            Effect::Paste { pastes, .. } => Some(pastes.concat()),
            _ => None,
        })
        .collect()
}

fn told_owner(outcome: &Outcome) -> bool {
    outcome
        .effects
        .iter()
        .any(|e| matches!(e, Effect::Notify(notice) if notice.kind == NoticeKind::HandoffFailed))
}

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
    let outcome = stop(&mut bench);
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
    let outcome = stop(&mut bench);
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
    let outcome = stop(&mut bench);
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
    stop(&mut bench);
    bench.on(prepared("h1"));
    bench.on(asked("h2", Trigger::Person));
    assert_eq!(bench.handoff().id.as_str(), "h1");
}

#[test]
fn a_document_that_cannot_be_kept_abandons_it_and_clears_nothing() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.send("m1", "hello");
    stop(&mut bench);
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
    stop(&mut bench);
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
fn a_clear_that_shows_no_new_context_ends_in_a_relaunch_with_the_prompt() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    let mut stopped = false;
    for _ in 0..60 {
        bench.wait(500);
        if bench.session.probe.is_some() {
            let outcome = bench.evidence(screen(Composer::Empty, Activity::Idle));
            assert!(texts_pasted(&outcome).is_empty(), "never a second clear");
            stopped |= stops_agent(&outcome);
        }
        if stopped {
            break;
        }
    }
    assert!(stopped, "{:?}", bench.steps());
    let outcome = bench.on(Event::Exited {
        launch: 1,
        code: Some(143),
        signal: None,
    });
    let plans = launches(&outcome);
    assert_eq!(plans.len(), 1);
    assert_eq!(plans[0].resume, None);
    let prompt = plans[0].prompt.clone().expect("the wake as an argument");
    assert!(prompt.starts_with("Read /work/notes.md"));
    assert_eq!(bench.session.record().generation.0, 2);
    assert_eq!(bench.handoff().carrier, Carrier::Relaunch);
    bench.on(Event::Started {
        launch: 2,
        process: Process { pid: 8, start: 80 },
    });
    bench.prompt_accepted("c9", &prompt);
    assert_eq!(bench.handoff().state, HandoffState::Prompted);
}

#[test]
fn a_persons_own_clear_before_it_ran_is_taken_for_the_clear() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    stop(&mut bench);
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
fn a_draft_is_put_aside_before_the_clear_and_before_the_prompt() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    stop(&mut bench);
    bench.on(prepared("h1"));
    for expected in ["/clear", "Read /work/notes.md"] {
        let outcome = bench.evidence(screen(Composer::Draft, Activity::Idle));
        assert_eq!(keys(&outcome), [Key::Stash]);
        assert!(!pasted(&outcome));
        let flight = bench.session.record().flight.as_ref().unwrap().no;
        bench.on(Event::Pressed {
            flight,
            outcome: KeyOutcome::Pressed,
        });
        let outcome = bench.evidence(screen(Composer::Stashed, Activity::Idle));
        assert!(texts_pasted(&outcome).concat().starts_with(expected));
        let flight = bench.session.record().flight.as_ref().unwrap().no;
        bench.on(Event::Pasted { flight, ok: true });
        let outcome = bench.evidence(screen(Composer::Ours, Activity::Idle));
        assert_eq!(keys(&outcome), [Key::Enter]);
        bench.on(Event::Pressed {
            flight,
            outcome: KeyOutcome::Pressed,
        });
        if expected == "/clear" {
            bench.context("c2");
        }
    }
}

#[test]
fn a_draft_over_a_stash_is_waited_for() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    stop(&mut bench);
    bench.on(prepared("h1"));
    let outcome = bench.evidence(screen(Composer::DraftOverStash, Activity::Idle));
    assert!(keys(&outcome).is_empty() && !pasted(&outcome));
    assert!(
        outcome
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Notify(notice) if notice.kind == NoticeKind::HandoffHeld))
    );
    assert_eq!(bench.handoff().state, HandoffState::Prepared);
}

#[test]
fn a_dialog_at_the_end_of_the_turn_is_waited_for() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    let outcome = bench.hook(Signal::PersonNeeded(PersonNeed::Permission("Bash".into())));
    assert!(!prepares(&outcome));
    assert_eq!(bench.session.record().word(), "waiting");
    bench.hook(Signal::ToolsFinished);
    assert!(prepares(&stop(&mut bench)));
}

#[test]
fn a_turn_that_begins_by_itself_before_the_clear_is_let_finish() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    stop(&mut bench);
    bench.on(prepared("h1"));
    bench.prompt_accepted("c1", "<task-notification>done</task-notification>");
    let outcome = bench.evidence(screen(Composer::Empty, Activity::Busy));
    assert!(!pasted(&outcome));
    stop(&mut bench);
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
fn a_kill_or_a_persons_exit_while_scheduled_abandons_it_and_relaunches_nothing() {
    for kill in [true, false] {
        let mut bench = Bench::working();
        bench.on(asked("h1", Trigger::Agent));
        if kill {
            bench.on(Event::KillAsked);
        }
        let outcome = bench.on(Event::Exited {
            launch: 1,
            code: Some(if kill { 143 } else { 0 }),
            signal: None,
        });
        assert_eq!(
            bench.handoff().state,
            HandoffState::Abandoned,
            "kill: {kill}"
        );
        assert!(launches(&outcome).is_empty());
        assert_eq!(bench.state(), "exited");
    }
}

#[test]
fn a_kill_between_two_processes_starts_no_other() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.on(Event::Exited {
        launch: 1,
        code: None,
        signal: Some(9),
    });
    bench.on(Event::KillAsked);
    assert_eq!(bench.handoff().state, HandoffState::Abandoned);
    let outcome = bench.on(prepared("h1"));
    assert!(launches(&outcome).is_empty());
    bench.on(Event::TerminalGone { launch: 1 });
    assert_eq!(bench.state(), "exited");
}

#[test]
fn an_agent_that_crashes_while_scheduled_is_started_again_with_the_document() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    let outcome = bench.on(Event::Exited {
        launch: 1,
        code: None,
        signal: Some(9),
    });
    assert!(prepares(&outcome), "artifacts first");
    assert!(launches(&outcome).is_empty());
    let outcome = bench.on(prepared("h1"));
    assert_eq!(launches(&outcome).len(), 1);
    assert!(launches(&outcome)[0].prompt.is_some());
}

#[test]
fn an_agent_that_crashes_after_the_clear_is_started_again_with_the_document() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.context("c2");
    let outcome = bench.on(Event::Exited {
        launch: 1,
        code: Some(1),
        signal: None,
    });
    let plans = launches(&outcome);
    assert!(plans[0].prompt.as_deref().unwrap().starts_with("Read "));
}

#[test]
fn a_person_who_ends_the_successor_before_its_prompt_finds_it_with_a_restore() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.context("c2");
    let outcome = bench.on(Event::Exited {
        launch: 1,
        code: Some(0),
        signal: None,
    });
    assert!(launches(&outcome).is_empty());
    assert_eq!(bench.handoff().state, HandoffState::Cleared);
    let outcome = bench.on(Event::LaunchAsked { fresh: false });
    assert_eq!(launches(&outcome).len(), 1);
    assert!(
        bench
            .own(Purpose::Wake)
            .iter()
            .any(|state| !state.is_final()),
        "the prompt is still to be given: {:?}",
        bench.own(Purpose::Wake)
    );
}

#[test]
fn a_lost_terminal_keeps_the_handoff_for_a_restore() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    let outcome = bench.on(Event::TerminalGone { launch: 1 });
    assert!(prepares(&outcome));
    bench.on(prepared("h1"));
    assert_eq!(bench.handoff().state, HandoffState::Prepared);
    let outcome = bench.on(Event::LaunchAsked { fresh: false });
    let plans = launches(&outcome);
    assert_eq!(plans[0].resume, None);
    assert!(plans[0].prompt.as_deref().unwrap().starts_with("Read "));
    assert_eq!(bench.session.record().generation.0, 2);
}

#[test]
fn a_prompt_that_is_never_taken_leads_to_a_relaunch_and_then_back() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.context("c2");
    // pasted, entered, and gone, again and again
    let mut stopped = false;
    for _ in 0..600 {
        if bench.session.probe.is_some() {
            let composer = match bench.session.record().flight.as_ref().map(|f| f.phase) {
                Some(Phase::Verifying) => Composer::Ours,
                _ => Composer::Empty,
            };
            let outcome = bench.evidence(screen(composer, Activity::Idle));
            stopped |= stops_agent(&outcome);
            if pasted(&outcome) {
                let flight = bench.session.record().flight.as_ref().unwrap().no;
                bench.on(Event::Pasted { flight, ok: true });
            }
        } else {
            bench.wait(300);
        }
        if stopped {
            break;
        }
    }
    assert!(stopped, "{:?}", bench.steps());
    bench.on(Event::Exited {
        launch: 1,
        code: Some(143),
        signal: None,
    });
    assert_eq!(bench.handoff().course, Course::Starting);
    // the new one takes no prompt either
    bench.on(Event::Started {
        launch: 2,
        process: Process { pid: 8, start: 80 },
    });
    bench.on(Event::Exited {
        launch: 2,
        code: Some(1),
        signal: None,
    });
    let outcome = bench.on(Event::Exited {
        launch: 3,
        code: Some(1),
        signal: None,
    });
    let plans = launches(&outcome);
    assert_eq!(
        plans[0].resume,
        Some(conversation("c1")),
        "{:?}",
        bench.steps()
    );
    assert_eq!(plans[0].prompt, None);
    bench.on(Event::Started {
        launch: 4,
        process: Process { pid: 9, start: 90 },
    });
    let call = bench.call(
        "c1",
        Signal::ContextStarted {
            source: ContextSource::Resume,
            transcript: None,
        },
    );
    let outcome = bench.on(Event::Hook(call));
    assert_eq!(bench.handoff().state, HandoffState::RolledBack);
    let failed = bench.session.record().failed_handoff().unwrap();
    assert_eq!(
        failed.ended_because(),
        Some("the successor could not be given its prompt")
    );
    assert!(told_owner(&outcome));
    assert_eq!(
        bench.session.record().conversation,
        Some(conversation("c1"))
    );
    assert!(
        bench.session.record().generation.0 > 2,
        "never entered twice"
    );
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
    let outcome = stop(&mut bench);
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
    let bench = Bench::prompted();
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
    let mut bench = bench;
    stop(&mut bench);
    let much_later = bench.now.plus(3_600_000);
    assert_eq!(
        refusal(bench.session.record(), much_later),
        Some(Refusal::NoNewWork)
    );
    bench.prompt_accepted("c2", "more");
    stop(&mut bench);
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

#[test]
fn a_launch_that_a_crash_may_have_swallowed_is_asked_for_again() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    let outcome = bench.on(Event::Exited {
        launch: 1,
        code: None,
        signal: Some(9),
    });
    assert!(prepares(&outcome));
    let first = launches(&bench.on(prepared("h1")));
    for started in [false, true] {
        if started {
            bench.on(Event::Started {
                launch: 2,
                process: Process { pid: 8, start: 80 },
            });
        }
        let record = bench.session.record().clone();
        let queue = bench.session.queue().to_vec();
        let finals = bench.session.finals.clone();
        bench.session = Session::restore(record, CLAUDE, "/data/s1".into(), queue, finals);
        let outcome = bench.on(Event::Recovered {
            terminal_alive: true,
        });
        let again = launches(&outcome);
        match started {
            true => assert_eq!(again, []),
            false => assert_eq!(again, first, "the same launch with the same prompt"),
        }
    }
    assert_eq!(bench.session.record().launch, 2);
}

#[test]
fn a_daemon_that_was_killed_goes_on_from_every_step() {
    // scheduled, preparing, clearing, cleared, prompting: the record alone is enough to go on
    for cut in 0..5 {
        let mut bench = Bench::working();
        bench.on(asked("h1", Trigger::Agent));
        if cut > 0 {
            stop(&mut bench);
        }
        if cut > 1 {
            bench.on(prepared("h1"));
        }
        if cut > 2 {
            bench.paste();
        }
        if cut > 3 {
            bench.context("c2");
        }
        let record = bench.session.record().clone();
        let queue = bench.session.queue().to_vec();
        let finals = bench.session.finals.clone();
        bench.session = Session::restore(record, CLAUDE, "/data/s1".into(), queue, finals);
        bench.on(Event::Recovered {
            terminal_alive: true,
        });
        if cut == 0 {
            stop(&mut bench);
        }
        for _ in 0..200 {
            if bench.handoff().state == HandoffState::Scheduled && bench.session.preparing.is_some()
            {
                bench.on(prepared("h1"));
            } else if bench.session.probe.is_some() {
                let phase = bench.session.record().flight.as_ref().map(|f| f.phase);
                let composer = match phase {
                    Some(Phase::Verifying) => Composer::Ours,
                    _ => Composer::Empty,
                };
                let outcome = bench.evidence(screen(composer, Activity::Idle));
                if pasted(&outcome) {
                    let flight = bench.session.record().flight.as_ref().unwrap().no;
                    bench.on(Event::Pasted { flight, ok: true });
                }
                let entered = keys(&outcome).contains(&Key::Enter);
                if entered && bench.session.flight_purpose() == Purpose::Clear {
                    bench.context("c2");
                } else if entered {
                    let wake = bench.wake_text();
                    bench.prompt_accepted("c2", &wake);
                }
            } else if bench.handoff().state == HandoffState::Prepared && cut == 3 {
                bench.context("c2"); // entered before the crash
            } else {
                bench.wait(100);
            }
            if bench.handoff().state == HandoffState::Prompted {
                break;
            }
        }
        assert_eq!(
            bench.handoff().state,
            HandoffState::Prompted,
            "cut {cut}: {:?}",
            bench.steps()
        );
        assert_eq!(bench.session.record().generation.0, 2, "cut {cut}");
    }
}
