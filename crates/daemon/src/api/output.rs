//! What a session's terminal shows, as readable text: the screen of an agent, which draws its
//! conversation anew all the time; the last lines of other programs.

use super::types::OutputView;
use super::{ApiError, Shared, read};
use crate::archive;
use crate::hub::Hub;
use crate::stored::Extra;
use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use sm_core::{AgentKind, SessionId};
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
    let lines = query.lines.map(|lines| lines.clamp(1, MOST_LINES));
    let now = handle.now();
    let extra = Arc::clone(&now.extra);
    // a session that has never had a terminal, or whose logs are gone, has shown nothing
    let text = match now.record.agent {
        // what it prints is never drawn again
        AgentKind::Generic => {
            let lines = lines.unwrap_or(DEFAULT_LINES);
            last_lines(&hub, &handle.id, &extra, lines).await
        }
        AgentKind::Claude | AgentKind::Codex | AgentKind::Native => {
            let screen = archive::screen(&hub, &handle.id, &extra, lines).await;
            match screen {
                // a screen that was just cleared tells nothing
                Ok(text) if text.trim().is_empty() => {
                    let lines = lines.unwrap_or(DEFAULT_LINES);
                    last_lines(&hub, &handle.id, &extra, lines).await
                }
                Ok(text) => Some(text),
                Err(_) => None,
            }
        }
    };
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
