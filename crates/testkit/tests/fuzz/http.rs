//! The daemon's door: a real daemon behind its socket, with a session in it. It answers or hangs up;
//! it never dies, and neither does the session's actor.

use crate::corpus::Corpus;
use crate::harness::{Input, fuzz};
use sm_testkit::clean::CleanEnv;
use sm_testkit::wait_until;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);
/// An answer that is kept open is not waited for.
const LOOK: Duration = Duration::from_millis(300);

/// Method and path; `ID` is the session's id. Nothing here may stop the daemon.
const ROUTES: [(&str, &str); 26] = [
    ("GET", "/health"),
    ("GET", "/status"),
    ("GET", "/sessions?all=true"),
    ("POST", "/sessions"),
    ("GET", "/sessions/ID"),
    ("PATCH", "/sessions/ID"),
    ("POST", "/sessions/ID/messages"),
    ("GET", "/sessions/ID/messages"),
    ("DELETE", "/sessions/ID/messages/feed0001"),
    (
        "GET",
        "/sessions/ID/messages/feed0001?wait_ms=1&until=submitted",
    ),
    ("GET", "/sessions/ID/wait?for=idle&timeout_ms=1"),
    ("GET", "/sessions/ID/output?lines=5"),
    ("GET", "/sessions/ID/events?after=0&limit=5"),
    ("GET", "/sessions/ID/attach"),
    ("POST", "/sessions/ID/restore"),
    ("GET", "/openapi.json"),
    ("POST", "/hooks/context-usage"),
    ("POST", "/hooks/claude/SessionStart"),
    ("POST", "/hooks/claude/UserPromptSubmit"),
    ("POST", "/hooks/claude/PostToolBatch"),
    ("POST", "/hooks/claude/Stop"),
    ("POST", "/hooks/claude/statusline"),
    ("POST", "/hooks/codex/Stop"),
    ("POST", "/launch/ID/7/started"),
    ("POST", "/mailbox/7/taken"),
    ("POST", "/gc"),
];

/// Whether a request has all that it says it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whole {
    Yes,
    No,
}

struct Daemon {
    socket: PathBuf,
    child: Child,
    log: PathBuf,
    id: String,
    env: CleanEnv,
}

impl Daemon {
    fn start() -> Self {
        let env = CleanEnv::new().unwrap();
        // an agent that listens and does nothing: what is typed into it has no effect
        let agent = env.path().join("agent");
        std::fs::write(&agent, "#!/bin/sh\nexec cat > /dev/null\n").unwrap();
        std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
        let config = format!("[agents.claude]\nprogram = {:?}\n", agent.to_str().unwrap());
        std::fs::write(env.sm_home().join("config.toml"), config).unwrap();
        let log = env.path().join("stderr");
        let mut serve = env.sm().unwrap();
        serve
            .args(["serve", "--foreground"])
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap());
        let child = serve.spawn().unwrap();
        let socket = env.sm_home().join("state/sm.sock");
        let up = wait_until(PATIENCE, || UnixStream::connect(&socket).ok());
        assert!(
            up.is_some(),
            "no daemon: {:?}",
            std::fs::read_to_string(&log)
        );
        let mut new = env.sm().unwrap();
        let made = new
            .args(["new", "claude", "--name", "fuzzed", "--json"])
            .output()
            .unwrap();
        let made: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
        let id = made["id"].as_str().unwrap().to_owned();
        Self {
            socket,
            child,
            log,
            id,
            env,
        }
    }

    /// The status line's number; None if it hung up or keeps the request open.
    fn send(&self, request: &[u8], whole: Whole) -> Option<u16> {
        let mut stream = UnixStream::connect(&self.socket).expect("it listens");
        stream.set_read_timeout(Some(LOOK)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        // it may hang up before it has everything
        let _ = stream.write_all(request);
        if whole == Whole::No {
            // nothing more comes: it need not wait for the rest
            let _ = stream.shutdown(Shutdown::Write);
        }
        let mut answer = [0; 64];
        let read = stream.read(&mut answer).ok()?;
        let said = String::from_utf8_lossy(&answer[..read]).into_owned();
        said.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
    }

    fn get(&self, path: &str) -> Option<u16> {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        // a loaded machine may need longer than a look
        wait_until(PATIENCE, || self.send(request.as_bytes(), Whole::Yes))
    }

    fn is_well(&mut self) {
        assert!(
            self.child.try_wait().unwrap().is_none(),
            "the daemon has ended: {}",
            self.said()
        );
        assert_eq!(self.get("/health"), Some(200), "{}", self.said());
        // only its actor can answer this
        let messages = format!("/sessions/{}/messages", self.id);
        assert_eq!(self.get(&messages), Some(200), "{}", self.said());
        let said = self.said();
        assert!(!said.contains("panicked"), "{said}");
    }

    fn said(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    /// The most memory it ever had, in MiB.
    fn most_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or(0) / 1024
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = &self.env; // ends the rest when it is dropped
    }
}

