//! Access and bounds on real sockets: each refusal as a client sees it.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::routing::{self, get};
use proptest::prelude::*;
use sm_daemon::api::access::{Access, guard};
use sm_daemon::api::serve::{Limits, serve_tcp, serve_unix};
use sm_daemon::signin::SignIns;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

const NOBODY: u32 = 65534;
const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
/// Set in a child of this test: the address to ask, and the request's lines.
const ASK: &str = "SM_TEST_ASK";
/// Nothing here takes this long; a test that does is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

fn me() -> u32 {
    rustix::process::getuid().as_raw()
}

struct Server {
    address: String,
    dir: tempfile::TempDir,
    stop: CancellationToken,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Server {
    async fn start() -> Self {
        let limits = Limits {
            head_deadline: Duration::from_millis(300),
            ..Limits::default()
        };
        Self::with(limits).await
    }

    async fn with(limits: Limits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let unix = UnixListener::bind(dir.path().join("s")).unwrap();
        let port = tcp.local_addr().unwrap().port();
        let mut access = Access::new(TOKEN.into(), Some(port));
        access.body_limit = 100_000;
        access.body_deadline = Duration::from_millis(300);
        let router = Router::new()
            .route("/hello", get(async || "hello"))
            .route("/never", get(std::future::pending::<String>))
            .route(
                "/length",
                routing::any(async |body: Bytes| body.len().to_string()),
            );
        let sign_ins = Arc::new(SignIns::load(dir.path().join("signed-in")));
        let router = guard(router, Arc::new(access), sign_ins);
        let stop = CancellationToken::new();
        let tasks = vec![
            tokio::spawn(serve_tcp(tcp, router.clone(), limits, stop.clone())),
            tokio::spawn(serve_unix(unix, router, limits, stop.clone())),
        ];
        Self {
            address: format!("127.0.0.1:{port}"),
            dir,
            stop,
            tasks,
        }
    }

    async fn tcp(&self) -> TcpStream {
        TcpStream::connect(&self.address).await.unwrap()
    }

    async fn unix(&self) -> UnixStream {
        UnixStream::connect(self.dir.path().join("s"))
            .await
            .unwrap()
    }

    /// A whole request over TCP, with `Host` and `Connection: close`; the whole answer.
    async fn ask(&self, line: &str, headers: &str, body: &[u8]) -> String {
        let head = format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n",
            self.address
        );
        exchange(self.tcp().await, &[head.as_bytes(), body].concat()).await
    }

    async fn stop(self) {
        self.stop.cancel();
        for task in self.tasks {
            within(task).await.unwrap();
        }
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap()
}

/// Sends (the other side may stop reading) and returns everything that comes until the end.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) -> String {
    within(async {
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    })
    .await
}

fn status(answer: &str) -> u16 {
    answer
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.get(2..5))
        .and_then(|status| status.parse().ok())
        .unwrap_or_else(|| panic!("no answer: {answer:?}"))
}

/// A refusal is JSON that says what happened and what to do.
fn check_refusal(answer: &str, expected: u16) {
    assert_eq!(status(answer), expected, "{answer}");
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    for field in ["error", "hint"] {
        assert!(!body[field].as_str().unwrap().is_empty(), "{answer}");
    }
}

