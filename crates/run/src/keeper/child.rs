//! What runs in the keeper's own process, and in the agent's until it is the agent.
//!
//! Both begin as copies of a program that may have other threads, so from the fork on nothing is
//! allocated, no lock is taken and nothing can panic: system calls and plain numbers only.

use std::ffi::c_int;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustix::termios::{OptionalActions, Termios};

use super::image::Image;
use super::{
    CONTINUED, EXITED, LEAVE, MESSAGE, SIGNAL, SIGNALLED, STARTED, STOPPED, message, understood,
};

/// Without us the agent is asked to end, then told, then made to: after so long each.
const ASKED: Duration = Duration::from_secs(2);
const TOLD: Duration = Duration::from_secs(5);

const SLAVE: RawFd = 0;
const CONTROL: RawFd = 1;
const PERSON: RawFd = 2;
const NOT_STARTED: c_int = 127;

/// Everything the two processes need; descriptors are those of the process they come from.
pub struct Plan<'a> {
    pub image: &'a Image,
    pub slave: RawFd,
    /// Errors go where ours go, which is no terminal.
    pub own_stderr: bool,
    pub control: RawFd,
    /// Closed by the agent's start, or told why there is none.
    pub status: RawFd,
    pub person: RawFd,
    pub cooked: &'a Termios,
    pub raw: &'a Termios,
    pub caught: &'a [c_int],
    pub orders: Orders,
}

/// What the keeper has read of its orders.
#[derive(Default)]
pub struct Orders {
    bytes: [u8; MESSAGE],
    read: usize,
}

/// Starts the keeper, which starts the agent.
pub fn fork(plan: Plan<'_>) -> io::Result<Pid> {
    // No handler of ours may run in the new processes.
    let mask = block_all();
    // SAFETY: the child runs `be_the_keeper` and nothing else, which keeps to what is allowed
    // between fork and exec and never returns.
    let forked = unsafe { libc::fork() };
    if forked == 0 {
        be_the_keeper(plan, &mask);
    }
    let error = io::Error::last_os_error();
    set_mask(&mask);
    Pid::from_raw(forked).filter(|_| forked > 0).ok_or(error)
}

fn block_all() -> libc::sigset_t {
    // SAFETY: both sets are zeroed memory that outlives the calls, which only write to them.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    }
}

fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: the set is initialised and only read.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

fn set_signal(signal: c_int, handler: libc::sighandler_t) {
    // SAFETY: signal takes an integer and SIG_DFL, SIG_IGN or `nothing`.
    unsafe { libc::signal(signal, handler) };
}

extern "C" fn nothing(_: c_int) {}

fn leave(code: c_int) -> ! {
    // SAFETY: ends this process without running anything of the copied program.
    unsafe { libc::_exit(code) }
}

fn be_the_keeper(plan: Plan<'_>, mask: &libc::sigset_t) -> ! {
    // SAFETY: integers only; the slave is open. A fresh child leads no group, so setsid works.
    let agent = unsafe {
        libc::setsid();
        libc::ioctl(plan.slave, libc::TIOCSCTTY as _, 0);
        libc::fork()
    };
    match agent {
        0 => be_the_agent(&plan, mask),
        -1 => {
            tell_errno(plan.status);
            leave(NOT_STARTED)
        }
        agent => keep(plan, agent),
    }
}

fn tell_errno(status: RawFd) {
    let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
    let bytes = errno.to_ne_bytes();
    // SAFETY: the bytes live through the call, and there are so many.
    unsafe { libc::write(status, bytes.as_ptr().cast(), bytes.len()) };
}

fn be_the_agent(plan: &Plan<'_>, mask: &libc::sigset_t) -> ! {
    // SAFETY: integers only, and a path that ends with a zero byte and outlives the call.
    let ready = unsafe {
        libc::setpgid(0, 0);
        // All signals are blocked, so taking the foreground does not stop us.
        libc::tcsetpgrp(plan.slave, libc::getpid());
        // The keeper's end is the agent's, whatever the keeper died of.
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        libc::dup2(plan.slave, 0);
        libc::dup2(plan.slave, 1);
        if !plan.own_stderr {
            libc::dup2(plan.slave, 2);
        }
        match &plan.image.cwd {
            Some(cwd) => libc::chdir(cwd.as_ptr()) == 0,
            None => true,
        }
    };
    if ready {
        for signal in plan.caught {
            set_signal(*signal, libc::SIG_DFL);
        }
        // Ignored by the runtime of our language, which is nothing an agent should notice.
        set_signal(libc::SIGPIPE, libc::SIG_DFL);
        set_mask(mask);
        exec(plan.image);
    }
    tell_errno(plan.status);
    leave(NOT_STARTED)
}

