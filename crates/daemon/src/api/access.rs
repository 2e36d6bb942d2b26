//! Who may talk to the daemon: decided once per request, before anything of its body is read.
//!
//! [`decide`] is pure; [`guard`] puts it before every route, and reads bodies within their bounds so
//! that no handler waits for a slow sender. A request without a [`Peer`] is refused: whatever forgot
//! to say who is there must not open a door.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::header::{HeaderName, TRANSFER_ENCODING};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};

use super::serve::{BodyError, read_body};
use super::types::ErrorView;
use crate::peer::PeerUid;

/// Random bytes in a token; it is written as hex.
const TOKEN_BYTES: usize = 32;

/// The other end of a connection: an extension of every request, put there by the listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Unix { uid: PeerUid },
    Tcp { uid: PeerUid },
}

/// What the decisions go by.
#[derive(Debug, Clone)]
pub struct Access {
    pub own_uid: u32,
    /// Lets a TCP connection in that the kernel cannot vouch for.
    pub token: String,
    /// The TCP port, if there is one: pages from there are our own.
    pub port: Option<u16>,
    /// Largest body.
    pub body_limit: usize,
    /// How long a body may take to arrive.
    pub body_deadline: Duration,
}

impl Access {
    pub fn new(token: String, port: Option<u16>) -> Self {
        Self {
            own_uid: rustix::process::getuid().as_raw(),
            token,
            port,
            body_limit: 4 * 1024 * 1024,
            body_deadline: Duration::from_secs(10),
        }
    }
}

/// Why a request is refused. Says what happened; [`Refusal::hint`] what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the kernel does not say whose connection this is")]
    UnknownUser,
    #[error("the connection is of another user (uid {0})")]
    OtherUser(u32),
    #[error("the token is not the right one")]
    WrongToken,
    #[error("the Host {0:?} is not this machine's loopback")]
    Host(String),
    #[error("the request comes from a page of {0:?}, which is not sm's own")]
    Origin(String),
    #[error("the body is {0:?}, not application/json")]
    ContentType(String),
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the body did not arrive within {} ms", .0.as_millis())]
    TooSlow(Duration),
    #[error("the body broke off")]
    BrokenBody,
}

impl Refusal {
    pub fn status(&self) -> StatusCode {
        match self {
            Self::UnknownUser
            | Self::OtherUser(_)
            | Self::WrongToken
            | Self::Host(_)
            | Self::Origin(_) => StatusCode::FORBIDDEN,
            Self::ContentType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow(_) => StatusCode::REQUEST_TIMEOUT,
            Self::BrokenBody => StatusCode::BAD_REQUEST,
        }
    }

    pub fn hint(&self) -> &'static str {
        match self {
            Self::UnknownUser | Self::OtherUser(_) | Self::WrongToken => {
                "use the Unix socket as the user that runs sm, or send over TCP the header \
                 `Authorization: Bearer <token>` with the content of the file `token` in sm's state folder"
            }
            Self::Host(_) => "ask for http://127.0.0.1:<port> or http://localhost:<port>",
            Self::Origin(_) => {
                "web pages of others may not talk to sm; use a program, or sm's own page"
            }
            Self::ContentType(_) => "send JSON with the header `Content-Type: application/json`",
            Self::TooLarge(_) => "send less; a long text can be put into a file and named instead",
            Self::TooSlow(_) | Self::BrokenBody => "send the whole body at once, and repeat it",
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let view = ErrorView {
            error: self.to_string(),
            hint: self.hint().to_string(),
        };
        (self.status(), Json(view)).into_response()
    }
}

/// Whether a request may go on, by everything but its body's content.
pub fn decide(
    access: &Access,
    peer: Option<Peer>,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    // What a browser can be made to do comes first: it runs as the right user.
    for origin in all(headers, &ORIGIN) {
        if !is_own_page(access, &origin) {
            return Err(Refusal::Origin(origin));
        }
    }
    match peer {
        None => return Err(Refusal::UnknownUser),
        Some(Peer::Unix { uid }) => same_user(access, uid)?,
        Some(Peer::Tcp { uid }) => {
            host(uri, headers)?;
            match same_user(access, uid) {
                Ok(()) => {}
                Err(refusal) => token(access, headers, refusal)?,
            }
        }
    }
    if has_body(headers) {
        content_type(headers)?;
        let length = headers
            .get(CONTENT_LENGTH)
            .and_then(|v| v.to_str().ok())
            .and_then(|v| v.parse::<u64>().ok());
        if length.is_some_and(|length| length > access.body_limit as u64) {
            return Err(Refusal::TooLarge(access.body_limit));
        }
    }
    Ok(())
}

fn same_user(access: &Access, uid: PeerUid) -> Result<(), Refusal> {
    match uid {
        PeerUid::Uid(uid) if uid == access.own_uid => Ok(()),
        PeerUid::Uid(uid) => Err(Refusal::OtherUser(uid)),
        PeerUid::Unknown => Err(Refusal::UnknownUser),
    }
}

