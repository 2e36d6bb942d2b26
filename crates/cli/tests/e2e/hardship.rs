//! A full disk, a broken database, a taken port, missing programs, strange paths: each is said with
//! its remedy, nothing is lost, and what can go on does.

use crate::world::{World, eventually, files, text};
use sm_testkit::clean::binary;
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small file system of its own under `SM_HOME`; gone with the test.
struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    /// None where we may not mount.
    fn mount(at: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let option = format!("size={size},mode=700");
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &option, "sm-test"])
            .arg(at)
            .output();
        done.ok()?
            .status
            .success()
            .then(|| Self { at: at.to_owned() })
    }

    /// Nothing more fits.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.at.join("filler")).unwrap();
        for size in [64 << 10, 4096, 512, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }

    fn free(&self) {
        std::fs::remove_file(self.at.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

#[test]
fn a_full_disk_refuses_messages_and_loses_none() {
    let world = World::new();
    // before the daemon makes its files there; unmounted when the processes are gone
    let Some(disk) = SmallDisk::mount(&world.env.sm_home().join("state"), "8m") else {
        eprintln!("skipped: a_full_disk_refuses_messages_and_loses_none needs the right to mount");
        return;
    };
    world.agent("api");
    world.send_wait("api", "before");
    world.wait_for("api", "idle");
    let gate = world.gate("go");
    world.send_wait("api", &format!("HOLD: {}", gate.display()));
    let queued = world.send("api", "sequential", "queued in time");
    disk.fill();
    // small rows may still fit into pages there already are: as many as it takes
    let mut accepted = Vec::new();
    let refused = (0..200).find_map(|n| {
        let part = format!("while full {n}.");
        let long = format!("{part} {}", "x".repeat(50_000));
        let ran = world.sm_given(&["send", "api", "--json", "-"], &long);
        match ran.code {
            Some(0) => {
                accepted.push(part);
                None
            }
            _ => Some((ran, part)),
        }
    });
    let (ran, never) = refused.expect("a full disk takes no message");
    ran.exits(1).complains("disk");
    assert!(
        text(&world.show("api")["state"]) == "working",
        "it is still known"
    );
    world.sm(&["doctor"]).says("disk");
    std::fs::write(&gate, "").unwrap();
    eventually("the turn has ended", || {
        world.pane("api").screen().matches("Worked for").count() >= 2
    });
    let again = world.sm_given(&["send", "api", "-"], &"y".repeat(50_000));
    again.exits(1).complains("disk");
    disk.free();
    world.wait_for_message("api", &text(&queued["id"]), &["consumed"]);
    world.send_wait("api", "after");
    eventually("given", || world.times("after") == 1);
    for part in accepted
        .iter()
        .map(String::as_str)
        .chain(["queued in time", "before"])
    {
        eventually(part, || world.times(part) == 1);
    }
    assert_eq!(world.times(&never), 0, "what was refused is not delivered");
    world.kill_daemon();
    assert_eq!(world.wait_for("api", "idle")["name"], "api");
    world.send_wait("api", "and after a restart");
    eventually("given", || world.times("and after a restart") == 1);
    // what happened meanwhile was kept in mind, and written down when that was possible
    let events = world.events("api");
    let consumed = format!("{} consumed", text(&queued["id"]));
    for part in ["turn 2 began", "turn 2 ended", &consumed] {
        let found = events.iter().filter(|e| e.contains(part)).count();
        assert_eq!(found, 1, "{part}: {events:#?}");
    }
    drop(world);
    drop(disk);
}

#[test]
fn a_corrupt_database_is_set_aside_and_reported() {
    let world = World::new();
    let session = world.agent("api");
    world.sm(&["stop"]).exits(0);
    let database = world.paths().database();
    std::fs::write(&database, "this was a database".repeat(500)).unwrap();
    world.sm(&["ls"]).exits(0);
    let status = world.sm(&["status", "--json"]).exits(0).json();
    assert!(
        status["problems"].to_string().contains("set aside"),
        "{status}"
    );
    world.sm(&["status"]).exits(0).says("set aside");
    world.sm(&["doctor"]).says("set aside");
    let folder = database.parent().unwrap();
    let kept = files(folder).into_iter().any(|file| {
        std::fs::read(file)
            .unwrap_or_default()
            .starts_with(b"this was a database")
    });
    assert!(kept, "never overwritten: {:?}", files(folder));
    // the agent still runs, and new sessions can be started
    assert!(crate::world::process(&session["pid"]).is_alive());
    world.agent("new");
    world.send_wait("new", "hello");
    eventually("given", || world.times("hello") == 1);
}

#[test]
fn a_newer_database_is_refused_and_left_alone() {
    let world = World::new();
    world.agent("api");
    world.sm(&["stop"]).exits(0);
    let database = world.paths().database();
    // the version stands at byte 60 of the header
    let mut file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&database)
        .unwrap();
    let mut version = [0; 4];
    file.seek(SeekFrom::Start(60)).unwrap();
    file.read_exact(&mut version).unwrap();
    file.seek(SeekFrom::Start(60)).unwrap();
    file.write_all(&9_999_u32.to_be_bytes()).unwrap();
    drop(file);
    let before = std::fs::read(&database).unwrap();
    world
        .sm(&["ls"])
        .exits(2)
        .complains("9999")
        .complains("newer");
    world
        .sm(&["serve"])
        .exits(2)
        .complains("newer")
        .complains("hint: ");
    assert!(std::fs::read(&database).unwrap() == before, "not touched");
    let mut file = std::fs::File::options()
        .write(true)
        .open(&database)
        .unwrap();
    file.seek(SeekFrom::Start(60)).unwrap();
    file.write_all(&version).unwrap();
    drop(file);
    assert_eq!(world.show("api")["state"], "idle");
}

#[test]
fn a_taken_port_is_named_with_its_owner_and_the_socket_goes_on() {
    let mut world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    world.env.set("SM_PORT", port.clone());
    world.sm(&["ls"]).exits(0);
    let status = world.sm(&["status", "--json"]).exits(0).json();
    let problems = status["problems"].to_string();
    let own = std::process::id().to_string();
    assert!(
        problems.contains(&port) && problems.contains(&own),
        "{problems}"
    );
    assert_eq!(status["address"], serde_json::Value::Null);
    world
        .sm(&["doctor"])
        .says(&format!("{port} is taken by"))
        .says(&own)
        .says("SM_PORT");
    world.agent("api");
    world.send_wait("api", "hello");
    drop(listener);
    world.sm(&["stop"]).exits(0);
    world.sm(&["ls"]).exits(0);
    let status = world.sm(&["status", "--json"]).exits(0).json();
    assert_eq!(status["address"], format!("127.0.0.1:{port}"));
}

/// A folder with `sm` and `sm-hook` and nothing else.
fn bare_path(world: &World) -> String {
    let bin = world.env.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    for name in ["sm", "sm-hook"] {
        let link = bin.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(binary(name).unwrap(), link).unwrap();
        }
    }
    bin.to_string_lossy().into_owned()
}

