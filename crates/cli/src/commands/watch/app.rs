//! What is shown and what is being done, as a pure machine: keys and updates come in, wishes go
//! out. It asks nobody, and knows no terminal but its size.

use std::collections::BTreeSet;

use sm_daemon::api::types::{ContextReport, EventView, HandoffView, MessageView, SessionView};

pub use super::said::{
    Confirmed, Deed, Focus, Link, Mode, Page, Part, TABS, Tab, Target, Update, Wish,
};

use super::group::Grouping;
use super::list::{self, Listed, Sort};
use crate::text::{Look, Tone, one_line};

/// From so many columns on the list and a session stand side by side.
pub const WIDE: u16 = 120;
/// Less than this is too small for anything.
pub const LEAST: (u16, u16) = (40, 8);
/// So many of the newest events are kept.
const MOST_EVENTS: usize = 500;

/// The chosen session, as far as it is known.
#[derive(Debug, Default)]
pub struct Detail {
    pub id: String,
    pub output: Option<Vec<String>>,
    pub events: Option<Vec<EventView>>,
    pub messages: Option<Vec<MessageView>>,
    pub handoffs: Option<Vec<HandoffView>>,
    pub context: Option<Box<ContextReport>>,
    asked: BTreeSet<Part>,
    stale: BTreeSet<Part>,
}

impl Detail {
    /// About how many lines a tab has.
    pub fn lines(&self, tab: Tab) -> usize {
        match tab {
            Tab::Output => self.output.as_ref().map_or(0, Vec::len),
            Tab::Timeline => self.events.as_ref().map_or(0, Vec::len),
            Tab::Messages => self.messages.as_ref().map_or(0, |all| all.len() * 3),
            Tab::Handoffs => {
                let lines = |handoff: &HandoffView| handoff.steps.len() + 3;
                let all = self.handoffs.as_ref();
                all.map_or(0, |all| all.iter().map(lines).sum())
            }
        }
    }
}

/// What an update means for the list.
enum Taken {
    /// Who is in it, or how they stand.
    Moved,
    Stayed(Vec<Wish>),
}

#[derive(Debug)]
pub struct App {
    pub look: Look,
    pub size: (u16, u16),
    pub sessions: Vec<SessionView>,
    pub chosen: Option<String>,
    pub filter: String,
    pub sort: Sort,
    pub grouping: Grouping,
    pub page: Page,
    pub tab: Tab,
    /// So many lines away from where the tab begins to be read.
    pub scroll: usize,
    pub focus: Focus,
    pub link: Link,
    pub detail: Detail,
    pub note: Option<(Tone, String)>,
    /// The message that was sent last from here.
    pub sent: Option<Box<MessageView>>,
    asked_receipt: bool,
    order: Vec<Listed>,
}

impl App {
    pub fn new(look: Look, size: (u16, u16)) -> Self {
        Self {
            look,
            size,
            sessions: Vec::new(),
            chosen: None,
            filter: String::new(),
            sort: Sort::default(),
            grouping: Grouping::default(),
            page: Page::default(),
            tab: Tab::default(),
            scroll: 0,
            focus: Focus::default(),
            link: Link::default(),
            detail: Detail::default(),
            note: None,
            sent: None,
            asked_receipt: false,
            order: Vec::new(),
        }
    }

    pub fn is_wide(&self) -> bool {
        self.size.0 >= WIDE
    }

    pub fn shows_detail(&self) -> bool {
        self.is_wide() || self.page == Page::Detail
    }

    /// The list as it is shown.
    pub fn order(&self) -> &[Listed] {
        &self.order
    }

    /// Where the chosen one is in the list.
    pub fn place(&self) -> Option<usize> {
        let chosen = self.chosen.as_ref()?;
        self.order
            .iter()
            .position(|listed| self.sessions.get(listed.at).map(|s| &s.id) == Some(chosen))
    }

    pub fn session(&self) -> Option<&SessionView> {
        let chosen = self.chosen.as_ref()?;
        self.sessions.iter().find(|s| s.id == *chosen)
    }

    /// Something has to be asked again soon.
    pub fn is_restless(&self) -> bool {
        self.link == Link::Live
            && (self.sent_is_open() || (self.shows_detail() && !self.detail.stale.is_empty()))
    }

    pub fn told(&mut self, update: Update) -> Vec<Wish> {
        self.told_all([update])
    }

    /// Everything that has come meanwhile: the list is put in order once, however much it was.
    pub fn told_all(&mut self, updates: impl IntoIterator<Item = Update>) -> Vec<Wish> {
        let mut wishes = Vec::new();
        let mut moved = false;
        for update in updates {
            match self.take(update) {
                Taken::Moved => moved = true,
                Taken::Stayed(more) => wishes.extend(more),
            }
        }
        if moved {
            self.arrange();
            wishes.extend(self.chosen_changed());
        }
        wishes
    }

