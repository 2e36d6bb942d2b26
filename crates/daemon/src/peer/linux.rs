//! The owner of a TCP socket on Linux: `sock_diag` over netlink, else `/proc/net/tcp`.
//!
//! The request asks for exactly one socket, the client's end of the connection. The kernel falls
//! back to a listening socket when there is no such connection, so that an answer counts only if it
//! is about the very same four addresses, established, and held by a process (inode).

use super::TcpClient;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recvfrom, sendto, socket_with,
};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const TCP_ESTABLISHED: u8 = 1;
const TCP_LISTEN: u8 = 10;

/// nlmsghdr.
const HEADER: usize = 16;
/// inet_diag_req_v2: 8 bytes and an inet_diag_sockid.
const REQUEST: usize = HEADER + 8 + 48;
/// inet_diag_msg: 4 bytes, an inet_diag_sockid, 5 numbers.
const ANSWER: usize = HEADER + 4 + 48 + 20;
/// Any number: the socket is ours alone and asks once.
const SEQUENCE: u32 = 1;
/// Lines of /proc/net/tcp that are read at most.
const MOST_LINES: usize = 100_000;

/// Whether netlink has ever answered about a socket. "No such socket" is also what a kernel without
/// the module says, so that until then it does not count.
static ANSWERS: AtomicBool = AtomicBool::new(false);

pub(super) fn owner(client: SocketAddr, server: SocketAddr) -> Option<u32> {
    match ask_netlink(client, server) {
        Ok(owner) => owner,
        Err(Errno::NOENT) if ANSWERS.load(Ordering::Relaxed) => None,
        Err(_) => ask_proc(client, server),
    }
}

/// `Ok(None)`: there is such a socket, but nobody to vouch for it.
fn ask_netlink(client: SocketAddr, server: SocketAddr) -> Result<Option<u32>, Errno> {
    let netlink = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(
        &netlink,
        &request(client, server),
        SendFlags::empty(),
        &kernel,
    )?;
    // The kernel answers inside the call that asks: there is nothing to wait for.
    for _ in 0..4 {
        let mut buffer = [0u8; 1024];
        let (_, length, from) = recvfrom(&netlink, &mut buffer[..], RecvFlags::DONTWAIT)?;
        let from = from.ok_or(Errno::BADMSG)?;
        if SocketAddrNetlink::try_from(from)?.pid() != 0 {
            continue;
        }
        let answer = buffer.get(..length).ok_or(Errno::BADMSG)?;
        return read_answer(answer, client, server);
    }
    Err(Errno::BADMSG)
}

fn request(client: SocketAddr, server: SocketAddr) -> [u8; REQUEST] {
    let mut out = [0u8; REQUEST];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        if let Some(place) = out.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
        at += bytes.len();
    };
    put(&(REQUEST as u32).to_ne_bytes());
    put(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    put(&NLM_F_REQUEST.to_ne_bytes());
    put(&SEQUENCE.to_ne_bytes());
    put(&0u32.to_ne_bytes());
    put(&[family(client), IPPROTO_TCP, 0, 0]);
    put(&(1u32 << TCP_ESTABLISHED).to_ne_bytes());
    // As the client's socket sees it: its own address is the source.
    put(&client.port().to_be_bytes());
    put(&server.port().to_be_bytes());
    put(&address(client.ip()));
    put(&address(server.ip()));
    put(&0u32.to_ne_bytes()); // any interface
    put(&[0xff; 8]); // no cookie
    out
}

