//! Searching the archive, line by line, from the beginning to the end. Bounded: a piece of text and
//! the lines around a match are in memory, however long the archive and however many matches.

use super::place::{Folder, Position};
use super::read::{Origins, Span, Texts, rest_of};
use super::render::Caught;
use regex::bytes::{Regex, RegexBuilder};
use std::collections::VecDeque;
use std::io;

/// So much text is searched at once, and so much found text is handed on at once.
const AT_ONCE: usize = 4 << 20;
const FOUND_AT_ONCE: usize = 64 << 10;
/// What a pattern may need when it is compiled.
const PATTERN_SIZE: usize = 4 << 20;

pub struct Wanted {
    pattern: Regex,
    /// So many lines before and after each match.
    context: usize,
}

impl Wanted {
    /// The error says what is wrong with the pattern.
    pub fn new(pattern: &str, any_case: bool, context: usize) -> Result<Self, String> {
        let pattern = RegexBuilder::new(pattern)
            .case_insensitive(any_case)
            .size_limit(PATTERN_SIZE)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
                other => other.to_string(),
            })?;
        Ok(Self {
            pattern,
            context: context.min(1000),
        })
    }
}

/// A line that matches, or one near it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its number in the archive, from 1.
    pub line: u64,
    pub generation: u32,
    /// Milliseconds since the epoch.
    pub at: Option<i64>,
    pub is_match: bool,
    pub text: String,
}

pub struct Search {
    wanted: Wanted,
    texts: Texts,
    origins: Origins,
    /// A line whose end is not read yet.
    unfinished: Vec<u8>,
    /// The number of the next line, from 0.
    line: u64,
    /// From here on the lines are those of the rest, with where they were written.
    rest_from: u64,
    rest: Vec<u64>,
    before: VecDeque<(u64, Vec<u8>)>,
    /// So many lines after the last match are still wanted.
    after: usize,
    ended: bool,
}

impl Search {
    pub fn new(folder: &Folder, caught: &Caught, span: Span, wanted: Wanted) -> Self {
        let texts = Texts::new(folder, caught, span);
        let (skipped, rest) = rest_of(caught, span);
        Self {
            line: texts.first,
            texts,
            wanted,
            origins: Origins::new(folder, caught),
            unfinished: Vec::new(),
            rest_from: caught.state.lines + skipped,
            rest: rest.iter().map(|line| line.at).collect(),
            before: VecDeque::new(),
            after: 0,
            ended: false,
        }
    }

    /// What is found next; nothing at the end. An empty list: nothing yet.
    pub fn next_found(&mut self) -> io::Result<Option<Vec<Found>>> {
        if self.ended {
            return Ok(None);
        }
        let mut found = Vec::new();
        let (mut searched, mut handed) = (0, 0);
        while searched < AT_ONCE && handed < FOUND_AT_ONCE {
            let piece = self.texts.next_piece()?;
            if piece.is_empty() {
                self.ended = true;
                break;
            }
            searched += piece.len();
            let mut bytes = std::mem::take(&mut self.unfinished);
            bytes.extend(piece);
            let whole = bytes
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |last| last + 1);
            self.unfinished = bytes.split_off(whole);
            let known = found.len();
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                self.look(line.strip_suffix(b"\n").unwrap_or(line), &mut found);
            }
            handed += found
                .iter()
                .skip(known)
                .map(|found: &Found| found.text.len() + 64)
                .sum::<usize>();
        }
        Ok(Some(found))
    }

    fn look(&mut self, text: &[u8], found: &mut Vec<Found>) {
        let line = self.line;
        self.line += 1;
        if self.wanted.pattern.is_match(text) {
            for (line, text) in std::mem::take(&mut self.before) {
                found.push(self.found(line, &text, false));
            }
            found.push(self.found(line, text, true));
            self.after = self.wanted.context;
        } else if self.after > 0 {
            self.after -= 1;
            found.push(self.found(line, text, false));
        } else if self.wanted.context > 0 {
            if self.before.len() == self.wanted.context {
                self.before.pop_front();
            }
            self.before.push_back((line, text.to_vec()));
        }
    }

    fn found(&mut self, line: u64, text: &[u8], is_match: bool) -> Found {
        let in_rest = line.checked_sub(self.rest_from);
        let raw = in_rest.and_then(|at| self.rest.get(usize::try_from(at).ok()?));
        let (generation, at) = match raw {
            Some(raw) => self.origins.of_raw(Position::unpacked(*raw)),
            None => self.origins.of_line(line),
        };
        Found {
            line: line + 1,
            generation,
            at,
            is_match,
            text: String::from_utf8_lossy(text).into_owned(),
        }
    }
}
