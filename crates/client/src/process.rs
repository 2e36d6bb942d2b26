//! Process identities: a pid alone can be someone else by now, a pid with its start time cannot.
//!
//! Nothing here signals or ends a process.

use std::fmt;
use std::os::unix::process::parent_id;

/// How many ancestors a hook tells.
pub const MAX_ANCESTORS: usize = 6;

/// One process for certain. `start` is in clock ticks since boot (field 22 of
/// `/proc/<pid>/stat`); 0 where the system does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Process {
    pub pid: u32,
    pub start: u64,
}

impl Process {
    /// The process that has this pid now; `None` if there is none (a zombie is none).
    pub fn of(pid: u32) -> Option<Self> {
        look(pid).map(|found| found.process)
    }

    /// This process.
    pub fn this() -> Option<Self> {
        Self::of(std::process::id())
    }

    /// The parent of this process, if it is not the system's first process.
    pub fn parent() -> Option<Self> {
        let pid = parent_id();
        if pid > 1 { Self::of(pid) } else { None }
    }

    /// Whether exactly this process still runs.
    pub fn is_alive(&self) -> bool {
        Self::of(self.pid).is_some_and(|now| now == *self)
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.pid, self.start)
    }
}

/// The ancestors of this process, nearest first, without the system's first process. Where the
/// system does not tell, only the parent.
pub fn ancestors(max: usize) -> Vec<Process> {
    lineage(parent_id(), max)
}

/// That process and its ancestors, nearest first, as [`ancestors`].
pub fn lineage(pid: u32, max: usize) -> Vec<Process> {
    let mut chain = Vec::new();
    let mut pid = pid;
    while pid > 1 && chain.len() < max {
        let Some(found) = look(pid) else { break };
        chain.push(found.process);
        pid = found.parent;
    }
    chain
}

/// When the process of that pid started, also if it has ended and its parent has not looked yet.
pub fn start_time(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.start)
}

/// As `x-sm-ancestors` says it.
pub fn ancestors_header(chain: &[Process]) -> String {
    let told: Vec<String> = chain.iter().map(Process::to_string).collect();
    told.join(",")
}

struct Stat {
    start: u64,
    /// 0 where the system does not tell.
    parent: u32,
    /// It holds a pid, but nothing runs.
    zombie: bool,
}

struct Found {
    process: Process,
    parent: u32,
}

fn look(pid: u32) -> Option<Found> {
    let stat = stat(pid).filter(|stat| !stat.zombie)?;
    Some(Found {
        process: Process {
            pid,
            start: stat.start,
        },
        parent: stat.parent,
    })
}

#[cfg(target_os = "linux")]
fn stat(pid: u32) -> Option<Stat> {
    use std::io::Read;
    // The line is far shorter; a short read is no concern in /proc.
    let mut buffer = [0; 1024];
    let read = std::fs::File::open(format!("/proc/{pid}/stat"))
        .and_then(|mut file| file.read(&mut buffer))
        .ok()?;
    let (state, parent, start) = parse_stat(&buffer[..read])?;
    Some(Stat {
        start,
        parent,
        zombie: matches!(state, b'Z' | b'X' | b'x'),
    })
}

#[cfg(not(target_os = "linux"))]
fn stat(pid: u32) -> Option<Stat> {
    crate::platform::process_exists(pid).then_some(Stat {
        start: 0,
        parent: 0,
        zombie: false,
    })
}

/// State, parent and start time of a `/proc/<pid>/stat` line. The name is in parentheses and
/// may itself hold spaces and parentheses, so everything counts from the last one.
#[cfg(any(target_os = "linux", test))]
fn parse_stat(line: &[u8]) -> Option<(u8, u32, u64)> {
    let name_end = line.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&line[name_end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.bytes().next()?;
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some((state, parent, start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn reads_the_stat_line_behind_any_name() {
        let tail = "S 41 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 200";
        for name in ["sh", "a b", ") S 1 (", "((("] {
            let line = format!("42 ({name}) {tail}");
            assert_eq!(
                parse_stat(line.as_bytes()),
                Some((b'S', 41, 98765)),
                "{name}"
            );
        }
        for bad in [
            "",
            "42 (sh",
            "42 (sh)",
            "42 (sh) S",
            "42 (sh) S x 1",
            "42 (sh) S 41 1 2 3",
        ] {
            assert_eq!(parse_stat(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_process_is_itself_until_it_ends() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        assert!(process.is_alive());
        assert_eq!(start_time(child.id()), Some(process.start));
        let other = Process {
            start: process.start + 1,
            ..process
        };
        assert!(!other.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.is_alive());
        assert_eq!(start_time(child.id()), None);
    }

    #[test]
    fn ancestors_start_with_the_parent() {
        let chain = ancestors(MAX_ANCESTORS);
        assert_eq!(chain.first().copied(), Process::parent());
        assert!(chain.len() <= MAX_ANCESTORS);
        assert!(
            chain
                .iter()
                .all(|process| process.pid > 1 && process.is_alive())
        );
        let told = ancestors_header(&chain);
        assert_eq!(
            told.split(',').filter(|part| !part.is_empty()).count(),
            chain.len()
        );
    }
}
