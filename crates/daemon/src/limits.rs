//! What agents say of their provider's limits, made safe where it comes in, and with the moment that
//! its sentence means where nothing better is told.

use crate::reset_time;
use jiff::tz::TimeZone;
use sm_core::ids::Timestamp;
use sm_core::limit::{LimitKind, ProviderLimit, ResetSource};
use sm_core::shown;
use sm_core::signal::{BreakReason, Fact, Signal};
use sm_ledger::redact::redact;

const LONGEST_TEXT: usize = 300;

/// `at`: when it was said.
pub fn in_signal(signal: &mut Signal, at: Timestamp) {
    if let Signal::TurnBroken(BreakReason::Limit(limit)) = signal {
        complete(limit, at);
    }
}

/// A fact without a time of its own was said just `now`.
pub fn in_facts(facts: &mut [Fact], now: Timestamp) {
    for fact in facts {
        if let Fact::TurnEnded {
            broken: Some(BreakReason::Limit(limit)),
            at,
        } = fact
        {
            complete(limit, at.unwrap_or(now));
        }
    }
}

fn complete(limit: &mut ProviderLimit, at: Timestamp) {
    if limit.resets_at.is_none() && limit.kind == LimitKind::Usage {
        let means = reset_time::in_sentence(&limit.text, at, &TimeZone::system());
        limit.resets_at = means.map(|means| (means, ResetSource::Sentence));
    }
    limit.text = shown::line(&redact(&limit.text).text, LONGEST_TEXT);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> BreakReason {
        BreakReason::Limit(ProviderLimit::new(LimitKind::Usage, text))
    }

    #[test]
    fn a_sentence_gets_its_moment_and_is_one_line() {
        let at = Timestamp::parse("2026-11-19T15:19:43Z").unwrap();
        let sentence = "You've hit your session limit\x1b[2J · resets 5:19pm (UTC)";
        let mut signal = Signal::TurnBroken(limit(sentence));
        in_signal(&mut signal, at);
        let mut facts = [Fact::TurnEnded {
            broken: Some(limit(sentence)),
            at: Some(at),
        }];
        in_facts(&mut facts, at.plus(60_000));
        let Signal::TurnBroken(told) = signal else {
            panic!("{signal:?}");
        };
        let BreakReason::Limit(told_limit) = &told else {
            panic!("{told:?}");
        };
        let until = Timestamp::parse("2026-11-19T17:20:00Z").unwrap();
        assert_eq!(told_limit.resets_at, Some((until, ResetSource::Sentence)));
        assert!(!told_limit.text.contains('\x1b'));
        let [Fact::TurnEnded { broken, .. }] = facts else {
            panic!("another fact");
        };
        assert_eq!(broken, Some(told));
    }

    #[test]
    fn what_the_agent_told_better_stays() {
        let at = Timestamp(1_000);
        let exact = Timestamp(9_000);
        let limit = ProviderLimit::new(LimitKind::Usage, "resets 5pm (UTC)")
            .resetting(Some(exact), ResetSource::Transcript);
        let mut signal = Signal::TurnBroken(BreakReason::Limit(limit.clone()));
        in_signal(&mut signal, at);
        assert_eq!(signal, Signal::TurnBroken(BreakReason::Limit(limit)));
    }
}
