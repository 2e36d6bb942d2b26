//! Invented conversations, and what is kept of them.

use proptest::prelude::*;
use serde_json::{Value, json};
use sm_core::Timestamp;
use sm_ledger::document::{Frame, Repository, document};
use sm_ledger::ledger::{Ledger, Progress};
use sm_ledger::{Dialect, Reader};

/// A conversation as Claude writes it down.
#[derive(Debug, Default)]
struct Talk {
    lines: String,
    calls: u32,
}

impl Talk {
    fn line(mut self, mut value: Value) -> Self {
        value["timestamp"] = json!("2026-11-15T06:31:08.132Z");
        value["cwd"] = json!("/home/me/shop");
        value["gitBranch"] = json!("cart");
        self.lines.push_str(&value.to_string());
        self.lines.push('\n');
        self
    }
    fn person(self, text: &str) -> Self {
        self.line(json!({"type":"user","message":{"role":"user","content":text}}))
    }
    fn agent(self, text: &str) -> Self {
        let content = json!([{"type":"text","text":text}]);
        self.line(json!({"type":"assistant","message":{"role":"assistant","content":content}}))
    }
    fn call(mut self, tool: &str, input: Value) -> Self {
        self.calls += 1;
        let id = format!("t{}", self.calls);
        let content = json!([{"type":"tool_use","id":id,"name":tool,"input":input}]);
        self.line(json!({"type":"assistant","message":{"role":"assistant","content":content}}))
    }
    fn result(self, text: &str, failed: bool) -> Self {
        let id = format!("t{}", self.calls);
        let content =
            json!([{"type":"tool_result","tool_use_id":id,"content":text,"is_error":failed}]);
        self.line(json!({"type":"user","message":{"role":"user","content":content}}))
    }
    fn tool(self, tool: &str, input: Value, result: &str, failed: bool) -> Self {
        self.call(tool, input).result(result, failed)
    }
    fn bash(self, command: &str, result: &str, failed: bool) -> Self {
        self.tool("Bash", json!({"command":command}), result, failed)
    }
    fn compacted(self, summary: &str) -> Self {
        self.line(json!({"type":"user","isCompactSummary":true,"message":{"role":"user","content":summary}}))
    }
    fn ledger(&self) -> Ledger {
        read(Dialect::Claude, &[self.lines.as_bytes()])
    }
}

fn talk() -> Talk {
    Talk::default()
}

fn read(dialect: Dialect, pieces: &[&[u8]]) -> Ledger {
    let mut ledger = Ledger::default();
    let mut reader = Reader::new(dialect);
    for piece in pieces {
        reader.feed(piece, &mut |at, record| ledger.add(at, &record));
    }
    ledger
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"file_path":path,"old_string":old,"new_string":new})
}

fn day() -> Talk {
    talk()
        .person("Add a discount to the cart.\n\nNever touch billing/invoice.rs, it is frozen.")
        .agent("I read the cart first. I decided to keep the discount in CartTotal rather than in the database.")
        .tool("Read", json!({"file_path":"/home/me/shop/src/cart.rs"}), "fn cart_total() -> MoneyAmount", false)
        .tool("Edit", edit("/home/me/shop/src/cart.rs", "cart_total", "cart_total_with_discount"), "updated", false)
        .tool("Write", json!({"file_path":"/home/me/shop/tests/discount.rs","content":"fn percentDiscountApplies() {}"}), "File created successfully", false)
        .bash("cd /home/me/shop && cargo test", "test percent_discount ... FAILED\nerror: test failed", true)
        .tool("TodoWrite", json!({"todos":[
            {"content":"write the discount","status":"completed"},
            {"content":"make percent_discount pass","status":"in_progress"},
            {"content":"document it","status":"pending"}]}), "ok", false)
        .agent("One test fails because the amount is rounded twice. Shall I round down in MoneyAmount?")
        .person("yes, down")
        .call("Bash", json!({"command":"cargo test -p shop"}))
}

