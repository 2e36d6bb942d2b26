//! The screen: `App` to a frame. Pure; every text of others goes through [`look::plain`], so that
//! none of it reaches the terminal as a sequence.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::app::{App, Deed, Focus, LEAST, Link, Page};
use super::group::Grouping;
use super::look::{self, cut, fit, glyphs, plain, style};
use super::{draw_detail, draw_list};
use crate::text::{Tone, count, width};

/// The list's share of a wide terminal, in hundredths, and the least it gets.
const LIST_SHARE: u16 = 48;
const LEAST_LIST: u16 = 58;

pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!("terminal too small: {}x{} is needed", LEAST.0, LEAST.1);
        put(
            frame.buffer_mut(),
            area,
            0,
            &Line::raw(cut(&app.look, &text, usize::from(area.width))),
        );
        return;
    }
    let buffer = frame.buffer_mut();
    put(buffer, area, 0, &title(app, usize::from(area.width)));
    let mut top = 1;
    if let Some(line) = banner(app, usize::from(area.width)) {
        put(buffer, area, top, &line);
        top += 1;
    }
    let body = Rect {
        y: area.y + top,
        height: area.height.saturating_sub(top + 2),
        ..area
    };
    if app.focus == Focus::Help {
        help(app, buffer, body);
    } else if app.is_wide() {
        let left = (area.width * LIST_SHARE / 100).max(LEAST_LIST);
        draw_list::draw(
            app,
            buffer,
            Rect {
                width: left,
                ..body
            },
        );
        for y in body.y..body.bottom() {
            let bar = Span::styled(glyphs(&app.look).bar, style(&app.look, Tone::Dim));
            buffer.set_span(body.x + left, y, &bar, 1);
        }
        let right = Rect {
            x: body.x + left + 2,
            width: body.width.saturating_sub(left + 2),
            ..body
        };
        draw_detail::draw(app, buffer, right);
    } else {
        match app.page {
            Page::List => draw_list::draw(app, buffer, body),
            Page::Detail => draw_detail::draw(app, buffer, body),
        }
    }
    let cursor = said(app, buffer, area);
    let keys = cut(&app.look, &keys(app, area.width), usize::from(area.width));
    put(
        buffer,
        area,
        area.height - 1,
        &Line::styled(keys, style(&app.look, Tone::Dim)),
    );
    if let Some(x) = cursor {
        frame.set_cursor_position(Position::new(x, area.bottom().saturating_sub(2)));
    }
}

/// One line of an area.
pub fn put(buffer: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) {
    if row < area.height {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

fn title(app: &App, columns: usize) -> Line<'static> {
    let look = &app.look;
    let needing = app.order().iter().filter(|l| l.attention.is_some()).count();
    let needs = match needing {
        0 => "nobody needs you".to_owned(),
        1 => "1 needs you".to_owned(),
        many => format!("{many} need you"),
    };
    let mut left = format!(
        "sm watch  {}, {needs}",
        count(app.sessions.len(), "session")
    );
    if !app.filter.is_empty() {
        left.push_str(&format!(
            "  filter: {} ({} of {})",
            plain(look, &app.filter),
            app.order().len(),
            app.sessions.len()
        ));
    }
    let right = match app.grouping {
        Grouping::None => format!("sort: {}", app.sort.word()),
        Grouping::Family | Grouping::Directory => {
            format!("by {}, sort: {}", app.grouping.word(), app.sort.word())
        }
    };
    let room = columns.saturating_sub(width(&right) + 1);
    Line::from(vec![
        Span::styled(fit(look, &left, room), style(look, Tone::Bold)),
        Span::raw(" "),
        Span::styled(right, style(look, Tone::Dim)),
    ])
}

/// That what is shown may be old.
fn banner(app: &App, columns: usize) -> Option<Line<'static>> {
    let text = match &app.link {
        Link::Live => return None,
        Link::Asking => "asking the daemon ...".to_owned(),
        Link::Lost(why) => format!("{why}; shown is what was last known"),
    };
    let bad = style(&app.look, Tone::Bad).add_modifier(Modifier::REVERSED);
    Some(Line::styled(fit(&app.look, &text, columns), bad))
}

