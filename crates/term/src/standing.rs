//! What stood on the screen, so that nothing a person could read is lost when it is drawn over.
//!
//! A line that scrolls away is written down when it leaves, and a screen that is cleared is held back
//! by `fold`. But programs also erase row by row and draw something else in the same place; Claude
//! Code leaves a context in this way. So whoever knows the time looks at the screen about once a
//! second: a line that was there at one look and is neither there nor written down later has been
//! drawn over, and is said aside: after what is above the screen, before what is on it.
//!
//! A line that only counts, spins or grows is said as it ended, unless it stood longer than what
//! changes every second does.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::line::{Line, hash, is_decoration, skeleton};

/// A line that was seen for so long is no spinner and no clock, even if it became another number:
/// such a line is there at two looks at most, and those are little more than a second apart.
/// Milliseconds.
const LONG: i64 = 1_500;
/// Between two looks something may have been drawn so much later than the first, in milliseconds.
const BETWEEN: i64 = 1_000;
/// A shorter text may be part of another one by chance.
const TELLING: usize = 12;
/// So many lines wait at most for their place between others.
pub(crate) const WAITING: usize = 256;
/// A text is not said aside again if it is among the last so many.
const RECENT: usize = 2_048;

/// A line of the screen as it was at the last look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stood {
    pub(crate) line: Line,
    /// It was there then, at the latest; milliseconds.
    pub(crate) since: i64,
    /// It was there then.
    pub(crate) until: i64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    /// What a look saw and is still there.
    pub(crate) lines: Vec<Stood>,
    /// What the look before it saw and the last one did not: perhaps it is just being redrawn.
    pub(crate) missing: Vec<Stood>,
    /// What was drawn over, each with the number of rows that are said before it.
    pub(crate) aside: VecDeque<(u64, Line)>,
    pub(crate) recent: VecDeque<u32>,
    /// Lines that were said before this one, by count, are of another context.
    pub(crate) floor: u64,
    pub(crate) looked: Option<i64>,
}

/// Where a line can be now that stood on the screen.
pub(crate) struct Elsewhere<'a> {
    /// The lines that are shown.
    pub shown: &'a [Line],
    /// All lines that are there: those that are shown, and those above.
    pub present: &'a [Line],
    /// Whether it was said since the context began.
    pub is_said: &'a dyn Fn(u32) -> bool,
    /// Whether it is held back, and may still be said.
    pub is_held: &'a dyn Fn(u32) -> bool,
}

impl Standing {
    /// What is said from now on belongs to another context: what was said before does not count.
    pub fn begin_context(&mut self, said: u64) {
        self.floor = said;
        self.recent.clear();
    }

    /// Looks at the lines of the screen. What has been drawn over waits in `aside`, to be said after
    /// so many `rows`.
    pub fn look(&mut self, at: &Elsewhere<'_>, now: i64, rows: u64) {
        let mut again = Vec::new();
        for (stood, confirmed) in self.take_vanished(at) {
            if (at.is_held)(hash(&stood.line.text)) || !confirmed {
                again.push(stood);
            } else {
                self.put_aside(stood.line, rows);
            }
        }
        self.missing = again;
        self.see(at.shown, now);
    }

    /// What is not there now does not come back: all that has been drawn over, and is not held back,
    /// is to be said. Of what is held back, [`left`](Self::left) tells later.
    pub fn settle(&mut self, at: &Elsewhere<'_>, rows: u64) {
        for (stood, _) in self.take_vanished(at) {
            match (at.is_held)(hash(&stood.line.text)) {
                true => self.missing.push(stood),
                false => self.put_aside(stood.line, rows),
            }
        }
    }

    /// What was held back when it [settled](Self::settle), and was not said after all.
    pub fn left(&mut self, is_said: &dyn Fn(u32) -> bool) -> Vec<Line> {
        let missing = std::mem::take(&mut self.missing).into_iter();
        let lines = missing.map(|stood| stood.line);
        lines.filter(|line| !is_said(hash(&line.text))).collect()
    }

