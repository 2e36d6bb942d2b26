//! The one place where the relay sleeps.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};

/// Why it wakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Signals,
    Keeper,
    Brain,
    Person,
    PersonHasRoom,
    Agent,
    AgentHasRoom,
}

/// What has become ready. Something that is closed, or broken, is: using it says so.
#[derive(Debug, Default)]
pub struct Ready(u8);

impl Ready {
    pub fn has(&self, source: Source) -> bool {
        self.0 & (1 << source as u8) != 0
    }

    pub fn add(&mut self, source: Source) {
        self.0 |= 1 << source as u8;
    }
}

/// Everything that is waited for.
pub struct Wait<'a> {
    fds: Vec<PollFd<'a>>,
    sources: Vec<Source>,
    until: Option<Instant>,
}

impl<'a> Wait<'a> {
    /// `None`: for ever.
    pub fn until(until: Option<Instant>) -> Self {
        Self {
            fds: Vec::with_capacity(8),
            sources: Vec::with_capacity(8),
            until,
        }
    }

    pub fn readable(&mut self, source: Source, fd: BorrowedFd<'a>) {
        self.add(source, fd, PollFlags::IN);
    }

    pub fn writable(&mut self, source: Source, fd: BorrowedFd<'a>) {
        self.add(source, fd, PollFlags::OUT);
    }

    fn add(&mut self, source: Source, fd: BorrowedFd<'a>, flags: PollFlags) {
        self.fds.push(PollFd::from_borrowed_fd(fd, flags));
        self.sources.push(source);
    }

    pub fn wait(mut self) -> Ready {
        let left = self.until.map(|until| {
            let left = until.saturating_duration_since(Instant::now());
            Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        // Interrupted, or out of memory: nothing is ready, and it is asked again.
        let mut ready = Ready::default();
        if rustix::event::poll(&mut self.fds, left.as_ref()).is_ok() {
            for (fd, source) in self.fds.iter().zip(&self.sources) {
                if !fd.revents().is_empty() {
                    ready.add(*source);
                }
            }
        }
        ready
    }
}
