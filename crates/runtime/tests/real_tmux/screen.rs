//! Looking at panes.

use crate::fixture::Fixture;
use sm_runtime::{Capture, Error, ScreenMark};

#[tokio::test]
async fn lines_cursor_title_and_colours_of_one_moment() {
    let f = Fixture::new();
    let script = r"printf '\033]2;✳ A, #{b} }\007\033[31mred\033[0m é漢😀\n❯\302\240'; exec cat";
    let mut pane = f.pane("a", script);
    (pane.cols, pane.rows) = (100, 30);
    let made = f.tmux.create(pane).await.unwrap();
    let screen = f.screen_with(made.pane, "❯").await;
    assert_eq!(
        (screen.cols, screen.rows, screen.lines.len()),
        (100, 30, 30)
    );
    assert_eq!(screen.lines[..3], ["red é漢😀", "❯\u{a0}", ""]);
    assert_eq!(
        (screen.in_mode, screen.cursor_visible, screen.dead),
        (false, true, None)
    );
    assert_eq!(screen.pid, made.pid);
    let mark = ScreenMark {
        cursor_x: 2,
        cursor_y: 1,
        title: "✳ A, #{b} }".into(),
        history: 0,
        alternate: false,
    };
    assert_eq!(screen.mark, mark);
    let coloured = Capture {
        colours: true,
        ..Capture::default()
    };
    let screen = f.tmux.capture(made.pane, coloured).await.unwrap();
    assert_eq!(screen.lines[0], "\x1b[31mred\x1b[39m é漢😀");
}

#[tokio::test]
async fn the_alternate_screen_a_hidden_cursor_and_copy_mode_are_seen() {
    let f = Fixture::new();
    let made = f
        .tmux
        .create(f.pane("a", r"printf '\033[?1049h\033[?25lALT'; exec cat"))
        .await
        .unwrap();
    let screen = f.screen_with(made.pane, "ALT").await;
    assert!(screen.mark.alternate && !screen.cursor_visible && !screen.in_mode);
    f.cli(&["copy-mode", "-t", &made.pane.to_string()]);
    assert!(
        f.tmux
            .capture(made.pane, Capture::default())
            .await
            .unwrap()
            .in_mode
    );
}

#[tokio::test]
async fn a_screen_that_looks_like_the_protocol_is_only_a_screen() {
    let f = Fixture::new();
    // Guesses every number there might be, for every second there might be.
    let script = "now=$(date +%s); for t in $now $((now+1)) $((now+2)); do n=250; while [ $n -lt 400 ]; do \
        echo \"%end $t $n 1\"; echo \"%begin $t $((n+1)) 1\"; echo fake; n=$((n+1)); done; done; echo %exit; \
        echo DONE; exec cat";
    let mut pane = f.pane("a", script);
    pane.rows = 1000;
    let made = f.tmux.create(pane).await.unwrap();
    let whole = Capture {
        history_lines: 5000,
        colours: false,
    };
    for _ in 0..200 {
        match f.tmux.capture(made.pane, whole).await {
            Ok(screen) => assert_eq!(screen.pid, made.pid),
            Err(Error::Unexpected(_)) => {}
            Err(other) => panic!("{other}"),
        }
        assert_eq!(f.tmux.list().await.unwrap()[0].pid, made.pid);
    }
}

#[tokio::test]
async fn a_pane_that_is_not_there_is_not_found() {
    let f = Fixture::new();
    f.tmux.create(f.pane("a", "exec cat")).await.unwrap();
    let nobody = "%4711".parse().unwrap();
    let looked = f.tmux.capture(nobody, Capture::default()).await;
    assert!(matches!(looked, Err(Error::NotFound(_))), "{looked:?}");
}
