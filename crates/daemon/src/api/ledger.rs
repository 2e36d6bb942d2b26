//! The ledger of a session: what sm knows of its context, as a document for people and successors.

use super::types::LedgerView;
use super::{ApiError, Shared, read};
use crate::clock::rfc3339;
use crate::hub::Handle;
use crate::ledger::{self, NoLedger, Seen};
use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use std::time::Duration;

/// What a document may have, in characters.
const BUDGETS: std::ops::RangeInclusive<usize> = 1_000..=50_000;
/// A transcript that has not been read yet takes its time; a disk that does not answer is not waited
/// for.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Deserialize)]
pub struct LedgerQuery {
    budget: Option<usize>,
    generation: Option<u32>,
    /// Only the few lines, without the document.
    #[serde(default)]
    brief: bool,
}

pub async fn show(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    Query(query): Query<LedgerQuery>,
) -> Result<Json<LedgerView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let budget = query.budget.unwrap_or(ledger::BUDGET);
    if !BUDGETS.contains(&budget) {
        return Err(ApiError::bad(
            format!("{budget} characters are no budget for a document"),
            "it is from 1000 to 50000",
        ));
    }
    let asked = view(&hub, &handle, &query, budget);
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(view)) => Ok(Json(view)),
        Ok(Err(why)) => Err(none(&handle, why)),
        Err(_) => Err(none(&handle, NoLedger::NoAnswer)),
    }
}

async fn view(
    hub: &Shared,
    handle: &Handle,
    query: &LedgerQuery,
    budget: usize,
) -> Result<LedgerView, NoLedger> {
    let name = handle.now().record.name.to_string();
    if query.brief {
        let session = handle.id.to_string();
        return ledger::with(hub, handle, query.generation, move |kept| {
            let Seen {
                goal,
                files,
                failing,
            } = ledger::about(kept);
            LedgerView {
                session,
                name,
                generation: kept.generation,
                conversation_id: kept.conversation.clone(),
                transcript_path: kept.transcript.to_string_lossy().into_owned(),
                last_at: kept.ledger.time.map(rfc3339),
                at: rfc3339(kept.at),
                goal,
                files,
                failing,
                text: String::new(),
            }
        })
        .await;
    }
    let written = ledger::write(hub, handle, query.generation, budget).await?;
    Ok(LedgerView {
        session: handle.id.to_string(),
        name,
        generation: written.generation,
        conversation_id: written.conversation,
        transcript_path: written.transcript,
        last_at: written.time.map(rfc3339),
        at: rfc3339(written.at),
        goal: written.seen.goal,
        files: written.seen.files,
        failing: written.seen.failing,
        text: written.text,
    })
}

fn none(handle: &Handle, why: NoLedger) -> ApiError {
    let now = handle.now();
    let name = &now.record.name;
    let called = now.called();
    let hint = match why {
        NoLedger::Unreadable => format!("what its terminal showed: sm archive {called}"),
        NoLedger::Nothing => format!("look at it: sm show {called}"),
        NoLedger::NoGeneration(_) => {
            format!("what there is of the present one: sm ledger {called}")
        }
        NoLedger::NoAnswer => "repeat it in a moment".to_owned(),
    };
    ApiError::not_found(format!("there is no ledger of {name}: {why}"), hint)
}
