//! What the agent's own `sm handoff` asks for. The wording is that of the daemon: an agent must not
//! notice who answers.

use std::path::PathBuf;

use sm_core::{Author, Trigger};
use sm_daemon::api::told_by_hook;
use sm_daemon::api::types::{HandoffAnswer, HandoffBody, When};
use sm_daemon::ask::{Ask, What, secret_hash};
use sm_daemon::config::Gate;
use sm_daemon::handoff::{Sources, Verdict, given, judge, read, verdict};
use sm_daemon::{clock, pins};

use super::leaving::writes;
use super::rotation::Event;
use super::session::{Session, Then};
use super::state::Leaving;

const SELF_ONLY: &str = "sm handoff is self-directed only — requester must equal target session";
const NOTHING_SCHEDULED: &str = "no handoff is scheduled for this session";

fn refused(error: impl Into<String>) -> HandoffAnswer {
    HandoffAnswer {
        error: Some(error.into()),
        ..HandoffAnswer::default()
    }
}

impl Session {
    /// `session` is the one that the address names, `asks` the process that asks.
    pub fn schedule(&self, session: &str, body: HandoffBody, asks: Option<u32>) -> HandoffAnswer {
        let own = &self.setup.id;
        if session != own || body.person || body.requester_session_id.as_ref() != Some(own) {
            return refused(SELF_ONLY);
        }
        let agent = self.lock().process;
        if let Some((agent, asks)) = agent.zip(asks)
            && sm_daemon::another_agent_asks(agent, asks)
        {
            return refused(sm_daemon::ANOTHER_AGENT);
        }
        self.schedule_as(body)
    }

    /// For a daemon, which knows who asks: the agent, or a person. A person's is not put off until
    /// the agent has something to say.
    pub fn schedule_for(&self, body: HandoffBody) -> (HandoffAnswer, Option<Leaving>) {
        let person = body.person;
        let answer = self.schedule_as(body);
        let leaving = (person && answer.error.is_none()).then(|| self.leave_if_idle());
        (answer, leaving.flatten())
    }

    /// Somebody has handed over from outside: an agent that does nothing would not say when to leave.
    fn leave_if_idle(&self) -> Option<Leaving> {
        let mut state = self.lock();
        let effects = state.rotation.step(Event::Ordered);
        match self.carry_out(&state, "", effects, Then::Nothing).then {
            Then::Leave(leaving) => Some(leaving),
            Then::Nothing | Then::Consume(_) => None,
        }
    }

    fn schedule_as(&self, body: HandoffBody) -> HandoffAnswer {
        let id = match body.id.clone() {
            Some(id) if plain(&id) => id,
            Some(_) => return refused("id is not 4 to 32 letters and digits"),
            None => format!("h{}", clock::random_hex(5)),
        };
        let when = match (body.person, self.lock().turn_since) {
            (true, None) => When::Now,
            (true, Some(_)) | (false, _) => When::TurnEnd,
        };
        let scheduled = |replaced, warnings| HandoffAnswer {
            status: Some("scheduled".into()),
            when: Some(when),
            id: Some(id.clone()),
            replaced,
            warnings,
            ..HandoffAnswer::default()
        };
        if self.lock().documents.contains_key(&id) {
            return scheduled(None, Vec::new());
        }
        let turn = {
            let state = self.lock();
            if state.rotation.is_leaving() {
                return refused("this context is being left already");
            }
            if state.rotation.restarts_never() {
                return refused(
                    "sm run was told to restart nothing (--max-restarts 0), so nothing would follow",
                );
            }
            state.turn_since
        };
        let (text, verdict) = match body.auto {
            true => (String::new(), Verdict::default()),
            false => match self.judged(&body, turn) {
                Ok(judged) => judged,
                Err(error) => return refused(error),
            },
        };
        if self.setup.gate == Gate::Strict && !verdict.grave.is_empty() && !body.force {
            return refused(format!(
                "not scheduled: {}. Then hand off again; if it is right as it is, confirm it with --force",
                verdict.grave.join("; ")
            ));
        }
        let copy = self.setup.folder.path().join(format!("{id}.md"));
        if let Err(error) = std::fs::write(&copy, &text) {
            return refused(format!("the document could not be kept safe: {error}"));
        }
        let mut state = self.lock();
        if state.rotation.is_leaving() {
            return refused("this context is being left already");
        }
        let replaced = state.asked.replace(id.clone());
        let by = match body.person {
            true => Trigger::Person,
            false => Trigger::Agent,
        };
        let author = match body.author.as_deref() {
            Some("model") => Author::Model,
            Some(_) | None => writes(by),
        };
        state.documents.insert(id.clone(), (by, author, text));
        // It says so before its turn ends; nothing is to be done until then.
        state.rotation.step(Event::HandedOver {
            document: id.clone(),
        });
        HandoffAnswer {
            copy: Some(copy.to_string_lossy().into_owned()),
            ..scheduled(replaced.filter(|old| *old != id), verdict.told)
        }
    }

    fn judged(
        &self,
        body: &HandoffBody,
        turn: Option<sm_core::Timestamp>,
    ) -> Result<(String, Verdict), String> {
        let most = self.setup.largest_document;
        let document = match &body.document {
            Some(text) => given(text.clone(), most),
            None => read(&body.file_path, most),
        };
        let document = document.map_err(|error| error.to_string())?;
        let verdict = match self.setup.gate {
            Gate::Off => Verdict::default(),
            Gate::Warn | Gate::Strict => {
                let cwd = self.setup.cwd.clone();
                let sources = Sources {
                    folder: document
                        .path
                        .parent()
                        .map_or_else(PathBuf::new, PathBuf::from),
                    known: None,
                    pins: pins::of_project(&cwd).pins,
                    cwd,
                };
                let report = judge(&document.text, &sources);
                verdict(&document, Trigger::Agent, turn, &report)
            }
        };
        Ok((document.text, verdict))
    }

    pub fn take_back(&self, session: &str) -> HandoffAnswer {
        if session != self.setup.id {
            return refused(SELF_ONLY);
        }
        let mut state = self.lock();
        if state.rotation.is_leaving() {
            return refused("the handoff is under way and cannot be taken back any more");
        }
        match state.asked.take() {
            None => refused(NOTHING_SCHEDULED),
            Some(id) => {
                state.documents.remove(&id);
                state.rotation.step(Event::TakenBack);
                HandoffAnswer {
                    status: Some("cancelled".into()),
                    id: Some(id),
                    ..HandoffAnswer::default()
                }
            }
        }
    }

    /// What a sandboxed `sm handoff` has printed for the hook to carry; what the agent is told.
    pub fn asked_by_hook(&self, printed: &str) -> Option<String> {
        let ask = Ask::find(printed, &secret_hash(&self.setup.secret), clock::now().0)?;
        let own = self.setup.id.clone();
        let answer = match ask.what {
            What::Cancel => self.take_back(&own),
            What::Handoff {
                file_path,
                force,
                auto,
            } => {
                if self.lock().documents.contains_key(&ask.id) {
                    return None; // a quotation
                }
                let body = HandoffBody {
                    id: Some(ask.id),
                    requester_session_id: Some(own.clone()),
                    person: false,
                    file_path,
                    force,
                    auto,
                    ..HandoffBody::default()
                };
                self.schedule(&own, body, None)
            }
        };
        Some(told_by_hook(&answer))
    }
}

fn plain(id: &str) -> bool {
    (4..=32).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
