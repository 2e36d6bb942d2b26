//! The directories sm writes to: whose they are, whether there is room, what waits in the spool.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use sm_client::{Paths, platform, spool};

use super::Check;
use crate::text::bytes;

/// Less than this and sm refuses to write sooner or later.
const LITTLE_SPACE: u64 = 500 * 1024 * 1024;
const NO_SPACE: u64 = 20 * 1024 * 1024;

pub fn check(paths: &Paths) -> Vec<Check> {
    vec![private(paths), space(paths), spooled(&paths.spool_dir())]
}

fn private(paths: &Paths) -> Check {
    let state = paths.state_dir();
    if let Err(error) = paths.check_socket_dir()
        && !missing(paths.socket().parent())
    {
        return Check::broken(
            "places",
            error.to_string(),
            "remove that directory: somebody else could listen there",
        );
    }
    let Ok(found) = state.metadata() else {
        return match first_existing(state) {
            Some(dir) if may_write(dir) => Check::ok(
                "places",
                format!("{} is made when it is needed", state.display()),
            ),
            Some(dir) => Check::broken(
                "places",
                format!("{} cannot be made", state.display()),
                format!(
                    "make {} writable, or set SM_HOME to a directory of yours",
                    dir.display()
                ),
            ),
            None => Check::broken(
                "places",
                format!("{} cannot be made", state.display()),
                "set SM_HOME to a directory of yours",
            ),
        };
    };
    if !found.is_dir() {
        return Check::broken(
            "places",
            format!("{} is not a directory", state.display()),
            "move it away, or set SM_HOME to another directory",
        );
    }
    if found.uid() != platform::uid() {
        return Check::broken(
            "places",
            format!("{} belongs to another user", state.display()),
            "set SM_HOME to a directory of yours",
        );
    }
    if found.permissions().mode() & 0o077 != 0 {
        return Check::warning(
            "places",
            format!("others may enter {}", state.display()),
            format!("chmod 700 {}", state.display()),
        );
    }
    if !may_write(state) {
        return Check::broken(
            "places",
            format!("{} cannot be written to", state.display()),
            format!("chmod 700 {}", state.display()),
        );
    }
    Check::ok("places", format!("{} is ours alone", state.display()))
}

fn space(paths: &Paths) -> Check {
    let asked = first_existing(paths.state_dir())
        .and_then(|dir| rustix::fs::statvfs(dir).ok().map(|found| (dir, found)));
    let Some((dir, found)) = asked else {
        return Check::ok("disk", "not known");
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let text = format!("{} free at {}", bytes(free), dir.display());
    match free {
        free if free < NO_SPACE => Check::broken(
            "disk",
            format!("{text}: messages would be refused"),
            "make room; `sm gc` shows what sm could remove",
        ),
        free if free < LITTLE_SPACE => Check::warning(
            "disk",
            text,
            "make room; `sm gc` shows what sm could remove",
        ),
        _ => Check::ok("disk", text),
    }
}

fn spooled(dir: &Path) -> Check {
    let size = |name: &str| dir.join(name).metadata().map_or(0, |found| found.len());
    let waiting = size(spool::FILE_NAME);
    // The counter has one byte for each event.
    let dropped = size("dropped");
    if dropped > 0 {
        return Check::warning(
            "spool",
            format!("{dropped} events of agents did not fit while no daemon ran"),
            "states may be behind for a moment: any command that starts the daemon sets them right",
        );
    }
    if waiting >= spool::MAX_FILE / 2 {
        return Check::warning(
            "spool",
            format!("{} of events wait for a daemon", bytes(waiting)),
            "start it: sm ls",
        );
    }
    match waiting {
        0 => Check::ok("spool", "empty"),
        some => Check::ok(
            "spool",
            format!("{} of events wait for the daemon's next start", bytes(some)),
        ),
    }
}

fn missing(path: Option<&Path>) -> bool {
    path.is_none_or(|path| path.symlink_metadata().is_err())
}

fn first_existing(path: &Path) -> Option<&Path> {
    path.ancestors().find(|dir| dir.exists())
}

fn may_write(dir: &Path) -> bool {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    fn paths(home: &Path) -> Paths {
        Paths::resolve(
            |key| (key == "SM_HOME").then(|| home.as_os_str().to_owned()),
            platform::uid(),
        )
        .unwrap()
    }

    #[test]
    fn directories_that_others_may_enter_are_named() {
        let temp = tempfile::tempdir().unwrap();
        let paths = paths(temp.path());
        assert_eq!(private(&paths).verdict, Verdict::Ok);
        paths.ensure_dirs().unwrap();
        assert_eq!(private(&paths).verdict, Verdict::Ok);
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(paths.state_dir(), open).unwrap();
        let check = private(&paths);
        assert_eq!(check.verdict, Verdict::Warning);
        assert!(check.remedy.unwrap().starts_with("chmod 700 "));
        std::fs::remove_dir_all(paths.state_dir()).unwrap();
        std::fs::write(paths.state_dir(), "").unwrap();
        assert_eq!(private(&paths).verdict, Verdict::Broken);
    }

    #[test]
    fn a_spool_says_what_it_lost() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(spooled(temp.path()), Check::ok("spool", "empty"));
        std::fs::write(temp.path().join(spool::FILE_NAME), "{}\n").unwrap();
        assert_eq!(
            spooled(temp.path()),
            Check::ok("spool", "3 B of events wait for the daemon's next start")
        );
        std::fs::write(temp.path().join("dropped"), "..").unwrap();
        let check = spooled(temp.path());
        assert_eq!(check.verdict, Verdict::Warning);
        assert!(check.text.starts_with("2 events"), "{}", check.text);
    }
}
