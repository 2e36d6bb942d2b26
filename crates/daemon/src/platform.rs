//! What the daemon asks the operating system about processes. Linux answers from `/proc`; elsewhere
//! nothing is known, and whoever asks goes on without: a hook's origin is decided by its conversation,
//! and what an agent left running in its terminal ends with the terminal.

use std::path::PathBuf;

#[cfg(target_os = "linux")]
mod system {
    use super::PathBuf;

    /// The process's name; None if it is gone.
    pub fn process_name(pid: u32) -> Option<String> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(text.trim_end().to_string())
    }

    /// The program that it runs, whatever it calls itself: of a script, its shell.
    pub fn program_name(pid: u32) -> Option<String> {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        Some(program.file_name()?.to_string_lossy().into_owned())
    }

    /// By which name it was started: the last part of its first argument.
    pub fn started_as(pid: u32) -> Option<String> {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let first = line.split(|byte| *byte == 0).next()?;
        let name = first.rsplit(|byte| *byte == b'/').next()?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// All processes of the terminal session that this process leads.
    pub fn terminal_session(leader: u32) -> Vec<u32> {
        pids()
            .filter(|pid| field(*pid, 3) == Some(leader))
            .collect()
    }

    /// All processes that this one has started, and what those have started.
    pub fn descendants(of: u32) -> Vec<u32> {
        let parents: Vec<(u32, u32)> = pids()
            .filter_map(|pid| Some((pid, field(pid, 1)?)))
            .collect();
        let mut found = vec![of];
        let mut at = 0;
        while let Some(parent) = found.get(at).copied() {
            let children = parents.iter().filter(|(_, of)| *of == parent);
            let new: Vec<u32> = children.map(|(pid, _)| *pid).collect();
            found.extend(new.into_iter().filter(|pid| *pid != of));
            at += 1;
        }
        found.split_off(1)
    }

    /// Those that this one has started itself.
    pub fn children(of: u32) -> Vec<u32> {
        let listed = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children"));
        let listed = listed.unwrap_or_default();
        let pids = listed.split_ascii_whitespace();
        pids.filter_map(|pid| pid.parse().ok()).collect()
    }

    /// The files a process has open.
    pub fn open_files(pid: u32) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd"));
        let entries = entries.into_iter().flatten().flatten();
        entries
            .filter_map(|entry| std::fs::read_link(entry.path()).ok())
            .collect()
    }

    /// Whether a process takes nothing that is typed for it, because it is stopped. Keys that lie
    /// unread in its terminal say nothing: Codex leaves some there until something else wakes it.
    pub fn is_deaf(pid: u32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
        state.is_some_and(|state| state.starts_with(['T', 't']))
    }

    fn pids() -> impl Iterator<Item = u32> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
    }

    /// A number of /proc/PID/stat, counted from behind the name, which may hold anything.
    fn field(pid: u32, at: usize) -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_ascii_whitespace().nth(at)?.parse().ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::PathBuf;

    pub fn process_name(_pid: u32) -> Option<String> {
        None
    }

    pub fn program_name(_pid: u32) -> Option<String> {
        None
    }

    pub fn started_as(_pid: u32) -> Option<String> {
        None
    }

    pub fn terminal_session(_leader: u32) -> Vec<u32> {
        Vec::new()
    }

    pub fn descendants(_of: u32) -> Vec<u32> {
        Vec::new()
    }

    pub fn children(_of: u32) -> Vec<u32> {
        Vec::new()
    }

    pub fn open_files(_pid: u32) -> Vec<PathBuf> {
        Vec::new()
    }

    pub fn is_deaf(_pid: u32) -> bool {
        false
    }
}

pub use system::{
    children, descendants, is_deaf, open_files, process_name, program_name, started_as,
    terminal_session,
};

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::process::{Pid, Signal, kill_process};

    #[test]
    fn a_process_that_is_stopped_takes_nothing() {
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .stdin(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        let soon = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let becomes = |deaf: bool| {
            while is_deaf(child.id()) != deaf {
                assert!(std::time::Instant::now() < soon, "never: {deaf}");
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        };
        becomes(false);
        kill_process(pid, Signal::STOP).unwrap();
        becomes(true);
        kill_process(pid, Signal::CONT).unwrap();
        becomes(false);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_deaf(u32::MAX));
    }
}
