//! Reading a file, in pieces that a model can take.
//!
//! Memory holds one piece, whatever the size of the file.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use sm_llm::Block;
use tokio_util::sync::CancellationToken;

use super::ToolContext;
use super::args::Args;
use super::outcome::{ToolOutcome, blocking};
use super::paths::{self, size};

const MOST_LINES: u64 = 2_000;
const MOST_BYTES: usize = 50_000;
/// Providers take images of 5 MB in base64.
const LARGEST_IMAGE: u64 = 3_700_000;
/// How much of the beginning tells what a file is.
const LOOK: usize = 8 << 10;
/// How long may be looked for the line to begin with.
const PATIENCE: Duration = Duration::from_secs(30);
const BOM: &[u8] = "\u{feff}".as_bytes();

pub(super) async fn run(
    args: Args<'_>,
    context: &mut ToolContext<'_>,
) -> Result<ToolOutcome, String> {
    let cwd = context.cwd.to_path_buf();
    let path = paths::absolute(&cwd, args.path("path")?);
    let first = args.maybe_count("offset")?.unwrap_or(1);
    let limit = args
        .maybe_count("limit")?
        .unwrap_or(MOST_LINES)
        .min(MOST_LINES);
    let cancel = context.cancel.clone();
    blocking(context.cancel, move || {
        read(&cwd, &path, first, limit, &cancel)
    })
    .await
}

fn read(
    cwd: &Path,
    path: &Path,
    first: u64,
    limit: u64,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, String> {
    let (mut file, metadata) = paths::open_file(cwd, path)?;
    let trouble = |error| paths::trouble(cwd, path, &error);
    let mut beginning = Vec::new();
    file.by_ref()
        .take(LOOK as u64)
        .read_to_end(&mut beginning)
        .map_err(trouble)?;
    file.rewind().map_err(trouble)?;
    let name = paths::told(cwd, path);
    if let Some(mime_type) = image(&beginning) {
        return show(&mut file, &name, metadata.len(), mime_type);
    }
    if beginning.contains(&0) {
        let kind = match beginning.as_slice() {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16 text (use bash with iconv to read it)",
            _ => "binary",
        };
        return Err(format!("{name} is {kind}, {}", size(metadata.len())));
    }
    let mut piece = Piece::new(BufReader::with_capacity(64 << 10, file));
    let skipped = piece.skip(first - 1, cancel).map_err(trouble)?;
    if cancel.is_cancelled() {
        return Ok(ToolOutcome::cancelled());
    }
    match skipped {
        Skipped::All => {}
        Skipped::Only(lines) => {
            return Err(format!(
                "{name} has {lines} lines: there is no line {first}"
            ));
        }
        Skipped::TooSlow(lines) => {
            return Err(format!(
                "{name} is too large to be read from line {first}: {lines} lines took {} seconds; use bash (tail, sed -n) instead",
                PATIENCE.as_secs()
            ));
        }
    }
    let taken = piece.take(limit).map_err(trouble)?;
    Ok(tell(&taken, &name, first, metadata.len()))
}

fn tell(taken: &Taken, name: &str, first: u64, length: u64) -> ToolOutcome {
    let bytes = if first == 1 {
        taken.bytes.strip_prefix(BOM).unwrap_or(&taken.bytes)
    } else {
        &taken.bytes
    };
    let text = String::from_utf8_lossy(bytes);
    let replaced = matches!(text, std::borrow::Cow::Owned(_));
    // A line's end is told as one newline: edit finds it whichever it is.
    let mut text = text.replace("\r\n", "\n");
    let next = first + taken.lines;
    let mut notes = Vec::new();
    if length == 0 {
        notes.push(format!("{name} is empty"));
    }
    if replaced {
        notes.push("not all of it is UTF-8: other bytes are shown as \u{fffd}".to_string());
    }
    match taken.end {
        End::OfFile => {}
        End::OfPiece => notes.push(format!(
            "lines {first} to {} of a file of {}; rest: offset {next}",
            next - 1,
            size(length)
        )),
        End::InLine => notes.push(format!(
            "line {first} is longer than {}: only its beginning is shown; use bash (cut -c) for more of it; lines after it: offset {}",
            size(MOST_BYTES as u64),
            first + 1
        )),
    }
    if !notes.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{}]", notes.join("; ")));
    }
    ToolOutcome::text(text).with(json!({
        "path": name,
        "firstLine": first,
        "lines": taken.lines,
        "truncated": taken.end != End::OfFile,
    }))
}

