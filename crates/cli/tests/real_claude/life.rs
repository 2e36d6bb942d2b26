//! A session from its launch to its end and back.

use crate::common::occurrences;
use crate::people::wait_composer;
use crate::{FREE, claude, closing, once};
use sm_testkit::model::{conversation_of, is_main};
use sm_testkit::wait_until;

#[test]
fn starts_to_idle() {
    let Some(world) = claude("starts_to_idle") else {
        return;
    };
    let shown = world.start_idle("api", &FREE);
    assert_eq!(shown["agent"], "claude");
    assert_eq!(shown["generation"], 1);
    assert!(shown["conversation_id"].is_string());
    assert!(shown["pid"].is_u64());
    assert_eq!(world.main_requests().len(), 0, "the model heard nothing");
}

#[test]
fn a_first_prompt_arrives_whatever_it_begins_with() {
    let Some(world) = claude("a_first_prompt_arrives_whatever_it_begins_with") else {
        return;
    };
    for (name, prompt, way) in [
        ("plain", "the first words\n\tand more", "launch_argument"),
        ("slash", "/clear is no command here", "paste"),
    ] {
        let mut args = vec!["--prompt", prompt];
        args.extend(FREE);
        let started = world.start(name, &args);
        let request = world.request_with(prompt);
        assert_eq!(
            conversation_of(&request),
            started["conversation_id"].as_str()
        );
        let last = closing(&world, name);
        assert_eq!(occurrences(&last, prompt), 1);
        let messages = world.ask(&format!("/sessions/{name}/messages?all=true"));
        assert_eq!(messages[0]["text"], prompt);
        assert_eq!(messages[0]["way"], way, "{messages}");
        assert_eq!(messages[0]["state"], "consumed", "{messages}");
    }
}

#[test]
fn two_sessions_in_one_directory_never_mix() {
    let Some(world) = claude("two_sessions_in_one_directory_never_mix") else {
        return;
    };
    world.start("fk", &FREE);
    world.start("fk2", &FREE);
    let of = |name: &str| {
        let shown = world.wait_state(name, "idle");
        shown["conversation_id"].as_str().unwrap().to_owned()
    };
    let conversations = [of("fk"), of("fk2")];
    let mut sent = Vec::new();
    for n in 0..3 {
        for (at, name) in ["fk", "fk2"].into_iter().enumerate() {
            let text = format!("number {n} for {name}.");
            sent.push((world.send(name, &text, &[]), at, name, text));
        }
    }
    for (id, _, name, _) in &sent {
        world.wait_message(name, id, "submitted");
    }
    let last = [closing(&world, "fk"), closing(&world, "fk2")];
    for (_, at, _, text) in &sent {
        assert_eq!(occurrences(&last[*at], text), 1, "{text}");
        assert_eq!(occurrences(&last[1 - *at], text), 0, "{text}");
    }
    for (request, conversation) in last.iter().zip(&conversations) {
        assert_eq!(conversation_of(request), Some(conversation.as_str()));
    }
    assert_ne!(conversations[0], conversations[1]);
}

#[test]
fn a_restored_session_has_its_conversation() {
    let Some(world) = claude("a_restored_session_has_its_conversation") else {
        return;
    };
    let before = world.start_idle("api", &FREE);
    let first = "said before the end";
    let id = world.send("api", first, &[]);
    once(&world, "api", &id, first);
    world.wait_state("api", "idle");
    world.type_text("api", "/exit");
    wait_composer(&world, "api", "❯\u{a0}/exit");
    world.key("api", "Enter");
    let ended = world.wait_state("api", "exited");
    assert_eq!(ended["exit_code"], 0, "{ended}");
    let refused = world.sm_with(&["send", "api", "--json", "-"], "to nobody");
    assert_ne!(refused.code, Some(0));
    assert_eq!(refused.json()["state"], "failed");
    world.sm(&["restore", "api", "--detach"]).exits(0);
    let after = world.wait_state("api", "idle");
    for key in ["id", "name", "conversation_id", "generation"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    let text = "said after the restore";
    let id = world.send("api", text, &[]);
    let request = world.request_with(text);
    assert_eq!(occurrences(&request, first), 1, "it remembers");
    assert_eq!(occurrences(&request, "to nobody"), 0);
    assert_eq!(
        conversation_of(&request),
        before["conversation_id"].as_str()
    );
    once(&world, "api", &id, text);
}

#[test]
fn a_nested_agent_does_not_speak_for_the_session() {
    let Some(world) = claude("a_nested_agent_does_not_speak_for_the_session") else {
        return;
    };
    let shown = world.start_idle("api", &FREE);
    let program = sm_testkit::real::claude().unwrap().program;
    let settings = world
        .env
        .sm_home()
        .join("data/sessions")
        .join(shown["id"].as_str().unwrap())
        .join("settings.json");
    assert!(settings.exists());
    // with the session's own hooks and its whole environment
    let command = format!(
        "RUN: {} --settings {} --model claude-sonnet-4-5 -p 'HOLD: nested words'",
        program.display(),
        settings.display()
    );
    world.send_wait("api", &command, &[]);
    world.hold("nested words");
    let text = "for the outer one";
    let id = world.send("api", text, &["--mode", "important"]);
    let during = world.show("api");
    assert_eq!(during["state"], "working", "{during}");
    assert_eq!(during["conversation_id"], shown["conversation_id"]);
    world.model.release("nested words");
    world.request_with(text);
    once(&world, "api", &id, text);
    let after = world.show("api");
    assert_eq!(after["generation"], 1);
    assert_eq!(after["conversation_id"], shown["conversation_id"]);
    let own = shown["conversation_id"].as_str();
    let requests = world.model.requests();
    let nested: Vec<_> = requests
        .iter()
        .filter(|r| is_main(r) && conversation_of(r) != own)
        .collect();
    assert!(!nested.is_empty(), "the nested one ran");
    assert!(nested.iter().all(|r| occurrences(r, text) == 0));
    let ignored = world.events("api");
    assert!(
        ignored.iter().any(|line| line.contains("nested")),
        "its hooks were heard and ignored: {ignored:#?}"
    );
}

/// Every file below a folder.
fn files(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path(), found),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            Ok(_) | Err(_) => {}
        }
    }
}

