//! Who may talk to the daemon: decided once per request, before anything of its body is read.
//!
//! [`decide`] is pure; [`guard`] puts it before every route, and reads bodies within their bounds so
//! that no handler waits for a slow sender. A request without a [`Peer`] is refused: whatever forgot
//! to say who is there must not open a door.
//!
//! A browser runs as the right user and does what any page tells it. So what a browser sends over
//! TCP (it has marks that no page can take off) needs more than the right user: the cookie it got
//! for a link of `sm open`. The cookie alone is not enough either: a browser sends it to every
//! server on the same host name, whatever its port, also to those of other users of this machine.
//! It therefore never lets in a connection that the kernel says is another user's, and where the
//! kernel does not say whose a connection is (macOS) it is all there is to go by.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, HeaderName, ORIGIN,
    SEC_WEBSOCKET_KEY, TRANSFER_ENCODING, UPGRADE,
};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};

use super::headers;
use super::serve::{BodyError, read_body};
use super::types::ErrorView;
use crate::peer::PeerUid;
use crate::signin::SignIns;
use crate::{clock, page, private};
use sm_client::proof::is_same;

/// Random bytes in a token; it is written as hex.
const TOKEN_BYTES: usize = 32;
/// What a browser says about where a request comes from, and why.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

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
    /// The same for one that holds the document of a handoff.
    pub document_limit: usize,
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
            document_limit: of_document(4 << 20),
            body_deadline: Duration::from_secs(10),
        }
    }

    /// With documents of this many bytes.
    #[must_use]
    pub fn with_documents(mut self, most: u32) -> Self {
        self.document_limit = of_document(most as usize).max(self.body_limit);
        self
    }

    fn limit(&self, method: &Method, uri: &Uri) -> usize {
        let words = uri.path().strip_prefix("/sessions/").unwrap_or_default();
        let handoff = *method == Method::POST
            && words
                .split_once('/')
                .is_some_and(|(_, rest)| rest == "handoff");
        match handoff {
            true => self.document_limit,
            false => self.body_limit,
        }
    }
}

/// A document of this many bytes as JSON, whatever is in it, and what goes with it.
pub const fn of_document(bytes: usize) -> usize {
    bytes * 6 + 64 * 1024
}

/// A request, by all that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub peer: Option<Peer>,
    pub method: &'a Method,
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
    /// One of its cookies ([`cookies`]) is known.
    pub signed_in: bool,
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
    #[error("the browser says that the request comes from another page ({0:?})")]
    Site(String),
    #[error("this browser is not signed in")]
    NotSignedIn,
    #[error("a browser cannot ask for a link")]
    Browser,
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
            | Self::Origin(_)
            | Self::Site(_)
            | Self::Browser => StatusCode::FORBIDDEN,
            Self::NotSignedIn => StatusCode::UNAUTHORIZED,
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
            Self::Site(_) => {
                "links from other pages do not lead here; put the address into the address bar"
            }
            Self::NotSignedIn | Self::Browser => "run in a terminal: sm open",
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
pub fn decide(access: &Access, asked: &Asked<'_>) -> Result<(), Refusal> {
    // What a browser can be made to do comes first: it runs as the right user.
    for origin in all(asked.headers, &ORIGIN) {
        if !is_own_page(access, asked.headers, &origin) {
            return Err(Refusal::Origin(origin));
        }
    }
    for site in all(asked.headers, &SITE) {
        if site != "same-origin" && site != "none" {
            return Err(Refusal::Site(site));
        }
    }
    match asked.peer {
        None => return Err(Refusal::UnknownUser),
        Some(Peer::Unix { uid }) => same_user(access, uid)?,
        Some(Peer::Tcp { uid }) => {
            host(asked.uri, asked.headers)?;
            over_tcp(access, asked, uid)?;
        }
    }
    if has_body(asked.headers) {
        content_type(asked.headers)?;
        let length = asked
            .headers
            .get(CONTENT_LENGTH)
            .and_then(|v| v.to_str().ok())
            .and_then(|v| v.parse::<u64>().ok());
        let limit = access.limit(asked.method, asked.uri);
        if length.is_some_and(|length| length > limit as u64) {
            return Err(Refusal::TooLarge(limit));
        }
    }
    Ok(())
}

/// A program of ours, or the token, or a browser that is signed in; and the page's own files, which
/// a browser needs before it can be signed in.
fn over_tcp(access: &Access, asked: &Asked<'_>, uid: PeerUid) -> Result<(), Refusal> {
    let whose = same_user(access, uid);
    let browser = is_browser(asked);
    if whose.is_ok() && !browser {
        return Ok(());
    }
    if browser && *asked.method == Method::POST && asked.uri.path() == "/signin" {
        return Err(Refusal::Browser);
    }
    match token(access, asked.headers) {
        Some(true) => return Ok(()),
        Some(false) => return Err(Refusal::WrongToken),
        None => {}
    }
    let refusal = match whose {
        Err(refusal @ Refusal::OtherUser(_)) => return Err(refusal),
        Err(refusal) if !browser => refusal,
        Ok(()) | Err(_) => Refusal::NotSignedIn,
    };
    if is_open(asked) {
        return Ok(());
    }
    if !asked.signed_in {
        return Err(refusal);
    }
    // A browser says where a request comes from whenever it could change something.
    let changes = !matches!(*asked.method, Method::GET | Method::HEAD) || is_upgrade(asked);
    if changes && !asked.headers.contains_key(ORIGIN) {
        return Err(Refusal::Origin(String::new()));
    }
    Ok(())
}

