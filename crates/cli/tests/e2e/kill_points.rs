//! `kill -9` of the daemon before and after each journal write and each effect of a handoff. However
//! it dies: one successor, prompted once; what waited is delivered once, after its first turn; what
//! goes with it is there.

use crate::fault_points::{Points, Scenario, Span, answered};
use crate::handoff::{Turn, document};
use crate::world::{DEADLINE, World, end, eventually, process, text};
use rustix::process::Signal;
use serde_json::{Value, json};
use sm_client::http::Request;
use sm_client::{Client, wire};
use sm_testkit::clean::RecordKind;
use sm_testkit::wait_until;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A turn in which the agent hands itself off with the command, as agents do.
struct Asked {
    before: Value,
    notes: PathBuf,
    over: PathBuf,
    id: String,
    /// A message that was sent after it.
    said: String,
    part: String,
}

impl Asked {
    #[track_caller]
    fn begin(world: &World, points: &Points, round: u64, at: Option<&str>) -> Self {
        let gate = |what: &str| world.gate(&format!("{what}-{round}"));
        let (go, over, answer) = (gate("go"), gate("over"), gate("answer"));
        let notes = document(world, &format!("round-{round}.md"), "half done");
        let prompt = format!(
            "HOLD: {}\nRUN: sm handoff {} > {out}.new 2>&1; echo \"exit $?\" >> {out}.new; mv {out}.new {out}\nHOLD: {}\nSAY: over",
            go.display(),
            notes.display(),
            over.display(),
            out = answer.display(),
        );
        world.send_wait("api", &prompt);
        let before = world.wait_for("api", "working");
        points.arm(at);
        std::fs::write(go, "").unwrap();
        eventually("the agent has its answer", || answer.exists());
        let answer = std::fs::read_to_string(answer).unwrap();
        assert!(
            answer.contains("Handoff scheduled") && answer.ends_with("exit 0\n"),
            "{answer}"
        );
        let all = answered(world, "/handoffs?session=api");
        assert_eq!(
            all.as_array().map(Vec::len),
            Some(round as usize),
            "{all:#}"
        );
        let part = format!("message of round {round}.");
        let said = text(&world.send("api", "sequential", &part)["id"]);
        Self {
            before,
            notes,
            over,
            id: text(&all[0]["id"]),
            said,
            part,
        }
    }

    #[track_caller]
    fn agent_dies(&self, world: &World) {
        end(
            &process(&answered(world, "/sessions/api")["pid"]),
            Signal::KILL,
        );
    }

    #[track_caller]
    fn reaches(&self, world: &World, state: &str) -> Value {
        let mut last = Value::Null;
        let target = format!("/handoffs/{}", self.id);
        let found = wait_until(DEADLINE * 2, || {
            last = answered(world, &target);
            (last["state"] == state).then(|| last.clone())
        });
        found.unwrap_or_else(|| panic!("not {state}: {last:#}"))
    }

    /// The message was given once, and nobody was given it but this conversation.
    #[track_caller]
    fn heard_once(&self, world: &World, conversation: &Value) {
        let target = format!("/sessions/api/messages/{}", self.said);
        eventually("the message has arrived", || {
            let state = text(&answered(world, &target)["state"]);
            matches!(state.as_str(), "submitted" | "consumed")
        });
        world.wait_for("api", "idle");
        let mut given = world.records();
        // the prompt tells of it, too
        given.retain(|r| r.text.contains(&self.part) && !r.text.contains("Read /"));
        assert_eq!(given.len(), 1, "{given:?}");
        assert_eq!(json!(given[0].conversation), *conversation);
    }

