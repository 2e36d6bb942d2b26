//! What is said of a handoff, and which files can be one.

use super::*;
use sm_daemon::api::types::When;
use sm_daemon::ask::SCHEDULED;

#[test]
fn what_is_said_of_a_scheduled_handoff() {
    let mut answer = HandoffAnswer {
        id: Some("ho-2".into()),
        ..HandoffAnswer::default()
    };
    assert_eq!(told(&answer), [SCHEDULED]);
    for (when, word) in [
        (When::Now, "now"),
        (When::Start, "started again"),
        (When::Ready, "once that is ready"),
        (When::Compacted, "compacts its context"),
        (When::Answered, "a person's answer"),
    ] {
        let told = told(&HandoffAnswer {
            when: Some(when),
            ..HandoffAnswer::default()
        });
        assert!(
            told[0].contains(word) && !told[0].contains("current turn"),
            "{told:?}"
        );
    }
    answer.replaced = Some("ho-1".into());
    answer.warnings = vec!["the document is older\x1b[31m\nthan the turn".into()];
    assert_eq!(
        told(&answer),
        [
            SCHEDULED,
            "It replaces handoff ho-1, which was scheduled before and will not run",
            "Warning: the document is older[31m than the turn",
        ]
    );
}
