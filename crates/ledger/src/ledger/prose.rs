//! What the agent said in words: its last statement, what was decided and what rejected, what it
//! asks. Found by the words that mark such sentences; nothing is concluded.

use crate::record::At;
use crate::text;
use serde::{Deserialize, Serialize};
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

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Prose {
    pub decisions: VecDeque<Note>,
    pub rejected: VecDeque<Note>,
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

    /// Something was rejected, by whatever means.
    pub fn reject(&mut self, what: &str, step: u32, at: At) {
        let text = text::squeeze(text::head(what, SENTENCE));
        let line = at.line;
        keep(&mut self.rejected, Note { text, step, line }, NOTES);
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
