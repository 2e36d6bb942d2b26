//! How full a session's context is, by every source that tells, and how it came to be so.

use super::types::{ContextReport, PointView, SampleView, ThresholdView};
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

fn report(published: &Published, monitor: &Monitor, rows: &[EventRow]) -> ContextReport {
    let record = &published.record;
    let gauge = &record.gauge;
    let newest = gauge.newest();
    let window = newest.and_then(|s| s.window).or(gauge.window());
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

/// `43% 86,000/200,000`, as the core writes them down.
fn history(rows: &[EventRow]) -> Vec<PointView> {
    let mut points: Vec<PointView> = rows
        .iter()
        .filter(|row| row.kind == "usage")
        .filter_map(|row| {
            let (percent, numbers) = row.text.split_once("% ")?;
            let (tokens, _) = numbers.split_once('/')?;
            Some(PointView {
                at: rfc3339(Timestamp(row.at)),
                generation: row.generation,
                used_percentage: percent.parse().ok()?,
                tokens: tokens.replace(',', "").parse().ok(),
            })
        })
        .collect();
    let more = points.len().saturating_sub(POINTS);
    points.drain(..more);
    points
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
    fn the_share_of_what_can_be_used() {
        assert_eq!(share(Some(90_000), Some(180_000)), Some(50.0));
        assert_eq!(share(None, Some(180_000)), None);
        assert_eq!(share(Some(1), Some(0)), None);
    }
}
