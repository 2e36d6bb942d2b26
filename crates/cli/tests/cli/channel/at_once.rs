//! Both sides at once: one wins, nothing is lost, and no lock outlives its owner.

use super::*;

#[test]
fn of_a_hundred_loaders_on_both_sides_one_wins() {
    let world = World::new();
    world
        .call(Side::Sm, &["create_handoff", "global", "the one"])
        .exits(0);
    // A shell takes its time with the lock: most are ours, all wait for each other.
    let loaders: Vec<_> = (0..100)
        .map(|n| {
            let side = if n % 5 == 0 { Side::Shell } else { Side::Sm };
            world
                .function(side, &["load_handoff", "global"])
                .spawn()
                .unwrap()
        })
        .collect();
    let outputs: Vec<_> = loaders
        .into_iter()
        .map(|loader| loader.wait_with_output().unwrap())
        .collect();
    let winners = outputs.iter().filter(|output| output.status.success());
    assert_eq!(winners.count(), 1);
    let full = outputs.iter().filter(|output| !output.stdout.is_empty());
    assert_eq!(full.count(), 1, "only the winner has anything");
    assert_eq!(world.manifest("global")["current"]["status"], "consumed");
    no_litter(&world);
}

/// A thousand rounds by four processes of ours at once, and shells among them; every text that was
/// created is loaded once, or replaced by a later one and in the archive.
#[test]
fn a_thousand_rounds_of_both_sides_lose_nothing() {
    let world = World::new();
    fs::create_dir_all(world.claude("handoff/archive")).unwrap();
    let sm = env!("CARGO_BIN_EXE_sm");
    let ours = format!(
        r#"for i in $(seq 240); do {sm} channel create --channel c --session "s$1" - <<<"text $1 $i" >/dev/null || echo bad >&2
           {sm} channel load --channel c 2>/dev/null; done; exit 0"#
    );
    // A shell overwrites in place what it finds, so it creates in a channel where it is alone.
    let theirs = format!(
        r#"source {SHELL}; for i in $(seq 20); do create_handoff d "text $1 $i" >/dev/null; {sm} channel load --channel d
           {sm} channel lib create_handoff e "back $1 $i" >/dev/null; load_handoff e; done; exit 0"#
    );
    let mut running = Vec::new();
    for (n, script) in [&ours, &ours, &ours, &ours, &theirs]
        .into_iter()
        .enumerate()
    {
        let mut command = Command::new("bash");
        command.args(["-c", script, "round", &n.to_string()]);
        running.push(world.prepared(command).spawn().unwrap());
    }
    let mut loaded = Vec::new();
    for child in running {
        let output = child.wait_with_output().unwrap();
        let (out, err) = (
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        );
        assert_eq!(err, "");
        loaded.extend(texts(&out));
    }
    let mut archived = Vec::new();
    for entry in fs::read_dir(world.claude("handoff/archive")).unwrap() {
        archived.extend(texts(&fs::read_to_string(entry.unwrap().path()).unwrap()));
    }
    if let Ok(current) = fs::read_to_string(world.claude("handoff/c-CURRENT.md")) {
        archived.extend(texts(&current));
    }
    archived.sort();
    let mut expected: Vec<String> = (0..4)
        .flat_map(|n| (1..=240).map(move |i| format!("text {n} {i}")))
        .chain((1..=20).flat_map(|i| [format!("text 4 {i}"), format!("back 4 {i}")]))
        .collect();
    expected.sort();
    assert_eq!(archived, expected, "every text is there once");
    let all = loaded.len();
    loaded.sort();
    loaded.dedup();
    assert_eq!(loaded.len(), all, "nothing was loaded twice");
    let alone = loaded.iter().filter(|text| text.contains(" 4 ")).count();
    assert_eq!(alone, 40, "what nobody could replace was loaded");
    no_litter(&world);
}

#[track_caller]
fn no_litter(world: &World) {
    for entry in fs::read_dir(world.claude("handoff")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let fine =
            name == "archive" || name.ends_with(".manifest.json") || name.ends_with("-CURRENT.md");
        assert!(fine, "{name} is left over");
    }
}

fn texts(documents: &str) -> Vec<String> {
    let is_text = |line: &&str| line.starts_with("text ") || line.starts_with("back ");
    documents
        .lines()
        .filter(is_text)
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_lock_of_the_dead_is_taken_over_and_one_of_the_living_is_not() {
    let world = World::new();
    world
        .call(Side::Sm, &["create_handoff", "global", "x"])
        .exits(0);
    let lock = world.claude("handoff/global.lock.d");
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    fs::create_dir(&lock).unwrap();
    fs::write(lock.join("pid"), format!("{}:1770014730\n", ended.id())).unwrap();
    // Twenty find it at once.
    let loaders: Vec<_> = (0..20)
        .map(|_| world.sm(&["load"]).spawn().unwrap())
        .collect();
    let won = loaders
        .into_iter()
        .map(|loader| loader.wait_with_output().unwrap())
        .filter(|output| output.status.success());
    assert_eq!(won.count(), 1);
    no_litter(&world);
    // A pid that was given to someone else: this test was started long after that lock.
    world
        .call(Side::Sm, &["create_handoff", "global", "y"])
        .exits(0);
    fs::create_dir(&lock).unwrap();
    fs::write(lock.join("pid"), format!("{}:1\n", std::process::id())).unwrap();
    if cfg!(target_os = "linux") {
        world.run(&["load"]).exits(0);
        world
            .call(Side::Sm, &["create_handoff", "global", "z"])
            .exits(0);
        fs::create_dir(&lock).unwrap();
    }
    // Ours, held now: nobody gets in until it is given back.
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    fs::write(
        lock.join("pid"),
        format!("{}:{}\n", std::process::id(), now.as_secs()),
    )
    .unwrap();
    let mut waiting = world.sm(&["load"]).spawn().unwrap();
    for _ in 0..20 {
        assert!(
            waiting.try_wait().unwrap().is_none(),
            "it got past a lock that is held"
        );
        std::thread::yield_now();
    }
    fs::remove_dir_all(&lock).unwrap();
    assert!(waiting.wait().unwrap().success());
}
