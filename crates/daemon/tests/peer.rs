//! The kernel says who is at the other end of a real connection.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use sm_daemon::peer::{PeerUid, tcp_peer_uid, unix_peer_uid};

const NOBODY: u32 = 65534;
/// Set in a child of this test: connect there, and stay until told.
const CONNECT: &str = "SM_TEST_CONNECT";

fn me() -> u32 {
    rustix::process::getuid().as_raw()
}

fn listener(address: &str) -> Option<TcpListener> {
    match TcpListener::bind(address) {
        Ok(listener) => Some(listener),
        Err(e) => {
            eprintln!("skipped {address}: {e}");
            None
        }
    }
}

#[test]
fn our_own_connection_is_ours() {
    for address in ["127.0.0.1:0", "[::1]:0", "127.0.0.2:0"] {
        let Some(listener) = listener(address) else {
            continue;
        };
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let local = server.local_addr().unwrap();
        assert_eq!(tcp_peer_uid(peer, local), PeerUid::Uid(me()), "{address}");
    }
}

#[test]
fn an_ipv4_address_inside_ipv6_is_understood_on_both_sides() {
    // A listener of both families sees IPv4 clients as ::ffff:127.0.0.1.
    if let Some(listener) = listener("[::]:0") {
        let port = listener.local_addr().unwrap().port();
        let _client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (server, peer) = listener.accept().unwrap();
        assert!(peer.is_ipv6());
        let local = server.local_addr().unwrap();
        assert_eq!(tcp_peer_uid(peer, local), PeerUid::Uid(me()));
    }
    // And a client may use an IPv6 socket for an IPv4 address.
    let listener = listener("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mapped: SocketAddr = format!("[::ffff:127.0.0.1]:{port}").parse().unwrap();
    if let Ok(_client) = TcpStream::connect(mapped) {
        let (server, peer) = listener.accept().unwrap();
        let local = server.local_addr().unwrap();
        assert_eq!(tcp_peer_uid(peer, local), PeerUid::Uid(me()));
    } else {
        eprintln!("skipped the IPv6 client: no IPv6 here");
    }
}

#[test]
fn a_closed_peer_is_unknown() {
    let listener = listener("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, peer) = listener.accept().unwrap();
    drop(client);
    // Its end has arrived: the client's socket is no longer anyone's.
    assert_eq!(server.read(&mut [0]).unwrap(), 0);
    let local = server.local_addr().unwrap();
    assert_eq!(tcp_peer_uid(peer, local), PeerUid::Unknown);
}

#[test]
fn what_is_not_a_loopback_connection_is_unknown() {
    for (peer, local) in [
        ("192.0.2.1:5000", "127.0.0.1:8420"),
        ("127.0.0.1:5000", "192.0.2.1:8420"),
        ("[::1]:5000", "127.0.0.1:8420"),
        ("127.0.0.1:1", "127.0.0.1:2"),
    ] {
        let uid = tcp_peer_uid(peer.parse().unwrap(), local.parse().unwrap());
        assert_eq!(uid, PeerUid::Unknown, "{peer} {local}");
    }
}

#[test]
fn another_user_is_seen_as_that_user() {
    if let Ok(address) = std::env::var(CONNECT) {
        // We are the child, as nobody.
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"x").unwrap();
        let _ = stream.read(&mut [0]);
        return;
    }
    if me() != 0 {
        eprintln!("skipped another_user_is_seen_as_that_user: needs root to become another user");
        return;
    }
    let listener = listener("127.0.0.1:0").unwrap();
    // A copy that nobody may run, whatever folder the build is in.
    let dir = tempfile::Builder::new()
        .prefix("sm-peer")
        .tempdir_in("/tmp")
        .unwrap();
    let program = dir.path().join("peer-test");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    rustix::fs::chmod(dir.path(), 0o755.into()).unwrap();
    let mut child = Command::new(&program)
        .args(["--exact", "another_user_is_seen_as_that_user"])
        .env(CONNECT, listener.local_addr().unwrap().to_string())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .uid(NOBODY)
        .gid(NOBODY)
        .spawn()
        .unwrap();
    let (mut server, peer) = listener.accept().unwrap();
    server.read_exact(&mut [0]).unwrap();
    let local = server.local_addr().unwrap();
    assert_eq!(tcp_peer_uid(peer, local), PeerUid::Uid(NOBODY));
    drop(server);
    assert!(child.wait().unwrap().success());
}

#[tokio::test]
async fn a_unix_socket_says_who() {
    let (ours, _theirs) = tokio::net::UnixStream::pair().unwrap();
    assert_eq!(unix_peer_uid(&ours), Some(me()));
}
