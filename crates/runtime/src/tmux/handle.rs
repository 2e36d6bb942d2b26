//! [`Tmux`]: the connection and the server as a whole.

use super::client::{Actor, Events, Request};
use super::config::{TmuxConfig, Version};
use super::connect::{KEEPER, Start};
use super::pane::session_name;
use super::protocol::Reply;
use crate::error::Error;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{mpsc, oneshot};

/// Events that may wait for their reader; more are found again when there is room.
const EVENTS: usize = 1024;
const REQUESTS: usize = 256;

/// A handle on our tmux server. Cheap to clone; when the last one is dropped, the connection ends
/// and the server, with everything in it, goes on.
#[derive(Debug, Clone)]
pub struct Tmux {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: TmuxConfig,
    requests: mpsc::Sender<Request>,
    serial: AtomicU64,
}

impl Tmux {
    /// Starts nothing yet: a server is joined when something is asked of it, and started only by
    /// [`Tmux::create`]. Has to be called inside a tokio runtime.
    pub fn new(config: TmuxConfig) -> (Self, Events) {
        let (requests, inbox) = mpsc::channel(REQUESTS);
        let (outbox, events) = mpsc::channel(EVENTS);
        tokio::spawn(Actor::new(config.clone(), inbox, outbox).run());
        let inner = Inner {
            config,
            requests,
            serial: AtomicU64::new(0),
        };
        (
            Self {
                inner: Arc::new(inner),
            },
            events,
        )
    }

    pub fn config(&self) -> &TmuxConfig {
        &self.inner.config
    }

    /// The installed tmux; an error says what to install. Asked once.
    pub async fn version(&self) -> Result<Version, Error> {
        let (answer, version) = oneshot::channel();
        self.ask(Request::Version(answer), version).await?
    }

    /// Whether a server runs on our socket. Joins it if so, and events begin to flow.
    pub async fn server_alive(&self) -> Result<bool, Error> {
        match self
            .run("display-message -p alive".to_owned(), Start::Never)
            .await
        {
            Ok(_) => Ok(true),
            Err(Error::ServerGone) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Ends the server and everything in it. Fine if there is none.
    pub async fn kill_server(&self) -> Result<(), Error> {
        match self.run("kill-server".to_owned(), Start::Never).await {
            Ok(_) | Err(Error::ConnectionLost) => {}
            Err(Error::ServerGone) => return Ok(()),
            Err(other) => return Err(other),
        }
        // It says yes before it does it.
        let gone = async {
            while !matches!(self.server_alive().await, Ok(false)) {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let deadline = self.inner.config.deadline;
        tokio::time::timeout(deadline, gone)
            .await
            .map_err(|_| Error::Timeout(deadline))
    }

    /// Ends the connection and its process; the server goes on. Later calls fail.
    pub async fn close(&self) {
        let (done, closed) = oneshot::channel();
        // An error means that it is closed already.
        let _ = self.ask(Request::Close(done), closed).await;
    }

    /// What a person's terminal runs to see a session. Exactly that session.
    pub fn attach_argv(&self, session: &str) -> Result<Vec<OsString>, Error> {
        let mut argv = self.inner.config.base_argv();
        let target = format!("={}", session_name(session)?);
        argv.extend(["attach-session".into(), "-t".into(), target.into()]);
        Ok(argv)
    }

    /// A word that is unique among those of this and other handles on the same server.
    pub(crate) fn unique(&self, what: &str) -> String {
        let serial = self.inner.serial.fetch_add(1, Ordering::Relaxed);
        format!("{KEEPER}-{what}-{}-{serial}", std::process::id())
    }

    /// Runs one line of commands; the replies of those that ran, and the first error if one failed.
    pub(crate) async fn run(&self, line: String, start: Start) -> Result<Vec<Reply>, Error> {
        let replies = self.run_raw(line, start).await?;
        match replies.iter().find(|reply| reply.failed) {
            Some(failed) => Err(refused(&failed.lines.join(" "))),
            None if replies.iter().any(|reply| reply.cut) => {
                Err(Error::Unexpected("the answer is too long".into()))
            }
            None => Ok(replies),
        }
    }

    /// As [`Tmux::run`], without a look at the replies.
    pub(crate) async fn run_raw(&self, line: String, start: Start) -> Result<Vec<Reply>, Error> {
        debug_assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
        let (answer, replies) = oneshot::channel();
        self.ask(
            Request::Run {
                line,
                start,
                answer,
            },
            replies,
        )
        .await?
    }

    async fn ask<T>(&self, request: Request, answer: oneshot::Receiver<T>) -> Result<T, Error> {
        let exchange = async {
            self.inner
                .requests
                .send(request)
                .await
                .map_err(|_| Error::Closed)?;
            answer.await.map_err(|_| Error::Closed)
        };
        let deadline = self.inner.config.deadline;
        tokio::time::timeout(deadline, exchange)
            .await
            .unwrap_or(Err(Error::Timeout(deadline)))
    }
}

/// tmux's words for an error, sorted by what the caller can do about it.
fn refused(text: &str) -> Error {
    if let Some(name) = text.strip_prefix("duplicate session: ") {
        return Error::NameTaken(name.to_owned());
    }
    let unknown = ["can't find ", "no such ", "no buffer "];
    if unknown.iter().any(|start| text.starts_with(start)) {
        return Error::NotFound(text.to_owned());
    }
    Error::Refused(text.chars().take(500).collect())
}
