//! What a browser gets from the real daemon: signing in, the page, what is refused, the stream.

use crate::world::{DEADLINE, World, eventually, text};
use serde_json::{Value, json};
use sm_client::Client;
use sm_client::http::{Line, Request};
use sm_client::sse::{SseEvent, SseReader};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

/// A world whose daemon can be asked by a browser.
pub fn world() -> (World, u16) {
    with_port(World::new())
}

fn with_port(mut world: World) -> (World, u16) {
    let port = world.env.serve_tcp().unwrap();
    world.sm(&["ls"]).exits(0);
    (world, port)
}

/// What was answered to a browser.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// A request as a browser sends it to that port; `headers` end with `\r\n` each.
#[track_caller]
pub fn browse(port: u16, line: &str, headers: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let request =
        format!("{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

const PAGE: &str = "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\n";
const TYPED: &str = "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n";

/// Signs a browser in and gives its `Cookie` header.
#[track_caller]
pub fn signed_in(world: &World, port: u16) -> String {
    let url = world.sm(&["open", "--print"]).exits(0).out;
    let start = format!("http://127.0.0.1:{port}");
    let path = url.trim().strip_prefix(&start).expect(&url);
    let answer = browse(port, &format!("GET {path}"), TYPED);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
    let cookie = answer.header("set-cookie").unwrap();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=2592000"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    let again = browse(port, &format!("GET {path}"), TYPED);
    assert_eq!(again.status, 410, "a link works once");
    assert!(again.body.contains("sm open") && !again.body.contains("<script"));
    format!("Cookie: {}\r\n", cookie.split(';').next().unwrap())
}

#[test]
fn a_link_signs_one_browser_in_and_it_stays_so() {
    let (world, port) = world();
    let cookie = signed_in(&world, port);
    let sessions = |headers: &str| browse(port, "GET /sessions", headers).status;
    assert_eq!(sessions(PAGE), 401);
    assert_eq!(sessions(&format!("{PAGE}{cookie}")), 200);
    assert_eq!(sessions(""), 200, "a program of ours needs no cookie");
    // the daemon is replaced: the browser is still signed in, and the file does not hold its cookie
    world.kill_daemon();
    world.sm(&["ls"]).exits(0);
    assert_eq!(sessions(&format!("{PAGE}{cookie}")), 200);
    let kept = std::fs::read_to_string(world.paths().signed_in_file()).unwrap();
    let secret = cookie.trim().split('=').nth(1).unwrap();
    assert!(kept.contains("hash") && !kept.contains(secret), "{kept}");
    // it leaves
    let origin = format!("Origin: http://127.0.0.1:{port}\r\n");
    let left = browse(port, "POST /signout", &format!("{PAGE}{cookie}{origin}"));
    assert_eq!(left.status, 204);
    assert!(left.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(sessions(&format!("{PAGE}{cookie}")), 401);
}

#[test]
fn the_page_is_for_everyone_and_runs_nothing_of_others() {
    let (world, port) = world();
    let page = browse(port, "GET /", TYPED);
    assert_eq!(page.status, 200);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let tag = format!("If-None-Match: {}\r\n", page.header("etag").unwrap());
    assert_eq!(browse(port, "GET /", &format!("{TYPED}{tag}")).status, 304);
    let refused = browse(port, "GET /assets/none.js", PAGE);
    assert_eq!(refused.status, 404);
    // whatever is answered, a browser is told the same
    let cookie = signed_in(&world, port);
    let json = browse(port, "GET /status", &format!("{PAGE}{cookie}"));
    assert_eq!(json.header("cache-control"), Some("no-store"));
    let nobody = browse(port, "GET /status", PAGE);
    assert_eq!(nobody.status, 401);
    for answer in [page, refused, json, nobody] {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"));
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
            assert_eq!(answer.header(name), Some("same-origin"), "{name}");
        }
    }
}

#[test]
fn a_foreign_page_gets_nothing_on_any_route_with_any_verb() {
    let (world, port) = world();
    let cookie = signed_in(&world, port);
    let description = world.get("/openapi.json");
    let paths = description["paths"].as_object().unwrap();
    assert!(paths.len() > 30);
    let pages = ["/", "/signin/x", "/signout", "/assets/none.js", "/nowhere"];
    let paths = paths.keys().map(String::as_str).chain(pages);
    // also verbs that a route does not have: who asks is looked at before what is asked for
    let verbs = [
        "GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PURGE",
    ];
    for path in paths {
        let path = path.replace(['{', '}'], "");
        for method in verbs {
            let line = format!("{method} {path}");
            for foreign in [
                "Origin: http://evil.example\r\n",
                "Origin: null\r\n",
                "Origin: http://localhost:1\r\n",
                "Sec-Fetch-Site: cross-site\r\n",
                "Sec-Fetch-Site: same-site\r\n",
            ] {
                let answer = browse(port, &line, &format!("{foreign}{cookie}"));
                assert_eq!(answer.status, 403, "{line} {foreign}");
                assert_eq!(answer.header("access-control-allow-origin"), None);
            }
        }
    }
    // and a link cannot be asked for from a page, not even from our own
    let own = format!("Origin: http://127.0.0.1:{port}\r\n{PAGE}{cookie}");
    assert_eq!(browse(port, "POST /signin", &own).status, 403);
}

#[test]
fn without_a_port_sm_open_says_so() {
    let world = World::new();
    let ran = world.sm(&["open"]).exits(1);
    ran.complains("no browser").complains("SM_PORT");
    let mut world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    world.env.set("SM_PORT", port.clone());
    let ran = world.sm(&["open", "--print"]).exits(1);
    ran.complains(&format!("port {port} is taken by"));
}

/// A stream of `/events` as it comes.
struct Stream {
    lines: sm_client::http::Lines,
    reader: SseReader,
}

impl Stream {
    fn open(world: &World, query: &str, last: Option<&str>) -> Self {
        let client = Client::new(world.paths());
        let target = format!("/events?{query}");
        let mut request = Request::get(&target);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let lines = client.stream(&request, Instant::now() + DEADLINE);
        Self {
            lines: lines.unwrap().unwrap(),
            reader: SseReader::default(),
        }
    }

    #[track_caller]
    fn next(&mut self) -> (SseEvent, Value) {
        loop {
            let line = self.lines.next(Some(Instant::now() + DEADLINE));
            let Ok(Line::Text(line)) = line else {
                panic!("the stream ended: {line:?}");
            };
            if let Some(event) = self.reader.line(&line) {
                let data = serde_json::from_str(&event.data).unwrap();
                return (event, data);
            }
        }
    }

    /// The next that is liked; all before it are given too.
    #[track_caller]
    fn until(&mut self, like: impl Fn(&str, &Value) -> bool) -> Vec<(SseEvent, Value)> {
        let mut seen = Vec::new();
        loop {
            seen.push(self.next());
            let (event, data) = seen.last().unwrap();
            if like(event.event.as_deref().unwrap(), data) {
                return seen;
            }
        }
    }
}

#[test]
fn the_stream_begins_with_all_sessions_and_goes_on_with_those_that_change() {
    let (world, _) = world();
    world.agent("api");
    let mut stream = Stream::open(&world, "sessions=true", None);
    let (first, snapshot) = stream.next();
    assert_eq!(first.event.as_deref(), Some("snapshot"));
    assert_eq!(snapshot["sessions"], world.get("/sessions"));
    let seq = snapshot["seq"].as_i64().unwrap();
    assert_eq!(first.id.unwrap(), seq.to_string());
    // one more
    let id = text(&world.agent("web")["id"]);
    let seen = stream.until(|event, data| {
        event == "session" && data["name"] == "web" && data["state"] == "idle"
    });
    let journal: Vec<i64> = seen
        .iter()
        .filter(|(event, _)| event.event.as_deref() == Some("journal"))
        .map(|(event, data)| {
            assert_eq!(event.id, data["seq"].as_i64().map(|seq| seq.to_string()));
            data["seq"].as_i64().unwrap()
        })
        .collect();
    assert!(journal.is_sorted_by(|a, b| a < b) && journal.iter().all(|at| *at > seq));
    // what the stream says last is what the API says
    world.sm(&["rename", "web", "shop"]).exits(0);
    let seen = stream.until(|event, data| event == "session" && data["name"] == "shop");
    let mut told = seen.last().unwrap().1.clone();
    let mut known = world.show("shop");
    for view in [&mut told, &mut known] {
        view["changed_at"] = Value::Null; // its first hooks may still come in
    }
    assert_eq!(told, known);
    // and it is gone
    world.sm(&["kill", "shop", "--purge"]).exits(0);
    stream.until(|event, data| event == "gone" && *data == json!({"id": id}));
}

#[test]
fn a_browser_that_comes_back_gets_the_list_and_what_it_missed() {
    let (world, _) = world();
    world.agent("api");
    let mut stream = Stream::open(&world, "sessions=true&after=0", None);
    let told = |part: &'static str| {
        move |event: &str, data: &Value| {
            event == "journal" && data["text"].as_str().unwrap().contains(part)
        }
    };
    world.send_wait("api", "one");
    let first = stream.until(told("turn 1 ended"));
    let last = first.last().unwrap().0.id.clone().unwrap();
    drop(stream);
    world.kill_daemon();
    world.send_wait("api", "two");
    world.wait_for("api", "idle");
    // the address is the same as before, and the header goes before it
    let mut stream = Stream::open(&world, "sessions=true&after=0", Some(&last));
    let (again, _) = stream.next();
    assert_eq!(again.event.as_deref(), Some("snapshot"));
    assert_eq!(again.id.as_ref(), Some(&last), "nothing is skipped by it");
    let second = stream.until(told("turn 2 ended"));
    let numbers = |list: &[(SseEvent, Value)]| -> Vec<i64> {
        list.iter()
            .filter(|(event, _)| event.event.as_deref() == Some("journal"))
            .map(|(_, data)| data["seq"].as_i64().unwrap())
            .collect()
    };
    let all = [numbers(&first), numbers(&second)].concat();
    let known = world.get("/sessions/api/events?limit=1000");
    let known: Vec<i64> = known
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["seq"].as_i64().unwrap())
        .collect();
    assert_eq!(
        all,
        known[..all.len()],
        "no event is lost, and none is told twice"
    );
    // a number of another journal begins anew
    let mut stream = Stream::open(&world, "sessions=all", Some("999999999"));
    let (fresh, snapshot) = stream.next();
    assert_eq!(fresh.id.unwrap(), snapshot["seq"].to_string());
}

