//! Files that others have put where we read: transcripts, documents, settings, handoffs of a channel.
//!
//! Opening a pipe waits for its other end, a device may never end, a directory is no text. So such a
//! file is opened without waiting and has to be a regular one; how much is read is bounded. Whether
//! links are followed is the caller's business: a person may keep their files elsewhere.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

#[cfg(target_os = "linux")]
const NOCTTY_NONBLOCK: i32 = 0x100 | 0x800;
#[cfg(not(target_os = "linux"))]
const NOCTTY_NONBLOCK: i32 = 0x2_0000 | 0x4;

/// Opens it for reading if it is a regular file; never waits for whoever holds the other end.
pub fn open(path: &Path) -> io::Result<File> {
    // Opening a device can already do something: it is not even opened.
    if !std::fs::metadata(path)?.is_file() {
        return Err(not_regular());
    }
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(NOCTTY_NONBLOCK)
        .open(path)?;
    // It may have been replaced since.
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(not_regular()),
    }
}

/// What is in it; a longer one is an error, not a piece.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {most} bytes"),
        ));
    }
    Ok(bytes)
}

/// The same, as text.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Each is looked at on a thread of its own: one that waits would wait for ever.
    fn in_time(path: &Path) -> io::Result<Vec<u8>> {
        let path = path.to_path_buf();
        let (told, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || told.send(read(&path, 8)));
        let waited = heard.recv_timeout(std::time::Duration::from_secs(60));
        waited.expect("it does not wait for the other end")
    }

    #[test]
    fn only_regular_files_are_read_and_nothing_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("text"), "12345678").unwrap();
        std::os::unix::fs::symlink(at("text"), at("link")).unwrap();
        assert_eq!(in_time(&at("text")).unwrap(), b"12345678");
        assert_eq!(in_time(&at("link")).unwrap(), b"12345678");
        std::fs::write(at("long"), "123456789").unwrap();
        let long = in_time(&at("long")).unwrap_err();
        assert_eq!(long.kind(), io::ErrorKind::FileTooLarge);
        assert!(
            Command::new("mkfifo")
                .arg(at("pipe"))
                .status()
                .unwrap()
                .success()
        );
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for name in ["pipe", "zero", "folder", "socket"] {
            let error = in_time(&at(name)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}: {error}");
        }
        let missing = in_time(&at("missing")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
