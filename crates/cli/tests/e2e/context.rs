//! How full contexts are: alerts inside a running turn, once; compactions; what is given back after
//! them; and what people see of it.

use crate::handoff::{Turn, document, post, reaches};
use crate::world::{DEADLINE, World, eventually, text};
use serde_json::{Value, json};
use sm_client::http::Request;
use sm_client::{Client, wire};
use sm_testkit::clean::RecordKind;
use sm_testkit::wait_until;
use std::path::Path;
use std::time::Instant;

/// A report as older scripts send it, with what the agent's own processes have in their environment;
/// what is answered.
#[track_caller]
pub fn report(world: &World, body: &Value) -> Value {
    let secret = secret(world, &text(&body["session_id"]));
    report_as(world, body, &secret)
}

#[track_caller]
fn report_as(world: &World, body: &Value, secret: &str) -> Value {
    let body = body.to_string();
    let mut request = Request::post("/hooks/context-usage").json(body.as_bytes());
    if !secret.is_empty() {
        request = request.header(wire::SECRET_HEADER, secret);
    }
    let (status, answer) = world.ask(&request);
    assert_eq!(status, 200, "{answer}");
    answer
}

/// The secret in the environment of a session's agent; empty without one, or without a daemon.
pub fn secret(world: &World, id: &str) -> String {
    let target = format!("/sessions/{id}");
    let until = Instant::now() + DEADLINE;
    let answer = Client::new(world.paths()).request(&Request::get(&target), until);
    let shown = answer.map_or(Value::Null, |answer| {
        serde_json::from_str(&answer.text()).unwrap_or_default()
    });
    let environment = std::fs::read(format!("/proc/{}/environ", shown["pid"])).unwrap_or_default();
    let prefix = format!("{}=", wire::SECRET_VAR);
    let mut entries = environment.split(|byte| *byte == 0);
    let value = entries.find_map(|entry| entry.strip_prefix(prefix.as_bytes()));
    String::from_utf8(value.unwrap_or_default().to_vec()).unwrap()
}

fn usage(id: &str, percent: u64) -> Value {
    json!({"session_id": id, "used_percentage": percent,
        "total_input_tokens": percent * 2_000, "total_output_tokens": 9, "context_window_size": 200_000})
}

#[track_caller]
pub fn used(world: &World, id: &str, percent: u64) -> Value {
    report(world, &usage(id, percent))
}

/// Every alert the session was ever sent, in order.
pub fn alerts(world: &World, session: &str) -> Vec<String> {
    let all = world.get(&format!("/sessions/{session}/messages?all=true"));
    let all = all.as_array().cloned().unwrap_or_default();
    let of_sm = all.iter().filter(|m| m["from"]["kind"] == "sm");
    of_sm
        .map(|m| text(&m["text"]))
        .filter(|text| text.starts_with("[sm context] Context at"))
        .collect()
}

/// The whole percentages of the alerts.
#[track_caller]
pub fn levels(world: &World, session: &str) -> Vec<u64> {
    let percent = |alert: &String| {
        let rest = alert.strip_prefix("[sm context] Context at ").unwrap();
        rest.split_once('%').unwrap().0.parse().unwrap()
    };
    alerts(world, session).iter().map(percent).collect()
}

/// Waits until the agent has ended a turn and told how full it is.
#[track_caller]
fn known(world: &World, session: &str) {
    world.send_wait(session, "SAY: hello");
    world.wait_for(session, "idle");
    eventually("its window is known", || {
        world.show(session)["context"]["window"].as_u64() == Some(200_000)
    });
}

fn open(gate: &Path) {
    std::fs::write(gate, "").unwrap();
}

