//! Events that are not asked for: from the terminal, from files that changed, from the spool.

use crate::actor::Wake;
use crate::api::{self, Claim, Incoming};
use crate::hub::{Handle, Hub};
use crate::sources;
use crate::watch::Changed;
use crate::{archive, proof};
use serde::Deserialize;
use sm_agents::kind;
use sm_client::latest::{Latest, TakenSample};
use sm_client::spool::Spool;
use sm_core::{Event, SessionId};
use sm_runtime::{Events, PaneId, RuntimeEvent};
use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// A launcher reports its agent's exit within this time; after it the terminal is simply gone.
const EXIT_PATIENCE: Duration = Duration::from_millis(1500);

/// Events of the terminals, until the daemon stops.
pub async fn terminals(hub: Arc<Hub>, mut events: Events) {
    while let Some(event) = events.recv().await {
        match event {
            RuntimeEvent::TitleChanged { pane, title } => {
                if let Some(handle) = of_pane(&hub, pane) {
                    let activity = kind::read_title(handle.now().record.agent, &title);
                    handle.send(Wake::Event(Event::Title(activity)));
                }
            }
            RuntimeEvent::Resized { pane, cols, rows } => {
                if let Some(handle) = of_pane(&hub, pane) {
                    archive::note_size(&hub, &handle.id, cols, rows);
                }
            }
            RuntimeEvent::PaneDied { pane, code, signal } => {
                if let Some(handle) = of_pane(&hub, pane) {
                    let launch = handle.now().record.launch;
                    handle.send(Wake::Event(Event::Exited {
                        launch,
                        code,
                        signal,
                    }));
                }
            }
            RuntimeEvent::PaneClosed { pane } => {
                if let Some(handle) = of_pane(&hub, pane) {
                    tokio::spawn(gone(handle));
                }
            }
            RuntimeEvent::ServerGone => {
                let with_terminal = hub
                    .sessions
                    .all()
                    .into_iter()
                    .filter(|h| h.now().extra.terminal.is_some());
                for handle in with_terminal {
                    tokio::spawn(gone(handle));
                }
            }
        }
    }
}

/// The terminal is gone: unless its launcher tells how the agent ended, the session is lost.
async fn gone(handle: Handle) {
    let Some(terminal) = handle.now().extra.terminal.clone() else {
        return;
    };
    let mut seen = handle.subscribe();
    let ended = seen.wait_for(|p| !p.record.state.is_live());
    let reported = tokio::time::timeout(EXIT_PATIENCE, ended).await.is_ok();
    let now = handle.now();
    if !reported && now.extra.terminal.as_ref() == Some(&terminal) {
        let launch = now.record.launch;
        handle.send(Wake::Event(Event::TerminalGone { launch }));
    }
    handle.send(Wake::TerminalClosed(terminal));
}

fn of_pane(hub: &Hub, pane: PaneId) -> Option<Handle> {
    hub.sessions.all().into_iter().find(|handle| {
        handle
            .now()
            .extra
            .terminal
            .as_ref()
            .and_then(|t| t.pane_id())
            == Some(pane)
    })
}

/// Files that changed, until the daemon stops.
pub async fn files(hub: Arc<Hub>, mut changed: mpsc::UnboundedReceiver<PathBuf>) {
    while let Some(path) = changed.recv().await {
        // one write is told several times: what has piled up is looked at once
        let mut paths = vec![path];
        while let Ok(more) = changed.try_recv() {
            if !paths.contains(&more) {
                paths.push(more);
            }
        }
        for path in paths {
            for whose in hub.watcher.whose(&path) {
                match whose {
                    Changed::Transcript(id) => {
                        hub.ledgers.touch(&id);
                        if let Some(handle) = hub.sessions.get(&id) {
                            let sources = Arc::clone(&handle.now().sources);
                            tokio::spawn(async move { sources.read(&handle).await });
                        }
                    }
                    Changed::Status(id) => {
                        if let Some(handle) = hub.sessions.get(&id) {
                            status(&handle);
                        }
                    }
                    Changed::Spool => {
                        spool(&hub).await;
                    }
                }
            }
        }
    }
}

/// Reads the agent's status file and tells the session.
pub fn status(handle: &Handle) {
    let now = handle.now();
    let (Some(home), Some(process)) = (&now.extra.agent_home, now.record.process) else {
        return;
    };
    if let Some(reading) = sources::read_status(now.record.agent, home, process.pid) {
        handle.send(Wake::Event(Event::Status(reading)));
    }
}

#[derive(Deserialize)]
struct Line {
    id: String,
    at: i64,
    agent: String,
    event: String,
    session: String,
    #[serde(default)]
    ancestors: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    proof: String,
}

impl Line {
    /// The spool lies on a disk: who has written a line says the code in it.
    fn claim(&self, handle: &Handle) -> Claim {
        let place = [&self.agent, &self.event, &self.session, &self.ancestors].map(String::as_str);
        let at = u64::try_from(self.at).unwrap_or_default();
        Claim::of(proof::of_line(
            handle,
            &self.proof,
            &self.id,
            at,
            place,
            &self.body,
        ))
    }
}

