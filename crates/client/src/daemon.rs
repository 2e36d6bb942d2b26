//! Starting the daemon and waiting until it answers.
//!
//! Any program may find it missing at the same moment, so starting is limited across processes.
//! The daemon never inherits an agent's environment: only what a program of a person's login
//! needs, so no secret and no session's identity reaches it.

use std::ffi::OsString;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::http::{Client, HttpError, Request};
use crate::paths::{PathError, Paths};
use crate::platform;
use crate::process::Process;
use crate::wire;

/// Programs that run by themselves (hooks, launchers) start the daemon at most once in this time,
/// whoever started it last: one that dies at once must not become a storm.
pub const START_EVERY: Duration = Duration::from_secs(3);
/// A person's command that waits for the daemon starts it again sooner: somebody is looking.
const START_FOR_PERSON: Duration = Duration::from_millis(300);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// One look at the daemon never takes longer.
const ONE_LOOK: Duration = Duration::from_secs(1);
/// A daemon that failed may have lost a race against another one, which then holds the lock, and
/// soon says so in its file.
const AFTER_FAILURE: Duration = Duration::from_millis(300);

/// What the daemon gets of the environment of whoever starts it.
const KEPT_VARS: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "LD_LIBRARY_PATH",
    "LLVM_PROFILE_FILE",
    "RUST_LOG",
    "RUST_BACKTRACE",
];
const KEPT_PREFIXES: &[&str] = &["XDG_", "LC_", "SM_", "NIX_"];

/// What a person may have set for the daemon alone. In place of one that died a program starts the
/// next one with the same, whatever its own environment says.
const KEPT_OVER_CRASHES: &[&str] = &["SM_PORT", "SM_LOG", "PATH"];
/// More than this is not a file of ours.
const LONGEST_SETTINGS: u64 = 64 * 1024;

/// Who wants a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Somebody whose own environment counts.
    ByPerson,
    /// A hook or a launcher, in the environment of an agent.
    AfterCrash,
}

/// What starting did.
#[derive(Debug)]
pub enum Start {
    /// A daemon was started; it may still find another one running and leave.
    Spawned(Process),
    /// Someone started it a moment ago.
    TooSoon,
    /// A person stopped it: only a person starts it again.
    StoppedOnPurpose,
}

/// Starts the daemon unless someone just did. Does not wait for it.
pub fn start(paths: &Paths) -> Result<Start, DaemonError> {
    start_every(paths, START_EVERY, Wanted::ByPerson)
}

fn start_every(paths: &Paths, every: Duration, wanted: Wanted) -> Result<Start, DaemonError> {
    paths.ensure_dirs().map_err(DaemonError::Paths)?;
    let stamp = paths.start_stamp();
    if !may_start(&stamp, SystemTime::now(), every)
        .map_err(|error| DaemonError::io(&stamp, error))?
    {
        return Ok(Start::TooSoon);
    }
    spawn(paths, wanted).map(Start::Spawned)
}

/// Starts the daemon if it died; leaves it alone if it was stopped on purpose. For hooks.
pub fn revive(paths: &Paths) -> Result<Start, DaemonError> {
    if paths.stopped_marker().exists() {
        return Ok(Start::StoppedOnPurpose);
    }
    start_every(paths, START_EVERY, Wanted::AfterCrash)
}

/// Writes down what this daemon was started with.
pub fn remember_start(paths: &Paths) -> io::Result<()> {
    let set = KEPT_OVER_CRASHES
        .iter()
        .filter_map(|key| Some((*key, std::env::var_os(key)?)));
    let mut text = Vec::new();
    for (key, value) in set {
        let value = value.as_bytes();
        if !value.contains(&b'\n') {
            text.extend_from_slice(key.as_bytes());
            text.push(b'=');
            text.extend_from_slice(value);
            text.push(b'\n');
        }
    }
    let file = paths.start_settings();
    let new = file.with_extension("env.new");
    let mut out = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    out.write_all(&text)?;
    std::fs::rename(&new, &file)
}

/// What the last daemon was started with; None if nobody knows.
fn last_start(paths: &Paths) -> Option<Vec<(&'static str, OsString)>> {
    let mut text = Vec::new();
    let file = File::open(paths.start_settings()).ok()?;
    file.take(LONGEST_SETTINGS).read_to_end(&mut text).ok()?;
    let line = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b'=')?;
        let key = KEPT_OVER_CRASHES
            .iter()
            .find(|key| key.as_bytes() == &line[..at])?;
        Some((*key, OsString::from_vec(line[at + 1..].to_vec())))
    };
    Some(text.split(|byte| *byte == b'\n').filter_map(line).collect())
}

