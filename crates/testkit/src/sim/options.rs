//! What a schedule is made of: which agent, how often each fault happens, what people do.

use super::limits::Limits;
use super::monitor::Usage;
use super::rng::Rng;
use sm_core::monitor::{Monitor, OnCompaction};
use sm_core::profile::{Clear, ClearProof, PasteFit, Profile, StopAnswer};
use sm_core::{AgentKind, Session};

#[derive(Debug, Clone)]
pub struct Options {
    pub agent: AgentKind,
    pub faults: Faults,
    pub person: Person,
    /// How long faults and people go on; afterwards everything has to settle.
    pub active_ms: i64,
    /// Messages sent at random times while active.
    pub messages: u32,
    /// A hook that is delayed comes up to this much later.
    pub hook_delay_ms: i64,
    /// Handoffs asked for at random times while active.
    pub handoffs: u32,
    /// The agent's process can be seen to have its record open before anything is said in it.
    pub locks: bool,
    /// How the context fills; `None`: nobody tells.
    pub usage: Option<Usage>,
    /// The provider's limits; `None`: it has none.
    pub limits: Option<Limits>,
    pub mutation: Mutation,
    /// kill -9 at exactly this one of the points before and after journal writes and effects.
    pub crash_at: Option<u64>,
    /// Collect a readable trace (slow).
    pub trace: bool,
}

/// How often, in thousandths of the occasions.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// The hook program is killed: nobody hears of the event.
    pub hook_lost: u32,
    /// The event comes by socket and by spool.
    pub hook_doubled: u32,
    /// The event comes late, and so overtaken by others.
    pub hook_delayed: u32,
    /// The daemon answered, the hook program had given up.
    pub answer_lost: u32,
    pub probe_lost: u32,
    /// The result of a paste or a key press never comes.
    pub result_lost: u32,
    /// Titles, status files, transcript growth: the notification is lost.
    pub notice_lost: u32,
    /// The agent drops Enter.
    pub enter_swallowed: u32,
    /// The composer shows something else than was pasted, for as long as it stands there.
    pub draws_otherwise: u32,
    /// The agent strips of a prompt what it does not know or cannot be seen.
    pub strips: u32,
    /// For a while nothing that can be seen of the agent proves that it is idle.
    pub never_proves_idle: u32,
    /// Everything that takes a while takes long.
    pub slow: u32,
    /// At every crash point.
    pub crash: u32,
    /// The origin of a hook call cannot be told.
    pub origin_unknown: u32,
    /// `/clear` or `/resume` has no effect at all.
    pub clear_ignored: u32,
    /// `/clear` takes long.
    pub clear_slow: u32,
    /// The prompt of a successor vanishes.
    pub prompt_vanishes: u32,
    /// The successor takes the first line of its prompt and drops the document.
    pub document_dropped: u32,
    /// A hook of the user's own blocks the prompt of a successor after ours has told of it.
    pub prompt_blocked: u32,
    /// The hook is told all of the prompt, and the model is given its first line.
    pub document_unsaid: u32,
    /// The agent cannot be started.
    pub launch_fails: u32,
    /// The artifacts of a handoff are never made, or its document cannot be kept.
    pub prepare_lost: u32,
    pub prepare_fails: u32,
    /// An agent that is killed has not written down the last prompts that it took.
    pub record_lost: u32,
    /// The answer to a Stop hook makes no request: the agent has followed too many in a row.
    pub stop_capped: u32,
    /// An agent whose terminal is gone writes its record later.
    pub outlives: u32,
}

/// What people do, in thousandths of the occasions (about every second).
#[derive(Debug, Clone, Default)]
pub struct Person {
    pub prompts: u32,
    pub drafts: u32,
    pub escapes: u32,
    pub clears: u32,
    pub compacts: u32,
    /// Ends the agent, or it dies.
    pub ends: u32,
    /// The terminal goes away with the agent.
    pub terminal: u32,
    /// The agent starts a turn by itself.
    pub background: u32,
    /// A tool call asks for permission.
    pub dialogs: u32,
    /// A turn ends in an API error.
    pub errors: u32,
    /// An agent run by the agent, a sub-agent.
    pub nested: u32,
    /// Something happens at the very moment of a paste or a key: a person types, a dialog opens.
    pub pounces: u32,
    /// A message is withdrawn.
    pub withdrawals: u32,
    /// `sm kill`, and `sm restore` of what has ended.
    pub kills: u32,
    /// Goes back to an older conversation.
    pub resumes: u32,
    /// Puts a draft aside.
    pub stashes: u32,
    /// The agent's tool is `sm handoff`; somebody cancels one.
    pub handoffs: u32,
    pub cancels: u32,
}

