//! How full a context is, for people: gauge, trend and chart. Pure: values come in, text goes out.

use jiff::Timestamp;
use sm_daemon::api::types::{ContextView, PointView, SessionView};

use crate::text::{Cell, Look, Signs, Tone, duration, one_line};

/// An agent that works and told nothing for so long, seconds.
const QUIET: i64 = 12 * 60;
/// From so many percent on a context fills up, and is nearly full, wherever nothing is configured.
const WARNING: f64 = 65.0;
const CRITICAL: f64 = 85.0;
/// Terminals of fewer columns get a shorter gauge.
const WIDE: usize = 100;
const CELLS: usize = 10;
const FEW_CELLS: usize = 5;
/// A smaller trend is none.
const LEAST_TREND: f64 = 0.5;

/// The columns and rows of the chart, and what a row stands for.
const CHART_COLUMNS: usize = 60;
const CHART_ROWS: usize = 4;
const ROW: f64 = 100.0 / CHART_ROWS as f64;
/// So much of a history is in its line.
const SPARK_HOURS: i64 = 6;
/// A history of a moment is as long as this, seconds.
const LEAST_SPAN: i64 = 60;

/// `43% ▰▰▰▰▱▱▱▱▱▱ 86k/200k ↑6/h`, or why there is none.
pub fn cell(look: &Look, session: &SessionView) -> Cell {
    let context = &session.context;
    let quiet = quiet(look, context);
    let Some(percent) = known(context.used_percentage) else {
        return match (context.tokens, session.agent.as_str(), quiet) {
            (Some(tokens), ..) => Cell::new(format!("{} tokens", short(tokens))),
            (None, "generic", _) => Cell::toned("none", Tone::Dim),
            (None, _, Some(quiet)) => Cell::toned(quiet, Tone::Warn),
            (None, _, None) => Cell::toned("-", Tone::Dim),
        };
    };
    let tone = tone(percent, context.warning, context.critical);
    let narrow = look.width.is_some_and(|width| width < WIDE);
    if let (Some(quiet), true) = (&quiet, narrow) {
        return Cell::toned(format!("{percent:.0}% {quiet}"), tone.max(Tone::Warn));
    }
    let cells = if narrow { FEW_CELLS } else { CELLS };
    let mut parts = vec![gauge(look.signs, percent, cells)];
    parts.extend(numbers(context.tokens, context.window));
    match quiet {
        Some(quiet) => {
            parts.push(quiet);
            Cell::toned(parts.join(" "), tone.max(Tone::Warn))
        }
        None => {
            if !narrow {
                parts.extend(trend(look.signs, context.trend));
            }
            Cell::toned(parts.join(" "), tone)
        }
    }
}

/// `no sample for 12 min`, if it is so.
pub fn quiet(look: &Look, context: &ContextView) -> Option<String> {
    let since: Timestamp = context.quiet_since.as_ref()?.parse().ok()?;
    let seconds = look.now.as_second().saturating_sub(since.as_second());
    (seconds >= QUIET).then(|| format!("no sample for {}", duration(seconds)))
}

/// By the session's own thresholds: what is shown as critical is what a person is told of.
pub fn tone(percent: f64, warning: Option<u8>, critical: Option<u8>) -> Tone {
    let warning = match (warning, critical) {
        (None, None) => Some(WARNING),
        // whoever configured one of them wants no more
        (warning, _) => warning.map(f64::from),
    };
    match () {
        () if percent >= critical_from(critical) => Tone::Bad,
        () if warning.is_some_and(|from| percent >= from) => Tone::Warn,
        () => Tone::Plain,
    }
}

/// The percentage, if a context that is so full needs somebody. What nobody proved to be the session's
/// is shown, and alarms nobody.
pub fn critical(context: &ContextView) -> Option<f64> {
    let from = critical_from(context.critical);
    let proven = context.source.as_deref() != Some("unproven");
    known(context.used_percentage).filter(|percent| proven && *percent >= from)
}

fn critical_from(configured: Option<u8>) -> f64 {
    configured.map_or(CRITICAL, f64::from)
}

/// A number that is one.
pub fn known(percent: Option<f64>) -> Option<f64> {
    percent.filter(|percent| percent.is_finite() && *percent >= 0.0)
}

/// `43% ▰▰▰▰▱▱▱▱▱▱`.
pub fn gauge(signs: Signs, percent: f64, cells: usize) -> String {
    let (full, empty) = match signs {
        Signs::Unicode => ("▰", "▱"),
        Signs::Ascii => ("#", "-"),
    };
    let share = percent.clamp(0.0, 100.0) / 100.0;
    let filled = ((share * cells as f64).round() as usize).min(cells);
    format!(
        "{percent:.0}% {}{}",
        full.repeat(filled),
        empty.repeat(cells - filled)
    )
}

