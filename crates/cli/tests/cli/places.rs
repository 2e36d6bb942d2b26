//! What is written to disk and taken away again: the service, the pages, everything.

use crate::fake::{Fake, Home, Ran, Reply, session};
use serde_json::json;
use std::fs;
use std::path::Path;

fn tree(dir: &Path) -> Vec<String> {
    let mut all: Vec<String> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .flat_map(|entry| {
            let path = entry.path();
            let mut below = if path.is_dir() && !path.is_symlink() {
                tree(&path)
            } else {
                Vec::new()
            };
            below.push(path.display().to_string());
            below
        })
        .collect();
    all.sort();
    all
}

#[cfg(target_os = "linux")]
#[test]
fn a_service_comes_and_goes_without_a_trace() {
    let home = Home::new();
    home.script("systemctl", "echo \"$@\" >> \"$HOME/asked\"");
    let sm = |args: &[&str], path: &Path| {
        let mut command = home.sm(args);
        command
            .env("PATH", path)
            .env("SM_BIN", env!("CARGO_BIN_EXE_sm"));
        Ran::from(command.output().unwrap())
    };
    let with = home.path().join("bin");
    let unit = home.path().join(".config/systemd/user/sm.service");
    sm(&["service", "install", "--dry-run"], &with)
        .exits(0)
        .says("KillMode=process");
    assert!(!unit.exists());
    sm(&["service", "install"], &with)
        .exits(0)
        .says("sm.service")
        .says("SM_HOME=");
    assert!(
        fs::read_to_string(&unit)
            .unwrap()
            .contains(" serve --foreground")
    );
    let asked = || fs::read_to_string(home.path().join("asked")).unwrap();
    assert_eq!(
        asked(),
        "--user daemon-reload\n--user enable --now sm.service\n"
    );
    // Again is the same.
    sm(&["service", "install"], &with).exits(0);
    sm(&["service", "remove"], &with).exits(0);
    assert!(asked().contains("--user disable --now sm.service"));
    assert!(
        !tree(&home.path().join(".config"))
            .iter()
            .any(|path| path.contains("sm."))
    );
    sm(&["service", "remove"], &with)
        .exits(0)
        .says("there is no service");

    // Without systemd: written, and said what to run.
    let without = home.path().join("empty");
    sm(&["service", "install"], &without)
        .exits(0)
        .says("cannot be reached here")
        .says("  systemctl --user enable --now sm.service");
    assert!(unit.exists());
    sm(&["service", "remove"], &without).exits(0);
    assert!(!unit.exists());

    // Somebody else's file is left alone.
    fs::create_dir_all(unit.parent().unwrap()).unwrap();
    fs::write(&unit, "[Service]\nExecStart=/bin/true\n").unwrap();
    for what in ["install", "remove"] {
        sm(&["service", what], &with)
            .exits(1)
            .complains("was not written by sm");
    }
    assert!(fs::read_to_string(&unit).unwrap().contains("/bin/true"));
}

#[test]
fn everything_of_an_instance_can_go() {
    let fake = Fake::new(|seen| match (seen.method.as_str(), seen.target.as_str()) {
        ("GET", _) => Reply::Json(
            200,
            json!([session("api", "idle"), session("done", "exited")]),
        ),
        ("DELETE", _) => Reply::Json(200, session("api", "exited")),
        _ => Reply::Last(200, json!({"ok": true})),
    });
    let sm_home = fake.home.path().join("sm");
    fs::create_dir_all(sm_home.join("data/sessions/api-id")).unwrap();
    fs::write(
        sm_home.join("data/sessions/api-id/terminal.000001.log"),
        "x",
    )
    .unwrap();
    fs::write(sm_home.join("state/sm.db"), "x").unwrap();
    // what sm run and sm's own agent leave is of this instance too
    for folder in [
        "state/runs/r1",
        "state/drafts",
        "data/agent/sessions/--src--",
    ] {
        fs::create_dir_all(sm_home.join(folder)).unwrap();
        fs::write(sm_home.join(folder).join("run.json"), "{}").unwrap();
    }
    fake.run(&["stop", "--purge"])
        .exits(1)
        .complains("nothing was removed");
    assert!(sm_home.join("state/sm.db").exists());
    fake.run(&["stop", "--purge", "--yes"])
        .exits(0)
        .says("all of it is removed");
    assert!(!sm_home.exists(), "{:?}", tree(&sm_home));
    let asked: Vec<(String, String)> = fake
        .seen()
        .into_iter()
        .filter(|seen| seen.method != "GET")
        .map(|seen| (seen.method, seen.target))
        .collect();
    assert_eq!(
        asked,
        [
            ("DELETE".to_owned(), "/sessions/api-id".to_owned()),
            ("POST".to_owned(), "/stop".to_owned())
        ]
    );
}

#[test]
fn what_is_not_ours_stays() {
    let fake = Fake::new(|seen| match seen.method.as_str() {
        "GET" => Reply::Json(200, json!([])),
        _ => Reply::Last(200, json!({"ok": true})),
    });
    let sm_home = fake.home.path().join("sm");
    fs::create_dir_all(sm_home.join("data/sessions")).unwrap();
    fs::write(sm_home.join("data/thesis.txt"), "years of work").unwrap();
    fs::write(sm_home.join("config.toml"), "").unwrap();
    fake.run(&["stop", "--purge", "--yes"])
        .exits(0)
        .says("thesis.txt")
        .says("your configuration stays");
    let left = tree(&sm_home);
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_run_that_goes_on_keeps_its_folder() {
    let fake = Fake::new(|seen| match seen.method.as_str() {
        "GET" => Reply::Json(200, json!([])),
        _ => Reply::Last(200, json!({"ok": true})),
    });
    let sm_home = fake.home.path().join("sm");
    let me = sm_client::process::Process::of(std::process::id()).unwrap();
    for (run, pid) in [("r1", me.pid), ("r2", u32::MAX)] {
        let folder = sm_home.join("state/runs").join(run);
        fs::create_dir_all(&folder).unwrap();
        let about = json!({"pid": pid, "start": me.start, "agent": "claude", "cwd": "/",
            "channel": "app", "generation": 1, "conversation": null, "transcript": null});
        fs::write(folder.join("run.json"), about.to_string()).unwrap();
    }
    let ran = fake.run(&["stop", "--purge", "--yes"]).exits(0);
    ran.says("an agent under sm run goes on").says("runs/r1");
    assert!(sm_home.join("state/runs/r1/run.json").exists());
    assert!(!sm_home.join("state/runs/r2").exists());
}

#[test]
fn a_stopped_daemon_is_not_started_by_hooks() {
    let fake = Fake::new(|_| Reply::Last(200, json!({"ok": true})));
    fake.run(&["stop"]).exits(0).says("the daemon is stopped");
    assert!(fake.home.state().join("stopped").exists());
}

#[test]
fn completions_and_pages_for_the_installer() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        home.run(&["completions", shell]).exits(0).says("sm");
    }
    home.run(&["man", "pages/man1"]).exits(0);
    for page in ["sm.1", "sm-send.1", "sm-queue-rm.1"] {
        let text = fs::read_to_string(home.path().join("pages/man1").join(page)).unwrap();
        assert!(text.contains(".TH"), "{page}");
    }
}
