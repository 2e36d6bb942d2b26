//! With the real daemon: started by itself, stopped, gone without a trace.

use crate::fake::{Home, Ran};

/// A home in which the real daemon may be started; nothing of it stays.
struct Real(Home);

impl Real {
    fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.0.sm(args);
        command
            .env("SM_BIN", env!("CARGO_BIN_EXE_sm"))
            .env("SM_PORT", "0");
        Ran::from(command.output().unwrap())
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        self.run(&["stop", "--purge", "--yes"]);
    }
}

#[test]
fn the_daemon_comes_when_it_is_needed_and_goes_when_it_is_told() {
    let real = Real(Home::new());
    real.run(&["status"]).exits(1);
    let listed = real.run(&["ls", "--json"]).exits(0);
    assert_eq!(listed.json(), serde_json::json!([]));
    let status = real.run(&["status", "--json"]).exits(0).json();
    assert_eq!(status["sessions"], 0);
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    real.run(&[]).exits(0).says("No sessions yet.");
    real.run(&["show", "nobody"]).exits(1).complains("nobody");
    real.run(&["gc"]).exits(0);
    real.run(&["stop"]).exits(0).says("the daemon is stopped");
    real.run(&["status"])
        .exits(1)
        .complains("somebody said `sm stop`");
    // A person asks again: it is there again.
    real.run(&["ls"]).exits(0);
    real.run(&["status"]).exits(0);
    real.run(&["stop", "--purge", "--yes"]).exits(0);
    assert!(!real.0.path().join("sm").exists());
}

#[test]
fn a_daemon_that_nobody_can_reach_makes_way() {
    let real = Real(Home::new());
    real.run(&["ls"]).exits(0);
    let first = real.run(&["status", "--json"]).exits(0).json();
    std::fs::remove_file(first["socket"].as_str().unwrap()).unwrap();
    // as long as the old one has the lock, a command may still be told so
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while real.run(&["ls"]).code != Some(0) {
        assert!(std::time::Instant::now() < until, "it keeps the lock");
    }
    let second = real.run(&["status", "--json"]).exits(0).json();
    assert_ne!(first["pid"], second["pid"]);
}

#[test]
fn a_daemon_that_was_killed_is_replaced_at_once() {
    let real = Real(Home::new());
    real.run(&["ls"]).exits(0);
    for _ in 0..3 {
        let status = real.run(&["status", "--json"]).exits(0).json();
        let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        real.run(&["ls"]).exits(0);
    }
}

#[test]
fn a_second_daemon_is_refused() {
    let real = Real(Home::new());
    real.run(&["ls"]).exits(0);
    real.run(&["serve"])
        .exits(1)
        .complains("already running")
        .complains("hint: ");
}

#[test]
fn a_broken_config_is_told_by_whatever_needs_the_daemon() {
    let real = Real(Home::new());
    let sm = real.0.path().join("sm");
    std::fs::create_dir_all(&sm).unwrap();
    std::fs::write(sm.join("config.toml"), "[daemon]\nprot = 1\n").unwrap();
    real.run(&["ls"])
        .exits(2)
        .complains("the daemon cannot start")
        .complains("line 2");
    real.run(&["serve"]).exits(2).complains("line 2");
    std::fs::remove_file(sm.join("config.toml")).unwrap();
}

#[test]
fn a_mistake_in_the_configuration_is_told_alone() {
    let real = Real(Home::new());
    let config = real.0.path().join("sm/config.toml");
    real.run(&["ls"]).exits(0);
    real.run(&["stop"]).exits(0);
    for (content, wrong) in [
        ("[daemon]\nprt = 1\n", "line 2: unknown key `daemon.prt`"),
        (
            "[daemon]\nport = \"x\"\n",
            "`daemon.port` is the text \"x\"",
        ),
    ] {
        std::fs::write(&config, content).unwrap();
        let ran = real.run(&["ls"]).exits(2).complains(wrong);
        let lines: Vec<&str> = ran.err.lines().collect();
        assert!(lines[0].starts_with("error: the daemon cannot start: "));
        assert!(lines[1].starts_with("hint: "), "{lines:?}");
        assert_eq!(lines.len(), 2, "{lines:?}");
    }
    std::fs::write(&config, "").unwrap();
    real.run(&["ls"]).exits(0);
}
