//! Keys, signals, the clock and the daemon joined to the screen.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use sm_core::confirm_key::Arrival;
use sm_run::Signals;

use super::app::{App, Update, Wish};
use super::draw;
use super::feed::{self, Feed};
use super::input::Input;
use super::screen::Screen;
use super::terminal::{Terminal, size_of};
use crate::client::Daemon;
use crate::error::{CommandError, ExitCode, Result};
use crate::print::Printer;

/// How often the clock is looked at: ages change, and what is old is asked for again.
const TICK: Duration = Duration::from_secs(1);
const RESTLESS: Duration = Duration::from_millis(200);
/// What others do is drawn at most this often, however much it is. Keys are answered at once.
const FRAME: Duration = Duration::from_millis(50);
/// After so long an Escape is no beginning of anything.
const ESCAPE: Duration = Duration::from_millis(40);

/// What ends it.
enum End {
    Asked,
    Signal(i32),
}

struct Watching<'a> {
    app: App,
    feed: Feed,
    terminal: &'a Terminal,
    /// None while another program has the terminal.
    signals: Option<Signals>,
    input: Input,
    /// Everything has to be drawn anew.
    damaged: bool,
    drawn_at: Instant,
}

pub fn run(app: App, feed: Feed, terminal: &Terminal, out: &mut Printer) -> Result<ExitCode> {
    let lost = |error: std::io::Error| {
        CommandError::not_usable(format!("cannot use this terminal: {error}"))
    };
    let mut watching = Watching {
        app,
        feed,
        terminal,
        signals: Some(listen()?),
        input: Input::default(),
        damaged: false,
        drawn_at: Instant::now(),
    };
    let output = terminal.output().map_err(lost)?;
    let measured = output.try_clone().map_err(lost)?;
    let screen = Screen::new(output, move || {
        use std::os::fd::AsFd;
        size_of(measured.as_fd())
    });
    terminal.enter().map_err(lost)?;
    let mut drawn = ratatui::Terminal::new(screen).map_err(lost)?;
    let mut ticked = Instant::now();
    let end = loop {
        if std::mem::take(&mut watching.damaged) {
            drawn.clear().map_err(lost)?;
        }
        drawn
            .draw(|frame| draw::draw(&watching.app, frame))
            .map_err(lost)?;
        watching.drawn_at = Instant::now();
        watching.app.drawn(watching.drawn_at);
        if let Some(end) = watching.wait(&mut ticked, out)? {
            break end;
        }
        // A panic of another thread has given it back and said why.
        if !Terminal::is_ours() {
            return Ok(ExitCode::FAILURE);
        }
    };
    terminal.leave();
    Ok(match end {
        End::Asked => ExitCode::SUCCESS,
        End::Signal(signal) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
    })
}

fn listen() -> Result<Signals> {
    Signals::listen().map_err(|error| CommandError::not_usable(error.to_string()))
}

