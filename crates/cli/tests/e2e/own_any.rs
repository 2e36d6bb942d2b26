//! Any program under `sm run`, while a daemon runs: it works while it writes and is idle once it is
//! quiet, as in tmux, and what it is sent is typed into it.

use crate::own::{Own, PANE, name};
use crate::world::{DEADLINE, World, eventually, text};
use serde_json::{Value, json};
use sm_testkit::clean::binary;
use sm_testkit::wait_until;

const QUIET: &str = "[generic]\nquiet_ms = 300\n";

/// A program that writes until there is this file, and then answers what it is told.
fn ticking(world: &World) -> (std::path::PathBuf, String) {
    let gate = world.gate("enough");
    let script = format!(
        "while ! test -e {}; do echo tick; sleep 0.05; done; echo quiet now; cat",
        gate.display()
    );
    (gate, script)
}

/// Waits until the daemon has it, in whatever state: its name.
#[track_caller]
fn known(own: &Own) -> String {
    let first = || {
        let all = own.world.sm(&["ls", "--json"]).json();
        all.as_array()?.first().cloned()
    };
    name(&wait_until(DEADLINE, first).unwrap_or_else(|| panic!("not there\n{}", own.about())))
}

#[test]
fn a_program_under_sm_run_works_while_it_writes_and_rests_when_it_is_quiet() {
    let own = Own::with_config(QUIET);
    let world = &own.world;
    let (gate, script) = ticking(world);
    own.start(&["run", "--", "sh", "-c", &script]);
    let given = known(&own);
    let busy = world.wait_for(&given, "working");
    assert_eq!(
        (&busy["agent"], &busy["conversation_id"]),
        (&json!("generic"), &Value::Null)
    );
    let sent = world.send(&given, "sequential", "when you are done");
    assert_eq!(sent["state"], "held", "{sent}");
    let late = world.sm(&["wait", &given, "--for", "idle", "--timeout", "1"]);
    assert_ne!(late.code, Some(0), "{late:?}");
    std::fs::write(&gate, "").unwrap();
    world
        .sm(&["wait", &given, "--for", "idle", "--timeout", "60"])
        .exits(0);
    let known = world.wait_for_message(&given, &text(&sent["id"]), &["submitted", "consumed"]);
    assert_eq!(known["way"], "paste", "{known}");
    // once by the terminal's echo, once by cat
    eventually("typed once, answered once", || {
        own.screen().matches("when you are done").count() == 2
    });
    world.wait_for(&given, "idle");
    for n in 0..5 {
        let sent = world.send_wait(&given, &format!("line {n}."));
        let proof = text(&sent["proof"]);
        assert!(
            ["output_followed", "none"].contains(&proof.as_str()),
            "{sent}"
        );
    }
    eventually("all of it", || {
        (0..5).all(|n| own.screen().matches(&format!("line {n}.")).count() == 2)
    });
    world.sm(&["kill", &given]).exits(0);
    assert_ne!(own.code(), 0, "{}", own.about());
}

#[test]
fn an_agent_nobody_knows_is_told_by_what_it_shows() {
    let own = Own::with_config(QUIET);
    let world = &own.world;
    let fake = binary("fake-agent").unwrap();
    own.start(&["run", "--", fake.to_str().unwrap()]);
    let session = own.registered();
    let given = name(&session);
    assert_eq!(session["agent"], "generic", "{session}");
    world.send_wait(&given, "the first thing");
    eventually("it was given once", || world.times("the first thing") == 1);
    world.wait_for(&given, "idle");
    // its turn spins on the screen, and so it works
    let gate = world.held_turn(&given);
    let after = world.send(&given, "sequential", "the second thing");
    std::fs::write(&gate, "").unwrap();
    world.wait_for_message(&given, &text(&after["id"]), &["submitted", "consumed"]);
    eventually("it was given once", || world.times("the second thing") == 1);
    let idle = world.wait_for(&given, "idle");
    assert_eq!(idle["pid"], session["pid"]);
    own.tmux.type_text(PANE, "/exit").unwrap();
    own.shows("/exit");
    own.tmux.key(PANE, "Enter").unwrap();
    assert_eq!(own.code(), 0);
    world.wait_for(&given, "exited");
}

#[test]
fn a_daemon_that_comes_later_or_again_learns_whether_it_is_quiet() {
    let own = Own::without_daemon(QUIET, "");
    let world = &own.world;
    let (gate, script) = ticking(world);
    own.start(&["run", "--", "sh", "-c", &script]);
    own.shows("tick");
    world.sm(&["ls"]).exits(0);
    let given = known(&own);
    world.wait_for(&given, "working");
    world.kill_daemon();
    std::fs::write(&gate, "").unwrap();
    own.shows("quiet now");
    world.sm(&["ls"]).exits(0);
    world.wait_for(&given, "idle");
    let sent = world.send_wait(&given, "hello again");
    assert_eq!(sent["way"], "paste", "{sent}");
    eventually("typed once, answered once", || {
        own.screen().matches("hello again").count() == 2
    });
}
