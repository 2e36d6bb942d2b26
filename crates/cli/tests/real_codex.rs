//! Real Codex under `sm`, from its start to exactly-once delivery across crashes of the daemon.

#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{DEADLINE, Pane, World, open_gate, process, text, times_in};
use serde_json::Value;
use sm_testkit::real::{self, RealAgent};
use sm_testkit::wait_until;

/// A home in which Codex runs without a dialog, and `sm` finds it.
fn codex(test: &str) -> Option<World> {
    let agent = real::or_skip(test, real::codex())?;
    Some(world(&agent))
}

fn world(agent: &RealAgent) -> World {
    let config = format!("[agents.codex]\nprogram = {:?}\n", agent.program);
    World::new(&config, |env, url| {
        real::codex_home(env.home(), &env.project(), url)
    })
}

/// A session that has reached its prompt.
fn started(world: &World, name: &str, args: &[&str]) -> Value {
    let mut line = vec!["new", "codex", "--detach", "--json", "--name", name];
    line.extend(args);
    world.sm(&line).exits(0);
    world.wait_for(name, "idle")
}

#[test]
fn a_fresh_home_reaches_idle_without_a_dialog_and_without_a_change() {
    let Some(world) = codex("a_fresh_home_reaches_idle_without_a_dialog_and_without_a_change") else {
        return;
    };
    let path = world.env.home().join(".codex/config.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    let session = started(&world, "one", &[]);
    assert_eq!(session["agent"], "codex");
    let after = std::fs::read_to_string(&path).unwrap();
    eprintln!("{after}");
    assert_eq!(before, after);
}