fn read_answer(
    answer: &[u8],
    client: SocketAddr,
    server: SocketAddr,
) -> Result<Option<u32>, Errno> {
    let u16_at = |at: usize| bytes_at(answer, at).map(u16::from_ne_bytes);
    let u32_at = |at: usize| bytes_at(answer, at).map(u32::from_ne_bytes);
    let kind = u16_at(4).ok_or(Errno::BADMSG)?;
    if u32_at(8) != Some(SEQUENCE) {
        return Err(Errno::BADMSG);
    }
    if kind == NLMSG_ERROR {
        let code = bytes_at(answer, HEADER).map(i32::from_ne_bytes);
        return Err(match code {
            Some(code) if code < 0 => Errno::from_raw_os_error(code.saturating_neg()),
            Some(_) | None => Errno::BADMSG,
        });
    }
    if kind != SOCK_DIAG_BY_FAMILY || answer.len() < ANSWER {
        return Err(Errno::BADMSG);
    }
    ANSWERS.store(true, Ordering::Relaxed);
    let diag = answer.get(HEADER..).unwrap_or_default();
    let state = diag.get(1).copied();
    let uid = u32_at(HEADER + 64);
    let inode = u32_at(HEADER + 68);
    let same = ends(diag) == Some((client, server));
    if same && state == Some(TCP_ESTABLISHED) && inode != Some(0) {
        return Ok(uid);
    }
    Ok(None)
}

/// The addresses an answer is about.
fn ends(diag: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let ip = |at: usize| -> Option<IpAddr> {
        match *diag.first()? {
            AF_INET => Some(Ipv4Addr::from(bytes_at::<4>(diag, at)?).into()),
            AF_INET6 => {
                Some(IpAddr::from(Ipv6Addr::from(bytes_at::<16>(diag, at)?)).to_canonical())
            }
            _ => None,
        }
    };
    let port = |at: usize| bytes_at(diag, at).map(u16::from_be_bytes);
    Some((
        SocketAddr::new(ip(8)?, port(4)?),
        SocketAddr::new(ip(24)?, port(6)?),
    ))
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn family(address: SocketAddr) -> u8 {
    match address {
        SocketAddr::V4(_) => AF_INET,
        SocketAddr::V6(_) => AF_INET6,
    }
}

/// 16 bytes in network order; an IPv4 address is in the first four.
fn address(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        }
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// For kernels without `sock_diag`. A client's IPv6 socket can be connected to an IPv4 address, so
/// that both tables are read.
fn ask_proc(client: SocketAddr, server: SocketAddr) -> Option<u32> {
    find_row(|row| {
        let ours = row.from == client && row.to == server;
        (ours && row.state == TCP_ESTABLISHED && row.inode != 0).then_some(row.uid)
    })
}

/// The process at the client's end, where we may look into it. An end that its process has half closed
/// is still its process's; one that nobody holds has no inode.
pub(super) fn client_process(client: SocketAddr, server: SocketAddr) -> TcpClient {
    let held = |from: SocketAddr, to: SocketAddr| {
        find_row(|row| {
            let same = row.from == from && row.to == to && row.state != TCP_LISTEN;
            (same && row.inode != 0).then_some(row.inode)
        })
    };
    let Some(inode) = held(client, server) else {
        // If our own end is listed, the other one would be.
        return match held(server, client) {
            Some(_) => TcpClient::Gone,
            None => TcpClient::Unknown,
        };
    };
    match holder(inode) {
        Some(pid) => TcpClient::Process(pid),
        None if held(client, server) == Some(inode) => TcpClient::Unknown,
        None => TcpClient::Gone, // meanwhile
    }
}

/// The program that holds the listening socket, where we may look; else its user.
pub(super) fn listener_of(port: u16) -> Option<String> {
    let (uid, inode) = find_row(|row| {
        let there = row.from.ip().is_loopback() || row.from.ip().is_unspecified();
        (there && row.from.port() == port && row.state == TCP_LISTEN)
            .then_some((row.uid, row.inode))
    })?;
    let Some(pid) = holder(inode) else {
        return Some(format!("a program of the user with uid {uid}"));
    };
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name: String = name.trim().chars().filter(|c| !c.is_control()).collect();
    Some(format!("{name} (pid {pid})"))
}

/// The first process that has the socket open.
fn holder(inode: u64) -> Option<u32> {
    let wanted = format!("socket:[{inode}]");
    for process in std::fs::read_dir("/proc").ok()?.flatten() {
        let Ok(pid) = process.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        // Other users' processes cannot be looked into.
        let Ok(files) = std::fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        let holds = files
            .flatten()
            .filter_map(|file| std::fs::read_link(file.path()).ok())
            .any(|target| target.as_os_str() == wanted.as_str());
        if holds {
            return Some(pid);
        }
    }
    None
}

/// One line of `/proc/net/tcp`.
struct Row {
    from: SocketAddr,
    to: SocketAddr,
    state: u8,
    uid: u32,
    inode: u64,
}

fn find_row<T>(mut wanted: impl FnMut(Row) -> Option<T>) -> Option<T> {
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let Ok(table) = std::fs::File::open(table) else {
            continue;
        };
        let found = BufReader::new(table)
            .lines()
            .take(MOST_LINES)
            .map_while(Result::ok)
            .filter_map(|line| read_row(&line))
            .find_map(&mut wanted);
        if found.is_some() {
            return found;
        }
    }
    None
}