/// Ways to break the driver, to see that the checks notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    None,
    /// Keys are pressed whatever the screen shows by then.
    IgnoreGuard,
    /// Effects are carried out before the step is journaled.
    JournalAfterEffects,
    /// Evidence claims that the transcript was read, and it was not.
    TranscriptUnread,
    /// A person's draft is taken for our own text.
    DraftIsOurs,
    /// Sub-agents' hooks are taken for the session's own.
    SubAgentIsOwn,
    /// After a restart the context is cleared again.
    ClearAgain,
    /// An entered clear is taken for a new context.
    ClearBelieved,
    /// A message that comes while a handoff is scheduled is given to the agent all the same.
    FreezeIgnored,
    /// That a draft was stashed before is not seen.
    StashUnseen,
    /// A handoff is kept in memory until the turn is over.
    HandoffInMemory,
    /// A successor is told where the document is, and no word of it.
    DocumentLeftOut,
    /// What a hook has told of counts as being in the record.
    HookIsProof,
    /// How full the context is, and what was told of it, is in memory only.
    GaugeInMemory,
    /// A sample counts as made when it arrives.
    SampledOnArrival,
    /// Whose sample it is is not looked at.
    SampleOfAnybody,
    /// Compactions in the agent's own record are not seen.
    BoundaryUnread,
    /// That a compaction begins is not told to the session.
    CompactionHidden,
    /// A limit is kept in memory until something else is journaled.
    LimitInMemory,
    /// Every limit is told to be over at once.
    ResetMisread,
}

impl Options {
    /// Nothing goes wrong and nobody is there: for directed cases.
    pub fn calm(agent: AgentKind) -> Self {
        Self {
            agent,
            faults: Faults::default(),
            person: Person::default(),
            active_ms: 0,
            messages: 0,
            hook_delay_ms: 3_000,
            handoffs: 0,
            locks: true,
            usage: None,
            limits: None,
            mutation: Mutation::None,
            crash_at: None,
            trace: false,
        }
    }

    /// The schedule of a seed: most have a few kinds of faults, some have many, some none.
    pub fn of_seed(seed: u64) -> Self {
        let mut rng = Rng::new(seed.rotate_left(17) ^ 0xC0FFEE);
        let agent = match rng.below(10) {
            0..=6 => AgentKind::Claude,
            7 | 8 => AgentKind::Codex,
            _ => AgentKind::Generic,
        };
        let mut some = |often: u64, most: u64| -> u32 {
            if rng.below(10) < often {
                u32::try_from(1 + rng.below(most)).unwrap_or(1)
            } else {
                0
            }
        };
        let faults = Faults {
            hook_lost: some(4, 250),
            hook_doubled: some(3, 300),
            hook_delayed: some(4, 250),
            answer_lost: some(3, 400),
            probe_lost: some(3, 250),
            result_lost: some(3, 250),
            notice_lost: some(4, 500),
            enter_swallowed: some(3, 500),
            slow: some(4, 300),
            crash: some(4, 25),
            origin_unknown: some(2, 500),
            record_lost: u32::from(seed.is_multiple_of(4)) * 700,
            stop_capped: u32::from(seed % 8 == 3) * 300,
            outlives: u32::from(seed.is_multiple_of(8)) * 500,
            ..Faults::default()
        };
        let person = Person {
            prompts: some(8, 300),
            drafts: some(5, 250),
            escapes: some(4, 150),
            clears: some(3, 80),
            compacts: some(2, 80),
            ends: some(2, 25),
            terminal: some(1, 20),
            background: some(3, 120),
            dialogs: some(4, 500),
            errors: some(3, 300),
            nested: some(3, 400),
            pounces: some(4, 400),
            withdrawals: some(2, 300),
            kills: some(1, 15),
            resumes: some(2, 60),
            ..Person::default()
        };
        let messages = match some(10, 12) {
            12 => 25, // more than fit into a row of answers
            few => few.min(7),
        };
        // of their own, so that the schedules without them stay as they were
        let mut rng_of_texts = Rng::new(seed.rotate_left(7) ^ 0x7E87);
        let mut rewrites = |often: u64, most: u64| match rng_of_texts.below(10) < often {
            true => u32::try_from(1 + rng_of_texts.below(most)).unwrap_or(1),
            false => 0,
        };
        let faults = Faults {
            draws_otherwise: rewrites(3, 400),
            strips: rewrites(4, 1_000),
            document_dropped: rewrites(1, 600),
            never_proves_idle: rewrites(2, 60),
            ..faults
        };
        Self {
            agent,
            faults,
            person,
            active_ms: 8_000 + i64::try_from(rng.below(30_000)).unwrap_or(0),
            messages,
            hook_delay_ms: 3_000,
            handoffs: 0,
            locks: true,
            usage: None,
            limits: None,
            mutation: Mutation::None,
            crash_at: None,
            trace: false,
        }
    }

