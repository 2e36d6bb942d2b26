//! What is said in a session's name by a process that is not its own changes nothing of it.

use crate::handoff::{Turn, document};
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

/// What a command that the agent of `name` runs prints, with its exit code as the last line. The shell
/// is started as the agent's tool is.
fn inside(world: &World, name: &str, command: &str) -> String {
    let (script, out) = (
        world.gate(&format!("{name}.sh")),
        world.gate(&format!("{name}.out")),
    );
    let _ = std::fs::remove_file(&out);
    let lines = format!(
        "( {command} ) > {0}.new 2>&1\necho \"exit $?\" >> {0}.new\n",
        out.display()
    );
    std::fs::write(&script, lines).unwrap();
    // from a process that waits, or from one that has left everybody: the answer comes by the file
    world.send_wait(
        name,
        &format!(
            "RUN: sh {}; mv {out}.new {out}\nSAY: ran",
            script.display(),
            out = out.display()
        ),
    );
    eventually("it has run", || out.exists());
    world.wait_for(name, "idle");
    std::fs::read_to_string(&out).unwrap()
}

/// As a script asks over the socket or the port: status and body.
fn curl(world: &World, over: &str, method: &str, target: &str, body: &Value) -> String {
    let place = match over {
        "socket" => format!(
            "--unix-socket {} http://localhost",
            world.paths().socket().display()
        ),
        _ => format!("http://{}", text(&world.get("/status")["address"])),
    };
    format!(
        "curl -s -X {method} -H 'content-type: application/json' -w '\\nstatus %{{http_code}}\\n' -d '{body}' {place}{target}"
    )
}

/// Whether there is a program that asks as scripts do.
fn has_curl(test: &str) -> bool {
    let found = std::process::Command::new("curl")
        .arg("--version")
        .stdout(std::process::Stdio::null())
        .status();
    if found.is_err() {
        eprintln!("skipped: {test}: curl is missing (apt-get install -y curl)");
    }
    found.is_ok()
}

const WITHOUT: &str = "env -u CLAUDE_SESSION_MANAGER_ID -u SM_SESSION_SECRET";

/// An agent that has removed from its environment whatever says whose it is: by its ancestors it is the
/// session all the same, over the socket and over the port.
#[test]
fn an_agent_that_empties_its_environment_does_not_become_a_person() {
    if !has_curl("an_agent_that_empties_its_environment_does_not_become_a_person") {
        return;
    }
    let mut world = World::new();
    world.env.serve_tcp().unwrap();
    world.agent("worker");
    world.agent("victim");
    let notes = document(
        &world,
        "notes.md",
        "Goal: none\n\nState: none\n\nNext: none\n",
    );
    let person = json!({"person": true, "file_path": notes});
    for over in ["socket", "port"] {
        for (target, method, body, refusal) in [
            (
                "/sessions/victim/handoff",
                "POST",
                &person,
                "self-directed only",
            ),
            (
                "/sessions/victim/handoff/auto",
                "POST",
                &json!({}),
                "self-directed only",
            ),
            (
                "/sessions/victim/handoff/generate",
                "POST",
                &json!({}),
                "self-directed only",
            ),
            (
                "/sessions/victim/handoff",
                "DELETE",
                &json!({}),
                "self-directed only",
            ),
            (
                "/sessions/victim/messages",
                "POST",
                &json!({"id": "r1", "text": "/clear", "raw": true}),
                "status 403",
            ),
        ] {
            let command = format!("{WITHOUT} {}", curl(&world, over, method, target, body));
            let said = inside(&world, "worker", &command);
            assert!(said.contains(refusal), "{over} {method} {target}: {said}");
        }
        let upgrade = "-H 'upgrade: websocket' -H 'connection: upgrade' -H 'sec-websocket-version: 13' -H 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=='";
        let asked = curl(&world, over, "GET", "/sessions/victim/terminal", &json!({}));
        let said = inside(&world, "worker", &format!("{WITHOUT} {asked} {upgrade}"));
        // over the port a terminal is for browsers that are signed in
        let status = match over {
            "socket" => "status 403",
            _ => "status 401",
        };
        assert!(said.contains(status), "{over} terminal: {said}");
        // what it may do, it does as itself
        let body = json!({"id": format!("m-{over}"), "text": "SAY: hello"});
        let asked = curl(&world, over, "POST", "/sessions/victim/messages", &body);
        let said = inside(&world, "worker", &format!("{WITHOUT} {asked}"));
        assert!(said.contains("status 201"), "{over}: {said}");
        let sent = world.message("victim", &format!("m-{over}"));
        assert_eq!(sent["from"]["kind"], "session", "{over}: {sent}");
        assert_eq!(sent["from"]["name"], "worker", "{over}: {sent}");
    }
    let victim = world.wait_for("victim", "idle");
    assert_eq!(
        (&victim["generation"], &victim["handoff"]),
        (&json!(1), &Value::Null)
    );
}

