//! Ends of agents, terminals and sessions: what is said, what is kept, what is brought back, and
//! that nobody else's processes are touched.

use crate::world::{World, end, eventually, files, process, text};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use sm_testkit::process::Process;
use std::path::Path;

#[track_caller]
fn pid_in(file: &Path) -> Process {
    let mut found = None;
    eventually("the process has said who it is", || {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        found = text.strip_suffix('\n').and_then(|pid| pid.parse().ok());
        found.is_some()
    });
    Process::find(Pid::from_raw(found.unwrap()).unwrap()).unwrap()
}

#[test]
fn when_tmux_dies_sessions_are_lost_and_come_back_as_they_were() {
    let world = World::new();
    let before = world.agent("api");
    world.agent("other");
    world.send_wait("api", "remember this");
    world.wait_for("api", "idle");
    world.tmux(&["kill-server"]).exits(0);
    let lost = world.wait_for("api", "lost");
    assert!(
        text(&lost["state_reason"]).contains("terminal is gone"),
        "{lost}"
    );
    assert!(
        text(&lost["attention"]).contains(&format!("sm restore {}", text(&lost["id"]))),
        "{lost}"
    );
    world.wait_for("other", "lost");
    let sent = world.send("api", "sequential", "sent while it was lost");
    assert_eq!(sent["state"], "held", "{sent}");
    assert!(text(&sent["reason"]).contains("sm restore"), "{sent}");
    world
        .sm(&["doctor"])
        .says("api")
        .says("lost")
        .says("sm restore");
    world
        .sm(&["attach", "api"])
        .exits(1)
        .complains("terminal is gone")
        .complains(&format!("sm restore {}", text(&before["id"])));
    world.sm(&["restore", "api", "--detach"]).exits(0);
    let after = world.wait_for("api", "idle");
    for key in [
        "id",
        "name",
        "conversation_id",
        "generation",
        "transcript_path",
    ] {
        assert_eq!(after[key], before[key], "{key}");
    }
    assert_ne!(after["pid"], before["pid"]);
    world.wait_for_message("api", &text(&sent["id"]), &["consumed"]);
    assert_eq!(world.times("sent while it was lost"), 1);
    assert_eq!(
        world.times("remember this"),
        1,
        "a resumed conversation is not told again"
    );
    assert_eq!(
        world.given("sent while it was lost").conversation,
        text(&before["conversation_id"])
    );
    world
        .sm(&["restore", "api"])
        .exits(1)
        .complains("is not lost");
    assert_eq!(
        world.show("other")["state"],
        "lost",
        "the other one waits for its own"
    );
}

#[test]
fn a_lost_session_survives_the_daemons_restart() {
    let world = World::new();
    let before = world.agent("api");
    world.send_wait("api", "hello");
    world.wait_for("api", "idle");
    world.sm(&["stop"]).exits(0);
    world.tmux(&["kill-server"]).exits(0);
    // tmux's command is back before its server has ended: the daemon may still have met it
    world.wait_for("api", "lost");
    let sent = world.send("api", "sequential", "held over");
    world.kill_daemon();
    world.sm(&["restore", "api", "--detach"]).exits(0);
    assert_eq!(
        world.wait_for("api", "idle")["conversation_id"],
        before["conversation_id"]
    );
    world.wait_for_message("api", &text(&sent["id"]), &["consumed"]);
    assert_eq!(world.times("held over"), 1);
}

#[test]
fn an_agent_that_is_killed_says_so_and_its_messages_fail() {
    let world = World::new();
    let before = world.agent("api");
    let gate = world.gate("never");
    world.send_wait("api", &format!("HOLD: {}", gate.display()));
    // only a conversation whose record has begun can be resumed
    let record = text(&world.show("api")["transcript_path"]);
    eventually("it is recorded", || {
        std::fs::read_to_string(&record).is_ok_and(|text| text.contains("HOLD: "))
    });
    let waiting = world.send("api", "sequential", "for later");
    end(&process(&before["pid"]), Signal::KILL);
    let ended = world.wait_for("api", "exited");
    assert!(text(&ended["state_reason"]).contains("signal 9"), "{ended}");
    assert!(
        text(&ended["attention"]).contains(&format!("sm restore {}", text(&ended["id"]))),
        "{ended}"
    );
    let failed = world.wait_for_message("api", &text(&waiting["id"]), &["failed"]);
    assert!(text(&failed["reason"]).contains("signal 9"), "{failed}");
    world
        .sm(&["send", "api", "too late"])
        .exits(1)
        .complains(&format!("sm restore {}", text(&ended["id"])));
    world
        .sm(&["attach", "api"])
        .exits(1)
        .complains("signal 9")
        .complains(&format!("sm restore {}", text(&ended["id"])));
    world.sm(&["restore", "api", "--detach"]).exits(0);
    assert_eq!(
        world.wait_for("api", "idle")["conversation_id"],
        before["conversation_id"]
    );
    world.send_wait("api", "alive again");
    eventually("given", || world.times("alive again") == 1);
    assert_eq!(world.times("for later") + world.times("too late"), 0);
}

