//! What is tried again, what is not, and for how long.

use std::time::Duration;

use sm_llm::{Failure, Limits, StopReason};
use sm_testkit::model::{BreakNext, FailNext, Reached};
use tokio_util::sync::CancellationToken;

use crate::common::{APIS, LIMITS, ask, ask_with, attempts, model, server, text_of};

fn fail(status: u16, count: u32) -> Option<FailNext> {
    Some(FailNext {
        status,
        message: "come back later".into(),
        count,
    })
}

fn broken(after: Reached, fault: Option<(&str, &str)>) -> Option<BreakNext> {
    Some(BreakNext {
        after,
        fault: fault.map(|(kind, message)| (kind.into(), message.into())),
        count: 1,
    })
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_told() {
    for api in APIS {
        for status in [429, 500, 502, 503, 529] {
            let server = server();
            server.control(|c| c.fail_next = fail(status, 2));
            let (answer, told) = ask(&model(api, &server.url()), "SAY: at last").await;
            assert_eq!(answer.unwrap().text(), "at last", "{api:?} {status}");
            assert_eq!(attempts(&told), [2, 3]);
            assert_eq!(server.requests().len(), 3);
        }
    }
}

#[tokio::test]
async fn no_more_attempts_are_made_than_allowed() {
    for (status, name) in [(429, "RateLimited"), (503, "Overloaded")] {
        let server = server();
        server.control(|c| c.fail_next = fail(status, 100));
        let (outcome, told) = ask(&model(APIS[0], &server.url()), "hi").await;
        let failure = outcome.unwrap_err();
        assert!(format!("{failure:?}").starts_with(name), "{failure:?}");
        assert!(failure.to_string().contains("come back later"));
        assert_eq!(attempts(&told), [2, 3]);
        assert_eq!(server.requests().len(), 3);
    }
}

#[tokio::test]
async fn a_wait_that_outlasts_the_deadline_is_not_begun() {
    for (after, least) in [("3600", 3600), ("Fri, 31 Dec 2100 23:59:59 GMT", 86_400)] {
        let server = server();
        server.control(|c| {
            c.fail_next = fail(429, 100);
            c.fail_headers = vec![("retry-after".into(), after.into())];
        });
        let (outcome, told) = ask(&model(APIS[1], &server.url()), "hi").await;
        match outcome {
            Err(Failure::RateLimited {
                retry_after: Some(wait),
                ..
            }) => assert!(wait.as_secs() >= least, "{wait:?}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(attempts(&told), [0_u32; 0]);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_stream_that_breaks_before_its_first_word_is_asked_for_again() {
    let faults = [
        None,
        Some(("overloaded_error", "Overloaded")),
        Some(("server_error", "oops")),
    ];
    for api in APIS {
        for fault in faults {
            let server = server();
            server.control(|c| c.break_next = broken(Reached::Beginning, fault));
            let (answer, told) = ask(&model(api, &server.url()), "SAY: once").await;
            assert_eq!(answer.unwrap().text(), "once", "{api:?} {fault:?}");
            assert_eq!(
                (text_of(&told).as_str(), attempts(&told)),
                ("once", vec![2])
            );
            assert_eq!(server.requests().len(), 2);
        }
    }
}

#[tokio::test]
async fn a_stream_that_breaks_in_its_middle_is_kept_and_never_repeated() {
    for api in APIS {
        for fault in [None, Some(("overloaded_error", "Overloaded"))] {
            let server = server();
            server.control(|c| c.break_next = broken(Reached::FirstPart, fault));
            let (outcome, told) = ask(&model(api, &server.url()), "SAY: half said").await;
            let failure = outcome.unwrap_err();
            assert!(matches!(failure, Failure::Broken { .. }), "{failure:?}");
            if fault.is_some() {
                assert!(failure.to_string().contains("Overloaded"), "{failure}");
            }
            let partial = failure.into_partial().unwrap();
            assert_eq!(
                (partial.text().as_str(), partial.stop_reason),
                ("half ", StopReason::Error)
            );
            assert_eq!(
                (text_of(&told).as_str(), attempts(&told)),
                ("half ", vec![])
            );
            assert_eq!(server.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn half_a_call_of_a_tool_is_no_call() {
    for api in APIS {
        let server = server();
        server.control(|c| c.break_next = broken(Reached::FirstPart, None));
        let prompt = "THINK: careful\nRUN: rm -r /";
        let (outcome, _) = ask(&model(api, &server.url()), prompt).await;
        let partial = outcome.unwrap_err().into_partial().unwrap();
        assert_eq!(partial.tool_calls().count(), 0, "{partial:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_deadline_holds_for_the_whole() {
    let server = server();
    let limits = Limits {
        deadline: Duration::from_secs(2),
        ..LIMITS
    };
    let cancel = CancellationToken::new();
    let model = model(APIS[0], &server.url());
    let (outcome, _) = ask_with(&model, "HOLDSTART: never", limits, &cancel).await;
    assert!(
        matches!(outcome, Err(Failure::Deadline { .. })),
        "{outcome:?}"
    );
    assert!(server.wait_for_abandoned(1, LIMITS.deadline));
}

#[tokio::test]
async fn silence_is_not_endured_for_ever() {
    let server = server();
    let limits = Limits {
        idle: Duration::from_millis(200),
        attempts: 2,
        ..LIMITS
    };
    let cancel = CancellationToken::new();
    let model = model(APIS[2], &server.url());
    let (outcome, told) = ask_with(&model, "HOLDSTART: never", limits, &cancel).await;
    let failure = outcome.unwrap_err();
    assert!(
        failure.to_string().contains("no answer for 0.2 s"),
        "{failure}"
    );
    assert_eq!(attempts(&told), [2]);
}
