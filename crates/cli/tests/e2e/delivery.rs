//! Every way a text gets to an agent, and what must never happen on it: lost, doubled, typed into a
//! draft or a dialog. What arrived is counted in the agent's own record.

use crate::world::{World, eventually, text};
use serde_json::Value;
use sm_testkit::clean::RecordKind;

fn id(sent: &Value) -> String {
    text(&sent["id"])
}

/// The message is known to have arrived this way.
#[track_caller]
fn arrived(world: &World, session: &str, sent: &Value, way: &str) -> Value {
    let known = world.wait_for_message(session, &id(sent), &["submitted", "consumed"]);
    assert_eq!(known["way"], way, "{known}");
    known
}

#[test]
fn an_idle_agent_is_pasted_to_byte_for_byte() {
    let world = World::new();
    world.agent("api");
    let lines: String = (0..200)
        .map(|n| format!("line {n} with \"quotes\" and ümläuts\n"))
        .collect();
    let long = "0123456789abcdef ".repeat(60 * 1024 / 17);
    for (given, wanted) in [
        ("one line", "one line"),
        (lines.trim_end(), lines.trim_end()),
        (long.trim_end(), long.trim_end()),
        // what the composer makes of a tab
        (
            "tab\there; $HOME `x` \\n %s #{pane_id}",
            "tab    here; $HOME `x` \\n %s #{pane_id}",
        ),
    ] {
        let sent = world.send_wait("api", given);
        assert_eq!(sent["proof"], "hook");
        // the hook is run before the model gets it
        world.wait_for_message("api", &id(&sent), &["consumed"]);
        let found = world
            .records()
            .into_iter()
            .filter(|r| r.text == wanted)
            .count();
        assert_eq!(found, 1, "{wanted:.80}");
        world.wait_for("api", "idle");
    }
}

#[test]
fn what_looks_like_a_command_is_text_unless_it_is_raw() {
    let world = World::new();
    world.agent("api");
    // a turn first: afterwards the agent's background hook can take it
    world.send_wait("api", "hello");
    world.wait_for("api", "idle");
    for wanted in ["/compact is a word", "!ls is a word", "#note is a word"] {
        let sent = world.send("api", "sequential", wanted);
        let known = world.wait_for_message("api", &id(&sent), &["submitted", "consumed"]);
        assert_ne!(known["state"], "failed");
        eventually("it was given as text", || world.times(wanted) == 1);
        world.wait_for("api", "idle");
    }
    assert_eq!(world.show("api")["compactions"], 0);
    let before = text(&world.show("api")["conversation_id"]);
    world.sm(&["send", "api", "--raw", "/clear"]).exits(0);
    eventually("the command was obeyed", || {
        text(&world.show("api")["conversation_id"]) != before
    });
    assert_eq!(world.times("/clear"), 0, "a command is not a prompt");
    assert_eq!(world.show("api")["generation"], 2);
}

#[test]
fn an_important_message_joins_the_turn_through_the_agents_own_hook() {
    let world = World::new();
    world.agent("api");
    let (started, gate) = (world.gate("started"), world.gate("go"));
    let prompt = format!(
        "RUN: touch {}; while ! test -e {}; do sleep 0.01; done\nRUN: true",
        started.display(),
        gate.display()
    );
    let first = world.send_wait("api", &prompt);
    eventually("the tool runs", || started.exists());
    let sent = world.send("api", "important", "by the way: use tabs");
    assert_eq!(
        world.times("use tabs"),
        0,
        "nothing was typed into the running turn"
    );
    std::fs::write(&gate, "").unwrap();
    arrived(&world, "api", &sent, "hook_answer");
    world.once(RecordKind::HookContext, "by the way: use tabs");
    world.wait_for_message("api", &id(&first), &["consumed"]);
    assert_eq!(world.wait_for("api", "idle")["turn"], 1, "the same turn");
}

