//! What an agent answered, and whether a reader can see it yet.
//!
//! An agent's hook tells the end of a turn before the answer is drawn, and that is when the core acts.
//! For readers a turn is over when its last text is to be read: it stands at the end of the record and
//! on the screen, or a deadline has passed.

use crate::hub::{Handle, Hub, lock};
use crate::{archive, clock, ledger};
use sm_core::{SessionId, State, words};
use sm_ledger::dialect::{Dialect, Reader};
use sm_ledger::record::{Record, Speaker};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// So much of the end of a record is read.
const END: u64 = 4 << 20;
/// A disk that does not answer in this time is done without.
const PATIENCE: Duration = Duration::from_secs(2);
/// After a turn has ended its text is on the screen within this time, or it is not looked for.
const SHOWN_WITHIN: i64 = 5_000;
/// A turn whose record has no text by then had none.
const SAID_WITHIN: i64 = 1_500;
/// A turn of which nothing can be read is taken for one without a word when its agent has been idle
/// for so long.
const SILENT: i64 = 5_000;
const LOOK_AGAIN: Duration = Duration::from_millis(40);
/// Claude Code's line before what a hook says at the end of a turn.
const STOP_HOOK: &str = "Stop hook feedback:";
/// Of the screen, and a little more.
const LINES: usize = 200;
/// A key of so many letters and digits is found by chance only rarely.
const TELLING: usize = 24;

/// The last turns of agents, as their hooks told them: the record may be written a moment later.
#[derive(Default)]
pub struct Replies(Mutex<HashMap<SessionId, Turn>>);

#[derive(Debug, Default, Clone)]
struct Turn {
    asked: String,
    reply: Option<String>,
}

impl Replies {
    /// A turn begins: what was said before is no answer to it.
    pub fn turn_begins(&self, session: &SessionId, asked: String) {
        lock(&self.0).insert(session.clone(), Turn { asked, reply: None });
    }

    pub fn told(&self, session: &SessionId, text: String) {
        lock(&self.0).entry(session.clone()).or_default().reply = Some(text);
    }

    fn last(&self, session: &SessionId) -> Option<Turn> {
        lock(&self.0).get(session).cloned()
    }
}

/// What the agent said last in a turn.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Said {
    /// What it answered.
    asked: String,
    /// The message that was asked for is there.
    pub heard: bool,
    /// After the last tool call of the turn; empty if it ended with one.
    pub reply: String,
    /// What it said before.
    pub before: String,
    /// Somebody else was heard after the reply: nothing is added to it any more.
    over: bool,
}

/// How a text that the agent was given holds a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    /// Its words stand somewhere in it: cut, adorned, or another's by chance.
    Somewhere,
    /// It is the text, or one of several messages in it.
    Whole,
}

/// What an agent has answered to a message, once its turn has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Its record may not be written to the end.
    NotYet,
    Said(String),
    /// The turn has ended without a word.
    Silence,
}

impl Said {
    /// All that can be called its answer.
    fn text(&self) -> Option<&str> {
        [self.reply.as_str(), self.before.as_str()]
            .into_iter()
            .find(|text| !text.is_empty())
    }
}

/// What an agent that is idle has answered to a message that it has.
pub async fn answer(hub: &Arc<Hub>, handle: &Handle, message: &str) -> Answer {
    let turn = hub.replies.last(&handle.id);
    let said = said(handle, Some(message)).await;
    let idle_for = clock::now().since(handle.now().record.since);
    let heard = said.as_ref().is_some_and(|said| said.heard);
    match answered(message, said.as_ref(), turn.as_ref(), idle_for) {
        // the record has the message in other words: the last turn is its turn
        Answer::Silence if said.is_some() && !heard => {
            let last = self::said(handle, None).await;
            let text = last.and_then(|last| last.text().map(str::to_owned));
            text.map_or(Answer::Silence, Answer::Said)
        }
        answer => answer,
    }
}

