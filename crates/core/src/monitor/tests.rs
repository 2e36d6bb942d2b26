//! Samples, thresholds and the trend, by example.

use super::*;

fn sample(source: UsageSource, percent: f64, at: i64) -> UsageSample {
    UsageSample {
        source,
        used_percentage: Some(percent),
        tokens: Some((2_000 * percent as u64).max(1_000)),
        window: Some(200_000),
        at: Timestamp(at),
    }
}
fn gauge() -> Gauge {
    Gauge::default()
}
fn thresholds() -> Arc<[Threshold]> {
    Monitor::default().thresholds
}
fn crossed(gauge: &mut Gauge, percent: f64, at: i64) -> Option<u8> {
    gauge.take(sample(UsageSource::StatusLine, percent, at));
    gauge
        .crossed(&thresholds(), Generation(1), 0)
        .map(|t| t.percent)
}

#[test]
fn each_threshold_is_said_once_and_reached_means_at_or_above() {
    let mut gauge = gauge();
    for (at, (percent, said)) in [
        (49.0, None),
        (50.0, Some(50)),
        (50.0, None),
        (40.0, None),
        (51.0, None),
        (64.9, None),
        (65.0, Some(65)),
        (90.0, None),
        (10.0, None),
        (99.0, None),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(crossed(&mut gauge, percent, at as i64), said, "{percent}");
    }
}

#[test]
fn a_sample_over_both_says_the_critical_one_only_and_latches_both() {
    let mut gauge = gauge();
    assert_eq!(crossed(&mut gauge, 70.0, 1), Some(65));
    assert_eq!(crossed(&mut gauge, 55.0, 2), None);
    assert_eq!(gauge.fired(Generation(1), 0), [50, 65]);
    assert!(gauge.fired(Generation(1), 1).is_empty(), "of another one");
}

#[test]
fn the_trend_is_that_of_the_last_hour_and_of_this_context() {
    const MINUTE: i64 = 60_000;
    let mut gauge = gauge();
    let at = |gauge: &mut Gauge, minute: i64, percent: f64| {
        gauge.take(sample(UsageSource::StatusLine, percent, minute * MINUTE));
        gauge.trend().map(f64::round)
    };
    assert_eq!(at(&mut gauge, 0, 10.0), None);
    assert_eq!(at(&mut gauge, 4, 14.0), None, "too little to go by");
    assert_eq!(at(&mut gauge, 30, 16.0), Some(12.0));
    for minute in 31..=240 {
        at(&mut gauge, minute, 16.0);
    }
    assert_eq!(gauge.trend(), Some(0.0), "what was long ago is over");
    assert!(gauge.trail.len() <= 14, "{}", gauge.trail.len());
    gauge.begin(Timestamp(241 * MINUTE));
    assert_eq!(gauge.trend(), None);
}

#[test]
fn of_a_window_that_is_not_filled_only_what_can_be_used_counts() {
    let limit = |window, usable| Some(Limit { window, usable });
    for (limit, tokens, percent, window, expected) in [
        (None, Some(60_000), Some(30.0), 200_000, Some(30.0)),
        (
            limit(200_000, 180_000),
            Some(60_000),
            Some(30.0),
            200_000,
            Some(30.0),
        ),
        (
            limit(1_000_000, 980_000),
            Some(60_000),
            Some(30.0),
            200_000,
            Some(30.0),
        ),
        (
            limit(100_000, 80_000),
            Some(60_000),
            Some(30.0),
            100_000,
            Some(75.0),
        ),
        (
            limit(100_000, 80_000),
            Some(60_000),
            None,
            100_000,
            Some(75.0),
        ),
        (
            limit(100_000, 80_000),
            None,
            Some(30.0),
            100_000,
            Some(75.0),
        ),
    ] {
        let mut gauge = Gauge::default();
        gauge.set_limit(limit);
        gauge.take(UsageSample {
            source: UsageSource::StatusLine,
            used_percentage: percent,
            tokens,
            window: Some(200_000),
            at: Timestamp(1),
        });
        let found = (gauge.percent(), gauge.window());
        assert_eq!(found, (expected, Some(window)), "{limit:?} {tokens:?}");
    }
    // the record says tokens only
    let mut gauge = Gauge::default();
    gauge.set_limit(limit(100_000, 80_000));
    let tokens = |at, window| UsageSample {
        source: UsageSource::Transcript,
        used_percentage: None,
        tokens: Some(40_000),
        window,
        at: Timestamp(at),
    };
    gauge.take(tokens(1, None));
    assert_eq!((gauge.percent(), gauge.window()), (None, None));
    gauge.take(tokens(2, Some(200_000)));
    gauge.take(tokens(3, None));
    assert_eq!(
        (gauge.percent(), gauge.window()),
        (Some(50.0), Some(100_000))
    );
}

#[test]
fn a_compaction_and_a_new_generation_arm_them_again() {
    let mut gauge = gauge();
    crossed(&mut gauge, 70.0, 1);
    gauge.begin(Timestamp(10));
    gauge.take(sample(UsageSource::StatusLine, 55.0, 100));
    let now = |gauge: &mut Gauge, generation, compactions| {
        gauge
            .crossed(&thresholds(), Generation(generation), compactions)
            .map(|t| t.percent)
    };
    assert_eq!(now(&mut gauge, 1, 1), Some(50), "even above the warning");
    assert_eq!(now(&mut gauge, 1, 1), None);
    assert_eq!(now(&mut gauge, 2, 0), Some(50));
}

