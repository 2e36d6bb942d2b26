//! How full the agent's context is, over time: what each of its answers adds, who tells of it, and
//! compactions with the hooks that belong to them. What must hold of it is in `monitor_check`.

use super::agent::Stage;
use super::options::Mutation;
use super::world::{AgentStep, Item, World, id, tr};
use sm_core::ids::{EventId, Timestamp};
use sm_core::monitor::Monitor;
use sm_core::signal::{ContextSource, Fact, HookCall, Origin, Signal, UsageSample, UsageSource};
use sm_core::{AgentKind, Answer, Event};

/// The size of every window.
pub const WINDOW: u64 = 200_000;
/// The status line is called this long after what it shows has changed.
const DEBOUNCE: i64 = 300;

/// How a context fills, and what compacts it. Parts of a window are in thousandths.
#[derive(Debug, Clone)]
pub struct Usage {
    /// What one answer of the model adds, at most.
    pub growth: u64,
    /// It is less than before although nothing was compacted (in thousandths of the answers).
    pub falls: u32,
    /// The agent compacts by itself from here on.
    pub compacts_at: Option<u64>,
    /// What a compaction leaves, at most.
    pub leaves: u64,
    /// It asks its hooks again before it compacts (in thousandths of the times).
    pub asks_again: u32,
    /// A compaction comes to nothing.
    pub comes_to_nothing: u32,
    pub monitor: Monitor,
}

impl Usage {
    /// Fills as a case says: answers add next to nothing.
    pub fn quiet() -> Self {
        Self {
            growth: 1,
            falls: 0,
            compacts_at: None,
            leaves: 60,
            asks_again: 500,
            comes_to_nothing: 0,
            monitor: Monitor::default(),
        }
    }
}

impl World {
    /// The model has answered: the context is fuller.
    pub(super) fn used(&mut self) {
        let Some(usage) = self.options.usage.clone() else {
            return;
        };
        let falls = self.rng.chance(usage.falls);
        let more = (1 + self.rng.below(usage.growth)) * WINDOW / 1_000;
        let fill = self.watch.fill(self.agent.current);
        fill.tokens = match falls {
            true => (fill.tokens / 10 * 7).max(1_000),
            false => (fill.tokens + more).min(WINDOW - 1_000),
        };
        let sample = self.sample(UsageSource::Transcript, self.agent.current);
        self.write(Fact::Usage(sample));
        match self.agent.kind {
            AgentKind::Claude => self.line_changes(),
            AgentKind::Codex => {
                let sample = self.sample(UsageSource::Hook, self.agent.current);
                self.hook(Signal::Usage(sample));
            }
            AgentKind::Native | AgentKind::Generic => {}
        }
    }

    /// What a source says now, written down as what is true.
    fn sample(&mut self, source: UsageSource, conversation: usize) -> UsageSample {
        let tokens = self.watch.fill(conversation).tokens;
        let at = Timestamp(self.now);
        #[expect(clippy::cast_precision_loss, reason = "tokens of one window")]
        let percent = (tokens as f64 * 100.0 / WINDOW as f64).round();
        let (used_percentage, window) = match (source, self.agent.kind) {
            (UsageSource::StatusLine, _) => (Some(percent), Some(WINDOW)),
            (_, AgentKind::Codex) => (None, Some(WINDOW)),
            (_, AgentKind::Claude | AgentKind::Native | AgentKind::Generic) => (None, None),
        };
        self.watch.made(conversation, source, at, tokens);
        UsageSample {
            source,
            used_percentage,
            tokens: Some(tokens),
            window,
            at,
        }
    }

    /// The status line is called a little later, once for whatever changes until then.
    fn line_changes(&mut self) {
        if !self.watch.line_due {
            self.watch.line_due = true;
            let (launch, conversation) = (self.agent.launch, self.agent.current);
            let after = self.delay(DEBOUNCE, DEBOUNCE + 50, 1_500);
            self.at(
                after,
                Item::StatusLine {
                    launch,
                    conversation,
                },
            );
        }
    }

    /// `conversation`: when it was asked for. One with the old id may come after a clear.
    pub(super) fn status_line(&mut self, launch: u32, conversation: usize) {
        self.watch.line_due = false;
        if !self.agent.alive() || self.agent.launch != launch {
            return;
        }
        let shown = match self.rng.chance(500) {
            true => conversation,
            false => self.agent.current,
        };
        let mut sample = self.sample(UsageSource::StatusLine, shown);
        if !self.watch.fill(shown).answered {
            sample.tokens = Some(0);
            sample.used_percentage = self.rng.chance(500).then_some(0.0);
        }
        let of = self.agent.conversations.get(shown).map(|c| c.id.clone());
        self.foreign_hook(Signal::Usage(sample), Origin::Own, of);
    }

    /// The next request, unless the context is compacted before it.
    pub(super) fn go_on(&mut self, compact: bool) {
        let full = self.options.usage.as_ref().and_then(|u| u.compacts_at);
        let tokens = self.watch.fill(self.agent.current).tokens;
        if compact || full.is_some_and(|full| tokens >= full * WINDOW / 1_000) {
            self.agent.compacting_in_turn = true;
            self.compact();
        } else {
            self.think();
        }
    }

    // ── compaction