    #[track_caller]
    fn is_kept(&self, ended: &Value) {
        let all = ended["artifacts"].as_array().cloned().unwrap_or_default();
        let file = |kind: &str| -> PathBuf {
            let found = all
                .iter()
                .find(|a| a["kind"] == kind && a["problem"].is_null());
            let found = found.unwrap_or_else(|| panic!("no {kind} in {ended:#}"));
            text(&found["path"]).into()
        };
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(&file("document")), "half done");
        assert_eq!(read(Path::new(&text(&ended["copy"]))), "half done");
        assert!(read(&file("snapshot")).contains("HOLD:"), "{ended:#}");
        assert!(
            read(&file("in_flight")).contains("1 message waits"),
            "{ended:#}"
        );
        file("log");
        let (copy, whole) = (file("transcript"), text(&self.before["transcript_path"]));
        eventually("the transcript is whole", || {
            let (copy, whole) = (read(&copy), read(Path::new(&whole)));
            // the old conversation may go on
            copy == whole || (ended["state"] == "rolled_back" && whole.starts_with(&copy))
        });
    }

    /// It has one successor, prompted once, and what waited came after that.
    #[track_caller]
    fn is_done(&self, world: &World, carrier: &str) {
        let done = self.reaches(world, "done");
        let from = self.before["generation"].as_u64().unwrap();
        assert_eq!(done["carrier"], carrier, "{done:#}");
        assert_eq!(done["from_generation"], from, "{done:#}");
        assert_eq!(done["to_generation"], from + 1, "{done:#}");
        let after = answered(world, "/sessions/api");
        assert_eq!(after["generation"], from + 1);
        assert_eq!(after["tmux"], self.before["tmux"]);
        assert_ne!(after["conversation_id"], self.before["conversation_id"]);
        self.heard_once(world, &after["conversation_id"]);
        let records = world.records();
        let first = format!("Read {} and continue", self.notes.display());
        let prompts: Vec<_> = records.iter().filter(|r| r.text.contains(&first)).collect();
        assert_eq!(prompts.len(), 1, "{prompts:?}");
        assert_eq!(prompts[0].kind, RecordKind::Prompt);
        let mut own = records
            .iter()
            .filter(|r| r.conversation == prompts[0].conversation);
        assert!(own.next().unwrap().text.contains(&first), "it speaks first");
        let said = answered(world, &format!("/sessions/api/messages/{}", self.said));
        assert!(
            text(&done["done_at"]) <= text(&said["changed_at"]),
            "not before the first turn is over: {done:#} {said:#}"
        );
        self.is_kept(&done);
    }
}

fn rotation(world: &World, points: &Points, round: u64, at: Option<&str>) {
    let asked = Asked::begin(world, points, round, at);
    std::fs::write(&asked.over, "").unwrap();
    asked.is_done(world, "clear");
}

#[test]
fn killed_at_every_point_of_a_rotation() {
    let scenario = Scenario {
        knobs: "",
        worlds: 3,
        span: Span::All,
        must: &[
            "before artifact: copy",
            "after artifact: copy",
            "before journal: handoff asked",
            "after journal: handoff asked",
            "before journal: send",
            "after journal: send",
            "before journal: stopping",
            "after journal: stopping",
            "before effect: prepare",
            "after artifact: document",
            "after artifact: transcript",
            "after artifact: snapshot",
            "after artifact: in flight",
            "after effect: prepare",
            "before journal: handoff prepared",
            "after journal: handoff prepared",
            "before effect: paste",
            "after effect: paste",
            "before journal: pasted",
            "after journal: pasted",
            "before effect: press enter",
            "after effect: press enter",
            "before journal: context started",
            "after journal: context started",
            "before journal: prompt accepted",
            "after journal: prompt accepted",
            "before effect: answer",
            "after effect: answer",
            "before effect: probe",
            "after effect: probe",
            "before journal: probed",
            "after journal: probed",
            "before artifact: completed transcript",
        ],
        round: rotation,
    };
    scenario.kill_everywhere();
}

#[test]
fn killed_at_every_point_of_a_slow_rotation_whose_enter_is_swallowed() {
    let scenario = Scenario {
        knobs: "slow_clear_ms=150,swallow_enter_after_clear=1",
        worlds: 6,
        span: Span::Within(
            "after journal: context started",
            "after journal: prompt accepted",
        ),
        must: &["before effect: press enter", "after effect: press enter"],
        round: rotation,
    };
    scenario.kill_everywhere();
}

fn relaunch(world: &World, points: &Points, round: u64, at: Option<&str>) {
    let asked = Asked::begin(world, points, round, at);
    asked.agent_dies(world);
    asked.is_done(world, "relaunch");
}

