//! A clean environment for one test: fresh home and `SM_HOME`, nothing inherited, nothing left
//! behind.
//!
//! Dropping it ends what was started in it: the daemon, the tmux server, and every process whose
//! environment names this `SM_HOME`. Only a process that carries that mark is ever signalled, and
//! only while it has the start time it was found with. Where there is no `/proc` to look into, the
//! daemon is asked to stop instead.

use std::ffi::OsStr;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::process::Process;
use crate::wait_until;

/// How long processes may take to end by themselves.
const GRACE: Duration = Duration::from_secs(3);

/// Why an environment could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CleanError {
    /// No temporary folder.
    #[error("making a temporary folder under /tmp")]
    Folder(#[source] io::Error),
    /// A program that the test needs was not built.
    #[error("{name} is not built: looked for {looked} (run cargo build --workspace --bins first)")]
    NotBuilt {
        /// The program.
        name: String,
        /// Where it should be.
        looked: String,
    },
}

/// One test's environment.
pub struct CleanEnv {
    dir: TempDir,
    home: PathBuf,
    sm_home: PathBuf,
    extra: Vec<(String, String)>,
}

impl CleanEnv {
    /// Makes the folders: `<dir>/home`, `<dir>/sm`, `<dir>/home/project`. The path is short, so
    /// that sockets below it fit.
    pub fn new() -> Result<Self, CleanError> {
        let dir = tempfile::Builder::new()
            .prefix("tk-")
            .tempdir_in("/tmp")
            .map_err(CleanError::Folder)?;
        let (home, sm_home) = (dir.path().join("home"), dir.path().join("sm"));
        for folder in [&home.join("project"), &sm_home] {
            std::fs::create_dir_all(folder).map_err(CleanError::Folder)?;
        }
        Ok(Self {
            dir,
            home,
            sm_home,
            extra: Vec::new(),
        })
    }

    /// The folder that holds everything.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// `$HOME`.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// `$SM_HOME`.
    pub fn sm_home(&self) -> &Path {
        &self.sm_home
    }

    /// A working directory for agents.
    pub fn project(&self) -> PathBuf {
        self.home.join("project")
    }

    /// The socket of this environment's tmux server.
    pub fn tmux_socket(&self) -> PathBuf {
        self.sm_home.join("state/tmux.sock")
    }

