//! Panes are made, found, started again and ended.

use crate::fixture::{Fixture, file_with, sh};
use sm_runtime::{Capture, Error, ExitStatus};

#[tokio::test]
async fn the_first_byte_is_logged_every_time() {
    let f = Fixture::new();
    for i in 0..60 {
        let log = f.path(&format!("log {i}%H#{{pane_id}}'"));
        let mut pane = f.pane(
            &format!("s{i}"),
            &format!("printf 'FIRST {i} LAST'; exec cat"),
        );
        pane.log_command = vec!["tee".into(), log.to_str().unwrap().into()];
        f.tmux.create(pane).await.unwrap();
        let logged = file_with(&log, |log| log.ends_with(b"LAST")).await;
        assert_eq!(logged, format!("FIRST {i} LAST").as_bytes());
    }
}

#[tokio::test]
async fn the_history_limit_applies_to_the_first_pane_of_a_new_server() {
    let f = Fixture::new();
    let mut pane = f.pane("a", "seq 5000; echo DONE; exec cat");
    pane.history_limit = Some(6000);
    let made = f.tmux.create(pane).await.unwrap();
    f.screen_with(made.pane, "DONE").await;
    let all = Capture {
        history_lines: 6000,
        ..Capture::default()
    };
    let screen = f.tmux.capture(made.pane, all).await.unwrap();
    assert_eq!(screen.history.first().map(String::as_str), Some("1"));
    assert_eq!(screen.mark.history, screen.history.len() as u64);
    let lines: Vec<_> = screen
        .history
        .iter()
        .chain(&screen.lines)
        .take(5000)
        .cloned()
        .collect();
    assert_eq!(lines, (1..=5000).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn fk_and_fk2_are_told_apart() {
    let f = Fixture::new();
    let fk2 = f.tmux.create(f.pane("fk2", "exec cat")).await.unwrap();
    let fk = f.tmux.create(f.pane("fk", "exec cat")).await.unwrap();
    f.tmux.kill_session(fk.session).await.unwrap();
    let names = || async {
        let panes = f.tmux.list().await.unwrap();
        panes
            .into_iter()
            .map(|pane| pane.session_name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["fk2"]);
    let again = f.tmux.kill_session(fk.session).await;
    assert!(matches!(again, Err(Error::NotFound(_))), "{again:?}");
    // A name that is the beginning of another one is nobody's.
    let argv = f.tmux.attach_argv("fk").unwrap();
    assert_eq!(argv.last().unwrap(), "=fk");
    assert_eq!(f.cli(&["has-session", "-t", "=fk"]), "");
    assert_eq!(
        f.tmux.rename_session(fk2.session, "fk.3").await.unwrap(),
        "fk_3"
    );
    assert_eq!(names().await, ["fk_3"]);
    f.tmux.kill_pane(fk2.pane).await.unwrap();
    assert_eq!(names().await, [""; 0]);
}

#[tokio::test]
async fn a_name_that_is_taken_says_so_and_changes_nothing() {
    let f = Fixture::new();
    let made = f.tmux.create(f.pane("a", "exec cat")).await.unwrap();
    let again = f.tmux.create(f.pane("a", "exec cat")).await;
    assert_eq!(again, Err(Error::NameTaken("a".into())));
    let hidden = f.tmux.create(f.pane("_sm", "exec cat")).await;
    assert_eq!(hidden, Err(Error::NameTaken("_sm".into())));
    let bad = f.tmux.create(f.pane("a:b", "exec cat")).await;
    assert_eq!(bad, Err(Error::BadName("a:b".into())));
    let panes = f.tmux.list().await.unwrap();
    assert_eq!(
        panes.iter().map(|pane| pane.pane).collect::<Vec<_>>(),
        [made.pane]
    );
}

#[tokio::test]
async fn arguments_and_directories_arrive_as_they_are() {
    let f = Fixture::new();
    let odd = [
        "",
        " ",
        ";",
        "a;",
        "\\;",
        "~",
        "~root",
        "$HOME",
        "${HOME}",
        "#{pane_id}",
        "#(id)",
        "##",
        "#[x]",
        "%H%M",
        "it's",
        "say \"hi\"",
        "back\\slash\\",
        "new\nline\n",
        "tab\tcr\resc\x1b",
        "\x01\x7f",
        "{ brace",
        "}",
        "é€漢😀",
        "-t",
        "--",
        "%if",
        "@x",
        "=y",
        "`id`",
        "a b",
        "!!",
        "*",
        "\u{85}",
    ];
    let out = f.path("out");
    let mut argv = vec!["sh", "-c", "printf '%s\\0' \"$@\" > \"$OUT\"", "sh"];
    let script = format!("printf '%s\\0' \"$PWD\" \"$@\" > {}", sh(&out));
    argv[2] = &script;
    argv.extend(odd);
    for (i, name) in [
        "plain",
        "#{pane_id}",
        "~$HOME ;'\"\\",
        "##[x",
        "%H#S",
        "é\n漢",
    ]
    .iter()
    .enumerate()
    {
        let cwd = f.path(name);
        std::fs::create_dir(&cwd).unwrap();
        let mut pane = f.pane_argv(&format!("s{i}"), &argv);
        pane.cwd = cwd.clone();
        f.tmux.create(pane).await.unwrap();
        let count = odd.len() + 1;
        let zeros = |bytes: &[u8]| bytes.iter().filter(|b| **b == 0).count();
        let bytes = file_with(&out, |bytes| zeros(bytes) == count).await;
        let text = String::from_utf8(bytes).unwrap();
        let mut words = text.split_terminator('\0');
        assert_eq!(words.next(), cwd.to_str());
        assert_eq!(words.collect::<Vec<_>>(), odd);
        std::fs::remove_file(&out).unwrap();
    }
}

#[tokio::test]
async fn a_single_word_is_a_program_and_not_a_shell_line() {
    let f = Fixture::new();
    let program = f.path("it's a; program");
    let out = f.path("out");
    std::fs::write(&program, format!("#!/bin/sh\necho ran $# > {}\n", sh(&out))).unwrap();
    let mut mode = std::fs::metadata(&program).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    f.tmux
        .create(f.pane_argv("a", &[program.to_str().unwrap()]))
        .await
        .unwrap();
    assert_eq!(file_with(&out, |out| !out.is_empty()).await, b"ran 0\n");
}

#[tokio::test]
async fn the_dead_are_kept_with_their_status() {
    let mut f = Fixture::new();
    let code = f.tmux.create(f.pane("code", "exit 3")).await.unwrap();
    let signal = f.tmux.create(f.pane("signal", "kill -9 $$")).await.unwrap();
    let missing = f
        .tmux
        .create(f.pane_argv("missing", &["/no/such/program", "x"]))
        .await
        .unwrap();
    for _ in 0..3 {
        f.event(|event| matches!(event, sm_runtime::RuntimeEvent::PaneDied { .. }))
            .await;
    }
    let panes = f.tmux.list().await.unwrap();
    let dead = |id| panes.iter().find(|pane| pane.pane == id).unwrap().dead;
    assert_eq!(
        dead(code.pane),
        Some(ExitStatus {
            code: Some(3),
            signal: None
        })
    );
    assert_eq!(
        dead(signal.pane),
        Some(ExitStatus {
            code: None,
            signal: Some(9)
        })
    );
    assert!(dead(missing.pane).unwrap().code.unwrap() != 0);
    let screen = f.tmux.capture(code.pane, Capture::default()).await.unwrap();
    assert_eq!(screen.dead, dead(code.pane));
}

#[tokio::test]
async fn a_respawned_pane_keeps_its_id_and_its_log() {
    let mut f = Fixture::new();
    let log = f.path("log");
    let log_command = vec![
        "tee".to_owned(),
        "-a".to_owned(),
        log.to_str().unwrap().to_owned(),
    ];
    let mut pane = f.pane("a", "printf 'ONE '");
    pane.log_command = log_command.clone();
    let made = f.tmux.create(pane).await.unwrap();
    f.event(|event| matches!(event, sm_runtime::RuntimeEvent::PaneDied { .. }))
        .await;
    let mut pids = vec![made.pid];
    for word in ["TWO", "THREE"] {
        let argv = ["sh", "-c", "printf \"$0 \"; exec cat", word].map(str::to_owned);
        let pid = f
            .tmux
            .respawn(made.pane, "/".as_ref(), &argv, &log_command)
            .await
            .unwrap();
        assert!(!pids.contains(&pid));
        pids.push(pid);
        file_with(&log, |log| String::from_utf8_lossy(log).contains(word)).await;
    }
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "ONE TWO THREE ");
}

#[tokio::test]
async fn panes_get_nothing_of_our_environment() {
    // The test runner's own variables stand for those of the shell that started the daemon.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let f = Fixture::new();
    let out = f.path("out");
    let script = format!("env > {0}.new; mv {0}.new {0}", sh(&out));
    f.tmux.create(f.pane("a", &script)).await.unwrap();
    let env = String::from_utf8(file_with(&out, |out| !out.is_empty()).await).unwrap();
    assert!(!env.contains("CARGO"), "{env}");
    assert!(
        env.contains("\nTERM=tmux-256color\n") || cfg!(target_os = "macos"),
        "{env}"
    );
}
