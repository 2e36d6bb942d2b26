//! Cancelling: the server sees the connection close while it still holds its answer back.

use sm_llm::{Delta, Failure, Message, StopReason, ToolChoice};
use sm_testkit::model::FailNext;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::common::{APIS, LIMITS, LONG, ask_with, model, server, tell};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_closes_the_connection_and_keeps_what_was_said() {
    for api in APIS {
        for (prompt, said) in [
            ("SAY: half said\nHOLD: gate", Some("half ")),
            ("SAY: nothing\nHOLDSTART: gate", None),
        ] {
            let server = server();
            let (model, cancel) = (model(api, &server.url()), CancellationToken::new());
            let token = cancel.clone();
            let (told, mut hear) = mpsc::unbounded_channel();
            let asking = tokio::spawn(async move {
                let messages = [Message::user(prompt, 0)];
                let on = &mut |delta| told.send(delta).unwrap();
                tell(&model, &messages, ToolChoice::Auto, LIMITS, &token, on).await
            });
            assert!(server.wait_for_hold("gate", LONG), "{api:?}");
            while said.is_some() && !matches!(hear.recv().await.unwrap(), Delta::Text(_)) {}
            cancel.cancel();
            let failure = asking.await.unwrap().unwrap_err();
            assert!(failure.is_cancelled() && failure.to_string() == "cancelled");
            let partial = failure.into_partial();
            assert_eq!(
                partial.as_ref().map(|p| p.text()).as_deref(),
                said,
                "{api:?}"
            );
            assert!(partial.is_none_or(|p| p.stop_reason == StopReason::Aborted));
            // the gate was never opened: it is the client who went
            assert!(server.wait_for_abandoned(1, LONG), "{api:?}: {prompt}");
            assert_eq!(server.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn dropping_the_question_closes_the_connection_too() {
    let server = server();
    let (model, cancel) = (model(APIS[0], &server.url()), CancellationToken::new());
    let (told, mut hear) = mpsc::unbounded_channel();
    let messages = [Message::user("SAY: half said\nHOLD: gate", 0)];
    let on = &mut |delta| told.send(delta).unwrap();
    let begun = async { while !matches!(hear.recv().await.unwrap(), Delta::Text(_)) {} };
    tokio::select! {
        outcome = tell(&model, &messages, ToolChoice::Auto, LIMITS, &cancel, on) => panic!("{outcome:?}"),
        () = begun => {}
    }
    let seen = tokio::task::spawn_blocking(move || server.wait_for_abandoned(1, LONG));
    assert!(seen.await.unwrap());
}

#[tokio::test]
async fn a_wait_between_attempts_is_cancelled_too() {
    let server = server();
    server.control(|c| {
        c.fail_next = Some(FailNext {
            status: 503,
            message: "busy".into(),
            count: 100,
        });
        c.fail_headers = vec![("retry-after".into(), "20".into())];
    });
    let (model, cancel) = (model(APIS[0], &server.url()), CancellationToken::new());
    let messages = [Message::user("hi", 0)];
    let on = &mut |delta| {
        if let Delta::Attempt { wait, .. } = delta {
            assert!(wait.as_secs() >= 20);
            cancel.cancel();
        }
    };
    let outcome = tell(&model, &messages, ToolChoice::Auto, LIMITS, &cancel, on).await;
    let nothing = matches!(outcome, Err(Failure::Cancelled { partial: None }));
    assert!(nothing, "{outcome:?}");
    assert_eq!(server.requests().len(), 1);
    // and one that was cancelled before asks nobody
    let (outcome, _) = ask_with(&model, "hi", LIMITS, &cancel).await;
    assert!(outcome.unwrap_err().is_cancelled());
    assert_eq!(server.requests().len(), 1);
}
