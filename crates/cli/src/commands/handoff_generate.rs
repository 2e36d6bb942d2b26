//! `sm handoff --generate`: a model writes the document.
//!
//! It is written beside the session, by `sm-agent document`, and only a document that is whole is
//! scheduled: whatever goes wrong before that, the session is as it was. One at a time for a
//! session; `sm handoff --cancel` ends the one that writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use sm_client::paths::Paths;
use sm_client::process::Process;
use sm_core::profile::AgentKind;
use sm_daemon::api::types::SessionView;

use crate::client::fresh_id;
use crate::companion::companion;
use crate::entry::configuration;
use crate::error::{CommandError, Result};

/// The most that is read of a document and what is said about it.
const MOST: u64 = 8 * 1024 * 1024;

/// What `sm-agent document --json` prints.
#[derive(Debug, Deserialize)]
pub struct Written {
    pub document: String,
    /// How it came about, for people: which way, what it took, what was kept.
    pub told: String,
    /// `model` or `ledger`.
    pub author: String,
    /// Why it must not be handed over: what the gate says of it, after it was asked for twice.
    pub unfit: Vec<String>,
}

/// A document that lies in a file of sm's own.
#[derive(Debug)]
pub struct Generated {
    pub file: PathBuf,
    pub written: Written,
}

/// Has the document of a session written into a file of sm's own.
pub fn document(paths: &Paths, session: &SessionView, focus: &str) -> Result<Generated> {
    let Some(conversation) = &session.conversation_id else {
        return Err(CommandError::refused(format!(
            "{} has no conversation yet that a document could be about",
            session.name
        ))
        .hint("send it something to do first"));
    };
    let desk = Desk::take(paths, &session.id)?;
    let config = configuration(paths).map_err(|error| {
        CommandError::not_usable(error.to_string()).hint("correct it: `sm doctor` says more")
    })?;
    let mut command = Command::new(companion("sm-agent")?);
    command
        .args(["document", "--json", "--agent", &session.agent])
        .args(["--conversation", conversation, "--cwd", &session.cwd]);
    match AgentKind::parse(&session.agent) {
        Some(AgentKind::Claude) => {
            command.args(["--program", &config.agents.claude.program]);
        }
        Some(AgentKind::Codex) => {
            command.args(["--program", &config.agents.codex.program]);
        }
        Some(AgentKind::Native | AgentKind::Generic) | None => {}
    }
    if let Some(transcript) = &session.transcript_path {
        command.args(["--transcript", transcript]);
    }
    if !focus.trim().is_empty() {
        command.args(["--focus", focus]);
    }
    let written = desk.watch(command)?;
    let file = keep(paths, &session.id, &written.document)?;
    Ok(Generated { file, written })
}

/// Puts a document into a file of its own beside the session.
pub fn keep(paths: &Paths, session: &str, text: &str) -> Result<PathBuf> {
    let name = format!("generated-{}.md", fresh_id(8)?);
    let file = paths.session_dir(session).join(name);
    write(&file, text.as_bytes()).map_err(|error| {
        CommandError::refused(format!("cannot write {}: {error}", file.display()))
            .hint("the session is as it was; make room there and repeat the command")
    })?;
    Ok(file)
}

/// Has a person change a file with their editor. Whether its text is another one afterwards.
pub fn edit(file: &Path) -> Result<bool> {
    let before =
        std::fs::read_to_string(file).map_err(|error| CommandError::file(file, "read", &error))?;
    let set = |name: &str| {
        std::env::var(name)
            .ok()
            .filter(|value| !value.trim().is_empty())
    };
    let editor = set("VISUAL")
        .or_else(|| set("EDITOR"))
        .unwrap_or_else(|| "vi".to_owned());
    // it may have arguments: a shell takes it apart, as git has it done
    let ended = Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(file)
        .status()
        .map_err(|error| {
            CommandError::not_usable(format!("{editor} cannot be started: {error}"))
        })?;
    let kept = file.display();
    if !ended.success() {
        return Err(CommandError::refused(format!(
            "Handoff cancelled — {editor} ended with {ended}; the context stays as it is"
        ))
        .hint(format!("the document is kept in {kept}")));
    }
    let after =
        std::fs::read_to_string(file).map_err(|error| CommandError::file(file, "read", &error))?;
    if after.trim().is_empty() {
        return Err(CommandError::refused(
            "Handoff cancelled — the document was emptied; the context stays as it is",
        ));
    }
    Ok(after != before)
}

