//! Where things are on disk. Every program computes the same places from the same environment.
//!
//! `Paths::resolve` is pure. Nothing here reads a file; `ensure_dirs` is the only function that
//! makes something, and it never follows a link in a directory that others can write to.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use crate::{platform, wire};

/// Longer socket paths get a short one: the system's limit is 104 to 108 bytes.
pub const LONGEST_SOCKET_PATH: usize = 100;

/// All places of one instance of sm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    config_file: PathBuf,
    state: PathBuf,
    data: PathBuf,
    socket: PathBuf,
    tmux_socket: PathBuf,
    uid: u32,
}

impl Paths {
    /// From this process's environment. A relative `SM_HOME` counts from the working directory.
    pub fn from_env() -> Result<Self, PathError> {
        Self::resolve(
            |key| {
                let value = std::env::var_os(key)?;
                if key == "SM_HOME" && !value.is_empty() {
                    return std::path::absolute(&value)
                        .map_or(Some(value), |path| Some(path.into_os_string()));
                }
                Some(value)
            },
            platform::uid(),
        )
    }

    /// Where the session of this process is heard: its `sm run`, else the daemon.
    pub fn of_session() -> Result<Self, PathError> {
        match Self::run_folder() {
            Some(folder) => Self::of_run(&folder),
            None => Self::from_env(),
        }
    }

    /// The folder of the `sm run` that this process belongs to.
    pub fn run_folder() -> Option<PathBuf> {
        let folder = PathBuf::from(std::env::var_os(wire::RUN_VAR)?);
        folder.is_absolute().then_some(folder)
    }

    /// The places of one `sm run`, all below its folder.
    pub fn of_run(folder: &Path) -> Result<Self, PathError> {
        let home = folder.as_os_str().to_owned();
        Self::resolve(
            |key| (key == "SM_HOME").then(|| home.clone()),
            platform::uid(),
        )
    }

    /// From the given variables. Pure.
    pub fn resolve(get: impl Fn(&str) -> Option<OsString>, uid: u32) -> Result<Self, PathError> {
        let set = |key: &str| {
            get(key)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        if let Some(home) = set("SM_HOME") {
            if !home.is_absolute() {
                return Err(PathError::Relative(home));
            }
            let home = tidy(&home);
            return Ok(Self::new(
                home.join("config.toml"),
                home.join("state"),
                home.join("data"),
                uid,
            ));
        }
        // The XDG specification: relative values are invalid and ignored.
        let base = |key: &str, below_home: &str| -> Result<PathBuf, PathError> {
            if let Some(path) = set(key).filter(|path| path.is_absolute()) {
                return Ok(tidy(&path).join("sm"));
            }
            match set("HOME").filter(|path| path.is_absolute()) {
                Some(home) => Ok(tidy(&home).join(below_home).join("sm")),
                None => Err(PathError::NoHome),
            }
        };
        Ok(Self::new(
            base("XDG_CONFIG_HOME", ".config")?.join("config.toml"),
            base("XDG_STATE_HOME", ".local/state")?,
            base("XDG_DATA_HOME", ".local/share")?,
            uid,
        ))
    }

    fn new(config_file: PathBuf, state: PathBuf, data: PathBuf, uid: u32) -> Self {
        Self {
            socket: short_enough(state.join("sm.sock"), uid),
            tmux_socket: short_enough(state.join("tmux.sock"), uid),
            config_file,
            state,
            data,
            uid,
        }
    }

    pub fn config_file(&self) -> &Path {
        &self.config_file
    }

    pub fn state_dir(&self) -> &Path {
        &self.state
    }

    pub fn data_dir(&self) -> &Path {
        &self.data
    }

    /// The daemon's socket; see `check_socket_dir` before speaking to it.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    pub fn tmux_socket(&self) -> &Path {
        &self.tmux_socket
    }

    pub fn lock_file(&self) -> PathBuf {
        self.state.join("daemon.lock")
    }

    pub fn token_file(&self) -> PathBuf {
        self.state.join("token")
    }

    /// Browsers that are signed in: hashes of their cookies.
    pub fn signed_in_file(&self) -> PathBuf {
        self.state.join("signed-in")
    }

    pub fn database(&self) -> PathBuf {
        self.state.join("sm.db")
    }

    pub fn daemon_log(&self) -> PathBuf {
        self.state.join("daemon.log")
    }

    /// When the daemon was last started by someone: keeps a crash from becoming a storm.
    pub fn start_stamp(&self) -> PathBuf {
        self.state.join("daemon.start")
    }

    /// What the daemon was started with, for whoever starts it again after a crash.
    pub fn start_settings(&self) -> PathBuf {
        self.state.join("daemon.env")
    }

