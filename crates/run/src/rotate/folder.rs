//! The folder of one `sm run`: its socket, its settings, its ledger, and what another `sm run` has to
//! know if this one is killed. Removed when it ends as it should.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sm_client::process::Process;
use sm_client::{PathError, Paths};
use sm_core::AgentKind;

/// Of folders that were left behind.
const MOST_LOOKED_AT: usize = 1000;
const LARGEST: u64 = 64 * 1024;
/// Nobody goes on from what was left behind so long ago.
const KEPT_FOR: std::time::Duration = std::time::Duration::from_secs(14 * 24 * 3600);

/// What is known of a run from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The wrapper.
    pub pid: u32,
    pub start: u64,
    pub agent: String,
    pub cwd: String,
    pub channel: String,
    pub generation: u32,
    pub conversation: Option<String>,
    pub transcript: Option<PathBuf>,
    /// What people have said in the contexts before this one.
    #[serde(default)]
    pub earlier: Vec<String>,
}

impl About {
    fn is_running(&self) -> bool {
        Process {
            pid: self.pid,
            start: self.start,
        }
        .is_alive()
    }

    pub fn kind(&self) -> Option<AgentKind> {
        AgentKind::parse(&self.agent)
    }
}

#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
    paths: Paths,
}

fn runs(paths: &Paths) -> PathBuf {
    paths.state_dir().join("runs")
}

impl Folder {
    /// Makes the folder of a new run. The id must be a plain word.
    pub fn make(paths: &Paths, id: &str) -> Result<Self, PathError> {
        let path = runs(paths).join(id);
        let failed = |error| PathError::Io {
            path: path.clone(),
            error,
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(failed)?;
        let paths = Paths::of_run(&path)?;
        paths.ensure_dirs()?;
        Ok(Self { path, paths })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The places that hooks of this run use.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    pub fn write(&self, about: &About) -> io::Result<()> {
        let new = self.path.join("run.new");
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(&serde_json::to_vec(about).map_err(io::Error::other)?)?;
        drop(file);
        fs::rename(&new, self.path.join("run.json"))
    }

    /// Nothing of it is needed any more.
    pub fn remove(&self) {
        // What cannot be removed is swept later.
        let _ = fs::remove_file(self.paths.socket());
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A run whose wrapper is gone without a goodbye.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dead {
    pub folder: PathBuf,
    pub about: About,
    /// When it last said something of itself.
    pub heard: jiff::Timestamp,
}

impl Dead {
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What a run has said of itself, and when.
fn read(folder: &Path) -> Option<(About, std::time::SystemTime)> {
    let path = folder.join("run.json");
    let file = fs::metadata(&path).ok()?;
    if file.len() > LARGEST {
        return None;
    }
    let about = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
    Some((about, file.modified().ok()?))
}

/// Whether the run of this folder goes on.
pub fn is_running(folder: &Path) -> bool {
    read(folder).is_some_and(|(about, _)| about.is_running())
}

/// The one that was last heard of on this channel. Sweeps those that are too old.
pub fn last_dead(paths: &Paths, channel: &str) -> Option<Dead> {
    let entries = fs::read_dir(runs(paths)).ok()?;
    let mut found: Vec<(std::time::SystemTime, Dead)> = entries
        .flatten()
        .take(MOST_LOOKED_AT)
        .filter_map(|entry| {
            let folder = entry.path();
            let (about, heard) = read(&folder)?;
            let at = jiff::Timestamp::try_from(heard).ok()?;
            let dead = Dead {
                folder,
                about,
                heard: at,
            };
            if dead.about.is_running() {
                return None;
            }
            if heard.elapsed().is_ok_and(|ago| ago > KEPT_FOR) {
                dead.remove();
                return None;
            }
            Some((heard, dead))
        })
        .filter(|(_, dead)| dead.about.channel == channel)
        .filter(|(_, dead)| {
            let transcript = dead.about.transcript.as_deref();
            transcript.is_some_and(Path::is_file)
        })
        .collect();
    found.sort_by_key(|(heard, _)| *heard);
    found.pop().map(|(_, dead)| dead)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(home: &Path) -> Paths {
        Paths::resolve(
            |key| (key == "SM_HOME").then(|| home.as_os_str().to_owned()),
            sm_client::platform::uid(),
        )
        .unwrap()
    }

    fn about(process: Process, transcript: &Path) -> About {
        About {
            pid: process.pid,
            start: process.start,
            agent: "claude".to_owned(),
            cwd: "/src".to_owned(),
            channel: "app".to_owned(),
            generation: 1,
            conversation: Some("c1".to_owned()),
            transcript: Some(transcript.to_owned()),
            earlier: Vec::new(),
        }
    }

    #[test]
    fn the_last_run_of_a_channel_that_died_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let paths = paths(dir.path());
        let transcript = dir.path().join("t.jsonl");
        fs::write(&transcript, "x").unwrap();
        assert_eq!(last_dead(&paths, "app"), None);
        let alive = Process::this().unwrap();
        let dead = Process {
            pid: alive.pid,
            start: 1,
        };
        for (id, about) in [
            ("alive", about(alive, &transcript)),
            ("dead", about(dead, &transcript)),
            (
                "elsewhere",
                About {
                    channel: "global".to_owned(),
                    ..about(dead, &transcript)
                },
            ),
            ("silent", about(dead, Path::new("/nowhere"))),
        ] {
            let folder = Folder::make(&paths, id).unwrap();
            folder.write(&about).unwrap();
        }
        fs::create_dir_all(runs(&paths).join("odd")).unwrap();
        fs::write(runs(&paths).join("odd/run.json"), "{").unwrap();
        let found = last_dead(&paths, "app").unwrap();
        assert!(found.folder.ends_with("dead"), "{found:?}");
        found.remove();
        assert_eq!(last_dead(&paths, "app"), None);
    }
}
