//! Turns through the host: approvals, steering, interrupts, what is on disk when.

use sm_agent::approval::{Mode, Person};
use sm_agent::host::{Answer, Command, Update};
use sm_agent::turn::End;
use sm_llm::{Message, StopReason};

use crate::support::{DEADLINE, Desk, text, unmarked};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_waits_for_a_word_and_always_is_remembered_and_kept_if_asked() {
    let mut desk = Desk::new();
    desk.mode = Mode::Ask;
    desk.start().await;
    desk.send(Command::Prompt(
        "RUN: printf one > a.txt\nTHEN: make it\nTHEN: make it again".into(),
    ));
    let mut asked = 0;
    loop {
        let update = desk
            .until("a question or the end", |u| {
                matches!(u, Update::ApprovalWanted { .. } | Update::TurnEnded(_))
            })
            .await;
        let Update::ApprovalWanted { call, wanted } = update else {
            break;
        };
        asked += 1;
        let answer = match asked {
            1 => {
                assert!(wanted.what.contains("printf one"), "{wanted:?}");
                assert!(
                    !desk.cwd().join("a.txt").exists(),
                    "nothing ran before the word"
                );
                Answer::Once
            }
            _ => {
                assert_eq!(wanted.always.to_string(), "bash:make it");
                Answer::AlwaysKept
            }
        };
        desk.send(Command::Approve {
            call_id: call.id,
            answer,
        });
    }
    assert_eq!(asked, 2, "`make it again` is covered by `make it`");
    assert_eq!(
        std::fs::read_to_string(desk.cwd().join("a.txt")).unwrap(),
        "one"
    );
    let kept = std::fs::read_to_string(desk.temp.path().join("agent.toml")).unwrap();
    assert_eq!(kept, "[approvals]\nallow = [\"bash:make it\"]\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_person_a_call_is_refused_and_the_model_is_told_why() {
    let mut desk = Desk::new();
    desk.mode = Mode::Ask;
    desk.person = Person::Nobody;
    desk.start().await;
    desk.prompt("RUN: touch ran").await;
    assert!(!desk.cwd().join("ran").exists());
    let told = desk.requests().last().unwrap().body["messages"].to_string();
    assert!(
        told.contains("not allowed to run `touch ran`") && told.contains("--allow"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steering_is_said_before_the_next_request_and_follow_ups_after_the_turn() {
    let mut desk = Desk::new();
    desk.start().await;
    desk.send(Command::Prompt("HOLD: first\nRUN: echo hi".into()));
    assert!(desk.model.wait_for_hold("first", DEADLINE));
    desk.send(Command::FollowUp("SAY: afterwards".into()));
    desk.send(Command::Steer("and be quick".into()));
    desk.until(
        "the queue",
        |u| matches!(u, Update::Queued { text, .. } if text == "and be quick"),
    )
    .await;
    desk.model.release("first");
    desk.idle().await;
    let requests = desk.requests();
    assert_eq!(requests.len(), 3);
    assert!(
        requests[1].body["messages"]
            .to_string()
            .contains("and be quick")
    );
    assert!(
        !requests[1].body["messages"]
            .to_string()
            .contains("afterwards")
    );
    let last = unmarked(&requests[2].body);
    assert_eq!(text(last.last().unwrap()), "SAY: afterwards");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_leaves_a_session_that_goes_on() {
    let mut desk = Desk::new();
    desk.start().await;
    // while the model speaks
    desk.send(Command::Prompt(
        "HOLD: speaking\nSAY: I was about to say something long".into(),
    ));
    assert!(desk.model.wait_for_hold("speaking", DEADLINE));
    let seq = desk.requests().last().unwrap().seq;
    desk.send(Command::Interrupt);
    let ended = desk
        .until("the end", |u| matches!(u, Update::TurnEnded(_)))
        .await;
    assert_eq!(ended, Update::TurnEnded(End::Interrupted));
    assert!(desk.model.wait_for_abandoned(seq, DEADLINE));
    desk.idle().await;
    // while a command runs that would never end
    desk.send(Command::Prompt("RUN: echo started; sleep 1000".into()));
    desk.until(
        "its output",
        |u| matches!(u, Update::ToolOutput { text, .. } if text.contains("started")),
    )
    .await;
    desk.send(Command::Interrupt);
    desk.idle().await;
    desk.prompt("SAY: still here").await;
    let body = desk.requests().last().unwrap().body.clone();
    let messages = body["messages"].to_string();
    assert!(messages.contains("interrupted"), "{messages}");
    let path = desk.files().remove(0);
    desk.quit().await;
    let opened = sm_agent::session::read(&path).unwrap();
    let last = opened.messages.last().unwrap();
    assert!(matches!(last, Message::Assistant(answer) if answer.stop_reason == StopReason::Stop));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_shown_is_on_disk() {
    let mut desk = Desk::new();
    desk.start().await;
    desk.send(Command::Prompt("RUN: echo shown".into()));
    loop {
        let update = desk.until("anything", |_| true).await;
        let on_disk = || std::fs::read_to_string(&desk.files()[0]).unwrap();
        match &update {
            Update::UserMessage(text) => assert!(on_disk().contains(&text.replace('"', "\\\""))),
            Update::Assistant(answer) => {
                let line = serde_json::to_string(answer).unwrap();
                assert!(on_disk().contains(&line[1..line.len() - 1]));
            }
            Update::ToolDone(result) => assert!(on_disk().contains(&result.tool_call_id)),
            Update::TurnEnded(_) => break,
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_gone_on_with_after_its_program_was_killed() {
    let mut desk = Desk::new();
    desk.start().await;
    desk.prompt("SAY: hello").await;
    let path = desk.files().remove(0);
    desk.quit().await;
    // killed while it wrote the result of a call
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str(r#"{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2026-11-15T10:00:00.000Z","message":{"role":"assi"#);
    std::fs::write(&path, text).unwrap();
    let view = desk.resume(&path).await;
    assert_eq!(view.entries, 2);
    desk.prompt("SAY: again").await;
    let messages = unmarked(&desk.requests().last().unwrap().body);
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[0].to_string().matches("SAY: hello").count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_refuses_ends_the_turn_with_its_reason() {
    let mut desk = Desk::new();
    desk.start().await;
    desk.send(Command::Prompt("FAIL: 400".into()));
    let ended = desk
        .until("the end", |u| matches!(u, Update::TurnEnded(_)))
        .await;
    assert!(
        matches!(&ended, Update::TurnEnded(End::Failed(why)) if why.contains("fake failure")),
        "{ended:?}"
    );
    desk.idle().await;
    desk.prompt("SAY: better").await;
    assert!(
        desk.told
            .iter()
            .any(|u| matches!(u, Update::Usage { tokens, window: 200_000, .. } if *tokens > 0))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_of_the_person_is_told_to_the_model() {
    let mut desk = Desk::new();
    desk.start().await;
    desk.send(Command::Shell("echo from the person".into()));
    let done = desk
        .until("its end", |u| matches!(u, Update::ShellDone { .. }))
        .await;
    assert!(
        matches!(&done, Update::ShellDone { output, .. } if output.contains("from the person"))
    );
    desk.prompt("SAY: seen").await;
    let messages = desk.requests().last().unwrap().body["messages"].to_string();
    assert!(
        messages.contains("Ran `echo from the person`"),
        "{messages}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_of_the_person_does_not_come_between_a_call_and_its_result() {
    let mut desk = Desk::new();
    desk.start().await;
    desk.send(Command::Shell(
        "until [ -e go ]; do sleep 0.02; done; echo of the person".into(),
    ));
    desk.send(Command::Prompt(
        "RUN: touch go; until [ -e done ]; do sleep 0.02; done".into(),
    ));
    let go = desk.cwd().join("go");
    let seen = tokio::time::timeout(DEADLINE, async {
        while !go.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    });
    seen.await.unwrap();
    std::fs::write(desk.cwd().join("done"), "").unwrap();
    desk.until("the command's end", |u| {
        matches!(u, Update::ShellDone { .. })
    })
    .await;
    desk.prompt("SAY: whole").await;
    let body = desk.requests().last().unwrap().body.clone();
    let results = body["messages"]
        .to_string()
        .matches("\"tool_result\"")
        .count();
    assert_eq!(results, 1, "{body}");
    assert!(body["messages"].to_string().contains("of the person"));
}
