//! What happens to panes is told, once, and soon.

use crate::fixture::{Fixture, file_with, sh};
use sm_runtime::{Error, RuntimeEvent};

#[tokio::test]
async fn titles_of_every_session_are_told() {
    let mut f = Fixture::new();
    let script =
        r"read x; printf '\033]2;%s\007' busy; read x; printf '\033]2;%s\007' ready; exec cat";
    let a = f.tmux.create(f.pane("a", script)).await.unwrap().pane;
    let b = f.tmux.create(f.pane("b", script)).await.unwrap().pane;
    for title in ["busy", "ready"] {
        for pane in [a, b] {
            let typed = f.tmux.press(pane, sm_runtime::Key::Enter, None).await;
            assert_eq!(typed, Ok(sm_runtime::Typed::Done));
            let told = RuntimeEvent::TitleChanged {
                pane,
                title: title.into(),
            };
            f.event(|event| *event == told).await;
        }
    }
}

#[tokio::test]
async fn ends_are_told_with_code_or_signal_and_closing_after_that() {
    let mut f = Fixture::new();
    let code = f
        .tmux
        .create(f.pane("code", "read x; exit 7"))
        .await
        .unwrap();
    let signal = f
        .tmux
        .create(f.pane("signal", "read x; kill -TERM $$"))
        .await
        .unwrap();
    let quick = f.tmux.create(f.pane("quick", "true")).await.unwrap();
    let died = |pane, code, signal| RuntimeEvent::PaneDied { pane, code, signal };
    let quick_died = died(quick.pane, Some(0), None);
    f.event(|event| *event == quick_died).await;
    for (made, told) in [
        (&code, died(code.pane, Some(7), None)),
        (&signal, died(signal.pane, None, Some(15))),
    ] {
        let _ = f
            .tmux
            .press(made.pane, sm_runtime::Key::Enter, None)
            .await
            .unwrap();
        f.event(|event| *event == told).await;
        f.tmux.kill_session(made.session).await.unwrap();
        let closed = RuntimeEvent::PaneClosed { pane: made.pane };
        let next = f
            .event(|event| {
                !matches!(
                    event,
                    RuntimeEvent::TitleChanged { .. } | RuntimeEvent::Resized { .. }
                )
            })
            .await;
        assert_eq!(next, closed);
    }
}

#[tokio::test]
async fn another_size_is_told() {
    let mut f = Fixture::new();
    let made = f.tmux.create(f.pane("a", "exec cat")).await.unwrap();
    f.event(|event| matches!(event, RuntimeEvent::Resized { .. }))
        .await;
    let pane = made.pane;
    for (cols, rows) in [(132, 50), (60, 12)] {
        let (x, y) = (cols.to_string(), rows.to_string());
        f.cli(&["resize-window", "-t", "=a:", "-x", &x, "-y", &y]);
        let told = RuntimeEvent::Resized { pane, cols, rows };
        f.event(|event| *event == told).await;
    }
    // A pane beside it takes from its width.
    f.cli(&["split-window", "-h", "-d", "-t", "=a:", "exec cat"]);
    let narrower = |event: &RuntimeEvent| matches!(event, RuntimeEvent::Resized { pane: told, cols, .. } if *told == pane && *cols < 60);
    f.event(narrower).await;
}

#[tokio::test]
async fn a_killed_pane_is_told_as_closed() {
    let mut f = Fixture::new();
    let made = f.tmux.create(f.pane("a", "exec cat")).await.unwrap();
    f.event(|event| matches!(event, RuntimeEvent::TitleChanged { .. }))
        .await;
    f.cli(&["kill-pane", "-t", &made.pane.to_string()]);
    f.event(|event| *event == RuntimeEvent::PaneClosed { pane: made.pane })
        .await;
}

#[tokio::test]
async fn a_server_that_is_gone_is_told_and_the_next_pane_starts_another() {
    let mut f = Fixture::new();
    assert_eq!(f.tmux.list().await, Err(Error::ServerGone));
    assert_eq!(f.tmux.server_alive().await, Ok(false));
    for round in 0..3 {
        let made = f.tmux.create(f.pane("a", "exec cat")).await.unwrap();
        assert_eq!(f.tmux.server_alive().await, Ok(true));
        if round == 1 {
            f.cli(&["kill-server"]);
        } else {
            let server = f.cli(&["display-message", "-p", "#{pid}"]);
            let pid = rustix::process::Pid::from_raw(server.trim().parse().unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        f.event(|event| *event == RuntimeEvent::ServerGone).await;
        assert_eq!(f.tmux.kill_pane(made.pane).await, Err(Error::ServerGone));
        assert_eq!(f.tmux.server_alive().await, Ok(false));
    }
    let out = f.path("out");
    f.tmux
        .create(f.pane("a", &format!("echo again > {}", sh(&out))))
        .await
        .unwrap();
    file_with(&out, |out| out == b"again\n").await;
    f.tmux.kill_server().await.unwrap();
    assert_eq!(f.tmux.server_alive().await, Ok(false));
    assert_eq!(
        f.event(|e| *e == RuntimeEvent::ServerGone).await,
        RuntimeEvent::ServerGone
    );
    assert_eq!(f.events.try_recv().ok(), None, "told once");
}

#[tokio::test]
async fn a_server_is_found_again_by_who_comes_later() {
    let mut f = Fixture::new();
    let made = f.tmux.create(f.pane("a", "read x; exit 4")).await.unwrap();
    f.tmux.close().await;
    assert_eq!(f.tmux.list().await, Err(Error::Closed));
    let (tmux, events) = sm_runtime::Tmux::new(f.tmux.config().clone());
    (f.tmux, f.events) = (tmux, events);
    assert_eq!(f.tmux.list().await.unwrap()[0].pane, made.pane);
    let _ = f
        .tmux
        .press(made.pane, sm_runtime::Key::Enter, None)
        .await
        .unwrap();
    let told = RuntimeEvent::PaneDied {
        pane: made.pane,
        code: Some(4),
        signal: None,
    };
    assert_eq!(f.event(|_| true).await, told);
}

#[tokio::test]
async fn of_many_that_end_at_once_every_code_is_told() {
    let mut f = Fixture::new();
    let go = f.path("go");
    let mut expected = std::collections::HashMap::new();
    for code in 1..=40 {
        let script = format!(
            "while [ ! -e {} ]; do sleep 0.01; done; exit {code}",
            sh(&go)
        );
        let made = f
            .tmux
            .create(f.pane(&format!("s{code}"), &script))
            .await
            .unwrap();
        expected.insert(made.pane, code);
    }
    std::fs::write(&go, "").unwrap();
    while !expected.is_empty() {
        let event = f
            .event(|event| matches!(event, RuntimeEvent::PaneDied { .. }))
            .await;
        let RuntimeEvent::PaneDied { pane, code, signal } = event else {
            unreachable!()
        };
        assert_eq!((expected.remove(&pane), None), (code, signal));
    }
}
