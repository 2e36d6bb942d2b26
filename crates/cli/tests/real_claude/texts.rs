//! Texts that a composer draws, strips or rewrites in its own way: each arrives once.

use crate::common::raw::one_agent_cannot_clear_another;
use crate::common::texts::{corpus, each_arrives_once, random};
use crate::common::{DEADLINE, World, occurrences};
use crate::people::wait_composer;
use crate::{FREE, claude};
use sm_testkit::model::texts_of;
use sm_testkit::wait_until;
use std::time::Duration;

fn newest(test: &str) -> Option<World> {
    let world = World::claude_newest(test)?;
    world
        .model
        .control(|control| control.reply = Some("ok".into()));
    Some(world)
}

macro_rules! corpus_tests {
    ($($name:ident: $world:ident, $part:expr;)*) => {
        $(#[test]
        fn $name() {
            let Some(world) = $world(stringify!($name)) else { return };
            world.start_idle("api", &FREE);
            each_arrives_once(&world, "api", corpus($part, 4));
        })*
    };
}

corpus_tests! {
    unicode_texts_arrive_once_1: claude, 0;
    unicode_texts_arrive_once_2: claude, 1;
    unicode_texts_arrive_once_3: claude, 2;
    unicode_texts_arrive_once_4: claude, 3;
    unicode_texts_arrive_once_on_the_newest_1: newest, 0;
    unicode_texts_arrive_once_on_the_newest_2: newest, 1;
    unicode_texts_arrive_once_on_the_newest_3: newest, 2;
    unicode_texts_arrive_once_on_the_newest_4: newest, 3;
}

#[test]
fn made_up_texts_arrive_once() {
    let Some(world) = claude("made_up_texts_arrive_once") else {
        return;
    };
    world.start_idle("api", &FREE);
    each_arrives_once(&world, "api", random(0..12));
}

#[test]
fn made_up_texts_arrive_once_on_the_newest() {
    let Some(world) = newest("made_up_texts_arrive_once_on_the_newest") else {
        return;
    };
    world.start_idle("api", &FREE);
    each_arrives_once(&world, "api", random(12..24));
}

