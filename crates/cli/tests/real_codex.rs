//! Real Codex under `sm`, against the scripted model: from its start to exactly-once delivery
//! across crashes of the daemon.

#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use std::time::Duration;

use common::{DEADLINE, World, occurrences};
use rustix::process::Signal;
use serde_json::Value;
use sm_testkit::model::{Request, conversation_of, is_main, is_subagent, texts_of};
use sm_testkit::wait_until;

// ── what a person does at Codex

/// Types a prompt and submits it. Codex may take an Enter for a part of the typing, as any person
/// who types too quickly finds out: it is pressed again.
#[track_caller]
fn submit(world: &World, session: &str, text: &str) {
    world.type_text(session, text);
    world.wait_screen(session, text);
    enter(world, session, |r| texts_of(r).iter().any(|t| t == text));
}

#[track_caller]
fn enter(world: &World, session: &str, arrived: impl Fn(&Request) -> bool) {
    for _ in 0..20 {
        world.key(session, "Enter");
        let patience = Duration::from_secs(2);
        let main = |r: &Request| is_main(r) && arrived(r);
        if world.model.wait_for_request(main, patience).is_some() {
            return;
        }
    }
    panic!("Codex does not submit\n{}", world.about(session));
}

// ── what is looked at

/// The conversation as the model was shown it last.
#[track_caller]
fn last(world: &World) -> Request {
    world.main_requests().pop().unwrap()
}

/// Whether the model was given this text as a block of its own, byte for byte, and once.
#[track_caller]
fn exactly_once(world: &World, text: &str) {
    let request = last(world);
    let blocks = texts_of(&request);
    let whole = blocks.iter().filter(|block| *block == text).count();
    assert_eq!(whole, 1, "{text:.80?} in {blocks:.300?}");
}

#[track_caller]
fn once(world: &World, part: &str) {
    let request = last(world);
    assert_eq!(occurrences(&request, part), 1, "{part:.80?}");
}

