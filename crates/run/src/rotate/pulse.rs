//! A program without hooks tells nothing of itself: that it writes, and that it has been quiet for a
//! while, is all that a daemon can know of it. The same is told of a pane in tmux by its log
//! (`sm-hook log --quiet-ms`).
//!
//! The relay only leaves a mark here. It never waits for whoever tells, and nobody is woken for
//! output but after quiet.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use sm_agents::kind;
use sm_client::{Request, wire};
use sm_daemon::clock;

use super::session::Session;

/// For one word to the daemon.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two looks whether there is a daemon that does not know it yet.
const SEARCH: Duration = Duration::from_millis(500);
/// Nothing is told more often than this.
const APART: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Active,
    Quiet,
}

/// When the program has last written something.
pub struct Pulse {
    base: Instant,
    /// In milliseconds after the base; when it was started, as long as it has not written.
    last: AtomicU64,
    written: AtomicBool,
    /// Whoever tells sleeps until there is output.
    resting: AtomicBool,
    teller: OnceLock<Thread>,
}

impl Pulse {
    pub fn new(now: Instant) -> Self {
        Self {
            base: now,
            last: AtomicU64::new(0),
            written: AtomicBool::new(false),
            resting: AtomicBool::new(false),
            teller: OnceLock::new(),
        }
    }

    /// A program was started.
    pub fn begin(&self, now: Instant) {
        self.written.store(false, Ordering::SeqCst);
        self.mark(now);
    }

    /// It has written something.
    pub fn output(&self, now: Instant) {
        self.written.store(true, Ordering::SeqCst);
        self.mark(now);
    }

    fn mark(&self, now: Instant) {
        let after = now.saturating_duration_since(self.base).as_millis();
        let after = u64::try_from(after).unwrap_or(u64::MAX);
        self.last.store(after, Ordering::SeqCst);
        if self.resting.swap(false, Ordering::SeqCst)
            && let Some(teller) = self.teller.get()
        {
            teller.unpark();
        }
    }

    /// What is known, and when it will be something else if nothing is written. Before the first
    /// output nothing is, until it has been quiet for so long.
    fn now(&self, quiet: Duration, now: Instant) -> (Option<Output>, Option<Instant>) {
        let ends = self.base + Duration::from_millis(self.last.load(Ordering::SeqCst)) + quiet;
        if now >= ends {
            return (Some(Output::Quiet), None);
        }
        let written = self.written.load(Ordering::SeqCst);
        (written.then_some(Output::Active), Some(ends))
    }
}

/// Tells a daemon that has this run what its program does; until `over`.
pub fn keep(session: Arc<Session>, over: Arc<AtomicBool>) -> std::io::Result<()> {
    if kind::profile(session.setup.agent).has_transcript {
        return Ok(()); // its hooks tell more
    }
    std::thread::Builder::new()
        .name("sm-run-pulse".to_owned())
        .spawn(move || {
            let _ = session.pulse.teller.set(std::thread::current());
            let mut told = None;
            while !over.load(Ordering::SeqCst) && !session.link.is_over() {
                let wait = session.tell_pulse(&mut told);
                std::thread::park_timeout(wait.max(APART));
            }
        })
        .map(|_| ())
}

impl Session {
    /// `told`: what the daemon knows, and the report of the run that it belongs to: whoever was told
    /// of the run anew has to be told this as well. How long there is nothing to do.
    fn tell_pulse(&self, told: &mut Option<(u64, Output)>) -> Duration {
        let (what, ends) = self.pulse.now(self.setup.quiet, Instant::now());
        let wanted = self.link.report().zip(what);
        if wanted != *told
            && let Some((_, what)) = wanted
        {
            *told = wanted.filter(|_| self.tell_output(what));
        }
        let left = ends.map(|ends| ends.saturating_duration_since(Instant::now()));
        match left {
            Some(left) if wanted.is_some() && wanted == *told => left,
            Some(left) => left.min(SEARCH),
            None => {
                self.pulse.resting.store(true, Ordering::SeqCst);
                match self.pulse.now(self.setup.quiet, Instant::now()) {
                    (Some(Output::Quiet), _) => SEARCH,
                    (Some(Output::Active) | None, _) => Duration::ZERO, // it has just begun
                }
            }
        }
    }

    fn tell_output(&self, what: Output) -> bool {
        let body: &[u8] = match what {
            Output::Active => b"{\"active\":true}",
            Output::Quiet => b"{\"active\":false}",
        };
        let at = clock::now().0;
        let request = Request::post("/hooks/generic/output")
            .header(wire::SESSION_HEADER, &self.setup.id)
            .header(wire::SECRET_HEADER, &self.setup.secret)
            .header(wire::EVENT_ID_HEADER, &format!("{}-{at:x}", self.setup.id))
            .header(wire::AT_HEADER, &at.to_string())
            .json(body);
        let answer = self.ask_daemon(&request, PATIENCE);
        // Refused is told, too: saying it again changes nothing.
        answer.is_some_and(|answer| answer.status() < 500)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_before_the_first_output_or_the_first_quiet() {
        let start = Instant::now();
        let ms = |n| Duration::from_millis(n);
        let pulse = Pulse::new(start);
        let known = |at| pulse.now(ms(500), start + ms(at));
        pulse.begin(start + ms(100));
        assert_eq!(known(200), (None, Some(start + ms(600))));
        assert_eq!(known(600), (Some(Output::Quiet), None));
        pulse.output(start + ms(700));
        assert_eq!(known(700), (Some(Output::Active), Some(start + ms(1200))));
        pulse.output(start + ms(1100));
        assert_eq!(known(1300), (Some(Output::Active), Some(start + ms(1600))));
        assert_eq!(known(1600), (Some(Output::Quiet), None));
        // another program in its place
        pulse.begin(start + ms(1700));
        assert_eq!(known(1800), (None, Some(start + ms(2200))));
    }
}
