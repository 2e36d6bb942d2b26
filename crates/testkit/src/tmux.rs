//! A throw-away tmux server for tests that look at an agent program from outside.
//!
//! It has its own socket in its own temporary folder and reads no configuration; dropping it
//! kills that server only. Targets are session names, always matched exactly.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Pid;
use tempfile::TempDir;

use crate::process::Process;
use crate::wait_until;

/// How long a program may take to end after its terminal is gone.
const GRACE: Duration = Duration::from_secs(5);

/// A tmux server of one test.
pub struct Tmux {
    socket: PathBuf,
    // kept for its removal
    _dir: TempDir,
}

impl Tmux {
    /// Makes the folder; the server starts with the first session.
    pub fn new() -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("tk-").tempdir_in("/tmp")?;
        Ok(Self {
            socket: dir.path().join("tmux.sock"),
            _dir: dir,
        })
    }

    /// Runs a program in a session of its own, with exactly this environment (and what tmux adds).
    pub fn start(
        &self,
        session: &str,
        (cols, rows): (u16, u16),
        cwd: &Path,
        env: &[(String, String)],
        argv: &[impl AsRef<OsStr>],
    ) -> io::Result<()> {
        let mut command = self.command();
        command.args([
            "new-session",
            "-d",
            "-s",
            session,
            "-x",
            &cols.to_string(),
            "-y",
            &rows.to_string(),
        ]);
        command.arg("-c").arg(cwd);
        for (name, value) in env {
            command.arg("-e").arg(format!("{name}={value}"));
        }
        command.arg("--").args(argv);
        finish(command).map(drop)
    }

    /// Any tmux command on this server; returns what it printed.
    pub fn call(&self, args: &[&str]) -> io::Result<String> {
        let mut command = self.command();
        command.args(args);
        finish(command)
    }

    /// What the screen shows.
    pub fn screen(&self, session: &str) -> io::Result<String> {
        self.call(&["capture-pane", "-p", "-t", &exact(session)])
    }

    /// A format such as `#{pane_title}`.
    pub fn show(&self, session: &str, format: &str) -> io::Result<String> {
        Ok(self
            .call(&["display-message", "-p", "-t", &exact(session), format])?
            .trim_end_matches('\n')
            .to_owned())
    }

    /// A key by tmux's name for it.
    pub fn key(&self, session: &str, key: &str) -> io::Result<()> {
        self.call(&["send-keys", "-t", &exact(session), key])
            .map(drop)
    }

    /// Characters one by one, as a person types.
    pub fn type_text(&self, session: &str, text: &str) -> io::Result<()> {
        self.call(&["send-keys", "-t", &exact(session), "-l", text])
            .map(drop)
    }

    /// A bracketed paste.
    pub fn paste(&self, session: &str, text: &str) -> io::Result<()> {
        let mut command = self.command();
        command
            .args(["load-buffer", "-b", "paste", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(text.as_bytes())?;
        }
        if !child.wait()?.success() {
            return Err(io::Error::other("tmux load-buffer failed"));
        }
        self.call(&[
            "paste-buffer",
            "-d",
            "-p",
            "-r",
            "-b",
            "paste",
            "-t",
            &exact(session),
        ])
        .map(drop)
    }

    /// Where its socket is.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        let path = std::env::var_os("PATH").unwrap_or_default();
        // the server must not hand the test runner's environment on to what it runs
        command
            .env_clear()
            .env("PATH", path)
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color");
        command.args(["-f", "/dev/null", "-S"]).arg(&self.socket);
        command.stdin(Stdio::null());
        command
    }
}

impl Drop for Tmux {
    /// Waits until what ran in its panes has ended, so that nobody writes into a folder that is
    /// being removed.
    fn drop(&mut self) {
        let panes = self
            .call(&["list-panes", "-a", "-F", "#{pane_pid}"])
            .unwrap_or_default();
        let pids = panes
            .lines()
            .filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
        let running: Vec<Process> = pids.filter_map(Process::find).collect();
        let _ = self
            .command()
            .arg("kill-server")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        for process in running {
            if wait_until(GRACE, || (!process.is_alive()).then_some(())).is_none() {
                process.kill();
            }
        }
    }
}

fn exact(session: &str) -> String {
    format!("={session}:")
}

fn finish(mut command: Command) -> io::Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(io::Error::other(format!("tmux: {said}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
