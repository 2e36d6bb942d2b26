//! Claude Code compacts its context: by command, by itself, and against a policy.

use crate::common::handoff::{WAKE, text};
use crate::common::{DEADLINE, World, occurrences};
use crate::monitor::{ALERT, shown};
use crate::people::composer;
use crate::{FREE, claude, closing};
use serde_json::Value;
use sm_testkit::model::{FailNext, Request, texts_of};
use sm_testkit::wait_until;

/// How often a text stands in what the model was shown, beside what was given back to it: that
/// quotes what was said, and what waits.
fn given(request: &Request, text: &str) -> usize {
    let texts = texts_of(request);
    let own = texts.iter().filter(|t| !t.contains("[sm recovery]"));
    own.map(|t| t.matches(text).count()).sum()
}

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
        self.model
            .requests()
            .iter()
            .filter(|r| asks_summary(r))
            .count()
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
    pub fn wait_compactions(&self, session: &str, n: u64) {
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

/// What Claude Code's own record says of its compactions: tokens before and after.
fn boundaries(world: &World, session: &str) -> Vec<(u64, u64)> {
    let path = text(&world.show(session)["transcript_path"]);
    let record = std::fs::read_to_string(path).unwrap();
    let lines = record
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let bounds = lines.filter(|r: &Value| r["subtype"] == "compact_boundary");
    let tokens = |r: Value| {
        let of = |key: &str| r["compactMetadata"][key].as_u64().unwrap();
        (of("preTokens"), of("postTokens"))
    };
    bounds.map(tokens).collect()
}

/// Parent and owner are told of the one compaction, with the numbers of the agent's own record.
#[track_caller]
fn told(world: &World) {
    world.wait_compactions("api", 1);
    let bounds = boundaries(world, "api");
    assert_eq!(bounds.len(), 1, "{bounds:?}");
    let [before, after] = [bounds[0].0, bounds[0].1].map(sm_core::monitor::thousands);
    let numbers = format!("{before} → {after} tokens");
    world.request_with(&format!(
        "[sm context] Compaction fired for api. Context was lost ({numbers})."
    ));
    world.wait_state("boss", "idle");
    let last = closing(world, "boss");
    assert_eq!(occurrences(&last, "Compaction fired for api"), 1);
    let owner = world.told_owner();
    let line = format!("api compacted its context: {numbers}");
    assert_eq!(owner.matches(&line).count(), 1, "{owner}");
    assert_eq!(owner.matches("compacted its context").count(), 1, "{owner}");
}

/// Both thresholds speak once more, and no oftener.
#[track_caller]
fn speaks_again(world: &World, before: &[u64]) {
    let mut all = before.to_vec();
    for (tokens, percent) in [(106_000, 53), (136_000, 68)] {
        all.push(percent);
        world.fills("api", tokens, &all);
    }
    world.send_wait("api", "RUNMANY: 5 true", &[]);
    world.wait_state("api", "idle");
    let last = closing(world, "api");
    for percent in [53, 68] {
        let said = format!("{ALERT}{percent}%");
        assert_eq!(occurrences(&last, &said), 1, "{:#?}", shown(&last));
    }
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
    world.fills("api", 134_000, &[67]);

    world
        .model
        .control(|c| c.compact_hold = Some("summary".into()));
    world.type_compact();
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
    told(&world);
    let last = closing(&world, "api");
    for mode in ["sequential", "important", "urgent"] {
        let text = format!("{meanwhile}, {mode}.");
        assert_eq!(given(&last, &text), 1, "{text}");
    }
    // nothing was handed over: what the ledger knows is given back
    assert_eq!(occurrences(&last, "[sm recovery]"), 1);
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
    world
        .model
        .control(|c| c.compact_hold = Some("summary".into()));
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
    told(&world);
    let last = closing(&world, "api");
    assert_eq!(given(&last, meanwhile), 1);
    assert_eq!(occurrences(&last, "[sm recovery]"), 1);
    assert_eq!(world.compactions(), 1);
    speaks_again(&world, &[85]);
}

/// Claude Code's calls before and after compactions are noted in a file; some get lost.
const NOTED: &str = r#"printf '%s\n' "$2" >> "$state/calls"
if [ -e "$state/lose-$2" ]; then cat > /dev/null; exit 0; fi"#;

impl World {
    /// How often Claude Code has called this hook.
    fn calls(&self, event: &str) -> usize {
        let calls = std::fs::read_to_string(self.env.path().join("bin/calls"));
        let calls = calls.unwrap_or_default();
        calls.lines().filter(|line| *line == event).count()
    }

    fn lose(&self, event: &str) {
        let file = self.env.path().join("bin").join(format!("lose-{event}"));
        std::fs::write(file, "").unwrap();
    }

    /// Something to compact: a conversation of so few words is left as it is.
    pub fn talk(&self) {
        self.usage(60_000);
        for n in 0..3 {
            self.send_wait("api", &format!("RUN: seq 1 200 # {n}"), &[]);
            self.wait_state("api", "idle");
        }
    }

    pub fn type_compact(&self) {
        self.type_text("api", "/compact");
        self.wait_screen("api", "/compact");
        self.key("api", "Enter");
    }
}

/// A world in which an automatic compaction is held up for a handoff.
fn holding(test: &str, args: &[&str]) -> Option<World> {
    let world = World::claude_hooked(test, NOTED)?;
    world
        .model
        .control(|control| control.reply = Some("ok".into()));
    world.configure("[context]\non_compaction = \"handoff\"\n");
    world.start_idle("api", args);
    world.talk();
    Some(world)
}

/// Known to be nearly full: the program may ask before it has written its next usage down.
fn nearly_full(world: &World) {
    world.usage(161_000);
    world.send_wait("api", "RUN: true", &[]);
    world.wait_state("api", "idle");
    world.wait_tokens("api", 161_000);
}

const IMMINENT: &str = "is about to be compacted; sm holds that up";

/// In a context that is full by now: the agent is told, hands off, and nothing is compacted.
fn hands_off_instead(world: &World) -> Value {
    let work = "RUN: true\nTHEN: true\nTHEN: echo half done > notes.md\nTHEN: sm handoff notes.md";
    world.send_wait("api", work, &[]);
    let told = world.request_with(IMMINENT);
    world.usage(20_000);
    let done = world.wait_handoff("api", "done");
    let asked = world.request_with("Handoff scheduled");
    assert!(told.seq < asked.seq, "it was told before it handed off");
    let shown = world.wait_state("api", "idle");
    assert_eq!(
        (&shown["generation"], &shown["compactions"]),
        (&2.into(), &0.into())
    );
    assert_eq!(world.compactions(), 0, "nothing was compacted: {done:#}");
    assert!((1..=5).contains(&world.calls("PreCompact")));
    shown
}

#[test]
fn a_compaction_is_held_up_until_the_agent_has_handed_off() {
    let test = "a_compaction_is_held_up_until_the_agent_has_handed_off";
    let Some(world) = holding(test, &AUTO) else {
        return;
    };
    world.at(WAKE, "RUN: cat notes.md");
    nearly_full(&world);
    world.usage(169_000);
    let shown = hands_off_instead(&world);
    let new = world.once_ever(&world.wake_of("notes.md"));
    assert_eq!(text(&shown["conversation_id"]), new);
}

/// Set to compact at 67,000 of 200,000 tokens: that is the window that counts, for how full it is and
/// for the policy.
#[test]
fn a_compaction_in_a_smaller_window_is_held_up_as_well() {
    let test = "a_compaction_in_a_smaller_window_is_held_up_as_well";
    let early = AUTO.map(|arg| match arg.starts_with('{') {
        true => r#"{"autoCompactWindow":100000}"#,
        false => arg,
    });
    let Some(world) = holding(test, &early) else {
        return;
    };
    world.at(WAKE, "RUN: cat notes.md");
    world.usage(62_000);
    world.send_wait("api", "RUN: true", &[]);
    world.wait_state("api", "idle");
    world.wait_tokens("api", 62_000);
    let full = &world.show("api")["context"];
    assert_eq!(full["window"], 100_000, "{full}");
    assert_eq!(full["used_percentage"], 78.0, "{full}");
    world.usage(69_000);
    hands_off_instead(&world);
}

#[test]
fn a_compaction_is_let_through_if_the_agent_does_not_hand_off() {
    let test = "a_compaction_is_let_through_if_the_agent_does_not_hand_off";
    let Some(world) = holding(test, &AUTO) else {
        return;
    };
    nearly_full(&world);
    world.usage(169_000);
    let from = world.main_requests().len();
    world.send_wait("api", "RUNMANY: 12 true", &[]);
    let summary = world.model.wait_for_request(asks_summary, DEADLINE);
    assert!(summary.is_some(), "{}", world.about("api"));
    world.usage(20_000);
    world.wait_compactions("api", 1);
    world.wait_state("api", "idle");
    assert_eq!(world.compactions(), 1);
    assert_eq!(
        world.calls("PreCompact"),
        6,
        "five times held up, once let through"
    );
    let requests = world.main_requests().len() - from;
    assert!((7..=14).contains(&requests), "{requests}");
    let last = closing(&world, "api");
    assert_eq!(occurrences(&last, "closing words"), 1);
}

/// The API refuses the request, and Claude Code compacts and tries again: held up, the turn would
/// fail, and the next one as well.
#[test]
fn a_request_that_is_too_long_is_not_refused_for_the_policy() {
    let test = "a_request_that_is_too_long_is_not_refused_for_the_policy";
    let Some(world) = holding(test, &FREE) else {
        return;
    };
    world.usage(150_000);
    world.send_wait("api", "RUN: true", &[]);
    world.wait_state("api", "idle");
    let too_long = FailNext {
        status: 400,
        message: "prompt is too long: 210000 tokens > 200000 maximum".into(),
        count: 1,
    };
    world.model.control(|c| c.fail_next = Some(too_long));
    let text = "RUN: echo too long";
    let id = world.send("api", text, &[]);
    world.usage(20_000);
    world.wait_compactions("api", 1);
    world.wait_message("api", &id, "consumed");
    world.wait_state("api", "idle");
    assert_eq!((world.compactions(), world.calls("StopFailure")), (1, 0));
    assert_eq!(world.calls("PreCompact"), 1);
    let last = closing(&world, "api");
    assert_eq!(given(&last, text), 1);
}

/// Above its limit Claude Code takes no prompt without compacting first.
#[test]
fn a_prompt_to_a_context_that_is_full_is_not_refused() {
    let test = "a_prompt_to_a_context_that_is_full_is_not_refused";
    let Some(world) = holding(test, &AUTO) else {
        return;
    };
    world.usage(178_000);
    world.send_wait("api", "hello", &[]);
    world.wait_levels("api", &[89]);
    world.wait_state("api", "idle");
    world.usage(20_000);
    let text = "words to a full context";
    let id = world.send("api", text, &[]);
    world.request_with(text);
    world.wait_message("api", &id, "consumed");
    world.wait_compactions("api", 1);
    let last = closing(&world, "api");
    assert_eq!(given(&last, text), 1);
    assert_eq!(world.calls("PreCompact"), 1);
}

#[test]
fn a_compaction_is_found_by_the_record_alone() {
    let Some(world) = World::claude_hooked("a_compaction_is_found_by_the_record_alone", NOTED)
    else {
        return;
    };
    world.start_idle("api", &FREE);
    world.talk();
    world.fills("api", 134_000, &[67]);
    for event in ["PreCompact", "SessionStart", "PostCompact"] {
        world.lose(event);
    }
    world.usage(20_000);
    world.type_compact();
    world.wait_compactions("api", 1);
    assert!(world.calls("PostCompact") > 0 && world.calls("PreCompact") > 0);
    world.send_wait("api", "RUN: true", &[]);
    world.wait_state("api", "idle");
    assert_eq!(
        world.show("api")["compactions"],
        1,
        "{}",
        world.about("api")
    );
    world.fills("api", 106_000, &[67, 53]);
}

#[test]
fn a_cancelled_compaction_is_none() {
    let Some(world) = claude("a_cancelled_compaction_is_none") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.talk();
    world.fills("api", 134_000, &[67]);
    world
        .model
        .control(|c| c.compact_hold = Some("ever".into()));
    world.type_compact();
    world.hold("ever");
    world.wait_state("api", "compacting");
    world.key("api", "Escape");
    let text = "after a compaction that was none";
    world.send_wait("api", text, &[]);
    world.wait_state("api", "idle");
    // the command is back in the composer, and nothing stands behind it
    let standing = composer(&world, "api");
    assert!(standing.starts_with("❯\u{a0}/compact "), "{standing}");
    assert!(!standing.contains(text), "{standing}");
    world.request_with(text);
    assert_eq!(
        world.show("api")["compactions"],
        0,
        "{}",
        world.about("api")
    );
    assert_eq!(
        world.levels("api"),
        [67],
        "nothing was lost, nothing is said again"
    );
}

/// The document that a context was handed is given back to it, and only to it.
#[test]
fn what_a_context_was_handed_comes_back_after_a_compaction() {
    let test = "what_a_context_was_handed_comes_back_after_a_compaction";
    let Some(world) = claude(test) else { return };
    world.start_idle("api", &FREE);
    world.at(WAKE, "RUN: wc -c notes.md");
    let lines = "for n in $(seq 1 2000); do echo line $n of the notes; done > notes.md";
    world.send_wait(
        "api",
        &format!("RUN: {lines}\nTHEN: sm handoff notes.md"),
        &[],
    );
    world.wait_handoff("api", "done");
    world.wait_state("api", "idle");
    world.talk();
    let kid = "RUN: sm new claude --name kid --detach -- --model claude-sonnet-4-5";
    world.send_wait("api", kid, &[]);
    world.wait_state("api", "idle");
    world.wait_state("kid", "idle");
    world.type_compact();
    world.wait_compactions("api", 1);
    world.wait_state("api", "idle");
    let after = "what was I doing?";
    world.send_wait("api", after, &[]);
    let request = world.request_with(after);
    let back: Vec<String> = texts_of(&request)
        .into_iter()
        .filter(|t| t.contains("[sm recovery]"))
        .collect();
    assert_eq!(back.len(), 1, "{back:?}");
    let (_, said) = back[0].split_once("[sm recovery]").unwrap();
    let said = said.split("</system-reminder>").next().unwrap();
    for part in [
        "began less than a minute ago (generation 2)",
        "line 1 of the notes\nline 2 of the notes",
        "the rest is in ",
        "Under way now:",
        "kid",
        "sm archive api grep",
    ] {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    assert!(said.contains(&world.in_project("notes.md").display().to_string()));
    assert!(!said.contains("line 2000 of the notes"));
    let size = said.chars().count();
    assert!((8_000..9_500).contains(&size), "{size}");
    world.wait_state("api", "idle");
    let last = closing(&world, "api");
    assert_eq!(occurrences(&last, "[sm recovery]"), 1);
}
