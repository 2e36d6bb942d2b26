//! A daemon that says what a test wants it to say, and a fresh place to run `sm` in.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tempfile::TempDir;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Seen {
    pub fn is(&self, method: &str, start: &str) -> bool {
        self.method == method && self.target.starts_with(start)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }
}

/// What the daemon does with it.
pub enum Reply {
    Json(u16, Value),
    /// The connection ends without an answer.
    Drop,
    /// A stream of these lines, which then ends.
    Stream(String),
    /// An answer, and then nobody listens any more.
    Last(u16, Value),
}

/// A fresh home in which nothing of this machine is found.
pub struct Home {
    pub dir: TempDir,
}

impl Home {
    pub fn new() -> Self {
        // Short: a socket's path has to fit.
        let dir = tempfile::Builder::new()
            .prefix("sm-cli-")
            .tempdir()
            .unwrap();
        Self { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn state(&self) -> PathBuf {
        self.path().join("sm/state")
    }

    /// `sm` with an empty environment. No daemon can be started unless the test lets it.
    pub fn sm(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sm"));
        command
            .args(args)
            .env_clear()
            .env("SM_HOME", self.path().join("sm"))
            .env("HOME", self.path())
            .env("PATH", "/usr/bin:/bin")
            .env("SM_BIN", "/bin/false")
            .env("TZ", "UTC")
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.sm(args).output().unwrap())
    }

    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let dir = self.path().join("bin");
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

/// What a run of `sm` gave.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.out.contains(text), "no {text:?} in:\n{}", self.out);
        self
    }

    #[track_caller]
    pub fn complains(self, text: &str) -> Self {
        assert!(self.err.contains(text), "no {text:?} in:\n{}", self.err);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap()
    }
}

/// A home with a daemon.
pub struct Fake {
    pub home: Home,
    seen: Arc<Mutex<Vec<Seen>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Fake {
    /// `GET /health` is answered by itself.
    pub fn new(answer: impl FnMut(&Seen) -> Reply + Send + 'static) -> Self {
        let home = Home::new();
        let state = home.state();
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&state)
            .unwrap();
        let listener = UnixListener::bind(state.join("sm.sock")).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (seen, stop) = (Arc::clone(&seen), Arc::clone(&stop));
            move || serve(&listener, &seen, &stop, answer)
        });
        Self {
            home,
            seen,
            stop,
            thread: Some(thread),
        }
    }

    pub fn sm(&self, args: &[&str]) -> Command {
        self.home.sm(args)
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        self.home.run(args)
    }

    /// What was asked, but for `GET /health`.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = UnixStream::connect(self.home.state().join("sm.sock"));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(
    listener: &UnixListener,
    seen: &Mutex<Vec<Seen>>,
    stop: &AtomicBool,
    mut answer: impl FnMut(&Seen) -> Reply,
) {
    for stream in listener.incoming() {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let Some((mut stream, request)) = stream.ok().and_then(read) else {
            continue;
        };
        let reply = if request.is("GET", "/health") {
            Reply::Json(
                200,
                json!({"ok": true, "version": env!("CARGO_PKG_VERSION"), "protocol": 1, "pid": 1}),
            )
        } else {
            seen.lock().unwrap().push(request.clone());
            answer(&request)
        };
        match reply {
            Reply::Json(status, body) => write(&mut stream, status, &body),
            Reply::Drop => {}
            Reply::Stream(text) => {
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{text}"
                );
            }
            Reply::Last(status, body) => {
                write(&mut stream, status, &body);
                return;
            }
        }
    }
}

fn write(stream: &mut UnixStream, status: u16, body: &Value) {
    let body = body.to_string();
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
}

fn read(stream: UnixStream) -> Option<(UnixStream, Seen)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let seen = Seen {
        method,
        target,
        headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    Some((reader.into_inner(), seen))
}

/// A session as the API shows it, with a field from the future.
pub fn session(name: &str, state: &str) -> Value {
    json!({
        "id": format!("{name}-id"), "name": name, "agent": "claude", "state": state,
        "state_reason": "because", "state_since": "2026-01-01T00:00:00Z",
        "generation": 1, "compactions": 0,
        "conversation_id": "c0ffee", "transcript_path": null, "cwd": "/srv/x", "parent": null,
        "children": [], "context": {"used_percentage": 12.5, "tokens": 25000, "window": 200_000,
        "source": "status_line", "at": "2026-01-01T00:00:00Z"},
        "tmux": {"socket": null, "session": null, "pane": null}, "pid": 42, "exit_code": null,
        "last_handoff_path": null, "turn": 3, "created_at": "2026-01-01T00:00:00Z",
        "changed_at": "2026-01-01T00:00:00Z",
        "queue": {"queued": 0, "held": 0, "held_reason": null}, "attention": null,
        "from_the_future": {"z": 1, "a": 2}
    })
}

/// A message as the API shows it.
pub fn message(id: &str, state: &str, reason: Option<&str>) -> Value {
    json!({
        "id": id, "session": "api-id", "from": {"kind": "person", "id": null, "name": null},
        "mode": "sequential", "state": state, "reason": reason, "way": null, "proof": null,
        "text": "hello", "created_at": "2026-01-01T00:00:00Z",
        "changed_at": "2026-01-01T00:00:00Z"
    })
}

/// A refusal as the API says it.
pub fn refusal(status: u16, error: &str, hint: &str) -> Reply {
    Reply::Json(status, json!({"error": error, "hint": hint}))
}
