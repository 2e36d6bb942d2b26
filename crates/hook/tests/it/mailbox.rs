//! `sm-hook <agent> mailbox`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::support::{Asked, DEADLINE, Home, Reply, Running, Server, ok, read_all, run};

fn message(waiter: &str, text: &str) -> Reply {
    Reply::With(200, ("x-sm-waiter", waiter.to_owned()), text.to_owned())
}

fn paths(asked: &[Asked]) -> Vec<&str> {
    asked.iter().map(|asked| asked.path.as_str()).collect()
}

#[test]
fn a_message_is_taken_then_spoken() {
    let home = Home::new();
    let server = Server::start(&home, |asked| match asked.path.as_str() {
        "/hooks/claude/mailbox" => message("w-7", "two\nlines ü"),
        _ => ok(""),
    });
    let ran = run(
        &mut home.hook(&["claude", "mailbox"]),
        b"{\"session_id\":\"c\"}",
    );
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(2), "", "two\nlines ü")
    );
    let asked = server.asked();
    assert_eq!(
        paths(&asked),
        ["/hooks/claude/mailbox", "/mailbox/w-7/taken"]
    );
    assert_eq!(asked[0].body, b"{\"session_id\":\"c\"}");
    assert!(
        asked
            .iter()
            .all(|asked| asked.header("x-sm-secret").is_some())
    );
}

#[test]
fn one_that_is_not_wanted_leaves_without_a_word() {
    let home = Home::new();
    for reply in [204, 403] {
        let server = Server::start(&home, move |_| Reply::Text(reply, String::new()));
        let ran = run(&mut home.hook(&["claude", "mailbox"]), b"");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{reply}");
        assert_eq!(server.asked().len(), 1);
    }
    let ran = run(&mut home.command(&["claude", "mailbox"]), b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn without_the_daemons_word_nothing_is_spoken() {
    // Refused, then the connection is lost, then superseded.
    let home = Home::new();
    let round = AtomicUsize::new(0);
    let server = Server::start(&home, move |asked| match asked.path.as_str() {
        "/hooks/claude/mailbox" => match round.fetch_add(1, Ordering::SeqCst) {
            0 => message("w-0", "first"),
            1 => message("w-1", "second"),
            _ => Reply::Text(204, String::new()),
        },
        "/mailbox/w-0/taken" => Reply::Text(409, "{\"error\":\"withdrawn\"}".to_owned()),
        _ => Reply::Raw(b""),
    });
    let ran = run(&mut home.hook(&["claude", "mailbox"]), b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        paths(&server.asked()),
        [
            "/hooks/claude/mailbox",
            "/mailbox/w-0/taken",
            "/hooks/claude/mailbox",
            "/mailbox/w-1/taken",
            "/hooks/claude/mailbox",
        ]
    );
}

#[test]
fn it_waits_for_a_daemon_that_comes_back() {
    let home = Home::new();
    let mut running = Running::start(&mut home.hook(&["claude", "mailbox"]));
    drop(running.child.stdin.take());
    let stderr = running.child.stderr.take().unwrap();
    let server = Server::start(&home, |_| Reply::Silence);
    server.wait_asked(1);
    drop(server);
    let _server = Server::start(&home, |asked| match asked.path.as_str() {
        "/hooks/claude/mailbox" => message("w", "back"),
        _ => ok(""),
    });
    assert_eq!(running.wait().code(), Some(2));
    assert_eq!(read_all(stderr), "back");
}

#[test]
fn a_message_for_an_agent_that_is_gone_is_not_taken() {
    let home = Home::new();
    let (arrive, arrived) = mpsc::channel();
    let (give, given) = mpsc::channel();
    let meeting = Mutex::new((arrive, given));
    let server = Server::start(&home, move |asked| match asked.path.as_str() {
        "/hooks/claude/mailbox" => {
            let (arrive, given) = &*meeting.lock().unwrap();
            arrive.send(()).unwrap();
            let () = given.recv().unwrap();
            message("w", "too late")
        }
        _ => ok(""),
    });
    // An agent that runs its hook through a shell, which outlives it.
    let hook = env!("CARGO_BIN_EXE_sm-hook");
    let like_a_hook = home.hook(&[]);
    let mut command = std::process::Command::new("sh");
    command
        .args([
            "-c",
            &format!("sh -c '{hook} claude mailbox; exit 0' & wait"),
        ])
        .env_clear()
        .envs(
            like_a_hook
                .get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        )
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped());
    let mut running = Running::start(&mut command);
    let stderr = running.child.stderr.take().unwrap();
    arrived.recv_timeout(DEADLINE).unwrap();
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    give.send(()).unwrap();
    // Its end closes the pipe.
    assert_eq!(read_all(stderr), "");
    assert_eq!(paths(&server.asked()), ["/hooks/claude/mailbox"]);
}
