//! A transcript as texts that a model can be asked about, no longer than the model can read.
//!
//! Whole turns are kept, the newest ones; of a single turn that is too long, its beginning (what the
//! person wanted) and its end. Nothing outside is touched: records in, texts out.

use std::collections::VecDeque;

use sm_ledger::{Outcome, Record, Speaker};
use sm_llm::Message;

/// The most of a tool's result, and of what it was called with.
const RESULT: usize = 4_000;
const INPUT: usize = 2_000;

/// How much of a turn that is too long stays from its beginning.
const HEAD_OF_TURN: usize = 4_000;

/// The turns of a conversation, as they are read.
#[derive(Debug)]
pub struct Turns {
    turns: VecDeque<String>,
    bytes: usize,
    limit: usize,
    left_out: bool,
}

impl Turns {
    /// `limit`: the most bytes that the text may have.
    pub fn new(limit: usize) -> Self {
        Self {
            turns: VecDeque::new(),
            bytes: 0,
            limit,
            left_out: false,
        }
    }

    pub fn add(&mut self, record: &Record<'_>) {
        match record {
            Record::Said { by, text } => match by {
                Speaker::Person => {
                    self.turns.push_back(String::new());
                    self.write("person", text);
                }
                Speaker::Queued => self.write("person, meanwhile", text),
                // reminders of the program about itself
                Speaker::Program => {}
            },
            Record::Spoke { text } => self.write("agent", text),
            Record::Called { tool, input, .. } => {
                self.write(&format!("tool {tool}"), &shortened(input.get(), INPUT));
            }
            Record::Returned { text, outcome, .. } => {
                let who = match outcome {
                    Outcome::Done | Outcome::Unknown => "result",
                    Outcome::Failed => "result, failed",
                    Outcome::Refused => "refused by the person",
                };
                self.write(who, &shortened(text, RESULT));
            }
            Record::Compacted { summary } => {
                // what was before it is not in the agent's context any more either
                self.turns.clear();
                self.bytes = 0;
                self.turns.push_back(String::new());
                let text = summary.as_deref().unwrap_or("(no summary is known)");
                self.write("summary of what was before", text);
            }
            Record::Interrupted => self.write("person", "(stopped the agent)"),
            Record::Thought
            | Record::Used { .. }
            | Record::Place { .. }
            | Record::Aside
            | Record::Other => {}
        }
    }

    fn write(&mut self, who: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if self.turns.is_empty() {
            self.turns.push_back(String::new());
        }
        let Some(turn) = self.turns.back_mut() else {
            return;
        };
        let before = turn.len();
        turn.push_str(&format!("[{who}]\n{}\n\n", text.trim_end()));
        self.bytes += turn.len() - before;
        self.fit();
    }

    fn fit(&mut self) {
        while self.bytes > self.limit && self.turns.len() > 1 {
            if let Some(oldest) = self.turns.pop_front() {
                self.bytes -= oldest.len();
                self.left_out = true;
            }
        }
        // twice the limit first, so that a long turn is not copied for each of its lines
        if self.bytes > self.limit.saturating_mul(2) {
            self.cut_last();
        }
    }

    fn cut_last(&mut self) {
        let limit = self.limit;
        if let Some(turn) = self.turns.back_mut()
            && turn.len() > limit
        {
            let head = HEAD_OF_TURN.min(limit / 4);
            let start = floor(turn, head);
            let end = floor(turn, turn.len() - (limit - head));
            turn.replace_range(start..end, "\n[… left out …]\n");
            self.left_out = true;
        }
        self.bytes = self.turns.iter().map(String::len).sum();
    }

    /// How many turns there are.
    pub fn len(&self) -> usize {
        self.turns.iter().filter(|turn| !turn.is_empty()).count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One message a turn, and whether something was left out.
    pub fn messages(mut self) -> (Vec<Message>, bool) {
        self.cut_last();
        let turns = self.turns.into_iter().filter(|turn| !turn.is_empty());
        let messages = turns.map(|turn| Message::user(turn, 0)).collect();
        (messages, self.left_out)
    }
}

/// The beginning and the end of a text.
fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let head = floor(text, half);
    let tail = floor(text, text.len() - half);
    format!("{}\n[… left out …]\n{}", &text[..head], &text[tail..])
}

/// The nearest place at or before `at` where a character begins.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn said(text: &str) -> Record<'_> {
        Record::Said {
            by: Speaker::Person,
            text: Cow::Borrowed(text),
        }
    }

    fn spoke(text: &str) -> Record<'_> {
        Record::Spoke {
            text: Cow::Borrowed(text),
        }
    }

    fn told(limit: usize, records: &[Record<'_>]) -> (String, bool) {
        let mut turns = Turns::new(limit);
        for record in records {
            turns.add(record);
        }
        let (messages, left_out) = turns.messages();
        let texts = messages.iter().map(|message| match message {
            Message::User(user) => match user.content.blocks().as_slice() {
                [sm_llm::Block::Text { text, .. }] => text.clone(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        });
        (texts.collect(), left_out)
    }

    #[test]
    fn everything_fits() {
        let (text, left_out) = told(1000, &[said("build it"), spoke("done"), said("thanks")]);
        assert_eq!(
            text,
            "[person]\nbuild it\n\n[agent]\ndone\n\n[person]\nthanks\n\n"
        );
        assert!(!left_out);
    }

    #[test]
    fn the_oldest_turns_go_first_and_whole() {
        let long = "x".repeat(60);
        let records = [said("one"), spoke(&long), said("two"), spoke("short")];
        let (text, left_out) = told(60, &records);
        assert_eq!(text, "[person]\ntwo\n\n[agent]\nshort\n\n");
        assert!(left_out);
    }

    #[test]
    fn a_turn_that_is_too_long_keeps_its_ends() {
        let long = "é".repeat(2_000);
        let (text, left_out) = told(400, &[said("the wish"), spoke(&long), spoke("the end")]);
        assert!(text.starts_with("[person]\nthe wish"), "{text}");
        assert!(text.trim_end().ends_with("the end"), "{text}");
        assert!(text.contains("left out") && left_out);
        assert!(text.len() < 500, "{}", text.len());
    }

    #[test]
    fn a_compaction_takes_the_place_of_what_was_before() {
        let records = [
            said("old"),
            Record::Compacted {
                summary: Some(Cow::Borrowed("they built it")),
            },
            said("new"),
        ];
        let (text, _) = told(1000, &records);
        assert_eq!(
            text,
            "[summary of what was before]\nthey built it\n\n[person]\nnew\n\n"
        );
    }
}
