//! How much of a handoff document goes along with the prompt of its successor, for every carrier.
//!
//! A document that fits goes whole. Of a longer one the sections that the work cannot go on without
//! go first: what it is for, its constraints, where it stands, what is next. The rest stays in its
//! file. Never changes a word of it: only control characters, which no prompt can hold, go, and tabs
//! become blanks.

use crate::words::sanitize;
use std::collections::{BTreeMap, BTreeSet};

/// Of a document in a prompt, in bytes. With what is said beside it this stays below what Claude
/// Code and Codex take whole by a paste, and far below the longest argument of a program.
pub const IN_A_PROMPT: usize = 48_000;

/// What goes along of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// Lines of the document, in order; where some are left out, a line says so.
    pub text: String,
    /// Characters of the document that are in it.
    pub characters: usize,
    /// Characters that the document has.
    pub of: usize,
}

impl Carried {
    pub fn is_whole(&self) -> bool {
        self.characters == self.of
    }
}

/// The words that headings of important sections begin or go with, most important first. The
/// template's own headings are among them.
const IMPORTANT: [&[&str]; 4] = [
    &["objective", "goal", "task", "purpose", "mission"],
    &["constraint", "pin", "rule", "requirement", "must"],
    &["state", "status", "progress", "done"],
    &["next", "action", "todo", "open", "remaining"],
];
/// The line that stands for what is left out, at most.
const MARK: usize = 80;

/// What goes along of a document within so many bytes; below those of a mark nothing but the mark.
pub fn carried(document: &str, most: usize) -> Carried {
    let document = plain(document);
    let document = document.trim_end();
    let of = document.chars().count();
    if document.len() <= most {
        return Carried {
            text: document.to_owned(),
            characters: of,
            of,
        };
    }
    let lines: Vec<Line> = ranked(document);
    let mut room = most;
    loop {
        let some = part(&lines, room, of);
        let over = some.text.len().saturating_sub(most);
        if over == 0 || room == 0 {
            return some;
        }
        room = room.saturating_sub(over); // for the lines that stand for what is left out
    }
}

/// The lines that are chosen for so much room, with what stands for the others.
fn part(lines: &[Line<'_>], room: usize, of: usize) -> Carried {
    let chosen = choose(lines, room);
    let mut text = String::new();
    let (mut characters, mut left_out) = (0, 0);
    for (at, line) in lines.iter().enumerate() {
        let taken = match chosen.get(&at) {
            Some(bytes) => &line.text[..*bytes],
            None => "",
        };
        if !taken.is_empty() {
            mark(&mut text, &mut left_out);
            text.push_str(taken);
            characters += taken.chars().count();
        }
        left_out += line.text[taken.len()..].chars().count();
    }
    mark(&mut text, &mut left_out);
    Carried {
        text: text.trim_end().to_owned(),
        characters,
        of,
    }
}

/// As every agent takes it by a paste: Claude Code makes tabs and line separators of Unicode into
/// these by itself, and a text that is changed on the way would have to go another one, where it is
/// labelled as nobody's words.
fn plain(document: &str) -> String {
    sanitize(document)
        .replace(['\u{2028}', '\u{2029}'], "\n")
        .replace('\t', "    ")
}

struct Line<'a> {
    /// With its line feed.
    text: &'a str,
    /// Of its section; the smaller, the more important.
    rank: usize,
    /// The first line of its section.
    heads: bool,
}

fn ranked(document: &str) -> Vec<Line<'_>> {
    let (mut rank, mut fenced) = (0, false); // what stands before the first heading says what it is
    let mut lines = Vec::new();
    for text in document.split_inclusive('\n') {
        let shown = text.trim();
        if shown.starts_with("```") || shown.starts_with("~~~") {
            fenced = !fenced;
        }
        let heads = !fenced && is_heading(text);
        if heads {
            rank = rank_of(shown);
        }
        lines.push(Line { text, rank, heads });
    }
    lines
}

fn is_heading(line: &str) -> bool {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    (1..=3).contains(&marks) && line[marks..].starts_with(' ')
}

fn rank_of(heading: &str) -> usize {
    let heading = heading.to_lowercase();
    let its: Vec<&str> = heading.split(|c: char| !c.is_alphanumeric()).collect();
    let named = |word: &&str| its.iter().any(|own| own.starts_with(word));
    let rank = IMPORTANT.iter().position(|words| words.iter().any(named));
    rank.unwrap_or(IMPORTANT.len())
}

