//! Which session's processes a request comes from, as the kernel says: by the process at the other
//! end of the connection and its ancestors, never by what the request claims.
//!
//! A program that inherits a session's terminal is part of the session, whatever it has removed from
//! its environment; one that has left its ancestors (daemonised) is still known by its environment, if
//! that also has the session's secret. One that has left its ancestors and has nothing of the session
//! in its environment cannot be told from a person's.
//! Where the system does not tell who is there (macOS; another machine behind a tunnel), it is
//! [`Caller::Unknown`], and whoever asks decides what that may do.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use sm_client::process::{self, Process};
use sm_client::wire;
use sm_core::SessionId;

use crate::hub::{Handle, Hub};
use crate::peer::{self, TcpClient};
use crate::{origin, proof};

/// How far up is looked; deeper trees of processes prove nothing.
pub const MOST_ANCESTORS: usize = 64;

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
    /// A process whose environment names this session, and that nothing proves to be of it: neither
    /// the session nor a person.
    Unproven(Handle),
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
        Looked::At { lineage, named } => {
            // also of one that has ended: what it left running does not become a person
            let own = proof::nearest_session(hub, &lineage, |_| true);
            match (own.and_then(|id| hub.sessions.get(&id)), named) {
                (Some(own), _) => Caller::Session(own),
                (None, Some(named)) => match hub.sessions.get(&named.session) {
                    Some(own) if proof::by_secret(&own, &named.secret) => Caller::Session(own),
                    Some(other) => Caller::Unproven(other),
                    None => Caller::Outside,
                },
                (None, None) => Caller::Outside,
            }
        }
    }
}

/// Whether this request is of the session itself, by its secret or by the process that asks, over the
/// socket or the port.
pub async fn is_of(
    hub: &Arc<Hub>,
    session: &Handle,
    headers: &HeaderMap,
    connection: Option<Connection>,
) -> bool {
    if proof::by_secret(session, proof::secret(headers)) {
        return true;
    }
    let Some(connection) = connection else {
        return false;
    };
    let looking = tokio::task::spawn_blocking(move || looked_at(connection));
    let Looked::At { lineage, named } = looking.await.unwrap_or(Looked::Unknown) else {
        return false;
    };
    // Most who ask are of this session or of none: the others are only gone through where it matters.
    let claimed = named.is_some_and(|named| {
        named.session == session.id && proof::by_secret(session, &named.secret)
    });
    (claimed || proof::is_among(session, &lineage))
        && proof::nearest_session(hub, &lineage, |_| true).is_none_or(|own| own == session.id)
}

/// Whether an agent that this session's own has started asks in its name: it has the session's secret and
/// its ancestors, and is not the session all the same.
pub async fn is_another_agent(session: &Handle, connection: Option<Connection>) -> bool {
    let own = session.now().record.process;
    let Some((own, pid)) = own.zip(connection.and_then(Connection::pid)) else {
        return false;
    };
    let own = Process {
        pid: own.pid,
        start: own.start,
    };
    let looking = tokio::task::spawn_blocking(move || origin::another_agent_asks(own, pid));
    looking.await.unwrap_or(false)
}

/// The session that an environment names, and the secret that goes with it.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    session: SessionId,
    secret: String,
}

enum Looked {
    At {
        lineage: Vec<Process>,
        /// What its environment says.
        named: Option<Named>,
    },
    Gone,
    Unknown,
}

fn looked_at(connection: Connection) -> Looked {
    let pid = match connection {
        Connection::Unix { pid } => pid,
        Connection::Tcp { client, server } => {
            let process = server.map(|server| peer::tcp_peer_process(client, server));
            match process.unwrap_or(TcpClient::Unknown) {
                TcpClient::Process(pid) => Some(pid),
                TcpClient::Gone => return Looked::Gone,
                TcpClient::Unknown => None,
            }
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

fn named_by_environment(pid: u32) -> Option<Named> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = |name: &str| {
        let prefix = format!("{name}=");
        let mut entries = environment.split(|byte| *byte == 0);
        let value = entries.find_map(|entry| entry.strip_prefix(prefix.as_bytes()))?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    Some(Named {
        session: SessionId::new(value(wire::SESSION_VAR)?).ok()?,
        secret: value(wire::SECRET_VAR).unwrap_or_default(),
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_ancestors_and_by_its_environment() {
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .env(wire::SESSION_VAR, "abc123")
            .env(wire::SECRET_VAR, "s3")
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
            let expected = Named {
                session: SessionId::new("abc123").unwrap(),
                secret: "s3".to_owned(),
            };
            if named == Some(expected) {
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