#[test]
fn an_agent_that_ends_by_itself_leaves_its_exit_code() {
    let world = World::new();
    world.sm(&[
        "new",
        "--name",
        "g",
        "--detach",
        "--",
        "sh",
        "-c",
        "echo the end; exit 3",
    ]);
    let ended = world.wait_for("g", "exited");
    assert_eq!(ended["exit_code"], 3);
    assert!(
        text(&ended["state_reason"]).contains("exit code 3"),
        "{ended}"
    );
    eventually("its last words are in the log", || {
        world.sm(&["output", "g"]).exits(0).out.contains("the end")
    });
    world.sm(&["attach", "g"]).exits(1).complains("exit code 3");
    world.sm(&["new", "--name", "fine", "--detach", "--", "true"]);
    let fine = world.wait_for("fine", "exited");
    assert_eq!(
        (&fine["exit_code"], &fine["attention"]),
        (&0.into(), &Value::Null)
    );
}

#[test]
fn an_agent_that_ends_while_there_is_no_daemon_has_not_lost_its_exit_code() {
    let world = World::new();
    let gate = world.gate("go");
    let script = format!(
        "while ! test -e {}; do sleep 0.01; done; exit 3",
        gate.display()
    );
    world
        .sm(&["new", "--name", "g", "--detach", "--", "sh", "-c", &script])
        .exits(0);
    let running = world.ready("g");
    let shell = process(&running["pid"]);
    world.sm(&["stop"]).exits(0);
    std::fs::write(&gate, "").unwrap();
    eventually("it has ended", || !shell.is_alive());
    let spool = world.paths().spool_dir().join("hooks.jsonl");
    eventually("its launcher has said so", || {
        std::fs::read_to_string(&spool).is_ok_and(|lines| lines.contains("exited"))
    });
    let ended = world.show("g");
    assert_eq!(
        (&ended["state"], &ended["exit_code"]),
        (&"exited".into(), &3.into()),
        "{ended}"
    );
}

#[test]
fn an_agent_that_dies_while_it_takes_a_message_is_not_given_it_twice() {
    let mut world = World::new();
    world.env.set("FAKE_AGENT", "die_on_prompt=2");
    world.agent("api");
    world.send_wait("api", "the first");
    world.wait_for("api", "idle");
    world.sm(&["send", "api", "--wait", "30", "the deadly one"]);
    world.wait_for("api", "exited");
    assert!(world.times("the deadly one") <= 1, "given twice");
    world.env.set("FAKE_AGENT", "");
    world.sm(&["restore", "api", "--detach"]).exits(0);
    world.wait_for("api", "idle");
    world.send_wait("api", "the next");
    eventually("given", || world.times("the next") == 1);
    assert!(world.times("the deadly one") <= 1);
}