fn show(file: &mut File, name: &str, length: u64, mime_type: &str) -> Result<ToolOutcome, String> {
    if length > LARGEST_IMAGE {
        return Err(format!(
            "{name} is an image of {}; at most {} can be shown: make a smaller copy of it",
            size(length),
            size(LARGEST_IMAGE)
        ));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST_IMAGE)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{name}: {error}"))?;
    let mut outcome = ToolOutcome::text(format!("{name}: {mime_type}, {}", size(length)));
    outcome.content.push(Block::Image {
        data: base64(&bytes),
        mime_type: mime_type.to_string(),
    });
    Ok(outcome.with(json!({ "path": name, "mimeType": mime_type })))
}

fn image(beginning: &[u8]) -> Option<&'static str> {
    match beginning {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().enumerate().fold(0_u32, |bits, (i, byte)| {
            bits | u32::from(*byte) << (16 - 8 * i)
        });
        for letter in 0..4 {
            if letter <= three.len() {
                let index = (bits >> (18 - 6 * letter)) & 63;
                text.push(char::from(LETTERS[index as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

enum Skipped {
    All,
    /// The file ended before.
    Only(u64),
    TooSlow(u64),
}

#[derive(PartialEq)]
enum End {
    OfFile,
    OfPiece,
    /// Not even the first line fitted.
    InLine,
}

struct Taken {
    bytes: Vec<u8>,
    lines: u64,
    end: End,
}

struct Piece<R> {
    reader: R,
}

impl<R: BufRead> Piece<R> {
    fn new(reader: R) -> Self {
        Self { reader }
    }

    fn skip(&mut self, lines: u64, cancel: &CancellationToken) -> std::io::Result<Skipped> {
        let since = Instant::now();
        let mut seen = 0;
        let mut in_line = false;
        while seen < lines {
            if cancel.is_cancelled() || since.elapsed() > PATIENCE {
                return Ok(Skipped::TooSlow(seen));
            }
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                return Ok(Skipped::Only(seen + u64::from(in_line)));
            }
            let mut used = 0;
            for end in memchr::memchr_iter(b'\n', chunk) {
                seen += 1;
                used = end + 1;
                if seen == lines {
                    break;
                }
            }
            if seen < lines {
                in_line = used < chunk.len();
                used = chunk.len();
            }
            self.reader.consume(used);
        }
        if lines > 0 && self.reader.fill_buf()?.is_empty() {
            return Ok(Skipped::Only(seen));
        }
        Ok(Skipped::All)
    }

    /// Whole lines, as many as fit.
    fn take(&mut self, most: u64) -> std::io::Result<Taken> {
        let mut taken = Taken {
            bytes: Vec::new(),
            lines: 0,
            end: End::OfPiece,
        };
        while taken.lines < most {
            let room = MOST_BYTES - taken.bytes.len();
            let before = taken.bytes.len();
            let got = (&mut self.reader)
                .take(room as u64)
                .read_until(b'\n', &mut taken.bytes)?;
            if taken.bytes.last() == Some(&b'\n') && got > 0 {
                taken.lines += 1;
            } else if self.reader.fill_buf()?.is_empty() {
                taken.lines += u64::from(got > 0);
                taken.end = End::OfFile;
                return Ok(taken);
            } else {
                // The line goes on and there is no more room.
                if taken.lines == 0 {
                    taken.lines = 1;
                    taken.end = End::InLine;
                } else {
                    taken.bytes.truncate(before);
                }
                return Ok(taken);
            }
        }
        if self.reader.fill_buf()?.is_empty() {
            taken.end = End::OfFile;
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_everywhere() {
        for (bytes, wanted) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), wanted);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }
}
