//! Reading the archive: all of it or one generation, from the beginning or the last lines. Never
//! more than a piece in memory.

use super::notes::{self, Begins};
use super::place::{Folder, Parts, Position};
use super::render::Caught;
use super::text::Entry;
use super::times::Times;
use sm_term::Line;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// So much is read at once.
const PIECE: usize = 128 << 10;

/// The places between which a generation lies; both ends may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub from: Position,
    pub to: Option<Position>,
}

impl Span {
    pub const ALL: Self = Self {
        from: Position { part: 0, offset: 0 },
        to: None,
    };

    /// `None`: there is no such generation.
    pub fn of(generations: &[Begins], generation: Option<u32>) -> Option<Self> {
        let Some(wanted) = generation else {
            return Some(Self::ALL);
        };
        let at = generations.iter().position(|b| b.generation == wanted)?;
        Some(Self {
            from: generations.get(at)?.from,
            to: generations.get(at + 1).map(|next| next.from),
        })
    }
}

/// The index of the text, looked into without reading it whole.
pub struct Index {
    file: Option<File>,
    entries: u64,
}

impl Index {
    pub fn open(folder: &Folder, length: u64) -> Self {
        Self {
            file: File::open(folder.index()).ok(),
            entries: length / Entry::SIZE,
        }
    }

    fn get(&self, number: u64) -> Option<Entry> {
        let mut bytes = [0; 24];
        let file = self.file.as_ref()?;
        file.read_exact_at(&mut bytes, number * Entry::SIZE).ok()?;
        Some(Entry::parse(bytes))
    }

    /// The number of the first entry of which this is not so; it is so of all before it.
    fn partition(&self, is_before: impl Fn(&Entry) -> bool) -> u64 {
        let (mut low, mut high) = (0, self.entries);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.get(middle) {
                Some(entry) if is_before(&entry) => low = middle + 1,
                Some(_) | None => high = middle,
            }
        }
        low
    }

    /// The first entry whose line was written there or later.
    pub fn since(&self, raw: Position) -> Option<Entry> {
        self.get(self.partition(|entry| entry.raw < raw))
    }

    /// The entry that tells about this line.
    pub fn of_line(&self, line: u64) -> Option<Entry> {
        self.get(self.partition(|entry| entry.line <= line).checked_sub(1)?)
    }
}

/// Reads the text between two places, piece by piece.
pub struct Texts {
    folder: Folder,
    parts: Parts,
    end: Position,
    /// Comes after the text.
    rest: Option<Vec<u8>>,
    /// The number of the first line.
    pub first: u64,
}

impl Texts {
    pub fn new(folder: &Folder, caught: &Caught, span: Span) -> Self {
        let index = Index::open(folder, caught.state.index);
        let end = Entry {
            text: caught.state.text,
            raw: caught.state.raw,
            line: caught.state.lines,
        };
        let begin = index.since(span.from).unwrap_or(end);
        let stop = span.to.and_then(|to| index.since(to)).unwrap_or(end);
        let (skipped, rest) = rest_of(caught, span);
        let rest: String = rest.iter().flat_map(|line| [&line.text, "\n"]).collect();
        Self {
            folder: folder.clone(),
            parts: Parts::new(folder.text_parts(), begin.text),
            end: stop.text,
            rest: Some(rest.into_bytes()),
            first: match begin.line == end.line {
                true => end.line + skipped,
                false => begin.line,
            },
        }
    }

    /// The next piece; empty at the end.
    pub fn next_piece(&mut self) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; PIECE];
        let (at, count) = self
            .parts
            .read(|part| self.folder.text(part), &mut buffer)?;
        let left = match at.part.cmp(&self.end.part) {
            std::cmp::Ordering::Less => usize::MAX,
            std::cmp::Ordering::Equal => self.end.offset.saturating_sub(at.offset) as usize,
            std::cmp::Ordering::Greater => 0,
        };
        buffer.truncate(count.min(left));
        if buffer.is_empty() {
            return Ok(self.rest.take().unwrap_or_default());
        }
        Ok(buffer)
    }
}

/// What is not in the text yet and belongs to the span, and how many lines are before it. Nothing
/// there is older than the text.
pub fn rest_of(caught: &Caught, span: Span) -> (u64, &[Line]) {
    let reached = caught.state.reached;
    let place = |line: &Line| Position::unpacked(line.at).max(reached);
    let first = caught.rest.iter().position(|line| place(line) >= span.from);
    let first = first.unwrap_or(caught.rest.len());
    let lines = caught.rest.get(first..).unwrap_or_default();
    let after = |to: Position| lines.iter().position(|line| place(line) >= to);
    let count = span.to.and_then(after).unwrap_or(lines.len());
    (first as u64, lines.get(..count).unwrap_or_default())
}

/// The log itself between two places.
pub struct Raw {
    folder: Folder,
    parts: Parts,
    span: Span,
}

impl Raw {
    pub fn new(folder: &Folder, span: Span) -> Self {
        Self {
            folder: folder.clone(),
            parts: Parts::new(folder.log_parts(), span.from),
            span,
        }
    }

    pub fn next_piece(&mut self) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; PIECE];
        let (at, count) = self.parts.read(|part| self.folder.log(part), &mut buffer)?;
        let left = match self.span.to {
            Some(to) if at >= to => 0,
            Some(to) if at.part == to.part => (to.offset - at.offset) as usize,
            Some(_) | None => usize::MAX,
        };
        buffer.truncate(count.min(left));
        Ok(buffer)
    }
}