    /// The lines whose place has come: before the row with this number, or all.
    pub fn take_aside(&mut self, before: Option<u64>) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some((rows, _)) = self.aside.front() {
            if before.is_some_and(|row| *rows > row) && self.aside.len() <= WAITING {
                break;
            }
            lines.extend(self.aside.pop_front().map(|(_, line)| line));
        }
        lines
    }

    /// There are only so many rows now: lines were wrapped anew.
    pub fn rewrapped(&mut self, rows: u64) {
        for (place, _) in &mut self.aside {
            *place = (*place).min(rows);
        }
    }

    /// What is neither to be seen nor said nor only another number now; whether it was missing at
    /// the last look already. What is there stays.
    fn take_vanished(&mut self, at: &Elsewhere<'_>) -> Vec<(Stood, bool)> {
        let missing = std::mem::take(&mut self.missing).into_iter();
        let missing = missing.map(|stood| (stood, true));
        if self.lines.is_empty() && missing.len() == 0 {
            return Vec::new();
        }
        let exact: HashSet<u32> = at.present.iter().map(|l| hash(&l.text)).collect();
        let (stays, gone): (Vec<Stood>, Vec<Stood>) = std::mem::take(&mut self.lines)
            .into_iter()
            .partition(|stood| exact.contains(&hash(&stood.line.text)));
        self.lines = stays;
        let gone = gone.into_iter().map(|stood| (stood, false));
        let gone: Vec<(Stood, bool)> = missing.chain(gone).collect();
        if gone.is_empty() {
            return Vec::new();
        }
        let text = words(at.present.iter().map(|line| line.text.as_str()));
        // Behind the alternate screen it may have lost its beginning: it is there, and not seen anew.
        let shown = words(at.shown.iter().map(|line| line.text.as_str()));
        let (hidden, gone): (Vec<_>, Vec<_>) = gone.into_iter().partition(|(stood, _)| {
            let own = words(std::iter::once(stood.line.text.as_str()));
            own.len() >= TELLING && text.contains(&own) && !shown.contains(&own)
        });
        self.lines
            .extend(hidden.into_iter().map(|(stood, _)| stood));
        let texts = gone.iter().map(|(stood, _)| &stood.line);
        // What stood beside it has not come in its place.
        let beside: HashSet<u32> = self.lines.iter().map(|s| hash(&s.line.text)).collect();
        let is_new = |line: &&Line| !beside.contains(&hash(&line.text));
        let counted = counted(texts.collect(), at.shown.iter().filter(is_new).collect());
        let mut known = HashSet::new();
        let vanished = gone.into_iter().filter(|(stood, _)| {
            let Stood { line, since, until } = stood;
            let key = hash(&line.text);
            let is_there = || {
                let own = words(std::iter::once(line.text.as_str()));
                exact.contains(&key) || own.len() >= TELLING && text.contains(&own)
            };
            let only_counts = || {
                let grew = |new: &Line| new.text.starts_with(line.text.as_str());
                let briefly = until.saturating_sub(*since) < LONG;
                at.shown.iter().any(grew) || briefly && counted.contains(&skeleton(&line.text))
            };
            known.insert(key)
                && !is_there()
                && !(at.is_said)(key)
                && !self.recent.contains(&key)
                && !only_counts()
        });
        vanished.collect()
    }

    fn see(&mut self, screen: &[Line], now: i64) {
        // Whatever was not there at the last look was drawn within a moment of it: what is drawn
        // later brings a look of its own.
        let drawn = self
            .looked
            .map_or(now, |last| now.min(last.saturating_add(BETWEEN)));
        let old = std::mem::take(&mut self.lines);
        let see = |line: &Line| {
            let before = old.iter().find(|stood| stood.line.text == line.text);
            Stood {
                line: line.clone(),
                since: before.map_or(drawn, |stood| stood.since),
                until: now,
            }
        };
        let tells = |line: &&Line| !is_decoration(&line.text);
        self.lines = screen.iter().filter(tells).map(see).collect();
        // What is above, or behind the alternate screen, may come back and be drawn over then.
        let shown: HashSet<u32> = screen.iter().map(|line| hash(&line.text)).collect();
        let hidden = |stood: &Stood| !shown.contains(&hash(&stood.line.text));
        self.lines.extend(old.into_iter().filter(hidden));
        self.looked = Some(now);
    }

    fn put_aside(&mut self, line: Line, rows: u64) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(hash(&line.text));
        self.aside.push_back((rows, line));
    }
}

/// What lines that count or spin have in common with what they became: one was there, and one is
/// there now. Of more that would be pages of a list.
fn counted(old: Vec<&Line>, new: Vec<&Line>) -> HashSet<u32> {
    let single = |lines: Vec<&Line>| {
        let mut count: HashMap<u32, usize> = HashMap::new();
        let texts: HashSet<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        for text in texts {
            *count.entry(skeleton(text)).or_default() += 1;
        }
        count.retain(|_, times| *times == 1);
        count
    };
    let (old, new) = (single(old), single(new));
    old.into_keys()
        .filter(|key| new.contains_key(key))
        .collect()
}

/// Texts as their words with a blank around each: the same wherever they are wrapped.
fn words<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut joined = String::from(" ");
    for word in texts.flat_map(str::split_whitespace) {
        joined.push_str(word);
        joined.push(' ');
    }
    joined
}
