//! The HTTP client against a socket that behaves well, badly, or not at all.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::ffi::c_int;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use sm_client::http::{Connection, Line};
use sm_client::{Client, HttpError, Paths, Request};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn client(home: &Path) -> Client {
    let home = home.as_os_str().to_owned();
    let paths = Paths::resolve(|key| (key == "SM_HOME").then(|| home.clone()), 0).unwrap();
    std::fs::create_dir_all(paths.state_dir()).unwrap();
    Client::new(paths)
}

/// Reads a request with its whole body.
fn read_request(stream: &mut UnixStream) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let read = stream.read(&mut chunk).unwrap();
        bytes.extend_from_slice(&chunk[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length: usize = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .unwrap()
                .parse()
                .unwrap();
            if body.len() >= length {
                return text;
            }
        }
    }
}

/// Answers one request with these pieces, each its own write.
fn answering<T>(pieces: &[&[u8]], ask: impl FnOnce(&Client) -> T) -> (T, String) {
    let temp = tempfile::tempdir().unwrap();
    let client = client(temp.path());
    let listener = UnixListener::bind(client.paths().socket()).unwrap();
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let request = read_request(&mut stream);
            for piece in pieces {
                stream.write_all(piece).unwrap();
            }
            request
        });
        let answer = ask(&client);
        (answer, server.join().unwrap())
    })
}

#[test]
fn a_request_says_exactly_what_was_asked() {
    let (answer, request) = answering(
        &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: b\r\n\r\n{}"],
        |client| {
            let request = Request::post("/sessions?all=1")
                .header("x-one", "1")
                .json(b"{\"a\":1}");
            client.request(&request, soon()).unwrap()
        },
    );
    assert_eq!(
        request,
        "POST /sessions?all=1 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         x-sm-protocol: 1\r\nx-one: 1\r\ncontent-type: application/json\r\n\
         content-length: 7\r\n\r\n{\"a\":1}"
    );
    assert_eq!((answer.status(), answer.body.as_slice()), (200, &b"{}"[..]));
    assert_eq!(answer.head.header("x-a"), Some("b"));
}

#[test]
fn answers_come_in_any_framing_and_any_pieces() {
    type Row<'a> = (&'a [&'a [u8]], Result<(u16, &'a str), &'a str>);
    let rows: &[Row<'_>] = &[
        (
            &[
                b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n",
                b"\r\nhel",
                b"lo",
            ],
            Ok((200, "hello")),
        ),
        (
            &[
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r",
                b"\n2\r\nlo\r\n0\r\n\r\n",
            ],
            Ok((200, "hello")),
        ),
        (&[b"HTTP/1.1 200 OK\r\n\r\n", b"hello"], Ok((200, "hello"))),
        (&[b"HTTP/1.1 204 No Content\r\n\r\n"], Ok((204, ""))),
        (
            &[b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"],
            Ok((404, "")),
        ),
        (
            &[b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhel"],
            Err("closed"),
        ),
        (&[b""], Err("closed")),
        (&[b"SSH-2.0-x\r\n\r\n"], Err("malformed")),
        (&[b"HTTP/1.1 9 OK\r\n\r\n"], Err("malformed")),
        (
            &[b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"],
            Err("malformed"),
        ),
        (
            &[b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"],
            Err("malformed"),
        ),
    ];
    for (pieces, expected) in rows {
        let (answer, _) = answering(pieces, |client| client.request(&Request::get("/"), soon()));
        let answer = answer.map_err(|error| match error {
            HttpError::Closed => "closed",
            HttpError::Malformed(_) => "malformed",
            HttpError::NoDaemon(_)
            | HttpError::Forbidden(_)
            | HttpError::Untrusted(_)
            | HttpError::BadRequest(_)
            | HttpError::Timeout
            | HttpError::TooLarge
            | HttpError::Io(_) => "other",
        });
        let answer = answer
            .as_ref()
            .map(|answer| (answer.status(), answer.text()));
        let answer = answer
            .as_ref()
            .map(|(status, text)| (*status, text.as_ref()));
        assert_eq!(answer.map_err(|error| **error), *expected, "{pieces:?}");
    }
}

#[test]
fn an_endless_answer_is_bounded() {
    let head = b"HTTP/1.1 200 OK\r\n\r\n";
    let body = vec![b'x'; 100_000];
    let (answer, _) = answering(&[head, &body], |client| {
        let mut connection = client.connect(soon()).unwrap();
        connection.send(&Request::get("/"), soon()).unwrap();
        connection
            .response(50_000, soon())
            .map(|answer| answer.body.len())
    });
    assert!(matches!(answer, Err(HttpError::TooLarge)), "{answer:?}");
}

#[test]
fn a_refusal_before_the_whole_body_was_read_is_heard() {
    let temp = tempfile::tempdir().unwrap();
    let client = client(temp.path());
    let listener = UnixListener::bind(client.paths().socket()).unwrap();
    let body = vec![b' '; 8 * 1024 * 1024];
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream
                .write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n")
                .unwrap();
            stream.shutdown(std::net::Shutdown::Both).unwrap();
        });
        let answer = client
            .request(&Request::post("/").json(&body), soon())
            .unwrap();
        assert_eq!(answer.status(), 413);
    });
}

