//! The few system calls std does not offer. Linux is the tested platform; what another system
//! lacks has a fallback here, so that no other file needs to know.
//!
//! Nothing in this file decides anything: each function is one call with its result.

use std::ffi::{c_int, c_uint};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn getuid() -> u32;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn setsid() -> c_int;
    fn fork() -> c_int;
    fn write(fd: c_int, bytes: *const std::ffi::c_void, count: usize) -> isize;
    fn _exit(code: c_int) -> !;
    #[cfg(target_os = "linux")]
    fn syscall(number: std::ffi::c_long, ...) -> std::ffi::c_long;
    fn poll(fds: *mut PollFd, count: PollCount, timeout_ms: c_int) -> c_int;
}

#[cfg(target_os = "linux")]
type PollCount = std::ffi::c_ulong;
#[cfg(not(target_os = "linux"))]
type PollCount = c_uint;

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: i16,
    revents: i16,
}

const POLLIN: i16 = 1;
const EPERM: i32 = 1;

/// The user this process runs as.
pub fn uid() -> u32 {
    // SAFETY: getuid takes nothing, touches no memory and cannot fail.
    unsafe { getuid() }
}

/// Sends a signal to one process (`pid` > 0). The caller has made sure whose it is.
pub fn signal_process(pid: u32, signal: i32) -> io::Result<()> {
    match i32::try_from(pid) {
        Ok(pid) if pid > 0 => send_signal(pid, signal),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Sends a signal to a process group that a child of ours leads.
pub fn signal_group(leader: u32, signal: i32) -> io::Result<()> {
    match i32::try_from(leader) {
        // Group 1 would read as "everyone".
        Ok(pid) if pid > 1 => send_signal(-pid, signal),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn send_signal(target: c_int, signal: c_int) -> io::Result<()> {
    // SAFETY: kill takes two integers and touches no memory of ours.
    if unsafe { kill(target, signal) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether a process of that id exists (a zombie does).
pub fn process_exists(pid: u32) -> bool {
    match signal_process(pid, 0) {
        Ok(()) => true,
        // It exists and belongs to someone else.
        Err(error) => error.raw_os_error() == Some(EPERM),
    }
}

/// Starts a program that is nobody's child: in a session of its own, without a terminal, and
/// with no descriptors but the three the command names. Answers its pid.
///
/// Not a child: whoever starts it may live long and would have to reap it, and must not be taken
/// for its ancestor.
pub fn spawn_detached(command: &mut Command) -> io::Result<u32> {
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    let (mut told, tell) = io::pipe()?;
    let tell_fd = tell.as_raw_fd();
    // SAFETY: the closure runs between fork and exec, in a process with one thread. It calls only
    // system calls that are async-signal-safe and allocates nothing. `tell` lives until spawn has
    // returned, so its descriptor is open in the child.
    unsafe {
        command.pre_exec(move || {
            // Fails only for a group leader, which a fresh child is not.
            setsid();
            close_others_on_exec();
            match fork() {
                -1 => Err(io::Error::last_os_error()),
                0 => Ok(()),
                pid => {
                    let bytes = pid.to_ne_bytes();
                    write(tell_fd, bytes.as_ptr().cast(), bytes.len());
                    _exit(0)
                }
            }
        });
    }
    let mut between = command.spawn()?;
    drop(tell);
    between.wait()?;
    let mut pid = [0; 4];
    told.read_exact(&mut pid)?;
    u32::try_from(c_int::from_ne_bytes(pid)).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Pipes of an agent must not stay open in a process that outlives it.
fn close_others_on_exec() {
    #[cfg(target_os = "linux")]
    {
        const SYS_CLOSE_RANGE: std::ffi::c_long = 436;
        const CLOSE_RANGE_CLOEXEC: c_uint = 4;
        // SAFETY: close_range takes three integers and, with this flag, closes nothing yet. An
        // older kernel answers ENOSYS, and all is as it was.
        unsafe {
            syscall(
                SYS_CLOSE_RANGE,
                3 as c_uint,
                c_uint::MAX,
                CLOSE_RANGE_CLOEXEC,
            )
        };
    }
}

/// Waits until one of the descriptors can be read (or has ended), at most until the deadline;
/// `None` waits for ever. Answers which are ready; none when the time was over.
pub fn readable<const N: usize>(
    fds: [Option<BorrowedFd<'_>>; N],
    deadline: Option<Instant>,
) -> io::Result<[bool; N]> {
    let mut polled = fds.map(|fd| PollFd {
        fd: fd.map_or(-1, |fd| fd.as_raw_fd()),
        events: POLLIN,
        revents: 0,
    });
    loop {
        let timeout = match deadline {
            None => -1,
            Some(at) => round_up_ms(at.saturating_duration_since(Instant::now())),
        };
        // SAFETY: `polled` is an array of N properly laid out entries that lives through the call;
        // the descriptors are borrowed, so they are open. A negative fd is skipped by the kernel.
        let ready = unsafe { poll(polled.as_mut_ptr(), N as PollCount, timeout) };
        if ready >= 0 {
            return Ok(polled.map(|entry| entry.revents != 0));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

// Rounded up: a wait of 0.4 ms must not become a busy loop of 0 ms.
fn round_up_ms(left: Duration) -> c_int {
    c_int::try_from(left.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX)
}

/// Connects to a Unix socket within the time left.
///
/// On Linux a connect to a listener whose queue is full (a stopped daemon) blocks, so the
/// socket gets its timeout before it connects, which std cannot do.
pub fn connect(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    timed::connect(path, timeout)
}

#[cfg(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "arm",
        target_arch = "x86"
    )
))]
mod timed {
    use super::{AsRawFd, Duration, Path, UnixStream, c_int, io};
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::os::unix::ffi::OsStrExt;

    unsafe extern "C" {
        fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
        #[link_name = "connect"]
        fn connect_fd(fd: c_int, address: *const SockaddrUn, length: u32) -> c_int;
    }

    #[repr(C)]
    struct SockaddrUn {
        family: u16,
        path: [u8; 108],
    }

    const AF_UNIX: c_int = 1;
    const SOCK_STREAM: c_int = 1;
    const SOCK_CLOEXEC: c_int = 0o2_000_000;

    pub fn connect(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
        let bytes = path.as_os_str().as_bytes();
        let mut address = SockaddrUn {
            family: AF_UNIX as u16,
            path: [0; 108],
        };
        // The last byte stays 0; an empty or NUL-containing path would name something else.
        if bytes.is_empty() || bytes.len() >= address.path.len() || bytes.contains(&0) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        address.path[..bytes.len()].copy_from_slice(bytes);
        // SAFETY: socket takes three integers and returns a new descriptor or -1.
        let fd = unsafe { socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just made by us and nobody else owns it.
        let stream = UnixStream::from(unsafe { OwnedFd::from_raw_fd(fd) });
        // Counts for connect as well as for writes.
        stream.set_write_timeout(Some(timeout))?;
        // SAFETY: the descriptor is open; `address` is a zero-terminated sockaddr_un that lives
        // through the call, and the length is its size.
        let done = unsafe {
            connect_fd(
                stream.as_raw_fd(),
                &raw const address,
                size_of::<SockaddrUn>() as u32,
            )
        };
        if done == 0 {
            Ok(stream)
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "arm",
        target_arch = "x86"
    )
)))]
mod timed {
    use super::{Duration, Path, UnixStream, io};

    /// BSD kernels refuse a connect to a full queue at once: nothing can block here.
    pub fn connect(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
        let stream = UnixStream::connect(path)?;
        stream.set_write_timeout(Some(timeout))?;
        Ok(stream)
    }
}
