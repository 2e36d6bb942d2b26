//! What the agent says on stdin: bounded in size and in time, as an agent may never close it.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use sm_client::platform;
use sm_client::spool::Completeness;
use sm_client::wire::MAX_HOOK_BODY;

/// An agent that has not closed stdin by now never will.
const PATIENCE: Duration = Duration::from_secs(2);
const READ_SIZE: usize = 64 * 1024;

pub struct Input {
    pub bytes: Vec<u8>,
    pub completeness: Completeness,
}

/// Reads stdin to its end. What is beyond the bound is read and forgotten, so that the agent
/// can finish writing.
pub fn read() -> Input {
    let stdin = io::stdin();
    let mut lock = stdin.lock();
    let deadline = Instant::now() + PATIENCE;
    let mut input = Input {
        bytes: Vec::new(),
        completeness: Completeness::Whole,
    };
    let mut chunk = vec![0; READ_SIZE];
    loop {
        match platform::readable([Some(stdin.as_fd())], Some(deadline)) {
            Ok([true]) => {}
            Ok([false]) | Err(_) => {
                input.completeness = Completeness::Cut;
                return input;
            }
        }
        match lock.read(&mut chunk) {
            Ok(0) => return input,
            Ok(read) => {
                let room = MAX_HOOK_BODY - input.bytes.len();
                input.bytes.extend_from_slice(&chunk[..read.min(room)]);
                if read > room {
                    input.completeness = Completeness::Cut;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => {
                input.completeness = Completeness::Cut;
                return input;
            }
        }
        // It is ready for ever if someone writes for ever.
        if Instant::now() >= deadline {
            input.completeness = Completeness::Cut;
            return input;
        }
    }
}