/// Returns if no candidate can be run, with the reason in errno.
fn exec(image: &Image) {
    let mut denied = false;
    let last = || io::Error::last_os_error().raw_os_error();
    if image.candidates.is_empty() {
        set_errno(libc::ENOENT);
    }
    for (place, by_shell) in &image.candidates {
        // SAFETY: all of them are lists of C strings that end with a null pointer and outlive us.
        unsafe { libc::execve(place.as_ptr(), image.args.as_ptr(), image.env.as_ptr()) };
        match last() {
            Some(libc::ENOENT | libc::ENOTDIR) => {}
            Some(libc::EACCES) => denied = true,
            Some(libc::ENOEXEC) => {
                // SAFETY: as above.
                unsafe { libc::execve(Image::shell(), by_shell.as_ptr(), image.env.as_ptr()) };
                return;
            }
            Some(_) | None => return,
        }
    }
    if denied {
        set_errno(libc::EACCES);
    }
}

fn set_errno(value: c_int) {
    // SAFETY: the pointer is to this thread's errno.
    unsafe {
        #[cfg(target_os = "linux")]
        let errno = libc::__errno_location();
        #[cfg(not(target_os = "linux"))]
        let errno = libc::__error();
        *errno = value;
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Agent {
    Runs,
    /// Not reaped: its pid is still its own.
    Ended,
}

/// Whether somebody is there who watches over the agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Master {
    There,
    GoneSince(Instant, c_int),
    /// Said that nobody needs us any more.
    Done,
}

fn keep(mut plan: Plan<'_>, agent: c_int) -> ! {
    settle(&plan);
    tell(STARTED, agent);
    let mut state = Agent::Runs;
    let mut master = Master::There;
    loop {
        if state == Agent::Runs {
            state = look(agent);
        }
        let over = match master {
            Master::There => false,
            Master::GoneSince(..) | Master::Done => state == Agent::Ended,
        };
        if over {
            part(agent);
        }
        master = match master {
            Master::There => match wait_for_orders(None).then(|| plan.orders.next()) {
                None | Some(Order::None) => Master::There,
                Some(Order::Signal(signal)) => {
                    if state == Agent::Runs {
                        signal_agent(agent, signal);
                    }
                    Master::There
                }
                Some(Order::Leave) if state == Agent::Ended => Master::Done,
                // Whoever leaves a running agent behind means it no better than one who was killed.
                Some(Order::Leave) | Some(Order::NoMore) => {
                    give_terminal_back(&plan);
                    ask_to_end(agent, state, libc::SIGHUP);
                    Master::GoneSince(Instant::now(), libc::SIGHUP)
                }
            },
            Master::Done => Master::Done,
            // Nothing more can be done; its end wakes us.
            Master::GoneSince(_, libc::SIGKILL) => {
                wait_for_orders(Some(TOLD));
                master
            }
            Master::GoneSince(since, last) => {
                let (next, at) = match last {
                    libc::SIGHUP => (libc::SIGTERM, ASKED),
                    _ => (libc::SIGKILL, TOLD),
                };
                let passed = since.elapsed();
                if passed >= at {
                    ask_to_end(agent, state, next);
                    Master::GoneSince(since, next)
                } else {
                    wait_for_orders(Some(at.saturating_sub(passed)));
                    master
                }
            }
        };
    }
}

/// Keeps three descriptors and no signal but that of a child.
fn settle(plan: &Plan<'_>) {
    for signal in plan.caught {
        set_signal(*signal, libc::SIG_IGN);
    }
    for signal in [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGPIPE,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
    ] {
        set_signal(signal, libc::SIG_IGN);
    }
    let handler: extern "C" fn(c_int) = nothing;
    set_signal(libc::SIGCHLD, handler as libc::sighandler_t);
    // SAFETY: integers only, and a set that is zeroed memory. All descriptors are open; copies above
    // 9 keep them from being overwritten while they are put in their places.
    unsafe {
        let slave = libc::fcntl(plan.slave, libc::F_DUPFD, 10);
        let control = libc::fcntl(plan.control, libc::F_DUPFD, 10);
        let person = libc::fcntl(plan.person, libc::F_DUPFD, 10);
        libc::dup2(slave, SLAVE);
        libc::dup2(control, CONTROL);
        libc::dup2(person, PERSON);
        close_from(3);
        // A folder must not be kept from being unmounted.
        libc::chdir(c"/".as_ptr());
        let mut only_children: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut only_children);
        libc::sigaddset(&raw mut only_children, libc::SIGCHLD);
        set_mask(&only_children);
    }
}

fn close_from(first: c_int) {
    // SAFETY: nobody in this process uses a descriptor from there on.
    unsafe {
        #[cfg(target_os = "linux")]
        if libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) == 0 {
            return;
        }
        let last = libc::sysconf(libc::_SC_OPEN_MAX).clamp(256, 65_536);
        for fd in first..c_int::try_from(last).unwrap_or(256) {
            libc::close(fd);
        }
    }
}

