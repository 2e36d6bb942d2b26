//! The status line's command: one at a time, the newest state first.
//!
//! As in the real program, no call overtakes an older one, and what is outdated before its turn
//! comes is never asked: a command that tells what it read would otherwise tell it too late.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use super::hooks::{self, Surroundings};
use super::messages::Msg;

const LIMIT: Duration = Duration::from_secs(5);

/// One state to be shown.
pub(super) struct Ask {
    pub command: String,
    pub stdin: String,
    pub cwd: PathBuf,
    pub session: String,
}

/// Where the agent leaves what is to be shown; nobody waits for it.
pub(super) struct StatusLine(Sender<Ask>);

impl StatusLine {
    pub(super) fn new(ui: Sender<Msg>) -> Self {
        let (asks, inbox) = channel();
        thread::spawn(move || show(&inbox, &ui));
        Self(asks)
    }

    pub(super) fn ask(&self, ask: Ask) {
        // it is gone only when the program ends
        let _ = self.0.send(ask);
    }
}

fn show(inbox: &Receiver<Ask>, ui: &Sender<Msg>) {
    while let Ok(first) = inbox.recv() {
        let ask = inbox.try_iter().last().unwrap_or(first);
        let around = Surroundings {
            cwd: &ask.cwd,
            session: &ask.session,
            role: "harness",
        };
        if let Ok(running) = hooks::start(&around, &ask.command, &ask.stdin, None) {
            let ended = running.finish(LIMIT, None);
            let line = ended.stdout.lines().next().unwrap_or_default().to_owned();
            let _ = ui.send(Msg::StatusLine(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_overtakes_another_and_the_newest_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        let told = dir.path().join("told");
        let gate = dir.path().join("gate");
        let made = std::process::Command::new("mkfifo").arg(&gate).status();
        assert!(made.unwrap().success());
        let (ui, shown) = channel();
        let line = StatusLine::new(ui);
        let ask = |stdin: &str| {
            line.ask(Ask {
                command: format!(
                    "read n; [ $n != 1 ] || read go < {}; echo $n >> {}; echo line $n",
                    gate.display(),
                    told.display()
                ),
                stdin: format!("{stdin}\n"),
                cwd: dir.path().to_owned(),
                session: "s".into(),
            });
        };
        ask("1");
        // opens when the first one reads: the others come while it is under way
        let mut open = std::fs::OpenOptions::new().write(true).open(&gate).unwrap();
        for n in ["2", "3", "4"] {
            ask(n);
        }
        std::io::Write::write_all(&mut open, b"go\n").unwrap();
        drop(open);
        let next = || match shown.recv_timeout(Duration::from_secs(30)).unwrap() {
            Msg::StatusLine(line) => line,
            _ => panic!("something else was said"),
        };
        assert_eq!((next(), next()), ("line 1".into(), "line 4".into()));
        assert_eq!(std::fs::read_to_string(told).unwrap(), "1\n4\n");
    }
}
