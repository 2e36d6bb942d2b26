//! The history, and following it.

use crate::fake::{Fake, Reply};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

fn event(seq: i64, text: &str) -> Value {
    json!({"seq": seq, "at": "2026-01-01T10:00:00Z", "session": "api-id", "generation": 1,
           "turn": 1, "kind": "state", "text": text})
}

fn sse(seq: i64, text: &str) -> String {
    format!("id: {seq}\nevent: state\ndata: {}\n\n", event(seq, text))
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_last_events() {
    let fake = Fake::new(|_| Reply::Json(200, json!([event(1, "working"), event(2, "idle")])));
    fake.run(&["events", "api"]).exits(0).says("idle");
    let ran = fake.run(&["events", "api", "--json", "-n", "1"]).exits(0);
    assert_eq!(ran.json(), json!([event(2, "idle")]));
    assert_eq!(fake.seen()[1].target, "/sessions/api/events?limit=1");
    fake.run(&["events"])
        .exits(2)
        .complains("sm events --follow");
}

#[test]
fn following_goes_on_where_it_broke_and_says_nothing_twice() {
    let mut streams = 0;
    let fake = Fake::new(move |seen| {
        if !seen.target.starts_with("/events") {
            return Reply::Json(200, json!([event(1, "one")]));
        }
        streams += 1;
        Reply::Stream(match streams {
            1 => format!(
                ": hello\n\n{}data: not json\n\n{}",
                sse(2, "two"),
                sse(1, "one")
            ),
            2 => String::new(),
            _ => format!("{}{}", sse(2, "two"), sse(3, "three")),
        })
    });
    let mut child = Killed(
        fake.sm(&["events", "api", "--follow", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let texts: Vec<String> = lines
        .take(3)
        .map(|line| {
            let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
            event["text"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(texts, ["one", "two", "three"]);
    let targets: Vec<String> = fake.seen().into_iter().map(|seen| seen.target).collect();
    assert_eq!(targets[1], "/events?session=api&after=1");
    assert_eq!(targets[2], "/events?session=api&after=2");
}

#[test]
fn following_the_output_prints_what_is_new_until_the_session_ends() {
    let mut looks = 0;
    let fake = Fake::new(move |seen| {
        if seen.target == "/sessions/api" {
            return Reply::Json(200, crate::fake::session("api", "exited"));
        }
        looks += 1;
        let text = match looks {
            1 => "a\nb\n",
            2 => "a\nb\nc\n",
            _ => "b\nc\nd\n",
        };
        Reply::Json(200, json!({"text": text}))
    });
    let ran = fake.run(&["output", "api", "--follow"]).exits(0);
    assert_eq!(ran.out, "a\nb\nc\nd\n");
}
