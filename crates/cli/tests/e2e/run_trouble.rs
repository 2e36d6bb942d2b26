//! `sm run` on a machine that does not cooperate: the person is told what happened, what it means and
//! what to do, and what was done is there to go on from.

use crate::own::{Own, PANE};
use crate::run_ends::{AT_ONCE, FULL, channel, farewell, successors};
use crate::world::eventually;
use std::path::PathBuf;

fn handoffs(own: &Own) -> PathBuf {
    own.world.env.home().join(".claude/handoff")
}

/// A folder where the manifest should be: no handoff can be made, whoever one is.
fn without_manifest(own: &Own) -> PathBuf {
    let manifest = handoffs(own).join(format!("{}.manifest.json", channel(own)));
    std::fs::create_dir_all(&manifest).unwrap();
    manifest
}

/// The first context is full and was to be left; the agent goes on, and shows why with its next
/// answer.
fn in_trouble(own: &Own) {
    own.start(&["run", "claude", FULL]);
    eventually("it is tried", || {
        own.log().contains("the handoff could not be made: ")
    });
    own.enters("SAY: still here");
    own.shows("● still here");
    own.shows("sm run cannot hand over: ");
}

#[test]
fn a_full_context_that_cannot_be_handed_over_is_told_and_gone_on_from_later() {
    let own = Own::without_daemon(AT_ONCE, "");
    let manifest = without_manifest(&own);
    in_trouble(&own);
    own.enters("/exit");
    let last = farewell(
        &own,
        0,
        "The context was full but could not be handed over: ",
    );
    assert!(last.contains(".manifest.json"), "{last}");
    assert!(
        last.contains("Put that right, then go on with: sm run --handoff claude"),
        "{last}"
    );
    assert_eq!(successors(&own), 0, "{}", own.about());
    // as it says
    std::fs::remove_dir(manifest).unwrap();
    own.start_again(&["run", "--handoff", "claude"]);
    eventually("it goes on", || successors(&own) == 1);
    let loaded = own.world.given("=== HANDOFF LOADED");
    assert!(loaded.text.contains("still here"), "{}", loaded.text);
    own.shows("● Fake reply to: Continue from handoff");
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
}

#[test]
fn a_context_that_is_handed_over_after_all_is_no_trouble_any_more() {
    let own = Own::without_daemon(AT_ONCE, "");
    let manifest = without_manifest(&own);
    in_trouble(&own);
    std::fs::remove_dir(manifest).unwrap();
    eventually("a second context", || successors(&own) == 1);
    own.shows("● Fake reply to: Continue from handoff");
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
    let all = own.all();
    assert!(!all.contains("could not be handed over"), "{all}");
}

#[test]
fn a_channel_without_its_folder_is_told_before_the_agent_starts() {
    let own = Own::without_daemon(AT_ONCE, "");
    std::fs::create_dir_all(own.world.env.home().join(".claude")).unwrap();
    std::fs::write(handoffs(&own), "").unwrap();
    own.start(&["run", "claude"]);
    own.shows("❯");
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
    let all = own.all();
    for part in [
        "sm run: the channel's folder cannot be used (",
        "a full context cannot be handed over, and the agent will go on in it",
        "`channel.dir` in the configuration puts the folder elsewhere",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert!(!all.contains("could not be handed over"), "{all}");
}

#[test]
fn a_handoff_that_has_expired_is_gone_on_from_and_said_to_have() {
    let own = Own::without_daemon(AT_ONCE, "");
    let create = ["channel", "create", "-"];
    let made = own.world.sm_given(&create, "the parser is done\n").exits(0);
    let id = made.out.trim().to_owned();
    let manifest = handoffs(&own).join(format!("{}.manifest.json", channel(&own)));
    let mut current: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&manifest).unwrap()).unwrap();
    current["current"]["created_at"] = "2026-02-02T06:45:00Z".into();
    std::fs::write(&manifest, current.to_string()).unwrap();
    own.start(&["run", "--handoff", "claude"]);
    eventually("it goes on", || successors(&own) == 1);
    let channel = channel(&own);
    let said =
        format!("sm run: handoff {id} of channel {channel} has expired (it was made 2026-02-02 ");
    assert!(own.all().contains(&said), "{}", own.about());
    let loaded = own.world.given("=== HANDOFF LOADED");
    assert!(
        loaded.text.contains("the parser is done"),
        "{}",
        loaded.text
    );
    own.shows("❯");
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
    // once
    own.start_again(&["run", "--handoff", "claude"]);
    assert_eq!(own.code(), 1, "{}", own.about());
    own.shows("there is no active handoff in channel ");
}

#[test]
fn a_run_that_cannot_have_its_folder_says_so_and_what_works_without() {
    let own = Own::without_daemon("", "");
    let state = own.world.env.sm_home().join("state");
    std::fs::write(&state, "").unwrap();
    own.start(&["run", "claude"]);
    assert_eq!(own.code(), 2, "{}", own.about());
    let all = own.all();
    assert!(
        all.contains("error: the folder of this run cannot be used: "),
        "{all}"
    );
    assert!(all.contains("without sm: command claude"), "{all}");
}

/// An agent that has left another one running, which still holds its terminal.
#[test]
fn what_an_agent_leaves_running_holds_nobody_up() {
    let own = Own::without_daemon(AT_ONCE, "");
    let job = "RUN: (trap '' TERM HUP; exec sleep 300 </dev/tty >/dev/tty 2>&1) & : > begun";
    own.start(&["run", "claude", &format!("{job}\n{FULL}")]);
    eventually("a second context", || successors(&own) == 1);
    own.shows("❯");
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
}

/// Changed between two agents: the second is started with it.
#[test]
fn each_agent_is_measured_by_the_settings_it_was_started_with() {
    let own = Own::without_daemon(AT_ONCE, "");
    own.start(&["run", "claude", "TOKENS: 61000"]);
    own.shows("● Fake reply to: TOKENS: 61000");
    let settings = own.world.env.home().join(".claude/settings.json");
    std::fs::write(settings, r#"{"autoCompactWindow":100000}"#).unwrap();
    // one that runs does not look again
    own.enters("TOKENS: 62000");
    own.shows("● Fake reply to: TOKENS: 62000");
    own.enters("SAY: and on");
    own.shows("● and on");
    assert_eq!(successors(&own), 0, "{}", own.about());
    own.enters(FULL);
    eventually("a second context", || successors(&own) == 1);
    own.shows("● Fake reply to: Continue from handoff");
    own.enters("TOKENS: 61000");
    eventually("a third context", || successors(&own) == 2);
    own.shows("● Fake reply to: Continue from handoff");
    own.tmux.key(PANE, "C-u").unwrap();
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
}
