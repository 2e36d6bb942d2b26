//! Handing off a session whose agent has ended: what sm wrote down itself needs no agent.

use super::*;

fn by_ledger(id: &str) -> Event {
    let Event::HandoffAsked { handoff, guards } = asked(id, Trigger::Person) else {
        unreachable!("it is one");
    };
    let handoff = NewHandoff {
        author: Author::Ledger,
        ..handoff
    };
    Event::HandoffAsked { handoff, guards }
}

fn killed() -> Bench {
    let mut bench = Bench::working();
    bench.is_killed(1, 9);
    assert_eq!(bench.state(), "exited");
    bench
}

#[test]
fn a_killed_agent_is_started_in_a_new_context_with_the_document() {
    let mut bench = killed();
    let outcome = bench.on(by_ledger("h1"));
    assert!(prepares(&outcome), "artifacts first");
    assert!(launches(&outcome).is_empty());
    assert_eq!(bench.session.record().state, State::Starting);
    let outcome = bench.on(prepared_with("h1", "# Goal\nship it\n"));
    let plans = launches(&outcome);
    assert_eq!(plans.len(), 1);
    assert_eq!(plans[0].resume, None, "a new context");
    let prompt = plans[0].prompt.clone().unwrap();
    assert!(prompt.starts_with("Read /data/handoffs/x/document.md and continue"));
    assert!(prompt.ends_with("# Goal\nship it"), "{prompt}");
    assert_eq!(bench.session.record().generation.0, 2);
    bench.started(2);
    bench.context("c2");
    bench.prompt_accepted("c2", &prompt);
    assert_eq!(bench.handoff().state, HandoffState::Prompted);
    assert_eq!(bench.handoff().author, Author::Ledger);
    bench.recorded(&prompt);
    bench.stops();
    assert_eq!(bench.handoff().state, HandoffState::Done);
}

#[test]
fn one_that_was_ended_or_lost_is_handed_off_too() {
    let mut bench = Bench::idle();
    bench.on(Event::KillAsked);
    bench.exits(1, 0);
    bench.on(by_ledger("h1"));
    assert_eq!(launches(&bench.on(prepared_with("h1", "x"))).len(), 1);

    let mut bench = Bench::idle();
    bench.on(Event::TerminalGone { launch: 1 });
    assert_eq!(bench.state(), "lost");
    bench.on(by_ledger("h1"));
    assert_eq!(launches(&bench.on(prepared_with("h1", "x"))).len(), 1);
}

#[test]
fn what_somebody_wrote_needs_the_agent_that_reads_it() {
    let mut bench = killed();
    bench.on(asked("h1", Trigger::Person));
    assert!(bench.session.record().handoff.is_none());
    assert_eq!(bench.state(), "exited");
}

#[test]
fn what_is_under_way_is_left_to_a_restore() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.on(Event::TerminalGone { launch: 1 });
    bench.on(by_ledger("h2"));
    assert_eq!(bench.handoff().id.as_str(), "h1");
    let refusal = bench.session.record().handoff_refusal(
        &CLAUDE,
        Trigger::Person,
        Author::Ledger,
        Guards::default(),
        bench.now,
    );
    assert!(matches!(refusal, Some(Refusal::Ended { .. })));
}

#[test]
fn a_document_that_cannot_be_kept_leaves_it_ended() {
    let mut bench = killed();
    bench.on(by_ledger("h1"));
    bench.on(Event::HandoffPrepared {
        handoff: HandoffId::new("h1").unwrap(),
        prepared: Err("the disk is full".into()),
    });
    assert_eq!(bench.state(), "exited");
    assert_eq!(bench.handoff().state, HandoffState::Abandoned);
}

#[test]
fn a_live_one_is_given_the_text_too_and_it_is_proven_with_the_prompt() {
    let mut bench = Bench::idle();
    bench.on(by_ledger("h1"));
    bench.on(prepared_with("h1", "# Goal\nship it\n"));
    let prompt = bench.wake_text();
    assert!(prompt.ends_with("# Goal\nship it"), "{prompt}");
    let given = bench.handoff().in_context.unwrap();
    assert_eq!((given.characters, given.of, given.proof), (14, 14, None));
    bench.paste();
    bench.context("c2");
    bench.paste();
    // the path alone is not the document
    let first = prompt.lines().next().unwrap().to_owned();
    bench.prompt_accepted("c2", &first);
    assert_eq!(bench.handoff().state, HandoffState::Cleared);
    bench.prompt_accepted("c2", &prompt);
    assert_eq!(bench.handoff().state, HandoffState::Prompted);
    bench.recorded(&prompt);
    let proven = bench.handoff().in_context.unwrap();
    assert_eq!(
        proven.told(),
        "in context, 14 of 14 characters, proven by transcript"
    );
    let last = bench.handoff().steps.last().unwrap();
    assert_eq!(last.text, format!("document: {}", proven.told()));
}
