//! The fake agent in a terminal, seen as `sm` sees it: hooks, status file, transcript, screen.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use sm_testkit::clean::{CleanEnv, RecordKind};
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;

const DEADLINE: Duration = Duration::from_secs(20);

/// A fake agent whose hooks write what they read into `hooks.jsonl` and print the file
/// `answer.<event>` if there is one, once.
struct Fake {
    tmux: Tmux,
    env: CleanEnv,
}

impl Fake {
    fn start(knobs: &str, args: &[&str]) -> Self {
        let mut env = CleanEnv::new().unwrap();
        env.record_fake_agents();
        env.set("FAKE_AGENT", knobs);
        let program = env!("CARGO_BIN_EXE_fake-agent");
        let dir = env.path().display().to_string();
        let hook = |event: &str| {
            let (log, answer) = (
                format!("{dir}/hooks.jsonl"),
                format!("{dir}/answer.{event}"),
            );
            let command = format!(
                "{{ cat; echo; }} >> {log}; mv {answer} {answer}.used 2>/dev/null && cat {answer}.used; true"
            );
            json!({"type": "command", "command": command})
        };
        let waiter = format!(
            "while ! mv {dir}/mail {dir}/mail.$$ 2>/dev/null; do kill -0 $PPID || exit; sleep 0.02; done; cat {dir}/mail.$$ >&2; exit 2"
        );
        let mut hooks = serde_json::Map::new();
        for event in [
            "SessionStart",
            "SessionEnd",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolBatch",
            "PermissionRequest",
            "Stop",
            "StopFailure",
            "PreCompact",
            "PostCompact",
            "SubagentStop",
        ] {
            hooks.insert(event.into(), json!([{"hooks": [hook(event)]}]));
        }
        let waiter = json!({"type": "command", "command": waiter, "asyncRewake": true});
        hooks["Stop"] = json!([{"hooks": [hook("Stop"), waiter]}]);
        let settings = json!({"hooks": hooks, "statusLine": {"type": "command", "command": "cat >> /dev/null; echo SL"}});
        let settings_file = env.path().join("settings.json");
        std::fs::write(&settings_file, settings.to_string()).unwrap();
        let tmux = Tmux::new().unwrap();
        let mut argv = vec![program, "--settings", settings_file.to_str().unwrap()];
        argv.extend(args);
        tmux.start("fake", (80, 24), &env.project(), &env.env(), &argv)
            .unwrap();
        let fake = Self { tmux, env };
        fake.wait_for_status("idle");
        fake
    }

    fn path(&self, name: &str) -> PathBuf {
        self.env.path().join(name)
    }

    /// Puts a file in place in one step.
    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path("new"), text).unwrap();
        std::fs::rename(self.path("new"), self.path(name)).unwrap();
    }

    fn submit(&self, text: &str) {
        self.tmux.paste("fake", text).unwrap();
        self.tmux.key("fake", "Enter").unwrap();
    }

    fn hooks(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.path("hooks.jsonl")).unwrap_or_default();
        log.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    fn wait_for<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        wait_until(DEADLINE, look)
            .unwrap_or_else(|| panic!("no {what}; screen:\n{}", self.screen()))
    }

    /// The nth hook of an event.
    fn hook(&self, event: &str, nth: usize) -> Value {
        self.wait_for(event, || {
            self.hooks()
                .into_iter()
                .filter(|h| h["hook_event_name"] == event)
                .nth(nth - 1)
        })
    }

    fn status(&self) -> Option<Value> {
        let folder = self.env.home().join(".claude/sessions");
        let file = std::fs::read_dir(folder)
            .ok()?
            .flatten()
            .find(|f| f.path().extension().is_some_and(|e| e == "json"))?;
        serde_json::from_slice(&std::fs::read(file.path()).ok()?).ok()
    }

    fn wait_for_status(&self, status: &str) -> Value {
        self.wait_for(status, || self.status().filter(|s| s["status"] == status))
    }

    fn transcript(&self, hook: &Value) -> Vec<Value> {
        let text =
            std::fs::read_to_string(hook["transcript_path"].as_str().unwrap()).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn given(&self) -> Vec<(RecordKind, String)> {
        self.env
            .fake_agent_records()
            .into_iter()
            .map(|r| (r.kind, r.text))
            .collect()
    }

    fn screen(&self) -> String {
        self.tmux
            .screen("fake")
            .unwrap_or_else(|error| error.to_string())
    }

    fn wait_for_screen(&self, text: &str) {
        self.wait_for(text, || self.screen().contains(text).then_some(()));
    }
}

