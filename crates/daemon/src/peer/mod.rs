//! Which user is at the other end of a connection, as the kernel says.
//!
//! For a Unix socket the kernel tells it directly. For TCP on loopback the owner of the client's
//! socket is looked up (`linux.rs`); where the system has no way to ask (`other.rs`, macOS), or the
//! answer is not certain, it is [`PeerUid::Unknown`], and the connection needs the token.
//! Never answers with a guess: a socket that is closing, or of no process, has no owner.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

use std::net::{IpAddr, SocketAddr};

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
use other as platform;

/// The user at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerUid {
    Uid(u32),
    /// The kernel could not vouch for anyone.
    Unknown,
}

impl From<Option<u32>> for PeerUid {
    fn from(uid: Option<u32>) -> Self {
        uid.map_or(Self::Unknown, Self::Uid)
    }
}

/// The owner of the client's socket of a loopback connection; `peer` and `local` as our accepted
/// socket has them. Asks the kernel once, some microseconds.
pub fn tcp_peer_uid(peer: SocketAddr, local: SocketAddr) -> PeerUid {
    let (client, server) = (plain(peer), plain(local));
    // A remote machine's port numbers say nothing about our own sockets.
    if !client.ip().is_loopback()
        || !server.ip().is_loopback()
        || client.is_ipv4() != server.is_ipv4()
    {
        return PeerUid::Unknown;
    }
    platform::owner(client, server).into()
}

/// Who has the client's end of a TCP connection open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpClient {
    Process(u32),
    /// Nobody any more: it has ended.
    Gone,
    /// The system does not tell: another user's process, another machine, another system.
    Unknown,
}

/// The process at the client's end of a loopback connection, as [`tcp_peer_uid`]. Looks through all
/// processes: for the rare request that depends on it.
pub fn tcp_peer_process(peer: SocketAddr, local: SocketAddr) -> TcpClient {
    let (client, server) = (plain(peer), plain(local));
    match client.ip().is_loopback() && server.ip().is_loopback() {
        true => platform::client_process(client, server),
        false => TcpClient::Unknown,
    }
}

/// The process that connected to our Unix socket.
pub fn unix_peer_process(stream: &tokio::net::UnixStream) -> Option<u32> {
    let pid = stream.peer_cred().ok()?.pid()?;
    u32::try_from(pid).ok()
}

/// The user that connected to our Unix socket.
pub fn unix_peer_uid(stream: &tokio::net::UnixStream) -> Option<u32> {
    stream.peer_cred().ok().map(|peer| peer.uid())
}

/// Who listens on this port of 127.0.0.1, for people to read; None: it cannot be told.
/// Looks through all processes: for the rare moment when the port is taken.
pub fn listener_of(port: u16) -> Option<String> {
    platform::listener_of(port)
}

/// An IPv4 address inside IPv6 (`::ffff:127.0.0.1`) is the IPv4 address.
fn plain(address: SocketAddr) -> SocketAddr {
    let ip: IpAddr = address.ip().to_canonical();
    SocketAddr::new(ip, address.port())
}
