//! What the daemon asks the operating system about processes. Linux answers from `/proc`; elsewhere
//! nothing is known, and whoever asks goes on without: a hook's origin is decided by its conversation,
//! and what an agent left running in its terminal ends with the terminal.

#[cfg(target_os = "linux")]
mod system {
    /// The process's name; None if it is gone.
    pub fn process_name(pid: u32) -> Option<String> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(text.trim_end().to_string())
    }

    /// All processes of the terminal session that this process leads.
    pub fn terminal_session(leader: u32) -> Vec<u32> {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid| session_of(*pid) == Some(leader))
            .collect()
    }

    /// Field 6 of /proc/PID/stat, behind the name that may hold anything.
    fn session_of(pid: u32) -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_ascii_whitespace().nth(3)?.parse().ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub fn process_name(_pid: u32) -> Option<String> {
        None
    }

    pub fn terminal_session(_leader: u32) -> Vec<u32> {
        Vec::new()
    }
}

pub use system::{process_name, terminal_session};
