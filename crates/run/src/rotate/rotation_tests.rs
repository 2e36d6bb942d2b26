//! Examples of the rules, one a test.

use super::*;

fn full(percent: f64) -> Event {
    Event::Sampled(Reading {
        percent: Some(percent),
        tokens: Some((percent * 2000.0) as u64),
        size: Some(1000),
    })
}

fn stop() -> Event {
    Event::Stopping {
        background: Vec::new(),
    }
}

fn leave(why: Why, document: Document) -> Vec<Effect> {
    leave_at(Moment::TurnEnd, why, document)
}

fn leave_now(why: Why, document: Document) -> Vec<Effect> {
    leave_at(Moment::Now, why, document)
}

fn leave_at(at: Moment, why: Why, document: Document) -> Vec<Effect> {
    vec![Effect::Leave {
        why,
        at,
        document,
        background: Vec::new(),
    }]
}

fn handed(path: &str) -> Event {
    Event::HandedOver {
        document: path.to_owned(),
    }
}

fn machine() -> Rotation {
    with(Restarts::AtMost(10))
}

fn with(restarts: Restarts) -> Rotation {
    Rotation::new(Rules {
        restarts,
        ..Rules::default()
    })
}

/// Plays events, and gives all that is to be done.
fn play(machine: &mut Rotation, events: &[Event]) -> Vec<Effect> {
    events
        .iter()
        .flat_map(|event| machine.step(event.clone()))
        .collect()
}

const TELL: Effect = Effect::Tell(Notice::WriteDocument);
const WRAP_UP: Effect = Effect::Tell(Notice::WrapUp);

#[test]
fn what_an_agent_is_told_while_its_context_fills() {
    let mut m = machine();
    for (event, expected) in [
        (Event::ContextBegan, vec![]),
        (Event::Prompted, vec![]),
        (full(40.0), vec![]),
        (full(55.0), vec![Effect::Show(Level::EarlyWarn)]),
        (Event::ToolsRan, vec![]),
        (full(66.0), vec![Effect::Show(Level::Warn)]),
        (Event::ToolsRan, vec![WRAP_UP]),
        (Event::ToolsRan, vec![]),
        (full(70.0), vec![]),
        (Event::ToolsRan, vec![]),
        (full(76.0), vec![Effect::Show(Level::Critical)]),
        (Event::ToolsRan, vec![TELL]),
        (Event::ToolsRan, vec![]),
        (full(77.0), vec![]),
        (stop(), leave(Why::Full, Document::Ledger)),
        // Whatever it still says is too late.
        (full(80.0), vec![]),
        (stop(), vec![]),
        (handed("/late.md"), vec![]),
        (Event::Signalled, vec![]),
    ] {
        assert_eq!(m.step(event.clone()), expected, "{event:?}");
    }
    assert_eq!(m.ended(Ending::Other), After::Restart);
    assert_eq!((m.restarts(), m.level()), (1, Level::Ok));
}

#[test]
fn the_agents_own_document_goes_before_the_ledgers() {
    let own = || leave(Why::Agent, Document::Agents("/n.md".to_owned()));
    // Asked inside the turn, written inside the turn.
    let mut m = machine();
    play(&mut m, &[Event::Prompted, full(76.0), Event::ToolsRan]);
    assert_eq!(play(&mut m, &[handed("/n.md"), Event::ToolsRan]), []);
    assert_eq!(m.step(stop()), own());
    // Asked at the end of the turn.
    let mut m = machine();
    play(&mut m, &[Event::Prompted, full(76.0)]);
    assert_eq!(m.step(stop()), [TELL]);
    assert_eq!(
        play(&mut m, &[Event::ToolsRan, handed("/n.md"), stop()]),
        own()
    );
    // By itself, at any level.
    let mut m = machine();
    assert_eq!(
        play(&mut m, &[Event::Prompted, handed("/n.md"), stop()]),
        own()
    );
    // The newer one counts; one that was taken back does not.
    let mut m = machine();
    play(
        &mut m,
        &[Event::Prompted, handed("/old.md"), handed("/n.md")],
    );
    assert_eq!(m.step(stop()), own());
    let mut m = machine();
    play(
        &mut m,
        &[Event::Prompted, handed("/n.md"), Event::TakenBack],
    );
    assert_eq!(m.step(stop()), []);
}

