//! The server outlives us: nothing that we do, and no way in which we end or are slow, takes it and
//! the sessions in it along; and one that is only slow or hard to reach is never called gone.

use crate::fixture::{Fixture, PATIENCE, sh};
use rustix::process::{Pid, Signal, kill_process};
use sm_runtime::{Capture, Error, Key, Tmux};
use std::io::BufRead;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// One that has just left may still be among them.
fn clients(f: &Fixture) -> Vec<Pid> {
    let pids = f.cli(&["list-clients", "-t", "=_sm", "-F", "#{client_pid}"]);
    pids.lines()
        .map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap())
        .collect()
}

fn signal_clients(f: &Fixture, signal: Signal) {
    for client in clients(f) {
        // It may have ended meanwhile.
        let _ = kill_process(client, signal);
    }
}

fn server(f: &Fixture) -> String {
    f.cli(&["display-message", "-p", "#{pid}"])
}

/// Until it says something else than that the connection is on its way.
async fn list(tmux: &Tmux) -> Result<usize, Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match tmux.list().await {
            Err(Error::ConnectionLost) if Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            other => return other.map(|panes| panes.len()),
        }
    }
}

#[tokio::test]
async fn killing_the_hidden_session_kills_no_other_however_slow_we_are() {
    let f = Fixture::new();
    f.tmux.create(f.pane("a", "exec cat")).await.unwrap();
    let server_pid = server(&f);
    let slow = clients(&f);
    assert_eq!(slow.len(), 1);
    kill_process(slow[0], Signal::STOP).unwrap();
    // As `kill-session -a` by a person in another session does.
    f.cli(&["kill-session", "-t", "=_sm"]);
    // tmux looks at what was subscribed to once a second: by its own clock, twice.
    f.cli(&["run-shell", "-d", "2", "true"]);
    assert_eq!(server(&f), server_pid, "the server died");
    kill_process(slow[0], Signal::CONT).unwrap();
    assert_eq!(list(&f.tmux).await, Ok(1));
    assert_eq!(server(&f), server_pid);
}

#[tokio::test]
async fn clients_that_end_at_any_moment_leave_the_server_alone() {
    const ROUNDS: u32 = 12;
    let mut f = Fixture::new();
    let busy = "while :; do printf '\\033]2;%s\\007' $((i=i+1)); sleep 0.02; done";
    let kept = f.tmux.create(f.pane("kept", busy)).await.unwrap();
    let server_pid = server(&f);
    for round in 0..ROUNDS {
        let mut under_way = tokio::task::JoinSet::new();
        for one in 0..6 {
            let tmux = f.tmux.clone();
            let mut pane = f.pane(&format!("s{round}-{one}"), "sleep 0.0$$; exit 3");
            pane.log_command = ["sh", "-c", "head -c 1"].map(str::to_owned).to_vec();
            under_way.spawn(async move {
                // Whatever comes of it: the connection is cut on the way.
                let Ok(made) = tmux.create(pane).await else {
                    return;
                };
                let seen = tmux.capture(made.pane, Capture::default()).await;
                let mark = seen.ok().map(|screen| screen.mark);
                let _ = tmux.paste(made.pane, "some text", mark.as_ref()).await;
                let _ = tmux.press(made.pane, Key::Enter, mark.as_ref()).await;
                let _ = tmux.kill_session(made.session).await;
            });
        }
        match round % 3 {
            0 => {
                let _ = under_way.join_next().await;
                signal_clients(&f, Signal::KILL);
            }
            1 => f.tmux.close().await,
            _ => {
                let _ = under_way.join_next().await;
                under_way.abort_all();
            }
        }
        while under_way.join_next().await.is_some() {}
        // The next daemon.
        let (tmux, events) = Tmux::new(f.tmux.config().clone());
        (f.tmux, f.events) = (tmux, events);
    }
    assert!(list(&f.tmux).await.is_ok_and(|panes| panes > 0));
    assert_eq!(server(&f), server_pid, "the server died");
    f.tmux.capture(kept.pane, Capture::default()).await.unwrap();
}

