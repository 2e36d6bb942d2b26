//! Starting: no dialog of our making, none of the user's own answered.

use crate::common::World;
use crate::{exactly_once, field};

/// The config without the table in which Codex itself keeps what it has shown.
pub fn without_tui(config: &str) -> String {
    let mut out = String::new();
    let mut tui = false;
    for line in config.lines() {
        if line.starts_with('[') {
            tui = line.starts_with("[tui");
        }
        if !tui {
            out += line;
            out.push('\n');
        }
    }
    out.trim_end().to_owned()
}

#[test]
fn a_fresh_home_reaches_idle_without_a_dialog_and_stays_as_it_is() {
    let name = "a_fresh_home_reaches_idle_without_a_dialog_and_stays_as_it_is";
    let Some(world) = World::codex(name) else {
        return;
    };
    let config = world.env.home().join(".codex/config.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    let session = world.start_idle("one", &[]);
    assert_eq!(session["agent"], "codex");
    assert_eq!(session["generation"], 1);
    world.send_wait("one", "SAY: hello", &[]);
    world.wait_state("one", "idle");
    world.sm(&["kill", "one"]).exits(0);
    let after = std::fs::read_to_string(&config).unwrap();
    assert_eq!(without_tui(&before), without_tui(&after));
    let never = world.events("one").iter().any(|e| e.contains("waiting"));
    assert!(!never, "{:?}", world.events("one"));
}

#[test]
fn a_hook_of_the_users_own_is_still_reviewed_by_the_user() {
    let name = "a_hook_of_the_users_own_is_still_reviewed_by_the_user";
    let Some(world) = World::codex(name) else {
        return;
    };
    let config = world.env.home().join(".codex/config.toml");
    let own = "\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"true\"\n";
    let text = std::fs::read_to_string(&config).unwrap() + own;
    std::fs::write(&config, text).unwrap();
    world.start("one", &[]);
    let session = world.wait_state("one", "waiting");
    assert!(
        field(&session, "state_reason").contains("hooks to review"),
        "{session}"
    );
    let id = world.send("one", "after the review", &[]);
    assert!(world.wait_held("one", &id).contains("a person"));
    let before = world.screen("one");
    assert!(before.contains("Hooks need review"), "{before}");
    // "Continue without trusting"
    world.key("one", "Down");
    world.key("one", "Down");
    world.wait_screen("one", "› 3. Continue without");
    world.key("one", "Enter");
    let message = world.wait_message("one", &id, "submitted");
    assert_eq!(
        message["proof"], "hook",
        "ours run, the user's own does not"
    );
    world.wait_state("one", "idle");
}

/// A user may have switched hooks off: the record that Codex writes, its title and its screen are
/// what is left.
#[test]
fn without_hooks_the_record_proves_what_arrived() {
    let Some(world) = World::codex("without_hooks_the_record_proves_what_arrived") else {
        return;
    };
    world.start_idle("one", &["--", "-c", "features.hooks=false"]);
    let first = world.send_wait("one", "HOLD: long\nSAY: the end", &[]);
    assert_eq!(first["proof"], "transcript");
    world.hold("long");
    world.wait_state("one", "working");
    let second = world.send("one", "after the turn", &[]);
    world.wait_held("one", &second);
    world.model.release("long");
    let second = world.wait_message("one", &second, "submitted");
    assert_eq!(second["proof"], "transcript");
    world.wait_state("one", "idle");
    world.send_wait("one", "FAIL: 400", &[]);
    let session = world.wait_state("one", "idle");
    let third = world.send_wait("one", "after the error", &[]);
    assert_eq!(third["proof"], "transcript");
    world.request_with("after the error");
    for text in [
        "HOLD: long\nSAY: the end",
        "after the turn",
        "after the error",
    ] {
        exactly_once(&world, text);
    }
    let own = field(&session, "conversation_id");
    assert!(field(&session, "transcript_path").contains(&own));
    assert_eq!(session["context"]["tokens"], 1525);
}
