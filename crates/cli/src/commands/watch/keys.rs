//! What the keys do, by what has them. Pure.

use std::time::Instant;

use sm_core::confirm_key::{Arrival, ConfirmKey, Pressed, QUIET};

use super::app::{App, Confirmed, Deed, Focus, Mode, Page, TABS, Tab, Target, Wish};
use super::editor::Editor;
use super::input::Key;
use crate::text::Tone;

impl App {
    /// A key that came by itself.
    #[cfg(test)]
    pub fn key(&mut self, key: Key, now: Instant) -> Vec<Wish> {
        self.key_of_read(key, Arrival::Alone, now)
    }

    /// A key, and whether others were read with it.
    pub fn key_of_read(&mut self, key: Key, arrival: Arrival, now: Instant) -> Vec<Wish> {
        // Wherever one is.
        match key {
            Key::Ctrl('c') => return vec![Wish::Quit],
            Key::Ctrl('z') => return vec![Wish::Suspend],
            Key::Ctrl('l') => return vec![Wish::Redraw],
            _ => {}
        }
        match std::mem::take(&mut self.focus) {
            Focus::Keys => self.command(&key),
            // any key leaves it
            Focus::Help => Vec::new(),
            Focus::Filter(line) => self.filter_key(line, &key),
            Focus::Message { to, mode, line } => self.message_key(to, mode, line, &key),
            Focus::Confirm {
                deed,
                on,
                key: lone,
                open,
            } => self.confirm_key(deed, on, (lone, open), (&key, arrival), now),
            Focus::Typing { .. } => {
                self.focus = Focus::Typing { until: now + QUIET };
                Vec::new()
            }
        }
    }

    /// What is on the screen now can be answered from now on.
    pub fn drawn(&mut self, now: Instant) {
        if let Focus::Confirm { key, .. } = &mut self.focus {
            key.drawn(now);
        }
    }

