//! Signing a browser in and out. A person asks for a link with `sm open`; the browser that follows
//! it gets a cookie. A link is never given to a browser (`access.rs`), and works once.

use super::types::SignInView;
use super::{ApiError, Shared, access, headers};
use crate::hub::lock;
use crate::signin::{COOKIE_MS, LINK_MS};
use crate::{clock, page};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION,
    SET_COOKIE, VARY,
};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use sm_core::Timestamp;
use std::sync::Arc;

/// A link that signs a browser in, once.
pub async fn link(State(hub): State<Shared>) -> Result<Json<SignInView>, ApiError> {
    let address = *lock(&hub.address);
    let Some(address) = address else {
        let (why, hint) = no_port(&hub);
        return Err(ApiError::conflict(why, hint));
    };
    let now = clock::now();
    let secret = hub.sign_ins.link(now).map_err(|error| {
        ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("no link can be made: {error}"),
            "repeat it",
        )
    })?;
    Ok(Json(SignInView {
        url: format!("http://{address}/signin/{secret}"),
        expires_at: clock::rfc3339(Timestamp(now.0.saturating_add(LINK_MS))),
    }))
}

/// Why a browser cannot reach us, and what to do.
fn no_port(hub: &Shared) -> (String, String) {
    let port = hub.config.daemon.port;
    if port == 0 {
        return (
            "the daemon serves its socket only, which no browser can ask".into(),
            "give it a port: [daemon] port in config.toml, or SM_PORT; then sm stop, and sm open"
                .into(),
        );
    }
    let taken = lock(&hub.problems)
        .iter()
        .find(|problem| problem.starts_with(&format!("port {port} is taken")))
        .cloned();
    (
        taken.unwrap_or_else(|| format!("the daemon does not have its port {port}")),
        "free it or choose another ([daemon] port in config.toml, or SM_PORT); then sm stop, and sm open"
            .into(),
    )
}

/// Changes a link for a cookie.
pub async fn enter(
    State(hub): State<Shared>,
    method: Method,
    Path(secret): Path<String>,
    asked: HeaderMap,
) -> Response {
    // a browser that only guesses what will be wanted next must not use it up
    let purpose = ["sec-purpose", "purpose"].map(HeaderName::from_static);
    if method != Method::GET || purpose.iter().any(|name| asked.contains_key(name)) {
        return (StatusCode::SERVICE_UNAVAILABLE, "not now").into_response();
    }
    let cookie = match hub.sign_ins.enter(&secret, clock::now()) {
        Ok(cookie) => cookie,
        Err(why) => return (StatusCode::GONE, said(&why.to_string())).into_response(),
    };
    save(&hub).await;
    let cookie = set_cookie(&asked, &cookie, COOKIE_MS / 1000);
    (
        StatusCode::SEE_OTHER,
        [(LOCATION, "/".to_owned()), (SET_COOKIE, cookie)],
    )
        .into_response()
}

/// Signs the asking browser out.
pub async fn leave(State(hub): State<Shared>, asked: HeaderMap) -> Response {
    for cookie in access::cookies(&asked) {
        hub.sign_ins.leave(cookie);
    }
    save(&hub).await;
    let gone = set_cookie(&asked, "", 0);
    (StatusCode::NO_CONTENT, [(SET_COOKIE, gone)]).into_response()
}

/// Without it the browser is signed in until the daemon is replaced, and signed out until then.
async fn save(hub: &Shared) {
    let sign_ins = Arc::clone(&hub.sign_ins);
    let saved = tokio::task::spawn_blocking(move || sign_ins.save(clock::now())).await;
    if let Ok(Err(error)) = saved {
        hub.problem(format!(
            "who is signed in could not be written down ({error}): run sm open again after the daemon has been replaced"
        ));
    }
}

/// Without `Secure`: there is no encryption on loopback, and not every browser takes it there.
fn set_cookie(asked: &HeaderMap, value: &str, seconds: i64) -> String {
    let name = headers::cookie_name(asked);
    format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}")
}

fn said(why: &str) -> Response {
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>sm: not signed in</title>\n</head>\n<body>\n<main>\n<h1>Not signed in</h1>\n\
         <p>A link of <code>sm open</code> works once, and for a minute: {why}.</p>\n\
         <p>Run <code>sm open</code> again. If this browser is signed in already: \
         <a href=\"/\">to the dashboard</a>.</p>\n</main>\n</body>\n</html>\n"
    );
    ([(CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}

/// A file of the page.
pub async fn file(uri: Uri, asked: HeaderMap) -> Response {
    let gzip = asked
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|coding| {
            let mut words = coding.split(';').map(str::trim);
            words.next() == Some("gzip") && words.next().is_none_or(|q| q != "q=0")
        });
    let Some(sent) = page::find(uri.path(), gzip) else {
        return ApiError::not_found(
            "there is no such file of the page",
            "load the page again: it may be of another version than this daemon",
        )
        .into_response();
    };
    let caching = match sent.immutable {
        true => "public, max-age=31536000, immutable",
        // asked for again each time, which costs nothing if it is the same
        false => "no-cache",
    };
    let head = [
        (ETAG, sent.file.tag),
        (CACHE_CONTROL, caching),
        (VARY, "accept-encoding"),
    ];
    let same = asked
        .get_all(IF_NONE_MATCH)
        .iter()
        .any(|tags| tags.to_str().is_ok_and(|tags| tags.contains(sent.file.tag)));
    if same {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    let mut answer = (head, [(CONTENT_TYPE, sent.kind)], sent.file.bytes).into_response();
    if sent.gzip {
        let coding = axum::http::HeaderValue::from_static("gzip");
        answer.headers_mut().insert(CONTENT_ENCODING, coding);
    }
    answer
}
