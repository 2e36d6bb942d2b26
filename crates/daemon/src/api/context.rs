//! How full a session's context is, by every source that tells, and how it came to be so.

use super::types::{ContextReport, PointView, SampleView, ThresholdView, UsagePointView};
use super::{ApiError, Shared, read};
use crate::actor::Published;
use crate::clock::rfc3339;
use crate::view;
use axum::Json;
use axum::extract::{Path, State};
use sm_agents::kind;
use sm_core::{Monitor, Timestamp};
use sm_store::EventRow;
use std::path::Path as FilePath;

/// Lines of the history that are looked through, and points that are given at most.
const LINES: usize = 1_000;
const POINTS: usize = 240;
/// Points of a whole history, and how many times lines are read for it.
const CHART: usize = 500;
const PAGES: usize = 200;

pub async fn show(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
) -> Result<Json<ContextReport>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let session = handle.id.to_string();
    let rows = read::store(&hub, move |reader| {
        reader.last_events(Some(&session), LINES)
    })
    .await?;
    let published = handle.now();
    let record = &published.record;
    let cwd = FilePath::new(&record.cwd);
    let monitor = hub
        .config
        .context
        .monitor(record.agent, record.name.as_str(), cwd);
    Ok(Json(report(&published, &monitor, &rows)))
}

/// How it came to be so full, over all generations that the journal still has: a point for each
/// change of the whole percentage, thinned evenly where there are more than a chart can show.
pub async fn whole_history(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
) -> Result<Json<Vec<UsagePointView>>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let mut points = Vec::new();
    let mut after = 0;
    for _ in 0..PAGES {
        let session = handle.id.to_string();
        // page by page: others want to read too
        let rows = read::store(&hub, move |reader| {
            reader.events(Some(&session), after, LINES)
        })
        .await?;
        points.extend(rows.iter().filter_map(point));
        match rows.last() {
            Some(last) if rows.len() == LINES => after = last.seq,
            Some(_) | None => break,
        }
    }
    Ok(Json(thinned(points, CHART)))
}

/// At most `most`, evenly, with the first and the last.
fn thinned<T>(points: Vec<T>, most: usize) -> Vec<T> {
    let many = points.len();
    if many <= most || most < 2 {
        return points;
    }
    let mut wanted = (0..most).map(|n| n * (many - 1) / (most - 1)).peekable();
    let all = points.into_iter().enumerate();
    all.filter(|(at, _)| wanted.next_if_eq(at).is_some())
        .map(|(_, point)| point)
        .collect()
}

fn report(published: &Published, monitor: &Monitor, rows: &[EventRow]) -> ContextReport {
    let record = &published.record;
    let gauge = &record.gauge;
    let newest = gauge.newest();
    let window = gauge.window();
    let usable = window.map(kind::profile(record.agent).usable);
    let samples = gauge.samples().iter().map(|sample| SampleView {
        source: view::source(sample.source).to_string(),
        used_percentage: gauge.percent_of(sample),
        tokens: sample.tokens,
        at: rfc3339(sample.at),
    });
    let said = gauge.fired(record.generation, record.compactions);
    let thresholds = monitor.thresholds.iter().map(|t| ThresholdView {
        percent: t.percent,
        level: t.level.word().to_string(),
        said: said.contains(&t.percent),
    });
    ContextReport {
        session: record.id.to_string(),
        name: record.name.to_string(),
        agent: record.agent.as_str().to_string(),
        generation: record.generation.0,
        compactions: record.compactions,
        used_percentage: gauge.percent(),
        tokens: newest.and_then(|s| s.tokens),
        window,
        usable,
        usable_percentage: share(newest.and_then(|s| s.tokens), usable),
        source: newest.map(|s| view::source(s.source).to_string()),
        at: newest.map(|s| rfc3339(s.at)),
        last_sample_at: record.last_sample.map(rfc3339),
        trend: view::trend(record),
        samples: samples.collect(),
        disagreement: gauge.disagreement().map(|(low, high)| [low, high]),
        watched: monitor.enabled && !record.unwatched,
        on_compaction: monitor.on_compaction.as_str().to_string(),
        can_hold_up: kind::profile(record.agent).compaction_holds > 0,
        thresholds: thresholds.collect(),
        history: history(rows),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^52"
)]
fn share(tokens: Option<u64>, of: Option<u64>) -> Option<f64> {
    let of = of.filter(|of| *of > 0)?;
    Some((tokens? as f64 * 1000.0 / of as f64).round() / 10.0)
}

fn history(rows: &[EventRow]) -> Vec<PointView> {
    let mut points: Vec<PointView> = rows
        .iter()
        .filter_map(point)
        .map(|point| PointView {
            at: point.at,
            generation: point.generation,
            used_percentage: point.used_percentage,
            tokens: point.tokens,
        })
        .collect();
    let more = points.len().saturating_sub(POINTS);
    points.drain(..more);
    points
}

/// `43% 86,000/200,000`, as the core writes them down.
fn point(row: &EventRow) -> Option<UsagePointView> {
    let text = (row.kind == "usage").then_some(row.text.as_str())?;
    let (percent, numbers) = text.split_once("% ")?;
    let (tokens, window) = numbers.split_once('/')?;
    let number = |text: &str| text.replace(',', "").parse().ok();
    Some(UsagePointView {
        at: rfc3339(Timestamp(row.at)),
        generation: row.generation,
        used_percentage: percent.parse().ok()?,
        tokens: number(tokens),
        window: number(window),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> EventRow {
        EventRow {
            seq: 1,
            at: 0,
            session: "s".into(),
            generation: 2,
            turn: 1,
            kind: "usage".into(),
            text: text.into(),
            data: String::new(),
        }
    }

    #[test]
    fn points_are_read_back_and_other_lines_are_not() {
        let rows = [
            row("43% 86,000/200,000"),
            row("warning threshold 50% reached at 51%"),
            row("7% unknown/unknown"),
        ];
        let points = history(&rows);
        assert_eq!(points.len(), 2);
        assert_eq!(points[0].tokens, Some(86_000));
        assert_eq!(points[1].tokens, None);
        assert!((points[1].used_percentage - 7.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_long_history_is_thinned_evenly_with_both_ends() {
        assert_eq!(thinned((0..10).collect(), 10).len(), 10);
        let few: Vec<usize> = thinned((0..100_000).collect(), 500);
        assert_eq!((few.len(), few[0], few[499]), (500, 0, 99_999));
        let steps: Vec<usize> = few.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(steps.iter().all(|step| (200..=201).contains(step)));
        assert_eq!(thinned(vec![1, 2, 3], 2), [1, 3]);
        let point = point(&row("43% 86,000/200,000")).unwrap();
        assert_eq!((point.window, point.generation), (Some(200_000), 2));
    }

    #[test]
    fn the_share_of_what_can_be_used() {
        assert_eq!(share(Some(90_000), Some(180_000)), Some(50.0));
        assert_eq!(share(None, Some(180_000)), None);
        assert_eq!(share(Some(1), Some(0)), None);
    }
}
