//! What sm's commands have put outside of its own folders, written down before it is put there, so
//! that an uninstall takes back all of it and nothing else.
//!
//! One small file a place, below the state folder. A file that was replaced whole is kept as it was
//! before. Nothing here decides what is taken out: whoever asks for the list does.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::Paths;

/// A larger file is not kept as it was, and so not put back.
const MOST_KEPT: u64 = 4 << 20;
const MOST_RECORD: u64 = 64 << 10;
/// More folders than that are not made for one file.
const MOST_FOLDERS: usize = 64;

/// What was put somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TraceKind {
    /// Hooks in the settings of Claude Code.
    ClaudeHooks,
    /// Hooks in the settings of Codex.
    CodexHooks,
    /// Aliases in a shell's start file.
    Alias,
    /// The file that starts the daemon at login.
    Service,
    /// The folder of handoffs between agents.
    Channels,
    /// Which project has which channel.
    ChannelRegistry,
    /// A rule that a person let sm's own agent keep.
    AgentRules,
    /// A project's pins.
    Pins,
    /// The folder of one handoff, outside of the data folder.
    Handoff,
}

impl TraceKind {
    pub const ALL: [Self; 9] = [
        Self::ClaudeHooks,
        Self::CodexHooks,
        Self::Alias,
        Self::Service,
        Self::Channels,
        Self::ChannelRegistry,
        Self::AgentRules,
        Self::Pins,
        Self::Handoff,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::ClaudeHooks => "claude-hooks",
            Self::CodexHooks => "codex-hooks",
            Self::Alias => "alias",
            Self::Service => "service",
            Self::Channels => "channels",
            Self::ChannelRegistry => "channel-registry",
            Self::AgentRules => "agent-rules",
            Self::Pins => "pins",
            Self::Handoff => "handoff",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// One place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    pub kind: TraceKind,
    pub path: PathBuf,
    /// How many of the folders above it were made for it.
    folders: usize,
    /// What sm left in a file that it replaces whole; without it somebody else has changed it too.
    left: Option<u64>,
    /// The file as it was before, if there was one.
    original: Option<PathBuf>,
}

/// What became of a file that sm had replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undone {
    /// It was made by sm and is gone.
    Removed,
    /// It is byte for byte as it was before.
    Restored,
    /// Somebody else has changed it too, so it stays.
    Changed,
}

impl Trace {
    /// A place that is known without a record.
    pub fn found(kind: TraceKind, path: PathBuf) -> Self {
        Self {
            kind,
            path,
            folders: 0,
            left: None,
            original: None,
        }
    }

    /// Takes back what was done to a file that sm replaces whole.
    pub fn undo(&self) -> io::Result<Undone> {
        let now = match read_file(&self.path, MOST_KEPT) {
            Ok(now) => now,
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return Ok(Undone::Changed);
            }
            Err(error) => return Err(error),
        };
        let before = match &self.original {
            Some(file) => read_file(file, MOST_KEPT)?,
            None => None,
        };
        if now == before {
            return Ok(match before {
                Some(_) => Undone::Restored,
                None => Undone::Removed,
            });
        }
        let is_ours = now
            .as_deref()
            .is_some_and(|now| self.left == Some(hash(now)));
        match (is_ours, before) {
            (false, _) => Ok(Undone::Changed),
            (true, None) => {
                fs::remove_file(&self.path)?;
                self.remove_folders();
                Ok(Undone::Removed)
            }
            (true, Some(before)) => {
                // its mode and its place stay those of the file
                let target = self.path.canonicalize()?;
                let beside = with_suffix(&target, &format!(".sm-{}", std::process::id()));
                let written = write_private(&beside, &before)
                    .and_then(|()| {
                        fs::set_permissions(&beside, fs::metadata(&target)?.permissions())
                    })
                    .and_then(|()| fs::rename(&beside, &target));
                if written.is_err() {
                    let _ = fs::remove_file(&beside);
                }
                written.map(|()| Undone::Restored)
            }
        }
    }

    /// Removes the folders that were made for it, if nothing else is in them.
    pub fn remove_folders(&self) {
        for folder in self.path.ancestors().skip(1).take(self.folders) {
            match fs::remove_dir(folder) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return,
            }
        }
    }
}

/// The list of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    folder: PathBuf,
}

impl Footprint {
    /// The name of its folder in the state folder.
    pub const FOLDER: &'static str = "footprint";

    pub fn of(paths: &Paths) -> Self {
        Self {
            folder: paths.state_dir().join(Self::FOLDER),
        }
    }

