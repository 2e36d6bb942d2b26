//! Carrying out effects. Nothing here decides: results go back to the actor as events.

use crate::actor::Wake;
use crate::endings::Ending;
use crate::hub::{Handle, Hub};
use crate::mailboxes::Letter;
use crate::sources::Sources;
use crate::stored::Extra;
use crate::{fault, handoff, host, launch, notify, probe, terminate};
use serde::{Deserialize, Serialize};
use sm_core::{Effect, Event, KeyOutcome, MessageId, NewMessage, Record, SessionId, WaiterId};
use sm_store::Commit;
use std::sync::Arc;
use std::time::Duration;

/// What an executor needs to know of the session, as it was when the effect was decided.
pub struct Seat {
    pub hub: Arc<Hub>,
    pub handle: Handle,
    pub sources: Arc<Sources>,
    pub record: Arc<Record>,
    pub extra: Arc<Extra>,
}

/// A message for another session, as it waits in the outbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    pub to: SessionId,
    pub message: NewMessage,
}

/// A waiter that was offered a text has this long to take it.
const TAKE_PATIENCE: Duration = Duration::from_secs(3);

impl Seat {
    pub fn event(&self, event: Event) {
        self.handle.send(Wake::Event(event));
    }
}

pub fn perform(seat: Seat, effect: Effect) {
    let word = effect.word();
    let done = move || fault::after("effect", word);
    fault::before("effect", word);
    match effect {
        Effect::Answer { request, answer } => {
            seat.hub.answers.give(request, answer);
            done();
        }
        Effect::Dismiss { waiter } => {
            seat.hub.mailboxes.dismiss(waiter);
            done();
        }
        Effect::Spill { message, text } => {
            spill(&seat, &message, &text);
            done();
        }
        Effect::Probe { probe, ours } => {
            tokio::spawn(async move { probe::probe(seat, probe, ours).await });
        }
        Effect::Paste {
            flight,
            pastes,
            guard,
        } => {
            tokio::spawn(async move {
                let mut texts = pastes.iter();
                let ok = match texts.next() {
                    Some(first) if seat.handle.now().record.may_type(flight) => {
                        host::paste(&seat, first, guard).await
                    }
                    Some(_) | None => false,
                };
                if ok {
                    for text in texts {
                        // what becomes of it is seen in the composer
                        host::paste(&seat, text, None).await;
                    }
                }
                done();
                seat.event(Event::Pasted { flight, ok });
            });
        }
        Effect::Press { flight, key, guard } => {
            tokio::spawn(async move {
                let outcome = match seat.handle.now().record.may_type(flight) {
                    true => host::press(&seat, key, guard).await,
                    false => KeyOutcome::Failed,
                };
                done();
                seat.event(Event::Pressed { flight, outcome });
            });
        }
        Effect::Mail {
            flight,
            waiter,
            text,
            handing,
        } => {
            mail(seat, flight, waiter, Letter { text, handing });
            done();
        }
        Effect::Launch(plan) => {
            tokio::spawn(async move {
                launch::launch(seat, plan).await;
                done();
            });
        }
        Effect::Terminate => {
            let ending = Ending::begin(&seat.hub, &seat.record.id);
            tokio::spawn(async move {
                terminate::terminate(seat).await;
                done();
                drop(ending);
            });
        }
        Effect::CloseTerminal => {
            tokio::spawn(async move {
                terminate::close(&seat).await;
                done();
            });
        }
        Effect::Tell { to, message } => {
            let told = Told { to, message };
            tokio::spawn(async move {
                tell(&seat.hub, told).await;
                done();
            });
        }
        Effect::Notify(notice) => {
            tokio::spawn(async move {
                let (id, name) = (seat.record.id.to_string(), seat.record.name.to_string());
                notify::notify(&seat.hub.config, &id, &name, &notice).await;
                done();
            });
        }
        Effect::StopAgent { launch } => {
            tokio::spawn(async move { terminate::stop_agent(seat, launch).await });
        }
        Effect::Prepare(id) => {
            tokio::spawn(async move { handoff::prepare(seat, id).await });
        }
        Effect::Record(_) => {}
    }
}

/// Small and local: done in place, because the answer that names the file follows at once.
fn spill(seat: &Seat, message: &MessageId, text: &str) {
    let folder = seat
        .hub
        .paths
        .session_dir(seat.record.id.as_str())
        .join("messages");
    let file = folder.join(format!("{message}.txt"));
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, text));
    if let Err(error) = written {
        seat.hub
            .problem(format!("{} could not be written: {error}", file.display()));
    }
}

fn mail(seat: Seat, flight: u64, waiter: WaiterId, letter: Letter) {
    if !seat.hub.mailboxes.offer(waiter, flight, letter) {
        seat.event(Event::Mailed {
            flight,
            waiter,
            taken: false,
        });
        return;
    }
    tokio::spawn(async move {
        tokio::time::sleep(TAKE_PATIENCE).await;
        if seat.hub.mailboxes.withdraw(waiter) {
            seat.event(Event::Mailed {
                flight,
                waiter,
                taken: false,
            });
        }
    });
}

/// Hands a message to another session and strikes it off the outbox. Its id is derived, so that a
/// repeat after a crash is the same message.
pub async fn tell(hub: &Arc<Hub>, told: Told) {
    let id = told.message.id.to_string();
    if let Some(handle) = hub.sessions.get(&told.to) {
        let (tx, rx) = tokio::sync::oneshot::channel();
        handle.send(Wake::Do {
            event: Event::Send(told.message),
            done: tx,
        });
        if !matches!(rx.await, Ok(Ok(()))) {
            return; // it stays in the outbox
        }
    }
    let commit = Commit {
        outbox_done: vec![id],
        ..Commit::default()
    };
    if let Err(error) = crate::journal::write(hub, "told", commit).await {
        tracing::warn!(%error, "the outbox was not struck off");
    }
}
