//! The archive of a real Claude Code against what tmux shows of it.

use crate::common::archive::found;
use crate::common::{DEADLINE, World};
use crate::people::wait_composer;
use crate::{FREE, claude};
use rustix::process::Pid;
use sm_testkit::process::Process;
use sm_testkit::wait_until;

/// Whether the lines are there in this order, with what was drawn over between them.
fn holds(archive: &[String], lines: &[String]) -> bool {
    let mut rest = archive.iter().rev();
    lines.iter().rev().all(|line| rest.any(|one| one == line))
}

/// The archive, as soon as it holds what tmux has of the session's terminal.
#[track_caller]
fn agree(world: &World, session: &str) -> Vec<String> {
    let lines = |text: &str| -> Vec<String> {
        let mut lines: Vec<String> = text.lines().map(|l| l.trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    };
    let mut last = (Vec::new(), Vec::new());
    let agreed = wait_until(DEADLINE, || {
        let tmux = lines(&world.history(session));
        let archive = lines(&world.sm(&["archive", session]).exits(0).out);
        let same = archive.last() == tmux.last() && holds(&archive, &tmux);
        last = (tmux, archive);
        same.then_some(())
    });
    let (tmux, archive) = last;
    if agreed.is_none() {
        let end = &archive[archive.len().saturating_sub(tmux.len() + 5)..];
        panic!("tmux:\n{}\n\narchive:\n{}", tmux.join("\n"), end.join("\n"));
    }
    archive
}

fn story(name: &str, lines: usize) -> String {
    let line = |n| format!("- {name} {n} has something to tell, and 日本語 to tell it in\n");
    format!(
        "A list:\n\n{}\nThat was {name}.",
        (0..lines).map(line).collect::<String>()
    )
}

#[test]
fn the_archive_is_what_tmux_shows() {
    let Some(world) = claude("the_archive_is_what_tmux_shows") else {
        return;
    };
    world.start_idle("api", &FREE);
    for (name, lines) in [("alpha", 5), ("beta", 70), ("gamma", 30)] {
        world.model.control(|c| c.reply = Some(story(name, lines)));
        world.send_wait("api", &format!("tell me of {name}"), &[]);
        world.wait_state("api", "idle");
        agree(&world, "api");
    }
    // What has left the screen is there for good.
    let shown = agree(&world, "api");
    let left = shown[..shown.len() - 40].to_vec();
    assert!(
        left.iter().any(|line| line.contains("beta 20 has")),
        "{left:?}"
    );
    // A person attaches with a smaller window, then with a larger one. What Claude Code draws over
    // then is drawn over here as well.
    for (name, cols, rows) in [("delta", "90", "25"), ("epsilon", "150", "50")] {
        world.resize("api", cols, rows);
        world.model.control(|c| c.reply = Some(story(name, 40)));
        world.send_wait("api", &format!("tell me of {name}"), &[]);
        world.wait_state("api", "idle");
        agree(&world, "api");
    }
    let archive = agree(&world, "api");
    for line in left {
        assert!(archive.contains(&line), "{line:?} was lost");
    }
}

/// What the successor is told to search for was on the screen when the context was left.
#[test]
fn the_last_screen_of_a_context_is_found_after_the_handoff() {
    let test = "the_last_screen_of_a_context_is_found_after_the_handoff";
    for world in [World::claude(test), World::claude_newest(test)] {
        let Some(world) = world else { continue };
        crate::common::archive::last_screen_survives(&world, &FREE);
    }
}

/// What the agent says, and what stands on its screen then.
#[track_caller]
fn says(world: &World, word: &str) {
    let reply = Some(format!("The port is {word}."));
    world.model.control(|control| control.reply = reply);
    world.send_wait("api", "which port is it?", &[]);
    world.wait_screen("api", word);
    world.wait_state("api", "idle");
}

/// However a context or a process ends, what stood on its screen is found, before anything shows it
/// again.
fn every_end_leaves_the_last_screen(world: &World) {
    world.start_idle("api", &FREE);
    says(world, "walrus-4711");
    world.type_text("api", "/exit");
    wait_composer(world, "api", "❯\u{a0}/exit");
    world.key("api", "Enter");
    world.wait_state("api", "exited");
    found(world, "api", "walrus-4711", "after its exit");

    let restored = || {
        world.sm(&["restore", "api", "--detach"]).exits(0);
        world.wait_state("api", "idle");
    };
    restored();
    says(world, "heron-2217");
    world.sm(&["kill", "api"]).exits(0);
    world.wait_state("api", "exited");
    found(world, "api", "heron-2217", "after its kill");

    restored();
    says(world, "otter-3051");
    let pid = world.show("api")["pid"].as_i64().unwrap();
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    Process::find(pid).unwrap().kill();
    world.wait_state("api", "exited");
    found(
        world,
        "api",
        "otter-3051",
        "after it was killed from outside",
    );

    restored();
    found(world, "api", "otter-3051", "after the relaunch");
    world.talk();
    says(world, "beaver-8802");
    world.type_compact();
    let compacted = || (world.show("api")["compactions"] == 1).then_some(());
    let compacted = wait_until(DEADLINE, compacted);
    assert!(compacted.is_some(), "{}", world.about("api"));
    world.wait_state("api", "idle");
    found(world, "api", "beaver-8802", "after a compaction");
}

#[test]
fn every_end_leaves_the_last_screen_in_the_archive() {
    let test = "every_end_leaves_the_last_screen_in_the_archive";
    for world in [World::claude(test), World::claude_newest(test)] {
        let Some(world) = world else { continue };
        every_end_leaves_the_last_screen(&world);
    }
}