#[test]
fn a_day_of_work_as_a_document() {
    let frame = Frame {
        now: Some(Timestamp(1_794_724_268_132 + 3 * 3_600_000)),
        session: Some("shop".into()),
        pins: vec!["never touch prod".into()],
        in_flight: vec!["child api-2 works".into()],
        repository: Some(Repository {
            branch: Some("cart".into()),
            dirty: vec![" M src/cart.rs".into()],
            commits: vec!["1a2b3c4 Begin".into()],
        }),
        began_with: None,
        rest: Some("/home/me/t.jsonl".into()),
    };
    let text = document(&day().ledger(), &frame, 4_000);
    for expected in [
        "# Handoff: shop\n",
        "3 h old",
        "- never touch prod\n",
        "## Objective\nAdd a discount to the cart. Never touch billing/invoice.rs, it is frozen.\n",
        "Latest message: yes, down\n",
        "Under way: make percent_discount pass",
        "branch cart",
        "Tests failed: cargo test: percent_discount",
        "Not committed: M src/cart.rs\n",
        "- src/cart.rs ✎1: cart_total_with_discount",
        "tests/discount.rs new ✎1: percentDiscountApplies",
        "- In flight: child api-2 works\n",
        "Not come back: Bash cargo test -p shop",
        "- Then: document it\n",
        "/home/me/t.jsonl",
    ] {
        assert!(text.contains(expected), "{expected:?} in\n{text}");
    }
}

#[test]
fn what_people_said_is_kept_word_for_word() {
    let ledger = talk()
        .person("first\nwords")
        .line(json!({"type":"attachment","attachment":{"type":"queued_command","prompt":"typed meanwhile"}}))
        .line(json!({"type":"user","message":{"content":"<command-name>/review</command-name>\n<command-args>only the parser</command-args>"}}))
        .call("Bash", json!({"command":"rm -rf target"}))
        .result("The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nkeep the cache", true)
        .ledger();
    let said: Vec<&str> = ledger.directives().map(|d| d.text.as_str()).collect();
    assert_eq!(
        said,
        [
            "first\nwords",
            "typed meanwhile",
            "/review only the parser",
            "keep the cache"
        ]
    );
}

#[test]
fn too_many_words_lose_neither_the_first_nor_the_newest() {
    let mut talk = talk();
    for n in 0..400 {
        talk = talk.person(&format!("number {n}: {}", "x".repeat(2_000)));
    }
    let ledger = talk.ledger();
    let said: Vec<&str> = ledger.directives().map(|d| d.text.as_str()).collect();
    assert!(said.len() < 200);
    assert_eq!(ledger.people.dropped + said.len() as u64, 400);
    assert!(said[0].starts_with("number 0:") && said[7].starts_with("number 7:"));
    assert!(said[said.len() - 1].starts_with("number 399:"));
}

#[test]
fn plans_of_every_tool() {
    let claude = day().ledger();
    let tasks = talk()
        .tool(
            "TaskCreate",
            json!({"subject":"one"}),
            "Task #1 created successfully: one",
            false,
        )
        .tool(
            "TaskCreate",
            json!({"subject":"two"}),
            "Task #2 created successfully: two",
            false,
        )
        .tool(
            "TaskUpdate",
            json!({"taskId":"2","status":"in_progress"}),
            "Updated task #2",
            false,
        )
        .tool(
            "TaskUpdate",
            json!({"taskId":"1","status":"completed"}),
            "Updated task #1",
            false,
        )
        .ledger();
    let codex = talk()
        .tool("update_plan", json!({"plan":[{"step":"one","status":"completed"},{"step":"two","status":"in_progress"}]}), "ok", false)
        .ledger();
    let under_way = |ledger: &Ledger| -> Vec<String> {
        ledger
            .plan
            .of(Progress::UnderWay)
            .map(|s| s.text.clone())
            .collect()
    };
    assert_eq!(under_way(&claude), ["make percent_discount pass"]);
    assert_eq!(under_way(&tasks), ["two"]);
    assert_eq!(under_way(&codex), ["two"]);
    assert_eq!(tasks.plan.of(Progress::Done).count(), 1);
}

