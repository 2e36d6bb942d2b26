//! Cuts a growing file into lines, keeping the unfinished last one. Memory is bounded: a line
//! that is too long is skipped to its end.

/// Longest line that is read. A prompt may hold megabytes; images are far below this.
pub const MAX_LINE: usize = 32 * 1024 * 1024;

#[derive(Debug, Default)]
pub struct Lines {
    partial: Vec<u8>,
    skipping: bool,
    skipped: u64,
    max: usize,
}

impl Lines {
    pub fn new(max: usize) -> Self {
        Self {
            max,
            ..Self::default()
        }
    }

    /// How many lines were too long to be read.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Takes the next bytes and gives every line that is now complete, without its line end.
    pub fn feed(&mut self, mut bytes: &[u8], mut line: impl FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|b| *b == b'\n') {
            let (head, rest) = (&bytes[..end], &bytes[end + 1..]);
            bytes = rest;
            self.end(head, &mut line);
        }
        self.hold(bytes);
    }

    /// Takes the bytes up to a line end, for who has looked for it already.
    pub fn end(&mut self, head: &[u8], mut line: impl FnMut(&[u8])) {
        if self.skipping {
            self.skipping = false;
        } else if self.partial.len() + head.len() > self.max {
            self.partial = Vec::new();
            self.skipped += 1;
        } else if self.partial.is_empty() {
            line(head);
        } else {
            self.partial.extend_from_slice(head);
            line(&self.partial);
            self.partial.clear();
            self.partial.shrink_to(64 * 1024);
        }
    }

    /// Takes bytes that have no line end in them.
    pub fn hold(&mut self, bytes: &[u8]) {
        if self.skipping {
            return;
        }
        if self.partial.len() + bytes.len() > self.max {
            self.partial = Vec::new();
            self.skipping = true;
            self.skipped += 1;
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(lines: &mut Lines, chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        for chunk in chunks {
            lines.feed(chunk, |line| out.push(line.to_vec()));
        }
        out
    }

    #[test]
    fn too_long_lines_are_skipped_and_counted() {
        let mut lines = Lines::new(4);
        let out = all(
            &mut lines,
            &[b"abcd\nabc", b"de", b"f\nxy\n", b"toolong\nz\n"],
        );
        assert_eq!(out, [b"abcd".to_vec(), b"xy".to_vec(), b"z".to_vec()]);
        assert_eq!(lines.skipped(), 2);
    }

    proptest! {
        #[test]
        fn cutting_anywhere_gives_the_same_lines(
            text in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(0usize..200, 0..8),
        ) {
            let whole = all(&mut Lines::new(20), &[&text]);
            let mut cuts: Vec<_> = cuts.into_iter().map(|c| c.min(text.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&text[from..cut]);
                from = cut;
            }
            chunks.push(&text[from..]);
            prop_assert_eq!(whole, all(&mut Lines::new(20), &chunks));
        }
    }
}
