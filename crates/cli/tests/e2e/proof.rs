//! What is said in a session's name by a process that is not its own changes nothing of it.

use crate::handoff::Turn;
use crate::world::{World, eventually, text};
use serde_json::{Value, json};
use sm_client::http::Request;
use sm_client::spool::{Completeness, Entry};
use sm_client::{Client, Spool, wire};
use std::time::{Duration, Instant};

/// A hook in the name of a session, as anybody of this user can send it; what is answered.
fn forged(world: &World, session: &str, event: &str, body: &Value, secret: &str) -> String {
    let (target, body) = (format!("/hooks/claude/{event}"), body.to_string());
    let mut request = Request::post(&target)
        .header(wire::SESSION_HEADER, session)
        .json(body.as_bytes());
    if !secret.is_empty() {
        request = request.header(wire::SECRET_HEADER, secret);
    }
    let until = Instant::now() + Duration::from_secs(20);
    let answer = Client::new(world.paths()).request(&request, until).unwrap();
    assert_eq!(answer.status(), 200, "an agent is never hurt");
    answer.text().into_owned()
}

#[test]
fn a_hook_without_proof_is_written_down_and_changes_nothing() {
    let world = World::new();
    world.agent("api");
    let turn = Turn::begin(&world, "api");
    let sent = world.send("api", "sequential", "SAY: only for the agent");
    let conversation = world.show("api")["conversation_id"].clone();
    for secret in ["", "wrong"] {
        let stop = json!({"hook_event_name": "Stop", "session_id": conversation});
        assert_eq!(forged(&world, &turn.id, "Stop", &stop, secret), "");
        let tool = json!({"hook_event_name": "PostToolUse", "session_id": conversation, "tool_name": "Bash"});
        assert_eq!(forged(&world, &turn.id, "PostToolUse", &tool, secret), "");
        let start =
            json!({"hook_event_name": "SessionStart", "session_id": "another", "source": "clear"});
        forged(&world, &turn.id, "SessionStart", &start, secret);
        let end =
            json!({"hook_event_name": "SessionEnd", "session_id": conversation, "reason": "other"});
        forged(&world, &turn.id, "SessionEnd", &end, secret);
    }
    let now = world.show("api");
    assert_eq!(now["state"], "working", "{now}");
    assert_eq!(now["conversation_id"], conversation);
    assert_eq!(now["generation"], 1);
    let written = |part: &str| world.events("api").iter().any(|line| line.contains(part));
    eventually("it is written down", || {
        written("stopping: nothing proves that it is of this session")
    });
    assert_eq!(world.times("only for the agent"), 0);
    turn.end();
    world.wait_for_message("api", &text(&sent["id"]), &["consumed"]);
    eventually("given once", || world.times("only for the agent") == 1);
}

#[test]
fn an_exit_a_launch_and_a_run_need_proof() {
    let world = World::new();
    let api = world.agent("api");
    let id = text(&api["id"]);
    let launch = world.get(&format!("/sessions/{id}"))["launch"]
        .as_u64()
        .unwrap_or(1);
    let run = json!({"agent": "claude", "cwd": "/", "secret_hash": "00", "run": {"pid": 1, "start": 1},
        "socket": "/tmp/nowhere", "process": {"pid": 1, "start": 1}, "at": 1});
    let ended = json!({"agent": "claude", "run": {"pid": 1, "start": 1}, "ended": {"code": 0}});
    for (target, body) in [
        (format!("/launch/{id}/{launch}"), json!({})),
        (
            format!("/launch/{id}/{launch}/started"),
            json!({"launch": "1", "pid": 1, "start": 1}),
        ),
        (
            format!("/launch/{id}/{launch}/failed"),
            json!({"launch": "1", "error": "no"}),
        ),
        (
            format!("/launch/{id}/{launch}/exited"),
            json!({"launch": "1", "code": 0}),
        ),
        (
            format!("/launch/{id}/{launch}/environment"),
            json!({"env": []}),
        ),
        (format!("/runs/{id}"), run),
        (format!("/runs/{id}"), ended),
        (format!("/runs/{id}/hold"), json!({})),
    ] {
        for secret in ["", "wrong"] {
            let body = body.to_string();
            let mut request = Request::post(&target).json(body.as_bytes());
            if !secret.is_empty() {
                request = request.header(wire::SECRET_HEADER, secret);
            }
            let (status, said) = world.ask(&request);
            assert_eq!(status, 403, "{target} {secret:?}: {said}");
            assert!(said["hint"].is_string(), "{said}");
        }
    }
    let now = world.show("api");
    assert_eq!((&now["state"], &now["pid"]), (&json!("idle"), &api["pid"]));
    world.send_wait("api", "still there");
    eventually("given", || world.times("still there") == 1);
}

/// A daemon that was dead finds lines in its spool: those of the agent count, others do not.
#[test]
fn a_line_of_the_spool_needs_proof() {
    let world = World::new();
    world.agent("api");
    let turn = Turn::begin(&world, "api");
    let conversation = world.show("api")["conversation_id"].clone();
    world.kill_daemon();
    let body = json!({"hook_event_name": "Stop", "session_id": conversation}).to_string();
    let exited = json!({"launch": "1", "code": 0}).to_string();
    let spool = Spool::new(world.paths().spool_dir());
    for (number, (agent, event, body)) in [
        ("claude", "Stop", &body),
        ("launch", "exited", &exited),
        ("run", "ended", &exited),
    ]
    .into_iter()
    .enumerate()
    {
        for (secret, by) in [(None, "a"), (Some("wrong"), "b")] {
            let entry = Entry {
                id: &format!("{number}-{by}"),
                at: u64::try_from(sm_daemon::clock::now().0).unwrap(),
                agent,
                event,
                session: &turn.id,
                ancestors: "",
                secret,
                body: body.as_bytes(),
                completeness: Completeness::Whole,
            };
            spool.append(&entry).unwrap();
        }
    }
    world.sm(&["ls"]).exits(0);
    eventually("the spool was taken in", || {
        let written = |line: &String| line.contains("nothing proves that it is of this session");
        world
            .events("api")
            .iter()
            .filter(|line| written(line))
            .count()
            == 2
    });
    assert_eq!(world.show("api")["state"], "working");
    world.kill_daemon();
    turn.end(); // its Stop goes by the spool, or starts the daemon again
    world.sm(&["ls"]).exits(0);
    world.wait_for("api", "idle");
    let spooled = std::fs::read_dir(world.paths().spool_dir()).unwrap();
    for file in spooled.flatten() {
        let text = std::fs::read_to_string(file.path()).unwrap_or_default();
        assert!(!text.contains(&turn.secret), "the secret is on no disk");
    }
}
