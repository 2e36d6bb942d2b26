//! A session file in use: made whole in one step, then one line after another.
//!
//! What `append` has returned for is in the file, also when this process is killed the next moment;
//! what `sync` has returned for survives the machine going down too.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;

use super::entry::{self, EntryId, NewEntry};
use super::error::SessionError;
use super::lock::Lock;
use super::name;
use super::open::{self, Opened};
use super::scan::Tail;

/// How much of a torn line is copied at once.
const CHUNK: usize = 64 << 10;

/// In the place of how much is on the disk: it was tried, and went wrong.
const FAILED: u64 = u64::MAX;

#[derive(Debug)]
pub struct SessionFile {
    path: PathBuf,
    id: String,
    file: File,
    /// How much of the file is whole lines.
    length: u64,
    /// How much of it is known to be on the disk itself.
    synced: Arc<AtomicU64>,
    /// A line that could not be written whole could not be taken back either.
    broken: bool,
    leaf: Option<EntryId>,
    ids: HashSet<EntryId>,
    _lock: Lock,
}

/// The folder of the sessions of a working directory.
fn make_folder(sessions: &Path, cwd: &Path) -> Result<PathBuf, SessionError> {
    let folder = name::folder_of(sessions, cwd);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .map_err(SessionError::io("make", &folder))?;
    folder
        .canonicalize()
        .map_err(SessionError::io("open", &folder))
}

/// There whole, or not at all.
fn put(folder: &Path, path: &Path, id: &str, bytes: &[u8]) -> Result<File, SessionError> {
    let temporary = folder.join(format!(".{id}.new"));
    let written = write_new(&temporary, bytes).and_then(|file| {
        place(&temporary, path)?;
        Ok(file)
    });
    let _ = fs::remove_file(&temporary);
    let file = written.map_err(SessionError::io("make", path))?;
    sync_folder(folder).map_err(SessionError::io("make", path))?;
    Ok(file)
}

/// A session with lines that stood in another one.
pub(super) fn write_whole(
    sessions: &Path,
    cwd: &Path,
    id: &str,
    bytes: &[u8],
    now: Timestamp,
) -> Result<PathBuf, SessionError> {
    let folder = make_folder(sessions, cwd)?;
    let path = folder.join(name::file_name(now, id));
    put(&folder, &path, id, bytes)?;
    Ok(path)
}

impl SessionFile {
    /// A new session with its first entries: it is there whole, or not at all.
    ///
    /// `sessions` is the folder of all sessions; the file comes to stand in the one of `cwd`.
    pub fn create(
        sessions: &Path,
        cwd: &Path,
        parent: Option<&Path>,
        first: &[NewEntry],
        now: Timestamp,
    ) -> Result<Self, SessionError> {
        Self::create_named(sessions, cwd, parent, first, &name::uuid_v7(now), now)
    }

    /// The same, with an id that was made before ([`super::new_id`]).
    pub fn create_named(
        sessions: &Path,
        cwd: &Path,
        parent: Option<&Path>,
        first: &[NewEntry],
        id: &str,
        now: Timestamp,
    ) -> Result<Self, SessionError> {
        let id = id.to_owned();
        let folder = make_folder(sessions, cwd)?;
        let path = folder.join(name::file_name(now, &id));
        let mut ids = HashSet::new();
        let mut leaf = None;
        let mut bytes = encoded(&path, entry::header(&id, cwd, parent, now))?;
        for entry in first {
            let id = fresh(&ids);
            bytes.extend(encoded(&path, entry::line(entry, &id, leaf.as_ref(), now))?);
            ids.insert(id.clone());
            leaf = Some(id);
        }

        let lock = Lock::take(&path)?;
        let file = put(&folder, &path, &id, &bytes)?;
        Ok(Self {
            path,
            id,
            file,
            length: bytes.len() as u64,
            synced: Arc::new(AtomicU64::new(bytes.len() as u64)),
            broken: false,
            leaf,
            ids,
            _lock: lock,
        })
    }

