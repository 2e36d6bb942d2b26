//! Alerts about a full context: once, to the right one, and never about a context that is gone.

use super::handoff::asked;
use super::*;
use crate::handoff::Trigger;
use crate::monitor::{Monitor, OnCompaction};

fn usage(percent: f64, at: Timestamp) -> Signal {
    Signal::Usage(UsageSample {
        source: UsageSource::StatusLine,
        used_percentage: Some(percent),
        tokens: Some(2_000 * percent as u64),
        window: Some(200_000),
        at,
    })
}

impl Bench {
    fn sample(&mut self, percent: f64) -> Outcome {
        let at = self.now.plus(10);
        self.hook(usage(percent, at))
    }
    fn alerts(&self) -> Vec<String> {
        let all = self.session.queue.iter().chain(&self.session.finals);
        all.filter(|m| m.meta.purpose.is_monitors())
            .map(|m| m.meta.id.to_string())
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect()
    }
    fn monitor(&mut self, change: impl FnOnce(&mut Monitor)) {
        let mut monitor = Monitor::default();
        change(&mut monitor);
        self.session.set_monitor(monitor);
    }
}

fn notices(outcome: &Outcome, kind: NoticeKind) -> usize {
    outcome
        .effects
        .iter()
        .filter(|e| matches!(e, Effect::Notify(notice) if notice.kind == kind))
        .count()
}

#[test]
fn a_warning_joins_the_running_turn_without_a_key() {
    let mut bench = Bench::working();
    bench.sample(49.0);
    assert!(bench.alerts().is_empty());
    let outcome = bench.sample(50.0);
    assert_eq!(outcome.persist, Persist::Now, "the latch is on disk first");
    assert!(keys(&outcome).is_empty());
    let outcome = bench.hook(Signal::ToolsFinished);
    let said = answers(&outcome);
    assert!(
        matches!(&said[..], [Answer::Context { text }] if text.starts_with("[sm context] Context at 50% (100,000 tokens")),
        "{said:?}"
    );
}

#[test]
fn each_is_said_once_whatever_follows_and_after_a_restart() {
    let mut bench = Bench::working();
    bench.sample(50.0);
    bench.sample(66.0);
    for _ in 0..200 {
        bench.sample(70.0);
        bench.sample(30.0);
    }
    bench.recovers();
    bench.sample(71.0);
    assert_eq!(bench.alerts(), ["s1-g1c0-alert50", "s1-g1c0-alert65"]);
}

#[test]
fn a_critical_one_that_finds_no_hook_becomes_urgent_and_the_owner_is_told() {
    let mut bench = Bench::working();
    let outcome = bench.sample(80.0);
    assert_eq!(notices(&outcome, NoticeKind::ContextHigh), 1);
    assert_eq!(bench.alerts().len(), 1, "the critical one only");
    bench.wait(30_100);
    let mode = bench.session.queue()[0].meta.mode;
    assert_eq!(mode, Mode::Urgent);
}

#[test]
fn an_alert_about_a_context_that_is_gone_is_dropped() {
    let mut bench = Bench::working();
    bench.sample(66.0);
    bench.context("c2");
    assert_eq!(bench.receipt("s1-g1c0-alert65"), MessageState::Withdrawn);
    bench.sample(55.0);
    assert_eq!(bench.alerts().last().unwrap(), "s1-g2c0-alert50");
}

#[test]
fn a_compaction_arms_them_again_and_people_are_told_with_numbers() {
    let mut bench = Bench::working();
    bench.session.rec.parent = Some(SessionId::new("p1").unwrap());
    bench.sample(70.0);
    bench.hook(Signal::CompactionStarting { automatic: true });
    bench.hook(Signal::CompactionStarting { automatic: true });
    assert_eq!(bench.state(), "compacting");
    bench.hook(Signal::CompactionDone);
    let at = bench.now;
    let outcome = bench.on(Event::Facts(vec![Fact::CompactBoundary {
        before: Some(140_000),
        after: Some(9_000),
        at: Some(at),
    }]));
    assert_eq!(bench.session.record().compactions, 1, "counted once");
    assert!(outcome.effects.iter().any(|e| matches!(
        e,
        Effect::Tell { message, .. }
            if message.text == "[sm context] Compaction fired for api. Context was lost (140,000 → 9,000 tokens)."
    )));
    assert_eq!(notices(&outcome, NoticeKind::Compacted), 1);
    let mut later = bench.call("c1", usage(55.0, bench.now.plus(100)));
    later.at = bench.now.plus(100);
    bench.on(Event::Hook(later));
    assert_eq!(bench.alerts().last().unwrap(), "s1-g1c1-alert50");
}

