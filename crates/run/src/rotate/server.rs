//! A small server on a socket of the run's own, where the agent's hooks and its `sm handoff` find
//! what they would otherwise find at the daemon's. One request a connection; every size and every
//! wait is bounded.
//!
//! It decides nothing: what a request means is its handler's business.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sm_client::wire;

const LARGEST_HEAD: usize = 32 * 1024;
/// What a hook may send, and a little more for others.
const LARGEST_BODY: usize = wire::MAX_HOOK_BODY + 64 * 1024;
/// One that holds the document of a handoff: the largest that can be configured, as JSON.
const LARGEST_DOCUMENT: usize = (16 << 20) * 6 + 64 * 1024;
const PATIENCE: Duration = Duration::from_secs(5);
/// More at once than an agent has hooks.
const MOST_AT_ONCE: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    pub target: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The process that asks, where the system tells.
    pub peer: Option<u32>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// What is answered, and what is done when the answer has been given.
pub struct Reply {
    pub status: u16,
    pub body: Vec<u8>,
    headers: Vec<(&'static str, String)>,
    pub then: Option<Box<dyn FnOnce() + Send>>,
}

impl Reply {
    pub fn nothing() -> Self {
        Self::of(204, Vec::new())
    }

    pub fn of(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            body: body.into(),
            headers: Vec::new(),
            then: None,
        }
    }

    /// The value must be a word of ours.
    pub fn header(mut self, name: &'static str, value: String) -> Self {
        if wire::is_header_value(&value) {
            self.headers.push((name, value));
        }
        self
    }

    pub fn then(mut self, then: impl FnOnce() + Send + 'static) -> Self {
        self.then = Some(Box::new(then));
        self
    }
}

pub type Handler = Arc<dyn Fn(Request) -> Reply + Send + Sync>;

/// Serves until the process ends.
pub fn serve(listener: UnixListener, handler: Handler) -> io::Result<()> {
    let busy = Arc::new(AtomicUsize::new(0));
    std::thread::Builder::new()
        .name("sm-run-hooks".to_owned())
        .spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    // Too many open files: whoever asked will spool or repeat.
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                };
                if busy.fetch_add(1, Ordering::SeqCst) >= MOST_AT_ONCE {
                    busy.fetch_sub(1, Ordering::SeqCst);
                    continue;
                }
                let (handler, seat) = (Arc::clone(&handler), Arc::clone(&busy));
                let spawned = std::thread::Builder::new().spawn(move || {
                    // A caller that has gone is no concern of ours.
                    let _ = answer(stream, &handler);
                    seat.fetch_sub(1, Ordering::SeqCst);
                });
                if spawned.is_err() {
                    busy.fetch_sub(1, Ordering::SeqCst);
                }
            }
        })
        .map(|_| ())
}

fn answer(mut stream: UnixStream, handler: &Handler) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let reply = match read(&mut stream)? {
        Some(request) => handler(Request {
            peer: peer(&stream),
            ..request
        }),
        None => Reply::of(400, Vec::new()),
    };
    let mut head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n",
        reply.status,
        reason(reply.status),
        reply.body.len()
    );
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&reply.body);
    let written = stream.write_all(&bytes).and_then(|()| stream.flush());
    drop(stream);
    if let Some(then) = reply.then {
        then();
    }
    written
}

#[cfg(target_os = "linux")]
fn peer(stream: &UnixStream) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

#[cfg(not(target_os = "linux"))]
fn peer(_stream: &UnixStream) -> Option<u32> {
    None
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        400 => "Bad Request",
        403 => "Forbidden",
        503 => "Service Unavailable",
        _ => "Not Found",
    }
}

/// `None`: it is no request, or too large.
fn read(from: &mut impl Read) -> io::Result<Option<Request>> {
    let mut bytes = Vec::new();
    let mut piece = [0_u8; 8192];
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if bytes.len() > LARGEST_HEAD {
            return Ok(None);
        }
        let count = from.read(&mut piece)?;
        if count == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&piece[..count]);
    };
    let Some(mut request) = parse_head(&bytes[..head]) else {
        return Ok(None);
    };
    let length = match request.header("content-length").map(str::parse) {
        None => 0,
        Some(Ok(length)) if length <= largest(&request) => length,
        Some(Ok(_) | Err(_)) => return Ok(None),
    };
    request.body = bytes.split_off(head + 4);
    while request.body.len() < length {
        let count = from.read(&mut piece)?;
        if count == 0 {
            return Ok(None);
        }
        request.body.extend_from_slice(&piece[..count]);
    }
    request.body.truncate(length);
    Ok(Some(request))
}

fn largest(request: &Request) -> usize {
    match request.method == "POST" && request.target.ends_with("/handoff") {
        true => LARGEST_DOCUMENT,
        false => LARGEST_BODY,
    }
}

fn parse_head(head: &[u8]) -> Option<Request> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?, first.next()?);
    first.next()?.strip_prefix("HTTP/1.")?;
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect();
    Some(Request {
        method: method.to_owned(),
        target: target.to_owned(),
        headers,
        body: Vec::new(),
        peer: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_client::http::Connection;
    use std::sync::mpsc;
    use std::time::Instant;

    #[test]
    fn our_own_client_is_understood() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.sock");
        let (sent, got) = mpsc::channel();
        let handler: Handler = Arc::new(move |request: Request| {
            let body = request.body.clone();
            let tell = sent.clone();
            Reply::of(200, body).then(move || tell.send(request).unwrap())
        });
        serve(UnixListener::bind(&path).unwrap(), handler).unwrap();
        for size in [0, 10, 300_000] {
            let body = vec![b'x'; size];
            let deadline = Instant::now() + Duration::from_secs(20);
            let mut connection = Connection::open(&path, deadline).unwrap();
            let request = sm_client::Request::post("/hooks/claude/Stop")
                .header(wire::SECRET_HEADER, "s")
                .json(&body);
            connection.send(&request, deadline).unwrap();
            let answer = connection.response(1 << 20, deadline).unwrap();
            assert_eq!((answer.status(), answer.body), (200, body));
            let request = got.recv().unwrap();
            assert_eq!(
                (request.method.as_str(), request.target.as_str()),
                ("POST", "/hooks/claude/Stop")
            );
            assert_eq!(request.header("X-SM-Secret"), Some("s"));
        }
    }

    #[test]
    fn only_a_document_may_be_long() {
        for (target, fits) in [
            ("/sessions/api/handoff", true),
            ("/hooks/claude/Stop", false),
        ] {
            let body = "x".repeat(LARGEST_BODY + 1);
            let request = format!(
                "POST {target} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            let read = read(&mut request.as_bytes()).unwrap();
            assert_eq!(read.is_some(), fits, "{target}");
        }
    }

    #[test]
    fn what_is_no_request() {
        let endless = [b'a'; LARGEST_HEAD + 10_000];
        for bad in [
            &b""[..],
            b"GET",
            b"\r\n\r\n",
            b"GET /x\r\n\r\n",
            b"GET /x SPDY/1\r\n\r\n",
            b"POST /x HTTP/1.1\r\ncontent-length: x\r\n\r\n",
            b"POST /x HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n",
            b"POST /x HTTP/1.1\r\ncontent-length: 5\r\n\r\nabc",
            b"GET /\xff HTTP/1.1\r\n\r\n",
            &endless,
        ] {
            assert_eq!(read(&mut &*bad).unwrap(), None);
        }
        let good = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\nmore";
        assert_eq!(read(&mut &good[..]).unwrap().unwrap().body, b"");
    }
}
