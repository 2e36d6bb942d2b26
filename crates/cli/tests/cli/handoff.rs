//! `sm handoff` and `sm handoffs`: what is asked, what is said, how it exits. The wording is a
//! contract: agents are told to rely on it.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::fake::{Fake, Home, Ran, Reply, refusal, session};

const SCHEDULED: &str = "Handoff scheduled — will execute after current turn completes\n";

/// `sm` as the agent of a session runs it.
fn inside(home: &Home, args: &[&str]) -> Ran {
    let mut command = home.sm(args);
    command
        .env("CLAUDE_SESSION_MANAGER_ID", "a1b2c3d4")
        .env("SM_SESSION_SECRET", "hush");
    Ran::from(command.output().unwrap())
}

fn file(home: &Home, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = home.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn scheduling(answer: Value) -> Fake {
    let fake = Fake::new(move |seen| match seen.target.ends_with("/handoff") {
        true => Reply::Json(200, answer.clone()),
        false => refusal(404, "nothing here", ""),
    });
    file(&fake.home, "notes.md", "go on with step 3\n");
    fake
}

fn scheduled() -> Value {
    json!({"status": "scheduled", "id": "ho-2", "replaced": null, "warnings": []})
}

#[test]
fn scheduled_says_exactly_this_and_proves_who_asks() {
    let fake = scheduling(scheduled());
    let ran = inside(&fake.home, &["handoff", "notes.md"]).exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), (SCHEDULED, ""));
    let seen = fake.seen();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].is("POST", "/sessions/a1b2c3d4/handoff"));
    assert_eq!(seen[0].header("x-sm-session"), Some("a1b2c3d4"));
    assert_eq!(seen[0].header("x-sm-secret"), Some("hush"));
    let path = fake.home.path().join("notes.md");
    let id = &seen[0].body["id"];
    assert_eq!(
        seen[0].body,
        json!({"id": id, "requester_session_id": "a1b2c3d4", "person": false, "file_path": path, "force": false})
    );
}

#[test]
fn force_is_passed_on() {
    let fake = scheduling(scheduled());
    inside(&fake.home, &["handoff", "notes.md", "--force"]).exits(0);
    assert_eq!(fake.seen()[0].body["force"], true);
}

#[test]
fn a_replaced_one_and_warnings_follow_on_lines_of_their_own() {
    let fake = scheduling(json!({
        "status": "scheduled", "id": "ho-2", "replaced": "ho-1",
        "warnings": ["the document is older than this turn: write it anew"]
    }));
    let ran = inside(&fake.home, &["handoff", "notes.md"]).exits(0);
    assert_eq!(
        ran.out,
        format!(
            "{SCHEDULED}It replaces handoff ho-1, which was scheduled before and will not run\nWarning: the document is older than this turn: write it anew\n"
        )
    );
}

#[test]
fn as_json_it_is_what_the_daemon_said() {
    let fake = scheduling(scheduled());
    let ran = inside(&fake.home, &["handoff", "notes.md", "--json"]).exits(0);
    assert_eq!(ran.json(), scheduled());
}

#[test]
fn not_inside_a_session_is_2_and_says_what_to_do() {
    let home = Home::new();
    // before anything else: also without the file
    for args in [
        &["handoff", "nowhere.md"][..],
        &["handoff", "--cancel"],
        &["handoff", "nowhere.md", "--json"],
    ] {
        let ran = home.run(args).exits(2);
        assert_eq!(
            ran.err,
            "Error: CLAUDE_SESSION_MANAGER_ID not set. sm handoff can only be called from within a session.\nhint: from outside, say which session: sm handoff FILE --session NAME (`sm ls` lists them)\n"
        );
        assert_eq!(ran.out, "");
    }
    assert!(!home.state().exists(), "no daemon was asked for");
}

#[test]
fn a_missing_file_is_1_with_its_absolute_path() {
    let home = Home::new();
    file(&home, "plain", "x");
    std::os::unix::fs::symlink("nowhere", home.path().join("dangling")).unwrap();
    for name in ["nowhere.md", "./nowhere.md", "dangling", "plain/below"] {
        let ran = inside(&home, &["handoff", name]).exits(1);
        let path = home.path().join(name.trim_start_matches("./"));
        let said = format!("Error: File not found: {}\n", path.display());
        assert!(ran.err.starts_with(&said), "{}", ran.err);
        assert!(ran.err.contains("sm handoff --template"), "{}", ran.err);
    }
    assert!(!home.state().exists(), "no daemon was asked for");
}

