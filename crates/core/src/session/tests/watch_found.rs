//! What the simulation found in the monitor: compactions whose signs are lost, late or read again, and
//! what a restart forgot.

use super::*;
use crate::message::Purpose;

fn boundary(after: u64, at: Timestamp) -> Event {
    Event::Facts(vec![Fact::CompactBoundary {
        before: Some(140_000),
        after: Some(after),
        at: Some(at),
    }])
}

impl Bench {
    fn says(&mut self, percent: f64) -> Outcome {
        let at = self.now.plus(10);
        self.hook(Signal::Usage(UsageSample {
            source: UsageSource::StatusLine,
            used_percentage: Some(percent),
            tokens: Some(2_000 * percent as u64),
            window: Some(200_000),
            at,
        }))
    }
    fn compactions(&self) -> u32 {
        self.session.record().compactions
    }
    fn tokens(&self) -> Option<u64> {
        let newest = self.session.record().gauge.newest();
        newest.and_then(|sample| sample.tokens)
    }
}

#[test]
fn a_record_that_is_read_again_moves_no_reading_and_counts_nothing() {
    let mut bench = Bench::working();
    bench.wait(60_000);
    let at = bench.now;
    bench.on(boundary(9_000, at));
    assert_eq!((bench.compactions(), bench.tokens()), (1, Some(9_000)));
    bench.says(70.0);
    bench.recovers();
    bench.on(boundary(9_000, at));
    assert_eq!((bench.compactions(), bench.tokens()), (1, Some(140_000)));
    // and while the next one is under way
    bench.hook(Signal::CompactionStarting { automatic: true });
    bench.recovers();
    bench.on(boundary(9_000, at));
    assert_eq!((bench.compactions(), bench.state()), (1, "compacting"));
}

#[test]
fn hooks_that_come_after_the_record_do_not_count_it_again() {
    let mut bench = Bench::working();
    bench.wait(60_000);
    let begun = bench.call("c1", Signal::CompactionStarting { automatic: true });
    bench.wait(2_000);
    let done = bench.call("c1", Signal::CompactionDone);
    bench.on(boundary(9_000, done.at));
    bench.wait(1_000);
    bench.on(Event::Hook(begun));
    assert_eq!(bench.state(), "working", "it is over");
    bench.on(Event::Hook(done));
    assert_eq!(bench.compactions(), 1);
}

#[test]
fn a_compaction_that_came_to_nothing_is_none() {
    let mut bench = Bench::working();
    bench.says(70.0);
    bench.hook(Signal::CompactionStarting { automatic: true });
    bench.hook(Signal::Working);
    assert_eq!((bench.compactions(), bench.state()), (0, "working"));
    // until the record has been read nobody is told of what may be another context by now
    let outcome = bench.hook(Signal::ToolsFinished);
    assert_eq!(answers(&outcome), [Answer::Nothing]);
    bench.evidence(screen(Composer::Empty, Activity::Busy));
    bench.wait(1_000);
    bench.evidence(screen(Composer::Empty, Activity::Busy));
    let outcome = bench.hook(Signal::ToolsFinished);
    assert!(matches!(&answers(&outcome)[..], [Answer::Context { .. }]));
}

#[test]
fn an_end_whose_beginning_was_lost_holds_alerts_back_until_the_record_is_read() {
    let mut bench = Bench::working();
    bench.wait(60_000);
    bench.says(70.0);
    let outcome = bench.hook(Signal::CompactionDone);
    let asks = |e: &Effect| matches!(e, Effect::Probe { .. });
    assert!(outcome.effects.iter().any(asks) || bench.session.probe.is_some());
    let outcome = bench.hook(Signal::ToolsFinished);
    assert_eq!(answers(&outcome), [Answer::Nothing]);
    let at = bench.now;
    bench.on(boundary(9_000, at));
    assert_eq!(bench.compactions(), 1);
    assert_eq!(bench.receipt("s1-g1c0-alert65"), MessageState::Withdrawn);
}

#[test]
fn samples_made_after_a_compaction_that_is_heard_of_late_count() {
    let mut bench = Bench::working();
    bench.wait(60_000);
    let done = bench.now;
    bench.wait(20_000);
    let at = bench.now;
    bench.wait(5_000);
    bench.on(boundary(9_000, done));
    bench.on(Event::Facts(vec![Fact::Usage(UsageSample {
        source: UsageSource::Transcript,
        used_percentage: None,
        tokens: Some(50_000),
        window: None,
        at,
    })]));
    assert_eq!(bench.tokens(), Some(50_000));
}

#[test]
fn a_restart_forgets_neither_who_is_to_be_told_nor_what_is_pressing() {
    let mut bench = Bench::working();
    bench.wait(60_000);
    bench.hook(Signal::CompactionStarting { automatic: true });
    bench.hook(Signal::CompactionDone);
    bench.recovers();
    let outcome = bench.wait(3_100);
    let told = |e: &Effect| matches!(e, Effect::Notify(n) if n.kind == NoticeKind::Compacted);
    assert!(outcome.effects.iter().any(told));
    bench.says(80.0);
    bench.recovers();
    bench.wait(30_100);
    assert_eq!(bench.session.queue()[0].meta.mode, Mode::Urgent);
}

