//! Faults that were seen in another agent's handoff, and must not come back.

use std::time::Duration;

use sm_agent::handoff::{HEADING, unwrap};
use sm_agent::host::{Command, HandoffOutcome, Opening, Queue, State, Update};
use sm_agent::session::SessionError;
use sm_llm::{Content, Message};
use sm_testkit::model::{FailNext, When};

use crate::support::{DEADLINE, DOCUMENT, Desk, done, lines, unmarked};

/// An agent whose document waits until it is let go.
async fn writing() -> Desk {
    let mut desk = Desk::new();
    desk.start().await;
    desk.prompt("SAY: hello").await;
    desk.writes(DOCUMENT);
    hold(&desk, "writing");
    desk.send(Command::Handoff {
        focus: None,
        edit: false,
    });
    assert!(desk.model.wait_for_hold("writing", DEADLINE));
    desk
}

fn hold(desk: &Desk, name: &str) {
    let act = format!("HOLD: {name}");
    let has = "Write a handoff document now".into();
    desk.model.control(|c| c.when = vec![When { has, act }]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_typed_while_the_document_is_written_is_said_in_the_new_session() {
    let mut desk = writing().await;
    desk.send(Command::Prompt("SAY: typed meanwhile".into()));
    let queued = Queue::NextSession;
    desk.until(
        "the queue",
        |u| matches!(u, Update::Queued { queue, .. } if *queue == queued),
    )
    .await;
    desk.model.release("writing");
    let outcome = desk.outcome().await.1;
    let (_, new) = done(&outcome);
    desk.idle().await;
    let messages = unmarked(&desk.requests().last().unwrap().body);
    assert!(messages[0].to_string().contains("handoff-context"));
    assert!(
        messages
            .last()
            .unwrap()
            .to_string()
            .contains("typed meanwhile")
    );
    let kept = lines(new)
        .iter()
        .filter(|l| l.to_string().contains("typed meanwhile"))
        .count();
    assert_eq!(kept, 2, "the prompt and its answer are in the new file");
    assert!(
        !std::fs::read_to_string(&desk.files()[0])
            .unwrap()
            .contains("typed meanwhile")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_is_one_handoff_at_a_time_and_a_cancelled_one_never_commits() {
    let mut desk = writing().await;
    let asked = desk.requests().len();
    let second = desk.handoff(None).await;
    assert!(matches!(second, HandoffOutcome::Busy(_)), "{second:?}");
    assert_eq!(desk.requests().len(), asked, "no second request");
    desk.send(Command::CancelHandoff);
    assert_eq!(desk.outcome().await.1, HandoffOutcome::Cancelled);
    desk.idle().await;
    // the first one's document comes now, if it comes at all
    desk.model.release("writing");
    desk.prompt("SAY: after it was cancelled").await;
    desk.quit().await;
    assert_eq!(desk.files().len(), 1);
    let outcomes: Vec<_> = desk
        .told
        .iter()
        .filter(|u| {
            matches!(
                u,
                Update::Handoff {
                    outcome: HandoffOutcome::Done { .. },
                    ..
                }
            )
        })
        .collect();
    assert!(outcomes.is_empty(), "{outcomes:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_fails_is_asked_a_few_times_visibly_and_inside_the_deadline() {
    let mut desk = Desk::new();
    desk.config.request.attempts = 3;
    desk.start().await;
    desk.prompt("SAY: hello").await;
    let fail = FailNext {
        status: 500,
        message: "broken".into(),
        count: 1_000,
    };
    desk.model.control(|c| c.fail_next = Some(fail));
    let before = desk.requests().len();
    let outcome = desk.handoff(None).await;
    assert!(matches!(outcome, HandoffOutcome::Failed(_)), "{outcome:?}");
    assert_eq!(desk.requests().len() - before, 3);
    for attempt in [2, 3] {
        let seen = Update::State(State::HandingOff {
            goal: sm_agent::turn::Goal::NextSession,
            automatic: false,
            attempt,
        });
        assert!(desk.told.contains(&seen), "attempt {attempt} is seen");
    }
    // and never longer than the one deadline for all of it
    let mut desk = Desk::new();
    desk.config.handoff.deadline = Duration::from_millis(300);
    desk.start().await;
    desk.prompt("SAY: hello").await;
    hold(&desk, "for ever");
    let outcome = desk.handoff(None).await;
    assert!(matches!(outcome, HandoffOutcome::Failed(_)), "{outcome:?}");
    desk.idle().await;
    desk.prompt("SAY: usable").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_new_session_comes_back_on_its_own_model() {
    let mut desk = Desk::new();
    desk.start().await;
    desk.prompt("SAY: hello").await;
    desk.writes(DOCUMENT);
    let outcome = desk.handoff(None).await;
    let new = done(&outcome).1.to_path_buf();
    desk.quit().await;
    let opening = Opening::resume(&new).unwrap();
    assert_eq!(opening.model(), Some("fake/fake-1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_with_the_closing_delimiter_is_not_cut() {
    let mut desk = Desk::new();
    desk.start().await;
    desk.prompt("SAY: hello").await;
    let document = format!("{DOCUMENT}\n\nIt ends with </handoff-context> and goes on.");
    desk.writes(&document);
    let outcome = desk.handoff(None).await;
    assert_eq!(done(&outcome).0, document);
    let opened = sm_agent::session::read(done(&outcome).1).unwrap();
    let Message::User(user) = &opened.messages[0] else {
        panic!("a person speaks")
    };
    let text = match &user.content {
        Content::Text(text) => text.clone(),
        Content::Blocks(_) => serde_json::to_value(&user.content).unwrap()[0]["text"]
            .as_str()
            .unwrap()
            .to_owned(),
    };
    assert_eq!(text.matches("</handoff-context>").count(), 1);
    assert_eq!(unwrap(&text).unwrap(), document);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_and_no_key_is_ever_written_to_a_file() {
    let mut desk = Desk::new();
    desk.start().await;
    desk.prompt("SAY: hello").await;
    let fail = FailNext {
        status: 400,
        message: "bad request".into(),
        count: 1,
    };
    desk.model.control(|c| c.fail_next = Some(fail));
    assert!(matches!(
        desk.handoff(None).await,
        HandoffOutcome::Failed(_)
    ));
    desk.quit().await;
    fn look(folder: &std::path::Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                look(&path);
                continue;
            }
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            for secret in [
                "Write a handoff document now",
                "tool_choice",
                "sk-secret-key-of-the-test",
                "You are a test.",
            ] {
                assert!(!text.contains(secret), "{secret} in {}", path.display());
            }
        }
    }
    look(desk.temp.path());
}

#[test]
fn resuming_what_is_not_there_is_an_error() {
    let temp = tempfile::tempdir().unwrap();
    let missing = temp.path().join("gone.jsonl");
    assert!(matches!(
        Opening::resume(&missing),
        Err(SessionError::Missing(_))
    ));
    assert!(!missing.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_that_lacks_sections_is_asked_for_once_more_and_only_once() {
    let mut desk = Desk::new();
    desk.start().await;
    desk.prompt("SAY: hello").await;
    desk.writes("I have nothing to add.");
    desk.model.control(|c| {
        // SAY takes one line: enough of a document to be better than the first
        let act =
            "SAY: ## Objective, constraints, progress, decisions, technical state and next actions"
                .into();
        c.when = vec![When {
            has: "The document lacks".into(),
            act,
        }];
    });
    let before = desk.requests().len();
    let outcome = desk.handoff(None).await;
    assert_eq!(desk.requests().len() - before, 2);
    // neither is fit to go on from: the ledger's takes their place
    let by_ledger = |outcome: &HandoffOutcome| {
        let (document, _) = done(outcome);
        assert!(document.contains("hello"), "{document}");
        assert!(
            !document.contains("## Objective, constraints"),
            "{document}"
        );
        assert!(!document.contains("I have nothing to add."), "{document}");
    };
    by_ledger(&outcome);
    let notes = |desk: &Desk| {
        let told = desk.told.iter().filter(|update| {
            matches!(update, Update::Notice(note) if note.contains("sm's own, made from the record"))
        });
        told.count()
    };
    assert_eq!(notes(&desk), 1, "{:?}", desk.told);
    desk.idle().await;
    desk.prompt("SAY: more").await;
    desk.model.control(|c| c.when = vec![]);
    let before = desk.requests().len();
    let outcome = desk.handoff(None).await;
    assert_eq!(desk.requests().len() - before, 2);
    by_ledger(&outcome);
    assert_eq!(notes(&desk), 2, "{:?}", desk.told);
    // one line, and nobody asks again
    desk.quit().await;
    desk.config.handoff.repair = false;
    desk.start().await;
    desk.prompt("SAY: hello again").await;
    desk.writes("It is done.");
    let before = desk.requests().len();
    let outcome = desk.handoff(None).await;
    assert_eq!(desk.requests().len() - before, 1);
    let (document, _) = done(&outcome);
    assert!(document.contains("hello again"), "{document}");
    assert!(!document.contains("It is done."), "{document}");
    assert_eq!(notes(&desk), 3, "{:?}", desk.told);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_record_knows_is_added_and_secrets_are_taken_out() {
    let mut desk = Desk::new();
    desk.config.handoff.facts = 4_000;
    desk.start().await;
    desk.prompt("Please never deploy on Fridays\nSAY: understood")
        .await;
    desk.writes(&format!(
        "{DOCUMENT}\nGITHUB_TOKEN=ghp_u8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL8d"
    ));
    let outcome = desk.handoff(None).await;
    let (document, new) = done(&outcome);
    assert!(document.contains(HEADING), "{document}");
    assert!(document.contains("never deploy on Fridays"));
    assert!(!document.contains("ghp_u8jzPde0"), "{document}");
    assert!(
        !std::fs::read_to_string(new)
            .unwrap()
            .contains("ghp_u8jzPde0")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handoff_can_be_edited_and_undone() {
    let mut desk = Desk::new();
    desk.start().await;
    desk.prompt("SAY: hello").await;
    desk.writes(DOCUMENT);
    let old = desk.files().remove(0);
    for keep in [false, true] {
        desk.send(Command::Handoff {
            focus: None,
            edit: true,
        });
        let wanted = desk
            .until("the edit", |u| matches!(u, Update::EditWanted(_)))
            .await;
        let Update::EditWanted(path) = wanted else {
            unreachable!()
        };
        assert_eq!(std::fs::read_to_string(&path).unwrap(), DOCUMENT);
        std::fs::write(&path, "## Edited\nby a person").unwrap();
        desk.send(Command::Edited { keep });
        let outcome = desk.outcome().await.1;
        assert!(!path.exists());
        match keep {
            true => assert_eq!(done(&outcome).0, "## Edited\nby a person"),
            false => assert_eq!(outcome, HandoffOutcome::Cancelled),
        }
        desk.idle().await;
    }
    desk.send(Command::UndoHandoff);
    let rebuilt = desk
        .until("the old session", |u| matches!(u, Update::Rebuilt(_)))
        .await;
    let Update::Rebuilt(view) = rebuilt else {
        unreachable!()
    };
    assert_eq!(view.path.as_deref(), Some(old.as_path()));
    assert_eq!(view.entries, 2);
    desk.prompt("SAY: back").await;
    assert!(std::fs::read_to_string(&old).unwrap().contains("SAY: back"));
}
