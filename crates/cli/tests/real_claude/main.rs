//! `sm` on the real Claude Code, against the scripted model.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

mod archive;
#[path = "../common/mod.rs"]
mod common;
mod compaction;
mod crashes;
mod generate;
mod handoff;
mod handoff_crashes;
mod handoff_hooks;
mod handoff_people;
mod installed;
mod ledger;
mod life;
mod limits;
mod monitor;
mod people;
mod run;
mod run_joined;
mod soak;
mod texts;
mod tools;
mod turns;
mod unattended;

use common::{World, occurrences};
use serde_json::Value;
use sm_testkit::model::Request;

/// Arguments for a session whose tools need no permission.
const FREE: [&str; 5] = [
    "--",
    "--model",
    "claude-sonnet-4-5",
    "--allowedTools",
    "Bash",
];
/// Arguments for a session that asks before a tool changes something.
const ASKING: [&str; 3] = ["--", "--model", "claude-sonnet-4-5"];

/// A world whose model answers `ok` unless a prompt says otherwise, so that no answer repeats a
/// text that is counted.
fn claude(test: &str) -> Option<World> {
    let world = World::claude(test)?;
    world
        .model
        .control(|control| control.reply = Some("ok".into()));
    Some(world)
}

/// Sends one more message to the idle session and gives the request that holds it: with the whole
/// conversation, so that what arrived can be counted.
#[track_caller]
fn closing(world: &World, session: &str) -> Request {
    world.wait_state(session, "idle");
    let text = format!("closing words {}", world.model.requests().len());
    world.send_wait(session, &text, &[]);
    world.request_with(&text)
}

/// The text is in the conversation once, and its message has come to its end.
#[track_caller]
fn once(world: &World, session: &str, id: &str, text: &str) -> Value {
    let last = closing(world, session);
    let message = world.wait_message(session, id, "consumed");
    assert_eq!(
        occurrences(&last, text),
        1,
        "{message}\n{}",
        world.about(session)
    );
    message
}