    /// Exists while the daemon is stopped because a person said so: hooks then leave it alone.
    pub fn stopped_marker(&self) -> PathBuf {
        self.state.join("stopped")
    }

    pub fn spool_dir(&self) -> PathBuf {
        self.state.join("spool")
    }

    pub fn sessions_dir(&self) -> PathBuf {
        self.data.join("sessions")
    }

    /// A session's folder. The id must be one of ours (no separators).
    pub fn session_dir(&self, id: &str) -> PathBuf {
        self.sessions_dir().join(id)
    }

    /// Makes the directories that are missing (0700) and closes ours to others.
    pub fn ensure_dirs(&self) -> Result<(), PathError> {
        for dir in [
            self.state.clone(),
            self.data.clone(),
            self.spool_dir(),
            self.sessions_dir(),
        ] {
            private_dir(&dir)?;
        }
        if let Some(short) = self.short_socket_dir() {
            match fs::DirBuilder::new().mode(0o700).create(short) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(PathError::io(short, error)),
            }
        }
        self.check_socket_dir()
    }

    /// Refuses a short socket directory in `/tmp` that someone else could have made: whoever
    /// listens there would be told secrets. Costs nothing when the socket is in our own state.
    pub fn check_socket_dir(&self) -> Result<(), PathError> {
        match self.short_socket_dir() {
            Some(dir) => check_private(dir, self.uid),
            None => Ok(()),
        }
    }

    fn short_socket_dir(&self) -> Option<&Path> {
        [&self.socket, &self.tmux_socket]
            .into_iter()
            .filter_map(|socket| socket.parent())
            .find(|dir| *dir != self.state)
    }
}

/// The same place has one spelling, as its bytes are hashed: `//`, `/./` and a final `/` go.
/// `..` stays: only the file system knows what it means behind a link.
fn tidy(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| !matches!(part, Component::CurDir))
        .collect()
}

fn short_enough(path: PathBuf, uid: u32) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    if bytes.len() <= LONGEST_SOCKET_PATH {
        return path;
    }
    PathBuf::from(format!("/tmp/sm-{uid}/{:016x}.sock", fnv1a_64(bytes)))
}

/// A name for bytes that every program computes alike; no protection against whoever wants two
/// to have the same.
pub fn fnv1a_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn private_dir(dir: &Path) -> Result<(), PathError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|error| PathError::io(dir, error))?;
    let found = fs::metadata(dir).map_err(|error| PathError::io(dir, error))?;
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700))
            .map_err(|error| PathError::io(dir, error))?;
    }
    Ok(())
}

fn check_private(dir: &Path, uid: u32) -> Result<(), PathError> {
    let found = fs::symlink_metadata(dir).map_err(|error| PathError::io(dir, error))?;
    let why = if !found.is_dir() {
        "it is not a directory"
    } else if found.uid() != uid {
        "it belongs to another user"
    } else if found.mode() & 0o077 != 0 {
        "others may enter it"
    } else {
        return Ok(());
    };
    Err(PathError::Untrusted {
        dir: dir.to_path_buf(),
        why,
    })
}

/// Why the places of this instance cannot be used.
#[derive(Debug)]
pub enum PathError {
    /// Neither `SM_HOME` nor `HOME` says where to be.
    NoHome,
    /// `SM_HOME` is not an absolute path.
    Relative(PathBuf),
    /// The directory for sockets is not ours alone.
    Untrusted {
        dir: PathBuf,
        why: &'static str,
    },
    Io {
        path: PathBuf,
        error: io::Error,
    },
}

