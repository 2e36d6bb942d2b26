//! What sm's commands have put into files and folders of others: noted when it is put there, listed
//! and taken out again when sm goes.
//!
//! Two kinds. *Wiring* runs a program of sm's: left behind, it breaks what it is in (`claude` would be
//! an alias to nothing). *Content* holds somebody's words or work: it goes only if a person says so,
//! and a file that somebody else has changed too stays.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sm_client::footprint::{Trace, TraceKind, Undone};
use sm_client::{Footprint, Paths};

use crate::commands::{alias, hooks, service};
use crate::error::{CommandError, Result};
use crate::print::{self, Printer};
use crate::text::one_line;

fn footprint() -> Option<Footprint> {
    Paths::from_env().ok().map(|paths| Footprint::of(&paths))
}

/// Before something is put there. A list that cannot be written keeps nobody from it, but is said.
pub fn note(kind: TraceKind, path: &Path) {
    if let Some(Err(error)) = footprint().map(|list| list.note(kind, path)) {
        cannot_note(path, &error);
    }
}

/// Before a file gets another content.
pub fn note_replaced(kind: TraceKind, path: &Path, before: Option<&[u8]>, after: &[u8]) {
    let noted = footprint().map(|list| list.note_replaced(kind, path, before, after));
    if let Some(Err(error)) = noted {
        cannot_note(path, &error);
    }
}

fn cannot_note(path: &Path, error: &std::io::Error) {
    print::note(&format!(
        "an uninstall of sm will not know of {}: its list cannot be written: {error}",
        path.display()
    ));
}

pub fn taken_out(kind: TraceKind, path: &Path) {
    if let Some(list) = footprint() {
        list.taken_out(kind, path);
    }
}

/// Whose traces are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Those that this instance has written down.
    Instance,
    /// Also those of whoever else has used the programs as this user: they all break without them.
    Programs,
}

impl Reach {
    /// An instance of its own (`SM_HOME`) goes without what others have put there.
    pub fn of_instance() -> Self {
        match std::env::var_os("SM_HOME").is_some_and(|home| !home.is_empty()) {
            true => Self::Instance,
            false => Self::Programs,
        }
    }
}

/// What sm has put somewhere, as it is now.
#[derive(Debug, Default)]
pub struct Traces {
    pub wiring: Vec<Trace>,
    pub content: Vec<Trace>,
}

impl Traces {
    pub fn find(paths: &Paths, reach: Reach) -> Self {
        let mut all = Footprint::of(paths).traces();
        if reach == Reach::Programs {
            let mut found: Vec<(TraceKind, PathBuf)> = hooks::installed();
            found.extend(
                alias::installed()
                    .into_iter()
                    .map(|at| (TraceKind::Alias, at)),
            );
            found.extend(service::installed().map(|at| (TraceKind::Service, at)));
            for (kind, path) in found {
                if !all.iter().any(|one| one.kind == kind && one.path == path) {
                    all.push(Trace::found(kind, path));
                }
            }
        }
        // What is gone already needs no more than to be forgotten.
        all.retain(|trace| trace.path.symlink_metadata().is_ok());
        let (wiring, content) = all.into_iter().partition(|trace| is_wiring(trace.kind));
        Self { wiring, content }
    }

    pub fn is_empty(&self) -> bool {
        self.wiring.is_empty() && self.content.is_empty()
    }
}

fn is_wiring(kind: TraceKind) -> bool {
    match kind {
        TraceKind::ClaudeHooks | TraceKind::CodexHooks | TraceKind::Alias | TraceKind::Service => {
            true
        }
        TraceKind::Channels
        | TraceKind::ChannelRegistry
        | TraceKind::AgentRules
        | TraceKind::Pins
        | TraceKind::Handoff => false,
    }
}

/// One line for the list that is shown before anything is done.
pub fn line(trace: &Trace) -> String {
    let path = one_line(&trace.path.display().to_string());
    match trace.kind {
        TraceKind::ClaudeHooks | TraceKind::CodexHooks => {
            format!("{path} (sm's hooks are taken out; the rest stays as it is)")
        }
        TraceKind::Alias => {
            format!("{path} (the aliases are taken out; the rest stays as it is)")
        }
        TraceKind::Service => format!("{path} (the service that starts the daemon at login)"),
        TraceKind::Channels => format!("{path} (handoffs of channels, with their archive)"),
        TraceKind::ChannelRegistry => format!("{path} (which project has which channel)"),
        TraceKind::AgentRules => format!("{path} (rules that you let sm's own agent keep)"),
        TraceKind::Pins => format!("{path} (pins of the project)"),
        TraceKind::Handoff => format!("{path} (a handoff's document and what belongs to it)"),
    }
}