fn events(hooks: &[Value]) -> Vec<&str> {
    hooks
        .iter()
        .map(|h| h["hook_event_name"].as_str().unwrap())
        .collect()
}

#[test]
fn a_turn_with_a_tool_fires_the_hooks_in_claudes_order() {
    let fake = Fake::start(
        "",
        &[
            "--session-id",
            "11111111-1111-4111-8111-111111111111",
            "RUN: echo out; echo $CLAUDE_CODE_SESSION_ID",
        ],
    );
    let stop = fake.hook("Stop", 1);
    assert_eq!(
        events(&fake.hooks()),
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolBatch",
            "Stop"
        ]
    );
    assert_eq!(stop["last_assistant_message"], "RUN done");
    let batch = fake.hook("PostToolBatch", 1);
    assert_eq!(
        batch["tool_calls"][0]["tool_response"],
        "out\n11111111-1111-4111-8111-111111111111"
    );
    let status = fake.wait_for_status("idle");
    assert_eq!(status["sessionId"], "11111111-1111-4111-8111-111111111111");
    let start = std::fs::read_to_string(format!("/proc/{}/stat", status["pid"])).unwrap();
    assert!(start.contains(&format!(" {} ", status["procStart"].as_str().unwrap())));
    let kinds: Vec<String> = fake
        .transcript(&stop)
        .iter()
        .map(|r| {
            format!(
                "{}{}",
                r["type"].as_str().unwrap(),
                r["subtype"]
                    .as_str()
                    .map(|s| format!("/{s}"))
                    .unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "user",
            "assistant",
            "user",
            "assistant",
            "system/stop_hook_summary",
            "system/turn_duration"
        ]
    );
    fake.wait_for_screen("✻ Worked for");
    assert_eq!(
        fake.tmux.show("fake", "#{pane_title}").unwrap(),
        "✳ Claude Code"
    );
    assert_eq!(
        fake.tmux
            .show("fake", "#{cursor_x} #{cursor_flag} #{alternate_on}")
            .unwrap(),
        "2 0 0"
    );
}

