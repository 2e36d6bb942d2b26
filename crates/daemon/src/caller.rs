//! Which session's processes a request comes from, as the kernel says: by the process at the other
//! end of the connection and its ancestors, never by what the request claims.
//!
//! A program that inherits a session's terminal is part of the session, whatever it has removed from
//! its environment; one that has left its ancestors (daemonised) is still known by its environment.
//! Where the system does not tell who is there (macOS; another machine behind a tunnel), it is
//! [`Caller::Unknown`], and whoever asks decides what that may do.

use std::net::SocketAddr;
use std::sync::Arc;

use sm_client::process::{self, Process};
use sm_client::wire;
use sm_core::SessionId;

use crate::hub::{Handle, Hub};
use crate::peer;

/// An agent's own tool processes are far fewer.
const MOST_ANCESTORS: usize = 64;

/// Both ends of an accepted connection: an extension of every request, put there by the listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// The process that connected to our Unix socket.
    Unix { pid: Option<u32> },
    Tcp {
        client: SocketAddr,
        server: Option<SocketAddr>,
    },
}

impl Connection {
    /// The process at the other end, where that is known without searching for it.
    pub fn pid(self) -> Option<u32> {
        match self {
            // 0: of a process outside what this one can see
            Self::Unix { pid } => pid.filter(|pid| *pid > 0),
            Self::Tcp { .. } => None,
        }
    }
}

/// Who asks.
#[derive(Clone)]
pub enum Caller {
    /// A process of this session.
    Session(Handle),
    /// A process that belongs to no session.
    Outside,
    /// It had ended before it could be looked at.
    Gone,
    /// The system does not tell.
    Unknown,
}

/// Looks it up, outside the async threads: a TCP connection's owner is searched for among all
/// processes.
pub async fn of(hub: &Arc<Hub>, connection: Option<Connection>) -> Caller {
    let Some(connection) = connection else {
        return Caller::Unknown;
    };
    let looking = tokio::task::spawn_blocking(move || looked_at(connection));
    match looking.await.unwrap_or(Looked::Unknown) {
        Looked::Unknown => Caller::Unknown,
        Looked::Gone => Caller::Gone,
        Looked::At { lineage, named } => of_lineage(hub, &lineage)
            .or_else(|| hub.sessions.get(&named?))
            .map_or(Caller::Outside, Caller::Session),
    }
}

/// The nearest ancestor that is a session's agent says whose it is.
fn of_lineage(hub: &Hub, lineage: &[Process]) -> Option<Handle> {
    let sessions = hub.sessions.all();
    let agents: Vec<_> = sessions
        .iter()
        .filter_map(|handle| Some((handle.now().record.process?, handle)))
        .collect();
    lineage.iter().find_map(|ancestor| {
        let agent = |(agent, _): &&(sm_core::Process, &Handle)| {
            (agent.pid, agent.start) == (ancestor.pid, ancestor.start)
        };
        agents
            .iter()
            .find(agent)
            .map(|(_, handle)| (*handle).clone())
    })
}

enum Looked {
    At {
        lineage: Vec<Process>,
        /// The session that its environment names.
        named: Option<SessionId>,
    },
    Gone,
    Unknown,
}

fn looked_at(connection: Connection) -> Looked {
    let pid = match connection {
        Connection::Unix { pid } => pid,
        Connection::Tcp { client, server } => {
            server.and_then(|server| peer::tcp_peer_process(client, server))
        }
    };
    // 0: of a process outside what this one can see
    let Some(pid) = pid.filter(|pid| *pid > 0) else {
        return Looked::Unknown;
    };
    let lineage = process::lineage(pid, MOST_ANCESTORS);
    match lineage.first() {
        None => Looked::Gone,
        Some(first) if first.start == 0 => Looked::Unknown,
        Some(_) => Looked::At {
            lineage,
            named: named_by_environment(pid),
        },
    }
}

fn named_by_environment(pid: u32) -> Option<SessionId> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let prefix = format!("{}=", wire::SESSION_VAR);
    let value = environment
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(prefix.as_bytes()))?;
    SessionId::new(String::from_utf8_lossy(value).into_owned()).ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_ancestors_and_by_its_environment() {
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .env(wire::SESSION_VAR, "abc123")
            .spawn()
            .unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        loop {
            let looked = looked_at(Connection::Unix {
                pid: Some(child.id()),
            });
            let Looked::At { lineage, named } = looked else {
                panic!("it runs");
            };
            assert!(lineage.iter().any(|p| p.pid == std::process::id()));
            // between fork and exec it still has ours
            if named == SessionId::new("abc123").ok() {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "its environment");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let gone = looked_at(Connection::Unix {
            pid: Some(child.id()),
        });
        assert!(matches!(gone, Looked::Gone));
        for pid in [None, Some(0)] {
            let looked = looked_at(Connection::Unix { pid });
            assert!(matches!(looked, Looked::Unknown));
        }
    }

    #[test]
    fn the_process_behind_a_tcp_connection_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, client) = listener.accept().unwrap();
        let server = accepted.local_addr().ok();
        let looked = looked_at(Connection::Tcp { client, server });
        let Looked::At { lineage, .. } = looked else {
            panic!("it runs");
        };
        assert_eq!(lineage[0].pid, std::process::id());
    }
}