/// Ends the program that writes a document for this session. Whether there was one.
pub fn cancel(paths: &Paths, session: &str) -> Result<bool> {
    let place = Desk::place(paths, session);
    let Ok(file) = File::open(&place) else {
        return Ok(false);
    };
    // nobody holds it: what stands there is of somebody who has left
    if file.try_lock_shared().is_ok() {
        return Ok(false);
    }
    let mut told = String::new();
    let _ = (&file).take(64).read_to_string(&mut told);
    let writer = told
        .trim()
        .split_once(':')
        .and_then(|(pid, start)| {
            Some(Process {
                pid: pid.parse().ok()?,
                start: start.parse().ok()?,
            })
        })
        .filter(Process::is_alive);
    let pid = writer
        .and_then(|writer| i32::try_from(writer.pid).ok())
        .and_then(Pid::from_raw);
    match pid {
        Some(pid) => kill_process(pid, Signal::TERM)
            .map(|()| true)
            .map_err(|error| {
                CommandError::refused(format!(
                    "the document being written cannot be stopped: {error}"
                ))
                .hint("press Ctrl+C where it was asked for")
            }),
        None => Ok(false),
    }
}

/// The one place per session where a document is written.
struct Desk {
    file: File,
}

impl Desk {
    fn place(paths: &Paths, session: &str) -> PathBuf {
        paths.session_dir(session).join("generating")
    }

    fn take(paths: &Paths, session: &str) -> Result<Self> {
        let place = Self::place(paths, session);
        let file = open(&place)
            .map_err(|error| CommandError::not_usable(format!("{}: {error}", place.display())))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => Err(CommandError::refused(
                "a document is being written for this session already",
            )
            .hint("wait for it, or end it: `sm handoff --cancel`")),
            Err(TryLockError::Error(error)) => Err(CommandError::not_usable(format!(
                "{} cannot be locked: {error}",
                place.display()
            ))),
        }
    }

    /// Runs the writer; its words to the person go straight to the terminal.
    fn watch(mut self, mut command: Command) -> Result<Written> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| {
                CommandError::not_usable(format!("sm-agent could not be started: {error}"))
                    .hint("it belongs beside sm: `make install`")
            })?;
        if let Some(writer) = Process::of(child.id()) {
            let _ = self.file.set_len(0);
            let _ = write!(self.file, "{writer}");
            let _ = self.file.flush();
        }
        let mut said = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            let _ = stdout.take(MOST).read_to_end(&mut said);
        }
        let ended = child
            .wait()
            .map_err(|error| CommandError::not_usable(format!("sm-agent: {error}")))?;
        if !ended.success() {
            // it has said why
            return Err(CommandError::refused(match ended.code() {
                Some(130) => "Handoff cancelled — the context stays as it is",
                Some(_) | None => "No document was written — the context stays as it is",
            })
            .hint("sm's own document, without a model: `sm handoff --auto`"));
        }
        serde_json::from_slice(&said).map_err(|error| {
            CommandError::not_usable(format!(
                "sm-agent answered what sm does not understand: {error}"
            ))
            .hint("both have to be of the same version: `sm --version`, `sm-agent --version`")
        })
    }
}

fn open(place: &Path) -> std::io::Result<File> {
    if let Some(folder) = place.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(place)
}

fn write(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let new = file.with_extension("new");
    let mut to = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&new)?;
    to.write_all(bytes)?;
    to.sync_all()?;
    std::fs::rename(&new, file)
}