#[test]
fn a_warning_is_not_pressing_because_a_critical_one_was() {
    let mut bench = Bench::working();
    bench.says(80.0);
    bench.hook(Signal::CompactionStarting { automatic: true });
    bench.hook(Signal::CompactionDone);
    bench.wait(5_000);
    bench.says(55.0);
    bench.wait(30_100);
    let warning = &bench.session.queue()[0].meta;
    assert_eq!(warning.purpose, Purpose::Warning);
    assert_eq!(warning.mode, Mode::Important);
}

#[test]
fn an_agent_is_not_started_with_an_alert() {
    let mut bench = Bench::working();
    bench.says(55.0);
    bench.on(Event::TerminalGone { launch: 1 });
    let outcome = bench.on(Event::LaunchAsked { fresh: false });
    let prompted = |e: &Effect| matches!(e, Effect::Launch(plan) if plan.prompt.is_some());
    assert!(!outcome.effects.iter().any(prompted), "{outcome:?}");
}

#[test]
fn two_compactions_soon_after_each_other_are_two_whoever_tells_first() {
    let mut bench = Bench::working();
    bench.wait(60_000);
    let mut ends = Vec::new();
    for _ in 0..2 {
        bench.hook(Signal::CompactionStarting { automatic: true });
        bench.hook(Signal::CompactionDone);
        ends.push(bench.now);
    }
    assert_eq!(bench.compactions(), 2);
    bench.on(boundary(9_000, ends[0]));
    assert_eq!(
        (bench.compactions(), bench.tokens()),
        (2, None),
        "it is over"
    );
    bench.on(boundary(8_000, ends[1]));
    assert_eq!((bench.compactions(), bench.tokens()), (2, Some(8_000)));
}

#[test]
fn nothing_is_entered_while_the_agent_compacts() {
    let mut bench = Bench::idle();
    bench.send("m1", "hello");
    bench.evidence(screen(Composer::Empty, Activity::Idle));
    bench.was_pasted(1);
    bench.hook(Signal::CompactionStarting { automatic: false });
    let mut looks = 0;
    for _ in 0..20 {
        bench.wait(100);
        if bench.session.probe.is_some() {
            looks += 1;
            let outcome = bench.evidence(screen(Composer::Ours, Activity::Idle));
            if bench.state() != "compacting" {
                break; // the agent's own status said for long enough that it is idle
            }
            assert!(keys(&outcome).is_empty(), "{outcome:?}");
        }
    }
    assert!(looks > 0);
}

#[test]
fn a_critical_alert_that_came_back_is_pressing() {
    let mut bench = Bench::working();
    bench.says(80.0);
    let outcome = bench.hook(Signal::ToolsFinished);
    assert!(matches!(&answers(&outcome)[..], [Answer::Context { .. }]));
    bench.wait(30_100);
    assert_eq!(bench.receipt("s1-g1c0-alert65").word(), "written");
    bench.session.rec.flight = None; // found nowhere
    let id = MessageId::new("s1-g1c0-alert65").unwrap();
    bench
        .session
        .set_message(&id, MessageState::Queued, bench.now);
    bench.wait(5_100);
    assert_eq!(bench.session.queue()[0].meta.mode, Mode::Urgent);
}

#[test]
fn a_prompt_that_begins_another_context_is_not_told_of_the_old_one() {
    let mut bench = Bench::idle();
    bench.says(55.0);
    let outcome = bench.prompt_accepted("c2", "go on");
    assert_eq!(answers(&outcome), [Answer::Nothing]);
    assert_eq!(bench.receipt("s1-g1c0-alert50"), MessageState::Withdrawn);
}

#[test]
fn an_interrupt_that_is_read_late_does_not_end_the_next_compaction() {
    let mut bench = Bench::working();
    bench.hook(Signal::CompactionStarting { automatic: true });
    bench.wait(1_000);
    let at = Some(bench.now);
    bench.wait(10);
    bench.hook(Signal::CompactionStarting { automatic: false });
    let broken = Some(BreakReason::Interrupted);
    bench.on(Event::Facts(vec![Fact::TurnEnded { broken, at }]));
    assert_eq!(bench.state(), "compacting");
}

#[test]
fn an_alert_that_waits_out_a_doubt_is_woken_for() {
    let mut bench = Bench::working();
    bench.hook(Signal::CompactionDone); // its beginning was not heard
    let until = bench.session.record().maybe_compacted.unwrap();
    bench.session.check_at = None; // whoever else would wake it
    bench.session.probe = None;
    assert_eq!(bench.session.next_deadline(), Some(until));
    bench.wait(until.since(bench.now));
    assert_eq!(bench.session.record().maybe_compacted, None);
}

#[test]
fn an_alert_that_is_on_its_way_is_looked_at_without_writing_it_down() {
    let mut bench = Bench::working();
    bench.says(80.0);
    bench.hook(Signal::ToolsFinished); // takes it
    bench.wait(30_100);
    let before = bench.session.record().pressing.clone();
    assert!(before.is_some());
    for _ in 0..3 {
        let outcome = bench.wait(5_100);
        assert_eq!(outcome.persist, Persist::Nothing, "{outcome:?}");
    }
    assert_eq!(bench.session.record().pressing, before);
}
