//! Pins of a session: told to every context of it. A project's are in its file, and are shown here.

use super::types::{PinBody, PinView, PinsView};
use super::{ApiError, Shared, read, sessions};
use crate::hub::Handle;
use crate::pins;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use sm_core::Event;
use sm_core::pins::{MOST, PinRefusal, clean};
use std::path::PathBuf;

pub async fn list(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
) -> Result<Json<PinsView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    view(&handle).await
}

pub async fn add(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    body: Bytes,
) -> Result<Json<PinsView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let body: PinBody = read::body(&body)?;
    let text = clean(&body.text).map_err(|why| ApiError::bad(why.to_string(), why.hint()))?;
    let held = handle.now().record.pins.clone();
    if !held.contains(&text) {
        let room = (held.len() < MOST).then_some(());
        room.ok_or(PinRefusal::TooMany)
            .and_then(|()| pins::without_secrets(&text))
            .map_err(|why| ApiError::conflict(why.to_string(), why.hint()))?;
        sessions::act(&handle, Event::Pin(text)).await?;
    }
    view(&handle).await
}

pub async fn remove(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    body: Bytes,
) -> Result<Json<PinsView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let body: PinBody = read::body(&body)?;
    if !handle.now().record.pins.contains(&body.text) {
        let Json(known) = view(&handle).await?;
        if known.pins.iter().any(|pin| pin.text == body.text) {
            return Err(ApiError::conflict(
                format!(
                    "it is a pin of the project, for every session there: a line of {}",
                    known.file
                ),
                "remove it there, or in the project with: sm pin rm --project",
            ));
        }
    }
    sessions::act(&handle, Event::Unpin(body.text)).await?;
    view(&handle).await
}

async fn view(handle: &Handle) -> Result<Json<PinsView>, ApiError> {
    let now = handle.now();
    let cwd = PathBuf::from(&now.record.cwd);
    let project = tokio::task::spawn_blocking(move || pins::of_project(&cwd)).await;
    let project = project.map_err(|_| ApiError::gone())?;
    let own = now.record.pins.iter().map(|text| PinView {
        text: text.clone(),
        of: "session".into(),
    });
    let shared = project.pins.into_iter().map(|text| PinView {
        text,
        of: "project".into(),
    });
    Ok(Json(PinsView {
        session: now.record.id.to_string(),
        name: now.record.name.to_string(),
        file: project.file.to_string_lossy().into_owned(),
        pins: own.chain(shared).collect(),
    }))
}
