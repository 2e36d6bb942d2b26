//! What shells complete: real ones, in a terminal, with the Tab key.

use crate::fake::{Fake, Home, Reply};
use serde_json::{Value, json};
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;
use std::path::Path;
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(60);

/// The answer of a daemon to whoever only looks.
fn daemon() -> Fake {
    let session = |name: &str, state: &str| json!({"name": name, "state": state, "id": name});
    Fake::new(move |request| {
        Reply::Json(
            200,
            match request.target.as_str() {
                "/sessions?all=true" => json!([
                    session("api", "idle"),
                    session("worker", "working"),
                    session("old-one", "exited"),
                ]),
                "/sessions/api/messages" => {
                    json!([{"id": "m7f1c2", "text": "fix the parser"}, {"id": "x1", "text": ""}])
                }
                target if target.starts_with("/handoffs") => {
                    json!([{"id": "h3aa01", "state": "done"}])
                }
                _ => Value::Null,
            },
        )
    })
}

/// Asks as bash does: the word that is completed is the last one.
fn asked(home: &Home, line: &[&str]) -> Vec<String> {
    let index = (line.len() - 1).to_string();
    let mut args = vec!["--"];
    args.extend(line);
    let output = home
        .sm(&args)
        .env("SM_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", index)
        .env("_CLAP_IFS", "\n")
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && errors.is_empty(),
        "{line:?}: {errors}"
    );
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines()
        .filter(|word| !word.starts_with('-'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn names_come_from_the_daemon() {
    let fake = daemon();
    for (line, expected) in [
        (&["sm", "show", ""][..], &["api", "worker", "old-one"][..]),
        (&["sm", "send", ""], &["api", "worker"]),
        (&["sm", "send", "w"], &["worker"]),
        (&["sm", "restore", ""], &["old-one"]),
        (&["sm", "kill", "old"], &["old-one"]),
        (&["sm", "new", "c"], &["claude", "codex"]),
        (&["sm", "queue", "rm", "api", ""], &["m7f1c2", "x1"]),
        (&["sm", "handoffs", "show", "h"], &["h3aa01"]),
    ] {
        assert_eq!(asked(&fake.home, line), expected, "{line:?}");
    }
    knows_models(&fake.home);
    assert_eq!(
        asked(&fake.home, &["sm", "agent", "--model", ""]),
        ["mine/qwen", "mine/other"]
    );
    assert_eq!(
        asked(&fake.home, &["sm", "agent", "--model", "othe"]),
        ["mine/other"]
    );
}

#[test]
fn without_a_daemon_nothing_is_offered_started_or_said() {
    let home = Home::new();
    assert_eq!(asked(&home, &["sm", "show", ""]), Vec::<String>::new());
    assert_eq!(asked(&home, &["sm", "sho"]), ["show"]);
    assert!(!home.state().exists(), "nothing is made");
    // One that listens and never answers is given up.
    std::fs::create_dir_all(home.state()).unwrap();
    let socket = home.state().join("sm.sock");
    let _listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
    assert_eq!(asked(&home, &["sm", "send", ""]), Vec::<String>::new());
}

fn knows_models(home: &Home) {
    let models = "model = \"mine/qwen\"\n[models.\"mine/other\"]\nwindow = 1_000\n";
    std::fs::create_dir_all(home.path().join("sm")).unwrap();
    std::fs::write(home.path().join("sm/agent.toml"), models).unwrap();
}

fn completes_in(shell: &str, setup: &str, argv: &[&str]) {
    if !Path::new("/usr/bin").join(shell).exists() && !Path::new("/bin").join(shell).exists() {
        eprintln!("skipped: {shell} is not installed");
        return;
    }
    let fake = daemon();
    knows_models(&fake.home);
    let sm = Path::new(env!("CARGO_BIN_EXE_sm"));
    let home = fake.home.path().to_string_lossy().into_owned();
    let env = [
        ("HOME", home.clone()),
        ("SM_HOME", format!("{home}/sm")),
        ("SM_BIN", "/bin/false".to_owned()),
        ("TERM", "screen".to_owned()),
        ("PS1", "ready> ".to_owned()),
        ("PROMPT", "ready> ".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value));
    let tmux = Tmux::new().unwrap();
    tmux.start("t", (120, 40), fake.home.path(), &env, argv)
        .unwrap();
    let sees = |what: &str| {
        let seen = wait_until(DEADLINE, || {
            tmux.screen("t").unwrap().contains(what).then_some(())
        });
        assert!(
            seen.is_some(),
            "{shell}: {what}:\n{}",
            tmux.screen("t").unwrap()
        );
    };
    let ready = wait_until(DEADLINE, || {
        (!tmux.screen("t").unwrap().trim().is_empty()).then_some(())
    });
    assert!(ready.is_some(), "{shell} shows nothing");
    // tmux gives every pane its client's PATH.
    let path = format!("{}:/usr/bin:/bin", sm.parent().unwrap().display());
    let typed = format!("export PATH={path}; {setup}; echo set''-up");
    tmux.type_text("t", &typed).unwrap();
    tmux.key("t", "Enter").unwrap();
    sees("\nset-up");
    for (typed, completed) in [
        ("sm sho", "sm show "),
        ("sm show ap", "sm show api "),
        ("sm send wor", "sm send worker "),
        ("sm restore ol", "sm restore old-one "),
        ("sm new cla", "sm new claude "),
        ("sm queue rm api m7", "sm queue rm api m7f1c2 "),
        ("sm handoffs show h3", "sm handoffs show h3aa01 "),
        ("sm agent --model mine/qw", "sm agent --model mine/qwen "),
    ] {
        tmux.key("t", "C-u").unwrap();
        tmux.type_text("t", typed).unwrap();
        sees(typed);
        tmux.key("t", "Tab").unwrap();
        // What is typed behind it shows that the word is whole.
        sees(completed.trim_end());
        tmux.type_text("t", "x").unwrap();
        sees(&format!("{completed}x"));
    }
}

#[test]
fn bash_completes() {
    let shell = ["bash", "--norc", "--noprofile", "-i"];
    completes_in("bash", "source <(sm completions bash)", &shell);
}

#[test]
fn zsh_completes() {
    let setup = "autoload -U compinit; compinit -u -D; source <(sm completions zsh)";
    completes_in("zsh", setup, &["zsh", "-f", "-i"]);
}

#[test]
fn fish_completes() {
    let shell = ["fish", "--no-config", "-i"];
    completes_in("fish", "sm completions fish | source", &shell);
}
