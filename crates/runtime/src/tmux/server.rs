//! Whether a server is there, whether one could be, and who else talks to it.
//!
//! Must never take a server that is slow or hard to reach for one that is gone: whoever believes
//! that calls every session lost.

use super::config::{Socket, TmuxConfig, spawn_error};
use crate::error::Error;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The option of the server that says which process speaks to it.
pub(crate) const OWNER: &str = "@sm_owner";
/// How long a server that turns clients away may take to end.
const LAST_BREATH: Duration = Duration::from_millis(500);
/// How long clients before us may take to leave; one that stays longer has its reasons.
const PREDECESSORS: Duration = Duration::from_secs(2);

/// Whether a server could have its socket there. One that cannot does not say why but dies of it
/// (3.3a, with a control client), so it is not started.
pub(crate) fn place_for(socket: &Path) -> Result<(), Error> {
    let refuse = |why: &str| {
        let socket = socket.display();
        Err(Error::Start(format!("no server at {socket}: {why}")))
    };
    if !socket.parent().is_some_and(Path::is_dir) {
        return refuse("its directory does not exist");
    }
    if std::os::unix::net::SocketAddr::from_pathname(socket).is_err() {
        return refuse("the path is too long for a socket");
    }
    Ok(())
}

/// What a socket tells about its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// Nobody listens: no server, whatever else may be slow or broken.
    Nobody,
    /// Somebody does, or it cannot be known.
    Perhaps,
}

/// Asks the socket itself, as only this is evidence: that a client process ended, or did not come
/// to an answer, may have any reason.
async fn listener(socket: &Path) -> Heard {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    match tokio::net::UnixStream::connect(socket).await {
        Err(error) if matches!(error.kind(), ConnectionRefused | NotFound) => Heard::Nobody,
        Ok(_) | Err(_) => Heard::Perhaps,
    }
}

/// Fails if there is certainly no server. Needs no process to find out.
pub(crate) async fn look_for_server(config: &TmuxConfig) -> Result<(), Error> {
    match &config.socket {
        Socket::Path(path) => match listener(path).await {
            Heard::Nobody => Err(Error::ServerGone),
            Heard::Perhaps => Ok(()),
        },
        Socket::Name(_) => Ok(()),
    }
}

/// Whether there is certainly no server any more. One that is about to end still listens.
pub(crate) async fn gone(socket: &Socket, complaint: &str) -> bool {
    let path = match socket {
        Socket::Path(path) => path,
        // tmux knows where it is, and says what it found there.
        Socket::Name(_) => {
            return complaint.starts_with("no server running on")
                || complaint.ends_with("(No such file or directory)")
                || complaint.ends_with("(Connection refused)");
        }
    };
    let ending = async {
        while listener(path).await != Heard::Nobody {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LAST_BREATH, ending).await.is_ok()
}

/// Waits until the clients before this one have left, and ends those that were left behind.
///
/// A server (3.3a, and others) dies if it has something to tell to control clients, as that one of
/// them has left, while another introduces itself; so the last one, which may be slow to leave, and
/// the next one must not meet. And one whose daemon was killed may never leave by itself: the
/// server wants to tell it something first, keeps all it will ever have to tell, and cannot end.
///
/// Asked with a command of no control client, which can do no harm and shows that the server
/// answers at all.
pub(crate) async fn predecessors(config: &TmuxConfig) -> Result<(), Error> {
    if look_for_server(config).await.is_err() {
        return Ok(());
    }
    let mut argv = config.base_argv();
    argv.extend(["-N", "list-clients", "-t", "=_sm", "-F"].map(OsString::from));
    argv.push(format!("#{{client_control_mode}} #{{client_pid}} #{{{OWNER}}}").into());
    let until = Instant::now() + PREDECESSORS;
    loop {
        let mut command = config.command(&argv);
        command.stdin(Stdio::null()).kill_on_drop(true);
        let answer = tokio::time::timeout(config.deadline, command.output())
            .await
            .map_err(|_| Error::Timeout(config.deadline))?
            .map_err(|error| spawn_error(config, &error))?;
        let said = String::from_utf8_lossy(&answer.stdout);
        let others = controlling(&said);
        if others.is_empty() || Instant::now() >= until {
            return Ok(());
        }
        for (client, owner) in others {
            if owner.is_none_or(|owner| test_kill_process(owner).is_err()) {
                tracing::debug!(%client, "ending a tmux client that was left behind");
                // It may have ended meanwhile.
                let _ = kill_process(client, Signal::KILL);
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The control clients of a listing, and the daemon that they are or were of.
fn controlling(listing: &str) -> Vec<(Pid, Option<Pid>)> {
    let pid = |word: &str| Pid::from_raw(word.parse().ok().filter(|pid| *pid > 1)?);
    listing
        .lines()
        .filter_map(|line| line.strip_prefix("1 "))
        .filter_map(|line| {
            let (client, owner) = line.split_once(' ')?;
            Some((pid(client)?, pid(owner)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_control_clients_are_ours() {
        let pid = |raw| Pid::from_raw(raw).unwrap();
        let listing = "0 77 5\n1 78 5\n1 79 \n1 1 5\n1 -4 5\n1 x 5\nrubbish\n1 80\n";
        assert_eq!(
            controlling(listing),
            [(pid(78), Some(pid(5))), (pid(79), None)]
        );
    }
}
