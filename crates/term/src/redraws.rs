//! Programs that clear everything and draw it all again.
//!
//! Some programs, when their picture outgrows the screen, erase the screen and the history (ED 2,
//! ED 3) and print everything from the beginning. For a person that is one text; as lines it would
//! come again and again. Here the lines that follow such a clear are compared with those already
//! said: while they repeat them they are left out, and what had been on the screen is taken as drawn
//! again instead of said twice.
//!
//! When they do not repeat, nothing is left out: a person's `clear` loses no text.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many lines back a repetition is recognised. Eight bytes each.
const REMEMBERED: usize = 8_192;

/// So many lines with text in them have to repeat before anything is left out.
const CONVINCING: usize = 3;

#[derive(Debug, Default)]
pub(crate) struct Redraws {
    said: VecDeque<u64>,
    replay: Option<Replay>,
}

impl Redraws {
    /// A line has left the screen.
    pub(crate) fn line(&mut self, line: String, out: &mut Vec<String>) {
        let Some(replay) = &mut self.replay else {
            self.say(line, out);
            return;
        };
        let (mut older, mut newer) = (Vec::new(), Vec::new());
        let over = replay.line(line, &mut older, &mut newer);
        if over == Over::Yes {
            self.replay = None;
        }
        self.say_all(older, out);
        self.say_all(newer, out);
    }

    /// Screen and history were erased; `drawn` was on the screen.
    pub(crate) fn cleared(&mut self, drawn: Vec<String>, out: &mut Vec<String>) {
        let drawn = match self.replay.take() {
            None => drawn,
            Some(mut replay) => {
                // What was drawn since the last clear ends that one, and is itself in question now.
                let (mut older, mut newer) = (Vec::new(), Vec::new());
                let mut lines = drawn.into_iter();
                for line in lines.by_ref() {
                    if replay.line(line, &mut older, &mut newer) == Over::Yes {
                        break;
                    }
                }
                replay.close(&mut older, &mut newer);
                newer.extend(lines);
                self.say_all(older, out);
                newer
            }
        };
        let known = self
            .said
            .iter()
            .copied()
            .chain(drawn.iter().map(|l| hash(l)));
        self.replay = Some(Replay {
            known: known.collect(),
            said: self.said.len(),
            drawn,
            at: 0,
            progress: Progress::Beginning,
        });
    }

    /// No more lines will come.
    pub(crate) fn finish(&mut self, out: &mut Vec<String>) {
        if let Some(mut replay) = self.replay.take() {
            let (mut older, mut newer) = (Vec::new(), Vec::new());
            replay.close(&mut older, &mut newer);
            self.say_all(older, out);
            self.say_all(newer, out);
        }
    }

    fn say_all(&mut self, lines: Vec<String>, out: &mut Vec<String>) {
        for line in lines {
            self.say(line, out);
        }
    }

    fn say(&mut self, line: String, out: &mut Vec<String>) {
        if self.said.len() == REMEMBERED {
            self.said.pop_front();
        }
        self.said.push_back(hash(&line));
        out.push(line);
    }
}

fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}

/// The lines after one clear.
#[derive(Debug)]
struct Replay {
    /// Lines that were said, then those that were on the screen.
    known: Vec<u64>,
    /// How many of `known` were said.
    said: usize,
    /// What was on the screen when it was cleared, said by nobody yet.
    drawn: Vec<String>,
    /// The repetition has come up to here in `known`.
    at: usize,
    progress: Progress,
}

#[derive(Debug)]
enum Progress {
    /// No line yet.
    Beginning,
    /// Lines that repeat so far, with whether they were said; not yet convincing.
    Holding(Vec<(String, Said)>),
    Convinced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Yes,
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Yes,
    No,
}

impl Replay {
    fn line(&mut self, line: String, older: &mut Vec<String>, newer: &mut Vec<String>) -> Over {
        let said = self.advance(hash(&line));
        match (said, &mut self.progress) {
            (None, _) => {
                self.close(older, newer);
                newer.push(line);
                return Over::Yes;
            }
            (Some(Said::Yes), Progress::Convinced) => {}
            (Some(Said::No), Progress::Convinced) => newer.push(line),
            (Some(said), Progress::Beginning) => {
                self.progress = Progress::Holding(vec![(line, said)]);
            }
            (Some(said), Progress::Holding(held)) => held.push((line, said)),
        }
        self.weigh(newer);
        Over::No
    }

    /// Whether the line repeats a known one, and which kind. Lines may be left out on the way: a
    /// status line that was said in between is not drawn again.
    fn advance(&mut self, line: u64) -> Option<Said> {
        let rest = self.known.get(self.at..)?;
        let found = self.at + rest.iter().position(|known| *known == line)?;
        self.at = found + 1;
        Some(if found < self.said {
            Said::Yes
        } else {
            Said::No
        })
    }

    fn weigh(&mut self, newer: &mut Vec<String>) {
        let Progress::Holding(held) = &mut self.progress else {
            return;
        };
        if held.iter().filter(|(line, _)| !line.is_empty()).count() >= CONVINCING {
            let drawn_again = held.drain(..).filter(|(_, said)| *said == Said::No);
            newer.extend(drawn_again.map(|(line, _)| line));
            self.drawn.clear();
            self.progress = Progress::Convinced;
        }
    }

    /// It repeats no more. If it never convinced, everything is said.
    fn close(&mut self, older: &mut Vec<String>, newer: &mut Vec<String>) {
        older.append(&mut self.drawn);
        match std::mem::replace(&mut self.progress, Progress::Convinced) {
            Progress::Beginning | Progress::Convinced => {}
            Progress::Holding(held) => newer.extend(held.into_iter().map(|(line, _)| line)),
        }
    }
}