#[test]
fn many_changes_are_one_look() {
    let (world, _) = world();
    let id = text(&world.agent("api")["id"]);
    let mut stream = Stream::open(&world, "sessions=true", None);
    stream.next();
    let secret = crate::context::secret(&world, &id);
    // nothing is read meanwhile: what changed a hundred times is sent as it is in the end
    for percent in 1..=100_u32 {
        let body = json!({"session_id": id, "used_percentage": percent % 50,
            "total_input_tokens": percent * 1000, "context_window_size": 200_000});
        let bytes = body.to_string();
        let request = Request::post("/hooks/context-usage").json(bytes.as_bytes());
        let request = request.header(sm_client::wire::SECRET_HEADER, &secret);
        assert_eq!(world.ask(&request).0, 200);
    }
    let seen =
        stream.until(|event, data| event == "session" && data["context"]["tokens"] == 100_000);
    let looks = seen
        .iter()
        .filter(|(event, _)| event.event.as_deref() == Some("session"))
        .count();
    assert!(looks < 100, "{looks} looks");
    eventually("all of it is in the chart", || {
        let chart = world.get("/sessions/api/context/history");
        let points = chart.as_array().cloned().unwrap_or_default();
        points.iter().any(|point| {
            (&point["tokens"], &point["window"], &point["generation"])
                == (&json!(99_000), &json!(200_000), &json!(1))
        })
    });
    world.sm(&["stop"]).exits(0);
    let end = eventually_ends(&mut stream);
    assert!(end, "the stream ends with the daemon");
}

