//! Bytes between the person and one agent after the other, in one loop that sleeps in one place.
//!
//! Every byte goes on as it came, in both directions; what one side cannot take yet is not read from
//! the other. It looks at what it passes on only to know which modes have to be undone and whether
//! the person has said goodbye, and it never decides whether an agent lives on: that is the brain's.

mod enter;
mod log;

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::termios::Winsize;

use crate::keeper::{Event, Keeper};
use crate::keys::Keys;
use crate::modes::Modes;
use crate::pending::Pending;
use crate::pty::Pty;
use crate::relay::log::Log;
use crate::signals::Signals;
use crate::typing::Typing;
use crate::wait::{self, Ready, Source};
use crate::{Brain, Control, Ended, Entered, Farewell, Process, Report, Run, RunError, Terminal};

/// So much is read at once.
const MOST_OUTPUT: usize = 64 * 1024;
/// A terminal gives so much at once if it has more.
const FULL_PIECE: usize = 4095;
/// So many pieces are read in a row: 64 KiB.
const MOST_PIECES: usize = 16;
const MOST_INPUT: usize = 16 * 1024;
/// A terminal holds less than this, so whatever an agent had printed by its end is in there; what
/// it left running may print for ever.
const MOST_AFTER_THE_END: usize = 1024 * 1024;
/// An agent whose terminal is closed is asked to end, then told, then made to: after so long.
const HANGUP_TERM: Duration = Duration::from_secs(2);
const HANGUP_KILL: Duration = Duration::from_secs(5);

/// The person's side, which stays while agents come and go.
pub struct Relay<'a> {
    terminal: &'a Terminal,
    signals: &'a Signals,
    log: Option<Log>,
    modes: Modes,
    keys: Keys,
    to_person: Pending,
    to_agent: Pending,
    typing: Typing,
    buffer: Vec<u8>,
    size: Winsize,
    /// The person's terminal is closed: nobody sees or types anything any more.
    gone: bool,
    told: Option<i32>,
    /// Signals that came while nobody could heed them.
    came: Vec<i32>,
    notices: Vec<String>,
    at_line_start: bool,
    /// How many agents there were.
    started: u32,
    /// When the person last pressed a key.
    typed_at: Option<Instant>,
}

/// The agent's side.
pub struct Hosted {
    keeper: Keeper,
    master: OwnedFd,
    /// Whether something can still come from its terminal, or go there.
    open: bool,
    by_us: bool,
    /// Signals it gets if it is still there by then.
    ending: Vec<(Instant, i32)>,
}

impl Hosted {
    pub fn agent(&self) -> Process {
        self.keeper.agent()
    }

    fn end_with(&self, signal: i32) {
        self.keeper.signal(signal);
        // One that is stopped would not hear it.
        self.keeper.signal(libc::SIGCONT);
    }

    fn end_if_overdue(&mut self) {
        if self.ending.is_empty() {
            return;
        }
        let now = Instant::now();
        for (_, signal) in self.ending.iter().filter(|(at, _)| *at <= now) {
            self.end_with(*signal);
        }
        self.ending.retain(|(at, _)| *at > now);
    }
}

impl<'a> Relay<'a> {
    pub fn new(terminal: &'a Terminal, signals: &'a Signals) -> Self {
        Self {
            terminal,
            signals,
            log: None,
            modes: Modes::default(),
            keys: Keys::default(),
            to_person: Pending::default(),
            to_agent: Pending::default(),
            typing: Typing::default(),
            buffer: vec![0; MOST_OUTPUT],
            size: terminal.size(),
            gone: false,
            told: None,
            came: Vec::new(),
            notices: Vec::new(),
            at_line_start: true,
            started: 0,
            typed_at: None,
        }
    }

