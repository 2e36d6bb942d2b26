//! The one place where the daemon looks at the clock and makes random ids.

use sm_core::Timestamp;
use std::hash::Hasher;
use std::time::{SystemTime, UNIX_EPOCH};

pub fn now() -> Timestamp {
    of(SystemTime::now())
}

/// A time of the file system.
pub fn of(time: SystemTime) -> Timestamp {
    let elapsed = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
}

/// RFC 3339, UTC, milliseconds.
pub fn rfc3339(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => String::from("1970-01-01T00:00:00.000Z"),
    }
}

/// `bytes` random bytes, in hex.
pub fn random_hex(bytes: usize) -> String {
    let mut buffer = vec![0_u8; bytes];
    if getrandom::fill(&mut buffer).is_err() {
        // No randomness at all: time and address are better than a constant, and uniqueness of ids
        // is checked where it matters.
        let seed = now().0 as u64 ^ (&raw const buffer as u64);
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = (seed.rotate_left(at as u32 * 7) & 0xff) as u8;
        }
    }
    buffer.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Between 0 and 1, always the same for a name: what many do again and again is spread by it.
pub fn share(name: &str) -> f64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(name.as_bytes());
    hasher.finish() as f64 / u64::MAX as f64
}

/// A version 4 UUID, for agents that let us name their conversation.
pub fn uuid() -> String {
    let mut hex: Vec<char> = random_hex(16).chars().collect();
    hex[12] = '4';
    hex[16] = match hex[16].to_digit(16).unwrap_or(0) & 3 {
        0 => '8',
        1 => '9',
        2 => 'a',
        _ => 'b',
    };
    let text: String = hex.into_iter().collect();
    format!(
        "{}-{}-{}-{}-{}",
        &text[..8],
        &text[8..12],
        &text[12..16],
        &text[16..20],
        &text[20..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_with_milliseconds() {
        assert_eq!(
            rfc3339(Timestamp(1_700_000_000_123)),
            "2023-11-14T22:13:20.123Z"
        );
    }

    #[test]
    fn shares_are_spread_over_all_there_is() {
        let mut tenths = [0; 10];
        for number in 0..500 {
            let share = share(&format!("{number:08x}"));
            assert!((0.0..=1.0).contains(&share), "{share}");
            tenths[((share * 10.0) as usize).min(9)] += 1;
        }
        assert!(
            tenths.iter().all(|many| (25..100).contains(many)),
            "{tenths:?}"
        );
    }

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        let id = uuid();
        assert_eq!((id.len(), &id[14..15]), (36, "4"));
        assert!("89ab".contains(&id[19..20]));
    }
}
