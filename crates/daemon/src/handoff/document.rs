//! Reading a document that is to be handed off: bounded, without waiting for anything but a disk.
//!
//! A path may go through links once, when the document is handed off. From then on the file it led to
//! is meant: what is put in its place, or in that of a folder on the way, is not followed.

use super::links;
use sm_core::Timestamp;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Longer ones name nothing on any system we run on.
const LONGEST_PATH: usize = 4096;

/// A document as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub path: PathBuf,
    /// The file that was read: `path` through all its links.
    pub real: PathBuf,
    pub text: String,
    pub written_at: Option<Timestamp>,
}

/// Why a document is refused, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("no file was given: sm handoff <file>")]
    NoPath,
    #[error("{0:?} is not an absolute path: give the whole path of the document")]
    Relative(String),
    #[error("the file name has control characters in it: rename the document")]
    OddName,
    #[error("the path is longer than {LONGEST_PATH} bytes: put the document elsewhere")]
    LongPath,
    #[error("File not found: {0}")]
    NotFound(String),
    #[error("{0} is a folder, not a file: name the document in it")]
    Folder(String),
    #[error("{0} is not a regular file: write the document into an ordinary one")]
    NotRegular(String),
    #[error("{0} cannot be read ({1}): check its permissions")]
    Unreadable(String, String),
    #[error("{0} is empty: write down what the next context needs to know, then hand off again")]
    Empty(String),
    #[error("{0} has more than {1} bytes: keep the document short and name other files in it")]
    TooLarge(String, u64),
    #[error("{0} leads to another file than when it was handed off: it is not read again")]
    Swapped(String),
    #[error("{0} is not text in UTF-8 (byte {1}): write the document as plain text")]
    NotText(String, usize),
}

/// Opens, looks, reads. May wait for a slow disk: not for the runtime's own threads.
pub fn read(path: &str, most: u64) -> Result<Document, DocumentError> {
    check_path(path)?;
    let real = resolve(path)?;
    read_real(path, real, most)
}

/// A document that came with the request. It is in no file but our copy.
pub fn given(text: String, most: u64) -> Result<Document, DocumentError> {
    let name = || "the document".to_owned();
    if text.trim().is_empty() {
        return Err(DocumentError::Empty(name()));
    }
    if text.len() as u64 > most {
        return Err(DocumentError::TooLarge(name(), most));
    }
    Ok(Document {
        path: PathBuf::new(),
        real: PathBuf::new(),
        text,
        written_at: None,
    })
}

/// The same document once more: only if its path still leads to the same file.
pub fn read_again(path: &str, real: &Path, most: u64) -> Result<Document, DocumentError> {
    check_path(path)?;
    if resolve(path)? != real {
        return Err(DocumentError::Swapped(path.to_owned()));
    }
    read_real(path, real.to_path_buf(), most)
}

fn resolve(path: &str) -> Result<PathBuf, DocumentError> {
    std::fs::canonicalize(path).map_err(|error| unopened(path, &error))
}

/// Opened once; everything else is asked of what was opened.
fn read_real(path: &str, real: PathBuf, most: u64) -> Result<Document, DocumentError> {
    let shown = path.to_owned();
    let file = links::open(&real).map_err(|error| match links::is_link(&error) {
        true => DocumentError::Swapped(shown.clone()),
        false => unopened(path, &error),
    })?;
    let about = file
        .metadata()
        .map_err(|error| DocumentError::Unreadable(shown.clone(), error.to_string()))?;
    if about.is_dir() {
        return Err(DocumentError::Folder(shown));
    }
    if !about.is_file() {
        return Err(DocumentError::NotRegular(shown));
    }
    if about.len() > most {
        return Err(DocumentError::TooLarge(shown, most));
    }
    let mut bytes = Vec::new();
    // it may grow while it is read
    file.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| DocumentError::Unreadable(shown.clone(), error.to_string()))?;
    if bytes.len() as u64 > most {
        return Err(DocumentError::TooLarge(shown, most));
    }
    let text = text(&shown, bytes)?;
    if text.trim().is_empty() {
        return Err(DocumentError::Empty(shown));
    }
    Ok(Document {
        path: PathBuf::from(path),
        real,
        text,
        written_at: about.modified().ok().and_then(milliseconds),
    })
}

/// A name with control characters cannot be told to an agent in a line of text.
fn check_path(path: &str) -> Result<(), DocumentError> {
    if path.is_empty() {
        return Err(DocumentError::NoPath);
    }
    if path.len() > LONGEST_PATH {
        return Err(DocumentError::LongPath);
    }
    if path.chars().any(char::is_control) {
        return Err(DocumentError::OddName);
    }
    if !Path::new(path).is_absolute() {
        return Err(DocumentError::Relative(path.to_owned()));
    }
    Ok(())
}

