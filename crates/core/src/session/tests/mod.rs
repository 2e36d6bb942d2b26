//! A bench for the rules: a session, a clock that goes on by itself, and short words for what happens.

mod calls;
mod deaf;
mod driven;
mod examples;
mod found;
mod found_context;
mod found_turns;
mod found_unseen;
mod framing;
mod handoff;
mod hosted;
mod limits;
mod rewritten;
mod unheard;
mod unrecorded;
mod watch;
mod watch_found;

use super::*;
use crate::effect::{Answer, Key};
use crate::event::KeyOutcome;
use crate::ids::{EventId, Process, RequestId};
use crate::message::{Hold, Mode, NewMessage, Proof, Sender, Way};
use crate::profile::{AgentKind, Clear, ClearProof, PasteFit, StopAnswer};
use crate::signal::*;

const CLAUDE: Profile = Profile {
    kind: AgentKind::Claude,
    hook_answer_limit: Some(9_400),
    stop_answer: Some(StopAnswer {
        limit: 60_000,
        in_a_row: 6,
        exact: |_| true,
    }),
    input: crate::profile::Input::Terminal,
    mailbox: true,
    names_conversation: true,
    prompt_argument: true,
    reads_screen: true,
    has_transcript: true,
    paste_fit: |text| PasteFit::unless_command(text, &['/', '!', '#']),
    escape_interrupts: true,
    compaction_holds: 5,
    compaction_waits: |used, _| used.is_none_or(|used| used < 180_000),
    usable: |window| window,
    clear: Some(Clear {
        command: "/clear",
        proof: ClearProof::AtOnce,
    }),
    stashes: true,
    resume_command: Some(|conversation| format!("/resume {conversation}")),
    paste_as_text: |_| None,
};

/// A session and a clock that goes on by itself.
struct Bench {
    session: Session,
    now: Timestamp,
    calls: u64,
}

fn conversation(text: &str) -> ConversationId {
    ConversationId::new(text).unwrap()
}

fn message(id: &str, text: &str) -> NewMessage {
    NewMessage {
        id: MessageId::new(id).unwrap(),
        from: Sender::Person,
        text: text.into(),
        mode: Mode::Sequential,
        raw: false,
        notify: false,
        expires_at: None,
    }
}

fn boss() -> Sender {
    Sender::Session {
        id: SessionId::new("s9").unwrap(),
        name: "boss".into(),
    }
}

fn screen(composer: Composer, activity: Activity) -> Evidence {
    Evidence {
        alive: Some(true),
        status: Some(StatusReading {
            process: Process { pid: 7, start: 70 },
            conversation: None,
            activity: activity.clone(),
            at: None,
        }),
        title: Activity::Unknown,
        screen: Some(ScreenReading {
            composer,
            activity,
            mark: ScreenMark::default(),
        }),
        transcript_read: true,
        contexts_read: false,
        deaf: false,
    }
}

