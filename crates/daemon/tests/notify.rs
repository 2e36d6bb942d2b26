//! `notify.command`, run for real.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::time::{Duration, Instant};

use sm_core::{Notice, NoticeKind};
use sm_daemon::config::Config;
use sm_daemon::notify::{Outcome, notify, notify_within};

fn config(command: &[&str]) -> Config {
    let mut config = Config::default();
    config.notify.command = command.iter().map(ToString::to_string).collect();
    config
}

fn notice(text: &str) -> Notice {
    Notice {
        kind: NoticeKind::PersonNeeded,
        text: text.into(),
    }
}

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

#[tokio::test]
async fn nothing_is_run_without_a_command() {
    let outcome = notify(&Config::default(), "a1", "api", &notice("x")).await;
    assert_eq!(outcome, Outcome::Off);
}

#[tokio::test]
async fn the_command_gets_text_kind_and_session() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let script = r#"printf '%s|%s|%s|%s|%s' "$2" "$SM_NOTICE_KIND" "$SM_NOTICE_TEXT" "$SM_SESSION_ID" "$SM_SESSION_NAME" > "$1""#;
    let config = config(&["sh", "-c", script, "sh", path(&out)]);
    let text = "api waits: \"rm -rf $HOME\"; $(id) \u{1b}[31mü\0";
    let outcome = notify(&config, "a1", "api", &notice(text)).await;
    assert_eq!(outcome, Outcome::Told);
    let plain = "api waits: \"rm -rf $HOME\"; $(id) [31mü";
    assert_eq!(
        std::fs::read_to_string(&out).unwrap(),
        format!("{plain}|person_needed|{plain}|a1|api")
    );
}

#[tokio::test]
async fn a_failure_says_what_the_command_said() {
    let failing = config(&["sh", "-c", "echo no display >&2; exit 3"]);
    let Outcome::Failed(why) = notify(&failing, "a1", "api", &notice("x")).await else {
        panic!("it should have failed");
    };
    assert!(why.contains('3') && why.contains("no display"), "{why}");
    let missing = config(&["/nowhere/at/all"]);
    let Outcome::Failed(why) = notify(&missing, "a1", "api", &notice("x")).await else {
        panic!("it should have failed");
    };
    assert!(why.contains("cannot be started"), "{why}");
}

#[tokio::test]
async fn much_output_and_a_background_process_hold_nothing_up() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    // The background process keeps stderr open.
    let script = r#"head -c 1000000 /dev/zero >&2; sleep 600 & echo $! > "$1"; exit 0"#;
    let config = config(&["sh", "-c", script, "sh", path(&pid_file)]);
    let outcome = notify(&config, "a1", "api", &notice("x")).await;
    assert_eq!(outcome, Outcome::Told);
    let pid: i32 = std::fs::read_to_string(&pid_file)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    // It was left alone; it is ours to end.
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn what_does_not_end_is_ended_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    // The child and its own child hold the pipe's writing end for as long as they live.
    let script = r#"exec 3>"$1"; echo started >&3; sleep 600 & wait"#;
    let config = config(&["sh", "-c", script, "sh", path(&fifo)]);
    let reader = std::thread::spawn({
        let fifo = fifo.clone();
        move || std::fs::read_to_string(fifo).unwrap()
    });
    let outcome = notify_within(Duration::from_secs(1), &config, "a1", "api", &notice("x")).await;
    let Outcome::Failed(why) = outcome else {
        panic!("it should have been ended");
    };
    assert!(why.contains("ended after"), "{why}");
    // The pipe's end comes only when all of them are gone.
    let deadline = Instant::now() + Duration::from_secs(20);
    while !reader.is_finished() {
        assert!(Instant::now() < deadline, "something of it still lives");
        tokio::task::yield_now().await;
    }
    assert_eq!(reader.join().unwrap(), "started\n");
}
