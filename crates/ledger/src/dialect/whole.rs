//! A whole transcript, piece by piece from whoever can read it.

use super::{Dialect, Reader, Stats, detect};
use crate::record::{At, Record};

/// What is asked for at once, and before it is known whose transcript it is.
const CHUNK: usize = 256 * 1024;

/// Reads until `more` gives nothing, or `until` lines were read; a last line that lacks its end is
/// taken as it is. `more` fills the beginning of a buffer and says how much that was. Without a
/// dialect it is found out; `None`: it is nobody's transcript.
pub fn whole<E>(
    dialect: Option<Dialect>,
    until: u64,
    mut more: impl FnMut(&mut [u8]) -> Result<usize, E>,
    tell: &mut impl FnMut(At, Record<'_>),
) -> Result<Option<(Dialect, Stats)>, E> {
    let mut buffer = vec![0_u8; CHUNK];
    let mut have = 0;
    while let Some(room) = buffer.get_mut(have..).filter(|room| !room.is_empty()) {
        match more(room)? {
            0 => break,
            count => have += count,
        }
    }
    let head = buffer.get(..have).unwrap_or_default();
    let Some(dialect) = dialect.or_else(|| detect(head)) else {
        return Ok(None);
    };
    let mut reader = Reader::new(dialect);
    let mut tell = |at: At, record: Record<'_>| {
        if at.line <= until {
            tell(at, record);
        }
    };
    while have > 0 && reader.stats().lines < until {
        reader.feed(buffer.get(..have).unwrap_or_default(), &mut tell);
        have = more(&mut buffer)?;
    }
    if have == 0 {
        reader.feed(b"\n", &mut tell);
    }
    Ok(Some((dialect, reader.stats())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(n: usize) -> String {
        format!(
            "{{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":\"directive number {n}\"}}}}"
        )
    }

    fn read(text: &str, piece: usize, until: u64) -> Option<(Dialect, Vec<u64>)> {
        let mut rest = text.as_bytes();
        let mut lines = Vec::new();
        let more = |buffer: &mut [u8]| {
            let count = rest.len().min(piece).min(buffer.len());
            let (now, later) = rest.split_at(count);
            buffer[..count].copy_from_slice(now);
            rest = later;
            Ok::<_, ()>(count)
        };
        let found = whole(None, until, more, &mut |at, _| lines.push(at.line)).unwrap();
        lines.dedup();
        found.map(|(dialect, _)| (dialect, lines))
    }

    #[test]
    fn to_its_last_line_however_it_comes() {
        let text = [line(1), line(2), line(3)].join("\n");
        for piece in [1, 7, 1 << 20] {
            for (until, lines) in [
                (u64::MAX, &[1, 2, 3][..]),
                (2, &[1, 2]),
                (0, &[]),
                (9, &[1, 2, 3]),
            ] {
                let read = read(&text, piece, until).unwrap();
                assert_eq!(read.0, Dialect::Claude);
                assert_eq!(read.1, lines, "{until} in pieces of {piece}");
            }
        }
        assert_eq!(read("# Notes\n", 4, 9), None);
        assert_eq!(read("", 4, 9), None);
    }

    #[test]
    fn who_cannot_read_on_says_so() {
        let failed = whole(None, 9, |_| Err("gone"), &mut |_, _| {});
        assert_eq!(failed, Err("gone"));
    }
}