#[test]
fn without_tmux_and_agents_each_is_named_with_its_remedy() {
    let mut world = World::new();
    std::fs::remove_file(world.config_file()).unwrap();
    world.env.set("PATH", bare_path(&world));
    let doctor = world.sm(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{}", doctor.out);
    doctor
        .says("tmux       not found")
        .says("apt install tmux")
        .says("claude is not found")
        .says("npm install -g @anthropic-ai/claude-code")
        .says("codex is not found")
        .says("npm install -g @openai/codex");
    let new = world.sm(&["new", "--detach", "--", "/bin/cat"]);
    new.exits(2).complains("tmux").complains("install");
    assert_eq!(
        world.sm(&["ls", "--all", "--json"]).exits(0).json(),
        serde_json::json!([])
    );
}

#[test]
fn without_the_agent_sm_new_says_what_to_do() {
    let world = World::new();
    std::fs::write(
        world.config_file(),
        "[agents.claude]\nprogram = \"no-such-claude\"\n",
    )
    .unwrap();
    world
        .sm(&["new", "claude", "--name", "api", "--detach"])
        .exits(2)
        .complains("no-such-claude is not in PATH")
        .complains("npm install -g @anthropic-ai/claude-code")
        .complains("agents.claude.program");
    assert_eq!(
        world.sm(&["ls", "--all", "--json"]).exits(0).json(),
        serde_json::json!([])
    );
    world.sm(&["doctor"]).says("no-such-claude is not found");
}

#[test]
fn a_broken_config_names_the_line_and_the_nearest_key() {
    let world = World::new();
    std::fs::write(
        world.config_file(),
        "[daemon]\nport = 8421\n\n[agents.claude]\nprogramm = \"x\"\n",
    )
    .unwrap();
    for args in [
        &["doctor"][..],
        &["ls"],
        &["serve"],
        &["new", "claude", "--detach"],
    ] {
        let ran = world.sm(args);
        assert_ne!(ran.code, Some(0), "{args:?}");
        let said = format!("{}{}", ran.out, ran.err);
        assert!(
            said.contains("line 5") && said.contains("agents.claude.program`"),
            "{args:?}: {said}"
        );
    }
    world.configure("");
    world.sm(&["ls"]).exits(0);
    world.sm(&["doctor"]).says("config");
}

#[test]
fn a_long_home_has_a_short_socket_that_everybody_finds() {
    let mut world = World::new();
    let home = world
        .env
        .path()
        .join("a-rather-long-name/".repeat(8))
        .join("sm");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::copy(world.config_file(), home.join("config.toml")).unwrap();
    world
        .env
        .set("SM_HOME", home.to_string_lossy().into_owned());
    let session = world.agent("api");
    let socket = world.paths().socket().to_path_buf();
    assert!(
        socket.as_os_str().len() < 100 && socket.starts_with("/tmp"),
        "{}",
        socket.display()
    );
    let tmux = text(&session["tmux"]["socket"]);
    assert!(tmux.len() < 100, "{tmux}");
    // hooks, launcher and waiters found it: the turn was heard, a draft was no hindrance
    world.send_wait("api", "hello");
    world.wait_for("api", "idle");
    let pane = world.pane("api");
    pane.types("a draft");
    pane.shows("a draft");
    world.send_wait("api", "by the mailbox");
    world.kill_daemon();
    world.send_wait("api", "after a restart");
    eventually("given", || world.times("after a restart") == 1);
    world.sm(&["stop", "--purge", "--yes"]).exits(0);
    assert!(!socket.exists() && !Path::new(&tmux).exists());
    assert_eq!(files(&home), [home.join("config.toml")]);
}
