//! sm's own agent as a managed session: the real `sm-agent` in its pane, driven over the socket, with
//! the scripted model behind it. What it was given is read from its session file and from what the
//! model was asked.

use crate::fault_points::{Points, answered};
use crate::world::{DEADLINE, World, end, eventually, process, text};
use rustix::process::Signal;
use serde_json::Value;
use sm_testkit::model::{ScriptedModel, When};
use sm_testkit::wait_until;
use std::path::PathBuf;
use std::time::Duration;

/// A world in which `sm new native` finds a model.
pub struct Native {
    pub world: World,
    pub model: ScriptedModel,
}

impl Native {
    pub fn new() -> Self {
        Self::with("")
    }

    /// `more` is appended to `agent.toml`.
    pub fn with(more: &str) -> Self {
        let world = World::new();
        let model = ScriptedModel::start().unwrap();
        let config = format!(
            "model = \"fake/fake-1\"\n[providers.fake]\napi = \"anthropic-messages\"\nbase_url = \"{}\"\nkey = \"sk-test\"\n{more}",
            model.url()
        );
        std::fs::write(world.env.sm_home().join("agent.toml"), config).unwrap();
        Self { world, model }
    }

    /// A session that is idle. `args` go to the agent.
    #[track_caller]
    pub fn agent(&self, name: &str, args: &[&str]) -> Value {
        let mut all = vec!["new", "native", "--name", name, "--detach", "--"];
        all.extend(args);
        self.world.sm(&all).exits(0);
        self.world.ready(name)
    }

    /// The lines of the session's file.
    #[track_caller]
    pub fn file(&self, name: &str) -> Vec<Value> {
        let path = text(&self.world.show(name)["transcript_path"]);
        lines(&PathBuf::from(path))
    }

    /// What was said to the model by people and by sm, in its order.
    #[track_caller]
    pub fn said(&self, name: &str) -> Vec<String> {
        said(&self.file(name))
    }

    #[track_caller]
    pub fn holds(&self, gate: &str) {
        assert!(self.model.wait_for_hold(gate, DEADLINE), "never: {gate}");
    }
}

