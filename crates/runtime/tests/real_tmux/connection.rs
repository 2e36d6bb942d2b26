//! The connection: its process, its loss, and that nothing of it reaches a pane.

use crate::fixture::{Fixture, PATIENCE, file_with, sh};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use sm_runtime::{Capture, Error, Key, RuntimeEvent};
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn client(f: &Fixture) -> Pid {
    let pids = f.cli(&["list-clients", "-t", "=_sm", "-F", "#{client_pid}"]);
    Pid::from_raw(pids.trim().parse().unwrap()).unwrap()
}

#[tokio::test]
async fn a_daemon_that_is_stopped_stalls_no_pane() {
    let f = Fixture::new();
    let (go, done) = (f.path("go"), f.path("done"));
    // 20 MB, with titles and another program's end on the way: all that is pushed to us.
    let script = format!(
        "while [ ! -e {0} ]; do :; done; i=0; while [ $i -lt 20 ]; do head -c 1000000 /dev/zero | tr '\\0' x; \
         printf '\\033]2;%s\\007' $i; i=$((i+1)); done; echo > {1}; exec cat",
        sh(&go),
        sh(&done)
    );
    let made = f.tmux.create(f.pane("a", &script)).await.unwrap();
    f.tmux
        .create(f.pane("b", &format!("while [ ! -e {} ]; do :; done", sh(&go))))
        .await
        .unwrap();
    let client = client(&f);
    kill_process(client, Signal::STOP).unwrap();
    std::fs::write(&go, "").unwrap();
    // This thread is the whole runtime: while it blocks here, nobody reads the connection.
    let deadline = Instant::now() + PATIENCE;
    while !done.exists() {
        assert!(Instant::now() < deadline, "the pane was stalled");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(client, Signal::CONT).unwrap();
    f.screen_with(made.pane, "xxx").await;
}

#[tokio::test]
async fn a_lost_connection_is_made_again_and_events_go_on() {
    let mut f = Fixture::new();
    let made = f.tmux.create(f.pane("a", "read x; exit 9")).await.unwrap();
    let first = client(&f);
    kill_process(first, Signal::KILL).unwrap();
    // Without being asked for anything.
    let deadline = Instant::now() + PATIENCE;
    loop {
        let clients = f.cli(&["list-clients", "-t", "=_sm", "-F", "#{client_pid}"]);
        if !clients.trim().is_empty() && clients.trim() != first.to_string() {
            break;
        }
        assert!(Instant::now() < deadline, "not joined again: {clients:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The end is told although it came over another connection.
    let _ = f.tmux.press(made.pane, Key::Enter, None).await.unwrap();
    let told = RuntimeEvent::PaneDied {
        pane: made.pane,
        code: Some(9),
        signal: None,
    };
    f.event(|event| *event == told).await;
}

#[tokio::test]
async fn no_process_of_ours_is_left_behind_and_the_server_goes_on() {
    let f = Fixture::new();
    let made = f.tmux.create(f.pane("a", "exec cat")).await.unwrap();
    let client = client(&f);
    f.tmux.close().await;
    assert!(
        test_kill_process(client).is_err(),
        "the client process is still there"
    );
    let panes = f.cli(&["list-panes", "-a", "-F", "#{pane_id}"]);
    assert!(
        panes.lines().any(|pane| pane == made.pane.to_string()),
        "{panes}"
    );
}

#[tokio::test]
async fn many_at_once_are_answered_each_with_its_own() {
    let f = Fixture::new();
    let mut panes = Vec::new();
    for i in 0..10 {
        panes.push(
            f.tmux
                .create(f.pane(&format!("s{i}"), &format!("echo I am {i}; exec cat")))
                .await
                .unwrap(),
        );
    }
    for (i, made) in panes.iter().enumerate() {
        f.screen_with(made.pane, &format!("I am {i}")).await;
    }
    let mut tasks = tokio::task::JoinSet::new();
    for round in 0..300 {
        let (tmux, i) = (f.tmux.clone(), round % panes.len());
        let pane = panes[i].pane;
        tasks.spawn(async move { (i, tmux.capture(pane, Capture::default()).await) });
    }
    while let Some(answered) = tasks.join_next().await {
        let (i, screen) = answered.unwrap();
        assert_eq!(screen.unwrap().lines[0], format!("I am {i}"));
    }
}

#[tokio::test]
async fn tmux_missing_or_too_old_says_what_to_install() {
    let f = Fixture::with(|config| config.program = PathBuf::from("/no/such/tmux"));
    let error = f.tmux.create(f.pane("a", "true")).await.unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error:?}");
    assert!(error.to_string().contains("install tmux"), "{error}");

    let mut old = PathBuf::new();
    let f = Fixture::with(|config| {
        let sm_runtime::Socket::Path(socket) = &config.socket else {
            unreachable!()
        };
        old = socket.with_file_name("tmux");
        std::fs::write(&old, "#!/bin/sh\necho tmux 3.1c\n").unwrap();
        let mut mode = std::fs::metadata(&old).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        std::fs::set_permissions(&old, mode).unwrap();
        config.program = old.clone();
    });
    let error = f.tmux.create(f.pane("a", "true")).await.unwrap_err();
    assert!(
        matches!(&error, Error::TooOld { found, .. } if found == "3.1c"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let f = Fixture::with(|config| {
        config.socket = sm_runtime::Socket::Path("/no/such/directory/s".into());
    });
    let error = f.tmux.create(f.pane("a", "true")).await.unwrap_err();
    assert!(
        matches!(&error, Error::Start(why) if why.contains("/no/such/directory/s: ") && why.ends_with("its directory does not exist")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_person_can_attach_gives_the_size_and_is_not_disturbed() {
    let mut f = Fixture::new();
    let shown = f
        .tmux
        .create(f.pane("shown", "echo HERE; exec cat"))
        .await
        .unwrap();
    let mut ends = f
        .tmux
        .create(f.pane("ends", "read x; exit 1"))
        .await
        .unwrap();
    // Another server is the person's terminal.
    let person = Fixture::new();
    let mut argv = vec!["env".to_owned(), "-u".into(), "TMUX".into()];
    argv.extend(
        f.tmux
            .attach_argv("shown")
            .unwrap()
            .into_iter()
            .map(|word| word.into_string().unwrap()),
    );
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let mut terminal = person.pane_argv("p", &words);
    (terminal.cols, terminal.rows) = (111, 33);
    let terminal = person.tmux.create(terminal).await.unwrap();
    person.screen_with(terminal.pane, "[shown]").await;
    let screen = f.screen_with(shown.pane, "HERE").await;
    assert_eq!((screen.cols, screen.rows), (111, 32));
    let _ = f.tmux.press(ends.pane, Key::Enter, None).await.unwrap();
    f.event(|event| matches!(event, RuntimeEvent::PaneDied { .. }))
        .await;
    ends = f.tmux.create(f.pane("more", "true")).await.unwrap();
    f.event(|event| matches!(event, RuntimeEvent::PaneDied { pane, .. } if *pane == ends.pane))
        .await;
    let screen = f
        .tmux
        .capture(shown.pane, Capture::default())
        .await
        .unwrap();
    assert!(!screen.in_mode);
    assert_eq!(screen.lines[0], "HERE");
    let seen = person.screen_with(terminal.pane, "HERE").await;
    assert!(
        seen.lines[32].starts_with("[shown]"),
        "{:?}",
        seen.lines[32]
    );
}

#[tokio::test]
async fn the_log_outlives_us() {
    let f = Fixture::new();
    let (log, go) = (f.path("log"), f.path("go"));
    let mut pane = f.pane(
        "a",
        &format!(
            "while [ ! -e {} ]; do :; done; echo later; exec cat",
            sh(&go)
        ),
    );
    pane.log_command = vec!["tee".into(), log.to_str().unwrap().into()];
    f.tmux.create(pane).await.unwrap();
    f.tmux.close().await;
    std::fs::write(&go, "").unwrap();
    file_with(&log, |log| log.starts_with(b"later")).await;
}
