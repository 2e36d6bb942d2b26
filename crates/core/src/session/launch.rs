//! Starting the agent's process: in which conversation, with which prompt, and what became of it.

use super::{Flight, Host, Phase, Session, State};
use crate::effect::{Effect, EntryKind, LaunchPlan};
use crate::handoff::{Course, Handoff, HandoffState};
use crate::ids::{ConversationId, Process, Timestamp};
use crate::message::{Message, MessageState, Purpose, Way};
use crate::monitor::How;
use crate::words;

/// Of what a program said that could not begin.
const LONGEST_SAID: usize = 300;

impl Session {
    pub(super) fn launch(&mut self, fresh: bool, now: Timestamp) {
        if self.rec.launch > 0 && self.rec.state.is_live() {
            return; // it runs
        }
        if self.restore_handoff(now) {
            return;
        }
        let first = self.rec.launch == 0;
        let resume = if first || fresh {
            None
        } else {
            self.rec.conversation.clone()
        };
        self.start(resume, now);
    }

    /// Starts the agent: in that conversation, or in a new one.
    pub(super) fn start(&mut self, resume: Option<ConversationId>, now: Timestamp) {
        let first = self.rec.launch == 0;
        self.rec.host = Host::Tmux;
        self.rec.opening = None;
        self.rec.was_lost |= self.rec.state == State::Lost;
        self.begin_launch(None, now, now);
        let record = self.record_to_ask();
        if !first && (resume.is_none() || resume != self.rec.conversation) {
            // a relaunch without the old conversation is a new context
            let unasked = std::mem::take(&mut self.rec.unrecorded);
            self.rec.context_since = now;
            self.new_generation(resume.clone(), None, now, now);
            self.rec.unrecorded = unasked;
        }
        let prompt = self.prompt_for_launch(now);
        self.record_line(
            EntryKind::Launch,
            match &resume {
                Some(conversation) => {
                    format!("launch {}, resuming {conversation}", self.rec.launch)
                }
                None => format!("launch {}", self.rec.launch),
            },
        );
        self.become_state(State::Starting, "the agent is being started", now);
        self.journal();
        self.effect(Effect::Launch(LaunchPlan {
            launch: self.rec.launch,
            resume,
            prompt,
            after: self.rec.lost_process,
            record,
        }));
    }

    /// Another process, of `at`: nothing that is known of the one before holds for it.
    pub(super) fn begin_launch(&mut self, process: Option<Process>, at: Timestamp, now: Timestamp) {
        self.rec.launch += 1;
        self.rec.last_signal = self.rec.last_signal.max(at);
        self.rec.process = process;
        self.rec.ending = false;
        self.rec.exit_code = None;
        self.rec.turn_open = false;
        self.rec.turn_error = None;
        self.waiters.clear();
        self.probe = None;
        self.gone_since = None;
        self.ready_since = None;
        self.drafted = false;
        self.leave_limit(now);
        let looking = |flight: &Flight| !flight.phase.touched_agent();
        if self.rec.flight.as_ref().is_some_and(looking) {
            self.drop_flight(); // at the agent before
        } else if let Some(flight) = self.rec.flight.as_mut() {
            flight.phase_since = now; // of the agent before: the evidence tells what became of it
            self.flight_at = Some(now.plus(1_000));
        }
    }

    /// A first message goes in on the launch line: race-free where the agent takes one.
    fn prompt_for_launch(&mut self, now: Timestamp) -> Option<String> {
        if !self.profile.prompt_argument || self.rec.flight.is_some() {
            return None;
        }
        let mut pending = self.queue.iter().filter(|m| m.meta.state.is_pending());
        // an alert begins no turn of its own
        let wanted = |m: &&Message| !m.meta.purpose.is_monitors() && !self.is_frozen(m);
        let first = pending.find(wanted)?;
        // what was lost once may be found in the record, which is read first; what it lacks goes first
        let said = first.meta.purpose == Purpose::Said;
        let behind = first.meta.returned || (said && self.unasked());
        if behind || first.meta.raw || self.looks_like_command(&words::spoken(first)) {
            return None;
        }
        let text = words::sanitize(&words::spoken(first));
        // a very long argument would not fit into the command line of every system
        if text.trim().is_empty() || text.len() > 60_000 {
            return None;
        }
        let id = first.meta.id.clone();
        self.take_off(vec![id], Way::LaunchArgument, Phase::Answered, now);
        Some(text)
    }