#[test]
fn queued_messages_arrive_after_the_turn_in_order_and_once() {
    let world = World::new();
    world.agent("api");
    let gate = world.gate("go");
    world.send_wait("api", &format!("HOLD: {}", gate.display()));
    let sent: Vec<Value> = (0..10)
        .map(|n| world.send("api", "sequential", &format!("queued {n}.")))
        .collect();
    for one in &sent {
        let known = world.message("api", &id(one));
        assert_eq!(known["state"], "held", "{known}");
        assert!(text(&known["reason"]).contains("working"), "{known}");
    }
    let listed = world.sm(&["queue", "ls", "api", "--json"]).exits(0).json();
    assert!(listed.as_array().unwrap().len() >= 10);
    assert_eq!(
        world.show("api")["attention"],
        Value::Null,
        "waiting for a turn is ordinary"
    );
    std::fs::write(&gate, "").unwrap();
    for one in &sent {
        world.wait_for_message("api", &id(one), &["submitted", "consumed"]);
    }
    let all: String = world
        .records()
        .iter()
        .map(|r| format!("{}\n", r.text))
        .collect();
    let places: Vec<usize> = (0..10)
        .map(|n| {
            let part = format!("queued {n}.");
            assert_eq!(all.matches(&part).count(), 1, "{part} in {all}");
            all.find(&part).unwrap()
        })
        .collect();
    assert!(places.is_sorted(), "{all}");
    let first = world.message("api", &id(&sent[0]));
    assert_eq!(first["way"], "stop_answer", "{first}");
}

#[test]
fn an_urgent_message_interrupts_the_turn() {
    let world = World::new();
    world.agent("api");
    let gate = world.held_turn("api");
    let sent = world.send("api", "urgent", "stop that at once");
    world.wait_for_message("api", &id(&sent), &["submitted", "consumed"]);
    eventually("given", || world.times("stop that at once") == 1);
    world.wait_for("api", "idle");
    assert!(!gate.exists());
}

#[test]
fn a_draft_survives_and_the_message_arrives_by_itself() {
    let world = World::new();
    world.agent("api");
    // a turn first: its end leaves a waiter
    world.send_wait("api", "hello");
    world.wait_for("api", "idle");
    let pane = world.pane("api");
    pane.types("half a thought");
    pane.shows("half a thought");
    let sent = world.send("api", "sequential", "meanwhile");
    arrived(&world, "api", &sent, "mailbox");
    world.once(RecordKind::Mailbox, "meanwhile");
    world.wait_for("api", "idle");
    pane.shows("half a thought");
    pane.types(", finished");
    pane.shows("half a thought, finished");
    pane.key("Enter");
    let whole = world.given("half a thought");
    assert_eq!(whole.text, "half a thought, finished", "never merged");
    assert_eq!(world.times("meanwhile"), 1);
}

#[test]
fn without_a_waiter_a_message_waits_for_the_draft() {
    let mut world = World::new();
    world.env.set("FAKE_AGENT", "no_mailbox");
    world.agent("api");
    let pane = world.pane("api");
    pane.types("half a thought");
    pane.shows("half a thought");
    let sent = world.send("api", "sequential", "meanwhile");
    let known = world.wait_for_message("api", &id(&sent), &["held"]);
    assert!(text(&known["reason"]).contains("composer"), "{known}");
    let shown = world.show("api");
    assert_eq!(
        (&shown["queue"]["queued"], &shown["queue"]["held"]),
        (&1.into(), &1.into())
    );
    assert!(text(&shown["attention"]).contains("held"), "{shown}");
    world
        .sm(&["send", "api", "--wait", "0.3", "another"])
        .exits(3)
        .complains("stays queued");
    assert_eq!(world.times("meanwhile"), 0);
    pane.key("Enter");
    world.wait_for_message("api", &id(&sent), &["submitted", "consumed"]);
    world.given("another");
    let texts: Vec<String> = world.records().into_iter().map(|r| r.text).collect();
    assert_eq!(texts[0], "half a thought", "{texts:?}");
    assert_eq!(
        (world.times("meanwhile"), world.times("another")),
        (1, 1),
        "{texts:?}"
    );
}

