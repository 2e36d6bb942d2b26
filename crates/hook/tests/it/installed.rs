//! The program out of the user's own settings: it speaks only where no hook came with the launch.

use std::process::Command;

use crate::support::{Home, Server, ok, run};

const INPUT: &[u8] = br#"{"context_window":{"used_percentage":31}}"#;

fn injected(mut command: Command) -> Command {
    command.env("SM_HOOKS", "injected");
    command
}

#[test]
fn beside_a_hook_of_the_launch_it_says_nothing() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok("answer"));
    for args in [
        ["claude", "Stop", "--installed"],
        ["claude", "Stop", "--installed=file"],
        ["claude", "mailbox", "--installed"],
        ["codex", "SessionStart", "--installed=line-end"],
    ] {
        let ran = run(&mut injected(home.hook(&args)), INPUT);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{args:?}");
    }
    assert_eq!(server.asked().len(), 0);
    // That of the launch has no mark, and is heard.
    let ran = run(&mut injected(home.hook(&["claude", "Stop"])), INPUT);
    assert_eq!(ran.stdout, "answer");
    // What follows two dashes is no mark.
    let line = ["claude", "statusline", "--", "echo --installed"];
    let ran = run(&mut injected(home.hook(&line)), INPUT);
    assert_eq!(ran.stdout, "--installed · answer\n");
    assert_eq!(server.asked().len(), 2);
    drop(server);
    assert_eq!(home.spooled().len(), 0);
}

#[test]
fn alone_in_a_session_it_is_heard() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok("answer"));
    let ran = run(
        &mut home.hook(&["claude", "Stop", "--installed=event"]),
        INPUT,
    );
    assert_eq!(ran.stdout, "answer");
    assert_eq!(server.wait_asked(1).path, "/hooks/claude/Stop");
}

#[test]
fn the_users_status_line_is_shown_in_a_session_and_outside() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok("from the daemon"));
    let args = [
        "claude",
        "statusline",
        "--installed",
        "--was",
        "\"echo me\"",
        "--",
        "echo me",
    ];
    for (mut command, expected) in [
        (home.hook(&args), "me · from the daemon\n"),
        (injected(home.hook(&args)), "me · 31% ctx\n"),
        (home.command(&args), "me · 31% ctx\n"),
    ] {
        let ran = run(&mut command, INPUT);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), expected));
    }
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn outside_of_a_session_it_is_silent() {
    let home = Home::new();
    let server = Server::start(&home, |_| ok("answer"));
    for word in ["Stop", "mailbox", "UserPromptSubmit"] {
        let ran = run(&mut home.command(&["claude", word, "--installed"]), INPUT);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(0), "", "")
        );
    }
    assert_eq!(server.asked().len(), 0);
    drop(server);
    assert_eq!(home.spooled().len(), 0);
}