#[test]
fn a_compaction_of_which_only_the_record_tells_counts() {
    let mut bench = Bench::working();
    bench.wait(60_000);
    let at = bench.now;
    let boundary = || {
        Event::Facts(vec![Fact::CompactBoundary {
            before: None,
            after: None,
            at: Some(at),
        }])
    };
    bench.on(boundary());
    assert_eq!(bench.session.record().compactions, 1);
    bench.on(boundary());
    assert_eq!(bench.session.record().compactions, 1, "the same one");
    let outcome = bench.wait(3_100);
    assert_eq!(
        notices(&outcome, NoticeKind::Compacted),
        1,
        "without numbers"
    );
}

#[test]
fn the_older_scripts_report_arms_them_again_and_counts_once() {
    let mut bench = Bench::working();
    bench.wait(10_000);
    bench.sample(70.0);
    bench.hook(Signal::CompactionReported);
    assert_eq!(bench.session.record().compactions, 1);
    bench.hook(Signal::CompactionReported);
    bench.hook(Signal::CompactionStarting { automatic: true });
    bench.hook(Signal::CompactionDone);
    assert_eq!(bench.session.record().compactions, 1, "the same one");
    bench.sample(55.0);
    assert_eq!(bench.alerts().last().unwrap(), "s1-g1c1-alert50");
}

impl Bench {
    /// As somebody else says it of this session.
    fn claims(&mut self, signal: Signal) -> Outcome {
        let mut call = self.call("c1", signal);
        (call.origin, call.conversation) = (Origin::Unproven, None);
        self.on(Event::Hook(call))
    }
    fn claims_usage(&mut self, percent: f64) -> Outcome {
        let at = self.now.plus(10);
        self.claims(Signal::Usage(UsageSample {
            source: UsageSource::Unproven,
            used_percentage: Some(percent),
            tokens: Some(2_000 * percent as u64),
            window: Some(200_000),
            at,
        }))
    }
    fn percent(&self) -> Option<f64> {
        self.session.record().gauge.percent()
    }
}

#[test]
fn what_nobody_proved_fills_the_gauge_and_presses_no_key() {
    let mut bench = Bench::working();
    let outcome = bench.claims_usage(99.0);
    assert_eq!(bench.percent(), Some(99.0), "nothing better is known");
    assert_eq!(notices(&outcome, NoticeKind::ContextHigh), 0);
    for _ in 0..4 {
        let outcome = bench.wait(30_100);
        assert!(keys(&outcome).is_empty(), "{outcome:?}");
    }
    assert!(bench.session.queue().is_empty());
    assert!(bench.alerts().is_empty());
    // the session's own source takes its place, and alerts at what it says itself
    bench.sample(49.0);
    assert_eq!(bench.percent(), Some(49.0));
    bench.claims_usage(99.0);
    assert_eq!(bench.percent(), Some(49.0), "it knows better");
    bench.sample(66.0);
    assert_eq!(bench.alerts(), ["s1-g1c0-alert65"], "not used up");
}

#[test]
fn a_claim_of_older_numbers_hides_no_later_ones() {
    let mut bench = Bench::working();
    bench.claims_usage(10.0);
    // made before the claim was heard, and told after it
    let at = Timestamp(bench.now.0 - 30);
    bench.hook(usage(70.0, at));
    assert_eq!(bench.percent(), Some(70.0));
    assert_eq!(bench.alerts(), ["s1-g1c0-alert65"]);
}

