//! A provider that refuses for a while: when it does, what it tells of that, and what must hold of the
//! word to go on. Machines that are suspended are here as well, since only waiting notices them.

use super::daemon::Input;
use super::options::Mutation;
use super::rng::Rng;
use super::world::{Item, World, tr};
use sm_core::ids::Timestamp;
use sm_core::limit::{LimitKind, LimitPolicy, ProviderLimit, ResetSource};
use sm_core::message::Purpose;
use sm_core::signal::{BreakReason, Fact, Signal};
use sm_core::{AgentKind, Event};

/// What every word to go on says.
const WORD: &str = "continue where you left off";

/// How a provider refuses. Without a unit: thousandths of the occasions.
#[derive(Debug, Clone)]
pub struct Limits {
    /// A request meets a limit that begins with it.
    pub begins: u32,
    /// Milliseconds that it lasts, at most.
    pub lasts: i64,
    /// It tells when it ends.
    pub told: u32,
    /// The hook says no more than that there was an error; the record has the rest.
    pub only_recorded: u32,
    /// The machine sleeps, at some of the moments at which a person would look at it.
    pub suspends: u32,
    /// Somebody takes the word to go on out of the queue.
    pub cancels: u32,
    pub policy: LimitPolicy,
}

impl Limits {
    /// Refuses when a case says so, and tells until when.
    pub fn quiet() -> Self {
        Self {
            begins: 0,
            lasts: 60_000,
            told: 1_000,
            only_recorded: 0,
            suspends: 0,
            cancels: 0,
            policy: LimitPolicy {
                resume: true,
                tries: 12,
            },
        }
    }

    pub(super) fn of_seed(seed: u64) -> Self {
        let mut rng = Rng::new(seed.rotate_left(11) ^ 0x0011_1175);
        let mut some = |often: u64, most: u64| match rng.below(10) < often {
            true => u32::try_from(1 + rng.below(most)).unwrap_or(1),
            false => 0,
        };
        Self {
            begins: 100 + some(10, 600),
            lasts: 1_000 + i64::from(some(8, 90_000)),
            told: some(8, 1_000),
            only_recorded: some(3, 1_000),
            suspends: some(3, 100),
            cancels: some(3, 200),
            policy: LimitPolicy {
                resume: seed % 4 != 1,
                tries: 12,
            },
        }
    }
}

/// The provider as it truly is, and what became of the last turn that it refused.
#[derive(Debug, Default)]
pub struct Provider {
    /// It refuses until then.
    until: i64,
    refused: Option<Refused>,
}

#[derive(Debug)]
struct Refused {
    conversation: usize,
    launch: u32,
    /// Not before then, as it was told.
    told: Option<i64>,
    words: u32,
    /// Somebody else has begun a turn since, or had a command run.
    gone_on: bool,
    commanded: bool,
}

impl World {
    /// It refuses every request for so long.
    pub fn refuse_for(&mut self, ms: i64) {
        self.provider.until = self.now + ms;
    }

    /// How often an agent was told to go on.
    pub fn words_to_go_on(&self) -> u64 {
        self.stats.words_to_go_on
    }

    /// A request is made. True: it was refused, and the turn is over.
    pub(super) fn is_refused(&mut self) -> bool {
        let Some(limits) = self.options.limits.clone() else {
            return false;
        };
        if self.fault(limits.begins) && self.provider.until <= self.now {
            self.provider.until = self.now + self.rng.between(500, limits.lasts.max(501));
        }
        if self.provider.until <= self.now {
            return false;
        }
        let kind = match self.rng.below(3) {
            0 => LimitKind::Usage,
            1 => LimitKind::Overloaded,
            _ => LimitKind::Network,
        };
        let told = self.rng.chance(limits.told).then_some(self.provider.until);
        let heard = match self.options.mutation {
            Mutation::ResetMisread => told.map(|_| self.now),
            _ => told,
        };
        let limit =
            ProviderLimit::new(kind, "refused").resetting(heard.map(Timestamp), ResetSource::Agent);
        let reason = BreakReason::Limit(limit);
        let hooked = match self.rng.chance(limits.only_recorded) {
            true => BreakReason::ApiError("refused".into()),
            false => reason.clone(),
        };
        tr!(self, "provider: refuses until {}", self.provider.until);
        self.stats.limits += 1;
        self.provider.refused = Some(Refused {
            conversation: self.agent.current,
            launch: self.agent.launch,
            told,
            words: 0,
            gone_on: false,
            commanded: false,
        });
        self.hook(Signal::TurnBroken(hooked));
        self.write(Fact::TurnEnded {
            broken: Some(reason),
            at: Some(Timestamp(self.now)),
        });
        true
    }

