//! The states of a session and how long each may last; exit, loss, and going on after a crash of the
//! daemon.

use super::{Host, Phase, Session, State, ToolCalls};
use crate::effect::{Effect, EntryKind, NoticeKind};
use crate::handoff::{Handoff, HandoffState};
use crate::ids::{SessionName, Timestamp, TurnId};
use crate::pins;
use crate::profile::Input;

/// How long after a launch, and after each look, a starting agent is looked at again.
const STARTING_LOOKS: [i64; 6] = [700, 700, 1000, 2000, 4000, 8000];
/// A working agent that gave no sign for this long is looked at.
const WORKING_LOOK: i64 = 20_000;
const WAITING_LOOK: i64 = 10_000;
const COMPACTING_LOOK: i64 = 20_000;
/// An idle agent is looked at too, ever more rarely: the hook of a prompt may have been lost.
const IDLE_LOOKS: [i64; 4] = [30_000, 60_000, 120_000, 300_000];
/// The record of a process that has ended is read soon, then ever more rarely.
const RECORD_LOOK: i64 = 500;
/// A process that is gone is reported by its launcher within this time, or nobody reports it.
const REPORT_PATIENCE: i64 = 5_000;
/// The signal that a program gets when its terminal is closed.
const HANGUP: i32 = 1;
/// The signal of Ctrl+C.
const INTERRUPT: i32 = 2;
/// Shells add the number of the signal that ended a program.
const SIGNALLED: i32 = 128;

impl Session {
    /// Moves to a state. The same state with a new reason only changes the reason.
    pub(super) fn become_state(&mut self, state: State, why: impl Into<String>, now: Timestamp) {
        let why = why.into();
        if self.rec.state == state {
            if self.rec.why != why {
                self.rec.why = why;
                self.journal();
            }
            self.tell_named_dialog();
            self.arm_check(now);
            return;
        }
        self.record_line(EntryKind::State, format!("{}: {why}", state.word()));
        match state {
            State::Waiting(ref need) => self.announce_dialog(need, &why, now),
            State::Starting
            | State::Working
            | State::Idle
            | State::Compacting
            | State::Exited
            | State::Lost => self.dialog_over(),
        }
        self.rec.state = state;
        self.rec.since = now;
        self.rec.why = why;
        self.checks = 0;
        self.rechecks = 0;
        self.pastes_refused = 0;
        self.recheck_at = now;
        self.told_hold = false;
        self.arm_check(now);
        if self
            .rec
            .flight
            .as_ref()
            .is_some_and(|f| f.phase.touched_agent())
        {
            let soon = now.plus(20);
            self.flight_at = self.flight_at.map(|at| at.min(soon));
        }
        self.journal();
    }

    /// Every state that could be untrue has a moment at which the other signals are asked.
    pub(super) fn arm_check(&mut self, now: Timestamp) {
        let wait = match self.rec.state {
            State::Starting => {
                let at = (self.checks as usize).min(STARTING_LOOKS.len() - 1);
                Some(STARTING_LOOKS[at])
            }
            State::Working => Some(WORKING_LOOK),
            State::Waiting(_) => Some(WAITING_LOOK),
            State::Compacting => Some(COMPACTING_LOOK),
            State::Idle => {
                let at = (self.checks as usize).min(IDLE_LOOKS.len() - 1);
                Some(IDLE_LOOKS[at])
            }
            State::Exited | State::Lost => None,
        };
        let wait = match self.unasked() || self.awaits_record_of_wake() {
            true => wait.map(|ms| ms.min(RECORD_LOOK << self.checks.min(6))),
            false => wait,
        };
        self.check_at = wait.map(|ms| now.plus(ms));
    }

    pub(super) fn check(&mut self, now: Timestamp) {
        self.checks = self.checks.saturating_add(1);
        self.arm_check(now);
        if (self.rec.state.is_live() && self.rec.launch > 0) || self.asks_record() {
            self.ask(now);
        }
    }

    /// Asks every source, unless somebody has already asked.
    pub(super) fn ask(&mut self, now: Timestamp) {
        if self.probe.is_some() {
            return;
        }
        let ours = self.composer_text();
        let no = self.next_probe;
        self.next_probe += 1;
        self.probe = Some(super::PendingProbe {
            no,
            asked_at: now,
            flight: self.rec.flight.as_ref().map(|flight| flight.no),
            generation: self.rec.generation,
        });
        self.effect(Effect::Probe { probe: no, ours });
    }

    pub(super) fn rename(&mut self, name: SessionName) {
        if self.rec.name == name {
            return;
        }
        self.record_line(
            EntryKind::Name,
            format!("{} is now called {name}", self.rec.name),
        );
        self.rec.name = name;
        self.journal();
    }

