//! The person's terminal: raw while we have it, and as it was on every way out.

use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, Once, PoisonError};

use rustix::fs::OFlags;
use rustix::termios::{OptionalActions, Termios};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::paint::{ENTER, LEAVE, Size};

/// What programs assume of a terminal that does not say how large it is.
const ASSUMED: Size = Size {
    columns: 80,
    rows: 24,
};

/// What a panic has to put back: a build that aborts on panics drops nothing.
static TO_RESTORE: Mutex<Option<Termios>> = Mutex::new(None);
static HOOK: Once = Once::new();

#[derive(Debug)]
pub(crate) struct Terminal {
    /// Opened anew, so that it can be read without blocking: the one we were given is shared with
    /// the shell, which must not find it changed.
    input: AsyncFd<OwnedFd>,
    cooked: Termios,
    raw: Termios,
}

impl Terminal {
    pub fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        if !stdin.is_terminal() || !io::stdout().is_terminal() {
            return Err(io::Error::other("there is no terminal"));
        }
        let cooked = rustix::termios::tcgetattr(&stdin)?;
        let mut raw = cooked.clone();
        raw.make_raw();
        let opened = reopen(stdin.as_fd())?;
        // SAFETY: the descriptor is ours alone; nobody closes or replaces it while it is registered.
        let input = unsafe { AsyncFd::register_with_interest(opened, Interest::READABLE) }?;
        Ok(Self { input, cooked, raw })
    }

    /// Takes the terminal.
    pub fn enter(&self) -> io::Result<()> {
        *TO_RESTORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.cooked.clone());
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore_after_panic();
                before(panic);
            }));
        });
        set(&self.raw)?;
        self.write(ENTER)
    }

    /// Gives it back. `last` clears what is ours.
    pub fn leave(&self, last: &str) {
        // A terminal that is gone needs nothing.
        let _ = self.write(last);
        let _ = set(&self.cooked);
        *TO_RESTORE.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub fn size(&self) -> Size {
        match rustix::termios::tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size {
                columns: size.ws_col.into(),
                rows: size.ws_row.into(),
            },
            Ok(_) | Err(_) => ASSUMED,
        }
    }

    /// The next bytes; none: the terminal is gone.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.input.readable().await?;
            let read = ready.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), &mut *buffer)?));
            match read {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(read) => return read,
                Err(_not_ready) => {}
            }
        }
    }

    /// What has been typed already, without waiting.
    pub fn read_now(&self, buffer: &mut [u8]) -> usize {
        rustix::io::read(self.input.get_ref(), buffer).unwrap_or(0)
    }

    pub fn write(&self, text: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let mut held = TO_RESTORE.lock().unwrap_or_else(PoisonError::into_inner);
        if held.take().is_some() {
            let _ = self.write(LEAVE);
            let _ = set(&self.cooked);
        }
    }
}

fn restore_after_panic() {
    if let Ok(mut held) = TO_RESTORE.try_lock()
        && let Some(cooked) = held.take()
    {
        // Not through the lock of stdout, which the one that panics may hold. What was being
        // drawn stays; the message comes below it.
        let bytes = format!("\r\n\x1b[J{LEAVE}");
        let _ = rustix::io::write(io::stdout(), bytes.as_bytes());
        let _ = set(&cooked);
    }
}

fn set(settings: &Termios) -> io::Result<()> {
    loop {
        match rustix::termios::tcsetattr(io::stdin(), OptionalActions::Now, settings) {
            Err(rustix::io::Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

/// The same terminal with a file description of its own.
fn reopen(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    let by_number = format!("/proc/self/fd/{}", fd.as_raw_fd()).into();
    let by_name = rustix::termios::ttyname(fd, Vec::new())
        .map(|name| std::ffi::OsStr::from_bytes(name.as_bytes()).into());
    let paths: [io::Result<std::path::PathBuf>; 3] = [
        Ok(by_number),
        by_name.map_err(io::Error::from),
        Ok("/dev/tty".into()),
    ];
    for path in paths.into_iter().flatten() {
        let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if let Ok(opened) = rustix::fs::open(&path, flags, rustix::fs::Mode::empty()) {
            return Ok(opened);
        }
    }
    Err(io::Error::other("this terminal cannot be opened"))
}

/// Stops us as a terminal's key would: our whole group, ourselves last. Returns when we go on.
pub(crate) fn stop_ourselves() {
    // SAFETY: the actions are zeroed structs or one the system wrote, and live through the calls;
    // kill and raise take integers. To this very thread: it must not go on before it stops.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        let mut other: libc::sigaction = std::mem::zeroed();
        other.sa_sigaction = libc::SIG_IGN;
        libc::sigaction(libc::SIGTSTP, &raw const other, &raw mut before);
        libc::kill(0, libc::SIGTSTP);
        other.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGTSTP, &raw const other, std::ptr::null_mut());
        libc::raise(libc::SIGTSTP);
        libc::sigaction(libc::SIGTSTP, &raw const before, std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sm_testkit::tmux::Tmux;
    use sm_testkit::wait_until;

    use super::*;

    #[test]
    #[ignore = "needs a terminal of its own: the test below gives it one"]
    fn panics_in_raw_mode() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let _inside = runtime.enter();
        let terminal = Terminal::open().unwrap();
        terminal.enter().unwrap();
        // A build that aborts on panics drops nothing.
        std::mem::forget(terminal);
        panic!("on purpose");
    }

    #[test]
    fn a_panic_leaves_the_terminal_as_it_was() {
        let tmux = Tmux::new().unwrap();
        let own = std::env::current_exe().unwrap();
        let script = format!(
            "'{}' --ignored --exact tui::terminal::tests::panics_in_raw_mode --nocapture; \
             stty -a | grep -q ' icanon' && stty -a | grep -q ' echo ' && echo cooked; exec sh",
            own.display()
        );
        let env = [("PATH".to_owned(), std::env::var("PATH").unwrap())];
        let folder = tempfile::tempdir().unwrap();
        tmux.start("t", (100, 40), folder.path(), &env, &["sh", "-c", &script])
            .unwrap();
        let look = || Some(tmux.screen("t").unwrap()).filter(|s| s.contains("\ncooked"));
        let screen = wait_until(Duration::from_secs(60), look);
        let screen = screen.unwrap_or_else(|| panic!("{}", tmux.screen("t").unwrap()));
        assert!(screen.contains("on purpose"), "it is said why:\n{screen}");
        assert_eq!(tmux.show("t", "#{cursor_flag}").unwrap(), "1");
    }
}