/// Takes in what hooks could not deliver, in order. Answers which sessions' agents have ended.
pub async fn spool(hub: &Arc<Hub>) -> HashSet<SessionId> {
    let mut ended = HashSet::new();
    let spool = Spool::new(hub.paths.spool_dir());
    let taken = match hub.spooling.take(&spool) {
        Ok(taken) => taken,
        Err(error) => {
            hub.problem(format!("the spool of hook events cannot be read: {error}"));
            return ended;
        }
    };
    let mut samples = Samples::take(hub);
    for file in taken {
        let mut woken: Vec<Handle> = Vec::new();
        match file.lines() {
            Ok(lines) => {
                for line in lines.flatten() {
                    let Some(line) = read_line(&line) else {
                        continue;
                    };
                    samples.tell_until(hub, line.at).await;
                    let Some((handle, what)) = spooled(hub, line).await else {
                        continue;
                    };
                    if what == Spooled::Exit {
                        ended.insert(handle.id.clone());
                    }
                    if !woken.iter().any(|known| known.id == handle.id) {
                        woken.push(handle);
                    }
                }
            }
            Err(error) => {
                hub.problem(format!("{} cannot be read: {error}", file.path().display()));
                hub.spooling.give_back(&file);
                continue;
            }
        }
        let hub = Arc::clone(hub);
        tokio::spawn(async move {
            // the file goes only when every session has journaled what was in it
            for handle in woken {
                let (tx, rx) = tokio::sync::oneshot::channel();
                handle.send(Wake::Messages { reply: tx });
                let _ = rx.await;
            }
            if let Err(error) = hub.spooling.done(file) {
                hub.problem(format!("a spool file could not be removed: {error}"));
            }
        });
    }
    samples.tell_until(hub, i64::MAX).await;
    ended
}

/// The last sample of each session that nobody took, earliest first.
struct Samples(VecDeque<(Line, TakenSample)>);

impl Samples {
    fn take(hub: &Arc<Hub>) -> Self {
        let taken = Latest::new(hub.paths.spool_dir()).take();
        let taken = taken.unwrap_or_else(|error| {
            tracing::warn!(%error, "samples that were kept cannot be read");
            Vec::new()
        });
        let mut samples: Vec<(Line, TakenSample)> = Vec::with_capacity(taken.len());
        for sample in taken {
            match read_line(sample.line.trim_ascii_end()) {
                Some(line) => samples.push((line, sample)),
                None => forget(sample),
            }
        }
        samples.sort_by_key(|(line, _)| line.at);
        Self(samples.into())
    }

    /// Tells those of up to then: a sample is of the context that was there when it was made.
    async fn tell_until(&mut self, hub: &Arc<Hub>, at: i64) {
        while self.0.front().is_some_and(|(line, _)| line.at <= at) {
            let Some((line, sample)) = self.0.pop_front() else {
                return;
            };
            spooled(hub, line).await;
            // not awaited: the next sample is newer
            forget(sample);
        }
    }
}

fn forget(sample: TakenSample) {
    if let Err(error) = sample.done() {
        tracing::warn!(%error, "a sample that was taken cannot be removed");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spooled {
    /// A launcher's last word.
    Exit,
    Other,
}

fn read_line(line: &[u8]) -> Option<Line> {
    let read = serde_json::from_slice(line).ok();
    if read.is_none() {
        tracing::warn!("a torn line in the spool was skipped");
    }
    read
}

async fn spooled(hub: &Arc<Hub>, line: Line) -> Option<(Handle, Spooled)> {
    let handle = SessionId::new(line.session.clone())
        .ok()
        .and_then(|id| hub.sessions.get(&id))?;
    let claim = line.claim(&handle);
    if claim == Claim::Unproven {
        tracing::warn!(session = %handle.id, agent = %line.agent, event = %line.event, "nothing proves that a line of the spool is of this session: it changes nothing");
    }
    if claim == Claim::Unproven && matches!(line.agent.as_str(), "run" | "launch") {
        return None;
    }
    if line.agent == "run" {
        api::run_ended(&handle, line.body.as_bytes());
        return Some((handle, Spooled::Exit));
    }
    if line.agent == "launch" {
        if let Err(error) = api::launcher_report(hub, &handle, &line.event, line.body.as_bytes()) {
            tracing::warn!(?error, "a spooled report of a launcher was not understood");
        }
        let what = match line.event.as_str() {
            "exited" => Spooled::Exit,
            _ => Spooled::Other,
        };
        return Some((handle, what));
    }
    let incoming = Incoming {
        agent: line.agent,
        event: line.event,
        session: line.session,
        id: line.id,
        at: Some(line.at),
        ancestors: line.ancestors,
        body: line.body.into_bytes(),
        claim,
    };
    api::deliver_hook(hub, &handle, incoming, None).await;
    Some((handle, Spooled::Other))
}
