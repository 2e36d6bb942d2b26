//! Pins reach every new context word for word; the gate says what is wrong with a document.

use crate::handoff::{Turn, document, post, reaches, wake};
use crate::world::{Ran, World, eventually, text};
use serde_json::{Value, json};
use sm_testkit::clean::RecordKind;

const GOOD: &str = "Goal: ship the invoices\nState: the queue is done\nNext: the migration\n";

/// A person in the project's folder.
#[track_caller]
fn here(world: &World, args: &[&str]) -> Ran {
    let mut command = world.command(args);
    command.current_dir(world.env.project());
    Ran::from(command.output().unwrap())
}

fn texts(pins: &Value) -> Vec<(String, String)> {
    let pins = pins.as_array().cloned().unwrap_or_default();
    pins.iter()
        .map(|pin| (text(&pin["text"]), text(&pin["of"])))
        .collect()
}

#[test]
fn pins_survive_the_daemon_and_come_with_every_context() {
    let world = World::new();
    world.agent("api");
    let own = "never touch prod, \"not even\" to look";
    world
        .sm(&["pin", "add", own, "--session", "api"])
        .exits(0)
        .says("Pinned to api");
    world.sm(&["pin", "add", own, "--session", "api"]).exits(0);
    here(&world, &["pin", "add", "--project", "no new dependencies"]).exits(0);
    let file = world.env.project().join(".sm/pins.md");
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .ends_with("- no new dependencies\n")
    );
    world.kill_daemon();
    let listed = world
        .sm(&["pin", "ls", "--session", "api", "--json"])
        .exits(0)
        .json();
    let of = |text: &str, of: &str| (text.to_owned(), of.to_owned());
    assert_eq!(
        texts(&listed),
        [of(own, "session"), of("no new dependencies", "project")]
    );

    world
        .sm(&["show", "api"])
        .exits(0)
        .says(own)
        .says("no new dependencies (the project's)");

    // a compaction, although nothing was ever handed over
    world.send_wait("api", "COMPACT:\nSAY: compacted");
    world.wait_for("api", "idle");
    eventually("it is counted", || world.show("api")["compactions"] == 1);
    world.send_wait("api", "SAY: what was I told?");
    let back = world.given(own);
    assert_eq!(back.kind, RecordKind::HookContext);
    assert!(back.text.contains("- no new dependencies"), "{}", back.text);

    // a handoff
    world.wait_for("api", "idle");
    let notes = document(&world, "notes.md", GOOD);
    let body = json!({"person": true, "file_path": notes});
    let (_, answer) = post(&world, "api", &body, None);
    assert_eq!(answer.get("warnings"), None, "{answer}");
    reaches(&world, &text(&answer["id"]), &["done"]);
    let told = wake(&world, "notes.md and continue");
    assert!(
        told.contains(&format!("word for word:\n- {own}\n- no new dependencies\n")),
        "{told}"
    );

    world.sm(&["pin", "rm", "1", "--session", "api"]).exits(0);
    world
        .sm(&["pin", "rm", "1", "--session", "api"])
        .exits(1)
        .complains("of the project");
    here(&world, &["pin", "rm", "--project", "no new"]).exits(0);
    assert_eq!(world.get("/sessions/api/pins")["pins"], json!([]));
}

#[test]
fn what_cannot_be_pinned_is_refused() {
    let world = World::new();
    world.agent("api");
    let long = "x".repeat(1001);
    for (pin, why) in [
        ("  ", "empty"),
        (long.as_str(), "at most 1000"),
        (
            "use DB_PASSWORD=Tr0ub4dor&3x for it",
            "looks like a secret (password)",
        ),
    ] {
        world
            .sm(&["pin", "add", pin, "--session", "api"])
            .exits(1)
            .complains(why);
        here(&world, &["pin", "add", "--project", pin])
            .exits(1)
            .complains(why);
    }
    world.sm(&["pin", "ls"]).exits(2).complains("--project");
    for n in 0..32 {
        world
            .sm(&["pin", "add", &format!("rule {n}"), "--session", "api"])
            .exits(0);
    }
    world
        .sm(&["pin", "add", "one more", "--session", "api"])
        .exits(1)
        .complains("32 pins");
    assert!(!world.env.project().join(".sm").exists());
}

#[test]
fn the_gate_tells_and_refuses_by_what_is_known() {
    let secret = format!("{GOOD}DB_PASSWORD=Tr0ub4dor&3x\nsee src/none.rs\n");
    let world = World::new();
    world.agent("api");
    let path = document(&world, "notes.md", &secret);
    let turn = Turn::begin(&world, "api");
    let answer = turn.hand_off(&world, &path);
    assert_eq!(answer["status"], "scheduled", "{answer}");
    let warnings = answer["warnings"].to_string();
    assert!(
        warnings.contains("line 4: this looks like a secret (password)"),
        "{warnings}"
    );
    assert!(
        warnings.contains("line 5: there is no file src/none.rs"),
        "{warnings}"
    );
    assert!(!warnings.contains("Tr0ub4dor"), "{warnings}");
    drop(world);

    let world = World::with_config("[handoff]\ngate = \"strict\"\n");
    world.agent("api");
    let path = document(&world, "notes.md", &secret);
    let turn = Turn::begin(&world, "api");
    let answer = turn.hand_off(&world, &path);
    assert!(
        text(&answer["error"]).contains("looks like a secret"),
        "{answer}"
    );
    assert!(!text(&answer["error"]).contains("src/none.rs"), "{answer}");
    assert_eq!(world.get("/handoffs")[0]["state"], "refused");
    let answer = turn.hand_off(&world, &document(&world, "good.md", GOOD));
    assert_eq!(answer["status"], "scheduled", "{answer}");
}

#[test]
fn the_gate_by_hand_needs_nobody_and_knows_more_with_a_session() {
    let world = World::new();
    document(&world, "notes.md", "State: the queue is done\n");
    let said = here(&world, &["handoff", "--check", "notes.md"])
        .exits(1)
        .out;
    assert!(
        said.starts_with("Score: 55 of 100\nerror the document does not give an objective"),
        "{said}"
    );
    assert!(!world.is_served());
    document(&world, "notes.md", &format!("{GOOD}see src/none.rs\n"));
    let found = here(&world, &["handoff", "--check", "notes.md", "--json"])
        .exits(0)
        .json();
    assert_eq!(found["score"], 96, "{found}");
    assert_eq!(found["findings"][0]["line"], 4, "{found}");
    assert_eq!(found["findings"][0]["level"], "warning", "{found}");

    world.agent("api");
    world
        .sm(&["pin", "add", "never touch prod", "--session", "api"])
        .exits(0);
    let said = here(
        &world,
        &["handoff", "--check", "notes.md", "--session", "api"],
    )
    .exits(0)
    .out;
    assert!(
        said.contains("note 1 pin is given to the next context by sm"),
        "{said}"
    );
    assert_eq!(world.get("/handoffs"), json!([]));
}
