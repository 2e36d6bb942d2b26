//! What the relay and whoever decides about contexts say to each other.
//!
//! Only words: nothing here touches a terminal or a process.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sm_client::process::Process;
use sm_core::signal::ScreenMark;

use crate::RunError;

/// A goodbye so shortly before the end is taken for its reason.
const JUST_BEFORE: Duration = Duration::from_secs(5);
const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const NOT_STARTED: i32 = 127;

/// One agent to be started on the person's terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub program: OsString,
    pub args: Vec<OsString>,
    /// On top of our own environment; `None` takes a variable away.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// `None`: ours.
    pub cwd: Option<PathBuf>,
    /// The folder of the terminal's log; `None`: nothing is written down.
    pub log: Option<PathBuf>,
}

impl Run {
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            log: None,
        }
    }

    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((key.into(), Some(value.into())));
        self
    }

    #[must_use]
    pub fn without_env(mut self, key: impl Into<OsString>) -> Self {
        self.env.push((key.into(), None));
        self
    }

    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    #[must_use]
    pub fn log(mut self, folder: impl Into<PathBuf>) -> Self {
        self.log = Some(folder.into());
        self
    }
}

/// What a brain wants from the relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// TERM to the agent's own process group, and KILL to it after the grace if the agent is still
    /// there. Another agent than the one that runs now is left alone, and the brain is told.
    End { agent: Process, grace: Duration },
    /// A line for the person, shown as soon as no agent draws on the terminal.
    Notice(String),
    /// Keys of the person are kept from now on, also while agents change. Answers of their terminal
    /// go on.
    Hold,
    /// These bytes to the agent, before any key that is kept.
    Type(Vec<u8>),
    /// Keys go to the agent again; those that were kept stay kept.
    PassOn,
    /// The keys that were kept go to the agent, as if they were typed now; and so do those that
    /// follow.
    Replay,
    /// Keys go to the agent again; those that were kept are given to [`Brain::unsent`].
    GiveBack,
    /// Keys for the agent, from somebody who has looked at its screen. The brain is told what became
    /// of them.
    Enter(Entry),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub no: u64,
    pub bytes: Vec<u8>,
    /// Only if this is still the screen.
    pub guard: Option<ScreenMark>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    Done,
    /// The screen is another one, or the person types: nothing was typed.
    Moved,
    /// There is no agent to type to.
    Nobody,
}

/// How an agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    Signalled(i32),
    /// The person's terminal was closed, and the agent was ended for that.
    TerminalGone,
}

impl Ended {
    /// As a shell would say it.
    pub fn code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128 + signal,
            Self::TerminalGone => 128 + SIGHUP,
        }
    }
}

/// Keys by which people leave an agent. That they were typed is known, what the agent made of them
/// is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    CtrlC,
    CtrlD,
    /// A line that says `/exit`, `/quit`, `exit` or `quit`, with its Enter.
    ExitCommand,
}

impl Farewell {
    /// As who leaves so expects it, if no agent is there to say another.
    pub fn code(self) -> i32 {
        match self {
            Self::CtrlC | Self::CtrlD => 128 + SIGINT,
            Self::ExitCommand => 0,
        }
    }
}

/// What is known about the end of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub agent: Process,
    pub ended: Ended,
    /// It was told to end by [`Control::End`] before it did.
    pub by_us: bool,
    /// A signal that came to us from outside and was passed on to it.
    pub told: Option<i32>,
    /// The person's last goodbye, and how long before the end it was typed.
    pub farewell: Option<(Farewell, Duration)>,
    /// What was said last since keys were held back: whoever was to take this one's place is not
    /// wanted.
    pub goodbye: Option<Farewell>,
}

impl Report {
    /// What a shell is told. Whoever has left an agent that was to end anyway is told so, whatever it
    /// ended with.
    pub fn code(&self) -> i32 {
        match self.goodbye {
            Some(goodbye) if self.by_us && self.ended != Ended::TerminalGone => goodbye.code(),
            Some(_) | None => self.ended.code(),
        }
    }

    /// What a daemon is told: exit code or signal. Of an agent that was to end anyway and was left
    /// meanwhile, how it was left.
    pub fn told_end(&self) -> (Option<i32>, Option<i32>) {
        match self.ended {
            Ended::TerminalGone => (None, Some(SIGHUP)),
            Ended::Exited(_) | Ended::Signalled(_) if self.by_us && self.goodbye.is_some() => {
                (Some(self.code()), None)
            }
            Ended::Exited(code) => (Some(code), None),
            Ended::Signalled(signal) => (None, Some(signal)),
        }
    }

    /// Whether a person, or somebody in their place, is the likely reason of the end.
    pub fn person_interrupted(&self) -> bool {
        let by_keys = matches!(self.farewell, Some((_, ago)) if ago <= JUST_BEFORE);
        let by_end = match self.ended {
            Ended::Exited(code) => code == 128 + SIGINT,
            Ended::Signalled(signal) => signal == SIGINT,
            Ended::TerminalGone => true,
        };
        by_keys || by_end || self.goodbye.is_some() || self.told.is_some()
    }
}

/// What comes after an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Exit(i32),
    /// This one, on the same terminal.
    Again(Run),
}

