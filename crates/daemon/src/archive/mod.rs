//! The archive of a session's terminal: everything it has ever shown, as text that can be searched.
//!
//! The raw log stays as it is. Beside it, in `archive/`, lies what a person would have read, in files
//! that only grow, with an index to the log and a state from which the next rendering goes on. So the
//! cost of being up to date is that of the new bytes, and memory does not depend on the length.
//!
//! Rendered when somebody asks and when much has come; never on the way of a hook, never twice at
//! once for a session, always on a thread that may block.

mod local;
mod notes;
mod place;
mod read;
mod render;
mod search;
mod state;
mod text;
mod times;

#[cfg(test)]
mod tests;

pub use local::Local;
pub use notes::{Begins, What, generations};
pub use place::{Folder, Position};
pub use read::{Raw, Span, Texts};
pub use render::Caught;
pub use search::{Found, Search, Wanted};

use crate::hub::{Handle, Hub, lock};
use crate::stored::Extra;
use sm_core::SessionId;
use sm_term::Size;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often it is looked whether much has come.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// So much is rendered without anybody asking.
const MUCH: u64 = 4 << 20;

/// Who renders which session's archive.
#[derive(Default)]
pub struct Archives {
    slots: Mutex<HashMap<SessionId, Arc<Slot>>>,
}

#[derive(Default)]
struct Slot {
    /// Held while the archive is written.
    writing: Mutex<()>,
}

impl Archives {
    fn slot(&self, session: &SessionId) -> Arc<Slot> {
        let mut slots = lock(&self.slots);
        Arc::clone(slots.entry(session.clone()).or_default())
    }
}

pub fn folder(hub: &Hub, session: &SessionId) -> Folder {
    Folder::new(hub.paths.session_dir(session.as_str()))
}

/// Renders what is new, then does something with the archive as it is. Both may block for a while.
pub async fn with<T: Send + 'static>(
    hub: &Arc<Hub>,
    session: &SessionId,
    extra: &Extra,
    then: impl FnOnce(&Folder, Caught) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (hub, session) = (Arc::clone(hub), session.clone());
    let size = Size::new(extra.cols, extra.rows);
    let work = tokio::task::spawn_blocking(move || {
        let folder = folder(&hub, &session);
        let caught = {
            let slot = hub.archives.slot(&session);
            let _writing = lock(&slot.writing);
            render::catch_up(&folder, size)?
        };
        then(&folder, caught)
    });
    work.await.map_err(io::Error::other)?
}

/// Renders what is new; how many bytes of the log that were.
pub async fn catch_up(hub: &Arc<Hub>, session: &SessionId, extra: &Extra) -> io::Result<u64> {
    with(hub, session, extra, |_, caught| Ok(caught.rendered)).await
}

/// The last readable lines of a session, with what is on its screen now.
pub async fn last_lines(
    hub: &Arc<Hub>,
    session: &SessionId,
    extra: &Extra,
    count: usize,
) -> io::Result<String> {
    with(hub, session, extra, move |folder, caught| {
        let lines = read::last_lines(folder, &caught, count)?;
        let mut text = lines.join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        Ok(text)
    })
    .await
}

/// What is on the terminal's screen now, and before it as many of the lines that were drawn before
/// as are wanted in all; what the screen shows again is left out of those.
pub async fn screen(
    hub: &Arc<Hub>,
    session: &SessionId,
    extra: &Extra,
    count: Option<usize>,
) -> io::Result<String> {
    with(hub, session, extra, move |folder, caught| {
        let lines = read::screen(folder, &caught, count)?;
        let mut text = lines.join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        Ok(text)
    })
    .await
}

/// Removes the session's folder, when nobody writes into it.
pub async fn remove(hub: &Arc<Hub>, session: &SessionId) -> io::Result<()> {
    let (hub, session) = (Arc::clone(hub), session.clone());
    let work = tokio::task::spawn_blocking(move || {
        let slot = hub.archives.slot(&session);
        let removed = {
            let _writing = lock(&slot.writing);
            std::fs::remove_dir_all(folder(&hub, &session).path())
        };
        lock(&hub.archives.slots).remove(&session);
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    });
    work.await.map_err(io::Error::other)?
}

/// Notes something about the terminal's log where it ends now. Nothing depends on it but how the
/// archive looks, so a note that cannot be written is only reported.
pub fn note(hub: &Hub, session: &SessionId, what: What) {
    let folder = folder(hub, session);
    if let Err(error) = notes::add(&folder, crate::clock::now().0, what) {
        tracing::warn!(%session, %error, "a note about the terminal could not be written");
    }
}

/// The size of a terminal, unless it is known already.
pub fn note_size(hub: &Hub, session: &SessionId, cols: u16, rows: u16) {
    let known = notes::read(&folder(hub, session), 0);
    let last = known.iter().rev().find_map(|(_, note)| match note.what {
        What::New { cols, rows } | What::Size { cols, rows } => Some((cols, rows)),
        What::Generation(_) | What::Screen => None,
    });
    if last != Some((cols, rows)) {
        note(hub, session, What::Size { cols, rows });
    }
}

/// What the screen shows now is kept, also if it is cleared in the next moment.
pub async fn note_screen(hub: &Arc<Hub>, session: &SessionId) {
    let (hub, session) = (Arc::clone(hub), session.clone());
    let noted = tokio::task::spawn_blocking(move || note(&hub, &session, What::Screen));
    let _ = noted.await;
}

/// The generation that begins, unless it is known already.
pub fn note_generation(hub: &Hub, session: &SessionId, generation: u32) {
    let folder = folder(hub, session);
    let known = notes::generations(&folder);
    let is_known = |b: &Begins| b.at.is_some() && b.generation >= generation;
    if folder.path().is_dir() && !known.iter().any(is_known) {
        note(hub, session, What::Generation(generation));
    }
}

/// Until the daemon stops: sessions that print a lot are rendered on the way.
pub async fn keep_up(hub: Arc<Hub>) {
    let mut seen: HashMap<SessionId, u64> = HashMap::new();
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = hub.stop.cancelled() => return,
        }
        let live = |handle: &Handle| handle.now().record.state.is_live();
        let handles: Vec<Handle> = hub.sessions.all().into_iter().filter(live).collect();
        seen.retain(|id, _| handles.iter().any(|handle| handle.id == *id));
        for handle in handles {
            let size = log_size(&hub, &handle.id).await;
            let before = seen.entry(handle.id.clone()).or_insert(0);
            if size.saturating_sub(*before) < MUCH {
                continue;
            }
            *before = size;
            let extra = Arc::clone(&handle.now().extra);
            if let Err(error) = catch_up(&hub, &handle.id, &extra).await {
                tracing::warn!(session = %handle.id, %error, "the archive could not be written");
            }
        }
    }
}

async fn log_size(hub: &Arc<Hub>, session: &SessionId) -> u64 {
    let folder = folder(hub, session);
    let sum = tokio::task::spawn_blocking(move || {
        let size = |part| std::fs::metadata(folder.log(part)).map_or(0, |m| m.len());
        folder.log_parts().into_iter().map(size).sum()
    });
    sum.await.unwrap_or(0)
}
