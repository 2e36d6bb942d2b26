//! `sm-hook <agent> <event>`.

use std::ffi::c_int;
use std::fs;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;

use sm_client::Process;

use crate::support::{Home, Reply, Running, SECRET, SESSION, Server, ok, run, wait_for_file};

#[test]
fn the_event_goes_to_the_daemon_and_its_answer_to_the_agent() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok("{\"answer\":\"ü\"}\n\n"));
    let ran = run(&mut home.hook(&["claude", "Stop"]), b"{\"a\":1}");
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "{\"answer\":\"ü\"}\n\n", "")
    );
    let asked = server.wait_asked(1);
    assert_eq!(
        (asked.method.as_str(), asked.path.as_str()),
        ("POST", "/hooks/claude/Stop")
    );
    assert_eq!(asked.body, b"{\"a\":1}");
    assert_eq!(asked.header("x-sm-protocol"), Some("1"));
    assert_eq!(asked.header("x-sm-session"), Some(SESSION));
    assert_eq!(asked.header("x-sm-secret"), Some(SECRET));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.header("x-sm-cut"), None);
    assert!(asked.header("x-sm-at").unwrap().parse::<u64>().unwrap() > 1_600_000_000_000);
    let (pid, nanos) = asked
        .header("x-sm-event-id")
        .unwrap()
        .split_once('-')
        .unwrap();
    assert!(pid.parse::<u32>().is_ok() && u128::from_str_radix(nanos, 16).is_ok());
    // This test is the program's parent.
    let me = Process::this().unwrap().to_string();
    let ancestors = asked.header("x-sm-ancestors").unwrap();
    assert_eq!(ancestors.split(',').next(), Some(me.as_str()));
    assert!(ancestors.split(',').count() <= 6);
    assert_eq!(home.spooled().len(), 0);
}

#[test]
fn outside_of_a_session_nothing_is_said() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok("x"));
    let ran = run(&mut home.command(&["claude", "Stop"]), b"{}");
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "", "")
    );
    // An id that could break out of its header is no id.
    let mut command = home.hook(&["claude", "Stop"]);
    let ran = run(command.env("CLAUDE_SESSION_MANAGER_ID", "a\r\nx: y"), b"{}");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert_eq!(server.asked().len(), 0);
    assert_eq!(home.spooled().len(), 0);
}

#[test]
fn without_a_daemon_events_are_kept_and_it_is_started_again() {
    let home = Home::new();
    // A socket that nobody listens on any more, as a killed daemon leaves it.
    drop(UnixListener::bind(home.socket()).unwrap());
    for body in ["one", "two", "three"] {
        let mut command = home.hook(&["codex", "PreToolUse"]);
        command.env("ANTHROPIC_API_KEY", "key");
        let ran = run(&mut command, body.as_bytes());
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(0), "", "")
        );
    }
    let spooled = home.spooled();
    let bodies: Vec<&str> = spooled
        .iter()
        .map(|line| line["body"].as_str().unwrap())
        .collect();
    assert_eq!(bodies, ["one", "two", "three"]);
    assert_eq!(spooled[0]["agent"], "codex");
    assert_eq!(spooled[0]["event"], "PreToolUse");
    assert_eq!(spooled[0]["session"], SESSION);
    assert!(spooled[0]["at"].is_u64() && spooled[0]["id"].is_string());
    assert!(
        !fs::read_to_string(home.path("state/spool/hooks.jsonl"))
            .unwrap()
            .contains(SECRET)
    );
    // How often is the client's business and tested there: a count here would depend on time.
    assert!(
        wait_for_file(&home.path("started"))
            .lines()
            .all(|line| line == "serve")
    );
    let stamp = fs::read_to_string(home.path("state/daemon.start")).unwrap();
    assert!(stamp.parse::<u64>().is_ok());
    let env = fs::read_to_string(home.path("daemon-env")).unwrap();
    assert!(env.contains("SM_HOME="), "{env}");
    for secret in [SECRET, "ANTHROPIC_API_KEY", SESSION] {
        assert!(!env.contains(secret), "{env}");
    }
}

#[test]
fn a_daemon_that_a_person_stopped_is_left_alone() {
    let home = Home::new();
    fs::write(home.path("state/stopped"), "").unwrap();
    let ran = run(&mut home.hook(&["claude", "Stop"]), b"{}");
    assert_eq!(ran.code, Some(0));
    assert_eq!(home.spooled().len(), 1);
    assert!(!home.path("state/daemon.start").exists());
}

