//! Typing into a session's terminal and looking at it, whoever hosts it: a pane of our tmux, or the
//! `sm run` in whose terminal it lives. The guards are the same: nothing is typed on another screen
//! than the one that was looked at. Every wait has a deadline.

use crate::perform::Seat;
use crate::stored::Extra;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sm_client::http::{Connection, HttpError};
use sm_client::{Request, wire};
use sm_core::signal::ScreenMark;
use sm_core::{Key, KeyOutcome};
use sm_runtime::{Capture, Screen, Typed};
use std::time::{Duration, Instant};

/// A run answers in a moment, or something holds it up.
const PATIENCE: Duration = Duration::from_secs(3);
/// A screen, with room to spare.
const LARGEST: usize = 4 << 20;

/// What a run is asked to type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TypeBody {
    Paste {
        text: String,
        guard: Option<ScreenMark>,
    },
    Press {
        key: Key,
        guard: Option<ScreenMark>,
    },
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TypedView {
    Done,
    /// Another screen, or a person types: nothing was typed.
    Moved,
    /// There is no agent to type to.
    Nobody,
}

/// What a run's terminal shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenBody {
    pub lines: Vec<String>,
    pub cols: u32,
    pub rows: u32,
    pub mark: ScreenMark,
}

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("it runs in no sm run")]
    NoRun,
    /// It was not asked.
    #[error("sm run cannot be reached: {0}")]
    Unreached(HttpError),
    /// It may have done it.
    #[error("sm run does not answer: {0}")]
    Unanswered(HttpError),
    #[error("sm run answers with status {0}")]
    Refused(u16),
    #[error("sm run answers with something else")]
    Unexpected,
}

/// Whether a paste was done; also if nobody can know.
pub async fn paste(seat: &Seat, text: &str, guard: Option<ScreenMark>) -> bool {
    if seat.extra.run.is_some() {
        let body = TypeBody::Paste {
            text: sm_core::words::sanitize(text),
            guard,
        };
        return match typed(&seat.extra, &body).await {
            Ok(TypedView::Done) => true,
            Ok(TypedView::Moved | TypedView::Nobody)
            | Err(AskError::NoRun | AskError::Unreached(_) | AskError::Refused(_)) => false,
            Err(error @ (AskError::Unanswered(_) | AskError::Unexpected)) => {
                tracing::warn!(session = %seat.record.id, %error, "paste failed");
                true // unknown: the composer is looked at as if it had been done
            }
        };
    }
    let Some(pane) = seat.extra.terminal.as_ref().and_then(|t| t.pane_id()) else {
        return false;
    };
    match seat.hub.tmux.paste(pane, text, guard.as_ref()).await {
        Ok(Typed::Done) => true,
        Ok(Typed::ScreenMoved) => false,
        Err(error) => {
            tracing::warn!(session = %seat.record.id, %error, "paste failed");
            // unknown whether it was done: the composer is looked at as if it had been
            !matches!(
                error,
                sm_runtime::Error::ServerGone | sm_runtime::Error::NotFound(_)
            )
        }
    }
}

pub async fn press(seat: &Seat, key: Key, guard: Option<ScreenMark>) -> KeyOutcome {
    if seat.extra.run.is_some() {
        return match typed(&seat.extra, &TypeBody::Press { key, guard }).await {
            Ok(TypedView::Done) => KeyOutcome::Pressed,
            Ok(TypedView::Moved) => KeyOutcome::ScreenMoved,
            Ok(TypedView::Nobody) => KeyOutcome::Failed,
            Err(error) => {
                tracing::warn!(session = %seat.record.id, %error, "key not pressed");
                KeyOutcome::Failed
            }
        };
    }
    let Some(pane) = seat.extra.terminal.as_ref().and_then(|t| t.pane_id()) else {
        return KeyOutcome::Failed;
    };
    let key = match key {
        Key::Enter => sm_runtime::Key::Enter,
        Key::Escape => sm_runtime::Key::Escape,
        Key::Stash => sm_runtime::Key::Stash,
        Key::Erase => sm_runtime::Key::Erase,
    };
    match seat.hub.tmux.press(pane, key, guard.as_ref()).await {
        Ok(Typed::Done) => KeyOutcome::Pressed,
        Ok(Typed::ScreenMoved) => KeyOutcome::ScreenMoved,
        Err(error) => {
            tracing::warn!(session = %seat.record.id, %error, "key not pressed");
            KeyOutcome::Failed
        }
    }
}

pub async fn look(seat: &Seat) -> Option<Screen> {
    if let Some(run) = &seat.extra.run {
        let body: ScreenBody = match ask(&seat.extra, "GET", "/terminal/screen", Vec::new()).await {
            Ok(body) => body,
            Err(error) => {
                tracing::debug!(session = %seat.record.id, %error, "screen not readable");
                return None;
            }
        };
        return Some(Screen {
            history: Vec::new(),
            lines: body.lines,
            cols: body.cols,
            rows: body.rows,
            mark: body.mark,
            in_mode: false,
            cursor_visible: true,
            dead: None,
            pid: run.pid,
        });
    }
    let pane = seat.extra.terminal.as_ref()?.pane_id()?;
    let what = Capture {
        colours: true,
        history_lines: 0,
    };
    match seat.hub.tmux.capture(pane, what).await {
        Ok(screen) => Some(screen),
        Err(error) => {
            tracing::debug!(session = %seat.record.id, %error, "screen not readable");
            None
        }
    }
}

/// Asks a run to end its agent and itself.
pub async fn end(extra: &Extra) -> Result<(), AskError> {
    ask::<serde_json::Value>(extra, "POST", "/end", Vec::new())
        .await
        .map(|_| ())
}

async fn typed(extra: &Extra, body: &TypeBody) -> Result<TypedView, AskError> {
    let body = serde_json::to_vec(body).unwrap_or_default();
    ask(extra, "POST", "/terminal/type", body).await
}

/// One request to a run's own socket, off the runtime's threads.
pub async fn ask<T: DeserializeOwned + Send + 'static>(
    extra: &Extra,
    method: &'static str,
    target: &str,
    body: Vec<u8>,
) -> Result<T, AskError> {
    let Some(run) = &extra.run else {
        return Err(AskError::NoRun);
    };
    let (socket, target) = (run.socket.clone(), target.to_owned());
    // it proves that we are the one that it has told of itself
    let proof = extra.secret_hash.clone();
    let asked = tokio::task::spawn_blocking(move || {
        let deadline = Instant::now() + PATIENCE;
        let mut connection = Connection::open(&socket, deadline).map_err(AskError::Unreached)?;
        let request = Request::new(method, &target)
            .header(wire::SECRET_HEADER, &proof)
            .json(&body);
        connection
            .send(&request, deadline)
            .map_err(AskError::Unanswered)?;
        let answer = connection
            .response(LARGEST, deadline)
            .map_err(AskError::Unanswered)?;
        match answer.status() {
            200 => serde_json::from_slice(&answer.body).map_err(|_| AskError::Unexpected),
            status => Err(AskError::Refused(status)),
        }
    });
    asked.await.unwrap_or(Err(AskError::Unexpected))
}
