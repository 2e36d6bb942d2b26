//! What the agent is known to have been told although its transcript does not show it as said: an
//! agent that is killed has not yet written down the last prompt, and what it was given through a
//! hook stands there as the program's own words.
//!
//! Nothing is added that is there already, and what was dropped does not come back.

use super::Ledger;
use super::people::FIRST;
use crate::record::{At, Speaker};
use crate::redact::{Origin, redact};
use crate::text;
use sm_core::Timestamp;
use std::borrow::Cow;

/// How much of a text is compared: of a long one the record may have the beginning only.
const COMPARED: usize = 400;

/// One thing that the agent is proven to have been given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub text: String,
    pub at: Timestamp,
}

impl Ledger {
    /// The same ledger, with what the agent was told in this context and is not in it. `told` is in
    /// the order in which it was told.
    pub fn with_told(&self, told: &[Told]) -> Cow<'_, Self> {
        let missing = self.unrecorded(told);
        if missing.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut ledger = self.clone();
        for told in missing {
            ledger.add_told(told);
        }
        Cow::Owned(ledger)
    }

    fn unrecorded<'t>(&self, told: &'t [Told]) -> Vec<&'t Told> {
        let since = match self.compactions {
            0 => None,
            _ => self.since,
        };
        // of what was said before this, some was dropped
        let kept_since = match self.people.dropped {
            0 => None,
            _ => self.people.said.get(FIRST).and_then(|first| first.time),
        };
        let from = since.max(kept_since);
        let mut told = told.iter().filter(|told| Some(told.at) >= from).peekable();
        if told.peek().is_none() {
            return Vec::new();
        }
        let mut said: Vec<(String, usize)> = self
            .people
            .said
            .iter()
            .map(|directive| (lines(&directive.text), 0))
            .collect();
        // each place in what was said stands for one that was told
        told.filter(|told| {
            let wanted = wanted(&told.text);
            let found = said.iter_mut().find_map(|(said, from)| {
                let at = said[*from..].find(&wanted)?;
                // the end of a line is the beginning of the next
                *from += at + wanted.trim_end_matches('\n').len();
                Some(())
            });
            wanted.len() > 1 && found.is_none()
        })
        .collect()
    }

    fn add_told(&mut self, told: &Told) {
        let at = At {
            line: self.line,
            time: Some(told.at),
        };
        let clean = self.clean(&told.text, Origin::Any).into_owned();
        if self.time.is_none_or(|last| told.at >= last) {
            self.step(at);
            self.said(at, Speaker::Queued, &clean);
            return;
        }
        self.links.take(&clean);
        self.people.say_between(&clean, at, self.compactions);
    }
}

