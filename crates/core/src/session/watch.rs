//! The monitor of a session: samples in, alerts out. An alert belongs to the context it is about and
//! is dropped with it; each threshold speaks once in a context, whatever the numbers do.

use super::{Session, State};
use crate::effect::{Answer, Effect, EntryKind, NoticeKind};
use crate::handoff::HandoffState;
use crate::ids::{MessageId, RequestId, Timestamp};
use crate::message::{Message, MessageState, Mode, NewMessage, Purpose};
use crate::monitor::{Level, Limit, Monitor, OnCompaction, Taken, Threshold, Values};
use crate::session::hooks::Answered;
use crate::signal::{UsageSample, UsageSource};

/// A critical alert that found no hook in this time interrupts.
const CRITICAL_PATIENCE: i64 = 30_000;
/// One that is on its way is looked at again.
const PRESSED_AGAIN: i64 = 5_000;
/// Numbers of a compaction that are not known by then are told as unknown.
const COMPACTION_TOLD: i64 = 3_000;
/// A compaction that was reported when it began has ended by then.
const REPORTED: i64 = 300_000;
/// A record that was not read by then cannot be read: there was no compaction.
const DOUBT: i64 = 10_000;
/// A record is written this long after the hooks.
const RECORD_LAG: i64 = 1_000;
/// A compaction that two sources report is the same one within this time.
const SAME_COMPACTION: i64 = 5_000;