pub fn wide_gauge(signs: Signs, percent: f64) -> String {
    gauge(signs, percent, CELLS)
}

/// `86k/200k`.
pub fn numbers(tokens: Option<u64>, window: Option<u64>) -> Option<String> {
    let tokens = short(tokens?);
    Some(match window {
        Some(window) => format!("{tokens}/{}", short(window)),
        None => format!("{tokens} tokens"),
    })
}

/// `↑6/h`: percentage points per hour.
pub fn trend(signs: Signs, points: Option<f64>) -> Option<String> {
    let points = points.filter(|points| points.is_finite() && points.abs() >= LEAST_TREND)?;
    let arrow = match (signs, points > 0.0) {
        (Signs::Unicode, true) => "↑",
        (Signs::Unicode, false) => "↓",
        (Signs::Ascii, true) => "+",
        (Signs::Ascii, false) => "-",
    };
    Some(format!("{arrow}{:.0}/h", points.abs()))
}

/// `86k`.
pub fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..999_500 => format!("{:.0}k", count as f64 / 1_000.0),
        _ => format!("{:.1}M", count as f64 / 1_000_000.0).replace(".0M", "M"),
    }
}

/// The history as a chart, from its first point until now; nothing, if there is no history.
pub fn chart(look: &Look, history: &[PointView]) -> String {
    let points = points(history);
    let (Some((from, _)), Some(first)) = (points.first(), history.first()) else {
        return String::new();
    };
    let until = look.now.as_second().max(from + LEAST_SPAN);
    let columns = columns(&points, *from, until, CHART_COLUMNS);
    let mut out = String::new();
    for row in (0..CHART_ROWS).rev() {
        let line: String = columns
            .iter()
            .map(|value| sign(look.signs, (value - row as f64 * ROW) / ROW, row == 0))
            .collect();
        let top = (row + 1) as f64 * ROW;
        let edge = match look.signs {
            Signs::Unicode => "│",
            Signs::Ascii => "|",
        };
        out.push_str(format!("{top:>4.0}% {edge}{line}").trim_end());
        out.push('\n');
    }
    let (begin, end) = (one_line(&look.clock(&first.at)), "now");
    let gap = CHART_COLUMNS.saturating_sub(begin.chars().count() + end.len());
    out.push_str(&format!("       {begin}{}{end}\n", " ".repeat(gap.max(1))));
    out
}

fn points(history: &[PointView]) -> Vec<(i64, f64)> {
    let mut points: Vec<(i64, f64)> = history
        .iter()
        .filter_map(|point| {
            let at: Timestamp = point.at.parse().ok()?;
            Some((at.as_second(), known(Some(point.used_percentage))?))
        })
        .collect();
    points.sort_by_key(|(at, _)| *at);
    points
}

/// `last 2 h  ▁▁▂▃▅▁▂`: the last hours in one line, at most so wide; nothing, if there is no history.
pub fn spark(look: &Look, history: &[PointView], columns: usize) -> Option<String> {
    let mut points = points(history);
    let now = look.now.as_second();
    let from = points.first()?.0.max(now - SPARK_HOURS * 3600);
    // what was said last before that still holds at its beginning
    let before = points.iter().take_while(|(at, _)| *at <= from).count();
    points.drain(..before.saturating_sub(1));
    if let Some(first) = points.first_mut() {
        first.0 = first.0.max(from);
    }
    let until = now.max(from + LEAST_SPAN);
    let label = format!("last {}  ", duration(until - from));
    let room = columns
        .checked_sub(label.chars().count())?
        .min(CHART_COLUMNS);
    let line: String = self::columns(&points, from, until, room)
        .into_iter()
        .map(|value| sign(look.signs, value / 100.0, true))
        .collect();
    (!line.is_empty()).then(|| format!("{label}{line}"))
}

/// The highest of each stretch of time; where nothing was said, what was said before.
fn columns(points: &[(i64, f64)], from: i64, until: i64, count: usize) -> Vec<f64> {
    let mut columns = vec![None::<f64>; count];
    let span = (until - from).max(1) as f64;
    for (at, value) in points {
        let place = ((at - from) as f64 / span * count as f64) as usize;
        if let Some(column) = columns.get_mut(place.min(count.saturating_sub(1))) {
            *column = Some(column.map_or(*value, |known| known.max(*value)));
        }
    }
    // the last word of a stretch goes on, not its highest
    let mut last = 0.0;
    let mut next = points.iter().peekable();
    let mut out = Vec::with_capacity(count);
    for (place, column) in columns.into_iter().enumerate() {
        out.push(column.unwrap_or(last));
        let end = from as f64 + (place + 1) as f64 / count as f64 * span;
        while let Some((_, value)) = next.next_if(|(at, _)| (*at as f64) < end) {
            last = *value;
        }
    }
    out
}

