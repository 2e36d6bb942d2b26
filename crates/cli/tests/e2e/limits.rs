//! What must never hold the daemon up, or a person longer than they said: files that are none, too
//! many streams, a daemon that does not answer, questions that cannot be read.

use crate::world::{Ran, World, eventually, text};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use serde_json::{Value, json};
use sm_client::http::Request;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
            for document in [pipe.as_path(), "/dev/zero".as_ref()] {
                let document = document.to_str().unwrap();
                let handed = world.sm(&["handoff", "--session", "api", document]);
                assert_eq!(handed.code, Some(1), "{round}: {handed:?}");
                assert!(handed.err.contains("regular file"), "{round}: {handed:?}");
                // and by anybody who asks the daemon without the command
                let body = json!({"person": true, "file_path": document}).to_string();
                let asked = Request::post("/sessions/api/handoff").json(body.as_bytes());
                let (status, said) = world.ask(&asked);
                assert_eq!(status, 200, "{said}");
                assert!(text(&said["error"]).contains("regular file"), "{said}");
            }
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

/// What a stream of events was answered with, and its connection, which stays open.
struct Stream {
    status: u16,
    body: String,
    _connection: UnixStream,
}

impl Stream {
    /// Asks for one, and keeps its connection whatever is answered.
    fn ask(world: &World) -> Self {
        let mut connection = UnixStream::connect(world.paths().socket()).unwrap();
        connection
            .write_all(b"GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .unwrap();
        let mut read = BufReader::new(connection.try_clone().unwrap());
        let mut line = || {
            let mut line = String::new();
            read.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        };
        let first = line();
        let status = first.split(' ').nth(1).map(str::parse);
        let status = status.expect(&first).unwrap();
        while !line().is_empty() {}
        let body = match status {
            200 => String::new(),
            _ => line(),
        };
        Self {
            status,
            body,
            _connection: connection,
        }
    }
}

/// This process itself needs a descriptor for each.
fn allow_many_files() {
    let most = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// Far more than there are places: those that are too many are told so, and everybody else gets in,
/// while all of them are open and others go on asking.
#[test]
fn a_thousand_event_streams_leave_room_for_hooks_and_people() {
    let world = World::new();
    world.agent("api");
    allow_many_files();
    let all: Vec<Stream> = (0..1000).map(|_| Stream::ask(&world)).collect();
    let open = all.iter().filter(|stream| stream.status == 200).count();
    assert!((5..1000).contains(&open), "{open}");
    for refused in all.iter().filter(|stream| stream.status != 200) {
        assert_eq!(refused.status, 503);
        let said: Value = serde_json::from_str(&refused.body).unwrap();
        assert!(text(&said["error"]).contains("streams of events"), "{said}");
        assert!(said["hint"].is_string(), "{said}");
    }
    let enough = AtomicBool::new(false);
    let tried = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !enough.load(Ordering::Relaxed) {
                assert_eq!(Stream::ask(&world).status, 503);
                tried.fetch_add(1, Ordering::Relaxed);
            }
        });
        world.sm(&["ls"]).exits(0);
        // by hooks, there and back
        world.send_wait("api", "SAY: in spite of them");
        world.sm(&["wait", "api", "--for", "idle"]).exits(0);
        eventually("given", || world.times("in spite of them") == 1);
        let before = tried.load(Ordering::Relaxed);
        eventually("they went on asking", || {
            tried.load(Ordering::Relaxed) > before
        });
        enough.store(true, Ordering::Relaxed);
    });
    drop(all);
    eventually("places that are left are free again", || {
        Stream::ask(&world).status == 200
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