#[test]
fn a_compaction_that_nobody_proved_is_none() {
    let mut bench = Bench::working();
    bench.session.rec.parent = Some(SessionId::new("p1").unwrap());
    bench.wait(10_000);
    bench.sample(70.0);
    let outcome = bench.claims(Signal::CompactionReported);
    assert_eq!(bench.session.record().compactions, 0);
    assert_eq!(bench.percent(), Some(70.0));
    assert_eq!(bench.alerts(), ["s1-g1c0-alert65"], "it stays in the queue");
    assert_eq!(notices(&outcome, NoticeKind::Compacted), 0);
    // a real one is not taken for the same
    bench.hook(Signal::CompactionStarting { automatic: true });
    bench.hook(Signal::CompactionDone);
    assert_eq!(bench.session.record().compactions, 1);
    bench.wait(3_100);
    bench.sample(55.0);
    assert_eq!(bench.alerts().last().unwrap(), "s1-g1c1-alert50");
}

#[test]
fn a_compaction_is_held_up_for_a_handoff_a_few_times_and_no_more() {
    let mut bench = Bench::working();
    bench.monitor(|monitor| monitor.on_compaction = OnCompaction::Handoff);
    let mut blocked = 0;
    for _ in 0..20 {
        let outcome = bench.hook(Signal::CompactionStarting { automatic: true });
        blocked += answers(&outcome)
            .iter()
            .filter(|a| matches!(a, Answer::Block { .. }))
            .count();
    }
    assert_eq!(blocked, 5);
    assert_eq!(bench.alerts(), ["s1-g1c0-imminent"]);
    assert_eq!(bench.state(), "compacting", "then it is let through");
    let mut bench = Bench::working();
    bench.monitor(|monitor| monitor.on_compaction = OnCompaction::Handoff);
    let outcome = bench.hook(Signal::CompactionStarting { automatic: false });
    assert_eq!(answers(&outcome), [Answer::Nothing], "a person's own");
    let mut bench = Bench::working();
    bench.monitor(|monitor| monitor.on_compaction = OnCompaction::Handoff);
    bench.sample(95.0);
    let outcome = bench.hook(Signal::CompactionStarting { automatic: true });
    assert_eq!(answers(&outcome), [Answer::Nothing], "it could not go on");
}

/// Set to compact within half of the window: what would have been said at half of the whole one comes
/// in time, and the policy asks about the window that counts.
#[test]
fn an_agent_that_compacts_early_is_told_early() {
    let mut bench = Bench::working();
    bench.session.profile.compaction_waits = |_, window| window == Some(100_000);
    bench.monitor(|monitor| {
        monitor.on_compaction = OnCompaction::Handoff;
        monitor.window = Some(100_000);
    });
    bench.sample(24.0);
    assert!(bench.alerts().is_empty());
    bench.sample(25.0);
    assert_eq!(bench.alerts(), ["s1-g1c0-alert50"]);
    bench.sample(33.0);
    let outcome = bench.hook(Signal::CompactionStarting { automatic: true });
    let said = answers(&outcome);
    assert!(matches!(&said[..], [Answer::Block { .. }]), "{said:?}");
}

#[test]
fn a_compaction_that_cannot_wait_is_let_through() {
    let mut bench = Bench::working();
    bench.session.profile.compaction_holds = 0;
    bench.monitor(|monitor| monitor.on_compaction = OnCompaction::Handoff);
    let outcome = bench.hook(Signal::CompactionStarting { automatic: true });
    assert_eq!(answers(&outcome), [Answer::Nothing]);
    assert_eq!(bench.state(), "compacting");
    assert!(bench.alerts().is_empty());
}

#[test]
fn nothing_is_said_where_it_is_switched_off_or_a_handoff_is_under_way() {
    let mut bench = Bench::working();
    bench.on(Event::Watch { on: false });
    bench.sample(90.0);
    assert!(bench.alerts().is_empty());
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.sample(90.0);
    assert!(bench.alerts().is_empty());
}

#[test]
fn what_a_lineage_was_handed_comes_back_after_a_compaction() {
    let mut bench = Bench::prompted();
    let wake = bench.wake_text();
    bench.recorded(&wake);
    bench.stops();
    bench.prompt_accepted("c2", "go on");
    bench.hook(Signal::CompactionStarting { automatic: true });
    let outcome = bench.begins(ContextSource::Compact);
    assert!(
        matches!(&answers(&outcome)[..], [Answer::Recover { handoff: Some(handoff) }] if handoff.as_str() == "h1")
    );
    // a person's own clear breaks the lineage
    bench.context("c3");
    bench.hook(Signal::CompactionStarting { automatic: false });
    let outcome = bench.begins(ContextSource::Compact);
    assert_eq!(answers(&outcome), [Answer::Recover { handoff: None }]);
}

