//! kill -9 of the daemon at any point, and starting again: what was in memory is gone, what was
//! journaled is not, and what nobody heard is in the spool.

use super::daemon::Input;
use super::options::Mutation;
use super::world::{Item, World, tr};
use sm_core::message::Message;
use sm_core::{Event, Session};
use std::collections::VecDeque;

impl World {
    pub(super) fn crash_point(&mut self, place: &str) -> bool {
        if !self.daemon.up {
            return true;
        }
        self.stats.crash_points += 1;
        let chosen = self.options.crash_at == Some(self.stats.crash_points);
        if !chosen && !self.fault(self.options.faults.crash) {
            return false;
        }
        tr!(self, "CRASH {place}");
        self.crash();
        true
    }

    /// kill -9 of the daemon.
    pub fn crash(&mut self) {
        if !self.daemon.up {
            return;
        }
        self.stats.crashes += 1;
        self.daemon.up = false;
        self.daemon.tick_at = None;
        self.drop_connections();
        let after = self.rng.between(20, 2_500);
        self.at(after, Item::Restart);
    }

    pub(super) fn restart(&mut self) {
        let profile = self.options.profile();
        let journal = &self.daemon.journal;
        let (done, open): (Vec<Message>, Vec<Message>) = journal
            .messages
            .iter()
            .cloned()
            .partition(|m| m.meta.state.is_final());
        let finals: VecDeque<Message> = done.into();
        let mut record = journal.record.clone();
        if self.options.mutation == Mutation::GaugeInMemory {
            record.gauge = Default::default();
        }
        let mut session = Session::restore(record, profile, "/data/s1".into(), open, finals);
        self.options.configure(&mut session);
        self.daemon.session = session;
        self.daemon.up = true;
        self.daemon.incarnation += 1;
        self.daemon.cursors.clear(); // read again from the beginning
        self.daemon.followed = None;
        tr!(self, "RESTART");
        // a launcher waits for a handoff only: without one its pane has ended with the agent
        let waits = self.daemon.session.record().is_relaunched();
        // what a launch before this one has to report is of a terminal that is gone
        let present = self.daemon.session.record().launch;
        let of_present = |report: &Input| match report {
            Input::Started { launch } | Input::Exited { launch, .. } => *launch == present,
            _ => true,
        };
        let reported = self.daemon.launch_spool.iter().any(of_present);
        let terminal_alive = self.terminal_alive && (self.agent.alive() || waits || reported);
        if !self.step_session(Event::Recovered { terminal_alive }) {
            return;
        }
        for (to, message) in self.daemon.journal.outbox.clone() {
            self.check_told(&to, &message);
        }
        self.daemon.journal.outbox.clear();
        for input in std::mem::take(&mut self.daemon.launch_spool) {
            self.at(1, Item::Report(input));
        }
        self.input(5, Input::Title);
        self.clear_again();
        self.read_spool();
    }

    pub(super) fn read_spool(&mut self) {
        let spooled = std::mem::take(&mut self.spool);
        for (at, hook) in spooled.iter().enumerate() {
            if !self.daemon.up {
                // it died while reading: the rest is still there
                self.spool = spooled[at..].to_vec();
                return;
            }
            self.take(Input::Hook {
                hook: *hook,
                by_spool: true,
            });
        }
    }

    pub(super) fn client_sends(&mut self, message: usize) {
        let new = self.sent[message].new.clone();
        if !self.daemon.up {
            self.at(400, Item::Client { message });
            return;
        }
        if self.take(Input::Event(Event::Send(new))) {
            self.give_past_the_freeze(message);
            let first = !self.sent[message].accepted;
            self.sent[message].accepted = true;
            if first && self.fault(100) {
                self.at(900, Item::Client { message }); // its answer got lost: it repeats
            }
        } else {
            self.at(600, Item::Client { message });
        }
    }
}
