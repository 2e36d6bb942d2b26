//! A channel's current handoff: created, loaded once, cleared, looked at.
//!
//! The manifest decides. It is replaced by one rename, under the lock; before that rename nothing
//! has happened, after it everything has:
//!
//! - create: the previous document gets a name in the archive, the new one takes its place, the
//!   manifest names it. Between the last two the manifest still names the previous one, and it is
//!   found in the archive.
//! - load: the manifest says `consumed`, then the document moves to the archive.
//!
//! No document is ever removed or overwritten while it has no name in the archive. Threads of one
//! process must not use one channel at the same time: its lock is the process's.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use crate::document::{Header, header_of, id_of};
use crate::error::ChannelError;
use crate::files::{Durable, Files, Found};
use crate::lock::{Held, LockPlace, Owner, PID};
use crate::manifest::{Entry, Manifest, Status};
use crate::names::{ChannelName, HandoffId, Kind};
use crate::place::Place;
use crate::registry::Registry;
use sm_client::footprint::TraceKind;

/// Larger texts are no handoffs.
const LARGEST_TEXT: usize = 16 << 20;
/// Handoffs of one session within one second, and files of one name in the archive.
const MOST_OF_ONE_NAME: u32 = 100_000;

/// What becomes of a handoff that is current when another is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occupied {
    /// It moves to the archive: somebody asked for this.
    Replace,
    /// If it is active and another session's, it stays; the new one goes to the archive at once,
    /// and is loaded by its id.
    StepAside,
}

#[derive(Debug, Clone)]
pub struct NewHandoff<'a> {
    pub session: &'a str,
    pub pid: u32,
    pub working_dir: &'a str,
    pub kind: Kind,
    pub text: &'a [u8],
    pub occupied: Occupied,
}

/// Where a new handoff was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    Current,
    /// Beside the active one of another session.
    Archive,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    pub id: HandoffId,
    pub put: Put,
}

/// Which handoff is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    Active,
    /// This one, also if it has expired. One of the archive is only read.
    Id(HandoffId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    pub id: HandoffId,
    /// The whole document, with its header.
    pub document: Vec<u8>,
}

/// One channel at one place, whose folders are there ([`Place::ensure`], [`Place::is_there`]).
#[derive(Debug)]
pub struct Channel<F: Files> {
    place: Place,
    name: ChannelName,
    /// `None`: handoffs never expire.
    expiry: Option<Duration>,
    files: F,
}

impl<F: Files> Channel<F> {
    pub fn new(place: Place, name: ChannelName, expiry: Option<Duration>, files: F) -> Self {
        Self {
            place,
            name,
            expiry,
            files,
        }
    }

    fn lock_place(&self) -> LockPlace {
        LockPlace::new(&self.place.handoffs(), self.name.as_str())
    }

    fn locked<T>(
        &mut self,
        work: impl FnOnce(&mut Self, &Held) -> Result<T, ChannelError>,
    ) -> Result<T, ChannelError> {
        let place = self.lock_place();
        let held = Held::take(&mut self.files, &place)?;
        let done = work(self, &held);
        let released = held.release(&mut self.files);
        done.and_then(|value| released.map(|()| value))
    }

    fn read(&mut self, path: &Path) -> Result<Option<Vec<u8>>, ChannelError> {
        self.files
            .read(path)
            .map_err(|error| ChannelError::io(path, error))
    }

    /// As it stands in the file; `None`: this channel never had a handoff.
    pub fn manifest(&mut self) -> Result<Option<Manifest>, ChannelError> {
        let path = self.place.manifest(&self.name);
        let Some(bytes) = self.read(&path)? else {
            return Ok(None);
        };
        Manifest::parse(&bytes)
            .map(Some)
            .map_err(|why| ChannelError::Corrupt { path, why })
    }

