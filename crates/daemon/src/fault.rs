//! The places at which a test can have the daemon die as by `kill -9`: before and after each journal
//! write and each effect. That nothing is lost or doubled wherever it dies can be shown only by dying
//! everywhere, and a signal from outside hits the few wide gaps again and again.
//!
//! For tests. It acts only if there was a folder `faults` in the state folder when the daemon was
//! started, and a file `at` is in it now; it never does anything but end this process. Otherwise a
//! point costs one read of memory. A folder, not a variable: daemons are started by launchers and
//! hooks too, which hand on no more of an environment than they must.
//! As long as there is that file, each point that is passed is added to the file `passed`, as
//! `<name> #<n>`: the n-th time in that file, whichever daemon it was. A line in `at` that is the same
//! ends the process. Whatever else is in it means nothing.

use rustix::process::{Signal, getpid, kill_process};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

static POINTS: OnceLock<Points> = OnceLock::new();

/// Before anything is journaled or done.
pub fn start(state: &Path) {
    let folder = state.join("faults");
    if folder.is_dir() {
        POINTS.get_or_init(|| Points::new(folder));
    }
}

/// About to do it: `what` kind of thing, and which.
pub fn before(what: &'static str, which: &'static str) {
    pass("before", what, which);
}

/// It is done, and nobody knows of it yet.
pub fn after(what: &'static str, which: &'static str) {
    pass("after", what, which);
}

fn pass(side: &'static str, what: &'static str, which: &'static str) {
    if let Some(points) = POINTS.get() {
        points.pass(&format!("{side} {what}: {which}"), die);
    }
}

struct Points {
    folder: PathBuf,
    /// Who dies holds it, so that nobody else passes a point meanwhile.
    one_at_a_time: Mutex<()>,
}

impl Points {
    fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            one_at_a_time: Mutex::new(()),
        }
    }

    fn pass(&self, name: &str, die: impl FnOnce()) {
        let _alone = self
            .one_at_a_time
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Ok(at) = std::fs::read_to_string(self.folder.join("at")) else {
            return;
        };
        let passed = self.folder.join("passed");
        let before = std::fs::read_to_string(&passed).unwrap_or_default();
        let same = |line: &&str| line.rsplit_once(" #").is_some_and(|(n, _)| n == name);
        let point = format!("{name} #{}", before.lines().filter(same).count() + 1);
        // one that cannot be counted would be hit by every daemon anew
        let counted = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&passed)
            .and_then(|mut file| file.write_all(format!("{point}\n").as_bytes()));
        if counted.is_ok() && at.lines().any(|line| line == point) {
            die();
        }
    }
}

/// Nothing is flushed, dropped or answered.
fn die() {
    let _ = kill_process(getpid(), Signal::KILL);
    loop {
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_hit_the_time_that_was_asked_for_and_only_where_it_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let points = Points::new(dir.path().to_path_buf());
        let hit = |name: &str| {
            let mut hit = false;
            points.pass(name, || hit = true);
            hit
        };
        let passed = || std::fs::read_to_string(dir.path().join("passed")).unwrap_or_default();
        assert!(!hit("before effect: paste"));
        assert_eq!(passed(), "", "nobody asked");
        std::fs::write(
            dir.path().join("at"),
            "before effect: paste #2\nnonsense #x\n#\n",
        )
        .unwrap();
        let hits = [
            "before effect: paste",
            "after effect: paste",
            "before effect: paste",
            "before effect: paste",
        ]
        .map(hit);
        assert_eq!(hits, [false, false, true, false]);
        assert_eq!(
            passed(),
            "before effect: paste #1\nafter effect: paste #1\nbefore effect: paste #2\nbefore effect: paste #3\n"
        );
        std::fs::write(dir.path().join("at"), b"\xff\xfe #1").unwrap();
        assert!(!hit("nonsense"));
    }

    #[test]
    fn what_is_no_folder_is_harmless() {
        let points = Points::new("/dev/null/nowhere".into());
        points.pass("before effect: paste", || unreachable!());
    }
}
