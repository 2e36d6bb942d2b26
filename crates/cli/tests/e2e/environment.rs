//! The agent runs as if started in the shell that ran `sm new`; what that shell keeps secret is
//! neither on disk nor on a command line.

use crate::world::{World, eventually, files, text};
use std::collections::BTreeMap;
use std::path::Path;

/// The environment a session's agent sees.
#[track_caller]
fn environment(world: &World, session: &str, name: &str) -> BTreeMap<String, String> {
    let out = world.env.project().join(name);
    // read from the agent itself: a shell between would add its own
    world.send_wait(
        session,
        &format!(
            "RUN: cp /proc/$PPID/environ {0}.new; mv {0}.new {0}",
            out.display()
        ),
    );
    eventually("the agent has told its environment", || out.exists());
    let bytes = std::fs::read(out).unwrap();
    String::from_utf8(bytes)
        .unwrap()
        .split_terminator('\0')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[track_caller]
fn is_nowhere(world: &World, secret: &str) {
    assert!(secret.len() > 8, "{secret:?}");
    let has = |bytes: &[u8]| bytes.windows(secret.len()).any(|w| w == secret.as_bytes());
    for file in files(world.env.sm_home()) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        assert!(!has(&bytes), "{} holds it", file.display());
    }
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let bytes = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        assert!(
            !has(&bytes),
            "ps shows it: {}",
            String::from_utf8_lossy(&bytes)
        );
    }
}

#[test]
fn the_agent_has_the_environment_of_the_shell_that_asked() {
    let mut world = World::new();
    // the daemon is started by another shell
    world.env.set("CANARY", "of-the-daemons-shell");
    world.env.set("ONLY_DAEMON", "1");
    world.sm(&["ls"]).exits(0);
    let canary = format!(
        "canary-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    );
    world.env.set("CANARY", canary.clone());
    world.env.set("LC_ALL", "C.UTF-8");
    world.env.set("MULTI", "two\nlines = \"and\" $more");
    world.env.set("EMPTY", "");
    let folder = world.env.project().join("deep er");
    std::fs::create_dir(&folder).unwrap();
    let mut command = world.env.sm().unwrap();
    command
        .args(["new", "claude", "--name", "api", "--detach"])
        .current_dir(&folder);
    // of another session and another terminal
    command
        .env("TMUX", "/tmp/other,1,0")
        .env("TMUX_PANE", "%77")
        .env("PWD", &folder);
    command.env_remove("ONLY_DAEMON");
    crate::world::Ran::from(command.output().unwrap()).exits(0);
    let session = world.ready("api");
    assert_eq!(text(&session["cwd"]), folder.to_string_lossy());
    let mut seen = environment(&world, "api", "first");
    let secret = seen.remove("SM_SESSION_SECRET").expect("its secret");
    assert_eq!(
        seen.remove("CLAUDE_SESSION_MANAGER_ID").unwrap(),
        text(&session["id"])
    );
    let tmux = seen.remove("TMUX").expect("its own terminal");
    assert!(
        Path::new(tmux.split(',').next().unwrap()).starts_with(world.env.sm_home()),
        "{tmux}"
    );
    assert_eq!(
        seen.remove("TMUX_PANE").unwrap(),
        text(&session["tmux"]["pane"])
    );
    assert_eq!(seen.remove("SM_HOOKS").as_deref(), Some("injected"));
    let term = seen.remove("TERM").expect("the kind of its terminal");
    assert!(
        term.starts_with("tmux") || term.starts_with("screen"),
        "{term}"
    );
    let mut asked: BTreeMap<String, String> = world.env.env().into_iter().collect();
    asked.remove("TERM");
    asked.remove("ONLY_DAEMON");
    asked.insert("PWD".into(), folder.to_string_lossy().into_owned());
    assert_eq!(seen, asked);
    let cwd = std::fs::read_link(format!("/proc/{}/cwd", session["pid"])).unwrap();
    assert_eq!(cwd, folder);
    for secret in [&canary, &secret] {
        is_nowhere(&world, secret);
    }
    world.kill_daemon();
    world.sm(&["ls"]).exits(0);
    assert!(!world.env.processes().is_empty());
    for secret in [&canary, &secret] {
        is_nowhere(&world, secret);
    }
}

#[test]
fn a_restored_session_has_the_environment_of_the_shell_that_restores() {
    let mut world = World::new();
    world.env.set("CANARY", "canary-before");
    world.agent("api");
    let before = environment(&world, "api", "before");
    world.wait_for("api", "idle");
    world.sm(&["kill", "api"]).exits(0);
    world.env.set("CANARY", "canary-after");
    world.sm(&["restore", "api", "--detach"]).exits(0);
    world.wait_for("api", "idle");
    let after = environment(&world, "api", "after");
    assert_eq!(
        (before["CANARY"].as_str(), after["CANARY"].as_str()),
        ("canary-before", "canary-after")
    );
    assert_eq!(
        before["CLAUDE_SESSION_MANAGER_ID"],
        after["CLAUDE_SESSION_MANAGER_ID"]
    );
    assert_ne!(
        before["SM_SESSION_SECRET"], after["SM_SESSION_SECRET"],
        "a new launch, a new secret"
    );
    is_nowhere(&world, "canary-before");
    is_nowhere(&world, "canary-after");
    // the secret of the launch before proves nothing any more
    let mut old = world.command(&["send", "api", "by the dead"]);
    old.env(
        "CLAUDE_SESSION_MANAGER_ID",
        &before["CLAUDE_SESSION_MANAGER_ID"],
    );
    old.env("SM_SESSION_SECRET", &before["SM_SESSION_SECRET"]);
    crate::world::Ran::from(old.output().unwrap()).exits(1);
}
