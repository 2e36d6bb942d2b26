//! Texts from all of Unicode, each given once to a real program, with the queue moving on.

use super::{World, occurrences};
use sm_core::comparable;
use sm_testkit::model::texts_of;
use sm_testkit::texts;

/// Sends every text, one after the other; each has to be proven, and is in the conversation once, as
/// it was or as its receipt says.
#[track_caller]
pub fn each_arrives_once<'a>(
    world: &World,
    session: &str,
    cases: impl Iterator<Item = (&'a str, String)>,
) {
    // an answer that repeats the text would count
    let reply = Some("ok".to_owned());
    world.model.control(|control| control.reply = reply);
    let mut sent = Vec::new();
    for (no, (what, text)) in cases.enumerate() {
        let mark = format!("[case {no} of many]");
        let text = format!("{text} {mark}");
        let message = world.send_wait(session, &text, &[]);
        assert!(
            message["proof"] == "hook" || message["proof"] == "transcript",
            "{what}: {message}"
        );
        world.request_with(&mark);
        world.wait_state(session, "idle");
        let altered = message["reason"].as_str().unwrap_or_default().to_owned();
        sent.push((what, mark, text, altered));
    }
    let closing = "the closing words of many";
    world.send_wait(session, closing, &[]);
    let last = world.request_with(closing);
    for (what, mark, text, altered) in sent {
        assert_eq!(
            occurrences(&last, &mark),
            1,
            "{what}\n{}",
            world.about(session)
        );
        let texts = texts_of(&last);
        let found = texts.iter().find(|found| found.contains(&mark)).unwrap();
        // what is missing of it is told in its receipt
        let arrived = comparable::holds(found, &text)
            || (altered.contains("removed") && comparable::holds_stripped(found, &text));
        assert!(arrived, "{what}: {text:?} became {found:?} ({altered})");
    }
}

/// A part of the corpus: every `of`th text from `part` on.
pub fn corpus(part: usize, of: usize) -> impl Iterator<Item = (&'static str, String)> {
    let cases = texts::UNICODE.iter().skip(part).step_by(of);
    cases.map(|(what, text)| (*what, (*text).to_owned()))
}

/// Made-up texts that begin with no sign of a command.
pub fn random(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (&'static str, String)> {
    seeds.map(|seed| ("made up", format!("{seed}: {}", texts::random(seed))))
}
