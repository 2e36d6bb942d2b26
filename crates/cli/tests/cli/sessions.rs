//! Sessions: listed, made, ended, brought back.

use crate::fake::{Fake, Reply, refusal, session};
use serde_json::{Value, json};
use sm_testkit::person::Person;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn json_is_what_the_api_said() {
    let sessions = json!([
        session("api", "idle"),
        session("web\u{1b}[2J\u{9b}x", "working")
    ]);
    let said = sessions.clone();
    let fake = Fake::new(move |seen| match seen.target.as_str() {
        "/sessions" | "/sessions?all=true" => Reply::Json(200, said.clone()),
        _ => Reply::Json(200, said[0].clone()),
    });
    let ran = fake.run(&["ls", "--json"]).exits(0);
    assert_eq!(ran.json(), sessions);
    assert!(!ran.out.contains(['\u{1b}', '\u{9b}']), "{:?}", ran.out);
    // The order of the fields too.
    let at = |field: &str| ran.out.find(&format!("\"{field}\"")).unwrap();
    assert!(at("id") < at("name") && at("z") < at("a"));
    assert_eq!(fake.run(&["--json"]).exits(0).json(), sessions);
    assert_eq!(fake.run(&["show", "api", "--json"]).json(), sessions[0]);
    fake.run(&["ls", "--all"]).exits(0);
    let asked: Vec<String> = fake.seen().into_iter().map(|seen| seen.target).collect();
    assert_eq!(
        asked,
        [
            "/sessions",
            "/sessions",
            "/sessions/api",
            "/sessions?all=true"
        ]
    );
}

#[test]
fn what_a_session_says_does_not_move_the_cursor() {
    let mut strange = session("api", "idle");
    strange["cwd"] = json!("/x\u{1b}]0;title\u{7}\r\nforged line");
    strange["attention"] = json!("look\u{1b}[31m");
    let fake = Fake::new(move |_| Reply::Json(200, json!([strange])));
    for args in [&["ls"][..], &[]] {
        let ran = fake.run(args).exits(0);
        assert!(
            ran.out.chars().all(|c| c == '\n' || !c.is_control()),
            "{:?}",
            ran.out
        );
        assert!(!ran.out.lines().any(|line| line.starts_with("forged")));
    }
}

#[test]
fn a_new_session_gets_this_shell() {
    let fake = Fake::new(|_| Reply::Json(201, session("api", "starting")));
    let mut command = fake.sm(&[
        "new", "claude", "--detach", "--name", "api", "--prompt", "hi", "--json", "--", "--model",
        "X",
    ]);
    command
        .env("SOME_KEY", "some value")
        .env("TMUX", "/tmp/other,1,2");
    let ran = crate::fake::Ran::from(command.output().unwrap()).exits(0);
    assert_eq!(ran.json(), session("api", "starting"));
    let seen = fake.seen().remove(0);
    assert!(seen.is("POST", "/sessions"));
    let body = &seen.body;
    assert_eq!(body["agent"], "claude");
    assert_eq!(body["name"], "api");
    assert_eq!(body["args"], json!(["--model", "X"]));
    assert_eq!(body["command"], json!([]));
    assert_eq!(body["prompt"], "hi");
    assert_eq!(body["parent"], Value::Null);
    assert_eq!(body["id"].as_str().unwrap().len(), 8);
    let here = fake.home.path().canonicalize().unwrap();
    assert_eq!(body["cwd"], here.to_str().unwrap());
    let env = body["env"].as_array().unwrap();
    assert!(env.contains(&json!(["SOME_KEY", "some value"])));
    assert!(!env.iter().any(|pair| pair[0] == "TMUX"));
}

