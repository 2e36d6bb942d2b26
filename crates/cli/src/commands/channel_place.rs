//! Where channels are and which one is meant: by its name, by the folder's registration, or the
//! repository's own. Files only, no daemon.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use sm_channel::{
    ChannelError, ChannelName, DotFile, Files, HandoffId, Kind, Manifest, NewHandoff, Occupied,
    Place, RealFiles, Registry, Status, Which, is_same_work, owner_of,
};
use sm_client::{Footprint, Paths};

use crate::entry;
use crate::error::{CommandError, Result};
use crate::print;
use crate::text::one_line;

/// Where the files are, and where we are.
pub(super) struct Here {
    pub place: Place,
    expiry: Option<Duration>,
}

impl Here {
    pub fn find() -> Result<Self> {
        let unusable = |error: String| CommandError::not_usable(error);
        let paths = Paths::from_env().map_err(|error| unusable(error.to_string()))?;
        let config = entry::configuration(&paths).map_err(|error| unusable(error.to_string()))?;
        let root = match config.channel.dir {
            Some(dir) => dir,
            None => std::env::var_os("HOME")
                .filter(|home| !home.is_empty())
                .map(|home| Path::new(&home).join(".claude"))
                .ok_or_else(|| unusable("HOME is not set".to_owned()))?,
        };
        Ok(Self {
            place: Place::new(root).listed_in(Footprint::of(&paths)),
            expiry: config.channel.expire_after,
        })
    }

    /// None: handoffs never expire.
    pub fn expiry(&self) -> Option<Duration> {
        self.expiry
    }

    pub fn registry(&self) -> std::result::Result<Registry, ChannelError> {
        let path = self.place.registry();
        let bytes = RealFiles::default().read(&path);
        let bytes = bytes.map_err(|error| ChannelError::Io {
            path: path.clone(),
            error,
        })?;
        Registry::parse(&bytes.unwrap_or_default())
            .map_err(|why| ChannelError::Registry { path, why })
    }

    /// The channel that is named, or this folder's.
    pub fn channel(&self, named: Option<&str>) -> Result<ChannelName> {
        if let Some(name) = named {
            return name.parse().map_err(told);
        }
        let registry = match self.registry() {
            Ok(registry) => registry,
            Err(error) => {
                let own = own_channel()?;
                print::note(&format!("{error}; using this folder's own channel, {own}"));
                return Ok(own);
            }
        };
        // By its name and by what links make of it: either may have been registered.
        let places = [
            std::env::var_os("PWD").map(PathBuf::from),
            std::env::current_dir().ok(),
        ];
        let found = places
            .iter()
            .flatten()
            .filter_map(|place| registry.channel_of(place))
            .max_by_key(|(path, _)| path.len());
        match found {
            Some((_, name)) => Ok(name),
            None => own_channel(),
        }
    }

    /// Whether this is the channel of a folder that nobody registered.
    pub fn is_own(&self, name: &ChannelName) -> bool {
        own_channel().is_ok_and(|own| own == *name)
    }

