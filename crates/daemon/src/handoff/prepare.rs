//! Making safe what goes with a handoff, before its context is left: the document once more, what the
//! terminal showed, where the log is, the transcript, what is under way. Each may be missing; only
//! without any document is there no handoff. May be asked for again: the same files.

use super::{document, place};
use crate::actor::Wake;
use crate::api::types::MessageView;
use crate::hub::{Handle, Hub};
use crate::perform::Seat;
use crate::{api, archive, fault, ledger, pins, transcripts};
use sm_client::files;
use sm_core::carried::{IN_A_PROMPT, carried};
use sm_core::{Artifact, ArtifactKind, Author, Event, Handoff, HandoffId, Prepared, SessionId};
use sm_ledger::redact::redact;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const SNAPSHOT_LINES: usize = 2000;
/// What takes longer is done without.
const PATIENCE: Duration = Duration::from_secs(10);
/// Lines and characters of the list of what is under way: it becomes part of a prompt.
const MOST_LINES: usize = 24;
const LONGEST_LINE: usize = 200;

pub async fn prepare(seat: Seat, id: HandoffId) {
    let handoff = seat.record.handoff.as_deref().filter(|h| h.id == id);
    let prepared = match handoff {
        Some(handoff) => make(&seat, handoff).await,
        None => return, // another one took its place
    };
    fault::after("effect", "prepare");
    seat.event(Event::HandoffPrepared {
        handoff: id,
        prepared,
    });
}

async fn make(seat: &Seat, handoff: &Handoff) -> Result<Prepared, String> {
    let folder = PathBuf::from(&handoff.folder);
    let (document, snapshot, log, transcript, in_flight, pins) = tokio::join!(
        keep_document(seat, handoff),
        within(ArtifactKind::Snapshot, snapshot(seat, &folder)),
        within(ArtifactKind::Log, log(seat)),
        within(ArtifactKind::Transcript, transcript(seat, handoff, &folder)),
        in_flight(&seat.hub, &seat.handle),
        pins::told(&seat.record, PATIENCE),
    );
    let (given, mut artifacts) = document?;
    artifacts.extend([snapshot, log, transcript]);
    artifacts.extend(write_in_flight(&folder, &in_flight));
    fault::after("artifact", "in flight");
    let copy = PathBuf::from(&handoff.copy);
    let content = blocking(move || {
        let text = place::read(&copy)?;
        Ok(carried(&redact(&text).text, IN_A_PROMPT))
    });
    let content = content.await.ok(); // without it the path is told
    Ok(Prepared {
        document: given,
        artifacts,
        in_flight,
        content,
        pins,
    })
}

// ── the document

/// The path to give, and what is kept. The author's file is given while it can be read.
async fn keep_document(seat: &Seat, handoff: &Handoff) -> Result<(String, Vec<Artifact>), String> {
    if handoff.author == Author::Ledger {
        write_again(seat, handoff).await;
    }
    let (path, copy) = (handoff.document.clone(), PathBuf::from(&handoff.copy));
    let real = PathBuf::from(&handoff.source);
    let most = u64::from(seat.hub.config.handoff.max_bytes);
    let kept = tokio::task::spawn_blocking(move || keep_again(&path, &real, &copy, most));
    match tokio::time::timeout(PATIENCE, kept).await {
        Ok(Ok(kept)) => kept,
        // a file system that does not answer: the copy is ours, and elsewhere
        Ok(Err(_)) | Err(_) => Ok((
            handoff.copy.clone(),
            vec![problem(
                ArtifactKind::Document,
                &handoff.document,
                "it could not be read in time; the copy made at scheduling is given",
            )],
        )),
    }
}

/// The turn went on after it was asked for: what was done since belongs into it. What was written
/// then stays if nothing newer can be had.
async fn write_again(seat: &Seat, handoff: &Handoff) {
    let (hub, left) = (&seat.hub, Some(handoff.from.0));
    let written = ledger::write(hub, &seat.handle, left, ledger::BUDGET);
    if let Ok(Ok(written)) = tokio::time::timeout(PATIENCE, written).await {
        let copy = PathBuf::from(&handoff.copy);
        let renewed = blocking(move || renew(&copy, &written.text)).await;
        if let Err(error) = renewed {
            tracing::warn!(session = %seat.record.id, %error, "an older document is handed off");
        }
    }
}

