//! The actor that owns the connection: requests are written as they come, answered in order.
//!
//! It must never wait for one thing only: reading, writing and new requests go on side by side, so
//! a slow answer delays nobody's writing and a full pipe delays nobody's answer.

use super::config::{TmuxConfig, Version};
use super::connect::{Connection, KEEPER, Start, connect, mark_line, subscription};
use super::pane;
use super::protocol::{Message, Reply};
use super::server::look_for_server;
use super::watch::{LookAgain, RuntimeEvent, Watch};
use crate::error::Error;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

/// What happens in the runtime, in order. One reader.
pub type Events = mpsc::Receiver<RuntimeEvent>;

pub(crate) type Answer = Result<Vec<Reply>, Error>;

#[derive(Debug)]
pub(crate) enum Request {
    /// One line of tmux commands, without its newline.
    Run {
        line: String,
        start: Start,
        answer: oneshot::Sender<Answer>,
    },
    Version(oneshot::Sender<Result<Version, Error>>),
    /// Let go of the connection and its process. The server goes on.
    Close(oneshot::Sender<()>),
}

/// Requests under way at most; more wait in the channel, within their callers' deadlines.
const IN_FLIGHT: usize = 1024;
/// How soon a look is repeated that did not see everything it should.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// A connection that keeps breaking is made again by itself only this often.
const REJOIN_PAUSE: Duration = Duration::from_secs(1);
/// How long the client process may take to end by itself.
const GOODBYE: Duration = Duration::from_secs(2);

enum Owner {
    Caller(oneshot::Sender<Answer>),
    /// The actor itself, looking at all panes.
    Look,
    Nobody,
}

struct InFlight {
    number: u64,
    owner: Owner,
}

/// A connection in use.
struct Link {
    connection: Connection,
    in_flight: VecDeque<InFlight>,
    /// Replies of the request at the front.
    replies: Vec<Reply>,
    next: u64,
    out: Vec<u8>,
    written: usize,
    looking: bool,
}

impl Link {
    fn new(connection: Connection) -> Self {
        let hints = subscription(&connection.keeper_window);
        let mut link = Self {
            connection,
            in_flight: VecDeque::new(),
            replies: Vec::new(),
            next: 1,
            out: Vec::new(),
            written: 0,
            looking: false,
        };
        link.send(&hints, Owner::Nobody);
        link
    }

    fn send(&mut self, line: &str, owner: Owner) {
        let number = self.next;
        self.next += 1;
        self.out.extend_from_slice(line.as_bytes());
        self.out.push(b'\n');
        self.out
            .extend_from_slice(mark_line(&self.connection.secret, number).as_bytes());
        self.in_flight.push_back(InFlight { number, owner });
    }

    fn wrote(&mut self, count: usize) {
        self.written += count;
        if self.written == self.out.len() {
            self.out.clear();
            self.out.shrink_to(64 << 10);
            self.written = 0;
        }
    }
}

pub(crate) struct Actor {
    config: TmuxConfig,
    requests: mpsc::Receiver<Request>,
    events: mpsc::Sender<RuntimeEvent>,
    version: Option<Version>,
    link: Option<Link>,
    /// The server that was last spoken to, while it is not known to be gone.
    server: Option<String>,
    watch: Watch,
    look_at: Option<Instant>,
    rejoin_at: Option<Instant>,
    last_rejoin: Option<Instant>,
    /// The event could not be handed on yet.
    gone_untold: bool,
}

/// Why the actor woke.
enum Wake {
    Request(Option<Request>),
    Read(std::io::Result<usize>),
    Wrote(std::io::Result<usize>),
    Look,
    Rejoin,
}

impl Actor {
    pub fn new(
        config: TmuxConfig,
        requests: mpsc::Receiver<Request>,
        events: mpsc::Sender<RuntimeEvent>,
    ) -> Self {
        Self {
            config,
            requests,
            events,
            version: None,
            link: None,
            server: None,
            watch: Watch::default(),
            look_at: None,
            rejoin_at: None,
            last_rejoin: None,
            gone_untold: false,
        }
    }

