//! Writing down what was decided: nothing is done, and nobody hears of it, before that.

use crate::hub::{Hub, lock};
use crate::{clock, fault};
use sm_core::Record;
use sm_store::{Commit, EventRow, StoreError};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::oneshot;

/// Waits until the commit is on disk, or refused. Events get their numbers in the order in which
/// they are written, and followers hear of them in that order. `word`: what it is about.
pub async fn write(
    hub: &Arc<Hub>,
    word: &'static str,
    mut commit: Commit,
) -> Result<(), StoreError> {
    fault::before("journal", word);
    let (tx, rx) = oneshot::channel();
    {
        let _order = lock(&hub.order);
        for event in &mut commit.events {
            event.seq = hub.next_event();
        }
        let rows = commit.events.clone();
        let own = Arc::clone(hub);
        hub.journal.submit(commit, move |result| {
            if result.is_ok() {
                if let Some(last) = rows.last() {
                    own.journaled.fetch_max(last.seq, Ordering::Release);
                }
                for row in rows {
                    let _ = own.followers.send(row); // nobody may be listening
                }
            }
            let _ = tx.send(result);
        });
    }
    let written = rx.await.unwrap_or(Err(StoreError::Closed));
    fault::after("journal", word);
    written
}

/// A line of a session's history that its core knows nothing of: what people did around it.
pub async fn note(hub: &Arc<Hub>, record: &Record, kind: &str, text: &str) {
    let event = EventRow {
        seq: 0, // given when it is written
        at: clock::now().0,
        session: record.id.to_string(),
        generation: record.generation.0,
        turn: record.turn.0,
        kind: kind.into(),
        text: text.into(),
        data: String::new(),
    };
    let commit = Commit {
        events: vec![event],
        ..Commit::default()
    };
    if let Err(error) = write(hub, "note", commit).await {
        hub.problem(format!("an event could not be written down: {error}"));
    }
}
