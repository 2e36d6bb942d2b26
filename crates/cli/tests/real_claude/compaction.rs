//! Claude Code compacts its context: by command, by itself, and against a policy.

use crate::common::handoff::{WAKE, text};
use crate::common::{DEADLINE, World, occurrences};
use crate::monitor::{ALERT, shown};
use crate::{FREE, claude, closing};
use serde_json::Value;
use sm_testkit::model::{Request, is_main, texts_of};
use sm_testkit::wait_until;

/// As [`FREE`], and it compacts by itself at 167,000 tokens.
const AUTO: [&str; 7] = [
    "--",
    "--model",
    "claude-sonnet-4-5",
    "--allowedTools",
    "Bash",
    "--settings",
    r#"{"autoCompactWindow":200000}"#,
];

/// Whether a request asks the model for the summary.
fn asks_summary(request: &Request) -> bool {
    let last = request.body["messages"].as_array().and_then(|m| m.last());
    last.is_some_and(|m| m.to_string().contains("Respond with TEXT ONLY"))
}

impl World {
    fn compactions(&self) -> usize {
        self.model.requests().iter().filter(|r| asks_summary(r)).count()
    }

    /// Notices to the owner are written into a file.
    fn owner_listens(&self) {
        let script = self.env.path().join("owner");
        let file = self.env.path().join("told");
        let text = format!("#!/bin/sh\nprintf '%s\\n' \"$*\" >> '{}'\n", file.display());
        std::fs::write(&script, text).unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        self.configure(&format!("[notify]\ncommand = [\"{}\"]\n", script.display()));
    }

    fn told_owner(&self) -> String {
        std::fs::read_to_string(self.env.path().join("told")).unwrap_or_default()
    }

    fn configure(&self, more: &str) {
        let path = self.env.sm_home().join("config.toml");
        let mut config = std::fs::read_to_string(&path).unwrap();
        config.push_str(more);
        std::fs::write(&path, config).unwrap();
    }

    #[track_caller]
    fn wait_compactions(&self, session: &str, n: u64) {
        let there = wait_until(DEADLINE, || {
            (self.show(session)["compactions"] == n).then_some(())
        });
        assert!(there.is_some(), "not {n}\n{}", self.about(session));
    }
}

/// A parent whose agent starts the child that is looked at.
fn family(world: &World, args: &[&str]) {
    world.start_idle("boss", &FREE);
    let rest: Vec<String> = args.iter().map(|a| format!("'{a}'")).collect();
    let start = format!("RUN: sm new claude --name api --detach {}", rest.join(" "));
    world.send_wait("boss", &start, &[]);
    world.wait_state("boss", "idle");
    let kid = world.wait_state("api", "idle");
    assert_eq!(kid["parent"], world.show("boss")["id"]);
}

/// What is true after a compaction, of whatever kind.
#[track_caller]
fn told(world: &World, before: &str, after_first: u64) {
    world.wait_compactions("api", 1);
    let said = format!("[sm context] Compaction fired for api. Context was lost ({before} → ");
    world.request_with(&said);
    world.wait_state("boss", "idle");
    let last = closing(world, "boss");
    assert_eq!(occurrences(&last, "Compaction fired for api"), 1);
    assert_eq!(occurrences(&last, "unknown"), 0);
    let owner = world.told_owner();
    assert_eq!(owner.matches("compacted its context").count(), 1, "{owner}");
    assert!(owner.contains(&format!("{before} → ")), "{owner}");
    let _ = after_first;
}

/// Both thresholds speak once more, and no oftener.
#[track_caller]
fn speaks_again(world: &World, before: &[u64]) {
    world.usage(106_000);
    world.send_wait("api", "RUN: true\nTHEN: true\nTHEN: true", &[]);
    let mut all = before.to_vec();
    all.push(53);
    world.wait_levels("api", &all);
    world.wait_state("api", "idle");
    world.usage(136_000);
    world.send_wait("api", "RUN: true\nTHEN: true\nTHEN: true", &[]);
    all.push(68);
    world.wait_levels("api", &all);
    world.wait_state("api", "idle");
    world.send_wait("api", "RUNMANY: 5 true", &[]);
    world.wait_state("api", "idle");
    let last = closing(world, "api");
    assert_eq!(occurrences(&last, ALERT), 2, "{:#?}", shown(&last));
    assert_eq!(world.levels("api"), all);
    assert_eq!(world.show("api")["compactions"], 1);
}

#[test]
fn a_manual_compaction_arms_the_alerts_once_and_people_are_told() {
    let Some(world) = claude("a_manual_compaction_arms_the_alerts_once_and_people_are_told") else {
        return;
    };
    world.owner_listens();
    family(&world, &FREE);
    world.usage(134_000);
    world.send_wait("api", "RUN: true\nTHEN: true", &[]);
    world.wait_levels("api", &[67]);
    world.wait_state("api", "idle");

    world.model.control(|c| c.compact_hold = Some("summary".into()));
    world.type_text("api", "/compact");
    world.wait_screen("api", "/compact");
    world.key("api", "Enter");
    world.hold("summary");
    world.wait_state("api", "compacting");
    let meanwhile = "said while it compacts";
    let ids = ["sequential", "important", "urgent"].map(|mode| {
        let id = world.send("api", &format!("{meanwhile}, {mode}."), &["--mode", mode]);
        assert!(world.wait_held("api", &id).contains("compact"));
        id
    });
    assert!(!world.screen("api").contains(meanwhile));
    world.usage(20_000);
    world.model.release("summary");
    for id in &ids {
        world.wait_message("api", id, "consumed");
    }
    world.wait_state("api", "idle");
    told(&world, "134,025", 0);
    let last = closing(&world, "api");
    for mode in ["sequential", "important", "urgent"] {
        let text = format!("{meanwhile}, {mode}.");
        assert_eq!(occurrences(&last, &text), 1, "{text}");
    }
    // nothing was handed over: nothing is given back
    assert_eq!(occurrences(&last, "[sm recovery]"), 0);
    speaks_again(&world, &[67]);
}

#[test]
fn an_automatic_compaction_arms_the_alerts_once_and_people_are_told() {
    let test = "an_automatic_compaction_arms_the_alerts_once_and_people_are_told";
    let Some(world) = claude(test) else { return };
    world.owner_listens();
    family(&world, &AUTO);
    world.usage(60_000);
    for n in 0..3 {
        world.send_wait("api", &format!("RUN: seq 1 200 # {n}"), &[]);
        world.wait_state("api", "idle");
    }
    world.usage(169_000);
    world.model.control(|c| c.compact_hold = Some("summary".into()));
    let gate = world.gate("gate");
    world.send_wait("api", "RUN: read l < gate\nTHEN: true", &[]);
    gate.wait_for_reader();
    world.wait_levels("api", &[85]);
    gate.open();
    world.hold("summary");
    world.wait_state("api", "compacting");
    let meanwhile = "said while it compacts";
    let id = world.send("api", meanwhile, &["--mode", "important"]);
    assert!(world.wait_held("api", &id).contains("compact"));
    world.usage(20_000);
    world.model.release("summary");
    world.wait_message("api", &id, "consumed");
    world.wait_state("api", "idle");
    told(&world, "169,025", 0);
    let last = closing(&world, "api");
    assert_eq!(occurrences(&last, meanwhile), 1);
    assert_eq!(occurrences(&last, "[sm recovery]"), 0);
    assert_eq!(world.compactions(), 1);
    speaks_again(&world, &[85]);
}
