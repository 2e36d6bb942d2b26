//! Signals as something the relay can wait for.
//!
//! The handler notes which signal came and writes one byte to a pipe; everything else is done by
//! whoever reads it. What was ignored when we were started stays ignored, for us and for the agent.

use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use rustix::pipe::PipeFlags;

use crate::RunError;

/// What is passed on to the agent, or concerns the terminal.
const WANTED: [c_int; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGWINCH,
];

/// Where the handler writes; negative: nobody listens.
static WAKE: AtomicI32 = AtomicI32::new(-1);
/// A bit for each signal that has come and has not been taken.
static CAME: AtomicU64 = AtomicU64::new(0);

// Atomics, errno and write: all of it is allowed in a signal handler.
extern "C" fn note(signal: c_int) {
    CAME.fetch_or(1 << (signal & 63), Ordering::SeqCst);
    let wake = WAKE.load(Ordering::SeqCst);
    if wake >= 0 {
        // SAFETY: errno belongs to this thread, and the interrupted code must find its own again;
        // write gets one byte of a static. A full pipe wakes as well as one byte more would.
        unsafe {
            let errno = errno();
            let before = *errno;
            libc::write(wake, (&raw const BYTE).cast(), 1);
            *errno = before;
        }
    }
}

static BYTE: u8 = 0;

#[cfg(target_os = "linux")]
unsafe fn errno() -> *mut c_int {
    // SAFETY: it takes nothing and answers a pointer to this thread's errno.
    unsafe { libc::__errno_location() }
}

#[cfg(not(target_os = "linux"))]
unsafe fn errno() -> *mut c_int {
    // SAFETY: it takes nothing and answers a pointer to this thread's errno.
    unsafe { libc::__error() }
}

/// Listening to signals, until it is dropped.
#[derive(Debug)]
pub struct Signals {
    pipe: OwnedFd,
    _writer: OwnedFd,
    /// Those we have a handler for.
    caught: Vec<c_int>,
}

impl Signals {
    pub fn listen() -> Result<Self, RunError> {
        let (pipe, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
            .map_err(RunError::system("listen to signals"))?;
        CAME.store(0, Ordering::SeqCst);
        WAKE.store(writer.as_raw_fd(), Ordering::SeqCst);
        let caught = WANTED.into_iter().filter(|signal| catch(*signal)).collect();
        Ok(Self {
            pipe,
            _writer: writer,
            caught,
        })
    }

    /// Readable when a signal has come.
    pub fn wake(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Those whose handler an agent must not inherit.
    pub fn caught(&self) -> &[c_int] {
        &self.caught
    }

    /// Which have come since it was last asked.
    pub fn take(&self) -> impl Iterator<Item = c_int> + use<> {
        let mut bytes = [0; 64];
        while rustix::io::read(&self.pipe, &mut bytes).is_ok_and(|read| read == bytes.len()) {}
        let came = CAME.swap(0, Ordering::SeqCst);
        WANTED
            .into_iter()
            .filter(move |signal| came & (1 << (signal & 63)) != 0)
    }

    /// Stops us as a terminal's key would: our whole group, ourselves last. Returns when we go on,
    /// or at once where nobody could continue us (the system then refuses to stop us).
    pub fn stop_ourselves(&self) {
        set(libc::SIGTSTP, libc::SIG_IGN);
        // SAFETY: kill takes two integers; 0 is our own group.
        unsafe { libc::kill(0, libc::SIGTSTP) };
        set(libc::SIGTSTP, libc::SIG_DFL);
        // SAFETY: raise takes an integer. To this very thread: it must not go on before it stops.
        unsafe { libc::raise(libc::SIGTSTP) };
        if self.caught.contains(&libc::SIGTSTP) {
            set(libc::SIGTSTP, handler());
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for signal in &self.caught {
            set(*signal, libc::SIG_DFL);
        }
        WAKE.store(-1, Ordering::SeqCst);
    }
}

fn handler() -> libc::sighandler_t {
    let handler: extern "C" fn(c_int) = note;
    handler as libc::sighandler_t
}

/// Whether it is ours now: one that is ignored is left alone.
fn catch(signal: c_int) -> bool {
    // SAFETY: the old action is written to a zeroed struct that outlives the call; a null new action
    // changes nothing.
    let ignored = unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut old) == 0
            && old.sa_sigaction == libc::SIG_IGN
    };
    if !ignored {
        set(signal, handler());
    }
    !ignored
}

fn set(signal: c_int, handler: libc::sighandler_t) {
    // SAFETY: the action is zeroed and lives through the call; the handler is SIG_DFL, SIG_IGN or
    // `note`, which is async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}