#[test]
fn kill_ends_the_sessions_own_processes_and_no_others() {
    let world = World::new();
    let (mine, other) = (world.agent("mine"), world.agent("other"));
    let mut bystander = world.env.command("sleep").arg("600").spawn().unwrap();
    let file = |name: &str| world.env.project().join(name);
    let run = |session: &str, prefix: &str, name: &str| {
        let path = file(name);
        let prompt = format!(
            "RUN: {prefix} sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600' >/dev/null 2>&1 </dev/null &",
            path.display()
        );
        world.send_wait(session, &prompt);
        world.wait_for(session, "idle");
        pid_in(&path)
    };
    let child = run("mine", "nohup", "child");
    let foreign = run("other", "nohup", "foreign");
    let agent = process(&mine["pid"]);
    // as tools run: in a terminal session of its own, still the agent's child
    let path = file("tool");
    let tool = format!(
        "RUN: exec setsid -w sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600'",
        path.display()
    );
    world.send_wait("mine", &tool);
    let tool = pid_in(&path);
    world.sm(&["kill", "mine"]).exits(0);
    for (what, one) in [
        ("agent", &agent),
        ("child", &child),
        ("running tool", &tool),
    ] {
        eventually(&format!("the {what} has ended"), || !one.is_alive());
    }
    assert!(foreign.is_alive() && process(&other["pid"]).is_alive());
    assert!(
        bystander.try_wait().unwrap().is_none(),
        "a stranger's process lives"
    );
    assert_eq!(world.show("other")["state"], "idle");
    world.send_wait("other", "still here");
    let panes = world.tmux(&["list-sessions", "-F", "#{session_name}"]).out;
    assert!(
        !panes.lines().any(|l| l == "mine") && panes.lines().any(|l| l == "other"),
        "{panes}"
    );
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn a_killed_session_can_be_restored_and_a_purged_one_leaves_nothing() {
    let world = World::new();
    let before = world.agent("api");
    world.send_wait("api", "hello");
    world.wait_for("api", "idle");
    world
        .sm(&["kill", "api"])
        .exits(0)
        .says(&format!("sm restore {}", text(&before["id"])));
    assert_eq!(
        world.show("api")["state_reason"],
        "it was ended with sm kill"
    );
    world.sm(&["restore", "api", "--detach"]).exits(0);
    let again = world.wait_for("api", "idle");
    assert_eq!(again["conversation_id"], before["conversation_id"]);
    let folder = world.paths().session_dir(&text(&before["id"]));
    assert!(folder.exists());
    world.sm(&["kill", "api", "--purge"]).exits(0);
    assert!(!folder.exists());
    world.sm(&["show", "api"]).exits(1);
    let listed = world.sm(&["ls", "--all", "--json"]).exits(0).json();
    assert_eq!(listed, serde_json::json!([]));
    let pid = process(&world.sm(&["status", "--json"]).exits(0).json()["pid"]);
    eventually("only the daemon and its tmux are left", || {
        world.env.processes().iter().all(|p| {
            let name = std::fs::read_to_string(format!("/proc/{}/comm", p.pid.as_raw_nonzero()));
            p.pid == pid.pid
                || name.unwrap_or_default().starts_with("tmux")
                || !p.is_alive()
                || std::fs::read_to_string(format!("/proc/{}/cmdline", p.pid.as_raw_nonzero()))
                    .unwrap_or_default()
                    .contains("park")
        })
    });
}

#[test]
fn stop_purge_leaves_nothing_behind() {
    let world = World::new();
    world.agent("one");
    world.agent("two");
    world.send_wait("one", "RUN: nohup sleep 600 >/dev/null 2>&1 &");
    world.sm(&["kill", "two"]).exits(0);
    world.sm(&["stop", "--purge"]).exits(1).complains("--yes");
    assert!(world.is_served());
    world.sm(&["stop", "--purge", "--yes"]).exits(0);
    let left = || -> Vec<String> {
        let all = world.env.processes();
        let line = |p: &Process| format!("/proc/{}/cmdline", p.pid.as_raw_nonzero());
        all.iter()
            .map(|p| std::fs::read_to_string(line(p)).unwrap_or_default())
            .collect()
    };
    let gone = sm_testkit::wait_until(std::time::Duration::from_secs(10), || {
        left().is_empty().then_some(())
    });
    assert!(gone.is_some(), "left: {:?}", left());
    assert_eq!(
        files(world.env.sm_home()),
        [world.config_file()],
        "the user's own file stays"
    );
}

#[test]
fn a_restore_that_cannot_work_changes_nothing() {
    let world = World::new();
    let agent = world.env.path().join("agent");
    let fake = sm_testkit::clean::binary("fake-agent").unwrap();
    let config = format!("[agents.claude]\nprogram = {:?}\n", agent.to_str().unwrap());
    std::fs::write(world.config_file(), config).unwrap();
    std::os::unix::fs::symlink(&fake, &agent).unwrap();
    let folder = world.env.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    let cwd = folder.to_str().unwrap();
    world
        .sm(&["new", "claude", "--name", "api", "--detach", "--cwd", cwd])
        .exits(0);
    world.ready("api");
    world.tmux(&["kill-server"]).exits(0);
    world.wait_for("api", "lost");
    let sent = text(&world.send("api", "sequential", "waits for it")["id"]);
    let still_waits = || {
        assert_eq!(world.show("api")["state"], "lost");
        assert_eq!(world.message("api", &sent)["state"], "held");
    };
    std::fs::remove_file(&agent).unwrap();
    world
        .sm(&["restore", "api", "--detach"])
        .exits(2)
        .complains("is not a program that can be run");
    still_waits();
    std::os::unix::fs::symlink(&fake, &agent).unwrap();
    std::fs::remove_dir(&folder).unwrap();
    world
        .sm(&["restore", "api", "--detach"])
        .exits(1)
        .complains("is gone");
    still_waits();
    std::fs::create_dir(&folder).unwrap();
    world.sm(&["restore", "api", "--detach"]).exits(0);
    world.wait_for_message("api", &sent, &["consumed"]);
    assert_eq!(world.times("waits for it"), 1);
}

#[test]
fn programs_that_end_at_once_leave_no_terminal() {
    let world = World::new();
    let names: Vec<String> = (0..20).map(|n| format!("quick{n}")).collect();
    for name in &names {
        world
            .sm(&["new", "--detach", "--name", name, "--", "true"])
            .exits(0);
    }
    for name in &names {
        world.wait_for(name, "exited");
    }
    eventually("no terminal of theirs is left", || {
        let left = world.terminals();
        !left.iter().any(|name| name.starts_with("quick"))
    });
}

#[test]
fn what_sm_says_to_type_means_the_session_it_speaks_of() {
    let world = World::new();
    world
        .sm(&[
            "new", "--detach", "--name", "api", "--", "sh", "-c", "exit 3",
        ])
        .exits(0);
    let old = world.wait_for("api", "exited");
    let new = world.agent("api");
    let (old, new) = (text(&old["id"]), text(&new["id"]));
    let shown = world.show(&old);
    let forget = format!("sm kill {old} --purge");
    assert!(text(&shown["attention"]).ends_with(&forget), "{shown}");
    // whatever is told to do means this one
    let again = format!("sm restore {old},");
    assert!(text(&shown["attention"]).contains(&again), "{shown}");
    world
        .sm(&["ls"])
        .exits(0)
        .says(&format!("api {old}"))
        .says(&format!("api {new}"));
    world
        .sm(&["kill", "api"])
        .exits(0)
        .says(&format!("sm restore {new}"));
    world
        .sm(&["restore", "api", "--detach"])
        .exits(1)
        .complains("fits 2 sessions");
    world.sm(&["kill", &old, "--purge"]).exits(0);
    world.sm(&["restore", "api", "--detach"]).exits(0);
    assert_eq!(world.ready("api")["id"], new.as_str());
    // by its id, though it is the only one of its name: another may get it
    world
        .sm(&["kill", "api"])
        .exits(0)
        .says(&format!("sm restore {new}"));
}

#[test]
fn who_asked_one_that_ended_is_told_its_id() {
    let world = World::new();
    world
        .sm(&["kill", &text(&world.agent("api")["id"])])
        .exits(0);
    let id = text(&world.agent("api")["id"]);
    world.held_turn("api");
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| world.sm(&["ask", "api", "what is new?"]));
        eventually("it waits", || {
            let queue = world.get("/sessions/api/messages");
            queue.to_string().contains("what is new?")
        });
        world.sm(&["kill", "api"]).exits(0);
        let asked = asking.join().unwrap().exits(1);
        asked.complains(&format!("sm queue ls {id} --all"));
    });
}

