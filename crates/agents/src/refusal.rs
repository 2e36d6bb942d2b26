//! What a provider's refusal means, in the words of the agents: one that time alone ends is a limit,
//! any other an error.

use crate::json::short;
use sm_core::limit::{LimitKind, ProviderLimit};
use sm_core::signal::BreakReason;

/// Characters of what was said that are kept.
const SAID: usize = 300;

/// What the program calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Called {
    /// So much is allowed in a time, and it is used up.
    UsageLimit,
    /// Asked too often, or too much to do there.
    Busy,
    /// Something went wrong there, or on the way.
    Unanswered,
    Other,
}

/// `status`: of the answer, if there was one.
pub(crate) fn refusal(called: Called, status: Option<u64>, said: &str) -> BreakReason {
    let kind = match (called, status) {
        (Called::UsageLimit, _) => LimitKind::Usage,
        (Called::Busy, _) | (_, Some(429 | 500..=599)) => LimitKind::Overloaded,
        (Called::Unanswered, None) if is_of_the_network(said) => LimitKind::Network,
        (Called::Unanswered, None) => LimitKind::Overloaded,
        (Called::Unanswered | Called::Other, _) => {
            return BreakReason::ApiError(short(said, SAID));
        }
    };
    BreakReason::Limit(ProviderLimit::new(kind, said))
}

fn is_of_the_network(said: &str) -> bool {
    const WORDS: [&str; 10] = [
        "connect",
        "econn",
        "enotfound",
        "eai_again",
        "etimedout",
        "timed out",
        "network",
        "socket",
        "fetch failed",
        "error sending request",
    ];
    let said = said.to_lowercase();
    WORDS.iter().any(|word| said.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(called: Called, status: Option<u64>, said: &str) -> Option<LimitKind> {
        match refusal(called, status, said) {
            BreakReason::Limit(limit) => Some(limit.kind),
            _ => None,
        }
    }

    #[test]
    fn what_time_ends_is_a_limit() {
        use LimitKind::{Network, Overloaded, Usage};
        for (called, status, said, expected) in [
            (Called::UsageLimit, Some(429), "You've hit it", Some(Usage)),
            (Called::Busy, None, "Overloaded", Some(Overloaded)),
            (
                Called::Unanswered,
                Some(529),
                "Overloaded",
                Some(Overloaded),
            ),
            (
                Called::Unanswered,
                None,
                "API Error: 529 Overloaded",
                Some(Overloaded),
            ),
            (
                Called::Unanswered,
                None,
                "Unable to connect to API",
                Some(Network),
            ),
            (
                Called::Unanswered,
                None,
                "Connection refused (ECONNREFUSED)",
                Some(Network),
            ),
            (Called::Unanswered, Some(400), "bad", None),
            (Called::Other, Some(429), "too many", Some(Overloaded)),
            (Called::Other, None, "Credit balance is too low", None),
        ] {
            assert_eq!(kind(called, status, said), expected, "{said}");
        }
    }
}
