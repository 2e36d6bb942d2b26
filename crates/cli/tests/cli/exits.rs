//! Exit codes, which are a contract, and what is said beside them.

use crate::fake::{Fake, Home, Ran, Reply, refusal, session};
use serde_json::json;

#[test]
fn wrong_usage_is_64_and_names_what_was_meant() {
    let home = Home::new();
    home.run(&["lss"]).exits(64).complains("'ls'");
    home.run(&["send"]).exits(64).complains("Usage: sm send");
    home.run(&["wait", "api", "--for", "asleep"])
        .exits(64)
        .complains("idle");
    home.run(&["--help"]).exits(0).says("Exit codes: 0 done");
    home.run(&["--version"]).exits(0).says("sm ");
    assert!(!home.state().exists(), "nothing is made by asking for help");
}

#[test]
fn a_refusal_is_1_in_the_daemons_words() {
    let fake = Fake::new(|_| {
        refusal(
            404,
            "there is no session apu\u{1b}[31m",
            "did you mean api?",
        )
    });
    let ran = fake.run(&["show", "apu"]).exits(1);
    assert_eq!(
        ran.err,
        "error: there is no session apu[31m\nhint: did you mean api?\n"
    );
    assert_eq!(ran.out, "");
}

#[test]
fn not_usable_is_2() {
    let home = Home::new();
    // It cannot be started: SM_BIN is /bin/false.
    home.run(&["ls"])
        .exits(2)
        .complains("the daemon ended as soon as it was started")
        .complains("sm doctor");
    // Nor where its place would be below a file.
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut below_a_file = home.sm(&["ls"]);
    below_a_file.env("SM_HOME", file.join("x"));
    Ran::from(below_a_file.output().unwrap())
        .exits(2)
        .complains("Not a directory")
        .complains("sm needs to write there");
    home.run(&["whoami"])
        .exits(2)
        .complains("not inside a session");
    home.run(&["children"]).exits(2);
    let no_terminal = Fake::new(|_| Reply::Json(200, session("api", "idle")));
    no_terminal
        .run(&["attach", "api"])
        .exits(2)
        .complains("sm output api");
    let mut homeless = home.sm(&["ls"]);
    homeless.env_remove("SM_HOME").env_remove("HOME");
    Ran::from(homeless.output().unwrap())
        .exits(2)
        .complains("set HOME");
    let no_tmux = Fake::new(|_| refusal(424, "tmux is not installed", "apt install tmux"));
    no_tmux
        .run(&["new", "claude"])
        .exits(2)
        .complains("hint: apt install tmux");
}

#[test]
fn a_daemon_of_another_version_is_told() {
    let fake = Fake::new(|_| Reply::Json(200, json!({"something": "else"})));
    fake.run(&["show", "api"])
        .exits(2)
        .complains("is not understood")
        .complains("sm stop");
}

#[test]
fn waiting_ends_with_0_1_or_3() {
    let fake = Fake::new(|seen| match seen.target.as_str() {
        "/sessions/api" => Reply::Json(200, session("api", "working")),
        target if target.contains("for=idle") => Reply::Json(200, session("api", "idle")),
        target if target.contains("for=exited") => Reply::Json(
            409,
            json!({"error": "api will not become exited: it is lost", "hint": "x",
                   "session": session("api", "lost")}),
        ),
        _ => Reply::Json(
            408,
            json!({"error": "still", "hint": "x", "session": session("api", "working")}),
        ),
    });
    fake.run(&["wait", "api", "--for", "idle"])
        .exits(0)
        .says("api is idle");
    fake.run(&["wait", "api", "--for", "waiting", "--timeout", "0"])
        .exits(3)
        .complains("api was not waiting within 0 s: it is working");
    fake.run(&["wait", "api", "--for", "waiting,idle"]).exits(0);
    fake.run(&["wait", "api", "--for", "exited"]).exits(1);
    let slices: Vec<String> = fake
        .seen()
        .into_iter()
        .filter(|seen| seen.target.contains("/wait"))
        .map(|seen| seen.target)
        .collect();
    // in between it is looked whether it waits for a person
    assert_eq!(slices[0], "/sessions/api-id/wait?for=idle&timeout_ms=2000");
}

#[test]
fn asking_how_it_is_starts_nothing() {
    let home = Home::new();
    home.run(&["status"])
        .exits(1)
        .complains("no daemon is running");
    home.run(&["stop"]).exits(0).says("no daemon is running");
    assert!(!home.state().exists());
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let many: Vec<_> = (0..2000)
        .map(|n| session(&format!("s{n}"), "idle"))
        .collect();
    let fake = Fake::new(move |_| Reply::Json(200, json!(many)));
    let mut child = fake
        .sm(&["ls", "--json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = Ran::from(child.wait_with_output().unwrap()).exits(0);
    assert_eq!(ran.err, "");
}