#[test]
fn what_is_no_regular_file_is_1_and_nobody_waits_for_it() {
    let home = Home::new();
    let path = home.path();
    inside(&home, &["handoff", "."])
        .exits(1)
        .complains(&format!(
            "Error: Not a file: {} is a directory",
            path.display()
        ));
    let socket = path.join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for special in ["socket", "/dev/null"] {
        inside(&home, &["handoff", special])
            .exits(1)
            .complains(&format!(
                "Error: Not a file: {} is no regular file",
                path.join(special).display()
            ));
    }
}

#[test]
fn what_is_not_utf_8_is_1_and_says_where() {
    let home = Home::new();
    let path = file(&home, "notes.md", b"ab\xff\xfe");
    inside(&home, &["handoff", "notes.md"])
        .exits(1)
        .complains(&format!(
            "Error: Not UTF-8 text: {}, at byte 2",
            path.display()
        ));
}

#[test]
fn what_cannot_be_read_is_1_and_says_why() {
    let home = Home::new();
    std::os::unix::fs::symlink("loop", home.path().join("loop")).unwrap();
    let path = home.path().join("loop");
    inside(&home, &["handoff", "loop"])
        .exits(1)
        .complains(&format!("Error: Cannot read {}: ", path.display()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_content_cannot_be_read_is_1() {
    let home = Home::new();
    // a regular file that not even root can read from its beginning
    inside(&home, &["handoff", "/proc/self/mem"])
        .exits(1)
        .complains("Error: Cannot read /proc/self/mem: ");
}

#[test]
fn no_daemon_to_be_had_is_2_and_says_what_to_do() {
    let home = Home::new();
    file(&home, "notes.md", "go on\n");
    // it cannot be started: SM_BIN is /bin/false
    for ran in [
        inside(&home, &["handoff", "notes.md"]),
        inside(&home, &["handoff", "--cancel"]),
        home.run(&["handoff", "notes.md", "--session", "api"]),
    ] {
        let ran = ran.exits(2);
        assert!(
            ran.err
                .starts_with("Error: Session manager unavailable\nhint: "),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("sm doctor"), "{}", ran.err);
        assert!(ran.err.contains("repeat the command"), "{}", ran.err);
    }
    let stopping = Fake::new(|_| refusal(501, "this daemon knows no handoffs", "sm stop"));
    file(&stopping.home, "notes.md", "go on\n");
    inside(&stopping.home, &["handoff", "notes.md"])
        .exits(2)
        .complains("Error: Session manager unavailable\nhint: this daemon knows no handoffs");
}

#[test]
fn a_refusal_of_the_daemon_is_1_in_its_words() {
    let why = "sm handoff is self-directed only — requester must equal target session";
    for args in [
        &["handoff", "notes.md"][..],
        &["handoff", "notes.md", "--json"],
    ] {
        let fake = scheduling(json!({"error": why}));
        let ran = inside(&fake.home, args).exits(1);
        assert_eq!((ran.out.as_str(), ran.err), ("", format!("Error: {why}\n")));
    }
    let unknown = Fake::new(|_| refusal(404, "there is no session apu", "did you mean api?"));
    file(&unknown.home, "notes.md", "go on\n");
    let ran = unknown
        .run(&["handoff", "notes.md", "--session", "apu"])
        .exits(1);
    assert_eq!(
        ran.err,
        "Error: there is no session apu\nhint: did you mean api?\n"
    );
}

#[test]
fn a_person_outside_names_the_session() {
    let fake = scheduling(scheduled());
    let ran = fake
        .run(&["handoff", "./notes.md", "--session", "api"])
        .exits(0);
    assert_eq!(ran.out, SCHEDULED);
    let seen = fake.seen();
    assert!(seen[0].is("POST", "/sessions/api/handoff"));
    assert_eq!(seen[0].header("x-sm-session"), None);
    let path = fake.home.path().join("notes.md");
    let id = &seen[0].body["id"];
    assert_eq!(
        seen[0].body,
        json!({"id": id, "requester_session_id": null, "person": true, "file_path": path, "force": false})
    );
}

#[test]
fn a_session_cannot_be_named_inside_of_one() {
    let fake = scheduling(scheduled());
    for args in [
        &["handoff", "notes.md", "--session", "other"][..],
        &["handoff", "notes.md", "--session", "a1b2c3d4"],
        &["handoff", "--cancel", "--session", "other"],
    ] {
        inside(&fake.home, args).exits(1).complains(
            "Error: sm handoff is self-directed only — inside a session, --session is refused\nhint: ",
        );
    }
    assert!(fake.seen().is_empty(), "nothing was asked");
}

#[test]
fn who_got_no_answer_asks_again_for_the_same_one() {
    let dropping = || {
        let mut first = true;
        let fake = Fake::new(move |_| match std::mem::take(&mut first) {
            true => Reply::Drop,
            false => Reply::Json(200, scheduled()),
        });
        file(&fake.home, "notes.md", "go on\n");
        fake
    };
    let same = |fake: &Fake| {
        let ids: Vec<Value> = fake.seen().iter().map(|s| s.body["id"].clone()).collect();
        assert_eq!(ids.len(), 2);
        assert!(ids[0].is_string() && ids[0] == ids[1], "{ids:?}");
    };
    let person = dropping();
    person
        .run(&["handoff", "notes.md", "--session", "api"])
        .exits(0);
    same(&person);
    let agent = dropping();
    inside(&agent.home, &["handoff", "notes.md"]).exits(0);
    same(&agent);
}

/// A daemon that schedules a handoff, whose states and whose session's states are then these, the
/// last ones for ever.
fn going_on(states: &[(&'static str, &'static str)]) -> Fake {
    let states = states.to_vec();
    let mut at = 0_usize;
    let fake = Fake::new(move |seen| {
        let (_, of_session) = states[at.saturating_sub(1).min(states.len() - 1)];
        match seen.target.as_str() {
            "/sessions/api/handoff" => Reply::Json(200, scheduled()),
            "/handoffs/ho-2" => {
                let (state, _) = states[at.min(states.len() - 1)];
                at += 1;
                Reply::Json(200, handoff("ho-2", state))
            }
            _ => Reply::Json(200, session("api", of_session)),
        }
    });
    file(&fake.home, "notes.md", "go on with step 3\n");
    fake
}

fn waits_for_it(fake: &Fake, seconds: &str) -> Ran {
    fake.run(&["handoff", "notes.md", "--session", "api", "--wait", seconds])
}

#[test]
fn waiting_for_the_next_context_ends_with_it() {
    let fake = going_on(&[
        ("scheduled", "working"),
        ("cleared", "idle"),
        ("prompted", "working"),
    ]);
    let ran = waits_for_it(&fake, "30").exits(0);
    assert_eq!(
        ran.out,
        format!("{SCHEDULED}api goes on in context 1\n"),
        "{}",
        ran.err
    );
    assert_eq!(ran.err, "", "nobody has to answer anything");
}

#[test]
fn a_handoff_that_is_not_over_in_time_is_3() {
    let ran = waits_for_it(&going_on(&[("prepared", "working")]), "0.3").exits(3);
    assert!(
        ran.err.contains(
            "the next context of api has not begun within 0.3 s: the handoff is prepared, and goes on"
        ),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("sm handoffs show ho-2"), "{}", ran.err);
    assert!(!ran.err.contains("answer"), "{}", ran.err);
}

#[test]
fn a_handoff_that_left_no_successor_is_1() {
    for state in ["rolled_back", "abandoned", "cancelled"] {
        let fake = going_on(&[("scheduled", "working"), (state, "idle")]);
        waits_for_it(&fake, "30")
            .exits(1)
            .complains(&format!(
                "handoff ho-2 of api ended without a next context: {state}"
            ))
            .complains("why: sm handoffs show ho-2");
    }
}

#[test]
fn a_handoff_behind_a_dialog_says_to_answer_it() {
    let fake = going_on(&[("scheduled", "waiting")]);
    let ran = waits_for_it(&fake, "0.5").exits(3);
    let told = "api waits for an answer (because): sm attach api";
    // as it comes up, once, and beside the end
    assert_eq!(ran.err.matches(told).count(), 2, "{}", ran.err);
    let fake = going_on(&[
        ("scheduled", "waiting"),
        ("scheduled", "working"),
        ("done", "idle"),
    ]);
    waits_for_it(&fake, "30").exits(0).complains(told);
}

#[test]
fn the_template_needs_neither_session_nor_daemon() {
    let home = Home::new();
    let ran = home.run(&["handoff", "--template"]).exits(0);
    assert!(ran.out.starts_with("# Handoff\n"), "{}", ran.out);
    for section in [
        "Goal and constraints",
        "State of the work",
        "Decisions and why",
        "Files",
        "Commands",
        "What failed",
        "Open ends",
        "Next actions",
    ] {
        assert!(ran.out.contains(&format!("## {section}\n<")), "{section}");
    }
    assert_eq!(inside(&home, &["handoff", "--template"]).out, ran.out);
    assert!(!home.state().exists());
}

#[test]
fn taking_back_is_told_or_refused() {
    let fake = Fake::new(|seen| match seen.target.as_str() {
        "/sessions/a1b2c3d4/handoff" | "/sessions/api/handoff" => {
            Reply::Json(200, json!({"status": "cancelled", "id": "ho-2"}))
        }
        _ => Reply::Json(200, json!({"error": "no handoff is scheduled"})),
    });
    let ran = inside(&fake.home, &["handoff", "--cancel"]).exits(0);
    assert_eq!(
        ran.out,
        "Handoff ho-2 cancelled — the context stays as it is\n"
    );
    let ran = fake
        .run(&["handoff", "--cancel", "--session", "api", "--json"])
        .exits(0);
    assert_eq!(ran.json()["id"], "ho-2");
    let ran = fake
        .run(&["handoff", "--cancel", "--session", "web"])
        .exits(1);
    assert_eq!(ran.err, "Error: no handoff is scheduled\n");
    let seen = fake.seen();
    assert!(seen[0].is("DELETE", "/sessions/"), "an agent knows its id");
    let asked: Vec<_> = seen
        .iter()
        .filter(|seen| seen.is("DELETE", "/sessions/"))
        .collect();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[0].header("x-sm-secret"), Some("hush"));
    assert_eq!(asked[0].header("x-sm-session"), Some("a1b2c3d4"));
    assert_eq!(asked[1].header("x-sm-session"), None);
}

// ── history

fn handoff(id: &str, state: &str) -> Value {
    json!({
        "id": id, "session": "api-id", "state": state, "trigger": "agent", "author": "agent",
        "carrier": "clear", "from_generation": 1, "to_generation": 2,
        "from_conversation": "c0ffee",
        "document": "/srv/x/notes.md", "copy": "/data/handoffs/api-1/document.md",
        "folder": "/data/handoffs/api-1", "given": "/srv/x/notes.md",
        "artifacts": [
            {"kind": "snapshot", "path": "/data/handoffs/api-1/dump.txt", "bytes": 2048, "lines": 37},
            {"kind": "transcript", "path": "", "problem": "it is gone"},
            {"kind": "log", "path": "/data/sessions/api-id/terminal.*.log", "bytes": 999}
        ],
        "steps": [
            {"at": "2026-01-01T10:00:00Z", "text": "scheduled; it runs when the turn is over"},
            {"at": "2026-01-01T10:00:02.5Z", "text": "the successor has its prompt"}
        ],
        "tokens_before": 83_200, "tokens_after": 4100,
        "created_at": "2026-01-01T10:00:00Z", "prompted_at": "2026-01-01T10:00:02.5Z",
        "done_at": "2026-01-01T10:00:05Z", "took_ms": 1234,
        "prompt": "Read /srv/x/notes.md and continue from where you left off.",
        "from_the_future": 1
    })
}

fn history() -> Fake {
    Fake::new(|seen| match seen.target.as_str() {
        "/handoffs?limit=50" | "/handoffs?limit=3&session=api" => Reply::Json(
            200,
            json!([handoff("ho-2", "done"), handoff("ho-1", "rolled_back")]),
        ),
        "/handoffs?limit=50&session=quiet" => Reply::Json(200, json!([])),
        "/handoffs/ho-2" => Reply::Json(200, handoff("ho-2", "done")),
        "/sessions?all=true" => Reply::Json(200, json!([session("api", "idle")])),
        "/sessions/api-id" | "/sessions/api" => Reply::Json(200, session("api", "idle")),
        other => refusal(
            404,
            &format!("there is no {other}"),
            "look with sm handoffs",
        ),
    })
}

#[test]
fn the_history_is_a_table_or_json() {
    let fake = history();
    let ran = fake.run(&["handoffs"]).exits(0);
    let rows: Vec<Vec<&str>> = ran
        .out
        .lines()
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect();
    assert_eq!(
        rows,
        [
            vec![
                "WHEN", "SESSION", "HANDOFF", "CONTEXT", "STATE", "WHY", "TOOK", "TOKENS"
            ],
            vec![
                "2026-01-01 10:00:00",
                "api",
                "ho-2",
                "1→2",
                "done",
                "agent",
                "1.2 s",
                "83.2k→4.1k"
            ],
            vec![
                "2026-01-01 10:00:00",
                "api",
                "ho-1",
                "1→2",
                "rolled_back",
                "agent",
                "1.2 s",
                "83.2k→4.1k"
            ],
        ]
    );
    let ran = fake
        .run(&["handoffs", "api", "--limit", "3", "--json"])
        .exits(0);
    assert_eq!(
        ran.json(),
        json!([handoff("ho-2", "done"), handoff("ho-1", "rolled_back")])
    );
    fake.run(&["handoffs", "quiet"])
        .exits(0)
        .says("no handoffs yet");
    fake.run(&["handoffs", "nobody"]).exits(1);
}

#[test]
fn one_handoff_is_shown_with_all_that_was_kept() {
    let fake = history();
    fake.run(&["handoffs", "show", "ho-2"])
        .exits(0)
        .says("ho-2 of api: done")
        .says("/srv/x/notes.md\n")
        .says("/data/handoffs/api-1/document.md\n")
        .says("/data/handoffs/api-1/dump.txt (37 lines, 2.0 KiB)\n")
        .says("none: it is gone\n")
        .says("sm archive api grep \"pattern\"\n")
        .says("grep -a \"pattern\" /data/sessions/api-id/terminal.*.log\n")
        .says("+2.5 s  the successor has its prompt\n")
        .says("  Read /srv/x/notes.md and continue from where you left off.\n");
    let ran = fake.run(&["handoffs", "show", "ho-2", "--json"]).exits(0);
    assert_eq!(ran.json(), handoff("ho-2", "done"));
    fake.run(&["handoffs", "show", "ho-9"])
        .exits(1)
        .complains("look with sm handoffs");
}

#[test]
fn a_session_shows_its_open_handoff_and_its_last_one() {
    let shown = |open: Value, latest: Value| {
        let mut api = session("api", "working");
        api["last_handoff_path"] = json!("/srv/x/notes.md");
        api["handoff"] = open;
        Fake::new(move |seen| match seen.target.as_str() {
            "/sessions/api" => Reply::Json(200, api.clone()),
            "/sessions?all=true" => Reply::Json(200, json!([api])),
            target if target.starts_with("/handoffs?") => Reply::Json(200, latest.clone()),
            _ => refusal(404, "nothing here", ""),
        })
    };
    let created = &handoff("ho-3", "scheduled")["created_at"];
    let open = shown(
        json!({"id": "ho-3", "state": "scheduled", "created_at": created}),
        json!([handoff("ho-3", "scheduled"), handoff("ho-2", "done")]),
    );
    open.run(&["show", "api"])
        .exits(0)
        .says("handoff       scheduled: waits for the end of the turn (begun ")
        .says("; sm handoffs show ho-3)\n");
    open.run(&[])
        .exits(0)
        .says("handing off\n  api: scheduled: waits for the end of the turn (begun ");
    let ended = shown(Value::Null, json!([handoff("ho-2", "done")]));
    let ran = ended
        .run(&["show", "api"])
        .exits(0)
        .says("last handoff  done")
        .says("generation 1→2 (sm handoffs show ho-2)\nhandoff doc   /srv/x/notes.md\n");
    assert!(!ran.out.contains("waits for"), "{}", ran.out);
    let ran = ended.run(&[]).exits(0);
    assert!(!ran.out.contains("handing off"), "{}", ran.out);
    // a daemon that cannot say keeps nothing else from being shown
    let older = Fake::new(|seen| match seen.target.as_str() {
        "/sessions/api" => Reply::Json(200, session("api", "idle")),
        "/sessions?all=true" => Reply::Json(200, json!([session("api", "idle")])),
        _ => refusal(404, "there is no such path", ""),
    });
    older
        .run(&["show", "api"])
        .exits(0)
        .says("session       api");
    older.run(&[]).exits(0).says("api");
}
