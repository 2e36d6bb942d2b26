//! What a command puts out: made readable, kept within bounds, shown as it comes.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::paths::size;

/// What the model gets: half of it the beginning, half the end.
pub(super) const MOST: usize = 30_000;
/// What is kept in a file of an output that is longer.
const LARGEST_FILE: u64 = 50_000_000;
/// How often the screen is told.
pub(super) const PAUSE: Duration = Duration::from_millis(50);
/// How much it is told at once.
const LONGEST_UPDATE: usize = 8_000;

/// The output of one command so far.
pub(super) struct Output {
    folder: PathBuf,
    head: Vec<u8>,
    /// What came after the head, its last `MOST / 2` bytes at least.
    tail: Vec<u8>,
    total: u64,
    whole: Whole,
    unshown: Vec<u8>,
    shown: Option<Instant>,
}

/// The file with everything.
enum Whole {
    /// Not needed so far.
    None,
    Open {
        file: File,
        path: PathBuf,
        written: u64,
    },
    /// It could not be made.
    Failed,
}

impl Output {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            head: Vec::new(),
            tail: Vec::new(),
            total: 0,
            whole: Whole::None,
            unshown: Vec::new(),
            shown: None,
        }
    }

    pub(super) fn add(&mut self, bytes: &[u8], on_output: &mut dyn FnMut(&str)) {
        self.total += bytes.len() as u64;
        self.keep(bytes);
        let room = MOST / 2 - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        // Cut rarely, so that a flood is not copied again and again.
        if self.tail.len() > MOST * 4 {
            self.tail.drain(..self.tail.len() - MOST / 2);
        }
        self.unshown.extend_from_slice(bytes);
        if self.unshown.len() > LONGEST_UPDATE {
            let over = self.unshown.len() - LONGEST_UPDATE;
            self.unshown.drain(..over);
        }
        if self.shown.is_none_or(|at| at.elapsed() >= PAUSE) {
            self.show(on_output);
        }
    }

    /// Tells the screen what it has not been told, up to the last whole line; all at the end.
    fn show(&mut self, on_output: &mut dyn FnMut(&str)) {
        let Some(end) = memchr::memrchr(b'\n', &self.unshown) else {
            return;
        };
        let text = readable(&self.unshown[..=end]);
        self.unshown.drain(..=end);
        self.shown = Some(Instant::now());
        on_output(&text);
    }

    /// Whatever has not been shown yet.
    pub(super) fn flush(&mut self, on_output: &mut dyn FnMut(&str)) {
        if !self.unshown.is_empty() {
            on_output(&readable(&self.unshown));
            self.unshown.clear();
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.total <= MOST as u64 {
            return;
        }
        if let Whole::None = self.whole {
            self.whole = self.begin();
        }
        if let Whole::Open { file, written, .. } = &mut self.whole {
            let room = usize::try_from(LARGEST_FILE - *written).unwrap_or(usize::MAX);
            let part = &bytes[..bytes.len().min(room)];
            if file.write_all(part).is_err() {
                self.whole = Whole::Failed;
            } else {
                *written += part.len() as u64;
            }
        }
    }

    fn begin(&self) -> Whole {
        let begun = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .and_then(|()| self.file());
        match begun {
            Ok((mut file, path)) => {
                let before = [self.head.as_slice(), &self.tail].concat();
                match file.write_all(&before) {
                    Ok(()) => Whole::Open {
                        file,
                        path,
                        written: before.len() as u64,
                    },
                    Err(_) => Whole::Failed,
                }
            }
            Err(_) => Whole::Failed,
        }
    }

    fn file(&self) -> std::io::Result<(File, PathBuf)> {
        let mut number = 0;
        loop {
            let name = format!("bash-{}-{number}.log", std::process::id());
            let path = self.folder.join(name);
            let opened = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path);
            match opened {
                Err(error)
                    if error.kind() == std::io::ErrorKind::AlreadyExists && number < 100_000 =>
                {
                    number += 1;
                }
                Err(error) => return Err(error),
                Ok(file) => return Ok((file, path)),
            }
        }
    }

    /// Where the whole output is, should the model not have been given it.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.whole {
            Whole::Open { path, .. } => Some(path),
            Whole::None | Whole::Failed => None,
        }
    }

    /// What the model is told.
    pub(super) fn text(&self) -> String {
        if self.total <= MOST as u64 {
            return readable(&[self.head.as_slice(), &self.tail].concat());
        }
        let tail = &self.tail[self.tail.len().saturating_sub(MOST / 2)..];
        // Half lines at the cut are no use.
        let head =
            &self.head[..memchr::memrchr(b'\n', &self.head).map_or(self.head.len(), |i| i + 1)];
        let tail = &tail[memchr::memchr(b'\n', tail)
            .map(|i| i + 1)
            .filter(|i| *i < tail.len())
            .unwrap_or(0)..];
        let left_out = self.total - (head.len() + tail.len()) as u64;
        let place = match &self.whole {
            Whole::Open { path, written, .. } if *written < self.total => {
                format!("; the first {} are in {}", size(*written), path.display())
            }
            Whole::Open { path, .. } => format!("; the whole output is in {}", path.display()),
            Whole::None | Whole::Failed => String::new(),
        };
        format!(
            "{}\n[… {} left out here{place} …]\n\n{}",
            readable(head),
            size(left_out),
            readable(tail)
        )
    }
}

