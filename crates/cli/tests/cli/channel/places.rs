//! Which channel a folder has, and where its files lie.

use super::*;

#[test]
fn the_channel_is_that_of_the_longest_path() {
    let world = World::new();
    let work = fs::canonicalize(world.home.path().join("work")).unwrap();
    let here = || world.run(&["current"]).exits(0).out;
    assert_eq!(here(), "global\n");
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
    assert_eq!(here(), "global\n");
    // A registry that cannot be read is left alone, and nothing fails for it.
    fs::write(&registry, "{").unwrap();
    world
        .run(&["register", ".", "app"])
        .exits(1)
        .complains("left as it is");
    assert_eq!(fs::read_to_string(&registry).unwrap(), "{");
    assert_eq!(here(), "global\n");
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
