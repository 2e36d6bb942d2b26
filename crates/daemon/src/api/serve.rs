//! Connections: accepting them, saying who is there, and never letting one hold what it does not use.
//!
//! Heads have a deadline and bounds (hyper), bodies too ([`read_body`]), and the number of TCP
//! connections is bounded, that of other users far lower than our own: they can only be refused,
//! and must not take our place. One process may keep only so many open on which it asks nothing.
//! Nothing here knows a route.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Request;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::access::Peer;
use super::capacity::Place;
use crate::caller::Connection;
use crate::hub::lock;
use crate::peer::{PeerUid, tcp_peer_uid, unix_peer_process, unix_peer_uid};

/// What one connection, and all of them, may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For the whole head of a request; also how long an unused connection stays open.
    pub head_deadline: Duration,
    pub head_bytes: usize,
    pub headers: usize,
    /// Connections to the Unix socket.
    pub unix_connections: usize,
    /// Of these, such of one process on which no request is under way.
    pub idle_of_a_process: usize,
    /// TCP connections of our own user.
    pub own_connections: usize,
    /// TCP connections of others and of nobody known.
    pub other_connections: usize,
    /// How long answers under way may take when the daemon stops.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        // The rest is for sessions: their logs, records and documents.
        let files = super::capacity::files();
        Self {
            head_deadline: Duration::from_secs(5),
            head_bytes: 64 * 1024,
            headers: 64,
            unix_connections: files * 5 / 8,
            idle_of_a_process: files / 8,
            own_connections: files / 8,
            other_connections: 32,
            grace: Duration::from_secs(2),
        }
    }
}

/// What becomes of a connection whose answer was that it is another from now on: an extension of
/// that answer. The stream, and what was already read of it.
#[derive(Clone)]
pub struct Takeover(Arc<Mutex<Option<Taken>>>);

type Taken = Box<dyn FnOnce(Box<dyn Stream>, Bytes) -> BoxFuture<'static, ()> + Send>;

/// Both ways of a connection.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Takeover {
    pub fn new<F>(then: impl FnOnce(Box<dyn Stream>, Bytes) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let then: Taken = Box::new(move |stream, read| Box::pin(then(stream, read)));
        Self(Arc::new(Mutex::new(Some(then))))
    }
}

/// After an answer that did not wait for the body: how much of it is still taken, and how long, so
/// that the sender gets to read the answer instead of a reset.
const LINGER_BYTES: usize = 16 * 1024 * 1024;
const LINGER: Duration = Duration::from_secs(1);
/// When accepting fails (too many open files), how long until the next try.
const PAUSE: Duration = Duration::from_millis(50);
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
content-length: 68\r\nconnection: close\r\n\r\n\
{\"error\":\"too many connections\",\"hint\":\"close some, then try again\"}";

/// Accepts until `stop`, then lets answers under way finish within the grace.
pub async fn serve_unix(
    listener: UnixListener,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(limits.unix_connections));
    let idle = IdleConnections::default();
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let pid = unix_peer_process(&stream);
                let Some(idle) = idle.add(pid, limits.idle_of_a_process) else {
                    let _ = stream.try_write(BUSY);
                    tracing::warn!(
                        pid,
                        "a connection was refused: its process has too many idle"
                    );
                    continue;
                };
                let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                    let _ = stream.try_write(BUSY);
                    tracing::warn!("a connection was refused: too many at once");
                    continue;
                };
                let uid = unix_peer_uid(&stream).into();
                let connection = Connection::Unix { pid };
                let (router, stop) = (router.clone(), stop.clone());
                connections.spawn(async move {
                    let who = (Peer::Unix { uid }, connection);
                    serve(stream, who, router, limits, stop, Some(idle)).await;
                    drop(place);
                });
            }
            Err(e) => accept_failed(&e).await,
        }
    }
    drop(listener);
    finish(connections, limits.grace).await;
}

