//! Following events: in order, without gaps, also over the daemon's end.

use crate::world::{DEADLINE, World, eventually};
use serde_json::Value;
use sm_client::Client;
use sm_client::http::{Line, Request};
use sm_client::sse::SseReader;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

/// Events after a number, until one that `enough` likes.
#[track_caller]
fn read(world: &World, after: Option<i64>, enough: impl Fn(&Value) -> bool) -> Vec<(i64, Value)> {
    let client = Client::new(world.paths());
    let deadline = Instant::now() + DEADLINE;
    let mut request = Request::get("/events");
    if let Some(after) = after {
        request = request.header("last-event-id", &after.to_string());
    }
    let mut lines = client.stream(&request, deadline).unwrap().unwrap();
    let mut reader = SseReader::default();
    let mut seen = Vec::new();
    loop {
        let Ok(Line::Text(line)) = lines.next(Some(deadline)) else {
            panic!("the stream ended after {seen:?}");
        };
        let Some(event) = reader.line(&line) else {
            continue;
        };
        let data: Value = serde_json::from_str(&event.data).unwrap();
        let seq: i64 = event.id.unwrap().parse().unwrap();
        assert_eq!(
            (data["seq"].as_i64(), data["kind"].as_str()),
            (Some(seq), event.event.as_deref())
        );
        seen.push((seq, data));
        if enough(&seen.last().unwrap().1) {
            return seen;
        }
    }
}

fn says(part: &str) -> impl Fn(&Value) -> bool + '_ {
    move |event| {
        event["text"]
            .as_str()
            .is_some_and(|text| text.contains(part))
    }
}

#[test]
fn a_resumed_stream_has_no_gap_over_the_daemons_end() {
    let world = World::new();
    world.agent("api");
    world.send_wait("api", "one");
    world.wait_for("api", "idle");
    let first = read(&world, Some(0), says("turn 1 ended"));
    let last = first.last().unwrap().0;
    world.send_wait("api", "two");
    world.wait_for("api", "idle");
    world.kill_daemon();
    world.send_wait("api", "three");
    world.wait_for("api", "idle");
    let second = read(&world, Some(last), says("turn 3 ended"));
    let numbers: Vec<i64> = first.iter().chain(&second).map(|(seq, _)| *seq).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let told: Vec<String> = first
        .iter()
        .chain(&second)
        .map(|(_, e)| e.to_string())
        .collect();
    let known = world
        .sm(&["events", "api", "-n", "1000", "--json"])
        .exits(0)
        .json();
    let known: Vec<String> = known
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    assert_eq!(told, known[..told.len()], "the stream is the history");
    // and again from the middle: the same
    let middle = numbers[numbers.len() / 2];
    let again = read(&world, Some(middle), says("turn 3 ended"));
    let rest: Vec<String> = again.iter().map(|(_, e)| e.to_string()).collect();
    assert!(told.ends_with(&rest), "{rest:#?}");
}

#[test]
fn sm_events_follow_goes_on_when_the_daemon_is_replaced() {
    let world = World::new();
    world.agent("api");
    let mut child = world
        .command(&["events", "api", "--follow", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (tx, rx) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            let _ = tx.send(serde_json::from_str::<Value>(&line).unwrap());
        }
    });
    let mut seen: Vec<Value> = Vec::new();
    let mut wait_for = |part: &str| {
        eventually(part, || {
            seen.extend(rx.try_iter());
            seen.iter().any(says(part))
        });
    };
    world.send_wait("api", "one");
    wait_for("turn 1 ended");
    for round in 2..5 {
        world.kill_daemon();
        world.send_wait("api", "another");
        wait_for(&format!("turn {round} ended"));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
    seen.extend(rx.try_iter());
    let known = world
        .sm(&["events", "api", "-n", "1000", "--json"])
        .exits(0)
        .json();
    let known: Vec<&Value> = known.as_array().unwrap().iter().collect();
    let seen: Vec<&Value> = seen.iter().collect();
    assert_eq!(seen, known[..seen.len()], "each once, in order");
}
