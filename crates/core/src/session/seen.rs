//! Which hook calls were heard already: the same call by socket and by spool counts once.

use crate::ids::EventId;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How many are remembered.
const KEPT: usize = 64;

/// The last hook calls, by fingerprints of their ids: they are journaled and copied with the record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Seen(VecDeque<u64>);

impl Seen {
    pub fn contains(&self, id: &EventId) -> bool {
        self.0.contains(&fingerprint(id))
    }

    pub fn remember(&mut self, id: &EventId) {
        self.0.push_back(fingerprint(id));
        if self.0.len() > KEPT {
            self.0.pop_front();
        }
    }
}

/// FNV-1a, 64 bits: the same in every version, and among so few no two meet by chance.
fn fingerprint(id: &EventId) -> u64 {
    id.as_str()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_calls_are_known_and_older_ones_forgotten() {
        let id = |number: usize| EventId::new(format!("{number}-18a9c0ffee")).unwrap();
        let mut seen = Seen::default();
        for number in 0..=KEPT {
            assert!(!seen.contains(&id(number)), "{number}");
            seen.remember(&id(number));
        }
        assert!((1..=KEPT).all(|number| seen.contains(&id(number))));
        assert!(!seen.contains(&id(0)));
    }
}