    pub async fn run(mut self) {
        let mut buffer = vec![0; 64 << 10];
        let closing = loop {
            match self.wake(&mut buffer).await {
                Wake::Request(None) => break None,
                Wake::Request(Some(Request::Close(done))) => break Some(done),
                Wake::Request(Some(Request::Version(answer))) => {
                    let version = self.version().await;
                    // Whoever no longer waits need not be told.
                    let _ = answer.send(version);
                }
                Wake::Request(Some(Request::Run {
                    line,
                    start,
                    answer,
                })) => {
                    self.run_line(&line, start, answer).await;
                }
                Wake::Read(Ok(0) | Err(_)) | Wake::Wrote(Err(_)) => self.lost().await,
                Wake::Read(Ok(count)) => {
                    if self.received(&buffer[..count]) == Health::Broken {
                        self.lost().await;
                    }
                }
                Wake::Wrote(Ok(count)) => {
                    if let Some(link) = &mut self.link {
                        link.wrote(count);
                    }
                }
                Wake::Look => {
                    self.look_at = None;
                    if self.gone_untold {
                        self.tell_gone();
                    }
                    self.look();
                }
                Wake::Rejoin => {
                    self.rejoin().await;
                }
            }
        };
        self.goodbye().await;
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }

    async fn wake(&mut self, buffer: &mut [u8]) -> Wake {
        let never = Instant::now() + Duration::from_secs(86_400);
        let look_at = self.look_at.unwrap_or(never);
        let rejoin_at = self.rejoin_at.unwrap_or(never);
        let Some(link) = &mut self.link else {
            return tokio::select! {
                request = self.requests.recv() => Wake::Request(request),
                () = sleep_until(look_at), if self.look_at.is_some() => Wake::Look,
                () = sleep_until(rejoin_at), if self.rejoin_at.is_some() => Wake::Rejoin,
            };
        };
        let room = link.in_flight.len() < IN_FLIGHT;
        let writing = link.written < link.out.len();
        let Connection { stdin, stdout, .. } = &mut link.connection;
        let rest = link.out.get(link.written..).unwrap_or_default();
        tokio::select! {
            read = stdout.read(buffer) => Wake::Read(read),
            wrote = stdin.write(rest), if writing => Wake::Wrote(wrote),
            request = self.requests.recv(), if room => Wake::Request(request),
            () = sleep_until(look_at), if self.look_at.is_some() => Wake::Look,
        }
    }

    async fn run_line(&mut self, line: &str, start: Start, answer: oneshot::Sender<Answer>) {
        if answer.is_closed() {
            return; // its caller gave up before it was sent: it must not happen later
        }
        if let Err(error) = self.join(start).await {
            let _ = answer.send(Err(error));
            return;
        }
        if let Some(link) = &mut self.link {
            link.send(line, Owner::Caller(answer));
        }
    }

    async fn version(&mut self) -> Result<Version, Error> {
        if let Some(version) = &self.version {
            return Ok(version.clone());
        }
        let version = Version::ask(&self.config).await?;
        Ok(self.version.insert(version).clone())
    }

    /// Connects if there is no connection.
    async fn join(&mut self, start: Start) -> Result<(), Error> {
        if self.link.is_some() {
            return Ok(());
        }
        if start == Start::Never
            && let Err(gone) = look_for_server(&self.config).await
        {
            self.server_gone();
            return Err(gone);
        }
        self.version().await?;
        // If the server we knew is gone, this is told before anything of a new one.
        let joined = match (start, &self.server) {
            (Start::IfNeeded, Some(_)) => {
                let known = match look_for_server(&self.config).await {
                    Ok(()) => connect(&self.config, Start::Never).await,
                    Err(gone) => Err(gone),
                };
                match known {
                    Err(Error::ServerGone) => {
                        self.server_gone();
                        connect(&self.config, start).await
                    }
                    other => other,
                }
            }
            (Start::IfNeeded | Start::Never, _) => connect(&self.config, start).await,
        };
        let mut connection = match joined {
            Ok(connection) => connection,
            Err(error) => {
                if error == Error::ServerGone {
                    self.server_gone();
                }
                return Err(error);
            }
        };
        self.rejoin_at = None;
        let panes = std::mem::take(&mut connection.panes);
        if self.server.as_ref() == Some(&connection.server) {
            self.compare(&panes);
        } else {
            self.server_gone();
            self.server = Some(connection.server.clone());
            self.watch = Watch::start(&panes);
        }
        self.link = Some(Link::new(connection));
        Ok(())
    }