#[test]
fn the_newest_wins_and_the_old_is_known_to_be_old() {
    let mut gauge = gauge();
    gauge.take(sample(UsageSource::StatusLine, 40.0, 100));
    assert_eq!(
        gauge.take(sample(UsageSource::StatusLine, 30.0, 50)),
        Taken::Stale
    );
    assert_eq!(
        gauge.take(sample(UsageSource::Transcript, 20.0, 60)),
        Taken::Beside
    );
    assert_eq!(gauge.percent(), Some(40.0));
    assert_eq!(gauge.disagreement(), Some((20.0, 40.0)));
    gauge.begin(Timestamp(1_000));
    assert_eq!(
        gauge.take(sample(UsageSource::StatusLine, 80.0, 900)),
        Taken::Stale,
        "of before the compaction"
    );
    assert_eq!(gauge.percent(), None);
}

#[test]
fn nothing_is_said_by_nulls_and_zeros() {
    let mut gauge = gauge();
    let empty = UsageSample {
        source: UsageSource::StatusLine,
        used_percentage: None,
        tokens: None,
        window: Some(1_000_000),
        at: Timestamp(5),
    };
    assert_eq!(gauge.take(empty), Taken::Empty);
    assert_eq!(
        gauge.take(sample(UsageSource::Api, 0.0, 5)),
        Taken::Newest,
        "1,000 tokens are 0 percent"
    );
    assert_eq!(gauge.window(), Some(200_000));
}

#[test]
fn tokens_are_measured_against_a_window_that_another_source_told() {
    let mut gauge = gauge();
    gauge.take(UsageSample {
        source: UsageSource::Transcript,
        used_percentage: None,
        tokens: Some(100_000),
        window: None,
        at: Timestamp(5),
    });
    assert_eq!(gauge.percent(), None, "of what?");
    gauge.take(UsageSample {
        source: UsageSource::StatusLine,
        used_percentage: None,
        tokens: None,
        window: Some(200_000),
        at: Timestamp(4),
    });
    assert_eq!(gauge.percent(), Some(50.0));
}

#[test]
fn texts_are_filled_in_and_say_what_is_not_known() {
    let values = Values {
        name: "api".into(),
        percent: Some(50),
        tokens: Some(100_000),
        window: Some(200_000),
        before: None,
        after: Some(7),
        how: How::Command,
    };
    assert_eq!(
        values.fill("{name} {percent} {tokens} {left} {before} {after} {other}"),
        "api 50 100,000 100,000 unknown 7 {other}"
    );
    let texts = Texts::default();
    let said = values.fill(&texts.warning_agent);
    assert!(said.starts_with("[sm context] Context at 50% (100,000 tokens"));
    assert!(said.contains("Consider writing a handoff doc and running `sm handoff <path>`."));
    assert!(said.contains("sm handoff --template"));
}

#[test]
fn the_way_that_the_agent_has_is_the_one_that_is_named() {
    let texts = Texts::default();
    for (how, says, says_not) in [
        (How::Command, "`sm handoff - <<'END'`", "tool"),
        (
            How::Path("/opt/sm".into()),
            "`/opt/sm handoff - <<'END'`",
            "tool",
        ),
        (
            How::Tool("mcp__sm__handoff".into()),
            // and the command, for an agent whose tools are not there yet
            "call the tool `mcp__sm__handoff` with the document itself as your last action; `mcp__sm__handoff_template` or `sm handoff --template` shows what a good document holds. If you do not have that tool: `sm handoff - <<'END'`",
            "run `sm handoff <path>` as your last action",
        ),
        (
            How::ToolOrPath {
                tool: "mcp__sm__handoff".into(),
                path: "/opt/sm".into(),
            },
            "call the tool `mcp__sm__handoff` with the document itself as your last action; `mcp__sm__handoff_template` or `/opt/sm handoff --template` shows what a good document holds. If you do not have that tool: `/opt/sm handoff - <<'END'`",
            "`sm handoff - <<'END'`",
        ),
    ] {
        let values = Values {
            how,
            ..Values::default()
        };
        for text in [
            &texts.warning_agent,
            &texts.critical_agent,
            &texts.imminent_agent,
        ] {
            let said = values.fill(text);
            assert!(said.contains(says) && !said.contains(says_not), "{said}");
            // the seeds' wording
            assert!(said.contains("`sm handoff <path>`"), "{said}");
        }
    }
}

#[test]
fn only_samples_of_the_same_moment_disagree() {
    use UsageSource::{Api, StatusLine, Transcript};
    for (samples, apart, why) in [
        (
            vec![(StatusLine, 50.0, 1_300), (Transcript, 40.0, 1_000)],
            true,
            "it follows",
        ),
        (
            vec![(StatusLine, 43.0, 1_300), (Transcript, 40.0, 1_000)],
            false,
            "near enough",
        ),
        (
            vec![(StatusLine, 40.0, 1_000), (Transcript, 50.0, 1_300)],
            false,
            "it knows nothing of the next request",
        ),
        (
            vec![(StatusLine, 50.0, 60_000), (Transcript, 40.0, 1_000)],
            false,
            "of long before",
        ),
        (
            vec![(StatusLine, 50.0, 1_000), (Api, 40.0, 2_000)],
            true,
            "two that follow",
        ),
    ] {
        let mut gauge = gauge();
        for (source, percent, at) in samples {
            gauge.take(sample(source, percent, at));
        }
        assert_eq!(gauge.disagreement().is_some(), apart, "{why}");
    }
}
