//! Messages: receipts that tell the truth, sent once whatever breaks.

use crate::fake::{Fake, Ran, Reply, message, refusal, session};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

/// A daemon that takes a message and then says these states, the last one for ever.
fn taking(states: &'static [(&'static str, Option<&'static str>)]) -> Fake {
    let mut at = 0;
    Fake::new(move |seen| {
        let (state, reason) = states[at.min(states.len() - 1)];
        at += 1;
        let id = match seen.method.as_str() {
            "POST" => seen.body["id"].as_str().unwrap_or_default().to_owned(),
            _ => seen
                .target
                .split(['/', '?'])
                .nth(4)
                .unwrap_or_default()
                .to_owned(),
        };
        Reply::Json(201, message(&id, state, reason))
    })
}

#[test]
fn a_receipt_says_what_became_of_it() {
    taking(&[("queued", None), ("written", None), ("submitted", None)])
        .run(&["send", "api", "run", "the", "tests"])
        .exits(0)
        .says("✓ api has it");
    taking(&[
        ("queued", None),
        ("held", Some("a draft is in the composer")),
    ])
    .run(&["send", "api", "hello"])
    .exits(0)
    .says("! held: a draft is in the composer")
    .says("sm queue rm api ");
    taking(&[("failed", Some("api has exited"))])
        .run(&["send", "api", "hello"])
        .exits(1)
        .complains("was not delivered: api has exited");
}

#[test]
fn waiting_for_the_proof() {
    let fake = taking(&[("held", Some("it works")), ("submitted", None)]);
    fake.run(&["send", "api", "hello", "--wait", "30"]).exits(0);
    let waited = &fake.seen()[1].target;
    assert!(
        waited.starts_with("/sessions/api-id/messages/") && waited.ends_with("&until=submitted"),
        "{waited}"
    );
    taking(&[("held", Some("a person is needed"))])
        .run(&["send", "api", "hello", "--wait", "0.05"])
        .exits(3)
        .complains("held: a person is needed")
        .complains("it stays queued");
    let ran = taking(&[("held", Some("x"))])
        .run(&["send", "api", "hello", "--wait", "0.05", "--json"])
        .exits(3);
    assert_eq!(ran.json()["state"], "held");
}

#[test]
fn a_broken_connection_does_not_send_twice() {
    let mut tries = 0;
    let fake = Fake::new(move |seen| {
        tries += 1;
        match tries {
            1 | 2 => Reply::Drop,
            _ => Reply::Json(
                200,
                message(
                    seen.body["id"].as_str().unwrap_or_default(),
                    "consumed",
                    None,
                ),
            ),
        }
    });
    let ran = fake.run(&["send", "api", "once", "--json"]).exits(0);
    let seen = fake.seen();
    assert_eq!(seen.len(), 3);
    for request in &seen {
        assert_eq!(request.body, seen[0].body);
    }
    assert_eq!(ran.json()["id"], seen[0].body["id"]);
    assert_eq!(seen[0].body["id"].as_str().unwrap().len(), 16);
}

