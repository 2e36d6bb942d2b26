//! What is written down of a screen: rows that leave it become lines, pictures are folded.

use crate::fold::Fold;
use crate::frames::{Frames, lines, trimmed};
use crate::grid::Grid;
use crate::line::{Line, hash};
use crate::parser::{Csi, Perform};
use crate::row::{Clusters, Row};
use crate::screen::{Erase, Screen, erase};
use crate::standing::{Elsewhere, Standing, WAITING};
use std::collections::HashSet;

#[derive(Debug, Clone, Default)]
pub(crate) struct Story {
    /// A line whose rest is still on the screen, or above it where it may come back.
    pub(crate) unfinished: Line,
    pub(crate) fold: Fold,
    pub(crate) frames: Frames,
    /// What the screen showed at the last look, and what has been drawn over since.
    pub(crate) standing: Standing,
    /// How many rows have left the primary screen for good.
    pub(crate) left: u64,
    /// Lines that are said.
    pub(crate) finished: Vec<Line>,
}

impl Story {
    /// Rows that have left the primary screen for good.
    fn rows(&mut self, rows: &[Row], clusters: &Clusters) {
        for row in rows {
            if self.unfinished.text.is_empty() && !self.standing.aside.is_empty() {
                self.say_drawn_over(Some(self.left));
            }
            self.left += 1;
            if let Some(line) = self.unfinished.push(row, clusters) {
                self.fold.line(line, &mut self.finished);
            }
        }
    }

    /// Says what was drawn over: what has its place before that row, or all of it. It is no part of
    /// what a program may repeat.
    fn say_drawn_over(&mut self, row: Option<u64>) {
        self.finished.extend(self.standing.take_aside(row));
    }

    /// Looks at the screen, `now` in milliseconds: whatever stands there is written down one day,
    /// also if it is drawn over in its place.
    pub fn look(&mut self, screen: &mut Screen, now: i64) {
        self.with_present(screen, |standing, elsewhere, rows| {
            standing.look(elsewhere, now, rows);
        });
        if screen.alternate.is_some() || self.standing.aside.len() > WAITING {
            // Nothing is above the alternate screen that would have to be said first.
            let lines = self.standing.take_aside(None);
            self.say_aside(lines, screen);
        }
    }

    /// Another context begins: what it shows is said, even if it was said before.
    pub fn begin_context(&mut self, screen: &Screen) {
        self.with_present(screen, |standing, elsewhere, rows| {
            standing.settle(elsewhere, rows);
        });
        self.standing.begin_context(self.fold.count);
    }

    /// What the screen shows, what else is there or was said, and how many rows come before it.
    fn with_present(
        &mut self,
        screen: &Screen,
        then: impl FnOnce(&mut Standing, &Elsewhere<'_>, u64),
    ) {
        let clusters = &screen.clusters;
        let primary = &screen.primary;
        let mut present = lines(&primary.rows, clusters);
        let shown = match &screen.alternate {
            Some(grid) => {
                let shown = lines(&grid.rows, clusters);
                present.extend(shown.iter().cloned());
                shown
            }
            None => lines(primary.rows.range(primary.first_of_line()..), clusters),
        };
        present.push(self.unfinished.clone());
        let erased = match &screen.alternate {
            Some(grid) => self.frames.held(grid, clusters),
            None => Vec::new(),
        };
        let erased: HashSet<u32> = erased.iter().map(|line| hash(&line.text)).collect();
        let fold = &self.fold;
        let floor = self.standing.floor;
        let elsewhere = Elsewhere {
            shown: &shown,
            present: &present,
            is_said: &|line| fold.has_said(line, floor),
            is_held: &|line| fold.holds(line) || erased.contains(&line),
        };
        let rows = self.left + (primary.gone.len() + primary.above) as u64;
        then(&mut self.standing, &elsewhere, rows);
    }

    /// Everything above the primary screen leaves for good.
    fn let_go(&mut self, screen: &mut Screen) {
        screen.primary.let_all_go();
        self.take_gone(screen);
    }

    fn take_gone(&mut self, screen: &mut Screen) {
        if !screen.primary.gone.is_empty() {
            let gone = std::mem::take(&mut screen.primary.gone);
            self.rows(&gone, &screen.clusters);
            screen.primary.reuse(gone.into_iter());
        }
    }

    /// The primary screen is cleared.
    fn clear(&mut self, screen: &mut Screen) {
        self.let_go(screen);
        self.say_drawn_over(None);
        let drawn = self.picture(screen);
        self.fold.cleared(drawn, &mut self.finished);
    }

    /// Takes what is on the primary screen, with the beginning of its first line.
    fn picture(&mut self, screen: &mut Screen) -> Vec<Line> {
        let rows = screen.primary.take_picture();
        let mut lines: Vec<Line> = rows
            .iter()
            .filter_map(|row| self.unfinished.push(row, &screen.clusters))
            .collect();
        if !self.unfinished.text.is_empty() {
            lines.push(self.unfinished.end());
        }
        screen.primary.reuse(rows.into_iter());
        trimmed(lines)
    }

    /// Rows that the alternate screen has scrolled away.
    pub fn take_scrolled(&mut self, screen: &mut Screen) {
        let Some(grid) = &mut screen.alternate else {
            return;
        };
        if grid.moves.is_empty() && grid.gone.is_empty() {
            return;
        }
        self.frames.moved(&std::mem::take(&mut grid.moves));
        let gone = std::mem::take(&mut grid.gone);
        let mut lines = Vec::new();
        self.frames.scrolled(&gone, &screen.clusters, &mut lines);
        grid.reuse(gone.into_iter());
        self.say_aside(lines, screen);
    }

    /// A picture of the alternate screen is complete.
    fn observe(&mut self, screen: &mut Screen) {
        self.take_scrolled(screen);
        if let Some(grid) = &mut screen.alternate {
            let mut lines = Vec::new();
            self.frames.observe(grid, &screen.clusters, &mut lines);
            self.say_aside(lines, screen);
        }
    }

    fn leave_alternate(&mut self, screen: &mut Screen) {
        self.take_scrolled(screen);
        if let Some(grid) = &mut screen.alternate {
            let mut lines = Vec::new();
            self.frames.leave(grid, &screen.clusters, &mut lines);
            self.say_aside(lines, screen);
        }
    }

    /// Lines of the alternate screen: after all that left the primary one before.
    fn say_aside(&mut self, lines: Vec<Line>, screen: &mut Screen) {
        if lines.is_empty() {
            return;
        }
        self.let_go(screen);
        self.fold.settle(&mut self.finished);
        for line in lines {
            self.fold.say(line, &mut self.finished);
        }
    }

    /// Everything that is on a screen is said; it is empty then.
    pub fn finish(&mut self, screen: &mut Screen) {
        self.take_scrolled(screen);
        self.with_present(screen, |standing, elsewhere, rows| {
            standing.settle(elsewhere, rows);
        });
        self.let_go(screen);
        self.say_drawn_over(None);
        for line in self.picture(screen) {
            self.fold.line(line, &mut self.finished);
        }
        self.fold.settle(&mut self.finished);
        let (fold, floor) = (&self.fold, self.standing.floor);
        let left = self.standing.left(&|line| fold.has_said(line, floor));
        self.finished.extend(left);
        self.leave_alternate(screen);
    }

    pub fn resize(&mut self, size: crate::Size, screen: &mut Screen) {
        self.observe(screen);
        // What does not fit any more is cut off.
        self.look(screen, self.standing.looked.unwrap_or_default());
        screen.resize(size);
        let rows = self.left + (screen.primary.gone.len() + screen.primary.above) as u64;
        self.standing.rewrapped(rows);
        if let Some(grid) = &mut screen.alternate {
            // It will be drawn anew: no picture to compare it with.
            grid.gone.clear();
            self.frames.forget();
        }
        self.take_gone(screen);
    }
}

/// A screen and what is written down of it.
pub(crate) struct Scribe<'a> {
    pub screen: &'a mut Screen,
    pub story: &'a mut Story,
}