/// The last lines of the archive, with what is on the screen.
pub fn last_lines(folder: &Folder, caught: &Caught, count: usize) -> io::Result<Vec<String>> {
    let mut rest: Vec<&str> = caught.rest.iter().map(|line| line.text.as_str()).collect();
    while rest.last().is_some_and(|line| line.is_empty()) {
        rest.pop();
    }
    let skipped = rest.len().saturating_sub(count);
    let rest = rest.get(skipped..).unwrap_or_default();
    let mut lines = last_of_text(folder, caught.state.text, count - rest.len())?;
    lines.extend(rest.iter().map(|line| (*line).to_owned()));
    Ok(lines)
}

/// The screen as it is now. With a count: so many lines, before the screen those that were there
/// before it. An agent draws its whole conversation again and again; what the screen shows is not
/// told beside it, so a run of lines that stands there as well is left out.
pub fn screen(folder: &Folder, caught: &Caught, count: Option<usize>) -> io::Result<Vec<String>> {
    let shown = caught.state.readable.screen().into_iter();
    let shown: Vec<String> = shown.map(|line| line.text).collect();
    let Some(count) = count else {
        return Ok(shown);
    };
    let wanted = count.saturating_sub(shown.len());
    if wanted == 0 {
        let from = shown.len() - count;
        return Ok(shown.get(from..).unwrap_or_default().to_vec());
    }
    let all = last_lines(folder, caught, count + 2 * caught.rest.len())?;
    let before = before_screen(all, &shown);
    let from = before.len().saturating_sub(wanted);
    let before = before.get(from..).unwrap_or_default().iter().cloned();
    Ok(before.chain(shown).collect())
}

/// The lines without those that the screen shows in the same order, in runs of several; and without
/// the empty places that this leaves.
fn before_screen(lines: Vec<String>, shown: &[String]) -> Vec<String> {
    /// So many lines with text in the same order are no chance.
    const RUN: usize = 3;
    let texts = |lines: &[String]| -> Vec<String> {
        let with_text = lines.iter().filter(|line| !line.is_empty());
        with_text.cloned().collect()
    };
    let screen = texts(shown);
    let mut kept: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let mut longest = (0, 0); // lines with text, lines in all
        let starts = screen.iter().enumerate().filter(|(_, one)| *one == line);
        for (start, _) in starts.filter(|_| !line.is_empty()) {
            let mut there = screen.iter().skip(start);
            let (mut same, mut length) = (0, 0);
            for (n, old) in lines.iter().skip(at).enumerate() {
                if !old.is_empty() {
                    if there.next() != Some(old) {
                        break;
                    }
                    (same, length) = (same + 1, n + 1);
                }
            }
            longest = longest.max((same, length));
        }
        let (same, length) = longest;
        if same >= RUN || (same > 0 && at + length == lines.len()) {
            at += length;
            continue;
        }
        let blank_after_blank = line.is_empty() && kept.last().is_none_or(String::is_empty);
        if !blank_after_blank {
            kept.push(line.clone());
        }
        at += 1;
    }
    kept
}

/// Read from its end backwards, as far as is needed.
fn last_of_text(folder: &Folder, end: Position, count: usize) -> io::Result<Vec<String>> {
    const BLOCK: u64 = 64 << 10;
    let mut blocks: VecDeque<Vec<u8>> = VecDeque::new();
    let mut breaks = 0;
    let (mut part, mut offset) = (end.part, u64::from(end.offset));
    while count > 0 && breaks <= count {
        if offset == 0 {
            let before = folder.text_parts().into_iter().rfind(|p| *p < part);
            let Some(before) = before else { break };
            part = before;
            offset = std::fs::metadata(folder.text(part))?.len();
            continue;
        }
        let from = offset.saturating_sub(BLOCK);
        let mut block = vec![0; usize::try_from(offset - from).unwrap_or(0)];
        File::open(folder.text(part))?.read_exact_at(&mut block, from)?;
        breaks += block.iter().filter(|byte| **byte == b'\n').count();
        blocks.push_front(block);
        offset = from;
    }
    let bytes = Vec::from(blocks).concat();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(count);
    let lines = lines.get(from..).unwrap_or_default();
    Ok(lines.iter().map(|line| (*line).to_owned()).collect())
}

/// Where in the log a line of the text was written, which generation that is, and when it was.
pub struct Origins {
    folder: Folder,
    index: Index,
    generations: Vec<Begins>,
    times: Times,
}

impl Origins {
    pub fn new(folder: &Folder, caught: &Caught) -> Self {
        Self {
            folder: folder.clone(),
            index: Index::open(folder, caught.state.index),
            generations: notes::generations(folder),
            times: Times::default(),
        }
    }

    pub fn of_line(&mut self, line: u64) -> (u32, Option<i64>) {
        let raw = self.index.of_line(line).map(|entry| entry.raw);
        self.of_raw(raw.unwrap_or_default())
    }

    pub fn of_raw(&mut self, raw: Position) -> (u32, Option<i64>) {
        let begun = self.generations.partition_point(|b| b.from <= raw);
        let generation = self.generations.get(begun.saturating_sub(1));
        let at = self.times.at(&self.folder, raw);
        (generation.map_or(1, |b| b.generation), at)
    }
}
