//! When a provider is asked again. Pure: chance and the time of day come in.

use std::time::Duration;

/// The first wait; each further one is twice as long.
pub(crate) const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// How long to wait after the attempt of this number (from 1). `chance` is in 0..1.
pub(crate) fn wait(
    attempt: u32,
    retry_after: Option<Duration>,
    first: Duration,
    chance: f64,
) -> Duration {
    let doubled = first.saturating_mul(
        1_u32
            .checked_shl(attempt.saturating_sub(1))
            .unwrap_or(u32::MAX),
    );
    let spread = 0.5 + chance.clamp(0.0, 1.0) / 2.0;
    let own = doubled.min(LONGEST).mul_f64(spread);
    match retry_after {
        // a little later than told, and not all at the same time
        Some(told) => told.saturating_add(own.min(first)),
        None => own,
    }
}

/// The wait that the headers of a refusal ask for; `now` is in seconds since 1970.
pub(crate) fn retry_after(
    milliseconds: Option<&str>,
    value: Option<&str>,
    now: i64,
) -> Option<Duration> {
    let number = |text: &str, unit: f64| {
        let value: f64 = text.trim().parse().ok()?;
        Duration::try_from_secs_f64(value * unit).ok()
    };
    if let Some(wait) = milliseconds.and_then(|text| number(text, 0.001)) {
        return Some(wait);
    }
    let value = value?;
    number(value, 1.0).or_else(|| {
        let date = jiff::fmt::rfc2822::parse(value.trim()).ok()?;
        let seconds = date.timestamp().as_second().saturating_sub(now).max(0);
        Some(Duration::from_secs(u64::try_from(seconds).ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_are_spread() {
        let ms = |attempt, chance| wait(attempt, None, FIRST, chance).as_millis();
        assert_eq!([ms(1, 0.0), ms(1, 1.0)], [250, 500]);
        assert_eq!([ms(2, 1.0), ms(3, 1.0), ms(4, 0.5)], [1000, 2000, 3000]);
        assert_eq!([ms(40, 1.0), ms(u32::MAX, 0.0)], [30_000, 15_000]);
        let told = wait(1, Some(Duration::from_secs(20)), FIRST, 0.0);
        assert_eq!(told.as_millis(), 20_250);
    }

    #[test]
    fn the_header_is_understood_in_every_form() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = 784_111_777;
        let seconds = |ms, value| retry_after(ms, value, now).map(|wait| wait.as_secs_f64());
        for (ms, value, expected) in [
            (None, None, None),
            (None, Some("7"), Some(7.0)),
            (None, Some(" 1.5 "), Some(1.5)),
            (Some("250"), Some("7"), Some(0.25)),
            (None, Some("Sun, 06 Nov 1994 08:50:07 GMT"), Some(30.0)),
            (None, Some("Sun, 06 Nov 1994 08:49:00 GMT"), Some(0.0)),
            (None, Some("soon"), None),
            (None, Some("-3"), None),
            (None, Some("1e999"), None),
            (Some("x"), Some("NaN"), None),
        ] {
            assert_eq!(seconds(ms, value), expected, "{ms:?} {value:?}");
        }
    }
}