#[test]
fn any_program_is_a_session() {
    let fake = Fake::new(|_| Reply::Json(201, session("sh", "starting")));
    fake.run(&["new", "--", "sh", "-c", "exit 0"])
        .exits(0)
        .says("started sh");
    assert_eq!(fake.seen()[0].body["agent"], "generic");
    assert_eq!(
        fake.seen()[0].body["command"],
        json!(["sh", "-c", "exit 0"])
    );
    fake.run(&["new", "--", "no-such-agent"])
        .exits(1)
        .complains("there is no program no-such-agent");
    fake.run(&["new", "claude", "--cwd", "/no/such/dir"])
        .exits(1)
        .complains("is not a directory");
    assert_eq!(fake.seen().len(), 1);
}

#[test]
fn a_session_that_ends_at_once_says_why() {
    let fake = Fake::new(|seen| {
        if seen.target.contains("/output") {
            return Reply::Json(200, json!({"text": "boot\nfatal: no key\n"}));
        }
        let mut ended = session("sh", "exited");
        ended["exit_code"] = json!(3);
        Reply::Json(201, ended)
    });
    fake.run(&["new", "--", "sh", "-c", "exit 3"])
        .exits(1)
        .complains("sh has ended (exit code 3): because")
        .complains("  fatal: no key")
        .complains("sm restore sh");
}

#[test]
fn a_broken_connection_does_not_make_two_sessions() {
    let mut tries = 0;
    let fake = Fake::new(move |_| {
        tries += 1;
        match tries {
            1 => Reply::Drop,
            2 => refusal(503, "the daemon is stopping", "repeat it"),
            _ => Reply::Json(200, session("api", "starting")),
        }
    });
    fake.run(&["new", "codex", "--detach"]).exits(0);
    let ids: Vec<Value> = fake
        .seen()
        .iter()
        .map(|seen| seen.body["id"].clone())
        .collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|id| *id == ids[0] && id.is_string()));
}

#[test]
fn a_child_belongs_to_its_session_if_that_is_known_here() {
    let known = Fake::new(|_| Reply::Json(201, session("kid", "starting")));
    let inside = |fake: &Fake| {
        let mut command = fake.sm(&["new", "claude", "--detach"]);
        command
            .env("CLAUDE_SESSION_MANAGER_ID", "parent1")
            .env("SM_SESSION_SECRET", "s3cret");
        crate::fake::Ran::from(command.output().unwrap())
    };
    inside(&known).exits(0);
    let seen = known.seen().remove(0);
    assert_eq!(seen.body["parent"], "parent1");
    assert_eq!(seen.header("x-sm-secret"), Some("s3cret"));
    let env = seen.body["env"].to_string();
    assert!(!env.contains("s3cret") && !env.contains("parent1"), "{env}");

    let unknown = Fake::new(|seen| match &seen.body["parent"] {
        Value::Null if seen.method == "POST" => Reply::Json(201, session("kid", "starting")),
        _ => refusal(404, "there is no session parent1", "sm ls"),
    });
    inside(&unknown).exits(0).complains("has no parent");
}

#[test]
fn ending_and_bringing_back() {
    let fake = Fake::new(|seen| match seen.method.as_str() {
        "DELETE" => Reply::Json(200, session("api", "exited")),
        "PATCH" => Reply::Json(200, session("api2", "idle")),
        _ => Reply::Json(200, session("api", "starting")),
    });
    fake.run(&["kill", "api"]).exits(0).says("sm restore api");
    fake.run(&["kill", "api", "--purge"])
        .exits(0)
        .says("api is ended and removed");
    fake.run(&["rename", "api", "api2"])
        .exits(0)
        .says("api is now api2");
    fake.run(&["restore", "api", "--fresh"])
        .exits(0)
        .says("sm attach api");
    let mut seen = fake.seen();
    seen.retain(|seen| seen.method != "GET");
    assert_eq!(seen[1].target, "/sessions/api?purge=true");
    assert_eq!(seen[2].body, json!({"name": "api2"}));
    assert!(seen[3].is("POST", "/sessions/api/restore"));
    assert_eq!(seen[3].body["fresh"], true);
    assert!(!seen[3].body["env"].as_array().unwrap().is_empty());
}