    pub fn start(&mut self, run: &Run) -> Result<Hosted, RunError> {
        self.size = self.terminal.size();
        let (settings, _) = self.terminal.settings();
        let pty = Pty::open(settings, self.size)?;
        let keeper = Keeper::start(run, &pty.slave, self.terminal, self.signals)?;
        let same = matches!((&self.log, &run.log), (Some(old), Some(new)) if old.dir() == new);
        if !same {
            self.finish_log();
            self.log = run.log.clone().map(Log::new);
        }
        self.started = self.started.saturating_add(1);
        if let Some(log) = &mut self.log {
            log.generation(self.started);
        }
        self.keys.forget();
        if self.typing.is_empty() {
            self.keys.forget_line();
        }
        self.typing.begin();
        self.told = None;
        Ok(Hosted {
            keeper,
            master: pty.master,
            open: true,
            by_us: false,
            ending: Vec::new(),
        })
    }

    /// Until the agent has ended and everything it printed is shown.
    pub fn attend(&mut self, mut hosted: Hosted, brain: &mut dyn Brain) -> Report {
        self.ask(&mut hosted, brain);
        let ended = loop {
            self.write_down();
            let ready = self.wait(&hosted, brain);
            if ready.has(Source::Signals) || !self.came.is_empty() {
                self.heed_signals(&mut hosted);
            }
            if ready.has(Source::Keeper)
                && let Some(ended) = self.heed_keeper(&mut hosted, brain)
            {
                break ended;
            }
            if ready.has(Source::Brain) {
                self.ask(&mut hosted, brain);
            }
            hosted.end_if_overdue();
            if ready.has(Source::Person) {
                self.read_person(&mut hosted, brain);
            }
            self.replay();
            self.write_agent(&mut hosted);
            if ready.has(Source::PersonHasRoom) {
                self.write_person();
            }
            // The agent has gone on while the person's terminal was full.
            let again = ready.has(Source::PersonHasRoom) && self.to_person.is_empty();
            if ready.has(Source::Agent) || again {
                self.read_pieces(&mut hosted, brain);
            }
            if self.gone && hosted.ending.is_empty() && self.told != Some(libc::SIGHUP) {
                self.hang_up(&mut hosted);
            }
        };
        self.drain(&mut hosted, brain);
        // What it did not take is its successor's, if there is one to be.
        let left = std::mem::take(&mut self.to_agent);
        self.typing.not_taken(left.bytes());
        let farewell = self.keys.last();
        Report {
            agent: hosted.agent(),
            ended: if self.gone {
                Ended::TerminalGone
            } else {
                ended
            },
            by_us: hosted.by_us,
            told: self.told,
            farewell: farewell.map(|(farewell, at)| (farewell, at.elapsed())),
            goodbye: self.typing.goodbye(),
        }
    }

    fn wait(&self, hosted: &Hosted, brain: &dyn Brain) -> Ready {
        let overdue = hosted.ending.iter().map(|(at, _)| *at).min();
        let (brain_fd, brain_at) = (brain.wake(), brain.wake_at());
        let replay_at = self.typing.next_at().filter(|_| self.to_agent.is_empty());
        let came = (!self.came.is_empty()).then(Instant::now);
        let until = [overdue, brain_at, replay_at, came].into_iter().flatten();
        let until = until.min();
        let mut wait = wait::Wait::until(until);
        wait.readable(Source::Signals, self.signals.wake());
        wait.readable(Source::Keeper, hosted.keeper.wake());
        if let Some(fd) = brain_fd {
            wait.readable(Source::Brain, fd);
        }
        if !self.gone && self.to_agent.is_empty() && self.typing.has_room() {
            wait.readable(Source::Person, self.terminal.input());
        }
        if !self.gone && !self.to_person.is_empty() {
            wait.writable(Source::PersonHasRoom, self.terminal.output());
        }
        // While the person's terminal is full, more from the agent would only wake us to keep it.
        if hosted.open && self.to_person.is_empty() {
            wait.readable(Source::Agent, hosted.master.as_fd());
        }
        if hosted.open && !self.to_agent.is_empty() {
            wait.writable(Source::AgentHasRoom, hosted.master.as_fd());
        }
        let mut ready = wait.wait();
        if brain_at.is_some_and(|at| at <= Instant::now()) {
            ready.add(Source::Brain);
        }
        ready
    }

