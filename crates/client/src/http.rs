//! A minimal blocking HTTP/1.1 client over the daemon's Unix socket.
//!
//! One request a connection, a deadline for the whole of it, a bounded answer. It never retries
//! and never blocks past its deadline, whatever the daemon does: a stopped daemon must not stop
//! an agent.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::body::{Body, Framing};
use crate::paths::{PathError, Paths};
use crate::platform;
use crate::wire;

/// A longer head of an answer is refused.
const MAX_HEAD: usize = 64 * 1024;
/// The most that `Client::request` takes as the body of an answer.
pub const MAX_RESPONSE: usize = 64 * 1024 * 1024;
const READ_SIZE: usize = 16 * 1024;

/// A request, encoded as it is built.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    head: String,
    body: &'a [u8],
    invalid: Option<&'static str>,
}

impl<'a> Request<'a> {
    /// `target` is a path with its query, percent-encoded by the caller.
    pub fn new(method: &str, target: &str) -> Self {
        let mut head = String::with_capacity(512);
        let fine =
            target.starts_with('/') && target.bytes().all(|byte| matches!(byte, b'!'..=b'~'));
        for part in [
            method,
            " ",
            target,
            " HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n",
        ] {
            head.push_str(part);
        }
        Self {
            head,
            body: &[],
            invalid: (!fine).then_some("the target of the request is not a path"),
        }
        .header(wire::PROTOCOL_HEADER, &wire::PROTOCOL.to_string())
    }

    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    pub fn post(target: &str) -> Self {
        Self::new("POST", target)
    }

    /// A value that could end its line makes the request invalid: it is not sent.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if !wire::is_header_value(value) {
            self.invalid = Some("a header value has control or non-ASCII characters");
            return self;
        }
        for part in [name, ": ", value, "\r\n"] {
            self.head.push_str(part);
        }
        self
    }

    /// A JSON body, sent as it is.
    #[must_use]
    pub fn json(mut self, body: &'a [u8]) -> Self {
        self.body = body;
        self.header("content-type", "application/json")
    }

    // One buffer, so that a request is one write.
    fn encode(&self) -> Result<Vec<u8>, HttpError> {
        if let Some(why) = self.invalid {
            return Err(HttpError::BadRequest(why));
        }
        let mut bytes = Vec::with_capacity(self.head.len() + self.body.len() + 32);
        bytes.extend_from_slice(self.head.as_bytes());
        bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", self.body.len()).as_bytes());
        bytes.extend_from_slice(self.body);
        Ok(bytes)
    }
}

/// The first part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    /// The first header of that name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    fn framing(&self) -> Result<Framing, HttpError> {
        if self.status == 204 || self.status == 304 {
            return Ok(Framing::Done);
        }
        if let Some(coding) = self.header("transfer-encoding") {
            return if coding.eq_ignore_ascii_case("chunked") {
                Ok(Framing::ChunkSize)
            } else {
                Err(HttpError::Malformed("unknown transfer encoding"))
            };
        }
        match self.header("content-length") {
            Some(length) => length
                .parse()
                .map(Framing::Length)
                .map_err(|_| HttpError::Malformed("content length is no number")),
            None => Ok(Framing::UntilClose),
        }
    }
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub head: Head,
    pub body: Vec<u8>,
}

impl Response {
    pub fn status(&self) -> u16 {
        self.head.status
    }

    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.head.status)
    }

    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// What an error answer says: what happened, and what to do.
    pub fn error(&self) -> (String, Option<String>) {
        let said = crate::json::parse(&self.body);
        let field = |name| {
            said.as_ref()
                .and_then(|value| value.get(name)?.as_str())
                .map(str::to_owned)
        };
        let what =
            field("error").unwrap_or_else(|| format!("the daemon answered {}", self.status()));
        (what, field("hint"))
    }
}

/// The daemon of one instance.
#[derive(Debug, Clone)]
pub struct Client {
    paths: Paths,
}

impl Client {
    pub fn new(paths: Paths) -> Self {
        Self { paths }
    }

    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Connects; refuses a socket that someone else could have put there.
    pub fn connect(&self, deadline: Instant) -> Result<Connection, HttpError> {
        self.paths.check_socket_dir().map_err(|error| match error {
            // Nobody made it yet: there is no daemon.
            PathError::Io { error, .. } if is_nowhere(&error) => HttpError::NoDaemon(error),
            PathError::NoHome
            | PathError::Relative(_)
            | PathError::Untrusted { .. }
            | PathError::Io { .. } => HttpError::Untrusted(error),
        })?;
        Connection::open(self.paths.socket(), deadline)
    }

