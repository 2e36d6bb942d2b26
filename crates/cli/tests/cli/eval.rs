//! `sm eval fidelity` on invented histories; no daemon is there.

use crate::fake::Home;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const SESSION: &str = include_str!("../../../ledger/tests/fixtures/invented.jsonl");

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The row of an arm.
#[track_caller]
fn row<'v>(value: &'v Value, arm: &str, budget: Option<u64>) -> &'v Value {
    let rows = value["rows"].as_array().unwrap();
    rows.iter()
        .find(|row| row["arm"] == arm && row["budget"].as_u64() == budget)
        .unwrap_or_else(|| panic!("no {arm} {budget:?} in {value:#}"))
}

#[test]
fn without_a_history_it_says_where_it_looked() {
    let home = Home::new();
    home.run(&["eval", "fidelity"])
        .exits(1)
        .complains("no transcripts in ")
        .complains(".claude/projects")
        .complains(".codex/sessions")
        .complains("hint: name files or folders");
    home.run(&["eval", "fidelity", "nowhere"])
        .exits(1)
        .complains("cannot read nowhere");
    put(&home.path().join("notes.jsonl"), "{\"note\":1}\n");
    home.run(&["eval", "fidelity", "notes.jsonl"])
        .exits(1)
        .complains("notes.jsonl: no transcript of an agent that sm knows")
        .complains("nothing to score")
        .complains("--cuts");
}

#[test]
fn the_users_own_compactions_are_scored() {
    let home = Home::new();
    let file = home.path().join(".claude/projects/-home-mara/one.jsonl");
    put(&file, SESSION);
    home.run(&["eval", "fidelity"])
        .exits(0)
        .says("1 transcript, 3 boundaries")
        .says("native summary   -")
        .says("0.067 (0.00-0.11)")
        .says("sm ledger        9500")
        .says("NAR BY BUDGET");
    let ran = home
        .run(&["eval", "fidelity", "--json", "--budget", "1500,300"])
        .exits(0);
    let value = ran.json();
    assert_eq!(
        (&value["sessions"], &value["boundaries"]),
        (&json!(1), &json!(3))
    );
    let mean =
        |arm, budget, figure: &str| row(&value, arm, budget)[figure]["mean"].as_f64().unwrap();
    assert!((mean("ranked_atoms", Some(1500), "nar") - 0.850).abs() < 0.0005);
    assert!((mean("random_atoms", Some(300), "lar") - 0.208).abs() < 0.0005);
    for budget in [300, 1500] {
        let ledger = row(&value, "ledger", Some(budget));
        assert_eq!(ledger["documents"], 3);
        assert!(ledger["size_max"].as_u64().unwrap() <= budget, "{ledger}");
    }
    assert!(mean("ledger", Some(1500), "nar") > mean("transcript_tail", Some(1500), "nar"));
    // the same file by name, cut where nothing happened
    let path = file.to_str().unwrap();
    let cuts = home
        .run(&["eval", "fidelity", "--json", "--cuts", "0.5", path])
        .exits(0)
        .json();
    assert_eq!(cuts["places"], "cuts");
    assert!(cuts["boundaries"].as_u64().unwrap() >= 1, "{cuts:#}");
    let arms = cuts["rows"].as_array().unwrap();
    assert!(
        arms.iter().all(|row| row["arm"] != "native_summary"),
        "{cuts:#}"
    );
}

#[test]
fn documents_of_handoffs_are_scored_with_what_their_successors_did() {
    let home = Home::new();
    let base = home.path().join("sm/data/handoffs");
    let line = |kind: &str, text: &str| {
        json!({"type": kind, "sessionId": "s", "message": {"content": text}}).to_string()
    };
    let mut first = vec![
        line("user", "Fix the mail."),
        line("assistant", "mail_sender mail_queue mail_clock mail_face"),
    ];
    first.extend(vec![line("assistant", "well"); 30]);
    let mut second = vec![
        line("user", "Go on."),
        line(
            "assistant",
            "I read mail_sender, mail_queue, mail_clock and mail_face.",
        ),
    ];
    second.extend(vec![line("assistant", "well"); 30]);
    for (day, transcript) in [("20260301", first), ("20260302", second)] {
        let folder = base.join(format!("api-{day}-120000"));
        put(&folder.join("transcript.jsonl"), &transcript.join("\n"));
        put(
            &folder.join("document.md"),
            "Fix the mail. See mail_sender and mail_queue.",
        );
    }
    let value = home.run(&["eval", "fidelity", "--json"]).exits(0).json();
    assert_eq!(value["boundaries"], 1);
    let documents = row(&value, "handoff", None);
    assert_eq!(
        (&documents["nar"]["mean"], &documents["dir"]["mean"]),
        (&json!(0.5), &json!(1.0))
    );
    assert_eq!(row(&value, "ledger", Some(1000))["nar"]["mean"], 1.0);
}

#[test]
fn other_agents_are_scored_too() {
    let home = Home::new();
    let item = |payload: Value| {
        json!({"timestamp": "2026-03-01T12:00:00.000Z", "type": "response_item", "payload": payload}).to_string()
    };
    let said = |role: &str, kind: &str, text: String| {
        item(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
    };
    let mut lines = vec![
        json!({"timestamp": "2026-03-01T12:00:00.000Z", "type": "session_meta", "payload": {"id": "x", "cwd": "/w"}}).to_string(),
        said("user", "input_text", "Sort the shelves.".into()),
    ];
    for n in 0..60 {
        lines.push(said(
            "assistant",
            "output_text",
            format!("look at shelf_number_{}", n % 25),
        ));
    }
    put(
        &home
            .path()
            .join(".codex/sessions/2026/03/01/rollout-x.jsonl"),
        &(lines.join("\n") + "\n"),
    );
    let value = home
        .run(&["eval", "fidelity", "--json", "--cuts", "0.5"])
        .exits(0)
        .json();
    assert_eq!(value["boundaries"], 1);
    let ledger = row(&value, "ledger", Some(9500));
    assert_eq!(ledger["dir"]["mean"], 1.0);
    assert_eq!(ledger["nar"]["mean"], 1.0);
}