#[test]
fn texts_arrive_as_they_are() {
    let fake = taking(&[("consumed", None)]);
    let text = "/leading slash\n\n  indented ünï 🦀\ttab\nno end";
    let mut child = fake
        .sm(&["send", "api", "-", "--mode", "urgent", "--raw"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    Ran::from(child.wait_with_output().unwrap()).exits(0);
    let file = fake.home.path().join("text");
    std::fs::write(&file, "x".repeat(60_000)).unwrap();
    fake.run(&["send", "api", "--file", "text"]).exits(0);
    fake.run(&["send", "api", "--", "--not", "a", "flag"])
        .exits(0);
    let seen = fake.seen();
    assert_eq!(seen[0].body["text"], text);
    assert_eq!(seen[0].body["mode"], "urgent");
    assert_eq!(seen[0].body["raw"], true);
    assert_eq!(seen[1].body["text"].as_str().unwrap().len(), 60_000);
    assert_eq!(seen[2].body["text"], "--not a flag");
    assert_eq!(seen[2].body["from"], Value::Null);
    fake.run(&["send", "api", " "]).exits(64);
    std::fs::write(&file, b"\xff\xfe").unwrap();
    fake.run(&["send", "api", "--file", "text"])
        .exits(1)
        .complains("is not text");
}

#[test]
fn a_session_speaks_with_its_name_and_proof() {
    let fake = taking(&[("consumed", None)]);
    let mut inside = fake.sm(&["send", "api", "hello", "--notify"]);
    inside
        .env("CLAUDE_SESSION_MANAGER_ID", "lead1")
        .env("SM_SESSION_SECRET", "s3cret");
    Ran::from(inside.output().unwrap()).exits(0);
    let seen = fake.seen().remove(0);
    assert_eq!(seen.body["from"], "lead1");
    assert_eq!(seen.body["notify"], true);
    assert_eq!(seen.header("x-sm-secret"), Some("s3cret"));
    fake.run(&["send", "api", "hello", "--notify"])
        .exits(2)
        .complains("not inside a session");
}

#[test]
fn a_session_of_another_instance_is_a_person_here() {
    let fake = Fake::new(|seen| match (seen.method.as_str(), seen.target.as_str()) {
        ("GET", "/sessions/api") => Reply::Json(200, session("api", "idle")),
        ("POST", _) if seen.body["from"].is_null() => {
            Reply::Json(201, message("m1", "consumed", None))
        }
        _ => refusal(404, "there is no session lead1", "sm ls"),
    });
    let mut inside = fake.sm(&["send", "api", "hello"]);
    inside.env("CLAUDE_SESSION_MANAGER_ID", "lead1");
    Ran::from(inside.output().unwrap())
        .exits(0)
        .complains("sent as a person");
}

#[test]
fn the_queue_is_listed_and_emptied() {
    let fake = Fake::new(|seen| match (seen.method.as_str(), seen.target.as_str()) {
        ("GET", "/sessions?all=true") => {
            let mut api = session("api", "working");
            api["queue"]["queued"] = json!(2);
            Reply::Json(200, json!([api, session("empty", "idle")]))
        }
        ("GET", _) => Reply::Json(
            200,
            json!([
                message("aa11", "held", Some("it works")),
                message("bb22", "queued", None),
                message("cc33", "written", None)
            ]),
        ),
        ("DELETE", target) => {
            let id = target.rsplit('/').next().unwrap_or_default();
            Reply::Json(200, message(id, "withdrawn", None))
        }
        _ => refusal(400, "unexpected", ""),
    });
    let ran = fake.run(&["queue", "ls", "--json"]).exits(0);
    assert_eq!(ran.json().as_array().unwrap().len(), 3);
    fake.run(&["queue", "api"]).exits(0).says("held: it works");
    fake.run(&["queue", "rm", "api", "aa"])
        .exits(0)
        .says("1 message taken back");
    fake.run(&["queue", "rm", "api", "--all"])
        .exits(0)
        .says("2 messages taken back");
    let withdrawn: Vec<String> = fake
        .seen()
        .into_iter()
        .filter(|seen| seen.method == "DELETE")
        .map(|seen| seen.target)
        .collect();
    assert_eq!(
        withdrawn,
        [
            "/sessions/api/messages/aa11",
            "/sessions/api/messages/aa11",
            "/sessions/api/messages/bb22"
        ]
    );
}

#[test]
fn one_text_goes_to_several() {
    let fake = Fake::new(|seen| match seen.target.contains("/sessions/gone/") {
        true => crate::fake::refusal(404, "there is no session \"gone\"", "sm ls"),
        false => Reply::Json(200, message("m1", "submitted", None)),
    });
    fake.run(&["send", "--to", "api,web", "pull", "the", "schema"])
        .exits(0)
        .says("api has it")
        .says("web has it");
    let texts: Vec<(String, serde_json::Value)> = fake
        .seen()
        .into_iter()
        .filter(|seen| seen.method == "POST")
        .map(|seen| (seen.target, seen.body["text"].clone()))
        .collect();
    let text = serde_json::json!("pull the schema");
    assert_eq!(
        texts,
        [
            ("/sessions/api/messages".to_owned(), text.clone()),
            ("/sessions/web/messages".to_owned(), text)
        ]
    );
    // one that is not there keeps it from none of the others
    fake.run(&["send", "--to", "gone,web", "hello"])
        .exits(1)
        .says("web has it")
        .complains("1 of 2 do not have it: gone");
    let sent = fake
        .run(&["send", "--to", "api,web", "x", "--json"])
        .exits(0);
    assert_eq!(sent.json().as_array().map(Vec::len), Some(2));
    fake.run(&["send", "--to", "api"])
        .exits(64)
        .complains("no text");
    let before = fake.seen().len();
    for nobody in ["", ",", " , "] {
        fake.run(&["send", "--to", nobody, "hello"])
            .exits(64)
            .complains("--to names no session");
    }
    assert_eq!(fake.seen().len(), before, "nothing was asked");
    let once = fake
        .run(&["send", "--to", "api,web,api,", "x", "--json"])
        .exits(0);
    assert_eq!(once.json().as_array().map(Vec::len), Some(2));
}

#[test]
fn each_of_several_is_judged_by_how_it_is_at_the_deadline() {
    // `a` uses the time up; `b` has its message meanwhile
    let fake = Fake::new(|seen| {
        let of_b = seen.target.starts_with("/sessions/b");
        let posted = seen.method == "POST";
        let id = match posted {
            true => seen.body["id"].as_str().unwrap_or_default().to_owned(),
            false => "m".to_owned(),
        };
        let state = if of_b && !posted {
            "submitted"
        } else {
            "queued"
        };
        let mut message = message(&id, state, None);
        message["session"] = json!(if of_b { "b-id" } else { "a-id" });
        Reply::Json(201, message)
    });
    fake.run(&["send", "--to", "a,b", "hello", "--wait", "0.2"])
        .exits(3)
        .says("b has it")
        .complains("not yet proven for 1 of 2: a");
}

#[test]
fn a_person_is_notified_by_their_own_command() {
    let fake = Fake::new(|_| Reply::Json(200, message("m1", "submitted", None)));
    fake.run(&["send", "api", "hello", "--notify"])
        .exits(2)
        .complains("notify.command");
    let config = fake.home.path().join("sm/config.toml");
    std::fs::write(config, "[notify]\ncommand = [\"true\"]\n").unwrap();
    fake.run(&["send", "api", "hello", "--notify"]).exits(0);
    let sent = fake.seen().pop().unwrap();
    assert_eq!(sent.body["notify"], true);
}
