//! Hook calls that wait for their answer. An answer that nobody waits for any more is dropped:
//! what became of its text is found in the transcript.

use crate::hub::lock;
use sm_core::{Answer, RequestId};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::oneshot;

#[derive(Default)]
pub struct Answers {
    next: AtomicU64,
    waiting: Mutex<HashMap<RequestId, oneshot::Sender<Answer>>>,
}

impl Answers {
    pub fn ask(&self) -> (RequestId, oneshot::Receiver<Answer>) {
        let id = RequestId(self.next.fetch_add(1, Ordering::Relaxed) + 1);
        let (tx, rx) = oneshot::channel();
        lock(&self.waiting).insert(id, tx);
        (id, rx)
    }
    pub fn give(&self, id: RequestId, answer: Answer) {
        if let Some(waiting) = lock(&self.waiting).remove(&id) {
            let _ = waiting.send(answer);
        }
    }
    pub fn forget(&self, id: RequestId) {
        lock(&self.waiting).remove(&id);
    }
}