pub fn lines(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub fn said(lines: &[Value]) -> Vec<String> {
    let users = lines
        .iter()
        .filter(|line| line["message"]["role"] == "user");
    users
        .map(|line| match &line["message"]["content"] {
            Value::String(text) => text.clone(),
            blocks => text(&blocks[0]["text"]),
        })
        .collect()
}

#[test]
fn it_starts_takes_a_message_with_proof_and_shows_what_it_does() {
    let native = Native::new();
    let world = &native.world;
    let shown = native.agent("worker", &[]);
    assert_eq!(shown["agent"], "native");
    assert_eq!(shown["generation"], 1);
    let conversation = text(&shown["conversation_id"]);
    assert!(!conversation.is_empty(), "{shown}");
    let sent = world.send_wait("worker", "HOLD: turn\nSAY: hello from the model");
    assert_eq!(sent["way"], "mailbox", "{sent}");
    assert_eq!(sent["proof"], "hook", "{sent}");
    native.holds("turn");
    assert_eq!(world.show("worker")["state"], "working");
    native.model.release("turn");
    let shown = world.wait_for("worker", "idle");
    assert_eq!(shown["conversation_id"], conversation.as_str());
    assert_eq!(
        native.said("worker"),
        ["HOLD: turn\nSAY: hello from the model"]
    );
    assert_eq!(native.file("worker")[0]["id"], conversation.as_str());
    eventually("how full its context is", || {
        world.show("worker")["context"]["tokens"].as_u64() > Some(0)
    });
    let context = world.show("worker")["context"].clone();
    assert_eq!(context["source"], "hook", "{context}");
    assert!(context["used_percentage"].as_f64() > Some(0.0), "{context}");
    world.sm(&["ls"]).exits(0).says("worker").says("native");
    world
        .sm(&["output", "worker"])
        .exits(0)
        .says("hello from the model");
    world.sm(&["context", "worker"]).exits(0);
    let events = world.events("worker");
    assert!(
        events.iter().any(|e| e.contains("a prompt was accepted")),
        "{events:?}"
    );
    world.sm(&["kill", "worker"]).exits(0);
    assert_eq!(world.show("worker")["state"], "exited");
}

#[test]
fn without_a_key_it_says_so_and_how_to_set_one() {
    let world = World::new();
    let config = "model = \"anthropic/claude-sonnet-4-5\"\n";
    std::fs::write(world.env.sm_home().join("agent.toml"), config).unwrap();
    world.sm(&["new", "native", "--name", "worker", "--detach"]);
    let ended = world.wait_for("worker", "exited");
    let why = text(&ended["state_reason"]);
    let said = "no key for anthropic: set ANTHROPIC_API_KEY";
    assert!(why.contains(said), "{why}");
    world.sm(&["show", "worker"]).exits(0).says(said);
    world.sm(&["attach", "worker"]).exits(1).complains(said);
}

#[test]
fn messages_reach_it_in_every_state_and_its_draft_stays() {
    let native = Native::new();
    let world = &native.world;
    native.agent("worker", &["--allow", "bash:true"]);
    world.pane("worker").types("half a thought");
    world.pane("worker").shows("half a thought");
    // the turn has one call; what is important comes before the request after it
    world.send_wait("worker", "HOLD: first\nRUN: true");
    native.holds("first");
    let later = world.send("worker", "sequential", "SAY: after the turn");
    assert_eq!(later["state"], "held", "{later}");
    let steered = world.send("worker", "important", "HOLD: steered\nSAY: ok");
    world.wait_for_message("worker", &text(&steered["id"]), &["written"]);
    native.model.release("first");
    native.holds("steered");
    let steered = world.wait_for_message("worker", &text(&steered["id"]), &["submitted"]);
    assert_eq!(steered["proof"], "hook");
    assert_eq!(
        world.message("worker", &text(&later["id"]))["state"],
        "held"
    );
    // what is urgent ends the turn, and begins the next; nothing overtakes it
    let urgent = world.send("worker", "urgent", "SAY: at once");
    world.wait_for_message("worker", &text(&urgent["id"]), &["submitted", "consumed"]);
    world.wait_for_message("worker", &text(&later["id"]), &["consumed"]);
    world.wait_for("worker", "idle");
    assert_eq!(
        native.said("worker"),
        [
            "HOLD: first\nRUN: true",
            "HOLD: steered\nSAY: ok",
            "SAY: at once",
            "SAY: after the turn"
        ]
    );
    world.pane("worker").shows("half a thought");
}

#[test]
fn an_open_approval_is_answered_by_nobody_else() {
    let native = Native::new();
    let world = &native.world;
    native.agent("worker", &[]);
    world.send_wait("worker", "RUN: touch made");
    let waiting = world.wait_for("worker", "waiting");
    assert!(
        text(&waiting["state_reason"]).contains("permission"),
        "{waiting}"
    );
    let held = world.send("worker", "important", "SAY: meanwhile");
    assert_eq!(held["state"], "held", "{held}");
    world.pane("worker").shows("touch made");
    assert!(!world.env.project().join("made").exists());
    // a key counts when none came for a moment
    world.pane("worker").shows("y yes");
    world.pane("worker").key("y");
    let made = world.env.project().join("made");
    eventually("the call was allowed", || made.exists());
    world.wait_for_message("worker", &text(&held["id"]), &["consumed"]);
    world.wait_for("worker", "idle");
    assert_eq!(native.said("worker").len(), 2);
}

#[test]
fn what_is_urgent_waits_for_a_person_who_is_asked() {
    let native = Native::new();
    let world = &native.world;
    native.agent("worker", &[]);
    world.send_wait("worker", "RUN: touch made");
    world.wait_for("worker", "waiting");
    world.pane("worker").shows("touch made");
    let urgent = world.send("worker", "urgent", "SAY: at once");
    assert_eq!(urgent["state"], "held", "{urgent}");
    assert_eq!(world.show("worker")["state"], "waiting");
    // "no" alone, when it is asked what to do instead
    let sent = format!("/sessions/worker/messages/{}", text(&urgent["id"]));
    world.pane("worker").key("n");
    eventually("the person has said no", || {
        world.pane("worker").key("Enter");
        let given = || (world.get(&sent)["state"] != "held").then_some(());
        wait_until(Duration::from_secs(2), given).is_some()
    });
    world.wait_for_message("worker", &text(&urgent["id"]), &["consumed"]);
    world.wait_for("worker", "idle");
    assert_eq!(native.said("worker"), ["RUN: touch made", "SAY: at once"]);
    assert!(!world.env.project().join("made").exists());
}

#[test]
fn killed_in_the_middle_of_a_turn_it_comes_back_in_its_session() {
    let native = Native::new();
    let world = &native.world;
    let before = native.agent("worker", &[]);
    world.send_wait("worker", "HOLD: never\nSAY: nothing");
    native.holds("never");
    let file = native.file("worker");
    end(&process(&before["pid"]), Signal::KILL);
    world.wait_for("worker", "exited,lost");
    world.sm(&["restore", "worker", "--detach"]).exits(0);
    let after = world.ready("worker");
    assert_eq!(after["conversation_id"], before["conversation_id"]);
    assert_eq!(after["generation"], 1);
    assert_ne!(after["pid"], before["pid"]);
    world.send_wait("worker", "SAY: back again");
    world.wait_for("worker", "idle");
    assert_eq!(native.file("worker")[..file.len()], file, "nothing is lost");
    assert_eq!(
        native.said("worker"),
        ["HOLD: never\nSAY: nothing", "SAY: back again"]
    );
}

#[test]
fn it_outlives_the_daemon_and_what_it_did_meanwhile_is_known() {
    let native = Native::new();
    let world = &native.world;
    let before = native.agent("worker", &[]);
    let sent = world.send_wait("worker", "HOLD: long\nSAY: done alone");
    native.holds("long");
    world.kill_daemon();
    native.model.release("long");
    // nobody asks: the agent itself sees to it that somebody hears
    eventually("its end is known", || {
        world.is_served() && world.show("worker")["state"] == "idle"
    });
    let after = world.show("worker");
    assert_eq!(after["pid"], before["pid"]);
    assert_eq!(after["conversation_id"], before["conversation_id"]);
    world.wait_for_message("worker", &text(&sent["id"]), &["consumed"]);
    world.send_wait("worker", "SAY: again");
    world.wait_for("worker", "idle");
    assert_eq!(native.said("worker").len(), 2);
}

/// Waits until the session has left this generation and is idle in the next.
#[track_caller]
pub fn next_generation(world: &World, name: &str, generation: u64) -> Value {
    eventually("another context", || {
        let shown = world.show(name);
        shown["generation"].as_u64() == Some(generation) && shown["state"] == "idle"
    });
    world.show(name)
}

#[test]
fn a_handoff_of_its_own_document_goes_over_the_socket() {
    let native = Native::new();
    let world = &native.world;
    let before = native.agent("worker", &["--allow", "bash"]);
    let notes = crate::handoff::document(world, "notes.md", "half done; go on with step 3\n");
    let sm = sm_testkit::clean::binary("sm").unwrap();
    let prompt = format!("RUN: {} handoff {}", sm.display(), notes.display());
    let sent = world.send_wait("worker", &prompt);
    assert_eq!(sent["state"], "submitted", "{sent}");
    let after = next_generation(world, "worker", 2);
    assert_ne!(after["conversation_id"], before["conversation_id"]);
    assert_eq!(after["pid"], before["pid"], "the same process");
    let handoff = world.get(&format!("/handoffs?session={}", text(&before["id"])))[0].clone();
    assert_eq!(handoff["state"], "done", "{handoff:#}");
    let file = native.file("worker");
    let parent = text(&file[0]["parentSession"]);
    assert_eq!(
        lines(parent.as_ref())[0]["id"],
        before["conversation_id"],
        "the chain of sessions"
    );
    let wakes = native.said("worker");
    assert_eq!(wakes.len(), 1, "{wakes:?}");
    assert!(wakes[0].contains("notes.md"), "{wakes:?}");
    world.sm(&["handoffs", "worker"]).exits(0);
}

#[test]
fn from_outside_it_goes_on_from_what_sm_has_written_down() {
    let native = Native::new();
    let world = &native.world;
    let before = native.agent("worker", &[]);
    world.send_wait("worker", "SAY: hello");
    world.wait_for("worker", "idle");
    world
        .sm(&["handoff", "--auto", "--session", "worker"])
        .exits(0);
    let after = next_generation(world, "worker", 2);
    assert_eq!(after["pid"], before["pid"], "the same process");
    let handoff = world.get(&format!("/handoffs?session={}", text(&before["id"])))[0].clone();
    assert_eq!(handoff["state"], "done", "{handoff:#}");
    let wakes = native.said("worker");
    assert!(wakes[0].contains("SAY: hello"), "{wakes:?}");
    world.sm(&["ledger", "worker"]).exits(0);
}

#[test]
fn its_own_handoff_is_a_new_generation() {
    let native = Native::with("[handoff]\nfacts = 0\n");
    let world = &native.world;
    let before = native.agent("worker", &[]);
    world.send_wait("worker", "SAY: hello");
    world.wait_for("worker", "idle");
    native
        .model
        .control(|c| c.reply = Some(DOCUMENT.to_owned()));
    world
        .sm(&["send", "worker", "--raw", "/handoff the rest"])
        .exits(0);
    let after = next_generation(world, "worker", 2);
    assert_ne!(after["conversation_id"], before["conversation_id"]);
    assert_eq!(native.file("worker")[1]["customType"], "handoff");
    native.model.control(|c| c.reply = None);
    world.send_wait("worker", "SAY: going on");
    world.wait_for("worker", "idle");
    // a person goes back
    world
        .sm(&["send", "worker", "--raw", "/undo-handoff"])
        .exits(0);
    let back = next_generation(world, "worker", 3);
    assert_eq!(back["conversation_id"], before["conversation_id"]);
}

/// What a model writes when it is asked for a handoff document.
pub const DOCUMENT: &str = "## Objective\nBuild the frobnicator.\n\n## Constraints and preferences\nNone.\n\n## Progress\nDone: hello. Not started: all else.\n\n## Decisions\nUse Rust.\n\n## Technical state\n/repo/src/main.rs\n\n## Next actions\n1. Frobnicate.";

#[test]
fn a_real_task_with_a_handoff_in_its_middle() {
    let native = Native::with("[handoff]\ntokens = 10_000\n");
    let (world, model) = (&native.world, &native.model);
    let project = world.env.project();
    std::fs::write(project.join("sum.sh"), "echo $(($1 - $2))\n").unwrap();
    std::fs::write(
        project.join("test.sh"),
        "test \"$(sh sum.sh 2 3)\" = 5 || { echo FAILED sum; exit 1; }\necho ok\n",
    )
    .unwrap();
    let when = |has: &str, act: &str| {
        let (has, act) = (has.to_owned(), act.to_owned());
        model.control(|c| c.when.push(When { has, act }));
    };
    when(
        "sum is wrong",
        "HOLD: first\nTOOL: read {\"path\":\"sum.sh\"}\nTHEN: sh test.sh\nTHEN: true",
    );
    when("Write a handoff document now", "HOLD: document");
    when(
        "Continue with the next action",
        r#"TOOL: edit {"path":"sum.sh","old_text":"$1 - $2","new_text":"$1 + $2"}"#,
    );
    when(
        "Continue with the next action",
        "THEN: sh test.sh && printf passed > passed",
    );
    model.control(|c| c.reply = Some(DOCUMENT.to_owned()));
    let before = native.agent("worker", &["--yes"]);
    world.send_wait("worker", "The sum is wrong: fix it");
    native.holds("first");
    model.control(|c| c.input_tokens = 50_000);
    model.release("first");
    native.holds("document");
    // whoever speaks now speaks to the successor
    let during = world.send("worker", "sequential", "SAY: and mind the tests");
    model.control(|c| c.input_tokens = 500);
    model.release("document");
    world.wait_for_message("worker", &text(&during["id"]), &["consumed"]);
    let after = next_generation(world, "worker", 2);
    assert_eq!(after["pid"], before["pid"]);
    assert_ne!(after["conversation_id"], before["conversation_id"]);
    let file = native.file("worker");
    assert_eq!(file[1]["customType"], "handoff");
    let old = std::fs::read_to_string(text(&file[0]["parentSession"])).unwrap();
    assert!(old.contains("FAILED sum") && !old.contains("mind the tests"));
    assert!(said(&file).contains(&"SAY: and mind the tests".to_owned()));
    assert_eq!(
        std::fs::read_to_string(project.join("sum.sh")).unwrap(),
        "echo $(($1 + $2))\n"
    );
    assert_eq!(
        std::fs::read_to_string(project.join("passed")).unwrap(),
        "passed"
    );
}

#[test]
fn a_daemon_that_dies_while_it_hands_a_message_over_hands_it_over_once() {
    let native = Native::new();
    let world = &native.world;
    let points = Points::of(world);
    native.agent("worker", &[]);
    let mut expected = Vec::new();
    for (n, point) in [
        "before effect: mail #1",
        "after effect: mail #1",
        "before mailbox: taken #1",
        "after mailbox: taken #1",
    ]
    .into_iter()
    .enumerate()
    {
        let daemon = world.daemon();
        points.arm(Some(point));
        let part = format!("SAY: number {n}");
        let sent = world.send("worker", "sequential", &part);
        eventually(&format!("it died: {point}"), || !daemon.is_alive());
        points.disarm();
        let target = format!("/sessions/worker/messages/{}", text(&sent["id"]));
        eventually(&format!("{part:?} is proven after {point}"), || {
            let known = answered(world, &target);
            assert_ne!(known["state"], "failed", "{known}");
            matches!(text(&known["state"]).as_str(), "submitted" | "consumed")
        });
        world.wait_for("worker", "idle");
        expected.push(part);
    }
    assert_eq!(native.said("worker"), expected);
}
