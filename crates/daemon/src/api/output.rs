//! What a session's terminal shows, as readable text: live from the terminal, otherwise from its log.

use super::types::OutputView;
use super::{ApiError, Shared, read};
use crate::hub::Hub;
use crate::stored::Extra;
use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use sm_core::SessionId;
use sm_runtime::Capture;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

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
    let extra = Arc::clone(&handle.now().extra);
    let live = from_terminal(&hub, &extra, lines).await;
    let text = match live {
        Some((text, _)) => Some(text),
        None => from_log(&hub, &handle.id, &extra, lines).await,
    };
    let text = text.ok_or_else(ApiError::gone)?;
    Ok(Json(OutputView { text }))
}

/// The last lines that a session has shown. On the alternate screen a terminal keeps no history:
/// then the log tells what went before.
pub async fn last_lines(
    hub: &Hub,
    session: &SessionId,
    extra: &Extra,
    lines: usize,
) -> Option<String> {
    match from_terminal(hub, extra, lines).await {
        Some((text, Shown::Main)) => Some(text),
        Some((_, Shown::Alternate)) | None => from_log(hub, session, extra, lines).await,
    }
}

/// Which screen a terminal shows.
enum Shown {
    Main,
    Alternate,
}

async fn from_terminal(hub: &Hub, extra: &Extra, lines: usize) -> Option<(String, Shown)> {
    let pane = extra.terminal.as_ref()?.pane_id()?;
    let what = Capture {
        colours: false,
        history_lines: u32::try_from(lines).unwrap_or(u32::MAX),
    };
    let screen = hub.tmux.capture(pane, what).await.ok()?;
    let shown = match screen.mark.alternate {
        true => Shown::Alternate,
        false => Shown::Main,
    };
    let mut all: Vec<String> = screen.history;
    all.extend(screen.lines);
    Some((last(all, lines), shown))
}

async fn from_log(hub: &Hub, session: &SessionId, extra: &Extra, lines: usize) -> Option<String> {
    let folder = hub.paths.session_dir(session.as_str());
    let size = sm_term::Size::new(extra.cols, extra.rows);
    let read = tokio::task::spawn_blocking(move || {
        let bytes = log_tail(&folder, LOG_TAIL);
        sm_term::tail(&bytes, size, lines)
    });
    read.await.ok()
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
