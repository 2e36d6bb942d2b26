//! What is odd about a document that could be handed off. Pure: what is known and the policy are the
//! caller's.

use super::document::Document;
use sm_core::{Timestamp, Trigger};
use sm_ledger::gate::{Level, Report};

/// File systems round times, and a prompt is heard of a moment after it was given.
const SLACK: i64 = 1_000;
/// Findings that an answer tells; the rest is counted.
const MOST_TOLD: usize = 8;

/// What an answer says, and whether a strict gate lets the document through.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// A line each: what, and what to do about it.
    pub told: Vec<String>,
    /// Those of them for which a strict gate refuses.
    pub grave: Vec<String>,
}

/// `turn`: when the turn that is open began, if that is known. A person's document may be older.
pub fn verdict(
    document: &Document,
    trigger: Trigger,
    turn: Option<Timestamp>,
    report: &Report,
) -> Verdict {
    let path = document.path.to_string_lossy();
    let mut verdict = Verdict::default();
    if let (Trigger::Agent, Some(turn), Some(written)) = (trigger, turn, document.written_at)
        && written.plus(SLACK) < turn
    {
        let seconds = turn.since(written) / 1000;
        let old = format!(
            "{path} was last written {seconds} s before this turn began: write down what has happened since"
        );
        verdict.grave.push(old.clone());
        verdict.told.push(old);
    }
    for finding in report.at_least(Level::Warning) {
        let text = finding.to_string();
        if finding.level == Level::Error {
            verdict.grave.push(text.clone());
        }
        verdict.told.push(text);
    }
    let more = verdict.told.len().saturating_sub(MOST_TOLD);
    if more > 0 {
        verdict.told.truncate(MOST_TOLD);
        let path = path.replace('\'', "'\\''");
        let more = format!("{more} more: see them with: sm handoff --check '{path}'");
        verdict.told.push(more);
    }
    verdict.grave.truncate(MOST_TOLD);
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_core::template::handoff_template;
    use sm_ledger::gate::{GateFacts, check};

    const GOOD: &str = "Goal: to ship it\nState: half done\nNext: the other half\n";

    #[test]
    fn what_is_odd_is_named_with_its_remedy() {
        let turn = Some(Timestamp(100_000));
        let unfilled = "# Handoff\n\n## Goal\nto ship it\n\n## State\ndone\n\n## Next actions\n<the next steps in order; the first so exact that it can be done at once>\n";
        for (text, written, trigger, turn, expected, grave) in [
            (GOOD, 100_500, Trigger::Agent, turn, vec![], 0),
            (GOOD, 99_500, Trigger::Agent, turn, vec![], 0),
            (
                GOOD,
                10_000,
                Trigger::Agent,
                turn,
                vec!["90 s before this turn"],
                1,
            ),
            (GOOD, 10_000, Trigger::Person, turn, vec![], 0),
            (GOOD, 10_000, Trigger::Agent, None, vec![], 0),
            (
                handoff_template(),
                100_500,
                Trigger::Agent,
                turn,
                vec!["is still the template"],
                1,
            ),
            (
                handoff_template(),
                10_000,
                Trigger::Agent,
                turn,
                vec!["before this turn", "is still the template"],
                2,
            ),
            (
                unfilled,
                100_500,
                Trigger::Person,
                turn,
                vec!["placeholder is still under \"Next actions\""],
                1,
            ),
        ] {
            let document = Document {
                path: "/w/notes.md".into(),
                real: "/w/notes.md".into(),
                text: text.into(),
                written_at: Some(Timestamp(written)),
            };
            let report = check(text, &GateFacts::default());
            let verdict = verdict(&document, trigger, turn, &report);
            assert_eq!(verdict.told.len(), expected.len(), "{verdict:?}");
            assert_eq!(verdict.grave.len(), grave, "{verdict:?}");
            for (text, expected) in verdict.told.iter().zip(expected) {
                assert!(text.contains(expected), "{text}");
            }
        }
    }

    #[test]
    fn many_findings_are_counted() {
        let text = format!("{GOOD}{}", "- TBD\n".repeat(5));
        let text = format!("{text}{}", "DB_PASSWORD=Tr0ub4dor&3\n".repeat(9));
        let document = Document {
            path: "/w/it's.md".into(),
            real: "/w/it's.md".into(),
            text: text.clone(),
            written_at: None,
        };
        let report = check(&text, &GateFacts::default());
        let verdict = verdict(&document, Trigger::Agent, None, &report);
        assert_eq!(verdict.told.len(), MOST_TOLD + 1);
        assert_eq!(
            verdict.told[MOST_TOLD],
            "2 more: see them with: sm handoff --check '/w/it'\\''s.md'"
        );
        assert!(verdict.told.iter().all(|text| !text.contains("Tr0ub4dor")));
    }
}
