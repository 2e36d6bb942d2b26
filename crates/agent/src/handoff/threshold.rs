//! How full a context may become before it is handed over by itself.

/// The first of the three that is set counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    pub tokens: Option<u64>,
    pub percent: Option<u8>,
    /// What must stay free.
    pub reserve: u64,
}

impl Default for Threshold {
    fn default() -> Self {
        Self {
            tokens: None,
            percent: None,
            reserve: 32_768,
        }
    }
}

impl Threshold {
    /// With strictly more than this many tokens a context is handed over.
    pub fn limit(self, window: u64) -> u64 {
        let most = window.saturating_sub(1).max(1);
        if let Some(tokens) = self.tokens {
            return tokens.clamp(1, most);
        }
        if let Some(percent @ 1..=99) = self.percent {
            return (window / 100 * u64::from(percent) + window % 100 * u64::from(percent) / 100)
                .clamp(1, most);
        }
        // A window that is hardly larger than the reserve is still to be used.
        window
            .saturating_sub(self.reserve.min(window / 2))
            .clamp(1, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_before_percent_and_percent_before_the_reserve() {
        for (tokens, percent, reserve, window, limit) in [
            (Some(5_000), Some(50), 1, 200_000, 5_000),
            (Some(0), None, 1, 200_000, 1),
            (Some(999_999), None, 1, 200_000, 199_999),
            (None, Some(80), 1, 200_000, 160_000),
            (None, Some(1), 1, 150, 1),
            (None, Some(99), 1, 199, 197),
            (None, Some(0), 10_000, 200_000, 190_000),
            (None, Some(100), 10_000, 200_000, 190_000),
            (None, None, 16_384, 200_000, 183_616),
            (None, None, 16_384, 8_192, 4_096),
            (None, None, 0, 8_192, 8_191),
            (None, None, 16_384, 0, 1),
            (None, Some(50), 0, u64::MAX, u64::MAX / 2),
        ] {
            let threshold = Threshold {
                tokens,
                percent,
                reserve,
            };
            assert_eq!(threshold.limit(window), limit, "{threshold:?} of {window}");
        }
    }
}
