//! What somebody gets who waits for an agent's answer: all of it, and not before it can be read.

use crate::world::{World, text};

#[test]
fn idle_is_reached_when_the_answer_can_be_read_however_often_it_is_asked() {
    let mut world = World::new();
    world.env.set("FAKE_AGENT", "late_answer_ms=1500");
    world.agent("api");
    for (n, states) in ["idle", "idle,waiting", "idle"].into_iter().enumerate() {
        let answer = format!("walrus {n} has come ashore");
        world.send_wait("api", &format!("SAY: {answer}"));
        world.wait_for("api", states);
        let output = world.sm(&["output", "api"]).exits(0).out;
        let shown = format!("● {answer}");
        assert!(output.contains(&shown), "{states}: {output}");
    }
}

#[test]
fn idle_is_not_reached_before_what_was_sent_has_been_answered() {
    let world = World::new();
    world.agent("api");
    for (n, states) in ["idle", "idle,waiting", "idle", "idle,waiting"]
        .into_iter()
        .enumerate()
    {
        let answer = format!("seal {n}");
        let sent = world.send("api", "sequential", &format!("SAY: {answer}"));
        world.wait_for("api", states);
        let known = world.message("api", &text(&sent["id"]));
        assert_eq!(known["state"], "consumed", "{states}: {known}");
        let output = world.sm(&["output", "api"]).exits(0).out;
        assert!(output.contains(&format!("● {answer}")), "{output}");
    }
}

#[test]
fn what_was_said_before_a_tool_is_no_reply_however_late_the_record_is() {
    let mut world = World::new();
    world.env.set("FAKE_AGENT", "late_record_ms=1200");
    world.agent("api");
    for text in [
        "SAY: I look.\nRUN: sleep 1\nSAY: All is done.",
        "SAY: I look again.\nRUN: sleep 1\nSAY: All is done.",
    ] {
        let asked = world.sm_given(&["ask", "api", "--timeout", "60", "-"], text);
        assert_eq!(asked.exits(0).out, "All is done.\n");
    }
}
