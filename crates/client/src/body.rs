//! The body of an HTTP answer, decoded as it arrives.
//!
//! Every step either consumes bytes and moves on, or leaves everything as it was: a read that
//! ran out of time can be repeated.

use std::time::Instant;

use crate::http::{Connection, HttpError};

/// A chunk's size line is never longer than this.
const MAX_SIZE_LINE: usize = 4096;

/// Where the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// So many bytes are still to come.
    Length(u64),
    UntilClose,
    ChunkSize,
    ChunkData(u64),
    ChunkEnd,
    Trailer,
    Done,
}

#[derive(Debug)]
pub(crate) struct Body {
    framing: Framing,
}

impl Body {
    pub(crate) fn new(framing: Framing) -> Self {
        Self { framing }
    }

    /// Appends what is there, waiting for at least something; `false` when the body is complete.
    pub(crate) fn read(
        &mut self,
        connection: &mut Connection,
        out: &mut Vec<u8>,
        deadline: Option<Instant>,
    ) -> Result<bool, HttpError> {
        loop {
            let before = out.len();
            self.decode(connection.buffer(), out)?;
            if self.framing == Framing::Done {
                return Ok(false);
            }
            if out.len() > before {
                return Ok(true);
            }
            if connection.fill(deadline)? == 0 {
                return match self.framing {
                    Framing::UntilClose => {
                        self.framing = Framing::Done;
                        Ok(false)
                    }
                    Framing::Length(_)
                    | Framing::ChunkSize
                    | Framing::ChunkData(_)
                    | Framing::ChunkEnd
                    | Framing::Trailer
                    | Framing::Done => Err(HttpError::Closed),
                };
            }
        }
    }

    /// Moves everything that can be decoded out of the buffer.
    fn decode(&mut self, buffer: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), HttpError> {
        let mut at = 0;
        let result = loop {
            let rest = &buffer[at..];
            match self.framing {
                Framing::Done => break Ok(()),
                Framing::UntilClose => {
                    out.extend_from_slice(rest);
                    at = buffer.len();
                    break Ok(());
                }
                Framing::Length(0) => self.framing = Framing::Done,
                Framing::ChunkData(0) => self.framing = Framing::ChunkEnd,
                Framing::Length(left) | Framing::ChunkData(left) => {
                    if rest.is_empty() {
                        break Ok(());
                    }
                    let here = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    out.extend_from_slice(&rest[..here]);
                    at += here;
                    let left = left - here as u64;
                    self.framing = match self.framing {
                        Framing::Length(_) => Framing::Length(left),
                        Framing::ChunkData(_)
                        | Framing::UntilClose
                        | Framing::ChunkSize
                        | Framing::ChunkEnd
                        | Framing::Trailer
                        | Framing::Done => Framing::ChunkData(left),
                    };
                }
                Framing::ChunkSize | Framing::ChunkEnd | Framing::Trailer => {
                    let Some(length) = rest.iter().position(|byte| *byte == b'\n') else {
                        break if rest.len() > MAX_SIZE_LINE {
                            Err(HttpError::Malformed("endless chunk line"))
                        } else {
                            Ok(())
                        };
                    };
                    let line = rest[..length]
                        .strip_suffix(b"\r")
                        .unwrap_or(&rest[..length]);
                    match next(self.framing, line) {
                        Ok(framing) => self.framing = framing,
                        Err(error) => break Err(error),
                    }
                    at += length + 1;
                }
            }
        };
        buffer.drain(..at);
        result
    }
}

/// What follows a line of the chunked coding.
fn next(framing: Framing, line: &[u8]) -> Result<Framing, HttpError> {
    match framing {
        Framing::ChunkSize => {
            let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
            let size = std::str::from_utf8(digits)
                .ok()
                .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
                .ok_or(HttpError::Malformed("chunk size is no number"))?;
            Ok(match size {
                0 => Framing::Trailer,
                size => Framing::ChunkData(size),
            })
        }
        Framing::ChunkEnd if line.is_empty() => Ok(Framing::ChunkSize),
        Framing::ChunkEnd => Err(HttpError::Malformed("chunk is longer than its size")),
        Framing::Trailer if line.is_empty() => Ok(Framing::Done),
        Framing::Trailer => Ok(Framing::Trailer),
        Framing::Length(_) | Framing::UntilClose | Framing::ChunkData(_) | Framing::Done => {
            Ok(framing)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes the bytes in pieces of every size: the result must not depend on it.
    fn decode(framing: Framing, bytes: &[u8]) -> Result<(Vec<u8>, bool), &'static str> {
        let mut results = Vec::new();
        for piece in 1..=bytes.len().max(1) {
            let mut body = Body::new(framing);
            let (mut buffer, mut out) = (Vec::new(), Vec::new());
            let mut failed = None;
            for part in bytes.chunks(piece) {
                buffer.extend_from_slice(part);
                if let Err(error) = body.decode(&mut buffer, &mut out) {
                    failed = Some(error);
                    break;
                }
            }
            results.push(match failed {
                Some(HttpError::Malformed(why)) => Err(why),
                Some(_) => Err("other"),
                None => Ok((out, body.framing == Framing::Done)),
            });
        }
        assert!(
            results.windows(2).all(|pair| pair[0] == pair[1]),
            "{bytes:?}"
        );
        results.remove(0)
    }

    #[test]
    fn every_framing_gives_the_same_bytes_however_they_arrive() {
        type Row = (
            Framing,
            &'static str,
            Result<(&'static str, bool), &'static str>,
        );
        let rows: &[Row] = &[
            (Framing::Length(5), "hello", Ok(("hello", true))),
            (Framing::Length(5), "hello more", Ok(("hello", true))),
            (Framing::Length(6), "hello", Ok(("hello", false))),
            (Framing::UntilClose, "hello", Ok(("hello", false))),
            (
                Framing::ChunkSize,
                "5\r\nhello\r\n0\r\n\r\n",
                Ok(("hello", true)),
            ),
            (
                Framing::ChunkSize,
                "5;x=1\r\nhello\r\nA\r\n, world!!!\r\n0\r\nt: x\r\n\r\n",
                Ok(("hello, world!!!", true)),
            ),
            (Framing::ChunkSize, "5\r\nhel", Ok(("hel", false))),
            (
                Framing::ChunkSize,
                "x\r\nhel",
                Err("chunk size is no number"),
            ),
            (
                Framing::ChunkSize,
                "2\r\nhello\r\n",
                Err("chunk is longer than its size"),
            ),
        ];
        for (framing, bytes, expected) in rows {
            let expected = expected.map(|(text, done)| (text.as_bytes().to_vec(), done));
            assert_eq!(decode(*framing, bytes.as_bytes()), expected, "{bytes:?}");
        }
    }
}
