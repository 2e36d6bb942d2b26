//! Commands: what they put out, how they end, what is left of them.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Place, said};

/// Longer than anything here takes, shorter than what the commands themselves would.
const SOON: Duration = Duration::from_secs(30);

/// Waits until a process is no more (a zombie is no more).
async fn gone(pid: &str) {
    let since = Instant::now();
    while alive(pid) {
        assert!(since.elapsed() < SOON, "{pid} is still there");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.trim().starts_with('Z'))
}

/// The text of a file once it is there and not empty.
async fn written(path: &Path) -> String {
    let since = Instant::now();
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_string(),
            _ => assert!(since.elapsed() < SOON, "{} never came", path.display()),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_command_tells_its_output_and_its_end() {
    let place = Place::new().with("here", "");
    let table = [
        ("echo out; echo err >&2; ls", "out\nerr\nhere\n", false),
        ("true", "(no output)", false),
        ("echo no; exit 3", "no\n[exit code 3]", true),
        ("kill -9 $$", "(no output)\n[killed by signal 9]", true),
        ("no-such-command-here", "[exit code 127]", true),
        ("cat; echo end", "end\n", false),
        ("printf '\\033[31mred\\033[0m\\r\\n'", "red\n", false),
        ("printf '\\377\\376'", "\u{fffd}\u{fffd}", false),
        ("echo $TERM", "dumb\n", false),
    ];
    for (command, wanted, is_error) in table {
        let outcome = place.run("bash", json!({"command": command})).await;
        assert!(said(&outcome).ends_with(wanted), "{outcome:?}");
        assert_eq!(outcome.is_error, is_error, "{outcome:?}");
    }
}

#[tokio::test]
async fn output_is_shown_as_it_comes() {
    let place = Place::new();
    let mut shown = String::new();
    let mut seen = false;
    let go = place.cwd.join("go");
    let outcome = place
        .watch(
            "bash",
            json!({"command": "echo first; until [ -e go ]; do sleep 0.01; done; echo second"}),
            &mut |text| {
                shown.push_str(text);
                // The command waits for this: it is shown before the end.
                if text.contains("first") && !seen {
                    seen = true;
                    std::fs::write(&go, "").unwrap();
                }
            },
        )
        .await;
    assert_eq!(said(&outcome), "first\nsecond\n");
    assert_eq!(shown, "first\nsecond\n");
}

#[tokio::test]
async fn a_command_that_never_ends_is_ended_with_its_children() {
    let place = Place::new();
    let since = Instant::now();
    let outcome = place
        .run(
            "bash",
            json!({"command": "sleep 600 & echo $! > child; (set -m; sleep 600 & echo $! > own-group; wait) & echo started; wait", "timeout": 1}),
        )
        .await;
    assert!(since.elapsed() < SOON);
    assert!(outcome.is_error);
    let text = said(&outcome);
    assert!(
        text.starts_with("started\n[stopped after 1 seconds"),
        "{text}"
    );
    assert_eq!(outcome.details.unwrap()["timedOut"], true);
    for name in ["child", "own-group"] {
        gone(place.text(name).trim()).await;
    }
}

#[tokio::test]
async fn a_command_that_does_not_want_to_end_is_ended_too() {
    let place = Place::new();
    let outcome = place
        .run(
            "bash",
            json!({"command": "trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 1; done", "timeout": 1}),
        )
        .await;
    assert!(outcome.is_error);
    gone(place.text("pid").trim()).await;
}

#[tokio::test]
async fn cancelling_ends_it() {
    let place = Place::new();
    let token = place.cancel.clone();
    let pid = place.cwd.join("pid");
    let (outcome, ()) = tokio::join!(
        place.run(
            "bash",
            json!({"command": "echo $$ > pid; echo begun; sleep 600"})
        ),
        async {
            written(&pid).await;
            token.cancel();
        }
    );
    let text = said(&outcome);
    assert!(text.contains("[interrupted by the user]"), "{text}");
    gone(place.text("pid").trim()).await;
}

#[tokio::test]
async fn dropping_it_ends_it() {
    let place = Place::new();
    let pid = place.cwd.join("pid");
    tokio::select! {
        outcome = place.run("bash", json!({"command": "echo $$ > pid; sleep 600"})) => panic!("{outcome:?}"),
        _ = written(&pid) => {}
    }
    gone(place.text("pid").trim()).await;
}

#[tokio::test]
async fn what_was_left_in_the_background_goes_on_and_holds_nothing_up() {
    let place = Place::new();
    let since = Instant::now();
    let outcome = place
        .run(
            "bash",
            json!({"command": "(until [ -e go ]; do echo chatter; sleep 0.01; done; echo alive > proof) & echo $! > pid; echo started"}),
        )
        .await;
    assert!(since.elapsed() < SOON);
    assert!(!outcome.is_error);
    let text = said(&outcome);
    assert!(text.contains("started\n"), "{text}");
    assert!(text.contains("goes on running in the background"), "{text}");
    std::fs::write(place.cwd.join("go"), "").unwrap();
    assert_eq!(written(&place.cwd.join("proof")).await, "alive");
    gone(place.text("pid").trim()).await;
}

#[tokio::test]
async fn a_flood_is_kept_within_bounds() {
    let place = Place::new();
    let mut shown = 0;
    let outcome = place
        .watch(
            "bash",
            json!({"command": "yes 'all work and no play' | head -c 80000000; echo; echo the end"}),
            &mut |text| shown += text.len(),
        )
        .await;
    let text = said(&outcome);
    assert!(!outcome.is_error, "{text}");
    assert!(text.len() < 31_000, "{}", text.len());
    assert!(text.starts_with("all work"));
    assert!(text.ends_with("the end\n"));
    assert!(text.contains("; the first 50.0 MB are in "));
    assert!(shown < 40_000_000, "{shown}");
    let details = outcome.details.unwrap();
    let kept = details["fullOutputPath"].as_str().unwrap();
    assert_eq!(std::fs::metadata(kept).unwrap().len(), 50_000_000);
    assert!(kept.starts_with(place.outputs().to_str().unwrap()));
}

#[tokio::test]
async fn an_endless_flood_is_stopped() {
    let place = Place::new();
    let outcome = place
        .run(
            "bash",
            json!({"command": "echo $$ > pid; exec yes", "timeout": 1}),
        )
        .await;
    assert!(said(&outcome).contains("[stopped after 1 seconds"));
    gone(place.text("pid").trim()).await;
}

#[tokio::test]
async fn a_command_has_no_terminal() {
    let place = Place::new();
    let outcome = place
        .run(
            "bash",
            json!({"command": "stty -echo; (exec 3</dev/tty) 2>/dev/null && echo has one; tty"}),
        )
        .await;
    let text = said(&outcome);
    assert!(!text.contains("has one"), "{text}");
    assert!(text.contains("not a tty"), "{text}");
}

#[tokio::test]
async fn a_command_that_cannot_begin_is_explained() {
    let place = Place::new();
    for (command, wanted) in [
        (json!({"command": ""}), "must not be empty"),
        (json!({"command": "a\u{0}b"}), "zero byte"),
        (json!({"command": "x".repeat(4_000_000)}), "too long"),
        (
            json!({"command": "true", "timeout": -5}),
            "must be at least 1",
        ),
        (
            json!({"command": "true", "timeout": "soon"}),
            "must be a number",
        ),
    ] {
        let text = place.fails("bash", command).await;
        assert!(text.contains(wanted), "{text}");
    }
    std::fs::remove_dir(&place.cwd).unwrap();
    let text = place.fails("bash", json!({"command": "true"})).await;
    assert!(text.contains("is gone"), "{text}");
}
