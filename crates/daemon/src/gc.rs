//! What is old goes: logs and folders of sessions that ended long ago, artifacts of old handoffs,
//! documents that a model wrote for them, and old lines of history.
//! Shown before it is done; nothing that a live session may still need is ever touched.

use crate::api::{self, ApiError};
use crate::clock;
use crate::handoff;
use crate::hub::{Handle, Hub};
use serde::Serialize;
use sm_core::{Handoff, Timestamp};
use sm_store::Prune;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Report {
    pub dry_run: bool,
    pub items: Vec<Item>,
    pub bytes: u64,
}

#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct Item {
    pub session: String,
    pub path: String,
    pub bytes: u64,
    pub reason: String,
}

const DAY: i64 = 86_400_000;
/// A folder that no handoff names after so long is nobody's.
const UNNAMED: Duration = Duration::from_secs(24 * 3600);

pub async fn collect(hub: &Arc<Hub>, dry_run: bool) -> Result<Report, ApiError> {
    let now = clock::now();
    let keep = &hub.config.retention;
    let logs_before = limit(now, keep.logs_days);
    let events_before = limit(now, keep.events_days);
    let ended: Vec<(Handle, Timestamp)> = hub
        .sessions
        .all()
        .into_iter()
        .filter_map(|handle| {
            let now = handle.now();
            (!now.record.state.is_live()).then(|| {
                let since = now.record.since;
                (handle, since)
            })
        })
        .collect();
    let mut items = items(hub, &ended, logs_before);
    let gone: Vec<PathBuf> = items.iter().map(|item| item.path.clone().into()).collect();
    items.extend(handoffs(hub, limit(now, keep.handoffs_days), &gone).await?);
    if !dry_run {
        for item in &items {
            let path = Path::new(&item.path);
            let removed = match path.is_dir() {
                true => std::fs::remove_dir_all(path),
                false => std::fs::remove_file(path),
            };
            if let Err(error) = removed {
                hub.problem(format!("{} could not be removed: {error}", item.path));
            }
        }
        let prune = Prune {
            events_before: events_before.0,
            messages_before: events_before.0,
            sessions_before: i64::MIN,
        };
        let (tx, rx) = tokio::sync::oneshot::channel();
        hub.journal.prune(prune, move |result| {
            let _ = tx.send(result);
        });
        match rx.await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(ApiError::store(&error)),
            Err(_) => return Err(ApiError::gone()),
        }
    }
    Ok(Report {
        dry_run,
        bytes: items.iter().map(|item| item.bytes).sum(),
        items,
    })
}

/// What is older than so many days goes; 0 days: nothing does.
fn limit(now: Timestamp, days: u32) -> Timestamp {
    match days {
        0 => Timestamp(i64::MIN),
        days => now.plus(-i64::from(days) * DAY),
    }
}

/// Folders of sessions that ended before the limit; then the oldest of the rest while all
/// together are too big.
fn items(hub: &Hub, ended: &[(Handle, Timestamp)], before: Timestamp) -> Vec<Item> {
    let days = hub.config.retention.logs_days;
    let mut items = Vec::new();
    let mut rest: Vec<(Timestamp, Item)> = Vec::new();
    for (handle, since) in ended {
        let folder = hub.paths.session_dir(handle.id.as_str());
        let bytes = size(&folder);
        if bytes == 0 {
            continue;
        }
        let mut item = Item {
            session: handle.now().record.name.to_string(),
            path: folder.to_string_lossy().into_owned(),
            bytes,
            reason: format!("ended more than {days} days ago"),
        };
        if *since < before {
            items.push(item);
        } else {
            item.reason = "all logs together are over the limit, and it is the oldest".into();
            rest.push((*since, item));
        }
    }
    for (name, folder, since) in runs(&hub.paths.sessions_dir()) {
        let mut item = Item {
            session: name,
            bytes: size(&folder),
            path: folder.to_string_lossy().into_owned(),
            reason: format!("nothing was shown for more than {days} days"),
        };
        if since < before {
            items.push(item);
        } else {
            item.reason = "all logs together are over the limit, and it is the oldest".into();
            rest.push((since, item));
        }
    }
    let limit = match hub.config.retention.logs_max_mb {
        0 => u64::MAX,
        mb => u64::from(mb) << 20,
    };
    let mut total = size(&hub.paths.sessions_dir()) - items.iter().map(|i| i.bytes).sum::<u64>();
    rest.sort_by_key(|(since, _)| *since);
    for (_, item) in rest {
        if total <= limit {
            break;
        }
        total = total.saturating_sub(item.bytes);
        items.push(item);
    }
    items
}

