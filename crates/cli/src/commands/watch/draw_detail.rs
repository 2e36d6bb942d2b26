//! One session: who it is, how full its context is, and the tab that is open. Pure.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use sm_daemon::api::types::{EventView, HandoffView, MessageView, SessionView};

use super::app::{App, TABS, Tab};
use super::draw::{chosen, put};
use super::list::{asked, attention, waits_for};
use super::look::{cut, glyphs, plain, style};
use crate::commands::ls::tone_of;
use crate::gauge;
use crate::handoff::Told;
use crate::text::{Look, Signs, Tone};

/// Cells of the gauge.
const CELLS: usize = 20;

pub fn draw(app: &App, buffer: &mut Buffer, area: Rect) {
    let look = &app.look;
    let columns = usize::from(area.width);
    let Some(session) = app.session() else {
        put(
            buffer,
            area,
            0,
            &Line::styled("no session is chosen", style(look, Tone::Dim)),
        );
        return;
    };
    let mut lines = head(app, session, columns);
    if area.height >= ROOM_FOR_CURVE {
        lines.insert(2, curve(app, session, columns));
    }
    let top = u16::try_from(lines.len()).unwrap_or(0);
    for (row, line) in (0..).zip(lines) {
        put(buffer, area, row, &line);
    }
    put(buffer, area, top, &tabs(app));
    let rule = glyphs(look).rule.repeat(columns);
    put(
        buffer,
        area,
        top + 1,
        &Line::styled(rule, style(look, Tone::Dim)),
    );
    let body = Rect {
        y: area.y + (top + 2).min(area.height),
        height: area.height.saturating_sub(top + 2),
        ..area
    };
    let lines = content(app, columns);
    let height = usize::from(body.height);
    let most = lines.len().saturating_sub(height);
    let scroll = app.scroll.min(most);
    // What grows is read from its end.
    let first = match app.tab {
        Tab::Handoffs => most - (most - scroll),
        Tab::Output | Tab::Timeline | Tab::Messages => most - scroll,
    };
    for (row, line) in (0..body.height).zip(lines.iter().skip(first)) {
        put(buffer, body, row, line);
    }
}

/// Fewer lines are better used for what the session shows.
const ROOM_FOR_CURVE: u16 = 16;

/// Its last hours; the line stays where there is nothing yet, so that nothing jumps.
fn curve(app: &App, session: &SessionView, columns: usize) -> Line<'static> {
    let report = app.detail.context.as_ref();
    let report = report.filter(|_| app.detail.id == session.id);
    let line = report.and_then(|report| gauge::spark(&app.look, &report.history, columns));
    Line::styled(line.unwrap_or_default(), style(&app.look, Tone::Dim))
}

fn head(app: &App, session: &SessionView, columns: usize) -> Vec<Line<'static>> {
    let look = &app.look;
    let since = look.since(&session.state_since);
    let parts = format!(
        "  {}  generation {}{}  ",
        plain(look, &session.agent),
        session.generation,
        match session.compactions {
            0 => String::new(),
            n => format!(", compacted {n}x"),
        }
    );
    let first = Line::from(vec![
        Span::styled(
            cut(look, &session.name, columns / 2),
            style(look, Tone::Bold),
        ),
        Span::raw(parts),
        Span::styled(
            plain(look, &format!("{} {since}", session.state)),
            style(look, tone_of(&session.state)),
        ),
    ]);
    let asked = asked(session);
    let (tone, why) = match attention(look, session) {
        // The words stand on a line of their own.
        Some(found) if asked.is_some() => (found.gravity.tone(), "waits for you:".to_owned()),
        Some(found) => (found.gravity.tone(), found.why),
        None => (Tone::Dim, waits_for(session)),
    };
    let place = cut(look, &look.path(&session.cwd), columns * 2 / 5);
    let why = Line::from(vec![
        Span::styled(place, style(look, Tone::Dim)),
        Span::raw("  "),
        Span::styled(plain(look, &why), style(look, tone)),
    ]);
    let mut lines = vec![first, context(app, session), why];
    if let Some(asked) = asked {
        let asked = cut(look, &asked, columns);
        lines.push(Line::styled(asked, style(look, Tone::Warn)));
    }
    lines
}

