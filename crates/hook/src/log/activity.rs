//! Telling the daemon when output begins and when it has been quiet.
//!
//! Never waits: the request is sent, and its answer is read when it is there. What could not be
//! told is told later, if it is still so.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use sm_client::http::Connection;
use sm_client::{Client, Paths};

use crate::caller::Caller;

/// Connecting and sending take microseconds, or the daemon is stopped.
const SENDING: Duration = Duration::from_millis(100);
const ANSWERING: Duration = Duration::from_secs(2);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Active,
    Quiet,
}

pub struct Activity {
    client: Client,
    session: String,
    key: Option<String>,
    quiet_after: Duration,
    last_output: Instant,
    /// Not known before the first output or the first quiet time.
    now: Option<Output>,
    told: Option<Output>,
    telling: Option<(Connection, Output, Instant)>,
    retry_at: Instant,
    retry_after: Duration,
}

impl Activity {
    pub fn new(
        paths: Paths,
        session: &str,
        key: Option<String>,
        quiet_after: Duration,
        now: Instant,
    ) -> Self {
        Self {
            client: Client::new(paths),
            session: session.to_owned(),
            key,
            quiet_after,
            last_output: now,
            now: None,
            told: None,
            telling: None,
            retry_at: now,
            retry_after: FIRST_RETRY,
        }
    }

    pub fn output(&mut self, now: Instant) {
        self.last_output = now;
        self.now = Some(Output::Active);
        self.tell(now);
    }

    /// Where the daemon's answer comes from.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.telling
            .as_ref()
            .map(|(connection, ..)| connection.as_fd())
    }

    /// When something is to be done without output; `None`: never.
    pub fn wake_at(&self) -> Option<Instant> {
        let quiet = (self.now != Some(Output::Quiet)).then(|| self.last_output + self.quiet_after);
        let told = match &self.telling {
            Some((.., deadline)) => Some(*deadline),
            None => (self.now.is_some() && self.now != self.told).then_some(self.retry_at),
        };
        quiet.into_iter().chain(told).min()
    }

    pub fn step(&mut self, answer_is_there: bool, now: Instant) {
        if self.now != Some(Output::Quiet) && now >= self.last_output + self.quiet_after {
            self.now = Some(Output::Quiet);
        }
        if let Some((mut connection, what, deadline)) = self.telling.take() {
            if answer_is_there {
                match connection.head(Instant::now() + SENDING) {
                    // Refused is told, too: saying it again changes nothing.
                    Ok(head) if head.status < 500 => {
                        self.told = Some(what);
                        self.retry_after = FIRST_RETRY;
                    }
                    Ok(_) | Err(_) => self.later(now),
                }
            } else if now >= deadline {
                self.later(now);
            } else {
                self.telling = Some((connection, what, deadline));
            }
        }
        self.tell(now);
    }

    fn tell(&mut self, now: Instant) {
        let Some(what) = self.now else { return };
        if self.telling.is_some() || self.told == Some(what) || now < self.retry_at {
            return;
        }
        let body: &[u8] = match what {
            Output::Active => b"{\"active\":true}",
            Output::Quiet => b"{\"active\":false}",
        };
        let caller = Caller::new(self.session.clone(), self.key.clone());
        let deadline = Instant::now() + SENDING;
        let sent = self.client.connect(deadline).and_then(|mut connection| {
            connection.send(&caller.post("/hooks/generic/output", body), deadline)?;
            Ok(connection)
        });
        match sent {
            Ok(connection) => self.telling = Some((connection, what, now + ANSWERING)),
            Err(_) => self.later(now),
        }
    }

    fn later(&mut self, now: Instant) {
        self.retry_at = now + self.retry_after;
        self.retry_after = (self.retry_after * 2).min(LONGEST_RETRY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_wakes_for_the_quiet_and_then_only_to_tell() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().as_os_str().to_owned();
        let paths = Paths::resolve(|key| (key == "SM_HOME").then(|| home.clone()), 0).unwrap();
        let start = Instant::now();
        let ms = Duration::from_millis;
        let mut activity = Activity::new(paths, "s", None, ms(500), start);
        assert_eq!(activity.wake_at(), Some(start + ms(500)));
        // No daemon: output cannot be told now, and quiet comes before the next try.
        activity.output(start + ms(100));
        assert_eq!(activity.wake_at(), Some(start + ms(600)));
        activity.step(false, start + ms(600));
        assert_eq!(activity.now, Some(Output::Quiet));
        assert_eq!(activity.wake_at(), Some(start + ms(1100)));
        activity.step(false, start + ms(1100));
        assert_eq!(activity.wake_at(), Some(start + ms(3100)));
        // Told at last: nothing more to wake for.
        activity.told = Some(Output::Quiet);
        assert_eq!(activity.wake_at(), None);
    }
}
