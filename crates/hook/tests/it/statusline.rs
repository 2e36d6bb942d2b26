//! `sm-hook <agent> statusline`.

use std::fs;

use crate::support::{Home, Server, ok, run};

const INPUT: &[u8] = br#"{"model":{},"context_window":{"used_percentage":31}}"#;

#[test]
fn the_daemons_line_is_shown() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok("api · 31%"));
    let ran = run(&mut home.hook(&["claude", "statusline"]), INPUT);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "api · 31%\n"));
    let asked = server.wait_asked(1);
    assert_eq!(
        (asked.path.as_str(), asked.body.as_slice()),
        ("/hooks/claude/statusline", INPUT)
    );
}

#[test]
fn without_a_daemon_it_says_what_it_can_see() {
    let home = Home::new();
    for (input, expected) in [(INPUT, "31% ctx\n"), (b"\xff\x00 garbage", ""), (b"", "")] {
        let ran = run(&mut home.hook(&["claude", "statusline"]), input);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(0), expected, "")
        );
        // Outside of a session, too.
        let ran = run(&mut home.command(&["claude", "statusline"]), input);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), expected));
    }
    // Old samples are of no use to anyone.
    assert_eq!(home.spooled().len(), 0);
}

#[test]
fn the_users_own_line_comes_first_with_the_same_input() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok("ours"));
    let ran = run(
        &mut home.hook(&[
            "claude",
            "statusline",
            "--",
            "cat; echo; echo \"two\" words",
        ]),
        INPUT,
    );
    let input = String::from_utf8_lossy(INPUT);
    assert_eq!(ran.stdout, format!("{input}\ntwo words · ours\n"));
    // A failing command takes nothing from ours; large input that it does not read neither.
    let large = vec![b' '; 900_000];
    let ran = run(
        &mut home.hook(&["claude", "statusline", "--", "exit 3"]),
        &large,
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ours\n"));
    assert_eq!(server.asked().len(), 2);
    drop(server);
    let ran = run(
        &mut home.hook(&["claude", "statusline", "--", "echo me"]),
        INPUT,
    );
    assert_eq!(ran.stdout, "me · 31% ctx\n");
}

#[test]
fn the_daemon_is_told_while_the_users_command_runs() {
    let home = Home::new();
    let (begun, told) = (home.path("begun"), home.path("told"));
    let command = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.01; done; echo both",
        begun.display(),
        told.display()
    );
    let server = Server::start(&home, move |_| {
        crate::support::wait_for("the user's command", || begun.exists().then_some(()));
        fs::write(&told, "").unwrap();
        ok("ours")
    });
    let ran = run(
        &mut home.hook(&["claude", "statusline", "--", &command]),
        INPUT,
    );
    assert_eq!(ran.stdout, "both · ours\n");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_command_that_hangs_is_ended_with_all_it_started() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok("ours"));
    let pids = home.path("pids");
    let command = format!(
        "echo begun; sleep 600 & echo $! > {0}; echo $$ >> {0}; wait",
        pids.display()
    );
    let ran = run(
        &mut home.hook(&["claude", "statusline", "--", &command]),
        INPUT,
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "begun · ours\n"));
    for pid in fs::read_to_string(pids).unwrap().lines() {
        let pid = pid.parse().unwrap();
        crate::support::wait_for("end of the command", || {
            sm_client::Process::of(pid).is_none().then_some(())
        });
    }
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn something_left_behind_does_not_hold_the_line() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok("ours"));
    let pid = home.path("pid");
    let command = format!("sleep 600 & echo $! > {}; echo me", pid.display());
    let ran = run(
        &mut home.hook(&["claude", "statusline", "--", &command]),
        INPUT,
    );
    assert_eq!(ran.stdout, "me · ours\n");
    assert_eq!(server.asked().len(), 1);
    // It is the user's, so it lives on; this test started it, so this test ends it.
    let pid = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    sm_client::platform::signal_process(pid, 9).unwrap();
}
