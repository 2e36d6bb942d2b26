//! What is odd about a document that could be handed off. Pure: policy is the caller's.

use super::document::Document;
use sm_core::template::{is_unfilled_template, unfilled_headings};
use sm_core::{Timestamp, Trigger};

/// File systems round times, and a prompt is heard of a moment after it was given.
const SLACK: i64 = 1_000;

/// One thing to look at again, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    #[error(
        "{0} is still the template: write under each heading what the next context needs to know"
    )]
    Template(String),
    #[error("{path} still has the template's placeholders under: {}. Replace them, or remove the headings", .headings.join(", "))]
    Unfilled {
        path: String,
        headings: Vec<&'static str>,
    },
    #[error(
        "{path} was last written {seconds} s before this turn began: write down what has happened since"
    )]
    OlderThanTurn { path: String, seconds: i64 },
}

/// `turn`: when the turn that is open began, if that is known. A person's document may be older.
pub fn findings(document: &Document, trigger: Trigger, turn: Option<Timestamp>) -> Vec<Finding> {
    let path = document.path.to_string_lossy().into_owned();
    let mut found = Vec::new();
    let headings = unfilled_headings(&document.text);
    if is_unfilled_template(&document.text) {
        found.push(Finding::Template(path.clone()));
    } else if !headings.is_empty() {
        found.push(Finding::Unfilled {
            path: path.clone(),
            headings,
        });
    }
    if let (Trigger::Agent, Some(turn), Some(written)) = (trigger, turn, document.written_at)
        && written.plus(SLACK) < turn
    {
        let seconds = turn.since(written) / 1000;
        found.push(Finding::OlderThanTurn { path, seconds });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_core::template::handoff_template;

    fn document(text: &str, written_at: i64) -> Document {
        Document {
            path: "/w/notes.md".into(),
            text: text.into(),
            written_at: Some(Timestamp(written_at)),
        }
    }

    #[test]
    fn what_is_odd_is_named_with_its_remedy() {
        let turn = Some(Timestamp(100_000));
        for (text, written, trigger, turn, expected) in [
            ("state", 100_500, Trigger::Agent, turn, vec![]),
            ("state", 99_500, Trigger::Agent, turn, vec![]),
            (
                "state",
                10_000,
                Trigger::Agent,
                turn,
                vec!["90 s before this turn"],
            ),
            ("state", 10_000, Trigger::Person, turn, vec![]),
            ("state", 10_000, Trigger::Agent, None, vec![]),
            (
                handoff_template(),
                100_500,
                Trigger::Agent,
                turn,
                vec!["is still the template"],
            ),
            (
                handoff_template(),
                10_000,
                Trigger::Agent,
                turn,
                vec!["is still the template", "before this turn"],
            ),
            (
                "# Handoff\n\n## Goal\nto ship it\n\n## Next actions\n<the next steps in order; the first so exact that it can be done at once>\n",
                100_500,
                Trigger::Person,
                turn,
                vec!["placeholders under: Next actions"],
            ),
        ] {
            let found = findings(&document(text, written), trigger, turn);
            let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(texts.len(), expected.len(), "{texts:?}");
            for (text, expected) in texts.iter().zip(expected) {
                assert!(text.contains(expected), "{text}");
            }
        }
    }
}