    /// Opens a session to go on with it. A last line that a crash has cut is moved out of the way.
    pub fn open(path: &Path) -> Result<(Self, Opened), SessionError> {
        // Before the lock: a path that is none must leave no lock behind.
        drop(open::regular(OpenOptions::new().read(true), path)?);
        let path = path
            .canonicalize()
            .map_err(SessionError::io("open", path))?;
        let lock = Lock::take(&path)?;
        let file = open::regular(OpenOptions::new().read(true).append(true), &path)?;
        let scan = open::scan(&file, &path)?;
        let mut opened = open::opened(&file, &path, &scan)?;
        let mut length = scan.length;
        match scan.tail {
            Tail::Whole => {}
            Tail::NoNewline => {
                (&file)
                    .write_all(b"\n")
                    .map_err(SessionError::io("repair", &path))?;
                length += 1;
            }
            Tail::Torn { from } => {
                opened.torn = Some(
                    keep_torn(&file, &path, from, length)
                        .map_err(SessionError::io("repair", &path))?,
                );
                length = from;
            }
        }
        let session = Self {
            path,
            id: opened.header.id.clone(),
            file,
            length,
            synced: Arc::default(),
            broken: false,
            leaf: scan.places.last().map(|place| place.id.clone()),
            ids: scan.by_id.into_keys().collect(),
            _lock: lock,
        };
        Ok((session, opened))
    }

    /// Adds an entry after the last one.
    pub fn append(&mut self, entry: &NewEntry) -> Result<EntryId, SessionError> {
        let id = fresh(&self.ids);
        let line = entry::line(entry, &id, self.leaf.as_ref(), Timestamp::now());
        let mut bytes = encoded(&self.path, line)?;
        if self.broken {
            // Half a line is in the way: it must not spoil the next one.
            bytes.insert(0, b'\n');
        }
        if let Err(source) = self.file.write_all(&bytes) {
            self.broken = self.file.set_len(self.length).is_err();
            return Err(SessionError::io("write", &self.path)(source));
        }
        self.broken = false;
        self.length += bytes.len() as u64;
        self.ids.insert(id.clone());
        self.leaf = Some(id.clone());
        Ok(id)
    }

    /// Returns when everything so far is on the disk itself.
    pub fn sync(&mut self) -> Result<(), SessionError> {
        let synced = self.synced.load(Ordering::Acquire);
        if synced == FAILED {
            // The system says so only once: asked again it would seem to have gone well.
            self.synced.store(0, Ordering::Release);
            let source = io::Error::other("it could not be brought to the disk");
            return Err(SessionError::io("write", &self.path)(source));
        }
        if synced != self.length {
            self.file
                .sync_data()
                .map_err(SessionError::io("write", &self.path))?;
            self.synced.store(self.length, Ordering::Release);
        }
        let links = self
            .file
            .metadata()
            .map_err(SessionError::io("write", &self.path))?
            .nlink();
        if links == 0 {
            return Err(SessionError::Removed(self.path.clone()));
        }
        Ok(())
    }

    /// Something that has [`Self::sync`] nothing left to do, if it is run in time; elsewhere, as a
    /// disk may take long. Whether it went well is looked at by that one.
    pub fn sync_ahead(&self) -> Option<impl FnOnce() + Send + 'static> {
        let (length, synced) = (self.length, Arc::clone(&self.synced));
        if synced.load(Ordering::Acquire) == length {
            return None;
        }
        let file = self.file.try_clone().ok()?;
        Some(move || {
            let done = file.sync_data().is_ok();
            synced.store(if done { length } else { FAILED }, Ordering::Release);
        })
    }

    /// Absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// The entry that the next one hangs on.
    pub fn leaf(&self) -> Option<&EntryId> {
        self.leaf.as_ref()
    }
}

fn encoded(path: &Path, line: serde_json::Result<Vec<u8>>) -> Result<Vec<u8>, SessionError> {
    line.map_err(|error| SessionError::io("write", path)(error.into()))
}

fn fresh(taken: &HashSet<EntryId>) -> EntryId {
    loop {
        let id = EntryId::random();
        if !taken.contains(&id) {
            return id;
        }
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(file)
}

/// Gives the file its name, never taking another's.
fn place(temporary: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(temporary, path) {
        // Not every file system has links; the name is nobody else's, since it holds a fresh id.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::Unsupported | ErrorKind::PermissionDenied
            ) =>
        {
            fs::rename(temporary, path)
        }
        other => other,
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Moves the bytes from `from` on into `<path>.torn`, after those of earlier times.
fn keep_torn(file: &File, path: &Path, from: u64, to: u64) -> io::Result<PathBuf> {
    let mut name = path.as_os_str().to_owned();
    name.push(".torn");
    let kept = PathBuf::from(name);
    let mut torn = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&kept)?;
    let mut buffer = vec![0; CHUNK];
    let mut at = from;
    while at < to {
        let length = usize::try_from(to - at).unwrap_or(CHUNK).min(CHUNK);
        file.read_exact_at(&mut buffer[..length], at)?;
        torn.write_all(&buffer[..length])?;
        at += length as u64;
    }
    torn.write_all(b"\n")?;
    torn.sync_all()?;
    file.set_len(from)?;
    Ok(kept)
}
