//! Where the files are: under `~/.claude`, whatever else is kept elsewhere. Pure, but for making
//! the folders.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use sm_client::Footprint;
use sm_client::footprint::TraceKind;

use crate::error::ChannelError;
use crate::names::{ChannelName, HandoffId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    root: PathBuf,
    /// Where it is written down what was made here.
    footprint: Option<Footprint>,
}

impl Place {
    /// `root` stands for `~/.claude`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            footprint: None,
        }
    }

    /// What is made here is written down in this list.
    pub fn listed_in(mut self, footprint: Footprint) -> Self {
        self.footprint = Some(footprint);
        self
    }

    /// Before something is made here that was not there.
    pub(crate) fn note(&self, kind: TraceKind, path: &Path) {
        if let Some(footprint) = &self.footprint
            && !path.exists()
        {
            // a list that cannot be written keeps nobody from handing over
            let _ = footprint.note(kind, path);
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes the folders that are missing.
    pub fn ensure(&self) -> Result<(), ChannelError> {
        let archive = self.archive();
        if archive.is_dir() {
            return Ok(());
        }
        self.note(TraceKind::Channels, &self.handoffs());
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&archive)
            .map_err(|error| ChannelError::io(&archive, error))
    }

    /// Whether anything was ever created here.
    pub fn is_there(&self) -> bool {
        self.handoffs().is_dir()
    }

    pub fn registry(&self) -> PathBuf {
        self.root.join("channel-registry.json")
    }

    pub fn current_session(&self) -> PathBuf {
        self.root.join(".current-session")
    }

    pub fn restart_session(&self) -> PathBuf {
        self.root.join(".restart-session")
    }

    pub fn context_status(&self) -> PathBuf {
        self.root.join(".context-status")
    }

    pub fn handoffs(&self) -> PathBuf {
        self.root.join("handoff")
    }

    pub fn archive(&self) -> PathBuf {
        self.handoffs().join("archive")
    }

    pub fn log(&self) -> PathBuf {
        self.handoffs().join("handoff.log")
    }

    pub fn manifest(&self, channel: &ChannelName) -> PathBuf {
        self.handoffs().join(format!("{channel}.manifest.json"))
    }

    pub fn document(&self, channel: &ChannelName) -> PathBuf {
        self.handoffs().join(format!("{channel}-CURRENT.md"))
    }

    pub fn archived(&self, id: &HandoffId) -> PathBuf {
        self.archive().join(format!("{id}.md"))
    }
}
