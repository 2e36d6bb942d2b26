//! Handoffs that an agent's hook asks for, as a sandbox let its `sm` reach nobody. The hook waits: what
//! it could not be told of must not have been done.

use super::Shared;
use super::handoff::{asked_before, cancel_as, own_id, schedule_as};
use super::types::{HandoffAnswer, HandoffBody};
use crate::ask::{Ask, BY_HOOK, What, scheduled};
use crate::hub::Handle;
use axum::Json;
use sm_core::Trigger;
use std::time::{Duration, Instant};

/// A hook that carries a request waits 2.5 s: what is not done by then could not be told.
const HOOK_PATIENCE: Duration = Duration::from_secs(2);
const CANCELLED: &str = "Handoff cancelled — the context stays as it is";

/// What the agent is told beside its tool's result. None: nothing, as if it had not asked; then
/// nothing was done either.
pub async fn by_hook(hub: &Shared, handle: &Handle, ask: Ask) -> Option<String> {
    let began = Instant::now();
    let answer = match ask.what {
        What::Cancel => cancel_as(handle).await,
        What::Handoff {
            file_path,
            force,
            auto,
        } => {
            let id = own_id(&ask.id).ok()?;
            if asked_before(hub, handle, &id).await.ok()?.is_some() {
                return None; // a quotation
            }
            let body = HandoffBody {
                id: Some(ask.id),
                requester_session_id: Some(handle.id.to_string()),
                person: false,
                file_path,
                force,
                auto,
                ..HandoffBody::default()
            };
            let answer = schedule_as(hub, handle, Trigger::Agent, body).await;
            if began.elapsed() > HOOK_PATIENCE {
                tracing::warn!(session = %handle.id, "a handoff asked for by a hook took too long: taken back");
                let _ = cancel_as(handle).await;
                return None;
            }
            answer
        }
    };
    Some(match answer {
        Ok(Json(answer)) => told(&answer),
        Err(error) => format!("{BY_HOOK} Error: {}", error.body.error),
    })
}

/// How it is told by a hook.
pub fn told(answer: &HandoffAnswer) -> String {
    let mut lines = Vec::new();
    match (&answer.error, answer.status.as_deref()) {
        (Some(error), _) => lines.push(format!("Error: {error}")),
        (None, Some("cancelled")) => lines.push(CANCELLED.to_owned()),
        (None, _) => lines.push(scheduled(answer.when).to_owned()),
    }
    if let Some(replaced) = &answer.replaced {
        lines.push(format!(
            "It replaces handoff {replaced}, which was scheduled before and will not run"
        ));
    }
    lines.extend(
        answer
            .warnings
            .iter()
            .map(|warning| format!("Warning: {warning}")),
    );
    format!("{BY_HOOK} {}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::SCHEDULED;

    #[test]
    fn what_an_agent_is_told_by_its_hook() {
        let mut answer = HandoffAnswer {
            status: Some("scheduled".into()),
            ..HandoffAnswer::default()
        };
        assert_eq!(told(&answer), format!("[sm handoff] {SCHEDULED}"));
        answer.replaced = Some("h1".into());
        answer.warnings = vec!["old".into()];
        assert_eq!(told(&answer).lines().count(), 3);
        answer.error = Some("no such file".into());
        assert!(told(&answer).starts_with("[sm handoff] Error: no such file\n"));
    }
}