    fn take(&mut self, update: Update) -> Taken {
        match update {
            Update::Tick(now) => {
                self.look.now = now;
                // what a terminal shows changes without anybody saying so
                if self.session().is_some_and(shows_something) {
                    self.detail.stale.insert(Part::Output);
                }
                self.arrange();
                let mut wishes = self.refresh();
                wishes.extend(self.receipt());
                return Taken::Stayed(wishes);
            }
            Update::Resized(cols, rows) => {
                self.size = (cols, rows);
                return Taken::Stayed(self.chosen_changed());
            }
            Update::Snapshot(sessions) => {
                self.sessions = sessions;
                self.link = Link::Live;
                self.detail.asked.clear();
                self.asked_receipt = false;
                self.stale();
                self.detail.stale.insert(Part::Events);
            }
            Update::Session(session) => {
                if self.detail.id == session.id {
                    self.stale();
                }
                match self.sessions.iter_mut().find(|s| s.id == session.id) {
                    Some(known) => *known = *session,
                    None => self.sessions.push(*session),
                }
            }
            Update::Gone(id) => self.sessions.retain(|s| s.id != id),
            Update::Journal(event) => {
                self.journal(event);
                return Taken::Stayed(Vec::new());
            }
            Update::Lost(why) => {
                self.link = Link::Lost(why);
                return Taken::Stayed(Vec::new());
            }
            Update::Sent(message) => {
                self.asked_receipt = false;
                let newer = self.sent.as_ref().is_none_or(|known| {
                    known.id != message.id || known.changed_at <= message.changed_at
                });
                if newer {
                    self.sent = Some(message);
                }
                self.detail.stale.insert(Part::Messages);
                return Taken::Stayed(Vec::new());
            }
            Update::NoReceipt => {
                self.asked_receipt = false;
                return Taken::Stayed(Vec::new());
            }
            Update::Done(text) => self.note = Some((Tone::Good, text)),
            Update::Failed(text) => self.note = Some((Tone::Bad, text)),
            Update::Output(..)
            | Update::Events(..)
            | Update::Messages(..)
            | Update::Handoffs(..)
            | Update::Context(..)
            | Update::Nothing(..) => {
                self.answered(update);
                return Taken::Stayed(Vec::new());
            }
        }
        Taken::Moved
    }

    fn answered(&mut self, update: Update) {
        let detail = &mut self.detail;
        let part = match update {
            Update::Output(id, text) if id == detail.id => {
                let lines = text.trim_end().lines().map(one_line);
                detail.output = Some(lines.collect());
                Part::Output
            }
            Update::Events(id, events) if id == detail.id => {
                detail.events = Some(events);
                Part::Events
            }
            Update::Messages(id, messages) if id == detail.id => {
                detail.messages = Some(messages);
                Part::Messages
            }
            Update::Handoffs(id, handoffs) if id == detail.id => {
                detail.handoffs = Some(handoffs);
                Part::Handoffs
            }
            Update::Context(id, context) if id == detail.id => {
                detail.context = Some(context);
                Part::Context
            }
            Update::Nothing(part, id) if id == detail.id => part,
            // of a session that is no longer the chosen one
            _ => return,
        };
        detail.asked.remove(&part);
    }

    fn journal(&mut self, event: EventView) {
        if event.session != self.detail.id {
            return;
        }
        self.stale();
        if let Some(events) = &mut self.detail.events
            && events.last().is_none_or(|last| last.seq < event.seq)
        {
            events.push(event);
            let more = events.len().saturating_sub(MOST_EVENTS);
            events.drain(..more);
        }
    }

    /// The chosen session has changed. Its events come by themselves, but for those before the first.
    fn stale(&mut self) {
        let parts = [Part::Output, Part::Messages, Part::Handoffs, Part::Context];
        self.detail.stale.extend(parts);
        if self.detail.events.is_none() {
            self.detail.stale.insert(Part::Events);
        }
    }

    /// Puts the list in order; somebody is always chosen, and stays chosen by id.
    pub fn arrange(&mut self) {
        let before = self.place();
        self.order = list::listed(
            &self.look,
            &self.sessions,
            &self.filter,
            self.sort,
            self.grouping,
        );
        if self.place().is_none() {
            let place = before.unwrap_or(0).min(self.order.len().saturating_sub(1));
            let there = self.order.get(place);
            self.chosen = there
                .and_then(|listed| self.sessions.get(listed.at))
                .map(|s| s.id.clone());
        }
    }

    /// What is shown of a session is of the chosen one.
    pub fn chosen_changed(&mut self) -> Vec<Wish> {
        let chosen = self.chosen.clone().unwrap_or_default();
        if self.detail.id == chosen {
            return Vec::new();
        }
        self.scroll = 0;
        self.detail = Detail {
            id: chosen,
            ..Detail::default()
        };
        self.stale();
        self.refresh()
    }

    /// Asks for what is to be seen and may be old, each once at a time.
    pub fn refresh(&mut self) -> Vec<Wish> {
        if self.link != Link::Live || !self.shows_detail() || self.detail.id.is_empty() {
            return Vec::new();
        }
        let wanted = [self.tab.part(), Part::Context];
        let detail = &mut self.detail;
        wanted
            .into_iter()
            .filter(|part| detail.stale.contains(part) && !detail.asked.contains(part))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|part| {
                detail.stale.remove(&part);
                detail.asked.insert(part);
                Wish::Fetch(part, detail.id.clone())
            })
            .collect()
    }

    fn sent_is_open(&self) -> bool {
        self.sent.as_ref().is_some_and(|message| {
            !matches!(
                message.state.as_str(),
                "consumed" | "failed" | "expired" | "withdrawn"
            )
        })
    }

    fn receipt(&mut self) -> Option<Wish> {
        if !self.sent_is_open() || self.asked_receipt || self.link != Link::Live {
            return None;
        }
        let message = self.sent.as_ref()?;
        self.asked_receipt = true;
        Some(Wish::Receipt {
            session: message.session.clone(),
            message: message.id.clone(),
        })
    }
}

fn shows_something(session: &SessionView) -> bool {
    !matches!(session.state.as_str(), "idle" | "exited" | "lost")
}