    /// The handoff that would be loaded now. Takes no lock.
    pub fn active(&mut self) -> Result<Option<HandoffId>, ChannelError> {
        let now = self.files.now();
        let manifest = self.manifest()?;
        let current = manifest.as_ref().and_then(Manifest::current);
        Ok(current
            .filter(|current| current.status_at(now, self.expiry) == Status::Active)
            .map(|current| current.id.clone()))
    }

    /// The document of the active handoff, where it is now. Takes no lock.
    pub fn active_document(&mut self) -> Result<Option<(PathBuf, Vec<u8>)>, ChannelError> {
        match self.active()? {
            Some(id) => self.document_of(&id).map(Some),
            None => Ok(None),
        }
    }

    /// The handoff that was active until it was too old, and when it was made. Takes no lock.
    pub fn expired(&mut self) -> Result<Option<(Loaded, Timestamp)>, ChannelError> {
        let now = self.files.now();
        let manifest = self.manifest()?;
        let current = manifest.as_ref().and_then(Manifest::current);
        let expired = current.filter(|c| c.status_at(now, self.expiry) == Status::Expired);
        let Some((id, made)) = expired.and_then(|c| Some((c.id.clone(), c.created_at?))) else {
            return Ok(None);
        };
        let (_, document) = self.document_of(&id)?;
        Ok(Some((Loaded { id, document }, made)))
    }

    fn document_of(&mut self, id: &HandoffId) -> Result<(PathBuf, Vec<u8>), ChannelError> {
        let current = self.place.document(&self.name);
        let found = self.read(&current)?;
        if let Some(bytes) = &found
            && id_of(bytes).as_ref() == Some(id)
        {
            return Ok((current, bytes.clone()));
        }
        if let Some(archived) = self.archived(id)? {
            return Ok(archived);
        }
        let (id, path) = (id.clone(), current);
        Err(match found {
            None => ChannelError::Missing { id, path },
            Some(bytes) => ChannelError::Mismatch {
                found: header_of(&bytes, "HANDOFF-ID")
                    .map_or("a text without an id".to_owned(), |id| {
                        id.chars().take(80).collect()
                    }),
                id,
                path,
            },
        })
    }

    /// What the archive has under this id that is of this channel.
    fn archived(&mut self, id: &HandoffId) -> Result<Option<(PathBuf, Vec<u8>)>, ChannelError> {
        for n in 1..=MOST_OF_ONE_NAME {
            let path = self.archive_name(id.as_str(), n);
            let Some(bytes) = self.read(&path)? else {
                return Ok(None);
            };
            let ours = header_of(&bytes, "CHANNEL").is_none_or(|name| name == self.name.as_str());
            if ours && id_of(&bytes).as_ref() == Some(id) {
                return Ok(Some((path, bytes)));
            }
        }
        Ok(None)
    }

    fn archive_name(&self, stem: &str, n: u32) -> PathBuf {
        let archive = self.place.archive();
        match n {
            1 => archive.join(format!("{stem}.md")),
            n => archive.join(format!("{stem}.{n}.md")),
        }
    }

    /// Gives the document at `from` a name in the archive. It keeps the one it has.
    fn keep(&mut self, from: &Path, bytes: &[u8], stem: &str) -> Result<(), ChannelError> {
        for n in 1..=MOST_OF_ONE_NAME {
            let to = self.archive_name(stem, n);
            let found = self.files.link(from, &to);
            match found.map_err(|error| ChannelError::io(&to, error))? {
                Found::Nothing => {
                    let archive = self.place.archive();
                    return self
                        .files
                        .sync_folder(&archive)
                        .map_err(|error| ChannelError::io(&archive, error));
                }
                Found::Something if self.read(&to)?.as_deref() == Some(bytes) => return Ok(()),
                Found::Something => {}
                Found::NoFolder => {
                    return Err(ChannelError::io(
                        &to,
                        std::io::Error::from(std::io::ErrorKind::NotFound),
                    ));
                }
            }
        }
        Err(ChannelError::TooLarge {
            what: format!("the number of documents called {stem}"),
            limit: MOST_OF_ONE_NAME as usize,
        })
    }

