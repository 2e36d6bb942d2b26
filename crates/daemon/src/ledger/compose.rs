//! What the ledger does not know by itself and its document says: the session's name, what is under
//! way, the state of the repository. Nothing here waits for long: a repository that does not answer
//! is left out.

use super::{Kept, NoLedger};
use crate::clock;
use crate::handoff;
use crate::hub::{Handle, Hub};
use crate::pins;
use sm_core::{Record, Timestamp};
use sm_ledger::document::Repository;
use sm_ledger::{Frame, document};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// What an agent takes whole, and what `sm ledger` prints unless it is told otherwise.
pub const BUDGET: usize = 9_500;
const GIT_PATIENCE: Duration = Duration::from_millis(1_500);
/// What is read of what git says.
const GIT_MOST: u64 = 64 << 10;
/// An agent waits for the answer of its hook.
const HOOK_PATIENCE: Duration = Duration::from_millis(60);
const DIRTY: usize = 40;
const COMMITS: usize = 5;

/// What the ledger tells in a few lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    pub goal: Option<String>,
    /// The last ones that were changed, or read if none was: newest first.
    pub files: Vec<String>,
    /// What failed last and was not seen to work since.
    pub failing: Option<String>,
}

/// A document, and what it was made of.
#[derive(Debug, Clone)]
pub struct Written {
    pub text: String,
    pub generation: u32,
    pub at: Timestamp,
    pub time: Option<Timestamp>,
    pub transcript: String,
    pub conversation: Option<String>,
    pub seen: Seen,
}

/// Whose words begin the work, in one line.
const LONGEST_LINE: usize = 160;

pub fn about(kept: &Kept) -> Seen {
    let ledger = &kept.ledger;
    let mut files: Vec<(&String, bool, u32)> = ledger
        .files
        .all
        .iter()
        .map(|(path, file)| (path, file.changed > 0 || file.created, file.step))
        .collect();
    // changed before read, newest first, and in the same order every time
    files.sort_by(|a, b| (b.1, b.2, a.0).cmp(&(a.1, a.2, b.0)));
    let tests = ledger.work.tests.as_ref().filter(|tests| !tests.passed);
    let tests = tests.map(|tests| match tests.failing.first() {
        Some(first) => format!("{}: {first}", tests.command),
        None => tests.command.clone(),
    });
    let trouble = || {
        let open = ledger.work.troubles.iter().rev().find(|t| !t.mended)?;
        Some(format!("{}: {}", open.what, open.said))
    };
    let goal = ledger
        .words_of_people()
        .next()
        .map(|first| line(&first.text));
    Seen {
        goal: goal.filter(|goal| !goal.is_empty()),
        files: files
            .into_iter()
            .take(3)
            .map(|(path, _, _)| line(path))
            .collect(),
        failing: tests.or_else(trouble).map(|text| line(&text)),
    }
}