/// As [`serve_unix`]. Who is there is asked when the connection is accepted.
pub async fn serve_tcp(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
) {
    let places = Places::new(&limits);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = listener.accept() => accepted,
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(e) => {
                accept_failed(&e).await;
                continue;
            }
        };
        let local = stream.local_addr().ok();
        let uid = local.map_or(PeerUid::Unknown, |local| tcp_peer_uid(from, local));
        let connection = Connection::Tcp {
            client: from,
            server: local,
        };
        let Some(place) = places.take(uid) else {
            busy(&stream);
            continue;
        };
        // Answers are small and waited for.
        let _ = stream.set_nodelay(true);
        let (router, stop) = (router.clone(), stop.clone());
        connections.spawn(async move {
            let who = (Peer::Tcp { uid }, connection);
            serve_connection(stream, who, router, limits, stop).await;
            drop(place);
        });
    }
    drop(listener);
    finish(connections, limits.grace).await;
}

/// Serves one connection until either side closes it, or until `stop` and its answer is out.
pub async fn serve_connection<S>(
    io: S,
    who: (Peer, Connection),
    router: Router,
    limits: Limits,
    stop: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    serve(io, who, router, limits, stop, None).await;
}

async fn serve<S>(
    io: S,
    (peer, other_end): (Peer, Connection),
    router: Router,
    limits: Limits,
    stop: CancellationToken,
    idle: Option<Idle>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // given back while something is asked, and for good by what keeps its connection
    let counted = idle.as_ref().map(Idle::again);
    let idle = Arc::new(Mutex::new(idle));
    let takeover: Arc<Mutex<Option<Takeover>>> = Arc::default();
    let found = Arc::clone(&takeover);
    // as long as its connection is busy with it, and a taken-over one lives
    let place: Arc<Mutex<Option<Place>>> = Arc::default();
    let taken = Arc::clone(&place);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(other_end);
        let answer = router.clone().oneshot(request.map(Body::new));
        let (found, taken) = (Arc::clone(&found), Arc::clone(&taken));
        let (idle, counted) = (Arc::clone(&idle), counted.clone());
        drop(lock(&idle).take());
        Box::pin(async move {
            let mut answer = answer.await?;
            let place = answer.extensions_mut().remove::<Place>();
            if place.is_none() {
                *lock(&idle) = counted.map(|count| count());
            }
            *lock(&taken) = place;
            if let Some(takeover) = answer.extensions_mut().remove::<Takeover>() {
                *lock(&found) = Some(takeover);
            }
            Ok::<_, Infallible>(answer)
        })
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_deadline)
        .max_headers(limits.headers)
        .max_buf_size(limits.head_bytes.max(8192))
        .keep_alive(true)
        .serve_connection(TokioIo::new(io), service);
    let mut stopping = false;
    let served = loop {
        tokio::select! {
            served = poll_fn(|cx| connection.poll_without_shutdown(cx)) => break served,
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                std::pin::Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    if let Err(e) = served {
        tracing::debug!(?peer, "connection: {e}");
    }
    let parts = connection.into_parts();
    let io = parts.io.into_inner();
    let then = lock(&takeover)
        .take()
        .and_then(|takeover| lock(&takeover.0).take());
    if let Some(then) = then {
        return then(Box::new(io), parts.read_buf).await;
    }
    tokio::select! {
        () = linger(io) => {}
        // Nobody is kept waiting for a client that leaves its end open.
        () = stop.cancelled() => {}
    }
}

/// Closing with unread bytes would reset the connection and take the answer with it.
async fn linger<S: AsyncRead + AsyncWrite + Unpin>(mut io: S) {
    let rest = async {
        io.shutdown().await?;
        let mut buffer = [0u8; 4096];
        let mut taken = 0;
        while taken < LINGER_BYTES {
            match io.read(&mut buffer).await? {
                0 => break,
                length => taken += length,
            }
        }
        io::Result::Ok(())
    };
    // However it ends, the connection is closed now.
    let _ = tokio::time::timeout(LINGER, rest).await;
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("the body is too large")]
    TooLarge,
    #[error("the body took too long")]
    TooSlow,
    #[error("the body broke off")]
    Broken,
}