#[test]
fn a_daemon_that_does_not_answer_delays_nobody() {
    unsafe extern "C" {
        fn listen(fd: c_int, backlog: c_int) -> c_int;
    }
    let home = Home::new();
    let listener = UnixListener::bind(home.socket()).unwrap();
    let ran = run(&mut home.hurried_hook(&["claude", "Stop"]), b"connected");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    // And with so many waiting that not even connecting works: the first one still is.
    // SAFETY: listen takes two integers; the descriptor is open.
    assert_eq!(unsafe { listen(listener.as_raw_fd(), 0) }, 0);
    let ran = run(
        &mut home.hurried_hook(&["claude", "Stop"]),
        b"not connected",
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    let bodies: Vec<_> = home
        .spooled()
        .iter()
        .map(|line| line["body"].clone())
        .collect();
    assert_eq!(bodies, ["connected", "not connected"]);
    // It is there: no second one is started.
    assert!(!home.path("state/daemon.start").exists());
}

#[test]
fn an_unanswered_event_has_the_same_id_both_ways() {
    let home = Home::new();
    let server = Server::start(&home, |_| Reply::Silence);
    let ran = run(&mut home.hurried_hook(&["claude", "Stop"]), b"{}");
    assert_eq!(ran.code, Some(0));
    let asked = server.wait_asked(1);
    assert_eq!(
        home.spooled()[0]["id"],
        asked.header("x-sm-event-id").unwrap()
    );
}

#[test]
fn only_what_the_daemon_may_still_want_is_kept() {
    for (reply, printed, kept) in [
        (Reply::Text(200, String::new()), "", 0),
        (Reply::Text(204, String::new()), "", 0),
        (Reply::Text(404, "{\"error\":\"x\"}".to_owned()), "", 0),
        (
            Reply::Text(503, "{\"error\":\"disk full\"}".to_owned()),
            "",
            1,
        ),
        (Reply::Raw(b"SSH-2.0-nonsense\r\n\r\n"), "", 1),
        (
            Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf"),
            "",
            1,
        ),
        (
            Reply::Raw(
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            ),
            "hi",
            0,
        ),
    ] {
        let home = Home::new();
        let reply = std::sync::Mutex::new(Some(reply));
        let server = Server::start(&home, move |_| {
            reply.lock().unwrap().take().unwrap_or(Reply::Silence)
        });
        let ran = run(&mut home.hook(&["claude", "Stop"]), b"{}");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), printed));
        assert_eq!(home.spooled().len(), kept, "{:?}", server.asked());
    }
}

#[test]
fn any_bytes_are_passed_on_and_too_many_are_cut() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok(""));
    let garbage: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    assert_eq!(
        run(&mut home.hook(&["claude", "Stop"]), &garbage).code,
        Some(0)
    );
    assert_eq!(server.wait_asked(1).body, garbage);
    // Several pipes full beyond the bound.
    let large: Vec<u8> = (0..=255).cycle().take(3 * 1024 * 1024).collect();
    let mut running = Running::start(&mut home.hook(&["claude", "Stop"]));
    let mut stdin = running.child.stdin.take().unwrap();
    stdin.write_all(&large).unwrap();
    drop(stdin);
    assert_eq!(running.wait().code(), Some(0));
    let asked = server.wait_asked(2);
    assert_eq!(asked.body, large[..1024 * 1024]);
    assert_eq!(asked.header("x-sm-cut"), Some("1"));
}

#[test]
fn an_agent_that_never_closes_stdin_gets_its_hook_back() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok(""));
    let mut running = Running::start(&mut home.hook(&["claude", "Stop"]));
    let mut stdin = running.child.stdin.take().unwrap();
    stdin.write_all(b"{\"begun\":").unwrap();
    assert_eq!(running.wait().code(), Some(0));
    drop(stdin);
    let asked = server.wait_asked(1);
    assert_eq!(asked.body, b"{\"begun\":");
    assert_eq!(asked.header("x-sm-cut"), Some("1"));
}

#[test]
fn nothing_makes_it_fail() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok(&"x".repeat(1_000_000)));
    // Nobody reads what it prints.
    let mut running = Running::start(&mut home.hook(&["claude", "Stop"]));
    drop(running.child.stdin.take());
    drop(running.child.stdout.take());
    assert_eq!(running.wait().code(), Some(0));
    drop(server);
    for args in [
        &[][..],
        &["claude"],
        &["a/b", "c"],
        &["claude", ""],
        &["launch"],
        &["log"],
        &["--help"],
    ] {
        assert_eq!(run(&mut home.hook(args), b"{}").code, Some(0), "{args:?}");
    }
    // No place for the spool, no program to start.
    fs::remove_dir_all(home.path("state")).unwrap();
    fs::write(home.path("state"), "a file").unwrap();
    let mut command = home.hook(&["claude", "Stop"]);
    assert_eq!(
        run(command.env("SM_BIN", "/nowhere/sm"), b"{}").code,
        Some(0)
    );
    // No home at all.
    let mut command = home.hook(&["claude", "Stop"]);
    let ran = run(command.env_remove("SM_HOME"), b"{}");
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "", "")
    );
}

#[test]
fn a_long_home_is_reached_by_its_short_socket() {
    let home = Home::new();
    let long = home.path(&"long/".repeat(30));
    fs::create_dir_all(&long).unwrap();
    let env = long.as_os_str().to_owned();
    let paths = sm_client::Paths::resolve(
        |key| (key == "SM_HOME").then(|| env.clone()),
        sm_client::platform::uid(),
    )
    .unwrap();
    paths.ensure_dirs().unwrap();
    assert!(paths.socket().starts_with("/tmp"));
    let listener = UnixListener::bind(paths.socket()).unwrap();
    let mut command = home.hurried_hook(&["claude", "Stop"]);
    let mut running = Running::start(command.env("SM_HOME", &long));
    drop(running.child.stdin.take());
    let reached = listener.accept();
    fs::remove_file(paths.socket()).unwrap();
    assert!(reached.is_ok());
    assert_eq!(running.wait().code(), Some(0));
}