#[test]
fn a_withdrawn_message_never_arrives() {
    let world = World::new();
    world.agent("api");
    let gate = world.gate("go");
    world.send_wait("api", &format!("HOLD: {}", gate.display()));
    let taken_back = world.send("api", "sequential", "forget it");
    let kept = world.send("api", "sequential", "keep it");
    world.sm(&["queue", "rm", "api", &id(&taken_back)]).exits(0);
    let expiring = world.sm(&[
        "send",
        "api",
        "--expires",
        "0.05",
        "--wait",
        "30",
        "too late",
    ]);
    expiring.exits(1).complains("time ran out");
    std::fs::write(&gate, "").unwrap();
    world.wait_for_message("api", &id(&kept), &["consumed"]);
    assert_eq!((world.times("forget it"), world.times("too late")), (0, 0));
    assert_eq!(world.times("keep it"), 1);
    world
        .sm(&["queue", "rm", "api", &id(&kept)])
        .exits(1)
        .complains("already");
}

#[test]
fn nothing_is_typed_into_a_dialog() {
    let world = World::new();
    world.agent("api");
    world.send_wait("api", "ASK: echo dangerous\nSAY: over");
    let waiting = world.wait_for("api", "waiting");
    assert!(
        text(&waiting["attention"]).contains("sm attach api"),
        "{waiting}"
    );
    let pane = world.pane("api");
    pane.shows("Do you want to proceed?");
    let before = pane.screen();
    for mode in ["sequential", "important", "urgent"] {
        let sent = world.send("api", mode, &format!("a {mode} text"));
        let known = world.wait_for_message("api", &id(&sent), &["held"]);
        assert!(text(&known["reason"]).contains("dialog"), "{known}");
    }
    world.sm(&[]).exits(0).says("sm attach api");
    assert_eq!(pane.screen(), before, "the dialog was not touched");
    assert_eq!(
        world.times("a sequential text") + world.times("a important text"),
        0
    );
    pane.key("1");
    for mode in ["sequential", "important", "urgent"] {
        let part = format!("a {mode} text");
        world.given(&part);
        assert_eq!(world.times(&part), 1, "{part}");
    }
    world.wait_for("api", "idle");
}

#[test]
fn a_first_prompt_goes_in_with_the_launch() {
    let world = World::new();
    let args = [
        "new",
        "claude",
        "--name",
        "api",
        "--detach",
        "--prompt",
        "- begin\nhere",
    ];
    world.sm(&args).exits(0);
    let record = world.given("begin");
    assert_eq!(record.text, "- begin\nhere");
    world.wait_for("api", "idle");
    let all = world
        .sm(&["queue", "ls", "api", "--all", "--json"])
        .exits(0)
        .json();
    assert_eq!(all[0]["way"], "launch_argument");
    assert_eq!(world.times("begin"), 1);
}

#[test]
fn the_same_id_is_the_same_message() {
    let world = World::new();
    world.agent("api");
    let body = br#"{"id":"feed0001","text":"only once"}"#;
    for _ in 0..5 {
        let request = sm_client::http::Request::post("/sessions/api/messages").json(body);
        let (status, known) = world.ask(&request);
        assert!(status == 200 || status == 201, "{status} {known}");
    }
    world.wait_for_message("api", "feed0001", &["consumed"]);
    let request = sm_client::http::Request::post("/sessions/api/messages").json(body);
    assert_eq!(world.ask(&request).0, 200);
    world.send_wait("api", "after it");
    assert_eq!(world.times("only once"), 1);
}

/// Under a fault of the agent a few messages arrive once; the fault costs time at most.
fn under(knobs: &str) {
    let mut world = World::new();
    world.env.set("FAKE_AGENT", knobs);
    world
        .sm(&["new", "claude", "--name", "api", "--detach"])
        .exits(0);
    let sent: Vec<Value> = (0..3)
        .map(|n| world.send("api", "sequential", &format!("under {knobs} {n}.")))
        .collect();
    for (n, one) in sent.iter().enumerate() {
        let known = world.wait_for_message("api", &id(one), &["consumed", "failed"]);
        let part = format!("under {knobs} {n}.");
        world.given(&part); // the hook of a prompt comes before the prompt is worked on
        assert_eq!(world.times(&part), 1, "{knobs}: {known}");
        // where nothing tells whether it arrived, that is said
        let unsure = knobs == "no_transcript" && text(&known["reason"]).contains("not known");
        assert!(known["state"] == "consumed" || unsure, "{knobs}: {known}");
    }
    world.wait_for("api", "idle");
}

