//! When which part of the log was written: a small file beside each part.
//!
//! A line for each second in which something was printed, at most: where in the part that second's
//! output begins, and when it was. Nothing depends on it but times that people are shown, so a mark
//! that cannot be written is simply missing.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Between two marks, in milliseconds.
const BETWEEN: u64 = 1000;

#[derive(Default)]
pub struct Times {
    /// The file for a part, by the part's number.
    open: Option<(u32, File)>,
    last: u64,
}

impl Times {
    /// What is written next begins at `offset` of that part, `now` (milliseconds since the epoch).
    pub fn mark(&mut self, dir: &Path, part: u32, offset: u64, now: u64) {
        let same = matches!(&self.open, Some((open, _)) if *open == part);
        // A clock that was set back is no reason to wait until it is where it was.
        if same && now >= self.last && now - self.last < BETWEEN {
            return;
        }
        if !same {
            self.open = OpenOptions::new()
                .append(true)
                .create(true)
                .mode(0o600)
                .open(dir.join(format!("terminal.{part:06}.times")))
                .ok()
                .map(|file| (part, file));
        }
        if let Some((_, file)) = &mut self.open {
            // One write: whoever reads sees whole lines.
            let _ = file.write_all(format!("{offset} {now}\n").as_bytes());
        }
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mark_a_second_and_one_for_each_part() {
        let temp = tempfile::tempdir().unwrap();
        let mut times = Times::default();
        for (part, offset, now) in [
            (1, 0, 5_000),
            (1, 10, 5_999),
            (1, 20, 6_000),
            (1, 30, 6_500),
            (2, 0, 6_600),
            (2, 5, 6_700),
            (2, 9, 900), // set back
        ] {
            times.mark(temp.path(), part, offset, now);
        }
        let read = |part: u32| {
            std::fs::read_to_string(temp.path().join(format!("terminal.{part:06}.times"))).unwrap()
        };
        assert_eq!(read(1), "0 5000\n20 6000\n");
        assert_eq!(read(2), "0 6600\n9 900\n");
        // In a folder that is gone nothing happens.
        Times::default().mark(&temp.path().join("gone"), 1, 0, 1);
    }
}
