//! `sm context`.

use clap::{Args, ValueEnum};
use serde_json::Value;
use sm_daemon::api::types::{ContextReport, SessionView};

use crate::client::{Daemon, Which};
use crate::error::Result;
use crate::gauge::{self, chart, known, trend, wide_gauge};
use crate::print::Printer;
use crate::text::{Cell, Look, Tone, one_line, table};

/// Shows how full contexts are: of one session, or of all.
#[derive(Debug, Args)]
pub struct Context {
    /// The session; without one: all that live.
    session: Option<String>,
    /// Whether its agent is told when a threshold is reached.
    #[arg(long, value_name = "ON|OFF")]
    watch: Option<Switch>,
    /// As JSON: the report of the session, or an array of all.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Context {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        if let Some(switch) = self.watch {
            let usage = "sm context <session> --watch on|off";
            let named = daemon.session_or_own(self.session.as_deref(), usage)?;
            let session = daemon.watch(&named, switch == Switch::On)?;
            if self.json {
                return out.json(&daemon.context(&session.value.id)?.json);
            }
            let name = one_line(&session.value.name);
            return out.line(&match switch {
                Switch::On => format!("{name}: its agent is told how full its context is"),
                Switch::Off => {
                    format!("{name}: its agent is no longer told how full its context is")
                }
            });
        }
        match self.session {
            Some(session) => {
                let report = daemon.context(&session)?;
                if self.json {
                    return out.json(&report.json);
                }
                let text = render(&out.look, &report.value);
                out.text(&text)
            }
            None => self.all(&daemon, out),
        }
    }

    fn all(&self, daemon: &Daemon, out: &mut Printer) -> Result<()> {
        let sessions = daemon.sessions(Which::Live)?.value;
        let live: Vec<SessionView> = sessions
            .into_iter()
            .filter(|session| !matches!(session.state.as_str(), "exited" | "lost"))
            .collect();
        if self.json {
            let reports = live.iter().map(|session| daemon.context(&session.id));
            let reports: Result<Vec<Value>> = reports.map(|r| r.map(|r| r.json)).collect();
            return out.json(&Value::Array(reports?));
        }
        if live.is_empty() {
            return out.line("no session is running. Start one: sm new claude");
        }
        let text = overview(&out.look, &live);
        out.text(&text)
    }
}

fn overview(look: &Look, sessions: &[SessionView]) -> String {
    let rows: Vec<Vec<Cell>> = sessions
        .iter()
        .map(|session| {
            let context = &session.context;
            let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            vec![
                Cell::toned(one_line(&session.name), Tone::Bold),
                Cell::new(one_line(&session.agent)),
                gauge::cell(look, session),
                Cell::new(session.generation.to_string()),
                Cell::new(session.compactions.to_string()),
                Cell::new(or_dash(context.source.as_deref().map(one_line))),
                Cell::new(or_dash(
                    context.last_sample_at.as_deref().map(|at| look.ago(at)),
                )),
            ]
        })
        .collect();
    table(
        look,
        &[
            "NAME",
            "AGENT",
            "CONTEXT",
            "GEN",
            "COMPACTED",
            "SOURCE",
            "HEARD",
        ],
        &rows,
    )
}

