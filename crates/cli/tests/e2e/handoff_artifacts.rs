//! What goes with a handoff, when some of it cannot be had and when there is much under way.

use crate::handoff::{Turn, document, reaches, wake};
use crate::world::{World, text};
use serde_json::{Value, json};

fn artifacts(handoff: &Value) -> Vec<Value> {
    handoff["artifacts"].as_array().cloned().unwrap()
}

#[test]
fn a_snapshot_that_fails_is_not_named_and_stops_nothing() {
    let world = World::new();
    world.agent("api");
    let turn = Turn::begin(&world, "api");
    let notes = document(&world, "notes.md", "half done");
    let id = turn.scheduled(&world, &notes);
    let open = world.get(&format!("/handoffs/{id}"));
    // nothing can be written where they go
    let folder = std::path::PathBuf::from(text(&open["folder"]));
    for taken in ["dump.txt", "transcript.jsonl"] {
        std::fs::create_dir(folder.join(taken)).unwrap();
    }
    turn.end();

    let done = reaches(&world, &id, &["done"]);
    let prompt = wake(&world, &format!("Read {} and", notes.display()));
    assert!(prompt.contains("Full session log"), "{prompt}");
    assert!(prompt.contains("terminal.*.log"), "{prompt}");
    assert!(!prompt.contains("dump.txt"), "{prompt}");
    assert!(!prompt.contains("Recent terminal transcript"), "{prompt}");
    for kind in ["snapshot", "transcript"] {
        let all = artifacts(&done);
        let failed = all.iter().find(|a| a["kind"] == kind).unwrap();
        assert!(failed["problem"].is_string(), "{failed}");
    }
    let steps = done["steps"].as_array().unwrap();
    let said = |part: &str| steps.iter().any(|step| text(&step["text"]).contains(part));
    assert!(said("without an artifact: terminal snapshot: "), "{done:#}");
    assert!(said("without an artifact: transcript: "), "{done:#}");
    assert_eq!(world.show("api")["generation"], 2);
}

#[test]
fn the_successor_is_told_of_children_and_messages() {
    let world = World::new();
    world.agent("api");
    let said = crate::family::inside(&world, "api", "sm new claude --name kid --detach");
    assert!(said.contains("exit 0"), "{said}");
    let kid = world.wait_for("kid", "idle");
    world.wait_for("api", "idle");
    let turn = Turn::begin(&world, "api");
    let notes = document(&world, "notes.md", "half done");
    let id = turn.scheduled(&world, &notes);
    world.send("api", "sequential", "and look at the CI");
    turn.end();

    let done = reaches(&world, &id, &["done"]);
    let prompt = wake(&world, &format!("Read {} and", notes.display()));
    assert!(
        prompt.contains("child session kid (claude) is idle: sm show kid"),
        "{prompt}"
    );
    assert!(prompt.contains("1 message waits"), "{prompt}");
    let all = artifacts(&done);
    let list = all.iter().find(|a| a["kind"] == "in_flight").unwrap();
    let list = std::fs::read_to_string(text(&list["path"])).unwrap();
    assert!(list.contains("child session kid"), "{list}");
    // and they still belong together
    let (after, kid) = (world.show("api"), world.show(&text(&kid["id"])));
    assert_eq!(after["children"], json!([kid["id"]]));
    assert_eq!(kid["parent"], after["id"]);
}

#[test]
fn only_old_folders_that_no_handoff_names_are_collected() {
    let world = World::new();
    let id = text(&world.agent("api")["id"]);
    let turn = Turn::begin(&world, "api");
    let notes = document(&world, "notes.md", "half done");
    let handoff = turn.scheduled(&world, &notes);
    turn.end();
    let done = reaches(&world, &handoff, &["done"]);
    let named = std::path::PathBuf::from(text(&done["folder"]));
    let base = named.parent().unwrap();
    let made = |name: &str, old: bool| {
        let folder = base.join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("handoff.md"), "a copy").unwrap();
        if old {
            age(&folder);
        }
        folder
    };
    age(&named);
    let left = made(&format!("{id}-20200101-000000"), true);
    let fresh = made(&format!("{id}-20200101-000001"), false);
    let strange = made("somebody-elses", true);

    let shown = world.sm(&["gc", "--json"]).exits(0).json();
    let items = shown["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{shown}");
    assert_eq!(items[0]["path"], left.to_str().unwrap());
    assert!(left.exists(), "shown before it is done");
    world
        .sm(&["gc", "--yes"])
        .exits(0)
        .says("removed: 1 item")
        .says("never scheduled");
    assert!(!left.exists());
    assert!(named.exists() && fresh.exists() && strange.exists());
}

fn age(folder: &std::path::Path) {
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1);
    let folder = std::fs::File::open(folder).unwrap();
    folder.set_modified(long_ago).unwrap();
}