/// A request around the input: mostly well-formed with a strange body, sometimes strange itself.
fn request(input: &mut Input<'_>, id: &str) -> (Vec<u8>, Whole) {
    let (method, path) = *input.rng.pick(&ROUTES);
    let strange = || -> String {
        let bytes = input.bytes.iter().filter(|b| (0x21..0x7f).contains(*b));
        bytes.take(40).map(|b| char::from(*b)).collect()
    };
    let path = match input.rng.below(8) {
        0 => path.replace("ID", &strange().replace('/', "%2F")),
        1 => path.replace("ID", "%00%ff%2e%2e"),
        _ => path.replace("ID", id),
    };
    let ancestors = [
        "1:1",
        "",
        ":",
        "99999999999:1,2",
        "7:7,7:7,7:7,7:7,7:7,7:7,7:7,7:7",
    ];
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\nx-sm-protocol: 1\r\nx-sm-session: {id}\r\nx-sm-ancestors: {}\r\n",
        input.rng.pick(&ancestors)
    );
    if input.rng.below(2) == 0 {
        let at = input.rng.next() >> input.rng.below(64);
        head.push_str(&format!(
            "x-sm-event-id: {}-{at:x}\r\nx-sm-at: {at}\r\n",
            input.rng.below(99)
        ));
    }
    let length = input.bytes.len();
    let (head, whole) = match input.rng.below(10) {
        // the input is the request
        0 => return (input.bytes.to_vec(), Whole::No),
        1 => (
            format!("{head}content-length: {}\r\n\r\n", length * 2),
            Whole::No,
        ),
        2 => (
            format!("{head}transfer-encoding: chunked\r\n\r\n{length:x}\r\n"),
            Whole::No,
        ),
        3 => {
            let (name, value) = (strange(), strange());
            (
                format!("{head}{name}: {value}\r\ncontent-length: {length}\r\n\r\n"),
                Whole::Yes,
            )
        }
        _ => (
            format!("{head}content-length: {length}\r\n\r\n"),
            Whole::Yes,
        ),
    };
    let mut bytes = head.into_bytes();
    bytes.extend(input.bytes);
    (bytes, whole)
}

#[test]
fn http_bodies() {
    let mut daemon = Daemon::start();
    // no folder of this name and no program of that: whatever comes of them, nothing is started
    let mut seeds: Vec<Vec<u8>> = [
        r#"{"id":"feed0001","text":"hello","mode":"important","raw":false,"notify":false,"expires_ms":5}"#,
        r#"{"id":"feed0002","text":"line\nline\u0000","mode":"sequential","from":"fuzzed"}"#,
        r#"{"agent":"generic","cwd":"no-such-folder","command":["no-such-program"],"env":[["A","b"]],"cols":80,"rows":24}"#,
        r#"{"name":"other-name"}"#,
        r#"{"env":[["K","V"]],"cols":1,"rows":65535,"fresh":true}"#,
        r#"{"session_id":"x","used_percentage":31.5,"total_input_tokens":62000,"context_window_size":200000}"#,
        r#"{"launch":"7","pid":4294967295,"start":1,"code":3,"signal":null,"error":"x"}"#,
        r#"{"dry_run":true}"#,
        "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ]
    .iter()
    .map(|seed| seed.as_bytes().to_vec())
    .collect();
    seeds.extend(Corpus::recorded("claude", "hook_"));
    seeds.extend(Corpus::recorded("claude", "statusline"));
    seeds.extend(Corpus::recorded("codex", "hook_"));
    let corpus = Corpus::of(seeds);
    let mut sent = 0_u64;
    let id = daemon.id.clone();
    fuzz("http_bodies", &corpus, |mut input| {
        let (request, whole) = request(&mut input, &id);
        if let Some(status) = daemon.send(&request, whole) {
            assert!((200..600).contains(&status), "{status}");
            assert_ne!(status, 500, "{}", daemon.said());
        }
        sent += 1;
        if sent.is_multiple_of(64) {
            daemon.is_well();
        }
    });
    daemon.is_well();
    let most = daemon.most_memory();
    assert!(most < 256, "the daemon took {most} MiB");
}
