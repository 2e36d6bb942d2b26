//! Being in a session's terminal: runs the command that the daemon names, and says afterwards
//! what became of the session.
//!
//! The terminal program is a child, not a replacement of this one: a session that ends right
//! away takes its terminal with it, and somebody has to say why.

use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use sm_daemon::api::types::SessionView;

use crate::client::Daemon;
use crate::error::{CommandError, Result};
use crate::print::{self, Printer};
use crate::text::{many_lines, one_line};

/// Lines of output that are shown of a session that ended.
const LAST_LINES: usize = 15;
/// How long a session may take to get its terminal.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Attaches, and comes back when the person detached or the session ended.
pub fn run(daemon: &Daemon, session: &str, out: &mut Printer) -> Result<()> {
    let before = with_terminal(daemon, session)?;
    if has_ended(&before) {
        return Err(ended(daemon, &before));
    }
    enter(daemon, &before, out)
}

/// Attaches to a session that was just started. One that is already over has done what it was
/// started for, or says why not.
pub fn run_started(daemon: &Daemon, session: &SessionView, out: &mut Printer) -> Result<()> {
    let started = with_terminal(daemon, &session.id)?;
    if has_ended(&started) {
        return report_end(daemon, &started, out);
    }
    enter(daemon, &started, out)
}

/// Tells how a session that was just started has ended.
pub fn report_end(daemon: &Daemon, session: &SessionView, out: &mut Printer) -> Result<()> {
    let end = ended(daemon, session);
    match session.exit_code {
        Some(0) => out.line(&end.message),
        Some(_) | None => Err(end),
    }
}

fn enter(daemon: &Daemon, before: &SessionView, out: &mut Printer) -> Result<()> {
    let argv = daemon.attach(&before.id)?.argv;
    let Some((program, args)) = argv.split_first() else {
        return Err(CommandError::refused(format!(
            "{} has no terminal to attach to",
            one_line(&before.name)
        )));
    };
    let mut command = Command::new(program);
    command.args(args);
    if std::env::var_os("TMUX").is_some() {
        // tmux refuses to run inside itself otherwise.
        command.env_remove("TMUX");
        print::note("tmux in tmux: Ctrl-b Ctrl-b d leaves the session and lets it go on");
    } else {
        print::note("Ctrl-b d leaves the session and lets it go on");
    }
    out.flush()?;
    let child = command.spawn().map_err(|error| {
        CommandError::not_usable(format!("cannot start {program}: {error}"))
            .hint("tmux has to be installed; `sm doctor` says more")
    })?;
    wait_with_job_control(child)?;
    // Purged meanwhile, or the daemon is gone: nothing left to say.
    let Ok(after) = daemon.session(&before.id) else {
        return Ok(());
    };
    let after = after.value;
    let name = one_line(&after.name);
    if has_ended(&after) {
        if after.exit_code == Some(0) {
            let again = one_line(&daemon.called(&after));
            return out.line(&format!("{name} has ended. Again: sm restore {again}"));
        }
        return Err(ended(daemon, &after));
    }
    out.line(&format!(
        "{name} goes on ({}). Back to it: sm attach {name}",
        one_line(&after.state)
    ))
}

/// The session once it has a terminal (one that was just started may still get it) or has ended.
fn with_terminal(daemon: &Daemon, session: &str) -> Result<SessionView> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = daemon.session(session)?.value;
        // Past the deadline the daemon says why there is none; one under `sm run` never gets one.
        let settled = found.tmux.session.is_some() || found.run.is_some();
        if has_ended(&found) || settled || Instant::now() >= deadline {
            return Ok(found);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Waits for the child; when it suspends itself, this program does too, so that the shell gets
/// the terminal back.
fn wait_with_job_control(child: std::process::Child) -> Result<()> {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return Ok(());
    };
    loop {
        match waitpid(Some(pid), WaitOptions::UNTRACED) {
            Ok(Some((_, status))) if status.stopped() => {
                let _ = kill_process(rustix::process::getpid(), Signal::TSTP);
                let _ = kill_process(pid, Signal::CONT);
            }
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                return Err(CommandError::refused(format!(
                    "cannot wait for the terminal program: {error}"
                )));
            }
        }
    }
}

pub fn has_ended(session: &SessionView) -> bool {
    matches!(session.state.as_str(), "exited" | "lost")
}

/// What a person should know of a session that has ended: why, what it said last, what to do.
pub fn ended(daemon: &Daemon, session: &SessionView) -> CommandError {
    let name = one_line(&session.name);
    let mut message = format!("{name} has ended");
    if let Some(code) = session.exit_code {
        message.push_str(&format!(" (exit code {code})"));
    }
    if !session.state_reason.is_empty() {
        message.push_str(&format!(": {}", one_line(&session.state_reason)));
    }
    let said = daemon
        .output(&session.id, Some(LAST_LINES))
        .map(|output| many_lines(&output.value.text))
        .unwrap_or_default();
    let said = said.trim_matches('\n');
    if !said.trim().is_empty() {
        message.push_str("\nits last output:\n");
        for line in said.lines() {
            message.push_str(&format!("  {line}\n"));
        }
        message.truncate(message.trim_end().len());
    }
    let error = CommandError::refused(message);
    let again = one_line(&daemon.called(session));
    if session.conversation_id.is_some() {
        error.hint(format!("`sm restore {again}` resumes its conversation"))
    } else {
        error.hint(format!("`sm restore {again}` starts it again"))
    }
}