/// What the hook at the end of the turn told comes first: the record may be behind it, and end with
/// what was said before a tool. `said`: after the message, by the record; `turn`: by the hooks.
fn answered(message: &str, said: Option<&Said>, turn: Option<&Turn>, idle_for: i64) -> Answer {
    let said = said.filter(|said| said.heard);
    let reply = said.map_or("", |said| said.reply.as_str());
    // what a hook told is of a later turn, or the same
    if said.is_some_and(|said| said.over) && !reply.is_empty() {
        return Answer::Said(reply.to_owned());
    }
    match turn.and_then(|turn| Some((turn.asked.as_str(), turn.reply.as_deref()?))) {
        // all of it, where it has several parts
        Some((_, told)) if ends_with(reply, told) => return Answer::Said(reply.to_owned()),
        Some((asked, told)) => {
            let known = said.and_then(|said| holds(&said.asked, &letters(message)));
            let its_turn = holds(asked, &letters(message)).is_some_and(|by| Some(by) >= known);
            if its_turn && idle_for >= SAID_WITHIN {
                return Answer::Said(told.to_owned());
            }
        }
        None if !reply.is_empty() => return Answer::Said(reply.to_owned()),
        None => {}
    }
    if idle_for < SILENT {
        return Answer::NotYet;
    }
    let text = said.and_then(Said::text).map(str::to_owned);
    text.map_or(Answer::Silence, Answer::Said)
}

/// Whether that is the end of a text, as far as it was told: of a very long one only the beginning is.
fn ends_with(text: &str, told: &str) -> bool {
    const LONG: usize = 8 << 10;
    let (text, told) = (letters(text), letters(told));
    match told.is_empty() {
        true => false,
        false => text.ends_with(&told) || (told.len() >= LONG && text.contains(&told)),
    }
}

/// What the session's agent said last: after the message with this text, or in its last turn. None:
/// it keeps no record that could be read.
async fn said(handle: &Handle, message: Option<&str>) -> Option<Said> {
    let published = handle.now();
    let dialect = ledger::dialect(published.record.agent)?;
    let path = PathBuf::from(published.record.transcript.as_ref()?);
    let message = message.map(str::to_owned);
    let reading = tokio::task::spawn_blocking(move || {
        let bytes = end_of(&path).ok()?;
        Some(read(dialect, &bytes, message.as_deref()))
    });
    tokio::time::timeout(PATIENCE, reading).await.ok()?.ok()?
}

/// The end of a record, from the beginning of a line.
fn end_of(path: &Path) -> io::Result<Vec<u8>> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut file: File = OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let from = about.len().saturating_sub(END);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes)?;
    if from > 0 {
        let line = bytes.iter().position(|byte| *byte == b'\n');
        bytes.drain(..line.map_or(bytes.len(), |at| at + 1));
    }
    Ok(bytes)
}

fn read(dialect: Dialect, bytes: &[u8], message: Option<&str>) -> Said {
    let wanted = message.map(letters);
    let mut said = Said::default();
    let mut held = None;
    // What is said before the message is for others.
    let mut waits = wanted.is_some();
    let mut stopped = false;
    Reader::new(dialect).feed(bytes, &mut |_, record| match record {
        Record::Said { by, text } => {
            let person = by != Speaker::Program;
            let holds = match &wanted {
                Some(wanted) => holds(&text, wanted),
                None => (person || brings_message(&text)).then_some(Holds::Whole),
            };
            // by chance another's text has the same words in it
            if holds.is_some() && holds >= held {
                held = holds;
                waits = false;
                stopped = false;
                said = Said {
                    asked: text.into_owned(),
                    heard: true,
                    ..Said::default()
                };
            } else if said.heard && (person || brings_message(&text)) {
                // between two steps of a turn it is answered together with the message
                said.over |= !said.reply.is_empty() || (stopped && said.text().is_some());
            }
        }
        Record::Spoke { text } if !waits && !said.over && !text.trim().is_empty() => {
            if !said.reply.is_empty() {
                said.reply.push_str("\n\n");
            }
            said.reply.push_str(text.trim());
        }
        Record::Called { .. } if !waits && !said.over => {
            if !said.reply.is_empty() {
                said.before = std::mem::take(&mut said.reply);
            }
        }
        Record::Interrupted => stopped = true,
        Record::Spoke { .. }
        | Record::Called { .. }
        | Record::Thought
        | Record::Returned { .. }
        | Record::Used { .. }
        | Record::Compacted { .. }
        | Record::Place { .. }
        | Record::Aside
        | Record::Other => {}
    });
    said
}

