//! The history of handoffs, and what a good document holds.

use super::types::{ArtifactView, HandoffView, InContextView, OutputView, StepView, TemplateView};
use super::{ApiError, Shared, read};
use crate::clock::rfc3339;
use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use sm_core::{ArtifactKind, Handoff, SessionId};
use sm_store::HandoffRow;
use std::path::{Path as FilePath, PathBuf};

const DEFAULT_LIMIT: usize = 100;
const MOST: usize = 10_000;

pub async fn template() -> Json<TemplateView> {
    Json(TemplateView {
        text: sm_core::template::handoff_template().to_owned(),
    })
}

#[derive(Deserialize)]
pub struct ListQuery {
    session: Option<String>,
    limit: Option<usize>,
}

pub async fn list(
    State(hub): State<Shared>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Vec<HandoffView>>, ApiError> {
    let session = match &query.session {
        Some(wanted) => Some(read::session(&hub, wanted)?.id.to_string()),
        None => None,
    };
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MOST);
    let rows = read::store(&hub, move |store| store.handoffs(session.as_deref(), limit)).await?;
    Ok(Json(rows.iter().filter_map(view).collect()))
}

pub async fn show(
    State(hub): State<Shared>,
    Path(id): Path<String>,
) -> Result<Json<HandoffView>, ApiError> {
    let (row, prompt) = find(&hub, id).await?;
    let mut view = view(&row).ok_or_else(unknown)?;
    view.prompt = prompt.or(view.prompt);
    Ok(Json(view))
}

/// Our own copy of what was handed over: where its author put it, it may have changed since.
pub async fn document(
    State(hub): State<Shared>,
    Path(id): Path<String>,
) -> Result<Json<OutputView>, ApiError> {
    let (row, _) = find(&hub, id).await?;
    let copy = stored(&row).ok_or_else(unknown)?.copy;
    let shown = copy.clone();
    let read =
        tokio::task::spawn_blocking(move || crate::handoff::read_kept(FilePath::new(&copy))).await;
    match read {
        Ok(Ok(text)) => Ok(Json(OutputView { text })),
        Ok(Err(error)) => Err(ApiError::not_found(
            format!("the document of this handoff cannot be read: {error}"),
            format!("sm kept it in {shown}; `sm gc` removes what is older than its retention"),
        )),
        Err(_) => Err(ApiError::gone()),
    }
}

/// The handoff with this id, or whose id begins so; and its prompt, if it came to that.
async fn find(hub: &Shared, id: String) -> Result<(HandoffRow, Option<String>), ApiError> {
    let shown: String = id.chars().filter(|c| !c.is_control()).take(80).collect();
    let found = read::store(hub, move |store| {
        let row = match store.handoff(&id)? {
            Some(row) => Ok(row),
            None => only_one(store.handoffs(None, MOST)?, &id),
        };
        let row = match row {
            Ok(row) => row,
            Err(several) => return Ok(Err(several)),
        };
        let wake = stored(&row).and_then(|handoff| handoff.wake);
        let prompt = match wake {
            Some(wake) => store.message(&row.session, wake.as_str())?,
            None => None,
        };
        Ok(Ok((row, prompt.map(|message| message.text))))
    })
    .await?;
    found.map_err(|several| match several.as_slice() {
        [] => unknown(),
        several => ApiError::conflict(
            format!("several handoffs begin with {shown}"),
            format!("name one: {}", several.join(", ")),
        ),
    })
}

fn unknown() -> ApiError {
    ApiError::not_found("there is no such handoff", "list them with: sm handoffs")
}

/// The one whose id begins like this, or the first ids that do.
fn only_one(rows: Vec<HandoffRow>, beginning: &str) -> Result<HandoffRow, Vec<String>> {
    const NAMED: usize = 5;
    let mut begin: Vec<HandoffRow> = rows
        .into_iter()
        .filter(|row| row.id.starts_with(beginning))
        .collect();
    match begin.len() {
        1 => begin.pop().ok_or_else(Vec::new),
        _ => Err(begin.into_iter().take(NAMED).map(|row| row.id).collect()),
    }
}