fn time(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(1),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

impl Watching<'_> {
    /// Waits for whatever comes first, and does what it means.
    fn wait(&mut self, ticked: &mut Instant, out: &mut Printer) -> Result<Option<End>> {
        let every = if self.app.is_restless() {
            RESTLESS
        } else {
            TICK
        };
        let mut patience = every.saturating_sub(ticked.elapsed());
        if self.input.is_waiting() {
            patience = patience.min(ESCAPE);
        }
        let now = Instant::now();
        if let Some(at) = self.app.next_change(now) {
            patience = patience.min(at.saturating_duration_since(now));
        }
        let (keys, hung_up) = self.sleep(patience);
        let mut wishes = Vec::new();
        for signal in self
            .signals
            .iter()
            .flat_map(Signals::take)
            .collect::<Vec<_>>()
        {
            match signal {
                s if s == Signal::WINCH.as_raw() => {
                    let size = self.terminal.size();
                    wishes.extend(self.app.told(Update::Resized(size.width, size.height)));
                    self.damaged = true;
                }
                s if s == Signal::TSTP.as_raw() => wishes.push(Wish::Suspend),
                // Somebody let us go on: the shell may have set the terminal as it likes it.
                s if s == Signal::CONT.as_raw() => self.again()?,
                s if [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT]
                    .iter()
                    .any(|ends| ends.as_raw() == s) =>
                {
                    return Ok(Some(End::Signal(s)));
                }
                _ => {}
            }
        }
        if hung_up {
            return Ok(Some(End::Signal(Signal::HUP.as_raw())));
        }
        wishes.extend(self.app.told_all(self.feed.take()));
        if ticked.elapsed() >= every {
            *ticked = Instant::now();
            wishes.extend(self.app.told(Update::Tick(Timestamp::now())));
        }
        let keys = match keys {
            Some(bytes) => self.input.feed(&bytes),
            None if self.input.is_waiting() => self.input.settle(),
            None => Vec::new(),
        };
        let now = Instant::now();
        // What was typed comes before what is due without it.
        if keys.is_empty() {
            wishes.extend(self.app.settle(now));
        }
        let arrival = Arrival::of_read(keys.len());
        for key in keys {
            wishes.extend(self.app.key_of_read(key, arrival, now));
        }
        for wish in wishes {
            match wish {
                Wish::Quit => return Ok(Some(End::Asked)),
                Wish::Suspend => {
                    self.terminal.leave();
                    if let Some(signals) = &self.signals {
                        signals.stop_ourselves();
                    }
                    self.again()?;
                }
                Wish::Redraw => self.damaged = true,
                Wish::Attach(session) => self.attach(&session, out)?,
                Wish::Fetch(..) | Wish::Receipt { .. } | Wish::Send { .. } | Wish::Do(..) => {
                    self.feed.ask(wish);
                }
            }
        }
        Ok(None)
    }

    /// What was typed, and whether the terminal is gone.
    fn sleep(&self, patience: Duration) -> (Option<Vec<u8>>, bool) {
        let Some(signals) = &self.signals else {
            return (None, false);
        };
        let mut fds = [
            PollFd::from_borrowed_fd(self.terminal.input(), PollFlags::IN),
            PollFd::from_borrowed_fd(signals.wake(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.feed.wake(), PollFlags::IN),
        ];
        // The picture stays for a moment, whatever the daemon says: only the person is listened to.
        let still = FRAME.saturating_sub(self.drawn_at.elapsed()).min(patience);
        let early = match still.is_zero() {
            true => Ok(0),
            false => poll(&mut fds[..2], Some(&time(still))),
        };
        let came = match early {
            Ok(0) => poll(&mut fds, Some(&time(patience.saturating_sub(still)))),
            early => early,
        };
        // Interrupted by a signal: it is looked for in any case.
        if came.is_err() {
            return (None, false);
        }
        let came = fds[0].revents();
        if came.contains(PollFlags::IN) {
            let mut bytes = vec![0; 4096];
            return match rustix::io::read(self.terminal.input(), &mut bytes) {
                Ok(0) => (None, true),
                Ok(length) => {
                    bytes.truncate(length);
                    (Some(bytes), false)
                }
                Err(error) => (None, error == rustix::io::Errno::IO),
            };
        }
        let gone = came.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        (None, gone)
    }

    /// Takes the terminal again; it may have another size now.
    fn again(&mut self) -> Result<()> {
        self.terminal.enter().map_err(|error| {
            CommandError::not_usable(format!("cannot use this terminal: {error}"))
        })?;
        let size = self.terminal.size();
        for wish in self.app.told(Update::Resized(size.width, size.height)) {
            self.feed.ask(wish);
        }
        self.damaged = true;
        Ok(())
    }

    /// The terminal is the session's until the person leaves it.
    fn attach(&mut self, session: &str, out: &mut Printer) -> Result<()> {
        self.terminal.leave();
        // Its signals are those of any program until then.
        self.signals = None;
        let attached = Daemon::open().and_then(|daemon| crate::attach::run(&daemon, session, out));
        let attached = attached.and_then(|()| out.flush());
        self.signals = Some(listen()?);
        self.again()?;
        if let Err(error) = attached {
            self.app.told(Update::Failed(feed::told(&error)));
        }
        Ok(())
    }
}