#[test]
fn a_late_sample_of_the_old_context_does_not_move_the_gauge_of_the_new() {
    let mut bench = Bench::working();
    bench.sample(80.0);
    bench.context("c2");
    let old = bench.call("c1", usage(85.0, bench.now.plus(10)));
    bench.on(Event::Hook(old));
    assert_eq!(bench.session.record().usage, None);
    assert_eq!(bench.session.record().gauge.percent(), None);
}

#[test]
fn a_warning_wakes_no_idle_agent_but_joins_its_next_turn() {
    let mut bench = Bench::idle();
    bench.sample(55.0);
    for _ in 0..20 {
        let outcome = bench.wait(1_000);
        assert!(!pasted(&outcome));
        if bench.session.probe.is_some() {
            let outcome = bench.evidence(screen(Composer::Empty, Activity::Idle));
            assert!(!pasted(&outcome), "it would only fill the context");
        }
    }
    let outcome = bench.prompt_accepted("c1", "go on");
    assert!(matches!(&answers(&outcome)[..], [Answer::Context { .. }]));
}

/// What stands in a record of Codex: the usage of the request that compacts, the boundary, and what
/// is left.
fn codex_record(at: Timestamp) -> Vec<Fact> {
    let usage = |tokens, at| {
        Fact::Usage(UsageSample {
            source: UsageSource::Transcript,
            used_percentage: Some(tokens as f64 / 2_000.0),
            tokens: Some(tokens),
            window: Some(200_000),
            at,
        })
    };
    vec![
        usage(180_000, at.plus(-5)),
        Fact::CompactBoundary {
            before: None,
            after: None,
            at: Some(at.plus(-3)),
        },
        usage(7_000, at.plus(-1)),
    ]
}

/// The record is read when it is: before the hook, after it, or in parts around it.
#[test]
fn the_record_of_a_compaction_counts_once_however_it_is_read_and_has_the_numbers() {
    for hook_after in 0..=3 {
        let mut bench = Bench::working();
        bench.session.rec.parent = Some(SessionId::new("p1").unwrap());
        bench.wait(60_000);
        bench.sample(90.0);
        bench.hook(Signal::CompactionStarting { automatic: true });
        let mut told = Vec::new();
        let mut hear = |outcome: Outcome| {
            told.extend(outcome.effects.into_iter().filter_map(|e| match e {
                Effect::Tell { message, .. } => Some(message.text),
                _ => None,
            }));
        };
        let mut read = codex_record(bench.now);
        let rest = read.split_off(hook_after);
        hear(bench.on(Event::Facts(read)));
        hear(bench.hook(Signal::CompactionDone));
        hear(bench.on(Event::Facts(rest)));
        assert_eq!(bench.session.record().compactions, 1, "{hook_after}");
        assert_eq!(
            bench.session.record().usage.as_ref().and_then(|u| u.tokens),
            Some(7_000),
            "{hook_after}"
        );
        assert_eq!(bench.alerts(), ["s1-g1c0-alert65"], "{hook_after}");
        assert_eq!(
            told,
            ["[sm context] Compaction fired for api. Context was lost (180,000 → 7,000 tokens)."],
            "{hook_after}"
        );
    }
}

#[test]
fn what_a_record_tells_of_before_a_compaction_is_over_when_it_is_read_late() {
    let mut bench = Bench::working();
    bench.wait(60_000);
    let facts = codex_record(bench.now);
    bench.wait(2_000);
    bench.on(Event::Facts(facts));
    let record = bench.session.record();
    assert_eq!(record.compactions, 1);
    assert_eq!(record.usage.as_ref().and_then(|u| u.tokens), Some(7_000));
}

