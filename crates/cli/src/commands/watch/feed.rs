//! Who asks the daemon: one thread follows it, one reads what is shown, one does what was asked for.
//! What they hear goes into one bounded queue; while nobody takes it out, nobody asks for more.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use rustix::pipe::PipeFlags;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sm_client::http::{Line, Lines};
use sm_client::sse::{SseEvent, SseReader};
use sm_daemon::api::types::{EventView, HandoffBody, RestoreBody, SendBody, SessionView};

use super::app::{Deed, Part, Update, Wish};
use crate::client::{Daemon, Which, fresh_id};
use crate::error::{CommandError, Result};
use crate::text::one_line;

/// Updates that wait to be taken.
const WAITING: usize = 1024;
/// Between two attempts to reach the daemon.
const AGAIN: Duration = Duration::from_millis(500);
/// A daemon says something at least this often, be it only that it lives.
const SILENCE: Duration = Duration::from_secs(45);
/// One that tells how sessions look begins with it.
const FIRST: Duration = Duration::from_secs(2);
const OUTPUT_LINES: usize = 300;
const EVENTS: usize = 300;
const MESSAGES: usize = 100;
const HANDOFFS: u32 = 20;

pub struct Feed {
    updates: Receiver<Update>,
    wake: OwnedFd,
    reads: Sender<Wish>,
    deeds: Sender<Wish>,
}

/// What a thread says goes here.
#[derive(Clone)]
struct Outbox {
    updates: SyncSender<Update>,
    wake: Arc<OwnedFd>,
}

impl Outbox {
    fn tell(&self, update: Update) {
        // A full pipe wakes as well as one byte more would.
        let _ = rustix::io::write(&self.wake, b".");
        if self.updates.send(update).is_ok() {
            let _ = rustix::io::write(&self.wake, b".");
        }
    }
}

/// What sessions that are started again are given.
#[derive(Debug, Clone)]
pub struct Given {
    pub env: Vec<(String, String)>,
    pub size: (u16, u16),
}

impl Feed {
    pub fn start(which: Which, given: Given) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| {
            CommandError::not_usable(format!("cannot follow the daemon: {error}"))
        };
        let (wake, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
            .map_err(|error| failed(&error))?;
        let (sender, updates) = sync_channel(WAITING);
        let out = Outbox {
            updates: sender,
            wake: Arc::new(writer),
        };
        let (reads, read) = channel();
        let (deeds, deed) = channel();
        let [follower, reader] = [Daemon::open()?.looking_on(), Daemon::open()?.looking_on()];
        let doer = Daemon::open()?;
        let thread = |name: &str, work: Box<dyn FnOnce() + Send>| {
            let thread = std::thread::Builder::new().name(name.to_owned());
            thread
                .spawn(work)
                .map(|_| ())
                .map_err(|error| failed(&error))
        };
        let to = out.clone();
        thread("follow", Box::new(move || follow(&follower, which, &to)))?;
        let to = out.clone();
        thread("read", Box::new(move || read_all(&reader, &read, &to)))?;
        thread("do", Box::new(move || do_all(&doer, &deed, &given, &out)))?;
        Ok(Self {
            updates,
            wake,
            reads,
            deeds,
        })
    }

    /// Readable when something was said.
    pub fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    pub fn take(&self) -> impl Iterator<Item = Update> + '_ {
        let mut bytes = [0; 256];
        while rustix::io::read(&self.wake, &mut bytes).is_ok_and(|read| read == bytes.len()) {}
        self.updates.try_iter().take(WAITING)
    }

    /// What has to do with the daemon is asked for here; the answer comes as an update.
    pub fn ask(&self, wish: Wish) {
        // A thread that has ended took the terminal with it.
        let _ = match &wish {
            Wish::Fetch(..) | Wish::Receipt { .. } => self.reads.send(wish),
            Wish::Send { .. } | Wish::Do(..) => self.deeds.send(wish),
            Wish::Quit | Wish::Suspend | Wish::Redraw | Wish::Attach(_) => Ok(()),
        };
    }
}

// ── following

