//! A terminal for the agent.
//!
//! Each agent gets one of its own: what an earlier one left behind cannot write onto its screen.

use std::fs::OpenOptions;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::{OptionalActions, Termios, Winsize};

use crate::RunError;

/// Our end, which never blocks, and the agent's.
#[derive(Debug)]
pub struct Pty {
    pub master: OwnedFd,
    pub slave: OwnedFd,
}

impl Pty {
    /// Set as the person's terminal is, so that the agent finds what it would have found there.
    pub fn open(settings: &Termios, size: Winsize) -> Result<Self, RunError> {
        let failed = "open a terminal for the agent";
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | close_on_exec();
        let master = rustix::pty::openpt(flags).map_err(RunError::system(failed))?;
        rustix::io::fcntl_setfd(&master, rustix::io::FdFlags::CLOEXEC)
            .map_err(RunError::system(failed))?;
        rustix::pty::grantpt(&master).map_err(RunError::system(failed))?;
        rustix::pty::unlockpt(&master).map_err(RunError::system(failed))?;
        let slave = slave_of(master.as_fd()).map_err(RunError::system(failed))?;
        rustix::termios::tcsetattr(&slave, OptionalActions::Now, settings)
            .map_err(RunError::system("set up the terminal of the agent"))?;
        // A size that cannot be set is one the agent has to do without.
        let _ = rustix::termios::tcsetwinsize(&master, size);
        let flags = rustix::fs::fcntl_getfl(&master).map_err(RunError::system(failed))?;
        rustix::fs::fcntl_setfl(&master, flags | OFlags::NONBLOCK)
            .map_err(RunError::system(failed))?;
        Ok(Self { master, slave })
    }
}

#[cfg(target_os = "linux")]
fn close_on_exec() -> OpenptFlags {
    OpenptFlags::CLOEXEC
}

#[cfg(not(target_os = "linux"))]
fn close_on_exec() -> OpenptFlags {
    OpenptFlags::empty()
}

fn slave_of(master: BorrowedFd<'_>) -> std::io::Result<OwnedFd> {
    // By descriptor where that is possible: no file system has to be there.
    #[cfg(target_os = "linux")]
    if let Ok(slave) = rustix::pty::ioctl_tiocgptpeer(
        master,
        OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC,
    ) {
        return Ok(slave);
    }
    let name = rustix::pty::ptsname(master, Vec::new())?;
    let no_control = i32::try_from(OFlags::NOCTTY.bits()).unwrap_or(0);
    let slave = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(no_control)
        .open(std::ffi::OsStr::from_bytes(name.as_bytes()))?;
    Ok(slave.into())
}
