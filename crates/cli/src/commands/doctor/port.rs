//! Who has the port.

use std::net::{Ipv4Addr, TcpListener};

use super::Check;
use crate::text::one_line;

/// Whether the daemon could have its port, when none runs.
pub fn check_free(port: u16) -> Option<Check> {
    if port == 0 {
        return None;
    }
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Some(Check::ok("port", format!("{port} is free"))),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Some(not_served(port)),
        Err(error) => Some(Check::warning(
            "port",
            format!("{port} cannot be had: {error}"),
            "set another one: SM_PORT, or [daemon] port in the configuration",
        )),
    }
}

/// The daemon runs without its port, or would.
pub fn not_served(port: u16) -> Check {
    let remedy = "sm goes on with its socket. For the port: end that program, or set another one \
                  with SM_PORT or `port` in the configuration, then sm stop";
    match owner(port) {
        Some(owner) => Check::warning("port", format!("{port} is taken by {owner}"), remedy),
        None => Check::warning("port", format!("{port} is taken"), remedy),
    }
}

/// Who listens on a port of this machine, as far as we may know.
#[cfg(target_os = "linux")]
fn owner(port: u16) -> Option<String> {
    let inodes: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| std::fs::read_to_string(table).ok())
        .flat_map(|table| listening(&table, port))
        .collect();
    if inodes.is_empty() {
        return None;
    }
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(fds) = std::fs::read_dir(entry.path().join("fd")) else {
            continue;
        };
        let holds = fds.flatten().any(|fd| {
            std::fs::read_link(fd.path()).is_ok_and(|to| {
                to.to_str()
                    .and_then(|to| to.strip_prefix("socket:[")?.strip_suffix(']'))
                    .is_some_and(|inode| inodes.iter().any(|one| one == inode))
            })
        });
        if holds {
            let program = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            return Some(format!("{} (pid {pid})", one_line(program.trim())));
        }
    }
    Some("a program of another user".to_owned())
}

#[cfg(not(target_os = "linux"))]
fn owner(port: u16) -> Option<String> {
    let output = std::process::Command::new("lsof")
        .args(["-nP", "-Fpc", &format!("-iTCP:{port}"), "-sTCP:LISTEN"])
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let field = |mark: char| said.lines().find_map(|line| line.strip_prefix(mark));
    Some(format!(
        "{} (pid {})",
        one_line(field('c')?),
        one_line(field('p')?)
    ))
}

/// The inodes of the sockets that listen on a port, of a table of the kernel.
#[cfg(target_os = "linux")]
fn listening(table: &str, port: u16) -> Vec<String> {
    const LISTEN: &str = "0A";
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
            let (_, found) = local.rsplit_once(':')?;
            (*state == LISTEN && u16::from_str_radix(found, 16) == Ok(port))
                .then(|| (*inode).to_owned())
        })
        .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn the_kernels_table_is_read() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:20E4 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0
   1: 0100007F:20E4 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 100 0 0 10 0
   2: broken";
        assert_eq!(listening(table, 8420), ["4711"]);
        assert!(listening(table, 8421).is_empty());
    }

    #[test]
    fn a_taken_port_is_named_with_its_owner() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let check = check_free(port).unwrap();
        assert_eq!(check.verdict, Verdict::Warning);
        let own = format!("(pid {})", std::process::id());
        assert!(check.text.contains(&own), "{}", check.text);
    }
}