    fn ask(&mut self, hosted: &mut Hosted, brain: &mut dyn Brain) {
        while let Some(control) = brain.control() {
            match control {
                Control::Enter(entry) => {
                    let entered = self.enter(hosted, brain, &entry);
                    brain.entered(entry.no, entered);
                }
                Control::End { agent, .. } if agent != hosted.agent() => {
                    brain.refused(agent, Some(hosted.agent()));
                }
                Control::End { grace, .. } => {
                    hosted.by_us = true;
                    hosted.end_with(libc::SIGTERM);
                    hosted.ending.push((Instant::now() + grace, libc::SIGKILL));
                }
                control => self.obey(control, brain),
            }
        }
    }

    /// What is wanted of the person's side alone.
    pub fn obey(&mut self, control: Control, brain: &mut dyn Brain) {
        match control {
            Control::Notice(text) => self.notices.push(text),
            Control::Hold => self.typing.hold(),
            Control::PassOn => self.typing.pass_on(),
            Control::Type(bytes) => self.to_agent.add(&bytes),
            Control::Replay => self.typing.replay(),
            Control::GiveBack => self.give_back(brain),
            Control::End { .. } => {}
            Control::Enter(entry) => brain.entered(entry.no, Entered::Nobody),
        }
    }

    /// Keys that no agent has got.
    pub fn give_back(&mut self, brain: &mut dyn Brain) {
        let bytes = self.typing.take();
        if !bytes.is_empty() {
            brain.unsent(&bytes);
        }
    }

    fn replay(&mut self) {
        if self.to_agent.is_empty()
            && let Some(bytes) = self.typing.next(Instant::now())
        {
            self.to_agent.add(&bytes);
        }
    }

    fn heed_signals(&mut self, hosted: &mut Hosted) {
        let came = std::mem::take(&mut self.came);
        for signal in came.into_iter().chain(self.signals.take()) {
            match signal {
                libc::SIGWINCH => self.follow_size(hosted),
                libc::SIGCONT => self.take_terminal(hosted),
                libc::SIGHUP => {
                    self.gone = true;
                    self.hang_up(hosted);
                }
                libc::SIGTERM | libc::SIGINT | libc::SIGQUIT => {
                    self.told = Some(signal);
                    hosted.keeper.signal(signal);
                }
                _ => hosted.keeper.signal(signal),
            }
        }
    }

    /// Some: the agent has ended.
    fn heed_keeper(&mut self, hosted: &mut Hosted, brain: &mut dyn Brain) -> Option<Ended> {
        while let Some(event) = hosted.keeper.event() {
            match event {
                Event::Stopped => self.stop_with(hosted, brain),
                Event::Continued => {}
                Event::Exited(code) => return Some(Ended::Exited(code)),
                Event::Signalled(signal) => return Some(Ended::Signalled(signal)),
                Event::Lost => {
                    // Nobody is left who could say more, or end it properly.
                    let agent = hosted.agent();
                    if agent.is_alive() {
                        let _ = sm_client::platform::signal_group(agent.pid, libc::SIGKILL);
                    }
                    return Some(Ended::Signalled(libc::SIGKILL));
                }
            }
        }
        None
    }

    /// The agent has stopped itself: so do we, and go on together.
    fn stop_with(&mut self, hosted: &mut Hosted, brain: &mut dyn Brain) {
        self.drain(hosted, brain);
        if !self.gone {
            self.terminal.restore();
            self.signals.stop_ourselves();
            self.take_terminal(hosted);
        }
        hosted.keeper.signal(libc::SIGCONT);
    }

    fn take_terminal(&mut self, hosted: &Hosted) {
        if !self.gone && self.terminal.make_raw().is_err() {
            self.gone = true;
        }
        self.follow_size(hosted);
    }

    /// The system tells the agent, if it is another size.
    fn follow_size(&mut self, hosted: &Hosted) {
        if !self.gone {
            self.size = self.terminal.size();
            let _ = rustix::termios::tcsetwinsize(&hosted.master, self.size);
        }
    }

