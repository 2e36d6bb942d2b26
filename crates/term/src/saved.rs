//! The state of a [`Readable`] as bytes, for a file that another process reads.
//!
//! Numbers are written seven bits at a time, texts with their length before them. Whatever is read
//! is checked: bytes that are not such a state give `None`, never a state that cannot be.

use std::collections::VecDeque;

use crate::fold::{Fold, Replay, Stage};
use crate::frames::Frames;
use crate::grid::{Above, Cursor, Grid};
use crate::line::Line;
use crate::parser::{Parser, State};
use crate::readable::Readable;
use crate::row::{Cell, Clusters, HALF, Row};
use crate::screen::{Charset, Saved, Screen};
use crate::size::Size;
use crate::standing::{Standing, Stood};
use crate::story::Story;

/// Another format, or another meaning of what is in it: another number.
const VERSION: u64 = 2;
/// No count or place is so large.
const FAR: u64 = 1 << 62;

/// In the text of a row: the right half of a wide character, and a mark on the character before.
const HALF_SIGN: char = '\u{0}';
const MARK_SIGN: char = '\u{1}';

pub(crate) fn write(readable: &Readable) -> Vec<u8> {
    let mut out = Writer(Vec::with_capacity(64 << 10));
    out.number(VERSION);
    out.number(readable.position);
    out.parser(&readable.parser);
    out.screen(&readable.screen);
    out.story(&readable.story, &readable.screen.clusters);
    out.0
}