    /// A text has become a prompt: nobody is told to go on too early, twice, or without need.
    pub(super) fn check_word(&mut self, text: &str) {
        let Some(limits) = &self.options.limits else {
            return;
        };
        let resume = limits.policy.resume;
        let crashes = self.options.faults.crash > 0 || self.options.crash_at.is_some();
        let sure = self.every_turn_is_told() && !crashes;
        let (now, current, launch) = (self.now, self.agent.current, self.agent.launch);
        // Codex tells of a new conversation with its first prompt
        let tells_of_clear = self.agent.kind == AgentKind::Claude;
        // what was left in the composer may be submitted by a person
        let is_word = text.contains(WORD) && self.enter_by_sm;
        self.stats.words_to_go_on += u64::from(is_word);
        let Some(refused) = self.provider.refused.as_mut() else {
            if is_word {
                self.fail("told to go on although nothing was refused".into());
            }
            return;
        };
        if !is_word {
            refused.gone_on = true;
            return;
        }
        refused.words += 1;
        let wrong = if !resume {
            Some("told to go on although nobody wanted that")
        } else if refused.words > 1 {
            Some("told to go on twice")
        } else if refused.told.is_some_and(|told| now < told) {
            Some("told to go on before the limit is over")
        } else if refused.launch != launch
            || refused.conversation != current && tells_of_clear && sure
        {
            Some("told to go on in another context or process than what was refused")
        } else if refused.gone_on && sure {
            Some("told to go on although the turn after it had begun")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            self.fail(wrong.into());
        }
    }

    /// Nothing hides from the session that a turn has begun.
    fn every_turn_is_told(&self) -> bool {
        let faults = &self.options.faults;
        let hidden = faults.hook_lost + faults.hook_delayed + faults.notice_lost + faults.slow;
        hidden + self.options.person.pounces == 0
    }

    /// The machine is suspended, or somebody cancels the word to go on.
    pub(super) fn limits_look_around(&mut self) {
        let Some(limits) = self.options.limits.clone() else {
            return;
        };
        let record = self.daemon.session.record();
        // within a delivery or a handoff it is not: everybody's deadlines would be over at once
        let rests = record.flight.is_none() && record.open_handoff().is_none();
        if self.rng.chance(limits.suspends) && rests {
            let ms = self.rng.between(5_000, 7_200_000);
            self.suspend(ms);
        }
        if self.rng.chance(limits.cancels) && self.daemon.up {
            let mut words = self.daemon.session.queue().iter();
            let word = words.find(|m| m.meta.purpose == Purpose::Resume);
            if let Some(id) = word.map(|m| m.meta.id.clone()) {
                tr!(self, "person: cancels {id}");
                self.take(Input::Event(Event::Withdraw(id)));
            }
        }
    }

    /// Nothing goes on but the clock: whatever was to happen happens as much later. A daemon notices
    /// within a minute of being awake.
    fn suspend(&mut self, ms: i64) {
        tr!(self, "the machine is suspended for {} s", ms / 1_000);
        let items = std::mem::take(&mut self.items);
        let later = items
            .into_iter()
            .map(|((at, no), item)| ((at + ms, no), item));
        self.items = later.collect();
        self.now += ms;
        if let Some(at) = self.daemon.tick_at {
            let soon = (at + ms).min(self.now + 60_000);
            self.daemon.tick_at = Some(soon);
            self.at(soon - self.now, Item::Tick);
        }
    }

    /// sm has run a text as a command: whoever sent it goes on with the session.
    pub(super) fn command_was_run(&mut self) {
        if let Some(refused) = self.provider.refused.as_mut() {
            refused.commanded = true;
        }
    }

    pub(super) fn limits_unsettled(&self) -> Option<String> {
        let limit = self.daemon.session.record().limit.as_deref()?;
        let alive = self.agent.alive() && self.daemon.session.record().state.is_live();
        (alive && limit.holds()).then(|| format!("it is limited: {limit:?}"))
    }

    /// An agent that was refused goes on, or somebody knows that it does not.
    pub(super) fn limits_accounts(&mut self) {
        let Some(refused) = &self.provider.refused else {
            return;
        };
        let there = (self.agent.current, self.agent.launch);
        let same = (refused.conversation, refused.launch) == there && self.agent.alive();
        let stands = same && !refused.gone_on && !refused.commanded && refused.words == 0;
        let told = self.daemon.session.record().limit.is_some();
        let known = self.agent.kind != AgentKind::Generic && self.every_turn_is_told();
        if stands && !told && known {
            self.fail("the agent stands still after a limit, and nobody is told".into());
        }
    }
}
