//! What people have said in the contexts before this one: the record of a fresh context does not
//! hold it, and the work is still theirs. Pure.

use std::collections::VecDeque;

use sm_ledger::Ledger;
use sm_ledger::ledger::Directive;

use super::document::OURS;

/// The oldest hold the goal, the newest what it became.
const FIRST: usize = 4;
const LAST: usize = 8;
/// Bytes of one.
const LONGEST: usize = 800;

/// The ledger with what was said before, and without the prompt that `sm` has given itself; and
/// what is to be remembered of both.
///
/// `prompt` is what was said last: the record may not have it yet.
pub fn joined(ledger: &Ledger, earlier: &[String], prompt: Option<&str>) -> (Ledger, Vec<String>) {
    let mut known = ledger.clone();
    if let Some(text) = prompt.map(str::trim)
        && !text.is_empty()
        && !text.starts_with(OURS)
        && !known
            .people
            .said
            .iter()
            .any(|said| said.text.starts_with(cut(text)))
    {
        known.people.said.push_back(said_at_no_line(text));
    }
    let now = known
        .people
        .said
        .drain(..)
        .filter(|said| !said.text.starts_with(OURS))
        .collect::<Vec<_>>();
    let remembered: Vec<String> = earlier
        .iter()
        .cloned()
        .chain(
            now.iter()
                .filter(|said| !said.is_notice())
                .map(|said| cut(&said.text).to_owned()),
        )
        .collect();
    known.people.said = earlier
        .iter()
        .map(|text| said_at_no_line(text))
        .chain(now)
        .collect::<VecDeque<_>>();
    let count = remembered.len();
    let kept = remembered
        .into_iter()
        .enumerate()
        .filter(|(n, _)| *n < FIRST || n + LAST >= count)
        .map(|(_, text)| text)
        .collect();
    (known, kept)
}

fn said_at_no_line(text: &str) -> Directive {
    Directive {
        text: text.to_owned(),
        length: text.len(),
        line: 0,
        time: None,
        asked: None,
        context: 0,
    }
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_ledger::At;

    fn ledger(said: &[&str]) -> Ledger {
        let mut ledger = Ledger::default();
        for text in said {
            ledger.people.say(text, At::default(), 0, None);
        }
        ledger
    }

    #[test]
    fn what_was_said_stays_through_all_contexts() {
        let (_, kept) = joined(&ledger(&["build the parser", "use no regex"]), &[], None);
        assert_eq!(kept, ["build the parser", "use no regex"]);
        let ours = format!("{OURS}HO-20260202-064530-a). Go on.");
        let (known, kept) = joined(&ledger(&[&ours, "<task-notification>x", "é"]), &kept, None);
        let said: Vec<_> = known.people.said.iter().map(|d| d.text.as_str()).collect();
        assert_eq!(
            said,
            [
                "build the parser",
                "use no regex",
                "<task-notification>x",
                "é"
            ]
        );
        assert_eq!(kept, ["build the parser", "use no regex", "é"]);
    }

    #[test]
    fn what_was_said_last_is_not_missing() {
        let ours = format!("{OURS}HO-20260202-064530-a). Go on.");
        for (recorded, prompt, expected) in [
            (&["a"][..], Some("b"), &["a", "b"][..]),
            (&["a", "b"], Some("b\n"), &["a", "b"]),
            (&["a"], Some(ours.as_str()), &["a"]),
            (&["a"], Some("  "), &["a"]),
            (&[], None, &[]),
        ] {
            let (_, kept) = joined(&ledger(recorded), &[], prompt);
            assert_eq!(kept, expected, "{prompt:?}");
        }
    }

    #[test]
    fn the_first_and_the_last_are_remembered() {
        let long = "é".repeat(5_000);
        let many: Vec<String> = (0..40).map(|n| format!("{n} {long}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let (_, kept) = joined(&ledger(&many), &[], None);
        let numbers: Vec<&str> = kept.iter().filter_map(|k| k.split(' ').next()).collect();
        let expected = [
            "0", "1", "2", "3", "32", "33", "34", "35", "36", "37", "38", "39",
        ];
        assert_eq!(numbers, expected);
        assert!(kept.iter().all(|text| text.len() <= LONGEST));
    }
}