impl Scribe<'_> {
    fn after(&mut self) {
        self.story.take_gone(self.screen);
        if let Some(Grid { gone, moves, .. }) = &self.screen.alternate
            && (gone.len() > 64 || moves.len() > 64)
        {
            self.story.take_scrolled(self.screen);
        }
    }

    fn clear(&mut self) {
        match self.screen.alternate {
            None => self.story.clear(self.screen),
            Some(_) => {
                self.story.observe(self.screen);
                self.screen.erase(Erase::All);
            }
        }
    }

    /// Whether a picture ends here where the program does not say so.
    fn perhaps_a_picture(&mut self) {
        if self.screen.alternate.is_some() && !self.story.frames.marked {
            self.story.observe(self.screen);
        }
    }

    fn mode(&mut self, mode: usize, on: bool) {
        match (mode, on) {
            (47 | 1047 | 1049, true) => {
                if self.screen.alternate.is_none() {
                    self.story.frames.forget();
                    self.story.frames.marked = false;
                }
                self.screen.enter_alternate(mode == 1049);
            }
            (47 | 1047 | 1049, false) => {
                self.story.leave_alternate(self.screen);
                self.screen.leave_alternate(mode == 1049);
            }
            (2026, false) if self.screen.alternate.is_some() => {
                self.story.observe(self.screen);
                self.story.frames.marked = true;
            }
            (25, _) => self.perhaps_a_picture(),
            (3, _) => {
                self.clear();
                self.screen.mode(mode, on);
            }
            (mode, on) => self.screen.mode(mode, on),
        }
    }
}

impl Perform for Scribe<'_> {
    fn position(&mut self, at: u64) {
        self.screen.position = at;
    }

    fn ascii(&mut self, text: &[u8]) {
        self.screen.ascii(text);
        self.after();
    }

    fn char(&mut self, c: char) {
        self.screen.char(c);
        self.after();
    }

    fn control(&mut self, byte: u8) {
        self.screen.control(byte);
        self.after();
    }

    fn escape(&mut self, between: &[u8], last: u8) {
        match (between, last) {
            (b"", b'c') => {
                self.clear();
                self.screen.reset();
            }
            _ => self.screen.escape(between, last),
        }
        self.after();
    }

    fn csi(&mut self, csi: &Csi<'_>) {
        if csi.last != b'b' {
            self.screen.last = None;
        }
        match (csi.private(), csi.between(), csi.last) {
            (_, _, b'm') => return,
            (0, 0, b'J') => match erase(csi) {
                Erase::All => self.clear(),
                Erase::Below if self.screen.is_home() => self.clear(),
                Erase::Saved => {
                    self.screen.primary.forget_above();
                    self.story.take_gone(self.screen);
                }
                what @ (Erase::Below | Erase::Above | Erase::Other) => self.screen.erase(what),
            },
            (b'?', 0, last @ (b'h' | b'l')) => {
                for mode in csi.params().flatten() {
                    self.mode(mode, last == b'h');
                }
            }
            (0, 0, b'H') => {
                self.screen.csi(csi);
                if self.screen.is_home() {
                    self.perhaps_a_picture();
                }
            }
            _ => self.screen.csi(csi),
        }
        self.after();
    }
}