impl PathError {
    fn io(path: &Path, error: io::Error) -> Self {
        Self::Io {
            path: path.to_path_buf(),
            error,
        }
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHome => write!(f, "neither SM_HOME nor HOME is set to an absolute path"),
            Self::Relative(path) => write!(f, "SM_HOME is not absolute: {}", path.display()),
            Self::Untrusted { dir, why } => {
                write!(f, "refusing to use {}: {why}", dir.display())
            }
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for PathError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            Self::NoHome | Self::Relative(_) | Self::Untrusted { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn resolve(vars: &[(&str, &str)]) -> Result<Paths, PathError> {
        Paths::resolve(
            |key| {
                vars.iter()
                    .find(|(name, _)| *name == key)
                    .map(|(_, value)| OsString::from(value))
            },
            1000,
        )
    }

    #[test]
    fn places_follow_the_environment() {
        type Row = (
            &'static [(&'static str, &'static str)],
            &'static str,
            &'static str,
            &'static str,
        );
        let rows: &[Row] = &[
            (
                &[("SM_HOME", "/x"), ("HOME", "/h")],
                "/x/config.toml",
                "/x/state",
                "/x/data",
            ),
            (
                &[("SM_HOME", "/x//y/./z/")],
                "/x/y/z/config.toml",
                "/x/y/z/state",
                "/x/y/z/data",
            ),
            (
                &[("SM_HOME", ""), ("HOME", "/h")],
                "/h/.config/sm/config.toml",
                "/h/.local/state/sm",
                "/h/.local/share/sm",
            ),
            (
                &[
                    ("HOME", "/h"),
                    ("XDG_STATE_HOME", "/s"),
                    ("XDG_DATA_HOME", "relative"),
                ],
                "/h/.config/sm/config.toml",
                "/s/sm",
                "/h/.local/share/sm",
            ),
            (
                &[
                    ("XDG_CONFIG_HOME", "/c"),
                    ("XDG_STATE_HOME", "/s"),
                    ("XDG_DATA_HOME", "/d"),
                ],
                "/c/sm/config.toml",
                "/s/sm",
                "/d/sm",
            ),
        ];
        for (vars, config, state, data) in rows {
            let paths = resolve(vars).unwrap();
            assert_eq!(paths.config_file(), Path::new(config), "{vars:?}");
            assert_eq!(paths.state_dir(), Path::new(state), "{vars:?}");
            assert_eq!(paths.data_dir(), Path::new(data), "{vars:?}");
            assert_eq!(paths.socket(), Path::new(state).join("sm.sock"), "{vars:?}");
        }
        assert!(matches!(resolve(&[]), Err(PathError::NoHome)));
        assert!(matches!(resolve(&[("HOME", "h")]), Err(PathError::NoHome)));
        assert!(matches!(
            resolve(&[("SM_HOME", "x")]),
            Err(PathError::Relative(_))
        ));
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        // Published test vectors: other programs must be able to compute the same name.
        assert_eq!(fnv1a_64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a_64(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a_64(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_long_socket_path_becomes_a_short_one() {
        // "/" + 84 + "/state/sm.sock" is 100 bytes with 85 of home: the last that fits.
        let fits = format!("/{}", "a".repeat(85));
        let paths = resolve(&[("SM_HOME", &fits)]).unwrap();
        assert_eq!(paths.socket().as_os_str().len(), 100);
        assert!(paths.tmux_socket().starts_with("/tmp/sm-1000"));
        let long = format!("/{}", "a".repeat(86));
        let paths = resolve(&[("SM_HOME", &long)]).unwrap();
        let expected = format!(
            "/tmp/sm-1000/{:016x}.sock",
            fnv1a_64(format!("{long}/state/sm.sock").as_bytes())
        );
        assert_eq!(paths.socket(), Path::new(&expected));
        assert_ne!(paths.socket(), paths.tmux_socket());
        // Another spelling of the same place is the same socket.
        let other = resolve(&[("SM_HOME", &format!("/{long}/."))]).unwrap();
        assert_eq!(other.socket(), paths.socket());
    }

    #[test]
    fn directories_are_made_for_us_alone() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().join("home");
        fs::create_dir_all(home.join("state")).unwrap();
        fs::set_permissions(home.join("state"), fs::Permissions::from_mode(0o755)).unwrap();
        let paths = resolve(&[("SM_HOME", home.to_str().unwrap())]).unwrap();
        paths.ensure_dirs().unwrap();
        paths.ensure_dirs().unwrap();
        for dir in [
            paths.state_dir(),
            paths.data_dir(),
            &paths.spool_dir(),
            &paths.sessions_dir(),
        ] {
            assert_eq!(fs::metadata(dir).unwrap().mode() & 0o777, 0o700, "{dir:?}");
        }
    }

    #[test]
    fn a_directory_someone_else_could_have_made_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let real = temp.path().join("real");
        fs::DirBuilder::new().mode(0o700).create(&real).unwrap();
        let open = temp.path().join("open");
        fs::DirBuilder::new().create(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        let link = temp.path().join("link");
        symlink(&real, &link).unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        let me = platform::uid();
        let why = |dir: &Path, uid: u32| match check_private(dir, uid) {
            Ok(()) => "fine",
            Err(PathError::Untrusted { why, .. }) => why,
            Err(PathError::NoHome | PathError::Relative(_) | PathError::Io { .. }) => "io",
        };
        assert_eq!(why(&real, me), "fine");
        assert_eq!(why(&link, me), "it is not a directory");
        assert_eq!(why(&file, me), "it is not a directory");
        assert_eq!(why(&open, me), "others may enter it");
        assert_eq!(why(&real, me + 1), "it belongs to another user");
        assert_eq!(why(&temp.path().join("none"), me), "io");
    }
}