#[test]
fn secrets_are_neither_in_argument_lists_nor_on_disk() {
    let Some(mut world) = claude("secrets_are_neither_in_argument_lists_nor_on_disk") else {
        return;
    };
    world.env.set("SOME_TOKEN", "tok-31415926535897932384626");
    let shown = world.start_idle("api", &FREE);
    let environ = std::fs::read(format!("/proc/{}/environ", shown["pid"])).unwrap();
    let environ = String::from_utf8_lossy(&environ).into_owned();
    let value = |name: &str| {
        let start = format!("{name}=");
        let found = environ.split('\0').find_map(|v| v.strip_prefix(&start));
        found.unwrap_or_else(|| panic!("no {name}")).to_owned()
    };
    assert_eq!(value("SOME_TOKEN"), "tok-31415926535897932384626");
    let secrets = [
        value("SM_SESSION_SECRET"),
        value("SOME_TOKEN"),
        value("ANTHROPIC_API_KEY"),
    ];
    world.send_wait("api", "RUN: echo one-$((1+1))", &[]);
    // the key is that of every test: what others show of it is not ours
    let home = world.env.home().to_str().unwrap().to_owned();
    let look = |what: &str| {
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let read = |name| std::fs::read(entry.path().join(name)).unwrap_or_default();
            let (line, environ) = (read("cmdline"), read("environ"));
            let line = String::from_utf8_lossy(&line).into_owned();
            if !line.contains(&home) && !String::from_utf8_lossy(&environ).contains(&home) {
                continue;
            }
            for secret in &secrets {
                assert!(!line.contains(secret.as_str()), "{what}: {line}");
            }
        }
    };
    // while it starts a tool, works and stops: hooks come and go
    let done = wait_until(crate::common::DEADLINE, || {
        look("ps shows a secret");
        let shown = world.show("api");
        (shown["state"] == "idle" && shown["turn"] == 1).then_some(())
    });
    assert!(done.is_some(), "{}", world.about("api"));
    let mut all = Vec::new();
    files(world.env.sm_home(), &mut all);
    assert!(!all.is_empty());
    for file in all {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "{}", file.display());
        }
    }
}

#[test]
fn the_users_status_line_is_shown_and_his_settings_are_untouched() {
    let Some(world) = claude("the_users_status_line_is_shown_and_his_settings_are_untouched")
    else {
        return;
    };
    let folder = world.env.home().join(".claude");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("settings.json");
    let settings = "{\n \"statusLine\": {\"type\": \"command\",  \"command\": \"echo my-own-$((40+2))-line\"}\n}\n";
    std::fs::write(&path, settings).unwrap();
    world.start_idle("api", &FREE);
    world.wait_screen("api", "my-own-42-line");
    world.send_wait("api", "a turn, so that there is usage", &[]);
    world.wait_screen("api", "% ctx");
    let known = wait_until(crate::common::DEADLINE, || {
        let context = world.show("api")["context"].clone();
        context["used_percentage"].is_number().then_some(context)
    });
    let context = known.unwrap_or_else(|| panic!("{}", world.about("api")));
    assert_eq!(context["window"], 200_000, "{context}");
    world.wait_state("api", "idle");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), settings);
}
