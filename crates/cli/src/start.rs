//! How the program begins, in place of what the standard library does before a `main` of its own.
//!
//! That looks through the memory map of the process to find the end of the stack, so that an
//! overflow can be told by name: a tenth of what the whole start takes, and agents and their hooks
//! start this program all the time. What programs rely on of it is done here as well: a closed
//! standard stream is never the descriptor of something else, and a reader who left is an error of
//! writing and not a signal. Must not fail: without either the command still runs.

use std::ffi::{c_char, c_int};
use std::os::fd::IntoRawFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::{stderr, stdin, stdout};

#[unsafe(no_mangle)]
extern "C" fn main(_count: c_int, _arguments: *const *const c_char) -> c_int {
    open_closed_streams();
    ignore_broken_pipes();
    std::process::exit(crate::run().into())
}

fn open_closed_streams() {
    let (input, output, errors) = (stdin(), stdout(), stderr());
    let mut streams = [&input, &output, &errors].map(|of| PollFd::new(of, PollFlags::empty()));
    if poll(&mut streams, Some(&Timespec::default())).is_err() {
        return;
    }
    for stream in &streams {
        if stream.revents().contains(PollFlags::NVAL)
            && let Ok(nothing) = std::fs::File::options()
                .read(true)
                .write(true)
                .open("/dev/null")
        {
            // The lowest that is free is the one that is missing. It stays open.
            let _ = nothing.into_raw_fd();
        }
    }
}

fn ignore_broken_pipes() {
    // SAFETY: sets a disposition before there is any other thread; no handler of ours is involved.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}