fn tell(kind: u8, value: c_int) {
    let bytes = message(kind, value);
    // SAFETY: the bytes live through the call, and there are so many. Nobody there is noticed by
    // reading.
    unsafe { libc::write(CONTROL, bytes.as_ptr().cast(), bytes.len()) };
}

/// Tells what has become of the agent. Its end is seen and not taken away.
fn look(agent: c_int) -> Agent {
    let id = libc::id_t::try_from(agent).unwrap_or(0);
    let asked = |options: c_int| {
        // SAFETY: the answer is written to zeroed memory that outlives the call, and is valid
        // whether or not something is written.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let done = libc::waitid(libc::P_PID, id, &raw mut info, options | libc::WNOHANG);
            (done == 0 && info.si_signo == libc::SIGCHLD).then(|| (info.si_code, info.si_status()))
        }
    };
    if let Some((code, status)) = asked(libc::WEXITED | libc::WNOWAIT) {
        let kind = if code == libc::CLD_EXITED {
            EXITED
        } else {
            SIGNALLED
        };
        tell(kind, status);
        return Agent::Ended;
    }
    match asked(libc::WSTOPPED | libc::WCONTINUED) {
        Some((libc::CLD_STOPPED, signal)) => tell(STOPPED, signal),
        Some((libc::CLD_CONTINUED, _)) => tell(CONTINUED, 0),
        Some(_) | None => {}
    }
    Agent::Runs
}

/// Waits for orders or for a change of the agent; whether there may be orders.
fn wait_for_orders(at_most: Option<Duration>) -> bool {
    // SAFETY: sets and times are initialised and outlive the call; the descriptor is small enough
    // for a set. With the empty mask a child's signal is taken only here, so none is missed.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        let mut readable: libc::fd_set = std::mem::zeroed();
        let listens = at_most.is_none();
        if listens {
            libc::FD_SET(CONTROL, &raw mut readable);
        }
        let mut time: libc::timespec = std::mem::zeroed();
        let timeout = match at_most {
            None => std::ptr::null(),
            Some(at_most) => {
                time.tv_sec = at_most.as_secs() as _;
                time.tv_nsec = at_most.subsec_nanos() as _;
                &raw const time
            }
        };
        let ready = libc::pselect(
            CONTROL + 1,
            &raw mut readable,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            timeout,
            &raw const none,
        );
        listens && ready > 0
    }
}

enum Order {
    None,
    Signal(c_int),
    Leave,
    /// Nobody gives any.
    NoMore,
}

impl Orders {
    fn next(&mut self) -> Order {
        let Some(room) = self.bytes.get_mut(self.read..) else {
            return Order::NoMore;
        };
        // SAFETY: the room is writable and so long.
        let read = unsafe { libc::read(CONTROL, room.as_mut_ptr().cast(), room.len()) };
        let Ok(read) = usize::try_from(read) else {
            let again = [io::ErrorKind::Interrupted, io::ErrorKind::WouldBlock];
            return match again.contains(&io::Error::last_os_error().kind()) {
                true => Order::None,
                false => Order::NoMore,
            };
        };
        if read == 0 {
            return Order::NoMore;
        }
        self.read = self.read.saturating_add(read);
        if self.read < MESSAGE {
            return Order::None;
        }
        self.read = 0;
        match understood(self.bytes) {
            (SIGNAL, signal) => Order::Signal(signal),
            (LEAVE, _) => Order::Leave,
            (_, _) => Order::None,
        }
    }
}

fn signal_agent(agent: c_int, signal: c_int) {
    // SAFETY: integers only. The agent is our child and not reaped, so both are its own. It may have
    // left its group: then it is meant itself.
    unsafe {
        if agent > 1 && libc::kill(-agent, signal) != 0 {
            libc::kill(agent, signal);
        }
    }
}

fn ask_to_end(agent: c_int, state: Agent, signal: c_int) {
    if state == Agent::Runs {
        signal_agent(agent, signal);
        // One that is stopped would not hear it.
        signal_agent(agent, libc::SIGCONT);
    }
}

/// The person's terminal, if it is still as we set it and nobody else has taken care of it.
fn give_terminal_back(plan: &Plan<'_>) {
    // SAFETY: put there by `settle`, and open as long as this process is.
    let person = unsafe { BorrowedFd::borrow_raw(PERSON) };
    let Ok(now) = rustix::termios::tcgetattr(person) else {
        return;
    };
    if now.local_modes == plan.raw.local_modes
        && now.input_modes == plan.raw.input_modes
        && now.output_modes == plan.raw.output_modes
    {
        let _ = rustix::termios::tcsetattr(person, OptionalActions::Now, plan.cooked);
    }
}

/// The end of the keeper. What the agent left running in its group is not told to hang up.
fn part(agent: c_int) -> ! {
    // SAFETY: integers only; a null status is allowed. TTOU is ignored.
    unsafe {
        libc::tcsetpgrp(SLAVE, libc::getpid());
        libc::waitpid(agent, std::ptr::null_mut(), 0);
    }
    leave(0)
}
