//! What people have said in the contexts before this one: the record of a fresh context does not
//! hold it, and the work is still theirs.
//!
//! A prompt that `sm` gave is nobody's words: it must never stand for the goal, or a second handoff
//! would tell its successor to read the first, and so on.

use super::people::Directive;
use super::{Ledger, SUMMARY, Summary};
use crate::redact::Origin;
use crate::text;
use sm_core::words;
use std::borrow::Cow;
use std::collections::VecDeque;

/// The oldest hold the goal, the newest what it became.
const FIRST: usize = 4;
const LAST: usize = 8;
/// Bytes of the very first, and of each other one.
const GOAL: usize = 2_400;
const LONGEST: usize = 800;
/// A takeover stands at the very beginning of its file.
const BEGINNING: u64 = 4;

impl Ledger {
    /// Whether this context goes on with the work of the one before: it began with a prompt of
    /// `sm`, or with a document in its place.
    pub fn goes_on(&self) -> bool {
        let first = self.people.said.front();
        self.took_over() || first.is_some_and(|first| words::is_wake(&first.text))
    }

    /// Whether its file begins with a document in the place of another context.
    fn took_over(&self) -> bool {
        let summary = self.summary.as_ref();
        summary.is_some_and(|summary| summary.line <= BEGINNING)
    }

    /// The text of the document it began with stands for what the context before held.
    pub fn begin_with(&mut self, document: &str) {
        if self.summary.is_some() || document.trim().is_empty() {
            return; // the program has put something there itself
        }
        let clean = self.clean(document, Origin::Any);
        let text = text::head(&clean, SUMMARY).to_owned();
        let (line, time) = (0, None);
        self.summary = Some(Summary { text, line, time });
    }

    /// With what was said before, and without what `sm` said; as it is if that is nothing.
    pub fn after(&self, earlier: &[String]) -> Cow<'_, Self> {
        let of_sm = |said: &Directive| words::is_of_sm(&said.text);
        if earlier.is_empty() && !self.people.said.iter().any(of_sm) {
            return Cow::Borrowed(self);
        }
        let mut known = self.clone();
        // a compaction of its own has taken those before it into its summary
        let context = if self.took_over() {
            self.compactions
        } else {
            0
        };
        let now = std::mem::take(&mut known.people.said);
        known.people.said = earlier
            .iter()
            .map(|text| said_at_no_line(text, context))
            .chain(now.into_iter().filter(|said| !of_sm(said)))
            .collect::<VecDeque<_>>();
        Cow::Owned(known)
    }

    /// What is to be remembered of the contexts until now by those that come after.
    pub fn remembered(&self, earlier: &[String]) -> Vec<String> {
        let now = self.people.said.iter();
        let now = now.filter(|said| !said.is_notice() && !words::is_of_sm(&said.text));
        let all = earlier.iter().cloned();
        let all: Vec<String> = all.chain(now.map(|said| said.text.clone())).collect();
        let count = all.len();
        let kept = all.into_iter().enumerate();
        let kept = kept.filter(|(n, _)| *n < FIRST || n + LAST >= count);
        kept.map(|(n, text)| cut(&text, if n == 0 { GOAL } else { LONGEST }))
            .collect()
    }

    /// Something that was said last: the record may not have it yet.
    pub fn say_last(&mut self, prompt: &str) {
        let prompt = self.clean(prompt.trim(), Origin::Any).into_owned();
        let prompt = prompt.as_str();
        let begins = text::head(prompt, LONGEST);
        let mut said = self.people.said.iter();
        if !prompt.is_empty() && !said.any(|said| said.text.starts_with(begins)) {
            let now = said_at_no_line(prompt, self.compactions);
            self.people.said.push_back(now);
        }
    }
}

fn said_at_no_line(text: &str, context: u32) -> Directive {
    Directive {
        text: text.to_owned(),
        length: text.len(),
        line: 0,
        time: None,
        asked: None,
        context,
    }
}