/// Folders of `sm run`, which no session tells of, with when something was last shown. One that may
/// still run is none of them.
fn runs(sessions: &Path) -> Vec<(String, PathBuf, Timestamp)> {
    let bases = [sessions.to_path_buf()];
    let found = folders(&bases)
        .filter(|folder| is_old(folder))
        .filter_map(|folder| {
            let name = folder.file_name()?.to_str()?.to_owned();
            let last = changed(&folder)?;
            (name.starts_with(sm_client::wire::RUN_PREFIX)
                // an `sm run` that shows nothing for days still runs
                && !sm_client::terminal_log::is_written(&folder)
                && last.elapsed().is_ok_and(|age| age > UNNAMED))
            .then(|| (name, folder, crate::clock::of(last)))
        });
    found.collect()
}

/// When a file in it was last changed.
fn changed(folder: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let times = entries.filter_map(|entry| entry.metadata().ok()?.modified().ok());
    times.max()
}

/// Folders of handoffs that ended before the limit, and documents that were written for them. A
/// session that lives keeps its latest; what lies in a folder that is `gone` goes with it.
async fn handoffs(
    hub: &Arc<Hub>,
    before: Timestamp,
    gone: &[PathBuf],
) -> Result<Vec<Item>, ApiError> {
    let bases = hub.all_handoffs_dirs();
    let days = hub.config.retention.handoffs_days;
    let mut items = Vec::new();
    for handle in hub.sessions.all() {
        let now = handle.now();
        let latest = now.record.handoff.as_deref().map(|latest| &latest.id);
        let needed = |handoff: &Handoff| {
            handoff.state.is_open() || (now.record.state.is_live() && Some(&handoff.id) == latest)
        };
        let mut named = HashSet::new();
        let mut kept = HashSet::new();
        for handoff in api::stored_handoffs(hub, &handle.id).await? {
            named.insert(PathBuf::from(&handoff.folder));
            if needed(&handoff) {
                kept.insert(PathBuf::from(&handoff.document));
            }
            let ended = handoff.done_at.unwrap_or(handoff.created_at);
            let folder = Path::new(&handoff.folder);
            let bytes = size(folder);
            if needed(&handoff)
                || ended >= before
                || bytes == 0
                || !handoff::is_own(folder, &bases, &handle.id)
            {
                continue;
            }
            items.push(Item {
                session: now.record.name.to_string(),
                path: handoff.folder,
                bytes,
                reason: format!("handed off more than {days} days ago"),
            });
        }
        let own = |folder: &PathBuf| handoff::is_own(folder, &bases, &handle.id);
        for folder in folders(&bases).filter(own) {
            if named.contains(&folder) || !is_old(&folder) {
                continue;
            }
            items.push(Item {
                session: now.record.name.to_string(),
                bytes: size(&folder),
                path: folder.to_string_lossy().into_owned(),
                reason: "left behind by a handoff that was never scheduled: sm was killed".into(),
            });
        }
        let home = hub.paths.session_dir(handle.id.as_str());
        if gone.contains(&home) {
            continue;
        }
        for (path, bytes) in generated(&home, before, &kept) {
            items.push(Item {
                session: now.record.name.to_string(),
                path: path.to_string_lossy().into_owned(),
                bytes,
                reason: format!("a document that a model wrote more than {days} days ago"),
            });
        }
    }
    Ok(items)
}

