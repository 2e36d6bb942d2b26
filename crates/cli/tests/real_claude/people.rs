//! A person at the same terminal: dialogs, drafts, Escape, commands.

use crate::common::{World, occurrences};
use crate::{ASKING, FREE, claude, closing, once};
use sm_testkit::model::{conversation_of, texts_of};
use sm_testkit::wait_until;

const DIALOG: &str = "Do you want to proceed?";

/// A turn that stands at a permission dialog.
pub fn dialog(world: &World) {
    world.start_idle("api", &ASKING);
    world.send_wait("api", "RUN: touch made-by-the-tool", &[]);
    world.wait_state("api", "waiting");
    world.wait_screen("api", DIALOG);
}

pub fn tool_ran(world: &World) -> bool {
    world.env.project().join("made-by-the-tool").exists()
}

/// What stands in the composer, without its sign.
pub fn composer(world: &World, session: &str) -> String {
    let screen = world.screen(session);
    let lines: Vec<&str> = screen.lines().collect();
    let rule = |line: &&str| line.starts_with("────") && line.ends_with('─');
    let bottom = lines.iter().rposition(rule).unwrap_or(0);
    let top = lines[..bottom].iter().rposition(rule).unwrap_or(0);
    let inside = lines.get(top + 1..bottom).unwrap_or_default().join("\n");
    inside.trim().to_owned()
}

#[track_caller]
pub fn wait_composer(world: &World, session: &str, wanted: &str) {
    let there = wait_until(crate::common::DEADLINE, || {
        (composer(world, session) == wanted).then_some(())
    });
    assert!(
        there.is_some(),
        "the composer never held {wanted:?}\n{}",
        world.about(session)
    );
}

#[test]
fn nothing_is_typed_into_a_permission_dialog() {
    let Some(world) = claude("nothing_is_typed_into_a_permission_dialog") else {
        return;
    };
    dialog(&world);
    let (first, second) = ("1 yes, after the dialog", "and this one is important");
    let a = world.send("api", first, &[]);
    let b = world.send("api", second, &["--mode", "important"]);
    let c = world.send("api", "y this one is urgent", &["--mode", "urgent"]);
    for id in [&a, &b, &c] {
        assert!(world.wait_held("api", id).contains("person"));
    }
    assert!(world.screen("api").contains(DIALOG), "it is still open");
    assert!(!tool_ran(&world));
    assert_eq!(world.show("api")["state"], "waiting");
    // it would interrupt the tool that is about to run
    world.sm(&["queue", "rm", "api", &c]).exits(0);
    world.answer_dialog("api", DIALOG, "Enter"); // the person says yes
    world.request_with(first);
    assert!(tool_ran(&world));
    once(&world, "api", &a, first);
    once(&world, "api", &b, second);
}

/// What a dialog asks, wherever a person may look for it.
fn what_waits_is_shown(world: &World) {
    world.start_idle("api", &ASKING);
    world.send_wait("api", "RUN: touch made-by-the-tool", &[]);
    world.wait_state("api", "waiting");
    world.wait_screen("api", DIALOG);
    let asked = serde_json::json!({
        "kind": "permission", "tool": "Bash", "request": "touch made-by-the-tool", "more": 0,
    });
    let session = wait_until(crate::common::DEADLINE, || {
        let session = world.show("api");
        (session["waiting_for"] == asked).then_some(session)
    });
    let session = session.unwrap_or_else(|| panic!("{}", world.about("api")));
    assert_eq!(session["activity"], "Bash: touch made-by-the-tool");
    let asks = "it asks for permission (Bash): touch made-by-the-tool";
    assert_eq!(session["state_reason"], asks);
    let listed = world.sm(&["ls", "--json"]).exits(0).json();
    assert_eq!(listed[0]["waiting_for"], session["waiting_for"]);
    for shown in [world.sm(&[]), world.sm(&["show", "api"])] {
        let shown = shown.exits(0).out;
        assert!(shown.contains("touch made-by-the-tool"), "{shown}");
    }
    let goal = wait_until(crate::common::DEADLINE, || {
        world.show("api")["goal"].as_str().map(str::to_owned)
    });
    assert_eq!(goal.as_deref(), Some("RUN: touch made-by-the-tool"));
    world.answer_dialog("api", DIALOG, "Escape");
    world.wait_state("api", "idle");
    assert_eq!(world.show("api")["waiting_for"], serde_json::Value::Null);
    assert_eq!(world.show("api")["activity"], serde_json::Value::Null);

    let question = "TOOL: AskUserQuestion {\"questions\":[{\"question\":\"Which database?\",\"header\":\"Database\",\"multiSelect\":false,\"options\":[{\"label\":\"Postgres\",\"description\":\"a server\"},{\"label\":\"SQLite\",\"description\":\"a file\"}]}]}";
    world.send_wait("api", question, &[]);
    world.wait_state("api", "waiting");
    let session = wait_until(crate::common::DEADLINE, || {
        let session = world.show("api");
        (session["waiting_for"]["request"] == "Which database?").then_some(session)
    });
    let session = session.unwrap_or_else(|| panic!("{}", world.about("api")));
    assert_eq!(session["waiting_for"]["kind"], "question", "{session}");
    assert_eq!(
        session["state_reason"],
        "it asks a question: Which database?"
    );
}