/// Given to every browser that may reach us: nothing of a session is in it.
fn is_open(asked: &Asked<'_>) -> bool {
    let path = asked.uri.path();
    match *asked.method {
        Method::GET => page::is_ours(path) || path == "/health" || path.starts_with("/signin/"),
        Method::HEAD => page::is_ours(path) || path == "/health",
        _ => false,
    }
}

/// No page can keep a browser from saying these, and none of our programs says them.
fn is_browser(asked: &Asked<'_>) -> bool {
    let headers = asked.headers;
    [&ORIGIN, &SITE, &MODE, &DEST]
        .into_iter()
        .any(|mark| headers.contains_key(mark))
        || is_upgrade(asked)
        || !cookies(headers).is_empty()
}

/// The connection would become another: what comes then is not looked at here any more.
fn is_upgrade(asked: &Asked<'_>) -> bool {
    asked.headers.contains_key(UPGRADE) || asked.headers.contains_key(SEC_WEBSOCKET_KEY)
}

/// Our cookie is named by the port that was asked, as others on this machine share the rest of the
/// address with us. Several: another page has set one as well; it cannot know ours.
pub fn cookies(headers: &HeaderMap) -> Vec<&str> {
    let name = headers::cookie_name(headers);
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| value.trim())
        .take(8)
        .collect()
}

fn same_user(access: &Access, uid: PeerUid) -> Result<(), Refusal> {
    match uid {
        PeerUid::Uid(uid) if uid == access.own_uid => Ok(()),
        PeerUid::Uid(uid) => Err(Refusal::OtherUser(uid)),
        PeerUid::Unknown => Err(Refusal::UnknownUser),
    }
}

/// Whether the token that was sent is ours; None: none was.
fn token(access: &Access, headers: &HeaderMap) -> Option<bool> {
    let value = headers.get(AUTHORIZATION)?;
    let given = value.to_str().ok().and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then_some(token.trim())
    });
    Some(given.is_some_and(|given| is_same(given.as_bytes(), access.token.as_bytes())))
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

/// Of our own port, or of the very address that was asked: who forwards our port gives it another
/// number. Only loopback is asked ([`host`]), so that no name of somebody's own can stand there.
fn is_own_page(access: &Access, headers: &HeaderMap, origin: &str) -> bool {
    let Some(port) = access.port else {
        return false;
    };
    let asked = all(headers, &HOST);
    let same = match asked.as_slice() {
        [host] => is_loopback(host) && origin == format!("http://{host}"),
        _ => false,
    };
    same || ["127.0.0.1", "localhost", "[::1]"]
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
pub fn guard(router: Router, access: Arc<Access>, sign_ins: Arc<SignIns>) -> Router {
    router
        // Bodies arrive here whole and bounded.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state((access, sign_ins), admit))
}

async fn admit(
    State((access, sign_ins)): State<(Arc<Access>, Arc<SignIns>)>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().copied();
    let tcp = matches!(peer, Some(Peer::Tcp { .. }));
    let known = |cookie: &&str| sign_ins.is_known(cookie, clock::now());
    let asked = Asked {
        peer,
        method: &parts.method,
        uri: &parts.uri,
        headers: &parts.headers,
        signed_in: tcp && cookies(&parts.headers).iter().any(known),
    };
    if let Err(refusal) = decide(&access, &asked) {
        tracing::debug!(?peer, method = %parts.method, path = parts.uri.path(), "refused: {refusal}");
        return headers::protected(refusal.into_response(), None);
    }
    let host = parts.headers.get(HOST).filter(|_| tcp).cloned();
    let limit = access.limit(&parts.method, &parts.uri);
    let body = match read_body(body, limit, access.body_deadline).await {
        Ok(body) => body,
        Err(error) => {
            let refusal = match error {
                BodyError::TooLarge => Refusal::TooLarge(limit),
                BodyError::TooSlow => Refusal::TooSlow(access.body_deadline),
                BodyError::Broken => Refusal::BrokenBody,
            };
            return headers::protected(refusal.into_response(), None);
        }
    };
    let answer = next.run(Request::from_parts(parts, Body::from(body))).await;
    match tcp {
        true => headers::protected(answer, host.as_ref()),
        false => answer,
    }
}

/// The token of this file; made if there is none that is ours alone.
pub fn load_or_create_token(path: &Path) -> io::Result<String> {
    if let Some(token) = load_token(path)? {
        return Ok(token);
    }
    let token = private::secret(TOKEN_BYTES)?;
    private::write(path, format!("{token}\n").as_bytes())?;
    Ok(token)
}

/// None: there is none, or one that others could have read or written, or not a token at all.
fn load_token(path: &Path) -> io::Result<Option<String>> {
    let Some(bytes) = private::read(path, 1024)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    let token = text.trim();
    let whole = token.len() == TOKEN_BYTES * 2 && token.bytes().all(|b| b.is_ascii_hexdigit());
    Ok(whole.then(|| token.to_string()))
}
