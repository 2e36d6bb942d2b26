//! `sm doctor`: every trouble is named with its remedy.

use crate::fake::{Fake, Home, Ran, Reply, session};
use serde_json::{Value, json};
use sm_agents::tried;
use sm_core::AgentKind;
use std::net::TcpListener;

/// Runs it where only these programs are found.
fn doctor(home: &Home, extra: &[(&str, &str)]) -> (Ran, Value) {
    let mut command = home.sm(&["doctor", "--json"]);
    command.env("PATH", home.path().join("bin"));
    command.envs(extra.iter().copied());
    let ran = Ran::from(command.output().unwrap());
    let json = ran.json();
    (ran, json)
}

fn check<'a>(checks: &'a Value, name: &str) -> &'a Value {
    checks
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["check"] == name)
        .unwrap()
}

/// Everything that is needed, as far as it can be asked for its version.
fn healthy() -> Home {
    let home = Home::new();
    home.script("tmux", "echo tmux 3.4");
    home.script("claude", "echo '2.1.0 (Claude Code)'");
    home.script("codex", "echo codex-cli 0.9");
    home.script(
        "sm-hook",
        concat!("echo sm-hook ", env!("CARGO_PKG_VERSION"), " >&2"),
    );
    home
}

#[test]
fn a_machine_with_nothing_on_it() {
    let home = Home::new();
    let (ran, checks) = doctor(&home, &[]);
    ran.exits(1);
    for name in ["tmux", "claude", "codex"] {
        let found = check(&checks, name);
        let expected = if name == "tmux" { "broken" } else { "warning" };
        assert_eq!(found["verdict"], expected, "{found}");
        assert!(found["remedy"].as_str().unwrap().contains("install"));
    }
    assert!(!home.state().exists(), "a doctor changes nothing");
}

#[test]
fn a_machine_where_all_is_well() {
    let home = healthy();
    // 0: no port is wanted, so none is looked at.
    let (ran, checks) = doctor(&home, &[("SM_PORT", "0")]);
    let ran = ran.exits(0);
    assert!(!ran.out.contains("broken"), "{}", ran.out);
    assert_eq!(check(&checks, "tmux")["verdict"], "ok");
    assert!(
        check(&checks, "claude")["text"]
            .as_str()
            .unwrap()
            .starts_with("2.1.0 (Claude Code)")
    );
    // it lies beside the sm that is tested
    let agent = check(&checks, "sm-agent");
    assert_eq!(agent["verdict"], "ok", "{agent}");
    let mut human = home.sm(&["doctor"]);
    human
        .env("PATH", home.path().join("bin"))
        .env("SM_PORT", "0");
    Ran::from(human.output().unwrap()).exits(0).says("✓ tmux");
}

#[test]
fn old_broken_and_mismatched_programs() {
    let home = healthy();
    home.script("tmux", "echo tmux 2.9a");
    home.script("claude", "echo cannot find module >&2; exit 1");
    home.script("sm-hook", "echo sm-hook 0.0.0");
    let (ran, checks) = doctor(&home, &[("SM_PORT", "0")]);
    ran.exits(1);
    assert_eq!(check(&checks, "tmux")["verdict"], "broken");
    let claude = check(&checks, "claude")["text"].as_str().unwrap();
    assert!(claude.contains("cannot find module"), "{claude}");
}

#[test]
fn a_version_that_nobody_has_tried_is_a_warning() {
    let home = healthy();
    home.script("claude", "echo '9.9.9 (Claude Code)'");
    home.script("codex", "echo codex-cli 9.9.9");
    let (ran, checks) = doctor(&home, &[("SM_PORT", "0")]);
    ran.exits(0); // it may well work
    for (agent, kind) in [("claude", AgentKind::Claude), ("codex", AgentKind::Codex)] {
        let found = check(&checks, agent);
        assert_eq!(found["verdict"], "warning", "{found}");
        let tried = tried::newest(kind).unwrap();
        let expected = format!("newer than {tried}, the newest version that was tried");
        let text = found["text"].as_str().unwrap();
        assert!(text.contains("9.9.9") && text.contains(&expected), "{text}");
        let remedy = found["remedy"].as_str().unwrap();
        assert!(remedy.contains("sm queue ls NAME --all"), "{remedy}");
    }
    assert_eq!(check(&checks, "tmux")["verdict"], "ok");
}