/// Something that stays, and why.
#[derive(Debug)]
pub struct Stays {
    pub path: PathBuf,
    pub why: &'static str,
}

/// Takes out wiring; the file is as it was before, to the byte.
pub fn unwire(paths: &Paths, traces: &[Trace], out: &mut Printer) -> Result<()> {
    let list = Footprint::of(paths);
    let mut words = BTreeSet::new();
    for trace in traces {
        match trace.kind {
            TraceKind::ClaudeHooks | TraceKind::CodexHooks => {
                hooks::remove_from(trace.kind, &trace.path, out)?;
            }
            TraceKind::Service => service::remove_file(&trace.path, out)?,
            TraceKind::Alias => {
                let name = out.look.path(&trace.path.display().to_string());
                let removed = alias::remove_from(&trace.path)?;
                out.line(&match removed.is_empty() {
                    false => format!("{name}: the aliases are removed"),
                    true => format!("{name}: no aliases of sm's are in it"),
                })?;
                words.extend(removed);
            }
            TraceKind::Channels
            | TraceKind::ChannelRegistry
            | TraceKind::AgentRules
            | TraceKind::Pins
            | TraceKind::Handoff => continue,
        }
        list.taken_out(trace.kind, &trace.path);
    }
    if !words.is_empty() {
        let words = words.into_iter().collect::<Vec<_>>().join(" ");
        out.line(&format!(
            "shells that are already open keep the aliases until they end: run `unalias {words}` there (fish: `functions --erase {words}`)"
        ))?;
    }
    Ok(())
}

/// Removes content; answers what stays.
pub fn remove_content(paths: &Paths, traces: &[Trace]) -> Result<Vec<Stays>> {
    let list = Footprint::of(paths);
    let mut stays = Vec::new();
    for trace in traces {
        match remove_one(trace)? {
            None => list.forget(trace),
            Some(why) => stays.push(Stays {
                path: trace.path.clone(),
                why,
            }),
        }
    }
    // One may lie in a folder that was made for another.
    for trace in traces {
        if trace.path.symlink_metadata().is_err() {
            trace.remove_folders();
        }
    }
    Ok(stays)
}

/// `Some`: why it stays.
fn remove_one(trace: &Trace) -> Result<Option<&'static str>> {
    let failed = |error: std::io::Error| CommandError::file(&trace.path, "remove", &error);
    match trace.kind {
        TraceKind::Channels => {
            // The files beside it say which session runs: they mean nothing without it.
            if let Some(root) = trace.path.parent() {
                let place = sm_channel::Place::new(root);
                for file in [
                    place.current_session(),
                    place.restart_session(),
                    place.context_status(),
                ] {
                    let _ = fs::remove_file(file);
                }
            }
            fs::remove_dir_all(&trace.path).map_err(failed)?;
        }
        TraceKind::Handoff => fs::remove_dir_all(&trace.path).map_err(failed)?,
        TraceKind::ChannelRegistry => fs::remove_file(&trace.path).map_err(failed)?,
        TraceKind::AgentRules | TraceKind::Pins => {
            if is_tracked(&trace.path) {
                return Ok(Some(
                    "it is part of the repository's history; git rm removes it",
                ));
            }
            return Ok(match trace.undo().map_err(failed)? {
                Undone::Removed | Undone::Restored => None,
                Undone::Changed => Some("you have changed it too, so it is yours"),
            });
        }
        TraceKind::ClaudeHooks | TraceKind::CodexHooks | TraceKind::Alias | TraceKind::Service => {
            return Ok(None);
        }
    }
    trace.remove_folders();
    Ok(None)
}

/// Whether git has it.
fn is_tracked(file: &Path) -> bool {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
        return false;
    };
    Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["ls-files", "--error-unmatch", "--"])
        .arg(name)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