    pub(super) fn started(&mut self, launch: u32, process: Process, now: Timestamp) {
        if launch != self.rec.launch {
            return;
        }
        if !self.rec.state.is_live() {
            self.rec.lost_process = Some(process); // heard of after its terminal was gone
            self.journal();
            return;
        }
        self.rec.process = Some(process);
        self.rec.was_lost = false;
        self.rec.lost_process = None;
        self.journal();
        if self.rec.state == State::Starting {
            self.rec.why = "the agent's process runs".into();
            self.checks = 0;
            self.arm_check(now);
        }
    }

    /// What the agent is told later depends on what it was started with.
    pub(super) fn launch_prepared(&mut self, launch: u32, how: How, lacks: Option<String>) {
        if launch != self.rec.launch || !self.rec.state.is_live() {
            return;
        }
        if let Some(lacks) = lacks {
            self.record_line(EntryKind::Launch, lacks);
        }
        if self.rec.how != how {
            self.rec.how = how;
            self.journal();
        }
    }

    /// Nothing was ever said in it, or its record is gone.
    pub(super) fn not_resumed(&mut self, launch: u32, now: Timestamp) {
        if launch != self.rec.launch || !self.rec.state.is_live() {
            return;
        }
        self.record_line(
            EntryKind::Problem,
            "the conversation cannot be resumed; a new one is begun",
        );
        self.record_lacks(now);
        self.rec.context_since = now;
        self.new_generation(None, None, now, now);
        let back = |h: &Handoff| h.course == Course::BackStarting;
        if self.rec.open_handoff().is_some_and(back) {
            let why = "the old conversation cannot be resumed; the agent was started in a new one";
            self.close_handoff(HandoffState::Abandoned, why, now);
        }
    }

    pub(super) fn launch_failed(&mut self, launch: u32, reason: String, now: Timestamp) {
        if launch != self.rec.launch || !self.rec.state.is_live() {
            return;
        }
        let why = format!("the agent could not be started: {reason}");
        if self.rec.was_lost && self.rec.open_handoff().is_none() {
            // its messages wait for a restore that works
            self.take_back_launch_prompt(now);
            self.lose(&why, now);
        } else {
            self.end(None, why, now);
        }
    }

    /// Nobody was given what stood on the line of a launch that failed.
    fn take_back_launch_prompt(&mut self, now: Timestamp) {
        let since = self.rec.since; // it has been starting since then
        let ours = |f: &mut Flight| f.way == Way::LaunchArgument && f.since >= since;
        if let Some(flight) = self.rec.flight.take_if(ours) {
            self.flight_at = None;
            for id in flight.messages {
                self.set_message(&id, MessageState::Queued, now);
            }
            self.journal();
        }
    }

    pub(super) fn last_output(&mut self, launch: u32, text: String) {
        if launch == self.rec.launch {
            self.last_output = Some((launch, text));
        }
    }

    /// Why a program ended that never got as far as a turn: by its own words, as its exit code says
    /// nothing to a person.
    pub(super) fn said_at_start(&mut self) -> String {
        let said = self.last_output.take();
        // the first words of a program without hooks are its first turn
        let first = u64::from(!self.profile.has_transcript);
        let failed_start = self.rec.state == State::Starting || self.rec.turn.0 <= first;
        match said {
            Some((launch, text)) if failed_start && launch == self.rec.launch => {
                let text = words::sanitize(&text);
                let told = text.lines().filter(|line| has_words(line));
                let told = told.flat_map(str::split_whitespace);
                let text = told.collect::<Vec<_>>().join(" ");
                let short: String = text.chars().take(LONGEST_SAID).collect();
                match short.is_empty() {
                    true => String::new(),
                    false => format!(" right after its start; it said: {short}"),
                }
            }
            Some(_) | None => String::new(),
        }
    }
}

/// Not a picture, a frame or a rule.
fn has_words(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word.chars().nth(1).is_some())
}