    /// Whoever asks has made sure that there is room.
    pub(super) fn pin(&mut self, text: String) {
        if self.rec.pins.len() < pins::MOST && !self.rec.pins.contains(&text) {
            self.record_line(EntryKind::Context, format!("pinned: {text}"));
            self.rec.pins.push(text);
            self.journal();
        }
    }

    pub(super) fn unpin(&mut self, text: &str) {
        let before = self.rec.pins.len();
        self.rec.pins.retain(|pin| pin != text);
        if self.rec.pins.len() < before {
            self.record_line(EntryKind::Context, format!("no longer pinned: {text}"));
            self.journal();
        }
    }

    pub(super) fn exited(
        &mut self,
        launch: u32,
        code: Option<i32>,
        signal: Option<i32>,
        now: Timestamp,
    ) {
        if launch != self.rec.launch || !self.rec.state.is_live() {
            return;
        }
        let said = self.said_at_start();
        if let (Some(why), false) = (self.left_by_person(code, signal), self.rec.ending) {
            // Whoever leaves the terminal that a program runs in wants its end, and is told nothing.
            self.rec.ending = true;
            self.end(code, why.to_owned(), now);
            return;
        }
        let why = match (self.rec.ending, code, signal) {
            (true, _, _) => "it was ended with sm kill".to_string(),
            (false, Some(0), _) => "the agent ended by itself (exit code 0)".to_string(),
            (false, Some(code), _) => format!("the agent ended with exit code {code}{said}"),
            (false, None, Some(signal)) => format!("the agent was killed by signal {signal}"),
            (false, None, None) => "the agent ended; its exit code is not known".to_string(),
        };
        if !self.handoff_after_exit(code, now) {
            self.end(code, why, now);
        }
    }

