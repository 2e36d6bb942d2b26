//! `kill -9` of the daemon before and after each journal write and each effect of a delivery, by each
//! of its ways, and of a start: every message arrives once, and no session is lost.

use crate::fault_points::{Points, Scenario, Span, answered};
use crate::world::{World, eventually, text};

/// Its sender starts the next daemon and repeats it.
#[track_caller]
fn said(world: &World, mode: &str, part: &str) -> (String, String) {
    let sent = world.send("api", mode, part);
    (text(&sent["id"]), part.to_owned())
}

/// Every message is proven, and the agent was given every text once.
#[track_caller]
fn all_once(world: &World, messages: &[(String, String)]) {
    for (id, part) in messages {
        let target = format!("/sessions/api/messages/{id}");
        eventually(&format!("{part:?} is proven"), || {
            let known = answered(world, &target);
            assert_ne!(known["state"], "failed", "{known}");
            matches!(text(&known["state"]).as_str(), "submitted" | "consumed")
        });
    }
    world.wait_for("api", "idle");
    for (_, part) in messages {
        assert_eq!(world.times(part), 1, "{part:?}");
    }
}

#[test]
fn killed_at_every_point_of_a_paste_into_an_idle_agent() {
    let scenario = Scenario {
        knobs: "",
        worlds: 3,
        span: Span::All,
        must: &[
            "before journal: send",
            "after journal: send",
            "before effect: paste",
            "after effect: paste",
            "before effect: press enter",
            "after effect: press enter",
            "after journal: prompt accepted",
        ],
        round: |world, points, round, at| {
            points.arm(at);
            let message = said(world, "sequential", &format!("said in round {round}."));
            all_once(world, &[message]);
        },
    };
    scenario.kill_everywhere();
}

#[test]
fn killed_at_every_point_of_the_answers_to_hooks() {
    let scenario = Scenario {
        knobs: "",
        worlds: 3,
        span: Span::All,
        must: &[
            "after journal: send",
            "after journal: tools finished",
            "before effect: answer",
            "after effect: answer",
            "after journal: stopping",
        ],
        round: |world, points, round, at| {
            let gate = |what: &str| world.gate(&format!("{what}-{round}"));
            let (go, ran, over) = (gate("go"), gate("ran"), gate("over"));
            let work = format!(
                "HOLD: {}\nRUN: touch {}\nHOLD: {}\nSAY: over",
                go.display(),
                ran.display(),
                over.display()
            );
            world.send_wait("api", &work);
            points.arm(at);
            let joins = said(world, "important", &format!("joins round {round}."));
            let ends = said(world, "sequential", &format!("ends round {round}."));
            std::fs::write(&go, "").unwrap();
            eventually("the tool has run", || ran.exists());
            std::fs::write(&over, "").unwrap();
            all_once(world, &[joins, ends]);
        },
    };
    scenario.kill_everywhere();
}

#[test]
fn killed_at_every_point_of_the_mailbox() {
    const DRAFT: &str = "a draft that stays";
    let scenario = Scenario {
        knobs: "",
        worlds: 3,
        span: Span::All,
        must: &[
            "before effect: mail",
            "after effect: mail",
            "before mailbox: taken",
            "after mailbox: taken",
        ],
        round: |world, points, round, at| {
            let pane = world.pane("api");
            if round == 1 {
                world.send_wait("api", "hello");
                world.wait_for("api", "idle");
                pane.types(DRAFT);
                pane.shows(DRAFT);
            }
            points.arm(at);
            let message = said(world, "sequential", &format!("said in round {round}."));
            all_once(world, &[message]);
            pane.shows(DRAFT);
            assert_eq!(world.times(DRAFT), 0, "it is still a draft");
        },
    };
    scenario.kill_everywhere();
}

#[test]
fn killed_at_every_point_while_a_dialog_is_open_it_types_nothing_into_it() {
    let scenario = Scenario {
        knobs: "",
        worlds: 3,
        span: Span::All,
        must: &["before journal: send", "after journal: send"],
        round: |world, points, round, at| {
            world.send_wait("api", "ASK: echo dangerous\nSAY: over");
            world.wait_for("api", "waiting");
            let pane = world.pane("api");
            pane.shows("Do you want to proceed?");
            let before = pane.screen();
            points.arm(at);
            let message = said(world, "sequential", &format!("said in round {round}."));
            world.wait_for("api", "waiting");
            assert_eq!(pane.screen(), before);
            pane.key("1");
            all_once(world, &[message]);
        },
    };
    scenario.kill_everywhere();
}

fn start(world: &World, points: &Points, round: u64, at: Option<&str>) {
    let (name, part) = (format!("s{round}"), format!("begin {round}."));
    points.arm(at);
    world.sm(&[
        "new", "claude", "--name", &name, "--detach", "--prompt", &part,
    ]);
    let known = world.sm(&["show", &name, "--json"]);
    if known.code != Some(0) {
        return; // refused, and said so: nothing of it is there
    }
    // it runs, or it says why not and can be brought back
    let settled = world.wait_for(&name, "idle,exited,lost");
    if settled["state"] != "idle" {
        let hint = text(&settled["attention"]);
        assert!(hint.contains("sm restore"), "{settled}");
        world.sm(&["restore", &name, "--detach"]).exits(0);
        world.wait_for(&name, "idle");
    }
    points.disarm();
    let times = world.times(&part);
    assert!(times <= 1, "{part} was given {times} times");
    let next = format!("go on {round}.");
    world.send_wait(&name, &next);
    eventually("it works", || world.times(&next) == 1);
    world.sm(&["kill", &name]).exits(0);
    eventually("nobody is left of it", || {
        let ours = |pane: &String| *pane == name || pane.starts_with(&format!("{name}-"));
        !world.terminals().iter().any(ours)
    });
}

#[test]
fn killed_at_every_point_of_a_start_no_session_is_lost() {
    let scenario = Scenario {
        knobs: "",
        worlds: 3,
        span: Span::All,
        must: &[
            "before journal: new session",
            "after journal: new session",
            "before effect: launch",
            "after effect: launch",
            "after effect: make pane",
            "before journal: started",
            "after journal: started",
        ],
        round: start,
    };
    scenario.kill_everywhere();
}