fn read_row(line: &str) -> Option<Row> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let from = read_address(fields.next()?)?;
    let to = read_address(fields.next()?)?;
    let state = u8::from_str_radix(fields.next()?, 16).ok()?;
    // Queues, timer and retransmissions come before the user, the timeout before the inode.
    let uid = fields.nth(3)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    Some(Row {
        from,
        to,
        state,
        uid,
        inode,
    })
}

/// `0100007F:20E4`: each group of 8 digits is a number in the machine's byte order.
fn read_address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |n: usize| {
        let digits = ip.get(n * 8..n * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let ip: IpAddr = match ip.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let mut bytes = [0u8; 16];
            for (n, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(n)?);
            }
            IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn me() -> u32 {
        rustix::process::getuid().as_raw()
    }

    #[test]
    fn both_ways_find_the_owner_and_agree() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                eprintln!("skipped: no {address} here");
                continue;
            };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, peer) = listener.accept().unwrap();
            let local = server.local_addr().unwrap();
            assert_eq!(ask_netlink(peer, local), Ok(Some(me())), "{address}");
            assert_eq!(ask_proc(peer, local), Some(me()), "{address}");
            drop(client);
        }
    }

    #[test]
    fn a_client_that_has_ended_is_told_from_one_that_cannot_be_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let local = server.local_addr().unwrap();
        let here = TcpClient::Process(std::process::id());
        assert_eq!(client_process(peer, local), here);
        client.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(client_process(peer, local), here, "it still reads");
        drop(client);
        assert_eq!(client_process(peer, local), TcpClient::Gone);
        let nobody = SocketAddr::new(local.ip(), 1);
        assert_eq!(client_process(nobody, local), TcpClient::Unknown);
    }

    #[test]
    fn a_listener_is_not_taken_for_the_client() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let nobody = SocketAddr::new(address.ip(), 1);
        // The kernel answers a question about (listener, nobody) with the listener itself.
        assert!(!matches!(ask_netlink(address, nobody), Ok(Some(_))));
        assert_eq!(ask_proc(address, nobody), None);
    }

    #[test]
    fn lines_of_proc_are_read() {
        let ip = u32::from_ne_bytes([127, 0, 0, 1]);
        let row = read_row(&format!(
            "   3: {ip:08X}:D26E {ip:08X}:20E4 06 00000000:00000000 00:00000000 00000000  1000        0 77 3 0"
        ))
        .unwrap();
        assert_eq!(row.from, "127.0.0.1:53870".parse().unwrap());
        assert_eq!(row.to, "127.0.0.1:8420".parse().unwrap());
        assert_eq!((row.state, row.uid, row.inode), (6, 1000, 77));
        for text in [
            "",
            "  sl  local_address rem_address   st tx_queue",
            "0: é:1 2:3 01",
            "0: 0100007F:1 0100007F:2 01 0:0 0:0 0 -5 0 1",
        ] {
            assert!(read_row(text).is_none(), "{text}");
        }
    }

    #[test]
    fn who_listens_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let who = listener_of(listener.local_addr().unwrap().port()).unwrap();
        let me = format!("(pid {})", std::process::id());
        assert!(who.ends_with(&me), "{who}");
        assert_eq!(listener_of(0), None);
    }

    #[test]
    fn broken_answers_are_errors() {
        let client: SocketAddr = "127.0.0.1:1".parse().unwrap();
        for length in 0..ANSWER {
            let mut bytes = vec![0u8; length];
            assert!(read_answer(&bytes, client, client).is_err());
            bytes.fill(0xff);
            assert!(read_answer(&bytes, client, client).is_err());
        }
    }
}