    /// The hooks before a compaction: the agent waits for each.
    pub(super) fn ask_to_compact(&mut self) {
        let automatic = self.agent.compacting_in_turn;
        self.hook_and_wait(Signal::CompactionStarting { automatic });
    }

    pub(super) fn may_compact(&mut self, answer: Answer) {
        match answer {
            Answer::Nothing => {}
            Answer::Block { .. } => {
                self.check_held_up();
                self.compaction_over();
                return;
            }
            Answer::Context { .. }
            | Answer::Show { .. }
            | Answer::Continue { .. }
            | Answer::Recover { .. } => {
                self.fail(format!("a compaction's hook was answered {answer:?}"));
            }
        }
        let usage = self.options.usage.as_ref();
        let again = usage.map_or(0, |usage| usage.asks_again);
        if self.rng.chance(again) {
            self.ask_to_compact();
        } else {
            let ms = self.rng.between(300, 5_000);
            self.go(ms, AgentStep::CompactDone);
        }
    }

    /// True: something was compacted, and who is to be told was.
    pub(super) fn compacts(&mut self) -> bool {
        let Some(usage) = self.options.usage.clone() else {
            return false;
        };
        if self.agent.compacting_in_turn && self.rng.chance(usage.comes_to_nothing) {
            tr!(self, "agent: it compacts nothing");
            return true;
        }
        let left = (10 + self.rng.below(usage.leaves)) * WINDOW / 1_000;
        let at = Timestamp(self.now);
        let current = self.agent.current;
        let before = self.watch.compacted(current, left, self.now);
        tr!(self, "agent: compacted, {before} to {left} tokens");
        let started = Signal::ContextStarted {
            source: ContextSource::Compact,
            transcript: None,
        };
        let tells = self.agent.kind == AgentKind::Claude;
        if tells {
            self.watch.made(current, UsageSource::Transcript, at, left);
            self.hook(started);
        } else {
            self.agent.compact_due = true; // with the next prompt
        }
        self.hook(Signal::CompactionDone);
        self.write(Fact::CompactBoundary {
            before: tells.then_some(before),
            after: tells.then_some(left),
            at: Some(at),
        });
        if tells {
            self.line_changes();
        }
        true
    }

    pub(super) fn compaction_over(&mut self) {
        self.watch.compacting_told = None;
        if self.agent.compacting_in_turn {
            self.agent.compacting_in_turn = false;
            self.think();
        } else {
            self.become_idle(true);
        }
    }

    // ── the way to the daemon

    /// Events are kept in order, of samples only the newest.
    pub(super) fn spool_hook(&mut self, hook: usize) {
        if matches!(self.hooks[hook].signal, Signal::Usage(_)) {
            let hooks = &self.hooks;
            self.spool
                .retain(|at| !matches!(hooks[*at].signal, Signal::Usage(_)));
            let at = self.hooks[hook].at;
            let later = self.spool.iter().position(|other| hooks[*other].at > at);
            self.spool.insert(later.unwrap_or(self.spool.len()), hook);
        } else {
            self.spool.push(hook);
        }
    }

    /// What a broken driver makes of a call.
    pub(super) fn mutate_call(&self, call: &mut HookCall) {
        let mutation = self.options.mutation;
        if let Signal::Usage(sample) = &mut call.signal {
            if mutation == Mutation::SampledOnArrival {
                sample.at = Timestamp(self.now);
            }
            if mutation == Mutation::SampleOfAnybody {
                call.conversation = None;
            }
        }
    }

    /// A broken driver that keeps from the session that a compaction begins.
    pub(super) fn hides_compaction(&mut self, hook: usize) -> bool {
        let begins = matches!(self.hooks[hook].signal, Signal::CompactionStarting { .. });
        let hidden = begins && self.options.mutation == Mutation::CompactionHidden;
        if hidden {
            self.watch.compacting_told = Some(self.now);
            self.hook_finishes(hook, Answer::Nothing);
        }
        hidden
    }

    pub(super) fn hides_fact(&self, fact: &Fact) -> bool {
        self.options.mutation == Mutation::BoundaryUnread
            && matches!(fact, Fact::CompactBoundary { .. })
    }

    // ── for directed cases

    /// The context is this full, in per cent, as the model has just said.
    pub fn fill_to(&mut self, percent: u64) {
        let current = self.agent.current;
        let fill = self.watch.fill(current);
        fill.tokens = percent * WINDOW / 100;
        fill.answered = true;
        let sample = self.sample(UsageSource::Transcript, current);
        self.write(Fact::Usage(sample));
        self.line_changes();
    }

    pub fn is_compacting(&self) -> bool {
        self.agent.stage == Stage::Compact
    }

    /// A sample that somebody made up at that time, as the agent's own status line.
    pub fn feed_sample(&mut self, conversation: usize, percent: f64, at: Timestamp) {
        let no = self.seq;
        self.seq += 1;
        let of = self.agent.conversations.get(conversation);
        let call = HookCall {
            id: id(EventId::new(format!("sample{no}"))),
            at,
            conversation: of.map(|c| c.id.clone()),
            origin: Origin::Own,
            request: None,
            signal: Signal::Usage(UsageSample {
                source: UsageSource::StatusLine,
                used_percentage: Some(percent),
                tokens: Some(1),
                window: Some(WINDOW),
                at,
            }),
        };
        self.feed(Event::Hook(call));
    }
}