/// Some sandboxes remove what is called a secret. By its ancestors the agent is still itself.
#[test]
fn without_its_secret_an_agent_is_itself_by_its_ancestors() {
    let world = World::new();
    world.agent("worker");
    world.agent("other");
    let sm = sm_testkit::clean::binary("sm").unwrap();
    let without = format!("env -u SM_SESSION_SECRET {}", sm.display());
    let said = inside(
        &world,
        "worker",
        &format!("{without} send other 'SAY: from me'"),
    );
    assert!(said.ends_with("exit 0\n"), "{said}");
    eventually("given", || world.times("SAY: from me") == 1);
    let listed = world
        .sm(&["queue", "ls", "other", "--all", "--json"])
        .exits(0)
        .json();
    let from = &listed[0]["from"];
    assert_eq!(
        (&from["kind"], &from["name"]),
        (&json!("session"), &json!("worker")),
        "{listed}"
    );
    let notes = document(
        &world,
        "own.md",
        "Goal: go on\n\nState: half done\n\nNext: the rest\n",
    );
    let said = inside(
        &world,
        "worker",
        &format!("{without} handoff {}", notes.display()),
    );
    assert!(said.contains("Handoff scheduled"), "{said}");
    eventually("the next context", || {
        world.show("worker")["generation"] == 2
    });
}

/// A name in the environment is no proof, and whoever has one is no person either. One that left its
/// ancestors is known if its environment has the secret too.
#[test]
fn a_name_in_the_environment_is_a_claim() {
    if !has_curl("a_name_in_the_environment_is_a_claim") {
        return;
    }
    let world = World::new();
    let worker = world.agent("worker");
    world.agent("other");
    let id = text(&worker["id"]);
    for secret in ["", "SM_SESSION_SECRET=wrong"] {
        for body in [
            json!({"id": "c1", "text": "forged"}),
            json!({"id": "c2", "text": "forged", "from": id}),
        ] {
            let asked = curl(&world, "socket", "POST", "/sessions/other/messages", &body);
            let command = format!("env CLAUDE_SESSION_MANAGER_ID={id} {secret} {asked}");
            let mut shell = world.env.command("sh");
            let said = shell.args(["-c", &command]).output().unwrap();
            let said = String::from_utf8_lossy(&said.stdout).into_owned();
            assert!(said.contains("status 403"), "{secret}: {said}");
        }
    }
    assert_eq!(world.times("forged"), 0);
    let asked = curl(
        &world,
        "socket",
        "POST",
        "/sessions/other/messages",
        &json!({"id": "d1", "text": "SAY: later"}),
    );
    let gate = world.gate("alone");
    let waits = format!(
        "while [ ! -e {} ]; do sleep 0.05; done; {asked}",
        gate.display()
    );
    let script = world.gate("daemon.sh");
    std::fs::write(&script, waits).unwrap();
    inside(
        &world,
        "worker",
        &format!(
            "setsid -f sh {} >/dev/null 2>&1 </dev/null",
            script.display()
        ),
    );
    std::fs::write(&gate, "").unwrap();
    eventually("it was sent", || {
        let (status, sent) = world.ask(&Request::get("/sessions/other/messages/d1"));
        status == 200 && sent["from"]["name"] == "worker"
    });
}

