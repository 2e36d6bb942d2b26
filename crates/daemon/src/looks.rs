//! Who follows how sessions look. Each follower has a set of the sessions that have changed since
//! it last looked, so a slow one costs no more than one entry for each session, and a session that
//! changes often is looked at once. While nobody follows, a change costs one read of a number.

use crate::actor::Published;
use crate::hub::lock;
use sm_core::SessionId;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

#[derive(Default)]
pub struct Looks {
    /// How many follow.
    many: AtomicUsize,
    followers: Mutex<Vec<Arc<Changed>>>,
    /// What was written last for each session: followers share it.
    written: Mutex<HashMap<SessionId, Written>>,
}

#[derive(Default)]
struct Changed {
    ids: Mutex<BTreeSet<SessionId>>,
    any: Notify,
}

struct Written {
    of: Arc<Published>,
    children: Vec<String>,
    text: Arc<str>,
}

/// One who follows, until it is dropped.
pub struct Following {
    looks: Arc<Looks>,
    changed: Arc<Changed>,
}

impl Looks {
    /// A session is there, looks different, or is gone. Called after that can be seen: whoever
    /// begins to follow is either in the list by now, or sees it.
    pub fn changed(&self, id: &SessionId) {
        if self.many.load(Ordering::Relaxed) == 0 {
            return;
        }
        for follower in lock(&self.followers).iter() {
            lock(&follower.ids).insert(id.clone());
            follower.any.notify_one();
        }
    }

    pub fn follow(self: &Arc<Self>) -> Following {
        let changed = Arc::new(Changed::default());
        let mut followers = lock(&self.followers);
        followers.push(Arc::clone(&changed));
        self.many.store(followers.len(), Ordering::Relaxed);
        Following {
            looks: Arc::clone(self),
            changed,
        }
    }

    /// What `write` makes of a session, unless that is known already.
    pub fn written(
        &self,
        of: &Arc<Published>,
        children: Vec<String>,
        write: impl FnOnce(Vec<String>) -> String,
    ) -> Arc<str> {
        let id = &of.record.id;
        if let Some(known) = lock(&self.written).get(id)
            && Arc::ptr_eq(&known.of, of)
            && known.children == children
        {
            return Arc::clone(&known.text);
        }
        let text: Arc<str> = write(children.clone()).into();
        let written = Written {
            of: Arc::clone(of),
            children,
            text: Arc::clone(&text),
        };
        lock(&self.written).insert(id.clone(), written);
        text
    }

    pub fn forget(&self, id: &SessionId) {
        lock(&self.written).remove(id);
    }
}

impl Following {
    /// Waits until some have changed, and takes them.
    pub async fn taken(&self) -> BTreeSet<SessionId> {
        loop {
            let ids = std::mem::take(&mut *lock(&self.changed.ids));
            if !ids.is_empty() {
                return ids;
            }
            self.changed.any.notified().await;
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let mut followers = lock(&self.looks.followers);
        followers.retain(|one| !Arc::ptr_eq(one, &self.changed));
        self.looks.many.store(followers.len(), Ordering::Relaxed);
        if followers.is_empty() {
            lock(&self.looks.written).clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    #[tokio::test]
    async fn what_changes_often_is_taken_once() {
        let looks = Arc::new(Looks::default());
        looks.changed(&id("before"));
        let (one, other) = (looks.follow(), looks.follow());
        for _ in 0..1000 {
            looks.changed(&id("a"));
            looks.changed(&id("b"));
        }
        let both: BTreeSet<_> = [id("a"), id("b")].into();
        assert_eq!(one.taken().await, both);
        looks.changed(&id("c"));
        assert_eq!(one.taken().await, [id("c")].into());
        // one that has not looked for long has a set, not a history
        assert_eq!(other.taken().await.len(), 3);
        drop(one);
        drop(other);
        assert_eq!(looks.many.load(Ordering::Relaxed), 0);
        assert!(lock(&looks.followers).is_empty());
    }
}