    /// Before something is put there that can be taken out by itself.
    pub fn note(&self, kind: TraceKind, path: &Path) -> io::Result<()> {
        let path = std::path::absolute(path)?;
        let folders = missing_folders(&path);
        self.note_made(kind, &path, folders)
    }

    /// After something was put there whose name was not known before, with so many folders above it
    /// that had to be made ([`missing_folders`]).
    pub fn note_made(&self, kind: TraceKind, path: &Path, folders: usize) -> io::Result<()> {
        let path = std::path::absolute(path)?;
        if self.find(kind, &path).is_some() {
            return Ok(());
        }
        self.write(&Trace {
            folders,
            ..Trace::found(kind, path)
        })
    }

    /// Before a file of which `before` is the content gets another one.
    pub fn note_replaced(
        &self,
        kind: TraceKind,
        path: &Path,
        before: Option<&[u8]>,
        after: &[u8],
    ) -> io::Result<()> {
        let path = std::path::absolute(path)?;
        if let Some(known) = self.find(kind, &path) {
            let kept = match &known.original {
                Some(file) => read_file(file, MOST_KEPT)?,
                None => None,
            };
            if kept.as_deref() == Some(after) {
                self.forget(&known);
                return Ok(());
            }
            // What sm had made is gone: whatever there is now begins anew.
            if before.is_some() || kept.is_some() {
                let is_ours = before.is_some_and(|before| known.left == Some(hash(before)));
                return self.write(&Trace {
                    left: is_ours.then(|| hash(after)),
                    ..known
                });
            }
            self.forget(&known);
        }
        let mut trace = Trace {
            folders: missing_folders(&path),
            left: Some(hash(after)),
            ..Trace::found(kind, path)
        };
        if let Some(before) = before {
            let file = with_suffix(&self.file(kind, &trace.path), ".before");
            self.ensure()?;
            write_private(&file, before)?;
            trace.original = Some(file);
        }
        self.write(&trace)
    }

    /// Everything that is written down, in the order of kinds. What cannot be read is left out.
    pub fn traces(&self) -> Vec<Trace> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let mut traces: Vec<Trace> = entries
            .flatten()
            .filter_map(|entry| self.read(&entry.path()))
            .collect();
        traces.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
        traces
    }

    pub fn find(&self, kind: TraceKind, path: &Path) -> Option<Trace> {
        self.read(&self.file(kind, path))
            .filter(|trace| trace.kind == kind && trace.path == path)
    }

    /// It is no longer there.
    pub fn forget(&self, trace: &Trace) {
        let file = self.file(trace.kind, &trace.path);
        let _ = fs::remove_file(with_suffix(&file, ".before"));
        let _ = fs::remove_file(file);
        let _ = fs::remove_dir(&self.folder);
    }

    /// It was taken out: the folders made for it go too.
    pub fn taken_out(&self, kind: TraceKind, path: &Path) {
        let Ok(path) = std::path::absolute(path) else {
            return;
        };
        if let Some(trace) = self.find(kind, &path) {
            if !path.exists() {
                trace.remove_folders();
            }
            self.forget(&trace);
        }
    }

    fn file(&self, kind: TraceKind, path: &Path) -> PathBuf {
        let name = hash(path.as_os_str().as_bytes());
        self.folder.join(format!("{}-{name:016x}", kind.word()))
    }

    fn ensure(&self) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.folder)
    }

    /// `<kind> <folders made> <hash of what was left>\n<path>`; the path is the rest of the file, as
    /// it may hold anything.
    fn write(&self, trace: &Trace) -> io::Result<()> {
        self.ensure()?;
        let left = trace
            .left
            .map_or("-".to_owned(), |left| format!("{left:016x}"));
        let mut bytes = format!("{} {} {left}\n", trace.kind.word(), trace.folders).into_bytes();
        bytes.extend(trace.path.as_os_str().as_bytes());
        let file = self.file(trace.kind, &trace.path);
        let beside = with_suffix(&file, &format!(".new-{}", std::process::id()));
        write_private(&beside, &bytes).and_then(|()| fs::rename(&beside, &file))
    }

    fn read(&self, file: &Path) -> Option<Trace> {
        let bytes = read_file(file, MOST_RECORD).ok()??;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let mut words = std::str::from_utf8(&bytes[..end]).ok()?.split(' ');
        let kind = TraceKind::from_word(words.next()?)?;
        let folders: usize = words.next()?.parse().ok()?;
        let left = u64::from_str_radix(words.next()?, 16).ok();
        let path = PathBuf::from(std::ffi::OsString::from_vec(bytes[end + 1..].to_vec()));
        // `.before` and what a kill left are no records
        if !path.is_absolute() || self.file(kind, &path) != file {
            return None;
        }
        let original = with_suffix(file, ".before");
        Some(Trace {
            kind,
            path,
            folders: folders.min(MOST_FOLDERS),
            left,
            original: original.is_file().then_some(original),
        })
    }
}

