//! Programs nobody knows: state by quiet, delivery by paste, receipts that claim no more than that.
//! And the terminal's log, which has everything.

use crate::world::{World, eventually, files, text};
use serde_json::json;
use sm_client::http::Request;

#[test]
fn any_program_is_a_session_whose_receipts_say_how_sure_they_are() {
    let world = World::with_config("[generic]\nquiet_ms = 200\n");
    world
        .sm(&["new", "--name", "cat", "--detach", "--", "cat"])
        .exits(0);
    let idle = world.wait_for("cat", "idle");
    assert_eq!(
        (&idle["agent"], &idle["conversation_id"]),
        (&json!("generic"), &json!(null))
    );
    let sent = world.send_wait("cat", "hello you");
    assert_eq!(sent["way"], "paste");
    assert!(
        ["output_followed", "none"].contains(&text(&sent["proof"]).as_str()),
        "{sent}"
    );
    assert!(text(&sent["reason"]).contains("proof"), "{sent}");
    let pane = world.pane("cat");
    // once by the terminal's echo, once by cat
    eventually("it was typed and answered", || {
        pane.screen().matches("hello you").count() == 2
    });
    world.wait_for("cat", "idle");
    for n in 0..5 {
        world.send_wait("cat", &format!("line {n}."));
    }
    eventually("all of it", || {
        (0..5).all(|n| pane.screen().matches(&format!("line {n}.")).count() == 2)
    });
    // nothing tells its answer from the rest of the screen
    let asked = world.sm(&["ask", "cat", "who are you?"]).exits(1);
    asked
        .complains("keeps no record")
        .complains("sm output cat");
    let id = text(&sent["id"]);
    let told = format!("/sessions/cat/messages/{id}/reply");
    let (status, told) = world.ask(&Request::get(&told));
    assert_eq!(status, 409, "{told}");
    assert!(!pane.screen().contains("who are you?"));
    world.sm(&["kill", "cat"]).exits(0);
}

#[test]
fn a_busy_program_is_working_until_it_is_quiet() {
    let world = World::with_config("[generic]\nquiet_ms = 300\n");
    let gate = world.gate("enough");
    let script = format!(
        "while ! test -e {}; do echo tick; sleep 0.05; done; cat",
        gate.display()
    );
    world
        .sm(&[
            "new", "--name", "busy", "--detach", "--", "sh", "-c", &script,
        ])
        .exits(0);
    world.wait_for("busy", "working");
    let sent = world.send("busy", "sequential", "when you are done");
    assert_eq!(sent["state"], "held", "{sent}");
    std::fs::write(&gate, "").unwrap();
    world.wait_for_message("busy", &text(&sent["id"]), &["submitted", "consumed"]);
    let pane = world.pane("busy");
    eventually("typed once, answered once", || {
        pane.screen().matches("when you are done").count() == 2
    });
}

#[test]
fn a_daemon_killed_around_a_paste_to_an_unknown_program_types_it_once_at_most() {
    let world = World::with_config("[generic]\nquiet_ms = 200\n");
    world
        .sm(&["new", "--name", "cat", "--detach", "--", "cat"])
        .exits(0);
    world.wait_for("cat", "idle");
    for n in 0..8_u64 {
        let part = format!("typed {n}.");
        let daemon = world.daemon();
        let mut sending = world
            .command(&["send", "cat", "--json", &part])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(n * 4));
        crate::world::end(&daemon, rustix::process::Signal::KILL);
        sending.wait().unwrap();
        let all = world
            .sm(&["queue", "ls", "cat", "--all", "--json"])
            .exits(0)
            .json();
        let found = all
            .as_array()
            .unwrap()
            .iter()
            .find(|m| text(&m["text"]) == part)
            .cloned();
        let id = text(&found.expect("it was accepted")["id"]);
        let known = world.wait_for_message("cat", &id, &["submitted", "consumed", "failed"]);
        let shown = world.pane("cat").screen().matches(&part).count();
        match text(&known["state"]).as_str() {
            // nobody can look into such a program: that is said, and nothing is typed again
            "failed" => assert!(
                text(&known["reason"]).contains("not known") && shown <= 2,
                "{known}"
            ),
            _ => eventually("typed once, answered once", || {
                world.pane("cat").screen().matches(&part).count() == 2
            }),
        }
        world.wait_for("cat", "idle");
    }
}

#[test]
fn the_log_has_everything_from_the_first_byte_over_its_parts() {
    let world = World::new();
    let done = world.gate("done");
    // more than one part; no newline translation by the terminal
    let script = format!(
        "stty -onlcr; printf 'FIRST\\n'; seq 1 3000000; printf 'LAST\\n'; touch {}; cat",
        done.display()
    );
    world
        .sm(&[
            "new", "--name", "loud", "--detach", "--", "sh", "-c", &script,
        ])
        .exits(0);
    eventually("it has written everything", || done.exists());
    let session = world.show("loud");
    eventually("the end is in the log", || {
        world.log_of(&session).ends_with(b"LAST\n")
    });
    let log = world.log_of(&session);
    let mut expected = b"FIRST\n".to_vec();
    for n in 1..=3_000_000 {
        expected.extend(format!("{n}\n").bytes());
    }
    expected.extend(b"LAST\n");
    assert_eq!(log.len(), expected.len());
    assert!(log == expected, "every byte is there, in order");
    let folder = world.paths().session_dir(&text(&session["id"]));
    let parts = files(&folder)
        .into_iter()
        .filter(|f| f.to_string_lossy().ends_with(".log"))
        .count();
    assert!(parts >= 2, "{parts} part(s)");
    let last = world.sm(&["output", "loud", "--lines", "2"]).exits(0);
    let last: Vec<&str> = last.out.lines().map(str::trim).collect();
    assert_eq!(last, ["3000000", "LAST"]);
}
