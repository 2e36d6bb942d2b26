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
    // Samples must not crowd out events …
    assert_eq!(home.spooled().len(), 0);
}

#[test]
fn without_a_daemon_the_last_sample_of_the_session_is_kept() {
    let home = Home::new();
    let sample = |percent: u8| format!(r#"{{"context_window":{{"used_percentage":{percent}}}}}"#);
    for percent in [41, 42, 43] {
        // the time a hook has is not waited for: nobody listens
        let mut hook = home.hook(&["claude", "statusline", "--format", "{percent} of 100"]);
        hook.env("SM_HOOK_TIMEOUT_MS", "60000");
        let ran = run(&mut hook, sample(percent).as_bytes());
        assert_eq!(ran.stdout, format!("{percent} of 100\n"));
    }
    let spool = home.path("state/spool");
    let kept: Vec<_> = fs::read_dir(&spool)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let line = fs::read_to_string(&kept[0]).unwrap();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["body"], sample(43));
    assert_eq!(
        (&line["agent"], &line["event"]),
        (&"claude".into(), &"statusline".into())
    );
    // … and outside of a session they are nobody's.
    let other = Home::new();
    run(&mut other.command(&["claude", "statusline"]), INPUT);
    assert!(!other.path("state/spool").exists());
}

#[test]
fn the_form_of_the_line_goes_before_the_daemons_own() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok("31% ctx"));
    let args = [
        "claude",
        "statusline",
        "--format={percent} %",
        "--",
        "echo me",
    ];
    let ran = run(&mut home.hook(&args), INPUT);
    assert_eq!(ran.stdout, "me · 31 %\n");
    assert_eq!(server.asked().len(), 1, "it is told all the same");
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
