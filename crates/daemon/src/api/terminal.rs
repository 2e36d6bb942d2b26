//! The live terminal: a WebSocket. Who may open one is decided before (`access.rs`): a browser needs
//! its cookie and has to say that it comes from our own page.

use super::serve::Takeover;
use super::{ApiError, Shared, messages, read};
use crate::caller::{self, Caller, Connection};
use crate::terminal;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::header::{
    CONNECTION, HeaderMap, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

pub async fn open(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    connection: Option<Extension<Connection>>,
    method: Method,
    asked: HeaderMap,
) -> Result<Response, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let connection = connection.map(|Extension(connection)| connection);
    match caller::of(&hub, connection).await {
        Caller::Session(_) | Caller::Unproven(_) => {
            return Err(ApiError::new(
                StatusCode::FORBIDDEN,
                "what is typed into a terminal is a person's, and this is a process of a session",
                "send it as a message; what the terminal shows: GET /sessions/{session}/output",
            ));
        }
        Caller::Gone => return Err(messages::gone()),
        Caller::Outside | Caller::Unknown => {}
    }
    let is = |name, value: &str| {
        let given = asked.get(name).and_then(|given| given.to_str().ok());
        given.is_some_and(|given| given.eq_ignore_ascii_case(value))
    };
    let key = asked.get(SEC_WEBSOCKET_KEY).filter(|_| {
        method == Method::GET && is(UPGRADE, "websocket") && is(SEC_WEBSOCKET_VERSION, "13")
    });
    let Some(key) = key else {
        return Err(ApiError::new(
            StatusCode::UPGRADE_REQUIRED,
            "this is a WebSocket",
            "open it as one; what the terminal shows as text: GET /sessions/{session}/output",
        ));
    };
    let Ok(place) = Arc::clone(&hub.looking).try_acquire_owned() else {
        return Err(ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("{} terminals are being looked at", terminal::LOOKING),
            "close some",
        ));
    };
    let head = [
        (UPGRADE, "websocket".to_owned()),
        (CONNECTION, "Upgrade".to_owned()),
        (SEC_WEBSOCKET_ACCEPT, derive_accept_key(key.as_bytes())),
    ];
    let mut answer = (StatusCode::SWITCHING_PROTOCOLS, head).into_response();
    let takeover = Takeover::new(move |stream, read| async move {
        terminal::show(hub, handle, stream, read).await;
        drop(place);
    });
    answer.extensions_mut().insert(takeover);
    Ok(answer)
}
