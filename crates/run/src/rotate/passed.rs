//! The agent's hooks, passed on to the daemon that has this run as a session, and what it answers.
//!
//! The run's own answer goes first: a hook that has one carries no message, which waits for the next.
//! What ends with this process is not told as the end of a turn: nobody may begin another in it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sm_client::spool::{Completeness, Entry};
use sm_client::{HttpError, Request as Ask, wire};

use super::link::IN_A_HOOK;
use super::rotation::Event;
use super::server::{Reply, Request};
use super::session::{Session, Then};

/// Nobody waits for what is sent after an answer.
const AFTERWARDS: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_secs(1);
const TAKING: Duration = Duration::from_secs(5);
const LARGEST_TEXT: usize = 16 << 20;

/// What goes with a hook, and with everything else that belongs to an agent.
const HEADERS: [&str; 6] = [
    wire::SESSION_HEADER,
    wire::SECRET_HEADER,
    wire::EVENT_ID_HEADER,
    wire::AT_HEADER,
    wire::ANCESTORS_HEADER,
    wire::CUT_HEADER,
];

fn passed<'a>(target: &str, from: &Request, body: &'a [u8]) -> Ask<'a> {
    HEADERS
        .into_iter()
        .filter_map(|name| Some((name, from.header(name)?)))
        .fold(Ask::post(target), |ask, (name, value)| {
            ask.header(name, value)
        })
        .json(body)
}

impl Session {
    /// Passes a hook on, after the run has made up its own mind; what the daemon has to say to the
    /// agent, if the agent can still be told something.
    pub fn pass_on(&self, event: &str, request: &Request, own: &[u8], then: &Then) -> Vec<u8> {
        let leaves = matches!(then, Then::Leave(_));
        let goes_on = !own.is_empty() && matches!(event, "Stop" | "PreCompact");
        if leaves {
            self.tell(IN_A_HOOK); // no more messages for this process
            return Vec::new();
        }
        if goes_on {
            return Vec::new(); // it was kept from what it was about to do
        }
        let mut ask = passed(
            &format!("/hooks/{}/{event}", self.setup.agent.as_str()),
            request,
            &request.body,
        );
        if !own.is_empty() {
            ask = ask.header(wire::ANSWERED_HEADER, "1");
        }
        if !self.link.stands() || !self.tell(IN_A_HOOK) {
            self.spool_hook(event, request);
            return Vec::new();
        }
        let Some(answer) = self.ask_daemon(&ask, IN_A_HOOK) else {
            self.spool_hook(event, request);
            return Vec::new();
        };
        if answer.status() != 200 || !own.is_empty() {
            return Vec::new();
        }
        if event == "Stop" && !answer.body.is_empty() {
            self.lock().rotation.step(Event::GoesOn);
        }
        answer.body
    }

    /// A sample: nobody waits for it, and the next one is as good.
    pub fn pass_on_sample(&self, request: &Request) {
        if self.link.stands() {
            let target = format!("/hooks/{}/statusline", self.setup.agent.as_str());
            let _ = self.ask_daemon(&passed(&target, request, &request.body), AFTERWARDS);
        }
    }

    fn spool_hook(&self, event: &str, request: &Request) {
        let header = |name| request.header(name).unwrap_or_default();
        self.spool(&Entry {
            id: header(wire::EVENT_ID_HEADER),
            at: header(wire::AT_HEADER).parse().unwrap_or_default(),
            agent: self.setup.agent.as_str(),
            event,
            session: &self.setup.id,
            ancestors: header(wire::ANCESTORS_HEADER),
            secret: Some(&self.setup.secret),
            body: &request.body,
            completeness: match request.header(wire::CUT_HEADER) {
                Some(_) => Completeness::Cut,
                None => Completeness::Whole,
            },
        });
    }

    /// A waiter of the agent's: it waits for a daemon, and then for its word. A newer one takes its
    /// place.
    pub fn mailbox(&self, request: &Request) -> Reply {
        let waiters = &self.link.waiters;
        let mine = waiters.fetch_add(1, Ordering::SeqCst) + 1;
        let wanted = || waiters.load(Ordering::SeqCst) == mine && !self.link.is_over();
        while wanted() {
            if self.link.stands()
                && let Some(reply) = self.wait_at_daemon(request, &wanted)
            {
                return reply;
            }
            self.link.wait(LOOK);
        }
        Reply::nothing()
    }

    /// `None`: the daemon is gone, or does not answer.
    fn wait_at_daemon(&self, request: &Request, wanted: &dyn Fn() -> bool) -> Option<Reply> {
        let deadline = Instant::now() + AFTERWARDS;
        let target = format!("/hooks/{}/mailbox", self.setup.agent.as_str());
        let ask = passed(&target, request, &request.body);
        let mut connection = self.connect(deadline).ok()?;
        connection.send(&ask, deadline).ok()?;
        let head = loop {
            match connection.head(Instant::now() + LOOK) {
                Ok(head) => break head,
                Err(HttpError::Timeout) if wanted() => {}
                Err(HttpError::Timeout) => return Some(Reply::nothing()),
                Err(_) => return None,
            }
        };
        match head.status {
            200 => {
                let text = connection.body(&head, LARGEST_TEXT, Instant::now() + TAKING);
                let waiter = head.header(wire::WAITER_HEADER)?.to_owned();
                Some(Reply::of(200, text.ok()?).header(wire::WAITER_HEADER, waiter))
            }
            500.. => None,
            status => Some(Reply::of(status, Vec::new())),
        }
    }

    /// The waiter takes what it was offered, if the daemon agrees.
    pub fn taken(&self, waiter: &str, request: &Request) -> Reply {
        let ask = passed(&format!("/mailbox/{waiter}/taken"), request, b"");
        match self.ask_daemon(&ask, TAKING) {
            Some(answer) => Reply::of(answer.status(), answer.body),
            None => Reply::of(503, Vec::new()),
        }
    }
}

/// Passes a sample on when the agent has its answer.
pub fn sample_afterwards(
    session: &Arc<Session>,
    request: &Request,
) -> impl FnOnce() + Send + 'static {
    let (session, request) = (Arc::clone(session), request.clone());
    move || session.pass_on_sample(&request)
}