fn follow(daemon: &Daemon, which: Which, out: &Outbox) {
    loop {
        let began = Instant::now();
        let why = match daemon.session_stream(which) {
            Ok(lines) => listen(daemon, which, lines, out),
            Err(error) => error.message,
        };
        let why = match daemon.paths().stopped_marker().exists() {
            true => "the daemon was stopped; any sm command starts it".to_owned(),
            false => format!("no daemon ({}); asking again", one_line(&why)),
        };
        out.tell(Update::Lost(why));
        std::thread::sleep(AGAIN.saturating_sub(began.elapsed()).max(AGAIN / 5));
    }
}

/// Until the stream ends; why it has.
fn listen(daemon: &Daemon, which: Which, mut lines: Lines, out: &Outbox) -> String {
    let mut reader = SseReader::default();
    // A daemon of an older version only tells what happened: how sessions look is asked for then.
    let mut tells_looks = None;
    loop {
        let patience = match tells_looks {
            None => FIRST,
            Some(_) => SILENCE,
        };
        match lines.next(Some(Instant::now() + patience)) {
            Ok(Line::Text(line)) => {
                let Some(event) = reader.line(&line) else {
                    continue;
                };
                let heard = heard(event);
                if matches!(heard, Some(Update::Snapshot(_))) {
                    tells_looks = Some(true);
                }
                if let (Some(Update::Journal(event)), Some(false)) = (&heard, tells_looks)
                    && let Ok(session) = daemon.session(&event.session)
                {
                    out.tell(Update::Session(Box::new(session.value)));
                }
                heard.into_iter().for_each(|update| out.tell(update));
            }
            Ok(Line::Quiet) if tells_looks.is_none() => {
                tells_looks = Some(false);
                match daemon.sessions(which) {
                    Ok(sessions) => out.tell(Update::Snapshot(sessions.value)),
                    Err(error) => return error.message,
                }
            }
            Ok(Line::Quiet) => return "it does not answer".to_owned(),
            Ok(Line::End) => return "it has ended".to_owned(),
            Err(error) => return error.to_string(),
        }
    }
}

#[derive(Deserialize)]
struct Snapshot {
    sessions: Vec<SessionView>,
}

#[derive(Deserialize)]
struct Gone {
    id: String,
}

/// What is not understood is the business of a newer version.
fn heard(event: SseEvent) -> Option<Update> {
    fn parsed<T: DeserializeOwned>(data: &str) -> Option<T> {
        serde_json::from_str(data).ok()
    }
    let data = event.data.as_str();
    match event.event.as_deref() {
        Some("snapshot") => parsed(data).map(|all: Snapshot| Update::Snapshot(all.sessions)),
        Some("session") => parsed(data).map(|one| Update::Session(Box::new(one))),
        Some("gone") => parsed(data).map(|gone: Gone| Update::Gone(gone.id)),
        Some(_) | None => parsed::<EventView>(data).map(Update::Journal),
    }
}

// ── reading

fn read_all(daemon: &Daemon, wishes: &Receiver<Wish>, out: &Outbox) {
    for wish in wishes {
        match wish {
            Wish::Fetch(part, id) => {
                let read = fetched(daemon, part, &id);
                out.tell(read.unwrap_or(Update::Nothing(part, id)));
            }
            Wish::Receipt { session, message } => {
                let read = daemon.message_until(&session, &message, "submitted", Duration::ZERO);
                out.tell(match read {
                    Ok(message) => Update::Sent(Box::new(message.value)),
                    Err(_) => Update::NoReceipt,
                });
            }
            Wish::Quit
            | Wish::Suspend
            | Wish::Redraw
            | Wish::Attach(_)
            | Wish::Send { .. }
            | Wish::Do(..) => {}
        }
    }
}

fn fetched(daemon: &Daemon, part: Part, id: &str) -> Result<Update> {
    let whose = id.to_owned();
    Ok(match part {
        Part::Output => Update::Output(whose, daemon.output(id, Some(OUTPUT_LINES))?.value.text),
        Part::Events => Update::Events(whose, daemon.events(id, EVENTS)?.value),
        Part::Messages => {
            let mut all = daemon.messages(id, Which::All)?.value;
            all.drain(..all.len().saturating_sub(MESSAGES));
            Update::Messages(whose, all)
        }
        Part::Handoffs => Update::Handoffs(whose, daemon.handoffs(Some(id), HANDOFFS)?.value),
        Part::Context => Update::Context(whose, Box::new(daemon.context(id)?.value)),
    })
}

