//! Environments and argument lists on their way to a launcher. They live here only, never on disk,
//! and are given out once per launch.
//!
//! A launcher whose agent has ended may be asked to start it again: it holds the environment, and
//! lends it to us for as long as the next launch is being prepared.

use crate::hub::lock;
use sm_client::proof::is_same;
use sm_core::SessionId;
use std::collections::HashMap;
use std::sync::Mutex;
use tokio::sync::Notify;

pub type Environment = Vec<(String, String)>;

/// What the agent runs with.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    pub launch: u32,
    pub argv: Vec<String>,
    pub env: Environment,
    pub cwd: String,
    pub to: Carrier,
    /// What a new launcher fetches it with.
    pub key: String,
}

/// Who a ticket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// A new launcher in a new terminal.
    New,
    /// The one that waits in the session's own terminal.
    Waiting,
}

#[derive(Default)]
pub struct Launches {
    /// The environment of the shell that asked, until the launcher has fetched it.
    environments: Mutex<HashMap<SessionId, Environment>>,
    tickets: Mutex<HashMap<SessionId, Ticket>>,
    /// Launches that need the environment of the launcher that waits.
    wanted: Mutex<HashMap<SessionId, u32>>,
    changed: Notify,
}

impl Launches {
    pub fn remember(&self, session: &SessionId, env: Environment) {
        lock(&self.environments).insert(session.clone(), env);
        self.changed.notify_waiters();
    }
    pub fn environment(&self, session: &SessionId) -> Option<Environment> {
        lock(&self.environments).get(session).cloned()
    }
    pub fn prepare(&self, session: &SessionId, ticket: Ticket) {
        lock(&self.tickets).insert(session.clone(), ticket);
        self.changed.notify_waiters();
    }
    /// Whether this is the key that the session's next launcher was started with.
    pub fn opens(&self, session: &SessionId, key: &str) -> bool {
        let tickets = lock(&self.tickets);
        let ticket = tickets.get(session);
        ticket.is_some_and(|ticket| is_same(key.as_bytes(), ticket.key.as_bytes()))
    }
    /// The ticket of this launch for a new launcher, once. The environment goes with it: the
    /// launcher keeps it.
    pub fn fetch(&self, session: &SessionId, launch: u32) -> Option<Ticket> {
        self.take(session, Carrier::New, |ticket| ticket.launch == launch)
    }
    /// The ticket of the next launch for the launcher that waits, once.
    pub fn relaunch(&self, session: &SessionId, ended: u32) -> Option<Ticket> {
        self.take(session, Carrier::Waiting, |ticket| ticket.launch > ended)
    }
    fn take(
        &self,
        session: &SessionId,
        to: Carrier,
        fits: impl FnOnce(&Ticket) -> bool,
    ) -> Option<Ticket> {
        let mut tickets = lock(&self.tickets);
        let ticket = tickets.get(session)?;
        if ticket.to != to || !fits(ticket) {
            return None;
        }
        lock(&self.environments).remove(session);
        tickets.remove(session)
    }
    pub fn forget(&self, session: &SessionId) {
        lock(&self.tickets).remove(session);
        lock(&self.environments).remove(session);
        lock(&self.wanted).remove(session);
    }

    // ── the environment of a launcher that waits

    pub fn want(&self, session: &SessionId, launch: u32) {
        lock(&self.wanted).insert(session.clone(), launch);
        self.changed.notify_waiters();
    }
    pub fn is_wanted(&self, session: &SessionId) -> bool {
        lock(&self.wanted).contains_key(session)
    }
    /// A launcher lends its environment. False: nobody has asked for it.
    pub fn lend(&self, session: &SessionId, env: Environment) -> bool {
        if lock(&self.wanted).remove(session).is_none() {
            return false;
        }
        self.remember(session, env);
        true
    }
    /// The launch that wanted it is over.
    pub fn want_no_more(&self, session: &SessionId, launch: u32) {
        let mut wanted = lock(&self.wanted);
        if wanted.get(session) == Some(&launch) {
            wanted.remove(session);
        }
    }

    /// Waits until `look` finds what it looks for. It is asked again whenever something changes here.
    pub async fn until<T>(&self, look: impl Fn() -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable(); // what changes from here on is not missed
            if let Some(found) = look() {
                return found;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(launch: u32, to: Carrier) -> Ticket {
        Ticket {
            launch,
            argv: vec!["agent".into()],
            env: Vec::new(),
            cwd: "/".into(),
            to,
            key: "key".into(),
        }
    }

    #[test]
    fn a_ticket_is_given_once_and_to_whom_it_is_for() {
        let launches = Launches::default();
        let session = SessionId::new("s").unwrap();
        launches.remember(&session, vec![("K".into(), "V".into())]);
        launches.prepare(&session, ticket(2, Carrier::New));
        assert!(launches.opens(&session, "key"));
        assert!(!launches.opens(&session, "") && !launches.opens(&session, "yek"));
        assert!(launches.relaunch(&session, 1).is_none());
        assert!(launches.fetch(&session, 1).is_none());
        assert!(launches.fetch(&session, 2).is_some());
        assert!(launches.fetch(&session, 2).is_none());
        assert_eq!(launches.environment(&session), None, "the launcher has it");

        launches.prepare(&session, ticket(3, Carrier::Waiting));
        assert!(launches.fetch(&session, 3).is_none());
        assert!(launches.relaunch(&session, 3).is_none(), "its own launch");
        assert_eq!(launches.relaunch(&session, 2).map(|t| t.launch), Some(3));
        assert!(launches.relaunch(&session, 2).is_none());
    }

    #[test]
    fn an_environment_is_taken_only_when_it_was_asked_for() {
        let launches = Launches::default();
        let session = SessionId::new("s").unwrap();
        let env: Environment = vec![("K".into(), "V".into())];
        assert!(!launches.lend(&session, env.clone()));
        assert_eq!(launches.environment(&session), None);
        launches.want(&session, 2);
        assert!(launches.lend(&session, env.clone()));
        assert_eq!(launches.environment(&session), Some(env.clone()));
        assert!(!launches.lend(&session, env), "once");
        launches.want(&session, 3);
        launches.want_no_more(&session, 2);
        assert!(launches.is_wanted(&session));
        launches.want_no_more(&session, 3);
        assert!(!launches.is_wanted(&session));
    }

    #[tokio::test]
    async fn who_waits_is_woken() {
        let launches = std::sync::Arc::new(Launches::default());
        let session = SessionId::new("s").unwrap();
        let waiting = {
            let (launches, session) = (std::sync::Arc::clone(&launches), session.clone());
            tokio::spawn(async move { launches.until(|| launches.relaunch(&session, 1)).await })
        };
        launches.prepare(&session, ticket(2, Carrier::Waiting));
        assert_eq!(waiting.await.unwrap().launch, 2);
    }
}
