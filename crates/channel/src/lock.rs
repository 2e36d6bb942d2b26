//! The lock of a channel: the folder `<channel>.lock.d`, made by `mkdir`, with the owner's
//! `pid:timestamp` in `pid`. The shell library keeps out of it by the same `mkdir`.
//!
//! A process that ended with the lock leaves the folder behind. Whoever finds its owner dead puts
//! a link `after-<owner>` into the folder, naming itself: a link can be made once, so there is one
//! heir of each owner, and the last of that line owns the lock. Nobody ever removes a folder that
//! is not their own: two that found the same dead owner would remove each other's.
//!
//! Released by renaming the folder away, which is one step; what is in it is removed afterwards.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::ChannelError;
use crate::files::{Durable, Files, Found};

/// A folder without an owner's name belongs to someone between `mkdir` and writing it, unless
/// that was so long ago.
const NAMELESS: Duration = Duration::from_secs(10);
/// Heirs of heirs of heirs: each is a process that was killed within a millisecond.
const LONGEST_LINE: usize = 64;
/// The file with the owner's name, mostly the only one in the folder.
pub(crate) const PID: &str = "pid";
/// What stands for an owner whose name cannot be read.
const NOBODY: &str = "nobody";

/// Who took a lock, and when, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Owner {
    pub pid: u32,
    pub since: i64,
}

impl Owner {
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?.trim();
        let (pid, since) = text.split_once(':')?;
        Some(Self {
            pid: pid.parse().ok()?,
            since: since.parse().ok()?,
        })
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.pid, self.since)
    }
}

/// The folder of the lock and the one beside which it is made.
#[derive(Debug, Clone)]
pub(crate) struct LockPlace {
    folder: PathBuf,
    /// Where temporary names are made: `<beside>/.<name>.…`.
    beside: PathBuf,
    name: String,
}

impl LockPlace {
    pub fn new(beside: &Path, name: &str) -> Self {
        Self {
            folder: beside.join(format!("{name}.lock.d")),
            beside: beside.to_path_buf(),
            name: name.to_owned(),
        }
    }

    fn pid(&self) -> PathBuf {
        self.folder.join(PID)
    }

    fn heir_of(&self, owner: &str) -> PathBuf {
        self.folder
            .join(format!("after-{}", owner.replace(':', "-")))
    }

    /// A name that nobody else makes.
    pub fn temporary<F: Files>(&self, files: &mut F, what: &str) -> PathBuf {
        let number = files.number();
        let pid = files.pid();
        self.beside
            .join(format!(".{}.{what}-{pid}-{number}", self.name))
    }

    /// The process whose temporary name this is.
    pub fn maker_of(&self, name: &str) -> Option<u32> {
        let rest = name.strip_prefix('.')?.strip_prefix(&self.name)?;
        let (what, numbers) = rest.strip_prefix('.')?.split_once('-')?;
        let known = matches!(what, "lock" | "gone" | "new" | "doc");
        let (pid, number) = numbers.split_once('-')?;
        number.parse::<u64>().ok()?;
        known.then(|| pid.parse().ok())?
    }
}

/// The lock is ours.
#[derive(Debug)]
pub(crate) struct Held {
    place: LockPlace,
    me: Owner,
}

enum Try {
    Got,
    Busy,
}

impl Held {
    /// Waits for the lock as long as `files` has patience.
    pub fn take<F: Files>(files: &mut F, place: &LockPlace) -> Result<Self, ChannelError> {
        let mut attempt = 0;
        loop {
            let me = Owner {
                pid: files.pid(),
                since: files.now().as_second(),
            };
            let name = place.temporary(files, "lock");
            files
                .write_new(&name, format!("{me}\n").as_bytes(), Durable::No)
                .map_err(|error| ChannelError::io(&name, error))?;
            let tried = attempt_once(files, place, me, &name);
            // The name of a process that crashed here is swept by the next creator.
            files
                .remove(&name)
                .map_err(|error| ChannelError::io(&name, error))?;
            match tried? {
                Try::Got => {
                    return Ok(Self {
                        place: place.clone(),
                        me,
                    });
                }
                Try::Busy => {
                    attempt += 1;
                    if !files.pause(attempt) {
                        return Err(busy(files, place));
                    }
                }
            }
        }
    }

    /// Whether it still is: a shell that thinks a lock can be too old may have taken it.
    pub fn check<F: Files>(&self, files: &mut F) -> Result<(), ChannelError> {
        let pid = self.place.pid();
        let found = files
            .read(&pid)
            .map_err(|error| ChannelError::io(&pid, error))?;
        if found.as_deref().and_then(Owner::parse) == Some(self.me) {
            Ok(())
        } else {
            Err(ChannelError::LockLost {
                path: self.place.folder.clone(),
            })
        }
    }

    pub fn release<F: Files>(self, files: &mut F) -> Result<(), ChannelError> {
        match self.check(files) {
            Err(ChannelError::LockLost { .. }) => return Ok(()), // someone else's by now
            other => other?,
        }
        let gone = self.place.temporary(files, "gone");
        let folder = &self.place.folder;
        files
            .rename(folder, &gone)
            .map_err(|error| ChannelError::io(folder, error))?;
        files
            .remove_folder(&gone, PID)
            .map_err(|error| ChannelError::io(&gone, error))
    }
}

