//! Programs that clear everything and draw it again.
//!
//! Some programs, when their picture outgrows the screen or the screen gets another size, erase it
//! and print everything from the beginning. Others draw picture after picture. For a person that is
//! one text; as lines it would come again and again. So what was on the screen when it was cleared is
//! held back until it is known what follows:
//!
//! * the lines from the beginning on, once more: they are left out while they repeat;
//! * mostly the same picture: of the old one only what the new one lacks is said;
//! * something else: all of it is said. A person's `clear` loses no text.

use std::collections::{HashSet, VecDeque};

use crate::line::{Line, hash, similar};

/// How many lines back a repetition is recognised. Four bytes each.
pub(crate) const REMEMBERED: usize = 32_768;
/// So many lines with text have to repeat before any is left out.
const CONVINCING: usize = 8;
/// So many lines may be missing between two that repeat: a status line that was said once is not
/// drawn again.
const GAP: usize = 64;
/// The new picture is longer than the old one by so many lines and its length before the two are
/// compared.
const PATIENCE: usize = 16;
/// A line that changed is about where it was.
const NEAR: usize = 2;

#[derive(Debug, Clone, Default)]
pub(crate) struct Fold {
    pub(crate) said: VecDeque<u32>,
    /// How many lines were ever said.
    pub(crate) count: u64,
    /// The first line, by that count, of what the program has drawn since it began anew.
    pub(crate) begun: u64,
    pub(crate) replay: Option<Replay>,
}

/// What follows a clear.
#[derive(Debug, Clone)]
pub(crate) struct Replay {
    /// What was on the screen when it was cleared, said by nobody yet.
    pub(crate) drawn: Vec<Line>,
    /// Lines since, neither said nor left out yet.
    pub(crate) held: Vec<Line>,
    pub(crate) stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Beginning,
    /// Lines from the beginning on repeat, up to this one (by count); so many with text so far.
    Repeating {
        next: u64,
        matched: usize,
    },
    /// They did, and what comes now is compared with the picture.
    Repeated,
    /// They did not.
    New,
}

impl Fold {
    /// A line has left the screen for good.
    pub fn line(&mut self, line: Line, out: &mut Vec<Line>) {
        if self.replay.is_none() {
            self.say(line, out);
            return;
        }
        self.follow(line);
        let decided = self.replay.as_ref().is_some_and(|replay| {
            matches!(replay.stage, Stage::New | Stage::Repeated)
                && replay.held.len() >= 2 * replay.drawn.len() + PATIENCE
        });
        if decided {
            self.settle(out);
        }
    }

    /// The screen was cleared; `drawn` was on it.
    pub fn cleared(&mut self, drawn: Vec<Line>, out: &mut Vec<Line>) {
        if drawn.iter().all(Line::is_blank) {
            return;
        }
        let drawn = match &self.replay {
            None => drawn,
            Some(replay) => {
                // It ends what followed the last clear, and is itself in question now.
                let before = replay.held.len();
                for line in drawn {
                    self.follow(line);
                }
                self.decide(before, out)
            }
        };
        self.replay = Some(Replay {
            drawn,
            held: Vec::new(),
            stage: Stage::Beginning,
        });
    }

    /// Nothing more is awaited: everything that is held back is said.
    pub fn settle(&mut self, out: &mut Vec<Line>) {
        if let Some(replay) = &self.replay {
            let all = replay.held.len();
            self.decide(all, out);
        }
    }

    pub fn say(&mut self, line: Line, out: &mut Vec<Line>) {
        if self.said.len() == REMEMBERED {
            self.said.pop_front();
        }
        self.said.push_back(hash(&line.text));
        self.count += 1;
        out.push(line);
    }

    /// Whether a line was said since so many were.
    pub fn has_said(&self, line: u32, since: u64) -> bool {
        let oldest = self.count - self.said.len() as u64;
        let from = usize::try_from(since.saturating_sub(oldest)).unwrap_or(usize::MAX);
        self.said.iter().skip(from).any(|said| *said == line)
    }

    /// Whether a line is held back, to be said or left out later.
    pub fn holds(&self, line: u32) -> bool {
        let is_it = |held: &Line| hash(&held.text) == line;
        self.replay
            .as_ref()
            .is_some_and(|replay| replay.drawn.iter().chain(&replay.held).any(is_it))
    }

    /// One more line after the clear.
    fn follow(&mut self, line: Line) {
        let Some(mut replay) = self.replay.take() else {
            return;
        };
        let (next, matched) = match replay.stage {
            Stage::Beginning => (self.begun, 0),
            Stage::Repeating { next, matched } => (next, matched),
            Stage::Repeated | Stage::New => {
                replay.held.push(line);
                self.replay = Some(replay);
                return;
            }
        };
        let gap = match replay.stage {
            Stage::Beginning => 1,
            _ if line.is_blank() => 1,
            _ => GAP,
        };
        let blank = line.is_blank();
        let convinced = matched >= CONVINCING;
        let found = self.find(hash(&line.text), next, gap);
        // A blank line that is out of place proves nothing.
        let tolerated = blank && replay.held.len() < GAP && replay.stage != Stage::Beginning;
        if found.is_some() || (convinced && tolerated) {
            if !convinced {
                replay.held.push(line);
            }
            let next = found.map_or(next, |at| at + 1);
            let matched = matched + usize::from(!blank && found.is_some());
            if matched >= CONVINCING || next >= self.count {
                replay.held.clear();
            }
            replay.stage = match next >= self.count {
                true => Stage::Repeated,
                false => Stage::Repeating { next, matched },
            };
        } else {
            replay.stage = match convinced {
                true => Stage::Repeated,
                false => Stage::New,
            };
            replay.held.push(line);
        }
        self.replay = Some(replay);
    }

