//! Whether a request comes from a session's own processes.
//!
//! Everybody of the same user reaches the socket: a script, the agent of another session, one in a
//! sandbox. What they claim about a session changes nothing of it. A claim is proven by the secret
//! that the session's agent was started with, or by the kernel: the process that asks has the
//! session's own process among its ancestors, and no other session's nearer to it. No secret and no
//! such ancestor is as little as a wrong secret.

use crate::caller::{Connection, MOST_ANCESTORS};
use crate::hub::{Handle, Hub};
use crate::stored::Extra;
use axum::http::HeaderMap;
use sm_client::process::{self, Process};
use sm_client::proof::{code, is_same, secret_hash};
use sm_client::{spool, wire};
use sm_core::{Record, SessionId};

/// The secret that was sent with a request; empty: none.
pub fn secret(headers: &HeaderMap) -> &str {
    let value = headers.get(wire::SECRET_HEADER);
    value.and_then(|value| value.to_str().ok()).unwrap_or("")
}

/// Whether this request is of the session itself.
pub fn is_of(hub: &Hub, session: &Handle, headers: &HeaderMap, peer: Option<Connection>) -> bool {
    by_secret(session, secret(headers)) || session_of(hub, peer).as_ref() == Some(&session.id)
}

/// Whether this secret is the session's. Only its hash is kept.
pub fn by_secret(session: &Handle, secret: &str) -> bool {
    let hash = &session.now().extra.secret_hash;
    !secret.is_empty() && is_same(secret_hash(secret).as_bytes(), hash.as_bytes())
}

/// Whether a line of the spool was written by the session itself.
pub fn of_line(
    session: &Handle,
    proof: &str,
    id: &str,
    at: u64,
    place: [&str; 4],
    body: &str,
) -> bool {
    let hash = &session.now().extra.secret_hash;
    if proof.is_empty() || hash.is_empty() {
        return false;
    }
    let right = spool::proof_of(hash, id, at, place, body);
    is_same(proof.as_bytes(), right.as_bytes())
}

/// The session that the process at the other end belongs to: the nearest one among its ancestors. A
/// session's agent may itself have started another's.
pub fn session_of(hub: &Hub, peer: Option<Connection>) -> Option<SessionId> {
    let chain = process::lineage(peer.and_then(Connection::pid)?, MOST_ANCESTORS);
    // of one that has ended nothing is heard any more
    nearest_session(hub, &chain, |record| record.state.is_live())
}

/// The session whose own process is the nearest in a lineage, among those that are asked for.
pub fn nearest_session(
    hub: &Hub,
    chain: &[Process],
    is_meant: impl Fn(&Record) -> bool,
) -> Option<SessionId> {
    let sessions: Vec<_> = hub.sessions.all();
    let own: Vec<(SessionId, Vec<Process>)> = sessions
        .iter()
        .map(|handle| (handle.id.clone(), handle.now()))
        .filter(|(_, now)| is_meant(&now.record))
        .map(|(id, now)| (id, own_processes(&now.record, &now.extra)))
        .filter(|(_, own)| !own.is_empty())
        .collect();
    nearest(chain, &own)
}

/// Whether one of a session's own processes is in a lineage.
pub fn is_among(session: &Handle, chain: &[Process]) -> bool {
    let now = session.now();
    let own = own_processes(&now.record, &now.extra);
    chain.iter().any(|process| own.contains(process))
}

/// Its agent, what hosts it, and the launcher in its pane.
fn own_processes(record: &Record, extra: &Extra) -> Vec<Process> {
    let agent = record.process.map(|p| Process {
        pid: p.pid,
        start: p.start,
    });
    let pane = extra.terminal.as_ref().map(|terminal| Process {
        pid: terminal.pane_pid,
        start: terminal.pane_start,
    });
    let run = extra.run.as_ref().map(|run| Process {
        pid: run.pid,
        start: run.start,
    });
    [agent, pane, run]
        .into_iter()
        .flatten()
        // without its start a process cannot be told from a later one of that pid
        .filter(|process| process.start != 0)
        .collect()
}

fn nearest(chain: &[Process], sessions: &[(SessionId, Vec<Process>)]) -> Option<SessionId> {
    chain.iter().find_map(|process| {
        let is_its = |(_, own): &&(SessionId, Vec<Process>)| own.contains(process);
        sessions.iter().find(is_its).map(|(id, _)| id.clone())
    })
}

/// What the writer of a terminal's log proves itself with. It stands among its arguments, which other
/// users can read: it is good for saying whether the terminal is quiet, and nobody else gets in.
pub fn log_key(secret_hash: &str) -> String {
    code(secret_hash, &[b"log"])
}

pub fn is_log_key(session: &Handle, key: &str) -> bool {
    let hash = &session.now().extra.secret_hash;
    !hash.is_empty() && is_same(key.as_bytes(), log_key(hash).as_bytes())
}

/// Whether the process at the other end writes down this session's terminal: it was started by the
/// very process that started what is in the pane, which is tmux.
pub fn writes_its_log(session: &Handle, peer: Option<Connection>) -> bool {
    let now = session.now();
    let Some((terminal, pid)) = now
        .extra
        .terminal
        .as_ref()
        .zip(peer.and_then(Connection::pid))
    else {
        return false;
    };
    let pane = process::lineage(terminal.pane_pid, 2);
    let log = process::lineage(pid, 2);
    match (pane.as_slice(), log.as_slice()) {
        ([pane, server], [log, parent]) => {
            pane.start == terminal.pane_start
                && log != pane
                && server.start != 0
                && server == parent
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32) -> Process {
        Process { pid, start: 7 }
    }

    #[test]
    fn the_nearest_session_is_the_one_that_speaks() {
        let id = |name: &str| SessionId::new(name).unwrap();
        let sessions = [
            (id("outer"), vec![process(10), process(9)]),
            (id("inner"), vec![process(20)]),
        ];
        let of = |pids: &[u32]| {
            let chain: Vec<Process> = pids.iter().copied().map(process).collect();
            nearest(&chain, &sessions)
        };
        assert_eq!(of(&[30, 10, 2]), Some(id("outer")));
        assert_eq!(of(&[9]), Some(id("outer")), "its launcher itself");
        assert_eq!(of(&[31, 20, 30, 10, 2]), Some(id("inner")));
        assert_eq!(of(&[31, 30, 2]), None);
        assert_eq!(of(&[]), None);
        let later = [Process { pid: 10, start: 8 }];
        assert_eq!(nearest(&later, &sessions), None, "a later one of that pid");
    }
}