    /// The terminal is closed, or somebody says so.
    fn hang_up(&mut self, hosted: &mut Hosted) {
        self.told = Some(libc::SIGHUP);
        self.to_person.clear();
        hosted.end_with(libc::SIGHUP);
        let now = Instant::now();
        hosted.ending.push((now + HANGUP_TERM, libc::SIGTERM));
        hosted.ending.push((now + HANGUP_KILL, libc::SIGKILL));
    }

    fn read_person(&mut self, hosted: &mut Hosted, brain: &mut dyn Brain) {
        let room = self.buffer.get_mut(..MOST_INPUT).unwrap_or_default();
        match self.terminal.read(room) {
            Ok(0) => self.gone = true,
            Ok(read) => {
                let typed = self.buffer.get(..read).unwrap_or_default();
                let passed = self.typing.is_passed_on();
                if passed {
                    self.to_agent.add(typed);
                    self.write_agent(hosted);
                }
                let typed = self.buffer.get(..read).unwrap_or_default();
                let now = Instant::now();
                if passed {
                    self.keys.saw(typed, now);
                } else {
                    let on = self.typing.saw(typed, &mut self.keys, now);
                    self.to_agent.add(&on);
                }
                brain.typed(typed);
                self.note_keys(read);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.gone = true,
        }
    }

    fn write_agent(&mut self, hosted: &mut Hosted) {
        while hosted.open && !self.to_agent.is_empty() {
            match rustix::io::write(&hosted.master, self.to_agent.bytes()) {
                Ok(0) | Err(Errno::AGAIN) => return,
                Ok(written) => self.to_agent.take(written),
                Err(Errno::INTR) => {}
                Err(_) => {
                    hosted.open = false;
                    self.to_agent.clear();
                }
            }
        }
    }

    /// Reads what there is, for a moment: whoever else wants something waits meanwhile. More is
    /// asked for at once only behind a piece that was full: asking for more than there is makes the
    /// system look for it, which takes longer than coming back.
    fn read_pieces(&mut self, hosted: &mut Hosted, brain: &mut dyn Brain) {
        for _ in 0..MOST_PIECES {
            if self.read_agent(hosted, brain) < FULL_PIECE || !self.to_person.is_empty() {
                return;
            }
        }
    }

    /// Reads a piece of what there is and passes it on; how much that was.
    fn read_agent(&mut self, hosted: &mut Hosted, brain: &mut dyn Brain) -> usize {
        let read = loop {
            match rustix::io::read(&hosted.master, &mut self.buffer) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return 0,
                Ok(0) | Err(_) => {
                    hosted.open = false;
                    return 0;
                }
                Ok(read) => break read,
            }
        };
        let buffer = std::mem::take(&mut self.buffer);
        let bytes = buffer.get(..read).unwrap_or_default();
        self.show(bytes);
        brain.shown(bytes, self.size.ws_col, self.size.ws_row);
        self.buffer = buffer;
        read
    }

    /// To the person first: nothing else is waited for.
    fn show(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        if !self.gone {
            // What the terminal takes at once is not copied first.
            let rest = match self.to_person.is_empty() && self.terminal.may_try() {
                true => self.write_some(bytes),
                false => bytes,
            };
            self.to_person.add(rest);
        }
        self.at_line_start = *last == b'\n';
        self.modes.saw(bytes);
        if let Some(log) = &mut self.log {
            log.shown(bytes);
        }
    }

    fn write_down(&mut self) {
        if let Some(log) = &mut self.log {
            log.write_down(self.size);
        }
    }