#[test]
fn texts_arrive_once_by_every_way() {
    let fake = Fake::start("", &[]);
    fake.put(
        "answer.PostToolBatch",
        r#"{"hookSpecificOutput":{"hookEventName":"PostToolBatch","additionalContext":"by hook"}}"#,
    );
    fake.put("answer.Stop", r#"{"decision":"block","reason":"by stop"}"#);
    fake.submit("RUN: true");
    assert_eq!(fake.hook("Stop", 2)["stop_hook_active"], true);
    fake.wait_for_status("idle");
    fake.put("mail", "by mail");
    let mail = fake.hook("UserPromptSubmit", 2);
    assert!(
        mail["prompt"]
            .as_str()
            .unwrap()
            .contains("Stop hook blocking error from command \"Stop\": by mail")
    );
    fake.hook("Stop", 3);
    let long = (0..2000)
        .map(|n| format!("line {n} äöü"))
        .collect::<Vec<_>>()
        .join("\n");
    fake.wait_for_status("idle");
    fake.tmux.paste("fake", &long).unwrap();
    fake.wait_for_screen("[Pasted text #1 +1999 lines]");
    fake.tmux.key("fake", "Enter").unwrap();
    assert_eq!(fake.hook("UserPromptSubmit", 3)["prompt"], long);
    let stop = fake.hook("Stop", 4);
    let expected = [
        (RecordKind::Prompt, "RUN: true".to_owned()),
        (RecordKind::HookContext, "by hook".into()),
        (RecordKind::StopFeedback, "by stop".into()),
        (RecordKind::Mailbox, "by mail".into()),
        (RecordKind::Prompt, long),
    ];
    assert_eq!(fake.given(), expected);
    let contexts = fake
        .transcript(&stop)
        .iter()
        .filter(|r| r["attachment"]["type"] == "hook_additional_context")
        .count();
    assert_eq!(contexts, 1);
}

#[test]
fn clearing_ends_one_conversation_and_starts_another() {
    let fake = Fake::start("swallow_enter_after_clear=1", &["SAY: hi"]);
    fake.hook("Stop", 1);
    fake.wait_for_status("idle");
    fake.submit("/clear");
    let (end, start) = (fake.hook("SessionEnd", 1), fake.hook("SessionStart", 2));
    assert_eq!(
        (&end["reason"], &start["source"]),
        (&json!("clear"), &json!("clear"))
    );
    assert_ne!(end["session_id"], start["session_id"]);
    assert_eq!(end["prompt_id"], start["prompt_id"]);
    assert_eq!(start.get("model"), None);
    let status = fake.wait_for_status("idle");
    assert_eq!(status["sessionId"], start["session_id"]);
    fake.wait_for_screen("❯ /clear");
    fake.submit("SAY: swallowed");
    fake.wait_for_screen("❯\u{a0}SAY: swallowed");
    fake.tmux.key("fake", "Enter").unwrap();
    assert_eq!(
        fake.hook("UserPromptSubmit", 2)["session_id"],
        start["session_id"]
    );
    assert_eq!(fake.hook("Stop", 2)["last_assistant_message"], "swallowed");
}

#[test]
fn a_permission_dialog_takes_the_box_and_blind_enter_approves() {
    let fake = Fake::start("", &[]);
    fake.submit("ASK: echo approved");
    assert_eq!(
        fake.wait_for_status("waiting")["waitingFor"],
        "permission prompt"
    );
    fake.hook("PermissionRequest", 1);
    fake.wait_for_screen(" ❯ 1. Yes");
    assert!(!fake.screen().contains('\u{a0}'));
    fake.submit("this text is lost");
    assert_eq!(
        fake.hook("PostToolBatch", 1)["tool_calls"][0]["tool_response"],
        "approved"
    );
    fake.hook("Stop", 1);
    fake.wait_for_status("idle");
    fake.submit("ASK: echo denied");
    fake.wait_for_status("waiting");
    fake.wait_for_screen(" ❯ 1. Yes");
    fake.tmux.key("fake", "Escape").unwrap();
    fake.wait_for_screen("Interrupted");
    fake.wait_for_status("idle");
    assert_eq!(
        events(&fake.hooks())
            .iter()
            .filter(|e| **e == "Stop")
            .count(),
        1,
        "a denial ends without Stop"
    );
    assert!(!fake.given().iter().any(|(_, text)| text.contains("lost")));
}

#[test]
fn escape_interrupts_and_typed_texts_wait_for_the_turn() {
    let fake = Fake::start("", &[]);
    let gate = fake.path("gate");
    fake.submit(&format!("HOLD: {}", gate.display()));
    fake.wait_for_screen("Working…");
    assert!(
        fake.tmux
            .show("fake", "#{pane_title}")
            .unwrap()
            .starts_with(['⠂', '⠐'])
    );
    fake.submit("SAY: queued one");
    fake.wait_for_screen("  ❯ SAY: queued one");
    fake.submit("SAY: queued two");
    fake.wait_for_screen("Press up to edit queued messages");
    fake.tmux.key("fake", "Escape").unwrap();
    fake.wait_for_screen("Interrupted");
    let stop = fake.hook("Stop", 1);
    assert_eq!(stop["last_assistant_message"], "queued two");
    let prompts: Vec<Value> = fake
        .hooks()
        .into_iter()
        .filter(|h| h["hook_event_name"] == "UserPromptSubmit")
        .collect();
    assert_eq!(prompts.len(), 3);
    let records = fake.transcript(&stop);
    assert!(
        records
            .iter()
            .any(|r| r["interruptedMessageId"].is_string())
    );
}

#[test]
fn a_text_typed_while_a_tool_runs_joins_its_result() {
    let fake = Fake::start("", &[]);
    let gate = fake.path("gate");
    fake.submit(&format!(
        "RUN: while ! test -e {}; do sleep 0.02; done",
        gate.display()
    ));
    fake.hook("PreToolUse", 1);
    fake.submit("mid tool");
    fake.wait_for_screen("  ❯ mid tool");
    std::fs::write(gate, "").unwrap();
    let stop = fake.hook("Stop", 1);
    let records = fake.transcript(&stop);
    let joined = records
        .iter()
        .find(|r| r["attachment"]["type"] == "queued_command")
        .unwrap();
    assert_eq!(joined["attachment"]["prompt"], "mid tool");
    assert_eq!(
        events(&fake.hooks())
            .iter()
            .filter(|e| **e == "UserPromptSubmit")
            .count(),
        1
    );
}

#[test]
fn failing_compacting_and_leaving() {
    let fake = Fake::start("", &["FAIL: 500"]);
    assert_eq!(fake.hook("StopFailure", 1)["error"], "server_error");
    fake.wait_for_status("idle");
    fake.submit("/compact keep it");
    assert_eq!(fake.hook("PreCompact", 1)["custom_instructions"], "keep it");
    fake.hook("PostCompact", 1);
    let order: Vec<Value> = fake.hooks().into_iter().skip(3).collect();
    assert_eq!(
        events(&order),
        ["PreCompact", "SubagentStop", "SessionStart", "PostCompact"]
    );
    fake.wait_for_status("idle");
    fake.submit("/exit");
    assert_eq!(fake.hook("SessionEnd", 1)["reason"], "prompt_input_exit");
    fake.wait_for("removed status file", || {
        fake.status().is_none().then_some(())
    });
}

#[test]
fn a_stashed_draft_comes_back() {
    let fake = Fake::start("", &[]);
    fake.tmux.type_text("fake", "my draft").unwrap();
    fake.wait_for_screen("❯\u{a0}my draft");
    fake.tmux.key("fake", "C-s").unwrap();
    fake.wait_for_screen("› stashed");
    fake.submit("SAY: other");
    fake.hook("Stop", 1);
    fake.wait_for_screen("❯\u{a0}my draft");
    assert_eq!(
        fake.given(),
        [(RecordKind::Prompt, "SAY: other".to_owned())]
    );
}

#[test]
fn what_a_sub_agents_hook_answers_never_reaches_the_main_conversation() {
    let fake = Fake::start("", &[]);
    let answer =
        r#"{"hookSpecificOutput":{"hookEventName":"PostToolBatch","additionalContext":"lost"}}"#;
    fake.put("answer.PostToolBatch", answer);
    fake.submit("AGENT: echo inner");
    fake.hook("Stop", 1);
    let (inner, outer) = (fake.hook("PostToolBatch", 1), fake.hook("PostToolBatch", 2));
    assert!(inner["agent_id"].is_string() && outer.get("agent_id").is_none());
    assert_eq!(inner["tool_calls"][0]["tool_response"], "inner");
    let given = [(RecordKind::Prompt, "AGENT: echo inner".to_owned())];
    assert_eq!(fake.given(), given);
}

#[test]
fn escape_may_put_the_prompt_back() {
    let fake = Fake::start("restore_on_escape", &[]);
    fake.submit("HOLD: /nonexistent/gate");
    fake.wait_for_screen("Working…");
    fake.tmux.key("fake", "Escape").unwrap();
    fake.wait_for_screen("❯\u{a0}HOLD: /nonexistent/gate");
    fake.wait_for_status("idle");
    assert!(!fake.screen().contains("Interrupted"));
}
