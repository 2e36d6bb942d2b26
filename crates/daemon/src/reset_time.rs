//! The moment that a sentence for people means: "resets 5:19pm (UTC)", "resets Nov 22, 3am
//! (Europe/Berlin)", "try again at Nov 22nd, 2026 3:24 PM.", "try again in 2 hours 5 minutes". Pure.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Zoned};
use sm_core::ids::Timestamp;

/// A time is told to the minute: it may mean the end of it.
const MINUTE: i64 = 60_000;
/// A time of day so shortly before now is the one that has just been told, not tomorrow's.
const JUST_PAST: i64 = 5 * MINUTE;
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// `local`: the zone of a time that names none.
pub fn in_sentence(said: &str, now: Timestamp, local: &TimeZone) -> Option<Timestamp> {
    if let Some(unix) = after_bar(said) {
        return Some(unix);
    }
    // of the same length, so that places in it are places in what was said
    let lower = said.to_ascii_lowercase();
    if let Some((_, rest)) = lower.split_once("try again in ") {
        return length(rest).map(|length| now.plus(length));
    }
    let leads = ["resets at ", "resets on ", "resets ", "try again at "];
    let at = leads
        .iter()
        .find_map(|lead| lower.find(lead).map(|at| at + lead.len()))?;
    let zone = match zone_name(&said[at..]) {
        Some(name) => TimeZone::get(name).ok()?,
        None => local.clone(),
    };
    moment(&lower[at..], now, &zone)
}

/// `usage limit reached|1755806400`, as older programs said it.
fn after_bar(said: &str) -> Option<Timestamp> {
    let (_, number) = said.rsplit_once('|')?;
    let number = number.trim();
    (number.len() == 10)
        .then(|| number.parse::<i64>().ok())?
        .map(|unix| Timestamp(unix * 1_000))
}

fn zone_name(rest: &str) -> Option<&str> {
    let (_, inside) = rest.split_once('(')?;
    inside.split_once(')').map(|(name, _)| name.trim())
}

/// "2 days 3 hours 5 minutes", "45 seconds."
fn length(rest: &str) -> Option<i64> {
    let mut words = rest
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let mut sum: Option<i64> = None;
    while let (Some(number), Some(unit)) = (words.next(), words.next()) {
        let Ok(number) = number.parse::<i64>() else {
            break;
        };
        let each = match unit.trim_end_matches('s') {
            "day" => 86_400_000,
            "hour" | "hr" => 3_600_000,
            "minute" | "min" => MINUTE,
            "second" | "sec" => 1_000,
            _ => break,
        };
        sum = Some(sum.unwrap_or(0).checked_add(number.checked_mul(each)?)?);
    }
    sum
}

fn moment(rest: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let rest = rest.split_once('(').map_or(rest, |(before, _)| before);
    let words = rest
        .split(|c: char| c.is_whitespace() || c == ',')
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| !word.is_empty() && *word != "at")
        .take(6)
        .collect::<Vec<_>>();
    let here = jiff::Timestamp::from_millisecond(now.0)
        .ok()?
        .to_zoned(zone.clone());
    let month = words.first().and_then(|word| month(word));
    let (date, words) = match month {
        None => (None, &words[..]),
        Some(month) => {
            let day = words.get(1)?.trim_end_matches(char::is_alphabetic);
            let day = day.parse::<i8>().ok()?;
            let year = words.get(2).filter(|word| word.len() == 4);
            let year = year.and_then(|word| word.parse::<i16>().ok());
            let rest = &words[2 + usize::from(year.is_some())..];
            (Some((year, month, day)), rest)
        }
    };
    let time = time(words.first()?, words.get(1).copied())?;
    let at = match date {
        None => next(time, &here, now)?,
        Some((Some(year), month, day)) => Date::new(year, month, day).ok()?.to_datetime(time),
        Some((None, month, day)) => {
            let this = Date::new(here.year(), month, day).ok()?;
            let gone = this < here.date().checked_sub(Span::new().days(31)).ok()?;
            let year = here.year() + i16::from(gone);
            Date::new(year, month, day).ok()?.to_datetime(time)
        }
    };
    let at = zone.to_ambiguous_zoned(at).compatible().ok()?;
    Some(Timestamp(at.timestamp().as_millisecond()).plus(MINUTE))
}

/// The next such time of day.
fn next(time: Time, here: &Zoned, now: Timestamp) -> Option<jiff::civil::DateTime> {
    let today = here.date().to_datetime(time);
    let at = here
        .time_zone()
        .to_ambiguous_zoned(today)
        .compatible()
        .ok()?;
    match at.timestamp().as_millisecond() < now.0 - JUST_PAST {
        true => Some(here.date().tomorrow().ok()?.to_datetime(time)),
        false => Some(today),
    }
}

