//! What the person at the terminal has before them: the agent's screen, and what they have typed.
//! Says whether something would be lost if the agent ended now, and what it is.
//!
//! It only looks. What it cannot read it does not guess: an unknown screen holds nobody up.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use sm_agents::kind;
use sm_core::AgentKind;
use sm_core::signal::{Activity, Composer};
use sm_term::Glass;

use super::rotation::Person;
use crate::screen::Screen;
use crate::typed::{Token, Typed, pasted};

/// Whoever has typed so shortly ago is not done yet, whatever the screen shows.
const QUIET: Duration = Duration::from_secs(2);
/// A draft that nobody touches for so long is taken along instead of being waited for.
const LEFT_ALONE: Duration = Duration::from_secs(10 * 60);
/// Pastes that a draft may show as signs.
const PASTES: usize = 20;
const LARGEST_PASTES: usize = 8 << 20;
/// Drafts in files are kept for so long.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

pub struct Desk {
    agent: AgentKind,
    screen: Arc<Screen>,
    reader: Typed,
    last_key: Option<Instant>,
    pastes: VecDeque<String>,
}

impl Desk {
    pub fn new(agent: AgentKind, screen: Arc<Screen>) -> Self {
        Self {
            agent,
            screen,
            reader: Typed::default(),
            last_key: None,
            pastes: VecDeque::new(),
        }
    }

    /// Another agent draws from here on.
    pub fn begin(&mut self) {
        self.screen.begin();
        self.pastes.clear();
    }

    pub fn typed(&mut self, bytes: &[u8], now: Instant) {
        let (last_key, pastes) = (&mut self.last_key, &mut self.pastes);
        self.reader.feed(bytes, |token, bytes| match token {
            Token::Reply => {}
            Token::Text | Token::Enter | Token::Key => *last_key = Some(now),
            Token::Paste => {
                *last_key = Some(now);
                pastes.push_back(pasted(bytes));
            }
        });
        while self.pastes.len() > PASTES
            || self.pastes.iter().map(String::len).sum::<usize>() > LARGEST_PASTES
        {
            self.pastes.pop_front();
        }
    }

    /// What stands there, if it is an agent whose screen can be read.
    fn glass<T>(&self, reading: impl FnOnce(&Glass) -> T) -> Option<T> {
        match self.agent {
            AgentKind::Claude | AgentKind::Codex => self.screen.read_as(reading),
            AgentKind::Native | AgentKind::Generic => None,
        }
    }

    fn read(&self) -> (Composer, Activity) {
        let read = self.glass(|glass| {
            let (x, y) = glass.cursor();
            kind::read_screen(self.agent, &glass.rows(), x, y, None)
        });
        read.unwrap_or((Composer::Hidden, Activity::Unknown))
    }

    pub fn is_working(&self) -> bool {
        self.read().1 == Activity::Busy
    }

    /// Whether a person has to answer something before the agent goes on.
    pub fn asks(&self) -> bool {
        matches!(self.read().1, Activity::Waiting(_))
    }

    /// Whether a text stands in the composer.
    pub fn holds_text(&self) -> bool {
        matches!(
            self.read().0,
            Composer::Draft | Composer::DraftOverStash | Composer::Ours | Composer::Shell
        )
    }

    /// Whether a text could be put into the composer.
    pub fn takes_text(&self) -> bool {
        self.read().0 == Composer::Empty && self.glass(Glass::takes_pastes) == Some(true)
    }

    pub fn person(&self, now: Instant) -> Person {
        let since = self.last_key.map(|at| now.saturating_duration_since(at));
        if since.is_some_and(|since| since < QUIET) {
            return Person::Busy;
        }
        let left_alone = since.is_none_or(|since| since >= LEFT_ALONE);
        match self.read() {
            (Composer::Empty, _) => Person::Away,
            (Composer::Draft | Composer::Ours, _) if left_alone => Person::Away,
            (Composer::Draft | Composer::Ours | Composer::DraftOverStash, _) => Person::Busy,
            (Composer::Stashed | Composer::Shell, _) => Person::Busy,
            (Composer::Hidden, Activity::Waiting(_)) => Person::Busy,
            (Composer::Hidden, _) => Person::Away,
        }
    }

    /// What stands in the composer.
    pub fn draft(&self) -> Option<Draft> {
        let shell = match self.read().0 {
            Composer::Draft | Composer::Ours | Composer::DraftOverStash => false,
            Composer::Shell => true,
            Composer::Empty | Composer::Stashed | Composer::Hidden => return None,
        };
        let pastes: Vec<String> = self.pastes.iter().cloned().collect();
        let rows = self.glass(Glass::rows)?;
        let text = kind::draft(self.agent, &rows, &pastes)?;
        Some(Draft { text, shell })
    }
}