#[test]
fn alerts_join_the_running_turn_without_a_key() {
    let world = World::new();
    world.agent("api");
    known(&world, "api");
    let [one, two, three] = ["one", "two", "three"].map(|name| world.gate(name));
    let prompt = format!(
        "TOKENS: 104000\nRUN: true\nHOLD: {}\nRUN: true\nTOKENS: 140000\nRUN: true\nHOLD: {}\nRUN: true\nHOLD: {}\nSAY: over",
        one.display(),
        two.display(),
        three.display()
    );
    world.send_wait("api", &prompt);
    eventually("the warning is on its way", || {
        levels(&world, "api").len() == 1
    });
    open(&one);
    let warning = world.given("[sm context] Context at 52%");
    assert_eq!(warning.kind, RecordKind::HookContext);
    for part in [
        "104,000 tokens, 96,000 left",
        "Consider writing a handoff doc and running `sm handoff <path>`.",
        "sm handoff --template",
    ] {
        assert!(warning.text.contains(part), "{}", warning.text);
    }
    eventually("the critical one is on its way", || {
        levels(&world, "api").len() == 2
    });
    open(&two);
    let critical = world.given("critically high");
    assert_eq!(critical.kind, RecordKind::HookContext);
    assert!(critical.text.contains("Write your handoff doc NOW"));
    assert_eq!(world.show("api")["state"], "working", "in the same turn");
    open(&three);
    world.wait_for("api", "idle");
    assert_eq!(world.times("[sm context]"), 2);
    // what joined a tool's result was not typed
    assert!(!world.pane("api").screen().contains("❯ [sm context]"));
}

#[test]
fn a_sample_changes_how_full_it_is_and_not_since_when_it_is_idle() {
    let world = World::with_config("[context]\nthresholds = [\"40 critical\"]\n");
    world.agent("api");
    world.wait_for("api", "idle");
    let before = world.show("api");
    used(&world, &text(&before["id"]), 39);
    eventually("it is known", || {
        world.show("api")["context"]["used_percentage"] == 39.0
    });
    let after = world.show("api");
    assert_eq!(after["state_since"], before["state_since"]);
    assert!(text(&after["changed_at"]) > text(&before["changed_at"]));
    assert_eq!(after["context"]["critical"], 40);
    assert!(!world.sm(&[]).exits(0).out.contains("% full"));
    used(&world, &text(&before["id"]), 41);
    eventually("a person is told", || {
        world.sm(&[]).exits(0).out.contains("context 41% full")
    });
}

#[test]
fn neither_alert_repeats_over_many_samples_a_restart_and_a_crash() {
    let world = World::new();
    let id = text(&world.agent("api")["id"]);
    // without a tool: the hook behind one could take the warning before the critical one is there
    let gate = world.gate("go");
    world.send_wait("api", &format!("HOLD: {}\nSAY: over", gate.display()));
    world.wait_for("api", "working");
    used(&world, &id, 50);
    used(&world, &id, 66);
    assert_eq!(levels(&world, "api"), [50, 66]);
    let sample = |from: u64| {
        for n in from..from + 70 {
            // up and down, over and under both
            used(&world, &id, 40 + (n * 37) % 60);
        }
    };
    sample(0);
    world.sm(&["stop"]).exits(0);
    world.sm(&["ls"]).exits(0);
    sample(70);
    world.kill_daemon();
    world.sm(&["ls"]).exits(0);
    sample(140);
    assert_eq!(levels(&world, "api"), [50, 66]);
    open(&gate);
    world.given("critically high");
    world.wait_for("api", "idle");
    // the warning had not been given yet, and gave way to the critical one
    assert_eq!(world.times("[sm context] Context at 66%"), 1);
    assert_eq!(world.times("[sm context]"), 1);
}

