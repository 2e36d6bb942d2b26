//! The files others read: transcript, status file, and the record of what the "model" was given.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::VERSION;
use super::messages::Status;

/// Where everything is.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    /// `$CLAUDE_CONFIG_DIR`, or `~/.claude`.
    pub config: PathBuf,
    pub cwd: PathBuf,
    /// `$FAKE_AGENT_LOG`.
    pub log: Option<PathBuf>,
}

impl Paths {
    pub(super) fn from_env() -> io::Result<Self> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let config = match (set("CLAUDE_CONFIG_DIR"), set("HOME")) {
            (Some(config), _) => config.into(),
            (None, Some(home)) => Path::new(&home).join(".claude"),
            (None, None) => {
                return Err(io::Error::other(
                    "neither CLAUDE_CONFIG_DIR nor HOME is set",
                ));
            }
        };
        Ok(Self {
            config,
            cwd: std::env::current_dir()?,
            log: set("FAKE_AGENT_LOG").map(Into::into),
        })
    }

    pub(super) fn transcript(&self, session: &str) -> PathBuf {
        let project: String = self
            .cwd
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        self.config
            .join("projects")
            .join(project)
            .join(format!("{session}.jsonl"))
    }

    fn status_file(&self) -> PathBuf {
        self.config
            .join("sessions")
            .join(format!("{}.json", std::process::id()))
    }
}

/// Appends one line with one write.
pub(super) fn append(path: &Path, line: &Value) -> io::Result<()> {
    let mut file = match File::options().append(true).create(true).open(path) {
        Ok(file) => file,
        Err(_) => {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            File::options().append(true).create(true).open(path)?
        }
    };
    file.write_all(format!("{line}\n").as_bytes())
}

/// Lines that are appended some time after they were made, in order; what waits at the end of the
/// process is lost.
pub(super) struct LateLines {
    lag: Duration,
    lines: Sender<(Instant, PathBuf, Value)>,
}

impl LateLines {
    pub(super) fn new(lag: Duration) -> Self {
        let (lines, waiting) = mpsc::channel::<(Instant, PathBuf, Value)>();
        thread::spawn(move || {
            for (due, path, line) in waiting {
                thread::sleep(due.saturating_duration_since(Instant::now()));
                let _ = append(&path, &line);
            }
        });
        Self { lag, lines }
    }

    pub(super) fn append(&self, path: PathBuf, line: Value) {
        let _ = self.lines.send((Instant::now() + self.lag, path, line));
    }
}

/// The status file of this process.
pub(super) struct StatusFile {
    path: PathBuf,
    started_at: u64,
    proc_start: String,
}

impl StatusFile {
    pub(super) fn new(paths: &Paths) -> io::Result<Self> {
        let path = paths.status_file();
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(Self {
            path,
            started_at: now_ms(),
            proc_start: proc_start(),
        })
    }

    pub(super) fn write(&self, session: &str, cwd: &Path, status: &Status) -> io::Result<()> {
        let name = cwd
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        let now = now_ms();
        let word = match status {
            Status::Idle => "idle",
            Status::Busy { .. } => "busy",
            Status::Waiting { .. } => "waiting",
        };
        let mut json = json!({
            "pid": std::process::id(), "sessionId": session, "cwd": cwd.to_string_lossy(),
            "startedAt": self.started_at, "procStart": self.proc_start, "version": VERSION,
            "peerProtocol": 1, "kind": "interactive", "entrypoint": "cli",
            "name": format!("{name}-fa"), "nameSource": "derived",
            "status": word, "updatedAt": now, "statusUpdatedAt": now,
        });
        if let Status::Waiting { .. } = status {
            json["waitingFor"] = json!("permission prompt");
        }
        // renamed into place, so that nobody reads half of it
        let new = self.path.with_extension("new");
        fs::write(&new, json.to_string())?;
        fs::rename(&new, &self.path)
    }

    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// When this process started, in the words of `/proc`; elsewhere unknown.
fn proc_start() -> String {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // the name in parentheses may hold anything; field 22 is the 20th after it
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    after.split_whitespace().nth(19).unwrap_or("0").to_owned()
}

pub(super) fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
}

/// RFC 3339 with milliseconds.
pub(super) fn timestamp() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

/// A random (version 4) UUID.
pub(super) fn uuid() -> String {
    let mut bytes = [0_u8; 16];
    if getrandom::fill(&mut bytes).is_err() {
        let fallback = u128::from(now_ms()) << 32 | u128::from(std::process::id());
        bytes = fallback.to_be_bytes();
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_real_program() {
        let paths = Paths {
            config: "/h/.claude".into(),
            cwd: "/tmp/a.b/c_d".into(),
            log: None,
        };
        assert_eq!(
            paths.transcript("id"),
            Path::new("/h/.claude/projects/-tmp-a-b-c-d/id.jsonl")
        );
    }

    #[test]
    fn ids_and_times_look_right() {
        let (a, b) = (uuid(), uuid());
        assert_ne!(a, b);
        assert_eq!((a.len(), &a[14..15]), (36, "4"));
        let time = timestamp();
        assert!(time.ends_with('Z') && time.len() == 24, "{time}");
    }

    #[test]
    fn the_status_file_is_replaced_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths {
            config: dir.path().into(),
            cwd: "/x/project".into(),
            log: None,
        };
        let file = StatusFile::new(&paths).unwrap();
        file.write(
            "s1",
            &paths.cwd,
            &Status::Waiting {
                command: "ls".into(),
            },
        )
        .unwrap();
        let read =
            || serde_json::from_slice::<Value>(&fs::read(paths.status_file()).unwrap()).unwrap();
        assert_eq!(
            (&read()["status"], &read()["waitingFor"]),
            (&json!("waiting"), &json!("permission prompt"))
        );
        file.write("s2", &paths.cwd, &Status::Idle).unwrap();
        assert_eq!(
            (&read()["sessionId"], &read()["waitingFor"]),
            (&json!("s2"), &Value::Null)
        );
        file.remove();
        assert!(!paths.status_file().exists());
    }
}
