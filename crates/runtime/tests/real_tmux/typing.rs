//! Keys and pastes reach the program exactly, or not at all.

use crate::fixture::{Fixture, file_with, sh};
use sm_runtime::{Capture, Error, Key, PaneId, ScreenMark, Typed};
use std::path::PathBuf;

/// A program that writes every byte it is given to a file, after having printed `hello`.
async fn recorder(f: &Fixture, name: &str, hello: &str) -> (PaneId, PathBuf) {
    let out = f.path(&format!("{name}.out"));
    let script = format!(
        "stty raw -echo; printf '{hello}READY'; exec cat > {}",
        sh(&out)
    );
    let made = f.tmux.create(f.pane(name, &script)).await.unwrap();
    f.screen_with(made.pane, "READY").await;
    (made.pane, out)
}

async fn mark(f: &Fixture, pane: PaneId) -> ScreenMark {
    f.tmux.capture(pane, Capture::default()).await.unwrap().mark
}

async fn wait_title(f: &Fixture, pane: PaneId, title: &str) {
    let deadline = std::time::Instant::now() + crate::fixture::PATIENCE;
    while mark(f, pane).await.title != title {
        assert!(std::time::Instant::now() < deadline, "no title {title:?}");
        tokio::task::yield_now().await;
    }
}

fn buffers(f: &Fixture) -> String {
    f.cli(&["list-buffers"])
}

#[tokio::test]
async fn texts_of_all_sizes_arrive_byte_for_byte() {
    let f = Fixture::new();
    let (pane, out) = recorder(&f, "a", "").await;
    let lines: String = (0..200)
        .map(|n| format!("line {n}; \"q\" 'q' $HOME ~ #{{x}} \\n é漢😀\n"))
        .collect();
    let megabyte: String = (0..1 << 20)
        .map(|n: u32| char::from(b' ' + (n % 95) as u8))
        .collect();
    let mut expected = Vec::new();
    for text in [
        "x",
        "/clear",
        "~",
        ";",
        "-t",
        "--",
        "\n",
        "a\tb",
        &lines,
        &lines.repeat(10),
        &megabyte,
    ] {
        assert_eq!(f.tmux.paste(pane, text, None).await, Ok(Typed::Done));
        expected.extend_from_slice(text.as_bytes());
        let got = file_with(&out, |got| got.len() >= expected.len()).await;
        assert!(got == expected, "{} bytes differ", text.len());
    }
    assert_eq!(f.tmux.paste(pane, "", None).await, Ok(Typed::Done));
    assert_eq!(buffers(&f), "");
    assert_eq!(
        f.cli(&["show-messages"]),
        "",
        "tmux must not remember what was pasted"
    );
}

#[tokio::test]
async fn nothing_inside_a_text_can_end_the_paste() {
    let f = Fixture::new();
    let (pane, out) = recorder(&f, "a", r"\033[?2004h").await;
    let text = "one\x1b[201~\rtwo\u{9b}201~\0three\r\nfour";
    assert_eq!(f.tmux.paste(pane, text, None).await, Ok(Typed::Done));
    let got = file_with(&out, |got| got.ends_with(b"\x1b[201~")).await;
    assert_eq!(
        String::from_utf8(got).unwrap(),
        "\x1b[200~one[201~\ntwo201~three\nfour\x1b[201~"
    );
}

#[tokio::test]
async fn keys_are_the_bytes_a_keyboard_sends() {
    let f = Fixture::new();
    let (pane, out) = recorder(&f, "a", "").await;
    let mut expected = Vec::new();
    for (key, bytes) in [
        (Key::Enter, "\r"),
        (Key::Escape, "\x1b"),
        (Key::Tab, "\t"),
        (Key::BackTab, "\x1b[Z"),
        (Key::Backspace, "\x7f"),
        (Key::Up, "\x1b[A"),
        (Key::Down, "\x1b[B"),
        (Key::Left, "\x1b[D"),
        (Key::Right, "\x1b[C"),
        (Key::CtrlC, "\x03"),
        (Key::CtrlD, "\x04"),
        (Key::CtrlS, "\x13"),
        (Key::CtrlU, "\x15"),
    ] {
        assert_eq!(f.tmux.press(pane, key, None).await, Ok(Typed::Done));
        expected.extend_from_slice(bytes.as_bytes());
        assert_eq!(
            file_with(&out, |got| got.len() >= expected.len()).await,
            expected,
            "{key:?}"
        );
    }
}

