//! Handoffs: who may ask for one, what is refused, and a whole one from the request to the
//! successor's first turn.

use crate::world::{World, end, eventually, files, process, text};
use rustix::process::Signal;
use serde_json::{Value, json};
use sm_client::http::Request;
use sm_client::wire;
use sm_testkit::clean::RecordKind;
use sm_testkit::wait_until;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const SELF_ONLY: &str = "sm handoff is self-directed only — requester must equal target session";

/// An agent in the middle of a turn, and what it knows of itself.
pub struct Turn {
    pub id: String,
    pub secret: String,
    gate: PathBuf,
    before: Value,
}

impl Turn {
    /// Its turn lasts until `end`.
    #[track_caller]
    pub fn begin(world: &World, name: &str) -> Self {
        Self::begin_with(world, name, "")
    }

    /// `more`: lines of its prompt, for the end of the turn.
    #[track_caller]
    pub fn begin_with(world: &World, name: &str, more: &str) -> Self {
        let secret = world.gate(&format!("{name}.secret"));
        let gate = world.gate(&format!("{name}.gate"));
        let _ = std::fs::remove_file(&gate);
        let _ = std::fs::remove_file(&secret);
        let prompt = format!(
            "RUN: printf %s \"${}\" > {path}.new && mv {path}.new {path}\nHOLD: {}\n{more}\nSAY: over",
            wire::SECRET_VAR,
            gate.display(),
            path = secret.display(),
        );
        world.send_wait(name, &prompt);
        eventually("the agent works", || secret.exists());
        let before = world.show(name);
        Self {
            id: text(&before["id"]),
            secret: std::fs::read_to_string(secret).unwrap(),
            gate,
            before,
        }
    }

    pub fn end(&self) {
        std::fs::write(&self.gate, "").unwrap();
    }

