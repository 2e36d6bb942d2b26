//! The machine and its screens, with sessions that were made up.

mod keys;
mod screens;
mod updates;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use sm_daemon::api::types::{
    ContextReport, EventView, HandoffView, MessageView, PointView, SenderView, SessionView,
    StepView, ThresholdView, WaitingView,
};

use super::app::{App, Update, Wish};
use super::draw;
use super::input::Input;
use crate::commands::ls::tests::session;
use crate::text::tests::look;

pub fn named(name: &str, state: &str) -> SessionView {
    let mut session = session(name);
    session.id = format!("id-{name}");
    session.state = state.into();
    session
}

/// Some sessions as they are on a working day.
pub fn day() -> Vec<SessionView> {
    let mut api = named("api", "working");
    api.state_reason = "runs a command".into();
    api.generation = 2;
    api.compactions = 1;
    let mut docs = named("docs", "waiting");
    docs.state_reason = "it asks for permission (Bash): rm -rf build".into();
    docs.attention = Some(format!("{}; answer it: sm attach docs", docs.state_reason));
    docs.waiting_for = Some(WaitingView {
        kind: "permission".into(),
        tool: Some("Bash".into()),
        request: Some("rm -rf build".into()),
        more: 0,
    });
    let mut full = named("importer", "working");
    full.agent = "codex".into();
    full.context.used_percentage = Some(91.0);
    full.context.trend = Some(6.0);
    let mut lost = named("old-one", "lost");
    lost.state_reason = "the machine was restarted".into();
    lost.context = Default::default();
    let mut tests = named("tests", "idle");
    tests.queue.queued = 2;
    tests.state_since = "2026-03-01T11:59:58Z".into();
    // it was heard of just now: that is no change of its state
    full.changed_at = "2026-03-01T11:59:59Z".into();
    vec![api, docs, full, lost, tests]
}

pub fn app(cols: u16, rows: u16, sessions: Vec<SessionView>) -> App {
    let mut app = App::new(look(), (cols, rows));
    app.told(Update::Snapshot(sessions));
    app
}

pub fn types(app: &mut App, text: &str) -> Vec<Wish> {
    let mut input = Input::default();
    let mut keys = input.feed(text.as_bytes());
    keys.extend(input.settle());
    // A person who reads: each key comes a while after what it is about was drawn.
    let mut now = later();
    let mut wishes = Vec::new();
    for key in keys {
        app.drawn(now);
        now += Duration::from_secs(2);
        wishes.extend(app.settle(now));
        wishes.extend(app.key(key, now));
    }
    app.drawn(now);
    wishes.extend(app.settle(now + Duration::from_secs(2)));
    wishes
}

/// A time after all that were used before.
pub fn later() -> Instant {
    static HOURS: AtomicU64 = AtomicU64::new(0);
    let hours = HOURS.fetch_add(1, Ordering::Relaxed);
    Instant::now() + Duration::from_secs(3600 * hours)
}

/// The same as fast as people type.
pub fn types_fast(app: &mut App, text: &str) -> Vec<Wish> {
    let mut now = later();
    let mut wishes = Vec::new();
    for key in Input::default().feed(text.as_bytes()) {
        app.drawn(now);
        now += Duration::from_millis(120);
        wishes.extend(app.settle(now));
        wishes.extend(app.key(key, now));
    }
    app.drawn(now);
    wishes.extend(app.settle(now + Duration::from_secs(2)));
    wishes
}

pub fn choose(app: &mut App, name: &str) {
    app.chosen = Some(format!("id-{name}"));
    app.chosen_changed();
}

pub fn buffer(app: &App) -> Buffer {
    let backend = TestBackend::new(app.size.0, app.size.1);
    let mut terminal = ratatui::Terminal::new(backend).unwrap();
    terminal.draw(|frame| draw::draw(app, frame)).unwrap();
    terminal.backend().buffer().clone()
}

/// What is on the screen, without blanks at the ends of lines.
pub fn shown(app: &App) -> String {
    let buffer = buffer(app);
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(crate::text::width(symbol).max(1)).unwrap();
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

pub fn message(state: &str) -> MessageView {
    MessageView {
        id: "m1".into(),
        session: "id-api".into(),
        from: SenderView {
            kind: "person".into(),
            id: None,
            name: None,
        },
        mode: "sequential".into(),
        state: state.into(),
        reason: (state == "held").then(|| "a draft is in the composer".into()),
        hold: (state == "held").then(|| "draft".into()),
        way: matches!(state, "written" | "submitted" | "consumed").then(|| "paste".into()),
        proof: matches!(state, "submitted" | "consumed").then(|| "hook".into()),
        label: None,
        text: "run the tests\nall of them".into(),
        created_at: "2026-03-01T11:59:00Z".into(),
        changed_at: "2026-03-01T11:59:01Z".into(),
    }
}

pub fn event(seq: i64, text: &str) -> EventView {
    EventView {
        seq,
        at: "2026-03-01T11:58:00Z".into(),
        session: "id-api".into(),
        generation: 2,
        turn: 3,
        kind: "state".into(),
        text: text.into(),
    }
}

pub fn handoff() -> HandoffView {
    let mut handoff = crate::handoff::tests::handoff();
    handoff.session = "id-api".into();
    handoff.steps = vec![StepView {
        at: "2026-03-01T11:57:00Z".into(),
        text: "scheduled".into(),
    }];
    handoff
}

/// The chosen session is `api`, and everything that was asked for has come.
pub fn open(cols: u16, rows: u16) -> App {
    let mut app = app(cols, rows, day());
    choose(&mut app, "api");
    let id = || "id-api".to_owned();
    let output: Vec<String> = (1..=80)
        .map(|n| format!("line {n} of what it shows"))
        .collect();
    for update in [
        Update::Output(id(), output.join("\n")),
        Update::Events(id(), vec![event(1, "working"), event(2, "runs a command")]),
        Update::Messages(
            id(),
            vec![message("consumed"), message("held"), message("failed")],
        ),
        Update::Handoffs(id(), vec![handoff()]),
        Update::Context(
            id(),
            Box::new(ContextReport {
                session: id(),
                thresholds: [50, 65, 85]
                    .map(|percent| ThresholdView {
                        percent,
                        ..ThresholdView::default()
                    })
                    .into(),
                history: (0..12)
                    .map(|n| PointView {
                        at: format!("2026-03-01T{:02}:30:00Z", n),
                        used_percentage: f64::from(n % 6) * 15.0,
                        ..PointView::default()
                    })
                    .collect(),
                ..ContextReport::default()
            }),
        ),
    ] {
        assert!(app.told(update).is_empty());
    }
    app
}
