//! Starting the daemon. One test: it sets the environment that the started program is found by.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use sm_client::daemon::{self, DaemonError, Start};
use sm_client::{Client, Paths, Process};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

#[test]
fn the_daemon_is_started_waited_for_and_blamed() {
    let temp = tempfile::tempdir().unwrap();
    let program = temp.path().join("sm");
    // SAFETY: this is the only test of its program, and no other thread runs yet.
    unsafe {
        std::env::set_var("SM_HOME", temp.path());
        std::env::set_var("SM_BIN", &program);
    }
    let client = Client::new(Paths::from_env().unwrap());
    let write_program = |script: &str| {
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let wait_again = || fs::remove_file(client.paths().start_stamp()).unwrap();

    // It fails: the last words of its log are told.
    write_program("echo 'the database is newer than this program' >&2; exit 1");
    match daemon::ensure(&client, soon()) {
        Err(DaemonError::Failed { said }) => {
            assert_eq!(said, "the database is newer than this program");
        }
        other => panic!("{other:?}"),
    }
    wait_again();

    // It is there when it answers, in a session of its own and nobody's child.
    write_program(
        "cat /proc/$$/stat > \"$SM_HOME/tmp\"; mv \"$SM_HOME/tmp\" \"$SM_HOME/stat\"; sleep 600",
    );
    let stat = temp.path().join("stat");
    let pid = std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let deadline = soon();
            while !stat.exists() {
                assert!(Instant::now() < deadline, "not started");
                std::thread::sleep(Duration::from_millis(2));
            }
            let listener = UnixListener::bind(client.paths().socket()).unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                .unwrap();
        });
        daemon::ensure(&client, soon()).unwrap();
        server.join().unwrap();
        let stat = fs::read_to_string(&stat).unwrap();
        let fields: Vec<u32> = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .skip(1)
            .take(3)
            .map(|field| field.parse().unwrap())
            .collect();
        let pid: u32 = stat.split(' ').next().unwrap().parse().unwrap();
        assert_ne!(fields[0], std::process::id());
        // It leads no session, so it can never get a terminal, but its session is a new one.
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        let own_session: u32 = own
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .nth(3)
            .unwrap()
            .parse()
            .unwrap();
        assert_ne!(fields[2], own_session);
        pid
    });

    // Nobody answers now, but one was started a moment ago.
    assert!(matches!(daemon::start(client.paths()), Ok(Start::TooSoon)));
    wait_again();
    fs::write(client.paths().stopped_marker(), "").unwrap();
    assert!(matches!(
        daemon::revive(client.paths()),
        Ok(Start::StoppedOnPurpose)
    ));
    fs::remove_file(client.paths().stopped_marker()).unwrap();

    // A hook starts it as it was started before, whatever the agent's environment says.
    write_program(
        "echo \"$SM_PORT,$SM_LOG,$SM_BIN\" > \"$SM_HOME/tmp\"; mv \"$SM_HOME/tmp\" \"$SM_HOME/started\"",
    );
    let started = temp.path().join("started");
    let with = |port: Option<&str>, log: Option<&str>| {
        for (key, value) in [("SM_PORT", port), ("SM_LOG", log)] {
            // SAFETY: as above; the other threads have ended.
            match value {
                Some(value) => unsafe { std::env::set_var(key, value) },
                None => unsafe { std::env::remove_var(key) },
            }
        }
    };
    let told = |start: &dyn Fn() -> Start| {
        let _ = fs::remove_file(&started);
        assert!(matches!(start(), Start::Spawned(_)));
        let deadline = soon();
        while !started.exists() {
            assert!(Instant::now() < deadline, "not started");
            std::thread::sleep(Duration::from_millis(2));
        }
        wait_again();
        let said = fs::read_to_string(&started).unwrap();
        said.trim().replace(program.to_str().unwrap(), "sm")
    };
    let revive = || daemon::revive(client.paths()).unwrap();
    let start = || daemon::start(client.paths()).unwrap();
    with(Some("1"), None);
    assert_eq!(told(&revive), "1,,sm", "nobody knows how it was started");
    with(Some("9001"), None);
    daemon::remember_start(client.paths()).unwrap();
    with(Some("2"), Some("debug"));
    assert_eq!(told(&revive), "9001,,sm");
    assert_eq!(told(&start), "2,debug,sm", "a person's own counts");
    with(None, None);

    fs::remove_file(&program).unwrap();
    assert!(matches!(
        daemon::revive(client.paths()),
        Err(DaemonError::Io { .. })
    ));

    // The shell and what it runs are one group: they end together.
    let shell = Process::of(pid).unwrap();
    let group: u32 = fs::read_to_string(format!("/proc/{pid}/stat"))
        .unwrap()
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .nth(2)
        .unwrap()
        .parse()
        .unwrap();
    sm_client::platform::signal_group(group, 9).unwrap();
    let deadline = soon();
    while shell.is_alive() {
        assert!(Instant::now() < deadline, "it does not end");
        std::thread::sleep(Duration::from_millis(2));
    }
}
