//! What sm itself has done to an agent: its record shows it as if a person had.
//!
//! Nothing is said of people that is not known: without a journal nobody can tell.

use super::Ledger;
use super::prose::StoppedBy;
use sm_core::Timestamp;
use std::borrow::Cow;

/// Clocks of two programs, and a record that is written late.
const SLACK: i64 = 2_000;

/// When sm may have pressed Escape for one of its messages: from when that was given to it until
/// the agent was proven to have it. None: it has not got it yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupt {
    pub from: Timestamp,
    pub until: Option<Timestamp>,
}

/// All that is known of what sm has interrupted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interrupts {
    pub by_sm: Vec<Interrupt>,
    /// What was before this was not looked at. None: everything was.
    pub known_since: Option<Timestamp>,
}

impl Interrupt {
    fn holds(&self, at: Timestamp) -> bool {
        at.plus(SLACK) >= self.from && self.until.is_none_or(|until| at <= until.plus(SLACK))
    }
}

impl Ledger {
    /// The same ledger, knowing what sm has interrupted, and that it has interrupted nothing else in
    /// the time that is known.
    pub fn with_interrupts(&self, interrupts: &Interrupts) -> Cow<'_, Self> {
        let by_sm = |at: Option<Timestamp>| {
            let mut all = interrupts.by_sm.iter();
            at.is_some_and(|at| all.any(|interrupt| interrupt.holds(at)))
        };
        let is_known = |at: Timestamp| {
            let since = interrupts.known_since;
            since.is_none_or(|since| at >= since.plus(SLACK))
        };
        let open = |by: StoppedBy| by == StoppedBy::Unknown;
        let interrupted = self.interrupted && by_sm(self.interrupted_at);
        if !interrupted && !self.prose.stopped.iter().any(|stopped| open(stopped.by)) {
            return Cow::Borrowed(self);
        }
        let mut ledger = self.clone();
        ledger.interrupted &= !interrupted;
        for stopped in ledger.prose.stopped.iter_mut().filter(|s| open(s.by)) {
            stopped.by = match (by_sm(stopped.time), stopped.time) {
                (true, _) => StoppedBy::Sm,
                (false, Some(at)) if is_known(at) => StoppedBy::Person,
                (false, Some(_) | None) => StoppedBy::Unknown,
            };
        }
        Cow::Owned(ledger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Frame, document};
    use crate::record::{At, Outcome, Record};

    fn stopped_at(time: i64, said: &str) -> Ledger {
        let mut ledger = Ledger::default();
        let at = |line, time| At {
            line,
            time: Some(Timestamp(time)),
        };
        let input = serde_json::value::to_raw_value(&serde_json::json!({"command": "sleep 1"}));
        let input = input.unwrap();
        let (id, tool) = ("t1".into(), "Bash".into());
        ledger.add(
            at(1, time - 10),
            &Record::Called {
                id,
                tool,
                input: &input,
            },
        );
        ledger.add(
            at(2, time),
            &Record::Returned {
                id: "t1".into(),
                text: said.into(),
                outcome: Outcome::Refused,
            },
        );
        ledger.add(at(3, time), &Record::Interrupted);
        ledger
    }

    fn known(ledger: &Ledger, by_sm: &[Interrupt], since: Option<Timestamp>) -> Ledger {
        let interrupts = Interrupts {
            by_sm: by_sm.to_vec(),
            known_since: since,
        };
        ledger.with_interrupts(&interrupts).into_owned()
    }

    #[test]
    fn what_sm_interrupted_is_no_refusal_of_a_person() {
        let words = "The user doesn't want to proceed. To tell you how to proceed, the user said:\nuse make";
        let plain = "The user doesn't want to proceed with this tool use.";
        let urgent = [Interrupt {
            from: Timestamp(99_000),
            until: Some(Timestamp(101_000)),
        }];
        let under_way = [Interrupt {
            from: Timestamp(99_000),
            until: None,
        }];
        // what the record says, when, what sm did, what is said of it
        let cases: [(&str, i64, Option<&[Interrupt]>, &str); 6] = [
            (plain, 100_000, Some(&urgent), "Interrupted by sm"),
            (plain, 100_000, Some(&under_way), "Interrupted by sm"),
            (
                plain,
                100_000,
                Some(&[]),
                "The person refused: Bash sleep 1",
            ),
            (
                plain,
                500_000,
                Some(&urgent),
                "The person refused: Bash sleep 1",
            ),
            (
                plain,
                100_000,
                None,
                "Refused or interrupted before it ended",
            ),
            (
                words,
                100_000,
                Some(&urgent),
                "The person refused: Bash sleep 1",
            ),
        ];
        for (said, at, interrupts, expected) in cases {
            let ledger = stopped_at(at, said);
            let ledger = match interrupts {
                Some(interrupts) => Cow::Owned(known(&ledger, interrupts, None)),
                None => Cow::Borrowed(&ledger),
            };
            let text = document(&ledger, &Frame::default(), 9_500);
            assert!(text.contains(expected), "{expected}: {text}");
            let of_person = expected.starts_with("The person");
            assert_eq!(text.contains("The person refused"), of_person, "{text}");
            assert!(!text.contains("The person interrupted"), "{text}");
        }
        let ledger = stopped_at(100_000, plain);
        assert!(ledger.interrupted && !known(&ledger, &urgent, None).interrupted);
        // sm may have done what is older than anything that was looked at
        for (since, expected) in [
            (50_000, "The person refused"),
            (200_000, "Refused or interrupted before it ended"),
        ] {
            let ledger = known(&ledger, &[], Some(Timestamp(since)));
            let text = document(&ledger, &Frame::default(), 9_500);
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
}
