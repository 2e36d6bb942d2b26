//! The daemon dies, stands still or is not there: agents go on, and every message arrives once.

use crate::world::{DEADLINE, World, end, eventually, process, text};
use rustix::process::Signal;
use serde_json::Value;
use sm_testkit::wait_until;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};

/// `sm send`, under way.
fn sending(world: &World, session: &str, mode: &str, text: &str) -> Child {
    let mut command = world.command(&["send", session, "--mode", mode, "--json", "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    child
}

#[track_caller]
fn sent(child: Child) -> String {
    let ran = crate::world::Ran::from(child.wait_with_output().unwrap()).exits(0);
    text(&ran.json()["id"])
}

/// Every message is proven, and the agent was given every text once.
#[track_caller]
fn all_once(world: &World, session: &str, messages: &[(String, String)]) {
    for (id, part) in messages {
        let known = world.wait_for_message(session, id, &["submitted", "consumed", "failed"]);
        assert_ne!(known["state"], "failed", "{known}");
        eventually(&format!("{part:?} was given"), || world.times(part) > 0);
    }
    world.wait_for(session, "idle");
    for (_, part) in messages {
        assert_eq!(world.times(part), 1, "{part:?}");
    }
}

#[test]
fn a_daemon_killed_while_the_text_stands_in_the_composer_presses_enter_only() {
    let mut world = World::new();
    world.env.set("FAKE_AGENT", "swallow_enter=2");
    world.agent("api");
    let child = sending(&world, "api", "sequential", "stands in the composer");
    world.pane("api").shows("stands in the composer");
    world.kill_daemon();
    let id = sent(child);
    all_once(&world, "api", &[(id, "stands in the composer".into())]);
}

#[test]
fn a_daemon_that_stands_still_stalls_nobody() {
    let world = World::new();
    world.agent("api");
    let gate = world.gate("go");
    let done = world.gate("done");
    let script = format!(
        "while ! test -e {}; do sleep 0.01; done; seq 1 400000; touch {}; cat",
        gate.display(),
        done.display()
    );
    world
        .sm(&[
            "new", "--name", "loud", "--detach", "--", "sh", "-c", &script,
        ])
        .exits(0);
    let loud = world.wait_for("loud", "idle,working");
    let pane = world.pane("api");
    let daemon = world.daemon();
    daemon.signal(Signal::STOP);
    let late = sending(&world, "api", "sequential", "sent to a sleeper");
    // a terminal that nobody reads goes on
    std::fs::write(&gate, "").unwrap();
    eventually("the loud one wrote everything", || done.exists());
    eventually("its log has everything", || {
        world.log_of(&loud).windows(8).any(|w| w == b"400000\r\n")
    });
    // hooks that nobody answers return, and the turn goes on to its end
    pane.types("RUNMANY: 3 true");
    pane.shows("RUNMANY: 3 true");
    pane.key("Enter");
    pane.shows("Worked for");
    assert!(daemon.is_alive());
    daemon.signal(Signal::CONT);
    let id = sent(late);
    all_once(&world, "api", &[(id, "sent to a sleeper".into())]);
    assert_eq!(world.times("RUNMANY: 3 true"), 1);
    let shown = world.show("api");
    assert_eq!(shown["turn"], 2, "{:#?}", world.events("api"));
    let sorted: Vec<u32> = String::from_utf8_lossy(&world.log_of(&loud))
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect();
    assert_eq!(
        sorted,
        (1..=400_000).collect::<Vec<u32>>(),
        "nothing is missing"
    );
}

#[test]
fn without_a_daemon_hooks_spool_and_start_it_again() {
    let world = World::new();
    world.agent("api");
    let pane = world.pane("api");
    world.kill_daemon();
    pane.types("typed by a person");
    pane.shows("typed by a person");
    pane.key("Enter");
    pane.shows("Worked for");
    eventually("a hook has started the daemon", || world.is_served());
    eventually("what was spooled is known", || {
        world.show("api")["turn"] == 1
    });
    let idle = world.wait_for("api", "idle");
    assert_eq!(idle["turn"], 1, "{:#?}", world.events("api"));
    eventually("the spool is empty", || {
        crate::world::files(&world.paths().spool_dir()).is_empty()
    });
    world.send_wait("api", "and on");
    eventually("given", || world.times("and on") == 1);
}

#[test]
fn a_daemon_that_a_person_stopped_stays_stopped_until_one_asks() {
    let world = World::new();
    let before = world.agent("api");
    let pane = world.pane("api");
    world.sm(&["stop"]).exits(0);
    pane.types("typed by a person");
    pane.shows("typed by a person");
    pane.key("Enter");
    pane.shows("Worked for");
    let spool = world.paths().spool_dir().join("hooks.jsonl");
    eventually("the end of the turn was spooled", || {
        std::fs::read_to_string(&spool).is_ok_and(|lines| lines.contains("\"event\":\"Stop\""))
    });
    world.sm(&["status"]).exits(1).complains("sm stop");
    let after = world.show("api");
    assert_eq!(
        (&after["id"], &after["pid"]),
        (&before["id"], &before["pid"]),
        "it lived on"
    );
    eventually("the turn is known", || world.show("api")["turn"] == 1);
    world.wait_for("api", "idle");
    world.send_wait("api", "welcome back");
    eventually("given", || world.times("welcome back") == 1);
}

#[test]
fn of_two_daemons_one_wins() {
    let world = World::new();
    for _ in 0..5 {
        let serve = || {
            let mut command = world.command(&["serve"]);
            command
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let mut both = [serve(), serve(), serve()];
        eventually("two have given up", || {
            let ended = both
                .iter_mut()
                .filter_map(|one| one.try_wait().unwrap())
                .count();
            ended == 2 && world.is_served()
        });
        let pid = world.sm(&["status", "--json"]).exits(0).json()["pid"]
            .as_u64()
            .unwrap();
        for one in both {
            if u64::from(one.id()) == pid {
                end(&process(&Value::from(pid)), Signal::TERM);
                assert!(one.wait_with_output().unwrap().status.success());
            } else {
                let ran = crate::world::Ran::from(one.wait_with_output().unwrap());
                ran.exits(1).complains("already running");
            }
        }
    }
    assert!(wait_until(DEADLINE, || (!world.is_served()).then_some(())).is_some());
}

#[test]
fn a_daemon_that_cannot_reach_tmux_at_its_start_calls_nobody_lost() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let broken = world.gate("broken");
    let program = world.gate("tmux-that-may-fail");
    // every new connection fails as long as there is that file: the server itself is well
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' -C '*) if [ -e '{0}' ]; then echo x >> '{0}'; exit 1; fi;; esac\n\
         exec tmux \"$@\"\n",
        broken.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.configure(&format!("[tmux]\nprogram = {program:?}\n"));
    let before = world.agent("api");
    std::fs::write(&broken, "").unwrap();
    world.kill_daemon();
    assert_eq!(world.show("api")["state"], "idle");
    // more often than anybody would call bad luck
    eventually("tmux was asked again and again", || {
        std::fs::read_to_string(&broken).unwrap().lines().count() >= 7
    });
    assert_eq!(world.show("api")["state"], "idle");
    std::fs::remove_file(&broken).unwrap();
    world.send_wait("api", "after all that");
    let after = world.wait_for("api", "idle");
    assert_eq!(after["pid"], before["pid"]);
    assert_eq!(world.times("after all that"), 1);
}

/// The write-ahead file is removed, or the whole database, while agents run: they are found again.
#[test]
fn sessions_that_run_are_taken_up_again_when_the_journal_lost_them() {
    for lost in ["sm.db-wal", "sm.db"] {
        let world = World::new();
        world.sm(&["ls"]).exits(0);
        let path = world.paths().database();
        let name = |suffix: &str| path.with_file_name(suffix);
        // as it was before there was any session
        world.kill_daemon();
        let before = std::fs::read(&path).unwrap();
        let api = world.agent("api");
        world.send_wait("api", "SAY: before");
        world.wait_for("api", "idle");
        world.kill_daemon();
        match lost {
            "sm.db-wal" => std::fs::write(&path, before).unwrap(),
            _ => std::fs::write(&path, b"this is no database").unwrap(),
        }
        for log in ["sm.db-wal", "sm.db-shm"] {
            let _ = std::fs::remove_file(name(log));
        }
        let found = world.ready("api");
        assert_eq!(found["id"], api["id"], "{lost}");
        assert_eq!(found["pid"], api["pid"], "{lost}: its agent ran on");
        world.sm(&[]).exits(0).says("older than what runs");
        world.sm(&["doctor"]).says("older than what runs");
        world.send_wait("api", "SAY: after");
        eventually("given", || world.times("SAY: after") == 1);
        // and the journal has it from now on
        world.kill_daemon();
        world.sm(&["ls"]).exits(0).says("api");
    }
}

/// Something happens to the write-ahead file while agents run: with the daemon running on it, or after
/// it was killed. Nobody is forgotten, and what may be is told.
#[test]
fn a_damaged_write_ahead_file_forgets_no_session_and_is_told() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 5] = [
        ("bits flipped in every frame", |path| {
            let mut bytes = std::fs::read(path).unwrap();
            for at in (32 + 24 + 100..bytes.len()).step_by(4096 + 24) {
                bytes[at] ^= 0x41;
            }
            overwrite(path, &bytes);
        }),
        ("its header flipped", |path| {
            let mut bytes = std::fs::read(path).unwrap();
            bytes.iter_mut().take(16).for_each(|byte| *byte ^= 0x41);
            overwrite(path, &bytes);
        }),
        ("zeros", |path| {
            let length = std::fs::metadata(path).unwrap().len();
            overwrite(path, &vec![0; usize::try_from(length).unwrap()]);
        }),
        ("cut", |path| {
            let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(32 + 3 * (4096 + 24) + 99).unwrap();
        }),
        ("removed", |path| std::fs::remove_file(path).unwrap()),
    ];
    for (what, damage) in damages {
        for running in [true, false] {
            let what = format!("{what}, the daemon running: {running}");
            let world = World::new();
            let api = world.agent("api");
            world.send_wait("api", "SAY: before");
            world.wait_for("api", "idle");
            let log = world.paths().database().with_file_name("sm.db-wal");
            if running {
                damage(&log);
                // it writes on over what it finds there
                let _ = world.sm(&["new", "claude", "--name", "later", "--detach"]);
                let _ = world.sm(&["send", "api", "SAY: over it"]);
                world.kill_daemon();
            } else {
                // while it is busy, so that not all of it is in the database
                let _ = world.sm(&["send", "api", "SAY: last", "--expires", "600"]);
                world.kill_daemon();
                damage(&log);
            }
            let mark = std::fs::read_to_string(log.with_file_name("sm.db-mark")).unwrap();
            let committed: i64 = mark[..20].parse().unwrap();
            let found = world.ready("api");
            assert_eq!(found["id"], api["id"], "{what}");
            assert_eq!(found["pid"], api["pid"], "{what}: its agent ran on");
            if last_kept_event(&world, committed) < committed {
                let told = world.get("/status")["problems"].to_string();
                let is_told = told.contains("the journal lacks") || told.contains("set aside");
                assert!(is_told, "{what}: {told}");
                world
                    .sm(&["doctor"])
                    .says("send again what has not arrived");
            }
            world.send_wait("api", "SAY: after");
            eventually("given", || world.times("SAY: after") == 1);
            if running {
                world.ready("later");
            }
            // and the journal has them from now on
            world.kill_daemon();
            world.sm(&["ls"]).exits(0).says("api");
        }
    }
}

/// The last event, up to this one, that the journal still has.
fn last_kept_event(world: &World, up_to: i64) -> i64 {
    let sessions = world.get("/sessions?all=true");
    let ids = sessions
        .as_array()
        .unwrap()
        .iter()
        .map(|one| text(&one["id"]));
    let events = ids.flat_map(|id| {
        let events = world.get(&format!("/sessions/{id}/events?after=0&limit=10000"));
        let numbers = events.as_array().unwrap().iter();
        numbers
            .map(|event| event["seq"].as_i64().unwrap())
            .collect::<Vec<_>>()
    });
    events.filter(|seq| *seq <= up_to).max().unwrap_or(0)
}

/// In place: whoever has the file open sees it.
fn overwrite(path: &Path, bytes: &[u8]) {
    let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}
