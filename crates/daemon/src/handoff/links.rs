//! Opening files without following links, by descriptors: what is looked at is what was opened,
//! whatever is put in its place meanwhile.

use rustix::fs::{CWD, Mode, OFlags, openat, renameat};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

/// A folder on the way to a file: it has to be passed, not listed.
#[cfg(any(target_os = "linux", target_os = "android"))]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const PASS: OFlags = OFlags::RDONLY;

/// Without waiting for the other end of a pipe, without taking a terminal, and through no link.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Whether it failed as a link was in the way.
pub fn is_link(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP)
}

/// Opens a file to be read. No part of its path may be a link.
pub fn open(path: &Path) -> io::Result<File> {
    let (folders, name) = parts(path)?;
    let mut folder: Option<OwnedFd> = None;
    for component in folders.components() {
        let next = match (component, &folder) {
            (Component::RootDir, None) => pass(CWD, Path::new("/")),
            (Component::Normal(part), Some(folder)) => pass(folder, Path::new(part)),
            _ => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
        };
        folder = Some(next?);
    }
    let folder = folder.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    Ok(File::from(openat(&folder, name, READ, Mode::empty())?))
}

fn pass(folder: impl AsFd, name: &Path) -> io::Result<OwnedFd> {
    let flags = PASS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder.as_fd(), name, flags, Mode::empty()).map_err(|error| match error {
        // what a link that is to be a folder fails with
        rustix::io::Errno::NOTDIR if is_link_at(folder.as_fd(), name) => {
            rustix::io::Errno::LOOP.into()
        }
        error => error.into(),
    })
}

fn is_link_at(folder: impl AsFd, name: &Path) -> bool {
    rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|about| rustix::fs::FileType::from_raw_mode(about.st_mode).is_symlink())
}

/// A folder of ours: the folders above it are trusted, itself and what is in it is not followed.
pub struct Folder(OwnedFd);

impl Folder {
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(openat(CWD, path, flags, Mode::empty())?))
    }

    /// A file that was not there.
    pub fn create_new(&self, name: &Path) -> io::Result<File> {
        self.written(name, OFlags::CREATE | OFlags::EXCL)
    }

    /// A file, emptied if it is there.
    pub fn create(&self, name: &Path) -> io::Result<File> {
        let file = self.written(name, OFlags::CREATE | OFlags::NONBLOCK)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        file.set_len(0)?;
        Ok(file)
    }

    fn written(&self, name: &Path, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(File::from(openat(&self.0, name, flags, mode)?))
    }

    /// Written whole, on disk.
    pub fn write_new(&self, name: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.create_new(name)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    /// Whether it was there.
    pub fn remove(&self, name: &Path) -> io::Result<bool> {
        match rustix::fs::unlinkat(&self.0, name, rustix::fs::AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What is in a regular file, at most so many bytes.
    pub fn read(&self, name: &Path, most: u64) -> io::Result<Vec<u8>> {
        let file = File::from(openat(&self.0, name, READ, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.0)?)
    }
}

/// The folder of a file, and its name in it.
pub fn parts(path: &Path) -> io::Result<(&Path, &Path)> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Ok((folder, Path::new(name))),
        _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    }
}
