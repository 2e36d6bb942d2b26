//! The person's terminal: raw and on its alternate screen while we draw, and as it was on every way
//! out: the end, a signal, a panic, another program in between.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, Once, PoisonError};

use ratatui::layout::Size;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// The alternate screen, pastes told apart, no cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?2004h\x1b[?25l\x1b[0m\x1b[2J";
/// All of that undone; the cursor is to be seen again.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?2004l\x1b[?25h\x1b[?1049l";
/// What programs assume of a terminal that does not say how large it is.
const ASSUMED: Size = Size {
    width: 80,
    height: 24,
};

/// What a panic has to put back: a build that aborts on panics drops nothing.
static HELD: Mutex<Option<Held>> = Mutex::new(None);
static HOOK: Once = Once::new();

struct Held {
    input: OwnedFd,
    output: File,
    cooked: Termios,
}

pub struct Terminal {
    input: OwnedFd,
    output: OwnedFd,
    cooked: Termios,
}

impl Terminal {
    /// `None` if there is none on either end.
    pub fn of_person() -> io::Result<Option<Self>> {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        if !stdin.is_terminal() || !stdout.is_terminal() {
            return Ok(None);
        }
        Self::of(stdin.as_fd(), stdout.as_fd()).map(Some)
    }

    fn of(input: BorrowedFd<'_>, output: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self {
            input: input.try_clone_to_owned()?,
            output: output.try_clone_to_owned()?,
            cooked: tcgetattr(input)?,
        })
    }

    pub fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// To draw on.
    pub fn output(&self) -> io::Result<File> {
        Ok(File::from(self.output.try_clone()?))
    }

    pub fn size(&self) -> Size {
        size_of(self.output.as_fd())
    }

    /// Takes the terminal; again after somebody else had it.
    pub fn enter(&self) -> io::Result<()> {
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                before(panic);
            }));
        });
        let held = Held {
            input: self.input.try_clone()?,
            output: self.output()?,
            cooked: self.cooked.clone(),
        };
        *HELD.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
        let mut raw = self.cooked.clone();
        raw.make_raw();
        tcsetattr(&self.input, OptionalActions::Now, &raw)?;
        self.output()?.write_all(ENTER)
    }

    /// Gives it back as it was.
    pub fn leave(&self) {
        give_back();
    }

    /// Whether it is ours now: a panic of another thread has given it back.
    pub fn is_ours() -> bool {
        HELD.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner).take();
    // A terminal that is gone needs nothing.
    if let Some(mut held) = held {
        let _ = held.output.write_all(LEAVE);
        let _ = tcsetattr(&held.input, OptionalActions::Now, &held.cooked);
    }
}

pub fn size_of(terminal: BorrowedFd<'_>) -> Size {
    match tcgetwinsize(terminal) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size::new(size.ws_col, size.ws_row),
        Ok(_) | Err(_) => ASSUMED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::OFlags;
    use rustix::pty::OpenptFlags;
    use std::io::Read;

    #[test]
    fn a_panic_gives_the_terminal_back() {
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let slave = rustix::fs::open(name, flags, rustix::fs::Mode::empty()).unwrap();
        let settings = || format!("{:?}", tcgetattr(&slave).unwrap());
        let before = settings();

        let terminal = Terminal::of(slave.as_fd(), slave.as_fd()).unwrap();
        terminal.enter().unwrap();
        assert_ne!(settings(), before, "it is raw");
        assert!(Terminal::is_ours());
        let panicked = std::thread::spawn(|| panic!("for the test")).join();
        assert!(panicked.is_err());

        assert_eq!(settings(), before);
        assert!(!Terminal::is_ours());
        let mut shown = vec![0; 1024];
        let length = File::from(master).read(&mut shown).unwrap();
        let all = [ENTER, LEAVE].concat();
        assert_eq!(
            shown[..length].escape_ascii().to_string(),
            all.escape_ascii().to_string()
        );
    }
}