#[test]
fn a_broken_config_names_its_line() {
    let home = healthy();
    std::fs::create_dir_all(home.path().join("sm")).unwrap();
    std::fs::write(
        home.path().join("sm/config.toml"),
        "[daemon]\nprot = 8420\n",
    )
    .unwrap();
    let (ran, checks) = doctor(&home, &[]);
    ran.exits(1);
    let config = check(&checks, "config");
    assert_eq!(config["verdict"], "broken");
    let text = config["text"].as_str().unwrap();
    assert!(
        text.contains("line 2") && text.contains("daemon.port"),
        "{text}"
    );
    assert!(config["remedy"].is_string());
}

#[test]
fn a_taken_port_names_who_has_it() {
    let home = healthy();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let (ran, checks) = doctor(&home, &[("SM_PORT", &port)]);
    // The socket is enough to work.
    ran.exits(0);
    let found = check(&checks, "port");
    assert_eq!(found["verdict"], "warning");
    assert!(found["remedy"].as_str().unwrap().contains("SM_PORT"));
    if cfg!(target_os = "linux") {
        let own = format!("(pid {})", std::process::id());
        assert!(found["text"].as_str().unwrap().contains(&own), "{found}");
    }
}

#[test]
fn a_running_daemon_says_what_troubles_it() {
    let fake = Fake::new(|seen| {
        if seen.target.starts_with("/sessions") {
            return Reply::Json(200, json!([session("api", "lost")]));
        }
        Reply::Json(
            200,
            json!({"pid": 1, "version": "x", "protocol": 1, "socket": "s",
                   "address": "127.0.0.1:8420", "sessions": 1, "uptime_ms": 5, "attention": [],
                   "problems": ["the journal is slow"]}),
        )
    });
    let mut command = fake.sm(&["doctor", "--json"]);
    command.env("PATH", "/nonexistent");
    let checks = Ran::from(command.output().unwrap()).json();
    assert_eq!(check(&checks, "daemon")["verdict"], "ok");
    assert_eq!(check(&checks, "problem")["text"], "the journal is slow");
    assert_eq!(check(&checks, "sessions")["remedy"], "sm restore api-id");
    assert_eq!(check(&checks, "port")["verdict"], "ok");
}

#[test]
fn rules_that_keep_an_agent_from_handing_over_are_named() {
    let home = healthy();
    let claude = home.path().join("claude-home");
    std::fs::create_dir_all(&claude).unwrap();
    let settings = claude.join("settings.json");
    let at = claude.to_str().unwrap();
    let env = [("SM_PORT", "0"), ("CLAUDE_CONFIG_DIR", at)];
    // the tool is still there
    std::fs::write(&settings, r#"{"permissions":{"deny":["Bash(sm *)"]}}"#).unwrap();
    let (_, checks) = doctor(&home, &env);
    assert!(!checks.to_string().contains("\"handoffs\""), "{checks}");
    let both = r#"{"permissions":{"deny":["Bash(sm *)","mcp__sm"]}}"#;
    std::fs::write(&settings, both).unwrap();
    let (_, checks) = doctor(&home, &env);
    let found = check(&checks, "handoffs");
    assert_eq!(found["verdict"], "warning");
    let text = found["text"].as_str().unwrap();
    assert!(
        text.contains("need a person") && text.contains("`mcp__sm` and `Bash(sm *)`"),
        "{text}"
    );
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), both);
}