    /// Which line, by count, is the first of the next ones that is this.
    fn find(&self, line: u32, next: u64, gap: usize) -> Option<u64> {
        let oldest = self.count - self.said.len() as u64;
        let from = usize::try_from(next.checked_sub(oldest)?).ok()?;
        let to = (from + gap).min(self.said.len());
        (from..to)
            .find(|at| self.said.get(*at) == Some(&line))
            .map(|at| oldest + at as u64)
    }

    /// The clear is understood. Says what is to be said of the old picture and the first `sure` of
    /// the lines since; gives back the others.
    fn decide(&mut self, sure: usize, out: &mut Vec<Line>) -> Vec<Line> {
        let Some(mut replay) = self.replay.take() else {
            return Vec::new();
        };
        let unsure = replay.held.split_off(sure.min(replay.held.len()));
        let new: Vec<&Line> = replay.held.iter().chain(&unsure).collect();
        let exact: HashSet<u32> = new.iter().map(|line| hash(&line.text)).collect();
        let fate = |(y, line): (usize, &Line)| {
            let near = new.get(y.saturating_sub(NEAR)..new.len().min(y + NEAR + 1));
            let near = near.unwrap_or_default();
            match () {
                () if line.is_blank() => Fate::Nothing,
                () if exact.contains(&hash(&line.text)) => Fate::Again,
                () if near.iter().any(|new| similar(&line.text, &new.text)) => Fate::Changed,
                () => Fate::Lost,
            }
        };
        let fates: Vec<Fate> = replay.drawn.iter().enumerate().map(fate).collect();
        let redrawn = replay.stage == Stage::Repeated || is_redrawn(&fates);
        if !redrawn {
            for line in replay.drawn {
                self.say(line, out);
            }
            self.begun = self.count;
            for line in replay.held {
                self.say(line, out);
            }
            return unsure;
        }
        // In the order of the picture: what is lost stands before what followed it there.
        let mut held = VecDeque::from(replay.held);
        for (line, fate) in replay.drawn.into_iter().zip(fates) {
            match fate {
                Fate::Lost => self.say(line, out),
                Fate::Again => {
                    let same = held.iter().position(|new| new.text == line.text);
                    for new in held.drain(..same.map_or(0, |at| at + 1)) {
                        self.say(new, out);
                    }
                }
                Fate::Nothing | Fate::Changed => {}
            }
        }
        for line in held {
            self.say(line, out);
        }
        unsure
    }
}

/// What became of a line of the old picture in the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It was blank.
    Nothing,
    Again,
    /// It counts, spins or grows about where it was.
    Changed,
    Lost,
}

/// Whether so much came again that the old picture need not be said whole.
fn is_redrawn(fates: &[Fate]) -> bool {
    let count = |fate| fates.iter().filter(|f| **f == fate).count();
    let (again, changed) = (count(Fate::Again), count(Fate::Changed));
    let texts = again + changed + count(Fate::Lost);
    match again {
        // A line or two that only count. Of more that would be pages of a list.
        0 => changed == texts && texts <= 2,
        again if 4 * again < texts => false,
        again => 2 * (again + changed) >= texts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &str) -> Vec<Line> {
        let line = |text: &str| Line {
            text: text.replace('_', ""),
            at: 0,
        };
        texts.split_whitespace().map(line).collect()
    }

    /// Words are lines, `_` is a blank one; `a b > c d > …` are pictures, each on the screen when
    /// it was cleared; what is in `( )` had left it upwards.
    fn folded(story: &str) -> String {
        let (mut fold, mut out) = (Fold::default(), Vec::new());
        let pictures: Vec<&str> = story.split('>').collect();
        for (n, picture) in pictures.iter().enumerate() {
            let (above, screen) = picture.split_once(')').unwrap_or(("", picture));
            for line in lines(above.trim_start_matches([' ', '('])) {
                fold.line(line, &mut out);
            }
            if n + 1 < pictures.len() {
                fold.cleared(lines(screen), &mut out);
            } else {
                for line in lines(screen) {
                    fold.line(line, &mut out);
                }
                fold.settle(&mut out);
            }
        }
        let texts: Vec<&str> = out
            .iter()
            .map(|line| if line.is_blank() { "_" } else { &line.text })
            .collect();
        texts.join(" ")
    }

    #[test]
    fn what_is_said_of_pictures() {
        for (story, expected) in [
            ("a b c", "a b c"),
            ("a b > x y", "a b x y"),
            ("a b > a b", "a b"),
            ("a b > a b > a b > a b c", "a b c"),
            // What the next picture lacks is said.
            ("a b c d > a b c e", "a b c d e"),
            ("top x1 mid end > top y1 mid end", "top x1 y1 mid end"),
            // What only counts is not.
            ("a b wait1 > a b wait2 > a b wait3", "a b wait3"),
            // Everything anew, longer each time.
            (
                "(a b c d e f g h i) j k s1 > (a b c d e f g h i j) k l s2",
                "a b c d e f g h i j k l s2",
            ),
            ("(a b) c d > (a b c) d e > (a b c d) e f", "a b c d e f"),
            // A beginning that is the same is not yet a repetition.
            (
                "(head tail a b c d e f g h i j) x > head tail new y",
                "head tail a b c d e f g h i j x head tail new y",
            ),
            // Pages of a list are no redraw.
            ("n1 n2 n3 n4 > n5 n6 n7 n8", "n1 n2 n3 n4 n5 n6 n7 n8"),
            ("10% > 20% > 100%", "100%"),
            ("a > > b", "a b"),
            ("_ > a", "a"),
            ("a _ b > a _ b", "a _ b"),
        ] {
            assert_eq!(folded(story), expected, "{story}");
        }
    }
}
