//! Real Codex under `sm`, against the scripted model: from its start to exactly-once delivery
//! across crashes of the daemon. The helpers here are what a person does at Codex, and what a test
//! looks at.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod archive;
#[path = "../common/mod.rs"]
mod common;
mod contexts;
mod crashes;
mod generate;
mod handoff;
mod handoff_faults;
mod installed;
mod ledger;
mod limits;
mod monitor;
mod people;
mod run;
mod run_joined;
mod sandbox;
mod start;
mod texts;
mod tools;
mod turns;
mod unattended;

use std::time::Duration;

use common::{World, occurrences};
use serde_json::Value;
use sm_testkit::model::{Request, is_main, texts_of};
use sm_testkit::wait_until;

// ── what a person does at Codex

/// Types a prompt and submits it. Codex may take an Enter for a part of the typing, as any person
/// who types too quickly finds out: it is pressed again.
#[track_caller]
pub fn submit(world: &World, session: &str, text: &str) {
    world.type_text(session, text);
    world.wait_screen(session, text);
    enter(world, session, |r| texts_of(r).iter().any(|t| t == text));
}

#[track_caller]
pub fn enter(world: &World, session: &str, arrived: impl Fn(&Request) -> bool) {
    for _ in 0..20 {
        world.key(session, "Enter");
        let patience = Duration::from_secs(2);
        let main = |r: &Request| is_main(r) && arrived(r);
        if world.model.wait_for_request(main, patience).is_some() {
            return;
        }
    }
    panic!("Codex does not submit\n{}", world.about(session));
}

/// A command that needs an approval.
pub const ESCALATED: &str = "TOOL: exec_command {\"cmd\":\"touch approved\",\"sandbox_permissions\":\"require_escalated\",\"justification\":\"may I?\"}";

pub const APPROVAL: &str = "Would you like to run the following command?";

/// Runs a command of Codex, such as `/clear`, until the screen shows that it was run.
#[track_caller]
pub fn command(world: &World, session: &str, command: &str, ran: impl Fn(&str) -> bool) {
    // the hook that ends a turn runs before Codex takes commands again; what it refuses meanwhile is
    // gone from the composer, and a person types it again
    world.wait_screen(session, "Worked for");
    let refusals = |screen: &str| screen.matches("is disabled while a task").count();
    let mut refused = usize::MAX;
    let done = (0..10).find_map(|_| {
        let screen = world.screen(session);
        if refusals(&screen) != refused {
            refused = refusals(&screen);
            world.type_text(session, command);
            world.wait_screen(session, &format!("› {command}"));
        }
        world.key(session, "Enter");
        let patience = Duration::from_secs(2);
        wait_until(patience, || ran(&world.screen(session)).then_some(()))
    });
    assert!(
        done.is_some(),
        "{command} was not run\n{}",
        world.about(session)
    );
}

// ── what is looked at

/// The conversation as the model was shown it last.
#[track_caller]
pub fn last(world: &World) -> Request {
    world.main_requests().pop().unwrap()
}

/// Whether the model was given this text as a block of its own, byte for byte, and once.
#[track_caller]
pub fn exactly_once(world: &World, text: &str) {
    let request = last(world);
    let blocks = texts_of(&request);
    let whole = blocks.iter().filter(|block| *block == text).count();
    assert_eq!(whole, 1, "{text:.80?} in {blocks:.300?}");
}

#[track_caller]
pub fn once(world: &World, part: &str) {
    let request = last(world);
    assert_eq!(occurrences(&request, part), 1, "{part:.80?}");
}

pub fn field(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}
