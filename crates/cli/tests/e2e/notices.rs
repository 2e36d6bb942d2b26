//! What a person is told by `notify.command`, and what is no alarm.

use crate::own::{Own, PANE};
use crate::world::{World, end, eventually, process, text};
use rustix::process::Signal;
use serde_json::Value;

/// Writes a line for each notice: kind and session.
const COMMAND: &str = r#"[notify]
command = ["sh", "-c", "echo \"$SM_NOTICE_KIND $SM_SESSION_NAME\" >> \"$HOME/notices\""]
"#;

fn notices(world: &World) -> String {
    std::fs::read_to_string(world.env.home().join("notices")).unwrap_or_default()
}

#[track_caller]
fn told(world: &World, line: &str) {
    eventually(line, || notices(world).lines().any(|told| told == line));
}

/// A program that ends with an error.
fn fails(world: &World, name: &str) {
    let new = [
        "new", "--detach", "--name", name, "--", "sh", "-c", "exit 3",
    ];
    world.sm(&new).exits(0);
    told(world, &format!("session_exited {name}"));
}

#[test]
fn a_person_is_told_what_needs_one() {
    let world = World::with_config(COMMAND);
    fails(&world, "broken");

    world.agent("api");
    world.send_wait("api", "TOKENS: 140000\nRUN: true\nSAY: full");
    told(&world, "context_high api");
    world.wait_for("api", "idle");
    world.send_wait("api", "COMPACT:\nSAY: compacted");
    told(&world, "compacted api");
    world.wait_for("api", "idle");
    world
        .sm(&["send", "api", "--notify", "SAY: hello"])
        .exits(0);
    told(&world, "turn_ended api");
    world.wait_for("api", "idle");
    world.send("api", "sequential", "ASK: deploy");
    world.wait_for("api", "waiting");
    told(&world, "person_needed api");
    world.send("api", "sequential", "never read");
    world.sm(&["kill", "api"]).exits(0);
    told(&world, "message_failed api");

    let gone = world.agent("gone");
    world.tmux(&["kill-server"]);
    world.wait_for(&text(&gone["id"]), "lost");
    told(&world, "session_lost gone");
}

#[test]
fn a_person_is_told_what_stands_still() {
    let mut world = World::with_config(COMMAND);
    world.agent("api");
    world.send_wait("api", "FAIL: 400");
    told(&world, "turn_failed api");
    let stands = world.wait_for("api", "idle");
    let error = text(&stands["turn_error"]);
    let attention = text(&stands["attention"]);
    assert!(attention.contains(&error), "{attention}");
    assert!(attention.contains("sm send api"), "{attention}");
    world
        .sm(&["ask", "api", "FAIL: 401"])
        .exits(1)
        .complains("the turn of api ended in an error");
    world.send_wait("api", "SAY: mended");
    let mended = world.wait_for("api", "idle");
    assert_eq!(mended["turn_error"], Value::Null, "{mended:#}");
    assert_eq!(mended["attention"], Value::Null, "{mended:#}");

    world.send("api", "sequential", "ASK: deploy");
    world.wait_for("api", "waiting");
    let notes = crate::handoff::document(&world, "notes.md", "half done\n");
    let hand_off = ["handoff", "--session", "api", notes.to_str().unwrap()];
    world.sm(&hand_off).exits(0);
    told(&world, "handoff_held api");
    world.sm(&["kill", "api"]).exits(0);
    told(&world, "handoff_failed api");

    world.env.set("FAKE_AGENT", "no_mailbox");
    world.agent("web");
    let pane = world.pane("web");
    pane.types("half a thought");
    pane.shows("half a thought");
    world.send("web", "sequential", "behind the draft");
    told(&world, "message_held web");
    pane.key("Enter");
    world.given("behind the draft");
    world.wait_for("web", "idle");
    world.send_wait("web", "FAIL: 529");
    told(&world, "limited web");
}

#[test]
fn a_run_whose_terminal_is_closed_is_no_alarm() {
    let own = Own::with_config(COMMAND);
    let run = own.claude();
    let (id, name) = (text(&run["id"]), text(&run["name"]));
    let agent = process(&run["pid"]);
    let closed = own.tmux.call(&["kill-session", "-t", &format!("={PANE}")]);
    closed.unwrap();
    let ended = own.world.wait_for(&id, "exited");
    assert_eq!(ended["state_reason"], "its terminal was closed", "{ended}");
    assert_eq!(ended["attention"], Value::Null, "{ended}");
    eventually("the agent is gone", || !agent.is_alive());
    // what is one comes after it
    fails(&own.world, "broken");
    let notices = notices(&own.world);
    assert!(!notices.contains(&format!(" {name}\n")), "{notices}");
    let overview = own.world.sm(&[]).exits(0).out;
    assert!(!overview.contains(&format!("{name}: ")), "{overview}");

    // killed by anybody else it is one
    let own = Own::with_config(COMMAND);
    let run = own.claude();
    end(&process(&run["pid"]), Signal::KILL);
    told(
        &own.world,
        &format!("session_exited {}", text(&run["name"])),
    );
}
