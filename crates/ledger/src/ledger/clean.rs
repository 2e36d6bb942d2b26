//! Records without their secrets: the one door through which a text comes into the ledger.
//!
//! A secret is known by what stands around it. Once it was seen so, it is known by itself: an agent
//! that has read a password says it again where nothing tells what it is.

use super::{Ledger, tools};
use crate::redact::{Origin, redact_from, redact_json, values};
use memchr::memmem;
use std::borrow::Cow;
use std::collections::VecDeque;

/// Secrets that are remembered.
const MOST: usize = 64;
/// A shorter one may be a part of anything.
const LEAST: usize = 8;
const LONGEST: usize = 512;
const MARK: &str = "[redacted: secret]";

/// Secrets that were seen. Only in memory: they must never be written down. Whoever goes on with a
/// ledger from a file learns them again from what it was read from ([`Ledger::learn_from`]).
#[derive(Clone, Default)]
pub(super) struct Secrets(VecDeque<Box<str>>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}

impl Secrets {
    /// Whether it is new, and such that it can be told from a word.
    fn learn(&mut self, secret: &str) -> bool {
        let digit = secret.chars().any(char::is_numeric);
        let sign = secret.chars().any(|c| !c.is_alphanumeric());
        let hump = secret.chars().skip(1).any(char::is_uppercase);
        let telling = (LEAST..=LONGEST).contains(&secret.len()) && (digit || sign || hump);
        if !telling || self.0.iter().any(|known| **known == *secret) {
            return false;
        }
        self.0.push_back(secret.into());
        if self.0.len() > MOST {
            self.0.pop_front();
        }
        true
    }

    /// Takes those out that are in it, and says how many there were.
    fn strike(&self, text: &mut Cow<'_, str>) -> u64 {
        let mut count = 0;
        for secret in &self.0 {
            let found = memmem::find_iter(text.as_bytes(), secret.as_bytes()).count();
            if found > 0 {
                count += found as u64;
                *text = Cow::Owned(text.replace(&**secret, MARK));
            }
        }
        count
    }
}

impl Ledger {
    /// A text without its secrets.
    pub(super) fn clean<'a>(&mut self, text: &'a str, origin: Origin) -> Cow<'a, str> {
        let redacted = redact_from(text, origin);
        let found = redacted.count() as u64;
        let mut clean = redacted.text;
        if found > 0 {
            self.learn(&values(text, origin));
        }
        let struck = self.secrets.strike(&mut clean);
        self.redacted = self.redacted.saturating_add(found + struck);
        clean
    }

    /// What a tool is called with, as JSON, without its secrets.
    pub(super) fn clean_input<'a>(&mut self, tool: &str, input: &'a str) -> Cow<'a, str> {
        let origin = tools::about(tool, input).origin();
        let (mut clean, secrets) = redact_json(input, origin);
        self.learn(&secrets);
        // in JSON a secret may be written with escapes: those that are, are found by their context
        let struck = self.secrets.strike(&mut clean);
        let count = secrets.len() as u64 + struck;
        self.redacted = self.redacted.saturating_add(count);
        clean
    }

    /// What another ledger, which has read the same record again, knows to be secrets.
    pub fn learn_from(&mut self, other: &Self) {
        for secret in &other.secrets.0 {
            self.secrets.learn(secret);
        }
    }

    fn learn(&mut self, secrets: &[String]) {
        for secret in secrets {
            if self.secrets.learn(secret) {
                self.names.forget(secret);
                // it may have come up before anything told what it is
                self.each_text(&mut |text| {
                    if text.contains(secret.as_str()) {
                        *text = text.replace(secret.as_str(), MARK);
                    }
                });
            }
        }
    }

    /// Every text that is kept, but for names.
    fn each_text(&mut self, change: &mut impl FnMut(&mut String)) {
        self.people
            .said
            .iter_mut()
            .for_each(|d| change(&mut d.text));
        let prose = &mut self.prose;
        let notes = prose.decisions.iter_mut().chain(&mut prose.rejected);
        let notes = notes
            .chain(&mut prose.questions)
            .chain(&mut prose.statements);
        notes.for_each(|note| change(&mut note.text));
        self.plan.steps.iter_mut().for_each(|s| change(&mut s.text));
        self.plan
            .proposal
            .iter_mut()
            .for_each(|p| change(&mut p.text));
        let work = &mut self.work;
        work.commands.iter_mut().for_each(|c| change(&mut c.text));
        for trouble in &mut work.troubles {
            change(&mut trouble.what);
            change(&mut trouble.said);
            change(&mut trouble.family);
        }
        work.tests.iter_mut().for_each(|t| change(&mut t.command));
        work.commits.iter_mut().for_each(|c| change(&mut c.subject));
        self.links.urls.iter_mut().for_each(&mut *change);
        self.background.iter_mut().for_each(&mut *change);
        self.summary.iter_mut().for_each(|s| change(&mut s.text));
        self.open
            .iter_mut()
            .for_each(|open| open.about.each_text(change));
        self.files.each_path(change);
        self.cwd.iter_mut().for_each(&mut *change);
        self.branch.iter_mut().for_each(&mut *change);
    }
}
