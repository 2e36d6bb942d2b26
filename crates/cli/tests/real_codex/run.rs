//! `sm run codex`: contexts that fill up are left for fresh ones, whose first prompt carries what was
//! handed over.

use crate::common::World;
use crate::common::run::{PATIENCE, Walk, handed};
use sm_testkit::model::{conversation_of, texts_of};
use sm_testkit::wait_until;
use std::collections::BTreeSet;

/// Of 190,000 that it counts.
const LOW: u64 = 20_000;
const HIGH: u64 = 150_000;

#[test]
fn run_goes_through_five_contexts_and_ends_when_told() {
    const ROTATIONS: usize = 5;
    let Some(world) = World::codex("run_goes_through_five_contexts_and_ends_when_told") else {
        return;
    };
    let walk = Walk::new(world);
    walk.when(&[
        ("begin the work", "RUN: sh step work"),
        ("Continue from handoff", "RUN: sh step work"),
        ("[sm run] This context is", "RUN: sh step ask"),
    ]);
    walk.tokens(HIGH);
    walk.start(&["run", "codex", "-m", "fake-gpt", "begin the work"]);
    for n in 1..=ROTATIONS {
        walk.reached("work", n);
        walk.go_on("work", n);
        walk.reached("ask", n);
        if n == ROTATIONS {
            walk.tokens(LOW);
        }
        walk.go_on("ask", n);
    }
    walk.reached("work", ROTATIONS + 1);
    walk.go_on("work", ROTATIONS + 1);
    let done = || {
        let contexts = walk.contexts();
        let last = contexts.get(ROTATIONS)?;
        (last.len() >= 2).then(|| contexts.clone())
    };
    let contexts = wait_until(PATIENCE, done).unwrap_or_else(|| panic!("{}", walk.about()));
    assert_eq!(contexts.len(), ROTATIONS + 1, "{}", walk.about());
    let mut ids = BTreeSet::new();
    for n in 1..contexts.len() {
        assert!(
            ids.insert(handed(&contexts[n])),
            "each has its own: {ids:?}"
        );
        let previous = conversation_of(&contexts[n - 1][0]).unwrap();
        let texts = texts_of(&contexts[n][0]).join("\n");
        let told = format!("Previous Session: {previous}\nType: auto\n");
        assert!(texts.contains(&told), "{told} is not in {texts}");
        assert!(
            texts.contains("begin the work"),
            "its person's words: {texts}"
        );
    }
    walk.wait_seen("RUN done");
    assert_eq!(walk.leave("/quit"), 0, "{}", walk.about());
    assert_eq!(
        walk.contexts().len(),
        ROTATIONS + 1,
        "nothing after a goodbye"
    );
    assert!(walk.world.daemon().is_none(), "nobody needed one");
}

#[test]
fn run_gives_the_successor_what_its_agent_wrote_in_its_sandbox() {
    let test = "run_gives_the_successor_what_its_agent_wrote_in_its_sandbox";
    let Some(world) = World::codex(test) else {
        return;
    };
    let walk = Walk::new(world);
    let hand = "RUN: printf 'the parser is done, the printer is not\\n' > notes.md\nTHEN: sm handoff notes.md";
    walk.when(&[
        ("begin the work", hand),
        ("Continue from handoff", "RUN: sh step work"),
    ]);
    walk.tokens(LOW);
    walk.start(&["run", "codex", "begin the work"]);
    walk.reached("work", 1);
    walk.go_on("work", 1);
    let contexts = walk.wait_contexts(2);
    let second = texts_of(&contexts[1][0]).join("\n");
    handed(&contexts[1]);
    assert!(
        second.contains("the parser is done, the printer is not"),
        "{second}"
    );
    assert!(second.contains("Type: manual\n"), "{second}");
    walk.wait_seen("RUN done");
    assert_eq!(walk.leave("/quit"), 0, "{}", walk.about());
}

#[test]
fn run_loses_nothing_that_is_typed_while_contexts_change() {
    let test = "run_loses_nothing_that_is_typed_while_contexts_change";
    let Some(world) = World::codex(test) else {
        return;
    };
    let walk = Walk::new(world);
    walk.when(&[
        ("begin the work", "RUN: sh step work"),
        ("Continue from handoff", "RUN: sh step work"),
    ]);
    walk.tokens(HIGH);
    walk.start(&["run", "codex", "-m", "fake-gpt", "begin the work"]);
    walk.writes_while_contexts_change(LOW, |screen| screen.contains("RUN done"));
    assert_eq!(walk.leave("/quit"), 0, "{}", walk.about());
}

#[test]
fn run_names_the_terminals_that_codex_leaves_behind() {
    let Some(world) = World::codex("run_names_the_terminals_that_codex_leaves_behind") else {
        return;
    };
    let walk = Walk::new(world);
    let watch = r#"TOOL: exec_command {"cmd": "sleep 1000 # watches", "yield_time_ms": 250}"#;
    walk.when(&[
        ("begin the work", watch),
        ("Continue from handoff", "RUN: sh step work"),
    ]);
    walk.tokens(HIGH);
    walk.start(&["run", "codex", "-m", "fake-gpt", "begin the work"]);
    walk.reached("work", 1);
    let contexts = walk.wait_contexts(2);
    let texts = texts_of(&contexts[1][0]).join("\n");
    let told = "## Background Jobs";
    assert!(texts.contains(told), "{told} is not in {texts}");
    assert!(texts.contains("- sleep 1000 # watches"), "{texts}");
    walk.tokens(LOW);
    walk.go_on("work", 1);
    walk.wait_seen("RUN done");
    assert_eq!(walk.leave("/quit"), 0, "{}", walk.about());
}

#[test]
fn run_stops_with_its_agent_and_goes_on_with_it() {
    let Some(world) = World::codex("run_stops_with_its_agent_and_goes_on_with_it") else {
        return;
    };
    let walk = Walk::new(world);
    walk.when(&[("begin the work", "RUN: sh step work")]);
    walk.tokens(LOW);
    walk.stops_and_goes_on("run codex -m fake-gpt 'begin the work'", "/quit");
}