    /// Replaces a file by one rename, if the lock is still ours.
    fn replace(
        &mut self,
        held: &Held,
        what: &str,
        to: &Path,
        bytes: &[u8],
    ) -> Result<(), ChannelError> {
        let from = self.lock_place().temporary(&mut self.files, what);
        self.files
            .write_new(&from, bytes, Durable::Yes)
            .map_err(|error| ChannelError::io(&from, error))?;
        let done = held.check(&mut self.files).and_then(|()| {
            self.files
                .rename(&from, to)
                .map_err(|error| ChannelError::io(to, error))
        });
        if done.is_err() {
            // The error is what counts; the next creator sweeps.
            let _ = self.files.remove(&from);
        }
        done.map(|_| ())
    }

    /// The step that makes everything true.
    fn commit(&mut self, held: &Held, manifest: &Manifest) -> Result<(), ChannelError> {
        let path = self.place.manifest(&self.name);
        self.replace(held, "new", &path, &manifest.bytes())?;
        let folder = self.place.handoffs();
        self.files
            .sync_folder(&folder)
            .map_err(|error| ChannelError::io(&folder, error))
    }

    pub fn create(&mut self, new: &NewHandoff<'_>) -> Result<Created, ChannelError> {
        if new.text.len() > LARGEST_TEXT {
            return Err(ChannelError::TooLarge {
                what: "the handoff".to_owned(),
                limit: LARGEST_TEXT,
            });
        }
        self.locked(|channel, held| channel.create_locked(held, new))
    }

    fn create_locked(
        &mut self,
        held: &Held,
        new: &NewHandoff<'_>,
    ) -> Result<Created, ChannelError> {
        let now = self.files.now();
        self.sweep()?;
        let (manifest, damaged) = match self.manifest() {
            Ok(manifest) => (manifest, false),
            // Whoever creates is not to blame for it, and would have nowhere to go.
            Err(ChannelError::Corrupt { .. }) => (None, true),
            Err(other) => return Err(other),
        };
        let current = manifest.as_ref().and_then(Manifest::current);
        let at = self.place.document(&self.name);
        let previous = self.read(&at)?;
        let previous_id = previous.as_deref().and_then(id_of);

        let aside = new.occupied == Occupied::StepAside
            && current.is_some_and(|current| {
                current.status_at(now, self.expiry) == Status::Active
                    && current.session != new.session
            });
        let taken = [previous_id.as_ref(), current.map(|current| &current.id)];
        let id = self.free_id(now, new.session, &taken)?;
        let header = Header {
            id: &id,
            session: new.session,
            channel: &self.name,
            created: now,
            kind: new.kind,
            working_dir: new.working_dir,
        };
        let document = header.document(new.text);
        if aside {
            self.set_aside(held, &id, &document)?;
            let put = Put::Archive;
            return Ok(Created { id, put });
        }
        if let Some(bytes) = &previous {
            let stem = previous_id.as_ref().map_or_else(
                || format!("{}-before-{id}", self.name),
                |id| id.as_str().to_owned(),
            );
            self.keep(&at, bytes, &stem)?;
        }
        if damaged {
            let path = self.place.manifest(&self.name);
            let bytes = self.read(&path)?.unwrap_or_default();
            self.keep(
                &path,
                &bytes,
                &format!("{}-damaged-manifest-{id}", self.name),
            )?;
        }
        self.replace(held, "doc", &at, &document)?;
        let entry = Entry {
            id: &id,
            session: new.session,
            created: now,
            pid: new.pid,
            working_dir: new.working_dir,
            kind: new.kind,
        };
        self.commit(held, &Manifest::new(&self.name, &entry))?;
        let put = Put::Current;
        Ok(Created { id, put })
    }

