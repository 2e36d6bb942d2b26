//! Whole screens, without a terminal: what a person sees after updates and keys.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sm_core::confirm_key::{ALONE, Arrival, QUIET};
use sm_llm::{Assistant, Block, Delta, StopReason, ToolCall, ToolResult, Usage};

use super::super::input::Key;
use super::super::look::Look;
use super::super::paint::{ENTER, Painter, Size};
use super::super::vt::{Reflow, Vt};
use super::*;
use crate::approval::{Rule, Wanted};
use crate::host::{Answer, HandoffOutcome, SessionView, Update, WAIT_FOR_THE_ANSWER};
use crate::turn::End;

mod asking;
mod handing;
mod typing;

struct Sim {
    app: App,
    painter: Painter,
    vt: Vt,
    size: Size,
    now: Instant,
}

fn look(pairs: &'static [(&str, &str)]) -> Look {
    Look::of(
        |name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        },
        false,
    )
}

const UNICODE: &[(&str, &str)] = &[("TERM", "xterm-256color"), ("LANG", "C.UTF-8")];

fn view() -> SessionView {
    SessionView {
        id: "0198".into(),
        cwd: PathBuf::from("/home/me/project"),
        model: "fake/model-1".into(),
        window: 200_000,
        tokens: 12_000,
        ..SessionView::default()
    }
}

impl Sim {
    fn new(columns: usize, rows: usize) -> Self {
        Self::with(look(UNICODE), columns, rows)
    }

    fn with(look: Look, columns: usize, rows: usize) -> Self {
        let now = Instant::now();
        let size = Size { columns, rows };
        let mut app = App::new(look, History::default(), Some("/home/me".into()), now);
        app.resize(columns);
        let mut vt = Vt::new(size, Reflow::Yes);
        vt.feed(ENTER);
        let mut sim = Self {
            app,
            painter: Painter::new(look),
            vt,
            size,
            now,
        };
        sim.told(Update::Started(view()));
        sim
    }

    fn draw(&mut self) {
        let finished = self.app.take_finished();
        let live = self.app.live(self.size, self.now);
        self.vt
            .feed(&self.painter.draw(&finished, &live, self.size));
        self.app.drawn(self.now);
    }

    fn told(&mut self, update: Update) -> Vec<Action> {
        let actions = self.app.told(update, self.now);
        self.draw();
        actions
    }

    fn text(&mut self, text: &str) {
        self.told(Update::Delta(Delta::Text(text.into())));
    }

    fn press(&mut self, key: Key) -> Vec<Action> {
        let actions = self.app.press(key, self.now);
        self.draw();
        actions
    }

    fn tick(&mut self) -> Vec<Action> {
        let actions = self.app.tick(self.now);
        self.draw();
        actions
    }

    fn types(&mut self, text: &str) {
        for c in text.chars() {
            self.press(Key::Char(c));
        }
    }

    fn says(&mut self, text: &str) -> Vec<Action> {
        self.types(text);
        self.press(Key::Enter)
    }

    fn later(&mut self, by: Duration) {
        self.now += by;
        self.draw();
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        self.size = Size { columns, rows };
        self.vt.resize(self.size);
        self.app.resize(columns);
        self.painter.disturbed();
        self.draw();
    }

    fn screen(&self) -> String {
        self.vt.screen().join("\n")
    }

    /// Scrollback and screen.
    fn all(&self) -> String {
        self.vt.logical().join("\n")
    }
}

fn sent(command: Command) -> Vec<Action> {
    vec![Action::Send(command)]
}

fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.as_object().cloned().unwrap_or_default(),
    }
}

fn result(id: &str, name: &str, text: &str) -> ToolResult {
    ToolResult {
        tool_call_id: id.into(),
        tool_name: name.into(),
        content: vec![Block::text(text)],
        details: None,
        is_error: false,
        timestamp: 0,
    }
}

fn answer(text: &str) -> Assistant {
    Assistant {
        content: vec![Block::text(text)],
        api: String::new(),
        provider: String::new(),
        model: String::new(),
        usage: Usage::default(),
        stop_reason: StopReason::Stop,
        error_message: None,
        response_id: None,
        timestamp: 0,
    }
}

fn wanted(what: &str) -> Wanted {
    Wanted {
        what: what.into(),
        always: Rule::Command("cargo test".into()),
    }
}

