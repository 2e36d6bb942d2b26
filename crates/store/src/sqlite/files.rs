//! The files of a database: the database itself, `-wal`, `-shm`, copies, and what was set aside.
//!
//! Nothing here opens an existing database file: closing such a handle would drop the locks that
//! SQLite holds on it in this process.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::mark;
use crate::StoreError;

/// Only the owner may read what agents were told.
pub(super) const MODE: u32 = 0o600;

/// `sm.db` + `.x` -> `sm.db.x`
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

pub(super) fn failed(path: &Path, error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::ReadOnlyFilesystem => StoreError::Full {
            reason: format!("{}: {error}", path.display()),
        },
        _ => StoreError::File {
            path: path.to_owned(),
            reason: error.to_string(),
        },
    }
}

/// The file exists and only its owner can read it. SQLite gives `-wal` and `-shm` the same mode.
pub(super) fn ensure_private(path: &Path) -> Result<(), StoreError> {
    match create_private(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let metadata = fs::metadata(path).map_err(|e| failed(path, e))?;
            if !metadata.is_file() {
                return Err(StoreError::File {
                    path: path.to_owned(),
                    reason: "not a file".to_owned(),
                });
            }
            if metadata.permissions().mode() & 0o777 != MODE {
                fs::set_permissions(path, fs::Permissions::from_mode(MODE))
                    .map_err(|e| failed(path, e))?;
            }
            Ok(())
        }
        Err(error) => Err(failed(path, error)),
    }
}

/// A new, empty file that only its owner can read.
pub(super) fn create_private(path: &Path) -> io::Result<()> {
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(path)
        .map(drop)
}

/// Moves a damaged database with its `-wal` and `-shm` out of the way, keeping every byte.
pub(super) fn set_aside(path: &Path, stamp: &str) -> Result<PathBuf, StoreError> {
    let target = free_name(path, &format!(".corrupt-{stamp}"));
    // The log first: a database without its log is older, a log without its database is nothing.
    for suffix in ["-wal", "-shm", mark::SUFFIX, ""] {
        let from = beside(path, suffix);
        match fs::rename(&from, beside(&target, suffix)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&from, error)),
        }
    }
    clear_suspect(path);
    Ok(target)
}

/// A copy of the log, for whoever wants to look for what it lost. None: there is no log, or no room.
pub(super) fn keep_log(path: &Path, stamp: &str) -> Option<PathBuf> {
    let log = beside(path, "-wal");
    let target = free_name(path, &format!("-wal.damaged-{stamp}"));
    fs::metadata(&log).ok().filter(|log| log.len() > 0)?;
    match fs::copy(&log, &target) {
        Ok(_) => Some(target),
        Err(_) => {
            let _ = fs::remove_file(&target);
            None
        }
    }
}

/// A name beside the database that nothing has yet.
pub(super) fn free_name(path: &Path, suffix: &str) -> PathBuf {
    let first = beside(path, suffix);
    let mut name = first.clone();
    let mut n = 1u32;
    while fs::symlink_metadata(&name).is_ok() {
        name = beside(&first, &format!(".{n}"));
        n += 1;
    }
    name
}

/// Bytes of the database and its log.
pub(super) fn size(path: &Path) -> Result<u64, StoreError> {
    let database = fs::metadata(path).map_err(|e| failed(path, e))?.len();
    let log = fs::metadata(beside(path, "-wal")).map_or(0, |m| m.len());
    Ok(database + log)
}

/// The log has content and the database has none: something has happened to it, for we never leave
/// it like this.
pub(super) fn is_log_alone(path: &Path) -> bool {
    let len = |path: &Path| fs::metadata(path).map_or(0, |m| m.len());
    len(path) == 0 && len(&beside(path, "-wal")) > 0
}

fn suspect(path: &Path) -> PathBuf {
    beside(path, ".suspect")
}

/// Damage was seen: the next open checks the whole database. Best effort; if it cannot be written,
/// the damage is met again.
pub(super) fn mark_suspect(path: &Path) {
    let _ = create_private(&suspect(path));
}

pub(super) fn is_suspect(path: &Path) -> bool {
    suspect(path).exists()
}

pub(super) fn clear_suspect(path: &Path) {
    let _ = fs::remove_file(suspect(path));
}