/// Its lines, without the white space that composers and records treat differently; each stands
/// between two line feeds.
fn lines(text: &str) -> String {
    let mut out = String::from("\n");
    for line in text.lines() {
        let line = text::squeeze(line);
        let line = line.trim_matches(char::is_control);
        if !line.is_empty() {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// What is looked for: whole lines, or the beginning of what is long.
fn wanted(text: &str) -> String {
    let clean = redact(text).text;
    let lines = lines(&clean);
    text::first_chars(&lines, COMPARED).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Frame, document};
    use crate::record::Record;

    fn told(texts: &[(&str, i64)]) -> Vec<Told> {
        let told = texts.iter().map(|(text, at)| Told {
            text: (*text).to_owned(),
            at: Timestamp(*at),
        });
        told.collect()
    }

    fn recorded(texts: &[(&str, i64)]) -> Ledger {
        let mut ledger = Ledger::default();
        for (line, (text, at)) in texts.iter().enumerate() {
            let at = At {
                line: line as u64 + 1,
                time: Some(Timestamp(*at)),
            };
            let text = Cow::Borrowed(*text);
            let by = Speaker::Person;
            ledger.add(at, &Record::Said { by, text });
        }
        ledger
    }

    fn said(ledger: &Ledger) -> Vec<&str> {
        let said = ledger.directives().map(|d| d.text.as_str());
        said.collect()
    }

    #[test]
    fn what_was_told_but_not_recorded_is_added_in_its_place() {
        // what the transcript holds, what was told, what is known then
        type Case<'a> = (&'a [(&'a str, i64)], &'a [(&'a str, i64)], &'a [&'a str]);
        let long = "word ".repeat(300);
        let spilled = format!("[sm: a message is in the file /m — read it.]\n{long}\n[sm: …]");
        let cases: [Case<'_>; 12] = [
            (&[], &[], &[]),
            (&[], &[("go on", 5)], &["go on"]),
            (
                &[("count", 1)],
                &[("count", 1), ("go", 9)],
                &["count", "go"],
            ),
            (&[("count", 1)], &[("count", 1)], &["count"]),
            // it was given to a hook, and more was said since
            (&[("a", 1), ("c", 9)], &[("b", 5)], &["a", "b", "c"]),
            // the same words twice
            (
                &[("go on", 1)],
                &[("go on", 1), ("go on", 7)],
                &["go on", "go on"],
            ),
            (
                &[("go", 1), ("go", 7)],
                &[("go", 1), ("go", 7)],
                &["go", "go"],
            ),
            // words inside of others are not these words
            (
                &[("yesterday yes", 1)],
                &[("yes", 3)],
                &["yesterday yes", "yes"],
            ),
            // white space is the composer's
            (&[("a  b\n\n c", 1)], &[(" a b\r\nc\n", 2)], &["a  b\n\n c"]),
            // several in one prompt
            (
                &[("[sm: message 1 of 2]\none\n\n[sm: message 2 of 2]\ntwo", 3)],
                &[("one", 2), ("two", 2), ("two", 8)],
                &[
                    "[sm: message 1 of 2]\none\n\n[sm: message 2 of 2]\ntwo",
                    "two",
                ],
            ),
            // of a long one its beginning
            (&[(&spilled, 1)], &[(&long, 2)], &[&spilled]),
            (&[("a", 1)], &[(" \n", 2)], &["a"]),
        ];
        for (have, given, expected) in cases {
            let ledger = recorded(have);
            let known = ledger.with_told(&told(given));
            assert_eq!(said(&known), expected, "{have:?} {given:?}");
            let again = known.with_told(&told(given));
            assert!(matches!(again, Cow::Borrowed(_)), "{have:?} {given:?}");
        }
    }

    #[test]
    fn the_last_words_are_the_newest_of_the_document_and_bring_their_names() {
        let ledger = recorded(&[("Number the boats in the harbour register.", 1)]);
        let last = told(&[(
            "Leave ninth_boat.rs alone, token=ghp_Zx81kQvT0aLmW93bNcYd7RfUe2HsJ4pGoi6X",
            4,
        )]);
        let text = document(&ledger.with_told(&last), &Frame::default(), 2_000);
        assert!(
            text.contains("Latest message: Leave ninth_boat.rs alone"),
            "{text}"
        );
        assert!(!text.contains("ghp_Zx81"), "{text}");
    }

    #[test]
    fn what_belongs_to_a_context_before_or_was_dropped_stays_away() {
        let mut ledger = recorded(&[("old", 1)]);
        let at = At {
            line: 2,
            time: Some(Timestamp(10)),
        };
        ledger.add(at, &Record::Compacted { summary: None });
        let known = ledger.with_told(&told(&[("before", 5), ("after", 12)]));
        assert_eq!(said(&known), ["after"]);

        let many: Vec<(String, i64)> = (0..1_200).map(|n| (format!("word {n}"), n)).collect();
        let many: Vec<(&str, i64)> = many.iter().map(|(t, at)| (t.as_str(), *at)).collect();
        let ledger = recorded(&many);
        assert!(ledger.people.dropped > 0);
        let known = ledger.with_told(&told(&many));
        assert!(matches!(known, Cow::Borrowed(_)));
    }
}
