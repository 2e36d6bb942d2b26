//! Texts arrive byte for byte.

use crate::common::World;
use crate::common::raw::one_agent_cannot_clear_another;
use crate::common::texts::{corpus, each_arrives_once, random};
use crate::handoff::CONNECTED;
use crate::{exactly_once, once, submit};

#[test]
fn texts_arrive_byte_for_byte() {
    let Some(world) = World::codex("texts_arrive_byte_for_byte") else {
        return;
    };
    world.start_idle("one", &[]);
    let lines: Vec<String> = (0..200)
        .map(|n| format!("line {n} of two hundred"))
        .collect();
    let long: Vec<String> = (0..1200)
        .map(|n| format!("{n:04} fifty bytes a line, with é and ü in it, at last"))
        .collect();
    let texts = [
        "one line".to_owned(),
        lines.join("\n"),
        long.join("\n"),
        "/help is not a command here".to_owned(),
        format!("/{}", long.join("\n")),
        "a\ttab, and\n\n  an indented line\nwith an emoji 👩‍👩‍👧 and e\u{301}".to_owned(),
        "if a < b && b > c { \"quoted\" } 'too' \\ `x` $HOME".to_owned(),
        "# not a note".to_owned(),
        (0..120)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join("\n"),
        "word ".repeat(180).trim_end().to_owned(),
        "look at @some".to_owned(),
        "ends with a backslash\\".to_owned(),
    ];
    assert!(texts[2].len() > 60_000);
    for text in &texts {
        let message = world.send_wait("one", text, &[]);
        assert_eq!(
            (&message["way"], &message["proof"]),
            (&"paste".into(), &"hook".into())
        );
        world.request_with(text);
        world.wait_state("one", "idle");
    }
    for text in &texts {
        exactly_once(&world, text);
    }
}

#[test]
fn a_text_that_a_shell_would_run_waits_for_a_hook() {
    let Some(world) = World::codex("a_text_that_a_shell_would_run_waits_for_a_hook") else {
        return;
    };
    world.start_idle("one", &[]);
    let id = world.send("one", "!touch ran-by-a-shell", &[]);
    let reason = world.wait_held("one", &id);
    assert!(reason.contains("command"), "{reason}");
    submit(&world, "one", "SAY: hello");
    let message = world.wait_message("one", &id, "submitted");
    assert_eq!(message["way"], "stop_answer");
    world.wait_state("one", "idle");
    once(&world, "!touch ran-by-a-shell");
    let second = world.send(
        "one",
        "!touch ran-by-a-shell again",
        &["--mode", "important"],
    );
    world.wait_held("one", &second);
    submit(&world, "one", "RUN: true");
    let message = world.wait_message("one", &second, "submitted");
    assert_eq!(message["way"], "hook_answer");
    world.wait_state("one", "idle");
    exactly_once(&world, "!touch ran-by-a-shell again");
    assert!(!world.env.project().join("ran-by-a-shell").exists());
}

#[test]
fn a_first_prompt_comes_with_the_launch() {
    let Some(world) = World::codex("a_first_prompt_comes_with_the_launch") else {
        return;
    };
    let prompt = "- not an option\nSAY: hello <there> & here";
    world.start("one", &[&format!("--prompt={prompt}")]);
    world.request_with(prompt);
    let session = world.wait_state("one", "idle");
    exactly_once(&world, prompt);
    assert_eq!(session["turn"], 1);
    assert!(session["conversation_id"].is_string());
    let events = world.events("one").join("\n");
    assert!(events.contains("consumed"), "{events}");
}

#[test]
fn a_text_that_a_shell_would_run_holds_up_nobody() {
    let Some(world) = World::codex("a_text_that_a_shell_would_run_holds_up_nobody") else {
        return;
    };
    world.start_idle("one", &[]);
    let first = world.send("one", "!touch ran-by-a-shell", &[]);
    world.wait_held("one", &first);
    world.send_wait("one", "and an ordinary one", &[]);
    let message = world.wait_message("one", &first, "submitted");
    assert_eq!(message["proof"], "hook");
    world.wait_state("one", "idle");
    once(&world, "!touch ran-by-a-shell");
    once(&world, "and an ordinary one");
    assert!(!world.env.project().join("ran-by-a-shell").exists());
}

macro_rules! corpus_tests {
    ($($name:ident: $cases:expr;)*) => {
        $(#[test]
        fn $name() {
            let Some(world) = World::codex(stringify!($name)) else { return };
            world.start_idle("one", &[]);
            each_arrives_once(&world, "one", $cases);
        })*
    };
}

corpus_tests! {
    unicode_texts_arrive_once_1: corpus(0, 4);
    unicode_texts_arrive_once_2: corpus(1, 4);
    unicode_texts_arrive_once_3: corpus(2, 4);
    unicode_texts_arrive_once_4: corpus(3, 4);
    made_up_texts_arrive_once: random(0..12);
}

#[test]
fn an_agent_cannot_clear_another() {
    if let Some(world) = World::codex("an_agent_cannot_clear_another") {
        one_agent_cannot_clear_another(&world, &CONNECTED);
    }
}