    /// The agent asks for a handoff of itself.
    #[track_caller]
    pub fn hand_off(&self, world: &World, document: &Path) -> Value {
        let body = json!({"requester_session_id": self.id, "file_path": document});
        let (status, answer) = post(world, &self.id, &body, Some(&self.secret));
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// The same, and it is taken.
    #[track_caller]
    pub fn scheduled(&self, world: &World, document: &Path) -> String {
        let answer = self.hand_off(world, document);
        assert_eq!(answer["status"], "scheduled", "{answer}");
        text(&answer["id"])
    }
}

#[track_caller]
pub fn post(world: &World, session: &str, body: &Value, secret: Option<&str>) -> (u16, Value) {
    let body = body.to_string();
    let target = format!("/sessions/{session}/handoff");
    let mut request = Request::post(&target).json(body.as_bytes());
    if let Some(secret) = secret {
        request = request.header(wire::SECRET_HEADER, secret);
    }
    world.ask(&request)
}

pub fn document(world: &World, name: &str, content: &str) -> PathBuf {
    let path = world.env.project().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// Waits until a handoff has one of these states.
#[track_caller]
pub fn reaches(world: &World, id: &str, states: &[&str]) -> Value {
    let mut last = Value::Null;
    let found = wait_until(crate::world::DEADLINE * 2, || {
        world.sm(&["ls"]); // the daemon may have been killed
        last = world.get(&format!("/handoffs/{id}"));
        states
            .contains(&text(&last["state"]).as_str())
            .then(|| last.clone())
    });
    found.unwrap_or_else(|| panic!("not one of {states:?}: {last:#}"))
}

/// What the successor was told.
#[track_caller]
pub fn wake(world: &World, part: &str) -> String {
    let found = world.given(part);
    assert_eq!(world.times(part), 1, "{part:?}");
    found.text
}

fn artifact(handoff: &Value, kind: &str) -> Value {
    let all = handoff["artifacts"].as_array().cloned().unwrap_or_default();
    let found = all
        .into_iter()
        .find(|a| a["kind"] == kind && a["problem"].is_null());
    found.unwrap_or_else(|| panic!("no {kind} in {handoff:#}"))
}

fn handoffs_dir(world: &World) -> PathBuf {
    world.paths().data_dir().join("handoffs")
}

#[test]
fn every_refusal_is_an_answer_that_says_what_to_fix_and_nothing_is_written() {
    let world = World::with_config("[handoff]\nmax_bytes = 100\n");
    world.agent("other");
    world.agent("api");
    world
        .sm(&["new", "--name", "shell", "--detach", "--", "sh"])
        .exits(0);
    world.wait_for("shell", "idle");
    let turn = Turn::begin(&world, "api");
    let good = document(&world, "notes.md", "half done; go on with step 3\n");
    let other = text(&world.show("other")["id"]);
    let shell = text(&world.show("shell")["id"]);
    let missing = world.env.project().join("missing.md");
    let empty = document(&world, "empty.md", " \n\t\n");
    let large = document(&world, "large.md", &"x".repeat(101));
    let own = |path: &Value| json!({"requester_session_id": turn.id, "file_path": path});
    let good = json!(good);
    let secret = Some(turn.secret.as_str());

    for (session, body, secret, expected) in [
        // another session as requester, whoever it is
        (
            other.as_str(),
            json!({"requester_session_id": turn.id, "file_path": good}),
            secret,
            SELF_ONLY,
        ),
        (
            "nobody",
            json!({"requester_session_id": turn.id, "file_path": good}),
            secret,
            SELF_ONLY,
        ),
        (
            "nobody",
            json!({"requester_session_id": "nobody", "file_path": good}),
            secret,
            "Session nobody not found",
        ),
        (
            "nobody",
            json!({"person": true, "file_path": good}),
            None,
            "Session nobody not found",
        ),
        // an id that is only claimed
        (&turn.id, own(&good), None, "not a process of session"),
        (
            &turn.id,
            own(&good),
            Some("wrong"),
            "not a process of session",
        ),
        (
            &other,
            json!({"requester_session_id": other, "file_path": good}),
            secret,
            "not a process of session",
        ),
        // a person is outside of all sessions
        (
            &other,
            json!({"person": true, "file_path": good}),
            secret,
            SELF_ONLY,
        ),
        (
            &turn.id,
            json!({"person": true, "requester_session_id": turn.id, "file_path": good}),
            secret,
            SELF_ONLY,
        ),
        (
            &turn.id,
            json!({"file_path": good}),
            None,
            "requester_session_id is missing",
        ),
        // an agent without a context that can be cleared
        (
            &shell,
            json!({"person": true, "file_path": good}),
            None,
            "sm handoff is not supported for generic sessions",
        ),
        // the document
        (&turn.id, own(&json!("")), secret, "no file was given"),
        (
            &turn.id,
            own(&json!("notes.md")),
            secret,
            "not an absolute path",
        ),
        (
            &turn.id,
            own(&json!("/tmp/a\nb")),
            secret,
            "control characters",
        ),
        (&turn.id, own(&json!(missing)), secret, "File not found: "),
        (
            &turn.id,
            own(&json!("/dev/zero")),
            secret,
            "not a regular file",
        ),
        (
            &turn.id,
            own(&json!(world.env.project())),
            secret,
            "is a folder",
        ),
        (&turn.id, own(&json!(empty)), secret, "is empty"),
        (&turn.id, own(&json!(large)), secret, "more than 100 bytes"),
    ] {
        let (status, answer) = post(&world, session, &body, secret);
        assert_eq!(status, 200, "{body} {answer}");
        let error = text(&answer["error"]);
        assert!(error.contains(expected), "{body}: {error:?}");
        assert_eq!(answer["status"], Value::Null);
    }
    let header = Request::post("/sessions/other/handoff");
    let body = json!({"person": true, "file_path": good}).to_string();
    let request = header
        .json(body.as_bytes())
        .header(wire::SESSION_HEADER, &turn.id);
    assert!(text(&world.ask(&request).1["error"]).contains(SELF_ONLY));

    assert_eq!(files(&handoffs_dir(&world)), [] as [PathBuf; 0]);
    only_refused(&world);
    assert_eq!(world.show("api")["last_handoff_path"], Value::Null);
    turn.end();
}

/// Whatever was asked for is in the history with its reason, and nothing else happened.
fn only_refused(world: &World) {
    let all = world.get("/handoffs");
    let all = all.as_array().unwrap();
    assert!(!all.is_empty());
    for handoff in all {
        assert_eq!(handoff["state"], "refused", "{handoff}");
        let why = text(&handoff["steps"][0]["text"]);
        assert!(why.starts_with("refused: "), "{handoff}");
    }
}

#[test]
fn a_document_that_looks_unfinished_is_taken_with_a_warning_or_has_to_be_confirmed() {
    let template = |world: &World| {
        let text = text(&world.get("/handoff/template")["text"]);
        document(world, "template.md", &text)
    };
    let world = World::new();
    world.agent("api");
    let old = document(&world, "old.md", "of long ago");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(600);
    let file = std::fs::File::options().write(true).open(&old).unwrap();
    file.set_modified(long_ago).unwrap();
    let turn = Turn::begin(&world, "api");
    // the next one knows as well when it began
    world.kill_daemon();
    world.sm(&["ls"]).exits(0);
    for (path, expected) in [
        (old, "before this turn began"),
        (template(&world), "is still the template"),
    ] {
        let answer = turn.hand_off(&world, &path);
        assert_eq!(answer["status"], "scheduled", "{answer}");
        let warning = text(&answer["warnings"][0]);
        assert!(warning.contains(expected), "{warning}");
    }
    drop(world);

    let world = World::with_config("[handoff]\ngate = \"strict\"\n");
    world.agent("api");
    let turn = Turn::begin(&world, "api");
    let path = template(&world);
    let answer = turn.hand_off(&world, &path);
    assert!(text(&answer["error"]).contains("--force"), "{answer}");
    only_refused(&world);
    let body = json!({"requester_session_id": turn.id, "file_path": path, "force": true});
    let (_, answer) = post(&world, &turn.id, &body, Some(&turn.secret));
    assert_eq!(answer["status"], "scheduled", "{answer}");
}

#[test]
fn an_agent_hands_its_work_to_a_new_context() {
    let world = World::new();
    world.agent("api");
    let turn = Turn::begin(&world, "api");
    let notes = document(&world, "notes.md", "half done; go on with step 3\n");
    let id = turn.scheduled(&world, &notes);
    assert_eq!(world.show("api")["last_handoff_path"], json!(notes));
    // held for the successor, whatever its mode
    let waiting: Vec<String> = ["sequential", "important", "urgent"]
        .map(|mode| text(&world.send("api", mode, &format!("said {mode}"))["id"]))
        .to_vec();
    assert_eq!(world.get("/handoffs")[0]["state"], "scheduled");
    turn.end();

    let done = reaches(&world, &id, &["done"]);
    assert_eq!(
        (&done["trigger"], &done["author"], &done["carrier"]),
        (&json!("agent"), &json!("agent"), &json!("clear"))
    );
    assert_eq!(
        (&done["from_generation"], &done["to_generation"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(done["from_conversation"], turn.before["conversation_id"]);
    assert!(
        done["took_ms"].as_i64().is_some_and(|ms| ms >= 0),
        "{done:#}"
    );

    // the same session in another context
    let after = world.show("api");
    for same in ["id", "name", "pid", "tmux", "parent", "cwd"] {
        assert_eq!(after[same], turn.before[same], "{same}");
    }
    assert_eq!(after["generation"], 2);
    assert_ne!(after["conversation_id"], turn.before["conversation_id"]);
    assert_eq!(after["last_handoff_path"], json!(notes));

    // the prompt: once, first in its conversation
    let first = format!(
        "Read {} and continue from where you left off.",
        notes.display()
    );
    let prompt = wake(&world, &first);
    assert_eq!(json!(prompt), done["prompt"]);
    let record = world.given(&first);
    assert_eq!(record.kind, RecordKind::Prompt);
    assert_eq!(json!(record.conversation), after["conversation_id"]);
    for mode in ["sequential", "important", "urgent"] {
        let said = world.given(&format!("said {mode}"));
        assert_eq!(json!(said.conversation), after["conversation_id"]);
    }
    for message in waiting {
        world.wait_for_message("api", &message, &["submitted", "consumed"]);
    }

    // the artifacts
    let folder = PathBuf::from(text(&done["folder"]));
    assert_eq!(folder.parent(), Some(handoffs_dir(&world).as_path()));
    assert_eq!(
        std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
        0o700
    );
    for file in files(&folder) {
        let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
    }
    let read = |kind: &str| std::fs::read_to_string(text(&artifact(&done, kind)["path"])).unwrap();
    assert_eq!(read("document"), "half done; go on with step 3\n");
    assert!(read("snapshot").contains("HOLD:"), "{}", read("snapshot"));
    let lines = artifact(&done, "snapshot")["lines"].as_u64().unwrap();
    assert_eq!(read("snapshot").lines().count() as u64, lines);
    assert!(prompt.contains(&format!("(last {lines} lines, readable)")));
    assert!(read("transcript").contains("HOLD:"));
    assert!(read("in_flight").contains("3 messages wait"));
    assert!(prompt.contains("3 messages wait"), "{prompt}");
    assert!(prompt.contains("sm archive api grep"), "{prompt}");
    let glob = text(&artifact(&done, "log")["path"]);
    assert!(
        prompt.contains(&format!("grep -a \"keyword\" {glob}")),
        "{prompt}"
    );
    let found = std::process::Command::new("sh")
        .args(["-c", &format!("grep -a -c HOLD: {glob}")])
        .output()
        .unwrap();
    assert!(found.status.success(), "{glob}");
}

#[test]
fn the_last_one_wins_and_it_can_be_taken_back() {
    let world = World::new();
    world.agent("api");
    let turn = Turn::begin(&world, "api");
    let notes = document(&world, "notes.md", "one");
    let first = turn.scheduled(&world, &notes);
    let second = turn.hand_off(&world, &notes);
    assert_eq!(second["replaced"], json!(first), "{second}");
    let all = world.get("/handoffs?session=api");
    let states: Vec<String> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|h| text(&h["state"]))
        .collect();
    assert_eq!(states, ["scheduled", "replaced"], "newest first");

    let cancel = |secret: Option<&str>| {
        let target = format!("/sessions/{}/handoff", turn.id);
        let mut request = Request::new("DELETE", &target);
        if let Some(secret) = secret {
            request = request.header(wire::SECRET_HEADER, secret);
        }
        world.ask(&request).1
    };
    assert!(text(&cancel(Some("wrong"))["error"]).contains("not a process"));
    let answer = cancel(Some(&turn.secret));
    assert_eq!(answer["status"], "cancelled", "{answer}");
    assert_eq!(answer["id"], second["id"]);
    assert!(text(&cancel(None)["error"]).contains("no handoff is scheduled"));
    turn.end();
    world.wait_for("api", "idle");
    assert_eq!(world.show("api")["generation"], 1);
    assert_eq!(world.times("continue from where you left off"), 0);
}

#[test]
fn a_person_hands_off_an_idle_session_from_outside() {
    let world = World::with_config("[handoff]\nlayout = \"seed\"\n");
    world.agent("api");
    world.send_wait("api", "hello");
    world.wait_for("api", "idle");
    let notes = document(&world, "notes.md", "go on");
    let body = json!({"person": true, "file_path": notes});
    let (_, answer) = post(&world, "api", &body, None);
    assert_eq!(answer["status"], "scheduled", "{answer}");
    let done = reaches(&world, &text(&answer["id"]), &["done"]);
    assert_eq!(
        (&done["trigger"], &done["author"]),
        (&json!("person"), &json!("person"))
    );
    let folder = text(&done["folder"]);
    assert!(
        folder.contains("/.local/share/claude-sessions/handoffs/"),
        "{folder}"
    );
    wake(&world, &format!("Read {} and", notes.display()));
    // everything of it goes with the session
    world.sm(&["kill", "api", "--purge"]).exits(0);
    assert!(!Path::new(&folder).exists());
    assert_eq!(world.get("/handoffs"), json!([]));
}

#[test]
fn a_document_that_is_gone_by_then_is_given_as_its_copy() {
    for emptied in [false, true] {
        let world = World::new();
        world.agent("api");
        let turn = Turn::begin(&world, "api");
        let notes = document(&world, "notes.md", "kept");
        let id = turn.scheduled(&world, &notes);
        match emptied {
            true => std::fs::write(&notes, "").unwrap(),
            false => std::fs::remove_file(&notes).unwrap(),
        }
        turn.end();
        let done = reaches(&world, &id, &["done"]);
        let copy = text(&done["copy"]);
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), "kept");
        wake(&world, &format!("Read {copy} and continue"));
        assert_eq!(done["given"], json!(copy));
        if !emptied {
            assert_eq!(world.show("api")["last_handoff_path"], json!(copy));
        }
    }
}

#[test]
fn what_was_answered_survives_the_daemon() {
    let world = World::new();
    world.agent("api");
    let turn = Turn::begin(&world, "api");
    let notes = document(&world, "notes.md", "kept");
    let daemon = world.daemon();
    let id = turn.scheduled(&world, &notes);
    end(&daemon, Signal::KILL);
    world.sm(&["ls"]).exits(0);
    let found = world.get(&format!("/handoffs/{id}"));
    assert_eq!(found["state"], "scheduled", "{found:#}");
    assert_eq!(
        std::fs::read_to_string(text(&found["copy"])).unwrap(),
        "kept"
    );
    let served = world.get(&format!("/handoffs/{id}/document"));
    assert_eq!(served, json!({"text": "kept"}));
    turn.end();
    reaches(&world, &id, &["done"]);
    wake(&world, &format!("Read {} and", notes.display()));
}

#[test]
fn killed_while_one_is_scheduled_nothing_is_relaunched_and_the_copy_is_kept() {
    let world = World::new();
    world.agent("api");
    let turn = Turn::begin(&world, "api");
    let notes = document(&world, "notes.md", "kept");
    let id = turn.scheduled(&world, &notes);
    let agent = process(&turn.before["pid"]);
    world.sm(&["kill", "api"]).exits(0);
    let ended = reaches(&world, &id, &["abandoned"]);
    assert_eq!(
        std::fs::read_to_string(text(&ended["copy"])).unwrap(),
        "kept"
    );
    assert!(!agent.is_alive());
    let shown = world.show("api");
    assert_eq!(
        (&shown["state"], &shown["pid"]),
        (&json!("exited"), &Value::Null)
    );
    assert_eq!(world.times("continue from where you left off"), 0);
}

#[test]
fn ended_by_a_person_while_one_is_scheduled_it_is_abandoned() {
    let world = World::new();
    world.agent("api");
    let turn = Turn::begin(&world, "api");
    let notes = document(&world, "notes.md", "kept");
    let id = turn.scheduled(&world, &notes);
    // typed while the agent works: run when the turn is over, before anything of ours
    let pane = world.pane("api");
    pane.types("/exit");
    pane.shows("/exit");
    pane.key("Enter");
    eventually("it was taken", || !pane.screen().contains("/exit"));
    turn.end();
    world.wait_for("api", "exited");
    let ended = reaches(&world, &id, &["abandoned"]);
    assert!(Path::new(&text(&ended["copy"])).exists());
    assert_eq!(world.times("continue from where you left off"), 0);
}
