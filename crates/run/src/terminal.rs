//! The person's terminal: raw while an agent has it, and as it was on every way out.
//!
//! It is opened anew where that is possible, so that it can be used without blocking: the
//! descriptors we were given are shared with the shell, which must not find them changed.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, Once, PoisonError};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, Winsize};

use crate::RunError;

/// A terminal that could block gets so little at once that it does not.
const CAREFUL: usize = 256;
/// What programs assume of a terminal that does not say how large it is.
const ASSUMED: (u16, u16) = (80, 24);

/// What a panic has to put back: a build that aborts on panics drops nothing.
static TO_RESTORE: Mutex<Option<(OwnedFd, Termios)>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// The terminal that we were started in.
#[derive(Debug)]
pub struct Terminal {
    input: OwnedFd,
    output: OwnedFd,
    /// Whether `output` is our own and never blocks.
    own: bool,
    cooked: Termios,
    raw: Termios,
}

impl Terminal {
    /// `None` if there is no terminal on either end, so that nothing can be put between.
    pub fn of_person() -> Result<Option<Self>, RunError> {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        if !stdin.is_terminal() || !stdout.is_terminal() {
            return Ok(None);
        }
        Self::of(stdin.as_fd(), stdout.as_fd()).map(Some)
    }

    fn of(stdin: BorrowedFd<'_>, stdout: BorrowedFd<'_>) -> Result<Self, RunError> {
        let failed = "use this terminal";
        let cooked = rustix::termios::tcgetattr(stdin).map_err(RunError::system(failed))?;
        let mut raw = cooked.clone();
        raw.make_raw();
        let (input, output, own) = match (reopen(stdin), reopen(stdout)) {
            (Some(input), Some(output)) => (input, output, true),
            (Some(_) | None, Some(_) | None) => (
                stdin
                    .try_clone_to_owned()
                    .map_err(RunError::system(failed))?,
                stdout
                    .try_clone_to_owned()
                    .map_err(RunError::system(failed))?,
                false,
            ),
        };
        Ok(Self {
            input,
            output,
            own,
            cooked,
            raw,
        })
    }

    pub(crate) fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub(crate) fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// As it was when we came, and as we set it.
    pub(crate) fn settings(&self) -> (&Termios, &Termios) {
        (&self.cooked, &self.raw)
    }

    /// Every key as it is, every byte as it is. Waits in the background until it is ours again.
    pub(crate) fn make_raw(&self) -> Result<(), RunError> {
        remember(&self.input, &self.cooked);
        set(&self.input, &self.raw).map_err(RunError::system("set this terminal to raw mode"))
    }

    /// As it was when we came.
    pub(crate) fn restore(&self) {
        // A terminal that is gone needs nothing.
        let _ = set(&self.input, &self.cooked);
        *TO_RESTORE.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(crate) fn size(&self) -> Winsize {
        let mut size = rustix::termios::tcgetwinsize(&self.output).unwrap_or(Winsize {
            ws_row: 0,
            ws_col: 0,
            ws_xpixel: 0,
            ws_ypixel: 0,
        });
        if size.ws_col == 0 || size.ws_row == 0 {
            (size.ws_col, size.ws_row) = ASSUMED;
        }
        size
    }

    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        rustix::io::read(&self.input, buffer)
    }

    /// Writes what there is room for.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let most = if self.own { bytes.len() } else { CAREFUL };
        rustix::io::write(&self.output, bytes.get(..most).unwrap_or(bytes))
    }

    /// Whether more may be written without asking the system whether there is room.
    pub(crate) fn may_try(&self) -> bool {
        self.own
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let mut held = TO_RESTORE.lock().unwrap_or_else(PoisonError::into_inner);
        if held.take().is_some() {
            let _ = set(&self.input, &self.cooked);
        }
    }
}

fn set(terminal: &OwnedFd, settings: &Termios) -> Result<(), Errno> {
    loop {
        match rustix::termios::tcsetattr(terminal, OptionalActions::Now, settings) {
            // We were in the background, stopped for it, and are continued.
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

/// From now on a panic puts the terminal back before it says anything.
fn remember(terminal: &OwnedFd, cooked: &Termios) {
    let Ok(terminal) = terminal.try_clone() else {
        return;
    };
    *TO_RESTORE.lock().unwrap_or_else(PoisonError::into_inner) = Some((terminal, cooked.clone()));
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if let Ok(mut held) = TO_RESTORE.try_lock()
                && let Some((terminal, cooked)) = held.take()
            {
                let _ = set(&terminal, &cooked);
            }
            before(panic);
        }));
    });
}

/// The same terminal with a file description of its own.
fn reopen(fd: BorrowedFd<'_>) -> Option<OwnedFd> {
    // Also where the terminal's name means something else here, as in a container.
    let by_number = PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()));
    let by_name = rustix::termios::ttyname(fd, Vec::new())
        .ok()
        .map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(name.as_bytes())));
    let device = rustix::fs::fstat(fd).ok()?.st_rdev;
    let flags = i32::try_from((OFlags::NOCTTY | OFlags::NONBLOCK).bits()).ok()?;
    [Some(by_number), by_name]
        .into_iter()
        .flatten()
        .find_map(|path| {
            let opened = OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(flags)
                .open(path)
                .ok()?;
            let same = rustix::fs::fstat(&opened).is_ok_and(|found| found.st_rdev == device);
            same.then(|| opened.into())
        })
}
