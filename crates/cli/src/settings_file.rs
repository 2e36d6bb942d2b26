//! A settings file of another program on disk: read whole, changed whole or not at all.
//!
//! It is written through a link, with the mode it had; never over a change that somebody made
//! since it was read, and never where its owner has forbidden writing.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sm_agents::surgery::Refusal;

use crate::error::{CommandError, Result};

/// Settings are small; what is larger is something else.
const MAX_SIZE: u64 = 8 * 1024 * 1024;

pub struct SettingsFile {
    /// As it is called.
    pub path: PathBuf,
    /// The file itself, behind links.
    target: PathBuf,
    content: Content,
}

enum Content {
    Missing,
    There { bytes: Vec<u8>, about: Metadata },
}

impl SettingsFile {
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |error: &io::Error| CommandError::file(path, "read", error);
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if fs::symlink_metadata(path).is_ok() {
                    return Err(CommandError::refused(format!(
                        "{} is a link to something that does not exist",
                        path.display()
                    )));
                }
                return Ok(Self {
                    path: path.to_owned(),
                    target: path.to_owned(),
                    content: Content::Missing,
                });
            }
            Err(error) => return Err(failed(&error)),
        };
        let about = fs::metadata(&target).map_err(|error| failed(&error))?;
        if !about.is_file() || about.len() > MAX_SIZE {
            return Err(CommandError::refused(format!(
                "{} is not a settings file",
                path.display()
            )));
        }
        let bytes = read_bounded(&target).map_err(|error| failed(&error))?;
        Ok(Self {
            path: path.to_owned(),
            target,
            content: Content::There { bytes, about },
        })
    }

    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            Content::Missing => None,
            Content::There { bytes, .. } => Some(bytes),
        }
    }

    /// What is in it; `None` if there is no such file.
    pub fn text(&self) -> Result<Option<&str>> {
        let Some(bytes) = self.bytes() else {
            return Ok(None);
        };
        std::str::from_utf8(bytes).map(Some).map_err(|error| {
            let good = error.valid_up_to();
            let before = std::str::from_utf8(&bytes[..good]).unwrap_or_default();
            self.refused(&Refusal::at(before, good, "a byte that is not UTF-8"))
        })
    }

    pub fn refused(&self, why: &Refusal) -> CommandError {
        CommandError::refused(format!("{}: {why}", self.path.display())).hint("nothing was written")
    }

    /// A copy beside it. `None` if there is nothing to keep.
    pub fn back_up(&self, now: Timestamp) -> Result<Option<PathBuf>> {
        let Content::There { bytes, about } = &self.content else {
            return Ok(None);
        };
        self.check_writable(about)?;
        let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let name = self.backup_prefix();
        for more in ["", "-2", "-3", "-4"] {
            let copy = self.target.with_file_name(format!("{name}{time}{more}"));
            match write_new(&copy, bytes, Some(about)) {
                Ok(()) => return Ok(Some(copy)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(CommandError::file(&copy, "write", &error)),
            }
        }
        Err(CommandError::refused(format!(
            "there are backups of {} of this very second",
            self.path.display()
        )))
    }

    /// The copies beside it, the newest first.
    pub fn backups(&self) -> Vec<PathBuf> {
        let prefix = self.backup_prefix();
        let folder = self.target.parent().unwrap_or(Path::new("."));
        let mut found: Vec<PathBuf> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
            .map(|entry| entry.path())
            .collect();
        found.sort();
        found.reverse();
        found
    }

    fn backup_prefix(&self) -> String {
        let name = self.target.file_name().unwrap_or_default();
        format!("{}.sm-backup-", name.to_string_lossy())
    }

    /// Puts other content in its place, unless somebody else has changed it since it was read.
    pub fn write(&self, text: &str) -> Result<()> {
        let failed = |error: &io::Error| CommandError::file(&self.path, "write", error);
        let folder = self.target.parent().unwrap_or(Path::new("."));
        let about = match &self.content {
            Content::Missing => {
                fs::create_dir_all(folder).map_err(|error| failed(&error))?;
                None
            }
            Content::There { about, .. } => {
                self.check_writable(about)?;
                Some(about)
            }
        };
        let name = self.target.file_name().unwrap_or_default();
        let fresh = folder.join(format!(
            ".{}.sm-{}",
            name.to_string_lossy(),
            std::process::id()
        ));
        let written = write_new(&fresh, text.as_bytes(), about)
            .map_err(|error| failed(&error))
            .and_then(|()| self.check_unchanged())
            .and_then(|()| fs::rename(&fresh, &self.target).map_err(|error| failed(&error)));
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        written
    }

    /// Removes it, unless somebody else has changed it since it was read.
    pub fn remove(&self) -> Result<()> {
        self.check_unchanged()?;
        let removed = fs::remove_file(&self.target)
            // A link to it would lead nowhere.
            .and_then(|()| match fs::symlink_metadata(&self.path) {
                Ok(_) => fs::remove_file(&self.path),
                Err(_) => Ok(()),
            });
        removed.map_err(|error| CommandError::file(&self.path, "remove", &error))
    }

    fn check_writable(&self, about: &Metadata) -> Result<()> {
        if about.permissions().mode() & 0o222 == 0 {
            return Err(
                CommandError::refused(format!("{} is read-only", self.path.display()))
                    .hint("if a tool manages it, add the hooks there: --dry-run shows them"),
            );
        }
        Ok(())
    }

    fn check_unchanged(&self) -> Result<()> {
        let now = match read_bounded(&self.target) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(CommandError::file(&self.path, "read", &error)),
        };
        if now.as_deref() == self.bytes() {
            return Ok(());
        }
        Err(CommandError::refused(format!(
            "{} was changed by something else just now, so it is left as it is",
            self.path.display()
        ))
        .hint("run it again"))
    }
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    sm_client::files::open(path)?
        .take(MAX_SIZE + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file that was not there before, with the mode and owner of another.
fn write_new(path: &Path, bytes: &[u8], like: Option<&Metadata>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if like.is_some() {
        // Nobody else reads it before its mode is right.
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| match like {
            Some(like) => take_after(&file, like),
            None => Ok(()),
        })
        .and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

fn take_after(file: &File, like: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
        std::os::unix::fs::fchown(file, Some(like.uid()), Some(like.gid()))?;
    }
    file.set_permissions(like.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn names(folder: &Path) -> Vec<String> {
        let mut all: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        all.sort();
        all
    }

    #[test]
    fn a_change_made_meanwhile_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        // It is changed, it appears, it goes.
        for (before, meanwhile) in [(Some("a"), Some("b")), (None, Some("b")), (Some("a"), None)] {
            let put = |content: Option<&str>| match content {
                Some(content) => fs::write(&path, content).unwrap(),
                None => drop(fs::remove_file(&path)),
            };
            put(before);
            let file = SettingsFile::read(&path).unwrap();
            put(meanwhile);
            let refused = file.write("ours").unwrap_err();
            assert!(refused.message.contains("changed by something else"));
            if before.is_some() {
                assert!(file.remove().is_err());
            }
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), meanwhile);
            let left = usize::from(meanwhile.is_some());
            assert_eq!(names(dir.path()).len(), left, "nothing is left behind");
        }
    }

    #[test]
    fn a_link_and_a_mode_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("sub/link.json"));
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(&real, "a").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("../real", &link).unwrap();
        let file = SettingsFile::read(&link).unwrap();
        let backup = file.back_up(Timestamp::UNIX_EPOCH).unwrap().unwrap();
        file.write("b").unwrap();
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("../real"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(
            (fs::read_to_string(&real).unwrap(), mode(&real)),
            ("b".into(), 0o640)
        );
        assert_eq!(
            names(dir.path()),
            ["real", "real.sm-backup-19700101T000000Z", "sub"]
        );
        assert_eq!(
            (fs::read_to_string(&backup).unwrap(), mode(&backup)),
            ("a".into(), 0o640)
        );
        let file = SettingsFile::read(&link).unwrap();
        assert_eq!(file.backups(), [backup]);
        assert!(
            file.back_up(Timestamp::UNIX_EPOCH)
                .unwrap()
                .is_some_and(|second| second.ends_with("real.sm-backup-19700101T000000Z-2"))
        );
        file.remove().unwrap();
        assert!(!real.exists() && fs::symlink_metadata(&link).is_err());
    }

    #[test]
    fn what_is_no_settings_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let why = |path: &Path| match SettingsFile::read(path) {
            Ok(_) => panic!("it was read"),
            Err(error) => (error.kind, error.message),
        };
        assert!(why(dir.path()).1.ends_with("is not a settings file"));
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert!(why(&path).1.contains("does not exist"));
        fs::remove_file(&path).unwrap();
        fs::write(&path, b"{\n \"a\": \xff}").unwrap();
        let refused = SettingsFile::read(&path).unwrap().text().unwrap_err();
        assert!(
            refused
                .message
                .ends_with("line 2, column 7: a byte that is not UTF-8")
        );
        assert_eq!(refused.kind, Kind::Refused);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let file = SettingsFile::read(&path).unwrap();
        assert!(
            file.write("x")
                .unwrap_err()
                .message
                .ends_with("is read-only")
        );
        assert!(file.back_up(Timestamp::UNIX_EPOCH).is_err());
        assert_eq!(names(dir.path()), ["settings.json"]);
    }
}