#[test]
fn a_reply_streams_into_the_scrollback_while_a_person_types() {
    let mut sim = Sim::new(40, 10);
    sim.told(Update::UserMessage("tell me".into()));
    sim.told(Update::State(State::Working));
    sim.told(Update::Delta(Delta::Started));
    for n in 0..30 {
        sim.text(&format!("line {n} of a **long** rep"));
        sim.types("x");
        sim.text("ly\n");
    }
    let screen = sim.screen();
    assert!(screen.contains("line 29 of a long reply"), "{screen}");
    assert!(
        screen.contains(&format!("❯ {}", "x".repeat(30))),
        "{screen}"
    );
    let all = sim.all();
    for n in 0..30 {
        assert_eq!(
            all.matches(&format!("line {n} of a long reply")).count(),
            1,
            "{all}"
        );
    }
    sim.told(Update::Assistant(answer("…")));
    sim.told(Update::TurnEnded(End::Done));
    sim.told(Update::State(State::Idle));
    assert_eq!(all.matches("❯ tell me").count(), 1);
    assert!(!sim.screen().contains("Working"), "{}", sim.screen());
}

#[test]
fn text_while_the_agent_works_is_said_into_the_turn_or_after_it() {
    let mut sim = Sim::new(60, 12);
    sim.told(Update::State(State::Working));
    assert_eq!(sim.says("sooner"), sent(Command::Steer("sooner".into())));
    sim.types("later");
    assert_eq!(sim.press(Key::Tab), sent(Command::FollowUp("later".into())));
    assert_eq!(sim.press(Key::Esc), sent(Command::Interrupt));
    sim.told(Update::Returned(vec!["sooner".into(), "later".into()]));
    assert!(
        sim.screen().contains("❯ sooner\n  later"),
        "{}",
        sim.screen()
    );
}

#[test]
fn an_edit_shows_its_diff_and_long_output_is_folded() {
    let mut sim = Sim::new(60, 20);
    let edit = call(
        "c1",
        "edit",
        json!({"path": "src/a.rs", "old_text": "a", "new_text": "b"}),
    );
    sim.told(Update::ToolStarted(edit));
    assert!(sim.screen().contains("○ edit src/a.rs"), "{}", sim.screen());
    let mut done = result("c1", "edit", "edited");
    done.details = Some(json!({"diff": "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"}));
    sim.told(Update::ToolDone(done));
    assert!(
        sim.screen()
            .contains("● edit src/a.rs\n  @@ -1 +1 @@\n  -a\n  +b"),
        "{}",
        sim.screen()
    );
    sim.told(Update::ToolStarted(call(
        "c2",
        "bash",
        json!({"command": "seq 50"}),
    )));
    let output: String = (1..=50).map(|n| format!("{n}\n")).collect();
    sim.told(Update::ToolOutput {
        call_id: "c2".into(),
        text: output.clone(),
    });
    assert!(
        sim.screen()
            .contains("○ bash seq 50\n  47\n  48\n  49\n  50"),
        "{}",
        sim.screen()
    );
    sim.told(Update::ToolDone(result("c2", "bash", &output)));
    assert!(
        sim.all()
            .contains("● bash seq 50\n  … 44 more lines (ctrl+o shows them)\n  45\n  46"),
        "{}",
        sim.all()
    );
    sim.press(Key::Ctrl('o'));
    assert!(sim.all().contains("  43\n  44\n  45\n"), "{}", sim.all());
}

#[test]
fn nothing_a_tool_or_a_model_says_is_a_sequence() {
    let mut sim = Sim::new(60, 14);
    let evil = "\x1b[2J\x1b]0;owned\x07\u{9b}31m\x1b]52;c;aGk=\x07end\u{202e}";
    // The terminal of these tests fails on a sequence it does not know.
    sim.told(Update::UserMessage(evil.into()));
    sim.text(&format!("{evil}\n```\n{evil}\n```\n| {evil} |\n"));
    sim.told(Update::ToolStarted(call("c", evil, json!({"x": 1}))));
    sim.told(Update::ToolOutput {
        call_id: "c".into(),
        text: evil.into(),
    });
    sim.told(Update::ToolDone(result("c", evil, evil)));
    sim.told(Update::ApprovalWanted {
        call: call("d", "bash", json!({"command": evil})),
        wanted: wanted(evil),
    });
    for update in [
        Update::Notice(evil.into()),
        Update::Error(evil.into()),
        Update::HandoffText(evil.into()),
        Update::Title(evil.into()),
        Update::ShellDone {
            command: evil.into(),
            output: evil.into(),
        },
        Update::Queued {
            queue: Queue::FollowUp,
            text: evil.into(),
        },
    ] {
        sim.told(update);
    }
    let all = sim.all();
    assert!(all.contains("end"));
    assert!(!all.contains("owned") && !all.contains('\u{202e}'), "{all}");
}

