//! The dot-files that say which session runs (`.current-session`) and which is to be started anew
//! (`.restart-session`). Both are one line, `id:path`. They belong to whoever wrote them last;
//! everybody removes only their own.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::ChannelError;
use crate::files::{Durable, Files, Found};

const LONGEST: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLine {
    pub session: String,
    /// The transcript, or the working directory.
    pub path: String,
}

impl SessionLine {
    /// An id has no colon; a path may have.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let line = bytes.split(|byte| *byte == b'\n').next()?;
        let (session, path) = std::str::from_utf8(line).ok()?.trim_end().split_once(':')?;
        (!session.is_empty() && line.len() <= LONGEST).then(|| Self {
            session: session.to_owned(),
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for SessionLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.session, self.path)
    }
}

/// One of the two files.
#[derive(Debug, Clone)]
pub struct DotFile(PathBuf);

impl DotFile {
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    fn error(&self, error: std::io::Error) -> ChannelError {
        ChannelError::io(&self.0, error)
    }

    /// `None`: there is none, or it says nothing.
    pub fn read<F: Files>(&self, files: &mut F) -> Result<Option<SessionLine>, ChannelError> {
        let bytes = files.read(&self.0).map_err(|error| self.error(error))?;
        Ok(bytes.as_deref().and_then(SessionLine::parse))
    }

    pub fn write<F: Files>(&self, files: &mut F, line: &SessionLine) -> Result<(), ChannelError> {
        let aside = self.aside(files);
        files
            .write_new(&aside, format!("{line}\n").as_bytes(), Durable::Yes)
            .and_then(|()| files.rename(&aside, &self.0))
            .map(|_| ())
            .map_err(|error| self.error(error))
    }

    /// Removes it if it is this session's; whether it was.
    pub fn remove_of<F: Files>(&self, files: &mut F, session: &str) -> Result<bool, ChannelError> {
        let aside = self.aside(files);
        // Looked at aside: another's that comes in the meantime must not be hit.
        if !files
            .rename(&self.0, &aside)
            .map_err(|error| self.error(error))?
        {
            return Ok(false);
        }
        let bytes = files.read(&aside).map_err(|error| self.error(error))?;
        let ours = bytes
            .as_deref()
            .and_then(SessionLine::parse)
            .is_some_and(|line| line.session == session);
        if !ours {
            // If a newer one has come, this one is over.
            match files
                .link(&aside, &self.0)
                .map_err(|error| self.error(error))?
            {
                Found::Nothing | Found::Something | Found::NoFolder => {}
            }
        }
        files.remove(&aside).map_err(|error| self.error(error))?;
        Ok(ours)
    }

    /// Removes it, whoever wrote it.
    pub fn remove<F: Files>(&self, files: &mut F) -> Result<(), ChannelError> {
        files.remove(&self.0).map_err(|error| self.error(error))
    }

    fn aside<F: Files>(&self, files: &mut F) -> PathBuf {
        let name = self.0.file_name().unwrap_or_default().to_string_lossy();
        let folder = self.0.parent().unwrap_or(Path::new("."));
        folder.join(format!("{name}.{}-{}", files.pid(), files.number()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::RealFiles;

    #[test]
    fn an_id_and_a_path() {
        let line = SessionLine::parse(b"c74cc080-94b9:/home/a:b/x.jsonl\n").unwrap();
        assert_eq!(line.session, "c74cc080-94b9");
        assert_eq!(line.path, "/home/a:b/x.jsonl");
        assert_eq!(line.to_string(), "c74cc080-94b9:/home/a:b/x.jsonl");
        for bad in ["", "x", ":/path", "\n"] {
            assert_eq!(SessionLine::parse(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn everybody_removes_only_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".current-session");
        let (file, mut files) = (DotFile::new(path.clone()), RealFiles::default());
        let line = |session: &str| SessionLine {
            session: session.to_owned(),
            path: "/t.jsonl".to_owned(),
        };
        assert_eq!(file.read(&mut files).unwrap(), None);
        assert!(!file.remove_of(&mut files, "a").unwrap());
        file.write(&mut files, &line("a")).unwrap();
        file.write(&mut files, &line("b")).unwrap();
        assert!(!file.remove_of(&mut files, "a").unwrap());
        assert_eq!(file.read(&mut files).unwrap(), Some(line("b")));
        assert!(file.remove_of(&mut files, "b").unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
