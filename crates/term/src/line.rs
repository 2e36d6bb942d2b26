//! Lines of text, and when two of them are the same or nearly so.

use crate::row::{Clusters, Row};

/// A readable line, and where in the log it was last written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    pub text: String,
    pub at: u64,
}

/// A line that wraps on and on is cut here.
const MAX_LINE: usize = 64 << 10;

impl Line {
    pub(crate) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// One more row of this line; the whole line, if it ends with it.
    pub(crate) fn push(&mut self, row: &Row, clusters: &Clusters) -> Option<Line> {
        row.text(clusters, &mut self.text);
        self.at = self.at.max(row.at);
        (!row.wrapped || self.text.len() >= MAX_LINE).then(|| self.end())
    }

    /// The line as it is, without blanks at its end.
    pub(crate) fn end(&mut self) -> Line {
        let mut line = std::mem::take(self);
        line.text.truncate(line.text.trim_end().len());
        line
    }
}

/// The same for the same text in every build: it is kept in files.
pub(crate) fn hash(text: &str) -> u32 {
    const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = text.len() as u64 ^ PRIME;
    let mut words = text.as_bytes().chunks_exact(8);
    for word in &mut words {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(word);
        hash = (hash ^ u64::from_le_bytes(bytes)).wrapping_mul(PRIME);
        hash ^= hash >> 29;
    }
    for byte in words.remainder() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    }
    (hash >> 32) as u32 ^ hash as u32
}

/// What stays of a line that only counts or spins: equal for lines that differ by no more.
pub(crate) fn skeleton(text: &str) -> u32 {
    let kept: String = text.chars().filter(|c| says_something(*c)).collect();
    match kept.is_empty() {
        false => hash(&kept),
        // A number alone is no noise.
        true if text.contains(|c: char| c.is_ascii_digit()) => !hash(text),
        true => hash(""),
    }
}

fn says_something(c: char) -> bool {
    match c {
        '0'..='9' | ' ' | '.' | '/' | '|' | '\\' | '-' | '*' | '#' | '=' | '>' => false,
        // Dots, arrows, boxes, blocks, stars, braille: what spinners and bars are made of.
        '·'
        | '…'
        | '•'
        | '\u{2190}'..='\u{21ff}'
        | '\u{2500}'..='\u{27bf}'
        | '\u{2800}'..='\u{28ff}' => false,
        _ => true,
    }
}

/// Whether one line became the other by counting, spinning or growing.
pub(crate) fn similar(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() {
        (one, other)
    } else {
        (other, one)
    };
    let short = short.trim_end();
    !short.is_empty() && (long.starts_with(short) || skeleton(one) == skeleton(other))
}

/// Whether nothing of it is text: rules, boxes, spinners.
pub(crate) fn is_decoration(text: &str) -> bool {
    !text.contains(|c: char| c.is_ascii_digit() || says_something(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_by_noise() {
        for (one, other, expected) in [
            (
                "✻ Churning… (3s · ↓ 3 tokens)",
                "✶ Churning… (14s · ↓ 312 tokens)",
                true,
            ),
            ("[##   ] 10%", "[#####] 100%", true),
            ("The answ", "The answer is", true),
            ("────", "──────────", true),
            (
                "• Working (2s • esc to interrupt)",
                "• Working (3s • esc to interrupt)",
                true,
            ),
            ("⠋", "⠙", true),
            ("41", "42", false),
            ("", "text", false),
            ("The answer is", "The question is", false),
            ("fn main() {", "fn other() {", false),
        ] {
            assert_eq!(similar(one, other), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn different_lines_have_different_hashes() {
        let lines: Vec<u32> = (0..10_000).map(|n| hash(&format!("line {n}"))).collect();
        let mut unique = lines.clone();
        unique.sort_unstable();
        unique.dedup();
        assert!(unique.len() >= 9_998, "{}", unique.len());
        // Kept in files: must not change.
        assert_eq!(hash("line 1"), lines[1]);
        assert_eq!(hash(""), 0x9e37_79b9 ^ 0x7f4a_7c15);
    }
}
