//! `sm run` of a real agent while a daemon runs: what every agent has to do there.

use serde_json::Value;
use sm_testkit::model::{conversation_of, texts_of};
use sm_testkit::wait_until;

use super::occurrences;
use super::run::{PATIENCE, Walk};

const PANE: &str = "person";

/// A daemon runs; then the person starts their agent, and it is a session of it: its name.
#[track_caller]
pub fn joined(walk: &Walk, args: &[&str]) -> String {
    walk.world.sm(&["ls"]).exits(0);
    let mut words = vec!["run"];
    words.extend(args);
    walk.start(&words);
    registered(walk)
}

/// Waits until the daemon has it.
#[track_caller]
pub fn registered(walk: &Walk) -> String {
    let found = || {
        let all = walk.world.sm(&["ls", "--json"]).json();
        let first = all.as_array()?.first()?.clone();
        let ready = first["run"]["pid"].is_u64() && first["pid"].is_u64();
        ready.then(|| first["name"].as_str().unwrap().to_owned())
    };
    wait_until(PATIENCE, found).unwrap_or_else(|| panic!("not registered\n{}", walk.about()))
}

/// How often the text is in what the model was told last, of all contexts together.
pub fn told(walk: &Walk, text: &str) -> usize {
    let contexts = walk.contexts();
    let last = contexts.iter().filter_map(|context| context.last());
    last.map(|request| occurrences(request, text)).sum()
}

#[track_caller]
pub fn told_once(walk: &Walk, session: &str, text: &str) {
    let there = || (told(walk, text) > 0).then_some(());
    assert!(
        wait_until(PATIENCE, there).is_some(),
        "{text:?} never arrived\n{}\n{}",
        walk.world.about(session),
        walk.about()
    );
    assert_eq!(told(walk, text), 1, "{text:?}\n{}", walk.about());
}

/// To an idle agent, to one at work, and beside a draft, which stays. `beside`: whether this agent
/// can be given something while there is a draft.
pub fn messages_arrive(walk: &Walk, session: &str, beside: bool) {
    let world = &walk.world;
    world.wait_state(session, "idle");
    let sent = world.send_wait(session, "while you are idle", &[]);
    assert_eq!(sent["way"], "paste", "{sent}");
    told_once(walk, session, "while you are idle");

    world.wait_state(session, "idle");
    world.send(session, "please do the step", &[]);
    walk.reached("work", 1);
    let middle = world.send(session, "in the middle of it", &["--mode", "important"]);
    let after = world.send(session, "when you are done", &[]);
    walk.go_on("work", 1);
    world.wait_message(session, &middle, "submitted");
    world.wait_message(session, &after, "submitted");
    told_once(walk, session, "in the middle of it");
    told_once(walk, session, "when you are done");

    world.wait_state(session, "idle");
    walk.tmux.type_text(PANE, "half a thought").unwrap();
    walk.wait_seen("half a thought");
    match beside {
        true => {
            world.send_wait(session, "beside the draft", &[]);
            told_once(walk, session, "beside the draft");
        }
        false => {
            let held = world.send(session, "beside the draft", &[]);
            world.wait_held(session, &held);
            assert_eq!(told(walk, "beside the draft"), 0);
        }
    }
    walk.wait_seen("half a thought");
    assert_eq!(told(walk, "half a thought"), 0, "{}", walk.about());
}

/// The daemon is killed while the agent works and a message waits; nothing is lost or doubled.
pub fn survives_the_daemon(walk: &Walk, session: &str) {
    let world = &walk.world;
    world.wait_state(session, "idle");
    let before = world.show(session);
    world.send(session, "please do the step", &[]);
    walk.reached("work", 1);
    let first = world.send(session, "before the crash", &[]);
    world.kill_daemon();
    walk.go_on("work", 1);
    walk.wait_seen("is done");
    world.sm(&["ls"]).exits(0);
    let second = world.send(session, "after the crash", &[]);
    for id in [&first, &second] {
        world.wait_message(session, id, "submitted");
    }
    for text in ["before the crash", "after the crash"] {
        told_once(walk, session, text);
    }
    let after = world.wait_state(session, "idle");
    for field in ["id", "pid", "generation", "conversation_id"] {
        assert_eq!(after[field], before[field], "{field}");
    }
}

/// A message that waits while a context is left goes to the successor, once, after its first turn.
/// `last`: the step in which the context is known to be full.
pub fn goes_to_the_successor(walk: &Walk, session: &str, last: &str, low: u64) -> Value {
    let world = &walk.world;
    walk.reached(last, 1);
    let sent = world.send(session, "for whoever comes next", &[]);
    walk.tokens(low); // its successor has room
    walk.go_on(last, 1);
    walk.reached("work", 2);
    let held = world.message(session, &sent);
    assert_eq!(held["state"], "held", "{held}");
    walk.go_on("work", 2);
    world.wait_message(session, &sent, "submitted");
    let arrived = || {
        let contexts = walk.contexts();
        let last = contexts.get(1)?.last()?;
        (occurrences(last, "for whoever comes next") == 1).then_some(())
    };
    assert!(wait_until(PATIENCE, arrived).is_some(), "{}", walk.about());
    let contexts = walk.contexts();
    assert_eq!(contexts.len(), 2, "{}", walk.about());
    let old = contexts[0].last().unwrap();
    assert_eq!(occurrences(old, "for whoever comes next"), 0);
    let first = texts_of(&contexts[1][0]).join("\n");
    assert!(first.contains("Continue from handoff"), "{first}");
    let shown = world.wait_state(session, "idle");
    assert_eq!(shown["generation"], 2, "{shown}");
    let handed = shown["last_handoff_path"].as_str().unwrap_or_default();
    assert!(handed.contains("HO-"), "{shown}");
    assert!(std::path::Path::new(handed).is_file(), "{handed}");
    if let Some(conversation) = conversation_of(&contexts[1][0]) {
        assert_eq!(shown["conversation_id"], conversation);
    }
    shown
}

/// `sm kill` ends it, and the person's shell is back.
pub fn ends(walk: &Walk, session: &str) {
    walk.world.sm(&["kill", session]).exits(0);
    let shown = walk.world.show(session);
    assert_eq!(shown["state"], "exited", "{shown}");
    walk.code();
}
