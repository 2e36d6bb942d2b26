//! The daemon's HTTP API: one table of routes, one file per subject.

pub mod access;
mod archive;
mod asked;
pub mod capacity;
mod context;
mod daemon;
mod error;
mod events;
mod follow;
mod generate;
mod handoff;
mod handoff_document;
mod handoffs;
mod headers;
mod hooks;
mod launch;
mod ledger;
mod messages;
pub mod openapi;
mod output;
mod pins;
mod read;
mod run_handoff;
mod runs;
pub mod serve;
mod sessions;
mod signin;
mod terminal;
pub mod types;
mod wait;

pub use asked::told as told_by_hook;
pub use error::ApiError;
pub use handoffs::of_session as stored_handoffs;
pub use hooks::{Claim, Incoming, deliver as deliver_hook};
pub use launch::report as launcher_report;
pub use output::last_lines;
pub use runs::spooled_end as run_ended;

use crate::caller::Connection;
use crate::hub::{Handle, Hub};
use crate::proof;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{delete, get, post};
use axum::{Extension, Router};
use std::sync::Arc;

pub type Shared = Arc<Hub>;

pub fn router(hub: Shared) -> Router {
    Router::new()
        .route("/status", get(daemon::status))
        .route("/stop", post(daemon::stop))
        .route("/gc", post(daemon::gc))
        .route("/openapi.json", get(openapi::serve))
        .route("/sessions", get(sessions::list).post(sessions::create))
        .route(
            "/sessions/{session}",
            get(sessions::show)
                .patch(sessions::patch)
                .delete(sessions::kill),
        )
        .route("/sessions/{session}/restore", post(sessions::restore))
        .route("/sessions/{session}/wait", get(wait::wait))
        .route("/sessions/{session}/attach", get(sessions::attach))
        .route("/sessions/{session}/output", get(output::output))
        .route("/sessions/{session}/terminal", get(terminal::open))
        .route("/sessions/{session}/archive", get(archive::archive))
        .route("/sessions/{session}/archive/about", get(archive::about))
        .route("/sessions/{session}/archive/search", get(archive::search))
        .route("/sessions/{session}/events", get(events::of_session))
        .route(
            "/sessions/{session}/messages",
            get(messages::list).post(messages::send),
        )
        .route(
            "/sessions/{session}/messages/{message}",
            get(messages::show),
        )
        .route(
            "/sessions/{session}/messages/{message}",
            delete(messages::withdraw),
        )
        .route(
            "/sessions/{session}/messages/{message}/reply",
            get(messages::reply),
        )
        .route(
            "/sessions/{session}/handoff",
            post(handoff::schedule).delete(handoff::cancel),
        )
        .route("/sessions/{session}/handoff/auto", post(handoff::automatic))
        .route(
            "/sessions/{session}/handoff/generate",
            post(generate::start),
        )
        .route("/sessions/{session}/handoff/check", post(handoff::check))
        .route(
            "/sessions/{session}/pins",
            get(pins::list).post(pins::add).delete(pins::remove),
        )
        .route("/sessions/{session}/context", get(context::show))
        .route(
            "/sessions/{session}/context/history",
            get(context::whole_history),
        )
        .route("/sessions/{session}/ledger", get(ledger::show))
        .route("/handoff/template", get(handoffs::template))
        .route("/handoffs", get(handoffs::list))
        .route("/handoffs/{handoff}", get(handoffs::show))
        .route("/handoffs/{handoff}/document", get(handoffs::document))
        .route("/events", get(follow::follow))
        .route("/hooks/context-usage", post(hooks::context_usage))
        .route("/hooks/{agent}/{event}", post(hooks::hook))
        .route("/runs/{session}", post(runs::tell))
        .route("/runs/{session}/hold", post(runs::hold))
        .route("/mailbox/{waiter}/taken", post(hooks::taken))
        .route("/mailbox/{waiter}/refused", post(hooks::refused))
        .route("/launch/{session}/{launch}", post(launch::fetch))
        .route("/launch/{session}/{launch}/started", post(launch::started))
        .route("/launch/{session}/{launch}/failed", post(launch::failed))
        .route("/launch/{session}/{launch}/exited", post(launch::exited))
        .route(
            "/launch/{session}/{launch}/environment",
            post(launch::environment),
        )
        .route_layer(middleware::from_fn_with_state(Arc::clone(&hub), settled))
        .route_layer(middleware::from_fn_with_state(
            capacity::Capacity::new(capacity::files()),
            capacity::bounded,
        ))
        .route("/health", get(daemon::health))
        .route("/signin", post(signin::link))
        .route("/signin/{code}", get(signin::enter))
        .route("/signout", post(signin::leave))
        .route("/", get(signin::file))
        .route("/favicon.ico", get(signin::file))
        .route("/assets/{*path}", get(signin::file))
        .fallback(error::no_such_path)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(middleware::map_response(error::as_json))
        .with_state(hub)
}

/// Refuses what nothing proves to be of that session.
fn proven(
    hub: &Shared,
    session: &Handle,
    headers: &HeaderMap,
    peer: Option<Extension<Connection>>,
) -> Result<(), ApiError> {
    let peer = peer.map(|Extension(peer)| peer);
    if proof::is_of(hub, session, headers, peer) {
        return Ok(());
    }
    tracing::warn!(session = %session.id, ?peer, "nothing proves that a request is of this session: refused");
    Err(ApiError::new(
        StatusCode::FORBIDDEN,
        format!(
            "nothing proves that this is a process of the session {}",
            session.now().record.name
        ),
        format!(
            "ask from inside that session, with {} of its environment",
            sm_client::wire::SECRET_VAR
        ),
    ))
}

/// Nobody is told of a session before it is known whether it still lives.
async fn settled(State(hub): State<Shared>, request: Request, next: Next) -> Response {
    if !hub.settled.is_cancelled() {
        hub.settled.cancelled().await;
    }
    next.run(request).await
}
