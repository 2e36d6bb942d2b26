//! What the agent said in words: its last statement, what was decided and what rejected, what it
//! asks. Found by the words that mark such sentences; nothing is concluded.

use crate::record::At;
use crate::text;
use serde::{Deserialize, Serialize};
use sm_core::Timestamp;
use std::collections::VecDeque;

const NOTES: usize = 60;
const STATEMENTS: usize = 40;
const SENTENCE: usize = 320;
const STATEMENT: usize = 4_000;

/// A sentence worth keeping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub text: String,
    pub step: u32,
    pub line: u64,
}

/// Who stopped a call before its end. An agent's record is the same whether a person says no to a
/// call, presses Escape, or sm does to bring an urgent message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum StoppedBy {
    #[default]
    Unknown,
    Person,
    Sm,
}

/// A call that somebody stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    pub what: String,
    pub by: StoppedBy,
    pub step: u32,
    pub line: u64,
    pub time: Option<Timestamp>,
}

impl Stopped {
    /// As a successor is told of it.
    pub fn told(&self) -> String {
        let what = &self.what;
        match self.by {
            StoppedBy::Unknown => format!("Refused or interrupted before it ended: {what}"),
            StoppedBy::Person => format!("The person refused: {what}"),
            StoppedBy::Sm => {
                format!("Interrupted by sm to bring an urgent message, not refused: {what}")
            }
        }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Prose {
    pub decisions: VecDeque<Note>,
    pub rejected: VecDeque<Note>,
    /// Calls that somebody stopped, newest last.
    #[serde(default)]
    pub stopped: VecDeque<Stopped>,
    /// Asked of the person, and not answered yet.
    pub questions: VecDeque<Note>,
    /// What the agent said, newest last; the beginning of each.
    pub statements: VecDeque<Note>,
}

const DECIDED: [&str; 10] = [
    "decided to",
    "decision:",
    "decision is",
    "we'll go with",
    "i'll go with",
    "going with",
    "the fix is",
    "the approach is",
    "root cause",
    "chose to",
];

const REJECTED: [&str; 9] = [
    "rejected",
    "ruled out",
    "instead of",
    "rather than",
    "won't work",
    "doesn't work because",
    "not an option",
    "abandon",
    "decided against",
];

/// Four letters of each of these, rare enough: a sentence without any of them is not looked at closer.
const HINTS: [&[u8; 4]; 17] = [
    b"deci", b"we'l", b"i'll", b"goin", b"fix ", b"appr", b"root", b"chos", b"reje", b"rule",
    b"inst", b"rath", b"won'", b"does", b"opti", b"aban", b"agai",
];

/// Where hints fall: one bit each.
static HINTED: [u64; 256] = hinted();

/// Fourteen bits of four bytes.
const fn fold(word: u32) -> usize {
    (word.wrapping_mul(0x9e37_79b1) >> 18) as usize
}

const fn hinted() -> [u64; 256] {
    let mut bits = [0; 256];
    let mut at = 0;
    while at < HINTS.len() {
        let place = fold(u32::from_le_bytes(*HINTS[at]));
        bits[place / 64] |= 1 << (place % 64);
        at += 1;
    }
    bits
}

/// Whether one of the marks can be in it. Letters of either case; never a false no.
fn is_hinted(sentence: &str) -> bool {
    sentence.as_bytes().windows(4).any(|four| {
        // what is no letter stays apart from the letters of the hints
        let word = u32::from_le_bytes([four[0], four[1], four[2], four[3]]) | 0x2020_2020;
        let place = fold(word);
        HINTED[place / 64] & (1 << (place % 64)) != 0
    })
}

fn keep(notes: &mut VecDeque<Note>, note: Note, most: usize) {
    notes.retain(|known| known.text != note.text);
    notes.push_back(note);
    if notes.len() > most {
        notes.pop_front();
    }
}

impl Prose {
    pub fn spoke(&mut self, said: &str, step: u32, at: At) {
        let said = said.trim();
        if said.is_empty() {
            return;
        }
        let note = |text: &str, most: usize| Note {
            text: text::head(text, most).to_owned(),
            step,
            line: at.line,
        };
        let mut fenced = false;
        for line in said.lines() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            if fenced || line.len() > 4_000 {
                continue;
            }
            for sentence in text::sentences(line) {
                if !(24..=SENTENCE).contains(&sentence.len()) {
                    continue;
                }
                if sentence.ends_with('?') {
                    keep(&mut self.questions, note(sentence, SENTENCE), 12);
                    continue;
                }
                if !is_hinted(sentence) {
                    continue;
                }
                let low = sentence.to_lowercase();
                if DECIDED.iter().any(|mark| low.contains(mark)) {
                    keep(&mut self.decisions, note(sentence, SENTENCE), NOTES);
                } else if REJECTED.iter().any(|mark| low.contains(mark)) {
                    keep(&mut self.rejected, note(sentence, SENTENCE), NOTES);
                }
            }
        }
        self.statements.push_back(note(said, STATEMENT));
        // Only the newest is wanted whole.
        if let Some(before) = self.statements.len().checked_sub(2)
            && let Some(before) = self.statements.get_mut(before)
        {
            let cut = text::head(&before.text, 600).len();
            before.text.truncate(cut);
        }
        if self.statements.len() > STATEMENTS {
            self.statements.pop_front();
        }
    }

    /// A call was stopped.
    pub fn stop(&mut self, what: &str, by: StoppedBy, step: u32, at: At) {
        let what = text::squeeze(text::head(what, SENTENCE));
        self.stopped.retain(|known| known.what != what);
        self.stopped.push_back(Stopped {
            what,
            by,
            step,
            line: at.line,
            time: at.time,
        });
        if self.stopped.len() > NOTES {
            self.stopped.pop_front();
        }
    }

    /// A person spoke: whatever was asked is answered.
    pub fn answered(&mut self) {
        self.questions.clear();
    }

    pub fn last(&self) -> Option<&Note> {
        self.statements.back()
    }

    pub fn last_question(&self) -> Option<&str> {
        self.questions.back().map(|note| note.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_has_a_hint() {
        for mark in DECIDED.iter().chain(&REJECTED) {
            assert!(is_hinted(mark), "{mark}");
            assert!(is_hinted(&mark.to_uppercase()), "{mark}");
            assert!(is_hinted(&format!("… {mark} …")), "{mark}");
        }
        let plain = [
            "The shelf has been painted and the book is back",
            "Now let me look at the tests of the parser",
            "All of them pass, and the build is clean again",
        ];
        let looked_at = plain.iter().filter(|plain| is_hinted(plain)).count();
        assert!(looked_at < plain.len(), "it says yes to everything");
    }
}
