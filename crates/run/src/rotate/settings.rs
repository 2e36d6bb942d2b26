//! The settings that Claude is launched with, kept where they outlive the run: at its end Claude
//! prints a line that resumes the conversation, with the settings it was started with in it.
//!
//! Runs with the same settings share a file, so that they do not pile up. Without a run the hooks in
//! it do nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sm_client::Paths;
use sm_client::paths::fnv1a_64;

/// Claude itself forgets conversations sooner.
const KEPT_FOR: Duration = Duration::from_secs(90 * 24 * 3600);
/// Of others that are looked at.
const MOST_LOOKED_AT: usize = 1000;

/// Moves the file of this launch to where it stays; answers its new place.
pub fn keep(paths: &Paths, file: &Path) -> io::Result<PathBuf> {
    let folder = paths.state_dir().join("settings");
    let content = fs::read(file)?;
    fs::create_dir_all(&folder)?;
    let kept = folder.join(format!("claude-{:016x}.json", fnv1a_64(&content)));
    // With the time of this launch, also if it was there.
    fs::rename(file, &kept)?;
    sweep(&folder, SystemTime::now());
    Ok(kept)
}

/// Removes what no launch has used for long.
fn sweep(folder: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten().take(MOST_LOOKED_AT) {
        let used = entry.metadata().and_then(|about| about.modified());
        let is_old =
            used.is_ok_and(|used| now.duration_since(used).is_ok_and(|since| since > KEPT_FOR));
        if is_old {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_settings_are_one_file_and_old_ones_go() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("sm").into_os_string();
        let paths = Paths::resolve(|key| (key == "SM_HOME").then(|| home.clone()), 0).unwrap();
        let file = dir.path().join("settings.json");
        let keep_text = |text: &str| {
            fs::write(&file, text).unwrap();
            keep(&paths, &file).unwrap()
        };
        let first = keep_text("{}");
        assert_eq!(keep_text("{}"), first);
        let other = keep_text("{\"a\":1}");
        assert_ne!(other, first);
        assert!(!file.exists());
        assert_eq!(fs::read_to_string(&first).unwrap(), "{}");
        let old = SystemTime::now() - KEPT_FOR - Duration::from_secs(60);
        let times = fs::FileTimes::new().set_modified(old);
        let opened = fs::File::options().write(true).open(&first).unwrap();
        opened.set_times(times).unwrap();
        keep_text("{\"a\":1}");
        assert!(!first.exists() && other.exists());
        // and one that is used again is as good as new
        assert_eq!(keep_text("{}"), first);
    }
}