#[test]
fn the_deadline_is_in_turns_and_tokens() {
    let rules = |turns, tokens| Rules {
        deadline_turns: turns,
        deadline_tokens: tokens,
        ..Rules::default()
    };
    // Three turns, unless it needs too much for them.
    for (tokens, used, leaves_at) in [(50_000, 76.0, 3), (2000, 77.5, 1)] {
        let mut m = Rotation::new(rules(3, tokens));
        play(&mut m, &[Event::Prompted, full(76.0), Event::ToolsRan]);
        for turn in 1..=leaves_at {
            let done = play(&mut m, &[Event::Prompted, full(used), stop()]);
            match turn == leaves_at {
                true => assert_eq!(done, leave(Why::Full, Document::Ledger)),
                false => assert_eq!(done, [], "{turn}"),
            }
        }
    }
    // No time at all: not asked.
    let mut m = Rotation::new(rules(0, 0));
    play(&mut m, &[Event::Prompted, full(76.0)]);
    assert_eq!(m.step(stop()), leave(Why::Full, Document::Ledger));
}

#[test]
fn near_the_limit_the_turn_is_not_waited_for() {
    let mut m = machine();
    let done = play(&mut m, &[Event::Prompted, full(93.0)]);
    assert_eq!(done[1..], leave_now(Why::Full, Document::Ledger));
    // With what the agent has handed over, if it has.
    let mut m = machine();
    play(
        &mut m,
        &[
            Event::Prompted,
            full(80.0),
            Event::ToolsRan,
            handed("/n.md"),
        ],
    );
    let own = Document::Agents("/n.md".to_owned());
    assert_eq!(m.step(full(93.0)), leave_now(Why::Agent, own));
    // Nobody works: a person may be writing.
    let mut m = machine();
    assert_eq!(m.step(full(93.0)), [Effect::Show(Level::Critical)]);
}

#[test]
fn what_a_turn_has_used_may_be_learned_after_its_end() {
    let late = || vec![Effect::Show(Level::Critical)];
    let mut m = machine();
    play(
        &mut m,
        &[Event::Prompted, full(40.0), Event::ToolsRan, stop()],
    );
    let done = m.step(full(80.0));
    assert_eq!(done[1..], leave(Why::Full, Document::Ledger));
    // Nobody has worked yet, a person goes on, or interrupted it: then it can wait.
    let mut m = machine();
    assert_eq!(m.step(full(80.0)), late());
    let mut m = machine();
    play(&mut m, &[Event::Prompted, stop(), Event::Prompted]);
    assert_eq!(m.step(full(80.0)), late());
    let mut m = machine();
    play(
        &mut m,
        &[Event::Prompted, stop(), Event::Prompted, Event::Interrupted],
    );
    assert_eq!(m.step(full(80.0)), late());
}

#[test]
fn a_turn_that_breaks_in_a_full_context_is_its_last() {
    let mut m = machine();
    assert_eq!(play(&mut m, &[Event::Prompted, Event::Broken]), []);
    play(&mut m, &[Event::Prompted, full(80.0)]);
    assert_eq!(m.step(Event::Broken), leave(Why::Full, Document::Ledger));
    // A person who interrupts is there, and goes on.
    let mut m = machine();
    play(&mut m, &[Event::Prompted, full(80.0), Event::ToolsRan]);
    assert_eq!(m.step(Event::Interrupted), []);
    assert_eq!(m.step(full(95.0)), []);
}

#[test]
fn a_compaction_of_the_agents_own_is_forestalled() {
    let mut m = machine();
    play(&mut m, &[Event::Prompted, full(20.0)]);
    assert_eq!(
        m.step(Event::CompactionNear),
        leave_now(Why::Full, Document::Ledger)
    );
    let mut m = with(Restarts::AtMost(0));
    assert_eq!(m.step(Event::CompactionNear), []);
}

