//! Channels: the same files as the shell library, from both sides, one after the other and all at
//! once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const SHELL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../testkit/bench/handoff-manifest.sh"
);
const SESSION: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";

/// A home of its own, where syncing costs little if there is such a place.
struct World {
    home: TempDir,
}

/// Which of the two does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Sm,
    Shell,
}

const SIDES: [Side; 2] = [Side::Sm, Side::Shell];

#[derive(Debug)]
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl World {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("sm-channel-");
        let home = if memory.is_dir() {
            builder.tempdir_in(memory)
        } else {
            builder.tempdir()
        };
        let home = home.unwrap();
        fs::create_dir_all(home.path().join("work/inner")).unwrap();
        Self { home }
    }

    fn claude(&self, name: &str) -> PathBuf {
        self.home.path().join(".claude").join(name)
    }

    fn manifest(&self, channel: &str) -> Value {
        let path = self.claude(&format!("handoff/{channel}.manifest.json"));
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    fn prepared(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("HOME", self.home.path())
            .env("SM_HOME", self.home.path().join("sm"))
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .current_dir(self.home.path().join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn sm(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sm"));
        command.arg("channel").args(args);
        self.prepared(command)
    }

    /// A function of the library, by either.
    fn function(&self, side: Side, args: &[&str]) -> Command {
        match side {
            Side::Sm => self.sm(&[&["lib"], args].concat()),
            Side::Shell => {
                let mut command = Command::new("bash");
                command.arg(SHELL).args(args);
                self.prepared(command)
            }
        }
    }

    fn call(&self, side: Side, args: &[&str]) -> Said {
        said(self.function(side, args))
    }

    fn run(&self, args: &[&str]) -> Said {
        said(self.sm(args))
    }
}

fn said(mut command: Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Said {
    #[track_caller]
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    #[track_caller]
    fn complains(self, part: &str) -> Self {
        assert!(self.err.contains(part), "{part:?} in {self:?}");
        self
    }
}

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

#[track_caller]
fn no_litter(world: &World) {
    for entry in fs::read_dir(world.claude("handoff")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let fine =
            name == "archive" || name.ends_with(".manifest.json") || name.ends_with("-CURRENT.md");
        assert!(fine, "{name} is left over");
    }
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