/// One cell of the chart, of which this share is filled.
fn sign(signs: Signs, share: f64, lowest: bool) -> char {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let eighths = (share.clamp(0.0, 1.0) * 8.0).round() as usize;
    // little is not nothing
    let eighths = if lowest { eighths.max(1) } else { eighths };
    match (signs, eighths) {
        (_, 0) => ' ',
        (Signs::Unicode, eighths) => BLOCKS[eighths.min(8) - 1],
        (Signs::Ascii, 1..=4) => '.',
        (Signs::Ascii, _) => '#',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ls::tests::session;
    use crate::text::tests::look;

    fn wide(signs: Signs) -> Look {
        Look {
            width: Some(160),
            signs,
            ..look()
        }
    }

    #[test]
    fn a_gauge_shows_what_is_known() {
        for (percent, unicode, ascii) in [
            (0.0, "0% ▱▱▱▱▱▱▱▱▱▱", "0% ----------"),
            (43.0, "43% ▰▰▰▰▱▱▱▱▱▱", "43% ####------"),
            (99.4, "99% ▰▰▰▰▰▰▰▰▰▰", "99% ##########"),
            (130.0, "130% ▰▰▰▰▰▰▰▰▰▰", "130% ##########"),
        ] {
            assert_eq!(wide_gauge(Signs::Unicode, percent), unicode);
            assert_eq!(wide_gauge(Signs::Ascii, percent), ascii);
        }
        for (percent, expected) in [
            (None, None),
            (Some(f64::NAN), None),
            (Some(-1.0), None),
            (Some(5.0), Some(5.0)),
        ] {
            assert_eq!(known(percent), expected);
        }
    }

    #[test]
    fn colours_go_by_the_sessions_own_thresholds() {
        for (percent, warning, critical, expected) in [
            (64.9, None, None, Tone::Plain),
            (65.0, None, None, Tone::Warn),
            (85.0, None, None, Tone::Bad),
            (49.0, Some(50), Some(65), Tone::Plain),
            (50.0, Some(50), Some(65), Tone::Warn),
            (65.0, Some(50), Some(65), Tone::Bad),
            (84.0, Some(80), Some(95), Tone::Warn),
            (90.0, Some(80), Some(95), Tone::Warn),
            (70.0, None, Some(90), Tone::Plain),
            (84.0, Some(50), None, Tone::Warn),
            (85.0, Some(50), None, Tone::Bad),
        ] {
            assert_eq!(tone(percent, warning, critical), expected, "{percent}");
            // what a person is told of looks so, and nothing else does
            let context = ContextView {
                used_percentage: Some(percent),
                warning,
                critical,
                ..ContextView::default()
            };
            let told = super::critical(&context).is_some();
            assert_eq!(told, expected == Tone::Bad, "{percent}");
        }
    }

    #[test]
    fn a_line_of_the_last_hours() {
        let point = |at: &str, percent| PointView {
            at: at.into(),
            used_percentage: percent,
            ..PointView::default()
        };
        let history = [
            point("2026-03-01T02:00:00Z", 50.0), // holds until the first of the last six hours
            point("2026-03-01T08:00:00Z", 75.0),
            point("2026-03-01T09:00:00Z", 100.0),
            point("2026-03-01T10:00:00Z", 3.0),
        ];
        for (signs, columns, expected) in [
            (Signs::Unicode, 22, Some("last 6 h  ▄▄▄▄▆▆██▁▁▁▁")),
            (Signs::Ascii, 22, Some("last 6 h  ....####....")),
            (Signs::Unicode, 10, None),
            (Signs::Unicode, 3, None),
        ] {
            let found = spark(&wide(signs), &history, columns);
            assert_eq!(found.as_deref(), expected, "{columns}");
        }
        assert_eq!(spark(&look(), &[], 80), None);
        let just_now = [point("2026-03-01T12:00:00Z", 40.0)];
        let line = spark(&look(), &just_now, 40).unwrap();
        assert!(line.ends_with("▃▃"), "{line}");
    }

    #[test]
    fn counts_and_trends_are_short() {
        for (count, expected) in [
            (0, "0"),
            (999, "999"),
            (86_400, "86k"),
            (999_499, "999k"),
            (999_500, "1M"),
            (1_250_000, "1.2M"),
        ] {
            assert_eq!(short(count), expected);
        }
        for (points, unicode, ascii) in [
            (Some(6.2), Some("↑6/h"), Some("+6/h")),
            (Some(-3.0), Some("↓3/h"), Some("-3/h")),
            (Some(0.4), None, None),
            (Some(f64::INFINITY), None, None),
            (None, None, None),
        ] {
            assert_eq!(trend(Signs::Unicode, points).as_deref(), unicode);
            assert_eq!(trend(Signs::Ascii, points).as_deref(), ascii);
        }
    }

    #[test]
    fn a_cell_says_how_full_it_is_or_why_nobody_knows() {
        let mut known = session("api");
        known.context.trend = Some(6.0);
        let mut quiet = known.clone();
        quiet.context.quiet_since = Some("2026-03-01T11:48:00Z".into());
        let mut heard = known.clone();
        heard.context.quiet_since = Some("2026-03-01T11:48:30Z".into());
        let mut first = session("api");
        first.context = ContextView::default();
        let mut silent = first.clone();
        silent.context.quiet_since = Some("2026-03-01T10:00:00Z".into());
        let mut generic = silent.clone();
        generic.agent = "generic".into();
        let mut full = session("api");
        full.context.used_percentage = Some(91.0);
        let narrow = Look {
            width: Some(80),
            ..look()
        };
        for (session, wide_text, narrow_text, tone) in [
            (
                &known,
                "42% ▰▰▰▰▱▱▱▱▱▱ 83k/200k ↑6/h",
                "42% ▰▰▱▱▱ 83k/200k",
                Tone::Plain,
            ),
            (
                &quiet,
                "42% ▰▰▰▰▱▱▱▱▱▱ 83k/200k no sample for 12 min",
                "42% no sample for 12 min",
                Tone::Warn,
            ),
            (
                &heard,
                "42% ▰▰▰▰▱▱▱▱▱▱ 83k/200k ↑6/h",
                "42% ▰▰▱▱▱ 83k/200k",
                Tone::Plain,
            ),
            (
                &full,
                "91% ▰▰▰▰▰▰▰▰▰▱ 83k/200k",
                "91% ▰▰▰▰▰ 83k/200k",
                Tone::Bad,
            ),
            (&first, "-", "-", Tone::Dim),
            (
                &silent,
                "no sample for 2 h",
                "no sample for 2 h",
                Tone::Warn,
            ),
            (&generic, "none", "none", Tone::Dim),
        ] {
            let shown = cell(&wide(Signs::Unicode), session);
            assert_eq!((shown.text.as_str(), shown.tone), (wide_text, tone));
            assert_eq!(cell(&narrow, session).text, narrow_text);
        }
    }

    fn point(at: &str, used_percentage: f64) -> PointView {
        PointView {
            at: format!("2026-03-01T{at}Z"),
            generation: 1,
            used_percentage,
            tokens: None,
        }
    }

    #[test]
    fn the_history_is_a_chart_of_fixed_width() {
        let history = [
            point("11:00:00", 5.0),
            point("11:10:00", 30.0),
            point("11:20:00", 52.0),
            point("11:30:00", 66.0),
            point("11:40:00", 84.0),
            point("11:40:10", 12.0),
            point("11:50:00", 20.0),
        ];
        insta::assert_snapshot!(chart(&wide(Signs::Unicode), &history), @r"
        100% │                                        ▃
         75% │                    ▁▁▁▁▁▁▁▁▁▁▅▅▅▅▅▅▅▅▅▅█
         50% │          ▂▂▂▂▂▂▂▂▂▂█████████████████████
         25% │▂▂▂▂▂▂▂▂▂▂███████████████████████████████▄▄▄▄▄▄▄▄▄▆▆▆▆▆▆▆▆▆▆
              11:00:00                                                 now
        ");
        insta::assert_snapshot!(chart(&wide(Signs::Ascii), &history), @r"
        100% |                                        .
         75% |                    ..........###########
         50% |          ..........#####################
         25% |..........###############################.........##########
              11:00:00                                                 now
        ");
    }

    #[test]
    fn a_chart_of_whatever_comes_has_its_width() {
        assert_eq!(chart(&look(), &[]), "");
        for points in [
            vec![point("11:00:00", 0.0)],
            vec![point("12:30:00", 250.0)],
            vec![point("11:00:00", f64::NAN), point("11:00:01", 1e300)],
            vec![point("23:00:00", 1.0), point("01:00:00", 99.0)],
            vec![point("garbage", 5.0)],
        ] {
            let chart = chart(&wide(Signs::Unicode), &points);
            let widest = chart.lines().map(|line| line.chars().count()).max();
            assert!(widest.unwrap_or(0) <= CHART_COLUMNS + 8, "{chart}");
        }
    }
}