fn busy<F: Files>(files: &mut F, place: &LockPlace) -> ChannelError {
    let owner = match files.read(&place.pid()) {
        Ok(Some(bytes)) => Owner::parse(&bytes).map(|owner| format!("process {}", owner.pid)),
        Ok(None) | Err(_) => None,
    };
    ChannelError::Busy {
        path: place.folder.clone(),
        owner: owner.unwrap_or_else(|| "someone who left no name".to_owned()),
    }
}

fn attempt_once<F: Files>(
    files: &mut F,
    place: &LockPlace,
    me: Owner,
    name: &Path,
) -> Result<Try, ChannelError> {
    let at_folder = |error| ChannelError::io(&place.folder, error);
    match files.mkdir(&place.folder).map_err(at_folder)? {
        // Nobody wrote a name into it yet, or someone thought that nobody would.
        Found::Nothing => return sign(files, place, name),
        Found::Something => {}
        Found::NoFolder => {
            return Err(at_folder(std::io::Error::from(
                std::io::ErrorKind::NotFound,
            )));
        }
    }
    let pid = place.pid();
    let owner = match files.read(&pid).map_err(at_folder)? {
        None => {
            let old = files.age(&place.folder).map_err(at_folder)? > Some(NAMELESS);
            return if old {
                sign(files, place, name)
            } else {
                Ok(Try::Busy)
            };
        }
        Some(bytes) => Owner::parse(&bytes),
    };
    if owner.is_none() && files.age(&pid).map_err(at_folder)? <= Some(NAMELESS) {
        return Ok(Try::Busy); // being written
    }
    let Some(last) = dead_end(files, place, owner)? else {
        return Ok(Try::Busy);
    };
    let heir = place.heir_of(&spelled(last));
    match files.link(name, &heir).map_err(at_folder)? {
        Found::Nothing => {}
        Found::Something | Found::NoFolder => return Ok(Try::Busy),
    }
    // The folder may be another one by now, in whose line the dead owner never was.
    let first = match files.read(&pid).map_err(at_folder)? {
        None => return Ok(Try::Busy),
        Some(bytes) => Owner::parse(&bytes),
    };
    if last_of_line(files, place, first)? != Some(me) {
        return Ok(Try::Busy);
    }
    // For those who only read `pid`.
    let renewed = place.temporary(files, "lock");
    files.link(name, &renewed).map_err(at_folder)?;
    files.rename(&renewed, &pid).map_err(at_folder)?;
    Ok(Try::Got)
}

/// Writes the owner's name, if nobody else did.
fn sign<F: Files>(files: &mut F, place: &LockPlace, name: &Path) -> Result<Try, ChannelError> {
    let pid = place.pid();
    match files
        .link(name, &pid)
        .map_err(|error| ChannelError::io(&pid, error))?
    {
        Found::Nothing => Ok(Try::Got),
        Found::Something | Found::NoFolder => Ok(Try::Busy),
    }
}

fn spelled(owner: Option<Owner>) -> String {
    owner.map_or_else(|| NOBODY.to_owned(), |owner| owner.to_string())
}

/// From the owner in `pid` to the heir that has none, if all of them are dead (`Some`); a dead
/// one may have no name.
fn dead_end<F: Files>(
    files: &mut F,
    place: &LockPlace,
    first: Option<Owner>,
) -> Result<Option<Option<Owner>>, ChannelError> {
    let mut last = first;
    for _ in 0..LONGEST_LINE {
        // Whoever lives has no heir.
        if let Some(owner) = last
            && files.is_alive(owner)
        {
            return Ok(None);
        }
        match heir(files, place, last)? {
            Some(owner) => last = Some(owner),
            None => return Ok(Some(last)),
        }
    }
    Ok(None)
}

/// The last of the line that begins with the owner in `pid`.
fn last_of_line<F: Files>(
    files: &mut F,
    place: &LockPlace,
    first: Option<Owner>,
) -> Result<Option<Owner>, ChannelError> {
    let mut last = first;
    for _ in 0..LONGEST_LINE {
        match heir(files, place, last)? {
            Some(owner) => last = Some(owner),
            None => return Ok(last),
        }
    }
    Ok(None)
}

/// Links are whole or not there; what cannot be read was made by nobody of ours.
fn heir<F: Files>(
    files: &mut F,
    place: &LockPlace,
    owner: Option<Owner>,
) -> Result<Option<Owner>, ChannelError> {
    let path = place.heir_of(&spelled(owner));
    let bytes = files
        .read(&path)
        .map_err(|error| ChannelError::io(&path, error))?;
    Ok(bytes.as_deref().and_then(Owner::parse))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_as_the_shell_writes_them() {
        let owner = Owner {
            pid: 12345,
            since: 1_770_014_730,
        };
        assert_eq!(Owner::parse(b"12345:1770014730\n"), Some(owner));
        assert_eq!(Owner::parse(owner.to_string().as_bytes()), Some(owner));
        for bad in ["", "12345", "x:1", "1:x", "1:2:3", "-1:2"] {
            assert_eq!(Owner::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn temporary_names_say_whose_they_are() {
        let place = LockPlace::new(Path::new("/h"), "a.b-1");
        assert_eq!(place.maker_of(".a.b-1.doc-42-0"), Some(42));
        for other in [
            ".a.b.doc-42-0",
            "a.b-1.doc-42-0",
            ".a.b-1.doc-x-0",
            ".a.b-1.odd-42-0",
            ".a.b-1.doc-42",
            ".a.b-1-CURRENT.md",
        ] {
            assert_eq!(place.maker_of(other), None, "{other}");
        }
    }
}