#[test]
fn nobody_there_is_told_apart_from_no_answer() {
    unsafe extern "C" {
        fn listen(fd: c_int, backlog: c_int) -> c_int;
    }
    let temp = tempfile::tempdir().unwrap();
    let client = client(temp.path());
    let ask = |deadline| client.request(&Request::get("/health"), deadline);
    assert!(ask(soon()).unwrap_err().is_no_daemon(), "no socket");
    let listener = UnixListener::bind(client.paths().socket()).unwrap();
    let short = || Instant::now() + Duration::from_millis(20);
    let answer = ask(short());
    assert!(matches!(answer, Err(HttpError::Timeout)), "{answer:?}");
    // Nobody takes the connection above out of the queue: now it is full, and a plain connect
    // would block for ever.
    // SAFETY: listen takes two integers; the descriptor is open.
    assert_eq!(unsafe { listen(listener.as_raw_fd(), 0) }, 0);
    let waiting = Connection::open(client.paths().socket(), short());
    assert!(matches!(waiting, Err(HttpError::Timeout)), "{waiting:?}");
    drop(listener);
    assert!(ask(soon()).unwrap_err().is_no_daemon(), "left-over socket");
}

#[test]
fn what_could_end_a_header_is_never_sent() {
    let temp = tempfile::tempdir().unwrap();
    let client = client(temp.path());
    let listener = UnixListener::bind(client.paths().socket()).unwrap();
    listener.set_nonblocking(true).unwrap();
    for request in [
        Request::get("/a b"),
        Request::get("/a\r\nx: y"),
        Request::get("a"),
        Request::get("/").header("x", "a\r\ny: b"),
    ] {
        let mut connection = client.connect(soon()).unwrap();
        let sent = connection.send(&request, soon());
        assert!(matches!(sent, Err(HttpError::BadRequest(_))), "{sent:?}");
        drop(connection);
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"");
    }
}

#[test]
fn lines_of_a_stream_come_as_they_are_written() {
    let temp = tempfile::tempdir().unwrap();
    let client = client(temp.path());
    let listener = UnixListener::bind(client.paths().socket()).unwrap();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            read_request(&mut stream);
            stream
                .write_all(
                    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\nid: 1\r\nd\r\n",
                )
                .unwrap();
            wait.recv().unwrap();
            stream
                .write_all(b"8\r\nata: \xc3\xa4\n\r\n0\r\n\r\n")
                .unwrap();
        });
        let mut lines = client
            .stream(&Request::get("/events"), soon())
            .unwrap()
            .unwrap();
        assert_eq!(
            lines.next(Some(soon())).unwrap(),
            Line::Text("id: 1".to_owned())
        );
        let short = Instant::now() + Duration::from_millis(5);
        assert_eq!(lines.next(Some(short)).unwrap(), Line::Quiet);
        go.send(()).unwrap();
        assert_eq!(lines.next(None).unwrap(), Line::Text("data: ä".to_owned()));
        assert_eq!(lines.next(None).unwrap(), Line::End);
    });
}
