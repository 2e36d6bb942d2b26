//! Codex draws on the alternate screen, of which tmux keeps no history: the archive does.

use crate::common::World;
use sm_testkit::wait_until;

#[test]
fn what_has_left_the_alternate_screen_is_in_the_archive() {
    let Some(world) = World::codex("what_has_left_the_alternate_screen_is_in_the_archive") else {
        return;
    };
    world.start_idle("api", &[]);
    let names = ["alpha", "beta", "gamma"];
    for name in names {
        let line = |n| format!("- {name} {n} has something to tell\n");
        let story: String = (0..25).map(line).collect();
        world
            .model
            .control(|c| c.reply = Some(format!("A list:\n\n{story}\nThat was {name}.")));
        world.send_wait("api", &format!("tell me of {name}"), &[]);
        world.wait_state("api", "idle");
        world.wait_screen("api", &format!("That was {name}."));
    }
    assert!(
        !world.history("api").contains("alpha 3 has"),
        "tmux has forgotten it"
    );
    // In order, each once, with the last of it still on the screen.
    let wanted: Vec<String> = names
        .iter()
        .flat_map(|name| (0..25).map(move |n| format!("{name} {n} has something to tell")))
        .collect();
    let mut told = Vec::new();
    let complete = wait_until(crate::common::DEADLINE, || {
        let archive = world.sm(&["archive", "api"]).exits(0).out;
        let is_told = |line: &str| line.contains("has something to tell");
        told = archive
            .lines()
            .filter(|line| is_told(line))
            .map(str::to_owned)
            .collect();
        let same = |(line, wanted): (&String, &String)| line.contains(wanted.as_str());
        (told.len() == wanted.len() && told.iter().zip(&wanted).all(same)).then_some(())
    });
    assert!(complete.is_some(), "{told:#?}\n{}", world.about("api"));
}

/// What the successor is told to search for was on the screen when the context was left.
#[test]
fn the_last_screen_of_a_context_is_found_after_the_handoff() {
    let test = "the_last_screen_of_a_context_is_found_after_the_handoff";
    let Some(world) = World::codex(test) else {
        return;
    };
    crate::common::archive::last_screen_survives(&world, &[]);
}
