//! Both sides one after the other: what one leaves the other takes, and both say the same of it.

use super::*;

#[test]
fn created_by_one_side_and_loaded_by_the_other() {
    for (n, (maker, taker)) in [
        (Side::Sm, Side::Shell),
        (Side::Shell, Side::Sm),
        (Side::Sm, Side::Sm),
        (Side::Shell, Side::Shell),
    ]
    .into_iter()
    .enumerate()
    {
        // the shell's ids are unique within a second only by their session
        let world = World::new();
        let channel = format!("c{n}");
        let who = format!("{maker:?} to {taker:?}");
        world.call(Side::Shell, &["write_session_file", SESSION, "/t.jsonl"]);
        let text = "# Ünïcode \"quoted\" $HOME `x`\n\nsecond";
        let made = world
            .call(maker, &["create_handoff", &channel, text, "auto"])
            .exits(0);
        let id = made.out.trim_end();
        assert!(
            id.starts_with("HO-") && id.ends_with("-c74cc080"),
            "{who}: {id}"
        );
        let path = world.claude(&format!("handoff/{channel}-CURRENT.md"));
        for side in SIDES {
            let call = |function| world.call(side, &[function, &channel]).exits(0).out;
            assert_eq!(call("get_active_handoff_id").trim_end(), id);
            assert_eq!(
                call("get_active_handoff_file").trim_end(),
                path.to_str().unwrap()
            );
            assert_eq!(call("has_active_handoff"), "");
        }
        let document = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = document.lines().collect();
        let work = fs::canonicalize(world.home.path().join("work")).unwrap();
        assert_eq!(lines[0], format!("<!-- HANDOFF-ID: {id} -->"), "{who}");
        assert_eq!(lines[1], format!("<!-- SESSION: {SESSION} -->"), "{who}");
        assert_eq!(lines[2], format!("<!-- CHANNEL: {channel} -->"), "{who}");
        assert!(lines[3].starts_with("<!-- CREATED: 2"), "{who}");
        assert_eq!(lines[4], "<!-- TYPE: auto -->", "{who}");
        assert_eq!(
            lines[5],
            format!("<!-- WORKING-DIR: {} -->", work.display()),
            "{who}"
        );
        assert!(
            document.ends_with(&format!("\n\n{text}\n")),
            "{who}: {document}"
        );

        let loaded = world
            .call(taker, &["load_handoff", &channel, "4321"])
            .exits(0);
        assert_eq!(loaded.out, document, "{who}");
        let entry = &world.manifest(&channel)["current"];
        assert_eq!(entry["status"], "consumed", "{who}");
        assert_eq!(entry["consumed_by_pid"], 4321, "{who}");
        assert!(entry["consumed_at"].is_string(), "{who}");
        let archived = fs::read_to_string(world.claude(&format!("handoff/archive/{id}.md")));
        assert_eq!(archived.unwrap(), document, "{who}");
        assert!(!path.exists(), "{who}");
        for side in SIDES {
            let again = world.call(side, &["load_handoff", &channel]).exits(1);
            assert_eq!(again.out, "", "{who}");
            world.call(side, &["has_active_handoff", &channel]).exits(1);
            world
                .call(side, &["get_active_handoff_id", &channel])
                .exits(1);
        }
        assert!(!world.claude(&format!("handoff/{channel}.lock.d")).exists());
    }
}

#[test]
fn every_function_of_the_library_says_and_exits_the_same() {
    let transcript = concat!(
        r#"{"type":"user","message":{"content":"first"}}"#,
        "\n",
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"a\nb"}]}}"#,
        "\n",
        r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"x"}]}}"#,
        "\n",
        r#"{"type":"user","message":{"content":"last"}}"#,
        "\n"
    );
    let worlds = [World::new(), World::new()];
    for world in &worlds {
        fs::write(world.home.path().join("work/t.jsonl"), transcript).unwrap();
    }
    let manifest = r#"{"channel":"m","current":{"id":"HO-20260202-064530-a","status":"cleared"}}"#;
    // In this order, each in its own world.
    let calls: &[&[&str]] = &[
        &["get_current_session_id"],
        &["get_current_transcript_path"],
        &["read_manifest", "m"],
        &["has_active_handoff", "m"],
        &["get_active_handoff_id", "m"],
        &["get_active_handoff_file", "m"],
        &["load_handoff", "m"],
        &["clear_handoff", "m"],
        &["write_manifest", "m", manifest],
        &["write_manifest", "m", "{"],
        &["read_manifest", "m"],
        &["write_session_file", SESSION, "/a:b/t.jsonl"],
        &["get_current_session_id"],
        &["get_current_transcript_path"],
        &["generate_handoff_id", "abc-def-123456"],
        &["generate_handoff_id"],
        &["create_handoff", "m", "--text"],
        &["has_active_handoff", "m"],
        &["get_active_handoff_id", "m"],
        &["clear_handoff", "m"],
        &["has_active_handoff", "m"],
        &["load_handoff", "m"],
        &["create_handoff", "", "default channel", "bye"],
        &["load_handoff"],
        &["extract_recent_context", "t.jsonl"],
        &["extract_recent_context", "t.jsonl", "2"],
        &["extract_recent_context", "missing.jsonl"],
        &["clear_session_file"],
        &["get_current_session_id"],
    ];
    for call in calls {
        let [sm, shell] = [0, 1].map(|n| {
            let said = worlds[n].call(SIDES[n], call);
            let home = worlds[n].home.path().to_str().unwrap();
            (said.code, without_times(&said.out.replace(home, "~")))
        });
        assert_eq!(sm, shell, "{call:?}");
    }
    worlds[0].call(Side::Sm, &["no_such_function"]).exits(64);
    worlds[0].call(Side::Sm, &["create_handoff", "m"]).exits(64);
}

