//! The HTTP side: routes a request to its protocol and plays the reply.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, Method, header};
use axum::response::Response;
use axum::{Json, Router, response::IntoResponse};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::control::Control;
use super::reply::{Frame, Reply, broken};
use super::request::Request;
use super::script::{self, Stall};
use super::state::{Shared, now_ms};
use super::{anthropic, chat, responses};

/// The largest request an agent may send.
const BODY_LIMIT: usize = 64 << 20;
/// How often a stalled stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(1);
/// Headers that carry a key.
const SECRET_HEADERS: [&str; 3] = ["authorization", "x-api-key", "cookie"];

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The port is taken, or there is no loopback.
    #[error("listening on 127.0.0.1")]
    Listen(#[source] io::Error),
    /// The log could not be opened.
    #[error("opening the request log")]
    Log(#[source] io::Error),
    /// No thread or no runtime.
    #[error("starting the server's thread")]
    Thread(#[source] io::Error),
}

/// A running model server. It has its own thread and runtime, so tests need none; dropping it
/// ends every connection.
pub struct ScriptedModel {
    addr: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedModel {
    /// Starts on a free loopback port.
    pub fn start() -> Result<Self, StartError> {
        Self::start_at(0, None)
    }

    /// Starts on this port (0: a free one), appending every request to a JSON Lines file.
    pub fn start_at(port: u16, log: Option<&Path>) -> Result<Self, StartError> {
        let log = log.map(|path| File::options().create(true).append(true).open(path));
        let shared = Arc::new(Shared::new(log.transpose().map_err(StartError::Log)?));
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(StartError::Listen)?;
        listener.set_nonblocking(true).map_err(StartError::Listen)?;
        let addr = listener.local_addr().map_err(StartError::Listen)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::Thread)?;
        let (stop, stopped) = oneshot::channel();
        let router = Router::new()
            .fallback(handle)
            .with_state(Arc::clone(&shared));
        let serve = move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                    return;
                };
                tokio::select! {
                    _ = axum::serve(listener, router) => {}
                    _ = stopped => {}
                }
            });
            // what still streams ends here with the runtime
        };
        let thread = std::thread::Builder::new()
            .name("scripted-model".into())
            .spawn(serve)
            .map_err(StartError::Thread)?;
        Ok(Self {
            addr,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `http://127.0.0.1:<port>`, what `ANTHROPIC_BASE_URL` wants; Codex wants `/v1` after it.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests()
    }

    /// Waits for a request, also one that came before; none by the deadline: `None`.
    pub fn wait_for_request(
        &self,
        pred: impl Fn(&Request) -> bool,
        deadline: Duration,
    ) -> Option<Request> {
        self.shared
            .wait_for_request(pred, Instant::now() + deadline)
    }

    /// Waits until an answer stalls at `HOLD: name`.
    pub fn wait_for_hold(&self, name: &str, deadline: Duration) -> bool {
        self.shared.wait_for_hold(name, Instant::now() + deadline)
    }

    /// Waits until the client of request `seq` hung up before its answer was whole.
    pub fn wait_for_abandoned(&self, seq: u64, deadline: Duration) -> bool {
        self.shared
            .wait_for_abandoned(seq, Instant::now() + deadline)
    }

    /// Lets every answer at `HOLD: name` go on, now and later.
    pub fn release(&self, name: &str) {
        self.shared.release(name);
    }

    /// Changes the sticky settings, and returns what the change returns.
    pub fn control<T>(&self, change: impl FnOnce(&mut Control) -> T) -> T {
        self.shared.control(change)
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves on a fixed port until the process ends.
pub fn serve_forever(
    port: u16,
    log: Option<&Path>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), StartError> {
    let mut model = ScriptedModel::start_at(port, log)?;
    ready(model.addr());
    if let Some(thread) = model.thread.take() {
        let _ = thread.join();
    }
    Ok(())
}

async fn handle(State(shared): State<Arc<Shared>>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts
        .uri
        .path_and_query()
        .map_or("/", |p| p.as_str())
        .to_owned();
    let route = parts.uri.path();
    let body = match to_bytes(body, BODY_LIMIT).await {
        Ok(bytes) => read_json(&bytes),
        Err(_) => return (axum::http::StatusCode::PAYLOAD_TOO_LARGE, "").into_response(),
    };
    if route.starts_with("/_") {
        return steer(&shared, &parts.method, route, parts.uri.query(), &body);
    }
    let seq = shared.record(
        parts.method.as_str(),
        &path,
        visible(&parts.headers),
        body.clone(),
    );
    if parts.method == Method::HEAD {
        return ([(header::CONTENT_LENGTH, "0")], Body::empty()).into_response();
    }
    if parts.method != Method::POST {
        return Json(if route.ends_with("/models") {
            models()
        } else {
            json!({})
        })
        .into_response();
    }
    answer(shared, route, seq, &body).await
}

/// Picks the protocol by path and plays its reply.
async fn answer(shared: Arc<Shared>, route: &str, seq: u64, body: &Value) -> Response {
    let control = shared.control(|c| c.clone());
    let now = now_ms() / 1000;
    type Fault = fn(&str, &str) -> Frame;
    let (stall, reply, fault): (_, _, Fault) = if route.ends_with("/v1/messages/count_tokens") {
        return Json(json!({"input_tokens": control.input_tokens})).into_response();
    } else if route.ends_with("/v1/messages") {
        let talk = anthropic::conversation(body);
        let act = shared.control(|c| script::decide(&talk, c));
        let control = control.grown(&talk);
        let reply = anthropic::reply(body, seq, &act, &control);
        (act.stall, reply, anthropic::fault)
    } else if route.ends_with("/responses/compact") {
        (Stall::default(), responses::compacted(), responses::fault)
    } else if route.ends_with("/responses") {
        let talk = responses::conversation(body);
        let act = shared.control(|c| script::decide(&talk, c));
        let control = control.grown(&talk);
        let reply = responses::reply(body, seq, now, &act, &control);
        (act.stall, reply, responses::fault)
    } else if route.ends_with("/chat/completions") {
        let talk = chat::conversation(body);
        let act = shared.control(|c| script::decide(&talk, c));
        let control = control.grown(&talk);
        let reply = chat::reply(body, seq, now, &act, &control);
        (act.stall, reply, chat::fault)
    } else {
        return Json(json!({})).into_response();
    };
    if let Ok(delay) = Duration::try_from_secs_f64(control.delay) {
        tokio::time::sleep(delay).await;
    }
    if let Some(name) = &stall.start {
        let guard = Unfinished::new(Arc::clone(&shared), seq);
        shared.held(name).await;
        guard.finished();
    }
    match reply {
        Reply::Json { status, mut body } => {
            let guard = Unfinished::new(Arc::clone(&shared), seq);
            if status < 400 {
                wait(&shared, &stall).await;
            }
            guard.finished();
            let status = axum::http::StatusCode::from_u16(status).unwrap_or_default();
            let failed = status.as_u16() >= 400;
            if let Some(error) = control.fail_error.filter(|_| failed) {
                body["error"] = error;
            }
            let mut response = (status, [("request-id", "req_fake")], Json(body)).into_response();
            for (name, value) in control.fail_headers.iter().filter(|_| failed) {
                if let (Ok(name), Ok(value)) = (header::HeaderName::try_from(name), value.parse()) {
                    response.headers_mut().insert(name, value);
                }
            }
            response
        }
        Reply::Stream(mut frames) => {
            if let Some(how) = shared.control(Control::take_break) {
                frames = broken(frames, &how, fault);
            }
            let headers = [
                (header::CONTENT_TYPE.as_str(), "text/event-stream"),
                (header::CACHE_CONTROL.as_str(), "no-cache"),
                ("request-id", "req_fake"),
            ];
            (headers, play(shared, seq, frames, stall)).into_response()
        }
    }
}

/// Plays frames one by one; where the reply stalls, keep-alives are sent meanwhile.
fn play(shared: Arc<Shared>, seq: u64, frames: Vec<Frame>, stall: Stall) -> Body {
    type Waiting = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;
    struct Play {
        shared: Arc<Shared>,
        frames: std::vec::IntoIter<Frame>,
        stall: Stall,
        waiting: Option<(Waiting, String)>,
        guard: Option<Unfinished>,
    }
    let guard = Some(Unfinished::new(Arc::clone(&shared), seq));
    let play = Play {
        shared,
        frames: frames.into_iter(),
        stall,
        waiting: None,
        guard,
    };
    Body::from_stream(stream::unfold(play, |mut play| async move {
        loop {
            if let Some((waiting, keep_alive)) = &mut play.waiting {
                match tokio::time::timeout(KEEP_ALIVE, waiting).await {
                    Ok(()) => play.waiting = None,
                    Err(_) => {
                        let bytes = Bytes::from(keep_alive.clone());
                        return Some((Ok::<_, io::Error>(bytes), play));
                    }
                }
            }
            match play.frames.next() {
                Some(Frame::Data(data)) => return Some((Ok(Bytes::from(data)), play)),
                Some(Frame::Stall { keep_alive }) => {
                    let (shared, stall) = (Arc::clone(&play.shared), play.stall.clone());
                    let waiting = Box::pin(async move { wait(&shared, &stall).await });
                    play.waiting = Some((waiting, keep_alive));
                }
                Some(Frame::Pause(pause)) => tokio::time::sleep(pause).await,
                Some(Frame::Cut) => {
                    if let Some(guard) = play.guard.take() {
                        guard.finished();
                    }
                    return Some((Err(io::ErrorKind::ConnectionAborted.into()), play));
                }
                None => {
                    if let Some(guard) = play.guard.take() {
                        guard.finished();
                    }
                    return None;
                }
            }
        }
    }))
}

async fn wait(shared: &Shared, stall: &Stall) {
    tokio::time::sleep(stall.sleep).await;
    if let Some(name) = &stall.hold {
        shared.held(name).await;
    }
}

/// Notices an answer whose client hung up: it is dropped before it was finished.
struct Unfinished(Option<(Arc<Shared>, u64)>);

impl Unfinished {
    fn new(shared: Arc<Shared>, seq: u64) -> Self {
        Self(Some((shared, seq)))
    }

    fn finished(mut self) {
        self.0 = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some((shared, seq)) = self.0.take() {
            shared.abandoned(seq);
        }
    }
}

/// What a test says over HTTP; none of it counts as a request.
fn steer(
    shared: &Shared,
    method: &Method,
    route: &str,
    query: Option<&str>,
    body: &Value,
) -> Response {
    let post = method == Method::POST;
    match route {
        "/_control" => {
            if post && let Err(error) = shared.control(|c| c.merge(body)) {
                let answer = Json(json!({"error": error.to_string()}));
                return (axum::http::StatusCode::BAD_REQUEST, answer).into_response();
            }
            Json(shared.control(|c| json!(c))).into_response()
        }
        "/_requests" => {
            let count = query
                .and_then(|q| q.strip_prefix("n="))
                .and_then(|n| n.parse().ok());
            Json(json!(shared.last_requests(count.unwrap_or(5)))).into_response()
        }
        "/_release" if post => {
            if let Some(name) = body["name"].as_str() {
                shared.release(name);
            }
            Json(json!({"ok": true})).into_response()
        }
        "/_mark" if post => {
            shared.mark(body);
            Json(json!({"ok": true})).into_response()
        }
        _ => (
            axum::http::StatusCode::NOT_FOUND,
            Json(json!({"error": "unknown control"})),
        )
            .into_response(),
    }
}

fn read_json(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes).unwrap_or_else(|_| {
        let start = &bytes[..bytes.len().min(2000)];
        json!({"_raw": String::from_utf8_lossy(start)})
    })
}

fn visible(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .filter(|(name, _)| !SECRET_HEADERS.contains(&name.as_str()))
        .map(|(name, value)| {
            (
                name.to_string(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        })
        .collect()
}

fn models() -> Value {
    let model = json!({"id": "fake-model", "object": "model", "created": 1, "owned_by": "fake"});
    json!({"object": "list", "data": [model], "has_more": false})
}