#[test]
fn a_context_is_not_left_without_a_handoff() {
    let mut m = machine();
    play(
        &mut m,
        &[Event::Prompted, full(80.0), Event::ToolsRan, stop()],
    );
    m.not_left(&Document::Ledger);
    assert!(!m.is_leaving());
    assert_eq!(m.clone().ended(Ending::Other), After::Exit);
    let again = play(&mut m, &[Event::Prompted, stop()]);
    assert_eq!(again, leave(Why::Full, Document::Ledger));
}

#[test]
fn a_document_of_the_agents_own_is_tried_again() {
    let mut m = machine();
    let id = "asked-1".to_owned();
    let document = Document::Agents(id.clone());
    let handed = Event::HandedOver { document: id };
    let left = play(&mut m, &[Event::Prompted, handed, stop()]);
    assert_eq!(left, leave(Why::Agent, document.clone()));
    m.not_left(&document);
    let again = play(&mut m, &[Event::Prompted, stop()]);
    assert_eq!(again, leave(Why::Agent, document));
}

#[test]
fn a_context_that_is_emptied_begins_anew() {
    for emptied in [Event::Compacted, Event::ContextBegan] {
        let mut m = machine();
        play(&mut m, &[Event::Prompted, full(80.0), Event::ToolsRan]);
        assert_eq!(m.step(emptied.clone()), [Effect::Show(Level::Ok)]);
        assert_eq!(play(&mut m, &[Event::Prompted, full(10.0), stop()]), []);
        let again = play(&mut m, &[Event::Prompted, full(80.0), Event::ToolsRan]);
        assert_eq!(again, [Effect::Show(Level::Critical), TELL]);
    }
}

#[test]
fn a_foreign_signal_leaves_at_once_with_what_is_in_the_channel() {
    let mut m = machine();
    play(&mut m, &[Event::Prompted, full(20.0), Event::ToolsRan]);
    assert_eq!(
        m.step(Event::Signalled),
        leave_now(Why::Signal, Document::Found)
    );
    assert_eq!(m.ended(Ending::Other), After::Restart);
}

#[test]
fn what_runs_in_the_background_is_told() {
    let mut m = machine();
    play(&mut m, &[Event::Prompted, handed("/n.md")]);
    let background = vec!["make watch".to_owned()];
    let done = m.step(Event::Stopping {
        background: background.clone(),
    });
    assert_eq!(
        done,
        [Effect::Leave {
            why: Why::Agent,
            at: Moment::TurnEnd,
            document: Document::Agents("/n.md".to_owned()),
            background,
        }]
    );
}

#[test]
fn never_again_after_a_persons_exit() {
    // In the middle of it all, and at the very moment the process was told to end.
    for events in [
        vec![],
        vec![Event::Prompted, full(80.0), Event::ToolsRan],
        vec![Event::Prompted, handed("/n.md")],
        vec![Event::Prompted, handed("/n.md"), stop()],
    ] {
        let mut m = machine();
        play(&mut m, &events);
        assert_eq!(m.ended(Ending::Person), After::Exit, "{events:?}");
    }
    // An end nobody ordered is an end.
    let mut m = machine();
    play(&mut m, &[Event::Prompted, full(80.0), Event::ToolsRan]);
    assert_eq!(m.ended(Ending::Other), After::Exit);
}

/// Fills a context, with work in it, until it is left.
fn rotate(m: &mut Rotation) {
    let done = play(m, &[Event::Prompted, full(80.0), Event::ToolsRan, stop()]);
    assert_eq!(
        done.last().cloned().into_iter().collect::<Vec<_>>(),
        leave(Why::Full, Document::Ledger)
    );
}

