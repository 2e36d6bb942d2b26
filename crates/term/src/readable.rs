//! A terminal that writes down what leaves it.
//!
//! A line is finished when it has left the screen, where nothing can change it any more; so spinners,
//! progress bars and redrawn boxes appear as they ended. What is still on the screen, or could come
//! back to it, is [`Readable::rest`]. Of the alternate screen, see `frames`.

use std::collections::VecDeque;

use crate::frames::{lines, trimmed};
use crate::line::Line;
use crate::parser::Parser;
use crate::saved;
use crate::screen::Screen;
use crate::size::Size;
use crate::story::{Scribe, Story};

/// How much is fed at once where only the last lines are kept.
const PIECE: usize = 64 << 10;

/// Turns raw terminal output into readable lines, piece by piece. The pieces may be cut anywhere,
/// and the work may be interrupted anywhere: [`save`](Self::save), [`load`](Self::load).
#[derive(Clone)]
pub struct Readable {
    pub(crate) parser: Parser,
    pub(crate) screen: Screen,
    pub(crate) story: Story,
    /// Where the next byte lies in the log.
    pub(crate) position: u64,
}

impl std::fmt::Debug for Readable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readable").finish_non_exhaustive()
    }
}

impl Readable {
    pub fn new(size: Size) -> Self {
        Self {
            parser: Parser::default(),
            screen: Screen::new(size),
            story: Story::default(),
            position: 0,
        }
    }

    /// As it was when it was [`save`](Self::save)d; `None` if these bytes are no such thing.
    pub fn load(bytes: &[u8]) -> Option<Self> {
        saved::read(bytes)
    }

    /// What is needed to go on later, in another process: a few hundred kilobytes at most, however
    /// long the log. Lines that were not taken are not part of it.
    pub fn save(&self) -> Vec<u8> {
        saved::write(self)
    }

    /// The next byte lies there in the log. Lines tell where they were written.
    pub fn seek(&mut self, position: u64) {
        self.position = position;
    }

    pub fn size(&self) -> Size {
        self.screen.size
    }

    /// Takes more output; gives the lines that are finished now.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut scribe = Scribe {
            screen: &mut self.screen,
            story: &mut self.story,
        };
        self.parser.feed(bytes, self.position, &mut scribe);
        self.position += bytes.len() as u64;
        self.story.take_scrolled(&mut self.screen);
        std::mem::take(&mut self.story.finished)
    }

    /// It is `now`, in milliseconds since some moment, and what follows is drawn from now on.
    /// Whatever stands on the screen at two such moments, or between them for as long as they are
    /// apart, is said one day, even if it is drawn over in its place.
    pub fn look(&mut self, now: i64) -> Vec<Line> {
        self.story.take_scrolled(&mut self.screen);
        self.story.look(&mut self.screen, now);
        std::mem::take(&mut self.story.finished)
    }

    /// Another context of the session begins: what it shows is said, even if it was said before.
    pub fn begin_context(&mut self) {
        self.story.begin_context(&self.screen);
    }

    /// The terminal has another size from here on.
    pub fn resize(&mut self, size: Size) -> Vec<Line> {
        if size != self.screen.size {
            self.story.resize(size, &mut self.screen);
        }
        std::mem::take(&mut self.story.finished)
    }

    /// The terminal was replaced by a new one: what was on it is said.
    pub fn restart(&mut self, size: Size) -> Vec<Line> {
        let old = std::mem::replace(self, Self::new(size));
        self.position = old.position;
        let mut story = old.story.clone();
        let lines = old.finish_into(&mut story);
        self.story.fold = story.fold;
        self.story.fold.begun = self.story.fold.count;
        lines
    }

    /// What is on the screen now, without blank lines at its end.
    pub fn screen(&self) -> Vec<Line> {
        let grid = self.screen.grid();
        trimmed(lines(grid.screen(), &self.screen.clusters))
    }

    /// What is not said yet: the last rows above the screen, and what is on it.
    pub fn rest(&self) -> Vec<Line> {
        self.clone().finish()
    }

    /// No more will come: the rest of the lines.
    pub fn finish(self) -> Vec<Line> {
        let mut story = self.story.clone();
        self.finish_into(&mut story)
    }

    fn finish_into(mut self, story: &mut Story) -> Vec<Line> {
        let mut scribe = Scribe {
            screen: &mut self.screen,
            story,
        };
        self.parser.finish(self.position, &mut scribe);
        story.finish(&mut self.screen);
        std::mem::take(&mut story.finished)
    }
}

/// The last `lines` readable lines of raw output, without a line break at the end. The bytes may
/// begin anywhere in a log; the first lines may then show the rest of a cut sequence.
pub fn tail(bytes: &[u8], size: Size, lines: usize) -> String {
    let continuing = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let cut = bytes.iter().take(3).take_while(continuing).count();
    let mut readable = Readable::new(size);
    let mut last = VecDeque::new();
    let mut keep = |more: Vec<Line>| {
        for line in more {
            last.push_back(line.text);
            if last.len() > lines {
                last.pop_front();
            }
        }
    };
    for piece in bytes.get(cut..).unwrap_or_default().chunks(PIECE) {
        keep(readable.feed(piece));
    }
    keep(readable.finish());
    Vec::from(last).join("\n")
}
