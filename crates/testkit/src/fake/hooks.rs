//! Running commands: hooks, background hooks, the status line, and the Bash tool.
//!
//! Everything the agent waits for is in a process group of its own, so that Escape and the end of
//! the program reach all of it. Background hooks are left alone, as the real program leaves them.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::answer::Ended;
use super::messages::{Input, Msg, Origin, Shared};
use super::records::wake_up;
use super::settings::{Hook, Manner};

/// The most that is kept of a command's output.
const OUTPUT_LIMIT: u64 = 4 << 20;

/// What every command of a conversation is run with.
#[derive(Debug, Clone)]
pub(super) struct Surroundings<'a> {
    pub cwd: &'a Path,
    pub session: &'a str,
    /// `harness` for hooks, `agent` for tools.
    pub role: &'a str,
}

impl Surroundings<'_> {
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(line)
            .current_dir(self.cwd)
            .process_group(0);
        command
            .env("CLAUDE_CODE_SESSION_ID", self.session)
            .env("CLAUDECODE", "1")
            .env("CLAUDE_CODE_ENTRYPOINT", "cli")
            .env("CLAUDE_CODE_CHILD_SESSION", "1")
            .env("AI_AGENT", format!("claude-code_2-1-197_{}", self.role));
        if self.role == "harness" {
            command.env("CLAUDE_PROJECT_DIR", self.cwd);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// A command that is being waited for.
pub(super) struct Running {
    child: Child,
    group: Option<Pid>,
    stdout: thread::JoinHandle<String>,
    stderr: thread::JoinHandle<String>,
    command: String,
    started: Instant,
}

/// Starts a command with this on its stdin.
pub(super) fn start(
    around: &Surroundings<'_>,
    line: &str,
    stdin: &str,
    shared: Option<&Shared>,
) -> io::Result<Running> {
    let mut child = around.command(line).spawn()?;
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(0));
    if let (Some(shared), Some(group)) = (shared, group) {
        shared.children().push(group);
    }
    if let Some(mut pipe) = child.stdin.take() {
        let text = stdin.to_owned();
        // a command that never reads must not hold the agent up
        thread::spawn(move || {
            let _ = pipe.write_all(text.as_bytes());
        });
    }
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    Ok(Running {
        child,
        group,
        stdout,
        stderr,
        command: line.to_owned(),
        started: Instant::now(),
    })
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let mut limited = pipe.take(OUTPUT_LIMIT);
            let _ = limited.read_to_end(&mut bytes);
            let _ = io::copy(&mut limited.into_inner(), &mut io::sink());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Running {
    /// Waits for its end; after the time given its group is killed.
    pub(super) fn finish(self, limit: Duration, shared: Option<&Shared>) -> Ended {
        let Self {
            mut child,
            group,
            stdout,
            stderr,
            command,
            started,
        } = self;
        let (ended, end) = mpsc::channel();
        thread::spawn(move || ended.send(child.wait().ok()));
        let (status, too_long) = match end.recv_timeout(limit) {
            Ok(status) => (status, false),
            Err(_) => {
                if let Some(group) = group {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                (end.recv().ok().flatten(), true)
            }
        };
        if let (Some(shared), Some(group)) = (shared, group) {
            shared.children().retain(|g| *g != group);
        }
        Ended {
            command,
            code: status.filter(|_| !too_long).and_then(|s| s.code()),
            stdout: stdout.join().unwrap_or_default(),
            stderr: stderr.join().unwrap_or_default(),
            millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Starts a background hook; one that may wake the agent sends its text to the screen's thread.
pub(super) fn start_background(
    around: &Surroundings<'_>,
    stdin: &str,
    source: String,
    hook: &Hook,
    ui: Sender<Msg>,
) {
    let (line, limit, manner) = (&hook.command, hook.timeout, hook.manner.clone());
    let Ok(running) = start(around, line, stdin, None) else {
        return;
    };
    thread::spawn(move || {
        let ended = running.finish(limit, None);
        if let (Manner::Waking { message, summary }, Some(2)) = (manner, ended.code) {
            let text = wake_up(
                &source,
                message.as_deref(),
                summary.as_deref(),
                &ended.stderr,
            );
            // the screen's thread is gone only when the program is
            let _ = ui.send(Msg::Mail(Input {
                text,
                origin: Origin::Mail { raw: ended.stderr },
            }));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str, stdin: &str, limit: Duration) -> Ended {
        let around = Surroundings {
            cwd: Path::new("/"),
            session: "sid",
            role: "harness",
        };
        start(&around, line, stdin, None)
            .unwrap()
            .finish(limit, None)
    }

    #[test]
    fn a_hook_reads_stdin_and_its_environment() {
        let ended = run(
            "cat; echo $CLAUDE_CODE_SESSION_ID >&2; exit 2",
            "hello",
            Duration::from_secs(20),
        );
        assert_eq!(
            (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
            (Some(2), "hello", "sid\n")
        );
    }

    #[test]
    fn one_that_takes_too_long_is_killed_with_its_children() {
        let ended = run("sleep 600 & wait", "", Duration::from_millis(50));
        assert_eq!(ended.code, None);
    }

    #[test]
    fn one_that_never_reads_does_not_block() {
        let ended = run("exit 0", &"x".repeat(1 << 20), Duration::from_secs(20));
        assert_eq!(ended.code, Some(0));
    }
}