/// A daemon that starts reads the record from its beginning, two compactions close to each other.
#[test]
fn a_record_that_is_read_again_tells_nothing_new() {
    let mut bench = Bench::working();
    bench.wait(60_000);
    let mut record = Vec::new();
    for read in [true, false] {
        bench.wait(1_000);
        bench.sample(90.0);
        bench.hook(Signal::CompactionStarting { automatic: true });
        bench.hook(Signal::CompactionDone);
        let facts = codex_record(bench.now);
        record.extend(facts.clone());
        if read {
            bench.on(Event::Facts(facts));
        }
    }
    let before = bench.session.record().clone();
    assert_eq!(before.compactions, 2);
    let alerts = bench.alerts();
    let queue = bench.session.queue().to_vec();
    let finals = bench.session.finals.clone();
    bench.session = Session::restore(before.clone(), CLAUDE, "/data/s1".into(), queue, finals);
    for read_again in 0..2 {
        bench.on(Event::Facts(record.clone()));
        let after = bench.session.record();
        assert_eq!(after.compactions, 2, "{read_again}");
        let tokens = after.usage.as_ref().and_then(|u| u.tokens);
        assert_eq!(tokens, Some(7_000), "{read_again}");
        assert_eq!(bench.alerts(), alerts, "{read_again}");
    }
}

#[test]
fn a_warning_at_the_end_of_a_turn_waits_for_the_next_and_costs_no_request() {
    let mut bench = Bench::working();
    bench.sample(55.0);
    let outcome = bench.stops();
    assert_eq!(answers(&outcome), [Answer::Nothing], "the turn may end");
    assert_eq!(bench.state(), "idle");
    let outcome = bench.prompt_accepted("c1", "go on");
    assert!(
        matches!(&answers(&outcome)[..], [Answer::Context { text }] if text.contains("Context at 55%")),
        "{outcome:?}"
    );
}

#[test]
fn a_warning_goes_along_with_what_goes_in_anyway_and_a_critical_one_goes_alone() {
    let mut bench = Bench::working();
    bench.sample(55.0);
    bench.send("m1", "hello");
    let outcome = bench.stops();
    assert!(
        matches!(&answers(&outcome)[..], [Answer::Continue { text }] if text.contains("Context at 55%") && text.contains("hello")),
        "{outcome:?}"
    );
    let mut bench = Bench::working();
    bench.sample(70.0);
    let outcome = bench.stops();
    assert!(matches!(&answers(&outcome)[..], [Answer::Continue { .. }]));
}

#[test]
fn a_warning_that_waits_gives_way_to_the_critical_one_and_never_presses() {
    let mut bench = Bench::idle();
    bench.sample(55.0);
    bench.wait(60_000);
    assert_eq!(bench.session.queue()[0].meta.mode, Mode::Important);
    bench.sample(70.0);
    assert_eq!(bench.receipt("s1-g1c0-alert50"), MessageState::Withdrawn);
    let waiting: Vec<_> = bench
        .session
        .queue()
        .iter()
        .map(|m| m.meta.id.as_str())
        .collect();
    assert_eq!(waiting, ["s1-g1c0-alert65"]);
}

#[test]
fn a_status_line_that_still_shows_what_was_before_a_compaction_is_not_heard() {
    let mut bench = Bench::working();
    bench.sample(70.0);
    bench.hook(Signal::CompactionStarting { automatic: true });
    bench.hook(Signal::CompactionDone);
    bench.sample(70.0);
    assert_eq!(bench.session.record().gauge.percent(), None);
    assert_eq!(bench.alerts(), ["s1-g1c0-alert65"]);
    bench.sample(12.0);
    bench.sample(70.0);
    assert_eq!(bench.alerts().last().unwrap(), "s1-g1c1-alert65");
}

/// A successor that goes on working for long fills its context in its first turn.
#[test]
fn a_successor_is_told_of_its_own_context_in_its_first_turn() {
    let mut bench = Bench::prompted();
    bench.sample(50.0);
    let outcome = bench.hook(Signal::ToolsFinished);
    assert!(
        answers(&outcome).iter().all(|a| *a == Answer::Nothing),
        "not before its record has the document"
    );
    let wake = bench.wake_text();
    bench.recorded(&wake);
    let outcome = bench.hook(Signal::ToolsFinished);
    let said = answers(&outcome);
    assert!(
        matches!(&said[..], [Answer::Context { text }] if text.starts_with("[sm context] Context at 50%")),
        "{said:?}"
    );
}
