//! A terminal as a browser gets it: over a WebSocket of the real daemon, from a real pane, drawn by a
//! terminal of our own and compared with what tmux shows.

use crate::dashboard::{browse, signed_in, world};
use crate::world::{DEADLINE, World, eventually, text};
use serde_json::{Value, json};
use sm_term::{Glass, Size};
use sm_testkit::clean::binary;
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;
use std::net::TcpStream;
use std::time::Instant;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Message, WebSocket};

/// A browser's terminal.
struct Terminal {
    socket: WebSocket<TcpStream>,
    glass: Glass,
    drawn: u64,
}

/// What came.
#[derive(Debug)]
enum Came {
    Said(Value),
    Bytes,
    Closed(Option<CloseCode>),
}

impl Terminal {
    #[track_caller]
    fn open(world: &World, port: u16, session: &str) -> Self {
        let cookie = signed_in(world, port);
        let url = format!("ws://127.0.0.1:{port}/sessions/{session}/terminal");
        let mut request = url.into_client_request().unwrap();
        let headers = request.headers_mut();
        let cookie = cookie.trim().strip_prefix("Cookie: ").unwrap();
        headers.insert("cookie", cookie.parse().unwrap());
        let origin = format!("http://127.0.0.1:{port}");
        headers.insert("origin", origin.parse().unwrap());
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let (socket, _) = tokio_tungstenite::tungstenite::client(request, stream).unwrap();
        Self {
            socket,
            glass: Glass::new(Size::new(10, 10)),
            drawn: 0,
        }
    }

    #[track_caller]
    fn next(&mut self) -> Came {
        loop {
            match self.socket.read() {
                Ok(Message::Text(said)) => {
                    let said: Value = serde_json::from_str(said.as_str()).unwrap();
                    if said["type"] == "size" {
                        let number = |name: &str| said[name].as_u64().unwrap() as u16;
                        self.glass.resize(Size::new(number("cols"), number("rows")));
                    }
                    return Came::Said(said);
                }
                Ok(Message::Binary(bytes)) => {
                    // a reset of the terminal is a new one
                    if bytes.starts_with(b"\x1bc") {
                        self.glass = Glass::new(self.glass.size());
                    }
                    self.glass.feed(&bytes);
                    self.drawn += bytes.len() as u64;
                    return Came::Bytes;
                }
                Ok(Message::Close(frame)) => return Came::Closed(frame.map(|frame| frame.code)),
                Ok(_) => {}
                Err(error) => panic!("the connection broke: {error}"),
            }
        }
    }

    fn say(&mut self, said: &Value) {
        self.socket.send(Message::text(said.to_string())).unwrap();
    }

    fn ack(&mut self) {
        let bytes = self.drawn;
        self.say(&json!({"type": "ack", "bytes": bytes}));
    }

    /// The next word, with all bytes before it drawn and acknowledged.
    #[track_caller]
    fn word(&mut self) -> Value {
        loop {
            match self.next() {
                Came::Said(said) => return said,
                Came::Bytes => self.ack(),
                Came::Closed(code) => panic!("closed: {code:?}"),
            }
        }
    }

    /// Draws until the screen shows this.
    #[track_caller]
    fn shows(&mut self, like: impl Fn(&str) -> bool) {
        let until = Instant::now() + DEADLINE;
        while !like(&self.screen()) {
            assert!(Instant::now() < until, "{}", self.screen());
            if let Came::Bytes = self.next() {
                self.ack();
            }
        }
    }

    fn screen(&self) -> String {
        let rows = self.glass.rows();
        let plain: Vec<String> = rows.iter().map(|row| plain(row)).collect();
        plain.join("\n").trim_end().to_owned()
    }
}