/// The line above the keys: what is asked, written or known. Where the cursor is, if somebody writes.
fn said(app: &App, buffer: &mut Buffer, area: Rect) -> Option<u16> {
    let look = &app.look;
    let columns = usize::from(area.width);
    let row = area.height - 2;
    let (label, line) = match &app.focus {
        Focus::Filter(line) => ("filter: ".to_owned(), line),
        Focus::Message { to, mode, line } => {
            let name = cut(look, &to.name, 20);
            (format!("to {name} ({}): ", mode.word()), line)
        }
        Focus::Confirm {
            deed,
            on,
            key,
            open,
        } => {
            let bold = style(look, Tone::Warn).add_modifier(Modifier::BOLD);
            let text = question(*deed, &on.name);
            let keys = match (key.held(), open) {
                (Some(_), _) => "yes in a moment, any key: no",
                (None, true) => "y yes, n no",
                (None, false) => "(a moment)",
            };
            let room = columns.saturating_sub(keys.len() + 2);
            let text = format!("{}  {keys}", cut(look, &text, room));
            put(buffer, area, row, &Line::styled(text, bold));
            return None;
        }
        Focus::Keys | Focus::Help | Focus::Typing { .. } => {
            let line = match (&app.note, &app.sent) {
                (Some((tone, text)), _) => {
                    Line::styled(cut(look, text, columns), style(look, *tone))
                }
                (None, Some(message)) => {
                    let name = app.sessions.iter().find(|s| s.id == message.session);
                    let name = name.map_or("?", |session| session.name.as_str());
                    let mut line = Line::raw(format!("to {}: ", cut(look, name, 20)));
                    line.spans.extend(draw_detail::walk(look, message));
                    line
                }
                (None, None) => Line::default(),
            };
            put(buffer, area, row, &line);
            return None;
        }
    };
    let room = columns.saturating_sub(width(&label));
    let (seen, cursor) = line.view(room);
    let line = Line::from(vec![
        Span::styled(label.clone(), style(look, Tone::Bold)),
        Span::raw(fit(look, &seen, room)),
    ]);
    put(buffer, area, row, &line);
    let x = u16::try_from(width(&label) + cursor).unwrap_or(0);
    Some(area.x + x.min(area.width.saturating_sub(1)))
}

fn question(deed: Deed, name: &str) -> String {
    match deed {
        Deed::Kill => format!("kill {name}? its agent ends; sm restore brings it back."),
        Deed::HandOff => format!("hand off {name} now, with a document that sm writes?"),
        Deed::CancelHandoff => format!("cancel the handoff of {name}?"),
        Deed::Restore => format!("start {name} again, in its conversation?"),
    }
}

/// The keys that mean something now, as many as fit.
fn keys(app: &App, columns: u16) -> String {
    let updown = glyphs(&app.look).updown;
    let all: Vec<String> = match &app.focus {
        Focus::Help => vec!["any key: back".into()],
        Focus::Filter(_) => words(&["Enter keep", "Esc clear", "Ctrl+C quit"]),
        Focus::Message { .. } => words(&["Enter send", "Tab mode", "Esc not", "Ctrl+C quit"]),
        Focus::Confirm { .. } => words(&["y yes", "n no"]),
        Focus::Typing { .. } => Vec::new(),
        Focus::Keys => {
            let mut all = match (app.shows_detail(), app.is_wide()) {
                (true, false) => vec![
                    format!("{updown} scroll"),
                    "Tab next".into(),
                    "Esc list".into(),
                ],
                (true, true) => vec![format!("{updown} choose"), "Tab next".into()],
                (false, _) => vec![format!("{updown} choose"), "Enter open".into()],
            };
            let handoff = match app.session().is_some_and(|s| s.handoff.is_some()) {
                true => "h cancel handoff",
                false => "h hand off",
            };
            let restore = app.session().is_some_and(crate::attach::has_ended);
            let more = [
                "a attach",
                "m send",
                handoff,
                if restore { "r restore" } else { "K kill" },
            ];
            all.extend(words(&more));
            all.extend(words(&["/ filter", "s sort", "g group"]));
            all
        }
    };
    let always = match app.focus {
        Focus::Keys => "? help  q quit",
        Focus::Help
        | Focus::Filter(_)
        | Focus::Message { .. }
        | Focus::Confirm { .. }
        | Focus::Typing { .. } => "",
    };
    let mut line = String::new();
    for key in all {
        if width(&line) + width(&key) + 2 + always.len() > usize::from(columns) {
            break;
        }
        line.push_str(&key);
        line.push_str("  ");
    }
    line.push_str(always);
    line.trim_end().to_owned()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

const HELP: &[(&str, &str)] = &[
    ("up down j k", "choose a session; in a session: scroll"),
    ("PgUp PgDn Home End", "by pages; first and last"),
    ("Enter", "open the session; in it: attach"),
    ("Tab 1 2 3 4", "output, timeline, messages, handoffs"),
    ("Esc", "back; take the last note or the filter away"),
    ("/", "filter; state:idle and agent:codex are exact"),
    ("s", "sort by name, state, context, activity"),
    ("g", "group by family, by directory, or not"),
    ("a", "attach: Ctrl-b d comes back here"),
    ("m", "send a message; Tab changes its mode"),
    (
        "h",
        "hand off to a fresh context; cancel, if one is under way",
    ),
    ("K", "kill, after a y"),
    ("r", "restore a session that has ended"),
    ("Ctrl+Z Ctrl+L", "suspend; draw anew"),
    ("q Ctrl+C", "quit; sessions go on"),
];

fn help(app: &App, buffer: &mut Buffer, area: Rect) {
    let columns = usize::from(area.width);
    for (row, (key, what)) in (0..).zip(HELP) {
        let line = Line::from(vec![
            Span::styled(fit(&app.look, key, 20), style(&app.look, Tone::Bold)),
            Span::raw(cut(&app.look, what, columns.saturating_sub(20))),
        ]);
        put(buffer, area, row, &line);
    }
}

/// The same style on a whole row, to its end.
pub fn whole_row(buffer: &mut Buffer, area: Rect, row: u16, style: Style) {
    if row < area.height {
        buffer.set_style(Rect::new(area.x, area.y + row, area.width, 1), style);
    }
}

pub use look::chosen;