fn month(word: &str) -> Option<i8> {
    let start = word.get(..3)?;
    let at = MONTHS.iter().position(|month| *month == start)?;
    i8::try_from(at + 1).ok()
}

/// "5:19pm", "3am", "3:24" "pm", "15:24".
fn time(word: &str, next: Option<&str>) -> Option<Time> {
    let (digits, half) = match word.strip_suffix("am") {
        Some(digits) => (digits, Some(0)),
        None => match word.strip_suffix("pm") {
            Some(digits) => (digits, Some(12)),
            None => match next {
                Some("am") => (word, Some(0)),
                Some("pm") => (word, Some(12)),
                _ => (word, None),
            },
        },
    };
    let (hour, minute) = match digits.split_once(':') {
        Some((hour, minute)) => (hour.parse::<i8>().ok()?, minute.parse::<i8>().ok()?),
        None => (half.and_then(|_| digits.parse::<i8>().ok())?, 0),
    };
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    Time::new(hour, minute, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(said: &str, now: &str) -> Option<String> {
        let now = Timestamp::parse(now).unwrap();
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let at = in_sentence(said, now, &zone)?;
        let at = jiff::Timestamp::from_millisecond(at.0).unwrap();
        Some(at.to_string())
    }

    #[test]
    fn sentences_of_the_real_programs() {
        let now = "2026-11-19T15:19:43Z";
        for (said, expected) in [
            (
                "You've hit your session limit · resets 5:19pm (UTC)",
                "2026-11-19T17:20:00Z",
            ),
            (
                "You've hit your 5-hour limit · resets 3am (Europe/Berlin)",
                "2026-11-20T02:01:00Z",
            ),
            (
                "You've hit your weekly limit · resets Nov 22, 3am (UTC)",
                "2026-11-22T03:01:00Z",
            ),
            (
                "You've hit your weekly limit · resets Jan 2 at 3:15pm (UTC)",
                "2027-01-02T15:16:00Z",
            ),
            (
                "You’ve hit your usage limit. Visit https://chatgpt.com/x or try again at 5:24 PM.",
                "2026-11-19T16:25:00Z",
            ),
            (
                "You've hit your usage limit. Try again at Nov 22nd, 2026 3:24 PM.",
                "2026-11-22T14:25:00Z",
            ),
            ("Try again in 2 hours 5 minutes.", "2026-11-19T17:24:43Z"),
            (
                "Claude AI usage limit reached|1795108770",
                "2026-11-19T17:19:30Z",
            ),
        ] {
            assert_eq!(found(said, now).as_deref(), Some(expected), "{said}");
        }
    }

    #[test]
    fn the_minute_that_runs_is_meant_and_not_tomorrows() {
        let said = "You've hit your session limit · resets 5:19pm (UTC)";
        for (now, expected) in [
            ("2026-11-19T17:19:50Z", "2026-11-19T17:20:00Z"),
            ("2026-11-19T17:21:00Z", "2026-11-19T17:20:00Z"),
            ("2026-11-19T17:30:00Z", "2026-11-20T17:20:00Z"),
        ] {
            assert_eq!(found(said, now).as_deref(), Some(expected), "{now}");
        }
    }

    #[test]
    fn others_name_no_moment() {
        let now = "2026-11-19T15:19:43Z";
        for said in [
            "",
            "Overloaded",
            "resets",
            "resets ",
            "resets soon",
            "resets 25:99pm (UTC)",
            "resets 5pm (Nowhere/Land)",
            "resets Nov",
            "resets Nov 99, 3am (UTC)",
            "resets Nov 22, 2026 (UTC)",
            "try again in a while",
            "try again in 99999999999999999999 days",
            "x|12345",
            "İİİİ resets 5é (UTC",
            "İ resets é (UTC)",
            "\u{212a}\u{212a} resets é (UTC)",
        ] {
            assert_eq!(found(said, now), None, "{said}");
        }
    }

    proptest::proptest! {
        /// A provider may say anything.
        #[test]
        fn any_text_names_a_moment_or_none(
            before in "\\PC{0,8}",
            lead in "resets |resets at |try again in |try again at |Resets on ",
            rest in "(\\PC|[0-9]{1,20}| (am|pm|days|hours|\\(UTC\\)|nov|,|:|\\|) ?){0,12}",
            now in proptest::num::i64::ANY,
        ) {
            let said = format!("{before}{lead}{rest}");
            let at = in_sentence(&said, Timestamp(now), &TimeZone::UTC);
            proptest::prop_assert_eq!(at, in_sentence(&said, Timestamp(now), &TimeZone::UTC));
        }
    }
}