/// Whether and how a text that the agent was given holds the message with these letters.
fn holds(text: &str, message: &str) -> Option<Holds> {
    let given = letters(text);
    if message.is_empty() || !given.contains(message) {
        return message.is_empty().then_some(Holds::Somewhere);
    }
    let lines: Vec<&str> = text.lines().collect();
    let is_head = |line: &&str| words::heads_message(line) || *line == STOP_HOOK;
    let mut parts = lines.split(is_head);
    let whole = given == message || parts.any(|part| letters(&part.concat()) == message);
    Some(if whole {
        Holds::Whole
    } else {
        Holds::Somewhere
    })
}

/// Whether somebody's message came in it, through a hook of the agent's.
fn brings_message(text: &str) -> bool {
    text.lines().any(words::heads_message)
}

/// Waits until what the agent said last can be read on its screen: it has just become idle. Gives
/// up after some seconds, and at once if it is not idle any more.
pub async fn shown(hub: &Arc<Hub>, handle: &Handle) {
    loop {
        let published = handle.now();
        let age = clock::now().since(published.record.since);
        if published.record.state != State::Idle || !(0..SHOWN_WITHIN).contains(&age) {
            return;
        }
        let (asked, last) = match hub.replies.last(&handle.id) {
            Some(turn) if turn.reply.is_some() => (turn.asked, turn.reply),
            Some(_) | None => match said(handle, None).await {
                Some(said) => (said.asked.clone(), said.text().map(str::to_owned)),
                None => return,
            },
        };
        match last {
            Some(text) => {
                let lines = archive::last_lines(hub, &handle.id, &published.extra, LINES).await;
                if lines.is_ok_and(|lines| shows(&lines, &asked, &text)) {
                    return;
                }
            }
            None if age >= SAID_WITHIN => return,
            None => {}
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_AGAIN) => {}
            () = hub.stop.cancelled() => return,
        }
    }
}

/// Whether a screen shows the end of a text, however it is wrapped and adorned, below what was asked.
fn shows(screen: &str, asked: &str, text: &str) -> bool {
    let Some(end) = end_key(text) else {
        return true;
    };
    let lines: Vec<String> = screen.lines().map(letters).collect();
    // an answer may be the end of its question: `say OK`; or end with it
    let below = match end_key(asked) {
        Some(key) if key != end => {
            let repeats = end.ends_with(&key);
            let is_answer = |at| repeats && ends_at(&lines, at, &end);
            let shows_it = |at: &usize| ends_at(&lines, *at, &key) && !is_answer(*at);
            let prompt = (0..lines.len()).rfind(shows_it);
            prompt.map_or(0, |at| at + 1)
        }
        Some(_) | None => 0,
    };
    let lines = &lines[below..];
    (0..lines.len()).any(|at| ends_at(lines, at, &end))
        || (end.chars().count() == TELLING && lines.concat().contains(&end))
}

/// Whether a text with this end ends in a line; its last words may have begun in the one above.
fn ends_at(lines: &[String], at: usize, key: &str) -> bool {
    match lines[at].is_empty() {
        true => false,
        false if lines[at].ends_with(key) => true,
        false if key.ends_with(&lines[at]) && at > 0 => {
            format!("{}{}", lines[at - 1], lines[at]).ends_with(key)
        }
        false => false,
    }
}

/// The last letters of the last line of a text.
fn end_key(text: &str) -> Option<String> {
    let key = text.lines().map(letters).rfind(|line| !line.is_empty())?;
    let from = key.chars().count().saturating_sub(TELLING);
    Some(key.chars().skip(from).collect())
}