fn token(access: &Access, headers: &HeaderMap, otherwise: Refusal) -> Result<(), Refusal> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Err(otherwise);
    };
    let given = value.to_str().ok().and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then_some(token.trim())
    });
    match given {
        Some(given) if same_secret(given.as_bytes(), access.token.as_bytes()) => Ok(()),
        Some(_) | None => Err(Refusal::WrongToken),
    }
}

/// In the same time wherever they differ. An empty secret is no secret.
fn same_secret(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() || b.is_empty() {
        return false;
    }
    let differ = a
        .iter()
        .zip(b)
        .fold(0u8, |differ, (a, b)| std::hint::black_box(differ | (a ^ b)));
    differ == 0
}

/// A page that a name of its own leads to us (DNS rebinding) has that name here.
fn host(uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let mut named = all(headers, &HOST);
    if let Some(authority) = uri.authority() {
        named.push(authority.to_string());
    }
    if named.is_empty() {
        return Err(Refusal::Host(String::new()));
    }
    match named.into_iter().find(|host| !is_loopback(host)) {
        Some(host) => Err(Refusal::Host(host)),
        None => Ok(()),
    }
}

fn is_loopback(host: &str) -> bool {
    ["127.0.0.1", "localhost", "[::1]"].into_iter().any(|name| {
        let Some((start, rest)) = host.split_at_checked(name.len()) else {
            return false;
        };
        let port_or_nothing = match rest.strip_prefix(':') {
            Some(port) => {
                !port.is_empty() && port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit())
            }
            None => rest.is_empty(),
        };
        start.eq_ignore_ascii_case(name) && port_or_nothing
    })
}

fn is_own_page(access: &Access, origin: &str) -> bool {
    let Some(port) = access.port else {
        return false;
    };
    ["127.0.0.1", "localhost", "[::1]"]
        .into_iter()
        .any(|name| origin == format!("http://{name}:{port}"))
}

/// Any method: nothing is gained by letting a body pass that nobody reads.
fn has_body(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING)
        || headers
            .get_all(CONTENT_LENGTH)
            .iter()
            .any(|length| length.as_bytes() != b"0")
}

/// What a form of a foreign page can send without asking first is never JSON.
fn content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let given = all(headers, &CONTENT_TYPE);
    let is_json = |value: &String| {
        let kind = value.split(';').next().unwrap_or_default();
        kind.trim().eq_ignore_ascii_case("application/json")
    };
    if given.len() == 1 && given.iter().all(is_json) {
        return Ok(());
    }
    Err(Refusal::ContentType(
        given.into_iter().next().unwrap_or_default(),
    ))
}

/// All values of a header, each bounded: they are repeated in answers.
fn all(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    headers
        .get_all(name)
        .iter()
        .map(|value| {
            let text = String::from_utf8_lossy(value.as_bytes());
            text.chars().take(300).collect()
        })
        .collect()
}

/// Puts the decision, and the reading of the body, before every route of `router`.
pub fn guard(router: Router, access: Arc<Access>) -> Router {
    router
        // Bodies arrive here whole and bounded.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(access, admit))
}

async fn admit(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().copied();
    if let Err(refusal) = decide(&access, peer, &parts.uri, &parts.headers) {
        tracing::debug!(?peer, method = %parts.method, path = parts.uri.path(), "refused: {refusal}");
        return refusal.into_response();
    }
    let body = match read_body(body, access.body_limit, access.body_deadline).await {
        Ok(body) => body,
        Err(error) => {
            let refusal = match error {
                BodyError::TooLarge => Refusal::TooLarge(access.body_limit),
                BodyError::TooSlow => Refusal::TooSlow(access.body_deadline),
                BodyError::Broken => Refusal::BrokenBody,
            };
            return refusal.into_response();
        }
    };
    next.run(Request::from_parts(parts, Body::from(body))).await
}

/// The token of this file; made if there is none that is ours alone.
pub fn load_or_create_token(path: &Path) -> io::Result<String> {
    if let Some(token) = load_token(path)? {
        return Ok(token);
    }
    let mut bytes = [0u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let new = path.with_extension(format!("new.{}", std::process::id()));
    let _ = fs::remove_file(&new); // of a daemon with this pid that died right here
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    let written = file
        .write_all(format!("{token}\n").as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&new, path));
    if let Err(e) = written {
        let _ = fs::remove_file(&new);
        return Err(e);
    }
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(token)
}

/// None: there is none, or one that others could have read or written, or not a token at all.
fn load_token(path: &Path) -> io::Result<Option<String>> {
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits() | rustix::fs::OFlags::NONBLOCK.bits();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(i32::from_ne_bytes(no_link.to_ne_bytes()))
        .open(path);
    let file = match file {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Ok(None);
        }
        Err(e) => return Err(e),
    };
    let about = file.metadata()?;
    let private = about.is_file()
        && about.uid() == rustix::process::getuid().as_raw()
        && about.mode() & 0o077 == 0;
    if !private {
        tracing::warn!("{} was open to others: a new token is made", path.display());
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(1024).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let token = text.trim();
    let whole = token.len() == TOKEN_BYTES * 2 && token.bytes().all(|b| b.is_ascii_hexdigit());
    Ok(whole.then(|| token.to_string()))
}
