//! What the archive of a real agent holds.

use super::{DEADLINE, World};
use serde_json::Value;
use sm_testkit::wait_until;

/// The numbers of the lines of the archive that hold a word, as soon as there are any.
#[track_caller]
pub fn found(world: &World, session: &str, word: &str, when: &str) -> String {
    let found = wait_until(DEADLINE, || {
        let ran = world.sm(&["archive", session, "grep", word]);
        (ran.code == Some(0)).then_some(ran.out)
    });
    found.unwrap_or_else(|| {
        let archive = world.sm(&["archive", session]).out;
        panic!("{word} is not in the archive {when}:\n{archive}")
    })
}

/// A word that stood on the screen is found before a handoff and after it, in its generation.
#[track_caller]
pub fn last_screen_survives(world: &World, args: &[&str]) {
    world.start_idle("api", args);
    world
        .model
        .control(|c| c.reply = Some("The port is walrus-4711.".to_owned()));
    world.send_wait("api", "which port is it?", &[]);
    world.wait_screen("api", "walrus-4711");
    found(world, "api", "walrus-4711", "before the handoff");
    world.model.control(|c| c.reply = None);
    world.wait_state("api", "idle");
    // What is drawn last stands there for a moment only.
    let work = "RUN: echo penguin-23 > notes.md\nTHEN: sm handoff notes.md";
    world.send_wait("api", work, &[]);
    let given = world.wait_handoff("api", "done")["prompt"].clone();
    world.wait_state("api", "idle");
    for word in ["walrus-4711", "penguin-23"] {
        found(world, "api", word, "after the handoff");
        let lines = world.sm(&["archive", "api", "grep", word, "--json"]);
        let lines: Vec<Value> = lines
            .exits(0)
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let (left, later): (Vec<&Value>, Vec<&Value>) =
            lines.iter().partition(|line| line["generation"] == 1);
        assert!(
            !left.is_empty(),
            "not in the generation that was left: {lines:?}"
        );
        // The successor shows what it was given with its prompt, and nothing else of it.
        for line in later {
            let text = line["text"].as_str().unwrap();
            let text = text.trim_matches(|c: char| !c.is_alphanumeric());
            assert!(
                given.as_str().is_some_and(|given| given.contains(text)),
                "{line} is of the generation that was left; given was {given}"
            );
        }
    }
    let answers = found(world, "api", "The port is walrus-4711", "after the handoff");
    let archive = world.sm(&["archive", "api"]).out;
    assert_eq!(answers.lines().count(), 1, "said once: {archive}");
}
