//! What must hold of the context monitor: each threshold is told once in each stretch of a context,
//! readings are true and never go back, a compaction is counted once, and nobody is told of a context
//! that is no more.

use super::agent::Stage;
use super::monitor::WINDOW;
use super::watched::{Alert, Last, word};
use super::world::{World, tr};
use sm_core::ids::MessageId;
use sm_core::message::{MessageState, Mode, NewMessage};
use sm_core::monitor::Level;
use sm_core::signal::{ContextSource, Fact, Signal, UsageSource};
use sm_core::{Answer, Effect, EntryKind, MessageChange, Outcome, State};
use std::collections::BTreeMap;

/// Effects that were ordered before somebody told of a compaction are carried out by then.
const ORDERED_BEFORE: i64 = 1_000;
/// A critical alert that nobody took for this long is urgent.
const PRESSING: i64 = 36_000;

/// Or after it came back from a delivery.
const GIVEN_BACK: i64 = 7_000;

impl World {
    fn here(&self) -> (usize, usize) {
        let current = self.agent.current;
        let fill = self.watch.fills.get(&current);
        (current, fill.map_or(0, |fill| fill.ends.len()))
    }

    /// The conversation that the session believes to be in.
    fn believed_in(&self) -> Option<usize> {
        let known = self.daemon.session.record().conversation.as_ref()?;
        self.agent.conversations.iter().position(|c| &c.id == known)
    }

    /// How many compactions the session may and must have counted in its present generation.
    fn compactions_of(&self, conversation: usize) -> (usize, usize) {
        let Some(fill) = self.watch.fills.get(&conversation) else {
            return (0, 0);
        };
        let known = self.daemon.session.record().context_since.0;
        let must = fill
            .ends
            .iter()
            .filter(|end| **end > known.max(fill.entered));
        // of an agent that went elsewhere and came back unheard all count
        let may = fill
            .ends
            .iter()
            .filter(|end| **end >= known.min(fill.entered));
        (must.count(), may.count())
    }

    // ── what reaches the session

    pub(super) fn hook_reaches(&mut self, hook: usize) {
        let run = &self.hooks[hook];
        let tells = match run.signal {
            Signal::CompactionDone => true,
            Signal::ContextStarted { source, .. } => source == ContextSource::Compact,
            _ => false,
        };
        let place = |c: &super::agent::Conversation| Some(&c.id) == run.conversation.as_ref();
        let of = self.agent.conversations.iter().position(place);
        let in_time = run.at >= self.daemon.session.record().last_signal.0;
        if let (Some(of), true, true) = (of, tells, in_time) {
            let at = run.at;
            self.heard(of, at, 0);
        }
    }

    /// The session knows that a compaction has begun: from then on it may have ended. If it has held
    /// it up it does not know that its answer came too late.
    pub(super) fn beginning_reached(&mut self, hook: usize) {
        let run = &self.hooks[hook];
        let begins = matches!(run.signal, Signal::CompactionStarting { .. });
        let (at, here) = (run.at, self.believed_in());
        let compacting = self.daemon.session.record().state == State::Compacting;
        if let (Some(here), true, true) = (here, begins, compacting) {
            self.heard(here, at, 1);
        }
    }

    fn heard(&mut self, conversation: usize, at: i64, more: usize) {
        let ends = &self.watch.fill(conversation).ends;
        let count = ends.iter().filter(|end| **end <= at).count() + more;
        let heard = self.watch.heard.entry(conversation).or_default();
        *heard = (*heard).max(count);
    }

    pub(super) fn facts_reach(&mut self, conversation: usize, facts: &[Fact]) {
        let last = facts.iter().rev().find_map(|fact| match fact {
            Fact::CompactBoundary { at, .. } => *at,
            _ => None,
        });
        if let Some(last) = last {
            self.heard(conversation, last.0, 0);
        }
    }

    // ── after every step

    pub(super) fn check_monitor(&mut self, outcome: &Outcome) {
        if self.options.usage.is_none() {
            return;
        }
        if self.watch.up_since.0 != self.daemon.incarnation {
            self.watch.up_since = (self.daemon.incarnation, self.now);
        }
        self.check_fired(outcome);
        self.check_reading();
        self.check_alerts(outcome);
        self.check_counted();
        self.check_typing(outcome);
    }

