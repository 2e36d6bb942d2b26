//! What the agent's terminal shows, for whoever has to look at it before typing into it.
//!
//! The relay hands over what it shows and does nothing else: reading it takes time that a person's
//! keys must not wait for. So the bytes lie here until somebody looks, or until there are enough of
//! them for whoever passes by. Of a program whose screen means nothing to us, too many at once are
//! dropped, and then nothing is claimed about the screen until the program draws it anew: holding a
//! text back is safe, guessing is not. Of an agent whose composer can be read nothing is dropped,
//! since a draft may be among it: the relay then reads them itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, TryLockError};

use memchr::memmem::{self, Finder};
use sm_core::signal::ScreenMark;
use sm_term::{Glass, Size};

/// So much waits at most.
const MOST: usize = 4 << 20;
/// From here on it is read without anybody looking.
const MUCH: usize = 256 << 10;
/// After one of these nothing on the screen is of before: the display cleared, the other screen, a
/// reset.
static FRESH: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| [&b"\x1b[2J"[..], b"\x1b[?1049h", b"\x1bc"].map(Finder::new));

/// What becomes of more than can wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Flood {
    #[default]
    Drop,
    Read,
}

#[derive(Default)]
pub struct Screen {
    flood: Flood,
    inbox: Mutex<Inbox>,
    glass: Mutex<Option<Glass>>,
    keys: AtomicU64,
}

#[derive(Default)]
struct Inbox {
    pieces: Vec<Piece>,
    bytes: usize,
    size: Option<(u16, u16)>,
    /// Something was dropped, and nothing since then says what the screen is.
    torn: bool,
}

enum Piece {
    Bytes(Vec<u8>),
    Size(u16, u16),
    /// What was there before is not known.
    Fresh(u16, u16),
}

/// What a look has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    pub lines: Vec<String>,
    pub cols: u32,
    pub rows: u32,
    pub mark: ScreenMark,
    pub takes_pastes: bool,
}

impl Screen {
    pub fn new(flood: Flood) -> Self {
        Self {
            flood,
            ..Self::default()
        }
    }

    /// Another program draws from here on; nothing is known until it does.
    pub fn begin(&self) {
        let mut glass = self.glass.lock().unwrap_or_else(PoisonError::into_inner);
        *self.inbox() = Inbox::default();
        *glass = None;
    }

    /// The relay has shown this, on a terminal of that size. Takes no longer than copying it, unless
    /// there is a flood that must be read.
    pub fn saw(&self, bytes: &[u8], cols: u16, rows: u16) {
        self.take_in(bytes, cols, rows);
        match self.flood {
            Flood::Read => self.catch_up(),
            Flood::Drop => {}
        }
    }

    fn take_in(&self, bytes: &[u8], cols: u16, rows: u16) {
        let mut inbox = self.inbox();
        if inbox.size != Some((cols, rows)) {
            let piece = match inbox.size.replace((cols, rows)) {
                None => Piece::Fresh(cols, rows),
                Some(_) => Piece::Size(cols, rows),
            };
            inbox.pieces.push(piece);
        }
        let mut bytes = bytes;
        if inbox.torn {
            let Some(at) = FRESH.iter().find_map(|mark| mark.find(bytes)) else {
                return;
            };
            inbox.torn = false;
            inbox.pieces.clear();
            inbox.pieces.push(Piece::Fresh(cols, rows));
            bytes = bytes.get(at..).unwrap_or_default();
        }
        if inbox.bytes + bytes.len() > MOST {
            inbox.pieces.clear();
            inbox.bytes = 0;
            inbox.torn = true;
            return;
        }
        inbox.bytes += bytes.len();
        match inbox.pieces.last_mut() {
            Some(Piece::Bytes(there)) => there.extend_from_slice(bytes),
            Some(Piece::Size(..) | Piece::Fresh(..)) | None => {
                inbox.pieces.push(Piece::Bytes(bytes.to_vec()));
            }
        }
    }

