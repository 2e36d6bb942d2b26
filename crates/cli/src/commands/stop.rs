//! `sm stop`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use sm_client::{Footprint, Paths, Process};
use sm_daemon::api::types::SessionView;

use crate::client::{Daemon, Which};
use crate::error::{CommandError, Result};
use crate::print::{self, Printer};
use crate::text::{count, one_line};
use crate::traces::{self, Reach, Stays, Traces};

/// How long things may take to end.
const PATIENCE: Duration = Duration::from_secs(20);
/// What ends with the terminals may still write for so long.
const LAST_WORDS: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Stops the daemon; sessions go on, and the next command starts it again.
#[derive(Debug, Args)]
pub struct Stop {
    /// End all sessions and remove all state and data of this instance.
    #[arg(long)]
    purge: bool,
    /// Do not ask.
    #[arg(long, short, requires = "purge")]
    yes: bool,
}

impl Stop {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        if self.purge {
            return purge(&daemon, Reach::of_instance(), self.yes, out);
        }
        match stop(&daemon)? {
            Stopped::Now => out.line("the daemon is stopped; sessions go on without it"),
            Stopped::Already => out.line("no daemon is running"),
        }
    }
}

enum Stopped {
    Now,
    Already,
}

/// Stops the daemon and waits until it is gone.
fn stop(daemon: &Daemon) -> Result<Stopped> {
    let marker = daemon.paths().stopped_marker();
    // Before the daemon leaves: no hook may start it again in between.
    let marked = daemon.paths().state_dir().is_dir() && fs::write(&marker, b"").is_ok();
    let unmark = |error| {
        if marked {
            let _ = fs::remove_file(&marker);
        }
        error
    };
    if daemon.stop().map_err(unmark)?.is_none() {
        return Ok(Stopped::Already);
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        match daemon.health_now() {
            Err(error) if error.is_no_daemon() => {
                // It did not crash: who starts it again need not be held back.
                let _ = fs::remove_file(daemon.paths().start_stamp());
                return Ok(Stopped::Now);
            }
            Ok(_) | Err(_) if Instant::now() >= deadline => {
                return Err(CommandError::refused(format!(
                    "the daemon was asked to stop and is still there after {} s",
                    PATIENCE.as_secs()
                ))
                .hint("look with `sm doctor`"));
            }
            Ok(_) | Err(_) => std::thread::sleep(LOOK_EVERY),
        }
    }
}

/// Stops it if it runs: without its programs it is of no use.
pub fn stop_quietly(daemon: &Daemon) -> Result<()> {
    if daemon.health_now().is_ok() {
        stop(daemon)?;
    }
    Ok(())
}

/// The names of what runs; no daemon is started to find out.
pub fn what_runs(daemon: &Daemon) -> Result<Vec<String>> {
    if daemon.health_now().is_err() {
        return Ok(terminals(daemon.paths(), "#{session_name}"));
    }
    let sessions = daemon.sessions(Which::Live)?.value;
    let live = sessions.into_iter();
    Ok(live
        .filter(|session| !crate::attach::has_ended(session))
        .map(|session| session.name)
        .collect())
}

/// Folders and sockets of this instance that are there.
pub fn own_places(paths: &Paths) -> Vec<PathBuf> {
    let all = places(paths).into_iter();
    all.filter(|path| path.symlink_metadata().is_ok()).collect()
}

/// What a person has written, which nobody else may remove.
pub fn tell_configuration(paths: &Paths, out: &mut Printer) -> Result<()> {
    for file in [
        paths.config_file().to_owned(),
        paths.config_file().with_file_name("agent.toml"),
    ] {
        if file.exists() {
            out.line(&format!(
                "your configuration stays: {}",
                one_line(&file.display().to_string())
            ))?;
        }
    }
    Ok(())
}

