//! Where documents and artifacts of handoffs are kept: a folder for each, ours alone, durable before
//! anybody is told of it.

use super::DOCUMENT;
use super::links::{self, Folder};
use crate::config::Layout;
use sm_core::{SessionId, Timestamp};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The most that is read of what is kept: more than any document may have.
const LARGEST: u64 = 64 << 20;

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
    let write = || {
        let opened = Folder::open(&folder)?;
        opened.write_new(Path::new(DOCUMENT), text.as_bytes())?;
        opened.sync()?;
        sync_folder(base)
    };
    let written = write();
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
    let (folder, name) = links::parts(path)?;
    let folder = Folder::open(folder)?;
    let new = name.with_extension("new");
    folder.remove(&new)?; // of a daemon that died right here
    folder.write_new(&new, bytes)?;
    folder.rename(&new, name)?;
    folder.sync()
}

/// What a file of ours holds, as text; a link in its place, or in that of its folder, is refused.
pub fn read(path: &Path) -> io::Result<String> {
    let (folder, name) = links::parts(path)?;
    let bytes = Folder::open(folder)?.read(name, LARGEST)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// A file of ours, emptied if it is there.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let (folder, name) = links::parts(path)?;
    Folder::open(folder)?.create(name)
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
    fn a_link_in_the_place_of_a_folder_or_a_file_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let base = at("handoffs");
        let kept = keep(&base, &session(), Timestamp(0), "one").unwrap();
        fs::create_dir(at("elsewhere")).unwrap();
        let victim = at("elsewhere/document.md");
        fs::write(&victim, "theirs").unwrap();
        assert_eq!(read(&kept.document).unwrap(), "one");
        let refused = || {
            assert!(read(&kept.document).is_err());
            assert!(create(&kept.document).is_err());
            assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs");
        };
        // the document: it may be replaced, but not written through
        fs::remove_file(&kept.document).unwrap();
        std::os::unix::fs::symlink(&victim, &kept.document).unwrap();
        refused();
        replace(&kept.document, b"two").unwrap();
        assert_eq!(read(&kept.document).unwrap(), "two");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs");
        // the folder
        fs::rename(&kept.folder, at("aside")).unwrap();
        std::os::unix::fs::symlink(at("elsewhere"), &kept.folder).unwrap();
        refused();
        assert!(replace(&kept.document, b"three").is_err());
        refused();
        remove(&kept.folder, &[base], &session()).unwrap();
        assert!(victim.is_file(), "only the link is removed");
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
