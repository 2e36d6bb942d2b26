//! What must never hold the daemon up, or a person longer than they said: files that are none, too
//! many streams, a daemon that does not answer, questions that cannot be read.

use crate::world::{Ran, World, eventually, text};
use rustix::process::Signal;
use serde_json::{Value, json};
use sm_client::Client;
use sm_client::http::{HttpError, Request};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A pipe, a device and a folder where a transcript, a document or an agent's settings are expected.
#[test]
fn what_is_no_regular_file_holds_nobody_up() {
    let world = World::new();
    let api = world.agent("api");
    world.send_wait("api", "SAY: hello");
    world.wait_for("api", "idle");
    let transcript = text(&api["transcript_path"]);
    let transcript = match transcript.is_empty() {
        true => text(&world.show("api")["transcript_path"]),
        false => transcript,
    };
    assert!(!transcript.is_empty(), "{}", world.show("api"));
    let pipe = world.gate("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let kept = world.gate("transcript");
    std::fs::rename(&transcript, &kept).unwrap();
    // more often than there are threads for files
    for round in 0..3 {
        for other in [pipe.as_path(), "/dev/zero".as_ref(), &world.env.project()] {
            let _ = std::fs::remove_file(&transcript);
            std::os::unix::fs::symlink(other, &transcript).unwrap();
            let _ = world.sm(&["ledger", "api"]);
            world.sm(&["context", "api"]);
            let handed = world.sm(&["handoff", "--for", "api", pipe.to_str().unwrap()]);
            assert_ne!(handed.code, Some(0), "{round}: {handed:?}");
        }
    }
    std::fs::remove_file(&transcript).unwrap();
    std::fs::rename(&kept, &transcript).unwrap();
    world.send_wait("api", "SAY: still here");
    eventually("given", || world.times("SAY: still here") == 1);
    let daemon = world.daemon();
    world.sm(&["stop"]).exits(0);
    eventually("it ends", || !daemon.is_alive());
}

/// Far more than there are places: those that are too many are told so, and everybody else gets in.
#[test]
fn a_thousand_event_streams_leave_room_for_hooks_and_people() {
    let world = World::new();
    world.agent("api");
    let client = Client::new(world.paths());
    let mut open = Vec::new();
    let mut refused: Option<String> = None;
    for _ in 0..1000 {
        let until = Instant::now() + Duration::from_secs(30);
        match client.stream(&Request::get("/events"), until) {
            Ok(Ok(lines)) => open.push(lines),
            Ok(Err(answer)) => {
                assert_eq!(answer.status(), 503);
                refused.get_or_insert(answer.text().into_owned());
            }
            Err(HttpError::Io(error)) => panic!("this test itself has too few files: {error}"),
            Err(error) => panic!("the daemon does not answer: {error}"),
        }
        if refused.is_some() && open.len() > 4 {
            break;
        }
    }
    let said: Value = serde_json::from_str(&refused.expect("some are too many")).unwrap();
    assert!(text(&said["error"]).contains("streams of events"), "{said}");
    assert!(said["hint"].is_string(), "{said}");
    world.sm(&["ls"]).exits(0);
    world.send_wait("api", "in spite of them");
    eventually("given", || world.times("in spite of them") == 1);
    drop(open);
    eventually("places that are left are free again", || {
        let until = Instant::now() + Duration::from_secs(30);
        client
            .stream(&Request::get("/events"), until)
            .is_ok_and(|answer| answer.is_ok())
    });
}

/// It is stopped (Ctrl-Z, a debugger, a machine under load), so it lives and says nothing, and nothing
/// that a command waits for can come: each ends by itself, and names whose deadline ended it.
#[test]
fn a_persons_own_deadline_is_the_deadline() {
    let world = World::new();
    world.agent("api");
    let daemon = world.daemon();
    daemon.signal(Signal::STOP);
    let commands: [(&[&str], i32, &str); 5] = [
        (
            &["wait", "api", "--for", "working", "--timeout", "2"],
            3,
            "within 2 s",
        ),
        (&["send", "api", "hello", "--wait", "2"], 3, "within 2 s"),
        (&["ask", "api", "hello?", "--timeout", "2"], 3, "within 2 s"),
        // nobody said how long: as long as a daemon that lives may need
        (&["archive", "api"], 2, "within 10 s"),
        // longer than that is not waited for somebody who is not there
        (&["wait", "api", "--timeout", "3600"], 2, "within 30 s"),
    ];
    let started: Vec<_> = commands
        .into_iter()
        .map(|(args, code, said)| {
            let mut command = world.command(args);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            (args, code, said, command.spawn().unwrap())
        })
        .collect();
    for (args, code, said, mut running) in started {
        eventually(&format!("{args:?} ends"), || {
            running.try_wait().unwrap().is_some()
        });
        let ran = Ran::from(running.wait_with_output().unwrap());
        assert!(ran.err.contains(said), "{args:?} {ran:?}");
        assert!(ran.err.contains("hint: "), "{args:?} {ran:?}");
        ran.exits(code);
    }
    // all of it while nothing was answered
    daemon.signal(Signal::CONT);
    world.sm(&["ls"]).exits(0);
}

#[test]
fn whatever_cannot_be_read_is_answered_in_json() {
    let world = World::new();
    world.agent("api");
    for (method, target, status) in [
        ("GET", "/nowhere", 404),
        ("GET", "/sessions/%ff", 400),
        ("PUT", "/sessions", 405),
        ("GET", "/sessions/api/output?lines=many", 400),
        ("GET", "/sessions/api/wait?for=idle&timeout_ms=soon", 400),
        ("GET", "/sessions/api/archive?generation=first", 400),
        ("POST", "/mailbox/first/taken", 400),
        ("POST", "/launch/api/first", 400),
    ] {
        let request = match method {
            "POST" => Request::post(target).json(b"{}"),
            other => Request::new(other, target),
        };
        let (found, said) = world.ask(&request);
        assert_eq!(found, status, "{method} {target}: {said}");
        assert!(
            said["error"].is_string() && said["hint"].is_string(),
            "{method} {target}: {said}"
        );
    }
    let (status, _) = world.ask(&Request::get("/health"));
    assert_eq!(
        (status, json!(true)),
        (200, world.get("/health")["ok"].clone())
    );
}

/// A dialog stands in its terminal: nothing comes before a person has answered it, so nobody waits.
#[test]
fn ask_says_at_once_that_a_session_stands_at_a_dialog() {
    let world = World::new();
    world.agent("api");
    world.send_wait("api", "ASK: true");
    world.wait_for("api", "waiting");
    let mut command = world.command(&["ask", "api", "--timeout", "3600", "which", "port?"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut asking = command.spawn().unwrap();
    eventually("it does not wait for the person", || {
        asking.try_wait().unwrap().is_some()
    });
    let ran = Ran::from(asking.wait_with_output().unwrap());
    assert_eq!(ran.out, "", "{ran:?}");
    assert!(ran.err.contains("api waits for a person"), "{ran:?}");
    assert!(ran.err.contains("stays queued"), "{ran:?}");
    assert!(ran.err.contains("sm attach api"), "{ran:?}");
    assert!(ran.err.contains("sm queue rm api "), "{ran:?}");
    ran.exits(3);
    assert_eq!(world.times("which port?"), 0);
    assert_eq!(world.show("api")["state"], "waiting");
}
