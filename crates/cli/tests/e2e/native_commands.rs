//! The commands of `sm` on a session of its own agent: what is refused, and what all sessions have.

use crate::native::{Native, next_generation};
use crate::world::{World, eventually, text};
use serde_json::{Value, json};

/// As if typed; gives the receipt, whatever has become of it.
#[track_caller]
fn typed(world: &World, what: &str) -> Value {
    // by then it may have been refused already, or not
    let sent = world
        .sm(&["send", "worker", "--raw", "--json", what])
        .json();
    let states = ["failed", "submitted", "consumed"];
    world.wait_for_message("worker", &text(&sent["id"]), &states)
}

#[test]
fn a_command_that_cannot_be_done_is_refused_with_a_reason_and_none_is_lost() {
    let native = Native::new();
    let world = &native.world;
    native.agent("worker", &[]);
    for (command, why) in [
        ("/model", "shows a list"),
        ("/thinking loud", "levels are off, minimal"),
        ("/help", "sm attach"),
        ("/context", "sm context"),
        ("/frobnicate now", "there is no command /frobnicate"),
        ("/resume nobody", "nobody"),
    ] {
        let receipt = typed(world, command);
        assert_eq!(receipt["state"], "failed", "{command}: {receipt}");
        let reason = text(&receipt["reason"]);
        assert!(
            reason.contains("refused") && reason.contains(why),
            "{reason}"
        );
    }
    world
        .sm(&["send", "worker", "--raw", "--wait", "60", "/help"])
        .exits(1)
        .complains("the agent refused it");
    // what can be done is done; without --raw all of it is text for the model
    assert_ne!(typed(world, "/thinking high")["state"], "failed");
    for said in ["/help", "/model", "/thinking loud", "!ls"] {
        let sent = world.send_wait("worker", said);
        assert_eq!(sent["proof"], "hook", "{sent}");
        world.wait_for("worker", "idle");
    }
    assert_eq!(
        native.said("worker"),
        ["/help", "/model", "/thinking loud", "!ls"]
    );
    let file = native.file("worker");
    let thinks = |line: &&Value| line["type"] == "thinking_level_change";
    assert_eq!(file.iter().rfind(thinks).unwrap()["thinkingLevel"], "high");
}

#[test]
fn a_headless_agent_is_refused_as_a_session() {
    let native = Native::new();
    let world = &native.world;
    for args in [
        &["-p", "hello"][..],
        &["--print=hello"],
        &["-p", "x", "--json"],
    ] {
        let mut all = vec!["new", "native", "--name", "worker", "--detach", "--"];
        all.extend(args);
        world
            .sm(&all)
            .exits(1)
            .complains("headless")
            .complains("sm new native --prompt");
    }
    assert_eq!(world.get("/sessions"), json!([]));
    world
        .sm(&[
            "new",
            "native",
            "--name",
            "worker",
            "--detach",
            "--prompt",
            "-p SAY: hi",
        ])
        .exits(0);
    eventually("its prompt is said", || {
        native.said("worker") == ["-p SAY: hi"]
    });
}

#[test]
fn what_waits_for_it_is_listed_and_can_be_taken_back() {
    let native = Native::new();
    let world = &native.world;
    native.agent("worker", &[]);
    world.send_wait("worker", "HOLD: turn\nSAY: first");
    native.holds("turn");
    let taken_back = world.send("worker", "sequential", "SAY: forget it");
    let kept = world.send("worker", "sequential", "SAY: keep it");
    let ids = || -> Vec<Value> {
        let listed = world
            .sm(&["queue", "ls", "worker", "--json"])
            .exits(0)
            .json();
        let listed = listed.as_array().unwrap().iter();
        listed.map(|message| message["id"].clone()).collect()
    };
    assert!(ids().contains(&taken_back["id"]) && ids().contains(&kept["id"]));
    world
        .sm(&["queue", "rm", "worker", &text(&taken_back["id"])])
        .exits(0);
    assert!(!ids().contains(&taken_back["id"]));
    native.model.release("turn");
    world.wait_for_message("worker", &text(&kept["id"]), &["consumed"]);
    world.wait_for("worker", "idle");
    assert_eq!(
        native.said("worker"),
        ["HOLD: turn\nSAY: first", "SAY: keep it"]
    );
}

#[test]
fn its_pins_are_in_the_next_context_and_its_screen_is_kept() {
    let native = Native::with("[handoff]\nauto = false\n");
    let world = &native.world;
    native.agent("worker", &[]);
    native.model.control(|c| c.input_tokens = 17_000);
    world.send_wait("worker", "SAY: a needle in the haystack");
    world.wait_for("worker", "idle");
    let filled = || world.show("worker")["context"]["tokens"].as_u64();
    eventually("its usage is pushed", || filled() > Some(17_000));
    world.sm(&["context", "worker"]).exits(0).says("17");
    world
        .sm(&["output", "worker"])
        .exits(0)
        .says("a needle in the haystack");
    world
        .sm(&["pin", "add", "never touch prod", "--session", "worker"])
        .exits(0);
    native.model.control(|c| c.input_tokens = 900);
    world
        .sm(&["handoff", "--auto", "--session", "worker"])
        .exits(0);
    next_generation(world, "worker", 2);
    let woken = native.said("worker");
    assert!(woken[0].contains("- never touch prod"), "{woken:?}");
    eventually("of the new context", || filled() < Some(10_000));
    // what the left context has shown can still be searched
    eventually("it is archived", || {
        let found = world.sm(&["archive", "worker", "grep", "needle in the haystack"]);
        found.out.contains("a needle in the haystack")
    });
}

#[test]
fn inside_it_sm_knows_whose_it_is_and_who_its_children_are() {
    let native = Native::new();
    let world = &native.world;
    let parent = native.agent("parent", &["--yes"]);
    let inside = |session: &str, command: &str| {
        let out = world.env.project().join(format!("out-{session}"));
        let _ = std::fs::remove_file(&out);
        let sm = sm_testkit::clean::binary("sm").unwrap();
        let command = command.replace("sm ", &format!("{} ", sm.display()));
        let prompt = format!(
            "RUN: ({command}) > {0}.new 2>&1; mv {0}.new {0}",
            out.display()
        );
        world.send_wait(session, &prompt);
        eventually("the command has ended", || out.exists());
        world.wait_for(session, "idle");
        std::fs::read_to_string(out).unwrap()
    };
    let said = inside("parent", "sm whoami --json");
    assert!(said.contains(&text(&parent["id"])), "{said}");
    inside("parent", "sm new native --name kid --detach -- --yes");
    let kid = world.ready("kid");
    assert_eq!(kid["parent"], parent["id"]);
    let children = inside("parent", "sm children");
    assert!(children.contains("kid"), "{children}");
    let said = inside("kid", "sm whoami --json");
    assert!(said.contains(&text(&kid["id"])), "{said}");
}