/// Digits are where times and processes are. Of two handoffs in one second ours has a longer name.
fn without_times(text: &str) -> String {
    text.lines()
        .map(|line| {
            let at = ["HANDOFF-ID", "CREATED", "HO-2"];
            if at.iter().any(|key| line.contains(key)) {
                let same = line.replace(|c: char| c.is_ascii_digit(), "0");
                // a second one of the same second has a number after its name
                match same.split_once("c00cc000x") {
                    Some((before, more)) => {
                        format!("{before}c00cc000{}\n", more.trim_start_matches('0'))
                    }
                    None => same + "\n",
                }
            } else {
                line.to_owned() + "\n"
            }
        })
        .collect()
}

#[test]
fn what_is_damaged_is_refused_logged_and_left() {
    let world = World::new();
    let made = world
        .call(Side::Sm, &["create_handoff", "global", "first"])
        .exits(0);
    let id = made.out.trim_end();
    let current = world.claude("handoff/global-CURRENT.md");
    let manifest = world.claude("handoff/global.manifest.json");
    let whole = fs::read(&manifest).unwrap();
    let document = fs::read(&current).unwrap();

    // Another document than the manifest says.
    let other = "<!-- HANDOFF-ID: HO-20260101-000000-other -->\n\nother\n";
    fs::write(&current, other).unwrap();
    world
        .run(&["load"])
        .exits(1)
        .complains("but HO-20260101-000000-other");
    assert_eq!(fs::read_to_string(&current).unwrap(), other);
    // None.
    fs::remove_file(&current).unwrap();
    world.run(&["load"]).exits(1).complains("is missing");
    assert_eq!(fs::read(&manifest).unwrap(), whole);
    // No manifest, or none that can be read.
    fs::write(&current, &document).unwrap();
    fs::write(&manifest, "{\"current\": {").unwrap();
    for command in ["load", "show", "clear"] {
        world.run(&[command]).exits(1).complains("is damaged");
    }
    assert_eq!(fs::read_to_string(&manifest).unwrap(), "{\"current\": {");
    assert_eq!(fs::read(&current).unwrap(), document);
    let log = fs::read_to_string(world.claude("handoff/handoff.log")).unwrap();
    for part in ["HO-20260101-000000-other", "is missing", "is damaged"] {
        assert!(log.contains(part), "{part} in {log}");
    }
    // A new one can be made; what was there is in the archive.
    let next = world
        .call(Side::Sm, &["create_handoff", "global", "second"])
        .exits(0);
    let next = next.out.trim_end();
    assert_ne!(next, id, "also within one second");
    let kept = world.claude("handoff/archive");
    assert_eq!(fs::read(kept.join(format!("{id}.md"))).unwrap(), document);
    let damaged = kept.join(format!("global-damaged-manifest-{next}.md"));
    assert_eq!(fs::read_to_string(damaged).unwrap(), "{\"current\": {");
    assert!(world.run(&["load"]).exits(0).out.ends_with("\n\nsecond\n"));
    // Archived ones can be read again.
    assert_eq!(
        world.run(&["load", "--id", id]).exits(0).out.as_bytes(),
        document
    );
    world
        .run(&["load", "--id", "HO-20200101-000000-x"])
        .exits(1)
        .complains("no handoff");
    world.run(&["load", "--id", "../x"]).exits(64);
    world.run(&["load", "--channel", "../x"]).exits(64);
}

#[test]
fn an_expired_one_is_kept_shown_and_loaded_when_asked_for() {
    let world = World::new();
    let made = world
        .call(Side::Sm, &["create_handoff", "global", "old"])
        .exits(0);
    let id = made.out.trim_end();
    let path = world.claude("handoff/global.manifest.json");
    let mut manifest = world.manifest("global");
    manifest["current"]["created_at"] = "2026-01-01T00:00:00Z".into();
    fs::write(&path, manifest.to_string()).unwrap();
    world.call(Side::Sm, &["has_active_handoff"]).exits(1);
    world
        .run(&["load"])
        .exits(1)
        .complains(&format!("sm channel load --id {id}"));
    let entry = &world.manifest("global")["current"];
    assert_eq!(entry["status"], "expired");
    assert!(entry["expired_at"].is_string());
    let shown: Value = serde_json::from_str(&world.run(&["show", "--json"]).exits(0).out).unwrap();
    assert_eq!(shown["status"], "expired");
    world.call(Side::Shell, &["load_handoff"]).exits(1);
    assert!(
        world
            .run(&["load", "--id", id])
            .exits(0)
            .out
            .ends_with("\nold\n")
    );
    assert_eq!(world.manifest("global")["current"]["status"], "consumed");
}