    /// Gives the person's terminal what it takes; what is left of it. A terminal that has not taken
    /// all of it is full: asking again would only hear so.
    fn write_some<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        loop {
            match self.terminal.write(bytes) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return bytes,
                Ok(written) => return bytes.get(written..).unwrap_or_default(),
                Err(_) => {
                    self.gone = true;
                    return &[];
                }
            }
        }
    }

    fn write_person(&mut self) {
        let mut pending = std::mem::take(&mut self.to_person);
        let left = self.write_some(pending.bytes()).len();
        pending.take(pending.bytes().len() - left);
        self.to_person = pending;
    }

    /// Shows everything that the agent has printed up to now.
    fn drain(&mut self, hosted: &mut Hosted, brain: &mut dyn Brain) {
        let mut drained = 0;
        self.flush();
        while hosted.open && drained < MOST_AFTER_THE_END {
            match self.read_agent(hosted, brain) {
                0 => return,
                read => drained += read,
            }
            self.flush();
        }
    }

    /// Waits until the person's terminal has taken everything, or is closed, or somebody wants us
    /// to end. A terminal that takes nothing (Ctrl+S) is waited for as its program would: nothing is
    /// lost. Every signal that comes meanwhile is kept for those who can heed it.
    pub fn flush(&mut self) {
        self.write_down();
        while !self.gone && !self.to_person.is_empty() {
            let mut wait = wait::Wait::until(None);
            wait.readable(Source::Signals, self.signals.wake());
            wait.writable(Source::PersonHasRoom, self.terminal.output());
            if wait.wait().has(Source::PersonHasRoom) {
                self.write_person();
                continue;
            }
            self.came.extend(self.signals.take());
            if let Some(signal) = self.came.iter().copied().find(|signal| ends(*signal)) {
                self.told = Some(signal);
                self.gone |= signal == libc::SIGHUP;
                self.to_person.clear();
            }
        }
    }

    /// Whether we were told to end while no agent could be asked to.
    pub fn ending_signal(&mut self) -> Option<i32> {
        let came = std::mem::take(&mut self.came);
        let ending = came
            .into_iter()
            .chain(self.signals.take())
            .find(|signal| ends(*signal));
        self.gone |= ending == Some(libc::SIGHUP);
        ending
    }

    /// Takes what the person has typed while no agent was there; the code to end with, if they want
    /// out.
    pub fn left(&mut self, brain: &mut dyn Brain) -> Option<i32> {
        let mut wait = wait::Wait::until(Some(Instant::now()));
        wait.readable(Source::Person, self.terminal.input());
        let mut goodbye = None;
        if !self.gone && wait.wait().has(Source::Person) {
            let room = self.buffer.get_mut(..MOST_INPUT).unwrap_or_default();
            match self.terminal.read(room) {
                Ok(0) => self.gone = true,
                Ok(read) => {
                    let typed = self.buffer.get(..read).unwrap_or_default();
                    goodbye = self.typing.between(typed, &mut self.keys, Instant::now());
                    brain.typed(typed);
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => self.gone = true,
            }
        }
        match self.gone {
            true => Some(Ended::TerminalGone.code()),
            false => goodbye.map(Farewell::code),
        }
    }

    /// Puts back what an agent that could not do so itself has left behind.
    pub fn undo_modes(&mut self, report: &Report) {
        let drawn = self.modes.drawn();
        let mut undo = self.modes.undo();
        // What it has drawn below the cursor would stand beside whatever follows.
        if drawn && (report.by_us || matches!(report.ended, Ended::Signalled(_))) {
            undo.extend_from_slice(b"\x1b[J");
        }
        self.show(&undo);
        self.flush();
    }

    pub fn notice(&mut self, text: impl Into<String>) {
        self.notices.push(text.into());
    }

    /// Shows the lines that had to wait until no agent draws.
    pub fn show_notices(&mut self) {
        for notice in std::mem::take(&mut self.notices) {
            let begin = if self.at_line_start { "" } else { "\r\n" };
            // From outside, some of it: it must not do anything to the terminal.
            let text: String = notice
                .chars()
                .map(|c| if c.is_control() { ' ' } else { c })
                .collect();
            self.show(format!("{begin}{text}\r\n").as_bytes());
        }
        self.flush();
    }

    pub fn finish_log(&mut self) {
        if let Some(mut log) = self.log.take() {
            log.finish(self.size);
        }
    }
}

/// Whether whoever sends it wants us to end.
fn ends(signal: i32) -> bool {
    matches!(
        signal,
        libc::SIGHUP | libc::SIGTERM | libc::SIGINT | libc::SIGQUIT
    )
}