#[test]
fn a_compaction_arms_them_again_once_and_gives_back_what_was_handed() {
    let world = World::new();
    world.agent("api");
    known(&world, "api");
    // nothing was handed over: what the ledger knows is given back
    world.send_wait("api", "COMPACT:\nSAY: first");
    world.wait_for("api", "idle");
    eventually("it is counted", || world.show("api")["compactions"] == 1);
    world.send_wait("api", "SAY: after");
    world.wait_for("api", "idle");
    let back = world.given("[sm recovery]");
    assert!(!back.text.contains("handoff document"), "{}", back.text);

    let notes = document(&world, "notes.md", "# State\nstep 3 is next\n");
    let body = json!({"person": true, "file_path": notes});
    let (_, answer) = post(&world, "api", &body, None);
    reaches(&world, &text(&answer["id"]), &["done"]);
    world.wait_for("api", "idle");
    assert_eq!(world.show("api")["generation"], 2);

    world.send_wait("api", "TOKENS: 140000\nRUN: true\nSAY: full");
    world.given("critically high");
    world.wait_for("api", "idle");
    let before = levels(&world, "api");
    assert_eq!(before.len(), 1, "the critical one only: {before:?}");
    world.send_wait("api", "COMPACT:\nSAY: compacted");
    world.wait_for("api", "idle");
    eventually("it is counted", || world.show("api")["compactions"] == 1);
    world.send_wait("api", "SAY: what was I doing?");
    let mut back = None;
    eventually("what was handed over is given back", || {
        let mut given = world.records().into_iter();
        back =
            given.rfind(|r| r.kind == RecordKind::HookContext && r.text.contains("step 3 is next"));
        back.is_some()
    });
    let back = back.unwrap();
    assert!(back.text.chars().count() < 9_500);
    assert!(back.text.contains("generation 2"), "{}", back.text);
    world.wait_for("api", "idle");
    world.send_wait("api", "TOKENS: 104000\nRUN: true\nSAY: full again");
    eventually("the warning is said again", || {
        levels(&world, "api").len() == 2
    });
    world.wait_for("api", "idle");
    world.send_wait("api", "SAY: at the latest with this prompt");
    world.given("[sm context] Context at 52%");
    world.wait_for("api", "idle");
    assert_eq!(world.show("api")["compactions"], 1);
    // the fake model's echo of one is known to the ledger
    let said = world.records().into_iter().map(|record| record.text);
    let said = said.filter(|text| !text.starts_with("[sm recovery]"));
    let count: usize = said
        .map(|text| text.matches("[sm context] Context at").count())
        .sum();
    assert_eq!(count, 2);
    assert_eq!(
        world.times("step 3 is next"),
        2,
        "with the prompt, and back"
    );
}

#[test]
fn the_last_sample_of_before_is_taken_when_the_daemon_is_back() {
    let world = World::new();
    world.agent("api");
    let gate = world.gate("go");
    world.send_wait(
        "api",
        &format!("HOLD: {}\nTOKENS: 122000\nSAY: over", gate.display()),
    );
    world.wait_for("api", "working");
    world.sm(&["stop"]).exits(0);
    open(&gate);
    let spool = world.paths().spool_dir();
    let kept = || {
        let files = crate::world::files(&spool);
        files
            .into_iter()
            .find(|file| file.to_string_lossy().contains("latest."))
    };
    let kept_then = wait_until(DEADLINE, || {
        kept()
            .filter(|file| std::fs::read_to_string(file).is_ok_and(|text| text.contains("122000")))
    });
    assert!(kept_then.is_some(), "nothing is kept");
    assert!(!world.is_served(), "a person stopped it");
    world.sm(&["ls"]).exits(0);
    eventually("the status line's sample is known", || {
        let samples = world.get("/sessions/api/context")["samples"].clone();
        let samples = samples.as_array().cloned().unwrap_or_default();
        samples
            .iter()
            .any(|s| s["source"] == "status_line" && s["tokens"] == 122_000)
    });
    assert_eq!(kept(), None);
    assert_eq!(levels(&world, "api"), [61]);
}

