//! No secret is in what the ledger writes down, whatever agent said it and wherever it stood.

use sm_ledger::{Dialect, Frame, Ledger, Reader, document};

/// Shaped like names on purpose: alone, nothing tells that they are secrets.
const SECRETS: [&str; 12] = [
    "quiet_Harbour_77",
    "blue_Heron_42",
    "amberFoxRuns",
    "stone_Bridge_Song",
    "lanternMossGlow",
    "velvet_Otter_09",
    "copper_Kettle_Song",
    "Regen_Wald_31",
    "Pluie_Verte_12",
    "mint_Cookie_5512ab",
    "Feng_Yue_88",
    "nested7Willow_Tune",
];

/// A tool, its input, and what it gives back.
fn calls() -> Vec<(&'static str, serde_json::Value, String)> {
    let bash = |command: &str, output: &str| {
        (
            "Bash",
            serde_json::json!({ "command": command }),
            output.to_owned(),
        )
    };
    vec![
        bash(
            "curl -sS -H \"Authorization: Bearer quiet_Harbour_77\" https://api.acme.dev/v1/boats",
            "{\"boats\": 3}",
        ),
        bash("PGPASSWORD=blue_Heron_42 psql -h db -c 'select 1'", " 1"),
        bash(
            "cat config.yaml",
            "database:\n  user: app_user\n  password: amberFoxRuns\n  pool_size: 12\n",
        ),
        (
            "Read",
            serde_json::json!({"file_path": "/srv/app/settings.json"}),
            "     1\t{\n     2\t  \"smtp_password\": \"stone_Bridge_Song\",\n     3\t  \"client_secret\": \"lanternMossGlow\"\n     4\t}".to_owned(),
        ),
        (
            "Write",
            serde_json::json!({"file_path": "/srv/app/config.yaml", "content": "auth:\n  admin_password: velvet_Otter_09\n  retry_count: 3\n"}),
            "File created successfully at: /srv/app/config.yaml".to_owned(),
        ),
        bash(
            "cat > settings.json <<'EOF'\n{\"db\": {\"password\": \"copper_Kettle_Song\"}}\nEOF",
            "",
        ),
        bash(
            "curl -b 'session=mint_Cookie_5512ab' https://acme.dev/harbour_master",
            "ok",
        ),
        (
            "mcp__db__connect",
            serde_json::json!({"host": "db_primary", "options": {"password": "nested7Willow_Tune"}}),
            "connected".to_owned(),
        ),
    ]
}