    /// Each threshold once in each stretch; only the highest of several; all of them latched.
    fn check_fired(&mut self, outcome: &Outcome) {
        let record = self.daemon.session.record();
        let stretch = (record.generation.0, record.compactions);
        // what was told before a compaction that came in the same step is of the stretch before it
        let (mut told, mut later) = (Vec::new(), stretch);
        for effect in outcome.effects.iter().rev() {
            let Effect::Record(entry) = effect else {
                continue;
            };
            if entry.kind == EntryKind::Compaction && entry.text.ends_with(" done") {
                later = (entry.generation.0, later.1.saturating_sub(1));
            }
            if let Some(percent) = threshold_in(&entry.text) {
                told.insert(0, (percent, later));
            }
        }
        let known: Vec<u8> = record
            .gauge
            .fired(record.generation, record.compactions)
            .to_vec();
        let percent = record.gauge.percent();
        // one sample tells the highest only; several may come at once
        for (told, stretch) in told {
            let before = self.watch.fired.entry(stretch).or_default();
            if before.iter().any(|before| *before >= told) {
                let what = format!("{told}% is told after {before:?} in stretch {stretch:?}");
                self.fail(what);
                return;
            }
            before.push(told);
            self.stats.alerts += 1;
        }
        let thresholds = self.daemon.session.monitor().thresholds.clone();
        let reached = thresholds
            .iter()
            .filter(|t| percent.is_some_and(|percent| percent >= f64::from(t.percent)));
        for threshold in reached {
            if !known.contains(&threshold.percent) {
                self.fail(format!(
                    "at {percent:?} {}% was not told",
                    threshold.percent
                ));
                return;
            }
        }
        let last = self.watch.last.as_ref();
        if let Some(last) = last.filter(|last| last.stretch == stretch)
            && last.fired.iter().any(|fired| !known.contains(fired))
        {
            self.fail(format!("{:?} were told and are now {known:?}", last.fired));
        }
    }

    /// The reading is one that was made, of where the session is, and never an older one.
    fn check_reading(&mut self) {
        let record = self.daemon.session.record();
        let newest = record.gauge.newest().cloned();
        let stretch = (record.generation.0, record.compactions);
        let now = Last {
            stretch,
            conversation: record.conversation.clone(),
            at: newest.as_ref().map(|sample| sample.at),
            fired: record
                .gauge
                .fired(record.generation, record.compactions)
                .to_vec(),
        };
        let last = self.watch.last.replace(now.clone());
        if last.as_ref() == Some(&now) {
            return;
        }
        if let Some(last) = last.filter(|last| last.stretch == stretch)
            && self.watch.up_since.1 < self.now // what was not journaled is read again
            && last.at > now.at
        {
            self.fail(format!(
                "the reading went back from {:?} to {:?}",
                last.at, now.at
            ));
            return;
        }
        let Some(newest) = newest else {
            return;
        };
        let key = (newest.at.0, word(newest.source), newest.tokens.unwrap_or(0));
        let Some((conversation, compactions)) = self.made_as(key) else {
            self.fail(format!("a reading that nobody made: {newest:?}"));
            return;
        };
        let Some(here) = self.believed_in() else {
            return; // nobody has said yet which one it is
        };
        if conversation != here {
            self.fail(format!(
                "the session is in c{here} and reads c{conversation}: {newest:?}"
            ));
            return;
        }
        let counted = self.daemon.session.record().compactions as usize;
        let (_, may) = self.compactions_of(here);
        let all = self.watch.fills.get(&here).map_or(0, |f| f.ends.len());
        if counted == may && compactions != all {
            self.fail(format!(
                "c{here} was compacted {all} times, and this is of before: {newest:?}"
            ));
        }
    }

