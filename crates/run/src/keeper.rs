//! The process between us and the agent.
//!
//! It leads the session on the agent's terminal, as a shell would, and is the agent's parent. So an
//! agent that stops itself is stopped and not ignored, what it printed last stays readable after its
//! end, its pid is its own until everybody is done with it, and it is ended if we are killed.
//!
//! This file is our side of it; `keeper/child.rs` is the other.

mod child;
mod image;

use std::ffi::c_int;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, WaitOptions};
use sm_client::process::{self, Process};

use crate::signals::Signals;
use crate::{Run, RunError, Terminal};
use child::{Orders, Plan};
use image::Image;

/// What has become of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Stopped,
    Continued,
    Exited(i32),
    Signalled(i32),
    /// The keeper itself is gone, and with it whatever it knew.
    Lost,
}

/// A message is its kind and a number.
const MESSAGE: usize = 8;

const STARTED: u8 = b'P';
const STOPPED: u8 = b'S';
const CONTINUED: u8 = b'C';
const EXITED: u8 = b'X';
const SIGNALLED: u8 = b'K';
/// To the keeper: a signal for the agent's group.
const SIGNAL: u8 = b'G';
/// To the keeper: nobody needs you any more.
const LEAVE: u8 = b'Q';

fn message(kind: u8, value: c_int) -> [u8; MESSAGE] {
    let [a, b, c, d] = value.to_ne_bytes();
    [kind, 0, 0, 0, a, b, c, d]
}

fn understood([kind, _, _, _, a, b, c, d]: [u8; MESSAGE]) -> (u8, c_int) {
    (kind, c_int::from_ne_bytes([a, b, c, d]))
}

/// A running agent.
#[derive(Debug)]
pub struct Keeper {
    pid: Pid,
    control: UnixStream,
    agent: Process,
    /// The beginning of a message.
    partial: Vec<u8>,
}

impl Keeper {
    /// Starts the agent on its terminal. Only when this returns is the agent the program it shall be.
    pub fn start(
        run: &Run,
        slave: &OwnedFd,
        terminal: &Terminal,
        signals: &Signals,
    ) -> Result<Self, RunError> {
        let failed = "start the agent";
        let image = Image::new(run)?;
        let (control, theirs) = UnixStream::pair().map_err(RunError::system(failed))?;
        let (mut status, tell_status) = io::pipe().map_err(RunError::system(failed))?;
        let (cooked, raw) = terminal.settings();
        let plan = Plan {
            image: &image,
            slave: slave.as_raw_fd(),
            own_stderr: !io::stderr().is_terminal(),
            control: theirs.as_raw_fd(),
            status: tell_status.as_raw_fd(),
            person: terminal.input().as_raw_fd(),
            cooked,
            raw,
            caught: signals.caught(),
            orders: Orders::default(),
        };
        let pid = child::fork(plan).map_err(RunError::system(failed))?;
        drop(theirs);
        drop(tell_status);
        let mut keeper = Self {
            pid,
            control,
            agent: Process { pid: 0, start: 0 },
            partial: Vec::new(),
        };
        // Closed by the agent's start; or it says why there is none.
        let mut errno = [0; size_of::<c_int>()];
        if status.read_exact(&mut errno).is_ok() {
            let error = io::Error::from_raw_os_error(c_int::from_ne_bytes(errno));
            return Err(RunError::Program {
                program: run.program.clone(),
                error,
            });
        }
        let mut first = [0; MESSAGE];
        keeper
            .control
            .read_exact(&mut first)
            .map_err(RunError::system(failed))?;
        let (kind, pid) = understood(first);
        debug_assert_eq!(kind, STARTED);
        keeper
            .control
            .set_nonblocking(true)
            .map_err(RunError::system(failed))?;
        let pid = u32::try_from(pid).unwrap_or(0);
        keeper.agent = Process {
            pid,
            // It is not reaped before we say so, so there is one.
            start: process::start_time(pid).unwrap_or(0),
        };
        Ok(keeper)
    }

    pub fn agent(&self) -> Process {
        self.agent
    }

    /// Readable when something has become of the agent.
    pub fn wake(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// What has become of it; `None`: nothing new.
    pub fn event(&mut self) -> Option<Event> {
        loop {
            let mut bytes = [0; MESSAGE];
            let room = bytes.get_mut(self.partial.len()..).unwrap_or_default();
            match (&self.control).read(room) {
                Ok(0) => return Some(Event::Lost),
                Ok(read) => self.partial.extend(room.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(_) => return Some(Event::Lost),
            }
            let Ok(whole) = <[u8; MESSAGE]>::try_from(self.partial.as_slice()) else {
                continue;
            };
            self.partial.clear();
            match understood(whole) {
                (STOPPED, _) => return Some(Event::Stopped),
                (CONTINUED, _) => return Some(Event::Continued),
                (EXITED, code) => return Some(Event::Exited(code)),
                (SIGNALLED, signal) => return Some(Event::Signalled(signal)),
                (_, _) => {}
            }
        }
    }

    /// To the agent's own process group, by its parent, and only while the agent is there.
    pub fn signal(&self, signal: c_int) {
        // A keeper that is gone is noticed by whoever waits for events.
        let _ = (&self.control).write_all(&message(SIGNAL, signal));
    }
}

impl Drop for Keeper {
    /// The terminal of the agent goes with its keeper. One whose agent still runs ends it first.
    fn drop(&mut self) {
        let _ = (&self.control).write_all(&message(LEAVE, 0));
        let _ = self.control.shutdown(std::net::Shutdown::Both);
        while let Err(rustix::io::Errno::INTR) =
            rustix::process::waitpid(Some(self.pid), WaitOptions::empty())
        {}
    }
}
