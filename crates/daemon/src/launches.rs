//! Environments and argument lists on their way to a launcher. They live here only, never on disk,
//! and are given out once per launch.

use crate::hub::lock;
use sm_core::SessionId;
use std::collections::HashMap;
use std::sync::Mutex;

/// What the agent runs with.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    pub launch: u32,
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: String,
}

#[derive(Default)]
pub struct Launches {
    /// The environment of the shell that asked, until the launcher has fetched it.
    environments: Mutex<HashMap<SessionId, Vec<(String, String)>>>,
    tickets: Mutex<HashMap<SessionId, Ticket>>,
}

impl Launches {
    pub fn remember(&self, session: &SessionId, env: Vec<(String, String)>) {
        lock(&self.environments).insert(session.clone(), env);
    }
    pub fn environment(&self, session: &SessionId) -> Option<Vec<(String, String)>> {
        lock(&self.environments).get(session).cloned()
    }
    pub fn prepare(&self, session: &SessionId, ticket: Ticket) {
        lock(&self.tickets).insert(session.clone(), ticket);
    }
    /// The ticket of this launch, once. The environment goes with it: the launcher keeps it.
    pub fn fetch(&self, session: &SessionId, launch: u32) -> Option<Ticket> {
        let mut tickets = lock(&self.tickets);
        if tickets.get(session)?.launch != launch {
            return None;
        }
        lock(&self.environments).remove(session);
        tickets.remove(session)
    }
    pub fn forget(&self, session: &SessionId) {
        lock(&self.tickets).remove(session);
        lock(&self.environments).remove(session);
    }
}
