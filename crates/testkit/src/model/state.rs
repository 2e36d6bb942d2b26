//! What the server knows, shared by its connections and the test that owns it.
//!
//! Locks are held for a moment only and never across a wait.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::control::Control;
use super::request::Request;

/// How many requests are kept; older ones are only in the log file.
const KEPT: usize = 4096;

pub(super) struct Shared {
    inner: Mutex<Inner>,
    /// Told whenever `inner` changes in a way somebody may wait for.
    changed: Condvar,
    /// Names of holds that may go on.
    released: watch::Sender<BTreeSet<String>>,
}

#[derive(Default)]
struct Inner {
    control: Control,
    requests: VecDeque<Request>,
    next: u64,
    holding: Vec<String>,
    abandoned: BTreeSet<u64>,
    log: Option<File>,
}

impl Shared {
    pub(super) fn new(log: Option<File>) -> Self {
        Self {
            inner: Mutex::new(Inner {
                log,
                ..Inner::default()
            }),
            changed: Condvar::new(),
            released: watch::Sender::new(BTreeSet::new()),
        }
    }

    /// A panicking test thread must not take the server down with it.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn control<T>(&self, change: impl FnOnce(&mut Control) -> T) -> T {
        change(&mut self.lock().control)
    }

    /// Keeps a request and gives it its number.
    pub(super) fn record(
        &self,
        method: &str,
        path: &str,
        headers: Vec<(String, String)>,
        body: Value,
    ) -> u64 {
        let mut inner = self.lock();
        inner.next += 1;
        let request = Request {
            seq: inner.next,
            at_ms: now_ms(),
            method: method.to_owned(),
            path: path.to_owned(),
            headers,
            body,
        };
        inner.write(&serde_json::to_value(&request).unwrap_or_default());
        if inner.requests.len() == KEPT {
            inner.requests.pop_front();
        }
        inner.requests.push_back(request);
        let seq = inner.next;
        drop(inner);
        self.changed.notify_all();
        seq
    }

    /// Writes a line of the test's own into the log.
    pub(super) fn mark(&self, mark: &Value) {
        self.lock().write(&json!({"mark": mark, "at_ms": now_ms()}));
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.lock().requests.iter().cloned().collect()
    }

    pub(super) fn last_requests(&self, count: usize) -> Vec<Request> {
        let inner = self.lock();
        inner
            .requests
            .iter()
            .skip(inner.requests.len().saturating_sub(count))
            .cloned()
            .collect()
    }

    pub(super) fn wait_for_request(
        &self,
        pred: impl Fn(&Request) -> bool,
        until: Instant,
    ) -> Option<Request> {
        self.wait_until(until, |inner| {
            inner.requests.iter().find(|r| pred(r)).cloned()
        })
    }

    /// Waits until an answer stalls at this hold.
    pub(super) fn wait_for_hold(&self, name: &str, until: Instant) -> bool {
        self.wait_until(until, |inner| {
            inner.holding.iter().any(|n| n == name).then_some(())
        })
        .is_some()
    }

    /// Waits until the client of this request has hung up before its answer was whole.
    pub(super) fn wait_for_abandoned(&self, seq: u64, until: Instant) -> bool {
        self.wait_until(until, |inner| inner.abandoned.contains(&seq).then_some(()))
            .is_some()
    }

    fn wait_until<T>(
        &self,
        until: Instant,
        mut look: impl FnMut(&Inner) -> Option<T>,
    ) -> Option<T> {
        let mut inner = self.lock();
        loop {
            if let Some(found) = look(&inner) {
                return Some(found);
            }
            let left = until.checked_duration_since(Instant::now())?;
            inner = self
                .changed
                .wait_timeout(inner, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    pub(super) fn release(&self, name: &str) {
        self.released.send_modify(|names| {
            names.insert(name.to_owned());
        });
    }

    /// Waits until the test releases this name.
    pub(super) async fn held(&self, name: &str) {
        let mut released = self.released.subscribe();
        let _here = Holding::enter(self, name);
        // the sender lives as long as `self`, so this ends only by a release
        let _ = released.wait_for(|names| names.contains(name)).await;
    }

    pub(super) fn abandoned(&self, seq: u64) {
        let mut inner = self.lock();
        inner.abandoned.insert(seq);
        inner.write(&json!({"mark": {"client_disconnected_during": seq}, "at_ms": now_ms()}));
        drop(inner);
        self.changed.notify_all();
    }
}

/// The time an answer spends at a hold, also when its client hangs up.
struct Holding<'a> {
    shared: &'a Shared,
    name: &'a str,
}

impl<'a> Holding<'a> {
    fn enter(shared: &'a Shared, name: &'a str) -> Self {
        shared.lock().holding.push(name.to_owned());
        shared.changed.notify_all();
        Self { shared, name }
    }
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        let mut inner = self.shared.lock();
        if let Some(at) = inner.holding.iter().position(|n| n == self.name) {
            inner.holding.swap_remove(at);
        }
    }
}

impl Inner {
    /// The log is for a person to read afterwards: a full disk must not change the answers.
    fn write(&mut self, line: &Value) {
        if let Some(log) = &mut self.log {
            let _ = log.write_all(format!("{line}\n").as_bytes());
        }
    }
}

pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