/// How many bytes of which lines. A section that does not fit gives its first lines, and every
/// important one has a share: a long first one does not use up the room of the others.
fn choose(lines: &[Line<'_>], most: usize) -> BTreeMap<usize, usize> {
    let mut chosen = BTreeMap::new();
    let sections = lines.iter().filter(|line| line.heads).count() + 1;
    let mut room = most.saturating_sub(MARK * (sections + 1).min(most / MARK / 2));
    let ranks: BTreeSet<usize> = lines.iter().map(|line| line.rank).collect();
    let share = room / (2 * IMPORTANT.len());
    let wants = |rank: usize| -> usize {
        let its = lines.iter().filter(|line| line.rank == rank);
        its.map(|line| line.text.len()).sum::<usize>().min(share)
    };
    for &rank in &ranks {
        let later = ranks.range(rank + 1..IMPORTANT.len().max(rank + 1));
        let mut left = room.saturating_sub(later.map(|later| wants(*later)).sum());
        for (at, line) in lines.iter().enumerate().filter(|(_, l)| l.rank == rank) {
            let bytes = match line.text.len() <= left {
                true => line.text.len(),
                false => floor(line.text, left),
            };
            if bytes > 0 {
                chosen.insert(at, bytes);
            }
            left -= bytes;
            room -= bytes;
            if bytes < line.text.len() {
                break;
            }
        }
    }
    chosen
}

/// The last boundary of characters up to there.
fn floor(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

fn mark(text: &mut String, left_out: &mut usize) {
    if *left_out > 0 {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!(
            "[sm: {left_out} characters are left out here; the file has them]\n"
        ));
        *left_out = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_fits_goes_whole() {
        let document = "# Handoff\n\nRead me.\n\t/clear\n\u{1b}[201~\u{7}ä\n\n";
        let all = carried(document, 200);
        assert_eq!(all.text, "# Handoff\n\nRead me.\n    /clear\n[201~ä");
        assert!(all.is_whole());
        assert_eq!(all.of, all.text.chars().count());
        assert!(carried("", 10).is_whole());
    }

    #[test]
    fn of_a_long_one_what_matters_goes_first_and_in_its_order() {
        let log = "a line of a long log\n".repeat(400);
        let document = format!(
            "# Handoff\nabout the parser\n\n## Log\n{log}\n## Goal\nship it\n\n## Pins\nnever touch prod\n\n## What failed\n{log}\n## State of the work\nhalf\n\n## Next actions\n1. run it\n"
        );
        let some = carried(&document, 3_000);
        assert!(some.text.len() <= 3_000, "{}", some.text.len());
        let mut from = 0;
        for part in [
            "about the parser",
            "## Log",
            "left out here",
            "## Goal\nship it",
            "never touch prod",
            "left out here",
            "## State of the work\nhalf",
            "## Next actions\n1. run it",
        ] {
            let at = some.text[from..].find(part);
            from += at.unwrap_or_else(|| panic!("no {part:?} after {from}: {}", some.text));
        }
        assert!(!some.is_whole() && some.characters < some.of);
        // nothing was made up
        let own: usize = some
            .text
            .lines()
            .filter(|line| !line.starts_with("[sm: "))
            .map(|line| assert!(document.contains(line), "{line}"))
            .count();
        assert!(own > 20);
    }

    #[test]
    fn a_long_first_section_leaves_room_for_the_others() {
        let long = "words of the goal ".repeat(500);
        let document = format!("## Goal\n{long}\n## Next\nrun the tests\n");
        let some = carried(&document, 2_000);
        assert!(some.text.len() <= 2_000, "{}", some.text.len());
        assert!(
            some.text.contains("## Next\nrun the tests"),
            "{}",
            some.text
        );
        assert!(some.text.starts_with("## Goal\nwords of the goal"));
    }

    #[test]
    fn any_text_is_cut_at_a_character_and_within_its_bytes() {
        for (text, most) in [
            ("ä".repeat(5_000), 1_001),
            ("# Ä\n".repeat(2_000), 999),
            ("```\n# no heading\n```\n".repeat(500), 500),
            ("x\n".repeat(9_000), 81),
        ] {
            let some = carried(&text, most);
            assert!(some.text.len() <= most, "{} of {most}", some.text.len());
            assert!(some.characters <= some.of && some.characters > 0);
        }
        let heading = "# a heading inside of a fence";
        assert_eq!(ranked(&format!("```\n{heading}\n```"))[1].rank, 0);
    }
}