fn unopened(path: &str, error: &io::Error) -> DocumentError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            DocumentError::NotFound(path.to_owned())
        }
        _ => match rustix::io::Errno::from_io_error(error) {
            // a socket
            Some(rustix::io::Errno::NXIO) => DocumentError::NotRegular(path.to_owned()),
            Some(_) | None => DocumentError::Unreadable(path.to_owned(), error.to_string()),
        },
    }
}

fn text(path: &str, bytes: Vec<u8>) -> Result<String, DocumentError> {
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(DocumentError::NotText(path.to_owned(), at));
    }
    String::from_utf8(bytes)
        .map_err(|error| DocumentError::NotText(path.to_owned(), error.utf8_error().valid_up_to()))
}

fn milliseconds(time: std::time::SystemTime) -> Option<Timestamp> {
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_document_is_text_in_an_ordinary_file() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        let put = |name: &str, bytes: &[u8]| {
            std::fs::write(at(name), bytes).unwrap();
            at(name)
        };
        let good = put("notes é.md", "state: half done\n".as_bytes());
        let read_back = read(&good, 64).unwrap();
        assert_eq!(read_back.text, "state: half done\n");
        assert!(read_back.written_at.is_some());
        std::os::unix::fs::symlink(&good, at("link.md")).unwrap();
        assert_eq!(read(&at("link.md"), 64).unwrap().text, read_back.text);
        assert_eq!(read(&put("full", &[b'x'; 64]), 64).unwrap().text.len(), 64);

        std::os::unix::fs::symlink(at("link2"), at("link2")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for (path, expected) in [
            (String::new(), "no file was given"),
            ("notes.md".into(), "not an absolute path"),
            (at("no\nname"), "control characters"),
            (at("no\0name"), "control characters"),
            (format!("/{}", "x".repeat(5000)), "longer than 4096"),
            (at("missing.md"), "File not found: "),
            (format!("{good}/below"), "File not found: "),
            (at(""), "is a folder"),
            (at("pipe"), "not a regular file"),
            (at("socket"), "not a regular file"),
            ("/dev/zero".into(), "not a regular file"),
            (at("link2"), "cannot be read"),
            (put("empty", b""), "is empty"),
            (put("blank", " \n\t\r\n\u{a0}".as_bytes()), "is empty"),
            (put("large", &[b'x'; 65]), "more than 64 bytes"),
            (put("binary", b"ab\0c"), "not text in UTF-8 (byte 2)"),
            (put("latin", b"caf\xe9"), "not text in UTF-8 (byte 3)"),
        ] {
            let error = read(&path, 64).unwrap_err().to_string();
            assert!(error.contains(expected), "{path:?}: {error}");
        }
    }

    #[test]
    fn what_is_put_in_its_place_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let at = |name: &str| dir.join(name).to_string_lossy().into_owned();
        std::fs::create_dir(at("notes")).unwrap();
        std::fs::create_dir(at("private")).unwrap();
        std::fs::write(at("notes/a.md"), "state: half done").unwrap();
        std::fs::write(at("private/a.md"), "nobody's business").unwrap();
        std::os::unix::fs::symlink(at("notes/a.md"), at("link.md")).unwrap();
        for path in [at("notes/a.md"), at("link.md")] {
            let first = read(&path, 64).unwrap();
            assert_eq!(first.real, Path::new(&at("notes/a.md")));
            std::fs::write(at("notes/a.md"), "state: done").unwrap();
            let again = read_again(&path, &first.real, 64).unwrap();
            assert_eq!(again.text, "state: done");
        }
        let real = PathBuf::from(at("notes/a.md"));
        let swapped = |path: &str| match read_again(path, &real, 64) {
            Err(DocumentError::Swapped(_)) => {}
            other => panic!("{path}: {other:?}"),
        };
        // the document itself, the link that led to it, a folder on the way
        std::fs::remove_file(at("link.md")).unwrap();
        std::os::unix::fs::symlink(at("private/a.md"), at("link.md")).unwrap();
        swapped(&at("link.md"));
        std::fs::rename(at("notes/a.md"), at("notes/b.md")).unwrap();
        std::os::unix::fs::symlink(at("private/a.md"), at("notes/a.md")).unwrap();
        swapped(&at("notes/a.md"));
        std::fs::rename(at("notes"), at("old")).unwrap();
        std::os::unix::fs::symlink(at("private"), at("notes")).unwrap();
        swapped(&at("notes/a.md"));
        // and right after it was looked at
        let late = read_real(&at("notes/a.md"), real.clone(), 64).unwrap_err();
        assert_eq!(late, DocumentError::Swapped(at("notes/a.md")));
    }

    #[test]
    fn what_may_not_be_read_is_said_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        std::fs::write(&path, "x").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
        match read(&path.to_string_lossy(), 64) {
            Err(error) => assert!(error.to_string().contains("cannot be read"), "{error}"),
            Ok(_) => assert!(rustix::process::getuid().is_root()),
        }
    }
}