#[test]
fn restarts_are_counted() {
    for (restarts, allowed) in [
        (Restarts::AtMost(1), 1),
        (Restarts::AtMost(10), 10),
        (Restarts::Unlimited, 1000),
    ] {
        let mut m = with(restarts);
        for n in 1..=allowed {
            rotate(&mut m);
            assert_eq!(m.ended(Ending::Other), After::Restart, "{n}");
        }
        rotate(&mut m);
        let last = m.ended(Ending::Other);
        match restarts {
            Restarts::AtMost(_) => assert_eq!(last, After::Stop(Stop::NoRestartsLeft)),
            Restarts::Unlimited => assert_eq!(last, After::Restart),
        }
    }
}

#[test]
fn without_restarts_nothing_is_ended() {
    let mut m = with(Restarts::AtMost(0));
    assert_eq!(
        play(
            &mut m,
            &[
                Event::Prompted,
                full(80.0),
                Event::ToolsRan,
                Event::ToolsRan
            ]
        ),
        [Effect::Show(Level::Critical), WRAP_UP]
    );
    assert_eq!(
        play(
            &mut m,
            &[stop(), Event::Prompted, full(95.0), Event::Broken]
        ),
        []
    );
    assert!(matches!(m.step(Event::Signalled)[..], [Effect::Note(_)]));
    assert_eq!(m.ended(Ending::Other), After::Exit);
}

#[test]
fn a_context_without_new_work_has_no_successor() {
    // The first one need not have done anything.
    let mut m = machine();
    play(&mut m, &[full(80.0), Event::Prompted, stop()]);
    assert!(m.is_leaving());
    assert_eq!(m.ended(Ending::Other), After::Restart);
    // What was handed over fills the next one at once.
    play(
        &mut m,
        &[Event::ContextBegan, full(80.0), Event::Prompted, stop()],
    );
    assert!(m.is_leaving());
    assert_eq!(m.ended(Ending::Other), After::Stop(Stop::NoNewWork));
    // A tool that ran, a second prompt: each is work.
    for work in [vec![Event::ToolsRan], vec![Event::Prompted]] {
        let mut m = machine();
        rotate(&mut m);
        m.ended(Ending::Other);
        play(&mut m, &[Event::ContextBegan, Event::Prompted]);
        play(&mut m, &work);
        play(&mut m, &[full(80.0), Event::Broken]);
        assert_eq!(m.ended(Ending::Other), After::Restart, "{work:?}");
    }
}

#[test]
fn an_agent_that_only_hands_over_is_stopped() {
    let mut m = with(Restarts::Unlimited);
    rotate(&mut m);
    assert_eq!(m.ended(Ending::Other), After::Restart);
    // It writes a document and hands it over, and does nothing else.
    let at_once = [
        Event::ContextBegan,
        Event::Prompted,
        Event::ToolsRan,
        handed("/n.md"),
        Event::ToolsRan,
        stop(),
    ];
    for n in 1..MOST_IDLE {
        play(&mut m, &at_once);
        assert_eq!(m.ended(Ending::Other), After::Restart, "{n}");
    }
    // Work in between, or a person's word, begins the count anew.
    for work in [Event::ToolsRan, Event::Prompted] {
        let mut m = m.clone();
        play(&mut m, &[Event::ContextBegan, Event::Prompted, work]);
        play(&mut m, &at_once[2..]);
        assert_eq!(m.ended(Ending::Other), After::Restart);
        play(&mut m, &at_once);
        assert_eq!(m.ended(Ending::Other), After::Restart);
    }
    play(&mut m, &at_once);
    assert_eq!(m.ended(Ending::Other), After::Stop(Stop::NoNewWork));
}

const BUSY: Event = Event::Person(Person::Busy);
const AWAY: Event = Event::Person(Person::Away);

