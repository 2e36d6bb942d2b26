//! How a handoff behaves, item by item.

use serde_json::{Value, json};
use sm_agent::config::Save;
use sm_agent::handoff::{AUTOMATIC_FOCUS, wrap};
use sm_agent::host::{Command, HandoffOutcome, State, Update, WAIT_FOR_THE_ANSWER};
use sm_agent::session::Shown;
use sm_agent::slash;
use sm_llm::{Api, Thinking};
use sm_testkit::model::FailNext;

use crate::support::{DEADLINE, DOCUMENT, Desk, done, lines, text, unmarked};

/// An agent that has talked for one turn.
async fn talked() -> Desk {
    let mut desk = Desk::new();
    desk.start().await;
    desk.prompt("SAY: hello").await;
    desk.writes(DOCUMENT);
    desk
}

#[test]
fn item_01_the_command_is_listed_with_its_hint() {
    let found: Vec<_> = slash::COMMANDS
        .iter()
        .filter(|c| c.name.starts_with("hand"))
        .collect();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].name, found[0].hint),
        ("handoff", "[focus instructions]")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_02_nothing_to_hand_off_makes_no_request_and_no_file() {
    let mut desk = Desk::new();
    let view = desk.start().await;
    assert_eq!(view.entries, 0, "what the front end's own guard looks at");
    let outcome = desk.handoff(None).await;
    assert_eq!(outcome, HandoffOutcome::Nothing);
    assert_eq!(outcome.text(false), "Nothing to hand off (no messages yet)");
    assert_eq!((desk.requests().len(), desk.files().len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_03_while_a_reply_streams_a_handoff_has_to_wait() {
    let mut desk = talked().await;
    desk.send(Command::Prompt("HOLD: gate\nSAY: long answer".into()));
    assert!(desk.model.wait_for_hold("gate", DEADLINE));
    let outcome = desk.handoff(None).await;
    assert_eq!(outcome, HandoffOutcome::Busy(WAIT_FOR_THE_ANSWER));
    desk.model.release("gate");
    desk.idle().await;
    assert_eq!((desk.requests().len(), desk.files().len()), (2, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_04_the_state_names_the_attempt_and_the_text_is_seen_as_it_comes() {
    let mut desk = talked().await;
    let fail = FailNext {
        status: 500,
        message: "for a moment".into(),
        count: 1,
    };
    desk.model.control(|c| c.fail_next = Some(fail));
    desk.send(Command::Handoff {
        focus: None,
        edit: false,
    });
    let first = State::HandingOff {
        goal: sm_agent::turn::Goal::NextSession,
        automatic: false,
        attempt: 1,
    };
    assert_eq!(first.loader(), Some("Generating handoff… (esc to cancel)"));
    desk.until("the loader", |u| *u == Update::State(first))
        .await;
    let second = State::HandingOff {
        goal: sm_agent::turn::Goal::NextSession,
        automatic: false,
        attempt: 2,
    };
    desk.until("the second attempt", |u| *u == Update::State(second))
        .await;
    desk.until(
        "a preview",
        |u| matches!(u, Update::HandoffText(text) if text.contains("Objective")),
    )
    .await;
    done(&desk.outcome().await.1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_05_exactly_one_request_with_the_same_prefix() {
    for api in [
        Api::AnthropicMessages,
        Api::OpenAiResponses,
        Api::OpenAiCompletions,
    ] {
        let mut desk = Desk::new();
        desk.api = api;
        desk.thinking = Thinking::Medium;
        desk.start().await;
        desk.prompt("RUN: echo one").await;
        desk.prompt("SAY: hello").await;
        desk.writes(DOCUMENT);
        let before = desk.requests();
        let live = &before.last().unwrap().body;
        done(&desk.handoff(None).await);
        let after = desk.requests();
        assert_eq!(after.len(), before.len() + 1, "exactly one request");
        let handoff = &after.last().unwrap().body;
        let none = match api {
            Api::AnthropicMessages => json!({"type": "none"}),
            Api::OpenAiResponses | Api::OpenAiCompletions => json!("none"),
        };
        assert_eq!(handoff["tool_choice"], none);
        let moving = ["messages", "input", "tool_choice"];
        for (key, value) in live.as_object().unwrap() {
            if !moving.contains(&key.as_str()) {
                assert_eq!(&handoff[key], value, "{key} of {api:?}");
            }
        }
        let extra: Vec<_> = handoff
            .as_object()
            .unwrap()
            .keys()
            .filter(|k| live.get(*k).is_none())
            .collect();
        assert!(extra.iter().all(|key| *key == "tool_choice"), "{extra:?}");
        let (live, handoff) = (unmarked(live), unmarked(handoff));
        assert_eq!(
            handoff[..live.len()],
            live[..],
            "the whole history of {api:?}"
        );
        assert_eq!(
            handoff.len(),
            live.len() + 2,
            "the answer, and one message more"
        );
        let trailing = handoff.last().unwrap();
        assert_eq!(trailing["role"], "user");
        assert!(
            trailing
                .to_string()
                .contains("Write a handoff document now")
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_06_the_marks_of_the_cache_are_where_live_turns_have_them() {
    fn marks(body: &Value) -> Vec<usize> {
        let blocks = body["messages"].as_array().unwrap().iter();
        let blocks: Vec<&Value> = blocks
            .flat_map(|m| m["content"].as_array().unwrap())
            .collect();
        let count = blocks.len();
        let marked = blocks
            .iter()
            .enumerate()
            .filter(|(_, b)| b.get("cache_control").is_some());
        marked.map(|(at, _)| count - at).collect()
    }
    let mut desk = talked().await;
    desk.prompt("SAY: again").await;
    let live = desk.requests().last().unwrap().body.clone();
    done(&desk.handoff(None).await);
    let handoff = desk.requests().last().unwrap().body.clone();
    assert_eq!(marks(&handoff), [2, 1], "the last two blocks");
    assert_eq!(marks(&live), [2, 1]);
    assert_eq!(live["system"], handoff["system"]);
    assert!(handoff["system"].to_string().contains("cache_control"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_07_a_focus_is_one_more_paragraph() {
    let mut desk = talked().await;
    done(&desk.handoff(None).await);
    let plain = text(
        unmarked(&desk.requests().last().unwrap().body)
            .last()
            .unwrap(),
    );
    desk.idle().await;
    desk.prompt("SAY: more").await;
    done(&desk.handoff(Some("the parser")).await);
    let focused = text(
        unmarked(&desk.requests().last().unwrap().body)
            .last()
            .unwrap(),
    );
    assert_eq!(focused, format!("{plain}\n\nAdditional focus: the parser"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_08_thinking_follows_the_session() {
    let mut desk = talked().await;
    desk.send(Command::SetThinking(Thinking::High));
    desk.until("the level", |u| matches!(u, Update::Model { .. }))
        .await;
    desk.prompt("SAY: thought").await;
    let live = desk.requests().last().unwrap().body.clone();
    let view = {
        done(&desk.handoff(None).await);
        desk.told.iter().rev().find_map(|u| match u {
            Update::Rebuilt(view) => Some(view.clone()),
            _ => None,
        })
    };
    let handoff = desk.requests().last().unwrap().body.clone();
    assert!(!live["thinking"].is_null());
    assert_eq!(handoff["thinking"], live["thinking"]);
    assert_eq!(
        view.unwrap().thinking,
        Thinking::High,
        "and is carried over"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_09_a_provider_without_tool_choice_is_asked_once_more() {
    let mut desk = talked().await;
    let fail = FailNext {
        status: 400,
        message: "tool_choice is not supported by this model".into(),
        count: 1,
    };
    desk.model.control(|c| c.fail_next = Some(fail));
    let before = desk.requests().len();
    done(&desk.handoff(None).await);
    let asked = &desk.requests()[before..];
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].body["tool_choice"], json!({"type": "none"}));
    let again = &asked[1].body["tool_choice"];
    assert!(
        again.is_null() || *again == json!({"type": "auto"}),
        "{again}"
    );
    assert_eq!(asked[0].body["messages"], asked[1].body["messages"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_10_a_history_that_does_not_fit_is_cut_at_a_turn_and_the_document_says_so() {
    let mut desk = Desk::new();
    desk.window = 20_000;
    desk.config.handoff.auto = false;
    desk.model.control(|c| c.input_tokens = 19_500);
    desk.start().await;
    for turn in 0..6 {
        desk.prompt(&format!(
            "turn {turn} {}\nSAY: yes {turn}",
            "words ".repeat(2_000)
        ))
        .await;
    }
    desk.writes(DOCUMENT);
    let outcome = desk.handoff(None).await;
    let (document, _) = done(&outcome);
    let body = desk.requests().last().unwrap().body.clone();
    let messages = unmarked(&body);
    assert!(messages.len() < 13, "{} messages", messages.len());
    assert!(
        text(&messages[0]).starts_with("turn "),
        "a person speaks first"
    );
    assert!(body.to_string().len() < 80_000);
    assert!(document.starts_with("> The oldest "), "{document}");
    assert!(text(messages.last().unwrap()).contains("left out"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_11_texts_are_joined_and_no_tool_is_run() {
    let mut desk = talked().await;
    let (first, rest) = DOCUMENT.split_once("\n\n## Decisions").unwrap();
    let rest = format!("## Decisions{rest}");
    let marker = desk.cwd().join("ran");
    let call = json!({"type": "tool_use", "id": "toolu_x", "name": "bash", "input": {"command": format!("touch {}", marker.display())}});
    let blocks = vec![
        json!({"type": "text", "text": first}),
        call.clone(),
        json!({"type": "text", "text": rest}),
    ];
    desk.model.control(|c| c.blocks = Some(blocks));
    let outcome = desk.handoff(None).await;
    assert_eq!(done(&outcome).0, format!("{first}\n{rest}"));
    desk.idle().await;
    desk.model.control(|c| c.blocks = None);
    desk.prompt("SAY: more").await;
    let files = desk.files();
    for blocks in [
        vec![call],
        vec![],
        vec![json!({"type": "text", "text": " \n "})],
    ] {
        desk.model.control(|c| c.blocks = Some(blocks));
        let outcome = desk.handoff(None).await;
        assert_eq!(outcome, HandoffOutcome::Empty);
        assert_eq!(
            outcome.text(false),
            "Handoff failed: the model returned no text"
        );
        desk.idle().await;
    }
    assert_eq!(desk.files(), files, "no new session");
    assert!(!marker.exists(), "the tool never ran");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_12_a_refusal_is_told_and_the_session_stays_usable() {
    let mut desk = talked().await;
    for status in [400, 401] {
        let fail = FailNext {
            status,
            message: "no such luck".into(),
            count: 1,
        };
        desk.model.control(|c| c.fail_next = Some(fail));
        let before = desk.requests().len();
        let outcome = desk.handoff(None).await;
        assert!(
            matches!(&outcome, HandoffOutcome::Failed(why) if why.contains("no such luck")),
            "{outcome:?}"
        );
        assert!(outcome.text(false).starts_with("Handoff failed: "));
        desk.idle().await;
        assert_eq!(desk.requests().len(), before + 1, "not asked again");
    }
    assert_eq!(desk.files().len(), 1);
    desk.prompt("SAY: still here").await;
    assert_eq!(desk.files().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_13_escape_cancels_at_once_and_the_chat_goes_on() {
    let mut desk = talked().await;
    desk.writes("HOLD");
    desk.model.control(|c| {
        c.when.push(sm_testkit::model::When {
            has: "Write a handoff document now".into(),
            act: "HOLD: writing\nSAY: a document".into(),
        });
    });
    desk.send(Command::Handoff {
        focus: None,
        edit: false,
    });
    assert!(desk.model.wait_for_hold("writing", DEADLINE));
    let asked = desk.requests().last().unwrap().seq;
    desk.send(Command::Interrupt);
    let (_, outcome) = desk.outcome().await;
    assert_eq!(outcome.text(false), "Handoff cancelled");
    desk.idle().await;
    assert!(
        desk.model.wait_for_abandoned(asked, DEADLINE),
        "the connection is closed"
    );
    assert_eq!(desk.files().len(), 1);
    desk.prompt("SAY: going on").await;
    assert_eq!(desk.files().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_14_the_old_file_stays_as_it_is_to_the_byte() {
    let mut desk = talked().await;
    let old = desk.files().remove(0);
    let before = std::fs::read(&old).unwrap();
    done(&desk.handoff(None).await);
    desk.idle().await;
    desk.prompt("SAY: in the new one").await;
    assert_eq!(std::fs::read(&old).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_15_the_new_file_begins_with_its_parent_and_the_document() {
    use std::os::unix::fs::PermissionsExt;
    let mut desk = talked().await;
    let old = desk.files().remove(0);
    let outcome = desk.handoff(None).await;
    // at the moment at which success is told
    let (_, new) = done(&outcome);
    let lines = lines(new);
    assert_eq!(lines[0]["type"], "session");
    assert_eq!(lines[0]["version"], 3);
    assert_eq!(lines[0]["parentSession"], old.to_str().unwrap());
    assert!(old.is_absolute());
    assert_eq!(lines[1]["type"], "custom_message");
    assert_eq!(lines[1]["customType"], "handoff");
    assert_eq!(lines[1]["parentId"], Value::Null);
    assert_eq!(lines[1]["display"], true);
    assert_eq!(lines[1]["attribution"], "agent");
    assert_eq!(lines[1]["content"], wrap(DOCUMENT));
    let mode = std::fs::metadata(new).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_16_the_next_prompt_has_the_document_and_nothing_of_before() {
    let mut desk = talked().await;
    done(&desk.handoff(None).await);
    desk.idle().await;
    desk.prompt("SAY: next").await;
    let messages = unmarked(&desk.requests().last().unwrap().body);
    let users: Vec<String> = messages
        .iter()
        .flat_map(|m| {
            m["content"]
                .as_array()
                .unwrap()
                .iter()
                .map(|b| b["text"].as_str().unwrap().to_owned())
        })
        .collect();
    assert_eq!(users, [wrap(DOCUMENT), "SAY: next".to_owned()]);
    assert!(messages.iter().all(|m| m["role"] == "user"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_17_the_screen_is_rebuilt_from_the_new_session() {
    let mut desk = talked().await;
    let outcome = desk.handoff(None).await;
    assert_eq!(
        outcome.text(false),
        "New session started with handoff context"
    );
    let rebuilt = desk
        .told
        .iter()
        .rposition(|u| matches!(u, Update::Rebuilt(_)))
        .unwrap();
    let told = desk
        .told
        .iter()
        .rposition(|u| matches!(u, Update::Handoff { .. }))
        .unwrap();
    assert!(rebuilt < told);
    let Update::Rebuilt(view) = &desk.told[rebuilt] else {
        unreachable!()
    };
    assert_eq!(view.path.as_deref(), Some(done(&outcome).1));
    assert_eq!(view.entries, 0);
    assert!(
        matches!(&view.shown[..], [Shown::Custom { custom_type, display: true, .. }] if custom_type == "handoff")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_18_repeats_form_a_chain_and_everything_is_carried_over() {
    let mut desk = talked().await;
    desk.send(Command::SetTitle("frobnication".into()));
    desk.send(Command::SetThinking(Thinking::Low));
    desk.prompt(r#"TOOL: todo {"todos":[{"text":"frobnicate","status":"pending"}]}"#)
        .await;
    let mut parent = desk.files().remove(0);
    for _ in 0..3 {
        let outcome = desk.handoff(None).await;
        let new = done(&outcome).1.to_path_buf();
        let Some(Update::Rebuilt(view)) = desk
            .told
            .iter()
            .rev()
            .find(|u| matches!(u, Update::Rebuilt(_)))
        else {
            panic!("no view");
        };
        assert_eq!(view.parent.as_deref(), Some(parent.as_path()));
        assert_eq!(view.title.as_deref(), Some("frobnication"));
        assert_eq!(view.model, "fake/fake-1");
        assert_eq!(view.thinking, Thinking::Low);
        assert_eq!(view.todos.len(), 1);
        let on_disk = sm_agent::session::read(&new).unwrap();
        assert_eq!(on_disk.title.as_deref(), Some("frobnication"));
        assert_eq!(on_disk.model, Some(("fake".into(), "fake-1".into())));
        assert_eq!(on_disk.thinking, Some(Thinking::Low));
        assert_eq!(on_disk.todos.len(), 1);
        parent = new;
        desk.idle().await;
        desk.prompt("SAY: on and on").await;
    }
    assert_eq!(desk.files().len(), 4);
}

async fn filling(tokens: u64) -> Desk {
    let mut desk = Desk::new();
    desk.config.handoff.threshold.tokens = Some(2_000);
    desk.writes(DOCUMENT);
    desk.model.control(|c| c.input_tokens = tokens);
    desk.start().await;
    desk
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_19_a_context_above_the_threshold_is_handed_over_after_the_turn() {
    let mut desk = filling(5_000).await;
    desk.send(Command::Prompt("SAY: full".into()));
    let state = State::HandingOff {
        goal: sm_agent::turn::Goal::NextSession,
        automatic: true,
        attempt: 1,
    };
    assert_eq!(state.loader(), Some("Auto-handoff… (esc to cancel)"));
    desk.until("the handoff", |u| *u == Update::State(state))
        .await;
    let (automatic, outcome) = desk.outcome().await;
    assert!(automatic);
    assert_eq!(outcome.text(automatic), "Auto-handoff completed");
    desk.idle().await;
    assert_eq!(desk.files().len(), 2);
    let asked = text(
        unmarked(&desk.requests().last().unwrap().body)
            .last()
            .unwrap(),
    );
    assert!(
        asked.ends_with(&format!("Additional focus: {AUTOMATIC_FOCUS}")),
        "a fixed focus"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_20_the_threshold_is_exceeded_only_by_more_than_it() {
    // the model reports 300 from the cache, 50 to it and 25 as its answer
    for (input, handed_over) in [(1_625, false), (1_626, true)] {
        let mut desk = filling(input).await;
        desk.prompt("SAY: how full").await;
        assert_eq!(
            desk.files().len(),
            if handed_over { 2 } else { 1 },
            "{input}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_21_a_document_can_be_saved_to_a_file_of_its_own() {
    for (save, automatic, saved) in [
        (Save::Never, true, false),
        (Save::Automatic, true, true),
        (Save::Automatic, false, false),
        (Save::All, false, true),
    ] {
        let mut desk = filling(if automatic { 5_000 } else { 10 }).await;
        desk.config.handoff.save = save;
        desk.start().await;
        desk.send(Command::Prompt("SAY: x".into()));
        if !automatic {
            desk.idle().await;
            desk.send(Command::Handoff {
                focus: None,
                edit: false,
            });
        }
        let HandoffOutcome::Done {
            session,
            saved_path,
            document,
        } = desk.outcome().await.1
        else {
            panic!("not handed over");
        };
        assert_eq!(saved_path.is_some(), saved, "{save:?} {automatic}");
        if let Some(path) = saved_path {
            assert_eq!(path.parent(), Some(session.with_extension("").as_path()));
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(
                name.starts_with("handoff-20") && name.ends_with(".md"),
                "{name}"
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap().trim_end(), document);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_22_a_cancelled_automatic_handoff_is_tried_again_before_the_next_prompt() {
    let mut desk = filling(5_000).await;
    desk.model.control(|c| {
        c.when.push(sm_testkit::model::When {
            has: "Write a handoff document now".into(),
            act: "HOLD: writing".into(),
        });
    });
    desk.send(Command::Prompt("SAY: full".into()));
    assert!(desk.model.wait_for_hold("writing", DEADLINE));
    desk.send(Command::Interrupt);
    let (automatic, outcome) = desk.outcome().await;
    assert_eq!(outcome.text(automatic), "Auto-handoff cancelled");
    desk.idle().await;
    desk.model.control(|c| {
        c.when.clear();
        c.input_tokens = 100;
    });
    desk.send(Command::Prompt("SAY: next".into()));
    let (automatic, outcome) = desk.outcome().await;
    assert_eq!(outcome.text(automatic), "Auto-handoff completed");
    desk.idle().await;
    let messages = unmarked(&desk.requests().last().unwrap().body);
    assert!(messages.last().unwrap().to_string().contains("SAY: next"));
    assert!(
        messages[0].to_string().contains("handoff-context"),
        "in the new session"
    );
    // an error is a warning, and the turn proceeds
    let mut desk = filling(5_000).await;
    let fail = FailNext {
        status: 400,
        message: "no".into(),
        count: 1,
    };
    desk.config.handoff.auto = true;
    desk.model.control(|c| {
        c.when.push(sm_testkit::model::When {
            has: "Write a handoff document now".into(),
            act: "FAIL: 400".into(),
        });
        c.fail_next = None;
        let _ = fail;
    });
    desk.prompt("SAY: full").await;
    desk.prompt("SAY: going on").await;
    assert_eq!(desk.files().len(), 1);
    let answers = desk
        .told
        .iter()
        .filter(|u| matches!(u, Update::Assistant(_)))
        .count();
    assert_eq!(answers, 2);
    let failed = desk.told.iter().filter(|u| {
        matches!(
            u,
            Update::Handoff {
                automatic: true,
                outcome: HandoffOutcome::Failed(_)
            }
        )
    });
    assert_eq!(failed.count(), 2);
}
