//! Which tmux, which server, and whether that program will do.

use crate::error::{Error, REMEDY};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// The server's socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Socket {
    /// `tmux -S`; its directory has to exist.
    Path(PathBuf),
    /// `tmux -L`: a name in tmux's own directory.
    Name(String),
}

#[derive(Debug, Clone)]
pub struct TmuxConfig {
    pub socket: Socket,
    /// A configuration for the server we start. None: tmux's defaults plus ours; the user's own
    /// configuration is not read, so that it cannot change how agents run.
    pub config: Option<PathBuf>,
    pub program: PathBuf,
    /// What runs in the hidden session `_sm` that keeps the server alive. Should do nothing.
    pub keeper: Vec<String>,
    /// Lines of scrollback, where a new pane does not say.
    pub history_limit: u32,
    /// How long tmux may take to answer one command.
    pub deadline: Duration,
}

impl TmuxConfig {
    pub fn new(socket: Socket) -> Self {
        Self {
            socket,
            config: None,
            program: PathBuf::from("tmux"),
            keeper: vec!["sm-hook".into(), "park".into()],
            history_limit: 20_000,
            deadline: Duration::from_secs(10),
        }
    }

    /// The program and the options that name the server.
    pub(crate) fn base_argv(&self) -> Vec<OsString> {
        let mut argv = vec![self.program.clone().into_os_string()];
        match &self.socket {
            Socket::Path(path) => argv.extend(["-S".into(), path.clone().into_os_string()]),
            Socket::Name(name) => argv.extend(["-L".into(), name.into()]),
        }
        argv
    }

    /// A command of tmux with a clean environment: what the server is started with, it keeps for
    /// its life and hands to every pane.
    pub(crate) fn command(&self, argv: &[OsString]) -> Command {
        let mut command = Command::new(argv.first().map_or(OsStr::new("tmux"), |p| p.as_os_str()));
        command.args(argv.iter().skip(1));
        command.env_clear();
        command.envs(std::env::vars_os().filter(|(key, _)| is_kept(key)));
        command.current_dir("/");
        command
    }
}

/// What the server needs to find programs, the terminal database, its locale and this instance of
/// sm (the launcher in its panes asks the daemon). Nothing of the
/// shell the daemon happened to be started from, no secrets, and not TMUX, which would nest.
fn is_kept(key: &OsStr) -> bool {
    let Some(key) = key.to_str() else {
        return false;
    };
    const KEPT: [&str; 17] = [
        "HOME",
        "PATH",
        "LANG",
        "LANGUAGE",
        "TERM",
        "TERMINFO",
        "TERMINFO_DIRS",
        "USER",
        "LOGNAME",
        "SHELL",
        "TMUX_TMPDIR",
        "TZ",
        "SM_HOME",
        "SM_BIN",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
    ];
    KEPT.contains(&key) || key.starts_with("LC_")
}

/// What `tmux -V` says. Only 3.2 and newer have all that is needed here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// As printed, for people: `3.3a`, `next-3.6`.
    pub text: String,
    /// None for versions without a number (`master`, `openbsd-7.4`): taken as new.
    pub number: Option<(u32, u32)>,
}

impl Version {
    fn parse(output: &str) -> Option<Self> {
        let text = output.trim().strip_prefix("tmux ")?.trim().to_owned();
        let digits = text.strip_prefix("next-").unwrap_or(&text);
        let number = digits.split_once('.').and_then(|(major, minor)| {
            let end = minor
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(minor.len());
            Some((major.parse().ok()?, minor[..end].parse().ok()?))
        });
        Some(Self { text, number })
    }

    fn will_do(&self) -> bool {
        self.number.is_none_or(|number| number >= (3, 2))
    }

    /// Asks the program. Starts one process.
    pub(crate) async fn ask(config: &TmuxConfig) -> Result<Self, Error> {
        let mut command = config.command(&[config.program.clone().into_os_string(), "-V".into()]);
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(config.deadline, command.output())
            .await
            .map_err(|_| Error::Timeout(config.deadline))?
            .map_err(|error| spawn_error(config, &error))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = Self::parse(&said).ok_or_else(|| {
            let errors = String::from_utf8_lossy(&output.stderr);
            let text: String = said.chars().chain(errors.chars()).take(200).collect();
            Error::Start(format!("`tmux -V` said {text:?}"))
        })?;
        if version.will_do() {
            Ok(version)
        } else {
            Err(Error::TooOld {
                found: version.text,
                remedy: REMEDY,
            })
        }
    }
}

pub(crate) fn spawn_error(config: &TmuxConfig, error: &std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::NotFound {
        Error::Missing {
            program: config.program.display().to_string(),
            remedy: REMEDY,
        }
    } else {
        Error::Start(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (output, number, will_do) in [
            ("tmux 3.3a\n", Some((3, 3)), true),
            ("tmux 3.2", Some((3, 2)), true),
            ("tmux 3.1c", Some((3, 1)), false),
            ("tmux 2.9", Some((2, 9)), false),
            ("tmux 3.10", Some((3, 10)), true),
            ("tmux next-3.6", Some((3, 6)), true),
            ("tmux 4.0-rc2", Some((4, 0)), true),
            ("tmux master", None, true),
            ("tmux openbsd-7.4", None, true),
        ] {
            let version = Version::parse(output).unwrap();
            assert_eq!(
                (version.number, version.will_do()),
                (number, will_do),
                "{output}"
            );
        }
        assert_eq!(Version::parse("screen 4"), None);
    }

    #[test]
    fn the_server_gets_no_secrets() {
        for (key, kept) in [
            ("PATH", true),
            ("LC_ALL", true),
            ("TMUX", false),
            ("TMUX_PANE", false),
            ("ANTHROPIC_API_KEY", false),
            ("SM_SESSION_SECRET", false),
            ("SSH_AUTH_SOCK", false),
        ] {
            assert_eq!(is_kept(OsStr::new(key)), kept, "{key}");
        }
    }
}