/// Whether the daemon answers `GET /health` before the deadline.
pub fn answers(client: &Client, deadline: Instant) -> Result<(), HttpError> {
    let response = client.request(&Request::get("/health"), deadline)?;
    if response.is_success() {
        Ok(())
    } else {
        Err(HttpError::Malformed("it does not say that it is well"))
    }
}

/// Makes sure that a daemon answers: starts it if nobody listens and waits for it. A daemon that
/// is there but slow is waited for, never started a second time.
pub fn ensure(client: &Client, deadline: Instant) -> Result<(), DaemonError> {
    let mut started: Option<Process> = None;
    let mut gone_since: Option<Instant> = None;
    let log = client.paths().daemon_log();
    let mut said_before = 0;
    loop {
        let look_until = deadline.min(Instant::now() + ONE_LOOK);
        let error = match answers(client, look_until) {
            Ok(()) => return Ok(()),
            Err(error @ (HttpError::Untrusted(_) | HttpError::Forbidden(_))) => {
                return Err(DaemonError::NotReady(error));
            }
            Err(error) => error,
        };
        if error.is_no_daemon() && started.is_none() {
            said_before = log.metadata().map_or(0, |found| found.len());
            if let Start::Spawned(process) =
                start_every(client.paths(), START_FOR_PERSON, Wanted::ByPerson)?
            {
                started = Some(process);
            }
        }
        let now = Instant::now();
        if started.is_some_and(|process| !process.is_alive()) && gone_since.is_none() {
            gone_since = Some(now);
        }
        let failed = gone_since.is_some_and(|since| now >= since + AFTER_FAILURE)
            // Another one has the lock and may take its time.
            && !holder_lives(&client.paths().lock_file());
        if failed {
            return Err(DaemonError::Failed {
                said: tail(&log, said_before),
            });
        }
        if now >= deadline {
            return Err(DaemonError::NotReady(error));
        }
        std::thread::sleep(LOOK_EVERY.min(deadline - now));
    }
}

/// By what the lock file says: trying the lock could turn away a daemon that just starts.
fn holder_lives(lock: &Path) -> bool {
    let mut text = Vec::new();
    let read = File::open(lock).and_then(|file| file.take(64).read_to_end(&mut text));
    let pid = text
        .split(|byte| !byte.is_ascii_digit())
        .find(|digits| !digits.is_empty())
        .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    read.is_ok() && pid.is_some_and(|pid| Process::of(pid).is_some())
}

/// The `sm` program: `SM_BIN`, else the one beside the running program.
pub fn sm_program() -> Result<PathBuf, DaemonError> {
    if let Some(named) = std::env::var_os(wire::SM_BIN_VAR).filter(|value| !value.is_empty()) {
        return Ok(named.into());
    }
    let own = std::env::current_exe().map_err(|_| DaemonError::NoProgram)?;
    let beside = own.parent().map(|dir| dir.join("sm"));
    beside
        .filter(|path| path.exists())
        .ok_or(DaemonError::NoProgram)
}

/// Whether it is time again; if so, the stamp says that it was done now. One process at a time
/// looks and stamps, so of many at the same moment exactly one may start.
fn may_start(stamp: &Path, now: SystemTime, every: Duration) -> io::Result<bool> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(stamp)?;
    if file.try_lock().is_err() {
        return Ok(false);
    }
    let mut text = String::new();
    // Whatever else is in it counts as long ago.
    let _ = (&mut file).take(64).read_to_string(&mut text);
    let now = u64::try_from(
        now.duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_millis(),
    )
    .unwrap_or(u64::MAX);
    if let Ok(last) = text.trim().parse::<u64>() {
        // A stamp from the future is from a clock that was set back.
        let age = now.checked_sub(last).map(Duration::from_millis);
        if age.is_some_and(|age| age < every) {
            return Ok(false);
        }
    }
    file.seek(SeekFrom::Start(0))?;
    file.set_len(0)?;
    file.write_all(now.to_string().as_bytes())?;
    Ok(true)
}

fn spawn(paths: &Paths, wanted: Wanted) -> Result<Process, DaemonError> {
    let program = sm_program()?;
    let mut command = Command::new(&program);
    command
        .arg("serve")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env_clear()
        .envs(std::env::vars_os().filter(|(key, _)| is_kept(key)));
    if wanted == Wanted::AfterCrash
        && let Some(last) = last_start(paths)
    {
        for key in KEPT_OVER_CRASHES {
            command.env_remove(key);
        }
        command.envs(last);
    }
    // A relative SM_HOME means another place where the daemon runs.
    if std::env::var_os("SM_HOME").is_some_and(|home| !home.is_empty())
        && let Some(home) = paths.state_dir().parent()
    {
        command.env("SM_HOME", home);
    }
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(paths.daemon_log());
    if let Ok(log) = log
        && let Ok(same) = log.try_clone()
    {
        command.stdout(log).stderr(same);
    }
    let pid =
        platform::spawn_detached(&mut command).map_err(|error| DaemonError::io(&program, error))?;
    // If it has ended already, this names a process that is not alive.
    Ok(Process::of(pid).unwrap_or(Process { pid, start: 0 }))
}