#[test]
fn the_command_of_a_dialog_is_shown() {
    let Some(world) = claude("the_command_of_a_dialog_is_shown") else {
        return;
    };
    what_waits_is_shown(&world);
}

#[test]
fn the_command_of_a_dialog_is_shown_on_the_newest() {
    let Some(world) = World::claude_newest("the_command_of_a_dialog_is_shown_on_the_newest") else {
        return;
    };
    what_waits_is_shown(&world);
}

/// The hook of the dialog is lost: the record of the conversation says what it asks.
#[test]
fn the_command_of_a_dialog_is_read_from_the_record_if_its_hook_is_lost() {
    let test = "the_command_of_a_dialog_is_read_from_the_record_if_its_hook_is_lost";
    let lost = "case \"$2\" in PermissionRequest|Notification) exit 0;; esac";
    let Some(world) = World::claude_hooked(test, lost) else {
        return;
    };
    world.start_idle("api", &ASKING);
    world.send_wait("api", "RUN: touch made-by-the-tool", &[]);
    world.wait_state("api", "waiting");
    let shown = wait_until(crate::common::DEADLINE, || {
        let session = world.show("api");
        (session["waiting_for"]["request"] == "touch made-by-the-tool").then_some(())
    });
    assert!(shown.is_some(), "{}", world.about("api"));
}

#[test]
fn a_denied_permission_ends_in_idle() {
    let Some(world) = claude("a_denied_permission_ends_in_idle") else {
        return;
    };
    dialog(&world);
    let text = "something else then";
    let id = world.send("api", text, &[]);
    world.answer_dialog("api", DIALOG, "Escape");
    world.request_with(text);
    assert!(!tool_ran(&world));
    once(&world, "api", &id, text);
}

#[test]
fn a_draft_survives_and_is_never_merged() {
    let Some(world) = claude("a_draft_survives_and_is_never_merged") else {
        return;
    };
    world.start_idle("api", &FREE);
    let draft = "a half typed thou";
    world.type_text("api", draft);
    wait_composer(&world, "api", &format!("❯\u{a0}{draft}"));
    let text = "a message beside a draft";
    let id = world.send("api", text, &[]);
    let request = world.request_with(text);
    assert_eq!(world.wait_message("api", &id, "consumed")["way"], "mailbox");
    assert_eq!(occurrences(&request, draft), 0);
    world.wait_state("api", "idle");
    wait_composer(&world, "api", &format!("❯\u{a0}{draft}"));
    world.type_text("api", "ght");
    world.key("api", "Enter");
    let request = world.request_with("a half typed thought");
    assert!(
        texts_of(&request)
            .iter()
            .any(|t| t == "a half typed thought")
    );
    once(&world, "api", &id, text);
}