/// Ends all sessions and removes whatever sm has put anywhere.
pub fn purge(daemon: &Daemon, reach: Reach, yes: bool, out: &mut Printer) -> Result<()> {
    let paths = daemon.paths().clone();
    let traces = Traces::find(&paths, reach);
    let there = own_places(&paths);
    if there.is_empty() && traces.is_empty() {
        return out.line("there is nothing of this instance");
    }
    // A daemon ends sessions better than we could: it knows their processes.
    let sessions = match daemon.ensure() {
        Ok(()) => daemon.sessions(Which::All)?.value,
        Err(error) => {
            // It may be what is to be got rid of; but nobody should think that nothing runs.
            print::note(&format!("no daemon can be asked: {}", error.message));
            Vec::new()
        }
    };
    let terminals = match sessions.is_empty() {
        true => terminals(&paths, "#{session_name}"),
        false => Vec::new(),
    };
    out.line(&match terminals.len() {
        0 => format!("{} and:", count(sessions.len(), "session")),
        n => format!(
            "{}, with what runs in them ({}), and:",
            count(n, "terminal"),
            one_line(&terminals.join(", "))
        ),
    })?;
    for path in &there {
        out.line(&format!("  {}", path.display()))?;
    }
    for trace in traces.wiring.iter().chain(&traces.content) {
        out.line(&format!("  {}", traces::line(trace)))?;
    }
    out.flush()?;
    if !yes && !print::confirm("End these sessions and remove all of it?") {
        return Err(
            CommandError::refused("nothing was removed").hint("sm stop --purge --yes does not ask")
        );
    }
    // First: what it is taken out of is listed in what goes next.
    traces::unwire(&paths, &traces.wiring, out).map_err(|error| {
        error.hint("nothing else was removed; put that right, then run this again")
    })?;
    end_all(daemon, &sessions)?;
    stop(daemon)?;
    end_tmux(&paths);
    let stays = traces::remove_content(&paths, &traces.content)?;
    let mut kept = Vec::new();
    let running = end_runs(&paths.state_dir().join(RUNS))?;
    // A daemon that was started to be asked has made more than was there before.
    for path in &own_places(&paths) {
        kept.extend(remove(&paths, path, Instant::now() + LAST_WORDS)?);
    }
    kept.retain(|path| running.is_empty() || !path.ends_with(RUNS));
    // Only if nothing of the user's is in it.
    if std::env::var_os("SM_HOME").is_some()
        && let Some(home) = paths.state_dir().parent()
    {
        let _ = fs::remove_dir(home);
    }
    for socket in [paths.socket(), paths.tmux_socket()] {
        if let Some(dir) = socket.parent().filter(|dir| *dir != paths.state_dir()) {
            let _ = fs::remove_dir(dir);
        }
    }
    if let Some(folder) = paths.config_file().parent() {
        let _ = fs::remove_dir(folder);
    }
    out.line(
        match kept.is_empty() && running.is_empty() && stays.is_empty() {
            true => "all of it is removed",
            false => "everything else is removed; this stays:",
        },
    )?;
    for path in running {
        out.line(&format!(
            "an agent under sm run goes on and keeps its folder; leave it, then run this again: {}",
            one_line(&path.display().to_string())
        ))?;
    }
    for path in kept {
        out.line(&format!(
            "not made by sm, so it stays: {}",
            one_line(&path.display().to_string())
        ))?;
    }
    for Stays { path, why } in &stays {
        out.line(&format!("{why}: {}", one_line(&path.display().to_string())))?;
    }
    tell_configuration(&paths, out)
}

/// At most so many sessions are ended at the same time: an agent may take its time to leave.
const AT_ONCE: usize = 16;

/// Ends the sessions that live. Each answers when its processes are gone: a launcher that
/// outlives the state would start a daemon.
fn end_all(daemon: &Daemon, sessions: &[SessionView]) -> Result<()> {
    let live: Vec<&SessionView> = sessions
        .iter()
        .filter(|session| !crate::attach::has_ended(session))
        .collect();
    let end = |session: &SessionView| match daemon.kill(&session.id, false) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.hint(format!(
            "nothing was removed; look at it: sm show {0}, sm attach {0}",
            one_line(&session.name)
        ))),
    };
    for some in live.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            let all: Vec<_> = some.iter().map(|one| scope.spawn(|| end(one))).collect();
            all.into_iter()
                .map(|one| one.join().unwrap_or(Ok(())))
                .collect::<Result<Vec<()>>>()
        })?;
    }
    Ok(())
}

