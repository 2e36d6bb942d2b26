//! `sm run claude` while a daemon runs: the run is a session of it, and messages reach the real
//! program through the run.

use crate::claude;
use crate::common::joined::{
    ends, goes_to_the_successor, joined, messages_arrive, survives_the_daemon,
};
use crate::common::run::Walk;

const CLAUDE: [&str; 5] = [
    "claude",
    "--model",
    "claude-sonnet-4-5",
    "--allowedTools",
    "Bash",
];
/// Of 200,000.
const LOW: u64 = 20_000;
const HIGH: u64 = 160_000;

fn walk(test: &str) -> Option<Walk> {
    let walk = Walk::new(claude(test)?);
    walk.when(&[
        ("please do the step", "RUN: sh step work"),
        ("Continue from handoff", "RUN: sh step work"),
    ]);
    walk.tokens(LOW);
    Some(walk)
}

#[test]
fn run_joined_is_given_messages_in_every_state() {
    let Some(walk) = walk("run_joined_is_given_messages_in_every_state") else {
        return;
    };
    let session = joined(&walk, &CLAUDE);
    messages_arrive(&walk, &session, true);
    ends(&walk, &session);
}

#[test]
fn run_joined_survives_its_daemon() {
    let Some(walk) = walk("run_joined_survives_its_daemon") else {
        return;
    };
    let session = joined(&walk, &CLAUDE);
    survives_the_daemon(&walk, &session);
    ends(&walk, &session);
}

#[test]
fn run_joined_keeps_a_message_for_the_successor() {
    let Some(walk) = walk("run_joined_keeps_a_message_for_the_successor") else {
        return;
    };
    walk.tokens(HIGH);
    let args = [&CLAUDE[..], &["--", "please do the step"]].concat();
    let session = joined(&walk, &args);
    goes_to_the_successor(&walk, &session, "work", LOW);
    ends(&walk, &session);
}