#[test]
fn a_purge_without_a_daemon_says_what_it_ends() {
    let world = World::new();
    let before = world.agent("api");
    world.sm(&["stop"]).exits(0);
    std::fs::write(world.config_file(), "[daemon]\nprt = 1\n").unwrap();
    world
        .sm(&["stop", "--purge"])
        .exits(1)
        .says("1 terminal, with what runs in them (api), and:")
        .complains("unknown key `daemon.prt`")
        .complains("nothing was removed");
    let agent = process(&before["pid"]);
    assert!(agent.is_alive());
    world.sm(&["stop", "--purge", "--yes"]).exits(0);
    eventually("its agent has ended", || !agent.is_alive());
}

#[test]
fn an_agent_that_is_stopped_gets_its_text_once_and_when_it_goes_on() {
    let world = World::new();
    let agent = process(&world.agent("api")["pid"]);
    world.send_wait("api", "before");
    world.wait_for("api", "idle");
    agent.signal(Signal::STOP);
    let sent = text(&world.send("api", "sequential", "while it stood still")["id"]);
    let held = world.wait_for_message("api", &sent, &["held"]);
    assert!(text(&held["reason"]).contains("does not read"), "{held}");
    world.sm(&[]).exits(0).says("does not read its terminal");
    agent.signal(Signal::CONT);
    world.wait_for_message("api", &sent, &["consumed"]);
    assert_eq!(world.times("while it stood still"), 1);
    assert!(!world.pane("api").screen().contains("stillwhile"));
}

#[test]
fn a_failed_start_says_why_wherever_it_is_shown() {
    let world = World::new();
    let script = "echo 'no API key: set X_KEY'; exit 2";
    world.sm(&["new", "--name", "api", "--detach", "--", "sh", "-c", script]);
    eventually("it has ended", || world.show("api")["state"] == "exited");
    let ended = world.show("api");
    for place in ["state_reason", "attention"] {
        let said = text(&ended[place]);
        assert!(said.contains("no API key: set X_KEY"), "{place}: {said}");
    }
}
