//! Where events go when no daemon answers: one file of JSON lines that any number of hooks
//! append to, and that the daemon takes by renaming it away.
//!
//! A line is one `write` of an appending descriptor, so lines never mix. Writers hold the file
//! shared while they look and write; the daemon, having renamed it, takes it exclusively before
//! reading: no line can be written to a file that was already read. Nobody waits for long: a
//! writer that finds the file taken opens the new one, and the daemon gives a stuck writer up.
//! Bounded in every direction; what does not fit is counted, never silently gone.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::proof;
use crate::wire::push_json_string;

/// The file that hooks append to.
pub const FILE_NAME: &str = "hooks.jsonl";
const DROPPED_NAME: &str = "dropped";
/// The spool takes no more than this.
pub const MAX_FILE: u64 = 8 * 1024 * 1024;
/// A longer line has its body cut to `CUT_BODY`.
pub const MAX_LINE: usize = 1024 * 1024;
pub const CUT_BODY: usize = 64 * 1024;
/// How long the daemon waits for writers that are just writing.
const WRITERS_DONE: Duration = Duration::from_millis(500);

/// One event for the spool.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    pub id: &'a str,
    /// Milliseconds since the epoch.
    pub at: u64,
    pub agent: &'a str,
    pub event: &'a str,
    pub session: &'a str,
    pub ancestors: &'a str,
    /// The session's secret. It proves the line and does not stand in it.
    pub secret: Option<&'a str>,
    /// What the agent said; anything that is not UTF-8 is replaced.
    pub body: &'a [u8],
    pub completeness: Completeness,
}

/// Whether a body is all of what the agent said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    Whole,
    Cut,
}

impl Entry<'_> {
    pub(crate) fn line(&self) -> String {
        let body = String::from_utf8_lossy(self.body);
        let line = self.line_with(&body, self.completeness);
        if line.len() <= MAX_LINE {
            return line;
        }
        let mut end = CUT_BODY.min(body.len());
        while !body.is_char_boundary(end) {
            end -= 1;
        }
        self.line_with(&body[..end], Completeness::Cut)
    }

    /// Where it came from, and what it is about.
    fn place(&self) -> [&str; 4] {
        [self.agent, self.event, self.session, self.ancestors]
    }

    fn line_with(&self, body: &str, completeness: Completeness) -> String {
        let mut line = String::with_capacity(body.len() + body.len() / 8 + 256);
        line.push_str("{\"v\":1,\"id\":");
        push_json_string(&mut line, self.id);
        line.push_str(&format!(",\"at\":{}", self.at));
        let mut field = |name: &str, value: &str| {
            line.push_str(",\"");
            line.push_str(name);
            line.push_str("\":");
            push_json_string(&mut line, value);
        };
        field("agent", self.agent);
        field("event", self.event);
        field("session", self.session);
        field("ancestors", self.ancestors);
        field("body", body);
        if let Some(secret) = self.secret {
            let hash = proof::secret_hash(secret);
            field(
                "proof",
                &proof_of(&hash, self.id, self.at, self.place(), body),
            );
        }
        if completeness == Completeness::Cut {
            line.push_str(",\"cut\":true");
        }
        line.push_str("}\n");
        line
    }
}

/// What proves a line of the spool: made of all it says, with what is kept of the session's secret.
/// `place` is agent, event, session and ancestors.
pub fn proof_of(secret_hash: &str, id: &str, at: u64, place: [&str; 4], body: &str) -> String {
    let at = at.to_string();
    let [agent, event, session, ancestors] = place.map(str::as_bytes);
    let parts = [
        id.as_bytes(),
        at.as_bytes(),
        agent,
        event,
        session,
        ancestors,
        body.as_bytes(),
    ];
    proof::code(secret_hash, &parts)
}

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    Written,
    /// The spool is full: the event is gone and was counted.
    Dropped,
}

/// The spool of one instance.
#[derive(Debug, Clone)]
pub struct Spool {
    dir: PathBuf,
}

