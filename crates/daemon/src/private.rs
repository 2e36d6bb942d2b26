//! Small files that are ours alone: written whole, read only if nobody else could have touched them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// What is in it, at most `most` bytes. None: there is none, or others could have read or written
/// it. A link is not followed.
pub fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits() | rustix::fs::OFlags::NONBLOCK.bits();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(i32::from_ne_bytes(no_link.to_ne_bytes()))
        .open(path);
    let file = match file {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Ok(None);
        }
        Err(e) => return Err(e),
    };
    let about = file.metadata()?;
    let private = about.is_file()
        && about.uid() == rustix::process::getuid().as_raw()
        && about.mode() & 0o077 == 0;
    if !private {
        tracing::warn!(
            "{} was open to others: what is in it is not used",
            path.display()
        );
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Replaces it, whole or not at all, and it stays so over a loss of power.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension(format!("new.{}", std::process::id()));
    let _ = fs::remove_file(&new); // of a daemon with this pid that died right here
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&new, path));
    if let Err(e) = written {
        let _ = fs::remove_file(&new);
        return Err(e);
    }
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Random bytes in hex, for what nobody may guess.
pub fn secret(bytes: usize) -> io::Result<String> {
    let mut buffer = vec![0_u8; bytes];
    getrandom::fill(&mut buffer).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
}
