//! Which channel a folder has, and where its files lie.

use super::*;

#[test]
fn the_channel_is_that_of_the_longest_path() {
    let world = World::new();
    let work = fs::canonicalize(world.home.path().join("work")).unwrap();
    let here = || world.run(&["current"]).exits(0).out;
    let own = here();
    assert!(own.starts_with("work-"), "{own}");
    world.run(&["register", ".", "app"]).exits(0);
    world.run(&["register", "inner", "inner"]).exits(0);
    world.run(&["register", "/", "bad/name"]).exits(64);
    assert_eq!(here(), "app\n");
    let mut inside = world.sm(&["current"]);
    inside.current_dir(work.join("inner"));
    assert_eq!(said(inside).exits(0).out, "inner\n");
    let registry = world.claude("channel-registry.json");
    let lines = fs::read_to_string(&registry).unwrap();
    let (outer, inner) = (work.display(), work.join("inner"));
    assert_eq!(
        lines,
        format!(
            "{{\n  \"{outer}\": \"app\",\n  \"{}\": \"inner\"\n}}\n",
            inner.display()
        )
    );
    let mut create = world.sm(&["create", "--type", "bye"]);
    fs::write(work.join("notes.md"), "notes").unwrap();
    create.stdin(fs::File::open(work.join("notes.md")).unwrap());
    let id = said(create).exits(0).out;
    assert!(id.ends_with("-unknown\n"), "{id}");
    assert_eq!(world.manifest("app")["current"]["type"], "bye");
    let listed = world.run(&["ls"]).exits(0).out;
    assert!(
        listed.contains("app") && listed.contains(id.trim_end()),
        "{listed}"
    );
    let cleared = world.run(&["clear", "--json"]).exits(0).out;
    assert!(cleared.contains(id.trim_end()), "{cleared}");
    world.run(&["clear"]).exits(1);
    world
        .run(&["load"])
        .exits(1)
        .complains("no active handoff in channel app");
    world.run(&["unregister", "."]).exits(0);
    world.run(&["unregister", "."]).exits(1);
    assert_eq!(here(), own);
    // A registry that cannot be read is left alone, and nothing fails for it.
    fs::write(&registry, "{").unwrap();
    world
        .run(&["register", ".", "app"])
        .exits(1)
        .complains("left as it is");
    assert_eq!(fs::read_to_string(&registry).unwrap(), "{");
    assert_eq!(here(), own);
}

#[test]
fn the_files_stay_in_claudes_folder_unless_one_key_moves_them() {
    let world = World::new();
    world
        .call(Side::Sm, &["create_handoff", "global", "x"])
        .exits(0);
    assert!(world.claude("handoff/global-CURRENT.md").exists());
    assert!(!world.home.path().join("sm/handoff").exists());
    fs::create_dir_all(world.home.path().join("sm")).unwrap();
    let config = world.home.path().join("sm/config.toml");
    fs::write(config, "[channel]\ndir = \"elsewhere\"\n").unwrap();
    world.run(&["load"]).exits(1);
    world
        .call(Side::Sm, &["create_handoff", "global", "y"])
        .exits(0);
    assert!(
        world
            .home
            .path()
            .join("sm/elsewhere/handoff/global-CURRENT.md")
            .exists()
    );
}

#[test]
fn a_handoff_of_another_folder_is_offered_and_never_taken() {
    let world = World::new();
    let work = fs::canonicalize(world.home.path().join("work")).unwrap();
    for repository in ["one/.git", "one/src", "two/.git"] {
        fs::create_dir_all(work.join(repository)).unwrap();
    }
    for repository in ["one", "two"] {
        fs::write(work.join(repository).join(".git/HEAD"), "").unwrap();
    }
    let at = |folder: &str, args: &[&str]| {
        let mut command = world.sm(args);
        command.current_dir(work.join(folder));
        said(command)
    };
    let give = |folder: &str, args: &[&str], text: &str| {
        fs::write(work.join("given.md"), text).unwrap();
        let mut command = world.sm(args);
        command.current_dir(work.join(folder));
        command.stdin(fs::File::open(work.join("given.md")).unwrap());
        said(command).exits(0).out.trim().to_owned()
    };
    // one repository is one place, another is another one
    give("one/src", &["create"], "work of one");
    at("two", &["load"])
        .exits(1)
        .complains("there is no active handoff in channel two-");
    assert!(at("one", &["load"]).exits(0).out.contains("work of one"));
    // what the shell library made in a folder that nobody registered
    let mut library = world.function(Side::Shell, &["create_handoff", "global", "by the library"]);
    library.current_dir(work.join("one"));
    let id = said(library).exits(0).out.trim().to_owned();
    let refused = at("two", &["load"]).exits(1);
    let one = work.join("one").display().to_string();
    for part in [id.as_str(), &one, "sm channel load --channel global"] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
    // the installed hook tells of it, too
    let started = |folder: &str, source: &str| {
        let payload = format!("{{\"session_id\":\"s\",\"source\":\"{source}\"}}");
        give(folder, &["hook", "SessionStart"], &payload)
    };
    let told = started("two", "startup");
    for part in [
        id.as_str(),
        &one,
        "additionalContext",
        "unless the user asks",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(started("two", "resume"), "");
    assert_eq!(world.manifest("global")["current"]["status"], "active");
    // a fresh one of this folder comes before the folder's own that has expired
    give("one", &["create"], "too old");
    let handoffs = fs::read_dir(world.claude("handoff")).unwrap().flatten();
    let own = handoffs
        .map(|entry| entry.path())
        .find(|path| {
            path.to_string_lossy().contains("/one-")
                && path.extension().is_some_and(|e| e == "json")
        })
        .unwrap();
    let mut manifest: Value = serde_json::from_slice(&fs::read(&own).unwrap()).unwrap();
    manifest["current"]["created_at"] = "2020-02-02T06:45:30Z".into();
    fs::write(&own, manifest.to_string()).unwrap();
    let shown = at("one/src", &["show"]).exits(0).out;
    assert!(shown.contains("global"), "{shown}");
    assert!(
        at("one/src", &["load"])
            .exits(0)
            .out
            .contains("by the library")
    );
    assert_eq!(world.manifest("global")["current"]["status"], "consumed");
    // asked for by its name it is taken, and said where it was made
    give("one", &["create", "--channel", "global"], "for everybody");
    let taken = at("two", &["load", "--channel", "global"]).exits(0);
    assert!(taken.out.contains("for everybody"), "{}", taken.out);
    assert!(taken.err.contains(&one), "{}", taken.err);
}
