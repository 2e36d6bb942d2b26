//! A home of its own, a daemon made of a closure, and running the program with a deadline.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

pub const SESSION: &str = "s-12ab";
pub const SECRET: &str = "s3cret-of-the-session";
/// Generous: it only ends tests that would hang.
pub const DEADLINE: Duration = Duration::from_secs(40);

/// An isolated instance.
pub struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("state")).unwrap();
        let home = Self { dir };
        // In place of `sm serve`: leaves a trace and ends.
        let sm = home.path("sm");
        fs::write(
            &sm,
            "#!/bin/sh\nenv > \"$SM_HOME/daemon-env\"\necho \"$@\" >> \"$SM_HOME/started\"\n",
        )
        .unwrap();
        fs::set_permissions(&sm, fs::Permissions::from_mode(0o755)).unwrap();
        home
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn socket(&self) -> PathBuf {
        self.path("state/sm.sock")
    }

    /// The program with nothing in its environment but this home.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sm-hook"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("SM_HOME", self.dir.path())
            .env("SM_BIN", self.path("sm"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The program as an agent of a session runs it.
    pub fn hook(&self, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command
            .env("CLAUDE_SESSION_MANAGER_ID", SESSION)
            .env("SM_SESSION_SECRET", SECRET)
            // A busy machine must not make a server that answers look like one that does not.
            .env("SM_HOOK_TIMEOUT_MS", "20000");
        command
    }

    /// As `hook`, with the time it really has.
    pub fn hurried_hook(&self, args: &[&str]) -> Command {
        let mut command = self.hook(args);
        command.env_remove("SM_HOOK_TIMEOUT_MS");
        command
    }

    /// What is in the spool.
    pub fn spooled(&self) -> Vec<serde_json::Value> {
        fs::read_to_string(self.path("state/spool/hooks.jsonl"))
            .unwrap_or_default()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// Waits until something is there.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "no {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn wait_for_file(path: &Path) -> String {
    wait_for(&format!("{}", path.display()), || {
        fs::read_to_string(path)
            .ok()
            .filter(|text| text.ends_with('\n'))
    })
}

/// A child that does not outlive its test.
pub struct Running {
    pub child: Child,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        Self {
            child: command.spawn().unwrap(),
        }
    }

    pub fn wait(&mut self) -> ExitStatus {
        wait_for("end of the program", || self.child.try_wait().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs to the end with this stdin.
pub fn run(command: &mut Command, stdin: &[u8]) -> Ran {
    let mut running = Running::start(command);
    let input = running.child.stdin.take().unwrap();
    let stdout = running.child.stdout.take();
    let stderr = running.child.stderr.take();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut input = input;
            let _ = input.write_all(stdin);
        });
        let stdout = scope.spawn(move || stdout.map(read_all).unwrap_or_default());
        let stderr = scope.spawn(move || stderr.map(read_all).unwrap_or_default());
        let status = running.wait();
        Ran {
            code: status.code(),
            stdout: stdout.join().unwrap(),
            stderr: stderr.join().unwrap(),
        }
    })
}

pub fn read_all(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// What the server does with a request.
pub enum Reply {
    Text(u16, String),
    /// As `Text`, with one more header.
    With(u16, (&'static str, String), String),
    /// Anything else, as bytes.
    Raw(&'static [u8]),
    /// Keeps the connection and says nothing.
    Silence,
}

pub fn ok(text: &str) -> Reply {
    Reply::Text(200, text.to_owned())
}

type Asks = Arc<(Mutex<Vec<Asked>>, Condvar)>;

/// Stands for the daemon until it is dropped.
pub struct Server {
    socket: PathBuf,
    asked: Asks,
    stop: Arc<Mutex<bool>>,
    connections: Arc<Mutex<Vec<UnixStream>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    pub fn start(home: &Home, answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let socket = home.socket();
        let _ = fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).unwrap();
        let asked = Asks::default();
        let stop = Arc::new(Mutex::new(false));
        let connections = Arc::new(Mutex::new(Vec::new()));
        let (asks, stopped, answer) = (asked.clone(), stop.clone(), Arc::new(answer));
        let open = connections.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if *stopped.lock().unwrap() {
                    break;
                }
                let (stream, asks, answer) = (stream.unwrap(), asks.clone(), answer.clone());
                open.lock().unwrap().push(stream.try_clone().unwrap());
                // Ends with its connection.
                std::thread::spawn(move || serve(stream, &asks, &*answer));
            }
        });
        Self {
            socket,
            asked,
            stop,
            connections,
            thread: Some(thread),
        }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.0.lock().unwrap().clone()
    }

    /// Waits for the request number `count` (from 1).
    pub fn wait_asked(&self, count: usize) -> Asked {
        let (lock, more) = &*self.asked;
        let guard = lock.lock().unwrap();
        let (guard, late) = more
            .wait_timeout_while(guard, DEADLINE, |asked| asked.len() < count)
            .unwrap();
        assert!(!late.timed_out(), "only {} requests", guard.len());
        guard[count - 1].clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        *self.stop.lock().unwrap() = true;
        let _ = UnixStream::connect(&self.socket);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = fs::remove_file(&self.socket);
        for connection in self.connections.lock().unwrap().drain(..) {
            let _ = connection.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn serve(mut stream: UnixStream, asks: &Asks, answer: &dyn Fn(&Asked) -> Reply) {
    let Some(asked) = read_request(&mut stream) else {
        return;
    };
    let reply = answer(&asked);
    asks.0.lock().unwrap().push(asked);
    asks.1.notify_all();
    // The program may be gone already: that is not for the server to judge.
    let _ = match reply {
        Reply::Text(status, text) => stream.write_all(&encode(status, "", &text)),
        Reply::With(status, (name, value), text) => {
            stream.write_all(&encode(status, &format!("{name}: {value}\r\n"), &text))
        }
        Reply::Raw(bytes) => stream.write_all(bytes),
        Reply::Silence => stream.read(&mut [0]).map(|_| ()),
    };
    // The server keeps a copy of it, so that leaving this function closes nothing.
    let _ = stream.shutdown(std::net::Shutdown::Both);
}

fn encode(status: u16, headers: &str, text: &str) -> Vec<u8> {
    let length = text.len();
    if status == 204 {
        return format!("HTTP/1.1 204 No Content\r\n{headers}\r\n").into_bytes();
    }
    format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{text}").into_bytes()
}

fn read_request(stream: &mut UnixStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        match stream.read(&mut chunk) {
            Ok(read @ 1..) => bytes.extend_from_slice(&chunk[..read]),
            _ => return None,
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let mut asked = Asked {
        method: words.next()?.to_owned(),
        path: words.next()?.to_owned(),
        headers: lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        body: bytes[head_end + 4..].to_vec(),
    };
    let length: usize = asked.header("content-length")?.parse().unwrap();
    while asked.body.len() < length {
        match stream.read(&mut chunk) {
            Ok(read @ 1..) => asked.body.extend_from_slice(&chunk[..read]),
            _ => return None,
        }
    }
    Some(asked)
}