    /// How a person has left a run in a terminal of their own: by a signal, or by the code that
    /// shells make of it.
    fn left_by_person(&self, code: Option<i32>, signal: Option<i32>) -> Option<&'static str> {
        if self.rec.host != Host::Run {
            return None;
        }
        let signal = match code {
            Some(code) => code.checked_sub(SIGNALLED)?,
            None => signal?,
        };
        match signal {
            HANGUP => Some("its terminal was closed"),
            INTERRUPT => Some("it was left with Ctrl+C"),
            _ => None,
        }
    }

    pub(super) fn end(&mut self, code: Option<i32>, why: String, now: Timestamp) {
        self.rec.exit_code = code;
        self.rec.process = None;
        self.rec.was_lost = false;
        self.gone_since = None;
        self.turn_over(" (the agent ended)", now);
        let surprise = !self.rec.ending && code != Some(0);
        self.waiters.clear();
        self.probe = None;
        self.record_line(EntryKind::Exit, why.clone());
        self.leave_limit(now);
        self.become_state(State::Exited, why.clone(), now);
        self.effect(Effect::CloseTerminal);
        if let Some(flight) = self.rec.flight.take() {
            self.flight_at = None;
            for id in flight.messages {
                let touched = flight.phase.touched_agent();
                let reason = if touched {
                    format!("{why}, before it was proven that the message had arrived")
                } else {
                    self.exited_reason()
                };
                self.fail(&id, reason, now);
            }
        }
        self.consume_submitted(now); // an interrupt may have been under way
        self.ask_record(now);
        let reason = self.exited_reason();
        self.fail_all(&reason, now);
        if surprise {
            let text = format!(
                "{}: {why}. Start it again with: sm restore {}",
                self.rec.name, self.rec.id
            );
            self.notify(NoticeKind::SessionExited, text);
        }
    }

    /// By its id: others may have had its name, or may get it.
    pub(super) fn exited_reason(&self) -> String {
        format!(
            "the session has ended ({}); start it again with: sm restore {}",
            self.rec.why, self.rec.id
        )
    }

    pub(super) fn terminal_gone(&mut self, launch: u32, now: Timestamp) {
        if launch != self.rec.launch {
            return; // another one has taken its place
        }
        self.lose(self.gone_with(), now);
    }

    pub(super) fn lose(&mut self, why: &str, now: Timestamp) {
        if !self.rec.state.is_live() {
            return;
        }
        if self.rec.ending {
            self.abandon_handoff(now);
            self.end(None, "it was ended with sm kill".into(), now);
            return;
        }
        let scheduled = |h: &Handoff| h.state == HandoffState::Scheduled;
        if self.rec.open_handoff().is_some_and(scheduled) && self.preparing.is_none() {
            self.prepare(now); // kept for a restore, with what the terminal showed
        }
        self.rec.lost_process = self.rec.process.take().or(self.rec.lost_process);
        self.close_turn(" (its terminal is gone)");
        self.waiters.clear();
        self.probe = None;
        self.flight_at = None;
        let (name, id) = (self.rec.name.clone(), self.rec.id.clone());
        self.become_state(State::Lost, why, now);
        self.ask_record(now);
        self.notify(
            NoticeKind::SessionLost,
            format!(
                "{name} is lost: {why}. Its messages wait; bring it back with: sm restore {id}"
            ),
        );
    }

    pub(super) fn kill(&mut self, now: Timestamp) {
        match self.rec.state {
            State::Exited => {
                self.abandon_handoff(now);
            }
            State::Lost => {
                self.abandon_handoff(now);
                self.end(None, "it was lost, and then ended with sm kill".into(), now);
            }
            State::Starting
            | State::Working
            | State::Idle
            | State::Waiting(_)
            | State::Compacting => {
                self.rec.ending = true;
                if !self.prompt_may_be_entered() {
                    self.abandon_handoff(now); // at once: between two processes nobody ends
                }
                self.journal();
                self.effect(Effect::Terminate);
            }
        }
    }

    /// Evidence first: nothing is done again before it is known what had been done.
    pub(super) fn recovered(&mut self, terminal_alive: bool, now: Timestamp) {
        self.waiters.clear();
        self.probe = None;
        self.recover_monitor(now);
        if !self.rec.state.is_live() {
            self.ask_record(now);
            return;
        }
        if !terminal_alive {
            let why = match (&self.rec.state, self.rec.process) {
                (State::Starting, None) => "sm was restarted before the agent had started",
                _ => self.gone_with(),
            };
            self.lose(why, now);
            return;
        }
        if self.rec.ending {
            self.effect(Effect::Terminate);
        }
        match self.rec.flight.as_mut() {
            Some(flight) if flight.phase.touched_agent() => {
                if !self.profile.reads_screen && self.profile.input == Input::Terminal {
                    // nobody can see what was done: Enter, so that nothing else is mixed with it
                    flight.unsure |= flight.phase == Phase::Writing;
                    flight.phase = Phase::Verifying;
                }
                flight.phase_since = now; // patience starts again: the agent may be behind
                self.flight_at = Some(now.plus(50));
                self.journal();
            }
            // what it interrupted may have been taken back; if the agent still works after a
            // while, Escape was never pressed
            Some(flight) if flight.phase == Phase::Interrupting => {
                flight.phase_since = now;
                self.flight_at = Some(now.plus(50));
                for id in flight.messages.clone() {
                    self.unmark_interrupted(&id);
                }
            }
            Some(_) => self.drop_flight(),
            None => {}
        }
        self.arm_check(now);
        self.ask(now);
        self.recover_handoff(now);
    }

    /// Ends the turn, once.
    pub(super) fn close_turn(&mut self, how: &str) {
        if !self.rec.asked.is_empty() {
            self.open_turn(); // a turn of its own, even if nobody heard it begin
        }
        if self.rec.turn_open {
            self.rec.turn_open = false;
            self.rec.calls = ToolCalls::default();
            self.opening_over();
            self.record_line(
                EntryKind::Turn,
                format!("turn {} ended{how}", self.rec.turn.0),
            );
            self.journal();
        }
        self.tell_turn_ended(how);
    }

    pub(super) fn open_turn(&mut self) {
        if !self.rec.turn_open {
            self.rec.turn = TurnId(self.rec.turn.0 + 1);
            self.rec.turn_open = true;
            self.reply = None;
            self.rec.turn_error = None;
            self.turn_began_at_limit();
            self.record_line(EntryKind::Turn, format!("turn {} began", self.rec.turn.0));
            self.journal();
        }
    }

    /// The process is gone; its launcher tells how it ended, if that still lives.
    pub(super) fn process_gone(&mut self, now: Timestamp) {
        match self.gone_since {
            None => {
                self.gone_since = Some(now);
                self.record_line(
                    EntryKind::Problem,
                    "the agent's process is gone; waiting for its exit to be reported",
                );
                self.check_at = Some(now.plus(REPORT_PATIENCE));
            }
            Some(since) if now.since(since) < REPORT_PATIENCE => {
                self.check_at = Some(since.plus(REPORT_PATIENCE));
            }
            Some(_) => {
                let why = if self.rec.ending {
                    "it was ended with sm kill"
                } else {
                    "the agent's process is gone; how it ended is not known"
                };
                if !self.handoff_after_exit(None, now) {
                    self.end(None, why.to_string(), now);
                }
            }
        }
    }
}