    /// Sets a variable for every command from now on.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.extra.retain(|(n, _)| n != name);
        self.extra.push((name.to_owned(), value.into()));
    }

    /// Takes a variable back that was set.
    pub fn unset(&mut self, name: &str) {
        self.extra.retain(|(n, _)| n != name);
    }

    /// Gives its daemon a port that no other instance has: below those that the system gives away by
    /// itself, and by our own process number.
    ///
    /// # Errors
    /// If there is none.
    pub fn serve_tcp(&mut self) -> io::Result<u16> {
        let first = 20_000 + u16::try_from(std::process::id() % 9_000).unwrap_or_default();
        let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
        let port = (first..first + 1_000)
            .find(free)
            .ok_or_else(|| io::Error::other("no port is free"))?;
        self.set("SM_PORT", port.to_string());
        Ok(port)
    }

    /// The whole environment commands run with.
    pub fn env(&self) -> Vec<(String, String)> {
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into());
        // programs of ours find each other there, before any installed ones
        let path = target_dir().map_or(path.clone(), |dir| format!("{}:{path}", dir.display()));
        let mut env: Vec<(String, String)> = [
            ("HOME", self.home.to_string_lossy().into_owned()),
            ("SM_HOME", self.sm_home.to_string_lossy().into_owned()),
            ("PATH", path),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "xterm-256color".into()),
            ("SHELL", "/bin/sh".into()),
            // a free port: tests run side by side
            ("SM_PORT", "0".into()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        env.retain(|(name, _)| !self.extra.iter().any(|(n, _)| n == name));
        env.extend(self.extra.iter().cloned());
        env
    }

    /// A command with this environment and nothing else, in the project's folder.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(self.env())
            .current_dir(self.project())
            .stdin(Stdio::null());
        command
    }

    /// The `sm` that was built with the tests.
    pub fn sm(&self) -> Result<Command, CleanError> {
        Ok(self.command(binary("sm")?))
    }

    /// Where the fake agent, started by `sm` in this environment, records what it was given, once
    /// [`record_fake_agents`](Self::record_fake_agents) was called.
    pub fn fake_agent_log(&self) -> PathBuf {
        self.path().join("fake-agent.jsonl")
    }

    /// Lets fake agents started from here record what they are given.
    pub fn record_fake_agents(&mut self) {
        let log = self.fake_agent_log().to_string_lossy().into_owned();
        self.set("FAKE_AGENT_LOG", log);
    }

    /// The lines fake agents recorded so far: conversation, kind and text.
    pub fn fake_agent_records(&self) -> Vec<Record> {
        let text = std::fs::read_to_string(self.fake_agent_log()).unwrap_or_default();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Every process that carries this environment's mark.
    pub fn processes(&self) -> Vec<Process> {
        Process::with_env("SM_HOME", self.sm_home.as_os_str())
    }

    fn end_everything(&self) {
        // hooks of agents that are being ended must not start the daemon again
        let _ = std::fs::write(self.sm_home.join("state/stopped"), "");
        let socket = self.tmux_socket();
        if socket.exists() {
            let mut tmux = self.command("tmux");
            tmux.arg("-S")
                .arg(socket)
                .arg("kill-server")
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let _ = tmux.status();
        }
        if !Path::new("/proc/self/environ").exists()
            && let Ok(mut sm) = self.sm()
        {
            let _ = sm
                .arg("stop")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
        // the daemon is among them: it was started with this SM_HOME, whoever started it
        for signal in [Signal::TERM, Signal::KILL] {
            self.processes().iter().for_each(|process| {
                process.signal(signal);
                // a stopped process takes no other signal
                process.signal(Signal::CONT);
            });
            if wait_until(GRACE, || self.processes().is_empty().then_some(())).is_some() {
                return;
            }
        }
    }
}

impl Drop for CleanEnv {
    fn drop(&mut self) {
        self.end_everything();
    }
}

/// One text a fake agent's "model" was given.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct Record {
    /// The conversation it was given in.
    pub conversation: String,
    /// The way it came.
    pub kind: RecordKind,
    /// Exactly as given.
    pub text: String,
}

/// The ways a text reaches a fake agent's "model".
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// Typed or pasted, or given on the command line.
    Prompt,
    /// Answered by a hook.
    HookContext,
    /// Answered by a Stop hook.
    StopFeedback,
    /// From a background hook.
    Mailbox,
}

/// A program that was built with the tests.
pub fn binary(name: &str) -> Result<PathBuf, CleanError> {
    let found = target_dir().map(|dir| dir.join(name));
    match found {
        Some(path) if path.is_file() => Ok(path),
        other => {
            let looked = other.map_or_else(
                || "next to the test".to_owned(),
                |path| path.display().to_string(),
            );
            Err(CleanError::NotBuilt {
                name: name.to_owned(),
                looked,
            })
        }
    }
}

/// `target/<profile>`, seen from a test (`…/deps/<test>`), an example or a program in it.
fn target_dir() -> Option<PathBuf> {
    let mut dir = std::env::current_exe().ok()?;
    dir.pop();
    if dir.ends_with("deps") || dir.ends_with("examples") {
        dir.pop();
    }
    Some(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_inherit_nothing_and_end_with_the_environment() {
        let mut env = CleanEnv::new().unwrap();
        env.set("EXTRA", "1");
        let output = env.command("env").output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.lines().any(|line| line == "EXTRA=1"));
        assert!(
            !shown.lines().any(|line| line.starts_with("CARGO")),
            "{shown}"
        );
        let mut child = env.command("sleep").arg("600").spawn().unwrap();
        wait_until(Duration::from_secs(10), || {
            (!env.processes().is_empty()).then_some(())
        })
        .unwrap();
        let folder = env.path().to_owned();
        drop(env);
        assert!(child.try_wait().unwrap().is_some(), "it was ended");
        assert!(!folder.exists());
    }

    #[test]
    fn what_is_not_built_is_named() {
        let error = binary("no-such-program").unwrap_err().to_string();
        assert!(
            error.contains("no-such-program is not built") && error.contains("cargo build"),
            "{error}"
        );
    }
}