    /// Puts a new document into the archive. Other channels have locks of their own: a name that is
    /// free now may be theirs in a moment, so it is never written over.
    fn set_aside(
        &mut self,
        held: &Held,
        id: &HandoffId,
        document: &[u8],
    ) -> Result<(), ChannelError> {
        let from = self.lock_place().temporary(&mut self.files, "doc");
        self.files
            .write_new(&from, document, Durable::Yes)
            .map_err(|error| ChannelError::io(&from, error))?;
        let kept = held
            .check(&mut self.files)
            .and_then(|()| self.keep(&from, document, id.as_str()));
        // It has its name in the archive, or the error is what counts; the next creator sweeps.
        let _ = self.files.remove(&from);
        kept
    }

    fn free_id(
        &mut self,
        now: Timestamp,
        session: &str,
        taken: &[Option<&HandoffId>],
    ) -> Result<HandoffId, ChannelError> {
        let plain = HandoffId::new(now, session);
        let mut id = plain.clone();
        // Several of one second are numbered by its thousandths: counting from one, each would be
        // looked for among all before it.
        let thousandths = u32::try_from(now.subsec_millisecond()).unwrap_or(0);
        for n in 1..=MOST_OF_ONE_NAME {
            let archived = self.place.archived(&id);
            let age = self.files.age(&archived);
            let kept = age.map_err(|error| ChannelError::io(&archived, error))?;
            if kept.is_none() && !taken.contains(&Some(&id)) {
                return Ok(id);
            }
            id = plain.extended(thousandths + n);
        }
        Err(ChannelError::TooLarge {
            what: "the number of handoffs in one second".to_owned(),
            limit: MOST_OF_ONE_NAME as usize,
        })
    }

    /// Temporary files of processes that are no more. Under the lock, so that one does it.
    fn sweep(&mut self) -> Result<(), ChannelError> {
        let folder = self.place.handoffs();
        let names = self
            .files
            .list(&folder)
            .map_err(|error| ChannelError::io(&folder, error))?;
        let place = self.lock_place();
        for name in names {
            let Some(pid) = place.maker_of(&name) else {
                continue;
            };
            let maker = Owner {
                pid,
                since: i64::MAX,
            };
            if self.files.is_alive(maker) {
                continue;
            }
            let path = folder.join(&name);
            // What cannot be removed does no harm.
            let _ = if name.contains(".gone-") {
                self.files.remove_folder(&path, PID)
            } else {
                self.files.remove(&path)
            };
        }
        Ok(())
    }

    /// Gives out the handoff and marks it consumed. Of all who ask, one gets it.
    pub fn load(&mut self, which: &Which, pid: u32) -> Result<Loaded, ChannelError> {
        self.locked(|channel, held| channel.load_locked(held, which, pid))
    }

    fn none(&self) -> ChannelError {
        ChannelError::None {
            channel: self.name.to_string(),
        }
    }

    fn load_locked(
        &mut self,
        held: &Held,
        which: &Which,
        pid: u32,
    ) -> Result<Loaded, ChannelError> {
        let now = self.files.now();
        let manifest = self.manifest()?;
        let current = manifest.as_ref().and_then(Manifest::current);
        let (Some(manifest), Some(current)) = (&manifest, current) else {
            return self.only_read(which);
        };
        match (which, current.status_at(now, self.expiry)) {
            (Which::Active, Status::Active) => {}
            (Which::Active, Status::Expired) => {
                if current.status == Status::Active {
                    self.commit(held, &manifest.expired(now))?;
                }
                return Err(ChannelError::Expired {
                    channel: self.name.to_string(),
                    id: current.id.clone(),
                });
            }
            (Which::Active, Status::Consumed | Status::Cleared) => return Err(self.none()),
            (Which::Id(id), Status::Active | Status::Expired) if *id == current.id => {}
            (
                Which::Id(_),
                Status::Active | Status::Expired | Status::Consumed | Status::Cleared,
            ) => return self.only_read(which),
        }
        let (path, document) = self.document_of(&current.id)?;
        self.commit(held, &manifest.consumed(pid, now))?;
        self.put_away(&path, &document, &current.id)?;
        Ok(Loaded {
            id: current.id.clone(),
            document,
        })
    }