/// Letters and digits alone: what every program shows and keeps of a text.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claude(lines: &[&str]) -> String {
        let line = |what: &&str| {
            let (who, text) = what.split_once(' ').unwrap();
            if who == "queued" {
                let attachment = serde_json::json!({"type": "queued_command", "prompt": text});
                let line = serde_json::json!({"type": "attachment", "attachment": attachment});
                return format!("{line}\n");
            }
            let content = match who {
                "user" | "program" => serde_json::json!(text),
                "tool" => {
                    serde_json::json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": text}}])
                }
                _ => serde_json::json!([{"type": "text", "text": text}]),
            };
            let role = match who {
                "user" | "program" => "user",
                _ => "assistant",
            };
            serde_json::json!({
                "type": role, "sessionId": "s", "isMeta": who == "program", "message": {"role": role, "content": content},
            })
            .to_string()
                + "\n"
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn the_reply_is_what_was_said_last_after_the_message() {
        let record = claude(&[
            "user what is the port?",
            "agent It is 4711.",
            "user RUN: ls",
            "agent I look.",
            "tool ls",
            "agent Two files:",
            "agent a and b",
            "user and now?",
            "agent Nothing.",
            "user unanswered",
        ]);
        let asked = |message| read(Dialect::Claude, record.as_bytes(), message);
        for (message, reply) in [
            (Some("what is the port?"), "It is 4711."),
            (Some("RUN: ls"), "Two files:\n\na and b"),
            (Some("and\u{fe0f} now?"), "Nothing."),
            (Some("unanswered"), ""),
            (None, ""),
        ] {
            let said = asked(message);
            assert_eq!(
                (said.heard, said.reply.as_str()),
                (true, reply),
                "{message:?}"
            );
        }
        assert_eq!(asked(Some("never said")), Said::default());
        let cut = claude(&["user go", "agent I begin.", "tool sleep"]);
        let said = read(Dialect::Claude, cut.as_bytes(), None);
        assert_eq!((said.reply.as_str(), said.text()), ("", Some("I begin.")));
    }

    #[test]
    fn several_messages_in_one_turn_have_its_reply() {
        let record = claude(&[
            "user which port?",
            "agent I look.",
            "tool ls",
            "queued and which host?",
            "agent 4711 on walrus.",
            "user is it ok?",
            "agent It is.",
            "program Stop hook feedback:\n[sm: message from web; answer with: sm send web \"…\"]\nmore?",
            "agent No more.",
            "program Stop hook feedback:\nrun the linter",
            "agent Clean.",
            "user [sm: message 1 of 2]\none\n\n[sm: message 2 of 2]\ntwo",
            "agent Both.",
            "user I said: is it ok? And: more? one!",
            "agent Yes.",
        ]);
        for (message, reply, over) in [
            ("which port?", "4711 on walrus.", true),
            ("and which host?", "4711 on walrus.", true),
            ("is it ok?", "It is.", true),
            ("more?", "No more.\n\nClean.", true),
            ("one", "Both.", true),
            ("two", "Both.", true),
            ("is it ok? And: more?", "Yes.", false),
        ] {
            let said = read(Dialect::Claude, record.as_bytes(), Some(message));
            assert_eq!((said.reply.as_str(), said.over), (reply, over), "{message}");
        }
        // the hooks know of the last turn only, and here it began with the message
        let said = read(Dialect::Claude, record.as_bytes(), Some("is it ok?"));
        let later = Turn {
            asked: "is it ok?".into(),
            reply: Some("No more.".into()),
        };
        let answer = answered("is it ok?", Some(&said), Some(&later), SAID_WITHIN);
        assert_eq!(answer, Answer::Said("It is.".into()));
        // and here its text has the words by chance
        let record = claude(&["user ok?", "agent I look.", "tool ls", "agent Fine."]);
        let said = read(Dialect::Claude, record.as_bytes(), Some("ok?"));
        let later = Turn {
            asked: "look".into(),
            reply: Some("Looked.".into()),
        };
        let answer = answered("ok?", Some(&said), Some(&later), SAID_WITHIN);
        assert_eq!(answer, Answer::NotYet);
        // who was interrupted is not given the next one's reply
        let record = claude(&[
            "user one",
            "agent I look.",
            "tool ls",
            "user [Request interrupted by user]",
            "user two",
            "agent 2",
        ]);
        let said = read(Dialect::Claude, record.as_bytes(), Some("one"));
        assert_eq!((said.text(), said.over), (Some("I look."), true));
    }

    #[test]
    fn what_was_said_before_a_tool_is_no_answer_while_more_may_come() {
        let behind = claude(&["user RUN: ls", "agent I look.", "tool ls"]);
        let behind = read(Dialect::Claude, behind.as_bytes(), Some("RUN: ls"));
        let begun = claude(&["user RUN: ls", "agent I look."]);
        let begun = read(Dialect::Claude, begun.as_bytes(), Some("RUN: ls"));
        let whole = claude(&[
            "user RUN: ls",
            "agent I look.",
            "tool ls",
            "agent Two files:",
            "agent a and b",
        ]);
        let whole = read(Dialect::Claude, whole.as_bytes(), Some("RUN: ls"));
        let turn = |asked: &str, reply: Option<&str>| Turn {
            asked: asked.into(),
            reply: reply.map(Into::into),
        };
        let told = turn("RUN: ls", Some("a and b"));
        let of_another = turn("go on", Some("Gone."));
        let untold = turn("RUN: ls", None);
        let says = |text: &str| Answer::Said(text.into());
        for (said, turn, idle_for, expected) in [
            (Some(&whole), Some(&told), 0, says("Two files:\n\na and b")),
            (Some(&behind), Some(&told), 100, Answer::NotYet),
            (Some(&begun), Some(&told), 100, Answer::NotYet),
            (Some(&behind), Some(&told), SAID_WITHIN, says("a and b")),
            (None, Some(&told), SAID_WITHIN, says("a and b")),
            // nobody told how it ended
            (Some(&whole), None, 0, says("Two files:\n\na and b")),
            (Some(&behind), Some(&untold), 100, Answer::NotYet),
            (Some(&behind), None, SILENT, says("I look.")),
            (None, None, SILENT, Answer::Silence),
            // somebody else's turn has ended since
            (
                Some(&behind),
                Some(&of_another),
                SAID_WITHIN,
                Answer::NotYet,
            ),
            (
                Some(&whole),
                Some(&of_another),
                SILENT,
                says("Two files:\n\na and b"),
            ),
        ] {
            let answer = answered("RUN: ls", said, turn, idle_for);
            assert_eq!(answer, expected, "{said:?} {turn:?} {idle_for}");
        }
    }

    #[test]
    fn a_text_is_shown_however_it_is_drawn() {
        let screen = "> go\n\n● The **answer** of a long line that is wrap\n  ped here\n\n✻ Baked for 0s\n> ";
        for (text, expected) in [
            ("The **answer** of a long line that is wrapped here", true),
            ("The _answer_ of a long line that is wrapped there", false),
            ("ped here", true),
            ("ask", false),
            ("", true),
        ] {
            assert_eq!(shows(screen, "go", text), expected, "{text:?}");
        }
        assert!(shows("● OK\n", "", "OK"));
        assert!(!shows("● look here\n", "", "ok"));
    }

    #[test]
    fn an_answer_is_looked_for_below_its_question() {
        let asked = "> say OK\n\n● OK\n\n> say OK\n";
        assert!(!shows(asked, "say OK", "OK"), "that was the turn before");
        assert!(shows(&format!("{asked}\n● OK\n"), "say OK", "OK"));
        let wrapped = "> a question that is long and wr\n  apped: say OK\n";
        let question = "a question that is long and wrapped: say OK";
        assert!(!shows(wrapped, question, "OK"));
        assert!(shows(&format!("{wrapped}● OK\n"), question, "OK"));
        let repeated = "> and another\n\n● You said: and another\n";
        assert!(shows(repeated, "and another", "You said: and another"));
        let before = "● You said: and another\n\n> and another\n";
        assert!(!shows(before, "and another", "You said: and another"));
        assert!(shows("● OK\n", "it has left the screen", "OK"));
        assert!(shows("> hello\n", "hello", "hello"), "nobody can tell");
    }
}