#[test]
fn children_are_those_of_the_session() {
    let mut kid = session("kid", "idle");
    kid["parent"] = json!("api-id");
    let all = json!([session("api", "idle"), kid, session("other", "idle")]);
    let fake = Fake::new(move |seen| match seen.target.as_str() {
        "/sessions?all=true" => Reply::Json(200, all.clone()),
        _ => Reply::Json(200, session("api", "idle")),
    });
    let ran = fake.run(&["children", "api", "--json"]).exits(0);
    assert_eq!(ran.json().as_array().unwrap().len(), 1);
    assert_eq!(ran.json()[0]["name"], "kid");
    fake.run(&["children", "api"]).exits(0).says("kid");
    let mut inside = fake.sm(&["whoami", "--json"]);
    inside.env("CLAUDE_SESSION_MANAGER_ID", "api-id");
    let ran = crate::fake::Ran::from(inside.output().unwrap()).exits(0);
    assert_eq!(ran.json()["name"], "api");
}

#[test]
fn readable_output_ends_with_a_line_end() {
    let fake = Fake::new(|_| Reply::Json(200, json!({"text": "one\ntwo\u{1b}[1m"})));
    let ran = fake.run(&["output", "api", "--lines", "5"]).exits(0);
    assert_eq!(ran.out, "one\ntwo[1m\n");
    assert_eq!(fake.seen()[0].target, "/sessions/api/output?lines=5");
}

#[test]
fn a_name_cannot_become_another_path() {
    let fake = Fake::new(|_| refusal(404, "there is no such session", "sm ls"));
    fake.run(&["show", "../stop?x=1"]).exits(1);
    assert_eq!(fake.seen()[0].target, "/sessions/..%2Fstop%3Fx%3D1");
}

#[test]
fn removing_is_shown_first() {
    let fake = Fake::new(|_| {
        Reply::Json(
            200,
            json!({"dry_run": true, "bytes": 2048, "items": [
                {"session": "old", "path": "/d/old", "bytes": 2048, "reason": "ended long ago"}]}),
        )
    });
    fake.run(&["gc"])
        .exits(0)
        .says("would be removed: 1 item, 2.0 KiB");
    fake.run(&["gc", "--yes"]).exits(0).says("removed: 1 item");
    assert_eq!(fake.seen()[0].body, json!({"dry_run": true}));
    assert_eq!(fake.seen()[1].body, json!({"dry_run": false}));
}

#[test]
fn several_are_ended_at_once_and_one_that_is_not_there_keeps_no_other_alive() {
    let fake = Fake::new(|seen| match seen.target.as_str() {
        "/sessions/gone" => refusal(404, "there is no session \"gone\"", "sm ls"),
        target => {
            let name = target.trim_start_matches("/sessions/").to_owned();
            Reply::Json(200, session(&name, "exited"))
        }
    });
    fake.run(&["kill", "a", "b"])
        .exits(0)
        .says("a is ended")
        .says("b is ended");
    fake.run(&["kill", "a", "gone", "b"])
        .exits(1)
        .says("b is ended")
        .complains("there is no session");
    let both = fake.run(&["kill", "a", "b", "--json"]).exits(0).json();
    assert_eq!(both[1]["name"], "b", "{both}");
}

