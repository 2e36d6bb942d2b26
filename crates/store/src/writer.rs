//! The one thread that writes. What is waiting is grouped into one transaction, so that many
//! sessions share one sync of the disk; answers come in the order of asking.
//!
//! It must never drop a commit silently: every callback is called exactly once, with an error if the
//! writer stops first. It knows nothing of async: callbacks run on the writer's thread and must not
//! block.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{Commit, Prune, Pruned, Store, StoreError};

/// Bounds of one transaction: a commit waits for at most this much before it.
const MAX_COMMITS: usize = 512;
const MAX_BYTES: usize = 4 << 20;

/// The writer. Dropping it finishes what is waiting, then ends the thread.
#[derive(Debug)]
pub struct Writer {
    handle: WriterHandle,
    thread: Option<JoinHandle<()>>,
}

/// Access to the writer; clones may go to any thread. After the writer has stopped, everything is
/// answered with [`StoreError::Closed`].
#[derive(Debug, Clone)]
pub struct WriterHandle {
    jobs: Sender<Job>,
}

enum Job {
    Commit(Commit, Answer<()>),
    Prune(Prune, Answer<Pruned>),
    Flush(Answer<()>),
    Stop,
}

/// A callback that is called exactly once, whatever becomes of the job it belongs to.
struct Answer<T>(Option<Callback<T>>);

type Callback<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

impl<T> Answer<T> {
    fn new(done: impl FnOnce(Result<T, StoreError>) + Send + 'static) -> Self {
        Self(Some(Box::new(done)))
    }

    fn give(mut self, result: Result<T, StoreError>) {
        if let Some(done) = self.0.take() {
            done(result);
        }
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            done(Err(StoreError::Closed));
        }
    }
}

impl Writer {
    /// Starts the thread that owns `store` from now on.
    pub fn spawn(store: impl Store + 'static) -> io::Result<Self> {
        let (jobs, waiting) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("sm-store".to_owned())
            .stack_size(512 << 10)
            .spawn(move || run(store, &waiting))?;
        Ok(Self {
            handle: WriterHandle { jobs },
            thread: Some(thread),
        })
    }

    pub fn handle(&self) -> WriterHandle {
        self.handle.clone()
    }

    /// Finishes what is waiting and ends the thread. The store is closed when this returns.
    pub fn stop(self) {
        drop(self);
    }
}

impl std::ops::Deref for Writer {
    type Target = WriterHandle;

    fn deref(&self) -> &WriterHandle {
        &self.handle
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.handle.jobs.send(Job::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl WriterHandle {
    /// Asks for a commit; `done` is called on the writer's thread when it is on disk or refused.
    pub fn submit(
        &self,
        commit: Commit,
        done: impl FnOnce(Result<(), StoreError>) + Send + 'static,
    ) {
        self.send(Job::Commit(commit, Answer::new(done)));
    }

    /// Commits and waits for the outcome. Not from within a callback: that would wait for itself.
    pub fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        self.ask(|answer| Job::Commit(commit, answer))
    }

    /// Waits until everything asked before has been answered.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.ask(Job::Flush)
    }

    /// Prunes between two transactions; `done` is called on the writer's thread.
    pub fn prune(
        &self,
        what: Prune,
        done: impl FnOnce(Result<Pruned, StoreError>) + Send + 'static,
    ) {
        self.send(Job::Prune(what, Answer::new(done)));
    }

    fn ask<T: Send + 'static>(&self, job: impl FnOnce(Answer<T>) -> Job) -> Result<T, StoreError> {
        let (tx, rx) = mpsc::sync_channel(1);
        self.send(job(Answer::new(move |result| {
            let _ = tx.send(result);
        })));
        rx.recv().unwrap_or(Err(StoreError::Closed))
    }

    fn send(&self, job: Job) {
        // A job that cannot be sent is dropped here, which answers it.
        let _ = self.jobs.send(job);
    }
}

/// Whether to go on after a batch.
#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
}

/// What was written goes from the log into the database when nothing was for so long, and at the
/// latest after this time: what a lost log takes along is a few seconds.
const QUIET: Duration = Duration::from_millis(500);
const LOGGED: Duration = Duration::from_secs(5);

fn run(mut store: impl Store, waiting: &Receiver<Job>) {
    let mut logged: Option<Instant> = None;
    loop {
        let next = match logged {
            Some(_) => waiting.recv_timeout(QUIET),
            None => waiting.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(first) => {
                if turn(&mut store, first, waiting) == Next::Stop {
                    break;
                }
                let since = *logged.get_or_insert_with(Instant::now);
                if since.elapsed() < LOGGED {
                    continue;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        logged = None;
        // Whoever writes next is told what is wrong.
        let _ = store.checkpoint();
    }
    // Whatever is still in the channel is answered with `Closed` as the receiver is dropped.
}

/// Takes the commits that are waiting, up to the first job of another kind, and then that job.
fn turn(store: &mut impl Store, first: Job, waiting: &Receiver<Job>) -> Next {
    let mut batch = Batch::default();
    let mut job = Some(first);
    while let Some(next) = job {
        match next {
            Job::Commit(commit, answer) => batch.push(commit, answer),
            Job::Prune(what, answer) => {
                batch.write(store);
                answer.give(store.prune(&what));
                return Next::GoOn;
            }
            Job::Flush(answer) => {
                batch.write(store);
                answer.give(Ok(()));
                return Next::GoOn;
            }
            Job::Stop => {
                batch.write(store);
                return Next::Stop;
            }
        }
        job = if batch.is_full() {
            None
        } else {
            waiting.try_recv().ok()
        };
    }
    batch.write(store);
    Next::GoOn
}

#[derive(Default)]
struct Batch {
    commits: Vec<Commit>,
    answers: Vec<Answer<()>>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, commit: Commit, answer: Answer<()>) {
        self.bytes += commit.weight();
        self.commits.push(commit);
        self.answers.push(answer);
    }

    fn is_full(&self) -> bool {
        self.commits.len() >= MAX_COMMITS || self.bytes >= MAX_BYTES
    }

    fn write(self, store: &mut impl Store) {
        if self.commits.is_empty() {
            return;
        }
        match store.commit_all(&self.commits) {
            Ok(()) => self.answer_all(&Ok(())),
            // The disk refuses, or nobody can write now: true for each of them.
            Err(error @ (StoreError::Full { .. } | StoreError::Locked { .. })) => {
                self.answer_all(&Err(error));
            }
            Err(error) if self.commits.len() == 1 => self.answer_all(&Err(error)),
            // One of them cannot be written; the others must not fail for its sake.
            Err(_) => {
                for (commit, answer) in self.commits.iter().zip(self.answers) {
                    answer.give(store.commit(commit));
                }
            }
        }
    }

    fn answer_all(self, result: &Result<(), StoreError>) {
        for answer in self.answers {
            answer.give(result.clone());
        }
    }
}
