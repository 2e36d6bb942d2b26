//! What sm has written down of a context, when a real agent is gone in the middle of its work.

use super::handoff::text;
use super::{World, occurrences};
use rustix::process::{Pid, Signal};
use sm_testkit::process::Process;
use sm_testkit::wait_until;
use std::time::Duration;

/// The agent is killed while a tool of its runs; its successor goes on from the document that sm has
/// made of the ledger, and from nothing else. `waits`: a command that lasts as long as the gate.
pub fn goes_on_from_the_ledger(world: &World, args: &[&str], waits: &str) {
    world.start_idle("api", args);
    let goal = "Number the boats in harbour_register. Never sink the ninth one.";
    let prompt = format!("{goal}\nRUN: echo eight > boats_counted.txt");
    world.send_wait("api", &prompt, &[]);
    let before = world.wait_state("api", "idle");
    let old = text(&before["conversation_id"]);
    // in the middle of a tool call
    let gate = world.gate("gate");
    let last = "Go on with the harbour.";
    world.send_wait("api", &format!("{last}\nRUN: {waits}"), &[]);
    gate.wait_for_reader();
    let pid = i32::try_from(before["pid"].as_i64().unwrap()).unwrap();
    let agent = Process::find(Pid::from_raw(pid).unwrap()).unwrap();
    agent.signal(Signal::KILL);
    world.wait_state("api", "exited");
    drop(gate); // the tool, if it is still there, reads its end
    // a prompt that the agent had not written down is given to its successor, and its tool ends at once
    std::fs::remove_file(world.in_project("gate")).unwrap();
    std::fs::write(world.in_project("gate"), "").unwrap();

    let known = world.sm(&["ledger", "api"]).exits(0).out;
    for part in [goal, last] {
        assert!(known.contains(part), "{part}: {known}");
    }
    // the model goes on from what stands in the document, and from nothing else
    world.at(
        "Number the boats in harbour_register.",
        "RUN: cat boats_counted.txt > went_on.txt",
    );
    world
        .sm(&["handoff", "--auto", "--session", "api"])
        .exits(0);
    let done = world.wait_handoff("api", "done");
    assert_eq!(
        (&done["author"], &done["carrier"]),
        (&"ledger".into(), &"relaunch".into())
    );
    let copy = std::fs::read_to_string(text(&done["copy"])).unwrap();
    let shown = world.wait_state("api", "idle");
    assert_eq!(shown["generation"], 2);
    assert_ne!(text(&shown["conversation_id"]), old);
    let first = world.request_with(&format!("Read {} and continue", text(&done["copy"])));
    for part in [goal, copy.trim_end()] {
        let about = world.about("api");
        assert_eq!(occurrences(&first, part), 1, "{part}\n{about}");
    }
    // if the agent had not written it down, it is named with what waits as well
    assert!(occurrences(&first, last) >= 1, "{}", world.about("api"));
    let went_on = world.in_project("went_on.txt");
    let read = wait_until(Duration::from_secs(60), || {
        std::fs::read_to_string(&went_on)
            .ok()
            .filter(|text| !text.is_empty())
    });
    assert_eq!(read.as_deref(), Some("eight\n"));
}

/// Secrets go through the agent's tools and a person's words; none of them is in the ledger's file, in
/// its names, or in the document that a successor is given.
pub fn no_secret_is_written_down(world: &World, args: &[&str]) {
    // shaped like names: alone, nothing tells that they are secrets
    let secrets = [
        "quiet_Harbour_77",
        "blue_Heron_42",
        "amberFoxRuns",
        "stone_Bridge_Song",
        "lantern_Moss_15",
        "Regen_Wald_31",
        "mint_Cookie_5512ab",
    ];
    let config = "database:\n  user: harbour_clerk\n  password: amberFoxRuns\n";
    std::fs::write(world.in_project("config.yaml"), config).unwrap();
    let settings = "{\"smtp_password\": \"stone_Bridge_Song\"}\n";
    std::fs::write(world.in_project("settings.json"), settings).unwrap();
    let session = world.start_idle("api", args);
    let prompt = [
        "Port harbour_register. Das Passwort ist Regen_Wald_31.",
        "RUN: echo curl -H 'Authorization: Bearer quiet_Harbour_77' https://acme.test/boats",
        "THEN: PGPASSWORD=blue_Heron_42 true",
        "THEN: cat config.yaml",
        "THEN: cat settings.json",
        "THEN: echo API_TOKEN=lantern_Moss_15 > .env; cat .env",
        "THEN: echo curl -b 'session=mint_Cookie_5512ab' https://acme.test/",
    ];
    world.send_wait("api", &prompt.join("\n"), &[]);
    world.wait_state("api", "idle");
    let known = world
        .sm(&["ledger", "api", "--budget", "50000"])
        .exits(0)
        .out;
    assert!(known.contains("harbour_register"), "{known}");
    assert!(known.contains("harbour_clerk"), "{known}");
    let folder = world.client.paths().session_dir(&text(&session["id"]));
    let written = std::fs::read_to_string(folder.join("ledger.g1.json")).unwrap();
    world
        .sm(&["handoff", "--auto", "--session", "api"])
        .exits(0);
    let done = world.wait_handoff("api", "done");
    let copy = std::fs::read_to_string(text(&done["copy"])).unwrap();
    assert!(copy.contains("harbour_register"), "{copy}");
    for secret in secrets {
        assert!(!known.contains(secret), "sm ledger: {secret}\n{known}");
        assert!(!written.contains(secret), "its file: {secret}\n{written}");
        assert!(!copy.contains(secret), "the document: {secret}\n{copy}");
    }
}

/// sm interrupts a tool to bring an urgent message: that is nobody's refusal.
pub fn an_interrupt_of_sm_is_nobodys_refusal(world: &World, args: &[&str], waits: &str) {
    world.start_idle("api", args);
    let gate = world.gate("gate");
    world.send_wait("api", &format!("Count the boats.\nRUN: {waits}"), &[]);
    gate.wait_for_reader();
    let urgent = "The ninth boat sinks: look at it first.";
    world.send_wait("api", urgent, &["--mode", "urgent"]);
    drop(gate);
    world.wait_state("api", "idle");
    let known = world.sm(&["ledger", "api"]).exits(0).out;
    assert!(known.contains(urgent), "{known}");
    for invented in ["The person refused", "The person interrupted"] {
        assert!(!known.contains(invented), "{invented}: {known}");
    }
}