    /// When a key begins to count, or has been alone for long enough.
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        match &self.focus {
            Focus::Confirm { key, .. } => key.next_change(now),
            Focus::Typing { until } => Some(*until),
            Focus::Keys | Focus::Help | Focus::Filter(_) | Focus::Message { .. } => None,
        }
    }

    /// Time has passed, and everything typed was read.
    pub fn settle(&mut self, now: Instant) -> Vec<Wish> {
        match &mut self.focus {
            Focus::Confirm {
                deed,
                on,
                key,
                open,
            } => {
                *open = key.is_open(now);
                let Some(Confirmed) = key.take_due(now) else {
                    return Vec::new();
                };
                let wish = Wish::Do(*deed, on.id.clone());
                self.focus = Focus::Keys;
                vec![wish]
            }
            Focus::Typing { until } if *until <= now => {
                self.focus = Focus::Keys;
                Vec::new()
            }
            Focus::Typing { .. }
            | Focus::Keys
            | Focus::Help
            | Focus::Filter(_)
            | Focus::Message { .. } => Vec::new(),
        }
    }

    fn command(&mut self, key: &Key) -> Vec<Wish> {
        let reads = self.page == Page::Detail && !self.is_wide();
        match key {
            Key::Char('q') => return vec![Wish::Quit],
            Key::Char('?') => self.focus = Focus::Help,
            Key::Char('/') => self.focus = Focus::Filter(Editor::with(&self.filter)),
            Key::Char('s') => {
                self.sort = self.sort.next();
                self.arrange();
            }
            Key::Char('g') => {
                self.grouping = self.grouping.next();
                self.arrange();
            }
            Key::Up | Key::Char('k') if reads => self.scroll(1),
            Key::Down | Key::Char('j') if reads => self.scroll(-1),
            Key::Up | Key::Char('k') => return self.choose(-1),
            Key::Down | Key::Char('j') => return self.choose(1),
            Key::PageUp if self.shows_detail() => self.scroll(self.page_lines()),
            Key::PageDown if self.shows_detail() => self.scroll(-self.page_lines()),
            Key::PageUp => return self.choose(-self.page_lines()),
            Key::PageDown => return self.choose(self.page_lines()),
            Key::Home if reads => self.scroll(isize::MAX / 2),
            Key::End if reads => self.scroll = 0,
            Key::Home => return self.choose(isize::MIN / 2),
            Key::End => return self.choose(isize::MAX / 2),
            Key::Tab | Key::Right if self.shows_detail() => return self.turn_tab(1),
            Key::BackTab | Key::Left if self.shows_detail() => {
                return self.turn_tab(TABS.len() - 1);
            }
            Key::Char(digit @ '1'..='4') => {
                let at = usize::try_from(u32::from(*digit) - u32::from('1')).unwrap_or(0);
                return self.open_tab(TABS.get(at).copied().unwrap_or_default());
            }
            Key::Tab | Key::BackTab => return self.open_tab(self.tab),
            Key::Enter if self.shows_detail() => return self.attach(),
            Key::Enter => return self.open_tab(self.tab),
            Key::Char('a') => return self.attach(),
            Key::Char('m') => {
                if let Some(to) = self.target() {
                    self.focus = Focus::Message {
                        to,
                        mode: Mode::default(),
                        line: Editor::default(),
                    };
                }
            }
            Key::Char('h') => {
                let under_way = self.session().is_some_and(|s| s.handoff.is_some());
                self.ask(match under_way {
                    true => Deed::CancelHandoff,
                    false => Deed::HandOff,
                });
            }
            Key::Char('K') => self.ask(Deed::Kill),
            Key::Char('r') => match self.session() {
                Some(session) if crate::attach::has_ended(session) => self.ask(Deed::Restore),
                Some(_) => self.note = Some((Tone::Warn, "it lives: nothing to restore".into())),
                None => {}
            },
            Key::Esc if self.note.is_some() || self.sent.is_some() => {
                (self.note, self.sent) = (None, None);
            }
            Key::Esc if self.page == Page::Detail => self.page = Page::List,
            Key::Esc if !self.filter.is_empty() => {
                self.filter.clear();
                self.arrange();
            }
            Key::Backspace | Key::Left => self.page = Page::List,
            Key::Char(_) | Key::Ctrl(_) | Key::Esc | Key::Right | Key::Delete | Key::Paste(_) => {}
        }
        self.chosen_changed()
    }

    fn filter_key(&mut self, mut line: Editor, key: &Key) -> Vec<Wish> {
        match key {
            Key::Enter => {}
            Key::Esc => self.filter.clear(),
            Key::Up | Key::Down => {
                self.focus = Focus::Filter(line);
                return self.choose(if *key == Key::Up { -1 } else { 1 });
            }
            other => {
                line.key(other);
                self.filter = line.text();
                self.focus = Focus::Filter(line);
            }
        }
        self.arrange();
        self.chosen_changed()
    }

    fn message_key(&mut self, to: Target, mode: Mode, mut line: Editor, key: &Key) -> Vec<Wish> {
        let mode = match key {
            Key::Esc => return Vec::new(),
            Key::Enter => {
                let text = line.text();
                if text.trim().is_empty() {
                    return Vec::new();
                }
                (self.note, self.sent) = (None, None);
                let mut wishes = vec![Wish::Send {
                    session: to.id,
                    text,
                    mode,
                }];
                // the receipt is followed there
                wishes.extend(self.open_tab(Tab::Messages));
                return wishes;
            }
            Key::Tab => mode.next(),
            other => {
                line.key(other);
                mode
            }
        };
        self.focus = Focus::Message { to, mode, line };
        Vec::new()
    }

    /// Only a `y` that stays alone does it; everything else is no.
    fn confirm_key(
        &mut self,
        deed: Deed,
        on: Target,
        (mut lone, open): (ConfirmKey<Confirmed>, bool),
        (key, arrival): (&Key, Arrival),
        now: Instant,
    ) -> Vec<Wish> {
        let was_open = lone.is_open(now);
        let is_undecided = match key {
            Key::Enter => match lone.enter(arrival, now) {
                Some(Confirmed) => return vec![Wish::Do(deed, on.id)],
                None => arrival == Arrival::Alone,
            },
            Key::Char('y') => lone.press(Some(('y', Confirmed)), now) == Pressed::Held,
            _ => lone.press(None, now) == Pressed::Held,
        };
        if is_undecided {
            self.focus = Focus::Confirm {
                deed,
                on,
                key: lone,
                open,
            };
            return Vec::new();
        }
        let note = match key {
            Key::Char('n' | 'q') | Key::Esc if was_open => "nothing was done".to_owned(),
            _ => "nothing was done: only y alone, on a question that was read, says yes".to_owned(),
        };
        self.note = Some((Tone::Plain, note));
        // The rest of what is being typed is no command either.
        self.focus = match key {
            Key::Esc => Focus::Keys,
            _ => Focus::Typing { until: now + QUIET },
        };
        Vec::new()
    }

    fn target(&self) -> Option<Target> {
        self.session().map(|session| Target {
            id: session.id.clone(),
            name: session.name.clone(),
        })
    }

    fn ask(&mut self, deed: Deed) {
        if let Some(on) = self.target() {
            self.note = None;
            self.focus = Focus::Confirm {
                deed,
                on,
                key: ConfirmKey::default(),
                open: false,
            };
        }
    }

    fn attach(&mut self) -> Vec<Wish> {
        let chosen = self.session().map(|session| session.id.clone());
        chosen.into_iter().map(Wish::Attach).collect()
    }

    fn turn_tab(&mut self, by: usize) -> Vec<Wish> {
        let at = TABS.iter().position(|tab| *tab == self.tab).unwrap_or(0);
        self.open_tab(
            TABS.get((at + by) % TABS.len())
                .copied()
                .unwrap_or_default(),
        )
    }

    fn open_tab(&mut self, tab: Tab) -> Vec<Wish> {
        if self.session().is_none() {
            return Vec::new();
        }
        (self.tab, self.scroll, self.page) = (tab, 0, Page::Detail);
        let mut wishes = self.chosen_changed();
        wishes.extend(self.refresh());
        wishes
    }

    fn choose(&mut self, by: isize) -> Vec<Wish> {
        let last = self.order().len().saturating_sub(1);
        let place = self
            .place()
            .unwrap_or(0)
            .saturating_add_signed(by)
            .min(last);
        let there = self.order().get(place).map(|listed| listed.at);
        if let Some(session) = there.and_then(|at| self.sessions.get(at)) {
            self.chosen = Some(session.id.clone());
        }
        self.chosen_changed()
    }

    fn scroll(&mut self, by: isize) {
        let most = self.detail.lines(self.tab);
        self.scroll = self.scroll.min(most).saturating_add_signed(by).min(most);
    }

    fn page_lines(&self) -> isize {
        isize::try_from(self.size.1.saturating_sub(8).max(1)).unwrap_or(1)
    }
}
