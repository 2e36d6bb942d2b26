//! Going through the files below a folder, in order of their names: what `.gitignore` names and
//! what git itself keeps is left out, links are not followed.

use std::path::Path;
use std::time::{Duration, Instant};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use tokio_util::sync::CancellationToken;

/// How long one search may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    All,
    /// The visitor had enough.
    Enough,
    TimedOut,
    Cancelled,
}

impl Ended {
    /// What is to be said about a search that did not see all.
    pub(super) fn note(self) -> Option<String> {
        match self {
            Self::TimedOut => Some(format!(
                "stopped after {} seconds: not everything was looked at; give a narrower path",
                PATIENCE.as_secs()
            )),
            Self::All | Self::Enough | Self::Cancelled => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Go,
    Stop,
}

/// What a search is stopped by.
pub(super) struct Stop {
    cancel: CancellationToken,
    since: Instant,
}

impl Stop {
    pub(super) fn new(cancel: &CancellationToken) -> Self {
        Self {
            cancel: cancel.clone(),
            since: Instant::now(),
        }
    }

    pub(super) fn now(&self) -> Option<Ended> {
        if self.cancel.is_cancelled() {
            Some(Ended::Cancelled)
        } else if self.since.elapsed() > PATIENCE {
            Some(Ended::TimedOut)
        } else {
            None
        }
    }
}

/// A glob. Without a slash it is looked for at any depth.
pub(super) fn glob(root: &Path, pattern: &str) -> Result<Override, String> {
    // A leading `!` would mean everything else.
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let pattern = if pattern.starts_with('!') {
        format!("\\{pattern}")
    } else {
        pattern.to_string()
    };
    OverrideBuilder::new(root)
        .add(&pattern)
        .and_then(|builder| builder.build())
        .map_err(|error| format!("the glob is not understood: {error}"))
}

/// Shows every file and folder below `root`, or `root` itself if it is a file.
pub(super) fn walk(root: &Path, stop: &Stop, mut visit: impl FnMut(&DirEntry) -> Next) -> Ended {
    let walker = WalkBuilder::new(root)
        .hidden(false)
        .follow_links(false)
        .require_git(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git")
        .build();
    for entry in walker {
        if let Some(ended) = stop.now() {
            return ended;
        }
        // What cannot be read is passed over, as every such search does.
        let Ok(entry) = entry else { continue };
        if visit(&entry) == Next::Stop {
            return Ended::Enough;
        }
    }
    Ended::All
}
