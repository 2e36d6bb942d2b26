//! The launcher's system calls that std does not offer: signals, waiting without reaping, and
//! the terminal. Linux is the tested platform; the numbers of the BSDs and macOS are here too.
//!
//! Nothing in this file decides anything but where a signal goes.

use std::ffi::{c_int, c_uint, c_void};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

unsafe extern "C" {
    fn signal(signal: c_int, handler: usize) -> usize;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn waitid(kind: c_uint, id: c_uint, info: *mut c_void, options: c_int) -> c_int;
    fn getpgrp() -> c_int;
    fn tcsetpgrp(fd: c_int, group: c_int) -> c_int;
    fn tcgetattr(fd: c_int, settings: *mut c_void) -> c_int;
    fn ioctl(fd: c_int, request: std::ffi::c_ulong, ...) -> c_int;
    fn tcsetattr(fd: c_int, when: c_int, settings: *const c_void) -> c_int;
}

const SIG_DFL: usize = 0;
const SIG_IGN: usize = 1;

const SIGHUP: c_int = 1;
const SIGINT: c_int = 2;
const SIGQUIT: c_int = 3;
const SIGTERM: c_int = 15;
const SIGTTIN: c_int = 21;
const SIGTTOU: c_int = 22;
const SIGXFSZ: c_int = 25;
#[cfg(target_os = "linux")]
const SIGTSTP: c_int = 20;
#[cfg(not(target_os = "linux"))]
const SIGTSTP: c_int = 18;

const P_PID: c_uint = 1;
const WEXITED: c_int = 4;
#[cfg(target_os = "linux")]
const WNOWAIT: c_int = 0x0100_0000;
#[cfg(not(target_os = "linux"))]
const WNOWAIT: c_int = 0x20;

#[cfg(target_os = "linux")]
const TIOCGWINSZ: std::ffi::c_ulong = 0x5413;
#[cfg(not(target_os = "linux"))]
const TIOCGWINSZ: std::ffi::c_ulong = 0x4008_7468;
#[cfg(target_os = "linux")]
const O_NOCTTY_NONBLOCK: c_int = 0x100 | 0x800;
#[cfg(not(target_os = "linux"))]
const O_NOCTTY_NONBLOCK: c_int = 0x2_0000 | 0x4;

const STDIN: c_int = 0;
const TCSANOW: c_int = 0;

/// The agent that signals are passed on to; 0 when there is none.
static AGENT: AtomicI32 = AtomicI32::new(0);
/// Somebody told the launcher to end: the terminal hung up, the machine stops.
static TOLD: AtomicBool = AtomicBool::new(false);
/// A signal came that the launcher itself must follow.
static MUST_END: AtomicBool = AtomicBool::new(false);

// Only loads, stores and kill: all of it is allowed in a signal handler.
extern "C" fn pass_on(number: c_int) {
    let agent = AGENT.load(Ordering::SeqCst);
    TOLD.store(true, Ordering::SeqCst);
    if agent > 0 {
        // SAFETY: kill takes two integers. `AGENT` is cleared before the child is reaped, so the
        // pid is still that of our child.
        unsafe { kill(agent, number) };
    }
    // Without an agent it is meant for us; and a terminal that hung up does not come back.
    if agent <= 0 || number == SIGHUP {
        MUST_END.store(true, Ordering::SeqCst);
    }
}

fn set(number: c_int, handler: usize) {
    // SAFETY: the handler is SIG_DFL, SIG_IGN or `pass_on`, which is async-signal-safe.
    unsafe { signal(number, handler) };
}

/// Keys of the terminal are the agent's; TERM and HUP are passed on to it.
pub fn launcher_signals() {
    // TTOU: so that the terminal can be taken back from an agent that has ended.
    for number in [SIGINT, SIGQUIT, SIGTSTP, SIGTTOU] {
        set(number, SIG_IGN);
    }
    let handler: extern "C" fn(c_int) = pass_on;
    for number in [SIGTERM, SIGHUP] {
        set(number, handler as usize);
    }
}

/// A log outlives the terminal it logs, and a limit on file sizes.
pub fn log_signals() {
    for number in [SIGINT, SIGHUP, SIGXFSZ] {
        set(number, SIG_IGN);
    }
}

/// Gives the agent the signals of an ordinary program: what is ignored stays so through exec.
pub fn default_signals(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec and calls only signal, which is
    // async-signal-safe and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            for number in [SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGTERM, SIGHUP] {
                set(number, SIG_DFL);
            }
            Ok(())
        });
    }
}

/// From now on signals are passed on to this child.
pub fn agent_started(pid: u32) {
    AGENT.store(i32::try_from(pid).unwrap_or(0), Ordering::SeqCst);
    // One that came while the child was being made was meant for it.
    if MUST_END.load(Ordering::SeqCst) {
        let _ = sm_client::platform::signal_process(pid, SIGTERM);
    }
}

/// Whether the agent was told to end through the launcher, whatever it made of that.
pub fn told_to_end() -> bool {
    TOLD.load(Ordering::SeqCst)
}

/// Whether the launcher was told to end.
pub fn must_end() -> bool {
    MUST_END.load(Ordering::SeqCst)
}

/// Waits until the child has ended, leaves it unreaped, and passes no more signals on: its pid
/// stays its own until the caller reaps it.
pub fn wait_for_end(pid: u32) -> io::Result<()> {
    // Larger than any siginfo_t.
    let mut info = [0_u64; 32];
    let result = loop {
        // SAFETY: `info` is writable, aligned and larger than siginfo_t; it lives through the call.
        let done = unsafe { waitid(P_PID, pid, info.as_mut_ptr().cast(), WEXITED | WNOWAIT) };
        if done == 0 {
            break Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            break Err(error);
        }
    };
    AGENT.store(0, Ordering::SeqCst);
    result
}

/// How the terminal was set when the launcher began.
pub struct Terminal {
    // Larger than any termios.
    settings: [u64; 32],
}

impl Terminal {
    /// `None` without a terminal.
    pub fn remember() -> Option<Self> {
        let mut settings = [0; 32];
        // SAFETY: `settings` is writable, aligned and larger than termios.
        let done = unsafe { tcgetattr(STDIN, settings.as_mut_ptr().cast()) };
        (done == 0).then_some(Self { settings })
    }

    /// An agent that was killed may leave the terminal raw, or belonging to a group that is gone.
    pub fn restore(&self) {
        // SAFETY: getpgrp and tcsetpgrp take integers; `settings` was filled by tcgetattr.
        unsafe {
            tcsetpgrp(STDIN, getpgrp());
            tcsetattr(STDIN, TCSANOW, self.settings.as_ptr().cast());
        }
    }
}

/// Columns and rows of the terminal behind a device; `None` if it is none, or gone.
pub fn terminal_size(tty: &std::path::Path) -> Option<(u16, u16)> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    let device = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(O_NOCTTY_NONBLOCK)
        .open(tty)
        .ok()?;
    // rows, columns, and two that nobody fills in
    let mut size = [0_u16; 4];
    // SAFETY: the call writes a `winsize`, four 16-bit numbers, into the array that outlives it.
    let answer = unsafe { ioctl(device.as_raw_fd(), TIOCGWINSZ, size.as_mut_ptr()) };
    let [rows, cols, ..] = size;
    (answer == 0 && rows > 0 && cols > 0).then_some((cols, rows))
}
