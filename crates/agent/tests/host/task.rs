//! A whole piece of work: read, edit, a test that fails, a fix, a handoff in the middle, the end.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use sm_testkit::model::ScriptedModel;

use crate::sum;
use crate::support::{DOCUMENT, lines};

struct Bench {
    home: tempfile::TempDir,
    model: ScriptedModel,
}

impl Bench {
    fn new(more: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let model = ScriptedModel::start().unwrap();
        let repo = home.path().join("repo");
        std::fs::create_dir(&repo).unwrap();
        let config = format!(
            "model = \"fake/fake-1\"\n[providers.fake]\napi = \"anthropic-messages\"\nbase_url = \"{}\"\nkey = \"sk-test\"\n{more}",
            model.url()
        );
        std::fs::write(home.path().join("agent.toml"), config).unwrap();
        Self { home, model }
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sm-agent"));
        command
            .arg("agent")
            .args(args)
            .current_dir(self.home.path().join("repo"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home.path())
            .env("SM_HOME", self.home.path())
            .stdin(Stdio::null());
        command
    }
}

fn result(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn a_real_task_with_a_handoff_in_its_middle() {
    let bench = Bench::new("[handoff]\ntokens = 10_000\n");
    let repo = bench.home.path().join("repo");
    let model = &bench.model;
    sum::prepare(&repo, model);
    model.control(|c| c.reply = Some(DOCUMENT.to_owned()));
    let running = bench
        .command(&["-p", sum::PROMPT, "--json", "--yes"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The context fills up with the second answer, and the new one is nearly empty.
    assert!(model.wait_for_hold("first", crate::support::DEADLINE));
    model.control(|c| c.input_tokens = 50_000);
    model.release("first");
    assert!(model.wait_for_hold("document", crate::support::DEADLINE));
    model.control(|c| c.input_tokens = 500);
    model.release("document");
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let result = result(&output);
    assert_eq!(result["outcome"], "done");
    assert_eq!(result["handoffs"].as_array().unwrap().len(), 1, "{result}");
    let new = result["session"].as_str().unwrap();
    let lines = lines(new.as_ref());
    assert!(lines[0]["parentSession"].is_string());
    assert_eq!(lines[1]["customType"], "handoff");
    let old = std::fs::read_to_string(lines[0]["parentSession"].as_str().unwrap()).unwrap();
    assert!(old.contains("FAILED sum") && !old.contains("printf passed"));
    sum::assert_fixed(&repo);
}

#[test]
fn the_answer_goes_to_stdout_and_everything_else_beside_it() {
    let bench = Bench::new("");
    let output = bench.run(&["-p", "RUN: echo quiet\nSAY: x", "--allow", "bash:echo"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "RUN done\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("bash echo quiet"));
    let output = bench.run(&["-p", "RUN: touch x", "--continue"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(!bench.home.path().join("repo/x").exists());
    let output = bench.run(&["-p", "FAIL: 400", "--continue", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(result(&output)["outcome"], "failed");
}

#[test]
fn a_handoff_answers_a_program_with_its_document() {
    let bench = Bench::new("[handoff]\nfacts = 0\nsave = \"all\"\n");
    let output = bench.run(&["-p", "/handoff", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(
        result(&output)["error"],
        "Nothing to hand off (no messages yet)"
    );
    assert!(bench.model.requests().is_empty());
    assert_eq!(bench.run(&["-p", "SAY: hello"]).status.code(), Some(0));
    bench.model.control(|c| c.reply = Some(DOCUMENT.to_owned()));
    let output = bench.run(&["-p", "/handoff the rest", "--continue", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let handoff = result(&output)["handoffs"][0].clone();
    assert_eq!(handoff["document"], DOCUMENT);
    let saved = handoff["saved_path"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(saved).unwrap().trim_end(), DOCUMENT);
    // the new session is the newest
    let output = bench.run(&["-p", "SAY: next", "--continue", "--json"]);
    assert_eq!(result(&output)["session"], handoff["session"]);
}

#[test]
fn what_is_wrong_is_said_before_anything_is_asked() {
    let bench = Bench::new("");
    for (args, code, said) in [
        (&["-p", "x", "--model", "nobody"][..], 2, "PROVIDER/ID"),
        (
            &["-p", "x", "--resume", "/nothing/here.jsonl"],
            2,
            "/nothing/here.jsonl",
        ),
        (&["-p", "x", "--continue"], 2, "no session"),
        (&["-p", "  "], 64, "empty"),
        (&["-p", "/model x"], 64, "only prompts"),
        (&["-p", "x", "--allow", "rm"], 64, "allows nothing"),
        (&["--wrong"], 64, "--wrong"),
    ] {
        let output = bench.run(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(stderr.contains(said), "{args:?}: {stderr}");
    }
    assert!(bench.model.requests().is_empty());
    std::fs::write(bench.home.path().join("agent.toml"), "modle = 1\n").unwrap();
    let output = bench.run(&["-p", "x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nearest valid key is `model`"));
}

#[test]
fn an_interrupt_from_outside_ends_it_and_says_so() {
    let bench = Bench::new("");
    let mut child = bench
        .command(&["-p", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"HOLD: long\nSAY: never")
        .unwrap();
    assert!(bench.model.wait_for_hold("long", crate::support::DEADLINE));
    let pid = i32::try_from(child.id()).unwrap();
    // SAFETY: a signal to a child of our own that has not been waited for.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGINT) }, 0);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert_eq!(result(&output)["outcome"], "interrupted");
}

/// Runs until this many lines were read, then kills it as nothing else can.
fn killed_after(bench: &Bench, count: usize) -> Vec<Value> {
    let mut child = bench
        .command(&[
            "-p",
            "RUN: echo a\nTHEN: echo b\nTHEN: echo c",
            "--json",
            "--yes",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let reader = BufReader::new(child.stdout.take().unwrap());
    let shown: Vec<Value> = reader
        .lines()
        .take(count)
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    shown
}

fn session_files(bench: &Bench) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let folders = std::fs::read_dir(bench.home.path().join("data/agent/sessions"));
    for folder in folders.into_iter().flatten() {
        let files = std::fs::read_dir(folder.unwrap().path()).unwrap();
        let files = files.map(|file| file.unwrap().path());
        found.extend(files.filter(|file| file.extension().is_some_and(|e| e == "jsonl")));
    }
    found
}

#[test]
fn nothing_that_was_shown_is_missing_after_a_kill_at_any_moment() {
    let mut furthest = 0;
    for count in 0..16 {
        // One handoff by itself at the end of the turn.
        let bench = Bench::new("[handoff]\ntokens = 1\nfacts = 0\n");
        bench.model.control(|c| c.reply = Some(DOCUMENT.to_owned()));
        let shown = killed_after(&bench, count);
        furthest = furthest.max(shown.len());
        let files = session_files(&bench);
        let mut kept = String::new();
        for file in &files {
            sm_agent::session::read(file).unwrap_or_else(|error| panic!("{error}"));
            kept.push_str(&std::fs::read_to_string(file).unwrap());
        }
        for line in &shown {
            let id = line["id"].as_str().unwrap_or_default();
            match line["type"].as_str().unwrap() {
                "tool" => assert!(
                    kept.contains(&format!("\"id\":\"{id}\"")),
                    "{count}: {line}"
                ),
                "tool_result" => {
                    assert!(
                        kept.contains(&format!("\"toolCallId\":\"{id}\"")),
                        "{count}: {line}"
                    );
                }
                "session" => {
                    let path = line["path"].as_str().unwrap();
                    assert!(
                        files.iter().any(|file| file.ends_with(path)),
                        "{count}: {line}"
                    );
                }
                "handoff" => assert!(
                    kept.contains("\"customType\":\"handoff\""),
                    "{count}: {line}"
                ),
                _ => {}
            }
        }
    }
    assert!(furthest >= 9, "the kills came at every moment: {furthest}");
}