    /// A schedule with handoffs, and what can go wrong with them.
    pub fn handoffs_of_seed(seed: u64) -> Self {
        let mut options = Self::of_seed(seed);
        let mut rng = Rng::new(seed.rotate_left(29) ^ 0x4A0D_0FF5);
        if options.agent == AgentKind::Generic {
            options.agent = match rng.below(2) {
                0 => AgentKind::Claude,
                _ => AgentKind::Codex,
            };
        }
        let mut some = |often: u64, most: u64| -> u32 {
            if rng.below(10) < often {
                u32::try_from(1 + rng.below(most)).unwrap_or(1)
            } else {
                0
            }
        };
        let faults = &mut options.faults;
        faults.clear_ignored = some(2, 500);
        faults.clear_slow = some(3, 500);
        faults.prompt_vanishes = some(1, 900);
        faults.launch_fails = some(1, 150);
        faults.prepare_lost = some(1, 500);
        faults.prepare_fails = some(1, 200);
        // of their own, so that the schedules without them stay as they were
        let mut rng_of_users = Rng::new(seed.rotate_left(37) ^ 0xB10C);
        let mut users = |most: u64| match rng_of_users.below(10) {
            0 => u32::try_from(1 + rng_of_users.below(most)).unwrap_or(1),
            _ => 0,
        };
        faults.prompt_blocked = users(900);
        faults.document_unsaid = users(600);
        options.person.stashes = some(3, 150);
        options.person.handoffs = some(5, 400);
        options.person.cancels = some(2, 40);
        options.handoffs = some(10, 3);
        options.locks = some(5, 1) == 1;
        if some(4, 1) == 1 {
            options.hook_delay_ms = 10_000;
        }
        options
    }

    /// A schedule with samples and compactions; in one of three with handoffs as well.
    pub fn monitor_of_seed(seed: u64) -> Self {
        let mut options = match seed % 3 {
            0 => Self::handoffs_of_seed(seed),
            _ => Self::of_seed(seed),
        };
        let mut rng = Rng::new(seed.rotate_left(41) ^ 0x0C0_7E87);
        if options.agent == AgentKind::Generic {
            options.agent = AgentKind::Claude;
        }
        options.person.prompts = options.person.prompts.max(150);
        options.person.compacts = u32::try_from(rng.below(3) * rng.below(60)).unwrap_or(0);
        let mut some = |often: u64, most: u64| match rng.below(10) < often {
            true => 1 + rng.below(most),
            false => 0,
        };
        let rare = |n: u64| u32::try_from(n).unwrap_or(0);
        options.usage = Some(Usage {
            growth: 20 + some(10, 300),
            falls: rare(some(3, 150)),
            compacts_at: match some(6, 400) {
                0 => None,
                n => Some(1_000 - n),
            },
            leaves: 60 + some(3, 600),
            asks_again: rare(some(5, 500)),
            comes_to_nothing: rare(some(2, 500)),
            monitor: Monitor {
                on_compaction: match some(2, 1) {
                    0 => OnCompaction::Allow,
                    _ => OnCompaction::Handoff,
                },
                ..Monitor::default()
            },
        });
        options
    }

