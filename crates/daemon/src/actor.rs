//! One actor owns one session: it takes events from its mailbox one at a time, lets the core decide,
//! journals, and only then has the effects carried out. Nobody else changes the session.

use crate::api::types::{MessageView, QueueView};
use crate::hub::{Handle, Hub};
use crate::journal::write;
use crate::orphans::{self, Card};
use crate::perform::{self, Seat};
use crate::recover::Found;
use crate::sources::Sources;
use crate::stored::{Extra, Terminal};
use crate::{archive, clock, handoff, logging, rows, view};
use sm_core::{
    Answer, Effect, Event, Host, Level, MessageId, Outcome, Persist, Record, Session, State,
    Timestamp,
};
use sm_store::{Commit, SessionRow, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

/// What wakes an actor.
pub enum Wake {
    Event(Event),
    /// An event whose sender waits until it is journaled.
    Do {
        event: Event,
        done: oneshot::Sender<Result<(), StoreError>>,
    },
    /// What is known of a message that is still in memory.
    Message {
        id: MessageId,
        reply: oneshot::Sender<Option<MessageView>>,
    },
    Messages {
        reply: oneshot::Sender<Vec<MessageView>>,
    },
    /// The pane was made, or renamed.
    Terminal(Terminal),
    /// This pane is gone; if the session has another by now, that one stays.
    TerminalClosed(Terminal),
    Extra(Box<dyn FnOnce(&mut Extra) + Send>),
    /// Write down what is not yet written, and end.
    Finish {
        done: oneshot::Sender<()>,
    },
    /// Forget the session: it was purged.
    Remove {
        done: oneshot::Sender<Result<(), StoreError>>,
    },
}

/// What others see of a session, always whole.
pub struct Published {
    pub record: Arc<Record>,
    pub queue: QueueView,
    /// A message is about to begin a turn.
    pub has_message_due: bool,
    /// How often a message has come or changed: who waits for one need not ask before.
    pub messages: u64,
    pub changed_at: Timestamp,
    /// From so many percent on its context is filling up, as it is configured.
    pub warning: Option<u8>,
    /// From so many percent on it is critical.
    pub critical: Option<u8>,
    pub extra: Arc<Extra>,
    pub sources: Arc<Sources>,
}

impl Published {
    /// What a command reaches it by for certain: the name of one that has ended is free for others.
    pub fn called(&self) -> &str {
        match self.record.state.is_live() {
            true => self.record.name.as_str(),
            false => self.record.id.as_str(),
        }
    }
}

/// A usage sample and the like is written with the next step, or after this time and up to as much
/// again: hundreds of sessions must not all write in the same moment, second by second. A journal
/// that refused is asked again after as long.
const LAZY: Duration = Duration::from_secs(1);

pub struct Actor {
    hub: Arc<Hub>,
    session: Session,
    extra: Arc<Extra>,
    sources: Arc<Sources>,
    handle: Handle,
    rx: mpsc::UnboundedReceiver<Box<Wake>>,
    publish: watch::Sender<Arc<Published>>,
    changed_at: Timestamp,
    messages: u64,
    /// Not yet written, and nobody waits for it; since when, and how long it may wait.
    lazy: Commit,
    lazy_since: Option<Instant>,
    lazy_for: Duration,
    /// What was last written into the session's folder.
    card: Option<Card>,
    /// Effects whose step could not be journaled (the disk is full): done when it can.
    stuck: Vec<Effect>,
}

/// A renamed session may fall under another rule, and so does one that changes its host.
fn watch_by_config(hub: &Hub, session: &mut Session, extra: &Extra) {
    let record = session.record();
    let cwd = std::path::Path::new(&record.cwd);
    let context = &hub.config.context;
    let mut monitor = context.monitor(record.agent, record.name.as_str(), cwd);
    // it watches its own context, and rotates it
    monitor.enabled &= record.host != Host::Run;
    monitor.window = extra.compact_window;
    session.set_monitor(monitor);
    let patience = hub.config.delivery.wait_for_draft.unwrap_or_default();
    session.set_draft_patience(i64::try_from(patience.as_millis()).unwrap_or(i64::MAX));
    let timeout = hub.config.handoff.person_timeout;
    session.set_person_timeout(timeout.map(|t| i64::try_from(t.as_millis()).unwrap_or(i64::MAX)));
    let record = session.record();
    // nobody sits at a session that another one has started, nor at one that rotates by itself
    let is_left_alone = extra.unattended || record.host == Host::Run || record.parent.is_some();
    session.set_limits(hub.config.limits.policy(is_left_alone));
}

/// Deadlines are of the clock, sleeping is not: so many milliseconds at a time.
const LONGEST_SLEEP: u64 = 60_000;

/// What the actor's loop does next.
enum Next {
    GoOn,
    End,
}

impl Actor {
    /// Makes the actor and its handle; `run` has to be spawned.
    pub fn new(hub: Arc<Hub>, mut session: Session, extra: Extra) -> (Self, Handle) {
        watch_by_config(&hub, &mut session, &extra);
        let (tx, rx) = mpsc::unbounded_channel();
        let sources = Arc::new(Sources::new(session.record().agent));
        let changed_at = session.record().since;
        let extra = Arc::new(extra);
        let published = publication(&session, 0, &extra, &sources, changed_at);
        let (publish, watcher) = watch::channel(Arc::new(published));
        let handle = Handle::new(session.record().id.clone(), tx, watcher);
        let actor = Self {
            hub,
            session,
            extra,
            sources,
            handle: handle.clone(),
            rx,
            publish,
            changed_at,
            messages: 0,
            lazy: Commit::default(),
            lazy_since: None,
            lazy_for: LAZY + LAZY.mul_f64(clock::share(handle.id.as_str())),
            card: None,
            stuck: Vec::new(),
        };
        (actor, handle)
    }

    /// Journals the new session before anybody hears of it.
    pub async fn introduce(&mut self) -> Result<(), StoreError> {
        let commit = Commit {
            sessions: vec![self.row()],
            ..Commit::default()
        };
        write(&self.hub, "new session", commit).await
    }

    /// What is journaled is also in the session's own folder, as far as it tells who it is.
    fn keep_card(&mut self) {
        let record = self.session.record();
        let card = Card::of(record, &self.extra);
        if self.card.as_ref() == Some(&card) {
            return;
        }
        let folder = self.hub.paths.session_dir(record.id.as_str());
        match orphans::write_card(&folder, record, &self.extra) {
            Ok(true) => self.card = Some(card),
            Ok(false) => {} // nothing was started yet
            Err(error) => {
                tracing::warn!(session = %record.id, %error, "its folder cannot be written to")
            }
        }
    }

    async fn hear(&mut self, found: Found) {
        if let Some(terminal) = found.terminal {
            Arc::make_mut(&mut self.extra).terminal = Some(terminal);
            self.save_extra().await;
        }
        self.step(found.event, None).await;
    }

    /// `first`: what has to come before all else (after a restart: what still lives).
    pub async fn run(mut self: Box<Self>, first: Option<oneshot::Receiver<Found>>) {
        if let Some(first) = first {
            match first.await {
                Ok(found) => Box::pin(self.hear(found)).await,
                Err(_) => return,
            }
            self.complete_handoff();
        }
        loop {
            let wake_at = self.wake_at();
            let wake = tokio::select! {
                biased;
                wake = self.rx.recv() => wake.map(|wake| *wake),
                () = sleep_until(wake_at) => Some(Wake::Event(Event::Tick)),
            };
            let Some(wake) = wake else { return };
            // boxed: what a step needs is far larger than an actor that waits, and most of them wait
            match Box::pin(self.wake(wake)).await {
                Next::GoOn => {}
                Next::End => return,
            }
        }
    }

    /// The daemon may have died between the end of a handoff and the last copy for it. A record that
    /// the session has gone back to is not its past any more.
    fn complete_handoff(&self) {
        let record = self.session.record();
        let ended = record.handoff.as_deref().filter(|handoff| {
            !handoff.state.is_open() && handoff.from_conversation != record.conversation
        });
        if let Some(handoff) = ended {
            tokio::spawn(handoff::complete_transcript(self.seat(), handoff.clone()));
        }
    }

    async fn wake(&mut self, wake: Wake) -> Next {
        match wake {
            Wake::Event(event) => self.step(event, None).await,
            Wake::Do { event, done } => self.step(event, Some(done)).await,
            Wake::Message { id, reply } => {
                let record = self.session.record();
                let found = self
                    .session
                    .message(&id)
                    .map(|m| view::message(&record.id, m));
                let _ = reply.send(found);
            }
            Wake::Messages { reply } => {
                let id = &self.session.record().id;
                let all = self
                    .session
                    .queue()
                    .iter()
                    .map(|m| view::message(id, m))
                    .collect();
                let _ = reply.send(all);
            }
            Wake::Terminal(terminal) => {
                Arc::make_mut(&mut self.extra).terminal = Some(terminal);
                self.save_extra().await;
            }
            Wake::TerminalClosed(terminal) => {
                let same = |own: &Terminal| {
                    (&own.pane, own.pane_pid) == (&terminal.pane, terminal.pane_pid)
                };
                if self.extra.terminal.as_ref().is_some_and(same) {
                    Arc::make_mut(&mut self.extra).terminal = None;
                    self.save_extra().await;
                }
            }
            Wake::Extra(change) => {
                change(Arc::make_mut(&mut self.extra));
                watch_by_config(&self.hub, &mut self.session, &self.extra);
                self.save_extra().await;
            }
            Wake::Finish { done } => {
                self.flush_lazy(true).await;
                let _ = done.send(());
                return Next::End;
            }
            Wake::Remove { done } => {
                let id = self.session.record().id.clone();
                let commit = Commit {
                    sessions_removed: vec![id.to_string()],
                    ..Commit::default()
                };
                let result = write(&self.hub, "removal", commit).await;
                if result.is_ok() {
                    self.hub.sessions.remove(&id);
                    self.hub.ledgers.forget(&id);
                }
                let removed = result.is_ok();
                let _ = done.send(result);
                return if removed { Next::End } else { Next::GoOn };
            }
        }
        Next::GoOn
    }

    async fn step(&mut self, event: Event, done: Option<oneshot::Sender<Result<(), StoreError>>>) {
        if matches!(event, Event::Tick) {
            self.flush_lazy(false).await;
        }
        let now = clock::now();
        // what cannot be written down is not accepted
        let before = can_be_refused(&event).then(|| self.session.clone());
        let generation = self.session.record().generation;
        let lived = self.session.record().state.is_live();
        let compacted = self.session.record().state == State::Compacting;
        let word = event.word();
        let renamed = matches!(
            event,
            Event::Rename(_) | Event::Hosted(_) | Event::LaunchAsked { .. }
        );
        let outcome = self.session.step(event, now);
        logging::step(&self.session, word, &outcome, now);
        if renamed {
            watch_by_config(&self.hub, &mut self.session, &self.extra);
        }
        let current = self.session.record().generation;
        if current != generation {
            archive::note_generation(&self.hub, &self.handle.id, current.0);
        }
        let compacts = self.session.record().state == State::Compacting;
        if compacts && !compacted {
            archive::note(&self.hub, &self.handle.id, archive::What::Screen);
        }
        if lived && !self.session.record().state.is_live() {
            self.hub.ledgers.touch(&self.handle.id); // its last words
        }
        let changed = outcome.persist != Persist::Nothing || !outcome.effects.is_empty();
        if changed {
            self.changed_at = now;
        }
        let Outcome {
            persist,
            messages,
            handoffs,
            effects,
        } = outcome;
        self.messages += messages.len() as u64;
        // a look changes nothing, so it goes on beside the journal; not for a message that may still
        // be refused, nor beside something that is done only after the journal
        let look = before.is_none() && effects.iter().all(|e| only_looks(e) || needs_no_journal(e));
        let (at_once, after): (Vec<_>, Vec<_>) = effects
            .into_iter()
            .partition(|e| needs_no_journal(e) || (look && matches!(e, Effect::Probe { .. })));
        for effect in at_once {
            self.perform(effect);
        }
        // what waits to be written stays so if this step is refused
        let waiting = before.is_some().then(|| self.lazy.clone());
        let mut commit = std::mem::take(&mut self.lazy);
        let since = self.lazy_since.take();
        let numbered = || self.hub.next_message();
        rows::add_messages(&mut commit, &self.session, &messages, numbered, now);
        rows::add_effects(&mut commit, self.session.record(), &after, now);
        rows::add_handoffs(&mut commit, &self.handle.id, &handoffs);
        let result = match persist {
            Persist::Now => {
                commit.sessions = vec![self.row()];
                write(&self.hub, word, commit.clone()).await
            }
            Persist::Later | Persist::Nothing => {
                let waits = persist == Persist::Later || !commit.is_empty();
                self.lazy = commit.clone();
                // from the first that waits: a steady stream must not put it off for ever
                self.lazy_since = since.or_else(|| waits.then(Instant::now));
                Ok(())
            }
        };
        match &result {
            Ok(()) => {
                if persist == Persist::Now {
                    self.keep_card();
                    for effect in std::mem::take(&mut self.stuck) {
                        self.perform(effect);
                    }
                }
                for effect in after {
                    self.perform(effect);
                }
                for handoff in handoffs.into_iter().filter(|h| !h.state.is_open()) {
                    tokio::spawn(handoff::complete_transcript(self.seat(), handoff));
                }
            }
            Err(error) => {
                self.hub.problem(format!("the journal refuses to write ({error}); nothing is delivered until it can. Free some disk space"));
                match before {
                    Some(before) => {
                        self.session = before; // refused: the sender is told and may repeat it
                        self.lazy = waiting.unwrap_or_default();
                        self.lazy_since = since.map(|_| Instant::now());
                    }
                    None => {
                        self.stuck.extend(after);
                        self.lazy = commit;
                        self.lazy_since = Some(Instant::now());
                    }
                }
            }
        }
        if changed {
            self.publish_now();
        }
        if let Some(done) = done {
            let _ = done.send(result);
        }
    }

    fn row(&self) -> SessionRow {
        rows::session(self.session.record(), &self.extra, self.changed_at)
    }

    async fn save_extra(&mut self) {
        let commit = Commit {
            sessions: vec![self.row()],
            ..Commit::default()
        };
        match write(&self.hub, "terminal", commit).await {
            Ok(()) => self.keep_card(),
            Err(error) => {
                self.hub
                    .problem(format!("a session could not be written down: {error}"));
                self.lazy_since = Some(Instant::now());
            }
        }
        self.publish_now();
    }

    async fn flush_lazy(&mut self, all: bool) {
        let due = self
            .lazy_since
            .is_some_and(|since| all || since.elapsed() >= self.lazy_for);
        if !due {
            return;
        }
        let mut commit = std::mem::take(&mut self.lazy);
        commit.sessions = vec![self.row()];
        match write(&self.hub, "what could wait", commit.clone()).await {
            Ok(()) => {
                self.lazy_since = None;
                self.keep_card();
                for effect in std::mem::take(&mut self.stuck) {
                    self.perform(effect);
                }
            }
            Err(_) => {
                self.lazy = commit;
                self.lazy_since = Some(Instant::now());
            }
        }
    }

    fn publish_now(&mut self) {
        let published = publication(
            &self.session,
            self.messages,
            &self.extra,
            &self.sources,
            self.changed_at,
        );
        self.publish.send_replace(Arc::new(published));
        self.hub.sessions.looks.changed(&self.handle.id);
    }

    fn perform(&self, effect: Effect) {
        if let Effect::Record(_) = effect {
            return; // it went with the commit
        }
        perform::perform(self.seat(), effect);
    }

    fn seat(&self) -> Seat {
        Seat {
            hub: Arc::clone(&self.hub),
            handle: self.handle.clone(),
            sources: Arc::clone(&self.sources),
            record: self.session.shared_record(),
            extra: Arc::clone(&self.extra),
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let deadline = self.session.next_deadline().map(|at| {
            let ms = at.since(clock::now()).max(0);
            // a machine that was suspended, or a clock that was set, is noticed in this time
            let ms = u64::try_from(ms).unwrap_or(0).min(LONGEST_SLEEP);
            Instant::now() + Duration::from_millis(ms)
        });
        let lazy = self.lazy_since.map(|since| since + self.lazy_for);
        [deadline, lazy].into_iter().flatten().min()
    }
}

/// Answers that carry nothing need no journal: the agent must not wait for a disk.
fn needs_no_journal(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Answer {
            answer: Answer::Nothing,
            ..
        } | Effect::Dismiss { .. }
    )
}

/// Who asked for it waits for the answer, and may repeat it.
fn can_be_refused(event: &Event) -> bool {
    matches!(
        event,
        Event::Send(_)
            | Event::Pin(_)
            | Event::Unpin(_)
            | Event::HandoffAsked { .. }
            | Event::HandoffCancelled
    )
}

/// Nothing outside is different after it.
fn only_looks(effect: &Effect) -> bool {
    matches!(effect, Effect::Probe { .. } | Effect::Record(_))
}

fn publication(
    session: &Session,
    messages: u64,
    extra: &Arc<Extra>,
    sources: &Arc<Sources>,
    changed_at: Timestamp,
) -> Published {
    Published {
        record: session.shared_record(),
        queue: view::queue(session),
        has_message_due: session.has_message_due(),
        messages,
        changed_at,
        warning: session.monitor().from(Level::Warning),
        critical: session.monitor().from(Level::Critical),
        extra: Arc::clone(extra),
        sources: Arc::clone(sources),
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