fn render(look: &Look, report: &ContextReport) -> String {
    let mut text = String::new();
    let mut row = |label: &str, value: &str| {
        let label = look.label(label);
        text.push_str(format!("{label} {value}").trim_end());
        text.push('\n');
    };
    let name = one_line(&report.name);
    let compacted = match report.compactions {
        0 => String::new(),
        some => format!(", compacted {some}×"),
    };
    row(
        "session",
        &format!(
            "{} ({}), generation {}{compacted}",
            look.paint(Tone::Bold, &name),
            one_line(&report.agent),
            report.generation
        ),
    );
    row("context", &now(look, report));
    if let (Some(usable), Some(share)) = (report.usable, known(report.usable_percentage)) {
        row(
            "usable",
            &format!(
                "{share:.0}% of {} tokens, which is what fits before it compacts or stops",
                thousands(usable)
            ),
        );
    }
    for (at, sample) in report.samples.iter().enumerate() {
        let percent = known(sample.used_percentage).map(|percent| format!("{percent:.0}%"));
        let tokens = sample
            .tokens
            .map(|tokens| format!("{} tokens", thousands(tokens)));
        let parts: Vec<String> = percent
            .into_iter()
            .chain(tokens)
            .chain([look.ago(&sample.at)])
            .collect();
        let label = if at == 0 { "sources" } else { "" };
        row(
            label,
            &format!("{}: {}", one_line(&sample.source), parts.join(", ")),
        );
    }
    if let Some([low, high]) = report.disagreement {
        let said = format!(
            "the sources are {:.0} points apart: {low:.0}% and {high:.0}%",
            high - low
        );
        row("", &look.paint(Tone::Warn, &said));
    }
    row("thresholds", &thresholds(report));
    row(
        "alerts",
        &match report.watched {
            true => format!("on (off: sm context {name} --watch off)"),
            false => format!("off (on: sm context {name} --watch on)"),
        },
    );
    row(
        "compaction",
        &match (report.on_compaction.as_str(), report.can_hold_up) {
            ("handoff", true) => "held up for a handoff a few times, then let happen".to_owned(),
            ("handoff", false) => format!(
                "let happen: on_compaction = \"handoff\" is not possible for {}, whose compactions cannot wait",
                one_line(&report.agent)
            ),
            _ => "let happen; the agent is given back its last handoff document".to_owned(),
        },
    );
    let chart = chart(look, &report.history);
    if !chart.is_empty() {
        text.push('\n');
        text.push_str(&chart);
    }
    text
}

fn now(look: &Look, report: &ContextReport) -> String {
    let Some(percent) = known(report.used_percentage) else {
        return match (report.agent.as_str(), report.tokens) {
            ("generic", None) => {
                "none: a program that sm does not know tells nothing of its context".to_owned()
            }
            (_, None) => "not known yet: nothing was told since this context began".to_owned(),
            (_, Some(tokens)) => format!("{} tokens, of an unknown window", thousands(tokens)),
        };
    };
    let from = |level| {
        let these = report.thresholds.iter().filter(|t| t.level == level);
        these.map(|t| t.percent).min()
    };
    let tone = gauge::tone(percent, from("warning"), from("critical"));
    let mut line = look.paint(tone, &wide_gauge(look.signs, percent));
    for part in [
        gauge::numbers(report.tokens, report.window),
        trend(look.signs, report.trend),
    ]
    .into_iter()
    .flatten()
    {
        line.push_str(&format!(" {part}"));
    }
    if let Some(source) = &report.source {
        line.push_str(&format!(", from {}", one_line(source)));
    }
    if let Some(at) = &report.at {
        line.push_str(&format!(", {}", look.ago(at)));
    }
    line
}

fn thresholds(report: &ContextReport) -> String {
    if report.thresholds.is_empty() {
        return "none".to_owned();
    }
    let said = report.thresholds.iter().map(|threshold| {
        let said = if threshold.said { " (said)" } else { "" };
        format!(
            "{}% {}{said}",
            threshold.percent,
            one_line(&threshold.level)
        )
    });
    said.collect::<Vec<_>>().join(", ")
}