#[test]
fn waiting_for_one_that_waits_for_a_person_says_to_answer_it() {
    let fake = Fake::new(|seen| match seen.target.contains("/wait") {
        true => Reply::Json(
            408,
            json!({"error": "not in time", "hint": "", "session": session("api", "waiting")}),
        ),
        false => Reply::Json(200, session("api", "waiting")),
    });
    // idle is what is waited for if nothing is said
    fake.run(&["wait", "api", "--timeout", "0.1"])
        .exits(3)
        .complains("waits for an answer (because)")
        .complains("sm attach api");
    let seen = fake.seen();
    assert!(seen[1].target.contains("for=idle"), "{}", seen[1].target);
    // and with patience it is said at once
    let mut looks = 0;
    let fake = Fake::new(move |seen| match seen.target.contains("/wait") {
        true if looks > 0 => Reply::Json(200, session("api", "idle")),
        true => {
            looks += 1;
            Reply::Json(
                408,
                json!({"error": "not in time", "hint": "", "session": session("api", "waiting")}),
            )
        }
        false => Reply::Json(200, session("api", "waiting")),
    });
    fake.run(&["wait", "api"])
        .exits(0)
        .says("api is idle")
        .complains("waits for an answer");
}

#[test]
fn attaching_without_a_name_takes_the_only_one_or_asks() {
    let of = |names: &'static [&'static str]| {
        Fake::new(move |seen| match seen.target.as_str() {
            target if target.starts_with("/sessions?") || target == "/sessions" => {
                let all: Vec<Value> = names.iter().map(|name| session(name, "idle")).collect();
                Reply::Json(200, json!(all))
            }
            _ => Reply::Json(200, session(names[0], "idle")),
        })
    };
    of(&[]).run(&["attach"]).exits(1).complains("sm new claude");
    // nobody can attach here: but it is known which one is meant
    of(&["api"])
        .run(&["attach"])
        .exits(2)
        .complains("sm output api-id");
    of(&["api", "web"])
        .run(&["attach"])
        .exits(64)
        .complains("api, web");
}

#[test]
fn a_person_picks_the_session_to_attach_to() {
    let fake = Fake::new(|seen| {
        let of = |name: &str| {
            let mut session = session(name, "idle");
            session["tmux"]["session"] = json!(name);
            session
        };
        let wanted = seen.target.split('/').nth(2).unwrap_or_default();
        let name = wanted.trim_end_matches("-id");
        match seen.target.as_str() {
            target if target.starts_with("/sessions?") || target == "/sessions" => {
                Reply::Json(200, json!(["web", "api", "2"].map(of)))
            }
            target if target.ends_with("/attach") => {
                Reply::Json(200, json!({"argv": ["echo", "inside of", name]}))
            }
            _ => Reply::Json(200, of(name)),
        }
    });
    for (typed, gone_into) in [
        ("3\n", Some("web")),
        ("api\n", Some("api")),
        // a session's name goes before a number in the list
        ("2\n", Some("2")),
        ("1\n", Some("2")),
        ("\n", None),
    ] {
        let mut person = Person::start(&mut fake.sm(&["attach"]), 80, 24).unwrap();
        assert!(person.sees("Which one? Its number or name: ", LONG));
        assert!(
            person.text().contains("  2  api  idle"),
            "{}",
            person.text()
        );
        assert!(person.types(typed.as_bytes(), LONG));
        let ended = person.waits(LONG).unwrap();
        match gone_into {
            Some(name) => {
                let inside = format!("inside of {name}\r\n");
                assert!(person.text().contains(&inside), "{}", person.text());
                assert_eq!(ended.code(), Some(0), "{}", person.text());
            }
            None => {
                assert!(
                    person.text().contains("none was chosen"),
                    "{}",
                    person.text()
                );
                assert_eq!(ended.code(), Some(1));
            }
        }
    }
}

#[test]
fn help_is_a_word_too() {
    let fake = Fake::new(|_| Reply::Drop);
    let whole = fake.run(&["help"]).exits(0);
    assert_eq!(whole.out, fake.run(&["--help"]).exits(0).out);
    let one = fake.run(&["help", "send"]).exits(0);
    assert_eq!(one.out, fake.run(&["send", "--help"]).exits(0).out);
    let below = fake.run(&["help", "queue", "rm"]).exits(0);
    assert_eq!(below.out, fake.run(&["queue", "rm", "--help"]).exits(0).out);
}