/// The gauge, with its thresholds marked.
fn context(app: &App, session: &SessionView) -> Line<'static> {
    let look = &app.look;
    let known = &session.context;
    let Some(percent) = gauge::known(known.used_percentage) else {
        let text = match known.tokens {
            Some(tokens) => format!("context: {} tokens", gauge::short(tokens)),
            None => "context: not known".to_owned(),
        };
        return Line::styled(text, style(look, Tone::Dim));
    };
    let report = app.detail.context.as_ref();
    let report =
        report.filter(|report| report.session == session.id || app.detail.id == session.id);
    let thresholds: Vec<u8> = report.map_or_else(Vec::new, |report| {
        report.thresholds.iter().map(|t| t.percent).collect()
    });
    let (full, empty, mark) = match look.signs {
        Signs::Unicode => ('▰', '▱', '┊'),
        Signs::Ascii => ('#', '-', '|'),
    };
    let filled = (percent.clamp(0.0, 100.0) / 100.0 * CELLS as f64).round() as usize;
    let mut bar = String::new();
    for cell in 0..CELLS {
        let here = |t: &&u8| usize::from(**t) * CELLS / 100 == cell;
        bar.push(match thresholds.iter().find(here) {
            Some(_) => mark,
            None if cell < filled => full,
            None => empty,
        });
    }
    let mut text = format!("{bar} {percent:.0}%");
    for part in [
        gauge::numbers(known.tokens, known.window),
        gauge::trend(look.signs, known.trend),
    ]
    .into_iter()
    .flatten()
    {
        text.push_str(&format!("  {part}"));
    }
    if !thresholds.is_empty() {
        let all: Vec<String> = thresholds.iter().map(u8::to_string).collect();
        text.push_str(&format!("  thresholds {}", all.join(" ")));
    }
    let tone = gauge::tone(percent, known.warning, known.critical);
    Line::styled(text, style(look, tone))
}

fn tabs(app: &App) -> Line<'static> {
    let mut spans = Vec::new();
    for (number, tab) in (1..).zip(TABS) {
        let text = format!(" {number} {} ", tab.word());
        spans.push(match tab == app.tab {
            true => Span::styled(text, chosen().add_modifier(Modifier::BOLD)),
            false => Span::raw(text),
        });
        spans.push(Span::raw(" "));
    }
    Line::from(spans)
}

fn content(app: &App, columns: usize) -> Vec<Line<'static>> {
    let look = &app.look;
    let detail = &app.detail;
    let dim = |text: &str| vec![Line::styled(text.to_owned(), style(look, Tone::Dim))];
    match app.tab {
        Tab::Output => match &detail.output {
            None => dim("..."),
            Some(lines) if lines.iter().all(|line| line.trim().is_empty()) => {
                dim("it has shown nothing yet")
            }
            Some(lines) => lines
                .iter()
                .map(|line| Line::raw(cut(look, line, columns)))
                .collect(),
        },
        Tab::Timeline => match &detail.events {
            None => dim("..."),
            Some(events) if events.is_empty() => dim("nothing has happened yet"),
            Some(events) => events.iter().map(|e| event(look, e, columns)).collect(),
        },
        Tab::Messages => match &detail.messages {
            None => dim("..."),
            Some(messages) if messages.is_empty() => dim("no messages; m sends one"),
            Some(messages) => messages
                .iter()
                .flat_map(|m| message(look, m, columns))
                .collect(),
        },
        Tab::Handoffs => match &detail.handoffs {
            None => dim("..."),
            Some(handoffs) if handoffs.is_empty() => dim("no handoffs yet; h begins one"),
            Some(handoffs) => handoffs
                .iter()
                .flat_map(|h| handoff(look, h, columns))
                .collect(),
        },
    }
}