    /// A schedule in which the provider refuses turns; in one of three with handoffs as well.
    pub fn limits_of_seed(seed: u64) -> Self {
        let mut options = match seed % 3 {
            0 => Self::handoffs_of_seed(seed),
            _ => Self::of_seed(seed),
        };
        if options.agent == AgentKind::Generic {
            options.agent = AgentKind::Codex;
        }
        options.person.prompts = options.person.prompts.max(120);
        options.limits = Some(Limits::of_seed(seed));
        options
    }

    /// What the daemon's configuration says, told to a session whenever it is made.
    pub(super) fn configure(&self, session: &mut Session) {
        if let Some(usage) = &self.usage {
            session.set_monitor(usage.monitor.clone());
        }
        if let Some(limits) = &self.limits {
            session.set_limits(limits.policy);
        }
        session.set_draft_patience(self.active_ms % 3 * 700);
    }

    /// Where such a schedule is played.
    pub fn test(&self) -> &'static str {
        match self.handoffs {
            _ if self.usage.is_some() => "monitor",
            _ if self.limits.is_some() => "limits",
            0 => "simulation",
            _ => "handoffs",
        }
    }

    pub fn proves_clear_with_prompt(&self) -> bool {
        let clear = self.profile().clear;
        clear.is_some_and(|clear| clear.proof == ClearProof::WithPrompt)
    }

    pub fn profile(&self) -> Profile {
        match self.agent {
            AgentKind::Claude => Profile {
                kind: AgentKind::Claude,
                hook_answer_limit: Some(9_400),
                stop_answer: Some(StopAnswer {
                    limit: 60_000,
                    in_a_row: 8,
                    exact: |_| true,
                }),
                input: sm_core::profile::Input::Terminal,
                mailbox: true,
                names_conversation: true,
                prompt_argument: true,
                reads_screen: true,
                has_transcript: true,
                paste_fit: |text| PasteFit::unless_command(text, &['/', '!', '#']),
                escape_interrupts: true,
                compaction_holds: 5,
                compaction_waits: |_, _| true,
                usable: |window| window,
                clear: Some(Clear {
                    command: "/clear",
                    proof: ClearProof::AtOnce,
                }),
                stashes: true,
                resume_command: Some(|old| format!("/resume {old}")),
                // every other schedule has an agent that only the mailbox can give such a text
                paste_as_text: match self.active_ms % 2 {
                    1 => |text| PasteFit::behind(" ", text),
                    _ => |_| None,
                },
            },
            AgentKind::Codex => Profile {
                kind: AgentKind::Codex,
                hook_answer_limit: Some(9_400),
                stop_answer: Some(StopAnswer {
                    limit: 60_000,
                    in_a_row: 12,
                    exact: |_| true,
                }),
                input: sm_core::profile::Input::Terminal,
                mailbox: false,
                names_conversation: false,
                prompt_argument: true,
                reads_screen: true,
                has_transcript: true,
                paste_fit: |text| PasteFit::unless_command(text, &['/', '!']),
                escape_interrupts: true,
                compaction_holds: 5,
                compaction_waits: |_, _| true,
                usable: |window| window,
                clear: Some(Clear {
                    command: "/clear",
                    proof: ClearProof::WithPrompt,
                }),
                stashes: false,
                resume_command: None,
                paste_as_text: |_| None,
            },
            // sm's own agent is tested as it is: there is nothing to simulate
            AgentKind::Native | AgentKind::Generic => Profile {
                kind: AgentKind::Generic,
                hook_answer_limit: None,
                stop_answer: None,
                input: sm_core::profile::Input::Terminal,
                mailbox: false,
                names_conversation: false,
                prompt_argument: false,
                reads_screen: false,
                has_transcript: false,
                paste_fit: |text| PasteFit::unless_command(text, &[]),
                escape_interrupts: false,
                compaction_holds: 0,
                compaction_waits: |_, _| true,
                usable: |window| window,
                clear: None,
                stashes: false,
                resume_command: None,
                paste_as_text: |_| None,
            },
        }
    }
}
