//! Reading what a request asks for: sessions by id, prefix or name; bodies; queries of the store.

use super::{ApiError, Shared};
use crate::actor::Published;
use crate::hub::{Handle, lock};
use crate::names::{self, Candidate, Standing};
use serde::de::DeserializeOwned;
use sm_core::State;
use sm_store::{Reader, StoreError};
use std::sync::Arc;

/// A session named by id, unique id prefix or name.
pub fn session(hub: &Shared, wanted: &str) -> Result<Handle, ApiError> {
    // by far the most requests name the id
    if let Ok(id) = sm_core::SessionId::new(wanted)
        && let Some(handle) = hub.sessions.get(&id)
    {
        return Ok(handle);
    }
    let handles = hub.sessions.all();
    let published: Vec<_> = handles.iter().map(Handle::now).collect();
    let found = names::resolve(wanted, published.iter().map(|p| named(p)))
        .map_err(|error| ApiError::not_found(error.to_string(), error.hint()))?;
    handles
        .into_iter()
        .find(|handle| handle.id.as_str() == found)
        .ok_or_else(|| {
            ApiError::not_found(
                format!("there is no session {wanted}"),
                "list them with: sm ls",
            )
        })
}

pub fn named(published: &Published) -> Candidate<'_> {
    Candidate {
        id: published.record.id.as_str(),
        name: published.record.name.as_str(),
        standing: match published.record.state {
            State::Starting
            | State::Working
            | State::Idle
            | State::Waiting(_)
            | State::Compacting => Standing::Live,
            State::Lost => Standing::Lost,
            State::Exited => Standing::Ended,
        },
    }
}

/// A JSON body. An empty one is the default.
pub fn body<T: DeserializeOwned + Default>(bytes: &[u8]) -> Result<T, ApiError> {
    if bytes.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(bytes).map_err(|error| {
        ApiError::bad(
            format!("the body is not what is expected here: {error}"),
            "GET /openapi.json describes it",
        )
    })
}

/// A query of the store, off the runtime's threads.
pub async fn store<T: Send + 'static>(
    hub: &Shared,
    query: impl FnOnce(&dyn Reader) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, ApiError> {
    let hub = Arc::clone(hub);
    let asked = tokio::task::spawn_blocking(move || {
        let reader = lock(&hub.reader);
        query(reader.as_ref())
    });
    match asked.await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(ApiError::store(&error)),
        Err(_) => Err(ApiError::gone()),
    }
}