    /// One request and its whole answer before the deadline.
    pub fn request(&self, request: &Request<'_>, deadline: Instant) -> Result<Response, HttpError> {
        let mut connection = self.connect(deadline)?;
        connection.send(request, deadline)?;
        connection.response(MAX_RESPONSE, deadline)
    }

    /// Sends a request and answers when its head is there: the body is read line by line.
    /// An answer that is not 200 is given whole.
    pub fn stream(
        &self,
        request: &Request<'_>,
        deadline: Instant,
    ) -> Result<Result<Lines, Response>, HttpError> {
        let mut connection = self.connect(deadline)?;
        connection.send(request, deadline)?;
        let head = connection.head(deadline)?;
        if head.status == 200 {
            let body = Body::new(head.framing()?);
            return Ok(Ok(Lines::new(connection, body)));
        }
        let body = connection.body(&head, MAX_RESPONSE, deadline)?;
        Ok(Err(Response { head, body }))
    }
}

/// There is no such place, so nobody listens there: also if it would be below a file.
fn is_nowhere(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// One connection: send, then the head, then the body. Reads can be resumed after a timeout.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub fn open(socket: &Path, deadline: Instant) -> Result<Self, HttpError> {
        let stream =
            platform::connect(socket, left(deadline)?).map_err(|error| match error.kind() {
                _ if is_nowhere(&error) => HttpError::NoDaemon(error),
                io::ErrorKind::ConnectionRefused => HttpError::NoDaemon(error),
                io::ErrorKind::PermissionDenied => HttpError::Forbidden(error),
                _ => HttpError::from_io(error),
            })?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
        })
    }

    /// Sends the whole request.
    pub fn send(&mut self, request: &Request<'_>, deadline: Instant) -> Result<(), HttpError> {
        let bytes = request.encode()?;
        let mut rest = bytes.as_slice();
        // Connecting left the socket with the time there was then: good for the first write.
        let mut fresh = true;
        while !rest.is_empty() {
            if !fresh {
                self.stream
                    .set_write_timeout(Some(left(deadline)?))
                    .map_err(HttpError::Io)?;
            }
            fresh = false;
            match self.stream.write(rest) {
                Ok(0) => return Err(HttpError::Closed),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // It may have refused the body early: its answer says why.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
                    ) =>
                {
                    return Ok(());
                }
                Err(error) => return Err(HttpError::from_io(error)),
            }
        }
        Ok(())
    }

    /// The head of the answer. After `Timeout` it can be called again.
    pub fn head(&mut self, deadline: Instant) -> Result<Head, HttpError> {
        loop {
            if let Some(length) = head_length(&self.buffer) {
                let head = parse_head(&self.buffer[..length])?;
                self.buffer.drain(..length);
                if (100..200).contains(&head.status) {
                    continue;
                }
                return Ok(head);
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(HttpError::TooLarge);
            }
            if self.fill(Some(deadline))? == 0 {
                return Err(HttpError::Closed);
            }
        }
    }

    /// The whole body that belongs to a head.
    pub fn body(
        &mut self,
        head: &Head,
        limit: usize,
        deadline: Instant,
    ) -> Result<Vec<u8>, HttpError> {
        let mut body = Body::new(head.framing()?);
        let mut bytes = Vec::new();
        while body.read(self, &mut bytes, Some(deadline))? {
            if bytes.len() > limit {
                return Err(HttpError::TooLarge);
            }
        }
        if bytes.len() > limit {
            return Err(HttpError::TooLarge);
        }
        Ok(bytes)
    }

    /// Head and body.
    pub fn response(&mut self, limit: usize, deadline: Instant) -> Result<Response, HttpError> {
        let head = self.head(deadline)?;
        let body = self.body(&head, limit, deadline)?;
        Ok(Response { head, body })
    }

    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Reads once into the buffer; 0 at the end.
    pub(crate) fn fill(&mut self, deadline: Option<Instant>) -> Result<usize, HttpError> {
        let timeout = deadline.map(left).transpose()?;
        self.stream
            .set_read_timeout(timeout)
            .map_err(HttpError::Io)?;
        let filled = self.buffer.len();
        self.buffer.resize(filled + READ_SIZE, 0);
        let read = loop {
            match self.stream.read(&mut self.buffer[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer
            .truncate(filled + read.as_ref().map_or(0, |n| *n));
        match read {
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
            other => other.map_err(HttpError::from_io),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The lines of an answer that goes on (server-sent events).
#[derive(Debug)]
pub struct Lines {
    connection: Connection,
    body: Body,
    pending: Vec<u8>,
    more: bool,
}

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Without its line end.
    Text(String),
    /// Nothing before the deadline; more may come.
    Quiet,
    End,
}

/// A longer line is refused.
const MAX_LINE: usize = 4 * 1024 * 1024;

impl Lines {
    fn new(connection: Connection, body: Body) -> Self {
        Self {
            connection,
            body,
            pending: Vec::new(),
            more: true,
        }
    }

    /// What has come, lines or not; empty at the end. Waits for ever.
    pub fn piece(&mut self) -> Result<Vec<u8>, HttpError> {
        while self.pending.is_empty() && self.more {
            self.more = self
                .body
                .read(&mut self.connection, &mut self.pending, None)?;
        }
        Ok(std::mem::take(&mut self.pending))
    }

    /// The next line; `None` waits for ever.
    pub fn next(&mut self, deadline: Option<Instant>) -> Result<Line, HttpError> {
        let mut searched = 0;
        loop {
            if let Some(at) = self.pending[searched..]
                .iter()
                .position(|byte| *byte == b'\n')
            {
                let mut line: Vec<u8> = self.pending.drain(..=searched + at).collect();
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(Line::Text(String::from_utf8_lossy(&line).into_owned()));
            }
            searched = self.pending.len();
            if searched > MAX_LINE {
                return Err(HttpError::TooLarge);
            }
            if !self.more {
                return Ok(Line::End);
            }
            match self
                .body
                .read(&mut self.connection, &mut self.pending, deadline)
            {
                Ok(more) => self.more = more,
                Err(HttpError::Timeout) => return Ok(Line::Quiet),
                Err(error) => return Err(error),
            }
        }
    }
}

fn left(deadline: Instant) -> Result<Duration, HttpError> {
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(HttpError::Timeout),
        // The kernel reads anything under a microsecond as "for ever".
        left => Ok(left.max(Duration::from_micros(1))),
    }
}

fn head_length(buffer: &[u8]) -> Option<usize> {
    buffer
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .map(|at| at + 4)
}

fn parse_head(bytes: &[u8]) -> Result<Head, HttpError> {
    let text = std::str::from_utf8(bytes).map_err(|_| HttpError::Malformed("head is not text"))?;
    let mut lines = text.split("\r\n");
    let status_line = lines.next().unwrap_or_default();
    let status = status_line
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.get(2..5))
        .and_then(|digits| digits.parse::<u16>().ok())
        .filter(|status| (100..600).contains(status))
        .ok_or(HttpError::Malformed("no status line"))?;
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    Ok(Head { status, headers })
}

/// Why there is no answer.
#[derive(Debug)]
pub enum HttpError {
    /// Nobody listens: nothing was sent.
    NoDaemon(io::Error),
    /// This process may not connect, as in a sandbox: nothing was sent, and nothing changes that.
    Forbidden(io::Error),
    /// The socket's directory is not ours alone: nothing was sent.
    Untrusted(PathError),
    /// The request was not valid: nothing was sent.
    BadRequest(&'static str),
    /// The time was over. The daemon may have the request.
    Timeout,
    /// The connection ended before the answer did.
    Closed,
    /// The answer is larger than anyone here wants.
    TooLarge,
    /// The answer is not HTTP.
    Malformed(&'static str),
    Io(io::Error),
}

impl HttpError {
    fn from_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Timeout,
            _ => Self::Io(error),
        }
    }

    /// Whether nobody listens on the socket.
    pub fn is_no_daemon(&self) -> bool {
        matches!(self, Self::NoDaemon(_))
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDaemon(error) => write!(f, "no daemon is listening: {error}"),
            Self::Forbidden(error) => {
                write!(f, "this program may not connect to the daemon: {error}")
            }
            Self::Untrusted(error) => write!(f, "{error}"),
            Self::BadRequest(why) => write!(f, "{why}"),
            Self::Timeout => write!(f, "the daemon did not answer in time"),
            Self::Closed => write!(f, "the daemon closed the connection"),
            Self::TooLarge => write!(f, "the daemon's answer is too large"),
            Self::Malformed(why) => write!(f, "the daemon's answer is not understood: {why}"),
            Self::Io(error) => write!(f, "cannot talk to the daemon: {error}"),
        }
    }
}

impl std::error::Error for HttpError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoDaemon(error) | Self::Forbidden(error) | Self::Io(error) => Some(error),
            Self::Untrusted(error) => Some(error),
            Self::BadRequest(_)
            | Self::Timeout
            | Self::Closed
            | Self::TooLarge
            | Self::Malformed(_) => None,
        }
    }
}
