//! Handoffs on the bench: how one is asked for, and how far it has come.

mod blocked;
mod course;
mod drafts;
mod ended;
mod failed;
mod found;
mod person_wait;
mod relaunch;
mod unproven;
mod unrecorded;

use super::*;
use crate::carried::{IN_A_PROMPT, carried};
use crate::handoff::*;
use crate::ids::HandoffId;
use crate::message::Purpose;

pub(super) fn asked(id: &str, trigger: Trigger) -> Event {
    Event::HandoffAsked {
        handoff: NewHandoff {
            id: HandoffId::new(id).unwrap(),
            trigger,
            author: Author::Agent,
            document: "/work/notes.md".into(),
            copy: "/data/handoffs/x/document.md".into(),
            folder: "/data/handoffs/x".into(),
            note: String::new(),
            source: String::new(),
        },
        guards: Guards::default(),
    }
}

pub(super) fn prepared(id: &str) -> Event {
    Event::HandoffPrepared {
        handoff: HandoffId::new(id).unwrap(),
        prepared: Ok(Prepared {
            document: "/work/notes.md".into(),
            artifacts: vec![Artifact {
                kind: ArtifactKind::Snapshot,
                path: "/data/handoffs/x/dump.txt".into(),
                bytes: Some(10),
                lines: Some(3),
                problem: None,
            }],
            in_flight: vec!["child web: working".into()],
            content: None,
            pins: Vec::new(),
        }),
    }
}

pub(super) fn prepared_with(id: &str, content: &str) -> Event {
    Event::HandoffPrepared {
        handoff: HandoffId::new(id).unwrap(),
        prepared: Ok(Prepared {
            document: "/data/handoffs/x/document.md".into(),
            content: Some(carried(content, IN_A_PROMPT)),
            ..Prepared::default()
        }),
    }
}

impl Bench {
    pub(super) fn handoff(&self) -> &Handoff {
        self.session.record().handoff.as_deref().expect("a handoff")
    }
    /// What of `purpose` is in the queue or has ended.
    pub(super) fn own(&self, purpose: Purpose) -> Vec<MessageState> {
        let all = self.session.queue.iter().chain(&self.session.finals);
        all.filter(|m| m.meta.purpose == purpose)
            .map(|m| m.meta.state.clone())
            .collect()
    }
    pub(super) fn wake_text(&self) -> String {
        self.handoff().wake_text.clone()
    }
    /// The turn is over, the artifacts are safe, `/clear` was typed and entered.
    pub(super) fn cleared_by_hand_of_sm(&mut self) {
        self.stops();
        self.on(prepared("h1"));
        self.paste();
    }
    /// A context begins in a new conversation.
    pub(super) fn context(&mut self, conversation: &str) -> Outcome {
        let call = self.call(
            conversation,
            Signal::ContextStarted {
                source: ContextSource::Clear,
                transcript: None,
            },
        );
        self.on(Event::Hook(call))
    }
    pub(super) fn prompt_accepted(&mut self, conversation: &str, text: &str) -> Outcome {
        let call = self.call(
            conversation,
            Signal::PromptAccepted {
                text: text.into(),
                transcript: None,
            },
        );
        self.on(Event::Hook(call))
    }
    /// A prompt that the hook has told of is in the record too.
    pub(super) fn recorded(&mut self, text: &str) -> Outcome {
        let at = self.now;
        self.on(user_text(text, at))
    }
    /// A handoff up to the successor having its prompt, by the word of its hook.
    pub(super) fn prompted() -> Self {
        let mut bench = Self::working();
        bench.on(asked("h1", Trigger::Agent));
        bench.cleared_by_hand_of_sm();
        bench.context("c2");
        bench.paste();
        let wake = bench.wake_text();
        bench.prompt_accepted("c2", &wake);
        bench
    }
    pub(super) fn steps(&self) -> Vec<String> {
        self.handoff()
            .steps
            .iter()
            .map(|s| s.text.clone())
            .collect()
    }
}

/// What is shown as the state, and since when, after every step of a session.
struct Shown(&'static str, Timestamp);

impl Shown {
    fn of(bench: &Bench) -> Self {
        let record = bench.session.record();
        Self(record.word(), record.word_since())
    }
    /// Another word is as old as this step; the same one has its time still.
    #[track_caller]
    fn goes_on(&mut self, bench: &Bench, word: &str) {
        let now = Self::of(bench);
        assert_eq!(now.0, word);
        let since = match now.0 == self.0 {
            true => self.1,
            false => bench.now,
        };
        assert_eq!(now.1, since, "{} since", now.0);
        *self = now;
    }
}

#[test]
fn since_when_it_hands_off_is_told_and_not_since_when_it_is_idle() {
    let mut bench = Bench::working();
    let mut shown = Shown::of(&bench);
    bench.on(asked("h1", Trigger::Agent));
    shown.goes_on(&bench, "working");
    bench.stops();
    shown.goes_on(&bench, "handing_off");
    bench.on(prepared("h1"));
    shown.goes_on(&bench, "handing_off");
    bench.paste();
    shown.goes_on(&bench, "handing_off");
    // the agent is idle anew: it is still the same handoff
    bench.context("c2");
    shown.goes_on(&bench, "handing_off");
    bench.paste();
    let wake = bench.wake_text();
    bench.prompt_accepted("c2", &wake);
    shown.goes_on(&bench, "working");
    bench.wait(5_000);
    shown.goes_on(&bench, "working");
    bench.stops();
    shown.goes_on(&bench, "idle");
}

#[test]
fn a_handoff_that_is_taken_back_leaves_true_times() {
    let mut bench = Bench::idle();
    bench.wait(60_000);
    let mut shown = Shown::of(&bench);
    bench.on(asked("h1", Trigger::Person));
    shown.goes_on(&bench, "handing_off");
    bench.wait(1_000);
    bench.on(Event::HandoffCancelled);
    shown.goes_on(&bench, "idle");
    bench.wait(1_000);
    shown.goes_on(&bench, "idle");
}

pub(super) fn prepares(outcome: &Outcome) -> bool {
    outcome
        .effects
        .iter()
        .any(|e| matches!(e, Effect::Prepare(_)))
}

pub(super) fn launches(outcome: &Outcome) -> Vec<crate::LaunchPlan> {
    outcome
        .effects
        .iter()
        .filter_map(|e| match e {
            Effect::Launch(plan) => Some(plan.clone()),
            _ => None,
        })
        .collect()
}

pub(super) fn stops_agent(outcome: &Outcome) -> bool {
    outcome
        .effects
        .iter()
        .any(|e| matches!(e, Effect::StopAgent { .. }))
}

pub(super) fn texts_pasted(outcome: &Outcome) -> Vec<String> {
    outcome
        .effects
        .iter()
        .filter_map(|e| match e {
            Effect::Paste { pastes, .. } => Some(pastes.concat()),
            _ => None,
        })
        .collect()
}

fn told_owner(outcome: &Outcome) -> bool {
    outcome
        .effects
        .iter()
        .any(|e| matches!(e, Effect::Notify(notice) if notice.kind == NoticeKind::HandoffFailed))
}
