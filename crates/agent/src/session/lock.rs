//! One writer for each session file.
//!
//! The lock is held on `<file>.lock`, which names its holder's process; the system releases it when
//! that process ends, however it ends. A file left behind by a crash is simply taken over.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::SessionError;

/// How often a lock may vanish between being opened and being taken.
const TRIES: usize = 16;

#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// Held for as long as it is open.
    _file: File,
}

impl Lock {
    /// Takes the lock of `session`, or says who has it.
    pub(super) fn take(session: &Path) -> Result<Self, SessionError> {
        let mut name = session.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        for _ in 0..TRIES {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)
                .map_err(SessionError::io("lock", session))?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err(in_use(session, &mut file)),
                Err(error) => return Err(SessionError::io("lock", session)(error.into())),
            }
            // Its last holder may have removed it just before: then it is nobody's lock.
            let ours = file.metadata().map_err(SessionError::io("lock", session))?;
            if !fs::metadata(&path).is_ok_and(|there| there.ino() == ours.ino()) {
                continue;
            }
            let name = std::process::id().to_string();
            file.set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| file.write_all(name.as_bytes()))
                .map_err(SessionError::io("lock", session))?;
            return Ok(Self { path, _file: file });
        }
        Err(SessionError::InUseBySomeone {
            path: session.to_path_buf(),
        })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is still held: nobody else can be its holder.
        let _ = fs::remove_file(&self.path);
    }
}

fn in_use(session: &Path, file: &mut File) -> SessionError {
    let mut text = String::new();
    let path = session.to_path_buf();
    match file.take(32).read_to_string(&mut text) {
        Ok(_) => match text.trim().parse() {
            Ok(pid) => SessionError::InUse { path, pid },
            Err(_) => SessionError::InUseBySomeone { path },
        },
        Err(_) => SessionError::InUseBySomeone { path },
    }
}