/// What a person was writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub text: String,
    /// A command that the agent would run: it is kept and not put anywhere.
    pub shell: bool,
}

/// Keeps what a person has written; where.
pub fn keep(folder: &Path, name: &str, text: &[u8]) -> io::Result<PathBuf> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    sweep(folder);
    for n in 1..10_000 {
        let path = folder.join(format!("{name}-{n}.txt"));
        let made = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        match made {
            Ok(mut file) => {
                file.write_all(text)?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("there are too many drafts"))
}

fn sweep(folder: &Path) {
    let now = SystemTime::now();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let changed = entry.metadata().and_then(|about| about.modified());
        let old = changed.is_ok_and(|at| now.duration_since(at).is_ok_and(|ago| ago > KEPT_FOR));
        if old && entry.path().extension().is_some_and(|ext| ext == "txt") {
            let _ = fs::remove_file(entry.path()); // the next one sweeps, too
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Flood;

    const RULE: &str = "────────────────────────────────────────";

    /// Claude's composer with this in it, and the cursor where it is then.
    fn composer(inside: &[&str], cursor: (u16, u16)) -> String {
        let mut screen = "\x1b[2J\x1b[H\x1b[?2004h".to_owned();
        screen.push_str(&format!("{RULE}\r\n"));
        for row in inside {
            screen.push_str(&format!("{row}\r\n"));
        }
        screen.push_str(&format!("{RULE}\r\n  ? for shortcuts"));
        screen.push_str(&format!("\x1b[{};{}H", cursor.1 + 1, cursor.0 + 1));
        screen
    }

    fn blank(agent: AgentKind) -> Desk {
        Desk::new(agent, Arc::new(Screen::new(Flood::Read)))
    }

    fn desk(inside: &[&str], cursor: (u16, u16)) -> Desk {
        let desk = blank(AgentKind::Claude);
        let drawn = composer(inside, cursor);
        desk.screen.saw(drawn.as_bytes(), 40, 12);
        desk
    }

    #[test]
    fn a_person_is_away_only_if_nothing_would_be_lost() {
        let now = Instant::now() + LEFT_ALONE;
        let ago = |seconds| now - Duration::from_secs(seconds);
        let empty = || desk(&["❯\u{a0}"], (2, 1));
        let draft = || desk(&["❯\u{a0}half a tho"], (12, 1));
        let shell = || desk(&["!\u{a0}ls"], (4, 1));
        let long = LEFT_ALONE.as_secs();
        for (desk, typed, person) in [
            (empty(), None, Person::Away),
            (empty(), Some(3), Person::Away),
            (empty(), Some(1), Person::Busy),
            (draft(), Some(3), Person::Busy),
            (draft(), Some(long - 1), Person::Busy),
            (draft(), Some(long), Person::Away),
            (shell(), Some(long), Person::Busy),
            (blank(AgentKind::Claude), None, Person::Away),
            (blank(AgentKind::Generic), Some(1), Person::Busy),
            (blank(AgentKind::Generic), Some(3), Person::Away),
        ] {
            let mut desk = desk;
            if let Some(seconds) = typed {
                desk.typed(b"x", ago(seconds));
            }
            // What the terminal says by itself is nobody's typing.
            desk.typed(b"\x1b[I\x1b[?62c", now);
            assert_eq!(desk.person(now), person, "{typed:?} {:?}", desk.read());
        }
    }

    #[test]
    fn a_draft_is_read_from_the_screen() {
        assert_eq!(desk(&["❯\u{a0}"], (2, 1)).draft(), None);
        assert!(desk(&["❯\u{a0}"], (2, 1)).takes_text());
        let two = desk(&["❯\u{a0}half a", "  thought"], (9, 2));
        assert!(!two.takes_text());
        let draft = two.draft().unwrap();
        assert_eq!(
            (draft.text.as_str(), draft.shell),
            ("half a\nthought", false)
        );
        assert!(desk(&["!\u{a0}ls"], (4, 1)).draft().unwrap().shell);
        let mut pasted = desk(&["❯\u{a0}see [Pasted text #1 +4 lines] ok"], (34, 1));
        pasted.typed(b"\x1b[200~a\rb\rc\rd\re\x1b[201~", Instant::now());
        assert_eq!(pasted.draft().unwrap().text, "see a\nb\nc\nd\ne ok");
        pasted.begin();
        assert_eq!(pasted.draft(), None, "another agent");
    }

    #[test]
    fn each_draft_has_a_file_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("drafts");
        let first = keep(&folder, "r1", b"one").unwrap();
        let second = keep(&folder, "r1", b"two").unwrap();
        assert_ne!(first, second);
        assert_eq!(fs::read(first).unwrap(), b"one");
        assert_eq!(fs::read(second).unwrap(), b"two");
    }
}