fn field(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

// ── start

/// The config without the table in which Codex itself keeps what it has shown.
fn without_tui(config: &str) -> String {
    let mut out = String::new();
    let mut tui = false;
    for line in config.lines() {
        if line.starts_with('[') {
            tui = line.starts_with("[tui");
        }
        if !tui {
            out += line;
            out.push('\n');
        }
    }
    out.trim_end().to_owned()
}

#[test]
fn a_fresh_home_reaches_idle_without_a_dialog_and_stays_as_it_is() {
    let name = "a_fresh_home_reaches_idle_without_a_dialog_and_stays_as_it_is";
    let Some(world) = World::codex(name) else {
        return;
    };
    let config = world.env.home().join(".codex/config.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    let session = world.start_idle("one", &[]);
    assert_eq!(session["agent"], "codex");
    assert_eq!(session["generation"], 1);
    world.send_wait("one", "SAY: hello", &[]);
    world.wait_state("one", "idle");
    world.sm(&["kill", "one"]).exits(0);
    let after = std::fs::read_to_string(&config).unwrap();
    assert_eq!(without_tui(&before), without_tui(&after));
    let never = world.events("one").iter().any(|e| e.contains("waiting"));
    assert!(!never, "{:?}", world.events("one"));
}

#[test]
fn a_hook_of_the_users_own_is_still_reviewed_by_the_user() {
    let name = "a_hook_of_the_users_own_is_still_reviewed_by_the_user";
    let Some(world) = World::codex(name) else {
        return;
    };
    let config = world.env.home().join(".codex/config.toml");
    let own = "\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"true\"\n";
    let text = std::fs::read_to_string(&config).unwrap() + own;
    std::fs::write(&config, text).unwrap();
    world.start("one", &[]);
    let session = world.wait_state("one", "waiting");
    assert!(
        field(&session, "state_reason").contains("hooks to review"),
        "{session}"
    );
    let id = world.send("one", "after the review", &[]);
    assert!(world.wait_held("one", &id).contains("a person"));
    let before = world.screen("one");
    assert!(before.contains("Hooks need review"), "{before}");
    // "Continue without trusting"
    world.key("one", "Down");
    world.key("one", "Down");
    world.wait_screen("one", "› 3. Continue without");
    world.key("one", "Enter");
    let message = world.wait_message("one", &id, "submitted");
    assert_eq!(
        message["proof"], "hook",
        "ours run, the user's own does not"
    );
    world.wait_state("one", "idle");
}

// ── texts

#[test]
fn texts_arrive_byte_for_byte() {
    let Some(world) = World::codex("texts_arrive_byte_for_byte") else {
        return;
    };
    world.start_idle("one", &[]);
    let lines: Vec<String> = (0..200)
        .map(|n| format!("line {n} of two hundred"))
        .collect();
    let long: Vec<String> = (0..1200)
        .map(|n| format!("{n:04} fifty bytes a line, with é and ü in it, at last"))
        .collect();
    let texts = [
        "one line".to_owned(),
        lines.join("\n"),
        long.join("\n"),
        "/help is not a command here".to_owned(),
        format!("/{}", long.join("\n")),
        "a\ttab, and\n\n  an indented line\nwith an emoji 👩‍👩‍👧 and e\u{301}".to_owned(),
        "if a < b && b > c { \"quoted\" } 'too' \\ `x` $HOME".to_owned(),
        "# not a note".to_owned(),
        (0..120)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join("\n"),
        "word ".repeat(180).trim_end().to_owned(),
        "look at @some".to_owned(),
        "ends with a backslash\\".to_owned(),
    ];
    assert!(texts[2].len() > 60_000);
    for text in &texts {
        let message = world.send_wait("one", text, &[]);
        assert_eq!(
            (&message["way"], &message["proof"]),
            (&"paste".into(), &"hook".into())
        );
        world.request_with(text);
        world.wait_state("one", "idle");
    }
    for text in &texts {
        exactly_once(&world, text);
    }
}

#[test]
fn a_text_that_a_shell_would_run_waits_for_a_hook() {
    let Some(world) = World::codex("a_text_that_a_shell_would_run_waits_for_a_hook") else {
        return;
    };
    world.start_idle("one", &[]);
    let id = world.send("one", "!touch ran-by-a-shell", &[]);
    let reason = world.wait_held("one", &id);
    assert!(reason.contains("command"), "{reason}");
    submit(&world, "one", "SAY: hello");
    let message = world.wait_message("one", &id, "submitted");
    assert_eq!(message["way"], "stop_answer");
    world.wait_state("one", "idle");
    once(&world, "!touch ran-by-a-shell");
    let second = world.send(
        "one",
        "!touch ran-by-a-shell again",
        &["--mode", "important"],
    );
    world.wait_held("one", &second);
    submit(&world, "one", "RUN: true");
    let message = world.wait_message("one", &second, "submitted");
    assert_eq!(message["way"], "hook_answer");
    world.wait_state("one", "idle");
    exactly_once(&world, "!touch ran-by-a-shell again");
    assert!(!world.env.project().join("ran-by-a-shell").exists());
}

#[test]
fn a_first_prompt_comes_with_the_launch() {
    let Some(world) = World::codex("a_first_prompt_comes_with_the_launch") else {
        return;
    };
    let prompt = "- not an option\nSAY: hello <there> & here";
    world.start("one", &[&format!("--prompt={prompt}")]);
    world.request_with(prompt);
    let session = world.wait_state("one", "idle");
    exactly_once(&world, prompt);
    assert_eq!(session["turn"], 1);
    assert!(session["conversation_id"].is_string());
    let events = world.events("one").join("\n");
    assert!(events.contains("consumed"), "{events}");
}

// ── while it works

fn joins_the_turn(test: &str, command: &str) {
    let Some(world) = World::codex(test) else {
        return;
    };
    world.start_idle("one", &[]);
    let gate = world.gate("gate");
    let prompt = format!("RUN: {command}");
    world.send_wait("one", &prompt, &[]);
    gate.wait_for_reader();
    let text = "stop using <the old> client & go on";
    let id = world.send("one", text, &["--mode", "important"]);
    world.wait_held("one", &id);
    gate.open();
    let message = world.wait_message("one", &id, "submitted");
    let how = (&message["way"], &message["proof"]);
    let expected = (&"hook_answer".into(), &"transcript".into());
    assert_eq!(how, expected, "{}", world.about("one"));
    let session = world.wait_state("one", "idle");
    exactly_once(&world, text);
    assert_eq!(session["turn"], 1, "it joined the running turn");
    let after = world.main_requests().len();
    assert_eq!(after, 2, "one request for the prompt, one after the tool");
}

#[test]
fn an_important_message_joins_the_turn_when_a_tool_succeeds() {
    let name = "an_important_message_joins_the_turn_when_a_tool_succeeds";
    joins_the_turn(name, "cat gate");
}

#[test]
fn an_important_message_joins_the_turn_when_a_tool_fails() {
    let name = "an_important_message_joins_the_turn_when_a_tool_fails";
    joins_the_turn(name, "cat gate; exit 3");
}

#[test]
fn messages_for_a_long_turn_arrive_after_it_all_of_them_once() {
    let name = "messages_for_a_long_turn_arrive_after_it_all_of_them_once";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", "HOLD: long\nSAY: done", &[]);
    world.hold("long");
    let texts: Vec<String> = (0..10)
        .map(|n| format!("message number {n}, queued"))
        .collect();
    let ids: Vec<String> = texts.iter().map(|t| world.send("one", t, &[])).collect();
    for id in &ids {
        world.wait_held("one", id);
    }
    let before = last(&world);
    assert!(texts.iter().all(|t| occurrences(&before, t) == 0));
    world.model.release("long");
    for id in &ids {
        world.wait_message("one", id, "consumed");
    }
    world.wait_state("one", "idle");
    for text in &texts {
        once(&world, text);
    }
}

#[test]
fn an_urgent_message_ends_the_turn() {
    let Some(world) = World::codex("an_urgent_message_ends_the_turn") else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", "HOLD: long\nSAY: never said", &[]);
    world.hold("long");
    let held = last(&world);
    let message = world.send_wait("one", "stop and listen", &["--mode", "urgent"]);
    assert_eq!(message["way"], "paste");
    assert!(world.model.wait_for_abandoned(held.seq, DEADLINE));
    world.wait_state("one", "idle");
    exactly_once(&world, "stop and listen");
}

// ── a person at the terminal

/// A command that needs an approval.
const ESCALATED: &str = "TOOL: exec_command {\"cmd\":\"touch approved\",\"sandbox_permissions\":\"require_escalated\",\"justification\":\"may I?\"}";

const APPROVAL: &str = "Would you like to run the following command?";

#[test]
fn nothing_is_typed_into_an_open_approval() {
    let Some(world) = World::codex("nothing_is_typed_into_an_open_approval") else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", ESCALATED, &[]);
    world.wait_state("one", "waiting");
    world.wait_screen("one", APPROVAL);
    let before = world.screen("one");
    let ids = ["sequential", "important", "urgent"].map(|mode| {
        let id = world.send("one", &format!("a {mode} one"), &["--mode", mode]);
        assert!(world.wait_held("one", &id).contains("a person"));
        id
    });
    assert_eq!(world.screen("one"), before);
    assert!(!world.env.project().join("approved").exists());
    world.key("one", "y");
    for id in &ids {
        world.wait_message("one", id, "submitted");
    }
    world.wait_state("one", "idle");
    for mode in ["sequential", "important", "urgent"] {
        once(&world, &format!("a {mode} one"));
    }
    assert!(world.env.project().join("approved").exists());
}

#[test]
fn a_denied_approval_ends_in_idle() {
    let Some(world) = World::codex("a_denied_approval_ends_in_idle") else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", ESCALATED, &[]);
    world.wait_state("one", "waiting");
    world.wait_screen("one", APPROVAL);
    let id = world.send("one", "after the denial", &[]);
    world.wait_held("one", &id);
    world.key("one", "Escape");
    world.wait_message("one", &id, "submitted");
    world.wait_state("one", "idle");
    exactly_once(&world, "after the denial");
    assert!(!world.env.project().join("approved").exists());
}

#[test]
fn a_draft_survives_and_the_message_waits_for_it() {
    let Some(world) = World::codex("a_draft_survives_and_the_message_waits_for_it") else {
        return;
    };
    world.start_idle("one", &[]);
    let draft = "please DO NOT delete the prod";
    world.type_text("one", draft);
    world.wait_screen("one", draft);
    let first = world.send("one", "the first message", &[]);
    let reason = world.wait_held("one", &first);
    assert!(reason.contains("half-typed"), "{reason}");
    let line = format!("› {draft}");
    assert!(
        world.screen("one").lines().any(|l| l == line),
        "the draft is as it was"
    );
    // erased
    world.key("one", "C-u");
    world.wait_message("one", &first, "submitted");
    world.wait_state("one", "idle");
    world.type_text("one", draft);
    world.wait_screen("one", draft);
    let second = world.send("one", "the second message", &[]);
    world.wait_held("one", &second);
    // submitted
    enter(&world, "one", |r| texts_of(r).iter().any(|t| t == draft));
    world.wait_message("one", &second, "submitted");
    world.wait_state("one", "idle");
    exactly_once(&world, "the first message");
    exactly_once(&world, draft);
    once(&world, "the second message");
}

#[test]
fn escape_ends_in_idle() {
    let Some(world) = World::codex("escape_ends_in_idle") else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", "HOLD: long\nSAY: never said", &[]);
    world.hold("long");
    let id = world.send("one", "after the escape", &[]);
    world.wait_held("one", &id);
    world.key("one", "Escape");
    world.wait_message("one", &id, "submitted");
    let session = world.wait_state("one", "idle");
    assert_eq!(session["turn"], 2);
    exactly_once(&world, "after the escape");
    let events = world.events("one").join("\n");
    assert!(events.contains("by an interrupt"), "{events}");
}

#[test]
fn an_api_error_ends_in_idle() {
    let Some(world) = World::codex("an_api_error_ends_in_idle") else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", "FAIL: 400", &[]);
    let session = world.wait_state("one", "idle");
    assert!(
        field(&session, "state_reason").contains("API error"),
        "{session}"
    );
    let message = world.send_wait("one", "after the error", &[]);
    assert_eq!(message["proof"], "hook");
    world.wait_state("one", "idle");
    exactly_once(&world, "after the error");
}

// ── contexts

#[test]
fn a_cleared_context_is_a_new_generation() {
    let Some(world) = World::codex("a_cleared_context_is_a_new_generation") else {
        return;
    };
    world.start_idle("one", &[]);
    let mut known = Vec::new();
    for (generation, command) in [(2, "/clear"), (3, "/new")] {
        let text = format!("before {command}");
        world.send_wait("one", &text, &[]);
        let session = world.wait_state("one", "idle");
        known.push(field(&session, "conversation_id"));
        // the hook that ends a turn runs before Codex takes commands again
        world.wait_screen("one", "Worked for");
        world.type_text("one", command);
        world.wait_screen("one", command);
        let gone = || (!world.screen("one").contains(&text)).then_some(());
        let cleared = (0..10).find_map(|_| {
            world.key("one", "Enter");
            wait_until(Duration::from_secs(2), gone)
        });
        assert!(cleared.is_some(), "{}", world.about("one"));
        let text = format!("after {command}");
        world.send_wait("one", &text, &[]);
        let session = world.wait_state("one", "idle");
        let id = field(&session, "conversation_id");
        assert_eq!(session["generation"], generation);
        assert!(!known.contains(&id));
        let request = world.request_with(&text);
        assert_eq!(conversation_of(&request), Some(id.as_str()));
        assert!(field(&session, "transcript_path").contains(&id));
        exactly_once(&world, &text);
    }
}

#[test]
fn a_restored_session_goes_on_in_its_conversation() {
    let Some(world) = World::codex("a_restored_session_goes_on_in_its_conversation") else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", "remember this", &[]);
    let before = world.wait_state("one", "idle");
    world.sm(&["kill", "one"]).exits(0);
    world.wait_state("one", "exited");
    let refused = world.sm_with(&["send", "one", "--json", "-"], "to nobody");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    world.sm(&["restore", "one"]).exits(0);
    let after = world.wait_state("one", "idle");
    for key in ["id", "conversation_id", "generation", "transcript_path"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    let message = world.send_wait("one", "and go on", &[]);
    assert_eq!(message["proof"], "hook");
    let session = world.wait_state("one", "idle");
    assert_eq!(session["conversation_id"], before["conversation_id"]);
    exactly_once(&world, "remember this");
    exactly_once(&world, "and go on");
    assert_eq!(occurrences(&last(&world), "to nobody"), 0);
}

#[test]
fn two_sessions_in_one_directory_never_mix() {
    let Some(world) = World::codex("two_sessions_in_one_directory_never_mix") else {
        return;
    };
    // one after the other: two first starts at once break Codex's own database
    world.start_idle("fk", &[]);
    world.start_idle("fk2", &[]);
    world.send_wait("fk", "HOLD: both\nSAY: for the first", &[]);
    world.send_wait("fk2", "for the second", &[]);
    world.wait_state("fk2", "idle");
    assert_eq!(world.show("fk")["state"], "working");
    world.model.release("both");
    let first = world.wait_state("fk", "idle");
    let second = world.show("fk2");
    assert_ne!(first["conversation_id"], second["conversation_id"]);
    let of = |text: &str| {
        conversation_of(&world.request_with(text))
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        field(&first, "conversation_id"),
        of("HOLD: both\nSAY: for the first")
    );
    assert_eq!(field(&second, "conversation_id"), of("for the second"));
    world.sm(&["kill", "fk"]).exits(0);
    world.wait_state("fk", "exited");
    assert_eq!(world.show("fk2")["state"], "idle");
    world.send_wait("fk2", "still here", &[]);
    world.wait_state("fk2", "idle");
    assert_eq!(of("still here"), field(&second, "conversation_id"));
}

#[test]
fn usage_comes_from_the_record_and_titles_are_not_the_session() {
    let name = "usage_comes_from_the_record_and_titles_are_not_the_session";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.model.control(|c| c.input_tokens = 100_700); // and 300 from the cache
    world.start_idle("one", &[]);
    world.send_wait("one", "how much is used?", &[]);
    world.wait_state("one", "idle");
    let context = wait_until(DEADLINE, || {
        let context = world.show("one")["context"].clone();
        context["tokens"].is_u64().then_some(context)
    });
    let context = context.unwrap();
    assert_eq!(context["tokens"], 101_025);
    assert_eq!(context["window"], 190_000);
    assert_eq!(context["used_percentage"], 50.0);
    let own = field(&world.show("one"), "conversation_id");
    let title = |r: &Request| !is_main(r) && r.route() == "/v1/responses";
    let title = world.model.wait_for_request(title, DEADLINE).unwrap();
    assert_ne!(conversation_of(&title), Some(own.as_str()));
    world.wait_screen("one", "Fake title");
    let session = world.show("one");
    assert_eq!(
        (&session["generation"], &session["turn"]),
        (&1.into(), &1.into())
    );
}

// ── sub-agents

/// Everything that sub-agents were given.
fn subagents_were_told(world: &World, part: &str) -> bool {
    let all = world.model.requests();
    all.iter()
        .any(|r| is_subagent(r) && occurrences(r, part) > 0)
}

#[test]
fn a_message_goes_to_the_main_conversation_while_a_sub_agent_works() {
    let name = "a_message_goes_to_the_main_conversation_while_a_sub_agent_works";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.start_idle("one", &[]);
    let (first, second) = (world.gate("first"), world.gate("second"));
    let task = "RUN: cat first; cat second";
    let spawn = format!("TOOL: multi_agent_v1/spawn_agent {{\"message\":\"{task}\"}}");
    world.send_wait("one", &format!("HOLDAFTER: main\n{spawn}"), &[]);
    world.hold("main");
    first.wait_for_reader();
    let important = world.send("one", "for the main one", &["--mode", "important"]);
    world.wait_held("one", &important);
    first.open();
    second.wait_for_reader();
    assert_eq!(world.show("one")["state"], "working");
    world.model.release("main");
    world.wait_message("one", &important, "submitted");
    world.wait_state("one", "idle");
    // the main conversation rests, the sub-agent goes on
    let message = world.send_wait("one", "and another", &[]);
    assert_eq!(message["proof"], "hook");
    let session = world.wait_state("one", "idle");
    second.open();
    let done = |r: &Request| is_subagent(r) && occurrences(r, "exited with code 0") > 0;
    assert!(world.model.wait_for_request(done, DEADLINE).is_some());
    once(&world, "for the main one");
    exactly_once(&world, "and another");
    assert!(!subagents_were_told(&world, "for the main one"));
    assert!(!subagents_were_told(&world, "and another"));
    let after = world.wait_state("one", "idle");
    for key in ["conversation_id", "generation", "turn"] {
        assert_eq!(session[key], after[key], "{key}");
    }
}

// ── the daemon dies

#[test]
fn a_daemon_killed_while_it_delivers_delivers_once() {
    let Some(world) = World::codex("a_daemon_killed_while_it_delivers_delivers_once") else {
        return;
    };
    world.start_idle("one", &[]);
    let mut texts = Vec::new();
    for until in ["", "", "written", "written", "submitted", ""] {
        let text = format!("message {} survives", texts.len());
        let id = world.send("one", &text, &[]);
        if !until.is_empty() {
            world.wait_message("one", &id, until);
        }
        world.kill_daemon();
        texts.push(text);
        world.wait_message("one", &id, "submitted");
        world.wait_state("one", "idle");
    }
    for text in &texts {
        exactly_once(&world, text);
    }
    let session = world.show("one");
    assert_eq!(session["generation"], 1);
}

#[test]
fn a_daemon_killed_during_a_turn_finds_out_how_it_ended() {
    let name = "a_daemon_killed_during_a_turn_finds_out_how_it_ended";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.start_idle("one", &[]);
    for (how, expected) in [("said", 1), ("escaped", 0)] {
        let prompt = format!("HOLD: {how}\nSAY: the end");
        world.send_wait("one", &prompt, &[]);
        world.hold(how);
        let text = format!("after it was {how}");
        let id = world.send("one", &text, &[]);
        world.wait_held("one", &id);
        world.kill_daemon();
        if expected == 1 {
            world.model.release(how);
            world.wait_screen("one", "• the end");
        } else {
            world.key("one", "Escape");
            world.wait_screen("one", "interrupted");
        }
        world.wait_message("one", &id, "submitted");
        world.wait_state("one", "idle");
        once(&world, &text);
    }
}

#[test]
fn a_daemon_killed_while_a_tool_runs_still_joins_the_turn() {
    let name = "a_daemon_killed_while_a_tool_runs_still_joins_the_turn";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.start_idle("one", &[]);
    for alive in [true, false] {
        let gate = world.gate(&format!("gate-{alive}"));
        let prompt = format!("RUN: cat gate-{alive}");
        world.send_wait("one", &prompt, &[]);
        gate.wait_for_reader();
        let text = format!("joins ({alive})");
        let id = world.send("one", &text, &["--mode", "important"]);
        world.wait_held("one", &id);
        world.kill_daemon();
        if alive {
            world.show("one"); // starts it
        }
        gate.open();
        let message = world.wait_message("one", &id, "submitted");
        if alive {
            assert_eq!(message["way"], "hook_answer", "{}", world.about("one"));
        }
        world.wait_state("one", "idle");
        once(&world, &text);
    }
}

#[test]
fn a_daemon_killed_before_an_approval_or_a_draft_touches_neither() {
    let name = "a_daemon_killed_before_an_approval_or_a_draft_touches_neither";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.start_idle("one", &[]);
    world.send_wait("one", ESCALATED, &[]);
    world.wait_state("one", "waiting");
    world.wait_screen("one", APPROVAL);
    let first = world.send("one", "after the answer", &[]);
    world.wait_held("one", &first);
    world.kill_daemon();
    world.wait_state("one", "waiting");
    assert!(world.wait_held("one", &first).contains("a person"));
    world.wait_screen("one", APPROVAL);
    world.key("one", "y");
    world.wait_message("one", &first, "submitted");
    world.wait_state("one", "idle");
    let draft = "half of a thought";
    world.type_text("one", draft);
    world.wait_screen("one", draft);
    let second = world.send("one", "after the draft", &[]);
    world.wait_held("one", &second);
    world.kill_daemon();
    assert!(world.wait_held("one", &second).contains("half-typed"));
    world.wait_screen("one", &format!("› {draft}"));
    world.key("one", "C-u");
    world.wait_message("one", &second, "submitted");
    world.wait_state("one", "idle");
    once(&world, "after the answer");
    exactly_once(&world, "after the draft");
    assert_eq!(occurrences(&last(&world), draft), 0);
}

#[test]
fn a_daemon_killed_right_after_a_start_knows_its_session() {
    let name = "a_daemon_killed_right_after_a_start_knows_its_session";
    let Some(world) = World::codex(name) else {
        return;
    };
    world.start("one", &["--prompt=SAY: the first"]);
    world.request_with("SAY: the first");
    world.kill_daemon();
    world.wait_state("one", "idle");
    world.send_wait("one", "the second", &[]);
    world.wait_state("one", "idle");
    exactly_once(&world, "SAY: the first");
    exactly_once(&world, "the second");
}

#[test]
fn a_stopped_daemon_does_not_hold_codex_up() {
    let Some(world) = World::codex("a_stopped_daemon_does_not_hold_codex_up") else {
        return;
    };
    world.start_idle("one", &[]);
    world.signal_daemon(Signal::STOP);
    submit(&world, "one", "RUN: seq 1 20000");
    world.wait_screen("one", "• RUN done");
    submit(&world, "one", "SAY: said while nobody listened");
    world.wait_screen("one", "• said while nobody listened");
    world.signal_daemon(Signal::CONT);
    let message = world.send_wait("one", "and now?", &[]);
    assert_eq!(message["proof"], "hook");
    let session = world.wait_state("one", "idle");
    assert_eq!(session["generation"], 1);
    exactly_once(&world, "and now?");
    let own = field(&session, "conversation_id");
    assert_eq!(conversation_of(&last(&world)), Some(own.as_str()));
    let problems = world.ask("/status")["problems"].clone();
    assert_eq!(problems, Value::Array(Vec::new()));
}
