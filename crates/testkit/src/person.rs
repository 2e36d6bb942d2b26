//! A person at a terminal: a PTY of its own, a program in it, and hands and eyes on the other side.
//!
//! What is shown is read all the time, whatever else is waited for, as a terminal would; nothing is
//! interpreted.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

/// How long one look at the screen takes at most.
const LOOK: Duration = Duration::from_millis(20);

/// A program in a terminal, and who sits in front of it.
pub struct Person {
    master: Option<File>,
    /// Kept open, so that the terminal can be looked at after the program has ended.
    slave: OwnedFd,
    at_first: Termios,
    child: Child,
    seen: Vec<u8>,
    buffer: Vec<u8>,
    /// Only count what is shown.
    forgetful: bool,
    count: usize,
}

impl Person {
    /// Starts the program as the leader of a session on a new terminal.
    pub fn start(command: &mut Command, cols: u16, rows: u16) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let master = rustix::pty::openpt(flags)?;
        rustix::io::fcntl_setfd(&master, rustix::io::FdFlags::CLOEXEC)?;
        rustix::pty::grantpt(&master)?;
        rustix::pty::unlockpt(&master)?;
        let name = rustix::pty::ptsname(&master, Vec::new())?;
        let slave = rustix::fs::open(
            name,
            OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )?;
        tcsetwinsize(&master, size(cols, rows))?;
        let at_first = tcgetattr(&slave)?;
        let flags = rustix::fs::fcntl_getfl(&master)?;
        rustix::fs::fcntl_setfl(&master, flags | OFlags::NONBLOCK)?;
        command
            .stdin(slave.try_clone()?)
            .stdout(slave.try_clone()?)
            .stderr(slave.try_clone()?);
        let terminal = slave.as_raw_fd();
        // SAFETY: two system calls between fork and exec, nothing is allocated; the descriptor is
        // open until the program is started.
        unsafe {
            command.pre_exec(move || {
                rustix::process::setsid()?;
                let terminal = std::os::fd::BorrowedFd::borrow_raw(terminal);
                rustix::process::ioctl_tiocsctty(terminal)?;
                Ok(())
            });
        }
        let child = command.spawn()?;
        // The command holds copies of the terminal.
        command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        Ok(Self {
            master: Some(File::from(master)),
            slave,
            at_first,
            child,
            seen: Vec::new(),
            buffer: vec![0; 64 * 1024],
            forgetful: false,
            count: 0,
        })
    }

    /// The program's id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// From now on what is shown is counted and forgotten.
    pub fn only_count(&mut self) {
        self.forgetful = true;
    }

    /// Everything that was shown.
    pub fn seen(&self) -> &[u8] {
        &self.seen
    }

    /// The same as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// How many bytes were shown.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How the terminal was set before the program ran.
    pub fn settings_at_first(&self) -> &Termios {
        &self.at_first
    }

    /// How the terminal is set.
    pub fn settings(&self) -> io::Result<Termios> {
        Ok(tcgetattr(&self.slave)?)
    }

    /// Makes the window another size.
    pub fn resize(&self, cols: u16, rows: u16) -> io::Result<()> {
        if let Some(master) = &self.master {
            tcsetwinsize(master, size(cols, rows))?;
        }
        Ok(())
    }

    /// Types, or pastes; whether all of it was taken in time.
    pub fn types(&mut self, bytes: &[u8], within: Duration) -> bool {
        self.types_some(bytes, within) == bytes.len()
    }

    /// Types as much as is taken in that time; how much that was.
    pub fn types_some(&mut self, bytes: &[u8], within: Duration) -> usize {
        let until = Instant::now() + within;
        let mut rest = bytes;
        while !rest.is_empty() && Instant::now() < until {
            let Some(master) = &mut self.master else {
                break;
            };
            match master.write(rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.look(true),
                Err(_) => break,
            }
        }
        bytes.len() - rest.len()
    }

    /// Looks until the text is to be seen behind the first `from` bytes.
    pub fn sees_after(&mut self, from: usize, text: &[u8], within: Duration) -> bool {
        self.until(within, |person| {
            let seen = person.seen.get(from..).unwrap_or_default();
            seen.windows(text.len()).any(|window| window == text)
        })
    }

    /// Looks until the text is to be seen.
    pub fn sees(&mut self, text: &str, within: Duration) -> bool {
        self.sees_after(0, text.as_bytes(), within)
    }

    /// Looks until something is so.
    pub fn until(&mut self, within: Duration, mut so: impl FnMut(&mut Self) -> bool) -> bool {
        let until = Instant::now() + within;
        loop {
            if so(self) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            self.look(false);
        }
    }

    /// Looks until the program has ended, and at what it showed last.
    pub fn waits(&mut self, within: Duration) -> Option<ExitStatus> {
        let mut ended = None;
        self.until(within, |person| {
            ended = person.child.try_wait().ok().flatten();
            ended.is_some()
        });
        // What it has shown by now is in the terminal.
        while self.read() > 0 {}
        ended
    }

    /// Closes the window.
    pub fn closes(&mut self) {
        self.master = None;
    }

    /// One look at the screen, also for whether it takes something, if that is wanted.
    fn look(&mut self, for_room: bool) {
        let Some(master) = &self.master else {
            std::thread::sleep(LOOK);
            return;
        };
        let mut flags = PollFlags::IN;
        flags.set(PollFlags::OUT, for_room);
        let time = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(LOOK.subsec_nanos()),
        };
        let mut fds = [PollFd::from_borrowed_fd(master.as_fd(), flags)];
        if poll(&mut fds, Some(&time)).is_ok() {
            self.read();
        }
    }

    /// How many bytes are in one look.
    pub fn read(&mut self) -> usize {
        let Some(master) = &mut self.master else {
            return 0;
        };
        let read = master.read(&mut self.buffer).unwrap_or(0);
        self.count += read;
        if !self.forgetful {
            self.seen
                .extend(self.buffer.get(..read).unwrap_or_default());
        }
        read
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        self.closes();
        if matches!(self.child.try_wait(), Ok(None)) {
            // Its own child, not yet waited for.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

fn size(cols: u16, rows: u16) -> Winsize {
    Winsize {
        ws_col: cols,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