/// Set in the process that writes a request and ends.
const WRITES_AND_ENDS: &str = "SM_TEST_WRITES_AND_ENDS";

/// Connects, writes the request and ends; another process has its end of the connection, and keeps
/// what is answered.
#[expect(clippy::zombie_processes, reason = "whoever starts it ends at once")]
fn write_and_end(socket: &std::path::Path, request: &str, answer: &std::path::Path) {
    use std::io::Write;
    let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    std::process::Command::new("cat")
        .stdin(std::os::fd::OwnedFd::from(stream))
        .stdout(std::fs::File::create(answer).unwrap())
        .stderr(std::process::Stdio::null()) // not ours: nobody waits for its end
        .spawn()
        .unwrap();
}

/// Nobody can say whether one that has ended was a person: its words are nobody's.
#[test]
fn who_has_ended_before_it_is_known_is_no_person() {
    if let Some(dir) = std::env::var_os(WRITES_AND_ENDS) {
        let dir = std::path::PathBuf::from(dir);
        let request = std::fs::read_to_string(dir.join("request")).unwrap();
        let socket = std::fs::read_to_string(dir.join("socket")).unwrap();
        write_and_end(socket.as_ref(), &request, &dir.join("answer"));
        assert!(dir.join("answer").exists());
        return;
    }
    let world = World::new();
    world.agent("api");
    let body = json!({"id": "g1", "text": "SAY: whose words"}).to_string();
    let request = format!(
        "POST /sessions/api/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let dir = world.env.project();
    std::fs::write(dir.join("request"), request).unwrap();
    let paths = world.paths();
    std::fs::write(dir.join("socket"), paths.socket().to_str().unwrap()).unwrap();
    // it has ended before the daemon can look at it
    let daemon = world.daemon();
    daemon.signal(rustix::process::Signal::STOP);
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "proof::who_has_ended_before_it_is_known_is_no_person",
            "--exact",
        ])
        .env(WRITES_AND_ENDS, &dir)
        .output();
    daemon.signal(rustix::process::Signal::CONT);
    let ran = ran.unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stdout)
    );
    let answer = || std::fs::read_to_string(dir.join("answer")).unwrap_or_default();
    eventually("it is answered", || answer().contains("}"));
    let said = answer();
    assert!(said.starts_with("HTTP/1.1 403"), "{said}");
    assert!(said.contains("had ended before it was known"), "{said}");
    let (status, _) = world.ask(&Request::get("/sessions/api/messages/g1"));
    assert_eq!(status, 404);
    assert_eq!(world.times("whose words"), 0);
}

#[test]
fn an_id_that_is_anothers_name_is_refused() {
    let world = World::new();
    let api = world.agent("api");
    let body = json!({"id": "api", "agent": "claude", "cwd": "/"}).to_string();
    let (status, said) = world.ask(&Request::post("/sessions").json(body.as_bytes()));
    assert_eq!(status, 409, "{said}");
    assert!(
        text(&said["error"]).contains("is the name of session"),
        "{said}"
    );
    let run = json!({"agent": "claude", "cwd": "/", "secret_hash": "00", "run": {"pid": 1, "start": 1},
        "socket": "/tmp/nowhere", "process": {"pid": 1, "start": 1}, "at": 1});
    let (status, said) = world.ask(&Request::post("/runs/api").json(run.to_string().as_bytes()));
    assert_eq!(status, 409, "{said}");
    assert_eq!(world.show("api")["id"], api["id"]);
}