/// `86,000`.
fn thousands(count: u64) -> String {
    sm_core::monitor::thousands(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ls::tests::session;
    use crate::text::tests::look;
    use sm_daemon::api::types::{ContextView, PointView, SampleView, ThresholdView};

    fn report() -> ContextReport {
        let sample = |source: &str, percent: f64, tokens, at: &str| SampleView {
            source: source.into(),
            used_percentage: Some(percent),
            tokens: Some(tokens),
            at: at.into(),
        };
        let threshold = |percent, level: &str, said| ThresholdView {
            percent,
            level: level.into(),
            said,
        };
        let point = |at: &str, used_percentage| PointView {
            at: at.into(),
            generation: 2,
            used_percentage,
            tokens: None,
        };
        ContextReport {
            session: "1a2b3c4d".into(),
            name: "api".into(),
            agent: "claude".into(),
            generation: 2,
            compactions: 1,
            used_percentage: Some(52.0),
            tokens: Some(104_000),
            window: Some(200_000),
            usable: Some(180_000),
            usable_percentage: Some(57.8),
            source: Some("status_line".into()),
            at: Some("2026-03-01T11:58:00Z".into()),
            last_sample_at: Some("2026-03-01T11:58:00Z".into()),
            trend: Some(6.3),
            samples: vec![
                sample("status_line", 52.0, 104_000, "2026-03-01T11:58:00Z"),
                sample("transcript", 45.0, 90_000, "2026-03-01T11:40:00Z"),
            ],
            disagreement: Some([45.0, 52.0]),
            watched: true,
            on_compaction: "allow".into(),
            can_hold_up: true,
            thresholds: vec![
                threshold(50, "warning", true),
                threshold(65, "critical", false),
            ],
            history: vec![
                point("2026-03-01T11:00:00Z", 10.0),
                point("2026-03-01T11:30:00Z", 40.0),
                point("2026-03-01T11:50:00Z", 52.0),
            ],
        }
    }

    #[test]
    fn all_that_is_known_of_one() {
        insta::assert_snapshot!(render(&look(), &report()), @r"
        session       api (claude), generation 2, compacted 1×
        context       52% ▰▰▰▰▰▱▱▱▱▱ 104k/200k ↑6/h, from status_line, 2 min ago
        usable        58% of 180,000 tokens, which is what fits before it compacts or stops
        sources       status_line: 52%, 104,000 tokens, 2 min ago
                      transcript: 45%, 90,000 tokens, 20 min ago
                      the sources are 7 points apart: 45% and 52%
        thresholds    50% warning (said), 65% critical
        alerts        on (off: sm context api --watch off)
        compaction    let happen; the agent is given back its last handoff document

         100% │
          75% │                                                  ▁▁▁▁▁▁▁▁▁▁
          50% │                              ▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅██████████
          25% │▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃██████████████████████████████
               11:00:00                                                 now
        ");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let unknown = |agent: &str| ContextReport {
            name: "api".into(),
            agent: agent.into(),
            generation: 1,
            on_compaction: "handoff".into(),
            can_hold_up: agent == "claude",
            ..ContextReport::default()
        };
        insta::assert_snapshot!(render(&look(), &unknown("claude")), @r"
        session       api (claude), generation 1
        context       not known yet: nothing was told since this context began
        thresholds    none
        alerts        off (on: sm context api --watch on)
        compaction    held up for a handoff a few times, then let happen
        ");
        let codex = render(&look(), &unknown("codex"));
        assert!(codex.contains("compaction    let happen: on_compaction = \"handoff\" is not possible for codex, whose compactions cannot wait"), "{codex}");
        insta::assert_snapshot!(now(&look(), &unknown("generic")), @"none: a program that sm does not know tells nothing of its context");
    }

    #[test]
    fn all_sessions_in_a_table() {
        let mut api = session("api");
        api.compactions = 2;
        api.context.last_sample_at = Some("2026-03-01T11:59:00Z".into());
        let mut shell = session("shell");
        shell.agent = "generic".into();
        shell.context = ContextView::default();
        let wide = Look {
            width: Some(140),
            ..look()
        };
        insta::assert_snapshot!(overview(&wide, &[api, shell]), @r"
        NAME   AGENT    CONTEXT                  GEN  COMPACTED  SOURCE      HEARD
        api    claude   42% ▰▰▰▰▱▱▱▱▱▱ 83k/200k  1    2          statusline  1 min ago
        shell  generic  none                     1    0          -           -
        ");
    }

    #[test]
    fn the_switch_needs_no_guessing() {
        assert!(Switch::from_str("on", false).is_ok());
        assert!(Switch::from_str("maybe", false).is_err());
    }
}
