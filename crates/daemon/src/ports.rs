//! Who listens on a port: for the message that it is taken. Best effort, Linux only; elsewhere
//! nobody is named.

use std::fs;

/// The program that listens on this port of 127.0.0.1, as `name (pid N)`.
pub fn listener(port: u16) -> Option<String> {
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .find_map(|table| {
            let text = fs::read_to_string(table).ok()?;
            text.lines().find_map(|line| listening_inode(line, port))
        })?;
    let wanted = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?;
    processes.flatten().find_map(|process| {
        let pid: u32 = process.file_name().to_str()?.parse().ok()?;
        let files = fs::read_dir(process.path().join("fd")).ok()?;
        let owns = files.flatten().any(|file| {
            fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == wanted.as_str())
        });
        owns.then(|| {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            format!("{} (pid {pid})", name.trim_end())
        })
    })
}

/// The socket's inode, if this line of the table is a listener on the port.
fn listening_inode(line: &str, port: u16) -> Option<u64> {
    const LISTEN: &str = "0A";
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
    let same = u16::from_str_radix(local_port, 16).ok()? == port;
    (same && *fields.get(3)? == LISTEN).then(|| fields.get(9)?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_is_read() {
        let line = "   0: 0100007F:20E4 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0";
        assert_eq!(listening_inode(line, 8420), Some(12345));
        assert_eq!(listening_inode(line, 8421), None);
        assert_eq!(
            listening_inode("  sl  local_address rem_address", 8420),
            None
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn our_own_listener_is_found() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let who = listener(port).unwrap();
        assert!(
            who.contains(&format!("pid {}", std::process::id())),
            "{who}"
        );
    }
}
