//! Sessions whose processes are being ended. Who asked for it waits until that is done: an agent's own
//! end is seen before what it had started has ended.

use crate::hub::{Hub, lock};
use sm_core::SessionId;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

#[derive(Default)]
pub struct Endings {
    under_way: Mutex<Vec<SessionId>>,
    changed: Notify,
}

/// Under way until it is dropped.
pub struct Ending {
    hub: Arc<Hub>,
    session: SessionId,
}

impl Ending {
    pub fn begin(hub: &Arc<Hub>, session: &SessionId) -> Self {
        lock(&hub.endings.under_way).push(session.clone());
        Self {
            hub: Arc::clone(hub),
            session: session.clone(),
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let mut under_way = lock(&self.hub.endings.under_way);
        if let Some(at) = under_way.iter().position(|id| *id == self.session) {
            under_way.swap_remove(at);
        }
        drop(under_way);
        self.hub.endings.changed.notify_waiters();
    }
}

impl Endings {
    /// Waits until nothing of this session (None: of any) is being ended.
    pub async fn over(&self, session: Option<&SessionId>) {
        loop {
            let changed = self.changed.notified();
            let over = {
                let under_way = lock(&self.under_way);
                match session {
                    Some(id) => !under_way.contains(id),
                    None => under_way.is_empty(),
                }
            };
            if over {
                return;
            }
            changed.await;
        }
    }
}