    /// Columns and rows, once something was shown.
    pub fn size(&self) -> Option<(u16, u16)> {
        self.inbox().size
    }

    /// What came from the person's terminal: keys count, what it says by itself does not.
    pub fn typed(&self, bytes: &[u8]) {
        if has_keys(bytes) {
            self.keys.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// For whoever has time: reads what waits, if that is much.
    pub fn catch_up(&self) {
        if self.inbox().bytes > MUCH {
            let mut glass = self.glass.lock().unwrap_or_else(PoisonError::into_inner);
            self.read(&mut glass);
        }
    }

    /// `None`: nobody can tell what is there.
    pub fn look(&self) -> Option<Looked> {
        let mut glass = self.glass.lock().unwrap_or_else(PoisonError::into_inner);
        let glass = self.read(&mut glass)?;
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Some(Looked {
            lines: glass.rows(),
            cols: number(glass.size().cols()),
            rows: number(glass.size().rows()),
            mark: self.mark_of(glass),
            takes_pastes: glass.takes_pastes(),
        })
    }

    /// What somebody makes of it. `None`: nobody can tell what is there.
    pub fn read_as<T>(&self, reading: impl FnOnce(&Glass) -> T) -> Option<T> {
        let mut glass = self.glass.lock().unwrap_or_else(PoisonError::into_inner);
        self.read(&mut glass).map(reading)
    }

    /// The mark alone, for the relay: if it cannot be had in a moment, there is none.
    pub fn mark(&self) -> Option<ScreenMark> {
        let mut glass = match self.glass.try_lock() {
            Ok(glass) => glass,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        if self.inbox().bytes > MUCH {
            return None;
        }
        self.read(&mut glass).map(|glass| self.mark_of(glass))
    }

    fn mark_of(&self, glass: &Glass) -> ScreenMark {
        let (cursor_x, cursor_y) = glass.cursor();
        // Keys count as well: what was typed may not be drawn yet.
        let keys = self.keys.load(Ordering::SeqCst);
        ScreenMark {
            cursor_x,
            cursor_y,
            title: glass.title().to_owned(),
            history: (glass.scrolled() & 0xffff_ffff) | (keys << 32),
            alternate: glass.is_alternate(),
        }
    }

    /// Takes in what waits; whoever calls this has the glass.
    fn read<'a>(&self, glass: &'a mut Option<Glass>) -> Option<&'a Glass> {
        let (pieces, torn) = {
            let mut inbox = self.inbox();
            inbox.bytes = 0;
            (std::mem::take(&mut inbox.pieces), inbox.torn)
        };
        for piece in pieces {
            match (piece, &mut *glass) {
                (Piece::Fresh(cols, rows), glass) => {
                    *glass = Some(Glass::new(Size::new(cols, rows)))
                }
                (Piece::Size(cols, rows), Some(glass)) => glass.resize(Size::new(cols, rows)),
                (Piece::Bytes(bytes), Some(glass)) => glass.feed(&bytes),
                (Piece::Size(..) | Piece::Bytes(_), None) => {}
            }
        }
        glass.as_ref().filter(|_| !torn)
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether there are keys among what came from the person's terminal, and not only its own reports:
/// of the mouse, of the focus, answers to questions of the agent.
pub(crate) fn has_keys(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(after) = rest.strip_prefix(b"\x1b") {
        let used = match after.first() {
            Some(b'[') => match control_sequence(after.get(1..).unwrap_or_default()) {
                Some(length) => 1 + length,
                None => return true,
            },
            Some(b']' | b'P' | b'_') => match string(after) {
                Some(length) => length,
                None => return true,
            },
            Some(_) | None => return true,
        };
        rest = after.get(used..).unwrap_or_default();
    }
    !rest.is_empty()
}

/// The length of a report; `None` for a key.
fn control_sequence(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|byte| (0x40..0x7f).contains(byte))?;
    let private = bytes.first().filter(|byte| (b'<'..=b'?').contains(byte));
    let report = match (private, bytes.get(end)?) {
        (Some(b'<'), b'M' | b'm') => true,
        (Some(b'?' | b'>'), b'c' | b'u' | b'y' | b'n') => true,
        (None, b'I' | b'O' | b'n' | b't') => true,
        (None, b'R') => end > 3, // F3 is shorter, with its modifiers
        _ => false,
    };
    report.then_some(end + 1)
}

fn string(bytes: &[u8]) -> Option<usize> {
    let bell = memchr::memchr(7, bytes).map(|at| at + 1);
    let end = memmem::find(bytes, b"\x1b\\").map(|at| at + 2);
    bell.into_iter().chain(end).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_screen_is_read_when_somebody_looks() {
        let screen = Screen::default();
        assert_eq!(screen.look(), None);
        screen.saw(b"\x1b[?2004h\x1b]0;idle\x07one\r\n> ", 20, 4);
        let looked = screen.look().unwrap();
        assert_eq!(looked.lines, ["one", ">", "", ""]);
        assert_eq!((looked.cols, looked.rows), (20, 4));
        assert!(looked.takes_pastes);
        assert_eq!(screen.mark().as_ref(), Some(&looked.mark));
        screen.typed(b"x");
        assert_ne!(screen.mark().as_ref(), Some(&looked.mark), "not drawn yet");
        let before = screen.look().unwrap().mark;
        screen.saw(b"x", 20, 4);
        assert_ne!(screen.mark(), Some(before));
        screen.saw(b"\r\n", 10, 2);
        assert_eq!(screen.look().unwrap().lines.len(), 2);
    }

    #[test]
    fn a_flood_is_dropped_and_nothing_is_claimed_until_it_is_drawn_anew() {
        let screen = Screen::default();
        let flood = vec![b'x'; 1 << 20];
        for _ in 0..10 {
            screen.saw(&flood, 80, 24);
        }
        assert_eq!(screen.look(), None);
        screen.saw(b"still unknown", 80, 24);
        assert_eq!((screen.look(), screen.mark()), (None, None));
        screen.saw(b"tail\x1b[2J\x1b[Hknown", 80, 24);
        assert_eq!(screen.look().unwrap().lines[0], "known");
        for _ in 0..10 {
            screen.saw(&flood, 80, 24);
            screen.catch_up();
        }
        assert!(screen.look().is_some(), "who reads along loses nothing");
    }

    #[test]
    fn of_an_agent_that_can_be_read_no_flood_is_dropped() {
        let screen = Screen::new(Flood::Read);
        let flood = vec![b'x'; 1 << 20];
        for _ in 0..10 {
            screen.saw(&flood, 80, 24);
        }
        screen.saw(b"\r\n> draft", 80, 24);
        let lines = screen.read_as(Glass::rows).unwrap();
        assert_eq!(lines[23], "> draft");
        screen.begin();
        assert_eq!(screen.look(), None, "of another agent");
    }

    #[test]
    fn reports_of_the_terminal_are_no_keys() {
        for (bytes, keys) in [
            (&b"a"[..], true),
            (b"\r", true),
            (b"\x1b", true),
            (b"\x1b[A", true),
            (b"\x1bOP", true),
            (b"\x1b[200~text\x1b[201~", true),
            (b"\x1b[13;2u", true),
            (b"\x1b[1;2R", true),
            (b"\x1b[<35;10;5M", false),
            (b"\x1b[<0;10;5m\x1b[<35;11;5M", false),
            (b"\x1b[I", false),
            (b"\x1b[O", false),
            (b"\x1b[?62;4c", false),
            (b"\x1b[24;80R", false),
            (b"\x1b]11;rgb:0/0/0\x1b\\", false),
            (b"\x1bP>|kitty\x1b\\\x1b[?0u", false),
            (b"\x1b[Ix", true),
            (b"", false),
        ] {
            assert_eq!(has_keys(bytes), keys, "{bytes:?}");
        }
    }
}