#[test]
fn without_a_mailbox_a_message_waits_for_the_draft() {
    let Some(world) = claude("without_a_mailbox_a_message_waits_for_the_draft") else {
        return;
    };
    world.start_idle("api", &FREE);
    no_mailbox(&world);
    let draft = "still thinking";
    world.type_text("api", draft);
    wait_composer(&world, "api", &format!("❯\u{a0}{draft}"));
    let text = "it waits for the draft";
    let id = world.send("api", text, &[]);
    assert!(world.wait_held("api", &id).contains("half-typed"));
    assert_eq!(composer(&world, "api"), format!("❯\u{a0}{draft}"));
    world.key("api", "Enter"); // the person sends the draft
    let request = world.request_with(draft);
    assert!(texts_of(&request).iter().any(|t| t == draft), "unmixed");
    world.request_with(text);
    once(&world, "api", &id, text);
}

#[test]
fn a_stashed_draft_survives() {
    let Some(world) = claude("a_stashed_draft_survives") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.type_text("api", "put aside");
    wait_composer(&world, "api", "❯\u{a0}put aside");
    world.key("api", "C-s");
    world.wait_screen("api", "stashed");
    let text = "a message beside a stash";
    let id = world.send("api", text, &[]);
    world.request_with(text);
    assert_eq!(world.wait_message("api", &id, "consumed")["way"], "mailbox");
    world.wait_state("api", "idle");
    world.key("api", "C-s");
    wait_composer(&world, "api", "❯\u{a0}put aside");
    world.key("api", "Enter");
    let request = world.request_with("put aside");
    assert!(texts_of(&request).iter().any(|t| t == "put aside"));
    once(&world, "api", &id, text);
}

#[test]
fn a_shell_command_that_is_being_typed_survives() {
    let Some(world) = claude("a_shell_command_that_is_being_typed_survives") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.type_text("api", "!");
    wait_composer(&world, "api", "!"); // nobody types faster than that
    world.type_text("api", "touch by-hand");
    wait_composer(&world, "api", "!\u{a0}touch by-hand");
    let text = "a message beside a shell command";
    let id = world.send("api", text, &[]);
    world.request_with(text);
    assert_eq!(world.wait_message("api", &id, "consumed")["way"], "mailbox");
    world.wait_state("api", "idle");
    wait_composer(&world, "api", "!\u{a0}touch by-hand");
    assert!(!world.env.project().join("by-hand").exists());
    world.key("api", "Enter");
    let made = wait_until(crate::common::DEADLINE, || {
        world.env.project().join("by-hand").exists().then_some(())
    });
    assert!(made.is_some(), "{}", world.about("api"));
    once(&world, "api", &id, text);
}

/// Ends the background hook that could wake the agent.
fn no_mailbox(world: &World) {
    let is_waiter = |process: &sm_testkit::process::Process| {
        let path = format!("/proc/{}/cmdline", process.pid.as_raw_nonzero());
        std::fs::read(path).is_ok_and(|line| line.ends_with(b"claude\0mailbox\0"))
    };
    let waiter = wait_until(crate::common::DEADLINE, || {
        world.env.processes().into_iter().find(is_waiter)
    });
    let waiter = waiter.expect("a mailbox hook waits");
    waiter.kill();
    let gone = wait_until(crate::common::DEADLINE, || {
        (!world.env.processes().iter().any(is_waiter)).then_some(())
    });
    assert!(gone.is_some());
}

/// A turn that is interrupted while the model speaks.
fn escape(world: &World) {
    world.send_wait("api", "HOLD: ever\nSAY: only half", &[]);
    world.hold("ever");
    world.wait_screen("api", "●");
    world.key("api", "Escape");
    world.wait_screen("api", "Interrupted");
    world.wait_state("api", "idle");
}

#[test]
fn escape_ends_in_idle() {
    let Some(world) = claude("escape_ends_in_idle") else {
        return;
    };
    world.start_idle("api", &FREE);
    escape(&world);
    let text = "after the interrupt";
    let id = world.send("api", text, &[]);
    once(&world, "api", &id, text);
}