#[test]
fn the_oldest_rows_go_when_there_is_no_room() {
    for (columns, rows) in [(60, 20), (20, 4), (10, 2), (10, 1)] {
        let mut sim = Sim::new(columns, rows);
        sim.told(Update::State(State::Working));
        sim.types("what is typed");
        sim.text(&"a long paragraph without an end ".repeat(40));
        sim.told(Update::ToolStarted(call(
            "c",
            "bash",
            json!({"command": "ls"}),
        )));
        let live = sim.app.live(sim.size, sim.now);
        assert!(
            live.len() <= rows.max(1),
            "{columns}x{rows}: {}",
            live.len()
        );
    }
}

#[test]
fn sizes_may_change_at_any_time() {
    let mut sim = Sim::new(80, 24);
    sim.told(Update::UserMessage("first".into()));
    sim.told(Update::State(State::Working));
    for (n, (columns, rows)) in [(60, 20), (200, 50), (30, 8), (80, 24), (61, 9)]
        .into_iter()
        .enumerate()
    {
        sim.text(&format!("part {n} is said\nand "));
        sim.types("k");
        sim.resize(columns, rows);
        let screen = sim.screen();
        assert_eq!(
            screen.matches("Working…").count(),
            1,
            "{columns}x{rows}\n{screen}"
        );
        assert_eq!(
            screen.matches("fake/model-1").count(),
            1,
            "{columns}x{rows}\n{screen}"
        );
    }
    let all = sim.all();
    assert_eq!(all.matches("Working…").count(), 1, "{all}");
    for n in 0..5 {
        assert_eq!(
            all.matches(&format!("part {n} is said")).count(),
            1,
            "{all}"
        );
    }
}

#[test]
fn a_key_costs_the_same_however_much_was_said() {
    let mut sim = Sim::new(80, 24);
    sim.told(Update::State(State::Working));
    let cost = |sim: &mut Sim| {
        sim.app.press(Key::Char('x'), sim.now);
        assert!(sim.app.take_finished().is_empty());
        let live = sim.app.live(sim.size, sim.now);
        let bytes = sim.painter.draw(&[], &live, sim.size);
        sim.vt.feed(&bytes);
        sim.press(Key::Backspace);
        bytes.len()
    };
    sim.text("a reply that goes on\nand");
    let before = cost(&mut sim);
    for n in 0..2_000 {
        sim.text(&format!(" on with line {n}\nand"));
    }
    assert_eq!(cost(&mut sim), before);
    assert!(before < 100, "{before} bytes for one key");
}

fn conversation(sim: &mut Sim) {
    sim.told(Update::UserMessage(
        "Why does the parser fail on empty input?".into(),
    ));
    sim.told(Update::State(State::Working));
    sim.told(Update::Delta(Delta::Thinking(
        "It may be the lexer.\nOr not.".into(),
    )));
    sim.text("I will **look** at `src/parse.rs` first.\n");
    sim.told(Update::Assistant(answer("…")));
    sim.told(Update::ToolStarted(call(
        "1",
        "read",
        json!({"path": "src/parse.rs"}),
    )));
    sim.told(Update::ToolDone(result("1", "read", "a\nb\nc")));
    sim.text("It indexes without a check:\n\n```rust\nfn first(s: &str) -> u8 { s.as_bytes()[0] }\n```\n\n| case | result |\n|---|--:|\n| `\"\"` | panic |\n| `\"a\"` | 97 |\n\n1. Return an `Option`\n2. Add a test\n");
    sim.told(Update::Usage {
        tokens: 84_000,
        window: 200_000,
        cost: 0.42,
    });
    sim.told(Update::ToolStarted(call(
        "2",
        "bash",
        json!({"command": "cargo test"}),
    )));
    sim.told(Update::ToolOutput {
        call_id: "2".into(),
        text: "running 3 tests\ntest parse::empty ... FAILED\n".into(),
    });
    sim.told(Update::Queued {
        queue: Queue::Steering,
        text: "and keep the API".into(),
    });
    sim.types("also run clippy");
    sim.later(Duration::from_secs(12));
}

#[test]
fn screens_at_three_sizes() {
    for (columns, rows) in [(60, 20), (80, 24), (200, 50)] {
        let mut sim = Sim::new(columns, rows);
        conversation(&mut sim);
        insta::assert_snapshot!(format!("conversation_{columns}x{rows}"), sim.screen());
    }
}

#[test]
fn a_screen_without_unicode() {
    let mut sim = Sim::with(
        look(&[("TERM", "xterm"), ("LANG", "C"), ("NO_COLOR", "1")]),
        60,
        24,
    );
    conversation(&mut sim);
    sim.text("“quoted” – 日本 é\n");
    let screen = sim.screen();
    assert!(sim.all().is_ascii(), "{}", sim.all());
    insta::assert_snapshot!("conversation_ascii", screen);
}