    fn received(&mut self, bytes: &[u8]) -> Health {
        let Some(link) = &mut self.link else {
            return Health::Good;
        };
        let mut messages = Vec::new();
        link.connection.parser.feed(bytes, &mut messages);
        let mut look = false;
        let mut listing = None;
        for message in messages {
            match message {
                Message::Reply(reply) => link.replies.push(reply),
                Message::Mark(number) => {
                    let replies = std::mem::take(&mut link.replies);
                    match link.in_flight.pop_front() {
                        Some(request) if request.number == number => match request.owner {
                            Owner::Caller(answer) => {
                                let _ = answer.send(Ok(replies));
                            }
                            Owner::Look => {
                                link.looking = false;
                                listing = Some(replies);
                            }
                            Owner::Nobody => {}
                        },
                        Some(_) | None => {
                            tracing::warn!(number, "tmux answered out of order");
                            return Health::Broken;
                        }
                    }
                }
                Message::Exit(why) => {
                    tracing::debug!(?why, "tmux ended the connection");
                    return Health::Broken;
                }
                Message::WindowRenamed { window, .. } => {
                    look |= window == link.connection.keeper_window;
                }
                Message::SubscriptionChanged { .. } | Message::WindowClosed { .. } => look = true,
                Message::SessionChanged { name, .. } => {
                    if name != KEEPER {
                        // Somebody moved our client; its own session is where it belongs.
                        return Health::Broken;
                    }
                }
                Message::SessionsChanged | Message::PaneModeChanged { .. } | Message::Other(_) => {}
            }
        }
        if let Some([reply]) = listing.as_deref()
            && !reply.failed
            && !reply.cut
        {
            self.compare(&pane::parse_listing(&reply.lines));
        }
        if look {
            self.look();
        }
        Health::Good
    }

    /// Asks for all panes. A question already under way may have been answered too early: then
    /// once more after it.
    fn look(&mut self) {
        let Some(link) = &mut self.link else { return };
        if link.looking {
            self.look_at.get_or_insert(Instant::now() + LOOK_AGAIN);
        } else {
            link.looking = true;
            link.send(&pane::listing_command(), Owner::Look);
        }
    }

    fn compare(&mut self, panes: &[pane::PaneInfo]) {
        let events = &self.events;
        let now = Instant::now();
        let again = self
            .watch
            .update(panes, now.into_std(), |event| took(events, event));
        match again {
            LookAgain::WhenHinted => return,
            LookAgain::Soon => {}
            LookAgain::StatusMissing => self.nudge(),
        }
        self.look_at.get_or_insert(now + LOOK_AGAIN);
    }

    /// Makes tmux collect its children. A tmux that keeps login records (with libutempter, as on
    /// Debian) misses the end of a child while it writes one, and then does not know how a pane's
    /// program ended until some other child ends: this is that child.
    fn nudge(&mut self) {
        if let Some(link) = &mut self.link {
            link.send("run-shell -b true", Owner::Nobody);
        }
    }

    /// The connection ended. Whether the server did too decides what is told.
    async fn lost(&mut self) {
        let Some(mut link) = self.link.take() else {
            return;
        };
        let in_flight = std::mem::take(&mut link.in_flight);
        end(link.connection).await;
        let error = match self.last_rejoin {
            Some(last) if last.elapsed() < REJOIN_PAUSE => {
                self.rejoin_at = Some(last + REJOIN_PAUSE);
                Error::ConnectionLost
            }
            Some(_) | None => self.rejoin().await,
        };
        for request in in_flight {
            match request.owner {
                Owner::Caller(answer) => {
                    let _ = answer.send(Err(error.clone()));
                }
                Owner::Look | Owner::Nobody => {}
            }
        }
    }

    /// Joins again by itself, so that events go on. What to tell those who were waiting.
    async fn rejoin(&mut self) -> Error {
        self.rejoin_at = None;
        self.last_rejoin = Some(Instant::now());
        match self.join(Start::Never).await {
            Err(Error::ServerGone) => Error::ServerGone,
            Ok(()) => Error::ConnectionLost,
            Err(error) => {
                tracing::warn!(%error, "tmux could not be joined again; trying on");
                self.rejoin_at = Some(Instant::now() + REJOIN_PAUSE);
                Error::ConnectionLost
            }
        }
    }

    fn server_gone(&mut self) {
        if self.server.take().is_some() {
            self.watch = Watch::default();
            self.tell_gone();
        }
    }

    fn tell_gone(&mut self) {
        self.gone_untold = !took(&self.events, RuntimeEvent::ServerGone);
        if self.gone_untold {
            self.look_at.get_or_insert(Instant::now() + LOOK_AGAIN);
        }
    }

    async fn goodbye(&mut self) {
        if let Some(link) = self.link.take() {
            end(link.connection).await;
        }
        self.requests.close();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    Broken,
}

/// A reader that is gone has taken everything it will ever take.
fn took(events: &mpsc::Sender<RuntimeEvent>, event: RuntimeEvent) -> bool {
    !matches!(
        events.try_send(event),
        Err(mpsc::error::TrySendError::Full(_))
    )
}

/// Lets the client process end by itself, or ends it.
async fn end(connection: Connection) {
    let Connection {
        mut child,
        stdin,
        stdout,
        ..
    } = connection;
    drop((stdin, stdout));
    if !child.ended_within(GOODBYE).await
        && let Err(error) = child.kill().await
    {
        tracing::warn!(%error, "the tmux client process could not be ended");
    }
}
