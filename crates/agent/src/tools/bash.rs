//! Running a command.
//!
//! It has a session of its own: no terminal that it could disturb, nothing to read. Output is taken
//! as fast as it comes and kept within bounds. When it is cancelled, runs out of time or is dropped,
//! everything it has started is killed; what it left running on purpose when it ended goes on.

use std::io::{ErrorKind, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::ToolContext;
use super::args::Args;
use super::outcome::ToolOutcome;
use super::output::Output;

const DEFAULT: Duration = Duration::from_secs(120);
const LONGEST: Duration = Duration::from_secs(3600);
/// Between being asked to end and being killed.
const GRACE: Duration = Duration::from_millis(300);
/// How long output is awaited that is still on its way when the command has ended.
const SETTLE: Duration = Duration::from_millis(100);
/// And at most, from someone in the background who never stops.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How a command came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Itself(ExitStatus),
    TimedOut,
    Cancelled,
}

pub(super) async fn run(
    args: Args<'_>,
    context: &mut ToolContext<'_>,
) -> Result<ToolOutcome, String> {
    let command = args.text("command")?;
    if command.contains('\0') {
        return Err(args.complaint("command", "must not hold a zero byte"));
    }
    if command.trim().is_empty() {
        return Err(args.complaint("command", "must not be empty"));
    }
    let patience = args
        .maybe_count("timeout")?
        .map_or(DEFAULT, Duration::from_secs)
        .min(LONGEST);
    let since = Instant::now();
    let mut running = Running::start(command, context.cwd)?;
    let mut output = Output::new(context.outputs);
    let end = running.until_end(patience, context, &mut output).await;
    let background = match end {
        End::Itself(_) => running.leave(context, &mut output).await,
        End::TimedOut | End::Cancelled => {
            running.kill(context, &mut output).await;
            false
        }
    };
    output.flush(context.on_output);
    Ok(tell(&output, end, background, patience, since.elapsed()))
}

