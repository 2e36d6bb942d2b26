//! The list: those who need a person first, then the others. Pure.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use sm_daemon::api::types::SessionView;

use super::app::{App, Link};
use super::draw::{chosen, put, whole_row};
use super::list::{Listed, waits_for};
use super::look::{cut, fit, glyphs, style};
use crate::commands::ls::tone_of;
use crate::gauge;
use crate::text::{Look, Tone};

const EMPTY: &[&str] = &[
    "No sessions yet. In another terminal:",
    "",
    "  sm new claude        starts an agent as a session",
    "  sm run claude        the same in your own terminal",
    "  sm doctor            says what is missing, if anything is",
];

/// What is in a row, by how wide it is.
struct Columns {
    name: usize,
    agent: usize,
    generation: usize,
    cells: usize,
    since: usize,
    why: usize,
}

const MARKS: usize = 2;
const STATE: usize = 11;
const PERCENT: usize = 7;

impl Columns {
    fn of(width: usize) -> Self {
        let (agent, generation, cells, since) = match width {
            ..50 => (0, 0, 0, 0),
            50..70 => (0, 4, 0, 5),
            70..110 => (8, 4, 6, 5),
            _ => (8, 4, 11, 5),
        };
        let fixed = MARKS + STATE + 1 + agent + generation + cells + PERCENT + since;
        let rest = width.saturating_sub(fixed);
        let name = (rest * 45 / 100).clamp(8, 32).min(rest);
        Self {
            name,
            agent,
            generation,
            cells,
            since,
            why: rest.saturating_sub(name + 1),
        }
    }
}

enum Row<'a> {
    Heading(String),
    Session(&'a SessionView, &'a Listed),
}

pub fn draw(app: &App, buffer: &mut Buffer, area: Rect) {
    let look = &app.look;
    if app.order().is_empty() {
        let lines: Vec<String> = match (&app.link, app.sessions.is_empty()) {
            (Link::Asking, true) => Vec::new(),
            (_, true) => EMPTY.iter().map(|line| (*line).to_owned()).collect(),
            (_, false) => vec!["Nothing matches the filter; Esc takes it away.".to_owned()],
        };
        for (row, line) in (1..).zip(lines) {
            put(
                buffer,
                area,
                row,
                &Line::raw(cut(look, &line, usize::from(area.width))),
            );
        }
        return;
    }
    let rows = rows(app, app.order());
    let columns = Columns::of(usize::from(area.width));
    // the chosen one is always to be seen, and so is the heading of the first
    let place = app.chosen.as_ref().and_then(|id| {
        let is = |row: &Row<'_>| matches!(row, Row::Session(s, _) if s.id == *id);
        rows.iter().position(is)
    });
    let height = usize::from(area.height);
    let place = place.unwrap_or(0);
    let first = match place + 2 > height {
        true => (place + 2).saturating_sub(height),
        false => 0,
    };
    let first = first.min(rows.len().saturating_sub(height));
    for (row, shown) in (0..area.height).zip(rows.iter().skip(first)) {
        match shown {
            Row::Heading(text) => {
                let text = fit(look, text, usize::from(area.width));
                put(
                    buffer,
                    area,
                    row,
                    &Line::styled(text, style(look, Tone::Bold)),
                );
            }
            Row::Session(session, listed) => {
                let is_chosen = app.chosen.as_ref() == Some(&session.id);
                put(
                    buffer,
                    area,
                    row,
                    &line(look, session, listed, &columns, is_chosen),
                );
                if is_chosen {
                    whole_row(buffer, area, row, chosen());
                }
            }
        }
    }
}

fn rows<'a>(app: &'a App, order: &'a [Listed]) -> Vec<Row<'a>> {
    let needing = order.iter().filter(|l| l.attention.is_some()).count();
    let mut rows = Vec::with_capacity(order.len() + 2);
    if needing > 0 {
        rows.push(Row::Heading(format!("NEEDS YOU ({needing})")));
    }
    let mut under = None;
    for (at, listed) in order.iter().enumerate() {
        let title = listed.under.as_ref().map(|under| under.title.as_str());
        if at >= needing && (at == needing || title != under) {
            let rest = order.get(at..).unwrap_or_default();
            let same = |other: &&Listed| other.under.as_ref().map(|u| u.title.as_str()) == title;
            let members = rest.iter().take_while(same).count();
            rows.push(Row::Heading(match title {
                Some(title) => format!("{title} ({members})"),
                None => format!("SESSIONS ({members})"),
            }));
            under = title;
        }
        if let Some(session) = app.sessions.get(listed.at) {
            rows.push(Row::Session(session, listed));
        }
    }
    rows
}