    /// The channel that a handoff is looked for in. The shell library puts what is made in a folder
    /// that nobody registered into `global`: it is taken from there if it was made here. One that
    /// was made elsewhere is only told of.
    pub fn channel_to_load(&self, named: Option<&str>) -> Result<Lane> {
        let name = self.channel(named)?;
        let lane = |name| Lane { name, offer: None };
        if named.is_some() || !self.place.is_there() || name != own_channel()? {
            return Ok(lane(name));
        }
        // one that has expired is still to be had
        let current = |name: &ChannelName| {
            let manifest = self.open(name).manifest()?;
            let current = manifest.as_ref().and_then(Manifest::current).cloned();
            let now = Timestamp::now();
            Ok::<_, ChannelError>(current.and_then(|current| {
                match current.status_at(now, self.expiry) {
                    status @ (Status::Active | Status::Expired) => Some((current, status)),
                    Status::Consumed | Status::Cleared => None,
                }
            }))
        };
        let own = match current(&name) {
            Ok(own) => own.map(|(_, status)| status),
            Err(_) => return Ok(lane(name)), // what is wrong with it is said by whoever loads
        };
        if own == Some(Status::Active) {
            return Ok(lane(name));
        }
        let global = ChannelName::global();
        let (current, status) = match current(&global) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(lane(name)),
            Err(_) if own.is_some() => return Ok(lane(name)),
            Err(_) => return Ok(lane(global)), // it may be ours: whoever loads says what is wrong
        };
        let here = std::env::current_dir().unwrap_or_default();
        if is_same_work(Path::new(&current.working_dir), &here) {
            // of two that have expired the folder's own
            let is_newer = own.is_none() || status == Status::Active;
            return Ok(lane(if is_newer { global } else { name }));
        }
        let offer = (status == Status::Active).then_some(Offer {
            id: current.id,
            folder: current.working_dir,
        });
        Ok(Lane { name, offer })
    }

    /// Says so if the handoff that is about to be taken was made for other work: the person has
    /// named the channel, or registered it for both.
    pub fn tell_origin(&self, name: &ChannelName) {
        let manifest = self.open(name).manifest().ok().flatten();
        let current = manifest.as_ref().and_then(Manifest::current);
        let here = std::env::current_dir().unwrap_or_default();
        if let Some(current) = current
            && !current.working_dir.is_empty()
            && !is_same_work(Path::new(&current.working_dir), &here)
        {
            print::note(&format!(
                "handoff {} of channel {name} was made in {}",
                current.id,
                one_line(&current.working_dir)
            ));
        }
    }

    pub fn open(&self, name: &ChannelName) -> sm_channel::Channel<RealFiles> {
        sm_channel::Channel::new(
            self.place.clone(),
            name.clone(),
            self.expiry,
            RealFiles::default(),
        )
    }

    pub fn create(
        &self,
        name: &ChannelName,
        kind: Kind,
        session: Option<&str>,
        text: &[u8],
    ) -> Result<HandoffId> {
        self.place.ensure().map_err(told)?;
        let known = self.session_line().map_err(told)?;
        let session = session
            .or(known.as_ref().map(|line| line.session.as_str()))
            .unwrap_or("unknown");
        let working_dir = std::env::current_dir().unwrap_or_default();
        let created = self.open(name).create(&NewHandoff {
            session,
            pid: caller(),
            working_dir: &working_dir.to_string_lossy(),
            kind,
            text,
            occupied: Occupied::Replace,
        });
        created
            .map(|created| created.id)
            .map_err(|error| self.logged(name, error))
    }

    pub fn load(&self, name: &ChannelName, which: &Which, pid: Option<u32>) -> Result<Vec<u8>> {
        if !self.place.is_there() {
            return Err(told(ChannelError::None {
                channel: name.to_string(),
            }));
        }
        self.open(name)
            .load(which, pid.unwrap_or_else(caller))
            .map(|loaded| loaded.document)
            .map_err(|error| self.logged(name, error))
    }

    pub fn session_line(
        &self,
    ) -> std::result::Result<Option<sm_channel::SessionLine>, ChannelError> {
        DotFile::new(self.place.current_session()).read(&mut RealFiles::default())
    }

    /// What was refused can be read later, too: hooks have no terminal.
    pub fn logged(&self, name: &ChannelName, error: ChannelError) -> CommandError {
        if !error.is_answer() {
            sm_channel::log_line(&self.place, name, &error.to_string());
        }
        told(error)
    }

    pub fn change_registry(&self, change: impl FnOnce(&mut Registry)) -> Result<()> {
        self.place.ensure().map_err(told)?;
        sm_channel::update_registry(&self.place, &mut RealFiles::default(), change).map_err(told)
    }
}

/// The channel to take a handoff from.
pub(super) struct Lane {
    pub name: ChannelName,
    pub offer: Option<Offer>,
}

/// A handoff of other work, in the channel that the shell library shares between all folders.
pub(super) struct Offer {
    id: HandoffId,
    folder: String,
}

impl Offer {
    /// Where it is, and how to go on with it all the same. `command` takes it.
    pub fn hint(&self, command: &str) -> String {
        let folder = match self.folder.as_str() {
            "" => "a folder that it does not name".to_owned(),
            folder => one_line(folder),
        };
        format!(
            "channel global has {}, made in {folder}: go on with it there, or take it here with `{command}`",
            self.id
        )
    }
}

/// The channel of the repository or folder we are in, if nobody has registered one.
fn own_channel() -> Result<ChannelName> {
    let here = std::env::current_dir().map_err(|error| {
        CommandError::not_usable(format!("this folder cannot be used: {error}"))
    })?;
    Ok(ChannelName::of_folder(&owner_of(&here)))
}

/// The program that runs us: a shell that called the library had its own pid there.
pub(super) fn caller() -> u32 {
    match std::os::unix::process::parent_id() {
        0 => std::process::id(), // it is in another namespace
        parent => parent,
    }
}

pub(super) fn told(error: ChannelError) -> CommandError {
    let hint = match &error {
        ChannelError::Expired { id, .. } => {
            Some(format!("load it all the same: sm channel load --id {id}"))
        }
        ChannelError::Corrupt { .. } => {
            Some("repair or remove it; sm channel create keeps a copy in the archive".to_owned())
        }
        ChannelError::Mismatch { .. } | ChannelError::Missing { .. } => {
            Some("the documents of earlier handoffs are in the folder archive beside it".to_owned())
        }
        ChannelError::Registry { .. } => Some("repair it by hand".to_owned()),
        ChannelError::Busy { .. }
        | ChannelError::Io { .. }
        | ChannelError::Name(_)
        | ChannelError::Id(_)
        | ChannelError::None { .. }
        | ChannelError::Unknown { .. }
        | ChannelError::LockLost { .. }
        | ChannelError::TooLarge { .. }
        | ChannelError::NotAManifest(_) => None,
    };
    let told = match &error {
        ChannelError::Name(_) | ChannelError::Id(_) => CommandError::usage(error.to_string()),
        _ => CommandError::refused(error.to_string()),
    };
    match hint {
        Some(hint) => told.hint(hint),
        None => told,
    }
}
