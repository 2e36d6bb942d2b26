//! The document of a handoff that is asked for: who wrote it, read or written, and kept safe.

use super::types::HandoffBody;
use super::{ApiError, Shared};
use crate::handoff::{self, Document, DocumentError, Kept};
use crate::hub::Handle;
use crate::{clock, ledger};
use sm_client::footprint::{Footprint, TraceKind, missing_folders};
use sm_core::{Author, SessionId, Trigger};
use sm_ledger::redact::redact;
use std::path::PathBuf;
use std::time::Duration;

/// A file system that does not answer in this time is not waited for.
pub(super) const READ_PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn author(trigger: Trigger, auto: bool) -> Author {
    match (auto, trigger) {
        (true, _) => Author::Ledger,
        (false, Trigger::Person) => Author::Person,
        (
            false,
            Trigger::Agent | Trigger::Threshold | Trigger::CompactionImminent | Trigger::Compacted,
        ) => Author::Agent,
    }
}

/// Longest note of the history.
const LONGEST_NOTE: usize = 600;

/// Who asks for a handoff, and who wrote what.
pub(super) struct Authorship {
    pub trigger: Trigger,
    pub author: Author,
    pub note: String,
}

/// Who wrote the document, as far as whoever asks may say so.
pub(super) fn written_by(trigger: Trigger, body: &HandoffBody) -> Result<Author, String> {
    let usual = author(trigger, body.auto);
    match body.author.as_deref() {
        None => Ok(usual),
        Some("model") if !body.auto => Ok(Author::Model),
        Some(other) => Err(format!(
            "author cannot be {other:?}: it is \"model\" for a file that a model wrote, or left out"
        )),
    }
}

/// One line without secrets.
pub(super) fn noted(note: &str) -> String {
    let words: Vec<&str> = note.split_whitespace().collect();
    let line: String = words
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .take(LONGEST_NOTE)
        .collect();
    redact(&line).text.into_owned()
}

pub(super) async fn read_document(hub: &Shared, path: String) -> Result<Document, String> {
    let most = u64::from(hub.config.handoff.max_bytes);
    let shown: String = path.chars().take(200).collect();
    let reading = tokio::task::spawn_blocking(move || handoff::read(&path, most));
    match tokio::time::timeout(READ_PATIENCE, reading).await {
        Ok(Ok(read)) => read.map_err(|error: DocumentError| error.to_string()),
        Ok(Err(_)) => Err("the daemon is stopping: repeat it in a moment".into()),
        Err(_) => Err(format!(
            "{shown} could not be read within {} s: its disk does not answer; write the document elsewhere",
            READ_PATIENCE.as_secs()
        )),
    }
}

/// From the session's ledger. It has no path but that of our copy.
pub(super) async fn write_document(hub: &Shared, handle: &Handle) -> Result<Document, String> {
    let writing = ledger::write(hub, handle, None, ledger::BUDGET);
    match tokio::time::timeout(READ_PATIENCE, writing).await {
        Ok(Ok(written)) => Ok(Document {
            path: PathBuf::new(),
            real: PathBuf::new(),
            text: written.text,
            written_at: None,
        }),
        Ok(Err(why)) => Err(format!(
            "there is no ledger to hand off from: {why}. Write a document, and hand that off"
        )),
        Err(_) => Err(format!(
            "its ledger could not be read within {} s: repeat it in a moment",
            READ_PATIENCE.as_secs()
        )),
    }
}

/// On disk before anybody hears of it.
pub(super) async fn keep(
    hub: &Shared,
    session: &SessionId,
    document: &Document,
) -> Result<Kept, ApiError> {
    let base = hub.handoffs_dir();
    let (session, text) = (session.clone(), document.text.clone());
    let shown = base.display().to_string();
    // With the layout of others it lies in a folder that is not sm's own.
    let outside = !base.starts_with(hub.paths.data_dir());
    let footprint = outside.then(|| Footprint::of(&hub.paths));
    let kept = tokio::task::spawn_blocking(move || {
        let folders = missing_folders(&base.join("any"));
        let kept = handoff::keep(&base, &session, clock::now(), &text);
        if let (Some(footprint), Ok(kept)) = (footprint, &kept) {
            let _ = footprint.note_made(TraceKind::Handoff, &kept.folder, folders);
        }
        kept
    });
    match kept.await {
        Ok(Ok(kept)) => Ok(kept),
        Ok(Err(error)) => Err(ApiError::new(
            axum::http::StatusCode::INSUFFICIENT_STORAGE,
            format!("the document could not be kept safe in {shown}: {error}"),
            "nothing was scheduled; free some disk space and repeat it",
        )),
        Err(_) => Err(ApiError::gone()),
    }
}

pub(super) fn discard(hub: &Shared, session: &SessionId, kept: &Kept) {
    let bases = hub.all_handoffs_dirs();
    if let Err(error) = handoff::remove(&kept.folder, &bases, session) {
        tracing::warn!(folder = %kept.folder.display(), %error, "not removed");
    }
}
