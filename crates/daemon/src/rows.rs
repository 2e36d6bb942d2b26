//! What a step has changed, as rows of the journal: messages, history, outbox, handoffs, and the
//! session itself. Writes nothing.

use crate::perform::Told;
use crate::stored::{Extra, StoredRef};
use sm_core::{Effect, Handoff, Message, MessageChange, Record, Session, SessionId, Timestamp};
use sm_store::{Commit, EventRow, HandoffRow, MessageRow, MessageUpdate, OutboxRow, SessionRow};

pub fn session(record: &Record, extra: &Extra, changed_at: Timestamp) -> SessionRow {
    let stored = StoredRef { record, extra };
    SessionRow {
        id: record.id.to_string(),
        name: record.name.to_string(),
        agent: record.agent.as_str().to_string(),
        live: record.state.is_live(),
        state: serde_json::to_string(&stored).unwrap_or_default(),
        changed_at: changed_at.0,
    }
}

/// `number`: a new message's place in the order of all.
pub fn add_messages(
    commit: &mut Commit,
    session: &Session,
    changes: &[MessageChange],
    number: impl Fn() -> i64,
    now: Timestamp,
) {
    let id = &session.record().id;
    let rows = changes.iter().filter_map(|change| match change {
        MessageChange::New(message) => Some(sm_store::MessageChange::Insert(MessageRow {
            id: message.meta.id.to_string(),
            session: id.to_string(),
            seq: number(),
            is_final: message.meta.state.is_final(),
            meta: meta(message),
            text: message.text.clone(),
            changed_at: now.0,
        })),
        MessageChange::Changed(changed) => {
            let message = session.message(changed)?;
            Some(sm_store::MessageChange::Update(MessageUpdate {
                id: changed.to_string(),
                session: id.to_string(),
                is_final: message.meta.state.is_final(),
                meta: meta(message),
                changed_at: now.0,
            }))
        }
    });
    commit.messages.extend(rows);
}

fn meta(message: &Message) -> String {
    serde_json::to_string(&message.meta).unwrap_or_default()
}

/// What is done by writing it down: lines of the history, and messages for other sessions.
pub fn add_effects(commit: &mut Commit, record: &Record, effects: &[Effect], now: Timestamp) {
    for effect in effects {
        match effect {
            Effect::Record(entry) => commit.events.push(EventRow {
                seq: 0, // given when it is written
                at: now.0,
                session: record.id.to_string(),
                generation: entry.generation.0,
                turn: entry.turn.0,
                kind: entry.kind.as_str().to_string(),
                text: entry.text.clone(),
                data: String::new(),
            }),
            Effect::Tell { to, message } => {
                let told = Told {
                    to: to.clone(),
                    message: message.clone(),
                };
                if let Ok(effect) = serde_json::to_string(&told) {
                    commit.outbox_add.push(OutboxRow {
                        id: message.id.to_string(),
                        session: record.id.to_string(),
                        effect,
                    });
                }
            }
            Effect::Launch(_)
            | Effect::Terminate
            | Effect::CloseTerminal
            | Effect::StopAgent { .. }
            | Effect::Prepare(_)
            | Effect::Probe { .. }
            | Effect::Paste { .. }
            | Effect::Press { .. }
            | Effect::Answer { .. }
            | Effect::Mail { .. }
            | Effect::Dismiss { .. }
            | Effect::Spill { .. }
            | Effect::Notify(_) => {}
        }
    }
}

/// The history has each handoff as it is now, with the step that made it so.
pub fn add_handoffs(commit: &mut Commit, session: &SessionId, handoffs: &[Handoff]) {
    for handoff in handoffs {
        let id = handoff.id.to_string();
        commit.handoffs.retain(|older| older.id != id);
        commit.handoffs.push(HandoffRow {
            id,
            session: session.to_string(),
            created_at: handoff.created_at.0,
            state: handoff.state.word().to_string(),
            json: serde_json::to_string(handoff).unwrap_or_default(),
        });
    }
}
