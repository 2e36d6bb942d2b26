//! One browser that looks at a terminal, from the first screen to the end of the connection.

use super::flow::{FAR_BEHIND, Flow};
use super::tail::Tail;
use super::words::{Asked, LARGEST, Nonsense, Said, understand};
use crate::actor::Published;
use crate::api::serve::Stream;
use crate::archive::{Folder, Position};
use crate::host;
use crate::hub::{Handle, Hub};
use crate::journal::note;
use crate::perform::Seat;
use axum::body::Bytes;
use futures_util::{SinkExt, StreamExt};
use sm_runtime::{Picture, Typed};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};

/// How often the log is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// How long the log has to stand still before and after a screen.
const STILL: Duration = Duration::from_millis(20);
/// How long that is waited for.
const STILL_PATIENCE: Duration = Duration::from_millis(400);
/// Bytes that come so soon after a screen may have been on it.
const SOON: Duration = Duration::from_secs(1);
/// A browser that takes nothing for so long is gone.
const SEND_PATIENCE: Duration = Duration::from_secs(30);
/// Largest piece of the log that is sent at once.
const PIECE: usize = 64 * 1024;

/// Why the connection ends.
enum End {
    /// The browser went, or cannot be reached.
    Gone,
    Nonsense(Nonsense),
    /// The session has no terminal any more.
    Ended,
    Stopping,
}

struct Show {
    hub: Arc<Hub>,
    handle: Handle,
    socket: WebSocketStream<Box<dyn Stream>>,
    /// None while another thread reads with it.
    tail: Option<Tail>,
    flow: Flow,
    size: Option<(u16, u16)>,
    notes: u64,
    /// The pane that was shown.
    pane: Option<String>,
    screen: Screen,
    /// When bytes last came.
    grew: Instant,
    taken: bool,
}

/// What is known of the screen that was sent last.
struct Screen {
    /// None: there was none yet.
    at: Option<Instant>,
    /// Bytes may have been drawn twice: another is needed.
    doubtful: bool,
    /// It was sent in the place of a doubtful one.
    second: bool,
}

/// What became of reading the log.
struct Look {
    end: Position,
    notes: u64,
    behind: u64,
    /// None: what came next is not there any more.
    bytes: Option<Vec<u8>>,
}

/// Shows the session's terminal until either side ends it.
pub async fn show(hub: Arc<Hub>, handle: Handle, stream: Box<dyn Stream>, read: Bytes) {
    let config = WebSocketConfig::default()
        .max_message_size(Some(LARGEST))
        .max_frame_size(Some(LARGEST));
    let socket =
        WebSocketStream::from_partially_read(stream, read.to_vec(), Role::Server, Some(config))
            .await;
    let folder = Folder::new(hub.paths.session_dir(handle.id.as_str()));
    let mut show = Show {
        tail: Some(Tail::new(folder)),
        hub,
        handle,
        socket,
        flow: Flow::default(),
        size: None,
        notes: 0,
        pane: None,
        screen: Screen {
            at: None,
            doubtful: false,
            second: false,
        },
        grew: Instant::now(),
        taken: false,
    };
    let end = show.run().await;
    show.let_go().await;
    let (code, reason) = match end {
        End::Gone => return,
        End::Nonsense(why) => (CloseCode::Policy, why.to_string()),
        End::Ended => (CloseCode::Normal, "the session has ended".to_owned()),
        End::Stopping => (CloseCode::Away, "the daemon is stopping".to_owned()),
    };
    let frame = CloseFrame {
        code,
        reason: reason.into(),
    };
    // its answer is waited for, so that the browser hears why
    let goodbye = async {
        let _ = show.socket.close(Some(frame)).await;
        while let Some(Ok(_)) = show.socket.next().await {}
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), goodbye).await;
}

impl Show {
    async fn run(&mut self) -> End {
        let stop = self.hub.stop.clone();
        let mut next = Instant::now();
        loop {
            let done = tokio::select! {
                () = stop.cancelled() => return End::Stopping,
                message = self.socket.next() => match message {
                    Some(Ok(message)) => self.heard(message).await,
                    Some(Err(_)) | None => return End::Gone,
                },
                () = tokio::time::sleep_until(next) => {
                    let done = self.look().await;
                    next = Instant::now() + LOOK_EVERY;
                    done
                }
            };
            if let Err(end) = done {
                return end;
            }
        }
    }