fn eventually_ends(stream: &mut Stream) -> bool {
    let until = Instant::now() + DEADLINE;
    loop {
        match stream.lines.next(Some(until)) {
            Ok(Line::Text(_)) if Instant::now() < until => {}
            Ok(Line::Text(_)) => return false,
            _ => return true,
        }
    }
}

#[test]
fn a_person_hands_off_by_what_the_ledger_knows() {
    let (world, port) = world();
    world.agent("api");
    world.send_wait("api", "one");
    world.wait_for("api", "idle");
    let cookie = signed_in(&world, port);
    let page = format!("{PAGE}{cookie}Origin: http://127.0.0.1:{port}\r\n");
    let asked = browse(port, "POST /sessions/api/handoff/auto", &page);
    let answer: Value = serde_json::from_str(&asked.body).unwrap();
    assert_eq!(
        (asked.status, &answer["status"]),
        (200, &json!("scheduled")),
        "{answer}"
    );
    eventually("the session goes on in its next context", || {
        world.show("api")["generation"] == 2
    });
    let list = world.get("/handoffs?session=api");
    assert_eq!(list[0]["id"], answer["id"]);
    assert_eq!(
        (&list[0]["author"], &list[0]["trigger"]),
        (&json!("ledger"), &json!("person"))
    );
}

