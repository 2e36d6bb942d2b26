//! Sees to it that every terminal is written down.
//!
//! The program that writes a terminal's log is fed by tmux and outlives the daemon, but it can be
//! killed. It holds a lock on the session's folder, so its end is noticed; it is started again, what
//! the terminal shows then goes into the log, and the hole is marked there and told to people.

use crate::archive::{self, What};
use crate::hub::{Handle, Hub};
use crate::stored::Terminal;
use crate::{clock, journal, launch, proof};
use sm_client::terminal_log::{self, Writer};
use sm_core::{SessionId, Timestamp};
use sm_runtime::PaneId;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const LOOK_EVERY: Duration = Duration::from_secs(2);
/// tmux is asked to start it again at most so often, in a row, for one terminal.
const TRIES: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(10);

/// A terminal that nobody wrote down at the last look.
#[derive(Default)]
struct Unwritten {
    terminal: Option<Terminal>,
    tried: u32,
}

/// Until the daemon stops.
pub async fn keep(hub: Arc<Hub>) {
    let mut unwritten: HashMap<SessionId, Unwritten> = HashMap::new();
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = hub.stop.cancelled() => return,
        }
        let handles = hub.sessions.all();
        unwritten.retain(|id, _| handles.iter().any(|handle| handle.id == *id));
        for handle in handles {
            let terminal = live_terminal(&handle);
            let lacks = match terminal {
                Some(_) => !is_written(&hub, &handle.id).await,
                None => false,
            };
            if !lacks {
                unwritten.remove(&handle.id);
                continue;
            }
            let known = unwritten.entry(handle.id.clone()).or_default();
            // One that begins or ends just now is not written down for a moment.
            if known.terminal != terminal {
                known.terminal = terminal;
                continue;
            }
            known.tried += 1;
            if let Some(terminal) = known.terminal.clone().filter(|_| known.tried <= TRIES) {
                resume(&hub, &handle, &terminal, known.tried == TRIES).await;
            }
        }
    }
}

fn live_terminal(handle: &Handle) -> Option<Terminal> {
    let now = handle.now();
    let live = now.record.state.is_live() && now.record.process.is_some();
    now.extra.terminal.clone().filter(|_| live)
}

async fn is_written(hub: &Arc<Hub>, session: &SessionId) -> bool {
    let folder = hub.paths.session_dir(session.as_str());
    let look = tokio::task::spawn_blocking(move || {
        // A folder that is gone is nobody's to write in.
        !folder.is_dir() || terminal_log::is_written(&folder)
    });
    look.await.unwrap_or(true)
}

/// Starts the writer again, and tells what is missing. `last`: it is not tried once more.
async fn resume(hub: &Arc<Hub>, handle: &Handle, terminal: &Terminal, last: bool) {
    let Some(pane) = terminal.pane_id() else {
        return;
    };
    let now = handle.now();
    let name = now.record.name.to_string();
    let folder = hub.paths.session_dir(handle.id.as_str());
    let resumed = tokio::time::timeout(PATIENCE, start(hub, handle, pane, &folder)).await;
    match resumed.unwrap_or_else(|_| Err("tmux did not answer in time".to_owned())) {
        Ok(since) => {
            let text = format!(
                "the program that writes down its terminal had ended and was started again; what the terminal showed from {} to {} may be missing in the archive",
                clock::rfc3339(since),
                clock::rfc3339(clock::now()),
            );
            hub.problem(format!("{name}: {text}"));
            journal::note(hub, &now.record, "log", &text).await;
        }
        Err(error) if last => hub.problem(format!(
            "{name}: nobody writes its terminal down, and the program that does could not be started again ({error}); what it shows is missing in the archive until it is restored: sm kill {0} && sm restore {0}",
            handle.id
        )),
        Err(error) => tracing::warn!(session = %handle.id, error, "its log could not be resumed"),
    }
}

/// Since when nothing was written down.
async fn start(
    hub: &Arc<Hub>,
    handle: &Handle,
    pane: PaneId,
    folder: &Path,
) -> Result<Timestamp, String> {
    let picture = hub.tmux.picture(pane).await;
    let picture = picture.map_err(|error| error.to_string())?;
    let (cols, rows) = (picture.cols, picture.rows);
    let marked = tokio::task::spawn_blocking({
        let (hub, id, folder) = (Arc::clone(hub), handle.id.clone(), folder.to_path_buf());
        move || {
            let since = last_written(&folder);
            // What it showed before is all said; what it shows now is drawn on an empty one.
            archive::note(&hub, &id, What::New { cols, rows });
            let mut writer = Writer::new(&folder);
            let gap = format!(
                "[sm: from {} to {} the terminal was not written down: the program that does it had ended]\r\n",
                clock::rfc3339(since),
                clock::rfc3339(clock::now()),
            );
            writer.write(gap.as_bytes(), terminal_log::now());
            writer.write(&picture.bytes, terminal_log::now());
            writer.finish();
            since
        }
    });
    let since = marked.await.map_err(|error| error.to_string())?;
    let now = handle.now();
    let key = proof::log_key(&now.extra.secret_hash);
    let log = launch::log_command(hub, &now.record, folder, key);
    let piped = hub.tmux.pipe(pane, &log).await;
    piped.map_err(|error| error.to_string())?;
    Ok(since)
}

/// When the log last grew.
fn last_written(folder: &Path) -> Timestamp {
    let is_log = |path: &PathBuf| path.extension().is_some_and(|ext| ext == "log");
    let parts = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let times = parts
        .map(|entry| entry.path())
        .filter(is_log)
        .filter_map(|path| std::fs::metadata(path).ok()?.modified().ok());
    let newest: Option<SystemTime> = times.max();
    newest.map_or_else(clock::now, clock::of)
}