/// Documents that `sm handoff --generate` left in a session's folder before the limit, and of whose
/// writing it was killed.
fn generated(
    folder: &Path,
    before: Timestamp,
    kept: &HashSet<PathBuf>,
) -> impl Iterator<Item = (PathBuf, u64)> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.and_then(|name| name.strip_prefix("generated-"));
            name.is_some_and(|name| name.ends_with(".md") || name.ends_with(".new"))
        })
        .filter(|path| !kept.contains(path))
        .filter_map(move |path| {
            let about = std::fs::symlink_metadata(&path).ok()?;
            let written = crate::clock::of(about.modified().ok()?);
            (about.is_file() && written < before).then_some((path, about.len()))
        })
}

fn folders(bases: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let entries = bases.iter().filter_map(|base| std::fs::read_dir(base).ok());
    entries.flatten().flatten().map(|entry| entry.path())
}

/// Not one that is being made. A link is not followed.
fn is_old(folder: &Path) -> bool {
    let Ok(meta) = std::fs::symlink_metadata(folder) else {
        return false;
    };
    let modified = meta.modified().unwrap_or_else(|_| SystemTime::now());
    meta.is_dir() && modified.elapsed().is_ok_and(|age| age > UNNAMED)
}

fn size(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => size(&entry.path()),
            Ok(_) => entry.metadata().map(|m| m.len()).unwrap_or(0),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_days_means_for_ever() {
        let now = Timestamp(100 * DAY);
        assert_eq!(limit(now, 0), Timestamp(i64::MIN));
        assert_eq!(limit(now, 30), Timestamp(70 * DAY));
    }

    #[test]
    fn documents_of_a_model_go_when_they_are_old_and_nobody_needs_them() {
        let temp = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 40 * 24 * Duration::from_secs(3600);
        let make = |name: &str, time: SystemTime| {
            let path = temp.path().join(name);
            std::fs::write(&path, "text").unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(time).unwrap();
            path
        };
        let gone = [make("generated-1.md", old), make("generated-2.new", old)];
        let needed = make("generated-3.md", old);
        make("generated-4.md", SystemTime::now());
        make("terminal.000001.log", old);
        make("generated-notes.txt", old);
        std::fs::create_dir(temp.path().join("generated-5.md")).unwrap();
        let before = limit(clock::now(), 30);
        let kept = HashSet::from([needed]);
        let mut found: Vec<_> = generated(temp.path(), before, &kept).collect();
        found.sort();
        assert_eq!(found, gone.map(|path| (path, 4)));
        let forever = limit(clock::now(), 0);
        assert_eq!(generated(temp.path(), forever, &kept).count(), 0);
    }

    #[test]
    fn runs_that_are_over_are_found_and_nothing_else() {
        let temp = tempfile::tempdir().unwrap();
        let long_ago = SystemTime::now() - 40 * 24 * Duration::from_secs(3600);
        let make = |name: &str, files: &[(&str, SystemTime)]| {
            let folder = temp.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            for (file, changed) in files {
                let file = std::fs::File::create(folder.join(file)).unwrap();
                file.set_modified(*changed).unwrap();
            }
            let folder = std::fs::File::open(folder).unwrap();
            folder.set_modified(long_ago).unwrap();
        };
        let now = SystemTime::now();
        make("run-over", &[("terminal.000001.log", long_ago)]);
        make(
            "run-shows",
            &[("terminal.000001.log", now), ("x", long_ago)],
        );
        make("run-empty", &[]);
        make("run-idle", &[("terminal.000001.log", long_ago)]);
        let idle = sm_client::terminal_log::Writer::new(&temp.path().join("run-idle"));
        make("0123456789ab", &[("terminal.000001.log", long_ago)]);
        let found = runs(temp.path());
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["run-over"]);
        assert_eq!(found[0].2, crate::clock::of(long_ago));
        drop(idle);
        assert_eq!(runs(temp.path()).len(), 2, "it is over now");
    }
}
