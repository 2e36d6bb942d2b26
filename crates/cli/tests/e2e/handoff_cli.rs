//! What a person and an agent see of a handoff: the answers of `sm handoff` from the real daemon,
//! and the history afterwards.

use serde_json::{Value, json};
use sm_client::http::Request;

use crate::family::inside;
use crate::world::{World, eventually, text};

const SCHEDULED: &str = "Handoff scheduled — will execute after current turn completes\n";

fn latest(world: &World, session: &str) -> Value {
    world.sm(&["handoffs", session, "--json"]).exits(0).json()[0].clone()
}

#[track_caller]
fn ended(world: &World, session: &str, state: &str) -> Value {
    eventually("the handoff has ended", || {
        latest(world, session)["done_at"].is_string()
    });
    let handoff = latest(world, session);
    assert_eq!(handoff["state"], state, "{handoff}");
    handoff
}

#[test]
fn an_agent_hands_off_and_the_history_tells_of_it() {
    let world = World::new();
    world.agent("api");
    let said = inside(
        &world,
        "api",
        "printf 'Goal: ship it\\nState: half done\\nNext: go on\\nSAY: I go on\\n' > notes.md && sm handoff notes.md",
    );
    assert_eq!(said, format!("{SCHEDULED}exit 0\n"));
    let done = ended(&world, "api", "done");
    let notes = world.env.project().join("notes.md");
    assert_eq!(done["document"], json!(notes));
    assert_eq!(
        (&done["from_generation"], &done["to_generation"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(
        (&done["trigger"], &done["author"]),
        (&json!("agent"), &json!("agent"))
    );
    let copy = std::fs::read_to_string(text(&done["copy"])).unwrap();
    assert!(copy.ends_with("Next: go on\nSAY: I go on\n"), "{copy}");
    let id = text(&done["id"]);
    world
        .sm(&["handoffs", "api"])
        .exits(0)
        .says(&id)
        .says("1→2")
        .says("done");
    let shown = world
        .sm(&["handoffs", "show", &id])
        .exits(0)
        .says(&format!("{id} of api: done"))
        .says(&text(&done["copy"]))
        .says("the successor has its prompt")
        .says("sm archive api grep");
    let prompt = format!(
        "Read {} and continue from where you left off.",
        notes.display()
    );
    assert!(shown.out.contains(&prompt), "{}", shown.out);
    world.given(&prompt);
    let one = world.sm(&["handoffs", "show", &id[..6], "--json"]).exits(0);
    assert_eq!(one.json()["id"], done["id"]);
    assert_eq!(world.show("api")["last_handoff_path"], json!(notes));
    world
        .sm(&["show", "api"])
        .exits(0)
        .says("last handoff  done")
        .says("notes.md");
}

#[test]
fn a_person_hands_a_session_off_from_outside() {
    let world = World::new();
    world.agent("api");
    let notes = world.env.project().join("notes.md");
    std::fs::write(&notes, "Goal: ship it\nState: half done\nNext: go on\n").unwrap();
    let ran = world
        .sm(&["handoff", notes.to_str().unwrap(), "--session", "api"])
        .exits(0);
    // no turn runs, so none is waited for
    assert!(
        ran.out.starts_with("Handoff scheduled — no turn runs"),
        "{}",
        ran.out
    );
    let done = ended(&world, "api", "done");
    assert_eq!(done["trigger"], "person");
    assert_eq!(world.show("api")["generation"], 2);
}

#[test]
fn a_second_one_replaces_the_first_and_can_be_taken_back() {
    let world = World::new();
    world.agent("api");
    let said = inside(
        &world,
        "api",
        "echo 'Goal: one; half done; next: two' > a.md; cp a.md b.md; sm handoff a.md && sm handoff b.md && sm show && sm handoff --cancel; sm handoff --cancel",
    );
    assert!(
        said.starts_with(&format!("{SCHEDULED}{SCHEDULED}It replaces handoff ")),
        "{said}"
    );
    assert!(said.contains("waits for the end of the turn"), "{said}");
    assert!(
        said.contains(" cancelled — the context stays as it is\nError: "),
        "{said}"
    );
    assert!(said.ends_with("exit 1\n"), "{said}");
    let states: Vec<String> = world
        .sm(&["handoffs", "api", "--json"])
        .exits(0)
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|handoff| text(&handoff["state"]))
        .collect();
    assert_eq!(states, ["cancelled", "replaced"]);
    world.wait_for("api", "idle");
    assert_eq!(world.show("api")["generation"], 1);
}

#[test]
fn what_the_daemon_refuses_is_1_and_says_what_to_fix() {
    let world = World::new();
    world.agent("api");
    let project = world.env.project();
    let path = |name: &str| project.join(name).to_str().unwrap().to_owned();
    std::fs::write(path("fine.md"), "go on\n").unwrap();
    std::fs::write(path("empty.md"), " \n").unwrap();
    std::fs::write(path("large.md"), "x".repeat(4_194_305)).unwrap();
    world.sm(&["new", "--name", "plain", "--detach", "--", "cat"]);
    for (file, session, why) in [
        ("fine.md", "nobody", "nobody"),
        ("fine.md", "plain", "not supported for"),
        ("empty.md", "api", "empty"),
        ("large.md", "api", "4194304"),
    ] {
        let ran = world
            .sm(&["handoff", &path(file), "--session", session])
            .exits(1)
            .complains(why);
        assert!(ran.err.starts_with("Error: "), "{}", ran.err);
        assert_eq!(ran.out, "");
    }
    world
        .sm(&["handoff", "--cancel", "--session", "api"])
        .exits(1)
        .complains("Error: ");
    world.sm(&["handoffs", "show", "nothing"]).exits(1);
    world.sm(&["handoffs", "nobody"]).exits(1);
    let listed = world.sm(&["handoffs", "--json"]).exits(0).json();
    let states: Vec<&str> = listed
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|handoff| handoff["state"].as_str())
        .collect();
    assert_eq!(states, ["refused"; 3], "nothing was scheduled: {listed}");
    let said = inside(&world, "api", "sm handoff fine.md --session plain");
    assert!(
        said.contains("--session is refused") && said.contains("exit 1"),
        "{said}"
    );
}

#[test]
fn a_body_that_merely_claims_an_id_is_refused() {
    let world = World::new();
    let api = text(&world.agent("api")["id"]);
    let notes = world.env.project().join("notes.md");
    std::fs::write(&notes, "Goal: ship it\nState: half done\nNext: go on\n").unwrap();
    let body = json!({"requester_session_id": api, "file_path": notes}).to_string();
    let target = format!("/sessions/{api}/handoff");
    let (_, said) = world.ask(&Request::post(&target).json(body.as_bytes()));
    assert!(said["error"].is_string(), "{said}");
    assert_eq!(latest(&world, "api"), Value::Null);
}

#[test]
fn the_same_id_is_the_same_handoff() {
    let world = World::new();
    let api = text(&world.agent("api")["id"]);
    let other = text(&world.agent("other")["id"]);
    let notes = world.env.project().join("notes.md");
    std::fs::write(&notes, "Goal: ship it\nState: half done\nNext: go on\n").unwrap();
    let ask = |session: &str, id: &str| {
        let body = json!({"id": id, "person": true, "file_path": notes}).to_string();
        let target = format!("/sessions/{session}/handoff");
        world.ask(&Request::post(&target).json(body.as_bytes())).1
    };
    let first = ask(&api, "mine1");
    assert_eq!(first["status"], "scheduled", "{first}");
    assert_eq!(first["id"], "mine1");
    assert_eq!(ask(&api, "mine1")["copy"], first["copy"], "under way");
    ended(&world, "api", "done");
    let after = ask(&api, "mine1");
    for same in ["status", "id", "copy", "error"] {
        assert_eq!(after[same], first[same], "after its end: {same}");
    }
    assert_eq!(after["when"], Value::Null, "it has happened");
    assert!(ask(&other, "mine1")["error"].is_string());
    assert!(ask(&api, "no/id")["error"].is_string());
    let all = world.sm(&["handoffs", "--json"]).exits(0).json();
    assert_eq!(all.as_array().unwrap().len(), 1);
    let show = world.show("api");
    assert_eq!(
        (&show["generation"], &show["handoff"]),
        (&json!(2), &Value::Null)
    );
}

#[test]
fn the_template_is_one_and_the_gate_knows_it() {
    let world = World::new();
    world.agent("api");
    let printed = world.sm(&["handoff", "--template"]).exits(0).out;
    assert_eq!(world.get("/handoff/template"), json!({"text": printed}));
    let said = inside(
        &world,
        "api",
        "sm handoff --template > notes.md; sm handoff notes.md; sm handoff --cancel",
    );
    assert!(said.contains(&format!("{SCHEDULED}Warning: ")), "{said}");
    assert!(said.contains("template"), "{said}");
}

#[test]
fn a_refused_handoff_is_in_the_list_with_the_reason() {
    let world = World::new();
    world.agent("api");
    let empty = world.env.project().join("empty.md");
    std::fs::write(&empty, "").unwrap();
    let path = empty.display().to_string();
    world.sm(&["handoff", &path, "--session", "api"]).exits(1);
    let refused = latest(&world, "api");
    assert_eq!(refused["state"], "refused", "{refused}");
    assert_eq!(refused["document"], json!(path));
    let id = text(&refused["id"]).to_owned();
    world
        .sm(&["handoffs", "show", &id])
        .exits(0)
        .says("refused: ");
    assert!(world.show("api")["handoff"].is_null());
}

#[test]
fn a_handoff_of_an_idle_session_says_so_and_can_be_waited_for() {
    let world = World::new();
    world.agent("api");
    let notes = world.env.project().join("notes.md");
    std::fs::write(&notes, "Goal: ship\nState: half\nNext: SAY: on\n").unwrap();
    let notes = notes.display().to_string();
    let said = world
        .sm(&["handoff", &notes, "--session", "api", "--wait", "60"])
        .exits(0)
        .says("no turn runs")
        .says("api goes on in context 2");
    assert!(!said.out.contains("current turn"), "{}", said.out);
}