    async fn heard(&mut self, message: Message) -> Result<(), End> {
        let asked = match message {
            Message::Text(text) => understand(text.as_str()).map_err(End::Nonsense)?,
            Message::Ping(_) | Message::Pong(_) => return Ok(()),
            Message::Close(_) => return Err(End::Gone),
            Message::Binary(_) | Message::Frame(_) => {
                return Err(End::Nonsense(Nonsense::NotUnderstood));
            }
        };
        match asked {
            Asked::Ack { bytes } if self.flow.drawn(bytes) => Ok(()),
            Asked::Ack { .. } => Err(End::Nonsense(Nonsense::NotSent)),
            Asked::Takeover => self.take_over().await,
            Asked::Keys { .. } if !self.taken => Err(End::Nonsense(Nonsense::NotTaken)),
            Asked::Keys { data } => self.type_keys(&data).await,
            Asked::Release => {
                self.let_go().await;
                self.say(&Said::Released).await
            }
        }
    }

    /// Sends what has come, or a screen where that is needed.
    async fn look(&mut self) -> Result<(), End> {
        let published = self.handle.now();
        let live = published.record.state.is_live();
        if self.screen.at.is_none() {
            return match live {
                true => self.send_screen(&published).await,
                false => self.over().await,
            };
        }
        let room = self.flow.room().min(PIECE);
        if room == 0 {
            return Ok(()); // it has enough to draw, and is told nothing before it has
        }
        let look = self.read(room).await.ok_or(End::Gone)?;
        let pane = pane(&published);
        let other = pane.is_some() && pane != self.pane;
        if live && (other || look.notes != self.notes) {
            // another terminal, or another size: what it shows then is drawn anew
            return self.send_screen(&published).await;
        }
        let Some(bytes) = look.bytes.filter(|_| look.behind <= FAR_BEHIND || !live) else {
            self.say(&Said::Resync).await?;
            return self.send_screen(&published).await;
        };
        if !bytes.is_empty() {
            self.grew = Instant::now();
            let soon = self.screen.at.is_some_and(|at| at.elapsed() < SOON);
            self.screen.doubtful |= soon && !self.screen.second;
            return self.send(bytes).await;
        }
        if !live && look.behind == 0 {
            return self.over().await;
        }
        if self.screen.doubtful && look.behind == 0 && self.grew.elapsed() > STILL * 2 && live {
            return self.send_screen(&published).await;
        }
        Ok(())
    }

    async fn over(&mut self) -> Result<(), End> {
        self.say(&Said::Ended).await?;
        Err(End::Ended)
    }

    /// Asks for the screen in a moment in which nothing comes, and goes on from there.
    async fn send_screen(&mut self, published: &Published) -> Result<(), End> {
        let second = self.screen.doubtful;
        let until = Instant::now() + STILL_PATIENCE;
        let (picture, from, still) = loop {
            let first = self.read(0).await.ok_or(End::Gone)?;
            tokio::time::sleep(STILL).await;
            let before = self.read(0).await.ok_or(End::Gone)?;
            let late = Instant::now() >= until;
            if before.end != first.end && !late {
                continue;
            }
            let Some(picture) = picture(&self.hub, &self.handle, published).await else {
                return Ok(()); // it has no terminal now: looked for again
            };
            self.notes = before.notes;
            tokio::time::sleep(STILL).await;
            let after = self.read(0).await.ok_or(End::Gone)?;
            let still = first.end == after.end;
            if still || late {
                break (picture, before.end, still);
            }
        };
        if let Some(tail) = &mut self.tail {
            tail.go_to(from);
        }
        self.pane = pane(published);
        self.screen = Screen {
            at: Some(Instant::now()),
            doubtful: !still,
            second,
        };
        self.grew = Instant::now();
        let size = (picture.cols, picture.rows);
        if self.size.replace(size) != Some(size) {
            let (cols, rows) = size;
            self.say(&Said::Size { cols, rows }).await?;
        }
        self.send(picture.bytes).await
    }

