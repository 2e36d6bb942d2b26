//! Why something about a channel could not be done. In every case the files are as they were.

use std::io;
use std::path::{Path, PathBuf};

use crate::names::HandoffId;

#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error(
        "{0:?} cannot be a channel's name: letters, digits, dot, dash and underscore, 64 at most, no dot at the beginning"
    )]
    Name(String),
    #[error("{0:?} is no handoff id (HO-YYYYMMDD-HHMMSS-letters)")]
    Id(String),
    #[error("the manifest {path} is damaged ({why}); it was left as it is")]
    Corrupt { path: PathBuf, why: String },
    #[error("the document of {id} is missing: neither {path} nor the archive has it")]
    Missing { id: HandoffId, path: PathBuf },
    #[error("{path} is not {id} but {found}; it was left as it is")]
    Mismatch {
        id: HandoffId,
        found: String,
        path: PathBuf,
    },
    #[error("there is no active handoff in channel {channel}")]
    None { channel: String },
    #[error("the handoff {id} of channel {channel} has expired; it is kept")]
    Expired { channel: String, id: HandoffId },
    #[error("channel {channel} has no handoff {id}")]
    Unknown { channel: String, id: HandoffId },
    #[error("the lock {path} is held by {owner}")]
    Busy { path: PathBuf, owner: String },
    #[error("the lock {path} was taken away from us; nothing was changed after that")]
    LockLost { path: PathBuf },
    #[error("{path} is not a registry of channels ({why}); it was left as it is")]
    Registry { path: PathBuf, why: String },
    #[error("{what} has more than {limit} bytes")]
    TooLarge { what: String, limit: usize },
    #[error("the manifest is not one: {0}")]
    NotAManifest(String),
}

impl ChannelError {
    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        Self::Io {
            path: path.to_path_buf(),
            error,
        }
    }

    /// That nothing is there to load is an answer; everything else is something to be logged.
    pub fn is_answer(&self) -> bool {
        match self {
            Self::None { .. } | Self::Expired { .. } | Self::Unknown { .. } => true,
            Self::Io { .. }
            | Self::Name(_)
            | Self::Id(_)
            | Self::Corrupt { .. }
            | Self::Missing { .. }
            | Self::Mismatch { .. }
            | Self::Busy { .. }
            | Self::LockLost { .. }
            | Self::Registry { .. }
            | Self::TooLarge { .. }
            | Self::NotAManifest(_) => false,
        }
    }
}