// ── doing

fn do_all(daemon: &Daemon, wishes: &Receiver<Wish>, given: &Given, out: &Outbox) {
    for wish in wishes {
        let done = match wish {
            Wish::Send {
                session,
                text,
                mode,
            } => send(daemon, &session, text, mode.word()),
            Wish::Do(deed, session) => act(daemon, deed, &session, given),
            Wish::Quit
            | Wish::Suspend
            | Wish::Redraw
            | Wish::Attach(_)
            | Wish::Fetch(..)
            | Wish::Receipt { .. } => continue,
        };
        out.tell(done.unwrap_or_else(|error| Update::Failed(told(&error))));
    }
}

/// A failure in one line: what happened, and the first thing to do about it.
pub fn told(error: &CommandError) -> String {
    match error.hints.first() {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    }
}

fn send(daemon: &Daemon, session: &str, text: String, mode: &str) -> Result<Update> {
    // A person writes it, wherever this runs.
    let body = SendBody {
        id: fresh_id(16)?,
        text,
        mode: Some(mode.to_owned()),
        ..SendBody::default()
    };
    let sent = daemon.send(session, &body)?;
    Ok(Update::Sent(Box::new(sent.value)))
}

fn act(daemon: &Daemon, deed: Deed, session: &str, given: &Given) -> Result<Update> {
    let done = |view: &SessionView, what: &str| Update::Done(format!("{} {what}", view.name));
    Ok(match deed {
        Deed::Kill => done(
            &daemon.kill(session, false)?.value,
            "is ended; r brings it back",
        ),
        Deed::Restore => {
            let body = RestoreBody {
                env: given.env.clone(),
                cols: Some(given.size.0),
                rows: Some(given.size.1),
                fresh: false,
            };
            done(&daemon.restore(session, &body)?.value, "is started again")
        }
        Deed::HandOff => {
            if daemon.own().is_some() {
                return Err(CommandError::refused(
                    "inside a session only that session hands itself off",
                )
                .hint("run sm watch outside of all sessions"));
            }
            let body = HandoffBody {
                id: Some(format!("h{}", fresh_id(10)?)),
                person: true,
                auto: true,
                env: Some(given.env.clone()),
                ..HandoffBody::default()
            };
            let answer = daemon.handoff(session, &body)?.value;
            refused(answer.error)?;
            Update::Done("the handoff is scheduled: 4 shows its steps".to_owned())
        }
        Deed::CancelHandoff => {
            refused(daemon.cancel_handoff(session)?.value.error)?;
            Update::Done("the handoff is cancelled: the context stays as it is".to_owned())
        }
    })
}

/// A refusal of a handoff comes as an answer.
fn refused(error: Option<String>) -> Result<()> {
    match error {
        Some(why) => Err(CommandError::refused(why)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> Option<Update> {
        heard(SseEvent {
            id: None,
            event: Some(name.to_owned()),
            data: data.to_owned(),
        })
    }

    #[test]
    fn what_the_stream_says() {
        let session = crate::commands::ls::tests::session("api");
        let session = serde_json::to_string(&session).unwrap();
        let all = format!("{{\"seq\":7,\"sessions\":[{session}],\"more\":1}}");
        assert!(matches!(event("snapshot", &all), Some(Update::Snapshot(s)) if s.len() == 1));
        assert!(matches!(event("session", &session), Some(Update::Session(s)) if s.name == "api"));
        assert!(matches!(event("gone", "{\"id\":\"x\"}"), Some(Update::Gone(id)) if id == "x"));
        let journal =
            r#"{"seq":1,"at":"x","session":"s","generation":1,"turn":0,"kind":"state","text":""}"#;
        for name in ["journal", "state"] {
            assert!(matches!(event(name, journal), Some(Update::Journal(e)) if e.seq == 1));
        }
        for (name, data) in [
            ("snapshot", "{}"),
            ("session", "[]"),
            ("gone", ""),
            ("new", "{\"a\":1}"),
        ] {
            assert!(event(name, data).is_none(), "{name}");
        }
    }
}