impl Session {
    /// How it is watched; from the configuration, whenever that is read.
    pub fn set_monitor(&mut self, monitor: Monitor) {
        let limit = monitor.window.map(|window| Limit {
            window,
            usable: (self.profile.usable)(window),
        });
        if self.rec.gauge.limit() != limit {
            self.rec.gauge.set_limit(limit);
            self.journal_later();
        }
        self.monitor = monitor;
    }
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }
    pub(super) fn is_watched(&self) -> bool {
        self.monitor.enabled && !self.rec.unwatched
    }

    pub(super) fn watch(&mut self, on: bool) {
        if self.rec.unwatched == on {
            self.rec.unwatched = !on;
            let text = if on {
                "its context is watched again"
            } else {
                "its context is watched no more: no alerts"
            };
            self.record_line(EntryKind::Usage, text);
            self.journal();
        }
    }

    // ── samples

    pub(super) fn sampled(&mut self, sample: UsageSample, now: Timestamp) {
        let (tokens, source) = (sample.tokens, sample.source);
        match self.rec.gauge.take(sample) {
            Taken::Newest | Taken::Beside => {}
            Taken::Stale | Taken::Empty => return,
        }
        if let (UsageSource::Transcript, Some(told)) = (source, &mut self.rec.compaction_told) {
            told.1 = tokens; // a record whose boundary has no numbers tells them next
            self.tell_compaction();
        }
        self.rec.usage = self.rec.gauge.newest().cloned();
        self.journal_later();
        if source == UsageSource::Unproven {
            self.note_usage();
            return; // shown, and nothing is done by it
        }
        self.rec.last_sample = Some(now);
        self.handoff_sampled(tokens);
        self.note_usage();
        if !self.is_watched() {
            return;
        }
        let thresholds = self.monitor.thresholds.clone();
        let (generation, compactions) = (self.rec.generation, self.rec.compactions);
        if let Some(reached) = self.rec.gauge.crossed(&thresholds, generation, compactions) {
            self.journal(); // the latch is on disk before anything is said
            self.alert(reached, now);
        }
    }

    /// A line for the chart whenever the whole percentage has changed.
    fn note_usage(&mut self) {
        let percent = self.percent();
        if percent.is_some() && percent != self.noted {
            self.noted = percent;
            let values = self.values();
            let text = values.fill("{percent}% {tokens}/{window}");
            self.record_line(EntryKind::Usage, text);
        }
    }

    fn percent(&self) -> Option<u8> {
        let percent = self.rec.gauge.percent()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to what a percentage can be"
        )]
        let whole = percent.round().clamp(0.0, 255.0) as u8;
        Some(whole)
    }

    fn values(&self) -> Values {
        let newest = self.rec.gauge.newest();
        Values {
            name: self.rec.name.to_string(),
            percent: self.percent(),
            tokens: newest.and_then(|s| s.tokens),
            window: self.rec.gauge.window(),
            before: None,
            after: None,
            how: self.rec.how.clone(),
        }
    }

    // ── alerts

    fn alert(&mut self, reached: Threshold, now: Timestamp) {
        let values = self.values();
        let texts = self.monitor.texts.clone();
        let line = format!(
            "{} threshold {}% reached at {}%",
            reached.level.word(),
            reached.percent,
            values.percent.unwrap_or(0)
        );
        self.record_line(EntryKind::Usage, line);
        let leaving = self
            .rec
            .open_handoff()
            .is_some_and(|h| h.state != HandoffState::Prompted);
        if leaving {
            return; // it is on its way out of this context already
        }
        let template = match reached.level {
            Level::Warning => &texts.warning_agent,
            Level::Critical => &texts.critical_agent,
        };
        let about = format!("alert{}", reached.percent);
        let purpose = match reached.level {
            Level::Warning => Purpose::Warning,
            Level::Critical => Purpose::Alert,
        };
        if reached.level == Level::Critical {
            self.withdraw_warnings(now); // this says it all
        }
        self.tell_agent(&about, purpose, values.fill(template), now);
        if reached.level == Level::Critical {
            self.press_later(&about, now);
            self.notify(NoticeKind::ContextHigh, values.fill(&texts.critical_owner));
        }
    }

    /// Says something to the session's own agent, about the present context only.
    fn tell_agent(&mut self, about: &str, purpose: Purpose, text: String, now: Timestamp) {
        let Some(id) = self.alert_id(about) else {
            return;
        };
        if self.message(&id).is_some() {
            return;
        }
        let new = NewMessage::of_sm(id, text, Mode::Important);
        let mut message = Message::accepted(new, purpose, now);
        message.meta.about = Some((self.rec.generation, self.rec.compactions));
        self.add(message);
    }

    fn alert_id(&self, about: &str) -> Option<MessageId> {
        let rec = &self.rec;
        let stretch = format!("g{}c{}", rec.generation.0, rec.compactions);
        MessageId::new(format!("{}-{stretch}-{about}", rec.id)).ok()
    }

    fn press_later(&mut self, about: &str, now: Timestamp) {
        let id = self.alert_id(about);
        self.rec.pressing = id.map(|id| (now.plus(CRITICAL_PATIENCE), id));
        self.journal();
    }

    /// What is about a context that is no more is dropped; what touched the agent is let finish.
    pub(super) fn drop_stale_words(&mut self, now: Timestamp) {
        let here = (self.rec.generation, self.rec.compactions);
        self.withdraw_all(|m| m.meta.about.is_some_and(|about| about != here), now);
    }

    fn withdraw_warnings(&mut self, now: Timestamp) {
        self.withdraw_all(|m| m.meta.purpose == Purpose::Warning, now);
    }

    /// What has not touched the agent is taken back.
    pub(super) fn withdraw_all(&mut self, which: impl Fn(&Message) -> bool, now: Timestamp) {
        let pending = self.queue.iter().filter(|m| m.meta.state.is_pending());
        let out: Vec<MessageId> = pending
            .filter(|m| which(m))
            .map(|m| m.meta.id.clone())
            .collect();
        for id in out {
            let flying = self
                .rec
                .flight
                .as_ref()
                .is_some_and(|f| f.messages.contains(&id));
            if flying {
                self.drop_flight(); // only looked at so far: it is pending
            }
            self.set_message(&id, MessageState::Withdrawn, now);
        }
    }

    /// When the critical alert is looked at.
    pub(super) fn press_at(&self) -> Option<Timestamp> {
        let (at, _) = self.rec.pressing.as_ref()?;
        Some(self.press_again.map_or(*at, |again| again.max(*at)))
    }

    /// A critical alert that no hook took in time becomes urgent.
    pub(super) fn press_alerts(&mut self, now: Timestamp) {
        if self.press_at().is_none_or(|at| at > now) {
            return;
        }
        let Some((_, id)) = self.rec.pressing.clone() else {
            return;
        };
        let alert = self.queue.iter().find(|m| m.meta.id == id);
        match alert.map(|alert| alert.meta.state.is_pending()) {
            Some(true) => self.set_mode(&id, Mode::Urgent),
            Some(false) => {
                // on its way: it may come back
                self.press_again = Some(now.plus(PRESSED_AGAIN));
                return;
            }
            None => {}
        }
        self.rec.pressing = None;
        self.press_again = None;
        self.journal();
    }

    // ── compaction

    /// The agent is about to compact its context. Held up a few times if a handoff is wanted
    /// instead: never for ever, or it would be refused every request.
    pub(super) fn answer_compaction(
        &mut self,
        automatic: bool,
        request: Option<RequestId>,
        now: Timestamp,
    ) -> Answered {
        let wanted = self.is_watched() && self.monitor.on_compaction == OnCompaction::Handoff;
        let here = (self.rec.generation, self.rec.compactions);
        if self.rec.held_up.0 != here {
            self.rec.held_up = (here, 0);
        }
        let (Some(request), true) = (request, automatic && wanted) else {
            return Answered::No;
        };
        let used = self.rec.gauge.own().and_then(|sample| sample.tokens);
        let waits = (self.profile.compaction_waits)(used, self.rec.gauge.window());
        if !waits || self.rec.held_up.1 >= self.profile.compaction_holds {
            return Answered::No;
        }
        self.rec.held_up.1 += 1;
        self.journal();
        let text = self.values().fill(&self.monitor.texts.imminent_agent);
        if self.rec.held_up.1 == 1 {
            self.record_line(
                EntryKind::Compaction,
                "a compaction is held up for a handoff",
            );
            if self.rec.open_handoff().is_none() {
                self.tell_agent("imminent", Purpose::Alert, text.clone(), now);
                self.press_later("imminent", now);
            }
        }
        self.effect(Effect::Answer {
            request,
            answer: Answer::Block { reason: text },
        });
        Answered::Yes
    }

    /// The context was compacted: what was known of it is over, and people are told.
    pub(super) fn compaction_counted(&mut self, at: Timestamp, now: Timestamp) {
        let at = at.min(now);
        let before = self.rec.gauge.own().and_then(|sample| sample.tokens);
        self.rec.gauge.begin(at);
        self.rec.usage = None;
        self.noted = None;
        self.rec.compacted_at = self.rec.compacted_at.max(at);
        self.rec.boundaries_due = self.rec.boundaries_due.saturating_add(1);
        self.rec.maybe_compacted = None;
        self.rec.pressing = None;
        self.rec.compaction_told = Some((before, None));
        self.compaction_at = Some(now.plus(COMPACTION_TOLD));
        self.drop_stale_words(now);
        self.journal();
    }

    /// A boundary in the record: the cross-check where hooks are missing, and the numbers. The record
    /// may be read again from its beginning at any time; each boundary counts once.
    pub(super) fn compact_boundary(
        &mut self,
        tokens: (Option<u64>, Option<u64>),
        at: Option<Timestamp>,
        now: Timestamp,
    ) {
        let at = at.unwrap_or(now);
        if Some(at) <= self.rec.boundary || at < self.rec.context_since {
            return; // read before, or of before this context was the session's
        }
        let compacting = self.rec.state == State::Compacting;
        let earlier = !compacting || at < self.rec.compacting_since;
        let counted = self.rec.boundaries_due > 0 && earlier;
        if counted && at.since(self.rec.compacted_at) < SAME_COMPACTION {
            // its hooks told of it
        } else if compacting && at.plus(RECORD_LAG) >= self.rec.compacting_since {
            self.compacted(at, now);
        } else if !self.was_reported(now) {
            self.count_compaction(at, now);
        }
        self.rec.boundary = Some(at);
        self.rec.boundaries_due = self.rec.boundaries_due.saturating_sub(1);
        self.journal();
        if self.rec.boundaries_due > 0 {
            return; // of one before the last that was counted: its numbers are over
        }
        if self.rec.compacted_at.since(at) < SAME_COMPACTION {
            self.rec.gauge.begins_at(at);
        }
        if let (Some(told), Some(before)) = (&mut self.rec.compaction_told, tokens.0) {
            told.0 = Some(before);
        }
        if let Some(after) = tokens.1 {
            let sample = UsageSample {
                source: UsageSource::Transcript,
                used_percentage: None,
                tokens: Some(after),
                window: None,
                at,
            };
            self.sampled(sample, now);
        }
    }

    // ── signs of a compaction that prove none

    /// Whether one that began at `at` was counted already.
    pub(super) fn is_over(&self, at: Timestamp) -> bool {
        !self.rec.reported && at <= self.rec.compacted_at
    }

    /// A hook tells of a compaction whose beginning was not heard.
    pub(super) fn maybe_compacted(&mut self, at: Timestamp, now: Timestamp) {
        if at.since(self.rec.compacted_at) >= SAME_COMPACTION && !self.was_reported(now) {
            self.doubt(now);
        }
    }

    pub(super) fn doubt(&mut self, now: Timestamp) {
        self.rec.maybe_compacted = Some(now.plus(DOUBT));
        self.journal();
        self.ask(now);
        self.look_at_record(now.plus(RECORD_LAG));
    }

    fn look_at_record(&mut self, at: Timestamp) {
        self.check_by(at);
    }

    /// The record was read to its end at `asked_at` or later, and what it told came before this.
    pub(super) fn record_read(&mut self, asked_at: Timestamp, now: Timestamp) {
        let Some(until) = self.rec.maybe_compacted else {
            return;
        };
        let written = until.plus(RECORD_LAG - DOUBT);
        if asked_at < written {
            self.look_at_record(written.max(now.plus(1)));
            return;
        }
        self.rec.maybe_compacted = None;
        self.journal_later();
    }

    pub(super) fn doubt_no_longer(&mut self, now: Timestamp) {
        if self.rec.maybe_compacted.is_some_and(|until| until <= now) {
            self.rec.maybe_compacted = None;
            self.journal_later();
        }
    }

    pub(super) fn recover_monitor(&mut self, now: Timestamp) {
        if self.rec.compaction_told.is_some() {
            self.compaction_at = Some(now.plus(COMPACTION_TOLD));
        }
    }

    /// Somebody else's report of a compaction, by the older scripts: counted unless ours was.
    pub(super) fn compaction_reported(&mut self, now: Timestamp) {
        let ours = self.rec.state == State::Compacting
            || now.since(self.rec.compacted_at) < SAME_COMPACTION;
        if !ours {
            self.count_compaction(now, now);
            self.rec.reported = true;
        }
    }

    /// The compaction that ends now was counted when somebody else reported it.
    pub(super) fn was_reported(&mut self, now: Timestamp) -> bool {
        let reported = std::mem::take(&mut self.rec.reported);
        reported && now.since(self.rec.compacted_at) < REPORTED
    }

    pub(super) fn tell_compaction_in_time(&mut self, now: Timestamp) {
        if self.compaction_at.is_some_and(|at| at <= now) {
            self.tell_compaction();
        }
    }

    fn tell_compaction(&mut self) {
        self.compaction_at = None;
        let Some((before, after)) = self.rec.compaction_told.take() else {
            return;
        };
        self.journal();
        let values = Values {
            before,
            after,
            ..self.values()
        };
        let texts = self.monitor.texts.clone();
        if let Some(parent) = self.rec.parent.clone() {
            let about = format!("g{}c{}", self.rec.generation.0, self.rec.compactions);
            let text = values.fill(&texts.compaction_parent);
            if let Some(message) = self.own_message(about, text) {
                self.effect(Effect::Tell {
                    to: parent,
                    message,
                });
            }
        }
        let text = values.fill(&texts.compaction_owner);
        self.notify(NoticeKind::Compacted, text);
    }

    /// After a compaction the agent is given back its pins, what its lineage was handed and what was
    /// written down since; the daemon puts the text together, as it lies in files.
    pub(super) fn answer_recovery(&mut self, request: Option<RequestId>) -> Answered {
        let Some(request) = request else {
            return Answered::No;
        };
        let handoff = self.rec.lineage().map(|handoff| handoff.id.clone());
        self.effect(Effect::Answer {
            request,
            answer: Answer::Recover { handoff },
        });
        Answered::Yes
    }
}