    /// Reads the log on a thread that may block. None: that thread is gone, the daemon stops.
    async fn read(&mut self, most: usize) -> Option<Look> {
        let mut tail = self.tail.take()?;
        let read = tokio::task::spawn_blocking(move || {
            let look = Look {
                end: tail.end(),
                notes: tail.notes(),
                behind: tail.behind(),
                bytes: match most {
                    0 => Some(Vec::new()),
                    most => tail.read(most),
                },
            };
            (tail, look)
        });
        let (tail, look) = read.await.ok()?;
        self.tail = Some(tail);
        Some(look)
    }

    async fn send(&mut self, bytes: Vec<u8>) -> Result<(), End> {
        self.flow.sent(bytes.len());
        self.give(Message::binary(bytes)).await
    }

    async fn say(&mut self, said: &Said) -> Result<(), End> {
        let text = serde_json::to_string(said).unwrap_or_default();
        self.give(Message::text(text)).await
    }

    async fn give(&mut self, message: Message) -> Result<(), End> {
        let given = tokio::time::timeout(SEND_PATIENCE, self.socket.send(message)).await;
        match given {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }

    async fn take_over(&mut self) -> Result<(), End> {
        let published = self.handle.now();
        if published.extra.run.is_some() {
            let reason = "it lives in a terminal of its own, and its person types there".into();
            return self.say(&Said::Refused { reason }).await;
        }
        if !self.taken {
            self.taken = true;
            let text = "a person has taken over the terminal in the dashboard";
            note(&self.hub, &published.record, "terminal", text).await;
        }
        self.say(&Said::Taken).await
    }

    async fn let_go(&mut self) {
        if std::mem::take(&mut self.taken) {
            let published = self.handle.now();
            let text = "the person in the dashboard has let go of the terminal";
            note(&self.hub, &published.record, "terminal", text).await;
        }
    }

    async fn type_keys(&mut self, keys: &str) -> Result<(), End> {
        let published = self.handle.now();
        let terminal = published.extra.terminal.as_ref();
        let reason = match terminal.and_then(|terminal| terminal.pane_id()) {
            None => "there is no terminal".to_owned(),
            Some(pane) => match self.hub.tmux.type_bytes(pane, keys.as_bytes()).await {
                Ok(Typed::Done) => return Ok(()),
                Ok(Typed::ScreenMoved) => {
                    "the terminal is being scrolled back by somebody who is attached".to_owned()
                }
                Err(error) => error.to_string(),
            },
        };
        self.say(&Said::NotTyped { reason }).await
    }
}

fn pane(published: &Published) -> Option<String> {
    let terminal = published.extra.terminal.as_ref()?;
    Some(format!("{} {}", terminal.pane, terminal.pane_pid))
}

/// What the terminal shows; of an `sm run` without colours, as it tells no more.
async fn picture(hub: &Arc<Hub>, handle: &Handle, published: &Published) -> Option<Picture> {
    if published.extra.run.is_none() {
        let pane = published.extra.terminal.as_ref()?.pane_id()?;
        return hub.tmux.picture(pane).await.ok();
    }
    let seat = Seat {
        hub: Arc::clone(hub),
        handle: handle.clone(),
        sources: Arc::clone(&published.sources),
        record: Arc::clone(&published.record),
        extra: Arc::clone(&published.extra),
    };
    let screen = host::look(&seat).await?;
    let mut text = String::from("\x1bc");
    for (row, line) in screen.lines.iter().enumerate() {
        text.push_str(&format!("\x1b[{};1H{line}", row + 1));
    }
    let (x, y) = (screen.mark.cursor_x, screen.mark.cursor_y);
    text.push_str(&format!("\x1b[0m\x1b[{};{}H", y + 1, x + 1));
    Some(Picture {
        cols: u16::try_from(screen.cols).ok()?,
        rows: u16::try_from(screen.rows).ok()?,
        bytes: text.into_bytes(),
    })
}