pub(super) fn stored(row: &HandoffRow) -> Option<Handoff> {
    serde_json::from_str(&row.json)
        .inspect_err(|error| tracing::warn!(id = row.id, %error, "a handoff cannot be read"))
        .ok()
}

fn view(row: &HandoffRow) -> Option<HandoffView> {
    let handoff = stored(row)?;
    let took = handoff
        .prompted_at
        .zip(handoff.began_at)
        .map(|(prompted, began)| prompted.since(began));
    Some(HandoffView {
        id: handoff.id.to_string(),
        session: row.session.clone(),
        state: handoff.state.word().to_owned(),
        trigger: handoff.trigger.word().to_owned(),
        author: handoff.author.word().to_owned(),
        note: Some(handoff.note.clone()).filter(|note| !note.is_empty()),
        carrier: handoff.carrier.word().to_owned(),
        from_generation: handoff.from.0,
        to_generation: handoff.to.map(|to| to.0),
        from_conversation: handoff.from_conversation.as_ref().map(ToString::to_string),
        document: handoff.document.clone(),
        copy: handoff.copy.clone(),
        folder: handoff.folder.clone(),
        given: Some(handoff.given.clone()).filter(|given| !given.is_empty()),
        in_context: handoff.in_context.map(|document| InContextView {
            characters: document.characters as u64,
            of: document.of as u64,
            proof: document.proof.map(|proof| proof.word().to_owned()),
            text: document.told(),
        }),
        artifacts: handoff
            .artifacts
            .iter()
            .map(|artifact| ArtifactView {
                kind: kind_word(artifact.kind).to_owned(),
                path: artifact.path.clone(),
                bytes: artifact.bytes,
                lines: artifact.lines,
                problem: artifact.problem.clone(),
            })
            .collect(),
        steps: handoff
            .steps
            .iter()
            .map(|step| StepView {
                at: rfc3339(step.at),
                text: step.text.clone(),
            })
            .collect(),
        tokens_before: handoff.tokens_before,
        tokens_after: handoff.tokens_after,
        created_at: rfc3339(handoff.created_at),
        prompted_at: handoff.prompted_at.map(rfc3339),
        done_at: handoff.done_at.map(rfc3339),
        took_ms: took,
        waits_for_person: handoff.person_wait.map(|wait| wait.why),
        prompt: Some(handoff.wake_text.clone()).filter(|text| !text.is_empty()),
    })
}

fn kind_word(kind: ArtifactKind) -> &'static str {
    match kind {
        ArtifactKind::Document => "document",
        ArtifactKind::Snapshot => "snapshot",
        ArtifactKind::Log => "log",
        ArtifactKind::Transcript => "transcript",
        ArtifactKind::InFlight => "in_flight",
    }
}

/// Folders of a session's handoffs, as its rows name them.
pub async fn folders(hub: &Shared, session: &SessionId) -> Result<Vec<PathBuf>, ApiError> {
    let all = of_session(hub, session).await?;
    Ok(all.into_iter().map(|h| PathBuf::from(h.folder)).collect())
}

/// All handoffs of a session, newest first.
pub async fn of_session(hub: &Shared, session: &SessionId) -> Result<Vec<Handoff>, ApiError> {
    let session = session.to_string();
    let rows = read::store(hub, move |store| store.handoffs(Some(&session), usize::MAX)).await?;
    Ok(rows.iter().filter_map(stored).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_names_one_or_several() {
        let rows = |ids: &[&str]| -> Vec<HandoffRow> {
            let row = |id: &&str| HandoffRow {
                id: (*id).to_string(),
                session: "s".into(),
                created_at: 1,
                state: "done".into(),
                json: String::new(),
            };
            ids.iter().map(row).collect()
        };
        let all = ["h1a2", "h1b3", "h2c4"];
        assert_eq!(only_one(rows(&all), "h2").unwrap().id, "h2c4");
        assert_eq!(only_one(rows(&all), "h1").unwrap_err(), ["h1a2", "h1b3"]);
        assert!(only_one(rows(&all), "h9").unwrap_err().is_empty());
    }
}
