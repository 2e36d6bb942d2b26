//! The archive of a session: its text or its raw log as one stream, and searching it.
//!
//! Nothing is ever whole in memory, and a reader that is slow keeps no thread: each piece is read
//! when the one before it was taken.

use super::types::{ArchiveView, FoundView, GenerationView};
use super::{ApiError, Shared, read};
use crate::archive::{self, Begins, Folder, Found, Raw, Search, Span, Texts, Wanted};
use crate::clock;
use crate::hub::Handle;
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use sm_core::Timestamp;
use std::io;
use std::sync::Arc;

#[derive(Deserialize)]
pub struct ArchiveQuery {
    generation: Option<u32>,
    #[serde(default)]
    raw: bool,
}

/// All of it, or one generation: readable text, or the bytes of the terminal.
pub async fn archive(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    Query(query): Query<ArchiveQuery>,
) -> Result<Response, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let folder = archive::folder(&hub, &handle.id);
    let span = span(&folder, &handle, query.generation)?;
    if query.raw {
        let raw = Raw::new(&folder, span);
        return Ok(streamed("application/octet-stream", raw, |raw| {
            raw.next_piece()
                .map(|piece| (!piece.is_empty()).then_some(piece))
        }));
    }
    let extra = Arc::clone(&handle.now().extra);
    let opened = archive::with(&hub, &handle.id, &extra, move |folder, caught| {
        Ok(Texts::new(folder, &caught, span))
    });
    let texts = opened.await.map_err(|error| failed(&handle, &error))?;
    Ok(streamed("text/plain; charset=utf-8", texts, |texts| {
        let piece = texts.next_piece()?;
        Ok((!piece.is_empty()).then_some(piece))
    }))
}

#[derive(Deserialize)]
pub struct SearchQuery {
    pattern: String,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    context: usize,
    generation: Option<u32>,
}

/// One JSON object a line: what matches, with so many lines around it.
pub async fn search(
    State(hub): State<Shared>,
    Path(session): Path<String>,
    Query(query): Query<SearchQuery>,
) -> Result<Response, ApiError> {
    let handle = read::session(&hub, &session)?;
    let wanted =
        Wanted::new(&query.pattern, query.ignore_case, query.context).map_err(|error| {
            ApiError::bad(
                format!("that pattern cannot be searched for: {error}"),
                "it is a regular expression: put a backslash before ( ) [ ] { } . * + ? ^ $ | \\ to mean the character",
            )
        })?;
    let folder = archive::folder(&hub, &handle.id);
    let span = span(&folder, &handle, query.generation)?;
    let extra = Arc::clone(&handle.now().extra);
    let opened = archive::with(&hub, &handle.id, &extra, move |folder, caught| {
        Ok(Search::new(folder, &caught, span, wanted))
    });
    let search = opened.await.map_err(|error| failed(&handle, &error))?;
    Ok(streamed("application/x-ndjson", search, |search| {
        // An empty piece would be the end: it is looked further.
        loop {
            match search.next_found()? {
                None => return Ok(None),
                Some(found) if found.is_empty() => {}
                Some(found) => return Ok(Some(lines(found))),
            }
        }
    }))
}

/// Where it lies, and which generations it has.
pub async fn about(
    State(hub): State<Shared>,
    Path(session): Path<String>,
) -> Result<Json<ArchiveView>, ApiError> {
    let handle = read::session(&hub, &session)?;
    let extra = Arc::clone(&handle.now().extra);
    let asked = archive::with(&hub, &handle.id, &extra, |folder, caught| {
        let generation = |b: Begins| GenerationView {
            generation: b.generation,
            at: b.at.map(|at| clock::rfc3339(Timestamp(at))),
        };
        let path = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
        Ok(ArchiveView {
            folder: path(folder.archive()),
            text: path(folder.archive().join("*.txt")),
            raw: path(folder.path().join("terminal.*.log")),
            lines: caught.state.lines + caught.rest.len() as u64,
            rendered: caught.rendered,
            generations: archive::generations(folder)
                .into_iter()
                .map(generation)
                .collect(),
        })
    });
    let about = asked.await.map_err(|error| failed(&handle, &error))?;
    Ok(Json(about))
}

fn span(folder: &Folder, handle: &Handle, generation: Option<u32>) -> Result<Span, ApiError> {
    let known = archive::generations(folder);
    Span::of(&known, generation).ok_or_else(|| {
        let last = known.last().map_or(1, |b| b.generation);
        ApiError::not_found(
            format!(
                "{} has no generation {}",
                handle.now().record.name,
                generation.unwrap_or_default()
            ),
            format!("the present one is {last}"),
        )
    })
}

fn failed(handle: &Handle, error: &io::Error) -> ApiError {
    let name = handle.now().record.name.to_string();
    if error.kind() == io::ErrorKind::NotFound {
        return ApiError::not_found(
            format!("nothing of {name}'s terminal is kept any more"),
            "logs are removed after their retention, or were never written",
        );
    }
    ApiError::new(
        axum::http::StatusCode::INSUFFICIENT_STORAGE,
        format!("the archive of {name} cannot be read: {error}"),
        "look at the permissions of its folder and at the free disk space; the raw log is untouched",
    )
}

fn lines(found: Vec<Found>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for found in found {
        let view = FoundView {
            line: found.line,
            generation: found.generation,
            at: found.at.map(|at| clock::rfc3339(Timestamp(at))),
            matches: found.is_match,
            text: found.text,
        };
        if serde_json::to_writer(&mut bytes, &view).is_ok() {
            bytes.push(b'\n');
        }
    }
    bytes
}

/// Pieces as a body, each made on a thread that may block, when it is asked for.
fn streamed<S: Send + 'static>(
    kind: &'static str,
    source: S,
    next: impl FnMut(&mut S) -> io::Result<Option<Vec<u8>>> + Send + 'static,
) -> Response {
    let stream = futures_util::stream::unfold(Some((source, next)), |state| async move {
        let (mut source, mut next) = state?;
        let made = tokio::task::spawn_blocking(move || {
            let piece = next(&mut source);
            (piece, source, next)
        });
        match made.await {
            Ok((Ok(Some(piece)), source, next)) => {
                Some((Ok::<Bytes, io::Error>(piece.into()), Some((source, next))))
            }
            Ok((Ok(None), _, _)) => None,
            Ok((Err(error), _, _)) => Some((Err(error), None)),
            Err(error) => Some((Err(io::Error::other(error)), None)),
        }
    });
    ([(CONTENT_TYPE, kind)], Body::from_stream(stream)).into_response()
}