fn claude() -> String {
    let mut lines = vec![
        person_claude("try amberFoxRuns first"),
        person_claude(
            "Das Passwort ist Regen_Wald_31. Le mot de passe : Pluie_Verte_12, 密码是Feng_Yue_88。 Port invoice_module.",
        ),
    ];
    for (n, (tool, input, output)) in calls().into_iter().enumerate() {
        let id = format!("toolu_{n}");
        lines.push(serde_json::json!({"type": "assistant", "sessionId": "c", "message": {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}}).to_string());
        lines.push(serde_json::json!({"type": "user", "sessionId": "c", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": output}]}}).to_string());
    }
    lines.push(serde_json::json!({"type": "assistant", "sessionId": "c", "message": {"role": "assistant", "content": [{"type": "text", "text": "I connected with amberFoxRuns and blue_Heron_42 and stone_Bridge_Song; invoice_module is next."}]}}).to_string());
    lines.join("\n") + "\n"
}

fn person_claude(text: &str) -> String {
    serde_json::json!({"type": "user", "sessionId": "c", "message": {"role": "user", "content": text}}).to_string()
}

fn codex() -> String {
    let item = |payload: serde_json::Value| {
        serde_json::json!({"type": "response_item", "timestamp": "2026-03-01T11:00:07.000Z", "payload": payload}).to_string()
    };
    let message = |role: &str, text: &str| {
        item(
            serde_json::json!({"type": "message", "role": role, "content": [{"type": "text", "text": text}]}),
        )
    };
    let mut lines = vec![message(
        "user",
        "Das Passwort ist Regen_Wald_31. Le mot de passe : Pluie_Verte_12, 密码是Feng_Yue_88。 Port invoice_module.",
    )];
    for (n, (tool, input, output)) in calls().into_iter().enumerate() {
        let id = format!("call_{n}");
        let (tool, input) = match input.get("command") {
            Some(command) => (
                "shell",
                serde_json::json!({"command": ["bash", "-lc", command]}),
            ),
            None => (tool, input),
        };
        lines.push(item(serde_json::json!({"type": "function_call", "call_id": id, "name": tool, "arguments": input.to_string()})));
        lines.push(item(
            serde_json::json!({"type": "function_call_output", "call_id": id, "output": output}),
        ));
    }
    lines.push(message("assistant", "I connected with amberFoxRuns and blue_Heron_42 and stone_Bridge_Song; invoice_module is next."));
    lines.join("\n") + "\n"
}

#[test]
fn no_secret_is_kept_nor_handed_over_by_either_agent() {
    for (dialect, transcript) in [(Dialect::Claude, claude()), (Dialect::Codex, codex())] {
        let mut ledger = Ledger::default();
        Reader::new(dialect).feed(transcript.as_bytes(), &mut |at, record| {
            ledger.add(at, &record);
        });
        let kept = serde_json::to_string(&ledger).unwrap();
        let text = document(&ledger, &Frame::default(), 50_000);
        for secret in SECRETS {
            assert!(!kept.contains(secret), "{dialect:?}: {secret} in {kept}");
            assert!(!text.contains(secret), "{dialect:?}: {secret} in {text}");
        }
        // what is no secret is as known as before
        for name in ["invoice_module", "harbour_master", "db_primary", "app_user"] {
            assert!(kept.contains(name), "{dialect:?}: {name} is gone: {kept}");
        }
        assert!(
            ledger.redacted >= SECRETS.len() as u64,
            "{}",
            ledger.redacted
        );
    }
}

/// It came up before anything told what it is: in a command that still runs, in paths, in the folder
/// and the branch, and as a part of a longer name.
#[test]
fn what_turns_out_to_be_a_secret_is_taken_out_of_all_that_is_kept() {
    let secret = "blue_Heron_42";
    let place = |line: serde_json::Value| {
        let mut line = line;
        line["cwd"] = format!("/srv/{secret}/app").into();
        line["gitBranch"] = format!("wip/{secret}").into();
        line.to_string()
    };
    let call = |id: &str, tool: &str, input: serde_json::Value| {
        place(
            serde_json::json!({"type": "assistant", "sessionId": "c", "message": {"role": "assistant",
            "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}}),
        )
    };
    let said = |text: &str| {
        place(
            serde_json::json!({"type": "assistant", "sessionId": "c", "message": {"role": "assistant",
            "content": [{"type": "text", "text": text}]}}),
        )
    };
    let lines = [
        person_claude("begin"),
        call(
            "t1",
            "Read",
            serde_json::json!({"file_path": format!("/srv/{secret}/notes.md")}),
        ),
        call(
            "t2",
            "Bash",
            serde_json::json!({"command": format!("deploy {secret}.tar")}),
        ),
        said(&format!(
            "the old one is {secret}_backup, {secret} is next to invoice_module"
        )),
    ];
    let telling = call(
        "t3",
        "Bash",
        serde_json::json!({"command": format!("PGPASSWORD={secret} psql -h db")}),
    );
    let mut ledger = Ledger::default();
    let mut reader = Reader::new(Dialect::Claude);
    let mut feed = |lines: &str, ledger: &mut Ledger| {
        reader.feed(lines.as_bytes(), &mut |at, record| ledger.add(at, &record));
    };
    feed(&(lines.join("\n") + "\n"), &mut ledger);
    let kept = serde_json::to_string(&ledger).unwrap();
    for part in ["notes.md", "deploy", "/app", "wip/", "_backup"] {
        assert!(kept.contains(part), "{part} is not kept at all: {kept}");
    }
    assert!(kept.contains(secret), "nothing has told yet what it is");
    feed(&(telling + "\n"), &mut ledger);
    let kept = serde_json::to_string(&ledger).unwrap();
    assert!(!kept.contains(secret), "{kept}");
    assert!(kept.contains("invoice_module"), "{kept}");
}
