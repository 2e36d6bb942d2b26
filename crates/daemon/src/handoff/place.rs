//! Where documents and artifacts of handoffs are kept: a folder for each, ours alone, durable before
//! anybody is told of it.

use super::DOCUMENT;
use crate::config::Layout;
use sm_core::{SessionId, Timestamp};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Handoffs of one session within one second.
const MOST_IN_A_SECOND: u32 = 1000;

/// A document that lies safely in its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub folder: PathBuf,
    pub document: PathBuf,
}

/// The folder of all handoffs. Without a home there is only our own.
pub fn base(layout: Layout, data: &Path, home: Option<&Path>) -> PathBuf {
    match (layout, home) {
        (Layout::Seed, Some(home)) => home.join(".local/share/claude-sessions/handoffs"),
        (Layout::Sm | Layout::Seed, _) => data.join("handoffs"),
    }
}

/// Writes the document into a new folder. On disk, with its folders, when this returns.
pub fn keep(base: &Path, session: &SessionId, now: Timestamp, text: &str) -> io::Result<Kept> {
    ensure(base)?;
    let folder = new_folder(base, session, now)?;
    let document = folder.join(DOCUMENT);
    let written = write_new(&document, text.as_bytes())
        .and_then(|()| sync_folder(&folder))
        .and_then(|()| sync_folder(base));
    match written {
        Ok(()) => Ok(Kept { folder, document }),
        Err(error) => {
            let _ = fs::remove_dir_all(&folder);
            Err(error)
        }
    }
}

/// Replaces a file as a whole, durably.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {} // of a daemon that died right here
    }
    write_new(&new, bytes)?;
    fs::rename(&new, path)?;
    match path.parent() {
        Some(folder) => sync_folder(folder),
        None => Ok(()),
    }
}

/// A file of ours, emptied if it is there.
pub(super) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

/// Whether it is a handoff's folder of this session: `base/<session>-…`.
pub fn is_own(folder: &Path, bases: &[PathBuf], session: &SessionId) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let own = name.is_some_and(|name| name.starts_with(&format!("{session}-")));
    let below = folder
        .parent()
        .is_some_and(|parent| bases.iter().any(|base| base == parent));
    own && below
}

/// Removes a handoff's folder, and nothing else.
pub fn remove(folder: &Path, bases: &[PathBuf], session: &SessionId) -> io::Result<()> {
    if !is_own(folder, bases, session) {
        return Ok(());
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn ensure(base: &Path) -> io::Result<()> {
    if base.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(base)?;
    match base.parent() {
        Some(parent) => sync_folder(parent),
        None => Ok(()),
    }
}

fn new_folder(base: &Path, session: &SessionId, now: Timestamp) -> io::Result<PathBuf> {
    let name = format!("{session}-{}", stamp(now));
    for n in 1..=MOST_IN_A_SECOND {
        let folder = match n {
            1 => base.join(&name),
            n => base.join(format!("{name}-{n}")),
        };
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// `20260102-030405`, UTC.
fn stamp(now: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(now.0) {
        Ok(time) => time.strftime("%Y%m%d-%H%M%S").to_string(),
        Err(_) => String::from("19700101-000000"),
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn session() -> SessionId {
        SessionId::new("1a2b3c4d").unwrap()
    }

    #[test]
    fn every_handoff_has_a_folder_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let base = base(Layout::Sm, &dir.path().join("data"), None);
        let now = Timestamp(1_767_323_045_000);
        let first = keep(&base, &session(), now, "one").unwrap();
        assert_eq!(first.folder, base.join("1a2b3c4d-20260102-030405"));
        assert_eq!(fs::read_to_string(&first.document).unwrap(), "one");
        assert_eq!((mode(&first.folder), mode(&first.document)), (0o700, 0o600));
        assert_eq!(mode(&base), 0o700);
        let second = keep(&base, &session(), now, "two").unwrap();
        assert_eq!(second.folder, base.join("1a2b3c4d-20260102-030405-2"));
        assert_eq!(fs::read_to_string(&first.document).unwrap(), "one");

        replace(&first.document, b"again").unwrap();
        assert_eq!(fs::read_to_string(&first.document).unwrap(), "again");
        assert_eq!(mode(&first.document), 0o600);
    }

    #[test]
    fn the_older_layout_is_below_the_home_folder() {
        let home = Path::new("/home/me");
        let data = Path::new("/data");
        let seed = "/home/me/.local/share/claude-sessions/handoffs";
        assert_eq!(base(Layout::Seed, data, Some(home)), Path::new(seed));
        assert_eq!(base(Layout::Seed, data, None), Path::new("/data/handoffs"));
        assert_eq!(
            base(Layout::Sm, data, Some(home)),
            Path::new("/data/handoffs")
        );
    }

    #[test]
    fn only_folders_of_the_session_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("handoffs");
        let other = dir.path().join("other/1a2b3c4d-x");
        fs::create_dir_all(&other).unwrap();
        let kept = keep(&base, &session(), Timestamp(0), "x").unwrap();
        let bases = [base.clone()];
        for path in [&base, &other, &base.join("1a2b3c4d5-x"), Path::new("/")] {
            remove(path, &bases, &session()).unwrap();
        }
        assert!(other.is_dir() && kept.document.is_file());
        remove(&kept.folder, &bases, &session()).unwrap();
        remove(&kept.folder, &bases, &session()).unwrap();
        assert!(!kept.folder.exists() && base.is_dir());
    }
}
