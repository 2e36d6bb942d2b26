//! [`Files`] as the system has them. Decides nothing.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use sm_client::Process;

use crate::files::{Durable, Files, Found};
use crate::lock::Owner;

/// Larger than any document that is taken.
const LARGEST: u64 = 33 << 20;
/// Most files are smaller: they are read at once.
const USUAL: usize = 8 << 10;
/// The start of a process is known to a hundredth of a second, the lock's time to a second.
const CLOCK_SLACK_S: i64 = 2;

/// Of the whole process: two threads must not use one temporary name.
static NUMBER: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub struct RealFiles {
    patience: Duration,
    waiting_since: Option<Instant>,
}

impl RealFiles {
    /// `patience`: how long a lock that others hold is waited for.
    pub fn new(patience: Duration) -> Self {
        Self {
            patience,
            waiting_since: None,
        }
    }
}

impl Default for RealFiles {
    fn default() -> Self {
        Self::new(Duration::from_secs(30))
    }
}

fn found(result: io::Result<()>) -> io::Result<Found> {
    match result {
        Ok(()) => Ok(Found::Nothing),
        Err(error) => match error.kind() {
            ErrorKind::AlreadyExists => Ok(Found::Something),
            ErrorKind::NotFound => Ok(Found::NoFolder),
            _ => Err(error),
        },
    }
}

fn unless_missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Files for RealFiles {
    fn mkdir(&mut self, path: &Path) -> io::Result<Found> {
        found(DirBuilder::new().mode(0o700).create(path))
    }

    fn read(&mut self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = unless_missing(sm_client::files::open(path))? else {
            return Ok(None);
        };
        let mut bytes = Vec::with_capacity(USUAL);
        file.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::new(ErrorKind::FileTooLarge, "it is too large"));
        }
        Ok(Some(bytes))
    }

    fn write_new(&mut self, path: &Path, bytes: &[u8], durable: Durable) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        let written = file.write_all(bytes).and_then(|()| match durable {
            Durable::Yes => file.sync_all(),
            Durable::No => Ok(()),
        });
        if written.is_err() {
            // Half a file helps nobody; the error is what counts.
            let _ = fs::remove_file(path);
        }
        written
    }

    fn link(&mut self, from: &Path, to: &Path) -> io::Result<Found> {
        found(fs::hard_link(from, to))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<bool> {
        unless_missing(fs::rename(from, to)).map(|done| done.is_some())
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        unless_missing(fs::remove_file(path)).map(|_| ())
    }

    fn remove_folder(&mut self, path: &Path, usual: &str) -> io::Result<()> {
        let only = unless_missing(fs::remove_file(path.join(usual)));
        match only.and_then(|_| fs::remove_dir(path)) {
            Ok(()) => Ok(()),
            Err(_) => unless_missing(fs::remove_dir_all(path)).map(|_| ()),
        }
    }

    fn list(&mut self, path: &Path) -> io::Result<Vec<String>> {
        let Some(entries) = unless_missing(fs::read_dir(path))? else {
            return Ok(Vec::new());
        };
        let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
        names.filter_map(Result::transpose).collect()
    }

    fn age(&mut self, path: &Path) -> io::Result<Option<Duration>> {
        let Some(found) = unless_missing(fs::symlink_metadata(path))? else {
            return Ok(None);
        };
        // A time in the future is no age.
        Ok(Some(
            SystemTime::now()
                .duration_since(found.modified()?)
                .unwrap_or_default(),
        ))
    }

    fn sync_folder(&mut self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn now(&mut self) -> Timestamp {
        Timestamp::now()
    }

    fn pid(&self) -> u32 {
        std::process::id()
    }

    fn number(&mut self) -> u64 {
        NUMBER.fetch_add(1, Ordering::Relaxed)
    }

    fn is_alive(&mut self, owner: Owner) -> bool {
        let Some(process) = Process::of(owner.pid) else {
            return false;
        };
        match (process.start, seconds_per_tick_and_boot()) {
            (0, _) | (_, None) => true, // the system does not tell when it was started
            (start, Some((ticks, boot))) => {
                let started = boot + i64::try_from(start / ticks).unwrap_or(0);
                // Started after the lock was taken: the pid has been given to someone else.
                started <= owner.since.saturating_add(CLOCK_SLACK_S)
            }
        }
    }

    fn pause(&mut self, attempt: u32) -> bool {
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.patience {
            self.waiting_since = None;
            return false;
        }
        // Others are in there for about a millisecond. The pid keeps waiters out of step.
        let step = Duration::from_micros(500 + u64::from(self.pid() % 16) * 50);
        std::thread::sleep(step * attempt.clamp(1, 20));
        true
    }
}

/// Ticks a second, and when the machine was started, in seconds since 1970.
fn seconds_per_tick_and_boot() -> Option<(u64, i64)> {
    #[cfg(target_os = "linux")]
    {
        let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime).tv_sec;
        let ticks = rustix::param::clock_ticks_per_second();
        (ticks > 0).then(|| (ticks, Timestamp::now().as_second() - up))
    }
    #[cfg(not(target_os = "linux"))]
    {
        None
    }
}