#[test]
fn what_failed_is_mended_by_doing_it_well() {
    let failed = talk().bash("FOO=1 make build", "cc: error: no such file", true);
    let ledger = failed.ledger();
    assert_eq!(ledger.work.troubles[0].said, "cc: error: no such file");
    assert!(!ledger.work.troubles[0].mended);
    let ledger = talk()
        .bash("FOO=1 make build", "cc: error: no such file", true)
        .bash("cd /x && make build", "done", false)
        .tool(
            "Edit",
            edit("/a/b.rs", "x", "y"),
            "String to replace not found",
            true,
        )
        .ledger();
    let open: Vec<_> = ledger.work.troubles.iter().filter(|t| !t.mended).collect();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].what, "Edit /a/b.rs");
}

#[test]
fn a_pipe_does_not_hide_failing_tests() {
    let ledger = talk()
        .bash(
            "go test ./... | tail -5",
            "--- FAIL: TestCart (0.01s)\nFAIL",
            false,
        )
        .ledger();
    let tests = ledger
        .work
        .tests
        .as_ref()
        .map(|t| (t.passed, t.failing.clone()));
    assert_eq!(tests, Some((false, vec!["TestCart (0.01s)".to_owned()])));
}

#[test]
fn commits_and_addresses() {
    let ledger = talk()
        .bash(
            "git commit -m x",
            "[cart 1a2b3c4] Round down\n 1 file changed",
            false,
        )
        .agent("It runs at http://localhost:8420/health, see https://example.org/pr/7.")
        .ledger();
    assert_eq!(ledger.work.commits[0].hash, "1a2b3c4");
    assert_eq!(ledger.links.ports, ["8420"]);
    assert_eq!(
        ledger.links.urls,
        ["http://localhost:8420/health", "https://example.org/pr/7"]
    );
}

#[test]
fn a_compaction_begins_anew_and_keeps_what_people_said() {
    let ledger = day()
        .compacted("Summary: the cart has cart_total_with_discount.")
        .person("now the docs")
        .ledger();
    assert_eq!(ledger.compactions, 1);
    assert_eq!(ledger.steps, 2);
    assert!(ledger.files.all.is_empty());
    let said: Vec<&str> = ledger.directives().map(|d| d.text.as_str()).collect();
    assert_eq!(said, ["now the docs"]);
    let text = document(&ledger, &Frame::default(), 2_000);
    assert!(
        text.contains("Add a discount to the cart."),
        "the goal stays: {text}"
    );
    assert!(text.contains("Latest message: now the docs"), "{text}");
    assert!(text.contains("cart_total_with_discount"), "{text}");
    assert!(!text.contains("percentDiscountApplies"), "{text}");
}

#[test]
fn memory_is_bounded() {
    let mut ledger = Ledger::default();
    let mut reader = Reader::new(Dialect::Claude);
    for n in 0..3_000 {
        let names: Vec<String> = (0..20).map(|k| format!("name_{n}_{k}_long")).collect();
        let talk = talk().tool(
            "Read",
            json!({"file_path":format!("/a/b{n}/c{n}.rs")}),
            &names.join(" "),
            false,
        );
        let lines = talk.lines;
        reader.feed(lines.as_bytes(), &mut |at, record| ledger.add(at, &record));
    }
    assert!(ledger.names.len() <= 16_384 + 20);
    assert!(ledger.files.all.len() <= 4_000);
    // what came last is there
    assert!(ledger.names.get("name_2999_0_long").is_some());
}

/// Pieces of conversations of every kind, in any order.
fn conversation() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        "[a-z_A-Z/.0-9 \n?`é]{0,80}",
        Just("we decided to use fooBarBaz instead of src/old_thing.rs. Shall I?".to_owned()),
        any::<String>(),
    ];
    let step =
        (0u8..11, word.clone(), word, any::<bool>()).prop_map(|(kind, a, b, flag)| match kind {
            0 => talk().person(&a),
            1 => talk().agent(&a),
            2 => talk().tool("Read", json!({"file_path":a}), &b, flag),
            3 => talk().tool("Edit", edit(&a, &b, &a), &b, flag),
            4 => talk().bash(&a, &b, flag),
            5 => talk().tool(
                "TodoWrite",
                json!({"todos":[{"content":a,"status":"pending"}]}),
                &b,
                flag,
            ),
            6 => talk().compacted(&a),
            7 => talk().call("Task", json!({"description":a})),
            8 => talk().bash("cargo test", &format!("--- FAIL: {a}\n"), flag),
            9 => talk().tool(
                "Write",
                json!({"file_path":format!("/home/me/shop/{a}/x.rs"),"content":b}),
                "created",
                flag,
            ),
            _ => Talk { lines: a, calls: 0 },
        });
    proptest::collection::vec(step, 0..25).prop_map(|steps| {
        steps
            .iter()
            .map(|s| s.lines.as_str())
            .collect::<String>()
            .into_bytes()
    })
}

