//! Handoffs of a session that lives in an `sm run`: the run rotates, so the request goes to it, and
//! its answer is the answer. Nothing is scheduled here.

use super::handoff::Answer;
use super::types::{HandoffAnswer, HandoffBody};
use crate::host;
use crate::hub::Handle;
use axum::Json;
use sm_core::Trigger;

/// The answer of the run that hosts the session; `None` if there is none.
pub async fn schedule(handle: &Handle, trigger: Trigger, body: &HandoffBody) -> Option<Answer> {
    let id = handle.id.to_string();
    let person = trigger == Trigger::Person;
    let body = HandoffBody {
        requester_session_id: (!person).then(|| id.clone()),
        person,
        env: None,
        ..body.clone()
    };
    let json = serde_json::to_vec(&body).unwrap_or_default();
    ask(handle, "POST", json).await
}

pub async fn cancel(handle: &Handle) -> Option<Answer> {
    ask(handle, "DELETE", Vec::new()).await
}

async fn ask(handle: &Handle, method: &'static str, body: Vec<u8>) -> Option<Answer> {
    let now = handle.now();
    if now.extra.run.is_none() || !now.record.state.is_live() {
        return None;
    }
    let target = format!("/sessions/{}/handoff", handle.id);
    let answer = host::ask::<HandoffAnswer>(&now.extra, method, &target, body).await;
    Some(Ok(Json(answer.unwrap_or_else(|error| HandoffAnswer {
        error: Some(error.to_string()),
        ..HandoffAnswer::default()
    }))))
}
