//! Handoffs of Claude Code, by its own tool calls.

use crate::common::handoff::{WAKE, chain, complete, once_among, opening, text};
use crate::common::{World, occurrences};
use crate::{FREE, claude};
use serde_json::Value;
use sm_testkit::model::{Request, conversation_of, texts_of};
use std::path::PathBuf;
use std::time::Instant;

/// Two calls: the document is written, and handed off.
pub const WORK: &str = "RUN: echo half done > notes.md\nTHEN: sm handoff notes.md";

/// What the model is shown in a context that `/clear` began: Claude Code's own reminders, the
/// records of `/clear` itself, and the prompt. Nothing else.
#[track_caller]
pub fn empty_but_for(request: &Request, prompt: &str) {
    let mut blocks = own(request);
    assert_eq!(blocks.pop().as_deref(), Some(prompt));
    // its words differ from version to version
    let caveat = |block: &String| block.starts_with("<local-command-caveat>");
    assert_eq!(blocks.extract_if(.., |block| caveat(block)).count(), 1);
    assert_eq!(blocks, CLEAR_RECORDS);
}

/// The same in a context of a new process, in which nothing was cleared.
#[track_caller]
pub fn nothing_but(request: &Request, prompt: &str) {
    assert_eq!(own(request), [prompt]);
}

/// What a conversation began with, without what Claude Code says in every one.
#[track_caller]
fn own(request: &Request) -> Vec<String> {
    let mut blocks = opening(request);
    let remind = |block: &String| block.starts_with("<system-reminder>\n");
    let reminders: String = blocks.extract_if(.., |block| remind(block)).collect();
    // no word of the turn before
    assert!(!reminders.contains("sm handoff"), "{reminders}");
    blocks
}

/// What `/clear` leaves in the new context, beside a caveat.
const CLEAR_RECORDS: [&str; 2] = [
    "<command-name>/clear</command-name>\n            <command-message>clear</command-message>\n            <command-args></command-args>\n",
    "<local-command-stdout></local-command-stdout>\n",
];

/// Where Claude Code keeps its records.
fn transcripts(session: &Value) -> PathBuf {
    let path = PathBuf::from(text(&session["transcript_path"]));
    path.parent().unwrap().to_owned()
}

#[track_caller]
pub fn complete_at(world: &World, handoff: &Value, document: &str) {
    complete(handoff, document, &transcripts(&world.show("api")));
}

#[test]
fn claude_hands_its_work_to_an_empty_context() {
    let Some(world) = claude("claude_hands_its_work_to_an_empty_context") else {
        return;
    };
    let before = world.start_idle("api", &FREE);
    world.at(WAKE, "RUN: cat notes.md\nHOLDEND: first");
    let work = "RUN: printf 'half done, é;\\nstep 3 is next\\n' > notes.md\nTHEN: sm handoff notes.md\nHOLDEND: old";
    world.send_wait("api", work, &[]);
    world.hold("old");
    world.wait_handoff("api", "scheduled");
    let modes = ["sequential", "important", "urgent"];
    let said = |mode: &str| format!("said {mode}:\n  <é> & \"two\" lines \\");
    let ids = modes.map(|mode| world.send("api", &said(mode), &["--mode", mode]));
    world.model.release("old");

    // the successor's first turn: it reads the document, and nobody speaks
    world.hold("first");
    world.wait_handoff("api", "prompted");
    for id in &ids {
        world.wait_held("api", id);
    }
    let after = world.show("api");
    let new = text(&after["conversation_id"]);
    let first = world.requests_of(&new);
    assert_eq!(first.len(), 2, "the prompt, and the document read");
    assert_eq!(
        texts_of(&first[1]).last().unwrap(),
        "half done, é;\nstep 3 is next"
    );
    world.model.release("first");

    let done = world.wait_handoff("api", "done");
    let ways = ids.map(|id| world.wait_message("api", &id, "consumed")["way"].clone());
    assert_eq!(ways, ["stop_answer"; 3]);
    world.wait_state("api", "idle");
    empty_but_for(&first[0], &text(&done["prompt"]));
    assert!(text(&done["prompt"]).starts_with(&world.wake_of("notes.md")));
    assert_eq!(world.once_ever(&world.wake_of("notes.md")), new);
    for mode in modes {
        assert_eq!(world.once_ever(&said(mode)), new, "{mode}");
    }
    let last = world.requests_of(&new).pop().unwrap();
    assert_eq!(occurrences(&last, "RUN done"), 1, "after the first turn");

    // the same session, in the same process and terminal
    for same in ["id", "name", "pid", "tmux", "parent", "cwd"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    assert_eq!(
        (&after["generation"], &done["to_generation"]),
        (&2.into(), &2.into())
    );
    assert_eq!(done["carrier"], "clear");
    complete(
        &done,
        "half done, é;\nstep 3 is next\n",
        &transcripts(&after),
    );
}

/// Each successor reads its document, writes the next one and hands off, until the last.
#[test]
fn fifty_rotations_in_a_row_lose_and_double_nothing() {
    let Some(world) = claude("fifty_rotations_in_a_row_lose_and_double_nothing") else {
        return;
    };
    const ROUNDS: usize = 50;
    let before = world.start_idle("api", &FREE);
    let began = Instant::now();
    chain(&world, "api", ROUNDS);
    let said = "said at the beginning,\nheard at the end"; // each prompt names it in one line
    world.send("api", said, &[]);
    for round in 1..=ROUNDS {
        world.request_with(&world.wake_of(&format!("notes-{round}.md")));
    }
    world.wait_handoff("api", "done");
    eprintln!("{ROUNDS} rotations in {:?}", began.elapsed());
    world.request_with(said);
    let after = world.wait_state("api", "idle");
    assert_eq!(after["generation"], ROUNDS + 1);
    for same in ["id", "name", "pid", "tmux"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    let all = world.handoffs("api");
    assert_eq!(all.len(), ROUNDS);
    let requests = world.main_requests();
    let mut conversation = text(&before["conversation_id"]);
    for (round, listed) in (1..=ROUNDS).zip(all.iter().rev()) {
        let done = world.ask(&format!("/handoffs/{}", text(&listed["id"])));
        let generations = (&done["from_generation"], &done["to_generation"]);
        assert_eq!(generations, (&round.into(), &(round + 1).into()));
        assert_eq!(
            (&done["state"], &done["carrier"]),
            (&"done".into(), &"clear".into())
        );
        assert_eq!(done["from_conversation"], conversation);
        complete(&done, &format!("round {round}\n"), &transcripts(&after));
        conversation = once_among(&requests, &world.wake_of(&format!("notes-{round}.md")));
        let of = |r: &&Request| conversation_of(r) == Some(conversation.as_str());
        empty_but_for(requests.iter().find(of).unwrap(), &text(&done["prompt"]));
    }
    assert_eq!(after["conversation_id"], conversation);
    assert_eq!(once_among(&requests, said), conversation);
}

#[test]
fn documents_are_in_the_first_request_of_the_successor() {
    let test = "documents_are_in_the_first_request_of_the_successor";
    let Some(world) = claude(test) else { return };
    crate::common::handoff::documents_are_in_the_first_request(&world, &FREE);
}

#[test]
fn documents_are_in_the_first_request_of_the_successor_on_the_newest() {
    let test = "documents_are_in_the_first_request_of_the_successor_on_the_newest";
    let Some(world) = crate::common::World::claude_newest(test) else {
        return;
    };
    crate::common::handoff::documents_are_in_the_first_request(&world, &FREE);
}