/// A client of the daemon before, as it would be left by it.
fn predecessor(f: &Fixture) -> std::process::Child {
    let mut child = std::process::Command::new("tmux")
        .arg("-S")
        .arg(&f.socket)
        .args(["-N", "-C", "attach-session", "-t", "=_sm"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = child.stdout.take().unwrap();
    let attached = std::io::BufReader::new(stdout)
        .lines()
        .any(|line| line.unwrap().starts_with("%session-changed"));
    assert!(attached);
    child
}

#[tokio::test]
async fn a_daemon_that_comes_while_the_client_of_the_last_one_leaves_does_not_meet_it() {
    const ROUNDS: u64 = 40;
    let mut f = Fixture::new();
    f.tmux.create(f.pane("a", "exec cat")).await.unwrap();
    let server_pid = server(&f);
    for round in 0..ROUNDS {
        f.tmux.close().await;
        let mut last = predecessor(&f);
        let (tmux, events) = Tmux::new(f.tmux.config().clone());
        (f.tmux, f.events) = (tmux, events);
        let coming = tokio::spawn({
            let tmux = f.tmux.clone();
            async move { tmux.list().await.map(|panes| panes.len()) }
        });
        // The moments at which one would introduce itself, one after the other.
        tokio::time::sleep(Duration::from_micros(round * 300)).await;
        drop(last.stdin.take());
        assert_eq!(coming.await.unwrap(), Ok(1), "round {round}");
        assert!(last.wait().unwrap().success());
    }
    assert_eq!(server(&f), server_pid, "the server died");
}

#[tokio::test]
async fn a_client_that_a_killed_daemon_left_behind_is_ended() {
    let mut f = Fixture::new();
    f.tmux.create(f.pane("a", "exec cat")).await.unwrap();
    let server_pid = server(&f);
    f.tmux.close().await;
    // What is told to nobody keeps a client whose output nobody reads: it never leaves by itself.
    let mut left = predecessor(&f);
    let mut stdin = left.stdin.take().unwrap();
    let many = "list-panes -a\n".repeat(100);
    std::io::Write::write_all(&mut stdin, many.as_bytes()).unwrap();
    drop(stdin);
    // The process that it was of is gone.
    let mut nobody = std::process::Command::new("true").spawn().unwrap();
    nobody.wait().unwrap();
    f.cli(&["set-option", "-s", "@sm_owner", &nobody.id().to_string()]);
    let (tmux, events) = Tmux::new(f.tmux.config().clone());
    (f.tmux, f.events) = (tmux, events);
    assert_eq!(f.tmux.list().await.map(|panes| panes.len()), Ok(1));
    assert_eq!(clients(&f).len(), 1, "it is still there");
    left.wait().unwrap();
    assert_eq!(server(&f), server_pid, "the server died");
}

#[tokio::test]
async fn a_size_option_that_a_server_cannot_bear_does_no_harm() {
    let f = Fixture::with(|config| {
        let sm_runtime::Socket::Path(socket) = &config.socket else {
            unreachable!()
        };
        let file = socket.with_file_name("conf");
        std::fs::write(&file, "set -g window-size manual\n").unwrap();
        config.config = Some(file);
    });
    f.tmux.create(f.pane("a", "exec cat")).await.unwrap();
    let server_pid = server(&f);
    f.cli(&["set-option", "-g", "window-size", "manual"]);
    f.tmux.create(f.pane("b", "exec cat")).await.unwrap();
    assert_eq!(server(&f), server_pid, "the server died");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_not_called_gone() {
    let mut broken = std::path::PathBuf::new();
    let mut f = Fixture::with(|config| {
        let sm_runtime::Socket::Path(socket) = &config.socket else {
            unreachable!()
        };
        broken = socket.with_file_name("broken");
        let program = socket.with_file_name("tmux");
        let script = format!(
            "#!/bin/sh\ncase \" $* \" in *' -C '*) [ -e {} ] && exit 1;; esac\nexec tmux \"$@\"\n",
            sh(&broken)
        );
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        config.program = program;
    });
    let made = f.tmux.create(f.pane("a", "exec cat")).await.unwrap();
    while f.events.try_recv().is_ok() {}
    std::fs::write(&broken, "").unwrap();
    signal_clients(&f, Signal::KILL);
    // The server may have read a question before it noticed.
    let deadline = Instant::now() + PATIENCE;
    let said = loop {
        match f.tmux.list().await {
            Ok(_) if Instant::now() < deadline => {}
            other => break other,
        }
    };
    assert_eq!(said, Err(Error::ConnectionLost));
    assert_eq!(f.tmux.server_alive().await, Err(Error::ConnectionLost));
    // A new daemon knows no more than that either.
    let (fresh, _events) = Tmux::new(f.tmux.config().clone());
    assert_eq!(fresh.list().await, Err(Error::ConnectionLost));
    std::fs::remove_file(&broken).unwrap();
    assert_eq!(list(&f.tmux).await, Ok(1));
    f.tmux.kill_pane(made.pane).await.unwrap();
    let closed = sm_runtime::RuntimeEvent::PaneClosed { pane: made.pane };
    let first = f
        .event(|event| *event == closed || matches!(event, sm_runtime::RuntimeEvent::ServerGone))
        .await;
    assert_eq!(first, closed);
}

#[tokio::test]
async fn a_socket_for_which_there_is_no_place_is_refused_before_a_server_dies_of_it() {
    let long = format!("/tmp/{}/s", "x".repeat(120));
    let f = Fixture::with(|config| config.socket = sm_runtime::Socket::Path(long.into()));
    let error = f.tmux.create(f.pane("a", "true")).await.unwrap_err();
    assert!(matches!(&error, Error::Start(why) if why.contains("its directory")));
    let dir = tempfile::Builder::new()
        .prefix(&"y".repeat(110))
        .tempdir_in("/tmp")
        .unwrap();
    let socket = sm_runtime::Socket::Path(dir.path().join("s"));
    let f = Fixture::with(|config| config.socket = socket);
    let error = f.tmux.create(f.pane("a", "true")).await.unwrap_err();
    assert!(matches!(&error, Error::Start(why) if why.ends_with("too long for a socket")));
}