impl Spool {
    /// `dir` is `Paths::spool_dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    fn file(&self) -> PathBuf {
        self.dir.join(FILE_NAME)
    }

    /// Appends one event.
    pub fn append(&self, entry: &Entry<'_>) -> Result<Appended, SpoolError> {
        let line = entry.line();
        // Again only when the daemon took the file at this moment; it does that seldom.
        for _ in 0..20 {
            match self.try_append(&line)? {
                Attempt::Done(appended) => return Ok(appended),
                Attempt::Taken => {}
            }
        }
        Err(SpoolError::Io {
            path: self.file(),
            error: io::ErrorKind::ResourceBusy.into(),
        })
    }

    fn try_append(&self, line: &str) -> Result<Attempt, SpoolError> {
        let path = self.file();
        let file = self.open_for_append(&path)?;
        match file.try_lock_shared() {
            Ok(()) => {}
            // Only the daemon locks it alone, and only after taking it.
            Err(TryLockError::WouldBlock) => return Ok(Attempt::Taken),
            Err(TryLockError::Error(error)) => return Err(SpoolError::io(&path, error)),
        }
        let found = file
            .metadata()
            .map_err(|error| SpoolError::io(&path, error))?;
        match fs::metadata(&path) {
            Ok(now) if now.ino() == found.ino() && now.dev() == found.dev() => {}
            Ok(_) => return Ok(Attempt::Taken),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Attempt::Taken),
            Err(error) => return Err(SpoolError::io(&path, error)),
        }
        if found.len() + line.len() as u64 > MAX_FILE {
            self.count_dropped();
            return Ok(Attempt::Done(Appended::Dropped));
        }
        write_line(&file, found.len(), line).map_err(|error| SpoolError::io(&path, error))?;
        // The daemon gave us up while we were stopped: the line went into a file that is gone.
        let gone = file.metadata().is_ok_and(|after| after.nlink() == 0);
        Ok(if gone {
            Attempt::Taken
        } else {
            Attempt::Done(Appended::Written)
        })
    }

    fn open_for_append(&self, path: &Path) -> Result<File, SpoolError> {
        let open = || {
            OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .mode(0o600)
                .open(path)
        };
        in_folder(&self.dir, open).map_err(|error| SpoolError::io(path, error))
    }

    // One byte for each: appending needs no lock, and the length is the count.
    fn count_dropped(&self) {
        let _ = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(self.dir.join(DROPPED_NAME))
            .and_then(|mut file| file.write_all(b"."));
    }

    /// How many events did not fit since the last call. Only the daemon calls this.
    pub fn take_dropped(&self) -> Result<u64, SpoolError> {
        let path = self.dir.join(DROPPED_NAME);
        match fs::metadata(&path) {
            Ok(found) => {
                fs::remove_file(&path).map_err(|error| SpoolError::io(&path, error))?;
                Ok(found.len())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(SpoolError::io(&path, error)),
        }
    }

    /// Takes what is there: files in the order they were filled, among them those that an
    /// earlier daemon took and did not finish. Only the daemon, which is alone, calls this.
    pub fn take(&self) -> Result<Vec<Taken>, SpoolError> {
        let mut numbers = self.taken_numbers()?;
        let current = self.file();
        if fs::metadata(&current).is_ok_and(|found| found.len() > 0) {
            let number = numbers.last().map_or(1, |last| last + 1);
            fs::rename(&current, self.taken_path(number))
                .map_err(|error| SpoolError::io(&current, error))?;
            numbers.push(number);
        }
        let mut files = Vec::with_capacity(numbers.len());
        for number in numbers {
            let path = self.taken_path(number);
            let file = File::open(&path).map_err(|error| SpoolError::io(&path, error))?;
            wait_for_writers(&file);
            files.push(Taken { path, file });
        }
        Ok(files)
    }

    fn taken_path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("taken.{number:010}.jsonl"))
    }

    fn taken_numbers(&self) -> Result<Vec<u64>, SpoolError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(SpoolError::io(&self.dir, error)),
        };
        let mut numbers: Vec<u64> = entries
            .filter_map(|entry| {
                let name = entry.ok()?.file_name();
                let digits = name
                    .to_str()?
                    .strip_prefix("taken.")?
                    .strip_suffix(".jsonl")?;
                digits.parse().ok()
            })
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

enum Attempt {
    Done(Appended),
    Taken,
}

/// Does it, and once more in a folder that is made for it if there was none.
pub(crate) fn in_folder<T>(dir: &Path, write: impl Fn() -> io::Result<T>) -> io::Result<T> {
    write().or_else(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            return Err(error);
        }
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)?;
        write()
    })
}

fn write_line(mut file: &File, length: u64, line: &str) -> io::Result<()> {
    // A line that a full disk cut short must not spoil the next one.
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    let written = if last == *b"\n" {
        file.write(line.as_bytes())?
    } else {
        let apart = format!("\n{line}");
        file.write(apart.as_bytes())?.saturating_sub(1)
    };
    if written < line.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    Ok(())
}

fn wait_for_writers(file: &File) {
    let deadline = Instant::now() + WRITERS_DONE;
    // A writer needs microseconds; one that is stopped notices on waking that its file is gone.
    while matches!(file.try_lock(), Err(TryLockError::WouldBlock)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A file the daemon has taken. Nobody writes to it any more.
#[derive(Debug)]
pub struct Taken {
    path: PathBuf,
    file: File,
}

impl Taken {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its lines in order, raw. Empty and torn ones (a full disk, a power cut) are left out.
    pub fn lines(&self) -> Result<TakenLines<'_>, SpoolError> {
        io::Seek::seek(&mut &self.file, io::SeekFrom::Start(0))
            .map_err(|error| SpoolError::io(&self.path, error))?;
        Ok(TakenLines {
            path: &self.path,
            reader: BufReader::with_capacity(64 * 1024, &self.file),
        })
    }

    /// Everything in it has been kept elsewhere: removes it.
    pub fn done(self) -> Result<(), SpoolError> {
        fs::remove_file(&self.path).map_err(|error| SpoolError::io(&self.path, error))
    }
}

/// The lines of a taken file.
#[derive(Debug)]
pub struct TakenLines<'a> {
    path: &'a Path,
    reader: BufReader<&'a File>,
}

impl Iterator for TakenLines<'_> {
    type Item = Result<Vec<u8>, SpoolError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut line = Vec::new();
            // A file of ours has no longer lines; another's is read in pieces that no one accepts.
            let mut bounded = (&mut self.reader).take(2 * MAX_LINE as u64);
            match bounded.read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) if line == b"\n" => {}
                Ok(_) if line.pop() == Some(b'\n') => return Some(Ok(line)),
                Ok(_) => {}
                Err(error) => return Some(Err(SpoolError::io(self.path, error))),
            }
        }
    }
}

/// What went wrong with the spool.
#[derive(Debug)]
pub enum SpoolError {
    Io { path: PathBuf, error: io::Error },
}

impl SpoolError {
    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        Self::Io {
            path: path.to_path_buf(),
            error,
        }
    }
}

impl fmt::Display for SpoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, error } => write!(f, "spool {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for SpoolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
        }
    }
}