/// Without what is said about dim and reverse.
fn plain(row: &str) -> String {
    let mut out = String::new();
    let mut rest = row;
    while let Some((before, after)) = rest.split_once('\x1b') {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out.trim_end().to_owned()
}

fn shell(world: &World, name: &str) {
    let new = [
        "new",
        "--name",
        name,
        "--detach",
        "--",
        "env",
        "PS1=ready> ",
        "sh",
    ];
    world.sm(&new).exits(0);
    eventually("it has a pane", || {
        world.show(name)["tmux"]["pane"].is_string()
    });
    world.pane(name).shows("ready>");
}

fn in_tmux(world: &World, name: &str) -> String {
    let screen = world.pane(name).screen();
    let rows: Vec<&str> = screen.lines().map(str::trim_end).collect();
    rows.join("\n").trim_end().to_owned()
}

#[test]
fn the_live_terminal_shows_what_tmux_shows() {
    let (world, port) = world();
    shell(&world, "sh");
    let pane = world.pane("sh");
    pane.types("printf '\\033[31mred\\033[0m and wide: \\346\\274\\242\\n'");
    pane.key("Enter");
    pane.shows("red and wide: 漢");
    let mut terminal = Terminal::open(&world, port, "sh");
    let Came::Said(size) = terminal.next() else {
        panic!("the size comes first");
    };
    assert_eq!(size["type"], "size");
    let Came::Bytes = terminal.next() else {
        panic!("the screen comes second");
    };
    assert_eq!(terminal.screen(), in_tmux(&world, "sh"));
    // and what comes then, once
    for n in 0..20 {
        pane.types(&format!("echo 'line {n}'"));
        pane.key("Enter");
    }
    pane.types("echo all-$((1+1))");
    pane.key("Enter");
    pane.shows("all-2");
    terminal.shows(|screen| screen.contains("all-2"));
    let shown = in_tmux(&world, "sh");
    terminal.shows(|screen| screen == shown);
    // another size is another screen
    world
        .tmux(&["resize-window", "-t", "=sh:", "-x", "61", "-y", "17"])
        .exits(0);
    let said = terminal.word();
    assert_eq!(said, json!({"type": "size", "cols": 61, "rows": 17}));
    let shown = in_tmux(&world, "sh");
    terminal.shows(|screen| screen == shown);
    // a screen of its own, and back
    pane.types("printf '\\033[?1049h\\033[H\\033[2Jother screen'");
    pane.key("Enter");
    terminal.shows(|screen| screen.starts_with("other screen"));
    let mut second = Terminal::open(&world, port, "sh");
    second.shows(|screen| screen.starts_with("other screen"));
    assert!(second.glass.is_alternate());
    // its end is said
    world.sm(&["kill", "sh"]).exits(0);
    let mut said = terminal.word();
    while said["type"] != "ended" {
        said = terminal.word();
    }
    let Came::Closed(code) = terminal.next() else {
        panic!("it is closed");
    };
    assert_eq!(code, Some(CloseCode::Normal));
}

#[test]
fn a_flood_is_sent_as_far_as_it_is_drawn() {
    const WINDOW: u64 = 256 * 1024;
    let (world, port) = world();
    shell(&world, "sh");
    let pane = world.pane("sh");
    let mut terminal = Terminal::open(&world, port, "sh");
    assert_eq!(terminal.word()["type"], "size");
    pane.types("yes 'the same line again and again' | head -n 400000; echo over-$((1+1))");
    pane.key("Enter");
    while terminal.drawn < WINDOW {
        assert!(matches!(terminal.next(), Came::Bytes));
    }
    assert_eq!(terminal.drawn, WINDOW, "no more than the window");
    let sh = world.show("sh");
    eventually("it has written far more", || {
        world.log_of(&sh).len() > 8 << 20
    });
    // nothing more came until it is drawn; then what lies between is left out
    terminal.ack();
    let said = terminal.next();
    assert!(
        matches!(&said, Came::Said(said) if said["type"] == "resync"),
        "{said:?}"
    );
    pane.shows("over-2");
    let shown = in_tmux(&world, "sh");
    terminal.shows(|screen| screen == shown);
    assert!(terminal.drawn < 8 << 20, "{} bytes", terminal.drawn);
}

#[test]
fn keys_are_typed_after_a_takeover_and_only_then() {
    let (world, port) = world();
    shell(&world, "sh");
    let keys = |text: &str| json!({"type": "keys", "data": text});
    let mut terminal = Terminal::open(&world, port, "sh");
    terminal.say(&keys("echo never\r"));
    assert_eq!(closed(&mut terminal), Some(CloseCode::Policy));
    let mut terminal = Terminal::open(&world, port, "sh");
    terminal.say(&json!({"type": "takeover"}));
    while terminal.word()["type"] != "taken" {}
    terminal.say(&keys("echo 'grüße' $((40+2))\r"));
    terminal.shows(|screen| screen.contains("\ngrüße 42"));
    // as they are: a key that is several bytes, and Ctrl-C, which empties what was not read
    terminal.say(&keys("echo in-$((1+1)); cat\r"));
    terminal.shows(|screen| screen.contains("\nin-2"));
    terminal.say(&keys("\u{1b}[A"));
    terminal.shows(|screen| screen.contains("^[[A"));
    terminal.say(&keys("\u{3}"));
    terminal.shows(|screen| screen.contains("^C\nready>"));
    terminal.say(&json!({"type": "release"}));
    while terminal.word()["type"] != "released" {}
    terminal.say(&keys("echo never\r"));
    assert_eq!(closed(&mut terminal), Some(CloseCode::Policy));
    assert!(!in_tmux(&world, "sh").contains("never"));
    let events = world.events("sh");
    let told: Vec<&String> = events
        .iter()
        .filter(|event| event.starts_with("terminal: "))
        .collect();
    assert!(
        told.len() == 2 && told[0].contains("taken over") && told[1].contains("let go"),
        "{told:?}"
    );
    assert!(
        !text(&json!(events.join("\n"))).contains("40+2"),
        "keys are not kept"
    );
}

#[track_caller]
fn closed(terminal: &mut Terminal) -> Option<CloseCode> {
    let until = Instant::now() + DEADLINE;
    loop {
        assert!(Instant::now() < until);
        if let Came::Closed(code) = terminal.next() {
            return code;
        }
    }
}

#[test]
fn a_run_is_shown_and_left_to_its_person() {
    let (world, port) = world();
    let tmux = Tmux::new().unwrap();
    let sm = binary("sm").unwrap().to_string_lossy().into_owned();
    let argv = [sm, "run".to_owned(), "claude".to_owned()];
    let (env, cwd) = (world.env.env(), world.env.project());
    tmux.start("person", (90, 25), &cwd, &env, &argv).unwrap();
    let idle = || {
        let all = world.get("/sessions");
        let first = all.as_array()?.first()?.clone();
        (first["state"] == "idle" && first["pid"].is_u64()).then_some(first)
    };
    let id = text(&wait_until(DEADLINE, idle).expect("a session")["id"]);
    let persons = || {
        let screen = tmux.call(&["capture-pane", "-p", "-t", "=person:"]);
        let screen = screen.unwrap_or_default();
        let rows: Vec<&str> = screen.lines().map(str::trim_end).collect();
        rows.join("\n").trim_end().to_owned()
    };
    let mut terminal = Terminal::open(&world, port, &id);
    assert_eq!(
        terminal.word(),
        json!({"type": "size", "cols": 90, "rows": 25})
    );
    world.send_wait(&id, "hello from elsewhere");
    world.wait_for(&id, "idle");
    terminal.shows(|screen| screen.contains("hello from elsewhere") && screen == persons());
    terminal.say(&json!({"type": "takeover"}));
    let mut said = terminal.word();
    while said["type"] == "size" {
        said = terminal.word();
    }
    assert_eq!(said["type"], "refused", "{said}");
    world.sm(&["kill", &id]).exits(0);
}

#[test]
fn nonsense_closes_it_and_no_other_page_opens_it() {
    let (world, port) = world();
    shell(&world, "sh");
    for nonsense in [
        json!({"type": "ack", "bytes": 1_000_000_000_u64}),
        json!({"type": "other"}),
        json!([]),
    ] {
        let mut terminal = Terminal::open(&world, port, "sh");
        terminal.say(&nonsense);
        assert_eq!(closed(&mut terminal), Some(CloseCode::Policy), "{nonsense}");
    }
    let cookie = signed_in(&world, port);
    let upgrade = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let own = format!("Origin: http://127.0.0.1:{port}\r\n");
    for (headers, status) in [
        (format!("{upgrade}{own}"), 401),
        (format!("{upgrade}{cookie}"), 403),
        (
            format!("{upgrade}{cookie}Origin: http://evil.example\r\n"),
            403,
        ),
        (
            format!("{upgrade}{cookie}Origin: http://localhost:3000\r\n"),
            403,
        ),
        (
            format!("{upgrade}{own}{cookie}Sec-Fetch-Site: cross-site\r\n"),
            403,
        ),
        (format!("{own}{cookie}"), 426),
    ] {
        let answer = browse(port, "GET /sessions/sh/terminal", &headers);
        assert_eq!(answer.status, status, "{headers}");
    }
}
