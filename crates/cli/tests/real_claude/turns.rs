//! Messages to an idle and to a working agent.

use crate::common::{World, occurrences, shorten};
use crate::{FREE, claude, closing, once};
use sm_testkit::model::{is_main, is_subagent, texts_of};

#[test]
fn texts_arrive_byte_for_byte_and_proven() {
    let Some(world) = claude("texts_arrive_byte_for_byte_and_proven") else {
        return;
    };
    world.start_idle("api", &FREE);
    let lines: String = (0..200).map(|n| format!("row {n} of many\n")).collect();
    // newer versions take a line end at the end off
    let big = (0..1100)
        .map(|n| format!("{n:04} sixty kilobytes, all of which have to arrive: é ü 👍"))
        .collect::<Vec<_>>()
        .join("\n");
    assert!(big.len() > 60_000);
    let texts = [
        "one line",
        lines.trim_end(),
        big.as_str(),
        "four\nquite\nshort\nlines",
        "/help is a text here",
        "!ls is a text here",
        "# is a text here",
        "an emoji 👩‍👩‍👧 and é",
        "a line end",
        "  blanks before, a backslash after \\",
    ];
    for text in texts {
        let message = world.send_wait("api", text, &[]);
        assert_eq!(message["proof"], "hook", "{message}");
        assert_eq!(message["way"], "paste", "{}", shorten(text));
        let request = world.request_with(text);
        assert!(
            // behind a line of its own where it would be a command
            texts_of(&request)
                .iter()
                .any(|block| block == text
                    || block.strip_prefix("[sm: message 1 of 1]\n") == Some(text)),
            "{:?} is not a prompt of its own",
            shorten(text)
        );
        world.wait_state("api", "idle");
    }
    let last = closing(&world, "api");
    for text in texts {
        assert_eq!(occurrences(&last, text), 1, "{}", shorten(text));
    }
}

/// A turn with a tool that runs until the gate opens.
fn tool_turn(world: &World, command: &str) -> crate::common::gate::Gate {
    let gate = world.gate("gate");
    world.send_wait("api", &format!("RUN: {command}"), &[]);
    gate.wait_for_reader();
    gate
}

fn important_joins_the_turn(test: &str, command: &str) {
    let Some(world) = claude(test) else { return };
    world.start_idle("api", &FREE);
    let gate = tool_turn(&world, command);
    let turn = world.show("api")["turn"].clone();
    let text = "the important words";
    let id = world.send("api", text, &["--mode", "important"]);
    assert!(world.wait_held("api", &id).contains("working"));
    gate.open();
    let request = world.request_with(text);
    assert_eq!(
        occurrences(&request, "got-open"),
        1,
        "with the tool's result"
    );
    let message = world.wait_message("api", &id, "submitted");
    assert_eq!(message["way"], "hook_answer");
    assert_eq!(message["proof"], "transcript");
    assert_eq!(world.show("api")["turn"], turn, "in the same turn");
    once(&world, "api", &id, text);
}

#[test]
fn an_important_message_joins_the_turn_of_a_tool_that_succeeds() {
    important_joins_the_turn(
        "an_important_message_joins_the_turn_of_a_tool_that_succeeds",
        "read l < gate; echo got-$l",
    );
}

#[test]
fn an_important_message_joins_the_turn_of_a_tool_that_fails() {
    important_joins_the_turn(
        "an_important_message_joins_the_turn_of_a_tool_that_fails",
        "read l < gate; echo got-$l; exit 3",
    );
}

#[test]
fn a_message_reaches_the_main_conversation_while_a_sub_agent_works() {
    let Some(world) = claude("a_message_reaches_the_main_conversation_while_a_sub_agent_works")
    else {
        return;
    };
    world.start_idle("api", &FREE);
    let gate = world.gate("gate");
    let prompt = r#"TOOL: Agent {"description":"look","prompt":"RUN: read l < gate; echo got-$l","subagent_type":"general-purpose"}"#;
    world.send_wait("api", prompt, &[]);
    gate.wait_for_reader();
    let text = "for the main conversation only";
    let id = world.send("api", text, &["--mode", "important"]);
    gate.open(); // the sub-agent's own hook after its tool comes first
    world.request_with(text);
    // newer versions let sub-agents work behind a turn that ends: then it is the next prompt
    let submitted = world.wait_message("api", &id, "submitted");
    let way = submitted["way"].as_str().unwrap_or_default();
    let ways = ["hook_answer", "stop_answer", "paste"];
    assert!(ways.contains(&way), "{way}");
    once(&world, "api", &id, text);
    let requests = world.model.requests();
    assert!(requests.iter().any(is_subagent), "there was a sub-agent");
    for request in requests.iter().filter(|r| is_subagent(r)) {
        assert_eq!(occurrences(request, text), 0, "the sub-agent got it");
    }
}

#[test]
fn ten_messages_arrive_after_a_long_turn_in_order() {
    let Some(world) = claude("ten_messages_arrive_after_a_long_turn_in_order") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.send_wait("api", "HOLD: long\nSAY: finished", &[]);
    world.hold("long");
    let texts: Vec<String> = (0..10).map(|n| format!("queued words {n}.")).collect();
    let ids: Vec<String> = texts.iter().map(|t| world.send("api", t, &[])).collect();
    world.model.release("long");
    for id in &ids {
        world.wait_message("api", id, "submitted");
    }
    let last = closing(&world, "api");
    let all = texts_of(&last).join("\n");
    let mut after = 0;
    for (text, id) in texts.iter().zip(&ids) {
        assert_eq!(occurrences(&last, text), 1, "{text}");
        let at = all.find(text.as_str()).unwrap();
        assert!(at >= after, "{text} came before its turn");
        after = at;
        world.wait_message("api", id, "consumed");
    }
}