/// The whole body, if it has at most `limit` bytes and arrives within `deadline`.
pub async fn read_body(body: Body, limit: usize, deadline: Duration) -> Result<Bytes, BodyError> {
    use hyper::body::Body as _;
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let reading = async {
        let mut chunks = body.into_data_stream();
        let mut first: Option<Bytes> = None;
        let mut whole: Vec<u8> = Vec::new();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| BodyError::Broken)?;
            let so_far = whole.len() + first.as_ref().map_or(0, Bytes::len);
            if chunk.len() > limit.saturating_sub(so_far) {
                return Err(BodyError::TooLarge);
            }
            match first.take() {
                // Most bodies are one chunk: those are never copied.
                None if whole.is_empty() => first = Some(chunk),
                None => whole.extend_from_slice(&chunk),
                Some(before) => {
                    whole.extend_from_slice(&before);
                    whole.extend_from_slice(&chunk);
                }
            }
        }
        Ok(first.unwrap_or_else(|| whole.into()))
    };
    match tokio::time::timeout(deadline, reading).await {
        Ok(read) => read,
        Err(_) => Err(BodyError::TooSlow),
    }
}

/// How many connections of each process are open on which nothing is asked: whoever opens them one
/// after the other must not take everybody's places.
#[derive(Debug, Clone, Default)]
struct IdleConnections(Arc<Mutex<HashMap<u32, usize>>>);

/// One that is counted as idle, until this is dropped.
#[derive(Debug)]
struct Idle {
    of: Option<(IdleConnections, u32)>,
}

impl IdleConnections {
    /// None: the process has its share. A process that nobody knows has none of its own.
    fn add(&self, pid: Option<u32>, most: usize) -> Option<Idle> {
        let Some(pid) = pid.filter(|pid| *pid > 0) else {
            return Some(Idle { of: None });
        };
        if lock(&self.0).get(&pid).is_some_and(|count| *count >= most) {
            return None;
        }
        Some(self.count(pid))
    }

    fn count(&self, pid: u32) -> Idle {
        let mut counts = lock(&self.0);
        let count = counts.entry(pid).or_default();
        *count = count.saturating_add(1);
        Idle {
            of: Some((self.clone(), pid)),
        }
    }
}

impl Idle {
    /// Counts the same connection once more.
    fn again(&self) -> impl Fn() -> Self + Clone + Send + Sync + 'static {
        let of = self.of.clone();
        move || match &of {
            Some((connections, pid)) => connections.count(*pid),
            None => Self { of: None },
        }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let Some((connections, pid)) = &self.of else {
            return;
        };
        let mut counts = lock(&connections.0);
        if let Some(count) = counts.get_mut(pid) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(pid);
            }
        }
    }
}

/// The TCP connections there may be.
struct Places {
    own_uid: u32,
    own: Arc<Semaphore>,
    others: Arc<Semaphore>,
}

impl Places {
    fn new(limits: &Limits) -> Self {
        Self {
            own_uid: rustix::process::getuid().as_raw(),
            own: Arc::new(Semaphore::new(limits.own_connections)),
            others: Arc::new(Semaphore::new(limits.other_connections)),
        }
    }

    fn take(&self, uid: PeerUid) -> Option<OwnedSemaphorePermit> {
        let places = match uid {
            PeerUid::Uid(uid) if uid == self.own_uid => &self.own,
            PeerUid::Uid(_) | PeerUid::Unknown => &self.others,
        };
        Arc::clone(places).try_acquire_owned().ok()
    }
}

/// A new connection takes this much without waiting; if not, it is just closed.
fn busy(stream: &TcpStream) {
    let _ = stream.try_write(BUSY);
    tracing::warn!("a TCP connection was refused: too many at once");
}

async fn accept_failed(error: &io::Error) {
    tracing::warn!("a connection could not be accepted: {error}");
    tokio::time::sleep(PAUSE).await;
}

async fn finish(mut connections: JoinSet<()>, grace: Duration) {
    let all = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(grace, all).await.is_err() {
        tracing::debug!("connections were closed with their answers under way");
    }
    connections.shutdown().await;
}