/// `real`: the file that was read when it was handed off; empty if there was none, or it is not known.
fn keep_again(
    path: &str,
    real: &Path,
    copy: &Path,
    most: u64,
) -> Result<(String, Vec<Artifact>), String> {
    let copied = place::read(copy).ok();
    let now = match real.as_os_str().is_empty() {
        true => document::read(path, most),
        false => document::read_again(path, real, most),
    };
    let (given, text, gone) = match (now, copied) {
        (Ok(now), Some(copied)) if now.text == copied => (path.to_owned(), copied, None),
        (Ok(now), before) => match renew(copy, &now.text) {
            Ok(()) => (path.to_owned(), now.text, None),
            Err(error) => match before {
                // the older state of it is safe, the newer one is where the author left it
                Some(before) => (path.to_owned(), before, Some(error.to_string())),
                None => return Err(format!("{} cannot be written: {error}", copy.display())),
            },
        },
        (Err(error), Some(copied)) => {
            let why = format!("{error}; the copy made at scheduling is given");
            (copy.to_string_lossy().into_owned(), copied, Some(why))
        }
        (Err(error), None) => {
            return Err(format!("{error}, and the copy {} is gone", copy.display()));
        }
    };
    fault::after("artifact", "document");
    let mut artifacts = vec![Artifact {
        kind: ArtifactKind::Document,
        path: copy.to_string_lossy().into_owned(),
        bytes: Some(text.len() as u64),
        lines: Some(text.lines().count() as u64),
        problem: None,
    }];
    artifacts.extend(gone.map(|why| problem(ArtifactKind::Document, path, &why)));
    Ok((given, artifacts))
}

fn renew(copy: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = copy.parent()
        && !folder.is_dir()
    {
        std::fs::create_dir_all(folder)?; // somebody has tidied up
    }
    place::replace(copy, text.as_bytes())
}

// ── what else goes with it

async fn snapshot(seat: &Seat, folder: &Path) -> Result<Artifact, (PathBuf, String)> {
    let path = folder.join("dump.txt");
    let failed = |why: &str| (path.clone(), why.to_owned());
    archive::note_screen(&seat.hub, &seat.record.id).await;
    let text = api::last_lines(&seat.hub, &seat.record.id, &seat.extra, SNAPSHOT_LINES)
        .await
        .filter(|text| !text.trim().is_empty())
        .ok_or_else(|| failed("nothing of its terminal could be read"))?;
    let lines = text.lines().count() as u64;
    let written = blocking({
        let path = path.clone();
        move || place::create(&path)?.write_all(text.as_bytes())
    });
    written.await.map_err(|error| failed(&error.to_string()))?;
    fault::after("artifact", "snapshot");
    Ok(Artifact {
        kind: ArtifactKind::Snapshot,
        bytes: size(&path),
        path: path.to_string_lossy().into_owned(),
        lines: Some(lines),
        problem: None,
    })
}

/// The raw log goes on; what of it belongs to the contexts before is told by its length.
async fn log(seat: &Seat) -> Result<Artifact, (PathBuf, String)> {
    let folder = seat.hub.paths.session_dir(seat.record.id.as_str());
    let glob = glob(&folder);
    let counted = blocking(move || log_bytes(&folder));
    match counted.await {
        Ok(bytes) => Ok(Artifact {
            kind: ArtifactKind::Log,
            path: glob,
            bytes: Some(bytes),
            lines: None,
            problem: None,
        }),
        Err(error) => Err((PathBuf::from(glob), error.to_string())),
    }
}

/// As a shell takes it.
fn glob(folder: &Path) -> String {
    let folder = folder.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ',');
    match folder.chars().all(plain) {
        true => format!("{folder}/terminal.*.log"),
        false => format!("'{}'/terminal.*.log", folder.replace('\'', r"'\''")),
    }
}

fn log_bytes(folder: &Path) -> io::Result<u64> {
    let mut parts = 0;
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("terminal.") && name.ends_with(".log") {
            parts += 1;
            bytes += entry.metadata()?.len();
        }
    }
    match parts {
        0 => Err(io::Error::other("there is no terminal log")),
        _ => Ok(bytes),
    }
}