/// What is cut says so, and is not cut again.
fn cut(whole: &str, most: usize) -> String {
    let mark = '…';
    match whole.len() <= most + mark.len_utf8() {
        true => whole.to_owned(),
        false => format!("{}{mark}", text::head(whole, most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Frame, document};
    use crate::record::{At, Record};

    const WAKE: &str = "Read /handoffs/1/document.md and continue from where you left off.\n\nFull session log: /log";

    fn ledger(said: &[&str]) -> Ledger {
        let mut ledger = Ledger::default();
        for text in said {
            ledger.people.say(text, At::default(), 0, None);
        }
        ledger
    }

    fn said(ledger: &Ledger) -> Vec<&str> {
        ledger.people.said.iter().map(|d| d.text.as_str()).collect()
    }

    #[test]
    fn what_was_said_stays_through_all_contexts() {
        let mut earlier = ledger(&["build the parser", "use no regex"]).remembered(&[]);
        assert_eq!(earlier, ["build the parser", "use no regex"]);
        for _ in 0..3 {
            let next = ledger(&[
                WAKE,
                "<task-notification>x",
                "é",
                "[sm context] Context at 50%",
            ]);
            assert!(next.goes_on());
            let known = next.after(&earlier);
            let expected = ["build the parser", "use no regex"];
            assert_eq!(said(&known)[..2], expected);
            assert!(!said(&known).iter().any(|text| words::is_of_sm(text)));
            earlier = next.remembered(&earlier);
            assert_eq!(earlier[..3], ["build the parser", "use no regex", "é"]);
        }
    }

    #[test]
    fn the_goal_of_a_third_context_is_that_of_the_first() {
        let earlier = ledger(&["Port the invoice module to the new ledger API."]).remembered(&[]);
        let earlier = ledger(&[WAKE]).remembered(&earlier);
        let third = ledger(&[WAKE, "Keep the public names."]);
        let third = third.after(&earlier);
        let text = document(&third, &Frame::default(), 4_000);
        assert!(
            text.contains("## Objective\nPort the invoice module to the new ledger API.\nLatest message: Keep the public names.\n"),
            "{text}"
        );
        assert!(!text.contains("continue from where"), "{text}");
    }

    #[test]
    fn what_was_said_is_in_order_over_contexts() {
        let earlier = [
            "Port the invoice module, all of it.",
            "a long wish that was said second and has many words in it",
            "third",
            "the fourth wish",
        ]
        .map(str::to_owned);
        let mut now = ledger(&[WAKE]);
        let at = |line| At { line, time: None };
        now.people.say("fifth, longer than others", at(7), 0, None);
        now.people.say("sixth", at(9), 0, None);
        now.people
            .say("and the last of all of them", at(11), 0, None);
        let text = document(&now.after(&earlier), &Frame::default(), 4_000);
        let mut from = text.find("in order").unwrap();
        for said in ["a long wish", "third", "the fourth", "fifth", "sixth"] {
            let at = text[from..].find(said);
            from += at.unwrap_or_else(|| panic!("{said} is not in its place: {text}"));
        }
    }

    #[test]
    fn what_sm_said_is_nobody_s_words_in_any_document() {
        let ledger = ledger(&[
            WAKE,
            "Keep the public names.",
            "[sm context] Context at 50%",
        ]);
        let text = document(&ledger, &Frame::default(), 4_000);
        assert!(text.contains("Keep the public names."), "{text}");
        assert!(!text.contains("continue from where"), "{text}");
        assert!(!text.contains("[sm context]"), "{text}");
        assert_eq!(ledger.directives().count(), 1);
    }

    #[test]
    fn only_a_context_that_took_over_goes_on() {
        for (first, expected) in [
            (WAKE, true),
            (
                "Continue from handoff (ID: HO-20260202-064530-a). Go on.",
                true,
            ),
            ("something else", false),
            ("[sm context] Context at 50%", false),
        ] {
            assert_eq!(ledger(&[first, WAKE]).goes_on(), expected, "{first}");
        }
        assert!(!Ledger::default().goes_on());
        // sm's own agent has the document in its file
        for (line, expected) in [(2, true), (400, false)] {
            let mut native = Ledger::default();
            let summary = Some("# Handoff".into());
            native.add(At { line, time: None }, &Record::Compacted { summary });
            assert_eq!(native.goes_on(), expected, "{line}");
        }
    }

    #[test]
    fn what_was_said_stands_beside_a_document_that_took_over() {
        let mut native = Ledger::default();
        let summary = Some("# Handoff".into());
        let at = |line| At { line, time: None };
        native.add(at(2), &Record::Compacted { summary });
        native.people.say(WAKE, at(3), native.compactions, None);
        let earlier = ["number the boats", "never in red"].map(str::to_owned);
        let text = document(&native.after(&earlier), &Frame::default(), 4_000);
        assert!(text.contains("## Objective\nnumber the boats\n"), "{text}");
        assert!(text.contains("never in red"), "{text}");
    }

    #[test]
    fn what_was_said_last_is_not_missing() {
        for (recorded, prompt, expected) in [
            (&["a"][..], "b", &["a", "b"][..]),
            (&["a", "b"], "b\n", &["a", "b"]),
            (&["a"], WAKE, &["a"]),
            (&["a"], "  ", &["a"]),
        ] {
            let mut ledger = ledger(recorded);
            ledger.say_last(prompt);
            assert_eq!(ledger.remembered(&[]), expected, "{prompt:?}");
        }
    }

    #[test]
    fn the_first_and_the_last_are_remembered() {
        let long = "é".repeat(5_000);
        let many: Vec<String> = (0..40).map(|n| format!("{n} {long}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let kept = ledger(&many).remembered(&[]);
        let numbers: Vec<&str> = kept.iter().filter_map(|k| k.split(' ').next()).collect();
        let expected = [
            "0", "1", "2", "3", "32", "33", "34", "35", "36", "37", "38", "39",
        ];
        assert_eq!(numbers, expected);
        assert!(kept.iter().all(|text| text.ends_with("é…")));
        assert!(kept[0].len() > 2_000 && kept[1].len() < 900);
        let again = ledger(&[WAKE]).remembered(&kept);
        assert_eq!(again, kept, "what is cut is not cut again");
    }
}
