//! The daemon itself: is it well, what does it know, stop it, tidy up.

use super::types::{HealthView, StatusView};
use super::{ApiError, Shared, read};
use crate::hub::{Handle, lock};
use crate::{gc, view};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use serde::Deserialize;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub async fn health() -> Json<HealthView> {
    Json(HealthView {
        ok: true,
        version: VERSION.to_string(),
        protocol: sm_client::wire::PROTOCOL,
        pid: std::process::id(),
    })
}

pub async fn status(State(hub): State<Shared>) -> Json<StatusView> {
    let published: Vec<_> = hub.sessions.all().iter().map(Handle::now).collect();
    let mut attention: Vec<String> = published
        .iter()
        .filter_map(|p| view::attention(p).map(|text| format!("{}: {text}", p.record.name)))
        .collect();
    attention.sort();
    Json(StatusView {
        pid: std::process::id(),
        version: VERSION.to_string(),
        protocol: sm_client::wire::PROTOCOL,
        socket: hub.paths.socket().to_string_lossy().into_owned(),
        address: lock(&hub.address).map(|address| address.to_string()),
        sessions: published
            .iter()
            .filter(|p| p.record.state.is_live())
            .count(),
        uptime_ms: u64::try_from(hub.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        attention,
        problems: lock(&hub.problems).clone(),
    })
}

/// Answers first, stops then: sessions go on without the daemon.
pub async fn stop(State(hub): State<Shared>) -> Json<HealthView> {
    let answer = health().await;
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        hub.stop.cancel();
    });
    answer
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct GcBody {
    /// Left out: only shown.
    dry_run: Option<bool>,
}

pub async fn gc(State(hub): State<Shared>, body: Bytes) -> Result<Json<gc::Report>, ApiError> {
    let body: GcBody = read::body(&body)?;
    gc::collect(&hub, body.dry_run.unwrap_or(true))
        .await
        .map(Json)
}
