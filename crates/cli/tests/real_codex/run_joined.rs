//! `sm run codex` while a daemon runs: the run is a session of it, and messages reach the real
//! program through the run.

use crate::common::World;
use crate::common::joined::{
    ends, goes_to_the_successor, joined, messages_arrive, survives_the_daemon,
};
use crate::common::run::Walk;

const CODEX: [&str; 3] = ["codex", "-m", "fake-gpt"];
/// Of 190,000 that it counts.
const LOW: u64 = 20_000;
const HIGH: u64 = 150_000;

fn walk(test: &str) -> Option<Walk> {
    let walk = Walk::new(World::codex(test)?);
    walk.when(&[
        ("please do the step", "RUN: sh step work"),
        ("Continue from handoff", "RUN: sh step work"),
        ("[sm run] This context is", "RUN: sh step ask"),
    ]);
    walk.tokens(LOW);
    Some(walk)
}

#[test]
fn run_joined_is_given_messages_in_every_state() {
    let Some(walk) = walk("run_joined_is_given_messages_in_every_state") else {
        return;
    };
    let session = joined(&walk, &CODEX);
    messages_arrive(&walk, &session, false);
    ends(&walk, &session);
}

#[test]
fn run_joined_survives_its_daemon() {
    let Some(walk) = walk("run_joined_survives_its_daemon") else {
        return;
    };
    let session = joined(&walk, &CODEX);
    survives_the_daemon(&walk, &session);
    ends(&walk, &session);
}

#[test]
fn run_joined_keeps_a_message_for_the_successor() {
    let Some(walk) = walk("run_joined_keeps_a_message_for_the_successor") else {
        return;
    };
    walk.tokens(HIGH);
    let args = [&CODEX[..], &["please do the step"]].concat();
    let session = joined(&walk, &args);
    // What it has used is known when the turn is about to end.
    walk.reached("work", 1);
    walk.go_on("work", 1);
    goes_to_the_successor(&walk, &session, "ask", LOW);
    ends(&walk, &session);
}