pub(crate) fn read(bytes: &[u8]) -> Option<Readable> {
    let mut from = Reader {
        rest: bytes,
        clusters: Clusters::default(),
    };
    if from.number()? != VERSION {
        return None;
    }
    let position = from.number().filter(|at| *at < FAR)?;
    let parser = from.parser()?;
    let mut screen = from.screen()?;
    let story = from.story()?;
    if !from.rest.is_empty() {
        return None;
    }
    screen.clusters = from.clusters;
    Some(Readable {
        parser,
        screen,
        story,
        position,
    })
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn size(&mut self, value: usize) {
        self.number(value as u64);
    }

    fn flag(&mut self, value: bool) {
        self.0.push(value.into());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.size(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn hashes(&mut self, hashes: &VecDeque<u32>) {
        self.size(hashes.len());
        for hash in hashes {
            self.0.extend_from_slice(&hash.to_le_bytes());
        }
    }

    fn line(&mut self, line: &Line) {
        self.bytes(line.text.as_bytes());
        self.number(line.at);
    }

    fn lines(&mut self, lines: &[Line]) {
        self.size(lines.len());
        lines.iter().for_each(|line| self.line(line));
    }

    fn cursor(&mut self, cursor: Cursor) {
        self.size(cursor.x);
        self.size(cursor.y);
    }

    fn extent(&mut self, size: Size) {
        self.size(size.cols());
        self.size(size.rows());
    }

    fn row(&mut self, row: &Row, clusters: &Clusters) {
        let mut text = String::with_capacity(row.cells.len());
        for cell in &row.cells {
            if *cell == HALF {
                text.push(HALF_SIGN);
                continue;
            }
            let start = text.len();
            clusters.push(*cell, &mut text);
            let marks = text.get(start..).unwrap_or_default().chars().skip(1);
            let marks: Vec<char> = marks.collect();
            if !marks.is_empty() {
                let first = text.get(start..).and_then(|text| text.chars().next());
                text.truncate(start + first.map_or(0, char::len_utf8));
                for mark in marks {
                    text.extend([MARK_SIGN, mark]);
                }
            }
        }
        self.bytes(text.as_bytes());
        self.flag(row.wrapped);
        self.number(row.at);
    }

    fn rows<'a>(&mut self, rows: impl ExactSizeIterator<Item = &'a Row>, clusters: &Clusters) {
        self.size(rows.len());
        rows.for_each(|row| self.row(row, clusters));
    }

    fn parser(&mut self, parser: &Parser) {
        self.0.push(match parser.state {
            State::Ground => 0,
            State::Escape => 1,
            State::Csi => 2,
            State::CsiIgnored => 3,
            State::Osc => 4,
            State::String => 5,
        });
        self.bytes(&parser.body);
        self.bytes(&parser.unfinished);
    }

    fn grid(&mut self, grid: &Grid, clusters: &Clusters) {
        self.extent(grid.size());
        self.size(grid.above);
        self.size(grid.returning);
        self.size(grid.beyond);
        self.size(grid.back);
        self.rows(grid.rows.iter(), clusters);
    }

    fn charsets(&mut self, charsets: [Charset; 2], shifted: bool) {
        for set in charsets {
            self.flag(set == Charset::Lines);
        }
        self.flag(shifted);
    }

    fn screen(&mut self, screen: &Screen) {
        let clusters = &screen.clusters;
        self.extent(screen.size);
        self.grid(&screen.primary, clusters);
        self.flag(screen.alternate.is_some());
        if let Some(grid) = &screen.alternate {
            self.grid(grid, clusters);
        }
        self.cursor(screen.before_alternate);
        self.cursor(screen.cursor);
        self.flag(screen.saved.is_some());
        if let Some(saved) = &screen.saved {
            self.cursor(saved.cursor);
            self.flag(saved.origin);
            self.charsets(saved.charsets, saved.shifted);
        }
        self.size(screen.top);
        self.size(screen.bottom);
        self.flag(screen.wraps);
        self.flag(screen.inserts);
        self.flag(screen.origin);
        self.charsets(screen.charsets, screen.shifted);
        self.size(screen.tabs.len());
        screen.tabs.iter().for_each(|stop| self.size(*stop));
        self.number(screen.last.map_or(0, u64::from));
    }

    fn story(&mut self, story: &Story, clusters: &Clusters) {
        self.line(&story.unfinished);
        let fold = &story.fold;
        self.hashes(&fold.said);
        self.number(fold.count);
        self.number(fold.begun);
        self.flag(fold.replay.is_some());
        if let Some(replay) = &fold.replay {
            self.lines(&replay.drawn);
            self.lines(&replay.held);
            let (stage, next, matched) = match replay.stage {
                Stage::Beginning => (0, 0, 0),
                Stage::Repeating { next, matched } => (1, next, matched),
                Stage::Repeated => (2, 0, 0),
                Stage::New => (3, 0, 0),
            };
            self.0.push(stage);
            self.number(next);
            self.size(matched);
        }
        let frames = &story.frames;
        self.rows(frames.picture.iter(), clusters);
        self.size(frames.back);
        self.hashes(&frames.recent);
        self.line(&frames.unfinished);
        self.flag(frames.marked);
        self.number(story.left);
        self.standing(&story.standing);
    }

    fn time(&mut self, at: i64) {
        self.number(at.cast_unsigned());
    }

    fn stood(&mut self, lines: &[Stood]) {
        self.size(lines.len());
        for stood in lines {
            self.line(&stood.line);
            self.time(stood.since);
            self.time(stood.until);
        }
    }

    fn standing(&mut self, standing: &Standing) {
        self.stood(&standing.lines);
        self.stood(&standing.missing);
        self.size(standing.aside.len());
        for (rows, line) in &standing.aside {
            self.number(*rows);
            self.line(line);
        }
        self.hashes(&standing.recent);
        self.number(standing.floor);
        self.flag(standing.looked.is_some());
        self.time(standing.looked.unwrap_or_default());
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    clusters: Clusters,
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn size(&mut self) -> Option<usize> {
        let size = u32::try_from(self.number()?).ok()?;
        usize::try_from(size).ok()
    }

    /// How many of something follow, each of at least one byte.
    fn count(&mut self) -> Option<usize> {
        let count = self.size()?;
        (count <= self.rest.len()).then_some(count)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        let (bytes, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(bytes)
    }

    /// What was rendered has no control characters: a state that has some was damaged.
    fn text(&mut self) -> Option<&'a str> {
        let text = std::str::from_utf8(self.bytes()?).ok()?;
        let damaged = |c: char| c.is_control() && !matches!(c, HALF_SIGN | MARK_SIGN);
        (!text.contains(damaged)).then_some(text)
    }

    fn hashes(&mut self) -> Option<VecDeque<u32>> {
        let length = self.size()?.checked_mul(4)?;
        let bytes = self.rest.get(..length)?;
        self.rest = self.rest.get(length..)?;
        let hash = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.try_into().ok()?));
        bytes.chunks_exact(4).map(hash).collect()
    }

    fn line(&mut self) -> Option<Line> {
        Some(Line {
            text: self.text()?.to_owned(),
            at: self.number()?,
        })
    }

    fn lines(&mut self) -> Option<Vec<Line>> {
        let count = self.count()?;
        (0..count).map(|_| self.line()).collect()
    }

    fn cursor(&mut self) -> Option<Cursor> {
        Some(Cursor {
            x: self.size()?,
            y: self.size()?,
        })
    }

    fn extent(&mut self) -> Option<Size> {
        let (cols, rows) = (self.size()?, self.size()?);
        let size = Size::new(u16::try_from(cols).ok()?, u16::try_from(rows).ok()?);
        (size.cols() == cols && size.rows() == rows).then_some(size)
    }

    fn row(&mut self) -> Option<Row> {
        let text = self.text()?;
        let mut cells: Vec<Cell> = Vec::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                HALF_SIGN => cells.push(HALF),
                MARK_SIGN => {
                    let cell = cells.last_mut()?;
                    *cell = self.clusters.joined(*cell, chars.next()?)?;
                }
                c => cells.push(c.into()),
            }
        }
        Some(Row {
            cells,
            wrapped: self.flag()?,
            at: self.number()?,
        })
    }

    fn rows(&mut self) -> Option<VecDeque<Row>> {
        let count = self.count()?;
        (0..count).map(|_| self.row()).collect()
    }

    fn parser(&mut self) -> Option<Parser> {
        Some(Parser {
            state: match self.byte()? {
                0 => State::Ground,
                1 => State::Escape,
                2 => State::Csi,
                3 => State::CsiIgnored,
                4 => State::Osc,
                5 => State::String,
                _ => return None,
            },
            body: self.bytes()?.to_vec(),
            unfinished: self.bytes().filter(|bytes| bytes.len() < 4)?.to_vec(),
        })
    }

    fn grid(&mut self, keeps: Above) -> Option<Grid> {
        let size = self.extent()?;
        let (above, returning) = (self.size()?, self.size()?);
        let (beyond, back) = (self.size()?, self.size()?);
        let rows = self.rows()?;
        if rows.len() != above.checked_add(size.rows())? {
            return None;
        }
        if keeps == Above::Lost && above > 0 {
            return None;
        }
        let mut grid = Grid::from_rows(rows, above, size, keeps);
        grid.returning = returning;
        grid.beyond = beyond;
        grid.back = back;
        Some(grid)
    }

    fn charsets(&mut self) -> Option<([Charset; 2], bool)> {
        let mut set = || {
            Some(match self.flag()? {
                true => Charset::Lines,
                false => Charset::Ascii,
            })
        };
        let sets = [set()?, set()?];
        Some((sets, self.flag()?))
    }

    fn screen(&mut self) -> Option<Screen> {
        let size = self.extent()?;
        let mut screen = Screen::new(size);
        screen.primary = self.grid(Above::Kept)?;
        if self.flag()? {
            screen.alternate = Some(self.grid(Above::Lost)?);
        }
        if screen.grid().size() != size {
            return None;
        }
        let on_it = |cursor: &Cursor| cursor.x <= size.cols() && cursor.y < size.rows();
        screen.before_alternate = self.cursor()?;
        screen.cursor = self.cursor().filter(on_it)?;
        if self.flag()? {
            let cursor = self.cursor()?;
            let origin = self.flag()?;
            let (charsets, shifted) = self.charsets()?;
            screen.saved = Some(Saved {
                cursor,
                origin,
                charsets,
                shifted,
            });
        }
        screen.top = self.size()?;
        screen.bottom = self.size()?;
        if screen.top > screen.bottom || screen.bottom >= size.rows() {
            return None;
        }
        screen.wraps = self.flag()?;
        screen.inserts = self.flag()?;
        screen.origin = self.flag()?;
        (screen.charsets, screen.shifted) = self.charsets()?;
        let count = self.count()?;
        screen.tabs = (0..count).map(|_| self.size()).collect::<Option<_>>()?;
        screen.last = match u32::try_from(self.number()?).ok()? {
            0 => None,
            c => Some(char::from_u32(c)?),
        };
        Some(screen)
    }

    fn story(&mut self) -> Option<Story> {
        let unfinished = self.line()?;
        let fold = self.fold()?;
        let frames = Frames {
            picture: self.rows()?.into(),
            back: self.size()?,
            recent: self.hashes()?,
            unfinished: self.line()?,
            marked: self.flag()?,
        };
        Some(Story {
            unfinished,
            fold,
            frames,
            left: self.number().filter(|rows| *rows < FAR)?,
            standing: self.standing()?,
            finished: Vec::new(),
        })
    }

    fn time(&mut self) -> Option<i64> {
        Some(self.number()?.cast_signed())
    }

    fn stood(&mut self) -> Option<Vec<Stood>> {
        let count = self.count()?;
        let mut one = || {
            Some(Stood {
                line: self.line()?,
                since: self.time()?,
                until: self.time()?,
            })
        };
        (0..count).map(|_| one()).collect()
    }

    fn standing(&mut self) -> Option<Standing> {
        let (lines, missing) = (self.stood()?, self.stood()?);
        let count = self.count()?;
        let aside = (0..count).map(|_| Some((self.number()?, self.line()?)));
        let aside = aside.collect::<Option<_>>()?;
        let (recent, floor) = (self.hashes()?, self.number()?);
        let (is_looked, looked) = (self.flag()?, self.time()?);
        Some(Standing {
            lines,
            missing,
            aside,
            recent,
            floor,
            looked: is_looked.then_some(looked),
        })
    }

    fn fold(&mut self) -> Option<Fold> {
        let mut fold = Fold {
            said: self.hashes()?,
            count: self.number()?,
            begun: self.number()?,
            replay: None,
        };
        if fold.count < fold.said.len() as u64 || fold.begun > fold.count || fold.count > FAR {
            return None;
        }
        if self.flag()? {
            let (drawn, held) = (self.lines()?, self.lines()?);
            let (stage, next, matched) = (self.byte()?, self.number()?.min(FAR), self.size()?);
            let stage = match stage {
                0 => Stage::Beginning,
                1 => Stage::Repeating { next, matched },
                2 => Stage::Repeated,
                3 => Stage::New,
                _ => return None,
            };
            fold.replay = Some(Replay { drawn, held, stage });
        }
        Some(fold)
    }
}