fn line(
    look: &Look,
    session: &SessionView,
    listed: &Listed,
    columns: &Columns,
    is_chosen: bool,
) -> Line<'static> {
    let attention = listed.attention.as_ref();
    let depth = listed.under.as_ref().map_or(0, |under| under.depth);
    let name = format!("{}{}", "  ".repeat(depth), session.name);
    let mark = if is_chosen { glyphs(look).mark } else { " " };
    let grave = if attention.is_some() { "!" } else { " " };
    let tone = attention.map_or(Tone::Dim, |attention| attention.gravity.tone());
    let why = match attention {
        Some(attention) => attention.why.clone(),
        None => waits_for(session),
    };
    let mut spans = vec![
        Span::raw(mark),
        Span::styled(grave, style(look, tone)),
        Span::styled(
            fit(look, &session.state, STATE),
            style(look, tone_of(&session.state)),
        ),
        Span::raw(" "),
        Span::styled(fit(look, &name, columns.name), style(look, Tone::Bold)),
        Span::raw(" "),
    ];
    let generation = format!("g{}", session.generation);
    spans.push(Span::raw(column(look, &session.agent, columns.agent)));
    spans.push(Span::raw(column(look, &generation, columns.generation)));
    spans.extend(context(look, session, columns.cells));
    spans.push(Span::styled(
        column(look, &since(look, &session.state_since), columns.since),
        style(look, Tone::Dim),
    ));
    spans.push(Span::styled(
        cut(look, &why, columns.why),
        style(look, tone),
    ));
    Line::from(spans)
}

/// A column with a gap behind it, or none.
fn column(look: &Look, text: &str, columns: usize) -> String {
    match columns.checked_sub(1) {
        Some(room) => format!("{} ", fit(look, text, room)),
        None => String::new(),
    }
}

/// `▰▰▰▱▱  62%!`: how full, and beyond which threshold by a sign as well as by colour.
fn context(look: &Look, session: &SessionView, cells: usize) -> Vec<Span<'static>> {
    let Some(percent) = gauge::known(session.context.used_percentage) else {
        let none = format!("{}  -   ", " ".repeat(cells));
        return vec![Span::styled(
            fit(look, &none, cells + PERCENT),
            style(look, Tone::Dim),
        )];
    };
    let known = &session.context;
    let tone = gauge::tone(percent, known.warning, known.critical);
    let sign = match tone {
        Tone::Bad => "!!",
        Tone::Warn => "! ",
        Tone::Plain | Tone::Bold | Tone::Dim | Tone::Good | Tone::Busy => "  ",
    };
    let bar = match cells.checked_sub(1) {
        Some(cells) => {
            let drawn = gauge::gauge(look.signs, percent, cells);
            let bar = drawn.rsplit(' ').next().unwrap_or_default();
            format!("{bar} ")
        }
        None => String::new(),
    };
    let number = format!("{:>3.0}%", percent.min(999.0));
    let text = format!("{bar}{number}{sign}");
    vec![Span::styled(
        fit(look, &text, cells + PERCENT),
        style(look, tone),
    )]
}

/// Since when it is in its state: `now`, `12s`, `3m`, `5h`, `4d`. As `sm ls` says it, and not when
/// anything was last heard: a heartbeat would look like work.
pub fn since(look: &Look, at: &str) -> String {
    let Ok(at) = at.parse::<jiff::Timestamp>() else {
        return "-".to_owned();
    };
    let seconds = look.now.as_second().saturating_sub(at.as_second()).max(0);
    match seconds {
        ..3 => "now".to_owned(),
        3..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", (seconds / 86_400).min(999)),
    }
}