#[test]
fn a_swallowed_enter_is_pressed_again() {
    under("swallow_enter=1");
    under("no_status_file,no_title,swallow_enter=2");
}

#[test]
fn many_swallowed_enters_are_pressed_again() {
    under("swallow_enter=3");
}

#[test]
fn a_slow_start_is_waited_for() {
    under("slow_start_ms=400");
}

#[test]
fn missing_hooks_are_made_up_for() {
    under("no_session_start_hook");
    under("no_prompt_hook");
    under("no_mailbox");
    under("stop_cap=1");
}

/// As many in a row as the agent follows, and one more: it writes that down and rests.
#[test]
fn an_answer_to_a_stop_hook_that_is_not_followed_is_made_up_for() {
    under("stop_cap=0");
}

#[test]
fn a_missing_stop_hook_is_made_up_for() {
    under("no_stop_hook");
    under("no_session_start_hook,no_stop_hook,no_prompt_hook");
}

#[test]
fn missing_files_are_made_up_for() {
    under("no_status_file");
    under("no_title");
    under("no_transcript");
}

#[test]
fn what_escape_puts_back_into_the_composer_is_not_sent_twice() {
    let mut world = World::new();
    world.env.set("FAKE_AGENT", "restore_on_escape");
    world.agent("api");
    let gate = world.gate("never");
    let sent = world.send_wait(
        "api",
        &format!("HOLD: {}\nSAY: the only time", gate.display()),
    );
    world.wait_for("api", "working");
    let pane = world.pane("api");
    pane.key("Escape");
    world.wait_for("api", "idle");
    world.wait_for_message("api", &id(&sent), &["consumed"]);
    assert_eq!(world.times("the only time"), 1);
    let next = world.send("api", "sequential", "the next one");
    world.wait_for_message("api", &id(&next), &["submitted", "consumed", "held"]);
    assert_eq!(world.times("the only time"), 1);
    let texts: Vec<String> = world.records().into_iter().map(|r| r.text).collect();
    assert!(
        !texts
            .iter()
            .any(|t| t.contains("the only time") && t.contains("the next one")),
        "{texts:?}"
    );
}

#[test]
fn a_provider_that_fails_holds_messages_and_a_person_goes_on_at_once() {
    let world = World::new();
    world.agent("api");
    world.send_wait("api", "FAIL: 529");
    world.wait_for("api", "limited");
    let shown = world.show("api");
    assert_eq!(shown["limit"]["kind"], "overloaded", "{shown:#}");
    assert!(shown["limit"]["prompt"].is_null(), "somebody is at it");
    let waits = world.send("api", "sequential", "SAY: later");
    world.wait_for_message("api", &id(&waits), &["held"]);
    let pane = world.pane("api");
    pane.types("SAY: at once");
    pane.shows("SAY: at once");
    pane.key("Enter");
    world.once(RecordKind::Prompt, "SAY: at once");
    world.wait_for_message("api", &id(&waits), &["consumed"]);
    world.wait_for("api", "idle");
    assert!(world.show("api")["limit"].is_null());
    let seen = world.sm(&["events", "api"]).exits(0).out;
    assert_eq!(
        seen.matches("limited (overloaded, by assumed)").count(),
        1,
        "{seen}"
    );
}

#[test]
fn interrupting_failing_and_denying_end_in_idle() {
    let world = World::new();
    world.agent("api");
    let pane = world.pane("api");
    world.held_turn("api");
    pane.key("Escape");
    world.wait_for("api", "idle");
    world.send_wait("api", "FAIL: 400");
    world.wait_for("api", "idle");
    world.send_wait("api", "ASK: echo no");
    world.wait_for("api", "waiting");
    pane.key("Escape");
    world.wait_for("api", "idle");
    world.send_wait("api", "alive and well");
    world.once(RecordKind::Prompt, "alive and well");
}