    /// One that is no longer, or never was, the current one.
    fn only_read(&mut self, which: &Which) -> Result<Loaded, ChannelError> {
        let Which::Id(id) = which else {
            return Err(self.none());
        };
        let found = match self.archived(id)? {
            Some((_, document)) => Some(document),
            // Consumed by a process that ended before it could put it away.
            None => self
                .read(&self.place.document(&self.name))?
                .filter(|bytes| id_of(bytes).as_ref() == Some(id)),
        };
        found
            .map(|document| Loaded {
                id: id.clone(),
                document,
            })
            .ok_or_else(|| ChannelError::Unknown {
                channel: self.name.to_string(),
                id: id.clone(),
            })
    }

    /// A document that is no longer current moves to the archive.
    fn put_away(
        &mut self,
        path: &Path,
        document: &[u8],
        id: &HandoffId,
    ) -> Result<(), ChannelError> {
        if *path != self.place.document(&self.name) {
            return Ok(());
        }
        self.keep(path, document, id.as_str())?;
        self.files
            .remove(path)
            .map_err(|error| ChannelError::io(path, error))
    }

    /// The active (or expired) handoff is no longer wanted; it moves to the archive unread.
    pub fn clear(&mut self) -> Result<HandoffId, ChannelError> {
        self.locked(|channel, held| {
            let now = channel.files.now();
            let manifest = channel.manifest()?;
            let current = manifest.as_ref().and_then(Manifest::current);
            let (Some(manifest), Some(current)) = (&manifest, current) else {
                return Err(channel.none());
            };
            match current.status {
                Status::Active | Status::Expired => {}
                Status::Consumed | Status::Cleared => return Err(channel.none()),
            }
            channel.commit(held, &manifest.cleared(now))?;
            match channel.document_of(&current.id) {
                Ok((path, document)) => channel.put_away(&path, &document, &current.id)?,
                Err(ChannelError::Missing { .. } | ChannelError::Mismatch { .. }) => {}
                Err(other) => return Err(other),
            }
            Ok(current.id.clone())
        })
    }

    /// Replaces the manifest by another program's. It must be one.
    pub fn write_manifest(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        let manifest = Manifest::parse(bytes).map_err(ChannelError::NotAManifest)?;
        self.locked(|channel, held| channel.commit(held, &manifest))
    }

    /// Takes back what the files are done with.
    pub fn into_files(self) -> F {
        self.files
    }
}

/// Changes the registry under a lock of its own. What cannot be read is left as it is.
pub fn update_registry<F: Files>(
    place: &Place,
    files: &mut F,
    change: impl FnOnce(&mut Registry),
) -> Result<(), ChannelError> {
    let path = place.registry();
    let lock = LockPlace::new(place.root(), "channel-registry");
    let held = Held::take(files, &lock)?;
    let done = (|| {
        let at = |error| ChannelError::io(&path, error);
        let bytes = files.read(&path).map_err(at)?.unwrap_or_default();
        let mut registry = Registry::parse(&bytes).map_err(|why| ChannelError::Registry {
            path: path.clone(),
            why,
        })?;
        let before = registry.clone();
        change(&mut registry);
        if registry == before {
            return Ok(());
        }
        place.note(TraceKind::ChannelRegistry, &path);
        let new = lock.temporary(files, "new");
        files
            .write_new(&new, &registry.bytes(), Durable::Yes)
            .map_err(at)?;
        files.rename(&new, &path).map_err(at)?;
        files.sync_folder(place.root()).map_err(at)
    })();
    let released = held.release(files);
    done.and(released)
}