/// Text as it would stand on a screen: no colours or other commands to a terminal, of lines that
/// were written over what was written last, no other control characters.
pub(super) fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut line = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut chars),
            '\u{9b}' => skip_control(&mut chars),
            '\n' => {
                out.push('\n');
                line = out.len();
            }
            '\r' => {
                while chars.peek() == Some(&'\r') {
                    chars.next();
                }
                match chars.peek() {
                    Some('\n') | None => {}
                    Some(_) => out.truncate(line),
                }
            }
            '\u{8}' => {
                if out.len() > line {
                    out.pop();
                }
            }
            '\t' => out.push('\t'),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// After an escape character.
fn skip_sequence(chars: &mut Chars<'_>) {
    match chars.next() {
        Some('[') => skip_control(chars),
        // Texts for the terminal itself: they end with a bell or with a backslash after another
        // escape character. One that does not end within its line is none.
        Some(']' | 'P' | '^' | '_' | 'X') => {
            while let Some(c) = chars.peek() {
                match c {
                    '\u{7}' | '\u{9c}' => {
                        chars.next();
                        return;
                    }
                    '\u{1b}' => {
                        chars.next();
                        chars.next_if_eq(&'\\');
                        return;
                    }
                    '\n' => return,
                    _ => {
                        chars.next();
                    }
                }
            }
        }
        Some(' '..='/') => {
            chars.next();
        }
        Some(_) | None => {}
    }
}

/// Numbers and signs up to a letter.
fn skip_control(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|c| matches!(c, ' '..='?')) {
        let _ = c;
    }
    chars.next_if(|c| matches!(c, '@'..='~'));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_show_is_left() {
        let table: [(&[u8], &str); 11] = [
            (b"plain\n\tx", "plain\n\tx"),
            (b"\x1b[1;31mred\x1b[0m", "red"),
            (b"\x1b]0;title\x07after", "after"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"10%\r50%\r100%\r\ndone", "100%\ndone"),
            (b"ab\x08c", "ac"),
            (b"\x00\x07\x0cx", "x"),
            (b"\xff\xc3", "\u{fffd}\u{fffd}"),
            (b"\x1b(Bx\x1b", "x"),
            (b"\x1b]never\nends", "\nends"),
            ("ä\r\nö".as_bytes(), "ä\nö"),
        ];
        for (bytes, wanted) in table {
            assert_eq!(readable(bytes), wanted, "{bytes:?}");
        }
    }

    #[test]
    fn a_long_output_is_told_by_its_ends_and_kept_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut output = Output::new(&folder.path().join("outputs"));
        let mut shown = 0;
        let mut whole = Vec::new();
        for number in 0..100_000 {
            let line = format!("line {number}\n");
            whole.extend_from_slice(line.as_bytes());
            output.add(line.as_bytes(), &mut |text| shown += text.len());
        }
        let text = output.text();
        assert!(text.len() < MOST + 500, "{}", text.len());
        assert!(text.starts_with("line 0\n"));
        assert!(text.ends_with("line 99999\n"));
        assert!(text.contains("left out here; the whole output is in "));
        assert_eq!(std::fs::read(output.path().unwrap()).unwrap(), whole);
        assert!(shown < whole.len(), "the screen is not flooded");
    }

    #[test]
    fn a_short_output_is_told_whole_and_kept_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let mut output = Output::new(&folder.path().join("outputs"));
        let mut shown = String::new();
        for part in ["a", "b\nc", "d"] {
            output.add(part.as_bytes(), &mut |text| shown.push_str(text));
        }
        output.flush(&mut |text| shown.push_str(text));
        assert_eq!(output.text(), "ab\ncd");
        assert_eq!(shown, "ab\ncd");
        assert_eq!(output.path(), None);
        assert!(!folder.path().join("outputs").exists());
    }
}
