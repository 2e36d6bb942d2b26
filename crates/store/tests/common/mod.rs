//! Rows for tests.
#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test file uses some of them"
)]

use sm_store::{
    EventRow, HandoffRow, MessageChange, MessageRow, MessageUpdate, OutboxRow, SessionRow,
};

pub fn session(id: &str, changed_at: i64) -> SessionRow {
    SessionRow {
        id: id.to_owned(),
        name: format!("name of {id}"),
        agent: "generic".to_owned(),
        live: true,
        state: format!("{{\"n\":{changed_at}}}"),
        changed_at,
    }
}

pub fn message(session: &str, id: &str, seq: i64, text: &str) -> MessageRow {
    MessageRow {
        id: id.to_owned(),
        session: session.to_owned(),
        seq,
        is_final: false,
        meta: "{}".to_owned(),
        text: text.to_owned(),
        changed_at: 1,
    }
}

pub fn insert(row: MessageRow) -> MessageChange {
    MessageChange::Insert(row)
}

pub fn update(
    session: &str,
    id: &str,
    is_final: bool,
    meta: &str,
    changed_at: i64,
) -> MessageChange {
    MessageChange::Update(MessageUpdate {
        id: id.to_owned(),
        session: session.to_owned(),
        is_final,
        meta: meta.to_owned(),
        changed_at,
    })
}

pub fn event(seq: i64, session: &str) -> EventRow {
    EventRow {
        seq,
        at: 1_000 + seq % 1_000_000,
        session: session.to_owned(),
        generation: 1,
        turn: 2,
        kind: "test".to_owned(),
        text: format!("event {seq}"),
        data: "{}".to_owned(),
    }
}

pub fn handoff(id: &str, session: &str, created_at: i64) -> HandoffRow {
    HandoffRow {
        id: id.to_owned(),
        session: session.to_owned(),
        created_at,
        state: "scheduled".to_owned(),
        json: format!("{{\"id\":\"{id}\"}}"),
    }
}

pub fn outbox(id: &str, session: &str) -> OutboxRow {
    OutboxRow {
        id: id.to_owned(),
        session: session.to_owned(),
        effect: "{\"do\":1}".to_owned(),
    }
}
