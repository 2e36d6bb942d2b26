//! `sm-hook log <dir> [--tty T] [--quiet-ms N --session S]`: writes a terminal's output down, raw.
//!
//! tmux feeds it, and it outlives the daemon. It never waits for the daemon: a stopped one must
//! not fill tmux's pipe. It never stops reading before the end, whatever the disk says.

mod activity;
mod sizes;

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use sm_client::terminal_log::{self, Writer};
use sm_client::{Paths, wire};

use crate::platform;
use activity::Activity;
use sizes::Sizes;

const READ_SIZE: usize = 256 * 1024;

pub fn run(dir: &OsStr, options: &[&str]) -> i32 {
    platform::log_signals();
    let sizes = value(options, "--tty").map(Sizes::new);
    let mut writer = Writer::new(Path::new(dir));
    let mut activity = watching(options);
    let stdin = io::stdin();
    let mut lock = stdin.lock();
    let mut chunk = vec![0; READ_SIZE];
    loop {
        if let Some(activity) = &mut activity
            && !wait_for_output(stdin.as_fd(), activity)
        {
            continue;
        }
        match lock.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => {
                if let Some((cols, rows)) = sizes.as_ref().and_then(Sizes::look) {
                    writer.size(cols, rows);
                }
                writer.write(&chunk[..read], terminal_log::now());
                if let Some(activity) = &mut activity {
                    activity.output(Instant::now());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    writer.finish();
    0
}

/// Waits for output, the daemon's answer or the next thing to tell; whether there is output.
fn wait_for_output(stdin: std::os::fd::BorrowedFd<'_>, activity: &mut Activity) -> bool {
    let ready = sm_client::platform::readable([Some(stdin), activity.fd()], activity.wake_at());
    match ready {
        Ok([output, answer]) => {
            activity.step(answer, Instant::now());
            output
        }
        // Polling fails for want of memory only: reading waits as well.
        Err(_) => true,
    }
}

fn value<'a>(options: &[&'a str], name: &str) -> Option<&'a str> {
    let at = options.iter().position(|option| *option == name)?;
    options.get(at + 1).copied()
}

fn watching(options: &[&str]) -> Option<Activity> {
    let quiet: u64 = value(options, "--quiet-ms")?.parse().ok()?;
    let session = value(options, "--session").filter(|session| wire::is_plain_word(session))?;
    let paths = Paths::from_env().ok()?;
    let key = value(options, "--key").filter(|key| wire::is_plain_word(key));
    Some(Activity::new(
        paths,
        session,
        key.map(str::to_owned),
        Duration::from_millis(quiet.clamp(10, 3_600_000)),
        Instant::now(),
    ))
}
