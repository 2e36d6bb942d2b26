//! The daemon is killed at the steps of a handoff, or the successor's agent.

use crate::common::endings::{kill_agent, restore_when_ended};
use crate::common::handoff::text;
use crate::common::{DEADLINE, World, occurrences};
use crate::handoff::{complete_at, empty_but_for};
use crate::{FREE, claude};
use sm_testkit::wait_until;

/// Each moment in a rotation of its own, of one session.
#[test]
fn a_daemon_killed_at_any_step_of_a_handoff_ends_it_once() {
    let test = "a_daemon_killed_at_any_step_of_a_handoff_ends_it_once";
    let Some(world) = claude(test) else { return };
    world.start_idle("api", &FREE);
    let moments = [
        "scheduled",
        "the turn is over",
        "are safe",
        "clear1 written",
        "the context is left",
        "wake1 written",
        "has its prompt",
    ];
    let mut last = text(&world.show("api")["conversation_id"]);
    for (generation, moment) in (2..).zip(moments) {
        let notes = format!("notes-{generation}.md");
        let done = world.handed_off_over_a_crash("api", &notes, moment);
        let shown = world.wait_state("api", "idle");
        assert_eq!(shown["generation"], generation, "{moment}: {done:#}");
        let new = world.once_ever(&world.wake_of(&notes));
        assert_eq!(text(&shown["conversation_id"]), new);
        assert_eq!(done["carrier"], "clear", "{moment}: {done:#}");
        empty_but_for(&world.requests_of(&new)[0], &text(&done["prompt"]));
        assert_eq!(text(&done["from_conversation"]), last);
        complete_at(&world, &done, "x\n");
        last = new;
    }
}

/// The successor's agent is killed right after its hook has told of the prompt, until it has once
/// not written it down: whatever its record says, the restored one has the prompt, once.
fn a_killed_successor_has_its_prompt(world: &World) {
    const MOST: usize = 10;
    world.start_idle("api", &FREE);
    let mut lost = 0;
    for round in 1..=MOST {
        let notes = format!("notes-{round}.md");
        let work = format!("RUN: echo x > {notes}\nTHEN: sm handoff {notes}");
        world.send_wait("api", &work, &[]);
        let scheduled = wait_until(DEADLINE, || {
            let all = world.ask("/handoffs?session=api");
            (all.as_array()?.len() == round).then(|| text(&all[0]["id"]))
        });
        let id = scheduled.unwrap_or_else(|| panic!("{}", world.about("api")));
        world.passes(&id, "has its prompt");
        kill_agent(world);
        restore_when_ended(world);
        let done = world.wait_handoff("api", "done");
        let again = done["steps"].to_string().contains("it is given again");
        lost += usize::from(again);
        world.wait_state("api", "idle");
        let closing = format!("closing words {round}");
        world.send_wait("api", &closing, &[]);
        let last = world.request_with(&closing);
        let prompts = occurrences(&last, &world.wake_of(&notes));
        assert_eq!(prompts, 1, "given again: {again}\n{}", world.about("api"));
        world.wait_state("api", "idle");
        if lost > 0 {
            return;
        }
    }
    panic!("it was written down {MOST} times: this has shown nothing");
}

#[test]
fn a_successor_that_had_not_written_down_its_prompt_is_given_it_again() {
    let test = "a_successor_that_had_not_written_down_its_prompt_is_given_it_again";
    if let Some(world) = claude(test) {
        a_killed_successor_has_its_prompt(&world);
    }
}

#[test]
fn a_newest_successor_that_had_not_written_down_its_prompt_is_given_it_again() {
    let test = "a_newest_successor_that_had_not_written_down_its_prompt_is_given_it_again";
    if let Some(world) = World::claude_newest(test) {
        a_killed_successor_has_its_prompt(&world);
    }
}
