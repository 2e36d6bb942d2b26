//! Handing over, as it looks.

use sm_testkit::model::FailNext;
use sm_testkit::wait_until;

use crate::support::{ASKS_FOR_DOCUMENT, DEADLINE, Person};

#[test]
fn item_1_completion_and_ghost_text() {
    let person = Person::sits_down("");
    person.types("/hand");
    person.sees("› /handoff");
    person.presses("Tab");
    person.sees("❯ /handoff  [focus instructions]");
}

#[test]
fn item_2_nothing_to_hand_off_yet() {
    let person = Person::sits_down("");
    person.says("/handoff");
    person.sees("Nothing to hand off (no messages yet)");
    assert_eq!(person.asked(), 0);
    assert_eq!(person.files().len(), 0);
}

#[test]
fn item_3_not_while_a_reply_streams() {
    let person = Person::sits_down("");
    person.says("HOLD: reply");
    assert!(person.model.wait_for_hold("reply", DEADLINE));
    person.says("/handoff");
    person.sees("Wait for the current response to finish or abort it before handing off.");
    person.model.release("reply");
    person.sees_no("Working");
}

#[test]
fn items_4_and_17_the_loader_the_new_session_and_what_was_typed_meanwhile() {
    let person = Person::sits_down("");
    person.talks("SAY: hello there", "hello there");
    let document = "HOLD: writing";
    person.when(ASKS_FOR_DOCUMENT, document);
    person.says("/handoff the parser");
    let screen = person.sees("Generating handoff… (esc to cancel)");
    assert!(
        !screen.contains("❯ /handoff"),
        "the editor is clear:\n{screen}"
    );
    assert!(person.model.wait_for_hold("writing", DEADLINE));
    person.says("SAY: in the new one");
    person.sees("in the new session: SAY: in the new one");
    person.model.release("writing");
    person.sees("New session started with handoff context");
    person.reads("in the new one");
    person.sees_no("Working");
    person.sees_no("Generating handoff");
    let all = person.all();
    assert!(all.contains("▸ handoff context ("), "{all}");
    assert!(!person.screen().contains("Frobnicate"), "it is folded up");
    assert_eq!(person.files().len(), 2);
    person.presses("C-o");
    person.sees("Frobnicate");
    assert!(
        person.all().contains("▾ handoff context ("),
        "{}",
        person.all()
    );
}

#[test]
fn items_11_and_12_failures_are_told_and_the_chat_goes_on() {
    let person = Person::sits_down("");
    person.talks("SAY: hello there", "hello there");
    person.model.control(|c| {
        c.fail_next = Some(FailNext {
            status: 400,
            message: "this is no good".into(),
            count: 1,
        });
    });
    person.says("/handoff");
    person.sees("Handoff failed:");
    person.sees_no("Generating");
    assert_eq!(person.files().len(), 1);
    person.model.control(|c| c.reply = Some(" \n ".into()));
    person.says("/handoff");
    person.sees("Handoff failed: the model returned no text");
    assert_eq!(person.files().len(), 1);
    person.talks("SAY: still here", "still here");
}

#[test]
fn item_12_each_attempt_is_seen() {
    let person = Person::sits_down("");
    person.talks("SAY: hello there", "hello there");
    person.model.control(|c| {
        c.fail_next = Some(FailNext {
            status: 500,
            message: "overloaded".into(),
            count: 1,
        });
    });
    person.says("/handoff");
    person.sees("attempt 2");
    person.sees("New session started with handoff context");
}

#[test]
fn item_13_escape_cancels() {
    let person = Person::sits_down("");
    person.talks("SAY: hello there", "hello there");
    person.when(ASKS_FOR_DOCUMENT, "HOLD: writing");
    person.says("/handoff");
    assert!(person.model.wait_for_hold("writing", DEADLINE));
    person.presses("Escape");
    person.sees("Handoff cancelled");
    person.sees_no("Generating handoff");
    let asked = person.asked() as u64;
    assert!(
        person.model.wait_for_abandoned(asked, DEADLINE),
        "the model is not kept waiting"
    );
    assert_eq!(person.files().len(), 1);
    person.model.release("writing");
    person.talks("SAY: going on", "going on");
    assert_eq!(person.files().len(), 1);
}

#[test]
fn item_18_handed_over_again_and_undone_step_by_step() {
    let person = Person::sits_down("");
    person.talks("SAY: in the first", "in the first");
    person.says("/handoff");
    person.sees("New session started with handoff context");
    person.talks("SAY: in the second", "in the second");
    person.says("/handoff");
    let third = wait_until(DEADLINE, || (person.files().len() == 3).then_some(()));
    assert!(third.is_some(), "{}", person.all());
    person.talks("SAY: in the third", "in the third");
    for (there, gone, again) in [
        ("in the second", "in the third", "back in the second"),
        ("in the first", "in the second", "back in the first"),
    ] {
        person.says("/undo-handoff");
        person.talks(&format!("SAY: {again}"), again);
        let asked = person.model.requests().pop().unwrap().body.to_string();
        assert!(asked.contains(there) && !asked.contains(gone), "{asked}");
    }
    person.says("/undo-handoff");
    person.sees("This session was not handed over from another one.");
}

#[test]
fn item_21_a_document_that_cannot_be_saved_is_told_and_handed_over_all_the_same() {
    let person = Person::new("[handoff]\nsave = \"all\"\n");
    // So deep that the session's own path is just possible, and that of a file below it is not.
    let work = person.repo().canonicalize().unwrap();
    let beyond = sm_agent::session::folder_of("data/agent/sessions".as_ref(), &work);
    let beyond = beyond.as_os_str().len() + "/2026-11-16T01-26-49-000Z_.jsonl".len() + 36;
    let most = usize::try_from(libc::PATH_MAX).unwrap() - 16 - beyond - 1;
    let mut deep = person.home.path().canonicalize().unwrap();
    while deep.as_os_str().len() < most {
        let left = most - deep.as_os_str().len() - 1;
        // Never so that only the separator would fit.
        let next = if left > 200 { left.min(210) - 10 } else { left };
        deep.push("d".repeat(next));
    }
    std::fs::create_dir_all(&deep).unwrap();
    let config = person.home.path().join("agent.toml");
    std::fs::copy(config, deep.join("agent.toml")).unwrap();
    person.starts((80, 24), &[("SM_HOME", deep.to_str().unwrap())], &[]);
    person.sees("fake/fake-1");
    person.talks("SAY: hello there", "hello there");
    person.says("/handoff");
    person.sees("The handoff document could not be saved");
    person.sees("New session started with handoff context");
    assert_eq!(person.files().len(), 2);
    person.talks("SAY: going on", "going on");
}

#[test]
fn items_19_and_22_automatic_handoffs_and_their_cancellation() {
    let person = Person::sits_down("[handoff]\ntokens = 10_000\n");
    person.when(ASKS_FOR_DOCUMENT, "HOLD: writing");
    person.model.control(|c| c.input_tokens = 50_000);
    person.says("SAY: a full context");
    person.sees("Auto-handoff… (esc to cancel)");
    assert!(person.model.wait_for_hold("writing", DEADLINE));
    person.presses("Escape");
    person.sees("Auto-handoff cancelled");
    assert_eq!(person.files().len(), 1);
    // Tried again before the next prompt.
    person.model.release("writing");
    person.model.control(|c| c.when.clear());
    person.model.control(|c| c.input_tokens = 100);
    person.says("SAY: in the next");
    person.sees("Auto-handoff completed");
    person.reads("in the next");
    person.sees_no("Working");
    assert_eq!(person.files().len(), 2);
}
