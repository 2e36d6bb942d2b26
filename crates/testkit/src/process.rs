//! Processes by id and start time, so that a reused id is never taken for the same process.
//!
//! Looks into `/proc`; where there is none, a process is known by its id alone.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// A process that was seen alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: Pid,
    start: Option<u64>,
}

impl Process {
    /// The process that has this id now.
    pub fn find(pid: Pid) -> Option<Self> {
        test_kill_process(pid).ok()?;
        Some(Self {
            pid,
            start: stat(pid).map(|(_, start)| start),
        })
    }

    /// When it was started, by a clock of the system's own, where that is known.
    pub fn start(&self) -> Option<u64> {
        self.start
    }

    /// Whether it still runs; one that has ended and was not yet waited for does not. Its first thread
    /// ends before the others: as long as one of them is there, so are its open sockets.
    pub fn is_alive(&self) -> bool {
        match stat(self.pid) {
            Some((state, start)) => {
                Some(start) == self.start && (state != 'Z' || has_other_threads(self.pid))
            }
            None => self.start.is_none() && test_kill_process(self.pid).is_ok(),
        }
    }

    /// Kills it, unless it has ended.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Sends it a signal, unless it has ended.
    pub fn signal(&self, signal: Signal) {
        if self.is_alive() {
            // it may have ended in this moment
            let _ = kill_process(self.pid, signal);
        }
    }

    /// Every process of ours whose environment has this value.
    pub fn with_env(name: &str, value: &std::ffi::OsStr) -> Vec<Self> {
        let mut entry = OsString::from(name);
        entry.push("=");
        entry.push(value);
        let own = std::process::id();
        let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = folders.filter_map(|folder| folder.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| u32::try_from(*pid) != Ok(own))
            .filter(|pid| {
                // unreadable: not ours, or gone
                let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                environ
                    .split(|byte| *byte == 0)
                    .any(|item| OsString::from_vec(item.to_vec()) == entry)
            })
            .filter_map(|pid| Self::find(Pid::from_raw(pid)?))
            .filter(Self::is_alive)
            .collect()
    }
}

fn has_other_threads(pid: Pid) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
    threads.is_ok_and(|threads| threads.count() > 1)
}

/// State letter and start time.
fn stat(pid: Pid) -> Option<(char, u64)> {
    let path = PathBuf::from(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let stat = std::fs::read_to_string(path).ok()?;
    // the name in parentheses may hold anything
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_found_by_its_environment_and_ends() {
        let value = format!("v{}", std::process::id());
        let mut child = Command::new("sleep")
            .arg("600")
            .env("TK_PROCESS_TEST", &value)
            .spawn()
            .unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        let found = crate::wait_until(std::time::Duration::from_secs(10), || {
            Process::with_env("TK_PROCESS_TEST", value.as_ref()).pop()
        });
        let found = found.unwrap();
        assert_eq!(found.pid, pid);
        assert!(found.is_alive());
        let reused = Process {
            pid,
            start: found.start.map(|start| start + 1),
        };
        assert!(!reused.is_alive(), "another start time is another process");
        found.kill();
        child.wait().unwrap();
        assert!(!found.is_alive());
    }
}
