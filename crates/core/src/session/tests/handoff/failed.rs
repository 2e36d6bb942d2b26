//! A handoff that failed is told until a person has gone on with the session.

use super::*;

/// Its document could not be kept: nothing was left, and the agent goes on.
fn failed() -> Bench {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.stops();
    bench.on(Event::HandoffPrepared {
        handoff: HandoffId::new("h1").unwrap(),
        prepared: Err("the disk is full".into()),
    });
    assert_eq!(bench.handoff().state, HandoffState::Abandoned);
    bench
}

fn told(bench: &Bench) -> Option<String> {
    let failed = bench.session.record().failed_handoff()?;
    failed.ended_because().map(str::to_owned)
}

fn accepted(text: &str) -> Signal {
    Signal::PromptAccepted {
        text: text.into(),
        transcript: None,
    }
}

#[test]
fn what_failed_is_told_until_a_person_goes_on() {
    type Act = fn(&mut Bench);
    let table: [(&str, Act, bool); 7] = [
        ("nothing", |_| {}, true),
        (
            "another session's message",
            |bench| {
                let mut new = message("m1", "hello");
                new.from = Sender::Session {
                    id: SessionId::new("s-other").unwrap(),
                    name: "other".into(),
                };
                bench.on(Event::Send(new));
                bench.hook(accepted("[from other] hello"));
            },
            true,
        ),
        (
            "a usage sample and a turn's end",
            |bench| {
                bench.stops();
            },
            true,
        ),
        (
            "a person's message",
            |bench| {
                bench.send("m1", "try once more");
            },
            false,
        ),
        (
            "a person's prompt at its terminal",
            |bench| {
                bench.hook(accepted("what was that?"));
            },
            false,
        ),
        (
            "a context of its own",
            |bench| {
                bench.context("c2");
            },
            false,
        ),
        (
            "another handoff",
            |bench| {
                bench.on(asked("h2", Trigger::Person));
            },
            false,
        ),
    ];
    for (name, act, still) in table {
        let mut bench = failed();
        assert_eq!(
            told(&bench).as_deref(),
            Some("its document cannot be kept safe: the disk is full")
        );
        act(&mut bench);
        assert_eq!(told(&bench).is_some(), still, "{name}");
    }
}

#[test]
fn what_ended_says_so_itself_and_a_restore_knows() {
    let mut bench = failed();
    bench.exits(1, 1);
    assert_eq!(told(&bench), None, "its end is the news");
    bench.on(Event::LaunchAsked { fresh: false });
    assert_eq!(told(&bench), None);
}

#[test]
fn a_refused_one_is_in_the_history_once_a_turn_and_changes_nothing() {
    let mut b = Bench::working();
    let refused = |id: &str, why: &str| {
        let Event::HandoffAsked { handoff, .. } = asked(id, Trigger::Agent) else {
            panic!("it is one")
        };
        Event::HandoffRefused {
            handoff,
            why: why.to_owned(),
        }
    };
    let outcome = b.on(refused("h1", "the document is empty"));
    let [row] = outcome.handoffs.as_slice() else {
        panic!("{:?}", outcome.handoffs)
    };
    assert_eq!(row.state, HandoffState::Refused);
    assert_eq!(row.ended_because(), Some("the document is empty"));
    assert!(row.done_at.is_some() && row.to.is_none());
    assert!(b.session.record().handoff.is_none(), "nothing is under way");
    // an agent that repeats itself does not fill the history
    assert!(
        b.on(refused("h2", "the document is empty"))
            .handoffs
            .is_empty()
    );
    assert_eq!(b.on(refused("h3", "it is a folder")).handoffs.len(), 1);
    assert_eq!(b.state(), "working");
}