/// Agents delete their records after a while; ours stays.
async fn transcript(
    seat: &Seat,
    handoff: &Handoff,
    folder: &Path,
) -> Result<Artifact, (PathBuf, String)> {
    let to = folder.join("transcript.jsonl");
    let Some(conversation) = &handoff.from_conversation else {
        return Err((to, "the agent's conversation is not known".into()));
    };
    let Some(from) = transcripts::path_of(seat, conversation).await else {
        return Err((to, "the agent's transcript is not known".into()));
    };
    let copied = blocking({
        let (from, to) = (from.clone(), to.clone());
        // file to file: the kernel copies, or shares the blocks
        move || {
            let mut source = files::open(&from)?;
            io::copy(&mut source, &mut place::create(&to)?)
        }
    });
    let copied = copied.await;
    fault::after("artifact", "transcript");
    match copied {
        Ok(bytes) => Ok(Artifact {
            kind: ArtifactKind::Transcript,
            path: to.to_string_lossy().into_owned(),
            bytes: Some(bytes),
            lines: None,
            problem: None,
        }),
        Err(error) => Err((to, format!("{}: {error}", from.display()))),
    }
}

/// Agents write their records late: the end of the turn may be missing in what was copied when it was
/// over. When the handoff has ended, the record is copied again as it has become.
pub async fn complete_transcript(seat: Seat, handoff: Handoff) {
    let kept = handoff
        .artifacts
        .iter()
        .find(|artifact| artifact.kind == ArtifactKind::Transcript && artifact.problem.is_none());
    let (Some(kept), Some(conversation)) = (kept, &handoff.from_conversation) else {
        return;
    };
    let Some(from) = transcripts::path_of(&seat, conversation).await else {
        return;
    };
    let to = PathBuf::from(&kept.path);
    fault::before("artifact", "completed transcript");
    if let Err(error) = blocking(move || grown(&from, &to)).await {
        tracing::debug!(session = %seat.record.id, %error, "transcript not completed");
    }
}

/// What there is stays until all of it is there.
fn grown(from: &Path, to: &Path) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut source = files::open(from)?;
    if source.metadata()?.len() <= std::fs::metadata(to)?.len() {
        return Ok(());
    }
    let new = to.with_extension(format!("{}.new", NEXT.fetch_add(1, Ordering::Relaxed)));
    io::copy(&mut source, &mut place::create(&new)?)?;
    std::fs::rename(&new, to)
}

// ── what is under way

/// Children, background tasks, queued messages: a line each.
pub async fn in_flight(hub: &Hub, handle: &Handle) -> Vec<String> {
    let mut lines: Vec<String> = children(hub, &handle.id);
    let published = handle.now();
    let background = published.record.background.iter();
    lines.extend(background.map(|task| line(&format!("background task: {task}"))));
    let (tx, rx) = tokio::sync::oneshot::channel();
    handle.send(Wake::Messages { reply: tx });
    if let Ok(messages) = rx.await {
        lines.extend(waiting(&messages));
    }
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        lines.truncate(MOST_LINES);
        lines.push(format!("and {more} more"));
    }
    lines
}

fn children(hub: &Hub, parent: &SessionId) -> Vec<String> {
    let all = hub.sessions.all().into_iter().map(|handle| handle.now());
    let mut lines: Vec<String> = all
        .filter(|p| p.record.parent.as_ref() == Some(parent))
        .filter(|p| p.record.state.is_live() || p.record.state == sm_core::State::Lost)
        .map(|p| {
            let (name, agent) = (&p.record.name, p.record.agent.as_str());
            line(&format!(
                "child session {name} ({agent}) is {}: sm show {}",
                p.record.word(),
                p.called()
            ))
        })
        .collect();
    lines.sort();
    lines
}

fn waiting(messages: &[MessageView]) -> Option<String> {
    let waiting: Vec<&MessageView> = messages
        .iter()
        .filter(|m| matches!(m.state.as_str(), "queued" | "held"))
        .collect();
    let first = waiting.first()?;
    let count = match waiting.len() {
        1 => "1 message waits and comes".to_owned(),
        n => format!("{n} messages wait and come"),
    };
    let from = first
        .from
        .name
        .as_deref()
        .unwrap_or(match first.from.kind.as_str() {
            "person" => "a person",
            _ => "sm",
        });
    Some(line(&format!(
        "{count} after your first turn; the first, from {from}: {}",
        first.text
    )))
}

/// One line of bounded length, without anything a terminal would act on.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let flat = words.join(" ");
    let mut out: String = flat
        .chars()
        .filter(|c| !c.is_control())
        .take(LONGEST_LINE)
        .collect();
    if flat.chars().nth(LONGEST_LINE).is_some() {
        out.push('…');
    }
    out
}

