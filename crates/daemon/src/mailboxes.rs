//! Background hooks of agents that wait to wake them. A text is handed over in two steps, so that a
//! waiter whose agent has died never swallows one: offered, then taken.

use crate::hub::lock;
use sm_core::{Handing, SessionId, WaiterId};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::oneshot;

#[derive(Default)]
pub struct Mailboxes {
    next: AtomicU64,
    waiters: Mutex<HashMap<WaiterId, Waiter>>,
}

/// A text, and what the agent is to do with it.
#[derive(Debug, PartialEq, Eq)]
pub struct Letter {
    pub text: String,
    pub handing: Handing,
}

struct Waiter {
    session: SessionId,
    stage: Stage,
}

enum Stage {
    Waiting(oneshot::Sender<Option<Letter>>),
    Offered { flight: u64 },
}

impl Mailboxes {
    /// A new waiter: what comes through is its text, or None when it is no longer wanted.
    pub fn open(&self, session: SessionId) -> (WaiterId, oneshot::Receiver<Option<Letter>>) {
        let id = WaiterId(self.next.fetch_add(1, Ordering::Relaxed) + 1);
        let (tx, rx) = oneshot::channel();
        lock(&self.waiters).insert(
            id,
            Waiter {
                session,
                stage: Stage::Waiting(tx),
            },
        );
        (id, rx)
    }

    /// Offers a text; false: the waiter is gone.
    pub fn offer(&self, id: WaiterId, flight: u64, letter: Letter) -> bool {
        let mut waiters = lock(&self.waiters);
        let Some(waiter) = waiters.get_mut(&id) else {
            return false;
        };
        match std::mem::replace(&mut waiter.stage, Stage::Offered { flight }) {
            Stage::Waiting(tx) => {
                if tx.send(Some(letter)).is_ok() {
                    return true;
                }
            }
            Stage::Offered { .. } => {}
        }
        waiters.remove(&id);
        false
    }

    /// Whose waiter it is.
    pub fn session(&self, id: WaiterId) -> Option<SessionId> {
        let waiters = lock(&self.waiters);
        waiters.get(&id).map(|waiter| waiter.session.clone())
    }

    /// The waiter says that its agent lives and the text is going to it. None: too late.
    pub fn take(&self, id: WaiterId) -> Option<(SessionId, u64)> {
        let mut waiters = lock(&self.waiters);
        match waiters.get(&id)?.stage {
            Stage::Offered { .. } => {}
            Stage::Waiting(_) => return None,
        }
        let waiter = waiters.remove(&id)?;
        match waiter.stage {
            Stage::Offered { flight } => Some((waiter.session, flight)),
            Stage::Waiting(_) => None,
        }
    }

    /// Takes an offer back that nobody has taken; true: it was still open.
    pub fn withdraw(&self, id: WaiterId) -> bool {
        lock(&self.waiters).remove(&id).is_some()
    }

    pub fn dismiss(&self, id: WaiterId) {
        if let Some(Waiter {
            stage: Stage::Waiting(tx),
            ..
        }) = lock(&self.waiters).remove(&id)
        {
            let _ = tx.send(None);
        }
    }

    /// The waiter's connection has closed while it waited. Some: nobody had been told.
    pub fn gone(&self, id: WaiterId) -> Option<SessionId> {
        let mut waiters = lock(&self.waiters);
        match waiters.get(&id)?.stage {
            Stage::Waiting(_) => waiters.remove(&id).map(|waiter| waiter.session),
            Stage::Offered { .. } => None, // withdrawn by its deadline
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter() -> Letter {
        Letter {
            text: "text".into(),
            handing: Handing::Prompt,
        }
    }

    fn session() -> SessionId {
        SessionId::new("s1").unwrap()
    }

    #[test]
    fn an_offer_is_taken_once_and_not_after_it_was_withdrawn() {
        let boxes = Mailboxes::default();
        let (id, mut rx) = boxes.open(session());
        assert!(boxes.take(id).is_none(), "nothing was offered");
        assert!(boxes.offer(id, 7, letter()));
        assert_eq!(rx.try_recv().ok().flatten(), Some(letter()));
        assert_eq!(boxes.take(id), Some((session(), 7)));
        assert!(boxes.take(id).is_none());
        let (id, _rx) = boxes.open(session());
        assert!(boxes.offer(id, 8, letter()));
        assert!(boxes.withdraw(id));
        assert!(boxes.take(id).is_none());
    }

    #[test]
    fn a_waiter_that_is_gone_takes_nothing() {
        let boxes = Mailboxes::default();
        let (id, rx) = boxes.open(session());
        drop(rx);
        assert!(!boxes.offer(id, 1, letter()));
    }
}