/// It once ran five times, and was reported failed.
#[test]
fn a_command_with_invisible_characters_is_run_once_on_the_newest() {
    let Some(world) = newest("a_command_with_invisible_characters_is_run_once_on_the_newest")
    else {
        return;
    };
    world.start_idle("api", &FREE);
    for (no, c) in ['\u{fe0f}', '\u{e0041}', '\u{e0100}', '\u{34f}']
        .iter()
        .enumerate()
    {
        let message = world.send_wait("api", &format!("RUN: echo ran >> ran{no}.txt{c}"), &[]);
        let reason = message["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("removed 1 invisible"), "{message}");
        world.wait_state("api", "idle");
    }
    world.send_wait("api", "and the next one", &[]);
    for no in 0..4 {
        let ran = world.env.project().join(format!("ran{no}.txt"));
        assert_eq!(std::fs::read_to_string(ran).unwrap(), "ran\n", "{no}");
    }
}

fn a_raw_command_for_a_shell(world: &World) {
    world.start_idle("api", &FREE);
    let id = world.send("api", "!touch ran-by-a-shell", &["--raw"]);
    let ran = world.env.project().join("ran-by-a-shell");
    let there = wait_until(Duration::from_secs(60), || ran.exists().then_some(()));
    assert!(there.is_some(), "{}", world.about("api"));
    world.wait_message("api", &id, "submitted");
    world.send_wait("api", "and the next one", &[]);
}

#[test]
fn a_raw_command_for_a_shell_is_entered_and_blocks_nobody() {
    if let Some(world) = claude("a_raw_command_for_a_shell_is_entered_and_blocks_nobody") {
        a_raw_command_for_a_shell(&world);
    }
}

#[test]
fn a_raw_command_for_a_shell_is_entered_and_blocks_nobody_on_the_newest() {
    let test = "a_raw_command_for_a_shell_is_entered_and_blocks_nobody_on_the_newest";
    if let Some(world) = newest(test) {
        a_raw_command_for_a_shell(&world);
    }
}

/// How its model is told of a text from the mailbox stands in the receipt, and the text on the
/// screen.
fn a_mailed_text_is_shown_and_its_label_told(world: &World) {
    world.start_idle("api", &FREE);
    let draft = "a half typed thought";
    world.type_text("api", draft);
    wait_composer(world, "api", &format!("❯\u{a0}{draft}"));
    let text = "a message through the mailbox";
    let id = world.send("api", text, &["--mode", "urgent"]);
    let newer = "[SYSTEM NOTIFICATION - NOT USER INPUT]";
    let label = match occurrences(&world.request_with(text), newer) {
        0 => "task-notification",
        _ => newer,
    };
    let told = wait_until(DEADLINE, || {
        let message = world.message("api", &id);
        (message["label"] == label).then_some(message)
    });
    let message = told.unwrap_or_else(|| panic!("{label}: {}", world.about("api")));
    assert_eq!(message["way"], "mailbox");
    assert!(message["reason"].as_str().unwrap().contains(label));
    world.wait_screen("api", text);
    world.wait_state("api", "idle");
    world.key("api", "Enter");
    let last = world.request_with(draft);
    assert_eq!(
        occurrences(&last, text),
        1,
        "what is shown is not told again"
    );
}

#[test]
fn a_mailed_text_is_shown_to_the_person_and_its_label_told() {
    if let Some(world) = claude("a_mailed_text_is_shown_to_the_person_and_its_label_told") {
        a_mailed_text_is_shown_and_its_label_told(&world);
    }
}

#[test]
fn a_mailed_text_is_shown_to_the_person_and_its_label_told_on_the_newest() {
    let test = "a_mailed_text_is_shown_to_the_person_and_its_label_told_on_the_newest";
    if let Some(world) = newest(test) {
        a_mailed_text_is_shown_and_its_label_told(&world);
    }
}

const SAID: [&str; 2] = ["NOT USER INPUT", "<task-notification>"];

/// Tabs and line separators arrive as the composer has them, and as the user's own words.
fn changed_white_space_is_a_prompt(world: &World) {
    world.start_idle("api", &FREE);
    for (text, arrives, told) in [
        (
            "a\ttab, an emoji 👩‍👩‍👧 and é",
            "a    tab, an emoji 👩‍👩‍👧 and é",
            true,
        ),
        (
            "diff\n+\tone\n-\ttwo\n \tthree\n+\tfour",
            "diff\n+    one\n-    two\n     three\n+    four",
            true,
        ),
        ("one\u{2028}two", "one\ntwo", true),
        ("ends with blanks  \n", "ends with blanks", false),
    ] {
        let message = world.send_wait("api", text, &[]);
        assert_eq!(message["way"], "paste", "{message}");
        assert!(message["label"].is_null(), "{message}");
        let reason = message["reason"].as_str().unwrap_or_default();
        assert_eq!(
            reason.contains("changed its white space"),
            told,
            "{message}"
        );
        let request = world.request_with(arrives);
        assert!(
            texts_of(&request).iter().any(|block| block == arrives),
            "{text:?}"
        );
        for words in SAID {
            assert_eq!(occurrences(&request, words), 0, "{text:?}");
        }
        world.wait_state("api", "idle");
    }
}

#[test]
fn changed_white_space_is_a_prompt_of_the_users() {
    if let Some(world) = claude("changed_white_space_is_a_prompt_of_the_users") {
        changed_white_space_is_a_prompt(&world);
    }
}

#[test]
fn changed_white_space_is_a_prompt_of_the_users_on_the_newest() {
    if let Some(world) = newest("changed_white_space_is_a_prompt_of_the_users_on_the_newest") {
        changed_white_space_is_a_prompt(&world);
    }
}

/// With the default patience: a draft that is removed or sent in time leaves the message a prompt of
/// its own, or the next request; one that stays has it beside it, labelled.
fn a_draft_is_waited_for(world: World) {
    let world = world.with_default_patience();
    world.start_idle("api", &FREE);
    let draft = "a half typed thought";
    let types = || {
        world.type_text("api", draft);
        wait_composer(&world, "api", &format!("❯\u{a0}{draft}"));
    };
    let unlabelled = |id: &str, text: &str| {
        let request = world.request_with(text);
        for words in SAID {
            assert_eq!(occurrences(&request, words), 0, "{text}");
        }
        world.wait_state("api", "idle");
        let message = world.message("api", id);
        assert!(message["label"].is_null(), "{message}");
        message["way"].as_str().unwrap_or_default().to_owned()
    };
    types();
    let id = world.send("api", "after a removed draft", &[]);
    assert!(world.wait_held("api", &id).contains("half-typed"));
    world.key("api", "C-u");
    assert_eq!(unlabelled(&id, "after a removed draft"), "paste");

    types();
    let id = world.send("api", "after a sent draft", &[]);
    assert!(world.wait_held("api", &id).contains("half-typed"));
    world.key("api", "Enter");
    let way = unlabelled(&id, "after a sent draft");
    assert!(way == "stop_answer" || way == "paste", "{way}");

    types();
    let id = world.send("api", "beside a draft that stays", &[]);
    assert!(world.wait_held("api", &id).contains("half-typed"));
    world.request_with("beside a draft that stays");
    let labelled = || {
        let message = world.message("api", &id);
        message["label"].is_string().then_some(message)
    };
    let message =
        wait_until(DEADLINE, labelled).unwrap_or_else(|| panic!("{}", world.about("api")));
    assert_eq!(message["way"], "mailbox", "{message}");
    wait_composer(&world, "api", &format!("❯\u{a0}{draft}"));
}

#[test]
fn a_draft_is_waited_for_before_a_text_goes_in_beside_it() {
    if let Some(world) = claude("a_draft_is_waited_for_before_a_text_goes_in_beside_it") {
        a_draft_is_waited_for(world);
    }
}

#[test]
fn a_draft_is_waited_for_before_a_text_goes_in_beside_it_on_the_newest() {
    let test = "a_draft_is_waited_for_before_a_text_goes_in_beside_it_on_the_newest";
    if let Some(world) = newest(test) {
        a_draft_is_waited_for(world);
    }
}

#[test]
fn an_agent_cannot_clear_another() {
    if let Some(world) = claude("an_agent_cannot_clear_another") {
        one_agent_cannot_clear_another(&world, &FREE);
    }
}

#[test]
fn an_agent_cannot_clear_another_on_the_newest() {
    if let Some(world) = newest("an_agent_cannot_clear_another_on_the_newest") {
        one_agent_cannot_clear_another(&world, &FREE);
    }
}