fn frame() -> impl Strategy<Value = Frame> {
    let texts = || proptest::collection::vec("[a-z \n]{0,200}", 0..4);
    (any::<bool>(), texts(), texts(), texts()).prop_map(|(known, pins, in_flight, dirty)| Frame {
        now: known.then_some(Timestamp(1_794_724_268_132)),
        session: known.then(|| "shop".to_owned()),
        pins,
        in_flight,
        repository: known.then(|| Repository {
            branch: None,
            dirty,
            commits: vec![],
        }),
        began_with: known.then(|| "/handoffs/1/document.md".into()),
        rest: known.then(|| "/home/me/t.jsonl".to_owned()),
    })
}

fn cut<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    cuts.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for cut in cuts {
        pieces.push(&bytes[from..cut]);
        from = cut;
    }
    pieces.push(&bytes[from..]);
    pieces
}

proptest! {
    #[test]
    fn the_budget_is_never_exceeded(
        bytes in conversation(),
        frame in frame(),
        budget in prop_oneof![0usize..1_000, 1_000usize..50_000],
    ) {
        let ledger = read(Dialect::Claude, &[&bytes]);
        let text = document(&ledger, &frame, budget);
        prop_assert!(text.chars().count() <= budget);
    }

    #[test]
    fn however_it_arrives_it_is_the_same_ledger_and_document(
        bytes in conversation(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let whole = read(Dialect::Claude, &[&bytes]);
        let pieces = read(Dialect::Claude, &cut(&bytes, &cuts));
        let written = serde_json::to_string(&whole).unwrap_or_default();
        prop_assert_eq!(&written, &serde_json::to_string(&pieces).unwrap_or_default());
        // kept on disk in between, it goes on as it was
        let kept: Ledger = serde_json::from_str(&written).unwrap_or_default();
        let frame = Frame::default();
        for budget in [1_000, 4_000, 20_000] {
            let text = document(&whole, &frame, budget);
            prop_assert_eq!(&text, &document(&pieces, &frame, budget));
            prop_assert_eq!(&text, &document(&kept, &frame, budget));
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400), which in 0usize..3) {
        let dialect = [Dialect::Claude, Dialect::Codex, Dialect::Pi][which];
        let ledger = read(dialect, &[&bytes]);
        prop_assert!(document(&ledger, &Frame::default(), 1_000).chars().count() <= 1_000);
    }
}

#[test]
fn secrets_are_neither_kept_nor_written() {
    let key = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let ledger = talk()
        .person(&format!("push with {key} please"))
        .agent(&format!("I use {key} now."))
        .bash(
            &format!("GITHUB_TOKEN={key} git push"),
            &format!("error: bad token {key}"),
            true,
        )
        .tool(
            "Read",
            json!({"file_path":"/home/me/shop/.env"}),
            &format!("TOKEN={key}"),
            false,
        )
        .tool(
            "TodoWrite",
            json!({"todos":[{"content":format!("rotate {key}"),"status":"pending"}]}),
            "ok",
            false,
        )
        .ledger();
    let kept = serde_json::to_string(&ledger).unwrap_or_default();
    assert!(!kept.contains(&key), "{kept}");
    assert!(ledger.redacted >= 3);
    let frame = Frame {
        in_flight: vec![format!("child with {key}")],
        ..Frame::default()
    };
    for budget in [1_000, 4_000, 50_000] {
        let text = document(&ledger, &frame, budget);
        assert!(
            !text.contains(&key) && text.contains("Redacted: "),
            "{text}"
        );
    }
}