impl Bench {
    fn new() -> Self {
        let new = NewSession {
            id: SessionId::new("s1").unwrap(),
            name: SessionName::new("api").unwrap(),
            cwd: "/".into(),
            parent: None,
            conversation: Some(conversation("c1")),
            folder: "/data/s1".into(),
        };
        let mut session = Session::new(new, CLAUDE, Timestamp(1_000_000));
        session.set_draft_patience(0);
        Self {
            session,
            now: Timestamp(1_000_000),
            calls: 0,
        }
    }
    fn idle() -> Self {
        let mut bench = Self::new();
        bench.on(Event::LaunchAsked { fresh: false });
        bench.started(1);
        bench.begins(ContextSource::Startup);
        bench
    }
    fn working() -> Self {
        let mut bench = Self::idle();
        bench.accepts("go");
        bench
    }
    fn on(&mut self, event: Event) -> Outcome {
        self.now = self.now.plus(10);
        self.session.step(event, self.now)
    }
    fn call(&mut self, from: &str, signal: Signal) -> HookCall {
        self.calls += 1;
        HookCall {
            id: EventId::new(format!("e{}", self.calls)).unwrap(),
            at: self.now.plus(10),
            conversation: Some(conversation(from)),
            origin: Origin::Own,
            request: Some(RequestId(self.calls)),
            signal,
        }
    }
    fn hook(&mut self, signal: Signal) -> Outcome {
        let current = self.session.record().conversation.clone().unwrap();
        let call = self.call(current.as_str(), signal);
        self.on(Event::Hook(call))
    }
    /// The first process has the pid 7, the second 8 …
    fn started(&mut self, launch: u32) -> Outcome {
        let pid = 6 + launch;
        let start = u64::from(pid) * 10;
        self.on(Event::Started {
            launch,
            process: Process { pid, start },
        })
    }
    fn begins(&mut self, source: ContextSource) -> Outcome {
        self.hook(Signal::ContextStarted {
            source,
            transcript: None,
        })
    }
    fn accepts(&mut self, prompt: &str) -> Outcome {
        self.hook(Signal::PromptAccepted {
            text: prompt.into(),
            transcript: None,
        })
    }
    fn stops(&mut self) -> Outcome {
        self.hook(Signal::Stopping {
            again: false,
            background_tasks: Vec::new(),
        })
    }
    fn exits(&mut self, launch: u32, code: i32) -> Outcome {
        self.on(Event::Exited {
            launch,
            code: Some(code),
            signal: None,
        })
    }
    fn is_killed(&mut self, launch: u32, signal: i32) -> Outcome {
        self.on(Event::Exited {
            launch,
            code: None,
            signal: Some(signal),
        })
    }
    /// The daemon has died, and another one goes on from the journal.
    fn recovers(&mut self) -> Outcome {
        self.recovers_with(true)
    }
    fn recovers_with(&mut self, terminal_alive: bool) -> Outcome {
        self.session = Session::restore(
            self.session.record().clone(),
            self.session.profile,
            "/data/s1".into(),
            self.session.queue().to_vec(),
            self.session.finals.clone(),
        );
        self.on(Event::Recovered { terminal_alive })
    }
    fn send(&mut self, id: &str, text: &str) -> Outcome {
        self.on(Event::Send(message(id, text)))
    }
    /// Answers the probe that is under way.
    fn evidence(&mut self, evidence: Evidence) -> Outcome {
        let probe = self
            .session
            .probe
            .as_ref()
            .expect("a probe is under way")
            .no;
        self.on(Event::Probed { probe, evidence })
    }
    fn evidence_after(&mut self, ms: i64, evidence: Evidence) -> Outcome {
        self.wait(ms);
        self.evidence(evidence)
    }
    fn wait(&mut self, ms: i64) -> Outcome {
        self.now = self.now.plus(ms);
        self.on(Event::Tick)
    }
    fn receipt(&self, id: &str) -> MessageState {
        self.session
            .message(&MessageId::new(id).unwrap())
            .expect("known message")
            .meta
            .state
            .clone()
    }
    fn state(&self) -> &'static str {
        self.session.record().state.word()
    }
    fn was_pasted(&mut self, flight: u64) -> Outcome {
        self.on(Event::Pasted { flight, ok: true })
    }
    /// Whatever is looked at, it is never given again, and fails as nobody can know.
    fn ends_unknown(&mut self, id: &str, seen: impl Fn() -> Evidence) {
        for _ in 0..60 {
            self.wait(1_000);
            if self.session.probe.is_some() {
                let outcome = self.evidence(seen());
                assert!(!pasted(&outcome), "somebody may have it: {outcome:?}");
            }
        }
        let MessageState::Failed { reason } = self.receipt(id) else {
            panic!("{:?}", self.receipt(id))
        };
        assert!(reason.contains("not known whether"), "{reason}");
    }
    /// Pastes message `id` up to the moment before its proof.
    fn paste(&mut self) -> Outcome {
        let pasted = self.evidence(screen(Composer::Empty, Activity::Idle));
        let no = pasted
            .effects
            .iter()
            .find_map(|e| match e {
                Effect::Paste { flight, .. } => Some(*flight),
                _ => None,
            })
            .expect("a paste");
        self.on(Event::Pasted {
            flight: no,
            ok: true,
        });
        let entered = self.evidence(screen(Composer::Ours, Activity::Idle));
        self.on(Event::Pressed {
            flight: no,
            outcome: KeyOutcome::Pressed,
        });
        entered
    }
}

fn keys(outcome: &Outcome) -> Vec<Key> {
    outcome
        .effects
        .iter()
        .filter_map(|e| match e {
            Effect::Press { key, .. } => Some(*key),
            _ => None,
        })
        .collect()
}

fn pasted(outcome: &Outcome) -> bool {
    outcome
        .effects
        .iter()
        .any(|e| matches!(e, Effect::Paste { .. }))
}

fn answers(outcome: &Outcome) -> Vec<Answer> {
    outcome
        .effects
        .iter()
        .filter_map(|e| match e {
            Effect::Answer { answer, .. } => Some(answer.clone()),
            _ => None,
        })
        .collect()
}

fn status(conversation_id: &str, activity: Activity, at: Timestamp) -> StatusReading {
    StatusReading {
        process: Process { pid: 7, start: 70 },
        conversation: Some(conversation(conversation_id)),
        activity,
        at: Some(at),
    }
}

fn user_text(text: &str, at: Timestamp) -> Event {
    Event::Facts(vec![Fact::UserText {
        text: text.into(),
        came: Came::Prompt,
        at: Some(at),
    }])
}

/// Codex-like: nothing but hooks tells which conversation it is.
fn without_status(composer: Composer, activity: Activity) -> Evidence {
    Evidence {
        status: None,
        title: activity.clone(),
        ..screen(composer, activity)
    }
}