#[test]
fn killed_at_every_point_of_a_relaunch() {
    let scenario = Scenario {
        knobs: "",
        worlds: 3,
        span: Span::From("before effect: prepare"),
        must: &[
            "before journal: exited",
            "after journal: exited",
            "before effect: prepare",
            "after artifact: document",
            "after artifact: transcript",
            "after artifact: snapshot",
            "after effect: prepare",
            "before journal: handoff prepared",
            "after journal: handoff prepared",
            "before effect: launch",
            "after effect: launch",
            "before launcher: environment",
            "after launcher: environment",
            "before launcher: relaunch",
            "before journal: started",
            "after journal: started",
            "before journal: context started",
            "after journal: context started",
            "before journal: prompt accepted",
            "after journal: prompt accepted",
            "before journal: stopping",
            "after journal: stopping",
        ],
        round: relaunch,
    };
    scenario.kill_everywhere();
}

/// The agent takes no clear.
fn stopped(world: &World, points: &Points, round: u64, at: Option<&str>) {
    let asked = Asked::begin(world, points, round, at);
    std::fs::write(&asked.over, "").unwrap();
    asked.is_done(world, "relaunch");
}

#[test]
fn killed_at_every_point_after_a_clear_that_did_nothing() {
    let scenario = Scenario {
        knobs: "ignore_clear=100",
        worlds: 24,
        span: Span::Within(
            "before effect: stop agent",
            "before journal: context started",
        ),
        must: &[
            "before journal: probed",
            "after journal: probed",
            "before effect: stop agent",
            "before journal: exited",
            "after journal: exited",
            "before effect: launch",
            "before launcher: environment",
            "before launcher: relaunch",
        ],
        round: stopped,
    };
    scenario.kill_everywhere();
}

/// No new process takes the prompt either.
fn back(world: &World, points: &Points, round: u64, at: Option<&str>) {
    let asked = Asked::begin(world, points, round, at);
    asked.agent_dies(world);
    let ended = asked.reaches(world, "rolled_back");
    let after = answered(world, "/sessions/api");
    assert_eq!(ended["to_generation"], after["generation"], "{ended:#}");
    assert_eq!(after["tmux"], asked.before["tmux"]);
    let old = &asked.before["conversation_id"];
    assert_eq!(after["conversation_id"], *old, "{ended:#}");
    asked.heard_once(world, old);
    assert_eq!(world.times("continue from where you left off"), 0);
    asked.is_kept(&ended);
}

#[test]
fn killed_at_every_point_of_the_way_back() {
    let scenario = Scenario {
        knobs: "die_on_argument",
        worlds: 3,
        span: Span::From("before effect: launch"),
        must: &[
            "before journal: exited",
            "after journal: exited",
            "before effect: launch",
            "after effect: launch",
            "before launcher: environment",
            "after launcher: environment",
            "before launcher: relaunch",
            "before journal: started",
            "after journal: started",
            "before journal: context started",
            "after journal: context started",
            "before effect: notify",
            "after effect: notify",
            "before effect: paste",
            "after effect: paste",
            "before effect: press enter",
            "after effect: press enter",
            "before journal: prompt accepted",
            "after journal: prompt accepted",
        ],
        round: back,
    };
    scenario.kill_everywhere();
}

#[test]
fn killed_while_it_schedules_it_answers_nothing_and_knows_what_it_wrote() {
    let world = World::new();
    let points = Points::of(&world);
    world.agent("api");
    let turn = Turn::begin(&world, "api");
    let notes = document(&world, "notes.md", "half done");
    let body = json!({"requester_session_id": turn.id, "file_path": notes}).to_string();
    let target = format!("/sessions/{}/handoff", turn.id);
    for (at, written) in [
        ("before artifact: copy #1", 0),
        ("after artifact: copy #1", 0),
        ("before journal: handoff asked #1", 0),
        ("after journal: handoff asked #1", 1),
    ] {
        points.arm(Some(at));
        let request = Request::post(&target)
            .json(body.as_bytes())
            .header(wire::SECRET_HEADER, &turn.secret);
        let until = Instant::now() + Duration::from_secs(20);
        let answer = Client::new(world.paths()).request(&request, until);
        assert!(answer.is_err(), "{at}: {answer:?}");
        points.disarm();
        let all = answered(&world, "/handoffs?session=api");
        let states: Vec<_> = all
            .as_array()
            .unwrap()
            .iter()
            .map(|h| text(&h["state"]))
            .collect();
        assert_eq!(states, vec!["scheduled"; written], "{at}");
    }
    turn.end();
    let all = answered(&world, "/handoffs?session=api");
    crate::handoff::reaches(&world, &text(&all[0]["id"]), &["done"]);
    assert_eq!(world.times("continue from where you left off"), 1);
}