/// How many folders above it will have to be made.
pub fn missing_folders(path: &Path) -> usize {
    path.ancestors()
        .skip(1)
        .take_while(|folder| !folder.exists())
        .take(MOST_FOLDERS)
        .count()
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn hash(bytes: &[u8]) -> u64 {
    crate::paths::fnv1a_64(bytes)
}

/// A regular file's bytes; `None`: there is none.
fn read_file(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    // a pipe in its place must not hold us up
    match fs::metadata(path) {
        Ok(about) if about.is_file() => {}
        Ok(_) => return Err(io::Error::from(io::ErrorKind::FileTooLarge)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(most + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    Ok(Some(bytes))
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        dir: tempfile::TempDir,
        list: Footprint,
    }

    fn place() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let list = Footprint {
            folder: dir.path().join("state/footprint"),
        };
        Place { dir, list }
    }

    impl Place {
        fn file(&self) -> PathBuf {
            self.dir.path().join("project/.sm/pins.md")
        }

        /// As a command does it.
        fn put(&self, text: &str) {
            let before = fs::read(self.file()).ok();
            self.list
                .note_replaced(
                    TraceKind::Pins,
                    &self.file(),
                    before.as_deref(),
                    text.as_bytes(),
                )
                .unwrap();
            fs::create_dir_all(self.file().parent().unwrap()).unwrap();
            fs::write(self.file(), text).unwrap();
        }

        fn undo(&self) -> Undone {
            let traces = self.list.traces();
            assert_eq!(traces.len(), 1, "{traces:?}");
            traces[0].undo().unwrap()
        }
    }

    #[test]
    fn a_file_that_was_made_goes_with_the_folders_made_for_it() {
        let place = place();
        fs::create_dir_all(place.dir.path().join("project")).unwrap();
        place.put("- one\n");
        place.put("- one\n- two\n");
        assert_eq!(place.undo(), Undone::Removed);
        assert!(!place.dir.path().join("project/.sm").exists());
        assert!(place.dir.path().join("project").exists());
    }

    #[test]
    fn a_file_that_was_there_is_put_back_to_the_byte() {
        let place = place();
        fs::create_dir_all(place.file().parent().unwrap()).unwrap();
        fs::write(place.file(), b"mine\xff").unwrap();
        place.put("mine\n- one\n");
        place.put("mine\n- two\n");
        assert_eq!(place.undo(), Undone::Restored);
        assert_eq!(fs::read(place.file()).unwrap(), b"mine\xff");
        // and again: it is as it should be
        assert_eq!(place.undo(), Undone::Restored);
    }

    #[test]
    fn a_file_that_somebody_else_changed_too_stays() {
        let place = place();
        place.put("- one\n");
        fs::write(place.file(), "- one\n- mine\n").unwrap();
        assert_eq!(place.undo(), Undone::Changed);
        // also if sm changes it once more
        place.put("- one\n- mine\n- two\n");
        assert_eq!(place.undo(), Undone::Changed);
        assert!(place.file().exists());
    }

    #[test]
    fn what_is_as_it_was_before_is_forgotten() {
        let place = place();
        fs::create_dir_all(place.file().parent().unwrap()).unwrap();
        fs::write(place.file(), "mine\n").unwrap();
        place.put("mine\n- one\n");
        place.put("mine\n");
        assert!(place.list.traces().is_empty());
        assert!(!place.list.folder.exists());
    }

    #[test]
    fn a_place_is_noted_once_and_any_name_survives() {
        let place = place();
        let odd = std::ffi::OsString::from_vec(b"a\nb \xff".to_vec());
        let file = place.dir.path().join("not/there").join(odd);
        place.list.note(TraceKind::Alias, &file).unwrap();
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        place.list.note(TraceKind::Alias, &file).unwrap();
        let traces = place.list.traces();
        assert_eq!(traces.len(), 1);
        assert_eq!((&traces[0].path, traces[0].folders), (&file, 2));
        place.list.taken_out(TraceKind::Alias, &file);
        assert!(!place.dir.path().join("not").exists());
        assert!(place.list.traces().is_empty());
    }

    #[test]
    fn what_is_not_a_record_is_left_out() {
        let place = place();
        place.put("- one\n");
        for (name, content) in [("x", "pins 1 -\n/tmp/x"), ("y", ""), ("z", "pins 1\n/a")] {
            fs::write(place.list.folder.join(name), content).unwrap();
        }
        assert_eq!(place.list.traces().len(), 1);
    }
}