/// Who decides about the agents on a terminal.
pub trait Brain {
    fn started(&mut self, agent: Process);

    /// `control` is called when this can be read. The brain empties it, in `control`.
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// `control` is called at that moment as well. Asked before each sleep.
    fn wake_at(&self) -> Option<Instant> {
        None
    }

    /// What it wants now; asked again until it is nothing. Must not block: the person's keys wait.
    fn control(&mut self) -> Option<Control> {
        None
    }

    /// What the person has typed, before anybody acts on it. Must not block.
    fn typed(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// What the agent shows, on a terminal of that size. Must not block.
    fn shown(&mut self, bytes: &[u8], cols: u16, rows: u16) {
        let _ = (bytes, cols, rows);
    }

    /// Keys that no agent will get.
    fn unsent(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// What became of a [`Control::Enter`].
    fn entered(&mut self, no: u64, entered: Entered) {
        let _ = (no, entered);
    }

    /// Whether the screen is still this one.
    fn still_shows(&self, mark: &ScreenMark) -> bool {
        let _ = mark;
        false
    }

    /// It meant an agent that is not the one that runs.
    fn refused(&mut self, meant: Process, runs: Option<Process>) {
        let _ = (meant, runs);
    }

    /// May take a while; the person's keys are kept for the next agent.
    fn ended(&mut self, report: &Report) -> Next;

    /// There is no next agent after all: the person wants out, or somebody in their place.
    fn abandoned(&mut self, code: i32) {
        let _ = code;
    }

    /// What the person is told when everything is over, below all else.
    fn last_words(&mut self) -> Option<String> {
        None
    }

    /// The next agent could not be started.
    fn failed(&mut self, error: &RunError) -> Next {
        let _ = error;
        Next::Exit(NOT_STARTED)
    }
}

/// One agent, and its end is the end.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoRotation;

impl Brain for NoRotation {
    fn started(&mut self, _: Process) {}

    fn ended(&mut self, report: &Report) -> Next {
        Next::Exit(report.ended.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(ended: Ended) -> Report {
        Report {
            agent: Process { pid: 1, start: 1 },
            ended,
            by_us: false,
            told: None,
            farewell: None,
            goodbye: None,
        }
    }

    #[test]
    fn an_end_has_the_code_a_shell_would_give_it() {
        for (ended, code) in [
            (Ended::Exited(0), 0),
            (Ended::Exited(255), 255),
            (Ended::Signalled(9), 137),
            (Ended::TerminalGone, 129),
        ] {
            assert_eq!(ended.code(), code, "{ended:?}");
            assert_eq!(NoRotation.ended(&report(ended)), Next::Exit(code));
        }
    }

    #[test]
    fn whoever_leaves_an_agent_that_was_to_end_is_told_so() {
        use Farewell::{CtrlC, ExitCommand};
        for (by_us, ended, goodbye, code) in [
            (true, Ended::Signalled(15), None, 143),
            (true, Ended::Signalled(15), Some(CtrlC), 130),
            (true, Ended::Exited(0), Some(CtrlC), 130),
            (true, Ended::Exited(143), Some(ExitCommand), 0),
            (true, Ended::TerminalGone, Some(CtrlC), 129),
            (false, Ended::Exited(0), Some(CtrlC), 0),
            (false, Ended::Exited(7), Some(ExitCommand), 7),
            (false, Ended::Signalled(2), Some(CtrlC), 130),
        ] {
            let report = Report {
                by_us,
                goodbye,
                ..report(ended)
            };
            assert_eq!(report.code(), code, "{report:?}");
        }
    }

    #[test]
    fn a_daemon_is_told_how_it_was_left() {
        use Farewell::CtrlC;
        for (by_us, ended, goodbye, told) in [
            (false, Ended::Exited(3), None, (Some(3), None)),
            (false, Ended::Signalled(9), Some(CtrlC), (None, Some(9))),
            (true, Ended::Signalled(15), None, (None, Some(15))),
            (true, Ended::Signalled(15), Some(CtrlC), (Some(130), None)),
            (true, Ended::Exited(143), Some(CtrlC), (Some(130), None)),
            (true, Ended::TerminalGone, Some(CtrlC), (None, Some(1))),
        ] {
            let report = Report {
                by_us,
                goodbye,
                ..report(ended)
            };
            assert_eq!(report.told_end(), told, "{report:?}");
        }
    }

    #[test]
    fn a_person_is_the_reason_only_if_something_says_so() {
        let seconds = Duration::from_secs;
        for (ended, told, farewell, expected) in [
            (Ended::Exited(0), None, None, false),
            (Ended::Exited(1), None, None, false),
            (Ended::Signalled(15), None, None, false),
            (Ended::Exited(130), None, None, true),
            (Ended::Signalled(2), None, None, true),
            (Ended::TerminalGone, None, None, true),
            (Ended::Exited(0), Some(15), None, true),
            (
                Ended::Exited(0),
                None,
                Some((Farewell::ExitCommand, seconds(1))),
                true,
            ),
            (
                Ended::Exited(0),
                None,
                Some((Farewell::CtrlC, seconds(60))),
                false,
            ),
        ] {
            let report = Report {
                told,
                farewell,
                ..report(ended)
            };
            assert_eq!(report.person_interrupted(), expected, "{report:?}");
        }
    }
}
