//! What sm has written down of a context, when its agent is gone in the middle of its work.

use crate::common::handoff::text;
use crate::common::occurrences;
use crate::{FREE, claude};
use rustix::process::Signal;
use sm_testkit::process::Process;
use sm_testkit::wait_until;
use std::time::Duration;

#[test]
fn an_agent_killed_in_the_middle_of_its_work_goes_on_from_the_ledger() {
    let test = "an_agent_killed_in_the_middle_of_its_work_goes_on_from_the_ledger";
    let Some(world) = claude(test) else { return };
    world.start_idle("api", &FREE);
    let goal = "Number the boats in harbour_register. Never sink the ninth one.";
    world.send_wait(
        "api",
        &format!("{goal}\nRUN: echo eight > boats_counted.txt"),
        &[],
    );
    let before = world.wait_state("api", "idle");
    let old = text(&before["conversation_id"]);
    // in the middle of a tool call
    let gate = world.gate("gate");
    world.send_wait(
        "api",
        "Go on with the harbour.\nRUN: read l < gate; echo got-$l",
        &[],
    );
    gate.wait_for_reader();
    let pid = before["pid"]
        .as_i64()
        .and_then(|pid| i32::try_from(pid).ok());
    let pid = pid.and_then(rustix::process::Pid::from_raw).unwrap();
    let agent = Process::find(pid).unwrap();
    agent.signal(Signal::KILL);
    world.wait_state("api", "exited");
    drop(gate); // the tool, if it is still there, reads its end

    let known = world.sm(&["ledger", "api"]).exits(0).out;
    assert!(known.contains(goal), "{known}");
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
    for part in [goal, "Go on with the harbour.", copy.trim_end()] {
        assert_eq!(
            occurrences(&first, part),
            1,
            "{part}\n{}",
            world.about("api")
        );
    }
    let went_on = world.in_project("went_on.txt");
    let read = wait_until(Duration::from_secs(60), || {
        std::fs::read_to_string(&went_on)
            .ok()
            .filter(|text| !text.is_empty())
    });
    assert_eq!(read.as_deref(), Some("eight\n"));
}