fn is_kept(key: &OsString) -> bool {
    key.to_str().is_some_and(|key| {
        key != wire::SECRET_VAR
            && (KEPT_VARS.contains(&key)
                || KEPT_PREFIXES.iter().any(|prefix| key.starts_with(prefix)))
    })
}

/// The last lines of the daemon's log, for whoever must tell a person: only those that came behind
/// what was said before, which is about other starts.
fn tail(log: &Path, before: u64) -> String {
    const TAIL: u64 = 2048;
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        // a shorter file is a new one
        let before = if before > length { 0 } else { before };
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL).max(before)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// Why there is no daemon.
#[derive(Debug)]
pub enum DaemonError {
    Paths(PathError),
    /// `sm` is neither named by `SM_BIN` nor beside this program.
    NoProgram,
    /// It was started and failed; the last lines of its log.
    Failed {
        said: String,
    },
    /// It did not answer in time.
    NotReady(HttpError),
    Io {
        path: PathBuf,
        error: io::Error,
    },
}

impl DaemonError {
    fn io(path: &Path, error: io::Error) -> Self {
        Self::Io {
            path: path.to_path_buf(),
            error,
        }
    }
}

impl fmt::Display for DaemonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paths(error) => write!(f, "{error}"),
            Self::NoProgram => write!(
                f,
                "cannot find sm to start the daemon: it is not beside this program, and {} is not set",
                wire::SM_BIN_VAR
            ),
            Self::Failed { said } if said.is_empty() => {
                write!(f, "the daemon ended as soon as it was started")
            }
            Self::Failed { said } => {
                write!(f, "the daemon ended as soon as it was started: {said}")
            }
            Self::NotReady(error) => write!(f, "the daemon is not ready: {error}"),
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for DaemonError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Paths(error) => Some(error),
            Self::NotReady(error) => Some(error),
            Self::Io { error, .. } => Some(error),
            Self::NoProgram | Self::Failed { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_start_in_a_while() {
        let temp = tempfile::tempdir().unwrap();
        let stamp = temp.path().join("stamp");
        let at = |ms: u64| UNIX_EPOCH + Duration::from_millis(1_000_000 + ms);
        for (ms, expected) in [
            (0, true),
            (1, false),
            (2_999, false),
            (3_000, true),
            (3_500, false),
        ] {
            assert_eq!(
                may_start(&stamp, at(ms), START_EVERY).unwrap(),
                expected,
                "{ms}"
            );
        }
        // The clock was set back.
        assert!(may_start(&stamp, at(100), START_EVERY).unwrap());
        std::fs::write(&stamp, "garbage \u{1F980}").unwrap();
        assert!(may_start(&stamp, at(0), START_EVERY).unwrap());
    }

    #[test]
    fn what_was_said_at_other_starts_is_not_told_again() {
        let temp = tempfile::tempdir().unwrap();
        let log = temp.path().join("daemon.log");
        std::fs::write(&log, "the daemon serves\nerror: of yesterday\n").unwrap();
        let before = log.metadata().unwrap().len();
        assert_eq!(tail(&log, before), "");
        let mut file = OpenOptions::new().append(true).open(&log).unwrap();
        file.write_all(b"error: of today\nhint: mend it\n").unwrap();
        assert_eq!(tail(&log, before), "error: of today\nhint: mend it");
        std::fs::write(&log, "error: of a new file\n").unwrap();
        assert_eq!(tail(&log, before), "error: of a new file");
        assert_eq!(tail(&temp.path().join("none"), 0), "");
    }

    #[test]
    fn of_many_at_once_one_starts() {
        let temp = tempfile::tempdir().unwrap();
        let stamp = temp.path().join("stamp");
        let now = SystemTime::now();
        let started = std::thread::scope(|scope| {
            let all: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| may_start(&stamp, now, START_EVERY).unwrap()))
                .collect();
            all.into_iter()
                .filter_map(|one| one.join().ok())
                .filter(|one| *one)
                .count()
        });
        assert_eq!(started, 1);
    }

    #[test]
    fn an_agents_environment_stays_with_the_agent() {
        for (key, kept) in [
            ("HOME", true),
            ("PATH", true),
            ("SM_HOME", true),
            ("SM_PORT", true),
            ("XDG_STATE_HOME", true),
            ("LC_ALL", true),
            ("SM_SESSION_SECRET", false),
            ("CLAUDE_SESSION_MANAGER_ID", false),
            ("ANTHROPIC_API_KEY", false),
            ("TMUX", false),
        ] {
            assert_eq!(is_kept(&OsString::from(key)), kept, "{key}");
        }
    }
}