fn write_in_flight(folder: &Path, lines: &[String]) -> Option<Artifact> {
    if lines.is_empty() {
        return None;
    }
    let path = folder.join("in-flight.txt");
    let text = lines.join("\n") + "\n";
    // a few lines: not worth another thread
    let written = place::create(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    Some(Artifact {
        kind: ArtifactKind::InFlight,
        path: path.to_string_lossy().into_owned(),
        bytes: Some(text.len() as u64),
        lines: Some(lines.len() as u64),
        problem: written.err().map(|error| error.to_string()),
    })
}

// ── helpers

async fn within(
    kind: ArtifactKind,
    making: impl Future<Output = Result<Artifact, (PathBuf, String)>>,
) -> Artifact {
    match tokio::time::timeout(PATIENCE, making).await {
        Ok(Ok(artifact)) => artifact,
        Ok(Err((path, why))) => problem(kind, &path.to_string_lossy(), &why),
        Err(_) => problem(kind, "", "it took too long"),
    }
}

fn problem(kind: ArtifactKind, path: &str, why: &str) -> Artifact {
    let what = match kind {
        ArtifactKind::Document => "document",
        ArtifactKind::Snapshot => "terminal snapshot",
        ArtifactKind::Log => "terminal log",
        ArtifactKind::Transcript => "transcript",
        ArtifactKind::InFlight => "list of what is under way",
    };
    Artifact {
        kind,
        path: path.to_owned(),
        bytes: None,
        lines: None,
        problem: Some(format!("{what}: {why}")),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(io::Error::other("the daemon is stopping")),
    }
}

fn size(path: &Path) -> Option<u64> {
    std::fs::metadata(path).map(|about| about.len()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::types::SenderView;
    use crate::handoff::DOCUMENT;

    #[test]
    fn the_author_s_file_is_given_while_it_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notes.md");
        let copy = dir.path().join("kept").join(DOCUMENT);
        let put = |path: &Path, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let (shown, kept) = (path.to_str().unwrap(), copy.to_str().unwrap());
        let keep = || keep_again(shown, Path::new(""), &copy, 100);
        let on_disk = || std::fs::read_to_string(&copy).unwrap();

        put(&path, "one");
        put(&copy, "one");
        let (given, artifacts) = keep().unwrap();
        assert_eq!((given.as_str(), artifacts.len()), (shown, 1));

        put(&path, "one, two");
        assert_eq!(keep().unwrap().0, shown);
        assert_eq!(on_disk(), "one, two", "what was written since is kept too");

        for spoil in [
            &(|| put(&path, "")) as &dyn Fn(),
            &|| put(&path, &"x".repeat(101)),
            &|| std::fs::remove_file(&path).unwrap(),
        ] {
            spoil();
            let (given, artifacts) = keep().unwrap();
            assert_eq!(given, kept);
            assert_eq!(on_disk(), "one, two");
            assert_eq!(artifacts[0].problem, None);
            let why = artifacts[1].problem.as_deref().unwrap();
            assert!(why.contains("the copy made at scheduling"), "{why}");
        }

        std::fs::remove_dir_all(copy.parent().unwrap()).unwrap();
        assert!(keep().is_err(), "there is no document any more");
        put(&path, "three");
        assert_eq!(keep().unwrap().0, shown);
        assert_eq!(on_disk(), "three");
    }

    #[test]
    fn queued_messages_are_told_in_one_line() {
        let message = |state: &str, text: &str| MessageView {
            id: "m".into(),
            session: "s".into(),
            from: SenderView {
                kind: "session".into(),
                id: Some("x".into()),
                name: Some("api".into()),
            },
            mode: "sequential".into(),
            state: state.into(),
            reason: None,
            hold: None,
            way: None,
            proof: None,
            label: None,
            text: text.into(),
            created_at: String::new(),
            changed_at: String::new(),
        };
        assert_eq!(waiting(&[message("submitted", "x")]), None);
        assert_eq!(
            waiting(&[message("held", "tests\n\x1b[31m are\tred")]).unwrap(),
            "1 message waits and comes after your first turn; the first, from api: tests [31m are red"
        );
        let long = "word ".repeat(100);
        let two = waiting(&[message("queued", &long), message("queued", "b")]).unwrap();
        assert!(two.starts_with("2 messages wait and come"), "{two}");
        assert_eq!(two.chars().count(), LONGEST_LINE + 1);
    }

    #[test]
    fn the_log_s_path_is_one_that_a_shell_takes() {
        for (folder, expected) in [
            ("/d/sessions/a", "/d/sessions/a/terminal.*.log"),
            ("/my data/a", "'/my data/a'/terminal.*.log"),
            ("/it's/a", r"'/it'\''s/a'/terminal.*.log"),
        ] {
            assert_eq!(glob(Path::new(folder)), expected);
        }
    }
}