#[test]
fn people_see_how_full_contexts_are() {
    let world = World::new();
    let id = text(&world.agent("api")["id"]);
    world
        .sm(&["new", "--name", "shell", "--detach", "--", "sh"])
        .exits(0);
    world.sm(&["context", "api"]).exits(0).says("not known yet");
    world.sm(&["context", "shell"]).exits(0).says("none");
    let turn = Turn::begin(&world, "api");
    used(&world, &id, 43);
    used(&world, &id, 52);
    eventually("its own record tells as well", || {
        let samples = world.get("/sessions/api/context")["samples"].clone();
        samples.as_array().is_some_and(|all| all.len() > 1)
    });
    // plain characters: nobody's terminal is there
    let shown = world.sm(&["context", "api"]).exits(0);
    for part in [
        "52% #####----- 104k/200k",
        "from api",
        "50% warning (said), 65% critical",
        "points apart",
        "100% |",
    ] {
        assert!(shown.out.contains(part), "no {part:?} in {}", shown.out);
    }
    let all = world.sm(&["context"]).exits(0);
    assert!(all.out.contains("52% #####----- 104k/200k"), "{}", all.out);
    for command in [&["ls"][..], &[], &["show", "api"]] {
        world.sm(command).exits(0).says("52% #####----- 104k/200k");
    }
    world.sm(&["ls"]).exits(0).says("none");
    let report = world.sm(&["context", "api", "--json"]).exits(0).json();
    assert_eq!(report["used_percentage"], 52.0);
    assert_eq!(report["thresholds"][0]["said"], true);
    assert_eq!(
        report["history"].as_array().unwrap().last().unwrap()["used_percentage"],
        52.0
    );
    let both = world.sm(&["context", "--json"]).exits(0).json();
    assert_eq!(both.as_array().unwrap().len(), 2);
    // the switch of one session
    world
        .sm(&["context", "api", "--watch", "off"])
        .exits(0)
        .says("no longer told");
    used(&world, &id, 80);
    world
        .sm(&["context", "api"])
        .exits(0)
        .says("alerts        off");
    assert_eq!(levels(&world, "api"), [52]);
    world.sm(&["context", "api", "--watch", "on"]).exits(0);
    used(&world, &id, 81);
    assert_eq!(levels(&world, "api"), [52, 81]);
    world.sm(&["context", "--watch", "on"]).exits(2);
    turn.end();
    // `sm statusline` is the same as the hook program's
    let line = r#"{"context_window":{"used_percentage":43,"total_input_tokens":86000}}"#;
    let said = world.sm_given(&["statusline"], line).exits(0);
    assert_eq!(said.out, "43% ctx\n");
    let args = ["statusline", "--format", "{tokens}", "--", "echo", "mine"];
    let said = world.sm_given(&args, line).exits(0);
    assert_eq!(said.out, "mine · 86k\n");
}

/// Anybody of the same user can post a report: it fills an empty gauge, and does nothing else.
#[test]
fn a_report_from_outside_alarms_nobody_and_hides_nothing_real() {
    let world = World::new();
    let id = text(&world.agent("api")["id"]);
    let gate = world.gate("go");
    // nothing is known yet: the first answer of the model is what is waited for
    world.send_wait("api", &format!("HOLD: {}\nSAY: over", gate.display()));
    world.wait_for("api", "working");
    for secret in ["", "wrong"] {
        let answer = report_as(&world, &usage(&id, 99), secret);
        assert_eq!(answer, json!({"status": "ok", "used_percentage": 99}));
        let compaction = json!({"session_id": id, "event": "compaction", "trigger": "auto"});
        let answer = report_as(&world, &compaction, secret);
        assert_eq!(answer, json!({"status": "unproven"}));
    }
    eventually("it is written down", || {
        let events = world.events("api");
        let told = |line: &String| line.contains("compaction reported: nothing proves");
        events.iter().filter(|line| told(line)).count() == 2
    });
    let shown = world.show("api");
    assert_eq!(shown["compactions"], 0);
    assert_eq!(levels(&world, "api"), [] as [u64; 0]);
    assert!(!world.sm(&[]).exits(0).out.contains("% full"));
    // what interrupts is an urgent message of sm's: there is none
    let queue = world.get("/sessions/api/messages?all=true");
    let mut queue = queue.as_array().unwrap().iter();
    assert!(queue.all(|message| message["from"]["kind"] != "sm"));
    // its own source: what it crosses is said, and what is claimed beside it is not even shown
    used(&world, &id, 40);
    report_as(&world, &usage(&id, 99), "");
    eventually("its own number", || {
        world.show("api")["context"]["used_percentage"] == 40.0
    });
    used(&world, &id, 66);
    assert_eq!(levels(&world, "api"), [66], "the threshold was not used up");
    open(&gate);
    world.given("critically high");
    world.wait_for("api", "idle");
    assert_eq!(world.show("api")["compactions"], 0);
}
