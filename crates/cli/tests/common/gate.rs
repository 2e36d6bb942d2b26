//! Tools that wait for the test.

use super::{DEADLINE, World};
use sm_testkit::wait_until;
use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

impl World {
    /// A named pipe in the project's folder: a tool that reads it runs until the gate is opened.
    pub fn gate(&self, name: &str) -> Gate {
        let path = self.env.project().join(name);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        Gate {
            path,
            writer: RefCell::default(),
        }
    }
}

/// A named pipe that a tool reads.
pub struct Gate {
    path: PathBuf,
    /// While it is open the tool waits for what is written.
    writer: RefCell<Option<File>>,
}

impl Gate {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until somebody reads it: the tool runs, and goes on running.
    #[track_caller]
    pub fn wait_for_reader(&self) {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
        // without a reader this is refused
        let open = || {
            let mut options = File::options();
            options.write(true).custom_flags(flags);
            options.open(&self.path).ok()
        };
        let mut writer = self.writer.borrow_mut();
        if writer.is_none() {
            *writer = Some(wait_until(DEADLINE, open).expect("a tool reads the gate"));
        }
    }

    /// Waits for the tool, and lets it go on.
    #[track_caller]
    pub fn open(&self) {
        self.wait_for_reader();
        let writer = self.writer.borrow_mut().take();
        writer.expect("it was opened").write_all(b"open\n").unwrap();
    }
}