fn tell(
    output: &Output,
    end: End,
    background: bool,
    patience: Duration,
    took: Duration,
) -> ToolOutcome {
    let mut text = output.text();
    if text.trim().is_empty() {
        text = "(no output)".to_string();
    }
    let mut notes = Vec::new();
    match end {
        End::Itself(status) => match (status.code(), status.signal()) {
            (Some(0), _) => {}
            (Some(code), _) => notes.push(format!("exit code {code}")),
            (None, Some(signal)) => notes.push(format!("killed by signal {signal}")),
            (None, None) => notes.push("it ended in an unknown way".to_string()),
        },
        End::TimedOut => notes.push(format!(
            "stopped after {} seconds without having ended; give a longer timeout, or start it with & if it shall go on running",
            patience.as_secs()
        )),
        End::Cancelled => notes.push("interrupted by the user".to_string()),
    }
    if background {
        notes.push(
            "something goes on running in the background; what else it puts out is not shown"
                .to_string(),
        );
    }
    if !notes.is_empty() {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{}]", notes.join("; ")));
    }
    let (code, signal) = match end {
        End::Itself(status) => (status.code(), status.signal()),
        End::TimedOut | End::Cancelled => (None, None),
    };
    let mut outcome = ToolOutcome::text(text).with(json!({
        "exitCode": code,
        "signal": signal,
        "timedOut": end == End::TimedOut,
        "cancelled": end == End::Cancelled,
        "background": background,
        "truncated": output.path().is_some(),
        "fullOutputPath": output.path(),
        "durationMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    }));
    outcome.is_error = code != Some(0);
    outcome
}

/// A command and all that it has started.
struct Running {
    child: Child,
    pipe: Option<Receiver>,
    /// The session and the group; `None` when nothing is to be killed any more.
    armed: Option<Pid>,
}

impl Running {
    fn start(command: &str, cwd: &Path) -> Result<Self, String> {
        let trouble = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound if !cwd.is_dir() => {
                format!("the working directory {} is gone", cwd.display())
            }
            ErrorKind::ArgumentListTooLong => {
                "the command is too long: write it into a file and run that".to_string()
            }
            _ => format!("the shell could not be started: {error}"),
        };
        let (reader, writer) = std::io::pipe().map_err(trouble)?;
        let child = match spawn("bash", command, cwd, &writer) {
            Err(error) if error.kind() == ErrorKind::NotFound && cwd.is_dir() => {
                spawn("sh", command, cwd, &writer)
            }
            other => other,
        }
        .map_err(trouble)?;
        drop(writer);
        let armed = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        let mut running = Self {
            child,
            pipe: None,
            armed,
        };
        running.pipe = Some(Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(trouble)?);
        Ok(running)
    }

    /// Takes its output until it ends or has to.
    async fn until_end(
        &mut self,
        patience: Duration,
        context: &mut ToolContext<'_>,
        output: &mut Output,
    ) -> End {
        let deadline = sleep(patience);
        tokio::pin!(deadline);
        let mut buffer = vec![0; 64 << 10];
        loop {
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => return End::Cancelled,
                () = &mut deadline => return End::TimedOut,
                status = self.child.wait() => return match status {
                    Ok(status) => End::Itself(status),
                    // Somebody else has waited for it: how it ended is lost.
                    Err(_) => End::Itself(ExitStatus::from_raw(0)),
                },
                read = read(&mut self.pipe, &mut buffer) => {
                    output.add(&buffer[..read], context.on_output);
                    // Others want their turn too, however fast it comes.
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// It has ended by itself. Whether something of it goes on in the background.
    async fn leave(&mut self, context: &mut ToolContext<'_>, output: &mut Output) -> bool {
        self.armed = None;
        self.last_words(context, output).await;
        let Some(mut pipe) = self.pipe.take() else {
            return false;
        };
        // A closed pipe would kill what was left running on purpose.
        tokio::spawn(async move {
            let mut buffer = vec![0; 4 << 10];
            while matches!(pipe.read(&mut buffer).await, Ok(1..)) {}
        });
        true
    }

    async fn kill(&mut self, context: &mut ToolContext<'_>, output: &mut Output) {
        let Some(pid) = self.armed else { return };
        signal_all(pid, Signal::TERM);
        let ended = timeout(GRACE, self.child.wait()).await.is_ok();
        signal_all(pid, Signal::KILL);
        if !ended {
            // What the system itself holds back (a broken network drive) is not waited for.
            let _ = timeout(GRACE, self.child.wait()).await;
        }
        self.armed = None;
        self.last_words(context, output).await;
        self.pipe = None;
    }

    /// What is in the pipe, until it is silent or closed.
    async fn last_words(&mut self, context: &mut ToolContext<'_>, output: &mut Output) {
        let since = Instant::now();
        let mut buffer = vec![0; 64 << 10];
        while self.pipe.is_some() && since.elapsed() < LAST_WORDS {
            match timeout(SETTLE, read(&mut self.pipe, &mut buffer)).await {
                Ok(read) => output.add(&buffer[..read], context.on_output),
                Err(_) => break,
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(pid) = self.armed {
            signal_all(pid, Signal::KILL);
        }
    }
}

fn spawn(shell: &str, command: &str, cwd: &Path, writer: &PipeWriter) -> std::io::Result<Child> {
    let mut shell = Command::new(shell);
    shell
        .arg("-c")
        .arg(command)
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer.try_clone()?)
        .env("TERM", "dumb")
        .env("PAGER", "cat")
        .env("GIT_PAGER", "cat")
        .env("GIT_TERMINAL_PROMPT", "0");
    // SAFETY: one system call that allocates nothing, in the child.
    unsafe {
        shell.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
    shell.spawn()
}

/// Reads something. At its end the pipe is gone; without one it waits for ever.
async fn read(pipe: &mut Option<Receiver>, buffer: &mut [u8]) -> usize {
    let Some(open) = pipe else {
        return std::future::pending().await;
    };
    match open.read(buffer).await {
        Ok(read @ 1..) => read,
        Ok(0) | Err(_) => {
            *pipe = None;
            0
        }
    }
}

/// To the group, and to those of the session who have a group of their own.
fn signal_all(pid: Pid, signal: Signal) {
    let _ = kill_process_group(pid, signal);
    for member in members(pid) {
        let _ = kill_process(member, signal);
    }
}

/// The processes of a session, where the system tells.
fn members(session: Pid) -> Vec<Pid> {
    let wanted = session.as_raw_nonzero().get();
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // pid (name) state parent group session …; the name may hold anything
            let of: i32 = stat
                .rsplit_once(')')?
                .1
                .split_whitespace()
                .nth(3)?
                .parse()
                .ok()?;
            (of == wanted).then(|| Pid::from_raw(pid)).flatten()
        })
        .collect()
}