/// Writes a document, fails or waits, by what lies in the home.
const WRITER: &str = r##"#!/bin/sh
echo "$@" > "$HOME/asked"
if test -e "$HOME/hold"; then exec sleep 600; fi
if test -e "$HOME/fail"; then echo "Handoff failed: no key for any model" >&2; exit 1; fi
printf '{"document":"# Objective\\nGo on.\\n\\n# State\\nHalf.\\n\\n# Next\\nThe rest.\\n","told":"by a script","author":"model","unfit":[]}'
"##;

#[test]
fn a_model_is_asked_for_the_document_and_can_be_stopped() {
    let mut world = World::new();
    world.install_writer(WRITER);
    let (world, _) = with_port(world);
    let home = world.env.home().to_owned();
    world.agent("api");
    let generate = || {
        let body = br#"{"focus":"the ninth boat"}"#;
        let request = Request::post("/sessions/api/handoff/generate").json(body);
        world.ask(&request)
    };
    world.send_wait("api", "one");
    world.wait_for("api", "idle");
    let told = |part: &str| world.events("api").iter().any(|event| event.contains(part));
    // it fails, and why is in the history
    std::fs::write(home.join("fail"), "").unwrap();
    assert_eq!(generate(), (200, json!({"status": "generating"})));
    eventually("why is said", || told("no key for any model"));
    std::fs::remove_file(home.join("fail")).unwrap();
    // it is stopped, with all that it started
    let _ = std::fs::remove_file(home.join("asked"));
    std::fs::write(home.join("hold"), "").unwrap();
    assert_eq!(generate(), (200, json!({"status": "generating"})));
    eventually("it writes", || home.join("asked").exists());
    assert!(text(&generate().1["error"]).contains("already"));
    let stopped = world.ask(&Request::new("DELETE", "/sessions/api/handoff"));
    assert_eq!(stopped, (200, json!({"status": "cancelled"})));
    eventually("it has ended", || told("was cancelled"));
    std::fs::remove_file(home.join("hold")).unwrap();
    assert_eq!(world.show("api")["generation"], 1);
    // it is written, and handed over
    assert_eq!(generate(), (200, json!({"status": "generating"})));
    eventually("the session goes on in its next context", || {
        world.show("api")["generation"] == 2
    });
    let asked = std::fs::read_to_string(home.join("asked")).unwrap();
    assert!(asked.contains("--focus the ninth boat"), "{asked}");
}
