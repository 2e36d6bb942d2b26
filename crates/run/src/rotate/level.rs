//! How full a context is, in four words. Pure.
//!
//! The share of the window counts. The size of the transcript says little about it, and is used
//! only as long as no usage is known.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Ok,
    EarlyWarn,
    Warn,
    Critical,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::EarlyWarn => "EARLY_WARN",
            Self::Warn => "WARN",
            Self::Critical => "CRITICAL",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where each level begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Percent of the window: early warning, warning, critical.
    pub percent: [f64; 3],
    /// The turn is not waited for from here on.
    pub limit_percent: f64,
    /// KiB of transcript, where nothing better is known.
    pub kilobytes: [u64; 3],
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            percent: [50.0, 65.0, 75.0],
            limit_percent: 92.0,
            kilobytes: [1300, 1500, 1700],
        }
    }
}

/// How much of a window counts: of one that the agent was set to compact within, what it can use of
/// that. Else it would have compacted before a threshold is reached.
pub fn counted(window: u64, compact_window: Option<u64>, usable: fn(u64) -> u64) -> u64 {
    match compact_window {
        Some(limit) if limit < window => usable(limit),
        Some(_) | None => window,
    }
}

/// What is known of a context at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reading {
    pub percent: Option<f64>,
    pub tokens: Option<u64>,
    /// Bytes of transcript.
    pub size: Option<u64>,
}

impl Reading {
    /// What a newer reading does not know stays as it was.
    pub fn with(self, newer: Self) -> Self {
        Self {
            percent: newer.percent.or(self.percent),
            tokens: newer.tokens.or(self.tokens),
            size: newer.size.or(self.size),
        }
    }

    pub fn level(&self, thresholds: &Thresholds) -> Level {
        let passed = match (self.percent, self.size) {
            (Some(percent), _) => count(&thresholds.percent, |at| percent >= *at),
            (None, Some(size)) => count(&thresholds.kilobytes, |at| size >= at * 1024),
            (None, None) => 0,
        };
        match passed {
            0 => Level::Ok,
            1 => Level::EarlyWarn,
            2 => Level::Warn,
            _ => Level::Critical,
        }
    }

    pub fn at_the_limit(&self, thresholds: &Thresholds) -> bool {
        self.percent
            .is_some_and(|percent| percent >= thresholds.limit_percent)
    }
}

fn count<T>(of: &[T; 3], passed: impl Fn(&T) -> bool) -> usize {
    of.iter().take_while(|at| passed(at)).count()
}

/// The line of `.context-status`: the level, and the size of the transcript.
pub fn status_line(level: Level, size: u64) -> String {
    const KB: u64 = 1024;
    let size = match size {
        0..KB => format!("{size}B"),
        KB..0x10_0000 => format!("{}KB", size / KB),
        _ => format!(
            "{}.{}MB",
            size / (KB * KB),
            size % (KB * KB) * 10 / (KB * KB)
        ),
    };
    format!("{level}:{size}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_not_filled_does_not_count() {
        let usable = |window: u64| window - 20_000;
        for (window, compact_window, expected) in [
            (200_000, None, 200_000),
            (200_000, Some(200_000), 200_000),
            (200_000, Some(1_000_000), 200_000),
            (200_000, Some(100_000), 80_000),
            (1_000_000, Some(200_000), 180_000),
        ] {
            let found = counted(window, compact_window, usable);
            assert_eq!(found, expected, "{window} {compact_window:?}");
        }
    }

    #[test]
    fn tokens_count_and_size_only_without_them() {
        let thresholds = Thresholds::default();
        for (percent, kilobytes, level) in [
            (None, None, Level::Ok),
            (Some(49.9), None, Level::Ok),
            (Some(50.0), None, Level::EarlyWarn),
            (Some(65.0), None, Level::Warn),
            (Some(74.9), Some(9000), Level::Warn),
            (Some(75.0), Some(1), Level::Critical),
            (Some(2.0), Some(9000), Level::Ok),
            (None, Some(1299), Level::Ok),
            (None, Some(1300), Level::EarlyWarn),
            (None, Some(1500), Level::Warn),
            (None, Some(1700), Level::Critical),
        ] {
            let reading = Reading {
                percent,
                tokens: None,
                size: kilobytes.map(|kb: u64| kb * 1024),
            };
            assert_eq!(reading.level(&thresholds), level, "{reading:?}");
        }
    }

    #[test]
    fn the_status_line_is_the_level_and_the_size() {
        for (size, line) in [
            (0, "OK:0B\n"),
            (1023, "OK:1023B\n"),
            (80 * 1024, "OK:80KB\n"),
            (1_782_580, "OK:1.7MB\n"),
            (20 << 20, "OK:20.0MB\n"),
        ] {
            assert_eq!(status_line(Level::Ok, size), line);
        }
    }
}