#[test]
fn a_person_who_is_writing_is_waited_for() {
    let waits = |done: Vec<Effect>| assert!(matches!(done[..], [Effect::Note(_)]), "{done:?}");
    // Full, a document handed over, a turn that broke, a level learned late: each can wait.
    let full_turn = || vec![Event::Prompted, full(80.0), Event::ToolsRan, BUSY];
    for (before, end, document) in [
        (full_turn(), stop(), Document::Ledger),
        (full_turn(), Event::Broken, Document::Ledger),
        (
            vec![Event::Prompted, handed("/n.md"), BUSY],
            stop(),
            Document::Agents("/n.md".to_owned()),
        ),
        (
            vec![Event::Prompted, full(40.0), stop(), BUSY, full(74.0)],
            full(80.0),
            Document::Ledger,
        ),
    ] {
        let why = match document {
            Document::Agents(_) => Why::Agent,
            Document::Ledger | Document::Found => Why::Full,
        };
        let mut m = machine();
        play(&mut m, &before);
        let done = m.step(end.clone());
        let note = done.into_iter().filter(|e| !matches!(e, Effect::Show(_)));
        waits(note.collect());
        assert!(m.waits_for_person() && !m.is_leaving(), "{end:?}");
        // Nothing happens as long as the draft is there, however often is looked.
        let nothing = |done: Vec<Effect>| {
            let left = done.iter().any(|e| matches!(e, Effect::Leave { .. }));
            assert!(!left, "{done:?}");
        };
        nothing(play(&mut m, &[BUSY, full(81.0), BUSY, full(95.0)]));
        let mut cleared = m.clone();
        assert_eq!(cleared.step(AWAY), leave(why, document.clone()), "{end:?}");
        // It is submitted: its turn runs, and the context is left at its end.
        nothing(play(&mut m, &[full(81.0), Event::Prompted, AWAY]));
        assert!(!m.waits_for_person());
        nothing(play(&mut m, &[Event::ToolsRan, AWAY]));
        let end = m.step(stop());
        assert_eq!(end, leave(why, document));
    }
}

#[test]
fn what_cannot_wait_does_not() {
    for now in [full(93.0), Event::CompactionNear, Event::Signalled] {
        let mut m = machine();
        play(
            &mut m,
            &[Event::Prompted, full(80.0), Event::ToolsRan, BUSY],
        );
        let done = m.step(now.clone());
        let left = matches!(
            done[..],
            [Effect::Leave {
                at: Moment::Now,
                ..
            }]
        );
        assert!(left, "{now:?} {done:?}");
    }
}

#[test]
fn what_is_taken_back_while_a_person_writes_is_not_left_for() {
    let mut m = machine();
    play(&mut m, &[Event::Prompted, handed("/n.md"), BUSY, stop()]);
    assert_eq!(play(&mut m, &[Event::TakenBack, AWAY]), []);
    assert!(!m.waits_for_person());
}

#[test]
fn a_turn_that_begins_before_the_end_runs() {
    for document in [Document::Ledger, Document::Agents("/n.md".to_owned())] {
        let mut m = machine();
        let why = match &document {
            Document::Agents(id) => {
                m.step(handed(id));
                Why::Agent
            }
            Document::Ledger | Document::Found => Why::Full,
        };
        play(&mut m, &[Event::Prompted, full(80.0), Event::ToolsRan]);
        assert_eq!(m.step(stop()), leave(why, document.clone()));
        assert!(!m.turn_began());
        assert_eq!(m.step(Event::Prompted), []);
        assert!(m.turn_began());
        m.go_on(&document);
        assert!(!m.is_leaving());
        assert_eq!(play(&mut m, &[Event::ToolsRan, full(81.0)]), []);
        assert_eq!(m.step(stop()), leave(why, document));
    }
}

#[test]
fn a_try_that_failed_is_not_repeated_at_once() {
    // At the limit in the middle of a turn, and after its end.
    for (events, at) in [
        (vec![Event::Prompted, full(93.0)], Moment::Now),
        (
            vec![Event::Prompted, full(80.0), Event::ToolsRan, stop()],
            Moment::TurnEnd,
        ),
    ] {
        let mut m = machine();
        play(&mut m, &events);
        m.not_left(&Document::Ledger);
        assert_eq!(play(&mut m, &[full(93.5), AWAY, full(94.0)]), []);
        m.try_again();
        let again = m.step(full(94.0));
        assert_eq!(again, leave_at(at, Why::Full, Document::Ledger));
    }
}
