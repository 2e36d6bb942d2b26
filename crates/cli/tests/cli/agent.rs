//! What `sm` hands to its companion: `sm agent` and `sm generate`.

use std::path::{Path, PathBuf};
use std::process::Command;

use sm_testkit::model::ScriptedModel;

use crate::fake::{Home, Ran};

const DOCUMENT: &str = "## Objective\nCount the boats.\n\n## Constraints and preferences\nNone.\n\n## Progress\nEight are counted.\n\n## Decisions\nnone\n\n## Technical state\nharbour_register\n\n## Next actions\n1. Count the ninth.";

/// No Ollama of this machine is asked.
fn alone(home: &Home, args: &[&str]) -> Command {
    let mut command = home.sm(args);
    command.env("OLLAMA_HOST", "127.0.0.1:1");
    command
}

fn ran(mut command: Command) -> Ran {
    Ran::from(command.output().unwrap())
}

fn transcript(home: &Home) -> PathBuf {
    let path = home.path().join("t.jsonl");
    let line = |role: &str, content: &str| {
        format!(
            "{{\"type\":\"{role}\",\"sessionId\":\"s\",\"message\":{{\"role\":\"{role}\",\"content\":\"{content}\"}}}}\n"
        )
    };
    let text = line("user", "Count the boats in harbour_register.") + &line("assistant", "Eight.");
    std::fs::write(&path, text).unwrap();
    path
}

fn configured(home: &Home, model: &ScriptedModel) {
    std::fs::create_dir_all(home.path().join("sm")).unwrap();
    let config = format!(
        "model = \"fake/fake-1\"\n[providers.fake]\napi = \"anthropic-messages\"\nbase_url = \"{}\"\nkey = \"dummy\"\n",
        model.url()
    );
    std::fs::write(home.path().join("sm/agent.toml"), config).unwrap();
}

fn generate(home: &Home, transcript: &Path, more: &[&str]) -> Ran {
    let transcript = transcript.to_str().unwrap();
    let args = [&["generate", "--transcript", transcript], more].concat();
    ran(alone(home, &args))
}

#[test]
fn without_any_configuration_it_is_said_in_three_lines_how_to_begin() {
    let test = "without_any_configuration_it_is_said_in_three_lines_how_to_begin";
    if std::net::TcpStream::connect("127.0.0.1:8080").is_ok() {
        eprintln!("SKIPPED {test}: a server of this machine would be found");
        return;
    }
    let home = Home::new();
    for args in [&["agent"][..], &["agent", "-p", "hello"]] {
        let said = ran(alone(&home, args)).exits(2);
        assert_eq!(said.out, "");
        let lines: Vec<&str> = said.err.lines().collect();
        assert_eq!(lines.len(), 4, "a reason and three ways: {}", said.err);
        assert!(lines[0].starts_with("sm agent: no model is configured"));
        for (line, way) in lines[1..]
            .iter()
            .zip(["Anthropic:", "OpenAI:", "your own:"])
        {
            assert!(line.trim_start().starts_with(way), "{line}");
        }
    }
    assert!(!home.path().join("sm/data").exists(), "nothing was begun");
}

#[test]
fn without_a_key_it_is_said_which_and_where_to_put_it() {
    let home = Home::new();
    let args = [
        "agent",
        "-p",
        "hello",
        "--model",
        "anthropic/claude-sonnet-4-5",
    ];
    let said = ran(alone(&home, &args)).exits(2);
    assert!(said.err.contains("set ANTHROPIC_API_KEY"), "{}", said.err);
    assert_eq!(said.out, "");
}

#[test]
fn without_its_companion_it_is_said_what_is_missing() {
    let home = Home::new();
    let lonely = home.path().join("lonely");
    std::fs::create_dir(&lonely).unwrap();
    let sm = lonely.join("sm");
    // A copy, not a link: a link is followed to where its companions are.
    std::fs::copy(env!("CARGO_BIN_EXE_sm"), &sm).unwrap();
    for args in [&["agent"][..], &["generate", "--transcript", "t.jsonl"]] {
        let mut command = Command::new(&sm);
        command
            .args(args)
            .env_clear()
            .env("SM_HOME", home.path().join("sm"))
            .env("HOME", home.path());
        let said = ran(command).exits(2);
        assert!(
            said.err.contains("sm-agent is not beside sm"),
            "{}",
            said.err
        );
        assert!(said.err.contains("make install"), "{}", said.err);
    }
}

#[test]
fn a_document_about_a_transcript_goes_to_stdout_and_nothing_else_does() {
    let home = Home::new();
    let model = ScriptedModel::start().unwrap();
    configured(&home, &model);
    model.control(|c| c.reply = Some(DOCUMENT.to_owned()));
    let path = transcript(&home);
    let said = generate(&home, &path, &["the ninth boat"]).exits(0);
    assert!(said.out.starts_with(DOCUMENT), "{}", said.out);
    assert!(said.err.contains("Written by fake/fake-1"), "{}", said.err);
    let asked = model.requests().pop().unwrap().body.to_string();
    assert!(asked.contains("Count the boats in harbour_register."));
    assert!(asked.contains("Additional focus: the ninth boat"));
    let json = generate(&home, &path, &["--json"]).exits(0);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert!(json["document"].as_str().unwrap().starts_with(DOCUMENT));
    assert!(json["told"].as_str().unwrap().contains("fake/fake-1"));
}

#[test]
fn what_cannot_be_read_and_what_is_no_transcript_are_named() {
    let home = Home::new();
    let model = ScriptedModel::start().unwrap();
    configured(&home, &model);
    let missing = generate(&home, &home.path().join("nothing.jsonl"), &[]).exits(1);
    assert!(missing.err.contains("nothing.jsonl"), "{}", missing.err);
    let notes = home.path().join("notes.md");
    std::fs::write(&notes, "# Notes\n").unwrap();
    let other = generate(&home, &notes, &[]).exits(1);
    assert!(other.err.contains("is no transcript of"), "{}", other.err);
    let folder = generate(&home, home.path(), &[]).exits(1);
    assert_eq!(folder.out, "");
    assert!(model.requests().is_empty(), "nobody is asked about nothing");
    ran(alone(&home, &["generate"])).exits(64);
}

#[test]
fn without_a_model_the_document_comes_from_the_record() {
    let home = Home::new();
    let path = transcript(&home);
    let said = generate(&home, &path, &["--model", "openai/gpt-5.1"]).exits(0);
    assert!(
        said.out.contains("Count the boats in harbour_register."),
        "{}",
        said.out
    );
    assert!(said.err.contains("without a model"), "{}", said.err);
    assert!(said.err.contains("OPENAI_API_KEY"), "{}", said.err);
}
