//! The last lines that a session's terminal has shown, as readable text: the end of its archive.

use super::types::OutputView;
use super::{ApiError, Shared, read};
use crate::archive;
use crate::hub::Hub;
use crate::stored::Extra;
use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use sm_core::SessionId;
use std::sync::Arc;

const DEFAULT_LINES: usize = 200;
const MOST_LINES: usize = 50_000;

#[derive(Deserialize)]
pub struct OutputQuery {
    lines: Option<usize>,
}

pub async fn output(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    Query(query): Query<OutputQuery>,
) -> Result<Json<OutputView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let lines = query.lines.unwrap_or(DEFAULT_LINES).clamp(1, MOST_LINES);
    let extra = Arc::clone(&handle.now().extra);
    // a session that has never had a terminal, or whose logs are gone, has shown nothing
    let text = last_lines(&hub, &handle.id, &extra, lines).await;
    Ok(Json(OutputView {
        text: text.unwrap_or_default(),
    }))
}

/// None if nothing of its terminal can be read.
pub async fn last_lines(
    hub: &Arc<Hub>,
    session: &SessionId,
    extra: &Extra,
    lines: usize,
) -> Option<String> {
    match archive::last_lines(hub, session, extra, lines).await {
        Ok(text) => Some(text),
        Err(error) => {
            tracing::debug!(%session, %error, "no archive");
            None
        }
    }
}