fn event(look: &Look, event: &EventView, columns: usize) -> Line<'static> {
    let clock = look.clock(&event.at);
    let kind = format!("  g{} {:<12} ", event.generation, plain(look, &event.kind));
    let room = columns.saturating_sub(clock.len() + crate::text::width(&kind));
    Line::from(vec![
        Span::styled(clock, style(look, Tone::Dim)),
        Span::styled(kind, style(look, Tone::Busy)),
        Span::raw(cut(look, &event.text, room)),
    ])
}

/// The steps of a message's proof; where it is now stands out.
pub fn walk(look: &Look, message: &MessageView) -> Vec<Span<'static>> {
    const STEPS: [&str; 4] = ["queued", "written", "submitted", "consumed"];
    let state = message.state.as_str();
    let reason = message.reason.as_deref().unwrap_or_default();
    let mut spans = Vec::new();
    match STEPS.iter().position(|step| *step == state) {
        Some(now) => {
            for (at, step) in STEPS.iter().enumerate().take(now + 1) {
                if at > 0 {
                    spans.push(Span::styled(glyphs(look).step, style(look, Tone::Dim)));
                }
                let tone = match (at == now, now >= 2) {
                    (true, true) => Tone::Good,
                    (true, false) => Tone::Bold,
                    (false, _) => Tone::Dim,
                };
                spans.push(Span::styled(*step, style(look, tone)));
            }
        }
        None => {
            let tone = if state == "held" {
                Tone::Warn
            } else {
                Tone::Bad
            };
            spans.push(Span::styled(plain(look, state), style(look, tone)));
        }
    }
    if !reason.is_empty() {
        spans.push(Span::raw(format!(": {}", plain(look, reason))));
    }
    if let Some(way) = &message.way {
        spans.push(Span::styled(
            format!("  by {}", plain(look, way)),
            style(look, Tone::Dim),
        ));
    }
    if let Some(proof) = &message.proof {
        let text = format!("  proof: {}", plain(look, proof));
        spans.push(Span::styled(text, style(look, Tone::Good)));
    }
    spans
}

fn message(look: &Look, message: &MessageView, columns: usize) -> Vec<Line<'static>> {
    let from = match &message.from.name {
        Some(name) => plain(look, name),
        None => plain(look, &message.from.kind),
    };
    let head = format!(
        "{}  from {from}, {}",
        look.clock(&message.created_at),
        plain(look, &message.mode)
    );
    let mut steps = Line::raw("  ");
    steps.spans.extend(walk(look, message));
    vec![
        Line::styled(cut(look, &head, columns), style(look, Tone::Dim)),
        Line::raw(format!(
            "  {}",
            cut(look, &message.text, columns.saturating_sub(2))
        )),
        steps,
    ]
}

fn handoff(look: &Look, handoff: &HandoffView, columns: usize) -> Vec<Line<'static>> {
    let took = handoff
        .took()
        .map_or_else(String::new, |took| format!(", took {took}"));
    let head = format!(
        "  {}  by {}{took}",
        plain(look, &handoff.generations()),
        plain(look, &handoff.trigger)
    );
    let mut lines = vec![
        Line::from(vec![
            Span::styled(look.clock(&handoff.created_at), style(look, Tone::Dim)),
            Span::raw("  "),
            Span::styled(plain(look, &handoff.state), style(look, handoff.tone())),
            Span::raw(head),
        ]),
        Line::raw(format!(
            "  {}",
            cut(look, &look.path(&handoff.copy), columns.saturating_sub(2))
        )),
    ];
    for step in &handoff.steps {
        let text = format!("  {}  {}", look.clock(&step.at), plain(look, &step.text));
        lines.push(Line::styled(
            cut(look, &text, columns),
            style(look, Tone::Dim),
        ));
    }
    lines.push(Line::default());
    lines
}