#[tokio::test]
async fn our_own_user_is_served_over_both() {
    let server = Server::start().await;
    if cfg!(target_os = "linux") {
        let answer = server.ask("GET /hello", "", b"").await;
        assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
    }
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let answer = server.ask("GET /hello", &bearer, b"").await;
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
    let request = b"GET /hello HTTP/1.1\r\nHost: sm\r\nConnection: close\r\n\r\n";
    let answer = exchange(server.unix().await, request).await;
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn another_user_is_refused_but_for_the_token() {
    if let Ok(asked) = std::env::var(ASK) {
        // We are the child, as nobody.
        let (address, headers) = asked.split_once('|').unwrap();
        let request =
            format!("GET /hello HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
        let stream = TcpStream::connect(address).await.unwrap();
        let answer = exchange(stream, request.as_bytes()).await;
        std::fs::write(std::env::var("SM_TEST_ANSWER").unwrap(), answer).unwrap();
        return;
    }
    if me() != 0 {
        eprintln!(
            "skipped another_user_is_refused_but_for_the_token: needs root to become another user"
        );
        return;
    }
    let server = Server::start().await;
    let dir = tempfile::Builder::new()
        .prefix("sm-access")
        .tempdir_in("/tmp")
        .unwrap();
    // A copy that nobody may run, whatever folder the build is in; and a folder for its answers.
    let program = dir.path().join("access-test");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    rustix::fs::chmod(dir.path(), 0o755.into()).unwrap();
    let answers = dir.path().join("answers");
    std::fs::create_dir(&answers).unwrap();
    std::os::unix::fs::chown(&answers, Some(NOBODY), Some(NOBODY)).unwrap();
    let as_nobody = async |number: u32, headers: &str| {
        let file = answers.join(number.to_string());
        let mut child = tokio::process::Command::new(&program)
            .args(["--exact", "another_user_is_refused_but_for_the_token"])
            .env(ASK, format!("{}|{headers}", server.address))
            .env("SM_TEST_ANSWER", &file)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .uid(NOBODY)
            .gid(NOBODY)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        assert!(within(child.wait()).await.unwrap().success());
        std::fs::read_to_string(&file).unwrap()
    };
    let answer = as_nobody(1, "").await;
    check_refusal(&answer, 403);
    assert!(answer.contains("uid 65534"), "{answer}");
    check_refusal(&as_nobody(2, "Authorization: Bearer 00\r\n").await, 403);
    let answer = as_nobody(3, &format!("Authorization: Bearer {TOKEN}\r\n")).await;
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_wrong_host_is_refused() {
    let server = Server::start().await;
    let request = b"GET /hello HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    check_refusal(&exchange(server.tcp().await, request).await, 403);
    let request = b"GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n";
    check_refusal(&exchange(server.tcp().await, request).await, 403);
    let request = b"GET /hello HTTP/1.0\r\n\r\n";
    check_refusal(&exchange(server.tcp().await, request).await, 403);
    server.stop().await;
}

#[tokio::test]
async fn a_foreign_origin_is_refused_for_every_verb_and_path() {
    let server = Server::start().await;
    let foreign = "Origin: http://evil.example\r\n";
    for verb in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
        for path in ["/hello", "/length", "/nowhere"] {
            let answer = server.ask(&format!("{verb} {path}"), foreign, b"").await;
            check_refusal(&answer, 403);
            let request =
                format!("{verb} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{foreign}\r\n");
            check_refusal(
                &exchange(server.unix().await, request.as_bytes()).await,
                403,
            );
        }
    }
    let answer = server.ask("HEAD /hello", foreign, b"").await;
    assert_eq!(status(&answer), 403);
    let own = format!("Origin: http://{}\r\n", server.address);
    let bearer = format!("{own}Authorization: Bearer {TOKEN}\r\n");
    assert_eq!(status(&server.ask("GET /hello", &bearer, b"").await), 200);
    server.stop().await;
}

/// Asks over the Unix socket, where the user is known on every system.
async fn post(server: &Server, headers: &str, body: &[u8]) -> String {
    let head = format!("POST /length HTTP/1.1\r\nHost: sm\r\nConnection: close\r\n{headers}\r\n");
    exchange(server.unix().await, &[head.as_bytes(), body].concat()).await
}

#[tokio::test]
async fn only_json_bodies_are_taken() {
    let server = Server::start().await;
    let answer = post(
        &server,
        "Content-Length: 2\r\nContent-Type: text/plain\r\n",
        b"{}",
    )
    .await;
    check_refusal(&answer, 415);
    check_refusal(&post(&server, "Content-Length: 2\r\n", b"{}").await, 415);
    let json = "Content-Type: application/json; charset=utf-8\r\n";
    let answer = post(&server, &format!("{json}Content-Length: 2\r\n"), b"{}").await;
    assert!(answer.ends_with("\r\n\r\n2"), "{answer}");
    let chunked = format!("{json}Transfer-Encoding: chunked\r\n");
    let answer = post(&server, &chunked, b"2\r\n{}\r\n3\r\n{ }\r\n0\r\n\r\n").await;
    assert!(answer.ends_with("\r\n\r\n5"), "{answer}");
    assert!(post(&server, "", b"").await.ends_with("\r\n\r\n0"));
    server.stop().await;
}

#[tokio::test]
async fn an_oversized_body_is_refused_and_the_sender_hears_it() {
    let server = Server::start().await;
    let json = "Content-Type: application/json\r\n";
    let body = vec![b'x'; 5_000_000];
    let declared = format!("{json}Content-Length: {}\r\n", body.len());
    check_refusal(&post(&server, &declared, &body).await, 413);
    // Nothing of it has to be sent for the answer to come.
    check_refusal(&post(&server, &declared, b"").await, 413);
    // Of a length that is not told, no more than the limit is kept.
    let chunk = [b"10000\r\n".as_slice(), &[b'x'; 0x10000], b"\r\n"].concat();
    let body = [chunk.repeat(20), b"0\r\n\r\n".to_vec()].concat();
    let chunked = format!("{json}Transfer-Encoding: chunked\r\n");
    check_refusal(&post(&server, &chunked, &body).await, 413);
    let bearer = format!("{declared}Authorization: Bearer {TOKEN}\r\n");
    let answer = server
        .ask("POST /length", &bearer, &[b'x'; 5_000_000])
        .await;
    check_refusal(&answer, 413);
    let largest = format!("{json}Content-Length: 100000\r\n");
    let answer = post(&server, &largest, &[b'x'; 100_000]).await;
    assert!(answer.ends_with("\r\n\r\n100000"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_slow_sender_is_not_waited_for() {
    let server = Server::start().await;
    // Part of a body, and then nothing.
    let part = "Content-Type: application/json\r\nContent-Length: 10\r\n";
    check_refusal(&post(&server, part, b"{").await, 408);
    // Part of a head, and then nothing: the connection ends without our doing.
    exchange(server.tcp().await, b"GET /hello HTTP/1.1\r\nHost: x").await;
    exchange(server.tcp().await, b"").await;
    exchange(server.unix().await, b"G").await;
    // One byte at a time is as slow as none: the head as a whole has to be in time.
    let (mut from, mut to) = server.tcp().await.into_split();
    let drip = tokio::spawn(async move {
        while to.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut answer = Vec::new();
    let _ = within(from.read_to_end(&mut answer)).await;
    within(drip).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn a_connection_serves_many_requests() {
    let server = Server::start().await;
    let mut stream = server.unix().await;
    for _ in 0..3 {
        stream
            .write_all(b"GET /hello HTTP/1.1\r\nHost: sm\r\n\r\n")
            .await
            .unwrap();
        let mut answer = String::new();
        while !answer.ends_with("hello") {
            let mut buffer = [0; 512];
            let length = within(stream.read(&mut buffer)).await.unwrap();
            assert_ne!(length, 0, "closed after {answer:?}");
            answer.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn there_are_only_so_many_connections_to_the_socket() {
    let server = Server::with(Limits {
        unix_connections: 2,
        ..Limits::default()
    })
    .await;
    let _first = server.unix().await;
    let _second = server.unix().await;
    check_refusal(&exchange(server.unix().await, b"").await, 503);
    drop(_second);
    within(async {
        let hello = b"GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        while status(&exchange(server.unix().await, hello).await) != 200 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(_first);
    server.stop().await;
}

/// Those on which something is asked do not count.
#[tokio::test]
async fn a_process_has_only_so_many_connections_on_which_it_asks_nothing() {
    let server = Server::with(Limits {
        idle_of_a_process: 3,
        ..Limits::default()
    })
    .await;
    let mut busy = Vec::new();
    for _ in 0..6 {
        let mut stream = server.unix().await;
        let request = format!("GET /never HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
        stream.write_all(request.as_bytes()).await.unwrap();
        // (it is idle until its head was read)
        ask_again(&server, 200).await;
        busy.push(stream);
    }
    let idle: Vec<UnixStream> = {
        let mut idle = Vec::new();
        for _ in 0..3 {
            idle.push(server.unix().await);
        }
        idle
    };
    ask_again(&server, 503).await;
    drop(idle);
    ask_again(&server, 200).await;
    server.stop().await;
}

/// Until this is the answer: the server sees what became of other connections a little later.
async fn ask_again(server: &Server, wanted: u16) {
    let request = format!(
        "GET /hello HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        server.address
    );
    within(async {
        while status(&exchange(server.unix().await, request.as_bytes()).await) != wanted {}
    })
    .await;
}

#[tokio::test]
async fn there_are_only_so_many_tcp_connections() {
    let server = Server::with(Limits {
        own_connections: 2,
        other_connections: 2,
        ..Limits::default()
    })
    .await;
    let _first = server.tcp().await;
    let _second = server.tcp().await;
    let third = exchange(server.tcp().await, b"").await;
    check_refusal(&third, 503);
    let body = third.split_once("\r\n\r\n").unwrap().1;
    assert!(third.contains(&format!("content-length: {}\r\n", body.len())));
    // A place that is left can be taken again.
    drop(_second);
    within(async {
        let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
        while status(&server.ask("GET /hello", &bearer, b"").await) != 200 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(_first);
    server.stop().await;
}

#[tokio::test]
async fn stopping_ends_what_never_answers() {
    let server = Server::with(Limits {
        grace: Duration::from_millis(100),
        ..Limits::default()
    })
    .await;
    let mut idle = server.unix().await;
    let mut asking = server.unix().await;
    asking
        .write_all(b"GET /never HTTP/1.1\r\nHost: sm\r\n\r\n")
        .await
        .unwrap();
    // Served on the same loop before it stops: both connections are known by now.
    let request = b"GET /hello HTTP/1.1\r\nHost: sm\r\nConnection: close\r\n\r\n";
    assert_eq!(status(&exchange(server.unix().await, request).await), 200);
    server.stop().await;
    for stream in [&mut idle, &mut asking] {
        let mut rest = Vec::new();
        let _ = within(stream.read_to_end(&mut rest)).await;
        assert!(rest.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn garbage_ends_the_connection_and_nothing_else(
        pieces in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..200),
                Just(b"GET /length HTTP/1.1\r\n".to_vec()),
                Just(b"POST /length HTTP/1.1\r\nHost: localhost\r\n".to_vec()),
                Just(b"Content-Length: 99999999999999999999999\r\n".to_vec()),
                Just(b"Content-Length: -1\r\nContent-Type: application/json\r\n".to_vec()),
                Just(b"Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n".to_vec()),
                Just(b"Host: \xff\xfe\r\nOrigin: \xff\r\n".to_vec()),
                Just(b"\r\n\r\n".to_vec()),
                Just(b"ffffffffffffffffff\r\n".to_vec()),
                Just(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()),
                Just(vec![b'a'; 100_000]),
            ],
            0..8,
        )
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Server::with(Limits {
                head_deadline: Duration::from_millis(30),
                ..Limits::default()
            })
            .await;
            let mut stream = server.unix().await;
            let _ = within(stream.write_all(&pieces.concat())).await;
            let _ = stream.shutdown().await;
            let _ = within(stream.read_to_end(&mut Vec::new())).await;
            let request = b"GET /hello HTTP/1.1\r\nHost: sm\r\nConnection: close\r\n\r\n";
            let answer = exchange(server.unix().await, request).await;
            assert_eq!(status(&answer), 200);
            for task in &server.tasks {
                assert!(!task.is_finished());
            }
            server.stop().await;
        });
    }
}
