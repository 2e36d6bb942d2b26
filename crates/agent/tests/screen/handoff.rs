//! Handing over, as it looks.

use sm_testkit::model::FailNext;

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
    assert_eq!(person.files().len(), 1);
    person.model.release("writing");
    person.talks("SAY: going on", "going on");
    assert_eq!(person.files().len(), 1);
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
