//! `sm-hook log <dir>`.

use std::fs;
use std::io::Write;

use serde_json::json;

use crate::support::{Home, Reply, Running, Server, ok, run, wait_for};

#[test]
fn every_byte_is_there_in_order_in_files_of_bounded_size() {
    let home = Home::new();
    let dir = home.path("data/sessions/s");
    let bytes: Vec<u8> = (0..40 * 1024 * 1024_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let log = || home.command(&["log", dir.to_str().unwrap()]);
    // Two writers after one another, as when a pane is piped again.
    let (first, second) = bytes.split_at(20_000_001);
    for part in [first, second] {
        let ran = run(&mut log(), part);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    }
    let mut names: Vec<String> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let (times, names): (Vec<_>, Vec<_>) = names.into_iter().partition(|n| n.ends_with(".times"));
    let first = fs::read_to_string(dir.join(&times[0])).unwrap();
    let (offset, at) = first.lines().next().unwrap().split_once(' ').unwrap();
    assert_eq!((times.len(), offset), (3, "0"));
    assert!(at.parse::<u64>().unwrap() > 1_700_000_000_000, "{at}");
    assert_eq!(
        names,
        [
            "terminal.000001.log",
            "terminal.000002.log",
            "terminal.000003.log"
        ]
    );
    let mut all = Vec::new();
    for name in names {
        let part = fs::read(dir.join(name)).unwrap();
        assert!(part.len() <= 16 * 1024 * 1024);
        all.extend(part);
    }
    assert!(all == bytes, "{} of {} bytes", all.len(), bytes.len());
}

#[test]
fn a_full_disk_is_survived_and_owned_up_to() {
    let home = Home::new();
    let dir = home.path("log");
    fs::create_dir(&dir).unwrap();
    let file = dir.join("terminal.000001.log");
    std::os::unix::fs::symlink("/dev/full", &file).unwrap();
    let server = Server::start(&home, |_| ok(""));
    // The reports of activity show what has been read.
    let mut running = Running::start(&mut home.command(&[
        "log",
        dir.to_str().unwrap(),
        "--quiet-ms",
        "10",
        "--session",
        "s",
    ]));
    let mut stdin = running.child.stdin.take().unwrap();
    stdin.write_all(b"lost").unwrap();
    wait_for("quiet after the loss", || {
        let asked = server.asked();
        let active = asked
            .iter()
            .position(|asked| asked.json() == json!({"active": true}))?;
        asked[active..]
            .iter()
            .any(|asked| asked.json() == json!({"active": false}))
            .then_some(())
    });
    fs::remove_file(&file).unwrap();
    stdin.write_all(b"kept").unwrap();
    drop(stdin);
    assert_eq!(running.wait().code(), Some(0));
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "\r\n[sm: 4 bytes of terminal output lost: disk full]\r\nkept"
    );
}

#[test]
fn activity_is_told_when_it_changes() {
    let home = Home::new();
    let dir = home.path("log");
    let server = Server::start(&home, |_| ok(""));
    let mut running = Running::start(&mut home.command(&[
        "log",
        dir.to_str().unwrap(),
        "--quiet-ms",
        "30",
        "--session",
        "s-9",
    ]));
    let mut stdin = running.child.stdin.take().unwrap();
    // Quiet from the start is told, too.
    assert_eq!(server.wait_asked(1).json(), json!({"active": false}));
    for round in 0..3 {
        stdin.write_all(b"x").unwrap();
        assert_eq!(
            server.wait_asked(2 * round + 2).json(),
            json!({"active": true})
        );
        assert_eq!(
            server.wait_asked(2 * round + 3).json(),
            json!({"active": false})
        );
    }
    drop(stdin);
    assert_eq!(running.wait().code(), Some(0));
    let asked = server.asked();
    assert_eq!(asked.len(), 7);
    assert!(
        asked
            .iter()
            .all(|asked| asked.path == "/hooks/generic/output"
                && asked.header("x-sm-session") == Some("s-9"))
    );
}

#[test]
fn a_daemon_that_does_not_answer_holds_nothing_up() {
    let home = Home::new();
    let dir = home.path("log");
    let server = Server::start(&home, |_| Reply::Silence);
    let mut command = home.command(&[
        "log",
        dir.to_str().unwrap(),
        "--quiet-ms",
        "20",
        "--session",
        "s",
    ]);
    let bytes = vec![b'y'; 4 * 1024 * 1024];
    let ran = run(&mut command, &bytes);
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        fs::read(dir.join("terminal.000001.log")).unwrap().len(),
        bytes.len()
    );
    drop(server);
}
