//! How full Codex's context is: known from its record, told inside its turns, once in a context; and
//! its compactions.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use sm_testkit::model::texts_of;
use sm_testkit::wait_until;

use crate::common::handoff::text;
use crate::common::{DEADLINE, World, occurrences};
use crate::handoff::{CONNECTED, WORK};
use crate::{exactly_once, field, last};

/// At every request from now on Codex is told that it has used so much. Its window is 190,000, of
/// which it leaves 12,000 out.
fn used(world: &World, tokens: u64) {
    world.model.control(|c| c.input_tokens = tokens - 325); // 300 from the cache, 25 of output
}

#[track_caller]
fn wait_used(world: &World, tokens: u64) {
    let shown = wait_until(DEADLINE, || {
        (world.show("one")["context"]["tokens"] == tokens).then_some(())
    });
    assert!(shown.is_some(), "not {tokens}\n{}", world.about("one"));
}

/// Further words for the configuration, before the daemon reads it.
fn configure(world: &World, more: &str) {
    let path = world.env.sm_home().join("config.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, before + more).unwrap();
}

/// What the owner is told is written to a file.
fn owner(world: &World) -> PathBuf {
    let told = world.env.path().join("told");
    let script = format!("printf '%s\\n' \"$SM_NOTICE_TEXT\" >> '{}'", told.display());
    let command = json!(["sh", "-c", script]);
    configure(world, &format!("[notify]\ncommand = {command}\n"));
    told
}

/// A session that the one of the test belongs to: a program that reads.
fn parent(world: &World) {
    let args = ["new", "--name", "boss", "--detach", "--json", "--", "cat"];
    world.sm(&args).exits(0);
}

fn of(world: &World, kind: &str) -> usize {
    let all = world.events("one");
    all.iter().filter(|line| line.contains(kind)).count()
}

/// The alerts that the model was shown in the last request, each begun with these words.
fn alerts(world: &World) -> Vec<String> {
    let all = texts_of(&last(world));
    let mut alerts: Vec<String> = all
        .into_iter()
        .filter(|t| t.starts_with("[sm context]"))
        .collect();
    for alert in &mut alerts {
        let end = alert.find(" (").unwrap_or(alert.len());
        alert.truncate(end);
    }
    alerts
}

/// Three calls: usage is known after the first, and told with the second.
const STEPS: &str = "RUN: true\nTHEN: true\nTHEN: true";

#[track_caller]
fn steps(world: &World) {
    world.send_wait("one", STEPS, &[]);
    world.wait_state("one", "idle");
}

/// A person compacts, and the model is not done with its summary yet.
#[track_caller]
fn compact(world: &World) {
    world
        .model
        .control(|c| c.compact_hold = Some("summary".into()));
    crate::command(world, "one", "/compact", |_| {
        world.model.wait_for_hold("summary", Duration::ZERO)
    });
}

/// What parent and owner were told of a compaction: tokens before and after.
#[track_caller]
fn told(world: &World, file: &std::path::Path, before: &str) {
    let line = wait_until(DEADLINE, || {
        let all = std::fs::read_to_string(file).ok()?;
        let mut of = all.lines().filter(|line| line.contains("compacted"));
        of.next_back().map(str::to_owned)
    });
    let line = line.unwrap();
    let start = format!("one compacted its context: {before} → ");
    let after = line
        .strip_prefix(&start)
        .unwrap_or_else(|| panic!("{line}"));
    let after = after.split(' ').next().unwrap();
    let number: u64 = after.replace(',', "").parse().unwrap();
    assert!((1..20_000).contains(&number), "{line}");
    let words = format!(
        "[sm context] Compaction fired for one. Context was lost ({before} → {after} tokens)."
    );
    let messages = world.ask("/sessions/boss/messages?all=true");
    let messages = messages.as_array().unwrap();
    let with = messages
        .iter()
        .filter(|m| text(&m["text"]).contains(&words));
    assert_eq!(with.count(), 1, "{words}: {messages:#?}");
}

#[test]
fn alerts_join_the_running_turn_once_whatever_follows() {
    let Some(world) = World::codex("alerts_join_the_running_turn_once_whatever_follows") else {
        return;
    };
    let file = owner(&world);
    let id = field(&world.start_idle("one", &[]), "id");
    let [first, second, third] = ["first", "second", "third"].map(|name| world.gate(name));
    used(&world, 50_000);
    let prompt =
        "RUN: true\nTHEN: cat first\nTHEN: true\nTHEN: cat second\nTHEN: true\nTHEN: cat third";
    world.send_wait("one", prompt, &[]);
    // the gauge follows, and nothing is said below 50
    for (gate, tokens, percent) in [
        (&first, 50_000, 21.0),
        (&second, 101_000, 50.0),
        (&third, 127_700, 65.0),
    ] {
        gate.wait_for_reader();
        wait_used(&world, tokens);
        let context = world.sm(&["context", "one", "--json"]).exits(0).json();
        assert_eq!(context["used_percentage"], percent, "{context:#}");
        assert_eq!(context["source"], "transcript");
        used(&world, if tokens == 50_000 { 101_000 } else { 127_700 });
        gate.open();
    }
    world.wait_state("one", "idle");
    let both = ["[sm context] Context at 50%", "[sm context] Context at 65%"];
    assert_eq!(alerts(&world), both);
    assert_eq!(world.show("one")["turn"], 1, "all of it inside one turn");
    for percent in ["50", "65"] {
        let message = world.message("one", &format!("{id}-g1c0-alert{percent}"));
        let how = (&message["way"], &message["proof"]);
        assert_eq!(how, (&"hook_answer".into(), &"transcript".into()));
    }
    let owner = || std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        owner().contains("one: its context is at 65%"),
        "{}",
        owner()
    );

    // many more, lower and higher, across a restart and a crash
    for (tokens, times) in [(170_000, 70), (30_000, 70), (175_000, 70)] {
        used(&world, tokens);
        world.send_wait("one", &format!("RUNMANY: {times} true"), &[]);
        world.wait_state("one", "idle");
        wait_used(&world, tokens);
        match tokens {
            170_000 => world.signal_daemon(Signal::TERM),
            30_000 => world.kill_daemon(),
            _ => {}
        }
        let up = wait_until(DEADLINE, || {
            world.sm(&["ls"]);
            world.daemon()
        });
        assert!(up.is_some());
    }
    let record = std::fs::read_to_string(field(&world.show("one"), "transcript_path")).unwrap();
    assert!(record.matches("\"token_count\"").count() > 200);
    assert_eq!(alerts(&world), both);
    assert_eq!(of(&world, "threshold"), 2);
    assert_eq!(owner().matches("its context is at").count(), 1);
    let report = world.sm(&["context", "one", "--json"]).exits(0).json();
    let said: Vec<&Value> = report["thresholds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| &t["said"])
        .collect();
    assert_eq!(said, [true, true]);
}

#[test]
fn a_compaction_by_hand_arms_the_thresholds_once_and_people_are_told() {
    let test = "a_compaction_by_hand_arms_the_thresholds_once_and_people_are_told";
    let Some(world) = World::codex(test) else {
        return;
    };
    let file = owner(&world);
    parent(&world);
    world.start_idle("one", &["--parent", "boss"]);
    used(&world, 130_000);
    steps(&world);
    assert_eq!(
        alerts(&world),
        ["[sm context] Context at 66%"],
        "that one only"
    );
    compact(&world);
    world.wait_state("one", "compacting");
    let before = world.screen("one");
    let id = world.send("one", "sent in the middle", &[]);
    assert!(world.wait_held("one", &id).contains("compacting"));
    assert_eq!(
        crate::common::shorten(&world.screen("one")),
        crate::common::shorten(&before),
        "nothing is typed"
    );
    used(&world, 105_000);
    world.model.release("summary");
    world.wait_message("one", &id, "consumed");
    let after = world.wait_state("one", "idle");
    assert_eq!(after["compactions"], 1, "{}", world.about("one"));
    assert_eq!(after["generation"], 1);
    exactly_once(&world, "sent in the middle");
    told(&world, &file, "130,000");
    steps(&world);
    assert_eq!(alerts(&world), ["[sm context] Context at 52%"]);
    used(&world, 110_000);
    steps(&world);
    assert_eq!(alerts(&world), ["[sm context] Context at 52%"], "and once");
    assert_eq!(of(&world, "compaction compaction"), 1);
}

/// Before the turn that a prompt begins, and inside of one: Codex does both.
#[test]
fn automatic_compactions_arm_the_thresholds_once_each() {
    let Some(world) = World::codex("automatic_compactions_arm_the_thresholds_once_each") else {
        return;
    };
    let file = owner(&world);
    parent(&world);
    world.start_idle("one", &["--parent", "boss"]);
    used(&world, 182_500); // it compacts at 180,000
    world.send_wait("one", "SAY: full", &[]);
    world.wait_state("one", "idle");
    wait_used(&world, 182_500);
    world
        .model
        .control(|c| c.compact_hold = Some("first".into()));
    let id = world.send("one", STEPS, &[]);
    world.hold("first");
    world.wait_state("one", "compacting");
    used(&world, 130_000);
    world.model.release("first");
    world.wait_message("one", &id, "consumed");
    assert_eq!(world.wait_state("one", "idle")["compactions"], 1);
    exactly_once(&world, STEPS);
    assert_eq!(alerts(&world), ["[sm context] Context at 66%"]);
    told(&world, &file, "182,500");

    // inside of a turn, and the daemon dies meanwhile
    used(&world, 181_000);
    world
        .model
        .control(|c| c.compact_hold = Some("second".into()));
    world.send_wait("one", "RUN: true\nTHEN: true", &[]);
    world.hold("second");
    world.wait_state("one", "compacting");
    world.kill_daemon();
    used(&world, 105_000);
    world.model.release("second");
    let up = wait_until(DEADLINE, || world.seek("/sessions/one").map(drop));
    assert!(up.is_some(), "a hook brings it back");
    let after = world.wait_state("one", "idle");
    assert_eq!(after["compactions"], 2, "{}", world.about("one"));
    assert_eq!(of(&world, "compaction compaction"), 2);
    steps(&world);
    let all = alerts(&world);
    assert_eq!(
        all,
        ["[sm context] Context at 52%"],
        "{}",
        world.about("one")
    );
}

#[test]
fn what_was_handed_over_is_in_the_next_request_after_a_compaction() {
    let test = "what_was_handed_over_is_in_the_next_request_after_a_compaction";
    let Some(world) = World::codex(test) else {
        return;
    };
    world.start_idle("one", &CONNECTED);
    // nothing was handed over yet: what the ledger knows
    world.send_wait("one", "SAY: early", &[]);
    world.wait_state("one", "idle");
    compact(&world);
    world.model.release("summary");
    world.send_wait("one", "after the first", &[]);
    world.wait_state("one", "idle");
    let known = last(&world);
    assert_eq!(occurrences(&known, "[sm recovery]"), 1);
    assert_eq!(occurrences(&known, "what it said then follows"), 0);
    world.send_wait("one", WORK, &[]);
    world.wait_handoff("one", "done");
    world.wait_state("one", "idle");

    let recovery = |count: usize| {
        let texts = texts_of(&last(&world));
        let found: Vec<&String> = texts
            .iter()
            .filter(|t| t.starts_with("[sm recovery]"))
            .collect();
        assert_eq!(found.len(), count, "{texts:#?}");
        for text in found {
            assert!(text.contains("(generation 2)"), "{text}");
            assert!(
                text.contains("notes.md; what it said then follows"),
                "{text}"
            );
            assert!(text.contains("\n\nhalf done\n\n"), "{text}");
            assert!(text.chars().count() <= 9_500);
        }
    };
    // by hand: with the next prompt
    world.model.control(|c| c.compact_hold = None);
    crate::command(&world, "one", "/compact", |screen| {
        screen.contains("Context compacted")
    });
    world.send_wait("one", "after the second", &[]);
    world.wait_state("one", "idle");
    recovery(1);
    // inside of a turn: with the request that goes on
    used(&world, 182_500);
    world
        .model
        .control(|c| c.compact_hold = Some("third".into()));
    world.send_wait("one", "RUN: true\nTHEN: true", &[]);
    world.hold("third");
    used(&world, 20_000);
    world.model.release("third");
    let session = world.wait_state("one", "idle");
    assert_eq!(
        (&session["generation"], &session["compactions"]),
        (&2.into(), &2.into())
    );
    recovery(1);
}

#[test]
fn codex_compactions_cannot_wait_and_sm_says_so() {
    let Some(world) = World::codex("codex_compactions_cannot_wait_and_sm_says_so") else {
        return;
    };
    configure(&world, "[context]\non_compaction = \"handoff\"\n");
    world.start_idle("one", &[]);
    let said = world.sm(&["context", "one"]).exits(0).out;
    assert!(said.contains("not possible for codex"), "{said}");
    used(&world, 182_500);
    world
        .model
        .control(|c| c.compact_hold = Some("summary".into()));
    world.send_wait("one", STEPS, &[]);
    world.hold("summary");
    used(&world, 20_000);
    world.model.release("summary");
    let session = world.wait_state("one", "idle");
    let now = (&session["compactions"], &session["turn"]);
    assert_eq!(now, (&1.into(), &1.into()), "the turn was let go on");
}

/// What is left without hooks: the record.
fn by_the_record(world: &World, args: &[&str]) {
    let file = owner(world);
    parent(world);
    let mut all = vec!["--parent", "boss", "--", "-c"];
    all.extend(args);
    world.start("one", &all);
    if args != ["features.hooks=false"] {
        world.wait_state("one", "waiting");
        world.wait_screen("one", "3. Continue without trusting");
        world.key("one", "Down");
        world.key("one", "Down");
        world.wait_screen("one", "› 3. Continue");
        world.key("one", "Enter");
    }
    world.wait_state("one", "idle");
    used(world, 105_000);
    steps(world);
    wait_used(world, 105_000);
    assert_eq!(of(world, "warning threshold 50% reached at 52%"), 1);
    crate::command(world, "one", "/compact", |screen| {
        screen.contains("Context compacted")
    });
    let counted = wait_until(DEADLINE, || {
        (world.show("one")["compactions"] == 1).then_some(())
    });
    assert!(counted.is_some(), "{}", world.about("one"));
    told(world, &file, "105,000");
    world.send_wait("one", "SAY: after it", &[]);
    world.request_with("SAY: after it");
    exactly_once(world, "SAY: after it");
    let reached = wait_until(DEADLINE, || {
        (of(world, "warning threshold 50% reached at 52%") == 2).then_some(())
    });
    assert!(reached.is_some(), "armed again\n{}", world.about("one"));
    assert_eq!(of(world, "compaction compaction"), 1);
}

#[test]
fn without_hooks_usage_and_compactions_are_known_from_the_record() {
    let test = "without_hooks_usage_and_compactions_are_known_from_the_record";
    if let Some(world) = World::codex(test) {
        by_the_record(&world, &["features.hooks=false"]);
    }
}

#[test]
fn with_hooks_that_nobody_trusts_they_are_known_from_the_record_too() {
    let test = "with_hooks_that_nobody_trusts_they_are_known_from_the_record_too";
    if let Some(world) = World::codex(test) {
        by_the_record(&world, &["hooks.state={}"]);
    }
}