/// Everything an instance makes.
fn places(paths: &Paths) -> Vec<PathBuf> {
    let mut places = vec![paths.state_dir().to_owned(), paths.data_dir().to_owned()];
    for socket in [paths.socket(), paths.tmux_socket()] {
        if socket.parent() != Some(paths.state_dir()) {
            places.push(socket.to_owned());
        }
    }
    places
}

/// How names of ours begin in the state directory.
const STATE_NAMES: &[&str] = &[
    "sm.",
    "tmux.",
    "daemon.",
    "token",
    "signed-in",
    "stopped",
    "spool",
    "drafts",
    "settings",
    Footprint::FOLDER,
];
/// Those of `sm run`, each by itself: one that goes on needs its folder.
const RUNS: &str = "runs";
/// Names of ours in the data directory.
const DATA_NAMES: &[&str] = &["sessions", "handoffs", "agent"];

/// Removes the folders of runs that have ended; answers those that go on.
fn end_runs(runs: &Path) -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(runs) else {
        return Ok(Vec::new());
    };
    let mut running = Vec::new();
    for folder in entries.flatten().map(|entry| entry.path()) {
        if sm_run::rotate::is_running(&folder) {
            running.push(folder);
        } else {
            fs::remove_dir_all(&folder)
                .map_err(|error| CommandError::file(&folder, "remove", &error))?;
        }
    }
    if running.is_empty() {
        let _ = fs::remove_dir(runs);
    }
    Ok(running)
}

/// Removes a place. `SM_HOME` may name a directory that others use too: what does not have a
/// name of ours stays, and is answered.
fn remove(paths: &Paths, place: &Path, until: Instant) -> Result<Vec<PathBuf>> {
    let failed = |path: &Path, error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(CommandError::file(path, "remove", &error)),
    };
    if place != paths.state_dir() && place != paths.data_dir() {
        fs::remove_file(place).or_else(|error| failed(place, error))?;
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(place).map_err(|error| CommandError::file(place, "read", &error))?;
    let mut kept = Vec::new();
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let ours = if place == paths.state_dir() {
            STATE_NAMES.iter().any(|ours| name.starts_with(ours))
        } else {
            DATA_NAMES.contains(&name.as_ref())
        };
        if !ours {
            kept.push(path);
            continue;
        }
        let removed = if entry.file_type().is_ok_and(|found| found.is_dir()) {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.or_else(|error| failed(&path, error))?;
    }
    if kept.is_empty() {
        match fs::remove_dir(place) {
            // an agent that just ended, or its launcher, had something to say
            Err(error)
                if error.kind() == std::io::ErrorKind::DirectoryNotEmpty
                    && Instant::now() < until =>
            {
                std::thread::sleep(LOOK_EVERY);
                return remove(paths, place, until);
            }
            removed => removed.or_else(|error| failed(place, error))?,
        }
    }
    Ok(kept)
}

fn tmux(paths: &Paths) -> Command {
    let mut command = Command::new("tmux");
    command
        .arg("-S")
        .arg(paths.tmux_socket())
        .env_remove("TMUX")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// One line of each terminal there is, without the one that only keeps the server.
fn terminals(paths: &Paths, format: &str) -> Vec<String> {
    let asked = tmux(paths)
        .args([
            "list-panes",
            "-a",
            "-f",
            "#{!=:#{session_name},_sm}",
            "-F",
            format,
        ])
        .output();
    let text = asked.map(|output| output.stdout).unwrap_or_default();
    let lines = String::from_utf8_lossy(&text);
    lines.lines().map(str::to_owned).collect()
}

/// Ends the terminal server of this instance, if it still runs, and waits for its end.
fn end_tmux(paths: &Paths) {
    let tmux = |command: &str| {
        tmux(paths)
            .arg(command)
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    // launchers tell of their agents' ends, and would write that down here
    let launchers: Vec<Process> = terminals(paths, "#{pane_pid}")
        .iter()
        .filter_map(|pid| Process::of(pid.parse().ok()?))
        .collect();
    if !paths.tmux_socket().exists() || !tmux("kill-server") {
        return;
    }
    let deadline = Instant::now() + PATIENCE;
    let ended = || !tmux("list-sessions") && !launchers.iter().any(Process::is_alive);
    while Instant::now() < deadline && !ended() {
        std::thread::sleep(LOOK_EVERY);
    }
}