#[test]
fn a_prompt_that_escape_brought_back_is_a_draft() {
    let Some(world) = claude("a_prompt_that_escape_brought_back_is_a_draft") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.model.control(|control| control.delay = 3600.0); // the model says nothing
    let first = "taken back by a person";
    world.send_wait("api", first, &[]);
    world.request_with(first);
    world.key("api", "Escape");
    wait_composer(&world, "api", &format!("❯\u{a0}{first}"));
    world.wait_state("api", "idle");
    world.model.control(|control| control.delay = 0.0);
    let text = "and another one";
    let id = world.send("api", text, &[]);
    let request = world.request_with(text);
    assert_eq!(occurrences(&request, first), 0, "it was taken out");
    world.wait_message("api", &id, "consumed");
    world.wait_state("api", "idle");
    wait_composer(&world, "api", &format!("❯\u{a0}{first}"));
    world.key("api", "Enter");
    world.request_with(first);
    once(&world, "api", &id, text);
}

#[test]
fn an_api_error_ends_in_idle() {
    let Some(world) = claude("an_api_error_ends_in_idle") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.send_wait("api", "FAIL: 400", &[]);
    world.wait_screen("api", "API Error");
    let shown = world.wait_state("api", "idle");
    assert!(
        shown["state_reason"]
            .as_str()
            .unwrap()
            .contains("API error"),
        "{shown}"
    );
    let text = "after the error";
    let id = world.send("api", text, &[]);
    once(&world, "api", &id, text);
}

#[test]
fn a_persons_own_clear_begins_a_generation() {
    let Some(world) = claude("a_persons_own_clear_begins_a_generation") else {
        return;
    };
    let before = world.start_idle("api", &FREE);
    let first = "in the first generation";
    let a = world.send("api", first, &[]);
    once(&world, "api", &a, first);
    world.wait_state("api", "idle");
    world.type_text("api", "/clear");
    wait_composer(&world, "api", "❯\u{a0}/clear");
    world.key("api", "Enter");
    let second = wait_until(crate::common::DEADLINE, || {
        let shown = world.show("api");
        (shown["generation"] == 2).then_some(shown)
    });
    let after = second.unwrap_or_else(|| panic!("{}", world.about("api")));
    assert_ne!(after["conversation_id"], before["conversation_id"]);
    world.wait_state("api", "idle");
    let text = "in the second generation";
    let b = world.send("api", text, &[]);
    let request = world.request_with(text);
    assert_eq!(conversation_of(&request), after["conversation_id"].as_str());
    assert_eq!(occurrences(&request, first), 0);
    once(&world, "api", &b, text);
    assert_eq!(world.show("api")["generation"], 2);
}

#[test]
fn a_trust_dialog_is_reported_and_never_answered() {
    let Some(world) = claude("a_trust_dialog_is_reported_and_never_answered") else {
        return;
    };
    let strange = world.env.path().join("strange");
    std::fs::create_dir(&strange).unwrap();
    let cwd = strange.to_str().unwrap();
    let mut args = vec!["--cwd", cwd];
    args.extend(FREE);
    world.start("api", &args);
    let shown = world.wait_state("api", "waiting");
    assert!(
        shown["state_reason"]
            .as_str()
            .unwrap()
            .contains("first-run"),
        "{shown}"
    );
    let text = "once it is trusted";
    let id = world.send("api", text, &[]);
    assert!(world.wait_held("api", &id).contains("person"));
    world.wait_screen("api", "trust");
    assert_eq!(world.main_requests().len(), 0);
    let config = std::fs::read_to_string(world.env.home().join(".claude.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    assert_ne!(config["projects"][cwd]["hasTrustDialogAccepted"], true);
    // the person trusts it; newer versions have the other choice selected
    if world.screen("api").contains("❯ No, exit") {
        world.answer_dialog("api", "❯ No, exit", "Down");
    }
    world.answer_dialog("api", "Yes, I trust this folder", "Enter");
    world.request_with(text);
    once(&world, "api", &id, text);
    closing(&world, "api");
}
