//! What a session's terminal shows, as readable text: live from the terminal, otherwise from its log.

use super::types::OutputView;
use super::{ApiError, Shared, read};
use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use sm_runtime::Capture;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path as FilePath, PathBuf};

const DEFAULT_LINES: usize = 200;
const MOST_LINES: usize = 50_000;
/// So much of the end of a log is turned into text.
const LOG_TAIL: u64 = 2 << 20;

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
    let now = handle.now();
    let pane = now
        .extra
        .terminal
        .as_ref()
        .and_then(|terminal| terminal.pane_id());
    if let Some(pane) = pane {
        let history_lines = u32::try_from(lines).unwrap_or(u32::MAX);
        if let Ok(screen) = hub
            .tmux
            .capture(
                pane,
                Capture {
                    colours: false,
                    history_lines,
                },
            )
            .await
        {
            let mut all: Vec<String> = screen.history;
            all.extend(screen.lines);
            return Ok(Json(OutputView {
                text: last(all, lines),
            }));
        }
    }
    let folder = hub.paths.session_dir(handle.id.as_str());
    let size = sm_term::Size::new(now.extra.cols, now.extra.rows);
    let text = tokio::task::spawn_blocking(move || {
        let bytes = log_tail(&folder, LOG_TAIL);
        sm_term::tail(&bytes, size, lines)
    })
    .await
    .map_err(|_| ApiError::gone())?;
    Ok(Json(OutputView { text }))
}

fn last(mut lines: Vec<String>, count: usize) -> String {
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let from = lines.len().saturating_sub(count);
    let mut text = lines[from..].join("\n");
    text.push('\n');
    text
}

/// The end of a session's terminal log, over its parts.
fn log_tail(folder: &FilePath, most: u64) -> Vec<u8> {
    let mut parts: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path
                .file_name()
                .and_then(|n| n.to_str())
                .unwrap_or_default();
            name.starts_with("terminal.") && name.ends_with(".log")
        })
        .collect();
    parts.sort();
    let mut tail: Vec<Vec<u8>> = Vec::new();
    let mut left = most;
    for part in parts.iter().rev() {
        let Ok(mut file) = std::fs::File::open(part) else {
            continue;
        };
        let size = file.metadata().map(|m| m.len()).unwrap_or(0);
        let take = size.min(left);
        let mut bytes = Vec::new();
        if file.seek(SeekFrom::Start(size - take)).is_ok()
            && file.take(take).read_to_end(&mut bytes).is_ok()
        {
            tail.push(bytes);
        }
        left -= take;
        if left == 0 {
            break;
        }
    }
    tail.reverse();
    tail.concat()
}
