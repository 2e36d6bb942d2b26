//! Writing down what was decided: nothing is done, and nobody hears of it, before that.

use crate::fault;
use crate::hub::{Hub, lock};
use sm_store::{Commit, StoreError};
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