#[test]
fn a_sequential_message_waits_for_the_end_of_the_turn() {
    let Some(world) = claude("a_sequential_message_waits_for_the_end_of_the_turn") else {
        return;
    };
    world.start_idle("api", &FREE);
    let gate = tool_turn(&world, "read l < gate; echo got-$l");
    let text = "when the turn\tis over \n";
    let id = world.send("api", text, &[]);
    gate.open();
    let request = world.request_with(text);
    assert_eq!(
        world.wait_message("api", &id, "submitted")["way"],
        "stop_answer"
    );
    let whole = format!("Stop hook additional context: {text}\n</system-reminder>");
    assert_eq!(occurrences(&request, &whole), 1, "byte for byte");
    let done = |r: &sm_testkit::model::Request| {
        is_main(r) && occurrences(r, "got-open") == 1 && occurrences(r, text) == 0
    };
    assert!(
        world.model.requests().iter().any(done),
        "the turn went on without it first"
    );
    assert_eq!(occurrences(&request, "RUN done"), 1, "after the turn's end");
    once(&world, "api", &id, text);
}

#[test]
fn an_urgent_message_interrupts() {
    let Some(world) = claude("an_urgent_message_interrupts") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.send_wait("api", "HOLD: ever\nSAY: only half", &[]);
    world.hold("ever");
    let held = world.request_with("HOLD: ever");
    world.wait_screen("api", "●");
    let text = "stop that at once";
    let id = world.send("api", text, &["--mode", "urgent"]);
    world.request_with(text);
    assert!(
        world
            .model
            .wait_for_abandoned(held.seq, crate::common::DEADLINE),
        "the turn was interrupted"
    );
    once(&world, "api", &id, text);
}

#[test]
fn an_interrupt_at_the_end_of_a_turn_does_not_lose_its_message() {
    let test = "an_interrupt_at_the_end_of_a_turn_does_not_lose_its_message";
    let Some(world) = claude(test) else { return };
    world.start_idle("api", &FREE);
    for n in 0..5 {
        world.send("api", &format!("a short turn {n}."), &[]);
        let text = format!("urgent, at its end {n}.");
        world.post_mode("api", &format!("urgent-{n}"), &text, "urgent");
        world.request_with(&text);
        world.wait_state("api", "idle");
    }
    for n in 0..5 {
        once(
            &world,
            "api",
            &format!("urgent-{n}"),
            &format!("urgent, at its end {n}."),
        );
    }
}

#[test]
fn an_interrupt_that_brings_back_a_message_does_not_lose_it() {
    let test = "an_interrupt_that_brings_back_a_message_does_not_lose_it";
    let Some(world) = claude(test) else { return };
    world.start_idle("api", &FREE);
    world.model.control(|control| control.delay = 5.0); // the model says nothing at first
    let first = "the words before";
    let a = world.send("api", first, &[]);
    world.request_with(first);
    let second = "the urgent words";
    let b = world.send("api", second, &["--mode", "urgent"]);
    // nothing was said yet: Claude puts the first prompt back into the composer
    world.wait_message("api", &b, "submitted");
    world.request_with(second);
    world.model.control(|control| control.delay = 0.0);
    once(&world, "api", &b, second);
    once(&world, "api", &a, first);
}

/// The Stop hook comes before the answer is drawn: idle is for readers when it is.
#[test]
fn answers_can_be_read_when_it_is_idle() {
    let Some(world) = World::claude("answers_can_be_read_when_it_is_idle") else {
        return;
    };
    crate::common::ask::answers_can_be_read(&world, &FREE);
}

#[test]
fn answers_of_the_newest_can_be_read_when_it_is_idle() {
    let Some(world) = World::claude_newest("answers_of_the_newest_can_be_read_when_it_is_idle")
    else {
        return;
    };
    crate::common::ask::answers_can_be_read(&world, &FREE);
}

/// Nothing but a person's prompt: neither a command nor a notification.
fn commands_are_prompts(world: &World) {
    world.start_idle("api", &FREE);
    world.send_wait("api", "hello", &[]);
    world.wait_state("api", "idle");
    for text in [
        "/compact is a word",
        "/clear",
        "!touch ran.txt",
        "#note this",
        "/a\nwith\nmany\nlines\nof\ntext",
        " /compact behind a blank",
        "\n/clear behind a line end",
        "  !touch ran.txt",
    ] {
        let message = world.send_wait("api", text, &[]);
        assert_eq!(message["way"], "paste", "{message}");
        let request = world.request_with(text);
        let told = texts_of(&request);
        let whole = told.iter().rev().find(|t| t.contains(text)).unwrap();
        let lead = whole.trim().strip_suffix(text);
        assert_eq!(lead, Some("[sm: message 1 of 1]\n"), "as it is: {told:?}");
        assert!(!whole.contains("NOT USER INPUT"), "{whole}");
        world.wait_state("api", "idle");
    }
    let shown = world.show("api");
    assert_eq!(
        (&shown["generation"], &shown["compactions"]),
        (&1.into(), &0.into())
    );
    assert!(!world.env.project().join("ran.txt").exists());
}

#[test]
fn what_begins_like_a_command_is_a_prompt() {
    if let Some(world) = World::claude("what_begins_like_a_command_is_a_prompt") {
        commands_are_prompts(&world);
    }
}

/// It takes white space off before it looks for a command.
#[test]
fn what_begins_like_a_command_is_a_prompt_of_the_newest() {
    let test = "what_begins_like_a_command_is_a_prompt_of_the_newest";
    if let Some(world) = World::claude_newest(test) {
        commands_are_prompts(&world);
    }
}