    /// What a compaction left counts from when the session knew of it.
    fn made_as(&self, key: (i64, &'static str, u64)) -> Option<(usize, usize)> {
        let (at, source, tokens) = key;
        let exact = self.watch.made.get(&key);
        let before = (at - 5_000, "", 0)..(at, "", 0);
        let made = exact.or_else(|| {
            let mut close = self.watch.made.range(before).rev();
            close
                .find(|((_, s, t), _)| *s == source && *t == tokens)
                .map(|(_, stretch)| stretch)
        });
        made.copied()
    }

    fn check_counted(&mut self) {
        let Some(here) = self.believed_in() else {
            return;
        };
        let counted = self.daemon.session.record().compactions as usize;
        let (_, may) = self.compactions_of(here);
        if counted > may {
            self.fail(format!(
                "{counted} compactions were counted, and c{here} had {may}"
            ));
        }
    }

    fn check_alerts(&mut self, outcome: &Outcome) {
        for change in &outcome.messages {
            let MessageChange::New(message) = change else {
                continue;
            };
            if message.meta.purpose.is_monitors() {
                self.alert_made(message.meta.id.clone(), message.text.clone());
            }
        }
        let (conversation, compactions) = self.here();
        let flight = self.daemon.session.record().flight.as_ref();
        let carried = flight.map_or(&[][..], |flight| &flight.messages);
        let gives = outcome.effects.iter().any(|effect| match effect {
            Effect::Answer { answer, .. } => {
                matches!(answer, Answer::Context { .. } | Answer::Continue { .. })
            }
            Effect::Paste { .. } | Effect::Mail { .. } => true,
            _ => false,
        });
        let known = self.believed_in() == Some(conversation);
        let heard = self.watch.heard.get(&conversation).copied().unwrap_or(0);
        let stale = carried
            .iter()
            .filter_map(|id| self.watch.alerts.get(id).map(|alert| (id, alert)))
            .find(|(_, alert)| {
                let (of, then) = alert.about;
                known && (of != conversation || (then < compactions && heard > then))
            });
        if let (Some((id, alert)), true) = (stale, gives) {
            let what = format!(
                "{id} is about {:?}, and is given in {:?}",
                alert.about,
                (conversation, compactions)
            );
            self.fail(what);
        }
        self.check_pressing();
    }

    fn alert_made(&mut self, id: MessageId, text: String) {
        let newest = self.daemon.session.record().gauge.newest();
        let key = newest.map(|s| (s.at.0, word(s.source), s.tokens.unwrap_or(0)));
        let made = key.and_then(|key| self.made_as(key));
        let percent = threshold_of(&id);
        let thresholds = &self.daemon.session.monitor().thresholds;
        let level = thresholds.iter().find(|t| Some(t.percent) == percent);
        let alert = Alert {
            // one about a compaction is of the moment
            about: made.filter(|_| percent.is_some()).unwrap_or(self.here()),
            text,
            level: level.map_or(Level::Critical, |t| t.level),
            said: 0,
            created: self.now,
        };
        if self.watch.alerts.insert(id.clone(), alert).is_some() {
            self.fail(format!("{id} was made twice"));
        }
    }

    /// A warning never interrupts; a critical one does, if nobody takes it.
    fn check_pressing(&mut self) {
        let record = self.daemon.session.record();
        let frozen = record.open_handoff().is_some() || !record.state.is_live();
        let since = self.watch.up_since.1;
        let mut wrong = None;
        for message in self.daemon.session.queue() {
            let Some(alert) = self.watch.alerts.get(&message.meta.id) else {
                continue;
            };
            let urgent = message.meta.mode == Mode::Urgent;
            let given = message.meta.changed_at.0 + GIVEN_BACK; // by a delivery that was none
            let waits = self.now - alert.created.max(since) > PRESSING && self.now > given;
            let pending = message.meta.state.is_pending();
            match alert.level {
                Level::Warning if urgent => wrong = Some("a warning became urgent"),
                Level::Critical if !urgent && pending && waits && !frozen => {
                    wrong = Some("a critical alert waits for ever");
                }
                Level::Warning | Level::Critical => {}
            }
        }
        if let Some(what) = wrong {
            self.fail(what.into());
        }
    }

    /// Nothing is typed while it is known that the agent compacts.
    fn check_typing(&mut self, outcome: &Outcome) {
        let types = |e: &Effect| matches!(e, Effect::Paste { .. } | Effect::Press { .. });
        let compacting = self.daemon.session.record().state == State::Compacting;
        if compacting && outcome.effects.iter().any(types) {
            self.fail("something is typed while the agent compacts".into());
        }
    }

    pub(super) fn check_typed(&mut self) {
        let told = self.watch.compacting_told;
        let told = told.is_some_and(|at| self.now - at > ORDERED_BEFORE);
        if told && self.agent.stage == Stage::Compact {
            self.fail("something was typed into an agent that compacts".into());
        }
    }

    // ── answers

    pub(super) fn check_answer(&mut self, hook: usize, answer: &Answer) {
        let signal = self.hooks[hook].signal.clone();
        if matches!(signal, Signal::CompactionStarting { .. }) && *answer == Answer::Nothing {
            self.watch.compacting_told.get_or_insert(self.now);
        }
        if let Answer::Recover { handoff } = answer {
            let compact = matches!(
                signal,
                Signal::ContextStarted {
                    source: ContextSource::Compact,
                    ..
                }
            );
            // the hook's own context, which may have been left since
            let of_hook = self.hooks[hook].conversation.as_ref();
            let all = &self.agent.conversations;
            let current = all.iter().position(|c| Some(&c.id) == of_hook);
            let current = current.unwrap_or(self.agent.current);
            let ours = handoff
                .as_ref()
                .is_none_or(|handoff| self.was_begun_by(current, handoff));
            if !compact || !ours {
                self.fail(format!(
                    "c{current} is given back what {handoff:?} handed over, for {signal:?}"
                ));
            }
            self.stats.recoveries += 1;
        }
    }

    pub(super) fn check_held_up(&mut self) {
        let record = self.daemon.session.record();
        let stretch = (record.generation.0, record.compactions);
        let most = self.options.profile().compaction_holds;
        let count = self.watch.held_up.entry(stretch).or_default();
        *count += 1;
        self.stats.held_up += 1;
        tr!(self, "the compaction is held up");
        let count = self.watch.held_up.get(&stretch).copied().unwrap_or(0);
        if count > most || !self.agent.compacting_in_turn {
            self.fail(format!("a compaction was held up {count} times"));
        }
    }

    /// An alert has become part of a conversation.
    pub(super) fn check_alert_said(&mut self, text: &str) {
        // two of them may have the same words: the newest that was not said is meant
        let mut meant: BTreeMap<String, Option<MessageId>> = BTreeMap::new();
        for (id, alert) in self
            .watch
            .alerts
            .iter()
            .filter(|(_, a)| text.contains(&a.text))
        {
            let newest = meant.entry(alert.text.clone()).or_default();
            if alert.said == 0 {
                *newest = Some(id.clone());
            }
        }
        for (words, id) in meant {
            match id.and_then(|id| self.watch.alerts.get_mut(&id)) {
                Some(alert) => alert.said = 1,
                None => self.fail(format!("an alert is in the conversation twice: {words:?}")),
            }
        }
    }

    pub(super) fn check_alert_launch(&mut self, prompt: Option<&str>) {
        let alert = |alert: &Alert| prompt.is_some_and(|text| text.contains(&alert.text));
        if self.watch.alerts.values().any(alert) {
            self.fail("the agent is started with an alert about its context".into());
        }
    }

    pub(super) fn compaction_told(&mut self, message: &NewMessage) {
        if message.text.contains("Compaction fired") {
            self.watch.parent_told.insert(message.id.clone());
        }
    }

    // ── at rest

    pub(super) fn monitor_unsettled(&self) -> Option<String> {
        self.options.usage.as_ref()?;
        let record = self.daemon.session.record();
        if record.compaction_told.is_some() {
            return Some("nobody was told of a compaction yet".into());
        }
        let here = self.believed_in()?;
        if !self.agent.alive() || here != self.agent.current {
            return None;
        }
        let (must, _) = self.compactions_of(here);
        if (record.compactions as usize) < must {
            return Some(format!(
                "{} compactions are counted, c{here} had {must}",
                record.compactions
            ));
        }
        let fill = self.watch.fills.get(&here)?;
        let since = record.context_since.0.max(fill.entered);
        // other sources may be lost
        let last = |(at, source, tokens): &&(i64, &str, u64)| {
            *at > since && *source == word(UsageSource::Transcript) && *tokens == fill.tokens
        };
        let told = self.watch.made.iter().any(|(key, (of, compactions))| {
            *of == here && *compactions == fill.ends.len() && last(&key)
        });
        let known = record.gauge.newest().and_then(|sample| sample.tokens);
        (fill.answered && told && known != Some(fill.tokens)).then(|| {
            format!(
                "its context holds {} of {WINDOW} tokens, the session knows of {known:?}",
                fill.tokens
            )
        })
    }

    pub(super) fn monitor_accounts(&mut self) {
        if self.options.usage.is_none() {
            return;
        }
        let compactions: usize = self.watch.fills.values().map(|fill| fill.ends.len()).sum();
        self.stats.compactions += compactions as u64;
        if self.watch.parent_told.len() > compactions {
            self.fail(format!(
                "the parent was told of {:?}, and there were {compactions}",
                self.watch.parent_told
            ));
        }
        let mut wrong = None;
        for (id, alert) in &self.watch.alerts {
            let row = self
                .daemon
                .journal
                .messages
                .iter()
                .find(|m| &m.meta.id == id);
            let state = row.map(|row| &row.meta.state);
            let reached = state.is_some_and(MessageState::reached_agent);
            if reached && alert.said != 1 {
                wrong = Some(format!(
                    "{id} is {state:?} and was said {} times",
                    alert.said
                ));
            }
            if matches!(state, Some(MessageState::Withdrawn)) && alert.said > 0 {
                wrong = Some(format!("{id} was dropped, and the agent has it"));
            }
        }
        self.stats.alerts_said += self
            .watch
            .alerts
            .values()
            .map(|a| u64::from(a.said))
            .sum::<u64>();
        if let Some(what) = wrong {
            self.fail(what);
        }
    }

    /// How often a threshold was told, in all stretches.
    pub fn told(&self, percent: u8) -> usize {
        let all = self.watch.fired.values();
        all.filter(|fired| fired.contains(&percent)).count()
    }

    /// Texts about its context that the agent was given.
    pub fn alerts_said(&self) -> u32 {
        self.watch.alerts.values().map(|alert| alert.said).sum()
    }
}

/// `warning threshold 50% reached at 52%`
fn threshold_in(text: &str) -> Option<u8> {
    let (_, rest) = text.split_once(" threshold ")?;
    rest.split_once('%')?.0.parse().ok()
}

/// `s1-g1c0-alert50`
fn threshold_of(id: &MessageId) -> Option<u8> {
    id.as_str().rsplit_once("alert")?.1.parse().ok()
}