/// One line of bounded length.
fn line(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut chars = flat.chars().filter(|c| !c.is_control());
    let mut out: String = chars.by_ref().take(LONGEST_LINE).collect();
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// The document of a context, for whoever goes on from it.
pub async fn write(
    hub: &Arc<Hub>,
    handle: &Handle,
    generation: Option<u32>,
    budget: usize,
) -> Result<Written, NoLedger> {
    let record = handle.now();
    let current = generation.is_none_or(|wanted| wanted == record.record.generation.0);
    let cwd = record.record.cwd.clone();
    // of an older context nobody knows any more what was under way
    let (in_flight, repository) = match current {
        true => tokio::join!(handoff::in_flight(hub, handle), repository(&cwd)),
        false => (Vec::new(), None),
    };
    let name = record.record.name.to_string();
    let pins = pins::told(&record.record, GIT_PATIENCE).await;
    let frame = Frame {
        now: Some(clock::now()),
        rest: Some(rest(&name)),
        session: Some(name),
        pins,
        in_flight,
        repository,
        began_with: began_with(&record.record, generation).await,
    };
    super::with(hub, handle, generation, move |kept| Written {
        text: document(&kept.ledger, &frame, budget),
        generation: kept.generation,
        at: kept.at,
        time: kept.ledger.time,
        transcript: kept.transcript.to_string_lossy().into_owned(),
        conversation: kept.conversation.clone(),
        seen: about(kept),
    })
    .await
}

/// For a context that has just been compacted: what was known before. The document that it began with
/// is given back beside it.
pub async fn of_before(
    hub: &Arc<Hub>,
    handle: &Handle,
    in_flight: Vec<String>,
    budget: usize,
) -> Result<String, NoLedger> {
    let record = handle.now();
    let name = record.record.name.to_string();
    let frame = Frame {
        now: Some(clock::now()),
        rest: Some(rest(&name)),
        session: Some(name),
        in_flight,
        ..Frame::default()
    };
    super::with_told(hub, handle, None, None, HOOK_PATIENCE, move |kept| {
        document(kept.compacted(), &frame, budget)
    })
    .await
}

/// None: it is not known, or not kept any more.
async fn began_with(record: &Record, generation: Option<u32>) -> Option<String> {
    let generation = generation.unwrap_or(record.generation.0);
    let copy = super::began_with(record, generation)?;
    let kept = tokio::fs::try_exists(&copy).await.unwrap_or(false);
    kept.then(|| copy.to_string_lossy().into_owned())
}

fn rest(name: &str) -> String {
    format!("sm ledger {name} --budget 50000; sm archive {name} grep \"keyword\"")
}

/// Branch, changed files and last commits. None: no repository, no git, or no answer in time.
async fn repository(cwd: &str) -> Option<Repository> {
    let cwd = Path::new(cwd);
    let both = async {
        let status = git(
            cwd,
            &["status", "--short", "--branch", "--untracked-files=normal"],
        );
        let log = git(cwd, &["log", "--oneline", "--no-decorate", "-n", "5"]);
        tokio::join!(status, log)
    };
    let (status, log) = tokio::time::timeout(GIT_PATIENCE, both).await.ok()?;
    Some(read_status(&status?, &log.unwrap_or_default()))
}

/// The same for whoever has no runtime: waits for it, at most as long.
pub fn repository_now(cwd: &Path) -> Option<Repository> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.ok()?.block_on(repository(&cwd.to_string_lossy()))
}

fn read_status(status: &str, log: &str) -> Repository {
    let branch = status.lines().find_map(|line| line.strip_prefix("## "));
    let branch = branch.map(|line| {
        let name = line.strip_prefix("No commits yet on ").unwrap_or(line);
        line_until(name, "...").to_owned()
    });
    let dirty = status.lines().filter(|line| !line.starts_with("## "));
    Repository {
        branch,
        dirty: dirty.take(DIRTY).map(line).collect(),
        commits: log.lines().take(COMMITS).map(line).collect(),
    }
}

fn line_until<'a>(text: &'a str, mark: &str) -> &'a str {
    text.split(mark).next().unwrap_or(text)
}

/// Nothing of the repository's own is run or written by it.
async fn git(cwd: &Path, args: &[&str]) -> Option<String> {
    let mut child = Command::new("git")
        .args(["--no-optional-locks", "-c", "core.fsmonitor=false"])
        .args(args)
        .current_dir(cwd)
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let mut bytes = Vec::new();
    let out = child.stdout.take()?;
    out.take(GIT_MOST).read_to_end(&mut bytes).await.ok()?;
    if bytes.len() as u64 == GIT_MOST {
        let _ = child.start_kill(); // it has more to say than anybody reads
    } else if !child.wait().await.ok()?.success() {
        return None;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_read() {
        let status = "## main...origin/main [ahead 1]\n M src/lib.rs\n?? notes.md\n";
        let read = read_status(status, "1a2b3c4 fix it\n");
        assert_eq!(read.branch.as_deref(), Some("main"));
        assert_eq!(read.dirty, ["M src/lib.rs", "?? notes.md"]);
        assert_eq!(read.commits, ["1a2b3c4 fix it"]);
        let fresh = read_status("## No commits yet on trunk\n", "");
        assert_eq!(fresh.branch.as_deref(), Some("trunk"));
        assert!(fresh.dirty.is_empty() && fresh.commits.is_empty());
    }

    #[test]
    fn it_is_asked_without_a_runtime_too() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(repository_now(dir.path()), None);
        let made = std::process::Command::new("git")
            .args(["init", "-q", "-b", "trunk"])
            .current_dir(dir.path())
            .status();
        assert!(made.unwrap().success());
        let found = repository_now(dir.path()).unwrap();
        assert_eq!(found.branch.as_deref(), Some("trunk"));
    }

    #[tokio::test]
    async fn no_repository_is_no_state() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(repository(dir.path().to_str().unwrap()).await, None);
        assert_eq!(repository("/nowhere/at/all").await, None);
    }
}