#[tokio::test]
async fn a_key_is_pressed_on_the_screen_that_was_looked_at_and_on_no_other() {
    let f = Fixture::new();
    let (pane, out) = recorder(&f, "a", r"\033]2;idle\007").await;
    wait_title(&f, pane, "idle").await;
    let seen = mark(&f, pane).await;
    assert_eq!(
        f.tmux.press(pane, Key::Enter, Some(&seen)).await,
        Ok(Typed::Done)
    );
    file_with(&out, |got| got == b"\r").await;
    let others = [
        ScreenMark {
            cursor_x: seen.cursor_x + 1,
            ..seen.clone()
        },
        ScreenMark {
            cursor_y: seen.cursor_y + 1,
            ..seen.clone()
        },
        ScreenMark {
            title: "idle ".into(),
            ..seen.clone()
        },
        ScreenMark {
            title: String::new(),
            ..seen.clone()
        },
        ScreenMark {
            history: seen.history + 1,
            ..seen.clone()
        },
        ScreenMark {
            alternate: true,
            ..seen.clone()
        },
    ];
    for other in &others {
        assert_eq!(
            f.tmux.press(pane, Key::Enter, Some(other)).await,
            Ok(Typed::ScreenMoved)
        );
        assert_eq!(
            f.tmux.paste(pane, "no", Some(other)).await,
            Ok(Typed::ScreenMoved)
        );
    }
    assert_eq!(buffers(&f), "");
    assert_eq!(
        f.tmux.paste(pane, "yes", Some(&seen)).await,
        Ok(Typed::Done)
    );
    file_with(&out, |got| got == b"\ryes").await;
}

#[tokio::test]
async fn titles_may_be_as_nasty_as_they_like() {
    let f = Fixture::new();
    let (pane, out) = recorder(&f, "a", "").await;
    let titles = [
        "a,b",
        "}",
        "#{pane_id}",
        "#{",
        "#",
        "##",
        "#,",
        "#}",
        "#[x]",
        "1",
        "0",
        "~",
        "$HOME",
        "%H:%M",
        "it's \"x\"",
        "\\",
        ";",
        "; kill-server",
        "✳ é漢😀",
        "#(touch /tmp/no)",
        "-",
        "--",
        " x ",
    ];
    let tty = f.cli(&[
        "display-message",
        "-p",
        "-t",
        &pane.to_string(),
        "#{pane_tty}",
    ]);
    for (count, title) in titles.into_iter().enumerate() {
        // Written to the terminal as the program in it would.
        std::fs::write(tty.trim(), format!("\x1b]2;{title}\x07")).unwrap();
        wait_title(&f, pane, title).await;
        let seen = mark(&f, pane).await;
        assert_eq!(
            f.tmux.press(pane, Key::Enter, Some(&seen)).await,
            Ok(Typed::Done),
            "{title:?}"
        );
        file_with(&out, |got| got.len() == count + 1).await;
        let other = ScreenMark {
            title: format!("{title}x"),
            ..seen
        };
        let pressed = f.tmux.press(pane, Key::Enter, Some(&other)).await;
        assert_eq!(pressed, Ok(Typed::ScreenMoved), "{title:?}");
    }
    assert_eq!(std::fs::read(&out).unwrap().len(), titles.len());
}

#[tokio::test]
async fn nothing_is_typed_into_copy_mode_or_a_dead_pane() {
    let f = Fixture::new();
    let (pane, out) = recorder(&f, "a", "").await;
    let seen = mark(&f, pane).await;
    f.cli(&["copy-mode", "-t", &pane.to_string()]);
    for guard in [None, Some(&seen)] {
        assert_eq!(
            f.tmux.press(pane, Key::Enter, guard).await,
            Ok(Typed::ScreenMoved)
        );
        assert_eq!(
            f.tmux.paste(pane, "no", guard).await,
            Ok(Typed::ScreenMoved)
        );
    }
    f.cli(&["send-keys", "-t", &pane.to_string(), "-X", "cancel"]);
    assert_eq!(
        f.tmux.press(pane, Key::Enter, Some(&seen)).await,
        Ok(Typed::Done)
    );
    file_with(&out, |got| got == b"\r").await;

    let dead = f.tmux.create(f.pane("b", "exit 0")).await.unwrap().pane;
    let deadline = std::time::Instant::now() + crate::fixture::PATIENCE;
    while f
        .tmux
        .capture(dead, Capture::default())
        .await
        .unwrap()
        .dead
        .is_none()
    {
        assert!(std::time::Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
    let seen = mark(&f, dead).await;
    for guard in [None, Some(&seen)] {
        let error = Err(Error::PaneDead(dead.to_string()));
        assert_eq!(f.tmux.press(dead, Key::Enter, guard).await, error);
        assert_eq!(f.tmux.paste(dead, "no", guard).await, error);
    }

    let nobody: PaneId = "%4711".parse().unwrap();
    for guard in [None, Some(&seen)] {
        let pressed = f.tmux.press(nobody, Key::Enter, guard).await;
        assert!(matches!(pressed, Err(Error::NotFound(_))), "{pressed:?}");
        let pasted = f.tmux.paste(nobody, "no", guard).await;
        assert!(matches!(pasted, Err(Error::NotFound(_))), "{pasted:?}");
    }
    assert_eq!(buffers(&f), "");
}
